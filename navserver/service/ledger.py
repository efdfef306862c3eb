"""The scheduler's books: what is pending, what waits for a thread, what has been answered.

Whoever calls anything here holds the scheduler's lock.
"""

from __future__ import annotations

import heapq
import math
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator

from navserver.service.metrics import KindMetrics
from navserver.service.path_queue import Lane, PathQueue
from navserver.service.path_tickets import Job, PathTicket
from navserver.service.pending import Pending
from navserver.service.requests import BatchRequest, Outcome, PathRequest, QueryRequest, Reply

__all__ = ["Ledger"]

# To end a search and write its path is short.
_FOR_URGENT = Lane.SHORT | Lane.GO_ON

_KINDS = {PathRequest: "path", BatchRequest: "batch", QueryRequest: "query"}


class Ledger:
    """The `Desk` of the requests of one scheduler.

    Parameters
    ----------
    queue : PathQueue
        Where requests wait.
    slice_seconds : float
        What a slice of a long search shall take.
    on_reply : callable or None
        Called when there are replies to take again.
    """

    def __init__(
        self,
        queue: PathQueue[Pending],
        slice_seconds: float,
        on_reply: Callable[[], None] | None,
    ) -> None:
        self.agents: dict[tuple[Hashable, Hashable], PathTicket] = {}
        """The newest request of each agent of each client."""
        self.jobs: dict[tuple[object, ...], Job] = {}
        """Searches under way that others may join, by what they are for."""
        self.deadlines: list[tuple[float, tuple[int, int], Pending]] = []
        """A heap; some of its entries are gone."""
        self.replies: list[Reply] = []
        """Those that nobody has taken yet."""
        self.metrics = {kind: KindMetrics() for kind in _KINDS.values()}
        """What became of the requests of each kind."""
        self._queue = queue
        self._slice_seconds = slice_seconds
        self._on_reply = on_reply
        self._urgent: deque[Pending] = deque()
        self._pending: dict[tuple[Hashable, int], Pending] = {}
        self._waiters: list[tuple[Lane, threading.Condition]] = []
        self._n_left = 0
        self._order = 0

    # Requests

    def __iter__(self) -> Iterator[Pending]:
        """Yield the requests that are pending."""
        return iter(self._pending.values())

    def find(self, client: Hashable, request_id: int) -> Pending | None:
        """Return a request that is pending.

        Parameters
        ----------
        client : hashable
            Whose.
        request_id : int
            Which.

        Returns
        -------
        Pending or None
            None if there is none, or it has been answered.
        """
        return self._pending.get((client, request_id))

    def next_order(self) -> int:
        """Return the number of a request that has just come.

        Returns
        -------
        int
            One more than that of the one before.
        """
        self._order += 1
        return self._order

    def open(self, pending: Pending) -> None:
        """Take in a request that is to be answered without waiting.

        Parameters
        ----------
        pending : Pending
            A new one.
        """
        self._pending[pending.client, pending.request.request_id] = pending

    def enter(self, pending: Pending, lane: Lane, now: float) -> bool:
        """Let a new request wait, or refuse it.

        Parameters
        ----------
        pending : Pending
            A new one.
        lane : Lane
            Where.
        now : float
            Seconds.

        Returns
        -------
        bool
            False if there is no room; it has been answered then.
        """
        self.open(pending)
        if not self._queue.admit(pending.client, pending.rows):
            pending.rows = 0
            pending.withdraw(self, Outcome.OVERLOADED, now)
            return False
        if pending.deadline < math.inf:
            heapq.heappush(self.deadlines, (pending.deadline, pending.order, pending))
        self.wait(pending, lane)
        return True

    # Threads that look for work

    @property
    def n_waiting(self) -> int:
        """How many entries wait for a thread to take them."""
        return len(self._queue) + len(self._urgent)

    @property
    def n_rows(self) -> int:
        """Paths that have been asked for and not been answered."""
        return self._queue.n_rows

    def has_work(self, lanes: Lane) -> bool:
        """Return whether `take` would return anything.

        Parameters
        ----------
        lanes : Lane
            What the caller can work on.

        Returns
        -------
        bool
            An entry that waits may be gone, all the same.
        """
        if self._urgent and lanes & _FOR_URGENT:
            return True
        return len(self._queue) > 0 and self._queue.has(lanes)

    def take(self, lanes: Lane) -> tuple[Pending, Lane] | None:
        """Return whose turn it is.

        Parameters
        ----------
        lanes : Lane
            What the caller can work on.

        Returns
        -------
        (Pending, Lane) or None
            An entry that no longer waits, and where it was; None if none waits.
        """
        while self._urgent and lanes & _FOR_URGENT:
            pending = self._urgent.popleft()
            if not pending.is_gone:
                return pending, Lane.GO_ON
        return self._queue.take(lanes)

    def charge(self, client: Hashable, work: float) -> None:
        """Count work that has been done, as `PathQueue.charge` does.

        Parameters
        ----------
        client : hashable
            For whom.
        work : float
            How much.
        """
        self._queue.charge(client, work)

    def await_work(
        self, lanes: Lane, condition: threading.Condition, timeout: float | None
    ) -> None:
        """Sleep until something waits in a lane, or all are to look up.

        Parameters
        ----------
        lanes : Lane
            What the caller can work on.
        condition : Condition
            One of the caller's own, with the scheduler's lock.
        timeout : float or None
            Seconds to wait at most.
        """
        waiter = (lanes, condition)
        self._waiters.append(waiter)
        condition.wait(timeout)
        # Whoever notifies takes the waiter from the list.
        if waiter in self._waiters:
            self._waiters.remove(waiter)

    def wake(self) -> None:
        """Let all that sleep look up."""
        for _, waiter in self._waiters:
            waiter.notify()
        self._waiters.clear()

    def _notify(self, lane: Lane) -> None:
        """Wake one thread that waits for work of a lane."""
        for i, (lanes, waiter) in enumerate(self._waiters):
            if lanes & lane:
                waiter.notify()
                del self._waiters[i]
                return

    # Deadlines

    def next_deadline(self) -> float:
        """Return when `expire` is due.

        Returns
        -------
        float
            Seconds; ``inf`` if no request has a deadline.
        """
        while self.deadlines and self.deadlines[0][2].is_gone:
            heapq.heappop(self.deadlines)
        return self.deadlines[0][0] if self.deadlines else math.inf

    def expire(self, now: float) -> None:
        """Answer the requests whose deadline has passed.

        Parameters
        ----------
        now : float
            Seconds.
        """
        while self.deadlines and self.deadlines[0][0] <= now:
            pending = heapq.heappop(self.deadlines)[2]
            if not pending.is_gone:
                pending.expire(self, now)

    # What pending requests ask

    def wait(self, pending: Pending, lane: Lane) -> None:  # numpydoc ignore=PR01
        """Let an entry wait in a lane; see `Desk`."""
        self._queue.put(pending, lane)
        self._notify(lane)

    def hurry(self, pending: Pending) -> None:  # numpydoc ignore=PR01
        """Give an entry the next unit; see `Desk`."""
        self._urgent.append(pending)
        self._notify(_FOR_URGENT)

    def take_also(self, pending: Pending) -> Pending | None:  # numpydoc ignore=PR01
        """Return the next short entry of the same client and priority; see `Desk`."""
        return self._queue.take_also(pending.client, Lane.SHORT, pending.priority)

    def lend(self, client: Hashable, nbytes: int) -> None:  # numpydoc ignore=PR01
        """Count the scratch of a search; see `Desk`."""
        self._queue.lend(client, nbytes)
        if nbytes < 0:
            self._notify(Lane.BEGIN)

    def budget(self, rate: float, deadline: float, now: float) -> int:  # numpydoc ignore=PR01
        """Return the expansions of a slice; see `Desk`."""
        seconds = min(self._slice_seconds, max(deadline - now, 0.0))
        return max(int(seconds / rate), 256)

    def settle(self, pending: Pending, reply: Reply) -> None:  # numpydoc ignore=PR01
        """Answer a request; see `Desk`."""
        request = pending.request
        del self._pending[request.client, request.request_id]
        if isinstance(pending, PathTicket):
            self._forget_path(pending)
        self.leave(pending)
        if pending.rows:
            self._queue.release(request.client, pending.rows)
        self.metrics[_KINDS[type(request)]].note(reply.outcome.word, *reply.timing)
        self.replies.append(reply)
        if self._on_reply is not None and len(self.replies) == 1:
            self._on_reply()

    def leave(self, pending: Pending) -> None:  # numpydoc ignore=PR01
        """Let an entry go; see `Desk`."""
        assert not pending.is_gone
        pending.is_gone = True
        if pending.is_waiting:
            self._queue.note_gone(pending)
        self._n_left += 1
        if self._n_left > 1024 and 2 * self._n_left > len(self.deadlines):
            # Deadlines may be hours away; those of requests that are gone must not pile up.
            self.deadlines = [entry for entry in self.deadlines if not entry[2].is_gone]
            heapq.heapify(self.deadlines)
            self._n_left = 0

    def _forget_path(self, ticket: PathTicket) -> None:
        request, job = ticket.request, ticket.job
        agent = (request.client, getattr(request, "agent", None))
        if self.agents.get(agent) is ticket:
            del self.agents[agent]
        if not job.tickets and self.jobs.get(job.key) is job:
            del self.jobs[job.key]

    # What is known of it

    def figures(self) -> dict[str, int]:
        """Return what is under way, in numbers.

        Returns
        -------
        dict of str to int
            ``pending_rows``, ``waiting`` and ``search_scratch_bytes``.
        """
        return {
            "pending_rows": self._queue.n_rows,
            "waiting": len(self._queue),
            "search_scratch_bytes": self._queue.scratch,
        }
