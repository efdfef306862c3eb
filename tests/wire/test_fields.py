from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from navserver.wire import fields
from navserver.wire.errors import WireError
from navserver.wire.fields import Array, Field

INTEGER = fields.integer("f", -3, 2**53, "")
NUMBER = fields.number("f", 0.0, 10.0, "")
BOUNDLESS = fields.number("f", 0.0, 10.0, "", infinite=True)
FLAG = fields.flag("f", "")
TEXT = fields.text("f", "", most=3)
NAME = fields.name("f", "")
CHOICE = fields.choice("f", ("one", "two"), "")
PAIR = fields.pair("f", -5, 5, "")
NUMBERS = fields.numbers("f", 2, -1.0, 1.0, "")
TEXTS = fields.texts("f", "")
WEIGHTS = fields.weights("f", "")


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        (INTEGER, -3, -3),
        (INTEGER, 2**53, 2**53),
        (INTEGER, 7.0, 7),
        (NUMBER, 0, 0.0),
        (NUMBER, 10.0, 10.0),
        (BOUNDLESS, math.inf, math.inf),
        (FLAG, True, True),
        (TEXT, "", ""),
        (TEXT, "äöü", "äöü"),
        (NAME, "a" * 64, "a" * 64),
        (CHOICE, "two", "two"),
        (PAIR, [5, -5], (5, -5)),
        (PAIR, [5.0, -5], (5, -5)),
        (NUMBERS, [1, -1.0], [1.0, -1.0]),
        (TEXTS, ["a", ""], ["a", ""]),
        (WEIGHTS, {"a": 1.5}, {"a": 1.5}),
    ],
)
def test_what_is_within_bounds_passes(field: Field, value: object, wanted: object) -> None:
    checked = field.check(value)
    assert checked == wanted
    assert type(checked) is type(wanted)


OF_NO_TYPE = [None, b"1", [], {}, "", [[1]], "x" * 2000, math.nan, [math.nan, 1.0]]


@pytest.mark.parametrize(
    ("field", "values"),
    [
        (INTEGER, [-4, 2**53 + 1, 2**63, 2**64 - 1, 1.5, math.inf, -math.inf, True, "1", 1e300]),
        (NUMBER, [-0.1, 10.1, math.inf, -math.inf, False, "1", 2**64 - 1]),
        (BOUNDLESS, [-math.inf, 10.5, True]),
        (FLAG, [0, 1, 1.0, "true"]),
        (TEXT, ["four", 1]),
        (NAME, ["", "a" * 65, "a\n", "\x00", 1, "\u200b"]),
        (CHOICE, ["", "three", 0, ["one"]]),
        (PAIR, [[6, 0], [0, -6], [1], [1, 2, 3], [1.5, 0], [True, 0], [2**64 - 1, 0], "12",
                [math.inf, 0], {"0": 1, "1": 2}]),
        (NUMBERS, [[1.0], [1.0, 1.5], [math.inf, 0.0], [True, 0.0], ["1", 0.0], 1.0]),
        (TEXTS, ["a", [1], ["x" * 1025], [b"a"], ["a"] * 1025]),
        (WEIGHTS, [{"a": "1"}, {"a": math.nan}, {"a": math.inf}, {"a": True}, [1.0]]),
    ],
    ids=lambda given: given.kind if isinstance(given, Field) else "",
)  # fmt: skip
def test_what_is_not_is_refused_by_name(field: Field, values: list[object]) -> None:
    others = [v for v in OF_NO_TYPE if not _allowed(field, v)]
    for value in [*values, *others]:
        with pytest.raises(WireError) as caught:
            field.check(value)
        error = caught.value
        assert (error.code, error.field) == ("bad_field", "f")
        assert error.remedy.startswith("give")


def _allowed(field: Field, value: object) -> bool:
    return (
        (field is TEXT and value == "")
        or (field is TEXTS and value == [])
        or (field is WEIGHTS and value == {})
    )


@pytest.mark.parametrize(
    ("make", "bounds"),
    [
        (lambda: fields.integer("f", 0, 2**63 - 1, ""), "0..2^63 - 1"),
        (lambda: fields.integer("f", -(2**30), 2**30, ""), "-2^30..2^30"),
        (lambda: fields.number("f", 0.0, 1e38, "", infinite=True), "0..1e+38 or inf"),
    ],
)
def test_bounds_are_written_for_people(make: Callable[[], Field], bounds: str) -> None:
    assert make().bounds == bounds


CELLS = Array("cells", "i32", ("n", 2), "")
OFFSETS = Array("offsets", "u32", ("n + 1",), "")


def test_lengths_of_one_name_agree() -> None:
    lengths: dict[str, int] = {}
    CELLS.check(np.zeros((3, 2), np.int32), lengths)
    OFFSETS.check(np.zeros(4, np.uint32), lengths)
    assert lengths == {"n": 3}
    with pytest.raises(WireError, match="cells"):
        CELLS.check(np.zeros((4, 2), np.int32), lengths)
    with pytest.raises(WireError, match="offsets"):
        OFFSETS.check(np.zeros(3, np.uint32), lengths)


def test_the_later_length_may_come_first() -> None:
    lengths: dict[str, int] = {}
    OFFSETS.check(np.zeros(4, np.uint32), lengths)
    CELLS.check(np.zeros((3, 2), np.int32), lengths)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((3, 2), np.int64),
        np.zeros((3, 3), np.int32),
        np.zeros(6, np.int32),
        np.zeros((3, 2), np.uint32),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_arrays_of_another_kind_are_refused(array: Any) -> None:
    with pytest.raises(WireError) as caught:
        CELLS.check(array, {"n": 3})
    assert caught.value.field == "cells"
    assert "i32 of n x 2 (3 x 2)" in caught.value.remedy


def test_a_field_of_the_message_may_say_the_length() -> None:
    array = Array("classes", "u8", ("height", "width"), "")
    array.check(np.zeros((2, 3), np.uint8), {"height": 2, "width": 3})
    with pytest.raises(WireError, match="classes"):
        array.check(np.zeros((3, 2), np.uint8), {"height": 2, "width": 3})
