from __future__ import annotations

import heapq
import random
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.astar import AStar, find_path
from navserver.search.engine import LAST_STAMP, STAMP
from navserver.search.grid import Grid
from navserver.search.nodes import (
    NEVER,
    CancelFlag,
    OneUser,
    OpenList,
    SearchTrace,
    checked_cancel,
    checked_trace,
    pop_open_,
    push_open_,
)
from navserver.status import InputError

ENTRIES = st.tuples(
    st.sampled_from((0.0, 0.5, 1.0, 2.0)), st.sampled_from((0.0, 0.5, 1.0)), st.integers(0, 5)
)


def test_one_user_keeps_the_second_out_until_the_first_has_left() -> None:
    user = OneUser("AStar")
    with (
        user,
        pytest.raises(InputError, match=r"search: 'AStar' is still at work.* AStar of its own"),
        user,
    ):
        pass
    with pytest.raises(RuntimeError, match="inside"), user:
        raise RuntimeError("inside")
    with user:
        assert user.lock.locked()
    assert not user.lock.locked()


@given(st.lists(ENTRIES | st.none(), max_size=80))
def test_the_open_list_gives_smaller_f_then_larger_g_then_smaller_cell(
    entries: list[tuple[float, float, int] | None],
) -> None:
    open_list, size = OpenList.of(len(entries) + 1), 0
    heap: list[tuple[float, float, int]] = []
    for entry in [*entries, *[None] * len(entries)]:
        if entry is not None:
            f, g, cell = entry
            size = push_open_(open_list, size, f, g, cell)
            heapq.heappush(heap, (f, -g, cell))
        elif heap:
            f, minus_g, cell = heapq.heappop(heap)
            assert (open_list.f[0], open_list.g[0], open_list.cell[0]) == (f, -minus_g, cell)
            size = pop_open_(open_list, size)
        assert size == len(heap)


def test_a_grown_open_list_holds_the_same() -> None:
    generator = random.Random(3)
    open_list, size = OpenList.of(4), 0
    heap = []
    for _ in range(100):
        f, g, cell = generator.random(), generator.random(), generator.randrange(9)
        if size == open_list.f.size:
            grown = open_list.grown()
            assert grown.f.size == 2 * size
            assert grown.g.size == grown.cell.size == grown.f.size
            open_list = grown
        size = push_open_(open_list, size, f, g, cell)
        heap.append((f, -g, cell))
    for f, minus_g, cell in sorted(heap):
        assert (open_list.f[0], open_list.g[0], open_list.cell[0]) == (f, -minus_g, cell)
        size = pop_open_(open_list, size)
    assert size == 0


@pytest.mark.slow
def test_a_search_outgrows_its_open_list() -> None:
    # Zero estimates over cheap rows beside dear ones keep many cells open at once.
    classes = np.zeros((300, 300), np.uint8)
    result = find_path(Grid(classes), (150, 150), (0, 0), algorithm="dijkstra")
    assert result.found
    noisy = np.random.default_rng(1).random((300, 300)).astype(np.float32) + 0.01
    noisy[0, 1] = 0.0
    hard = AStar(Grid(classes, cell_scale=noisy))
    hard.begin((0, 0), (299, 299))
    capacity = hard._scratch.heap.f.size
    found = hard.find_path((0, 0), (299, 299))
    assert found.found
    assert found.metrics.open_peak > capacity
    again = hard.find_path((0, 0), (299, 299))
    assert again.metrics == found.metrics
    np.testing.assert_array_equal(again.cells, found.cells)


LEVEL = Grid.filled(20, 20)
COSTLY = Grid(LEVEL.classes, cell_scale=np.random.default_rng(7).uniform(1, 5, (20, 20)))
FREE = Grid(LEVEL.classes, cell_scale=np.random.default_rng(7).integers(0, 3, (20, 20)))


@pytest.mark.parametrize("grid", [LEVEL, COSTLY, FREE], ids=["canonical", "buckets", "heap"])
def test_searches_are_the_same_when_the_stamps_begin_anew(grid: Grid) -> None:
    changed = AStar(grid)
    search = AStar(grid)
    for scratch in (search._scratch, changed._scratch):
        scratch.counters[STAMP] = LAST_STAMP - 4
    for _ in range(4):
        for start, goal in [((0, 0), (19, 19)), ((19, 19), (19, 0)), ((19, 0), (0, 0))]:
            mine = search.find_path(start, goal)
            fresh = AStar(grid).find_path(start, goal)
            np.testing.assert_array_equal(mine.cells, fresh.cells)
            assert mine.metrics == fresh.metrics
            changes = {"blocked_cells": [(5, 5)], "ignored_cells": [(7, 7)]}
            mine = changed.find_path(start, goal, **changes)
            fresh = AStar(grid).find_path(start, goal, **changes)
            np.testing.assert_array_equal(mine.cells, fresh.cells)
            assert mine.metrics == fresh.metrics
    assert search._scratch.counters[STAMP] == changed._scratch.counters[STAMP] == 8


def test_the_cancel_flag() -> None:
    flag = CancelFlag()
    assert flag.is_set is False
    flag.set()
    assert flag.is_set is True
    flag.clear()
    assert flag.is_set is False


@pytest.mark.parametrize("capacity", [0, -1, 1.5, "9", None, 10**30, float("nan")])
def test_unfit_trace_capacities_are_refused(capacity: Any) -> None:
    with pytest.raises(InputError, match="capacity"):
        SearchTrace(capacity)


def test_a_trace_is_empty_until_a_search_has_ended() -> None:
    trace = SearchTrace(4)
    assert (trace.count, trace.truncated) == (0, False)
    assert trace.cells.shape == trace.parents.shape == (0, 2)
    assert trace.g.shape == trace.h.shape == (0,)


def test_a_trace_is_overwritten_by_the_next_search() -> None:
    grid = Grid.filled(9, 1, region_position=(-4, 7))
    trace = SearchTrace(100)
    search = AStar(grid)
    search.find_path((-4, 7), (4, 7), trace=trace)
    assert trace.count == 9
    search.find_path((-1, 7), (1, 7), trace=trace)
    assert trace.count == 3
    assert trace.cells.tolist() == [[-1, 7], [0, 7], [1, 7]]
    assert trace.parents.tolist() == [[-1, 7], [-1, 7], [0, 7]]
    assert trace.g.tolist() == [0.0, 1.0, 2.0]
    assert trace.h.tolist() == [2.0, 1.0, 0.0]
    assert trace.cells.dtype == trace.parents.dtype == np.int32
    grid.set_cell((-1, 7), 255)
    search.find_path((-1, 7), (1, 7), trace=trace)
    assert (trace.count, trace.truncated) == (0, False)


@pytest.mark.parametrize("capacity", [1, 2, 8, 9, 10])
def test_a_trace_is_cut_at_its_capacity(capacity: int) -> None:
    trace = SearchTrace(capacity)
    result = find_path(Grid.filled(9, 1), (0, 0), (8, 0), trace=trace)
    assert result.metrics.expanded == 9
    assert trace.count == min(capacity, 9)
    assert trace.truncated == (capacity < 9)
    assert trace.cells[:, 0].tolist() == list(range(min(capacity, 9)))


def test_flags_and_traces_of_another_type_are_refused() -> None:
    flag, trace = CancelFlag(), SearchTrace(1)
    assert checked_cancel(flag) is flag
    assert checked_cancel(None) is NEVER
    assert checked_trace(trace) is trace
    assert checked_trace(None) is None
    for value in (True, "now", threading.Event(), trace):
        with pytest.raises(InputError, match=r"^cancel: .* is not a CancelFlag; make one"):
            checked_cancel(value)  # type: ignore[arg-type]
    for value in (100, [], flag):
        with pytest.raises(InputError, match=r"^trace: .* is not a SearchTrace; make one"):
            checked_trace(value)  # type: ignore[arg-type]
