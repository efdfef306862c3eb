from __future__ import annotations

import pytest

from navserver.search.grid import Grid
from navserver.service.path_queue import Lane
from navserver.service.path_tickets import TRIAL_EXPANSIONS, is_cut_short
from navserver.service.requests import Outcome, SearchOptions, Used
from navserver.status import Detail
from tests.service.driving import Stage, winding

FAR = (96, 96)


@pytest.mark.parametrize(
    ("detail", "expanded", "most", "expected"),
    [
        (Detail.NONE, TRIAL_EXPANSIONS, None, False),
        (Detail.EXPANSION_LIMIT, TRIAL_EXPANSIONS, None, True),
        (Detail.EXPANSION_LIMIT, TRIAL_EXPANSIONS, TRIAL_EXPANSIONS, False),
        (Detail.EXPANSION_LIMIT, TRIAL_EXPANSIONS, TRIAL_EXPANSIONS + 1, True),
        (Detail.EXPANSION_LIMIT | Detail.GOAL_BLOCKED, 5, 5, False),
        (Detail.COST_LIMIT, 5, None, False),
    ],
)
def test_which_first_tries_are_not_the_answer(
    detail: Detail, expanded: int, most: int | None, *, expected: bool
) -> None:
    options = SearchOptions(max_expansions=most)
    assert is_cut_short(int(detail), expanded, options) == expected


def test_requests_of_equal_options_are_tried_together() -> None:
    stage = Stage(Grid.filled(64, 64))
    for _ in range(30):  # the client is known for short searches
        stage.ask((0, 0), (1, 1))
        stage.finish()
    for x in range(1, 9):
        stage.ask((0, 0), (x, 0))
    stage.ask((0, 0), (1, 1), options=SearchOptions(weight=2.0))
    stage.ask((0, 0), (2, 0))  # the same as one before
    assert stage.work()
    assert [reply.used for reply in stage.replies()].count(Used.SEARCH) == 8
    assert stage.work()
    assert not stage.work()
    assert len(stage.replies()) == 1


def test_the_last_one_who_waits_decides_whether_a_search_goes_on() -> None:
    stage = Stage(winding(97), slice_seconds=20e-6)
    first = stage.ask((0, 0), FAR, "a")
    second = stage.ask((0, 0), FAR, "b")
    assert stage.work()
    assert stage.work()
    assert stage.scheduler.cancel("a", first, stage.now)
    [reply] = stage.replies()
    assert (reply.client, reply.outcome) == ("a", Outcome.CANCELLED)
    [reply] = stage.finish()
    assert (reply.request_id, reply.outcome) == (second, Outcome.FOUND)


def test_a_follower_is_served_in_its_own_clients_turn() -> None:
    stage = Stage(winding(97), slice_seconds=20e-6)
    # The flood owes much work before the honest client asks for the path that it waits for too.
    for y in range(0, 40, 4):
        stage.ask((0, 0), (96, 96 - y), "flood")
    for _ in range(60):
        assert stage.work()
    stage.ask((0, 0), (96, 56), "honest")
    stage.replies()
    for _ in range(4):
        unit = stage.scheduler.take_work(stage.now)
        assert unit is not None
        assert unit.client == "honest"
        unit.run()
        stage.scheduler.complete(unit, stage.now)


def test_islands_tell_what_no_search_has_to_find_out() -> None:
    grid = winding(97)
    grid.set_cell((96, 1), 255)
    for islands, used in ((True, Used.ISLANDS), (False, Used.SEARCH)):
        stage = Stage(grid.copy())
        # The search from the far end would see thousands of cells.
        stage.ask(FAR, (0, 0), options=SearchOptions(islands=islands))
        [reply] = stage.finish()
        assert (reply.outcome, reply.used) == (Outcome.UNREACHABLE, used)


def test_a_trace_waits_for_scratch_of_its_own() -> None:
    stage = Stage(Grid.filled(8, 8))
    stage.ask((0, 0), (7, 7), trace_capacity=5)
    stage.ask((0, 0), (7, 7), trace_capacity=5)
    assert not stage.work(Lane.SHORT)
    replies = stage.finish()
    assert [reply.used for reply in replies] == [Used.SEARCH, Used.SEARCH]


def test_cells_of_one_request_change_its_path_alone() -> None:
    stage = Stage(Grid.filled(3, 3))
    plain = stage.ask((0, 0), (2, 0))
    walled = stage.ask((0, 0), (2, 0), blocked_cells=[(1, 0), (1, 1)])
    stage.world.set_cells([(1, 0), (1, 1), (1, 2)], 255)
    opened = stage.ask((0, 0), (2, 0), ignored_cells=[(1, 2)], blocked_cells=[])
    outside = stage.ask((0, 0), (2, 0), ignored_cells=[(9, 9)])
    replies = {reply.request_id: reply for reply in stage.finish()}
    assert replies[plain].outcome == Outcome.UNREACHABLE
    assert replies[walled].outcome == Outcome.UNREACHABLE
    assert [1, 2] in replies[opened].result.cells.tolist()
    assert replies[outside].outcome == Outcome.FAILED
    assert "ignored_cells" in str(replies[outside].error)
    assert len(stage.world.cache) == 0
