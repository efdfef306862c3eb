"""The scheduling core: requests in, units of work out, replies in the end. No threads of its own.

Whoever drives it needs a few lines. One thread, such as an in-process user or a test::

    scheduler.submit(PathRequest("me", 1, "cave", start=(1, 1), goal=(9, 9)), now)
    for reply in scheduler.tick(now):
        ...

Several threads, such as the server::

    # each worker
    while scheduler.wait_for_work(Lane.SLICED, timeout):
        unit = scheduler.take_work(clock(), Lane.SLICED)
        if unit is not None:
            unit.run()                          # without any lock, without the GIL
            scheduler.complete(unit, clock())

    # the thread that owns the sockets
    scheduler.submit(request, clock())          # InputError: answer with the error
    unit = scheduler.take_work(clock(), Lane.SHORT)     # so short that it may run right here
    scheduler.expire(clock())                   # at `next_deadline()` at the latest
    for reply in scheduler.take_replies():
        ...

Maps are edited through their `World` from any thread at any time: a search keeps the version it
began with, and every reply names its own. After an edit, `World.watches.take()` tells which watched
paths have broken. A world that is removed or replaced goes to `drop_world`.

Work of `Lane.WHOLE` cannot be sliced and belongs on a thread of its own. A unit that was taken
must be completed, or failed: its request is answered then. `on_reply` is called, from any thread
and with the lock held, when the first reply is there to be taken; it may wake a poll.

Every request is answered exactly once. Time is an argument, in seconds of any one clock.
"""

from __future__ import annotations

import heapq
import math
import threading
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

from navserver.service.batch_tickets import BatchTicket
from navserver.service.metrics import KindMetrics
from navserver.service.path_queue import Lane, PathQueue
from navserver.service.path_tickets import Job, PathTicket
from navserver.service.pending import Pending
from navserver.service.query_tickets import QueryTicket
from navserver.service.requests import (
    BatchRequest,
    Outcome,
    PathRequest,
    QueryRequest,
    Reply,
    Request,
    SearchOptions,
    Used,
)
from navserver.service.trial import Trial, try_path
from navserver.service.work import WorkUnit
from navserver.service.world import World
from navserver.service.worlds import Worlds
from navserver.status import InputError

__all__ = ["Scheduler"]

# To end a search and write its path is short.
_FOR_URGENT = Lane.SHORT | Lane.GO_ON

_KINDS = {PathRequest: "path", BatchRequest: "batch", QueryRequest: "query"}


class Scheduler:
    """Requests of many clients on many worlds, for any number of threads.

    Parameters
    ----------
    worlds : Worlds
        Where to search.
    max_rows : int
        Most paths that may be pending; further requests are answered OVERLOADED.
    max_rows_a_client : int
        Most of one client.
    slice_seconds : float
        What a slice of a long search shall take.
    max_scratch : int
        Bytes that long searches may touch at one time.
    on_reply : callable, optional
        Called under the lock when there are replies to take again.

    Examples
    --------
    >>> from navserver.search.grid import Grid
    >>> worlds = Worlds()
    >>> world = worlds.add("cave", Grid.filled(8, 8))
    >>> scheduler = Scheduler(worlds)
    >>> scheduler.submit(PathRequest("me", 1, "cave", start=(0, 0), goal=(2, 1)), now=0.0)
    >>> [reply] = scheduler.tick(now=0.0)
    >>> reply.outcome.word, reply.map_version, reply.result.cells.tolist()
    ('found', 1, [[0, 0], [1, 1], [2, 1]])
    """

    def __init__(
        self,
        worlds: Worlds,
        *,
        max_rows: int = 1 << 18,
        max_rows_a_client: int = 1 << 16,
        slice_seconds: float = 1e-3,
        max_scratch: int = 1 << 31,
        on_reply: Callable[[], None] | None = None,
    ) -> None:
        self.worlds = worlds
        self.slice_seconds = slice_seconds
        self._queue: PathQueue[Pending] = PathQueue(
            max_rows, max_rows_a_client, quantum=20_000.0, max_scratch=max_scratch
        )
        self._urgent: deque[Pending] = deque()
        self._pending: dict[tuple[Hashable, int], Pending] = {}
        self._agents: dict[tuple[Hashable, Hashable], PathTicket] = {}
        self._jobs: dict[tuple[object, ...], Job] = {}
        self._deadlines: list[tuple[float, tuple[int, int], Pending]] = []
        self._n_left = 0
        self._replies: list[Reply] = []
        self._on_reply = on_reply
        self._metrics = {kind: KindMetrics() for kind in _KINDS.values()}
        self._order = 0
        self._n_at_work = 0
        self._lock = threading.Lock()
        self._waiters: list[tuple[Lane, threading.Condition]] = []

    # Requests in

    def try_path(
        self, world: World, options: SearchOptions, start: tuple[int, int], goal: tuple[int, int]
    ) -> Trial | None:
        """Try to find a path at once, in the thread that calls, without a request.

        Parameters
        ----------
        world : World
            Where.
        options : SearchOptions
            How.
        start, goal : (int, int)
            Cells.

        Returns
        -------
        Trial or None
            Its result is to be noted by `note_path`; without one a request is to be submitted
            as tried; so if what it needs is yet to be built. None if others come first, or the
            answer is known or under way.

        Raises
        ------
        InputError
            If a cell lies outside the map.
        """
        with self._lock:
            if self._has_work(Lane.SHORT):
                return None
            if self._jobs and (world, options, start, goal) in self._jobs:
                return None
        if world.cache.has(options, start, goal):
            return None
        if not world.replicas.is_quick(options):
            return Trial(None)
        return try_path(world, options, start, goal)

    def note_path(self, outcome: str, waiting: float, searching: float) -> None:
        """Count a path that was found at once.

        Parameters
        ----------
        outcome : str
            The outcome's word.
        waiting, searching : float
            Seconds.
        """
        with self._lock:
            self._metrics["path"].note(outcome, waiting, searching)

    def submit(self, request: Request, now: float, *, is_tried: bool = False) -> None:
        """Take in a request; its reply comes with `take_replies`, perhaps at once.

        Parameters
        ----------
        request : Request
            What is asked.
        now : float
            Seconds.
        is_tried : bool
            Whether `try_path` has been called for it, and has found it too long.

        Raises
        ------
        InputError
            If the request cannot be right; then there will be no reply.
        """
        world = self.worlds[request.world]
        with self._lock:
            if (request.client, request.request_id) in self._pending:
                raise InputError(
                    "request_id", request.request_id, "is that of a request that is pending",
                    "count up",
                )  # fmt: skip
            self._order += 1
            if isinstance(request, PathRequest):
                self._submit_path(request, world, now, is_tried=is_tried)
            elif isinstance(request, BatchRequest):
                self._submit_batch(request, world, now)
            else:
                ticket = QueryTicket(request, world, (self._order, 0), now)
                self._enter(ticket, ticket.lane, now)

    def _submit_path(
        self, request: PathRequest, world: World, now: float, *, is_tried: bool
    ) -> None:
        alone = request if request.is_alone else None
        job = Job(world, request.options, request.start, request.goal, alone)
        # What takes long to build is built on a thread that nobody waits for.
        job.tried = job.tried or is_tried or not world.replicas.is_quick(request.options)
        if request.agent is not None:
            older = self._agents.get((request.client, request.agent))
            if older is not None:
                older.withdraw(self, Outcome.SUPERSEDED, now)
        if alone is None and not is_tried and self._answer_from_cache(request, job, now):
            return
        if alone is None:
            known = self._jobs.get(job.key)
            if known is not None and known.tickets and known.sees(world.version):
                job = known
            else:
                self._jobs[job.key] = job
        ticket = PathTicket(request, job, (self._order, 0), now)
        if self._enter(ticket, job.lane, now) and request.agent is not None:
            self._agents[request.client, request.agent] = ticket

    def _answer_from_cache(self, request: PathRequest, job: Job, now: float) -> bool:
        cache = job.world.cache
        if not cache.has(job.options, job.start, job.goal):
            return False
        replica = job.world.replicas.pin()
        try:
            result = cache.find(replica.grid, job.options, job.start, job.goal)
            if result is None:
                return False
            ticket = PathTicket(request, job, (self._order, 0), now)
            ticket.rows = 0
            self._pending[request.client, request.request_id] = ticket
            job.answer(self, now, result, Used.CACHE, version=replica.version)
        finally:
            job.world.replicas.unpin(replica)
        return True

    def _submit_batch(self, request: BatchRequest, world: World, now: float) -> None:
        ticket = BatchTicket(request, world, (self._order, 0), now)
        if ticket.rows:
            is_quick = world.replicas.is_quick(request.options)
            self._enter(ticket, Lane.SHORT if is_quick else Lane.BEGIN, now)
        else:
            self._pending[request.client, request.request_id] = ticket
            ticket.settle_if_done(self, now)

    def _enter(self, pending: Pending, lane: Lane, now: float) -> bool:
        """Let a new request wait, or refuse it."""
        self._pending[pending.client, pending.request.request_id] = pending
        if not self._queue.admit(pending.client, pending.rows):
            pending.rows = 0
            pending.withdraw(self, Outcome.OVERLOADED, now)
            return False
        if pending.deadline < math.inf:
            heapq.heappush(self._deadlines, (pending.deadline, pending.order, pending))
        self.wait(pending, lane)
        return True

    def cancel(self, client: Hashable, request_id: int, now: float) -> bool:
        """Answer a pending request with CANCELLED.

        Parameters
        ----------
        client : hashable
            Whose.
        request_id : int
            Which.
        now : float
            Seconds.

        Returns
        -------
        bool
            False if it is not pending: it has been answered already.
        """
        with self._lock:
            pending = self._pending.get((client, request_id))
            if pending is None:
                return False
            pending.withdraw(self, Outcome.CANCELLED, now)
            return True

    def drop_client(self, client: Hashable, now: float) -> int:
        """Cancel all that a client has pending; its replies wait as any others.

        Parameters
        ----------
        client : hashable
            Who.
        now : float
            Seconds.

        Returns
        -------
        int
            How many requests.
        """
        return self._withdraw_all(lambda p: p.client == client, Outcome.CANCELLED, now)

    def drop_world(self, world: World, now: float) -> int:
        """Answer all that is pending in a world that has been removed.

        Parameters
        ----------
        world : World
            What `Worlds.remove` has returned.
        now : float
            Seconds.

        Returns
        -------
        int
            How many requests.
        """
        return self._withdraw_all(lambda p: p.world is world, Outcome.WORLD_REMOVED, now)

    def _withdraw_all(
        self, is_meant: Callable[[Pending], bool], outcome: Outcome, now: float
    ) -> int:
        with self._lock:
            meant = [pending for pending in self._pending.values() if is_meant(pending)]
            for pending in meant:
                pending.withdraw(self, outcome, now)
            return len(meant)

    # Work out, work done

    def take_work(self, now: float, lanes: Lane = Lane.ALL) -> WorkUnit | None:
        """Return what to do next.

        Parameters
        ----------
        now : float
            Seconds.
        lanes : Lane
            What the caller can work on.

        Returns
        -------
        WorkUnit or None
            To be run, and then given to `complete` or `fail`; None if nothing waits.
        """
        with self._lock:
            self._expire(now)
            while True:
                if self._urgent and lanes & _FOR_URGENT:
                    pending, lane = self._urgent.popleft(), Lane.GO_ON
                    if pending.is_gone:
                        continue
                else:
                    taken = self._queue.take(lanes)
                    if taken is None:
                        return None
                    pending, lane = taken
                unit = pending.begin_unit(self, lane, now)
                if unit is not None:
                    unit.owner = pending
                    unit.started = now
                    self._n_at_work += 1
                    return unit

    def complete(self, unit: WorkUnit, now: float) -> None:
        """Take in a unit that has been run.

        Parameters
        ----------
        unit : WorkUnit
            From `take_work`.
        now : float
            Seconds.
        """
        with self._lock:
            self._n_at_work -= 1
            self._queue.charge(unit.client, unit.work(max(now - unit.started, 0.0)))
            unit.owner.end_unit(self, unit, now)

    def fail(self, unit: WorkUnit, error: Exception, now: float) -> None:
        """Take in a unit whose `run` has raised: its requests are answered FAILED.

        Parameters
        ----------
        unit : WorkUnit
            From `take_work`.
        error : Exception
            What was raised.
        now : float
            Seconds.
        """
        unit.error = error
        self.complete(unit, now)

    def wait_for_work(self, lanes: Lane, timeout: float | None = None) -> bool:
        """Wait until there is something to do.

        Parameters
        ----------
        lanes : Lane
            What the caller can work on.
        timeout : float, optional
            Seconds to wait at most.

        Returns
        -------
        bool
            Whether there is; another thread may be quicker to take it.
        """
        with self._lock:
            if self._has_work(lanes):
                return True
            waiter = (lanes, threading.Condition(self._lock))
            self._waiters.append(waiter)
            waiter[1].wait(timeout)
            # Whoever notifies takes the waiter from the list.
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            return self._has_work(lanes)

    def wake(self) -> None:
        """Let all that wait for work look up, whether there is some or not."""
        with self._lock:
            for _, waiter in self._waiters:
                waiter.notify()
            self._waiters.clear()

    def _has_work(self, lanes: Lane) -> bool:
        if self._urgent and lanes & _FOR_URGENT:
            return True
        return len(self._queue) > 0 and self._queue.has(lanes)

    def _notify(self, lane: Lane) -> None:
        """Wake one thread that waits for work of a lane."""
        for i, (lanes, waiter) in enumerate(self._waiters):
            if lanes & lane:
                waiter.notify()
                del self._waiters[i]
                return

    @property
    def has_waiting(self) -> bool:
        """Whether anything waits for a thread to take it."""
        return len(self._queue) > 0 or bool(self._urgent)

    @property
    def pending_rows(self) -> int:
        """Paths that have been asked for and not been answered."""
        return self._queue.n_rows

    @property
    def has_replies(self) -> bool:
        """Whether `take_replies` would return any."""
        return bool(self._replies)

    def take_replies(self) -> list[Reply]:
        """Return the replies since the last call.

        Returns
        -------
        list of Reply
            In the order in which they were ready.
        """
        with self._lock:
            replies, self._replies = self._replies, []
            return replies

    def tick(self, now: float, expansions: float = math.inf) -> list[Reply]:
        """Work in this thread until nothing waits or a budget is spent.

        Parameters
        ----------
        now : float
            Seconds.
        expansions : float
            Budget of work; at least one unit is done.

        Returns
        -------
        list of Reply
            As `take_replies`.
        """
        spent = 0.0
        while spent < expansions:
            unit = self.take_work(now)
            if unit is None:
                break
            unit.run()
            spent += unit.work(0.0)
            self.complete(unit, now)
        return self.take_replies()

    # Deadlines

    def next_deadline(self) -> float:
        """Return when `expire` is due.

        Returns
        -------
        float
            Seconds; ``inf`` if no request has a deadline.
        """
        if not self._deadlines:
            return math.inf
        with self._lock:
            while self._deadlines and self._deadlines[0][2].is_gone:
                heapq.heappop(self._deadlines)
            return self._deadlines[0][0] if self._deadlines else math.inf

    def expire(self, now: float) -> None:
        """Answer the requests whose deadline has passed; their searches are told to stop.

        Parameters
        ----------
        now : float
            Seconds.
        """
        with self._lock:
            self._expire(now)

    def _expire(self, now: float) -> None:
        while self._deadlines and self._deadlines[0][0] <= now:
            pending = heapq.heappop(self._deadlines)[2]
            if not pending.is_gone:
                pending.expire(self, now)

    # What pending requests ask, under the lock

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
        seconds = min(self.slice_seconds, max(deadline - now, 0.0))
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
        self._metrics[_KINDS[type(request)]].note(reply.outcome.word, *reply.timing)
        self._replies.append(reply)
        if self._on_reply is not None and len(self._replies) == 1:
            self._on_reply()

    def leave(self, pending: Pending) -> None:  # numpydoc ignore=PR01
        """Let an entry go; see `Desk`."""
        assert not pending.is_gone
        pending.is_gone = True
        if pending.is_waiting:
            self._queue.note_gone(pending)
        self._n_left += 1
        if self._n_left > 1024 and 2 * self._n_left > len(self._deadlines):
            # Deadlines may be hours away; those of requests that are gone must not pile up.
            self._deadlines = [entry for entry in self._deadlines if not entry[2].is_gone]
            heapq.heapify(self._deadlines)
            self._n_left = 0

    def _forget_path(self, ticket: PathTicket) -> None:
        request, job = ticket.request, ticket.job
        agent = (request.client, getattr(request, "agent", None))
        if self._agents.get(agent) is ticket:
            del self._agents[agent]
        if not job.tickets and self._jobs.get(job.key) is job:
            del self._jobs[job.key]

    # What is known of it

    def statistics(self) -> dict[str, Any]:
        """Return counts, times and sizes.

        Returns
        -------
        dict of str to object
            ``requests`` by kind, ``pending_rows``, ``waiting``, ``at_work``,
            ``search_scratch_bytes``, and ``worlds`` by name with version, bytes and the hit rate
            of their caches.
        """
        with self._lock:
            kinds = {kind: metrics.copy() for kind, metrics in self._metrics.items()}
            summary: dict[str, Any] = {
                "pending_rows": self._queue.n_rows,
                "waiting": len(self._queue),
                "at_work": self._n_at_work,
                "search_scratch_bytes": self._queue.scratch,
            }
        summary["requests"] = {kind: metrics.summary() for kind, metrics in kinds.items()}
        summary["worlds"] = {
            world.name: {
                "version": world.version,
                "memory_bytes": world.memory_bytes(),
                "cached_paths": len(world.cache),
                "cache_hit_rate": world.cache.hit_rate,
            }
            for world in self.worlds
        }
        return summary
