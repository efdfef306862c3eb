"""The fewest walls between two points: by trying all sets of walls, and by searching after."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from navserver.search.astar import find_path
from navserver.search.grid import Grid, Profile
from navserver.search.islands import connected
from navserver.search.moves import DiagonalMode
from navserver.search.openings import what_opens
from navserver.status import CellError, InputError
from tests import reference as ref
from tests import strategies as my
from tests.reference import Cell, Model
from tests.reference_bodies import fewest_openings, joined


@given(st.data())
def test_the_walls_opened_connect_and_none_can_be_spared(data: st.DataObject) -> None:
    model = data.draw(my.models(12))
    costs = data.draw(my.cost_mappings())
    grid = my.grid_of(model)
    mode = data.draw(st.sampled_from(DiagonalMode))
    start, goal = data.draw(my.cells(model)), data.draw(my.cells(model))
    options: dict[str, Any] = {"profile": Profile(costs), "diagonal_mode": mode}
    walls = what_opens(grid, start, goal, **options)
    assert walls.dtype == np.int32
    opened = ref.as_cells(walls)
    walkable = set(ref.cell_costs(model, my.table(costs)))
    assert len(set(opened)) == len(opened)
    assert not walkable.intersection(opened)
    assert joined(walkable.union(opened), start, goal, mode)
    for spared in opened:
        assert not joined(walkable.union(set(opened) - {spared}), start, goal, mode)
    np.testing.assert_array_equal(what_opens(grid, start, goal, **options), walls)
    open_class = next((c for c in range(255) if np.isfinite(options["profile"].costs[c])), None)
    assume(open_class is not None)
    if opened:
        assert not connected(grid, start, goal, **options)
        grid.set_cells(walls, open_class)
    assert connected(grid, start, goal, **options)
    assert find_path(grid, start, goal, **options).found
    assert what_opens(grid, start, goal, **options).shape == (0, 2)


@given(
    rows=st.integers(1, 4),
    columns=st.integers(1, 4),
    data=st.data(),
    mode=st.sampled_from(DiagonalMode),
)
def test_there_is_no_smaller_set(
    rows: int, columns: int, data: st.DataObject, mode: DiagonalMode
) -> None:
    bits = data.draw(st.lists(st.booleans(), min_size=rows * columns, max_size=rows * columns))
    blocked = np.array(bits).reshape(rows, columns)
    model = Model(blocked.astype(np.uint8) * np.uint8(255), region=(-2, 5))
    start, goal = data.draw(my.cells(model)), data.draw(my.cells(model))
    walkable = set(ref.cell_costs(model, my.table()))
    walls = what_opens(my.grid_of(model), start, goal, diagonal_mode=mode)
    assert len(walls) == fewest_openings(model, walkable, start, goal, mode)


@pytest.mark.parametrize("mode", list(DiagonalMode))
def test_as_few_as_a_dearest_path_has_walls_on_a_larger_map(mode: DiagonalMode) -> None:
    random = np.random.default_rng(int(mode))
    blocked = random.random((40, 50)) < 0.55
    grid = Grid.from_blocked(blocked)
    for _ in range(20):
        start, goal = ((int(x), int(y)) for x, y in random.integers(0, [50, 40], (2, 2)))
        walls = what_opens(grid, start, goal, diagonal_mode=mode)
        assert len(walls) == least_walls(blocked, start, goal, eight=mode == DiagonalMode.ALWAYS)
        opened = grid.copy()
        opened.set_cells(walls, 0)
        assert find_path(opened, start, goal, diagonal_mode=mode).found


def least_walls(blocked: Any, start: Cell, goal: Cell, *, eight: bool) -> int:
    """Dijkstra over all cells, a wall costs 1 to enter."""
    height, width = blocked.shape
    best: dict[Cell, int] = {}
    heap = [(int(blocked[start[1], start[0]]), start)]
    while heap:
        cost, (x, y) = heapq.heappop(heap)
        if (x, y) in best:
            continue
        best[x, y] = cost
        for dx, dy in ref.DIRECTIONS:
            to = (x + dx, y + dy)
            if (eight or not (dx and dy)) and 0 <= to[0] < width and 0 <= to[1] < height:
                heapq.heappush(heap, (cost + int(blocked[to[1], to[0]]), to))
    return best[goal]


def test_blocked_ends_are_among_the_walls() -> None:
    grid = Grid.filled(5, 1, 255, region_position=(10, 20))
    assert what_opens(grid, (11, 20), (13, 20)).tolist() == [[11, 20], [12, 20], [13, 20]]
    assert what_opens(grid, (13, 20), (11, 20)).tolist() == [[13, 20], [12, 20], [11, 20]]
    assert what_opens(grid, (12, 20), (12, 20)).tolist() == [[12, 20]]
    grid.set_cell((12, 20), 0)
    assert what_opens(grid, (12, 20), (12, 20)).shape == (0, 2)


def test_more_walls_than_there_is_room_for_at_first() -> None:
    grid = Grid.filled(300, 1, 255)
    assert what_opens(grid, (0, 0), (299, 0)).tolist() == [[x, 0] for x in range(300)]


def test_a_mode_that_passes_corners_needs_fewer() -> None:
    grid = Grid.from_blocked([[False, True], [True, False]])
    assert len(what_opens(grid, (0, 0), (1, 1), diagonal_mode=DiagonalMode.ALWAYS)) == 0
    for mode in DiagonalMode:
        if mode != DiagonalMode.ALWAYS:
            assert len(what_opens(grid, (0, 0), (1, 1), diagonal_mode=mode)) == 1


def test_larger_bodies_and_cells_outside_are_refused() -> None:
    grid = Grid.filled(4, 4, transform=[[16.0, 0.0, 0.0], [0.0, 16.0, 0.0]])
    with pytest.raises(InputError, match="size"):
        what_opens(grid, (0, 0), (1, 1), size=2)
    with pytest.raises(InputError, match="radius"):
        what_opens(grid, (0, 0), (1, 1), radius=8.5)
    assert what_opens(grid, (0, 0), (1, 1), radius=8.0).shape == (0, 2)
    with pytest.raises(CellError, match="goal"):
        what_opens(grid, (0, 0), (4, 4))
    with pytest.raises(CellError, match="start"):
        what_opens(grid, (-1, 0), (3, 3))
