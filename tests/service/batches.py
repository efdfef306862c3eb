"""Asks for batches of a stage, and compares replies with what searches find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from navserver.search.batch import find_paths
from navserver.search.grid import Grid
from navserver.service.requests import BatchReply, BatchRequest, Outcome, Used
from tests.service.driving import Stage


def batch(stage: Stage, starts: Any, goals: Any, number: int = 1, **options: Any) -> None:
    request = BatchRequest("me", number, "map", starts=starts, goals=goals, **options)
    stage.scheduler.submit(request, stage.now)


def only(replies: list[Any]) -> BatchReply:
    [reply] = replies
    assert isinstance(reply, BatchReply)
    return reply


def check_against_search(reply: BatchReply, grid: Grid, starts: Any, goals: Any, **o: Any) -> None:
    expected = find_paths(grid, starts, goals, threads=1, **o)
    assert reply.outcome == Outcome.DONE
    assert reply.status.tolist() == expected.status.tolist()
    assert reply.detail.tolist() == expected.detail.tolist()
    assert reply.cost == pytest.approx(expected.cost, rel=1e-9)
    for i in range(len(starts)):
        path = reply.path(i)
        if reply.used[i] != Used.FIELD:
            assert path.tolist() == expected.path(i).tolist()
            assert reply.cost[i] == expected.cost[i]
        elif len(path):
            assert path[[0, -1]].tolist() == [list(starts[i]), list(goals[i])]
            steps = np.abs(np.diff(path, axis=0)).max(axis=1, initial=0)
            assert set(steps.tolist()) <= {1}
            assert len(path) - 1 <= reply.length[i] <= (len(path) - 1) * 2**0.5 + 1e-9
