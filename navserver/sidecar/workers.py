"""The threads that search."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial

from navserver.service.path_queue import Lane
from navserver.service.scheduler import Scheduler
from navserver.service.work import WorkUnit
from navserver.sidecar.logbook import Logbook
from navserver.sidecar.promptness import step_back

__all__ = ["Workers", "default_workers"]

# Long enough to cost nothing, short enough to end in.
_LOOK_AGAIN = 1.0


def default_workers() -> int:
    """Return how many threads search or step movers if nobody says: two cores stay the game's."""
    return max(1, (os.cpu_count() or 1) - 2)


class Workers:
    """Threads that take work from a scheduler until they are stopped.

    Short work is done by the thread that owns the sockets: to wake another one would take longer
    than the work. Only where it cannot keep up, or must not be held up by the compiler, threads
    that sleep otherwise take short work as well.

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
        self._is_short_ours = True
        self._help = threading.Event()

    def start(self, count: int) -> None:
        """Start the threads.

        Parameters
        ----------
        count : int
            How many for long searches, and as many that help with short ones; one more takes
            what cannot be sliced.
        """
        long = Lane.BEGIN | Lane.GO_ON
        works: list[Callable[[], None]] = [partial(self._work, long)] * count
        works += [partial(self._work, Lane.WHOLE), *[self._work_short] * count]
        for i, work in enumerate(works):
            thread = threading.Thread(target=work, name=f"navserver-worker-{i}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def leave_short_work(self) -> None:
        """Leave short work to the caller from now on, but for what `help` is asked for."""
        self._is_short_ours = False

    def help(self) -> None:
        """Take short work until there is none."""
        self._help.set()

    def do(self, unit: WorkUnit) -> None:
        """Do one unit of work and hand in what has come of it; in any thread.

        Parameters
        ----------
        unit : WorkUnit
            What the scheduler has given.
        """
        try:
            unit.run()
        except Exception as error:  # noqa: BLE001 - one defect must not end the thread
            self._logbook.defect("work_failed", error)
            self._scheduler.fail(unit, error, self._clock())
        else:
            self._scheduler.complete(unit, self._clock())

    def stop(self, timeout: float) -> None:
        """Let the threads end.

        Parameters
        ----------
        timeout : float
            Seconds to wait for them at most, in all.
        """
        self._is_stopping = True
        self._help.set()
        self._scheduler.wake()
        end = self._clock() + timeout
        for thread in self._threads:
            thread.join(max(end - self._clock(), 0.0))

    def _work(self, lanes: Lane) -> None:
        step_back()
        while not self._is_stopping:
            if self._scheduler.wait_for_work(lanes, _LOOK_AGAIN):
                self._work_once(lanes)

    def _work_short(self) -> None:
        step_back()
        while not self._is_stopping:
            if self._is_short_ours:
                self._scheduler.wait_for_work(Lane.SHORT, _LOOK_AGAIN)
            else:
                self._help.wait(_LOOK_AGAIN)
                self._help.clear()
            while self._work_once(Lane.SHORT) and not self._is_stopping:
                pass

    def _work_once(self, lanes: Lane) -> bool:
        """Do one unit; False if there is none."""
        unit = self._scheduler.take_work(self._clock(), lanes)
        if unit is None:
            return False
        self.do(unit)
        return True
