"""Threads for what would hold the sockets up, and the way back to the thread that owns them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from navserver.sidecar.promptness import step_back

if TYPE_CHECKING:
    from navserver.sidecar.office import Call

__all__ = ["Aside", "Event"]

_THREADS = 2

T = TypeVar("T")

Event = Callable[[], "Iterable[Call]"]
"""What is left to be done in the thread that owns the sockets; returns the calls that waited for
it, to be carried out in this order."""


class Aside:
    """A few threads, and the events that they leave to the thread that owns the sockets.

    Parameters
    ----------
    wake : callable
        Called from any thread when an event has come.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        # Movers of a large crowd step here: a game's thread must not wait until they have.
        self._threads = ThreadPoolExecutor(
            _THREADS, thread_name_prefix="navserver-aside", initializer=step_back
        )
        self._events: SimpleQueue[Event] = SimpleQueue()

    @property
    def has_events(self) -> bool:
        """Whether there is anything to be taken."""
        return not self._events.empty()

    def do(self, work: Callable[[], T], then: Callable[[Future[T]], Iterable[Call]]) -> None:
        """Do something in another thread.

        Parameters
        ----------
        work : callable
            What to do.
        then : callable
            Takes the outcome, in the thread that owns the sockets, and returns what has waited
            for it.
        """
        self._threads.submit(work).add_done_callback(
            lambda outcome: self.leave(lambda: then(outcome))
        )

    def leave(self, event: Event) -> None:
        """Leave something to the thread that owns the sockets; from any thread.

        Parameters
        ----------
        event : callable
            What is left to be done.
        """
        self._events.put(event)
        self._wake()

    def take(self) -> list[Call] | None:
        """Do what has been left, in the thread that owns the sockets.

        Returns
        -------
        list of Call or None
            What has waited for it, to be carried out in this order; None if nothing was left.
        """
        if self._events.empty():
            return None
        held: list[Call] = []
        while True:
            try:
                event = self._events.get_nowait()
            except Empty:
                return held
            held += event()

    def close(self) -> None:
        """Let the threads end after what they do now."""
        self._threads.shutdown(wait=False, cancel_futures=True)
