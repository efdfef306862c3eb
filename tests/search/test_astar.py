from __future__ import annotations

import math
import threading
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.astar import AStar, find_path
from navserver.search.engine import HEAP, Request
from navserver.search.grid import (
    DEFAULT_PROFILE,
    CostModel,
    DiagonalMode,
    Grid,
    Profile,
)
from navserver.search.heuristics import Heuristic
from navserver.search.nodes import CancelFlag, SearchTrace
from navserver.search.results import PathResult
from navserver.status import (
    CellError,
    Detail,
    GridChangedError,
    InputError,
    NoPathError,
    Status,
)
from tests import reference as ref
from tests import strategies as sts
from tests.reference import Cell, Model

INF, NAN = math.inf, math.nan
MODES = list(DiagonalMode)
ALGORITHMS = ("astar", "dijkstra")
# Costs are sums of a few thousand float64 terms in some order.
RELATIVE, ABSOLUTE = 1e-9, 1e-12
# What the fixed-point g of a trace on uniform cost may be off.
FIXED_POINT = 1.2e-8


@pytest.fixture
def heap_only() -> Iterator[None]:
    """The engine whose order of expansion is told to the last cell serves every search."""
    made = AStar._make_request

    def with_heap(self: AStar, **keywords: bool) -> Request:
        return made(self, **keywords)._replace(engine=HEAP)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AStar, "_make_request", with_heap)
        yield


def close(value: float) -> Any:
    return pytest.approx(value, rel=RELATIVE, abs=ABSOLUTE)


def grid_of_text(text: str, **keywords: Any) -> Grid:
    return Grid.from_blocked(
        np.array([[c == "#" for c in row] for row in text.split()]), **keywords
    )


def random_grid(side: int, seed: int, density: float = 0.3, **keywords: Any) -> Grid:
    blocked = np.random.default_rng(seed).random((side, side)) < density
    blocked[0, 0] = blocked[-1, -1] = False
    return Grid.from_blocked(blocked, **keywords)


def assert_same(one: PathResult, other: PathResult) -> None:
    """Equal to the bit, whatever made them."""
    assert (one.status, one.detail) == (other.status, other.detail)
    np.testing.assert_array_equal(one.cells, other.cells)
    assert one.cost == other.cost
    assert one.length == other.length
    assert one.metrics == other.metrics
    assert (one.start, one.goal) == (other.start, other.goal)


def assert_no_path(result: PathResult, status: Status) -> None:
    assert result.status == status
    assert result.found is False
    assert result.cells.shape == (0, 2)
    assert result.cells.dtype == np.int32
    assert result.cost == INF
    assert result.length == INF
    with pytest.raises(NoPathError, match=status.name.lower()):
        result.raise_for_status()


def assert_is_path(result: PathResult, query: sts.Query, costs: ref.Costs, end: Cell) -> None:
    """A legal path to ``end`` whose cost and length are the sums of its steps."""
    assert result.cells.dtype == np.int32
    assert result.cells.ndim == 2
    cells = ref.as_cells(result.cells)
    cost, length = ref.check_path(
        costs, cells, query.start, end, query.diagonal_mode, query.cost_model
    )
    assert result.cost == close(cost)
    assert result.length == close(length)
    assert len(set(cells)) == len(cells), "a path visits no cell twice"


def expected_status(query: sts.Query, costs: ref.Costs, best: dict[Cell, float]) -> Status:
    if query.start not in costs:
        return Status.START_BLOCKED
    if query.goal not in costs:
        return Status.GOAL_BLOCKED
    return Status.FOUND if query.goal in best else Status.UNREACHABLE


def best_of(query: sts.Query, costs: ref.Costs) -> dict[Cell, float]:
    return ref.distances(costs, query.start, query.diagonal_mode, query.cost_model)


def check_exact(result: PathResult, query: sts.Query) -> None:
    """The result of an exact search is that of the oracle."""
    costs = query.costs()
    best = best_of(query, costs)
    status = expected_status(query, costs, best)
    assert (result.start, result.goal) == (query.start, query.goal)
    assert result.suboptimality == 1.0
    assert result.detail == (Detail.UNREACHABLE if status == Status.UNREACHABLE else result.detail)
    if status != Status.FOUND:
        assert_no_path(result, status)
        if status == Status.UNREACHABLE:
            assert result.metrics.expanded - result.metrics.reopened == len(best)
        return
    assert result.status == Status.FOUND
    assert result.detail == Detail.NONE
    assert result.found is True
    result.raise_for_status()
    assert_is_path(result, query, costs, query.goal)
    assert result.cost == close(best[query.goal])
    metrics = result.metrics
    # Inside a bucket the order is not that of f, and some cells are expanded twice.
    assert len(result.cells) <= metrics.expanded - metrics.reopened <= len(best)
    assert metrics.expanded <= metrics.generated
    assert 1 <= metrics.open_peak <= metrics.generated


# --- least cost -----------------------------------------------------------------------------------


@given(sts.queries(changes=True), st.data())
def test_exact_searches_find_the_least_cost(query: sts.Query, data: st.DataObject) -> None:
    algorithm = data.draw(st.sampled_from(ALGORITHMS))
    heuristic = None
    if algorithm == "astar":
        heuristic = data.draw(sts.heuristics_for(query.diagonal_mode))
    result = find_path(
        sts.grid_of(query.model),
        query.start,
        query.goal,
        algorithm=algorithm,
        heuristic=None if heuristic is None else Heuristic(heuristic),
        **query.options(),
        **query.changes(),
    )
    check_exact(result, query)


def check_all_pairs(
    model: Model, mode: DiagonalMode, mapping: dict[int, float] | None = None
) -> None:
    """Search between all cells of one map, and compare with the oracle."""
    costs = ref.cell_costs(model, sts.table(mapping))
    search = AStar(sts.grid_of(model), diagonal_mode=mode, profile=Profile(mapping))
    for start in costs:
        best = ref.distances(costs, start, mode, CostModel.ENTERED)
        for goal in costs:
            result = search.find_path(start, goal)
            where = f"{start} to {goal} under {mode.name} on\n{model.classes}"
            assert result.found == (goal in best), where
            if result.found:
                cost, _ = ref.check_path(
                    costs, ref.as_cells(result.cells), start, goal, mode, CostModel.ENTERED
                )
                assert abs(cost - best[goal]) < 1e-9, where
                assert abs(result.cost - cost) < 1e-9, where


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_every_map_of_nine_cells(mode: DiagonalMode) -> None:
    # Pruned neighbours are missed, if at all, beside one or two walls: here are all such places.
    for bits in range(512):
        walls = np.array([bits >> i & 1 for i in range(9)], np.uint8) * np.uint8(255)
        check_all_pairs(Model(walls.reshape(3, 3)), mode)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(2, 8), (5, 4), (6, 6)])
def test_all_pairs_on_small_maps(shape: tuple[int, int], mode: DiagonalMode) -> None:
    random = np.random.default_rng(13)
    for number in range(12):
        walls = random.random(shape) < (0.15, 0.3, 0.45)[number % 3]
        check_all_pairs(Model(np.where(walls, 255, 0).astype(np.uint8)), mode)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dear", [(2.0, 5.0), (1.5, 3.0), (1.1, 40.0), (0.0, 1.0)])
def test_all_pairs_on_small_maps_of_several_costs(
    dear: tuple[float, float], mode: DiagonalMode
) -> None:
    random = np.random.default_rng(17)
    for number in range(12):
        shape = ((2, 8), (5, 4), (6, 6))[number % 3]
        classes = random.choice(np.array([0, 1, 2, 255], np.uint8), shape, p=[0.3, 0.3, 0.2, 0.2])
        check_all_pairs(Model(classes), mode, {0: 1.0, 1: dear[0], 2: dear[1]})


@pytest.mark.soak
@pytest.mark.parametrize("mode", MODES)
def test_all_pairs_on_many_maps(mode: DiagonalMode) -> None:
    random = np.random.default_rng(29)
    for number in range(300):
        shape = (int(random.integers(4, 9)), int(random.integers(4, 9)))
        walls = random.random(shape) < (0.15, 0.3, 0.45)[number % 3]
        check_all_pairs(Model(np.where(walls, 255, 0).astype(np.uint8)), mode)


@given(sts.queries(changes=True), st.data())
def test_a_searcher_follows_edits(query: sts.Query, data: st.DataObject) -> None:
    grid = sts.grid_of(query.model)
    heuristic = data.draw(sts.heuristics_for(query.diagonal_mode))
    options = {**query.options(), "heuristic": heuristic}
    search = AStar(grid, **options)
    for number in range(data.draw(st.integers(2, 5))):
        query.start, query.goal = data.draw(
            st.tuples(sts.cells(query.model), sts.cells(query.model))
        )
        result = search.find_path(query.start, query.goal, **query.changes())
        assert result.map_version == grid.version == number + 1
        check_exact(result, query)
        fresh = AStar(sts.grid_of(query.model), **options)
        assert_same(result, fresh.find_path(query.start, query.goal, **query.changes()))
        edit = data.draw(
            sts.edits(query.model).filter(lambda e: e.name not in (query.overlays or {}))
        )
        edit.apply_to_model(query.model)
        edit.apply_to_grid(grid)


@given(sts.queries(), st.sampled_from((1.0, 1.001, 1.5, 2.0, 10.0, 1e6)), st.data())
def test_weighted_searches_keep_their_bound(
    query: sts.Query, weight: float, data: st.DataObject
) -> None:
    heuristic = data.draw(sts.heuristics_for(query.diagonal_mode))
    result = find_path(
        sts.grid_of(query.model),
        query.start,
        query.goal,
        weight=weight,
        heuristic=None if heuristic is None else Heuristic(heuristic),
        **query.options(),
    )
    costs = query.costs()
    best = best_of(query, costs)
    assert result.status == expected_status(query, costs, best)
    assert 1.0 <= result.suboptimality <= weight
    if weight == 1.0:
        check_exact(result, query)
    if result.found:
        assert_is_path(result, query, costs, query.goal)
        bound = result.suboptimality * best[query.goal]
        assert result.cost <= bound * (1 + RELATIVE) + ABSOLUTE


def test_a_weight_is_stated_and_helps() -> None:
    grid = random_grid(100, 3, 0.2)
    exact = find_path(grid, (0, 0), (99, 99))
    quick = find_path(grid, (0, 0), (99, 99), weight=2.0)
    assert (exact.suboptimality, quick.suboptimality) == (1.0, 2.0)
    assert quick.metrics.expanded < exact.metrics.expanded
    assert exact.cost <= quick.cost <= 2 * exact.cost


@given(sts.queries(), st.sampled_from((1.0, 3.0)))
def test_inexact_searches_still_find_a_path(query: sts.Query, weight: float) -> None:
    result = find_path(
        sts.grid_of(query.model),
        query.start,
        query.goal,
        heuristic=Heuristic.MANHATTAN,
        inexact=True,
        weight=weight,
        **query.options(),
    )
    costs = query.costs()
    assert result.status == expected_status(query, costs, best_of(query, costs))
    if result.found:
        assert_is_path(result, query, costs, query.goal)
    if query.diagonal_mode != DiagonalMode.NEVER:
        assert result.suboptimality == INF


DYADIC = (0.25, 0.5, 1.0, 2.0, 4.0, INF)


def check_order(query: sts.Query, heuristic: Heuristic, weight: float) -> int:
    """Compare a search with the textbook's, expansion by expansion; return the reopenings.

    Costs and weights must be dyadic, so that scaling rounds nothing and the order is exact.
    """
    trace = SearchTrace(100 * query.model.classes.size)
    result = find_path(
        sts.grid_of(query.model),
        query.start,
        query.goal,
        heuristic=heuristic,
        weight=weight,
        inexact=True,
        trace=trace,
        **query.options(),
    )
    costs = query.costs()
    if query.start not in costs or query.goal not in costs:
        assert trace.count == 0
        return 0
    away = ref.estimate(heuristic, query.start, query.goal)
    unit = trace.h[0] / away if away else 0.0
    # Dividing may have rounded the scale, which is a power of two.
    unit = 2.0 ** round(math.log2(unit)) if unit else 0.0
    assert trace.h[0] == unit * away
    order, path, reopened = ref.astar_order(
        costs,
        query.start,
        query.goal,
        query.diagonal_mode,
        query.cost_model,
        query.model.index,
        lambda cell: weight * unit * ref.estimate(heuristic, cell, query.goal),
    )
    assert not trace.truncated
    assert ref.as_cells(trace.cells) == [step.cell for step in order]
    assert ref.as_cells(trace.parents) == [step.parent for step in order]
    assert trace.g.tolist() == [step.g for step in order]
    assert result.metrics.expanded == len(order)
    assert result.metrics.reopened == reopened
    assert ref.as_cells(result.cells) == path
    return reopened


@pytest.mark.usefixtures("heap_only")
@given(sts.queries(16), st.sampled_from((1.0, 1.5, 4.0)), st.sampled_from(Heuristic), st.data())
def test_expansions_follow_the_tie_rule(
    query: sts.Query, weight: float, heuristic: Heuristic, data: st.DataObject
) -> None:
    query.costs_of_classes = data.draw(
        st.dictionaries(st.integers(0, 3), st.sampled_from(DYADIC), max_size=4)
    )
    query.model.cell_scale, query.model.layers, query.overlays = None, {}, None
    check_order(query, heuristic, weight)


@pytest.mark.usefixtures("heap_only")
@pytest.mark.parametrize("cost_model", CostModel)
@pytest.mark.parametrize("mode", MODES)
def test_closed_cells_are_reopened_on_a_smaller_g(
    mode: DiagonalMode, cost_model: CostModel
) -> None:
    # A large weight closes cells of dear ground too early.
    reopened = 0
    for seed in range(6):
        random = np.random.default_rng(seed)
        classes = random.choice(np.arange(4, dtype=np.uint8), (18, 18))
        model = Model(np.where(random.random((18, 18)) < 0.15, np.uint8(255), classes))
        model.classes[0, 0] = model.classes[17, 17] = 0
        mapping = {0: 1.0, 1: 0.5, 2: 4.0, 3: 16.0}
        query = sts.Query(model, (0, 0), (17, 17), mapping, mode, cost_model, None)
        reopened += check_order(query, Heuristic.CHEBYSHEV, 8.0)
        reopened += check_order(query, Heuristic.MANHATTAN, 8.0)
    assert reopened > 0, "the maps are too easy"


@pytest.mark.usefixtures("heap_only")
def test_ties_go_to_the_smaller_index_and_the_first_parent() -> None:
    result = find_path(Grid.filled(3, 3), (0, 0), (2, 2), diagonal_mode=DiagonalMode.NEVER)
    assert result.cells.tolist() == [[0, 0], [1, 0], [2, 0], [2, 1], [2, 2]]
    result = find_path(Grid.filled(4, 3), (3, 2), (0, 0), diagonal_mode=DiagonalMode.ALWAYS)
    trace = SearchTrace(20)
    again = find_path(
        Grid.filled(4, 3), (3, 2), (0, 0), diagonal_mode=DiagonalMode.ALWAYS, trace=trace
    )
    assert_same(result, again)
    assert result.metrics.expanded == 4


# --- determinism ----------------------------------------------------------------------------------


@given(sts.queries(changes=True), st.data())
def test_slices_change_nothing(query: sts.Query, data: st.DataObject) -> None:
    heuristic = data.draw(st.sampled_from(Heuristic))
    options = {
        **query.options(),
        "heuristic": heuristic,
        "inexact": True,
        "weight": data.draw(st.sampled_from((1.0, 2.5))),
        "allow_partial": data.draw(st.booleans()),
        "max_expansions": data.draw(st.none() | st.integers(1, 200)),
        "max_cost": data.draw(st.none() | st.floats(0, 50)),
    }
    grid = sts.grid_of(query.model)
    traces = [SearchTrace(300), SearchTrace(300)]
    whole = AStar(grid, **options).find_path(
        query.start, query.goal, trace=traces[0], **query.changes()
    )
    search = AStar(grid, **options)
    search.begin(query.start, query.goal, trace=traces[1], **query.changes())
    slices = data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=5))
    turns = 0
    while not search.advance(slices[turns % len(slices)]):
        turns += 1
        assert turns <= whole.metrics.expanded, "the search goes on for ever"
    assert search.advance(1) is True
    sliced = search.finish()
    assert_same(sliced, whole)
    assert traces[0].count == traces[1].count == min(300, whole.metrics.expanded)
    np.testing.assert_array_equal(traces[0].cells, traces[1].cells)
    np.testing.assert_array_equal(traces[0].parents, traces[1].parents)
    np.testing.assert_array_equal(traces[0].g, traces[1].g)
    np.testing.assert_array_equal(traces[0].h, traces[1].h)


def test_a_slice_expands_no_more_than_it_may() -> None:
    search = AStar(Grid.filled(30, 30), heuristic=Heuristic.ZERO)
    for budget in (1, 2, 7, 30):
        trace = SearchTrace(1000)
        search.begin((0, 0), (29, 29), trace=trace)
        assert search.advance(budget) is False
        assert search.advance(budget) is False
        result = search.finish()
        assert result.metrics.expanded == trace.count == 2 * budget


def test_repeated_queries_answer_the_same() -> None:
    grid = random_grid(60, 11, cell_scale=np.random.default_rng(2).random((60, 60)) + 0.5)
    ends = [((0, 0), (59, 59)), ((59, 59), (0, 0)), ((0, 0), (30, 0)), ((0, 0), (0, 0))]
    search = AStar(grid)
    first = [search.find_path(*pair) for pair in ends]
    for _ in range(3):
        for pair, expected in zip(ends, first, strict=True):
            assert_same(search.find_path(*pair), expected)
            assert_same(find_path(grid, *pair), expected)


def test_threads_change_nothing() -> None:
    random = np.random.default_rng(4)
    classes = random.choice(np.array([0, 1, 2, 255], np.uint8), (50, 50), p=[0.4, 0.2, 0.1, 0.3])
    pairs = [tuple(map(tuple, random.integers(0, 50, (2, 2)).tolist())) for _ in range(30)]
    option_sets: list[dict[str, Any]] = [
        {
            "profile": Profile({1: 2.5, 2: 0.5 + i % 3}),
            "diagonal_mode": MODES[i % 4],
            "cost_model": CostModel(i % 3),
        }
        for i in range(8)
    ]

    def run(grid: Grid, options: dict[str, Any]) -> list[PathResult]:
        search = AStar(grid, **options)
        return [search.find_path(*pair) for pair in pairs]

    alone = Grid(classes)
    expected = [run(alone, options) for options in option_sets]
    together = Grid(classes)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda options: run(together, options), option_sets))
    for mine, theirs in zip(expected, answers, strict=True):
        for one, other in zip(mine, theirs, strict=True):
            assert_same(one, other)
    assert any(result.found for results in expected for result in results)


# --- limits, cancelling, partial paths ------------------------------------------------------------


@given(sts.queries(), st.integers(1, 60), st.booleans())
def test_the_limit_of_expansions(query: sts.Query, limit: int, partial: bool) -> None:
    grid = sts.grid_of(query.model)
    whole = find_path(grid, query.start, query.goal, allow_partial=partial, **query.options())
    trace = SearchTrace(limit)
    cut = find_path(
        grid,
        query.start,
        query.goal,
        max_expansions=limit,
        allow_partial=partial,
        trace=trace,
        **query.options(),
    )
    assert cut.metrics.expanded <= limit
    if whole.metrics.expanded <= limit:
        assert_same(cut, whole)
        return
    assert cut.metrics.expanded == limit
    assert cut.detail & Detail.EXPANSION_LIMIT
    costs = query.costs()
    if not partial:
        assert_no_path(cut, Status.LIMIT)
        return
    assert cut.status == Status.PARTIAL
    expanded = dict(zip(ref.as_cells(trace.cells), trace.g.tolist(), strict=True))
    end = ref.nearest_to_goal(expanded, query.goal, query.model.index)
    assert_is_path(cut, query, costs, end)


@given(
    sts.queries(),
    st.sampled_from((0.0, 0.3, 0.9, 1 - 1e-6, 1 + 1e-9, 1.5, 1e6)),
    st.sampled_from(ALGORITHMS),
    st.booleans(),
)
def test_the_limit_of_cost(query: sts.Query, factor: float, algorithm: str, partial: bool) -> None:
    costs = query.costs()
    best = best_of(query, costs)
    limit = factor * best.get(query.goal, max(best.values(), default=1.0))
    trace = SearchTrace(query.model.classes.size)
    result = find_path(
        sts.grid_of(query.model),
        query.start,
        query.goal,
        algorithm=algorithm,
        max_cost=limit,
        allow_partial=partial,
        trace=trace,
        **query.options(),
    )
    if query.start not in costs:
        assert_no_path(result, Status.START_BLOCKED)
        return
    if query.goal not in costs and not partial:
        assert_no_path(result, Status.GOAL_BLOCKED)
        return
    assert (trace.g <= limit).all()
    if query.goal in best and best[query.goal] <= limit:
        assert result.status == Status.FOUND
        assert result.cost == close(best[query.goal])
        return
    cut = bool(result.detail & Detail.COST_LIMIT)
    assert cut or result.detail & (Detail.UNREACHABLE | Detail.GOAL_BLOCKED)
    if any(g > limit * (1 + RELATIVE) for g in best.values()):
        assert cut, "what lies beyond the limit was not looked at"
    dearest_step = max(
        (
            ref.step_cost(costs, cell, to, query.cost_model)
            for cell in best
            for to in ref.neighbours(costs, cell, query.diagonal_mode)
        ),
        default=0.0,
    )
    # A step that is too dear may lead to a cell that a cheaper one reaches later.
    if all(g + dearest_step <= limit for g in best.values()):
        assert not cut, "the limit is beyond everything"
    if partial:
        assert result.status == Status.PARTIAL
        expanded = dict(zip(ref.as_cells(trace.cells), trace.g.tolist(), strict=True))
        end = ref.nearest_to_goal(expanded, query.goal, query.model.index)
        assert_is_path(result, query, costs, end)
        assert result.cost <= limit * (1 + RELATIVE)
    else:
        assert_no_path(result, Status.LIMIT if cut else Status.UNREACHABLE)


def test_details_of_limits() -> None:
    grid = Grid.filled(20, 20)
    assert find_path(grid, (0, 0), (19, 19), max_cost=5.0).detail == Detail.COST_LIMIT
    assert find_path(grid, (0, 0), (19, 19), max_cost=5.0).status == Status.LIMIT
    assert find_path(grid, (0, 0), (19, 0), max_cost=19.0).status == Status.FOUND
    assert find_path(grid, (0, 0), (19, 0), max_cost=18.999).status == Status.LIMIT
    assert find_path(grid, (0, 0), (19, 0), max_expansions=20).status == Status.FOUND
    cut = find_path(grid, (0, 0), (19, 0), max_expansions=19)
    assert (cut.status, cut.detail) == (Status.LIMIT, Detail.EXPANSION_LIMIT)


@given(sts.queries(), st.sampled_from(ALGORITHMS))
def test_partial_paths_end_nearest_to_the_goal(query: sts.Query, algorithm: str) -> None:
    costs = query.costs()
    best = best_of(query, costs)
    result = find_path(
        sts.grid_of(query.model),
        query.start,
        query.goal,
        algorithm=algorithm,
        allow_partial=True,
        **query.options(),
    )
    if query.start not in costs:
        assert_no_path(result, Status.START_BLOCKED)
        return
    if query.goal in best:
        check_exact(result, query)
        return
    assert result.status == Status.PARTIAL
    assert result.found is False
    assert result.detail == (Detail.UNREACHABLE if query.goal in costs else Detail.GOAL_BLOCKED)
    with pytest.raises(NoPathError):
        result.raise_for_status()
    end = ref.as_cells(result.cells)[-1]
    assert_is_path(result, query, costs, end)
    assert result.cost == close(best[end])
    nearest = min(ref.octile(cell, query.goal) for cell in best)
    assert ref.octile(end, query.goal) == nearest
    rivals = {cell: g for cell, g in best.items() if ref.octile(cell, query.goal) == nearest}
    least = min(rivals.values())
    assert best[end] == close(least)
    if sorted(rivals.values())[:2] != [least, least] and len(rivals) > 1:
        return
    # Equal to the bit in every order of summation only where the steps are the same.
    if query.diagonal_mode == DiagonalMode.NEVER and set(costs.values()) <= {0.25, 0.5, 1.0, 2.0}:
        assert end == ref.nearest_to_goal(best, query.goal, query.model.index)


@pytest.mark.parametrize("mode", MODES)
def test_a_partial_path_prefers_nearness_then_cost_then_index(mode: DiagonalMode) -> None:
    # The goal is shut in; the four cells beside its wall are equally near.
    text = "....... ....... ..###.. ..#.#.. ..###.. ....... ......."
    grid = grid_of_text(text, region_position=(-3, -3))
    for start, end in [
        ((-3, -3), (0, -2)),
        ((3, 3), (2, 0)),
        ((-3, 0), (-2, 0)),
        ((3, 0), (2, 0)),
        ((3, -3), (0, -2)),
        ((-3, 3), (-2, 0)),
    ]:
        result = find_path(grid, start, (0, 0), diagonal_mode=mode, allow_partial=True)
        assert result.status == Status.PARTIAL
        assert result.detail == Detail.UNREACHABLE
        assert tuple(result.cells[-1].tolist()) == end
    closed = grid_of_text(text.replace("#.#", "###"), region_position=(-3, -3))
    result = find_path(closed, (3, 0), (0, 0), diagonal_mode=mode, allow_partial=True)
    assert (result.status, result.detail) == (Status.PARTIAL, Detail.GOAL_BLOCKED)
    assert tuple(result.cells[-1].tolist()) == (2, 0)


def test_a_partial_path_may_be_the_start_alone() -> None:
    result = find_path(grid_of_text(".#."), (0, 0), (2, 0), allow_partial=True)
    assert result.status == Status.PARTIAL
    assert result.cells.tolist() == [[0, 0]]
    assert (result.cost, result.length) == (0.0, 0.0)


@pytest.mark.parametrize("partial", [False, True])
def test_a_flag_that_is_set_stops_a_search_at_once(partial: bool) -> None:
    flag = CancelFlag()
    flag.set()
    grid = Grid.filled(200, 200)
    search = AStar(grid, allow_partial=partial, heuristic=Heuristic.ZERO)
    result = search.find_path((0, 0), (199, 199), cancel=flag)
    assert result.metrics.expanded == 0
    assert result.detail == Detail.CANCELLED
    assert_no_path(result, Status.CANCELLED)
    flag.clear()
    assert search.find_path((0, 0), (199, 199), cancel=flag).found


@pytest.mark.parametrize("partial", [False, True])
def test_a_flag_that_is_set_between_slices_stops_a_search(partial: bool) -> None:
    flag = CancelFlag()
    trace = SearchTrace(40_000)
    search = AStar(Grid.filled(200, 200), heuristic=Heuristic.ZERO, allow_partial=partial)
    search.begin((0, 0), (199, 199), cancel=flag, trace=trace)
    assert search.advance(1500) is False
    flag.set()
    assert search.advance(20_000) is True
    result = search.finish()
    assert result.detail == Detail.CANCELLED
    assert 1500 <= result.metrics.expanded <= 1500 + 1024
    if partial:
        assert result.status == Status.PARTIAL
        expanded = dict(zip(ref.as_cells(trace.cells), trace.g.tolist(), strict=True))
        end = ref.nearest_to_goal(expanded, (199, 199), lambda cell: cell[1] * 200 + cell[0])
        assert tuple(result.cells[-1].tolist()) == end
    else:
        assert_no_path(result, Status.CANCELLED)


@pytest.mark.slow
def test_a_flag_from_another_thread_stops_a_large_search() -> None:
    # Far more cells than any machine expands before the other thread gets its turn.
    grid = Grid.filled(3000, 3000)
    search = AStar(grid, heuristic=Heuristic.ZERO)
    search.find_path((0, 0), (1, 0))
    flag = CancelFlag()
    threading.Timer(0.02, flag.set).start()
    result = search.find_path((0, 0), (2999, 2999), cancel=flag)
    assert result.status == Status.CANCELLED
    assert result.metrics.expanded < 9_000_000


def test_finishing_early_is_cancelling() -> None:
    search = AStar(Grid.filled(50, 50))
    search.begin((0, 0), (49, 49))
    search.advance(3)
    result = search.finish()
    assert result.detail == Detail.CANCELLED
    assert_no_path(result, Status.CANCELLED)
    assert search.find_path((0, 0), (49, 49)).found


# --- changes for one query ------------------------------------------------------------------------


@given(sts.queries(changes=True))
def test_changes_equal_an_edited_copy(query: sts.Query) -> None:
    grid = sts.grid_of(query.model)
    before = (grid.version, grid.map_hash())
    search = AStar(grid, **query.options())
    plain = search.find_path(query.start, query.goal)
    result = search.find_path(query.start, query.goal, **query.changes())
    # On the copy, class 200 blocks and class 201 costs 1.
    edited = grid.copy()
    blocking = query.profile.costs == np.inf
    for cell in query.blocked_cells:
        edited.set_cell(cell, 200)
    for cell in query.ignored_cells:
        original = grid.class_at(cell)
        edited.set_cell(cell, 201 if blocking[original] else original)
    profile = Profile({**query.costs_of_classes, 200: INF, 201: 1.0})
    expected = AStar(edited, **{**query.options(), "profile": profile}).find_path(
        query.start, query.goal
    )
    assert result.status == expected.status
    assert result.cost == close(expected.cost)
    assert (grid.version, grid.map_hash()) == before
    assert_same(search.find_path(query.start, query.goal), plain)


@given(st.integers(0, 1000), st.sampled_from(MODES), st.data())
def test_changes_at_uniform_cost_cost_what_an_edited_copy_does(
    seed: int, mode: DiagonalMode, data: st.DataObject
) -> None:
    grid = random_grid(12, seed)
    spots = sts.cells(Model(grid.classes))
    blocked, ignored = data.draw(
        st.tuples(st.lists(spots, max_size=12), st.lists(spots, max_size=12))
    )
    result = find_path(
        grid,
        (0, 0),
        (11, 11),
        diagonal_mode=mode,
        blocked_cells=blocked or None,
        ignored_cells=ignored or None,
    )
    if blocked:
        grid.set_cells(blocked, 255)
    if ignored:
        grid.set_cells(ignored, 0)
    edited = find_path(grid, (0, 0), (11, 11), diagonal_mode=mode)
    assert (result.status, result.cost) == (edited.status, close(edited.cost))


def test_an_ignored_wall_costs_as_class_cost_1() -> None:
    grid = grid_of_text(".#.", cell_scale=[[3, 5, 7]], layers={"mud": [[1, 1, 1]]})
    profile = Profile({0: 10.0})
    result = find_path(
        grid, (0, 0), (2, 0), profile=profile, ignored_cells=[(1, 0)], overlays={"mud": 2.0}
    )
    assert result.cost == (1 * 5 + 2) + (10 * 7 + 2)


def test_a_cheap_ignored_wall_is_not_missed() -> None:
    # Everything costs 100 but the walls, which cost 1 once they are ignored: the long way through
    # them is the cheapest, although the estimate of the plain map would not look there.
    classes = np.zeros((9, 9), np.uint8)
    classes[8, 1:8] = 255
    grid = Grid(classes)
    profile = Profile({0: 100.0})
    search = AStar(grid, profile=profile, diagonal_mode=DiagonalMode.NEVER)
    walls = [(x, 8) for x in range(1, 8)]
    assert search.find_path((0, 7), (8, 7)).cost == 800.0
    result = search.find_path((0, 7), (8, 7), ignored_cells=walls)
    assert result.cost == 307.0
    assert search.find_path((0, 7), (8, 7)).cost == 800.0


def test_an_ignored_cell_that_is_open_keeps_its_cost() -> None:
    result = find_path(
        Grid.filled(3, 1), (0, 0), (2, 0), profile=Profile({0: 4.0}), ignored_cells=[(1, 0)]
    )
    assert result.cost == 8.0


def test_a_cell_both_blocked_and_ignored_is_walkable() -> None:
    changes: dict[str, Any] = {"blocked_cells": [(1, 0)], "ignored_cells": [(1, 0)]}
    for text in ("...", ".#."):
        assert find_path(grid_of_text(text), (0, 0), (2, 0), **changes).cost == 2.0


def test_changes_reach_the_ends() -> None:
    grid = grid_of_text("...#")
    assert find_path(grid, (0, 0), (2, 0), blocked_cells=[(0, 0)]).status == Status.START_BLOCKED
    assert find_path(grid, (0, 0), (2, 0), blocked_cells=[(2, 0)]).status == Status.GOAL_BLOCKED
    assert find_path(grid, (0, 0), (3, 0), ignored_cells=[(3, 0)]).cost == 3.0
    assert find_path(grid, (3, 0), (0, 0), ignored_cells=[(3, 0)]).cost == 3.0
    assert find_path(grid, (3, 0), (3, 0), ignored_cells=[(3, 0)]).cost == 0.0
    assert find_path(grid, (0, 0), (0, 0), blocked_cells=[(0, 0)]).status == Status.START_BLOCKED


@pytest.mark.parametrize("field", ["blocked_cells", "ignored_cells"])
def test_changes_are_bounded(field: str) -> None:
    grid = Grid.filled(80, 80, region_position=(-40, -40))
    search = AStar(grid)
    cells = [(x, y) for y in range(-30, 39) for x in range(-39, 39)]
    assert search.find_path((-40, -40), (39, 39), **{field: cells[:4096]}).found
    with pytest.raises(InputError, match=r"4,?096"):
        search.find_path((-40, -40), (39, 39), **{field: cells[:4097]})
    for bad in ([(40, 0)], [(0, 0), (-41, 0)], [(10**30, 0)], [(2**32, 0)]):
        with pytest.raises(CellError, match=field):
            search.find_path((-40, -40), (39, 39), **{field: bad})
    for worse in ("ab", [(0.5, 0)], [1, 2], [(1, 2, 3)], [(1, 2), (3,)], 7):
        with pytest.raises(InputError, match=field):
            search.find_path((-40, -40), (39, 39), **{field: worse})
    assert search.find_path((-40, -40), (39, 39), **{field: []}).found
    array = np.array([(0, 0), (1, 1)], np.int16)
    assert search.find_path((-40, -40), (39, 39), **{field: array}).found


# --- trace ----------------------------------------------------------------------------------------


@given(sts.queries(changes=True), st.sampled_from((1.0, 2.0)), st.data())
def test_traces_tell_the_expansions_in_order(
    query: sts.Query, weight: float, data: st.DataObject
) -> None:
    heuristic = data.draw(sts.heuristics_for(query.diagonal_mode))
    grid = sts.grid_of(query.model)
    options = {**query.options(), "weight": weight, "heuristic": heuristic}
    search = AStar(grid, **options)
    plain = search.find_path(query.start, query.goal, **query.changes())
    trace = SearchTrace(20 * query.model.classes.size)
    result = search.find_path(query.start, query.goal, trace=trace, **query.changes())
    assert_same(result, plain)
    assert trace.count == result.metrics.expanded
    assert trace.truncated is False
    cells, parents = ref.as_cells(trace.cells), ref.as_cells(trace.parents)
    if not cells:
        assert result.status in (Status.START_BLOCKED, Status.GOAL_BLOCKED)
        return
    costs = query.costs()
    assert (cells[0], parents[0], trace.g[0]) == (query.start, query.start, 0.0)
    reached = {query.start: 0.0}
    for cell, parent, g in zip(cells[1:], parents[1:], trace.g[1:], strict=True):
        assert parent in reached, "the parent is expanded first"
        assert ref.move_allowed(costs, parent, cell, query.diagonal_mode)
        step = ref.step_cost(costs, parent, cell, query.cost_model)
        assert g == pytest.approx(reached[parent] + step, rel=FIXED_POINT, abs=ABSOLUTE)
        assert cell not in reached or g < reached[cell], "only a smaller g opens a cell again"
        reached[cell] = g
    assert len(cells) - len(reached) == result.metrics.reopened or result.metrics.reopened > 0
    f = trace.g + weight * trace.h
    if weight == 1.0:
        best = best_of(query, costs)
        for cell, g in reached.items():
            assert g >= best[cell] * (1 - FIXED_POINT) - ABSOLUTE
        if result.found:
            assert trace.g[-1] == pytest.approx(result.cost, rel=FIXED_POINT, abs=ABSOLUTE)
            # Cells beyond the goal's cost are looked at only as far as a bucket or a run reaches.
            assert f[0] <= result.cost * (1 + FIXED_POINT) + ABSOLUTE
    if result.found:
        assert cells[-1] == query.goal
        assert trace.h[-1] == 0.0
        assert set(ref.as_cells(result.cells)) <= set(reached)
        short = SearchTrace(max(1, trace.count // 2))
        assert_same(
            search.find_path(query.start, query.goal, trace=short, **query.changes()), plain
        )
        assert short.count == min(short.cells.shape[0], trace.count)
        assert short.truncated == (trace.count > max(1, trace.count // 2))
        np.testing.assert_array_equal(short.cells, trace.cells[: short.count])


# --- edge cases -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
class TestEdgeCases:
    def test_start_in_a_wall(self, algorithm: str, mode: DiagonalMode) -> None:
        result = find_path(
            grid_of_text("#.."), (0, 0), (2, 0), algorithm=algorithm, diagonal_mode=mode
        )
        assert_no_path(result, Status.START_BLOCKED)

    def test_start_in_a_wall_gives_no_partial_path(
        self, algorithm: str, mode: DiagonalMode
    ) -> None:
        for goal in [(0, 0), (2, 0), (3, 0)]:
            result = find_path(
                grid_of_text("#..#"),
                (0, 0),
                goal,
                algorithm=algorithm,
                diagonal_mode=mode,
                allow_partial=True,
            )
            assert_no_path(result, Status.START_BLOCKED)

    def test_goal_in_a_wall(self, algorithm: str, mode: DiagonalMode) -> None:
        result = find_path(
            grid_of_text("..#"), (0, 0), (2, 0), algorithm=algorithm, diagonal_mode=mode
        )
        assert_no_path(result, Status.GOAL_BLOCKED)

    def test_start_equals_goal(self, algorithm: str, mode: DiagonalMode) -> None:
        for position in [(0, 0), (-5, 7)]:
            result = find_path(
                Grid.filled(1, 1, region_position=position),
                position,
                position,
                algorithm=algorithm,
                diagonal_mode=mode,
            )
            assert result.status == Status.FOUND
            assert result.cells.tolist() == [list(position)]
            assert (result.cost, result.length) == (0.0, 0.0)
            assert result.metrics.expanded <= 1

    def test_start_equals_goal_in_a_wall(self, algorithm: str, mode: DiagonalMode) -> None:
        result = find_path(
            grid_of_text("#"), (0, 0), (0, 0), algorithm=algorithm, diagonal_mode=mode
        )
        assert_no_path(result, Status.START_BLOCKED)

    def test_empty_map(self, algorithm: str, mode: DiagonalMode) -> None:
        result = find_path(
            Grid.filled(50, 30), (3, 4), (48, 20), algorithm=algorithm, diagonal_mode=mode
        )
        expected = 61.0 if mode == DiagonalMode.NEVER else 29 + 16 * math.sqrt(2)
        assert result.cost == close(expected)
        assert result.length == close(expected)

    def test_full_map(self, algorithm: str, mode: DiagonalMode) -> None:
        result = find_path(
            Grid.filled(50, 30, 255), (3, 4), (48, 20), algorithm=algorithm, diagonal_mode=mode
        )
        assert_no_path(result, Status.START_BLOCKED)

    def test_a_single_row_and_a_single_column(self, algorithm: str, mode: DiagonalMode) -> None:
        options: dict[str, Any] = {"algorithm": algorithm, "diagonal_mode": mode}
        assert find_path(Grid.filled(40, 1), (39, 0), (0, 0), **options).cost == 39.0
        assert find_path(Grid.filled(1, 40), (0, 0), (0, 39), **options).cost == 39.0

    def test_rows_do_not_join_at_the_border(self, algorithm: str, mode: DiagonalMode) -> None:
        # Flat neighbours across the border are no neighbours on the map.
        grid = grid_of_text("..#.. ..#.. ..#..")
        for start, goal in [((1, 0), (3, 0)), ((4, 0), (0, 1)), ((0, 2), (4, 1))]:
            result = find_path(grid, start, goal, algorithm=algorithm, diagonal_mode=mode)
            assert_no_path(result, Status.UNREACHABLE)
            assert result.detail == Detail.UNREACHABLE
            assert result.metrics.expanded == 6

    def test_a_diagonal_gap(self, algorithm: str, mode: DiagonalMode) -> None:
        result = find_path(
            grid_of_text(".# #."), (0, 0), (1, 1), algorithm=algorithm, diagonal_mode=mode
        )
        if mode == DiagonalMode.ALWAYS:
            assert result.cost == math.sqrt(2)
        else:
            assert_no_path(result, Status.UNREACHABLE)

    def test_all_costs_zero(self, algorithm: str, mode: DiagonalMode) -> None:
        grid = random_grid(40, 6, 0.2)
        profile = Profile(default=0.0)
        for cost_model in CostModel:
            result = find_path(
                grid,
                (0, 0),
                (39, 39),
                algorithm=algorithm,
                diagonal_mode=mode,
                profile=profile,
                cost_model=cost_model,
            )
            assert result.found
            assert result.cost == 0.0
            assert result.length >= 39

    def test_costs_a_million_beside_a_millionth(self, algorithm: str, mode: DiagonalMode) -> None:
        random = np.random.default_rng(12)
        model = Model(
            random.choice(np.array([0, 1, 2, 255], np.uint8), (24, 24), p=[0.5, 0.1, 0.2, 0.2])
        )
        mapping = {0: 1e-6, 1: 1.0, 2: 1e6}
        grid, profile = sts.grid_of(model), Profile(mapping)
        for cost_model in CostModel:
            for goal in [(23, 23), (12, 12), (0, 23), (20, 3)]:
                query = sts.Query(model, (0, 0), goal, mapping, mode, cost_model, None)
                result = find_path(
                    grid,
                    query.start,
                    query.goal,
                    algorithm=algorithm,
                    diagonal_mode=mode,
                    profile=profile,
                    cost_model=cost_model,
                )
                costs = query.costs()
                best = best_of(query, costs)
                assert result.status == expected_status(query, costs, best)
                if result.found:
                    assert result.cost == pytest.approx(best[goal], rel=1e-9, abs=0)
                    assert_is_path(result, query, costs, goal)


@pytest.mark.parametrize("outside", [(-1, 0), (3, 0), (0, -1), (0, 1), (10**30, 0), (2**32, 0)])
def test_ends_outside_the_map_are_refused(outside: Cell) -> None:
    grid = Grid.filled(3, 1)
    search = AStar(grid, allow_partial=True)
    for start, goal, field in [(outside, (0, 0), "start"), ((0, 0), outside, "goal")]:
        with pytest.raises(CellError, match=field) as caught:
            search.find_path(start, goal)
        assert "0..2" in str(caught.value)
        with pytest.raises(CellError, match=field):
            find_path(grid, start, goal)
    assert search.find_path((0, 0), (2, 0)).found


@pytest.mark.parametrize("cell", [(0.5, 0), (NAN, 0), "ab", None, 3, (1,), (1, 2, 3), ("0", "0")])
def test_ends_that_are_no_cells_are_refused(cell: Any) -> None:
    grid = Grid.filled(3, 1)
    with pytest.raises(InputError, match="start"):
        find_path(grid, cell, (0, 0))
    with pytest.raises(InputError, match="goal"):
        find_path(grid, (0, 0), cell)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64])
def test_ends_may_be_numpy_integers(kind: type) -> None:
    grid = Grid.filled(5, 5)
    result = find_path(grid, (kind(1), kind(2)), np.array([4, 4], kind))  # type: ignore[arg-type]
    assert (result.start, result.goal) == ((1, 2), (4, 4))
    assert all(type(value) is int for value in (*result.start, *result.goal))


def test_the_cost_of_the_start_counts_as_its_model_says() -> None:
    grid = Grid(np.array([[1, 0, 2]], np.uint8))
    profile = Profile({1: 100.0, 0: 3.0, 2: 5.0})
    costs = {
        model: find_path(grid, (0, 0), (2, 0), profile=profile, cost_model=model).cost
        for model in CostModel
    }
    assert costs == {
        CostModel.ENTERED: 8.0,
        CostModel.MEAN: 51.5 + 4.0,
        CostModel.PRODUCT: 300.0 + 15.0,
    }


def test_overlays_join_by_their_weights() -> None:
    grid = Grid.filled(5, 3, layers={"danger": np.eye(3, 5, 2) * 10, "mud": np.ones((3, 5))})
    plain = find_path(grid, (0, 1), (4, 1))
    assert plain.cost == 4.0
    muddy = find_path(grid, (0, 1), (4, 1), overlays={"mud": 0.5})
    assert muddy.cost == 6.0
    wary = find_path(grid, (0, 1), (4, 1), overlays={"danger": 1.0, "mud": 0.0})
    assert wary.cost > 4.0
    assert find_path(grid, (0, 1), (4, 1), overlays={"danger": 0.0}).cost == 4.0


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("weight", {"weight": 0.999}),
        ("weight", {"weight": -1}),
        ("weight", {"weight": NAN}),
        ("weight", {"weight": INF}),
        ("weight", {"weight": "2"}),
        ("weight", {"weight": 10**400}),
        ("weight", {"weight": None}),
        ("heuristic", {"heuristic": 5}),
        ("heuristic", {"heuristic": "OCTILE"}),
        ("heuristic", {"heuristic": 1}),
        ("diagonal_mode", {"diagonal_mode": 4}),
        ("diagonal_mode", {"diagonal_mode": None}),
        ("diagonal_mode", {"diagonal_mode": "NEVER"}),
        ("cost_model", {"cost_model": 3}),
        ("cost_model", {"cost_model": -1}),
        ("profile", {"profile": {0: 1.0}}),
        ("profile", {"profile": None}),
        ("overlays", {"overlays": {"none": 1.0}}),
        ("overlays", {"overlays": {"mud": -1.0}}),
        ("overlays", {"overlays": {"mud": NAN}}),
        ("overlays", {"overlays": {"mud": INF}}),
        ("overlays", {"overlays": {"mud": "1"}}),
        ("overlays", {"overlays": ["mud"]}),
        ("max_expansions", {"max_expansions": -1}),
        ("max_expansions", {"max_expansions": 1.5}),
        ("max_expansions", {"max_expansions": "9"}),
        ("max_expansions", {"max_expansions": NAN}),
        ("max_cost", {"max_cost": -1.0}),
        ("max_cost", {"max_cost": NAN}),
        ("max_cost", {"max_cost": "9"}),
        ("max_cost", {"max_cost": 10**400}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_unfit_options_are_refused(field: str, options: dict[str, Any]) -> None:
    grid = Grid.filled(3, 3, layers={"mud": np.ones((3, 3))})
    for call in (
        lambda: AStar(grid, **options),
        lambda: find_path(grid, (0, 0), (2, 2), **options),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.field.startswith(field)
        assert "; " in str(caught.value), "an error says what to do"


@pytest.mark.parametrize("algorithm", ["", "A*", "jps", None, 3])
def test_unknown_algorithms_are_refused(algorithm: Any) -> None:
    with pytest.raises(InputError, match="algorithm"):
        find_path(Grid.filled(2, 2), (0, 0), (1, 1), algorithm=algorithm)


def test_huge_weights_and_limits_are_taken() -> None:
    result = find_path(
        Grid.filled(30, 30), (0, 0), (29, 29), weight=1e300, max_expansions=10**30, max_cost=1e300
    )
    assert result.found
    assert result.cost == close(29 * math.sqrt(2))


# --- slices and edits -----------------------------------------------------------------------------


def edits_of_a_map() -> list[Any]:
    return [
        lambda grid: grid.set_cell((5, 5), 255),
        lambda grid: grid.set_cell((5, 5), grid.class_at((5, 5))),
        lambda grid: grid.set_all(cell_scale=2.0),
        lambda grid: grid.set_cells([(1, 1)], layers={"mud": 1.0}),
        lambda grid: grid.remove_layer("mud"),
    ]


@pytest.mark.parametrize("edit", edits_of_a_map())
@pytest.mark.parametrize("after", ["begin", "advance", "end"])
def test_an_edit_ends_a_search_in_slices(edit: Any, after: str) -> None:
    grid = Grid.filled(20, 20, layers={"mud": np.ones((20, 20))})
    search = AStar(grid, heuristic=Heuristic.ZERO)

    def begun() -> None:
        search.begin((0, 0), (19, 19))
        if after != "begin":
            assert search.advance(10) is False
        if after == "end":
            assert search.advance(1000) is True

    begun()
    edit(grid)
    with pytest.raises(GridChangedError, match="version"):
        search.finish()
    assert search.find_path((0, 0), (19, 19)).found
    begun()
    grid.set_cell((3, 3), 1)
    with pytest.raises(GridChangedError):
        search.advance(10)
    assert search.find_path((0, 0), (19, 19)).found


def test_a_refused_edit_does_not_disturb_a_search() -> None:
    grid = Grid.filled(20, 20)
    search = AStar(grid)
    search.begin((0, 0), (19, 19))
    search.advance(3)
    with pytest.raises(InputError):
        grid.set_cell((5, 5), 300)
    while not search.advance(3):
        pass
    assert search.finish().found


def test_slices_without_a_search_are_refused() -> None:
    search = AStar(Grid.filled(3, 3))
    with pytest.raises(InputError, match="begin"):
        search.advance(1)
    with pytest.raises(InputError, match="begin"):
        search.finish()
    search.find_path((0, 0), (2, 2))
    with pytest.raises(InputError, match="begin"):
        search.finish()


@pytest.mark.parametrize("budget", [0, -1, 1.5, "9", None, NAN])
def test_unfit_budgets_are_refused(budget: Any) -> None:
    search = AStar(Grid.filled(9, 9))
    search.begin((0, 0), (8, 8))
    with pytest.raises(InputError):
        search.advance(budget)
    assert search.advance(10**30) is True
    assert search.finish().found


def test_a_refused_query_leaves_the_searcher_usable() -> None:
    search = AStar(Grid.filled(9, 9))
    search.begin((0, 0), (8, 8))
    search.advance(2)
    with pytest.raises(CellError):
        search.find_path((0, 0), (9, 9))
    assert search.find_path((0, 0), (8, 8)).found


def test_searches_in_slices_beside_each_other() -> None:
    grid = random_grid(40, 8, 0.25)
    pairs = [((0, 0), (39, 39)), ((39, 39), (0, 0)), ((0, 0), (20, 20))]
    searches = [AStar(grid) for _ in pairs]
    for search, pair in zip(searches, pairs, strict=True):
        search.begin(*pair)
    running = list(searches)
    while running:
        running = [search for search in running if not search.advance(7)]
    for search, pair in zip(searches, pairs, strict=True):
        assert_same(search.finish(), find_path(grid, *pair))


# --- the largest map ------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_largest_map_takes_the_memory_that_it_states() -> None:
    side = 8192
    cells = side * side
    classes = np.zeros((side, side), np.uint8)
    classes[1::2, 1:] = 255
    tracemalloc.start()
    try:
        grid = Grid(classes)
        held, peak = tracemalloc.get_traced_memory()
        stated = sum(size for part, size in grid.memory_bytes().items() if part != "total")
        assert stated == grid.memory_bytes()["total"]
        assert held == pytest.approx(stated, rel=0.01)
        assert stated == cells
        assert peak <= 4 * cells, f"building took {peak / cells:.1f} bytes a cell at its peak"
        grid.move_masks(DEFAULT_PROFILE, DiagonalMode.ONLY_IF_NO_OBSTACLES)
        assert grid.memory_bytes()["total"] == 2 * cells
        search = AStar(grid)
        held, _ = tracemalloc.get_traced_memory()
        assert held == pytest.approx(2 * cells, rel=0.01)
        result = search.find_path((side - 1, 0), (side - 1, 2))
        held, _ = tracemalloc.get_traced_memory()
        assert held == pytest.approx(10 * cells, rel=0.01)
        assert result.cost == pytest.approx(2 * (side - 1) + 2, abs=1e-6)
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        assert grid.set_cell((side - 1, 1), 0) == 2
        after, peak = tracemalloc.get_traced_memory()
        assert max(after, peak) - before < 1_000_000, "an edit of one cell copies the map"
        assert search.find_path((side - 1, 0), (side - 1, 2)).cost == 2.0
        assert grid.memory_bytes()["total"] == 2 * cells
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_searcher_in_use_refuses_another_thread() -> None:
    search = AStar(Grid.filled(2500, 2500), heuristic=Heuristic.ZERO)
    search.find_path((0, 0), (1, 1))
    cancel = CancelFlag()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(search.find_path, (0, 0), (2499, 2499), cancel=cancel)
        while not search._in_use.lock.locked():
            pass
        with pytest.raises(InputError, match="in another thread"):
            search.find_path((0, 0), (1, 1))
        with pytest.raises(InputError, match="in another thread"):
            search.find_path((0, 0), (1, 1), blocked_cells=[(0, 1)])
        with pytest.raises(InputError, match="in another thread"):
            search.begin((0, 0), (1, 1))
        with pytest.raises(InputError, match="in another thread"):
            search.advance(1)
        with pytest.raises(InputError, match="in another thread"):
            search.finish()
        cancel.set()
        running.result()
    assert search.find_path((0, 0), (1, 1)).found


def test_a_map_that_is_no_grid_is_refused() -> None:
    array: Any = np.zeros((3, 3))
    with pytest.raises(InputError, match=r"grid: .*ndarray.* is not a Grid"):
        find_path(array, (0, 0), (1, 1))


def test_a_refused_begin_leaves_no_older_search_current() -> None:
    search = AStar(Grid.filled(9, 9))
    refusals: list[tuple[Any, Any, dict[str, Any]]] = [
        ((9, 9), (0, 0), {}),
        ((0, 0), (9, 9), {}),
        ((0, 0), (1, 1), {"blocked_cells": [(9, 9)]}),
        ((0, 0), (1, 1), {"cancel": True}),
        ((0, 0), (1, 1), {"trace": 100}),
    ]
    for start, goal, options in refusals:
        search.begin((0, 0), (8, 8))
        with pytest.raises(InputError):
            search.begin(start, goal, **options)
        with pytest.raises(InputError, match="has no search in slices under way; call begin"):
            search.advance(1)
    search.begin((0, 0), (8, 8))
    search.find_path((0, 0), (1, 1))
    with pytest.raises(InputError, match="has no search in slices under way; call begin"):
        search.finish()


@pytest.mark.parametrize("name", ["inexact", "allow_partial", "islands"])
@pytest.mark.parametrize("value", ["no", np.array([True, False]), None, 2])
def test_what_is_no_flag_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"^{name}: .* is not a truth value"):
        AStar(Grid.filled(2, 2), **{name: value})


def test_dijkstra_takes_no_weight() -> None:
    grid = Grid.filled(3, 3)
    with pytest.raises(InputError, match=r"^weight: 2.0 does not go with dijkstra; leave it out"):
        find_path(grid, (0, 0), (2, 2), algorithm="dijkstra", weight=2.0)
    assert find_path(grid, (0, 0), (2, 2), algorithm="dijkstra", weight=1.0).found
