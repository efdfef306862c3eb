"""What a request on its way and the scheduler know of each other."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Protocol

from navserver.service.path_queue import Lane
from navserver.service.requests import Outcome, Reply, Request, Timing
from navserver.service.work import WorkUnit
from navserver.service.world import World

__all__ = ["Desk", "Pending"]


class Pending(ABC):
    """A request that has not been answered; an entry of the queue.

    Parameters
    ----------
    request : Request
        What was asked.
    world : World
        Where.
    rows : int
        What it counts in the queue's bounds.
    order : (int, int)
        When it arrived, among all, and its place in the request; no other entry has it.
    now : float
        When it arrived, in seconds.
    """

    __slots__ = (
        "client", "deadline", "is_gone", "is_waiting", "order", "priority", "request", "rows",
        "submitted", "world",
    )  # fmt: skip

    def __init__(
        self, request: Request, world: World, rows: int, order: tuple[int, int], now: float
    ) -> None:
        self.client: Hashable = request.client
        self.priority = int(request.priority)
        limit = request.deadline_ms
        self.deadline = math.inf if limit is None else now + limit / 1000.0
        self.order = order
        self.request = request
        self.world = world
        self.rows = rows
        self.submitted = now
        self.is_gone = False
        self.is_waiting = False

    @abstractmethod
    def begin_unit(self, desk: Desk, lane: Lane, now: float) -> WorkUnit | None:
        """Return what to do next; the entry has just left the lane.

        Parameters
        ----------
        desk : Desk
            The scheduler, whose lock is held.
        lane : Lane
            Where the entry was.
        now : float
            Seconds.

        Returns
        -------
        WorkUnit or None
            None if the entry has moved on to another lane.
        """

    @abstractmethod
    def end_unit(self, desk: Desk, unit: WorkUnit, now: float) -> None:
        """Take in a unit that has been run.

        Parameters
        ----------
        desk : Desk
            The scheduler, whose lock is held.
        unit : WorkUnit
            One that this entry has begun.
        now : float
            Seconds.
        """

    @abstractmethod
    def withdraw(self, desk: Desk, outcome: Outcome, now: float) -> None:
        """Answer now, with no more work.

        Parameters
        ----------
        desk : Desk
            The scheduler, whose lock is held.
        outcome : Outcome
            Why.
        now : float
            Seconds.
        """

    def expire(self, desk: Desk, now: float) -> None:
        """Answer because the deadline has passed.

        Parameters
        ----------
        desk : Desk
            The scheduler, whose lock is held.
        now : float
            Seconds.
        """
        self.withdraw(desk, Outcome.DEADLINE, now)

    def timing(self, now: float, searching: float) -> Timing:
        """Return how long it has waited beside the time at work.

        Parameters
        ----------
        now : float
            Seconds.
        searching : float
            Seconds at work.

        Returns
        -------
        Timing
            Neither is negative.
        """
        total = max(now - self.submitted, 0.0)
        searching = min(max(searching, 0.0), total)
        return Timing(total - searching, searching)


class Desk(Protocol):
    """What pending requests ask of the scheduler; its lock is held."""

    def wait(self, pending: Pending, lane: Lane) -> None:
        """Let an entry wait in a lane.

        Parameters
        ----------
        pending : Pending
            Not waiting yet.
        lane : Lane
            Where.
        """

    def hurry(self, pending: Pending) -> None:
        """Give an entry the next unit, before all that wait.

        Parameters
        ----------
        pending : Pending
            One whose deadline has passed and that has something to tell.
        """

    def take_also(self, pending: Pending) -> Pending | None:
        """Return the next short entry of the same client and priority.

        Parameters
        ----------
        pending : Pending
            The one taken.

        Returns
        -------
        Pending or None
            One that no longer waits.
        """

    def lend(self, client: Hashable, nbytes: int) -> None:
        """Count the scratch of a search, as `PathQueue.lend` does.

        Parameters
        ----------
        client : hashable
            Whose.
        nbytes : int
            Bytes.
        """

    def settle(self, pending: Pending, reply: Reply) -> None:
        """Answer a request, which is gone from now on.

        Parameters
        ----------
        pending : Pending
            Not gone yet.
        reply : Reply
            Its answer.
        """

    def leave(self, pending: Pending) -> None:
        """Let an entry go that is part of a request.

        Parameters
        ----------
        pending : Pending
            Not gone yet.
        """

    def budget(self, rate: float, deadline: float, now: float) -> int:
        """Return the expansions of a slice.

        Parameters
        ----------
        rate : float
            Seconds an expansion.
        deadline : float
            When the request is too late.
        now : float
            Seconds.

        Returns
        -------
        int
            At least 1.
        """
