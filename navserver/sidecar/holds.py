"""Calls that wait while something is done to their world in another thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from navserver.sidecar.office import Call

__all__ = ["Holds"]


class _Hold:
    """What is being done to one world, and what waits for it."""

    def __init__(self) -> None:
        self.depth = 0
        """How many things are being done."""
        self.closed = 0
        """How many of them let nothing through."""
        self.calls: deque[Call] = deque()
        self.actions: list[Callable[[], None]] = []

    def takes(self, call: Call) -> bool:
        """Return whether a call has to wait."""
        if self.closed or call.request.message.waits_for_steps:
            return True
        # Requests of a session take effect in the order in which they were sent.
        return any(waiting.session is call.session for waiting in self.calls)


class Holds:
    """The worlds that something is being done to.

    Changes and whatever concerns movers always wait. Questions may be let through, such as while
    movers step: a session's question then waits only behind calls of its own.
    """

    def __init__(self) -> None:
        self._holds: dict[str, _Hold] = {}

    def __contains__(self, world: object) -> bool:
        """Return whether something is being done to a world."""
        return world in self._holds

    def begin(self, world: str, *, lets_questions: bool = False) -> None:
        """Hold the calls of a world from now on.

        Parameters
        ----------
        world : str
            Its name.
        lets_questions : bool
            Whether questions are let through.
        """
        hold = self._holds.setdefault(world, _Hold())
        hold.depth += 1
        hold.closed += not lets_questions

    def takes(self, call: Call) -> bool:
        """Keep a call that has to wait.

        Parameters
        ----------
        call : Call
            What is asked.

        Returns
        -------
        bool
            Whether it waits.
        """
        hold = self._holds.get(call.world or "") if self._holds else None
        if hold is None or not hold.takes(call):
            return False
        hold.calls.append(call)
        return True

    def end(self, world: str, *, lets_questions: bool = False) -> deque[Call]:
        """Take note that something has been done.

        Parameters
        ----------
        world : str
            As `begin` was told.
        lets_questions : bool
            Likewise.

        Returns
        -------
        deque of Call
            What has waited, to be carried out in this order; some of it may have to wait again.
        """
        hold = self._holds[world]
        hold.depth -= 1
        hold.closed -= not lets_questions
        calls, hold.calls = hold.calls, deque()
        if not hold.depth:
            del self._holds[world]
            for action in hold.actions:
                action()
        return calls

    def when_free(self, world: str, action: Callable[[], None]) -> None:
        """Do something once nothing is being done to a world.

        Parameters
        ----------
        world : str
            Its name.
        action : callable
            Called at once if it is free.
        """
        hold = self._holds.get(world)
        if hold is None:
            action()
        else:
            hold.actions.append(action)
