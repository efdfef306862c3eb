from __future__ import annotations

import numpy as np
import pytest

from navserver.search.astar import find_path
from navserver.search.grid import Grid
from navserver.service.path_tickets import TRIAL_EXPANSIONS
from navserver.service.requests import Outcome, QueryRequest, SearchOptions, Used
from navserver.status import CellError, InputError
from tests.service.driving import Stage, winding

LONG = 97  # a winding map of this side takes more than one first try


def test_a_path_is_what_a_search_finds() -> None:
    grid = winding(17)
    stage = Stage(grid.copy())
    stage.ask((0, 0), (16, 16))
    [reply] = stage.finish()
    expected = find_path(grid, (0, 0), (16, 16))
    assert reply.outcome == Outcome.FOUND
    assert reply.map_version == 1
    assert reply.used == Used.SEARCH
    assert reply.result.cost == expected.cost
    assert reply.result.cells.tolist() == expected.cells.tolist()
    assert reply.result.metrics == expected.metrics


def test_a_long_search_goes_on_in_slices_and_ends_as_one_at_once() -> None:
    grid = winding(LONG)
    stage = Stage(grid.copy())
    stage.ask((0, 0), (LONG - 1, LONG - 1))
    units = 0
    while stage.work(seconds=1e-3):
        units += 1
    [reply] = stage.replies()
    expected = find_path(grid, (0, 0), (LONG - 1, LONG - 1))
    assert expected.metrics.expanded > TRIAL_EXPANSIONS
    assert units >= 2
    assert reply.result.cells.tolist() == expected.cells.tolist()
    assert reply.result.metrics == expected.metrics
    assert reply.timing.searching == pytest.approx(units * 1e-3)


@pytest.mark.parametrize("allow_partial", [False, True])
def test_limits_that_were_asked_for_hold_on_both_sides_of_the_first_try(
    *, allow_partial: bool
) -> None:
    grid = winding(LONG)
    for most in (10, TRIAL_EXPANSIONS, TRIAL_EXPANSIONS + 1):
        stage = Stage(grid.copy())
        options = SearchOptions(max_expansions=most, allow_partial=allow_partial)
        stage.ask((0, 0), (LONG - 1, LONG - 1), options=options)
        [reply] = stage.finish()
        expected = find_path(
            grid, (0, 0), (LONG - 1, LONG - 1), max_expansions=most, allow_partial=allow_partial
        )
        assert reply.result.status == expected.status
        assert reply.result.metrics.expanded == most
        assert reply.result.cells.tolist() == expected.cells.tolist()


@pytest.mark.parametrize("units", [0, 1, 2])
def test_a_deadline_ends_a_request_wherever_it_is(units: int) -> None:
    stage = Stage(winding(LONG), slice_seconds=20e-6)
    number = stage.ask((0, 0), (LONG - 1, LONG - 1), deadline_ms=5.0)
    for _ in range(units):
        assert stage.work()
    assert stage.scheduler.next_deadline() == pytest.approx(stage.now + 0.005)
    stage.now += 0.006
    stage.scheduler.expire(stage.now)
    [reply] = stage.replies()
    assert (reply.request_id, reply.outcome) == (number, Outcome.DEADLINE)
    assert not stage.work()
    assert stage.world.replicas.pin().pins == 1  # nothing holds the map any more


def test_a_deadline_yields_the_partial_path_of_a_search_that_has_begun() -> None:
    stage = Stage(winding(LONG), slice_seconds=20e-6)
    options = SearchOptions(allow_partial=True)
    stage.ask((0, 0), (LONG - 1, LONG - 1), deadline_ms=5.0, options=options)
    assert stage.work()
    assert stage.work()
    stage.ask((0, 0), (1, 0), "other")
    stage.now += 0.006
    assert stage.work()
    [reply] = stage.replies()
    assert reply.outcome == Outcome.PARTIAL
    assert reply.result.cells[0].tolist() == [0, 0]


def test_cancel_answers_once_and_stops_the_search() -> None:
    stage = Stage(winding(LONG))
    number = stage.ask((0, 0), (LONG - 1, LONG - 1))
    unit = stage.scheduler.take_work(stage.now)
    assert unit is not None
    unit.run()
    stage.scheduler.complete(unit, stage.now)
    unit = stage.scheduler.take_work(stage.now)
    assert unit is not None
    assert stage.scheduler.cancel("me", number, stage.now)
    assert not stage.scheduler.cancel("me", number, stage.now)
    assert unit.cancel.is_set
    unit.run()
    stage.scheduler.complete(unit, stage.now)
    assert [reply.outcome for reply in stage.finish()] == [Outcome.CANCELLED]


def test_a_removed_world_answers_what_waited_for_it() -> None:
    stage = Stage(Grid.filled(8, 8))
    stage.ask((0, 0), (7, 7))
    world = stage.worlds.remove("map")
    assert stage.scheduler.drop_world(world, stage.now) == 1
    assert [reply.outcome for reply in stage.finish()] == [Outcome.WORLD_REMOVED]
    with pytest.raises(InputError, match="does not exist"):
        stage.ask((0, 0), (7, 7))


def test_what_only_the_search_can_refuse_is_answered_with_the_error() -> None:
    stage = Stage(Grid.filled(8, 8))
    from navserver.search.movement import Movement

    options = SearchOptions(movement=Movement(overlays={"fog": 1.0}))
    stage.ask((0, 0), (7, 7), options=options)
    [reply] = stage.finish()
    assert reply.outcome == Outcome.FAILED
    assert "fog" in str(reply.error)


def test_a_trace_shows_the_expansions() -> None:
    grid = winding(17)
    stage = Stage(grid.copy())
    stage.ask((0, 0), (16, 16), trace_capacity=50)
    [reply] = stage.finish()
    assert reply.trace.count == 50
    assert reply.trace.truncated
    assert reply.trace.cells[0].tolist() == [0, 0]


def test_questions_are_answered_with_their_version() -> None:
    stage = Stage(Grid.filled(8, 8))
    stage.world.set_cells([(3, 3)], 255)
    request = QueryRequest("me", 1, "map", question="what_opens", arguments={
        "start": (0, 0), "goal": (3, 3),
    })  # fmt: skip
    stage.scheduler.submit(request, stage.now)
    [reply] = stage.finish()
    assert (reply.outcome, reply.map_version) == (Outcome.DONE, 2)
    assert reply.result.tolist() == [[3, 3]]
    with pytest.raises(InputError, match="question"):
        stage.scheduler.submit(QueryRequest("me", 2, "map", question="meaning"), stage.now)


def test_a_question_that_cannot_be_answered_fails_with_the_error() -> None:
    stage = Stage(Grid.filled(8, 8))
    arguments = {"start": (0, 0), "goal": (80, 3)}
    request = QueryRequest("me", 1, "map", question="connected", arguments=arguments)
    stage.scheduler.submit(request, stage.now)
    [reply] = stage.finish()
    assert reply.outcome == Outcome.FAILED
    assert isinstance(reply.error, CellError)


def test_statistics_count_what_happened() -> None:
    stage = Stage(Grid.filled(8, 8))
    stage.ask((0, 0), (7, 7))
    assert stage.scheduler.statistics()["waiting"] == 1
    stage.finish()
    summary = stage.scheduler.statistics()
    assert summary["requests"]["path"]["outcomes"] == {"found": 1}
    assert (summary["waiting"], summary["pending_rows"], summary["at_work"]) == (0, 0, 0)
    assert summary["worlds"]["map"]["memory_bytes"]["total"] > 64


def test_random_requests_on_random_maps_are_what_searches_find() -> None:
    random = np.random.default_rng(7)
    for _ in range(5):
        grid = Grid(random.choice([0, 0, 0, 1, 255], (20, 30)))
        stage = Stage(grid.copy())
        expected = {}
        for _ in range(40):
            x, goal_x = random.integers(0, 30, 2).tolist()
            y, goal_y = random.integers(0, 20, 2).tolist()
            number = stage.ask((x, y), (goal_x, goal_y), str(random.integers(3)))
            expected[number] = find_path(grid, (x, y), (goal_x, goal_y))
        for reply in stage.finish():
            result = expected.pop(reply.request_id)
            assert reply.result.status == result.status
            assert reply.result.cells.tolist() == result.cells.tolist()
            assert reply.result.cost == result.cost
        assert not expected
