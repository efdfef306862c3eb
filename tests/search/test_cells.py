"""Cells in all the forms that callers give them in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from navserver.search.cells import flat_cells, is_cell, paired_cells
from navserver.search.grid import Grid
from navserver.status import CellError

GRID = Grid.filled(4, 3, region_position=(-1, 5))


@pytest.mark.parametrize("cell", [(1, 6), [1, 6], np.array([1, 6]), np.array([1, 6], np.uint64)])
def test_one_cell(cell: Any) -> None:
    flat, single = flat_cells(GRID, "cell", cell)
    assert (flat.dtype, flat.tolist(), single) == (np.int64, [6], True)
    assert is_cell(cell) == isinstance(cell, tuple)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([(1, 6)], [6]),
        (((1, 6), (-1, 5)), [6, 0]),
        (np.array([[1, 6], [2, 7]], np.int16), [6, 11]),
        ([], []),
        (np.empty((0, 2), np.int64), []),
    ],
)
def test_many_cells(cells: Any, expected: list[int]) -> None:
    flat, single = flat_cells(GRID, "cells", cells)
    assert (flat.dtype, flat.tolist(), single) == (np.int64, expected, False)


@pytest.mark.parametrize(
    ("cells", "field"),
    [
        (7, "cells"),
        ("ab", "cells"),
        (None, "cells"),
        ((1.0, 6.0), "cells"),
        ((1, 6.0), "cells"),
        ((1, 6, 2), "cells"),
        ([1], "cells"),
        ([(1, 6), (2,)], "cells"),
        ((4, 6), "cells"),
        (np.array([2**64 - 1, 6], np.uint64), "cells"),
        ([(1, 6), (9, 6)], "cells[1]"),
        (np.array([[2**64 - 1, 6]], np.uint64), "cells"),
        ([[[1, 6]]], "cells"),
    ],
)
def test_what_is_no_cell_is_refused(cells: Any, field: str) -> None:
    with pytest.raises(CellError) as caught:
        flat_cells(GRID, "cells", cells)
    assert caught.value.field == field


ONE, TWO, NONE = (1, 6), [(1, 6), (2, 7)], np.empty((0, 2), np.int64)


@pytest.mark.parametrize(
    ("starts", "goals", "expected"),
    [
        (ONE, (2, 7), ([6], [11], True)),
        (list(ONE), np.array((2, 7)), ([6], [11], True)),
        ([ONE], (2, 7), ([6], [11], False)),
        (ONE, [(2, 7)], ([6], [11], False)),
        (ONE, TWO, ([6, 6], [6, 11], False)),
        (TWO, ONE, ([6, 11], [6, 6], False)),
        (TWO, TWO[::-1], ([6, 11], [11, 6], False)),
        (ONE, NONE, ([], [], False)),
        (NONE, ONE, ([], [], False)),
        ([], [], ([], [], False)),
    ],
)
def test_pairs(starts: Any, goals: Any, expected: tuple[list[int], list[int], bool]) -> None:
    one, other, single = paired_cells(GRID, starts, goals)
    assert (one.tolist(), other.tolist(), single) == expected


@pytest.mark.parametrize(
    ("starts", "goals"), [(TWO, [*TWO, ONE]), ([], TWO), (TWO, []), ([ONE], TWO), (TWO, [ONE])]
)
def test_arrays_of_different_lengths_do_not_pair(starts: Any, goals: Any) -> None:
    with pytest.raises(CellError, match=f"goals: {len(goals)} cells do .*; give {len(starts)}, or"):
        paired_cells(GRID, starts, goals, ("starts", "goals"))


def test_errors_name_the_fields() -> None:
    with pytest.raises(CellError) as caught:
        paired_cells(GRID, ONE, (9, 9), ("from", "to"))
    assert caught.value.field == "to"
