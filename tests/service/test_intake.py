from __future__ import annotations

import pytest

from navserver.search.grid import Grid
from navserver.service.path_queue import Lane
from navserver.service.requests import Outcome, PathRequest, SearchOptions, Used
from navserver.status import CellError, InputError
from tests.service.driving import Stage, winding

LONG = 97  # a winding map of this side takes more than one first try


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
