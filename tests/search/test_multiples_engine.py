from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.astar import AStar, find_path
from navserver.search.engine import BUCKETS, HEAP, MULTIPLES
from navserver.search.grid import CostModel, DiagonalMode, Grid, Profile
from navserver.search.nodes import SearchTrace
from navserver.status import Detail, Status
from tests import reference as ref
from tests import strategies as sts
from tests.engines import forced

RELATIVE = 1e-9
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
