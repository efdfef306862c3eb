"""Fixed point and canonical ordering against all pairs on small maps, scipy and float64."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from navserver.search.astar import AStar
from navserver.search.engine import BUCKETS, CANONICAL, HEAP, LAST_STAMP
from navserver.search.grid import MAX_SIDE, DiagonalMode, Grid, Profile
from navserver.search.heuristics import Heuristic
from navserver.search.nodes import SearchTrace
from navserver.search.packed_nodes import (
    CELL_BITS,
    DIAGONAL,
    MAX_G,
    STAMP_AT,
    STRAIGHT,
)
from navserver.status import Detail, Status
from tests import engines as eng
from tests.reference_engines import all_pairs

MODES = list(DiagonalMode)
each_mode = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)


# --- every small map ------------------------------------------------------------------------------


def patterns(height: int, width: int, every: int = 1) -> NDArray[np.bool_]:
    """All maps of a size, or every n-th of them."""
    numbers = np.arange(0, 1 << height * width, every)
    return (
        (numbers[:, None] >> np.arange(height * width) & 1).astype(bool).reshape(-1, height, width)
    )


def check_all_pairs(blocked: NDArray[np.bool_], mode: DiagonalMode, **options: Any) -> None:
    """Compare all pairs of cells of small maps, which lie side by side on a large one."""
    n, height, width = blocked.shape
    cells = height * width
    map_, flat = eng.tiled(blocked, True)
    search = eng.searcher(Grid.from_blocked(map_), CANONICAL, diagonal_mode=mode, **options)
    for first in range(0, n, 4096):
        part = slice(first, first + 4096)
        expected = all_pairs(np.where(blocked[part], np.inf, 1.0), mode)
        starts = flat[part].repeat(cells, axis=1).reshape(-1)
        goals = np.tile(flat[part], (1, cells)).reshape(-1)
        found = eng.many_costs(search, starts, goals).reshape(expected.shape)
        np.testing.assert_allclose(found, expected, 1e-12, 1e-12)


@each_mode
def test_every_map_of_two_by_three_cells(mode: DiagonalMode) -> None:
    check_all_pairs(patterns(2, 3), mode)


@pytest.mark.slow
@each_mode
@pytest.mark.parametrize("shape", [(3, 3), (3, 4), (4, 3), (2, 6), (6, 2), (1, 12)], ids=str)
def test_every_map_of_twelve_cells(shape: tuple[int, int], mode: DiagonalMode) -> None:
    check_all_pairs(patterns(*shape), mode)


@pytest.mark.slow
@each_mode
def test_some_maps_of_sixteen_cells(mode: DiagonalMode) -> None:
    check_all_pairs(patterns(4, 4, every=31), mode)


@pytest.mark.soak
@each_mode
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)], ids=str)
def test_every_map_of_sixteen_cells(shape: tuple[int, int], mode: DiagonalMode) -> None:
    check_all_pairs(patterns(*shape), mode)
    check_all_pairs(patterns(*shape, every=3), mode, heuristic=Heuristic.ZERO)


def check_random_maps(seed: int, mode: DiagonalMode, n: int, height: int, width: int) -> None:
    random = np.random.default_rng(seed)
    density = random.uniform(0.1, 0.5, (n, 1, 1))
    blocked = random.random((n, height, width)) < density
    check_all_pairs(blocked, mode)
    check_all_pairs(blocked[::4], mode, heuristic=Heuristic.CHEBYSHEV)


@pytest.mark.slow
@each_mode
def test_random_maps_of_all_shapes(mode: DiagonalMode) -> None:
    for seed, (height, width) in enumerate([(5, 5), (4, 9), (9, 4), (6, 7)]):
        check_random_maps(seed, mode, 150, height, width)


@pytest.mark.soak
@each_mode
def test_many_random_maps_of_all_shapes(mode: DiagonalMode) -> None:
    for seed in range(40):
        height, width = np.random.default_rng(seed).integers(4, 9, 2).tolist()
        check_random_maps(seed + 100, mode, 1500, height, width)


@pytest.mark.slow
@each_mode
@pytest.mark.parametrize("changes", [{"run_ahead": 0}, {"run_ahead": 1}, {"shift": 16}], ids=str)
def test_how_far_a_run_reaches_changes_no_cost(mode: DiagonalMode, changes: dict[str, int]) -> None:
    random = np.random.default_rng(4)
    blocked = random.random((60, 60)) < 0.25
    free = np.flatnonzero(~blocked.reshape(-1))
    starts, goals = random.choice(free, (2, 200))
    grid = Grid.from_blocked(blocked)
    plain = eng.searcher(grid, CANONICAL, diagonal_mode=mode)
    changed = eng.searcher(grid, CANONICAL, changes, diagonal_mode=mode)
    expected = eng.many_costs(plain, starts, goals)
    np.testing.assert_allclose(eng.many_costs(changed, starts, goals), expected, 1e-12)


# --- fixed point ----------------------------------------------------------------------------------


def test_words_hold_what_they_must() -> None:
    assert MAX_SIDE * MAX_SIDE <= 1 << CELL_BITS
    assert LAST_STAMP << STAMP_AT < 1 << 63
    assert LAST_STAMP << STAMP_AT | (1 << STAMP_AT) - 1 == (1 << 63) - 1
    # The greatest f: a path of the greatest g, and a weight of 4 over the whole map.
    assert (MAX_G + 4 * 2 * MAX_SIDE * DIAGONAL) << CELL_BITS < 1 << 63
    assert abs(DIAGONAL / STRAIGHT - math.sqrt(2.0)) < 1.1e-8


@pytest.mark.parametrize("cost", [1.0, 0.1, 1e-30, 1e30, 3e-5])
@each_mode
def test_costs_of_any_size_are_the_sum_along_the_path(cost: float, mode: DiagonalMode) -> None:
    random = np.random.default_rng(2)
    blocked = random.random((20, 20)) < 0.2
    blocked[0, 0] = blocked[19, 19] = False
    plain = eng.find(Grid.from_blocked(blocked), CANONICAL, (0, 0), (19, 19), diagonal_mode=mode)
    profile = Profile({0: cost})
    for scale in (None, np.full((20, 20), 0.3)):
        grid = Grid.from_blocked(blocked, cell_scale=scale)
        unit = grid.cost_at((0, 0), profile)
        trace = SearchTrace(400)
        result = eng.find(
            grid, CANONICAL, (0, 0), (19, 19), diagonal_mode=mode, profile=profile, trace=trace
        )
        assert result.cost == pytest.approx(plain.length * unit, rel=1e-13)
        np.testing.assert_array_equal(result.cells, plain.cells)
        assert trace.g[-1] == pytest.approx(result.cost, rel=1.1e-8)


@pytest.mark.parametrize("length", [2, 100, 3000, 8192])
def test_the_own_cost_of_a_path_is_no_limit_to_it(length: int) -> None:
    # Sums of such costs in float64 fall short of the product by more than a fixed-point unit.
    random = np.random.default_rng(length)
    for cost, scale in random.uniform(0.01, 100.0, (12, 2)):
        grid = Grid.filled(length, 1, cell_scale=np.full((1, length), scale))
        profile = Profile({0: cost})
        free = eng.find(grid, CANONICAL, (0, 0), (length - 1, 0), profile=profile)
        same = eng.find(
            grid, CANONICAL, (0, 0), (length - 1, 0), profile=profile, max_cost=free.cost
        )
        assert (same.status, same.cost) == (Status.FOUND, free.cost)
        below = eng.find(
            grid,
            CANONICAL,
            (0, 0),
            (length - 1, 0),
            profile=profile,
            max_cost=free.cost * (1 - 1e-9),
        )
        assert (below.status, below.detail) == (Status.LIMIT, Detail.COST_LIMIT)


# --- paths beyond fixed point ---------------------------------------------------------------------


@each_mode
def test_a_path_beyond_fixed_point_is_found_in_float64(mode: DiagonalMode) -> None:
    # As if there were fixed point for 20 cells only.
    grid = Grid.from_blocked(eng.serpentine_map(24))
    short = {"max_g": 20 * STRAIGHT}
    end = (0, 23)
    exact = eng.find(grid, HEAP, (0, 0), end, diagonal_mode=mode)
    assert exact.length > 20
    for limit in (None, exact.cost, exact.cost * 2, 1e300):
        options: dict[str, Any] = {"diagonal_mode": mode, "max_cost": limit}
        with eng.forced(CANONICAL, **short):
            search = AStar(grid, **options)
            near = search.find_path((0, 0), (9, 0))
            assert (near.cost, eng.engine_of(search)) == (9.0, CANONICAL)
            far = search.find_path((0, 0), end)
            assert eng.engine_of(search) == BUCKETS
            again = search.find_path((0, 0), end)
            trace = SearchTrace(1000)
            sliced = eng.slices_of(
                AStar(grid, **options), itertools.cycle((1, 7)), (0, 0), end, trace=trace
            )
            partial = AStar(grid, allow_partial=True, **options).find_path((0, 0), end)
        for result in (far, again, sliced, partial):
            assert result.status == Status.FOUND
            assert result.cost == pytest.approx(exact.cost, rel=1e-12)
            np.testing.assert_array_equal(result.cells, far.cells)
        assert far.metrics == again.metrics == sliced.metrics
        assert trace.count == sliced.metrics.expanded
        assert trace.cells[-1].tolist() == list(end)
    # After an edit fixed point serves again.
    with eng.forced(CANONICAL, **short):
        search = AStar(grid, diagonal_mode=mode)
        search.find_path((0, 0), end)
        grid.set_cell((12, 1), 0)
        search.find_path((0, 0), (5, 0))
        assert eng.engine_of(search) == CANONICAL


@each_mode
def test_what_was_asked_for_is_a_limit_all_the_same(mode: DiagonalMode) -> None:
    grid = Grid.from_blocked(eng.serpentine_map(24))
    exact = eng.find(grid, HEAP, (0, 0), (0, 23), diagonal_mode=mode)
    walls = grid.copy()
    walls.set_cell((0, 23), 255)
    for limit in (5.0, 19.0, 20.0, 21.0, 40.0, exact.cost * (1 - 1e-6)):
        options: dict[str, Any] = {"diagonal_mode": mode, "max_cost": limit}
        with eng.forced(CANONICAL, max_g=min(20 * STRAIGHT, math.floor(limit * STRAIGHT))):
            result = AStar(grid, **options).find_path((0, 0), (0, 23))
            partial = AStar(grid, allow_partial=True, **options).find_path((0, 0), (0, 23))
        assert (result.status, result.detail) == (Status.LIMIT, Detail.COST_LIMIT)
        assert (partial.status, partial.detail) == (Status.PARTIAL, Detail.COST_LIMIT)
        plain = eng.find(grid, HEAP, (0, 0), (0, 23), allow_partial=True, **options)
        np.testing.assert_array_equal(partial.cells[-1], plain.cells[-1])
        assert partial.cost == pytest.approx(plain.cost)
    with eng.forced(CANONICAL, max_g=20 * STRAIGHT):
        closed = AStar(walls, diagonal_mode=mode, allow_partial=True).find_path((0, 0), (0, 23))
    assert (closed.status, closed.detail) == (Status.PARTIAL, Detail.GOAL_BLOCKED)
    assert closed.cost == pytest.approx(
        eng.find(walls, HEAP, (0, 0), (0, 23), diagonal_mode=mode, allow_partial=True).cost
    )


def check_serpentine(side: int, *, sliced: bool) -> None:
    blocked = eng.serpentine_map(side)
    grid = Grid.from_blocked(blocked)
    search = AStar(grid)
    length = int((~blocked).sum()) - 1
    assert length > MAX_G / STRAIGHT
    if sliced:
        result = eng.slices_of(search, itertools.repeat(500_000), (0, 0), (0, side - 1))
    else:
        result = search.find_path((0, 0), (0, side - 1))
    assert eng.engine_of(search) == BUCKETS
    assert result.status == Status.FOUND
    assert result.cost == result.length == length
    assert len(result.cells) == length + 1
    assert (np.abs(np.diff(result.cells, axis=0)).sum(axis=1) == 1).all()
    assert search.find_path((0, 0), (9, 0)).cost == 9.0


@pytest.mark.slow
@pytest.mark.parametrize("sliced", [False, True], ids=["whole", "sliced"])
def test_a_corridor_of_three_million_cells(sliced: bool) -> None:
    check_serpentine(2452, sliced=sliced)


@pytest.mark.soak
@pytest.mark.parametrize("sliced", [False, True], ids=["whole", "sliced"])
def test_a_corridor_of_eight_million_cells(sliced: bool) -> None:
    check_serpentine(4096, sliced=sliced)


def test_a_limit_within_fixed_point_needs_no_other_engine() -> None:
    grid = Grid.filled(30, 30)
    for limit in (0.0, 0.3, 5.0, 28.999):
        search = AStar(grid, max_cost=limit)
        result = search.find_path((0, 0), (29, 0))
        assert (result.status, result.detail) == (Status.LIMIT, Detail.COST_LIMIT)
        assert eng.engine_of(search) == CANONICAL
