"""Cells that one query changes, seen by larger bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from navserver.search.astar import AStar
from navserver.search.grid import Grid
from navserver.search.movement import Movement
from tests import reference as ref
from tests import strategies as my
from tests.bodies import check_result
from tests.reference_bodies import body_cells


@pytest.mark.parametrize(
    ("size", "radius"), [(1, 0.0), (2, 0.0), (3, 0.0), (6, 0.0), (1, 1.0), (1, 1.5), (1, 2.5)]
)
@given(query=my.queries(14, changes=True))
def test_cells_of_a_query_count_for_the_whole_body(
    size: int, radius: float, query: my.Query
) -> None:
    grid = my.grid_of(query.model)
    options: dict[str, Any] = query.options()
    costs = query.costs()
    room = body_cells(query.model, set(costs), size, radius)
    # An ignored cell costs as class cost 1, whatever stands around it.
    costs = {cell: cost for cell, cost in costs.items() if cell in room}
    search = AStar(grid, size=size, radius=radius, **options)
    result = search.find_path(query.start, query.goal, **query.changes())
    check_result(result, costs, query)
    again = search.find_path(query.start, query.goal)
    plain = query.model.copy()
    unchanged = ref.cell_costs(plain, my.table(query.costs_of_classes), query.overlays)
    room = body_cells(query.model, set(unchanged), size, radius)
    query.blocked_cells, query.ignored_cells = [], []
    check_result(again, {cell: c for cell, c in unchanged.items() if cell in room}, query)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "radius"), [(2, 0.0), (9, 0.0), (32, 0.0), (1, 2.0), (1, 32.0)])
@pytest.mark.parametrize("spread", [4, 40, 150])
def test_many_cells_of_a_query_equal_an_edit(size: int, radius: float, spread: int) -> None:
    random = np.random.default_rng([size, int(radius), spread])
    blocked = np.kron(random.random((9, 10)) < 0.1, np.ones((16, 16), np.bool_))
    grid = Grid.from_blocked(blocked, region_position=(3, -8))
    corner = random.integers(0, 100, (2, 1, 2))
    n_cells = 200
    cells = (corner + random.integers(0, spread, (2, n_cells, 2))) % [grid.width, grid.height]
    cells += [3, -8]
    movement = Movement(size=size, radius=radius)
    space = grid.space(movement)
    closed, opened = space.anchors(grid.flat_indices(cells[0]), grid.flat_indices(cells[1]))
    mine = (space.open_table[space.cells] != 0).reshape(-1).copy()
    assert mine[closed].all()
    assert not mine[opened].any()
    mine[closed], mine[opened] = False, True
    edited = grid.copy()
    edited.set_cells(cells[0], 255)
    edited.set_cells(cells[1], 0)
    expected = edited.space(movement)
    np.testing.assert_array_equal(mine, expected.open_table[expected.cells].reshape(-1) != 0)
