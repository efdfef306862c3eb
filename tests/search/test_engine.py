"""What every engine of A* must answer alike, each of them made to serve."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from navserver.search.astar import AStar
from navserver.search.engine import BUCKETS, CANONICAL, EXPANDED, HEAP, LAST_STAMP, MULTIPLES, STAMP
from navserver.search.grid import CostModel, DiagonalMode, Grid, Profile
from navserver.search.heuristics import Heuristic
from navserver.search.nodes import CancelFlag, SearchTrace
from navserver.search.packed_nodes import STRAIGHT
from navserver.search.results import PathResult
from navserver.status import CellError, Detail, Status
from tests import engines as eng
from tests import reference as ref
from tests import strategies as sts
from tests.engines import (
    ENGINE_NAMES,
    EVEN_ENGINES,
    MODES,
    RELATIVE,
    assert_same,
    check,
    close,
    each_engine,
    each_mode,
    queries_for,
)
from tests.reference_engines import graph


def run(engine: int, query: sts.Query, **options: Any) -> PathResult:
    return eng.find(
        sts.grid_of(query.model),
        engine,
        query.start,
        query.goal,
        **query.options(),
        **query.changes(),
        **options,
    )


# --- least cost -----------------------------------------------------------------------------------


@each_engine
@given(data=st.data())
def test_each_engine_finds_the_least_cost(engine: int, data: st.DataObject) -> None:
    query = data.draw(queries_for(engine))
    allowed = sts.heuristics_for(query.diagonal_mode)
    if engine >= CANONICAL:
        allowed = allowed.filter(lambda heuristic: heuristic != Heuristic.EUCLIDEAN)
    check(run(engine, query, heuristic=data.draw(allowed)), query)


@each_engine
@given(data=st.data())
def test_each_engine_keeps_the_bound_of_a_weight(engine: int, data: st.DataObject) -> None:
    query = data.draw(queries_for(engine))
    allowed = sts.heuristics_for(query.diagonal_mode)
    weights = [1.0, 1.001, 1.5, 2.0, math.pi, 4.0]
    if engine >= CANONICAL:
        allowed = allowed.filter(lambda heuristic: heuristic != Heuristic.EUCLIDEAN)
    else:
        weights += [5.0, 60.0, 1e6]
    weight = data.draw(st.sampled_from(weights))
    check(run(engine, query, heuristic=data.draw(allowed), weight=weight), query, weight)


@pytest.mark.slow
@each_mode
@pytest.mark.parametrize("cost_model", CostModel, ids=lambda model: model.name)
@pytest.mark.parametrize("heuristic", Heuristic, ids=lambda heuristic: heuristic.name)
def test_engines_agree(mode: DiagonalMode, cost_model: CostModel, heuristic: Heuristic) -> None:
    if not ref.admissible(heuristic, mode):
        pytest.skip("overestimates")
    random = np.random.default_rng(100 * mode + 10 * cost_model + heuristic)
    for number in range(6):
        blocked = random.random((40, 53)) < (0.1, 0.3, 0.4)[number % 3]
        even = number % 2 == 0
        scale = np.full(blocked.shape, 1.7) if even else random.uniform(1.0, 9.0, blocked.shape)
        grid = Grid.from_blocked(blocked, cell_scale=scale)
        costs = np.where(blocked, np.inf, scale.astype(np.float32).astype(np.float64))
        free = np.flatnonzero(~blocked.reshape(-1))
        starts = random.choice(free, 4)
        goals = random.choice(free, 25)
        expected = dijkstra(graph(costs, mode, cost_model), indices=starts)[:, goals]
        serving = [HEAP, BUCKETS]
        if even and heuristic != Heuristic.EUCLIDEAN:
            serving.append(CANONICAL)
        for engine in serving:
            search = eng.searcher(
                grid, engine, diagonal_mode=mode, cost_model=cost_model, heuristic=heuristic
            )
            assert eng.engine_of(search) == engine
            found = eng.many_costs(search, starts.repeat(25), np.tile(goals, 4))
            np.testing.assert_allclose(found.reshape(4, 25), expected, RELATIVE)


def large_maps(seed: int, side: int) -> dict[str, NDArray[np.bool_]]:
    random = np.random.default_rng(seed)
    maps = {
        f"noise {density:.0%}": eng.noise_map(random, side, side + 13, density)
        for density in (0.1, 0.25, 0.35, 0.45)
    }
    maps["rooms"] = eng.rooms_map(random, side, side, int(random.integers(5, 16)))
    maps["maze"] = eng.maze_map(random, side, side)
    maps["blobs"] = eng.blobs_map(random, side, side)
    return maps


def compare_on_large_maps(seed: int, side: int, starts: int, goals: int) -> int:
    """Compare engines on even cost with scipy; return the number of queries."""
    random = np.random.default_rng(seed)
    queries = 0
    for name, blocked in large_maps(seed, side).items():
        grid = Grid.from_blocked(blocked)
        free = np.flatnonzero(~blocked.reshape(-1))
        for mode in MODES:
            sources, ends = random.choice(free, starts), random.choice(free, goals)
            steps = graph(np.where(blocked, np.inf, 1.0), mode)
            expected = dijkstra(steps, indices=sources)[:, ends]
            pairs = sources.repeat(goals), np.tile(ends, starts)
            for engine in EVEN_ENGINES:
                search = eng.searcher(grid, engine, diagonal_mode=mode)
                found = eng.many_costs(search, *pairs).reshape(starts, goals)
                where = f"{name}, {mode.name}, {ENGINE_NAMES[engine]}, seed {seed}"
                np.testing.assert_allclose(found, expected, RELATIVE, err_msg=where)
                queries += found.size
    return queries


@pytest.mark.slow
def test_engines_agree_with_scipy_on_large_maps() -> None:
    assert compare_on_large_maps(1, 200, 2, 6) == 7 * 4 * 3 * 12


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(6))
def test_engines_agree_with_scipy_on_many_large_maps(seed: int) -> None:
    side = (200, 300, 400, 512)[seed % 4]
    compare_on_large_maps(seed + 10, side, 10, 40)


def check_weights_on_large_maps(seed: int, side: int, pairs: int) -> None:
    """Where f falls on the way, entries must not end up behind the current bucket."""
    random = np.random.default_rng(seed)
    for name, blocked in large_maps(seed, side).items():
        scales = {
            "even": np.ones(blocked.shape),
            "uneven": np.exp(random.uniform(0.0, 5.0, blocked.shape)),
        }
        starts, goals = random.choice(np.flatnonzero(~blocked.reshape(-1)), (2, pairs))
        for (kind, scale), mode in itertools.product(scales.items(), MODES):
            grid = Grid.from_blocked(blocked, cell_scale=scale)
            exact = eng.searcher(grid, HEAP, diagonal_mode=mode)
            least = eng.many_costs(exact, starts, goals)
            reached = np.isfinite(least)
            for engine in EVEN_ENGINES[: 3 if kind == "even" else 2]:
                for weight in (1.02, 1.1, 1.5, 3.0):
                    search = eng.searcher(grid, engine, diagonal_mode=mode, weight=weight)
                    found = eng.many_costs(search, starts, goals)
                    where = f"{name}, {kind}, {mode.name}, {ENGINE_NAMES[engine]}, {weight}"
                    np.testing.assert_array_equal(np.isfinite(found), reached, where)
                    bound = weight * least[reached] * (1 + RELATIVE)
                    assert (found[reached] <= bound).all(), where


@pytest.mark.slow
def test_engines_keep_the_bound_of_a_weight_on_large_maps() -> None:
    check_weights_on_large_maps(5, 90, 20)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
def test_engines_keep_the_bound_of_a_weight_on_many_large_maps(seed: int) -> None:
    check_weights_on_large_maps(seed + 30, 150, 80)


def compare_costs_on_large_maps(seed: int, side: int, starts: int, goals: int) -> None:
    """Compare the float64 engines with scipy on costs of several kinds."""
    random = np.random.default_rng(seed)
    shape = (side, side)
    patches = np.kron(random.uniform(1, 50, (-(-side // 16),) * 2), np.ones((16, 16)))
    kinds = {
        "even noise": random.uniform(1, 5, shape),
        "wild noise": np.exp(random.uniform(0, math.log(2000), shape)),
        "patches": patches[:side, :side],
        "two values": random.choice([1.0, 1000.0], shape),
        "a million apart": np.exp(random.uniform(math.log(1e-6), math.log(1e6), shape)),
    }
    for name, scale in kinds.items():
        blocked = eng.noise_map(random, side, side, 0.2)
        costs = np.where(blocked, np.inf, scale.astype(np.float32).astype(np.float64))
        grid = Grid.from_blocked(blocked, cell_scale=scale)
        free = np.flatnonzero(~blocked.reshape(-1))
        for mode, model in itertools.product(MODES, CostModel):
            sources, ends = random.choice(free, starts), random.choice(free, goals)
            expected = dijkstra(graph(costs, mode, model), indices=sources)[:, ends]
            for engine in (HEAP, BUCKETS):
                search = eng.searcher(grid, engine, diagonal_mode=mode, cost_model=model)
                pairs = sources.repeat(goals), np.tile(ends, starts)
                found = eng.many_costs(search, *pairs).reshape(starts, goals)
                where = f"{name}, {mode.name}, {model.name}, {ENGINE_NAMES[engine]}, seed {seed}"
                np.testing.assert_allclose(found, expected, RELATIVE, err_msg=where)


@pytest.mark.slow
def test_engines_agree_with_scipy_on_costs() -> None:
    compare_costs_on_large_maps(3, 60, 2, 8)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5))
def test_engines_agree_with_scipy_on_many_costs(seed: int) -> None:
    compare_costs_on_large_maps(seed + 20, (64, 100, 150, 200, 256)[seed], 5, 20)


# --- the choice -----------------------------------------------------------------------------------


# --- slices and growth ----------------------------------------------------------------------------


@each_engine
def test_a_slice_expands_no_more_than_it_may(engine: int) -> None:
    random = np.random.default_rng(3)
    grid = Grid.from_blocked(random.random((40, 40)) < 0.2)
    free = np.argwhere(~(grid.classes == 255))[:, ::-1]
    for start, goal in zip(free[::97].tolist(), free[::-89].tolist(), strict=False):
        search = eng.searcher(grid, engine, heuristic=Heuristic.ZERO)
        whole = search.find_path(tuple(start), tuple(goal))
        search.begin(tuple(start), tuple(goal))
        used, turns = 0, 0
        for budget in itertools.cycle((1, 5, 2, 1, 30)):
            is_done = search.advance(budget)
            turns += budget
            spent = int(search._scratch.counters[EXPANDED])
            assert spent - used <= budget
            if is_done:
                break
            assert spent == turns, "a slice ends before its budget does"
            used = spent
        assert_same(search.finish(), whole)
        assert turns - whole.metrics.expanded < 30


@pytest.mark.parametrize("engine", [CANONICAL, MULTIPLES], ids=ENGINE_NAMES.get)
@pytest.mark.parametrize("budget", [1, 3, 10_000])
def test_a_search_beyond_fixed_point_begins_anew_within_its_slices(
    engine: int, budget: int
) -> None:
    costs = [2.0, 2.0] if engine == CANONICAL else [1.0, 3.0]
    random = np.random.default_rng(4)
    grid = Grid(random.integers(0, 2, (20, 20), np.uint8))
    profile = Profile(dict(enumerate(costs)))
    exact = AStar(grid, profile=profile).find_path((0, 0), (19, 19))
    # As if there were fixed point for a path of six cells only.
    with eng.forced(engine, max_g=6 * STRAIGHT):
        whole = AStar(grid, profile=profile).find_path((0, 0), (19, 19))
        search = AStar(grid, profile=profile)
        trace = SearchTrace(1000)
        search.begin((0, 0), (19, 19), trace=trace)
        assert eng.engine_of(search) == engine
        slices, is_done, used = 0, False, 0
        while not is_done:
            had = eng.engine_of(search)
            is_done = search.advance(budget)
            spent = int(search._scratch.counters[EXPANDED])
            if had == eng.engine_of(search):
                assert spent - used <= budget, "a slice expands more than it may"
            else:
                first = used
                assert spent <= budget, "the second search is not sliced"
            used = spent
            slices += 1
        assert eng.engine_of(search) == BUCKETS
        result = search.finish()
    assert_same(result, whole)
    assert result.cost == close(exact.cost)
    assert trace.count == result.metrics.expanded
    assert slices >= (first + result.metrics.expanded) // budget


def test_a_search_left_off_beyond_fixed_point_has_no_path() -> None:
    with eng.forced(CANONICAL, max_g=2 * STRAIGHT):
        search = AStar(Grid.filled(20, 20), allow_partial=True)
        search.begin((0, 0), (19, 19))
        while eng.engine_of(search) == CANONICAL:
            assert search.advance(1) is False
        result = search.finish()
    assert (result.status, result.detail, len(result.cells)) == (
        Status.CANCELLED,
        Detail.CANCELLED,
        0,
    )


@each_engine
@each_mode
def test_dijkstra_finds_the_same_costs(engine: int, mode: DiagonalMode) -> None:
    random = np.random.default_rng(mode + 10)
    for seed in range(4):
        side = 24
        classes = random.integers(0, 4, (side, side), np.uint8)
        blocked = random.random((side, side)) < random.uniform(0.0, 0.35)
        per_class = [2.5] * 4 if engine == CANONICAL else [1.0, 2.5, 7.0, 1.25]
        model = CostModel.ENTERED if engine == MULTIPLES else CostModel(seed % 3)
        options: dict[str, Any] = {
            "profile": Profile(dict(enumerate(per_class))),
            "diagonal_mode": mode,
            "cost_model": model,
        }
        grid = Grid(np.where(blocked, np.uint8(255), classes))
        costs = np.where(blocked, np.inf, np.array(per_class)[classes])
        free = np.flatnonzero(~blocked.reshape(-1))
        sources, ends = random.choice(free, 3), random.choice(free, 30)
        expected = dijkstra(graph(costs, mode, model), indices=sources)[:, ends]
        for heuristic in (Heuristic.ZERO, None):
            search = eng.searcher(grid, engine, heuristic=heuristic, **options)
            found = eng.many_costs(search, sources.repeat(30), np.tile(ends, 3))
            np.testing.assert_allclose(found.reshape(expected.shape), expected, 1e-8)


@each_engine
def test_a_limit_of_costs_that_cut_the_search_leaves_open_what_lies_beyond(engine: int) -> None:
    blocked = np.zeros((9, 9), np.bool_)
    blocked[:, 6] = True
    grid = Grid.from_blocked(blocked)
    ends = ((0, 0), (8, 8))
    farthest = 3 + 5 * math.sqrt(2)  # to (5, 8)
    cut = eng.find(grid, engine, *ends, max_cost=farthest - 0.1)
    assert (cut.status, cut.detail) == (Status.LIMIT, Detail.COST_LIMIT)
    # Beyond any step between the cells that can be reached.
    uncut = eng.find(grid, engine, *ends, max_cost=farthest + math.sqrt(2))
    assert (uncut.status, uncut.detail) == (Status.UNREACHABLE, Detail.UNREACHABLE)
    told = eng.find(grid, engine, *ends, max_cost=1.0, islands=True)
    assert (told.status, told.detail) == (Status.UNREACHABLE, Detail.UNREACHABLE)


# --- limits ---------------------------------------------------------------------------------------


def small_case(engine: int, seed: int) -> tuple[Grid, dict[str, Any]]:
    random = np.random.default_rng(seed)
    classes = random.integers(0, 4, (9, 9)).astype(np.uint8)
    classes[random.random((9, 9)) < 0.3] = 255
    classes[0, 0] = classes[8, 8] = 0
    if seed % 3 == 0:
        classes[7, 7:] = classes[8, 7] = 255
    costs = (
        dict.fromkeys(range(4), 2.5) if engine == CANONICAL else {0: 1.0, 1: 2.5, 2: 7.0, 3: 1.25}
    )
    options = {
        "profile": Profile(costs),
        "diagonal_mode": MODES[seed % 4],
        "cost_model": CostModel.ENTERED if engine == MULTIPLES else CostModel(seed % 3),
        "weight": (1.0, 1.0, 2.0)[seed // 4 % 3],
    }
    return Grid(classes), options


@each_engine
@pytest.mark.parametrize("seed", range(24))
def test_a_limit_of_expansions_cuts_where_the_search_would_go_on(engine: int, seed: int) -> None:
    grid, options = small_case(engine, seed)
    trace = SearchTrace(1000)
    whole = eng.find(grid, engine, (0, 0), (8, 8), trace=trace, **options)
    assert whole.status in (Status.FOUND, Status.UNREACHABLE)
    needed = whole.metrics.expanded
    for limit in range(1, needed + 2):
        cut_trace = SearchTrace(1000)
        cut = eng.find(
            grid, engine, (0, 0), (8, 8), trace=cut_trace, max_expansions=limit, **options
        )
        partial = eng.find(
            grid, engine, (0, 0), (8, 8), max_expansions=limit, allow_partial=True, **options
        )
        if limit >= needed:
            assert_same(cut, whole)
            assert partial.detail == whole.detail
            continue
        assert (cut.status, cut.detail) == (Status.LIMIT, Detail.EXPANSION_LIMIT)
        assert cut.metrics.expanded == cut_trace.count == limit
        np.testing.assert_array_equal(cut_trace.cells, trace.cells[:limit])
        np.testing.assert_array_equal(cut_trace.g, trace.g[:limit])
        assert (partial.status, partial.detail) == (Status.PARTIAL, Detail.EXPANSION_LIMIT)
        expanded: dict[ref.Cell, float] = {}
        for cell, g in zip(ref.as_cells(cut_trace.cells), cut_trace.g.tolist(), strict=True):
            expanded[cell] = min(g, expanded.get(cell, math.inf))
        end = ref.nearest_to_goal(expanded, (8, 8), lambda cell: cell[1] * 9 + cell[0])
        assert tuple(partial.cells[-1].tolist()) == end
        with eng.forced(engine):
            search = AStar(grid, max_expansions=limit, **options)
            sliced = eng.slices_of(search, itertools.cycle((1, 3)), (0, 0), (8, 8))
        assert_same(sliced, cut)


@each_engine
@given(data=st.data())
def test_a_cost_limit_is_kept_to_the_least_cost(engine: int, data: st.DataObject) -> None:
    query = data.draw(queries_for(engine))
    result = run(engine, query)
    if not result.found:
        return
    same = run(engine, query, max_cost=result.cost)
    assert same.found
    assert same.cost == close(result.cost)
    if result.cost > 0:
        below = run(engine, query, max_cost=result.cost * (1 - 1e-6))
        assert (below.status, below.detail) == (Status.LIMIT, Detail.COST_LIMIT)
        partial = run(engine, query, max_cost=result.cost * (1 - 1e-6), allow_partial=True)
        assert (partial.status, partial.detail) == (Status.PARTIAL, Detail.COST_LIMIT)
        assert partial.cost <= result.cost * (1 - 1e-6)
        assert run(engine, query, max_cost=1e300).cost == result.cost


@each_engine
def test_start_and_goal_are_one(engine: int) -> None:
    grid = Grid.filled(5, 5)
    flag = CancelFlag()
    flag.set()
    trace = SearchTrace(5)
    for options in ({}, {"cancel": flag}, {"max_expansions": 1}, {"max_cost": 0.0}):
        keywords: dict[str, Any] = {**options, "trace": trace}
        result = eng.find(grid, engine, (2, 3), (2, 3), **keywords)
        assert (result.status, result.cost) == (Status.FOUND, 0.0)
        assert result.cells.tolist() == trace.cells.tolist() == [[2, 3]]
        assert result.metrics == (1, 1, 0, 1)


@each_engine
@pytest.mark.parametrize("partial", [False, True])
def test_a_flag_stops_a_search_between_slices(engine: int, partial: bool) -> None:
    grid = Grid.filled(120, 120)
    for before in (1, 7, 1023, 1024, 1025, 5000):
        flag, trace = CancelFlag(), SearchTrace(20_000)
        search = eng.searcher(grid, engine, heuristic=Heuristic.ZERO, allow_partial=partial)
        search.begin((0, 0), (119, 119), cancel=flag, trace=trace)
        assert search.advance(before) is False
        flag.set()
        assert search.advance(100_000) is True
        result = search.finish()
        assert result.detail == Detail.CANCELLED
        assert before <= result.metrics.expanded <= before + 1024
        assert result.status == (Status.PARTIAL if partial else Status.CANCELLED)
        if partial:
            reached = {
                tuple(cell): g for cell, g in zip(trace.cells.tolist(), trace.g, strict=True)
            }
            end = ref.nearest_to_goal(reached, (119, 119), lambda cell: cell[1] * 120 + cell[0])
            assert tuple(result.cells[-1].tolist()) == end
        flag.clear()
        found = search.find_path((0, 0), (119, 119), cancel=flag)
        assert found.cost == close(119 * math.sqrt(2))


@given(st.integers(0, 10_000), st.sampled_from(MODES))
def test_partial_paths_end_alike_in_every_engine(seed: int, mode: DiagonalMode) -> None:
    random = np.random.default_rng(seed)
    blocked = random.random((14, 17)) < random.choice((0.15, 0.35, 0.5))
    goal = (int(random.integers(17)), int(random.integers(14)))
    start = (int(random.integers(17)), int(random.integers(14)))
    blocked[start[1], start[0]] = False
    # Nothing leads to the goal.
    blocked[max(goal[1] - 1, 0) : goal[1] + 2, max(goal[0] - 1, 0) : goal[0] + 2] = True
    blocked[goal[1], goal[0]] = seed % 2 == 0
    if blocked[start[1], start[0]] or start == goal:
        return
    grid = Grid.from_blocked(blocked)
    results = [
        eng.find(grid, engine, start, goal, diagonal_mode=mode, allow_partial=True)
        for engine in EVEN_ENGINES
    ]
    assert {result.status for result in results} == {Status.PARTIAL}
    assert len({result.detail for result in results}) == 1
    ends = [tuple(result.cells[-1].tolist()) for result in results]
    assert len({ref.octile(end, goal) for end in ends}) == 1
    for result in results:
        assert result.cost == pytest.approx(results[0].cost, rel=1e-9, abs=1e-12)
    if mode == DiagonalMode.NEVER:
        # Sums of whole numbers: no rounding decides between cells as near and as dear.
        assert len(set(ends)) == 1


# --- stamps ---------------------------------------------------------------------------------------


LEVEL = Grid.from_blocked(np.random.default_rng(6).random((20, 20)) < 0.2)
COSTLY = Grid(LEVEL.classes, cell_scale=np.random.default_rng(7).uniform(1, 5, (20, 20)))
FREE = Grid(LEVEL.classes, cell_scale=np.random.default_rng(8).integers(0, 3, (20, 20)))


@pytest.mark.parametrize("grid", [LEVEL, COSTLY, FREE], ids=["level", "costly", "free"])
def test_stamps_begin_anew_without_a_trace_of_old_searches(grid: Grid) -> None:
    # The first searches leave nodes with small stamps behind, which come again.
    free = [tuple(cell) for cell in np.argwhere(grid.classes == 0)[:, ::-1].tolist()]
    walls = [tuple(cell) for cell in np.argwhere(grid.classes == 255)[:, ::-1].tolist()]
    random = np.random.default_rng(9)
    search = AStar(grid)

    def compare() -> None:
        start, goal = (free[i] for i in random.integers(len(free), size=2))
        changes: dict[str, Any] = {}
        if random.random() < 0.5:
            changes["blocked_cells"] = [free[i] for i in random.integers(len(free), size=9)]
            changes["ignored_cells"] = [walls[i] for i in random.integers(len(walls), size=9)]
        expected = AStar(grid).find_path(start, goal, **changes)
        assert_same(search.find_path(start, goal, **changes), expected)

    for _ in range(3):
        for _ in range(12):
            compare()
        counters = search._scratch.counters
        counters[STAMP] = LAST_STAMP - 2
        for _ in range(15):
            compare()
        assert counters[STAMP] == 13


@given(st.data())
def test_one_searcher_alternates_between_engines(data: st.DataObject) -> None:
    query = data.draw(queries_for(CANONICAL))
    spots = sts.cells(query.model)
    grid = sts.grid_of(query.model)
    search = AStar(grid, **query.options())
    for _ in range(data.draw(st.integers(2, 8))):
        query.start, query.goal = data.draw(spots), data.draw(spots)
        query.blocked_cells = data.draw(st.just([]) | st.lists(spots, max_size=6))
        query.ignored_cells = data.draw(st.just([]) | st.lists(spots, max_size=6))
        check(search.find_path(query.start, query.goal, **query.changes()), query)


# --- the largest maps -----------------------------------------------------------------------------


@pytest.mark.slow
@each_engine
def test_the_last_cells_of_the_largest_map(engine: int) -> None:
    side = 8192
    classes = np.zeros((side, side), np.uint8)
    classes[-3, 1:] = 255
    grid = Grid(classes, region_position=(-100, 50))
    last = (side - 101, side + 49)
    search = eng.searcher(grid, engine, diagonal_mode=DiagonalMode.NEVER)
    for start, goal, cost in [
        (last, last, 0.0),
        (last, (last[0] - 40, last[1]), 40.0),
        ((last[0] - 40, last[1] - 1), last, 41.0),
        ((last[0], last[1] - 1), (last[0] - 1, last[1]), 2.0),
        # The only way round the wall begins at the other side of the map.
        (last, (last[0], last[1] - 3), 2.0 * (side - 1) + 3.0),
        ((last[0], last[1] - 3), last, 2.0 * (side - 1) + 3.0),
        ((-100, 50), (-100, 51), 1.0),
        ((-100, last[1]), (-100, last[1] - 3), 3.0),
    ]:
        result = search.find_path(start, goal)
        assert (result.status, result.cost) == (Status.FOUND, cost)
        assert tuple(result.cells[-1].tolist()) == goal
    with pytest.raises(CellError, match=f"{last[0]}"):
        search.find_path((last[0] + 1, last[1]), last)
