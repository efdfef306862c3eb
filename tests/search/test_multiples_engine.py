from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra

from navserver.search.astar import AStar, find_path
from navserver.search.engine import BUCKETS, HEAP, MULTIPLES
from navserver.search.grid import CostModel, DiagonalMode, Grid, Profile
from navserver.search.nodes import SearchTrace
from navserver.search.packed_nodes import MAX_G, STRAIGHT
from navserver.status import Detail, Status
from tests import reference as ref
from tests import strategies as sts
from tests.engines import forced, many_costs, serpentine_map, tiled
from tests.reference_engines import all_pairs, graph

RELATIVE = 1e-9
# Diagonal steps are short by so much in fixed point, and with them the order of paths.
ROUNDED = 1.1e-8
FAMILIES = (
    [1, 2, 5],
    [1, 1.5],
    [0.5, 2, 4, 8],
    [3, 4, 7],
    [0.25, 5],
    [1e-20, 3e-20],
    [2e30, 4e30],
)


def engine_of(grid: Grid, **options: object) -> int:
    search = AStar(grid, **options)  # type: ignore[arg-type]
    search.prepare()
    return search._request.engine


def class_map(side: int, seed: int, count: int, walls: float = 0.2) -> Grid:
    random = np.random.default_rng(seed)
    classes = random.integers(0, count, (side, side), np.uint8)
    classes[random.random((side, side)) < walls] = 255
    classes[0, 0] = classes[-1, -1] = 0
    return Grid(classes)


@pytest.mark.parametrize("costs", FAMILIES)
def test_small_multiples_are_served(costs: list[float]) -> None:
    grid = class_map(8, 1, len(costs), 0.0)
    assert engine_of(grid, profile=Profile(dict(enumerate(costs)))) == MULTIPLES


@pytest.mark.parametrize(
    ("costs", "options"),
    [
        ([0.1, 0.3], {}),  # neither is a float32, and they round apart
        ([1, 3.14159], {}),
        ([1, 65], {}),
        ([1, 2], {"cost_model": CostModel.MEAN}),
        ([1, 2], {"cost_model": CostModel.PRODUCT}),
        ([1, 2], {"weight": 5.0}),
        ([1, 2], {"heuristic": 0}),
        ([1, 60], {}),  # the buckets would be wider than the least step
    ],
)
def test_other_costs_are_left_to_buckets(costs: list[float], options: dict[str, object]) -> None:
    grid = class_map(8, 1, len(costs), 0.0)
    profile = Profile(dict(enumerate(costs)))
    assert engine_of(grid, profile=profile, **options) == BUCKETS


def test_scales_overlays_and_zero_costs_are_left_to_others() -> None:
    grid = class_map(8, 1, 2, 0.0)
    profile = Profile({0: 1, 1: 2})
    assert engine_of(grid, profile=Profile({0: 0, 1: 2})) == HEAP
    grid.set_cell((0, 0), layers={"mud": 1.0})
    assert engine_of(grid, profile=profile) == MULTIPLES
    assert engine_of(grid, profile=profile, overlays={"mud": 1.0}) == BUCKETS
    grid.set_cell((0, 0), cell_scale=2.0)
    assert engine_of(grid, profile=profile) == BUCKETS


def test_classes_that_are_not_on_the_map_do_not_count() -> None:
    grid = class_map(8, 1, 2, 0.0)
    profile = Profile({0: 1, 1: 2, 9: 1e9, 10: 0.3})
    assert engine_of(grid, profile=profile) == MULTIPLES
    search = AStar(grid, profile=profile)
    before = search.find_path((0, 0), (7, 7)).cost
    grid.set_rectangle((3, 0), (1, 8), 9)
    result = search.find_path((0, 0), (7, 7))
    assert result.cost == pytest.approx(before + 1e9, rel=1e-6)
    assert search._request.engine == HEAP


@given(st.sampled_from(FAMILIES), st.data())
def test_costs_are_those_of_the_oracle(costs: list[float], data: st.DataObject) -> None:
    query = data.draw(sts.queries())
    query.cost_model = CostModel.ENTERED
    query.model.cell_scale, query.model.layers, query.overlays = None, {}, None
    query.costs_of_classes = dict(enumerate(costs)) | {3: costs[-1]}
    grid = sts.grid_of(query.model)
    heuristic = data.draw(sts.heuristics_for(query.diagonal_mode))
    weight = data.draw(st.sampled_from((1.0, 1.0, 1.3, 4.0)))
    search = AStar(grid, heuristic=heuristic, weight=weight, **query.options())
    trace = SearchTrace(5000)
    result = search.find_path(query.start, query.goal, trace=trace)
    plain = search.find_path(query.start, query.goal)
    assert (plain.status, plain.cost, plain.metrics) == (
        result.status,
        result.cost,
        result.metrics,
    )
    np.testing.assert_array_equal(plain.cells, result.cells)
    best = ref.distances(query.costs(), query.start, query.diagonal_mode, query.cost_model)
    if query.start not in query.costs() or query.goal not in query.costs():
        assert not result.found
        return
    assert result.found == (query.goal in best)
    if result.found:
        optimum = best[query.goal]
        assert result.cost >= optimum * (1 - RELATIVE)
        assert result.cost <= weight * optimum * (1 + RELATIVE)
    else:
        assert result.metrics.expanded - result.metrics.reopened == len(best)
    # In slices of every size the same.
    search.begin(query.start, query.goal)
    while not search.advance(data.draw(st.integers(1, 9))):
        pass
    sliced = search.finish()
    assert (sliced.status, sliced.metrics) == (plain.status, plain.metrics)
    np.testing.assert_array_equal(sliced.cells, plain.cells)


@pytest.mark.slow
@pytest.mark.parametrize("mode", DiagonalMode)
@pytest.mark.parametrize("costs", [[1, 2, 3, 4, 5], [1, 1.5, 10], [1, 20]])
def test_large_maps_cost_what_the_heap_finds(mode: DiagonalMode, costs: list[float]) -> None:
    random = np.random.default_rng(7)
    for seed in range(3):
        grid = class_map(150, seed, len(costs), (0.1, 0.25, 0.35)[seed])
        options = {"profile": Profile(dict(enumerate(costs))), "diagonal_mode": mode}
        assert engine_of(grid, **options) == MULTIPLES
        search = AStar(grid, **options)  # type: ignore[arg-type]
        with forced(HEAP):
            heap = AStar(grid, **options)  # type: ignore[arg-type]
            heap.prepare()
        for _ in range(25):
            start, goal = (tuple(cell) for cell in random.integers(0, 150, (2, 2)).tolist())
            mine, other = search.find_path(start, goal), heap.find_path(start, goal)
            assert mine.status == other.status
            assert mine.cost == pytest.approx(other.cost, rel=RELATIVE)


def test_a_cost_limit_at_the_optimum_suffices() -> None:
    grid = class_map(30, 3, 3, 0.1)
    options = {"profile": Profile({0: 1, 1: 1.5, 2: 4})}
    optimum = find_path(grid, (0, 0), (29, 29), **options).cost
    at = find_path(grid, (0, 0), (29, 29), max_cost=optimum, **options)
    assert (at.status, at.cost) == (Status.FOUND, optimum)
    below = find_path(grid, (0, 0), (29, 29), max_cost=optimum - 1e-4, **options)
    assert (below.status, below.detail) == (Status.LIMIT, Detail.COST_LIMIT)


def test_each_limit_of_expansions_is_kept() -> None:
    grid = class_map(12, 5, 3, 0.1)
    options = {"profile": Profile({0: 1, 1: 2, 2: 3})}
    full = find_path(grid, (0, 0), (11, 11), **options).metrics.expanded
    for limit in range(1, full + 3):
        result = find_path(grid, (0, 0), (11, 11), max_expansions=limit, **options)
        assert result.found == (limit >= full)
        assert result.metrics.expanded == min(limit, full)


@pytest.mark.parametrize("mode", DiagonalMode)
def test_a_path_beyond_fixed_point_is_found_in_float64(mode: DiagonalMode) -> None:
    grid = class_map(20, 4, 3, 0.15)
    options = {"profile": Profile({0: 1, 1: 2, 2: 5}), "diagonal_mode": mode}
    with forced(HEAP):
        exact = AStar(grid, **options).find_path((0, 0), (19, 19))  # type: ignore[arg-type]
    assert exact.found
    for limit, status in [
        (None, Status.FOUND),
        (1e300, Status.FOUND),
        (exact.cost, Status.FOUND),
        (exact.cost * (1 - 1e-6), Status.LIMIT),
        (5.0, Status.LIMIT),
    ]:
        # As if there were fixed point for a cost of 12 only.
        reach = 12 if limit is None else min(12, limit)
        with forced(MULTIPLES, max_g=int(reach * STRAIGHT)):
            search = AStar(grid, max_cost=limit, **options)  # type: ignore[arg-type]
            search.prepare()
            assert search._request.engine == MULTIPLES
            result = search.find_path((0, 0), (19, 19))
        assert result.status == status
        if result.found:
            assert result.cost == pytest.approx(exact.cost, rel=1e-12)
            assert search._request.engine == BUCKETS


@pytest.mark.slow
def test_a_dear_corridor_beyond_fixed_point() -> None:
    blocked = serpentine_map(960)
    grid = Grid(np.where(blocked, 255, 1).astype(np.uint8))
    grid.set_cell((0, 0), 0)
    search = AStar(grid, profile=Profile({0: 7, 1: 50}))
    search.prepare()
    assert search._request.engine == MULTIPLES
    length = int((~blocked).sum()) - 1
    assert length * 50 * STRAIGHT > MAX_G
    result = search.find_path((0, 0), (0, 959))
    assert (result.status, result.cost) == (Status.FOUND, 50.0 * length)


def check_multiples_with_scipy(seed: int, side: int, starts: int, goals: int) -> None:
    random = np.random.default_rng(seed)
    for costs in ([1, 2, 5], [3, 4, 7, 11], [1, 1.5, 2.25], [1, 25]):
        classes = random.integers(0, len(costs), (side, side), np.uint8)
        blocked = random.random((side, side)) < random.uniform(0.0, 0.3)
        grid = Grid(np.where(blocked, np.uint8(255), classes))
        free = np.flatnonzero(~blocked.reshape(-1))
        table = np.where(blocked, np.inf, np.array(costs, float)[classes])
        for mode in DiagonalMode:
            search = AStar(grid, profile=Profile(dict(enumerate(costs))), diagonal_mode=mode)
            search.prepare()
            assert search._request.engine == MULTIPLES
            sources, ends = random.choice(free, starts), random.choice(free, goals)
            expected = dijkstra(graph(table, mode), indices=sources)[:, ends]
            found = many_costs(search, sources.repeat(goals), np.tile(ends, starts))
            np.testing.assert_allclose(found.reshape(expected.shape), expected, ROUNDED)


@pytest.mark.slow
def test_large_maps_cost_what_scipy_finds() -> None:
    check_multiples_with_scipy(1, 120, 3, 20)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(6))
def test_many_large_maps_cost_what_scipy_finds(seed: int) -> None:
    check_multiples_with_scipy(seed + 10, (150, 300, 512)[seed % 3], 8, 40)


@pytest.mark.slow
@pytest.mark.parametrize("mode", DiagonalMode)
def test_all_pairs_on_small_maps(mode: DiagonalMode) -> None:
    for seed, shape in enumerate([(3, 3), (2, 6), (4, 4)]):
        random = np.random.default_rng(seed)
        costs = random.choice([1.0, 2.0, 5.0, 25.0], (300, *shape))
        costs[random.random(costs.shape) < 0.25] = np.inf
        map_, flat = tiled(costs, np.inf)
        classes = np.where(np.isinf(map_), 255, map_).astype(np.uint8)
        profile = Profile({1: 1, 2: 2, 5: 5, 25: 25})
        search = AStar(Grid(classes), profile=profile, diagonal_mode=mode)
        search.prepare()
        assert search._request.engine == MULTIPLES
        cells = flat.shape[1]
        found = many_costs(
            search, flat.repeat(cells, axis=1).reshape(-1), np.tile(flat, (1, cells)).reshape(-1)
        )
        expected = all_pairs(costs, mode)
        np.testing.assert_allclose(found.reshape(expected.shape), expected, 1e-12, 1e-12)
