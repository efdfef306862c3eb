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

import math
import threading
from collections.abc import Callable, Hashable
from typing import Any

from navserver.service.intake import take_in
from navserver.service.ledger import Ledger
from navserver.service.path_queue import Lane, PathQueue
from navserver.service.pending import Pending
from navserver.service.requests import Outcome, Reply, Request, SearchOptions
from navserver.service.trial import Trial, try_path
from navserver.service.work import WorkUnit
from navserver.service.world import World
from navserver.service.worlds import Worlds

__all__ = ["Scheduler"]


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
    >>> from navserver.service.requests import PathRequest
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
        queue: PathQueue[Pending] = PathQueue(
            max_rows, max_rows_a_client, quantum=20_000.0, max_scratch=max_scratch
        )
        self._ledger = Ledger(queue, slice_seconds, on_reply)
        self._n_at_work = 0
        self._lock = threading.Lock()

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
            ledger = self._ledger
            if ledger.has_work(Lane.SHORT):
                return None
            if ledger.jobs and (world, options, start, goal) in ledger.jobs:
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
            self._ledger.metrics["path"].note(outcome, waiting, searching)

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
            take_in(self._ledger, request, world, now, is_tried=is_tried)

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
            pending = self._ledger.find(client, request_id)
            if pending is None:
                return False
            pending.withdraw(self._ledger, Outcome.CANCELLED, now)
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
            meant = [pending for pending in self._ledger if is_meant(pending)]
            for pending in meant:
                pending.withdraw(self._ledger, outcome, now)
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
            ledger = self._ledger
            ledger.expire(now)
            while (taken := ledger.take(lanes)) is not None:
                pending, lane = taken
                unit = pending.begin_unit(ledger, lane, now)
                if unit is not None:
                    unit.owner = pending
                    unit.started = now
                    self._n_at_work += 1
                    return unit
            return None

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
            self._ledger.charge(unit.client, unit.work(max(now - unit.started, 0.0)))
            unit.owner.end_unit(self._ledger, unit, now)

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
            if self._ledger.has_work(lanes):
                return True
            self._ledger.await_work(lanes, threading.Condition(self._lock), timeout)
            return self._ledger.has_work(lanes)

    def wake(self) -> None:
        """Let all that wait for work look up, whether there is some or not."""
        with self._lock:
            self._ledger.wake()

    @property
    def has_waiting(self) -> bool:
        """Whether anything waits for a thread to take it."""
        return self._ledger.n_waiting > 0

    @property
    def pending_rows(self) -> int:
        """Paths that have been asked for and not been answered."""
        return self._ledger.n_rows

    @property
    def has_replies(self) -> bool:
        """Whether `take_replies` would return any."""
        return bool(self._ledger.replies)

    def take_replies(self) -> list[Reply]:
        """Return the replies since the last call.

        Returns
        -------
        list of Reply
            In the order in which they were ready.
        """
        with self._lock:
            replies, self._ledger.replies = self._ledger.replies, []
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
        if not self._ledger.deadlines:
            return math.inf
        with self._lock:
            return self._ledger.next_deadline()

    def expire(self, now: float) -> None:
        """Answer the requests whose deadline has passed; their searches are told to stop.

        Parameters
        ----------
        now : float
            Seconds.
        """
        with self._lock:
            self._ledger.expire(now)

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
            kinds = {kind: metrics.copy() for kind, metrics in self._ledger.metrics.items()}
            summary: dict[str, Any] = {**self._ledger.figures(), "at_work": self._n_at_work}
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
