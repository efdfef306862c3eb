from __future__ import annotations

from typing import Any

import pytest

from navserver.search.grid import Grid
from navserver.service.path_queue import Lane
from navserver.service.requests import Outcome, QueryRequest
from tests.service.driving import Stage


def ask(stage: Stage, number: int, question: str, **arguments: Any) -> None:
    request = QueryRequest(
        "me", number, "map", deadline_ms=5.0, question=question, arguments=arguments
    )
    stage.scheduler.submit(request, stage.now)


def test_short_questions_wait_with_short_searches() -> None:
    stage = Stage(Grid.filled(8, 8))
    ask(stage, 1, "line_of_sight", start=(0, 0), goal=(7, 7))
    ask(stage, 2, "connected", start=(0, 0), goal=(7, 7))
    assert stage.work(Lane.SHORT, seconds=1e-3)
    assert not stage.work(Lane.SLICED)
    [reply] = stage.replies()
    assert (reply.request_id, reply.result) == (1, True)
    assert reply.timing.searching == pytest.approx(1e-3)
    assert stage.work(Lane.WHOLE)
    [reply] = stage.replies()
    assert (reply.request_id, reply.result) == (2, True)


def test_a_question_at_work_is_answered_at_its_deadline_and_only_then() -> None:
    stage = Stage(Grid.filled(8, 8))
    ask(stage, 1, "reachable", start=(0, 0), budget=9.0)
    unit = stage.scheduler.take_work(stage.now)
    assert unit is not None
    stage.now += 0.006
    stage.scheduler.expire(stage.now)
    assert [reply.outcome for reply in stage.replies()] == [Outcome.DEADLINE]
    assert unit.cancel.is_set
    unit.run()
    stage.scheduler.complete(unit, stage.now)
    assert stage.replies() == []
    # The map is free again.
    replica = stage.world.replicas.pin()
    assert replica.pins == 1


def test_a_question_never_begun_is_answered_at_its_deadline() -> None:
    stage = Stage(Grid.filled(8, 8))
    ask(stage, 1, "connected", start=(0, 0), goal=(7, 7))
    stage.now += 0.006
    [reply] = stage.finish()
    assert (reply.outcome, reply.map_version) == (Outcome.DEADLINE, 0)
