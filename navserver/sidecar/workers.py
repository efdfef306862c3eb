"""The threads that search."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress

from navserver.service.path_queue import Lane
from navserver.service.scheduler import Scheduler
from navserver.sidecar.logbook import Logbook

__all__ = ["Workers", "default_workers"]

# Long enough to cost nothing, short enough to end in.
_LOOK_AGAIN = 1.0
# A game and its editor on the same machine come first.
_NICE = 5


def default_workers() -> int:
    """Return how many threads search if nobody says: two cores are left to the game."""
    return max(1, (os.cpu_count() or 1) - 2)


class Workers:
    """Threads that take work from a scheduler until they are stopped.

    Parameters
    ----------
    scheduler : Scheduler
        Whose work.
    clock : callable
        Seconds of the clock that the scheduler is told.
    logbook : Logbook
        Where defects are noted.
    """

    def __init__(self, scheduler: Scheduler, clock: Callable[[], float], logbook: Logbook) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._logbook = logbook
        self._threads: list[threading.Thread] = []
        self._is_stopping = False

    def start(self, count: int) -> None:
        """Start the threads.

        Parameters
        ----------
        count : int
            How many for searches in slices; one more takes what cannot be sliced.
        """
        lanes = [Lane.SLICED] * count + [Lane.WHOLE]
        for i, lane in enumerate(lanes):
            thread = threading.Thread(
                target=self._work, args=(lane,), name=f"navserver-worker-{i}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def stop(self, timeout: float) -> None:
        """Let the threads end.

        Parameters
        ----------
        timeout : float
            Seconds to wait for them at most, in all.
        """
        self._is_stopping = True
        end = self._clock() + timeout
        for thread in self._threads:
            thread.join(max(end - self._clock(), 0.0))

    def _work(self, lanes: Lane) -> None:
        _step_back()
        while not self._is_stopping:
            if self._scheduler.wait_for_work(lanes, _LOOK_AGAIN):
                self._work_once(lanes)

    def _work_once(self, lanes: Lane) -> None:
        unit = self._scheduler.take_work(self._clock(), lanes)
        if unit is None:
            return
        try:
            unit.run()
        except Exception as error:  # noqa: BLE001 - one defect must not end the thread
            self._logbook.note("error", "work_failed", error=repr(error))
            self._scheduler.fail(unit, error, self._clock())
        else:
            self._scheduler.complete(unit, self._clock())


def _step_back() -> None:
    """Lower the priority of the calling thread, where threads have their own."""
    if hasattr(os, "setpriority"):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
