"""Single paths on their way: tickets wait, jobs search, equal tickets share a job.

A job is first tried among others with a small limit of expansions. One that is longer begins
anew, on the newest version of the map, and goes on in slices until it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, cast

from navserver.search.nodes import SearchTrace
from navserver.search.results import PathResult
from navserver.service.path_queue import Lane
from navserver.service.pending import Desk, Pending
from navserver.service.replicas import Replica
from navserver.service.requests import (
    BatchRequest,
    Outcome,
    PathReply,
    PathRequest,
    SearchOptions,
    Used,
)
from navserver.service.work import BundleUnit, SearchState, SliceUnit, WorkUnit
from navserver.service.world import World
from navserver.status import Detail, Status

__all__ = ["TRIAL_EXPANSIONS", "Job", "PathTicket"]

TRIAL_EXPANSIONS = 2048
"""Where a first try gives up: about 0.1 ms."""


_OUTCOMES = tuple(Outcome)


class Job:
    """One search that at least one ticket waits for.

    Parameters
    ----------
    world : World
        Where.
    options : SearchOptions
        How.
    start, goal : (int, int)
        Cells.
    alone : PathRequest, optional
        The one request that it is for, if that has a trace or cells of its own.

    Raises
    ------
    CellError
        If a cell lies outside the map.
    """

    __slots__ = (
        "alone", "goal", "is_at_work", "key", "lender", "options", "pin", "searching", "start",
        "state", "tickets", "tried", "world",
    )  # fmt: skip

    def __init__(
        self,
        world: World,
        options: SearchOptions,
        start: tuple[int, int],
        goal: tuple[int, int],
        alone: PathRequest | None = None,
    ) -> None:
        grid = world.replicas.grid
        grid.flat_index(start, "start")
        grid.flat_index(goal, "goal")
        self.world = world
        self.options = options
        self.start = (int(start[0]), int(start[1]))
        self.goal = (int(goal[0]), int(goal[1]))
        self.key = (world, options, self.start, self.goal)
        """Equal for jobs that have the same answer on the same version."""
        self.alone = alone
        self.tickets: list[PathTicket] = []
        self.state: SearchState | None = None
        """The search once it goes on in slices; it holds a version of the map."""
        self.lender: Hashable = None
        self.pin: Callable[[], Replica] = world.replicas.pin
        """Gives the version to search."""
        self.searching = 0.0
        """Seconds at work so far."""
        self.is_at_work = False
        self.tried = alone is not None

    @property
    def lane(self) -> Lane:
        """Where its tickets wait."""
        if self.state is not None:
            return Lane.GO_ON
        return Lane.BEGIN if self.tried else Lane.SHORT

    def sees(self, version: int) -> bool:
        """Return whether its answer will be true of a version or a later one.

        Parameters
        ----------
        version : int
            Of its world.

        Returns
        -------
        bool
            False if it searches an older one, or is about to end early.
        """
        if self.state is None:
            return not self.is_at_work
        return self.state.replica.version >= version and not self.state.cancel.is_set

    def open(self, desk: Desk, client: Hashable) -> SearchState:
        """Begin to hold a version of the map and scratch.

        Parameters
        ----------
        desk : Desk
            The scheduler.
        client : hashable
            Who is charged for the scratch.

        Returns
        -------
        SearchState
            The search.
        """
        replica = self.pin()
        self.state = SearchState(replica, self.options, self.start, self.goal)
        if self.alone is not None:
            if self.alone.trace_capacity is not None:
                self.state.trace = SearchTrace(self.alone.trace_capacity)
            self.state.blocked_cells = self.alone.blocked_cells
            self.state.ignored_cells = self.alone.ignored_cells
        self.lender = client
        desk.lend(client, replica.scratch_bytes)
        return self.state

    def close(self, desk: Desk) -> None:
        """Give back what `open` has taken; not while a unit is at work.

        Parameters
        ----------
        desk : Desk
            The scheduler.
        """
        state, self.state = self.state, None
        if state is not None:
            state.close()
            desk.lend(self.lender, -state.replica.scratch_bytes)
            self.world.replicas.unpin(state.replica)

    def put_back(self, desk: Desk) -> None:
        """Let all its tickets wait where it is now.

        Parameters
        ----------
        desk : Desk
            The scheduler.
        """
        for ticket in self.tickets:
            if not ticket.is_waiting:
                desk.wait(ticket, self.lane)

    def answer(
        self,
        desk: Desk,
        now: float,
        result: PathResult | None,
        used: Used,
        *,
        version: int = 0,
        error: Exception | None = None,
        trace: SearchTrace | None = None,
    ) -> None:
        """Answer all its tickets.

        Parameters
        ----------
        desk : Desk
            The scheduler.
        now : float
            Seconds.
        result : PathResult or None
            What was found.
        used : Used
            How.
        version : int
            For which the result holds; 0 for the one that was searched.
        error : Exception, optional
            Why there is no result.
        trace : SearchTrace, optional
            If it was asked for.
        """
        if result is not None:
            version = version or result.map_version
        tickets, self.tickets = self.tickets, []
        for ticket in tickets:
            ticket.answer(desk, now, result, used, version, error=error, trace=trace)


class PathTicket(Pending):
    """A path request that waits for its job.

    Parameters
    ----------
    request : PathRequest or BatchRequest
        What was asked.
    job : Job
        The search that answers it.
    order, now
        As for `Pending`.
    """

    __slots__ = ("is_follower", "job", "searched_before")

    def __init__(
        self,
        request: PathRequest | BatchRequest,
        job: Job,
        order: tuple[int, int],
        now: float,
    ) -> None:
        super().__init__(request, job.world, 1, order, now)
        self.job = job
        self.is_follower = bool(job.tickets)
        self.searched_before = job.searching
        job.tickets.append(self)

    def begin_unit(
        self, desk: Desk, lane: Lane, now: float
    ) -> WorkUnit | None:  # numpydoc ignore=PR01
        """Return a bundle of first tries, or a slice."""
        job = self.job
        if job.is_at_work:
            return None
        if job.lane != lane:
            desk.wait(self, job.lane)
            return None
        if lane == Lane.SHORT:
            return self._begin_bundle(desk)
        state = job.state or job.open(desk, self.client)
        job.is_at_work = True
        rate = job.world.rates.of(job.options)
        deadline = min(ticket.deadline for ticket in job.tickets)
        return SliceUnit(self.client, state, desk.budget(rate, deadline, now))

    def _begin_bundle(self, desk: Desk) -> BundleUnit:
        job = self.job
        job.is_at_work = True
        jobs = [job]
        while len(jobs) < job.world.rates.bundle(self.client, job.options):
            other = desk.take_also(self)
            if other is None:
                break
            if isinstance(other, PathTicket) and other.job.is_at_work:
                continue
            if not (isinstance(other, PathTicket) and other._goes_with(job)):
                desk.wait(other, Lane.SHORT)
                break
            other.job.is_at_work = True
            jobs.append(other.job)
        replica = job.world.replicas.pin()
        ends = [(job.start, job.goal) for job in jobs]
        unit = BundleUnit(self.client, replica, job.options, TRIAL_EXPANSIONS, ends)
        unit.jobs = jobs
        return unit

    def _goes_with(self, job: Job) -> bool:
        other = self.job
        return (
            other.lane == Lane.SHORT and other.world is job.world and other.options == job.options
        )

    def end_unit(self, desk: Desk, unit: WorkUnit, now: float) -> None:  # numpydoc ignore=PR01
        """Answer what has ended, and let the rest wait again."""
        seconds = max(now - unit.started, 0.0)
        if isinstance(unit, BundleUnit):
            self._end_bundle(desk, unit, seconds, now)
            return
        unit = cast("SliceUnit[SearchState]", unit)
        job, state = self.job, unit.state
        job.is_at_work = False
        job.searching += seconds
        job.world.rates.note_slice(job.options, unit.expanded, seconds)
        if unit.error is not None:
            job.close(desk)
            job.answer(desk, now, None, Used.NOTHING, error=unit.error)
        elif state.result is not None:
            result = state.result
            job.close(desk)
            if job.alone is None:
                job.world.cache.put(job.options, result)
            known = result.status == Status.UNREACHABLE and result.metrics.expanded == 0
            used = Used.ISLANDS if known else Used.SEARCH
            job.answer(desk, now, result, used, trace=state.trace)
        elif job.tickets:
            job.put_back(desk)
        else:
            job.close(desk)

    def _end_bundle(self, desk: Desk, unit: BundleUnit, seconds: float, now: float) -> None:
        jobs, world, options = unit.jobs, self.job.world, unit.options
        world.replicas.unpin(unit.replica)
        world.rates.note_trial(self.client, unit.expanded / len(jobs))
        share = seconds / len(jobs)
        for job in jobs:
            job.is_at_work = False
            job.searching += share
        if unit.error is not None:
            for job in jobs:
                job.answer(desk, now, None, Used.NOTHING, error=unit.error)
            return
        for job, result in zip(jobs, unit.results, strict=True):
            if is_cut_short(int(result.detail), result.metrics.expanded, options):
                job.tried = True
                job.put_back(desk)
            else:
                world.cache.put(options, result)
                job.answer(desk, now, result, Used.SEARCH)

    def answer(
        self,
        desk: Desk,
        now: float,
        result: PathResult | None,
        used: Used,
        version: int,
        *,
        error: Exception | None = None,
        trace: SearchTrace | None = None,
    ) -> None:
        """Answer with the job's result.

        Parameters
        ----------
        desk, now, result, used, version, error, trace
            As for `Job.answer`.
        """
        outcome = Outcome.FAILED if result is None else _OUTCOMES[result.status]
        if result is not None and self.deadline <= now and outcome == Outcome.CANCELLED:
            outcome = Outcome.DEADLINE
        if self.is_follower and result is not None:
            used = Used.COALESCED
        self._settle(desk, now, outcome, result, used, version, error, trace)

    def _settle(
        self,
        desk: Desk,
        now: float,
        outcome: Outcome,
        result: PathResult | None,
        used: Used,
        version: int = 0,
        error: Exception | None = None,
        trace: SearchTrace | None = None,
    ) -> None:
        searching = self.job.searching - self.searched_before
        desk.settle(
            self,
            PathReply(
                self.client,
                self.request.request_id,
                self.world.name,
                outcome,
                version,
                self.timing(now, searching),
                error,
                used,
                result,
                trace,
            ),
        )

    def expire(self, desk: Desk, now: float) -> None:  # numpydoc ignore=PR01
        """Answer with the partial path of a search that has begun, if that was asked for."""
        job = self.job
        if job.options.allow_partial and job.state is not None and len(job.tickets) == 1:
            job.state.cancel.set()
            if not job.is_at_work:
                desk.hurry(self)
        else:
            self.withdraw(desk, Outcome.DEADLINE, now)

    def withdraw(self, desk: Desk, outcome: Outcome, now: float) -> None:  # numpydoc ignore=PR01
        """Answer now; the job ends unless others wait for it."""
        job = self.job
        job.tickets.remove(self)
        self._settle(desk, now, outcome, None, Used.NOTHING)
        if not job.tickets:
            if job.state is not None and job.is_at_work:
                job.state.cancel.set()
            elif job.state is not None:
                job.close(desk)


def is_cut_short(detail: Any, expanded: Any, options: SearchOptions) -> Any:
    """Return whether a first try ended at its own limit, not at one that was asked for.

    Parameters
    ----------
    detail : int or int64 array (n,)
        Bits of `Detail`.
    expanded : int or int64 array (n,)
        Expansions.
    options : SearchOptions
        What was asked.

    Returns
    -------
    bool or bool array (n,)
        True if the search must begin anew without that limit.
    """
    is_limited = (detail & int(Detail.EXPANSION_LIMIT)) != 0
    if options.max_expansions is None:
        return is_limited
    return is_limited & (expanded < options.max_expansions)
