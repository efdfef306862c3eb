"""Move masks of a query with cells of its own are those of a map with these cells edited."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.grid import DEFAULT_PROFILE, SOLID, DiagonalMode, Grid, Profile
from navserver.search.movement import Movement
from navserver.search.overrides import MAX_QUERY_CELLS, checked_query_cells, overridden_masks
from navserver.status import CellError
from tests import strategies as my

BODIES = [(1, 0.0), (2, 0.0), (3, 0.0), (1, 0.5), (1, 1.0), (1, 2.5)]


@given(st.data())
def test_masks_equal_those_of_an_edited_map(data: st.DataObject) -> None:
    model = data.draw(my.models(14, plain=True))
    grid = my.grid_of(model)
    size, radius = data.draw(st.sampled_from(BODIES))
    movement = Movement(
        DEFAULT_PROFILE, data.draw(st.sampled_from(DiagonalMode)), size=size, radius=radius
    )
    before = grid.terrain(movement).masks.copy()
    cells = st.lists(my.cells(model), max_size=6)
    blocked, ignored = data.draw(cells), data.draw(cells)
    masks = overridden_masks(
        grid,
        movement,
        checked_query_cells(grid, "blocked_cells", blocked),
        checked_query_cells(grid, "ignored_cells", ignored),
    )
    np.testing.assert_array_equal(grid.terrain(movement).masks, before, "the grid's own stay")
    grid.set_cells(blocked, SOLID)
    grid.set_cells(ignored, 0)
    np.testing.assert_array_equal(masks, grid.terrain(movement).masks)


def test_without_walls_a_cell_can_be_blocked() -> None:
    grid = Grid.filled(3, 1)
    everything = Movement(Profile([1.0] * 256))
    blocked = checked_query_cells(grid, "blocked_cells", [(1, 0)])
    none = checked_query_cells(grid, "ignored_cells", None)
    masks = overridden_masks(grid, everything, blocked, none)
    assert masks.tolist() == [0, 0, 0]


@pytest.mark.parametrize("cells", [[(0, 9)], [(0, 0)] * (MAX_QUERY_CELLS + 1), "ab", [1, 2]])
def test_unfit_cells(cells: Any) -> None:
    with pytest.raises(CellError, match=r"^blocked_cells"):
        checked_query_cells(Grid.filled(3, 3), "blocked_cells", cells)


def test_as_many_cells_as_allowed() -> None:
    flat = checked_query_cells(Grid.filled(3, 3), "blocked_cells", [(0, 1)] * MAX_QUERY_CELLS)
    assert flat.tolist() == [3] * MAX_QUERY_CELLS
