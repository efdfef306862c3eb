from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.astar import find_path
from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from navserver.search.profile import Profile
from navserver.service.path_validity import (
    Break,
    BreakReason,
    find_breaks,
    path_cost,
    reach_of,
)
from navserver.service.requests import movement_keywords
from tests.strategies import models

MOVEMENTS = [
    Movement(),
    Movement(diagonal_mode=DiagonalMode.NEVER),
    Movement(diagonal_mode=DiagonalMode.ALWAYS),
    Movement(Profile({1: 3.0, 2: float("inf")}), DiagonalMode.AT_LEAST_ONE_WALKABLE),
    Movement(size=2),
    Movement(radius=1.0),
]


def flat(grid: Grid, cells: Any) -> tuple[Any, Any]:
    return grid.flat_indices(cells), np.array([0, len(cells)])


@pytest.mark.parametrize(
    ("cells", "walls", "expected"),
    [
        ([(0, 0), (1, 0), (2, 0)], [(2, 0)], Break(2, BreakReason.BLOCKED)),
        ([(0, 0), (1, 0), (2, 0)], [(0, 0)], Break(0, BreakReason.BLOCKED)),
        ([(0, 0), (1, 1)], [(1, 0)], Break(1, BreakReason.CORNER)),
        ([(0, 0), (1, 0), (2, 0)], [(0, 0), (2, 0)], Break(0, BreakReason.BLOCKED)),
        ([(3, 3)], [(3, 3)], Break(0, BreakReason.BLOCKED)),
        ([(0, 0), (1, 0)], [(0, 1), (1, 1)], None),
    ],
)
def test_where_a_path_breaks_and_why(cells: Any, walls: Any, expected: Break | None) -> None:
    grid = Grid.filled(5, 5)
    grid.set_cells(walls, 255)
    breaks = find_breaks(grid, Movement(), *flat(grid, cells))
    assert breaks.get(0) == expected


def test_a_large_body_breaks_where_it_no_longer_fits() -> None:
    grid = Grid.filled(6, 3)
    path = [(0, 0), (1, 0), (2, 0), (3, 0)]
    grid.set_cell((4, 1), 255)
    assert find_breaks(grid, Movement(), *flat(grid, path)) == {}
    breaks = find_breaks(grid, Movement(size=2), *flat(grid, path))
    assert breaks == {0: Break(3, BreakReason.NARROW)}
    assert BreakReason.NARROW.word == "narrow"


def test_nobody_steps_from_the_end_of_a_path_to_the_next_one() -> None:
    grid = Grid.filled(5, 5)
    grid.set_cell((2, 0), 255)
    cells = grid.flat_indices([(0, 0), (1, 0), (3, 0), (3, 1)])
    assert find_breaks(grid, Movement(), cells, np.array([0, 2, 4])) == {}


def test_many_paths_at_once_are_as_each_alone() -> None:
    random = np.random.default_rng(1)
    grid = Grid.filled(20, 20)
    paths = []
    for _ in range(30):
        start, goal = (tuple(cell) for cell in random.integers(0, 20, (2, 2)).tolist())
        paths.append(grid.flat_indices(find_path(grid, start, goal).cells))
    grid.set_cells(random.integers(0, 20, (12, 2)), 255)
    offsets = np.cumsum([0] + [path.size for path in paths])
    together = find_breaks(grid, Movement(), np.concatenate(paths), offsets)
    alone = {
        i: breaks[0]
        for i, path in enumerate(paths)
        if (breaks := find_breaks(grid, Movement(), path, np.array([0, path.size])))
    }
    assert together == alone
    assert 0 < len(alone) < 30


@given(models(max_side=10), st.sampled_from(MOVEMENTS), st.data())
def test_a_path_breaks_where_a_walk_along_it_does(
    model: Any, movement: Movement, data: st.DataObject
) -> None:
    grid = Grid(model.classes, **model.keywords())
    cells = st.sampled_from(model.cells())
    result = find_path(grid, data.draw(cells), data.draw(cells), **movement_keywords(movement))
    if not result.found:
        return
    path, offsets = flat(grid, result.cells)
    assert find_breaks(grid, movement, path, offsets) == {}
    assert path_cost(grid, movement, path) == pytest.approx(result.cost, rel=1e-12)
    edited = data.draw(st.lists(cells, min_size=1, max_size=4))
    grid.set_cells(edited, [data.draw(st.sampled_from([0, 2, 255])) for _ in edited])
    breaks = find_breaks(grid, movement, path, offsets)
    fresh = Grid(grid.classes, **model.keywords())
    # Step by step by searches that may only go from one cell to the next.
    expected = None
    steps = [(result.cells[0], result.cells[0])]
    steps += list(zip(result.cells[:-1], result.cells[1:], strict=True))
    for i, (one, other) in enumerate(steps):
        keywords = movement_keywords(movement)
        step = find_path(fresh, one.tolist(), other.tolist(), **keywords)
        if not step.found or len(step.cells) > 2:
            expected = i
            break
    assert breaks.get(0, Break(None, BreakReason.BLOCKED)).cell_index == expected  # type: ignore[arg-type]


def test_reach_bounds_which_cells_an_edit_may_change() -> None:
    for movement in (*MOVEMENTS, Movement(size=5), Movement(radius=2.4)):
        grid = Grid.filled(21, 21)
        before = grid.terrain(movement).masks.reshape(21, 21).copy()
        grid.set_cell((10, 10), 255)
        after = grid.terrain(movement).masks.reshape(21, 21)
        y, x = np.nonzero(before != after)
        reach = reach_of(grid, movement)
        assert np.abs(np.concatenate([x, y]) - 10).max() <= reach
    stretched = Grid.filled(9, 9, transform=[[2.0, 0, 0], [0, 8.0, 0]])
    assert reach_of(stretched, Movement(radius=4.0)) == 4
