from __future__ import annotations

import io
import sys
import threading
import time

import pytest

from navserver.search.grid import Grid
from navserver.service.requests import PathRequest
from navserver.service.scheduler import Scheduler
from navserver.service.work import WorkUnit
from navserver.service.worlds import Worlds
from navserver.sidecar.logbook import Logbook
from navserver.sidecar.workers import Workers, default_workers


def test_work_is_done_and_defects_do_not_end_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    worlds = Worlds()
    worlds.add("w", Grid.filled(8, 8))
    answered = threading.Event()
    scheduler = Scheduler(worlds, on_reply=answered.set)
    log = io.StringIO()
    workers = Workers(scheduler, time.monotonic, Logbook(log))
    workers.start(1)
    with monkeypatch.context() as broken:

        def fail(_: WorkUnit) -> None:
            raise ZeroDivisionError("a defect")

        broken.setattr(WorkUnit, "run", fail)
        scheduler.submit(PathRequest("me", 1, "w", start=(0, 0), goal=(7, 7)), time.monotonic())
        assert answered.wait(600)
        (reply,) = scheduler.take_replies()
        assert reply.outcome.word == "failed"
    answered.clear()
    scheduler.submit(PathRequest("me", 2, "w", start=(0, 0), goal=(7, 7)), time.monotonic())
    assert answered.wait(600)
    (reply,) = scheduler.take_replies()
    assert reply.outcome.word == "found"
    assert "ZeroDivisionError" in log.getvalue()
    workers.stop(30)
    assert not any(thread.is_alive() for thread in workers._threads)


def test_short_work_is_left_alone_until_help_is_asked_for() -> None:
    worlds = Worlds()
    worlds.add("w", Grid.filled(8, 8))
    answered = threading.Event()
    scheduler = Scheduler(worlds, on_reply=answered.set)
    workers = Workers(scheduler, time.monotonic, Logbook(io.StringIO()))
    workers.leave_short_work()
    workers.start(1)
    scheduler.submit(PathRequest("me", 1, "w", start=(0, 0), goal=(7, 7)), time.monotonic())
    assert not answered.wait(0.2)
    workers.help()
    assert answered.wait(600)
    workers.stop(30)


@pytest.mark.parametrize(("cores", "workers"), [(None, 1), (1, 1), (2, 1), (3, 1), (8, 6)])
def test_two_cores_are_left_to_the_game(
    cores: int | None, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert default_workers() == workers


def test_threads_that_wait_end_when_they_are_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("navserver.sidecar.workers._LOOK_AGAIN", 600.0)
    workers = Workers(Scheduler(Worlds()), time.monotonic, Logbook(io.StringIO()))
    workers.start(2)
    # Whoever has not begun to wait yet sees that it is over.
    while any("wait" not in _frames_of(thread) for thread in workers._threads):
        time.sleep(0.01)
    workers.stop(30)
    assert not any(thread.is_alive() for thread in workers._threads)


def _frames_of(thread: threading.Thread) -> set[str]:
    """Names of the functions that a thread is in."""
    names = set()
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None:
        names.add(frame.f_code.co_name)
        frame = frame.f_back
    return names
