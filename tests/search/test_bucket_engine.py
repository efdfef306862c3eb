"""The bucket queue against plain sets, and searches by it on costs of all kinds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from navserver.search.astar import AStar
from navserver.search.bucket_engine import N_BUCKETS, next_bucket_, pop_bucket_, push_bucket_
from navserver.search.engine import BUCKETS, ENTRIES, FREE, HEAP, N_COUNTERS, NO_CELL, USED
from navserver.search.grid import CostModel, DiagonalMode, Grid, Profile
from navserver.search.heuristics import Heuristic
from navserver.search.nodes import SearchTrace
from navserver.status import Status
from tests import engines as eng
from tests import reference as ref
from tests.reference_engines import all_pairs, graph

MODES = list(DiagonalMode)
each_mode = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
each_model = pytest.mark.parametrize("model", CostModel, ids=lambda model: model.name)
APART = 2800.0


# --- the queue ------------------------------------------------------------------------------------


class Queue:
    """The arrays of a bucket queue, empty."""

    def __init__(self, capacity: int) -> None:
        self.heads = np.full(N_BUCKETS, NO_CELL, np.int32)
        self.occupied = np.zeros(65, np.uint64)
        self.entries = (np.empty(capacity, np.int32), np.empty(capacity, np.int32))
        self.counters = np.zeros(N_COUNTERS, np.int64)
        self.counters[FREE] = NO_CELL

    def push(self, bucket: int, cell: int) -> None:
        push_bucket_(self.heads, self.occupied, *self.entries, self.counters, bucket, cell)

    def pop(self, bucket: int) -> int:
        return int(pop_bucket_(self.heads, self.occupied, *self.entries, self.counters, bucket))

    def next(self, bucket: int) -> int:
        return int(next_bucket_(self.occupied, bucket))


OFFSETS = st.sampled_from((0, 1, 62, 63, 64, 65, 4031, 4032, 4033, 4094, 4095)) | st.integers(
    0, N_BUCKETS - 1
)


@given(st.integers(0, 10**7) | st.integers(4000, 4200), st.sets(OFFSETS, min_size=1))
def test_the_next_bucket_is_found_all_the_way_round(first: int, offsets: set[int]) -> None:
    queue = Queue(N_BUCKETS)
    for offset in offsets:
        queue.push(first + offset, offset)
    bucket = first
    for offset in sorted(offsets):
        bucket = queue.next(bucket)
        assert bucket == first + offset
        assert queue.next(bucket) == bucket
        assert queue.pop(bucket) == offset
    assert not queue.occupied.any()
    assert queue.counters[ENTRIES] == 0


@given(st.lists(st.tuples(OFFSETS, st.integers(0, 2**26 - 1)) | st.none(), max_size=120))
def test_the_last_in_a_bucket_is_the_first_out(steps: list[tuple[int, int] | None]) -> None:
    room = max(1, len(steps))
    queue, bucket = Queue(room), 0
    held: dict[int, list[int]] = {}
    most = 0
    for step in [*steps, *[None] * len(steps)]:
        if step is not None:
            # Never more than one turn ahead of the current bucket.
            queue.push(bucket + step[0], step[1])
            held.setdefault(bucket + step[0], []).append(step[1])
        elif held:
            bucket = queue.next(bucket)
            assert bucket == min(held)
            assert queue.pop(bucket) == held[bucket].pop()
            if not held[bucket]:
                del held[bucket]
        count = sum(map(len, held.values()))
        most = max(most, count)
        assert queue.counters[ENTRIES] == count
        assert queue.counters[USED] == most, "room is used again"


# --- costs ----------------------------------------------------------------------------------------


def wild_costs(random: np.random.Generator, n: int, height: int, width: int) -> NDArray[np.float64]:
    """Small maps whose costs lie up to some thousands apart, with walls."""
    costs = np.exp(random.uniform(0.0, math.log(APART), (n, height, width)))
    costs[: n // 2] = random.choice([1.0, 1.5, 30.0, APART], (n // 2, height, width))
    costs[random.random(costs.shape) < random.uniform(0.0, 0.4, (n, 1, 1))] = np.inf
    return costs.astype(np.float32).astype(np.float64)


def check_all_pairs(
    costs: NDArray[np.float64], mode: DiagonalMode, model: CostModel, **options: Any
) -> None:
    n, height, width = costs.shape
    cells = height * width
    map_, flat = eng.tiled(costs, np.inf)
    blocked = np.isinf(map_)
    grid = Grid.from_blocked(blocked, cell_scale=np.where(blocked, 1.0, map_))
    search = eng.searcher(grid, BUCKETS, diagonal_mode=mode, cost_model=model, **options)
    assert eng.engine_of(search) == BUCKETS
    starts, goals = flat.repeat(cells, axis=1).reshape(-1), np.tile(flat, (1, cells)).reshape(-1)
    found = eng.many_costs(search, starts, goals).reshape(n, cells, cells)
    np.testing.assert_allclose(found, all_pairs(costs, mode, model), 1e-9, 1e-12)


@pytest.mark.slow
@each_mode
@each_model
def test_all_pairs_on_small_maps_of_wild_costs(mode: DiagonalMode, model: CostModel) -> None:
    random = np.random.default_rng(17)
    for shape in [(3, 3), (2, 5), (4, 4)]:
        costs = wild_costs(random, 300, *shape)
        if model == CostModel.PRODUCT:
            costs **= 0.5
            costs = costs.astype(np.float32).astype(np.float64)
        check_all_pairs(costs, mode, model)
        check_all_pairs(costs, mode, model, heuristic=Heuristic.EUCLIDEAN)


@pytest.mark.soak
@each_mode
@each_model
def test_all_pairs_on_many_maps_of_wild_costs(mode: DiagonalMode, model: CostModel) -> None:
    for seed in range(12):
        random = np.random.default_rng(seed)
        costs = wild_costs(random, 1500, *random.integers(3, 7, 2).tolist())
        if model == CostModel.PRODUCT:
            costs = (costs**0.5).astype(np.float32).astype(np.float64)
        check_all_pairs(costs, mode, model, heuristic=(None, Heuristic.ZERO)[seed % 2])


def test_back_round_the_parent_is_dearer_but_under_product() -> None:
    # From (0, 0) to (0, 1) the cheap cell (1, 0) lies beside both.
    grid = Grid.filled(2, 2, cell_scale=[[30.0, 1.0], [30.0, 30.0]])
    for model, cells in [
        (CostModel.ENTERED, [[0, 0], [0, 1]]),
        (CostModel.MEAN, [[0, 0], [0, 1]]),
        (CostModel.PRODUCT, [[0, 0], [1, 0], [0, 1]]),
    ]:
        result = eng.find(grid, BUCKETS, (0, 0), (0, 1), diagonal_mode=0, cost_model=model)
        assert result.cells.tolist() == cells


@each_mode
@each_model
def test_no_cell_is_generated_from_where_its_parent_reaches_it(
    mode: DiagonalMode, model: CostModel
) -> None:
    random = np.random.default_rng(5)
    scale = random.uniform(1.0, 50.0, (20, 20))
    grid = Grid.filled(20, 20, cell_scale=scale)
    trace = SearchTrace(2000)
    options: dict[str, Any] = {"diagonal_mode": mode, "cost_model": model, "trace": trace}
    eng.find(grid, BUCKETS, (0, 0), (19, 19), **options)
    parents = {}
    bent = 0
    for cell, parent in zip(ref.as_cells(trace.cells), ref.as_cells(trace.parents), strict=True):
        if parent in parents and parents[parent] != parent:
            before = parents[parent]
            away = abs(cell[0] - before[0]) + abs(cell[1] - before[1])
            bent += away <= 1
        parents[cell] = parent
    if model == CostModel.PRODUCT and mode != DiagonalMode.NEVER:
        assert bent > 0, "under PRODUCT the way round may be cheaper"
    else:
        assert bent == 0


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1.0, 1e-30, 1e30, 1e-37])
@each_model
def test_costs_of_any_size_find_their_buckets(unit: float, model: CostModel) -> None:
    # Far over 4,096 buckets on the way: the turn comes round many times.
    random = np.random.default_rng(8)
    apart = APART**0.5 if model == CostModel.PRODUCT else APART
    classes = random.choice(np.arange(4, dtype=np.uint8), (2, 3000), p=[0.1, 0.6, 0.2, 0.1])
    table = {0: unit, 1: unit * apart, 2: unit * apart**0.5, 3: unit * 1.5}
    profile = Profile(table)
    costs = profile.costs.astype(np.float64)[classes]
    for mode in MODES:
        search = eng.searcher(
            Grid(classes), BUCKETS, profile=profile, cost_model=model, diagonal_mode=mode
        )
        assert eng.engine_of(search) == BUCKETS
        expected = dijkstra(graph(costs, mode, model), indices=0)
        goals = np.arange(5, classes.size, 397)
        found = eng.many_costs(search, np.zeros_like(goals), goals)
        np.testing.assert_allclose(found, expected[goals], 1e-9)
        assert found.max() * search._request.bucket_rate > 3 * N_BUCKETS
        # On the largest map bucket numbers still are integers.
        dearest = found.max() / classes.shape[1] * 8192 * 8192
        assert dearest * search._request.bucket_rate < 2**53


@pytest.mark.parametrize("coarser", [1.0, 2.0, 5.0, 16.0])
def test_the_width_of_a_bucket_changes_no_cost(coarser: float) -> None:
    random = np.random.default_rng(9)
    scale = random.uniform(1.0, 9.0, (60, 60))
    blocked = random.random((60, 60)) < 0.2
    grid = Grid.from_blocked(blocked, cell_scale=scale)
    free = np.flatnonzero(~blocked.reshape(-1))
    starts, goals = random.choice(free, (2, 60))
    fine = eng.searcher(grid, BUCKETS)
    rate = fine._request.bucket_rate
    coarse = eng.searcher(grid, BUCKETS, {"bucket_rate": rate / coarser})
    heap = eng.searcher(grid, HEAP)
    expected = eng.many_costs(heap, starts, goals)
    np.testing.assert_allclose(eng.many_costs(fine, starts, goals), expected, 1e-12)
    np.testing.assert_allclose(eng.many_costs(coarse, starts, goals), expected, 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("weight", [1.0, 1.3, 3.0, 100.0, 1500.0])
def test_weights_stay_within_one_turn(weight: float) -> None:
    random = np.random.default_rng(10)
    for apart in (2.0, 50.0, 1000.0):
        scale = np.exp(random.uniform(0.0, math.log(apart), (50, 50)))
        blocked = random.random((50, 50)) < 0.3
        blocked[0, 0] = blocked[49, 49] = False
        grid = Grid.from_blocked(blocked, cell_scale=scale)
        for mode in MODES:
            search = eng.searcher(grid, BUCKETS, weight=weight, diagonal_mode=mode)
            if eng.engine_of(search) != BUCKETS:
                assert weight * 2 + apart * 1.5 > N_BUCKETS - 10
                continue
            exact = eng.find(grid, HEAP, (0, 0), (49, 49), diagonal_mode=mode)
            result = search.find_path((0, 0), (49, 49))
            assert result.status == exact.status
            if exact.found:
                assert exact.cost * (1 - 1e-12) <= result.cost <= weight * exact.cost * (1 + 1e-12)


def test_outdated_entries_are_no_work_that_is_left() -> None:
    # The goal is out of reach, and the last expansion leaves entries of closed nodes behind.
    random = np.random.default_rng(11)
    left_behind = 0
    for _ in range(150):
        classes = random.integers(0, 4, (8, 8)).astype(np.uint8)
        classes[random.random((8, 8)) < 0.3] = 255
        classes[0, 0], classes[7, 7], classes[6, 6:], classes[7, 6] = 0, 0, 255, 255
        profile = Profile({0: 1.0, 1: 2.5, 2: 7.0, 3: 1.1})
        search = eng.searcher(Grid(classes), BUCKETS, profile=profile)
        whole = search.find_path((0, 0), (7, 7))
        assert whole.status == Status.UNREACHABLE
        left_behind += whole.metrics.generated > whole.metrics.expanded
        limit = whole.metrics.expanded
        cut = eng.find(
            Grid(classes), BUCKETS, (0, 0), (7, 7), profile=profile, max_expansions=limit
        )
        assert (cut.status, cut.metrics) == (Status.UNREACHABLE, whole.metrics)
        search.begin((0, 0), (7, 7))
        assert search.advance(limit) is True
    assert left_behind > 20


def test_only_what_goes_on_the_open_list_counts_as_reopened() -> None:
    reopened = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        scale = np.exp(random.uniform(0.0, 6.0, (40, 40)))
        grid = Grid.filled(40, 40, cell_scale=scale)
        trace = SearchTrace(20_000)
        with eng.forced(BUCKETS):
            search = AStar(grid, weight=4.0)
            result = search.find_path((0, 0), (39, 39), trace=trace)
        twice = result.metrics.expanded - len(set(ref.as_cells(trace.cells)))
        assert twice <= result.metrics.reopened
        assert result.metrics.reopened < result.metrics.generated - result.metrics.expanded + twice
        reopened += result.metrics.reopened
    assert reopened > 0, "the maps are too easy"
