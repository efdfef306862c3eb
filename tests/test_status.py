from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from navserver.status import (
    CellError,
    Detail,
    GridChangedError,
    InputError,
    MapFileError,
    NavserverError,
    NoPathError,
    Status,
)


def test_status_numbers_are_fixed() -> None:
    assert {status.name: int(status) for status in Status} == {
        "FOUND": 0,
        "PARTIAL": 1,
        "UNREACHABLE": 2,
        "START_BLOCKED": 3,
        "GOAL_BLOCKED": 4,
        "LIMIT": 5,
        "CANCELLED": 6,
    }


def test_detail_bits_are_fixed() -> None:
    bits = {name: int(bit) for name, bit in Detail.__members__.items()}
    assert bits == {
        "NONE": 0,
        "UNREACHABLE": 1,
        "GOAL_BLOCKED": 2,
        "EXPANSION_LIMIT": 4,
        "COST_LIMIT": 8,
        "CANCELLED": 16,
    }


@pytest.mark.parametrize(
    ("error", "bases"),
    [
        (InputError, (NavserverError, ValueError)),
        (CellError, (InputError,)),
        (MapFileError, (InputError,)),
        (GridChangedError, (NavserverError, RuntimeError)),
        (NoPathError, (NavserverError, RuntimeError)),
    ],
)
def test_exceptions_are_kinds_of(error: type, bases: tuple[type, ...]) -> None:
    for base in bases:
        assert issubclass(error, base)


@pytest.mark.parametrize("kind", [InputError, CellError])
def test_input_error_names_field_value_problem_and_remedy(kind: type[InputError]) -> None:
    error = kind("weight", 0.5, "is below 1", "give at least 1")
    assert str(error) == "weight: 0.5 is below 1; give at least 1"
    assert (error.field, error.value) == ("weight", 0.5)
    assert (error.problem, error.remedy) == ("is below 1", "give at least 1")


def test_input_error_stays_short_for_long_values() -> None:
    error = InputError("start", "x" * 100_000, "is not a cell", "give (x, y)")
    assert len(str(error)) < 400
    assert str(error).startswith("start: 'xxx")
    assert str(error).endswith("is not a cell; give (x, y)")
    assert error.value == "x" * 100_000


@pytest.mark.parametrize("path", ["a.map", Path("a.map")])
def test_map_file_error_names_path_and_line(path: str | Path) -> None:
    error = MapFileError(path, 3, "height is missing", "add a line 'height N'")
    assert str(error) == "a.map:3: height is missing; add a line 'height N'"
    assert error.line == 3


def test_map_file_error_without_a_line() -> None:
    error = MapFileError("a.png", None, "is not an image", "give a PNG")
    assert str(error) == "a.png: is not an image; give a PNG"
    assert error.line is None


@pytest.mark.parametrize(
    "error",
    [
        InputError("weight", [0.5], "is out of bounds", "give 1 or more"),
        CellError("start", (9, 9), "lies outside the map", "stay on it"),
        MapFileError("a.map", 3, "row 1 has 2 cells", "mend the row"),
    ],
)
def test_errors_survive_pickling(error: InputError) -> None:
    # An exception that does not come out of a worker process hangs multiprocessing.Pool.
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert (str(back), vars(back)) == (str(error), vars(error))


def test_a_value_of_many_lines_is_shown_on_one() -> None:
    assert "\n" not in str(InputError("cells", "a\nb\n  c", "is bad", "mend it"))
    assert "\n" not in str(InputError("cells", np.zeros((3, 3)), "is bad", "mend it"))
