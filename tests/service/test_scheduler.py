from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from navserver.search.astar import find_path
from navserver.search.grid import Grid
from navserver.service.path_queue import Lane
from navserver.service.path_tickets import TRIAL_EXPANSIONS
from navserver.service.requests import Outcome, PathRequest, QueryRequest, SearchOptions, Used
from navserver.service.work import SliceUnit
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


def test_equal_requests_share_one_search() -> None:
    stage = Stage(winding(LONG))
    for client in ("a", "b", "c"):
        stage.ask((0, 0), (LONG - 1, LONG - 1), client)
    replies = stage.finish()
    assert [reply.used for reply in replies] == [Used.SEARCH, Used.COALESCED, Used.COALESCED]
    assert len({id(reply.result) for reply in replies}) == 1


def test_a_search_that_saw_an_older_map_is_not_shared() -> None:
    stage = Stage(winding(LONG), slice_seconds=20e-6)
    stage.ask((0, 0), (LONG - 1, LONG - 1))
    assert stage.work()
    assert stage.work(Lane.BEGIN | Lane.GO_ON)  # it has begun on version 1
    assert stage.replies() == []
    stage.world.set_cells([(2, 0)], 255)
    stage.ask((0, 0), (LONG - 1, LONG - 1))
    # The newer one is short: it is answered first.
    second, first = stage.finish()
    assert (first.map_version, first.outcome) == (1, Outcome.FOUND)
    assert (second.map_version, second.outcome) == (2, Outcome.UNREACHABLE)


def test_the_newest_request_of_an_agent_wins() -> None:
    stage = Stage(Grid.filled(8, 8))
    old = stage.ask((0, 0), (7, 7), agent=5)
    other = stage.ask((0, 0), (7, 7), agent=6)
    new = stage.ask((0, 0), (3, 3), agent=5)
    stranger = stage.ask((1, 0), (3, 3), "another", agent=5)
    outcomes = {reply.request_id: reply.outcome for reply in stage.finish()}
    assert outcomes == {
        old: Outcome.SUPERSEDED,
        other: Outcome.FOUND,
        new: Outcome.FOUND,
        stranger: Outcome.FOUND,
    }


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


def test_nobody_else_is_given_what_a_deadline_cut_short() -> None:
    stage = Stage(winding(LONG), slice_seconds=20e-6)
    options = SearchOptions(allow_partial=True)
    stage.ask((0, 0), (LONG - 1, LONG - 1), deadline_ms=5.0, options=options)
    assert stage.work()
    assert stage.work()
    stage.now += 0.006
    stage.scheduler.expire(stage.now)  # from now on it is about to end
    stage.ask((0, 0), (LONG - 1, LONG - 1), "late", options=options)
    outcomes = {reply.client: reply.outcome for reply in stage.finish()}
    assert outcomes == {"me": Outcome.PARTIAL, "late": Outcome.FOUND}
    stage.ask((0, 0), (LONG - 1, LONG - 1), options=options)
    [reply] = stage.finish()
    assert (reply.outcome, reply.used) == (Outcome.FOUND, Used.CACHE)


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


def test_a_full_queue_answers_overloaded() -> None:
    stage = Stage(Grid.filled(8, 8), max_rows=3, max_rows_a_client=2)
    for _ in range(3):
        stage.ask((0, 0), (7, 7))
    for goal in (6, 5):
        stage.ask((0, 0), (goal, 7), "other")
    outcomes = [(reply.client, reply.outcome) for reply in stage.finish()]
    assert outcomes.count(("me", Outcome.OVERLOADED)) == 1
    assert outcomes.count(("other", Outcome.OVERLOADED)) == 1
    assert outcomes.count(("me", Outcome.FOUND)) == 2
    stage.ask((0, 0), (7, 7))
    assert [reply.outcome for reply in stage.finish()] == [Outcome.FOUND]


def test_a_removed_world_answers_what_waited_for_it() -> None:
    stage = Stage(Grid.filled(8, 8))
    stage.ask((0, 0), (7, 7))
    world = stage.worlds.remove("map")
    assert stage.scheduler.drop_world(world, stage.now) == 1
    assert [reply.outcome for reply in stage.finish()] == [Outcome.WORLD_REMOVED]
    with pytest.raises(InputError, match="does not exist"):
        stage.ask((0, 0), (7, 7))


def test_requests_that_cannot_be_right_are_refused_at_once() -> None:
    stage = Stage(Grid.filled(8, 8))
    with pytest.raises(CellError, match="goal"):
        stage.ask((0, 0), (8, 0))
    with pytest.raises(InputError, match="priority"):
        stage.ask((0, 0), (7, 0), priority=1000)
    with pytest.raises(InputError, match="deadline_ms"):
        stage.ask((0, 0), (7, 0), deadline_ms=float("nan"))
    stage.scheduler.submit(PathRequest("me", 9, "map", goal=(1, 1)), stage.now)
    with pytest.raises(InputError, match="request_id"):
        stage.scheduler.submit(PathRequest("me", 9, "map", goal=(1, 1)), stage.now)
    assert len(stage.finish()) == 1


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


def test_a_worker_is_woken_by_work_of_its_lanes_only() -> None:
    stage = Stage(Grid.filled(8, 8))
    assert not stage.scheduler.wait_for_work(Lane.ALL, 0.0)
    stage.ask((0, 0), (7, 7))
    assert stage.scheduler.wait_for_work(Lane.SHORT)
    assert not stage.scheduler.wait_for_work(Lane.WHOLE, 0.0)


def test_scratch_that_comes_back_wakes_a_worker() -> None:
    stage = Stage(winding(LONG), max_scratch=1)  # one long search at a time
    for x in (1, 2):
        stage.ask((0, 0), (LONG - x, LONG - 1))
    assert stage.work(Lane.SHORT)
    unit = stage.scheduler.take_work(stage.now, Lane.SLICED)
    while unit is not None and not isinstance(unit, SliceUnit):
        unit.run()
        stage.scheduler.complete(unit, stage.now)
        unit = stage.scheduler.take_work(stage.now, Lane.SLICED)
    assert unit is not None
    assert not stage.scheduler.wait_for_work(Lane.BEGIN, 0.0)
    woken = threading.Event()

    def wait() -> None:
        if stage.scheduler.wait_for_work(Lane.BEGIN):
            woken.set()

    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    while not stage.scheduler._waiters:
        time.sleep(1e-3)
    unit.run()
    stage.scheduler.complete(unit, stage.now)
    assert woken.wait(60)
    assert len(stage.finish()) == 2


def test_statistics_count_what_happened() -> None:
    stage = Stage(Grid.filled(8, 8))
    stage.ask((0, 0), (7, 7))
    assert stage.scheduler.statistics()["waiting"] == 1
    stage.finish()
    summary = stage.scheduler.statistics()
    assert summary["requests"]["path"]["outcomes"] == {"found": 1}
    assert (summary["waiting"], summary["pending_rows"], summary["at_work"]) == (0, 0, 0)
    assert summary["worlds"]["map"]["memory_bytes"]["total"] > 64


def test_scratch_of_long_searches_is_bounded_and_comes_back() -> None:
    grid = winding(LONG)
    bytes_each = 16 * grid.size
    stage = Stage(grid, max_scratch=2 * bytes_each, slice_seconds=20e-6)
    for x in range(1, 6):
        stage.ask((0, 0), (LONG - x, LONG - 1), priority=x)
    most = 0
    while stage.work():
        most = max(most, stage.scheduler.statistics()["search_scratch_bytes"])
    assert 0 < most <= 2 * bytes_each
    assert stage.scheduler.statistics()["search_scratch_bytes"] == 0
    assert len(stage.replies()) == 5


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


def test_deadlines_of_what_was_answered_do_not_pile_up() -> None:
    stage = Stage(Grid.filled(8, 8))
    for _ in range(50):
        for _ in range(100):
            stage.ask((0, 0), (7, 7), deadline_ms=3.6e6)
        assert len(stage.finish()) == 100
    assert len(stage.scheduler._deadlines) <= 2048
    stage.ask((0, 0), (7, 7), deadline_ms=5.0)
    assert stage.scheduler.next_deadline() == pytest.approx(stage.now + 0.005)
