"""Where a body fits, and how far the wall is, asked cell by cell."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.clearance import distance_to_wall, fits
from navserver.search.grid import Grid, Profile
from navserver.search.movement import MAX_BODY
from navserver.status import CellError
from tests import reference as ref
from tests import strategies as my
from tests.reference import Model
from tests.reference_bodies import wall_distance, walls_of


@given(model=my.models(12, plain=True), costs=my.cost_mappings(), data=st.data())
def test_the_distance_to_the_wall_is_exact(
    model: Model, costs: dict[int, float], data: st.DataObject
) -> None:
    grid = my.grid_of(model)
    profile = Profile(costs)
    for _ in range(2):
        walls = walls_of(model, set(ref.cell_costs(model, my.table(costs))))
        expected = [math.sqrt(wall_distance(walls, cell)) / 2 for cell in model.cells()]
        whole = distance_to_wall(grid, profile=profile)
        assert isinstance(whole, np.ndarray)
        assert whole.dtype == np.float64
        assert whole.shape == (model.height, model.width)
        assert whole.reshape(-1).tolist() == expected
        chosen = data.draw(st.lists(my.cells(model), min_size=1, max_size=5))
        some = distance_to_wall(grid, chosen, profile=profile)
        assert some.tolist() == [expected[model.index(cell)] for cell in chosen]
        single = distance_to_wall(grid, chosen[0], profile=profile)
        assert single == expected[model.index(chosen[0])]
        edit = data.draw(my.edits(model))
        edit.apply_to_model(model)
        edit.apply_to_grid(grid)


def test_beyond_the_cap_the_wall_is_infinitely_far() -> None:
    grid = Grid.filled(2 * MAX_BODY + 7, 2 * MAX_BODY + 7)
    middle = MAX_BODY + 3
    assert distance_to_wall(grid, (middle, middle)) == math.inf
    assert distance_to_wall(grid, (MAX_BODY - 1, middle)) == MAX_BODY - 0.5
    assert distance_to_wall(grid, (MAX_BODY, middle)) == math.inf
    assert fits(grid, (MAX_BODY, middle), radius=float(MAX_BODY)) is True
    assert fits(grid, (MAX_BODY - 1, middle), radius=float(MAX_BODY)) is False
    grid.set_cell((middle + 20, middle + 21), 255)
    assert distance_to_wall(grid, (middle, middle)) == math.hypot(19.5, 20.5)


def test_distances_are_kept_current_and_counted() -> None:
    grid = Grid.filled(40, 30)
    distance_to_wall(grid, (3, 3))
    assert grid.memory_bytes()["derived"] == 40 * 30
    fits(grid, (3, 3), radius=2.0)
    assert grid.memory_bytes()["derived"] == 2 * 40 * 30
    fits(grid, (3, 3), radius=3.0)
    assert grid.memory_bytes()["derived"] == 3 * 40 * 30
    for size in (2, 3, 4):
        fits(grid, (3, 3), size=size)
    assert grid.memory_bytes()["derived"] == 4 * 40 * 30
    grid.set_cell((3, 5), 255)
    assert distance_to_wall(grid, (3, 3)) == 1.5


def test_cells_outside_are_refused() -> None:
    grid = Grid.filled(3, 3)
    with pytest.raises(CellError):
        fits(grid, (3, 0))
    with pytest.raises(CellError):
        distance_to_wall(grid, [(0, 0), (0, -1)])
    assert fits(grid, np.empty((0, 2), np.int64)).tolist() == []
