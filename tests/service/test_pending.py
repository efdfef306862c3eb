from __future__ import annotations

import math

import pytest

from navserver.search.grid import Grid
from navserver.service.path_tickets import Job, PathTicket
from navserver.service.requests import PathRequest, SearchOptions
from navserver.service.world import World


def ticket(deadline_ms: float | None) -> PathTicket:
    job = Job(World("map", Grid.filled(2, 2)), SearchOptions(), (0, 0), (1, 1))
    request = PathRequest("me", 1, "map", priority=3, deadline_ms=deadline_ms, goal=(1, 1))
    return PathTicket(request, job, 8, now=50.0)


def test_a_deadline_counts_from_the_submission() -> None:
    assert ticket(None).deadline == math.inf
    assert ticket(250.0).deadline == 50.25
    assert ticket(0.0).deadline == 50.0
    assert (ticket(None).priority, ticket(None).order) == (3, 8)


@pytest.mark.parametrize(
    ("now", "searching", "timing"),
    [(51.0, 0.25, (0.75, 0.25)), (51.0, 9.0, (0.0, 1.0)), (49.0, 0.1, (0.0, 0.0))],
)
def test_waiting_is_what_is_left_and_never_negative(
    now: float, searching: float, timing: tuple[float, float]
) -> None:
    assert ticket(None).timing(now, searching) == pytest.approx(timing)
