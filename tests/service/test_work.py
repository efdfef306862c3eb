from __future__ import annotations

import numpy as np
import pytest

from navserver.search.astar import find_path
from navserver.search.grid import Grid
from navserver.search.nodes import CancelFlag
from navserver.service.replicas import Replicas
from navserver.service.requests import SearchOptions
from navserver.service.work import BundleUnit, QueryUnit, RangeUnit, SearchState, SliceUnit
from navserver.status import InputError
from tests.service.driving import winding

ENDS = [((0, 0), (3, 0)), ((0, 0), (16, 16)), ((5, 0), (5, 0)), ((0, 1), (0, 0))]


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_bundle_gives_each_search_up_at_the_limit(count: int) -> None:
    grid = winding(17)
    replica = Replicas(grid).pin()
    unit = BundleUnit("me", replica, SearchOptions(), 20, ENDS[:count])
    unit.run()
    for result, (start, goal) in zip(unit.results, ENDS, strict=False):
        expected = find_path(grid, start, goal, max_expansions=20)
        assert (result.status, result.metrics) == (expected.status, expected.metrics)
        assert (result.start, result.goal, result.map_version) == (start, goal, 1)
        assert result.cells.tolist() == expected.cells.tolist()
    assert unit.expanded == sum(result.metrics.expanded for result in unit.results)
    assert unit.work(0.0) > unit.expanded
    assert replica.idle_bytes == replica.scratch_bytes


def test_a_range_does_so_for_rows_of_a_batch() -> None:
    grid = winding(17)
    replica = Replicas(grid).pin()
    starts = np.array([0, 0], np.int64)
    goals = np.array([3, grid.size - 1], np.int64)
    rows = np.array([7, 9])
    unit = RangeUnit("me", replica, CancelFlag(), SearchOptions(), 20, rows, starts, goals)
    unit.run()
    assert unit.outputs is not None
    assert unit.outputs.summary[:, 0].tolist() == [0, 5]
    assert unit.expanded == 4 + 20
    assert unit.work(0.0) > unit.expanded


def test_slices_end_with_the_result_of_a_whole_search() -> None:
    grid = winding(17)
    replica = Replicas(grid).pin()
    search = SearchState(replica, SearchOptions(), (0, 0), (16, 16), None)
    spent = 0
    while search.result is None:
        unit = SliceUnit("me", search, 7)
        unit.run()
        spent += unit.expanded
    assert search.result.metrics == find_path(grid, (0, 0), (16, 16)).metrics
    assert spent == search.result.metrics.expanded
    assert search.searcher is None
    assert replica.idle_bytes == replica.scratch_bytes


def test_a_unit_keeps_what_went_wrong_and_lets_bugs_through() -> None:
    def refuse(grid: Grid, _: CancelFlag) -> None:
        raise InputError("goal", grid, "is no goal", "give another") from None

    def break_down(*_: object) -> None:
        raise ZeroDivisionError

    replica = Replicas(Grid.filled(2, 2)).pin()
    unit = QueryUnit("me", replica, CancelFlag(), refuse)
    unit.run()
    assert isinstance(unit.error, InputError)
    assert unit.work(2.0) > unit.work(1.0) > 0.0
    with pytest.raises(ZeroDivisionError):
        QueryUnit("me", replica, CancelFlag(), break_down).run()
