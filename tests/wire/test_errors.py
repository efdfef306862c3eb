from __future__ import annotations

import pickle

import pytest

from navserver.status import InputError
from navserver.wire.errors import WireError, clipped


def test_an_error_comes_out_of_other_processes() -> None:
    error = WireError("bad_field", "goal", [1], "is no pair", "give [x, y]")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, InputError)
    assert (again.code, again.field, again.value) == ("bad_field", "goal", [1])
    assert str(again) == str(error) == "goal: [1] is no pair; give [x, y]"


@pytest.mark.parametrize(
    "value", ["x" * 10**6, list(range(10**5)), b"x" * 10**6, {"a": "b" * 1000}, "a\nb", 2**64]
)
def test_values_are_cut_to_one_short_line(value: object) -> None:
    shown = clipped(value)
    assert len(shown) <= 120
    assert "\n" not in shown


def test_short_values_are_shown_whole() -> None:
    assert clipped("a word") == "a word"
    assert clipped(None) == "None"
