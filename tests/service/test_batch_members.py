from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from navserver.service import rates
from navserver.service.batch_tickets import FEWEST_OF_A_GOAL
from navserver.service.requests import Outcome, SearchOptions, Used
from tests.service.batches import batch, check_against_search, only
from tests.service.driving import Stage, winding
from tests.strategies import models


def everything_from_the_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates.Rates, "prefers_field", lambda *_: True)


@given(models(max_side=10), st.data())
def test_fields_tell_what_searches_find(model: Any, data: st.DataObject) -> None:
    grid = Grid(model.classes, **model.keywords())
    cells = model.cells()
    goal = data.draw(st.sampled_from(cells))
    partial = data.draw(st.booleans())
    mode = data.draw(st.sampled_from(list(DiagonalMode)))
    starts = cells * (1 + FEWEST_OF_A_GOAL // len(cells))
    stage = Stage(grid.copy(), slice_seconds=data.draw(st.sampled_from([1e-6, 1e-3])))
    options = SearchOptions(Movement(diagonal_mode=mode), allow_partial=partial)
    with pytest.MonkeyPatch.context() as monkeypatch:
        everything_from_the_goal(monkeypatch)
        batch(stage, starts, goal, options=options)
        reply = only(stage.finish())
    # Rows that a field does not reach are searched one by one where a partial path is wanted.
    if (
        len(starts) > 16
        and not partial
        and not grid.blocked()[goal[1] - model.region[1], goal[0] - model.region[0]]
    ):
        assert (reply.used == Used.FIELD).any()
    goals = [goal] * len(starts)
    check_against_search(reply, grid, starts, goals, diagonal_mode=mode, allow_partial=partial)
    assert stage.scheduler.statistics()["search_scratch_bytes"] == 0


def test_rows_that_are_long_go_on_in_slices() -> None:
    grid = winding(97)
    stage = Stage(grid.copy())
    starts = [(0, 0), (1, 0), (0, 0), (5, 0)]
    goals = [(96, 96), (2, 0), (96, 94), (96, 92)]
    batch(stage, starts, goals)
    reply = only(stage.finish())
    check_against_search(reply, grid, starts, goals)
    assert reply.expanded[0] > 2048
    assert stage.scheduler.statistics()["search_scratch_bytes"] == 0


def test_partial_paths_of_first_tries_are_not_taken_for_the_rows_own() -> None:
    grid = winding(97)
    stage = Stage(grid.copy())
    starts = [(0, 0), (0, 0), (1, 0)]
    goals = [(96, 96), (2, 0), (5, 0)]
    batch(stage, starts, goals, options=SearchOptions(allow_partial=True))
    reply = only(stage.finish())
    check_against_search(reply, grid, starts, goals, allow_partial=True)


@pytest.mark.slow
@pytest.mark.parametrize("share_fields", [False, True])
def test_many_long_ways_to_one_goal_share_a_field(*, share_fields: bool) -> None:
    grid = winding(97)
    stage = Stage(grid.copy())
    starts = [(x, 0) for x in range(60)]
    batch(stage, starts, (96, 96), share_fields=share_fields)
    reply = only(stage.finish())
    check_against_search(reply, grid, starts, [(96, 96)] * 60)
    assert (reply.used == (Used.FIELD if share_fields else Used.SEARCH)).sum() >= 50


def test_few_short_ways_to_one_goal_do_not() -> None:
    grid = Grid.filled(512, 512)
    stage = Stage(grid.copy())
    starts = [(x, 0) for x in range(20)]
    batch(stage, starts, (3, 3))
    reply = only(stage.finish())
    check_against_search(reply, grid, starts, [(3, 3)] * 20)
    assert set(reply.used) == {Used.SEARCH}


def test_at_the_deadline_what_is_done_is_told() -> None:
    stage = Stage(winding(97), slice_seconds=20e-6)
    batch(stage, [(0, 0), (0, 0), (1, 0)], [(2, 0), (96, 96), (96, 92)], deadline_ms=5.0)
    for _ in range(3):
        assert stage.work()
    stage.now += 0.006
    reply = only(stage.finish())
    assert reply.outcome == Outcome.DEADLINE
    assert reply.status.tolist() == [Outcome.FOUND, Outcome.DEADLINE, Outcome.DEADLINE]
    assert reply.offsets.tolist() == [0, 3, 3, 3]
    assert not stage.work()
    statistics = stage.scheduler.statistics()
    assert (statistics["search_scratch_bytes"], statistics["waiting"]) == (0, 0)
    assert stage.world.replicas.pin().pins == 1


@pytest.mark.parametrize("n_units", range(5))
def test_cancel_while_units_are_at_work(n_units: int) -> None:
    stage = Stage(winding(97), slice_seconds=20e-6)
    starts = [(x, 0) for x in range(40)]
    batch(stage, starts, [(96, 96)] * 20 + [(95, 96 - 4 * y) for y in range(20)])
    for _ in range(n_units):
        assert stage.work()
    units = [stage.scheduler.take_work(stage.now) for _ in range(3)]
    assert stage.scheduler.cancel("me", 1, stage.now)
    reply = only(stage.replies())
    assert reply.outcome == Outcome.CANCELLED
    for unit in units:
        if unit is not None:
            unit.run()
            stage.scheduler.complete(unit, stage.now)
    assert stage.finish() == []
    statistics = stage.scheduler.statistics()
    assert (statistics["search_scratch_bytes"], statistics["pending_rows"]) == (0, 0)
    assert stage.world.replicas.pin().pins == 1
