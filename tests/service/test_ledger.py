from __future__ import annotations

import threading
import time

import pytest

from navserver.search.grid import Grid
from navserver.service.path_queue import Lane
from navserver.service.work import SliceUnit
from tests.service.driving import Stage, winding

LONG = 97  # a winding map of this side takes more than one first try


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
    while not stage.scheduler._ledger._waiters:
        time.sleep(1e-3)
    unit.run()
    stage.scheduler.complete(unit, stage.now)
    assert woken.wait(60)
    assert len(stage.finish()) == 2


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


def test_deadlines_of_what_was_answered_do_not_pile_up() -> None:
    stage = Stage(Grid.filled(8, 8))
    for _ in range(50):
        for _ in range(100):
            stage.ask((0, 0), (7, 7), deadline_ms=3.6e6)
        assert len(stage.finish()) == 100
    assert len(stage.scheduler._ledger.deadlines) <= 2048
    stage.ask((0, 0), (7, 7), deadline_ms=5.0)
    assert stage.scheduler.next_deadline() == pytest.approx(stage.now + 0.005)
