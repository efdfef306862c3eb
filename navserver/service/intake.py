"""What becomes of a request that has just come in.

It is refused, answered from what is known, joined to a search that is under way, or left to wait.
"""

from __future__ import annotations

from navserver.service.batch_tickets import BatchTicket
from navserver.service.ledger import Ledger
from navserver.service.path_queue import Lane
from navserver.service.path_tickets import Job, PathTicket
from navserver.service.query_tickets import QueryTicket
from navserver.service.requests import BatchRequest, Outcome, PathRequest, Request, Used
from navserver.service.world import World
from navserver.status import InputError

__all__ = ["take_in"]


def take_in(
    ledger: Ledger, request: Request, world: World, now: float, *, is_tried: bool = False
) -> None:
    """Take in a request.

    Parameters
    ----------
    ledger : Ledger
        The books; the scheduler's lock is held.
    request : Request
        What is asked.
    world : World
        Where.
    now : float
        Seconds.
    is_tried : bool
        Whether a first try has found it too long.

    Raises
    ------
    InputError
        If the request cannot be right; then there will be no reply.
    """
    if ledger.find(request.client, request.request_id) is not None:
        raise InputError(
            "request_id", request.request_id, "is that of a request that is pending", "count up"
        )
    order = (ledger.next_order(), 0)
    if isinstance(request, PathRequest):
        _take_in_path(ledger, request, world, order, now, is_tried=is_tried)
    elif isinstance(request, BatchRequest):
        _take_in_batch(ledger, request, world, order, now)
    else:
        ticket = QueryTicket(request, world, order, now)
        ledger.enter(ticket, ticket.lane, now)


def _take_in_path(
    ledger: Ledger,
    request: PathRequest,
    world: World,
    order: tuple[int, int],
    now: float,
    *,
    is_tried: bool,
) -> None:
    alone = request if request.is_alone else None
    job = Job(world, request.options, request.start, request.goal, alone)
    # What takes long to build is built on a thread that nobody waits for.
    job.tried = job.tried or is_tried or not world.replicas.is_quick(request.options)
    if request.agent is not None:
        older = ledger.agents.get((request.client, request.agent))
        if older is not None:
            older.withdraw(ledger, Outcome.SUPERSEDED, now)
    if alone is None and not is_tried and _answer_from_cache(ledger, request, job, order, now):
        return
    if alone is None:
        known = ledger.jobs.get(job.key)
        if known is not None and known.tickets and known.sees(world.version):
            job = known
        else:
            ledger.jobs[job.key] = job
    ticket = PathTicket(request, job, order, now)
    if ledger.enter(ticket, job.lane, now) and request.agent is not None:
        ledger.agents[request.client, request.agent] = ticket


def _answer_from_cache(
    ledger: Ledger, request: PathRequest, job: Job, order: tuple[int, int], now: float
) -> bool:
    cache = job.world.cache
    if not cache.has(job.options, job.start, job.goal):
        return False
    replica = job.world.replicas.pin()
    try:
        result = cache.find(replica.grid, job.options, job.start, job.goal)
        if result is None:
            return False
        ticket = PathTicket(request, job, order, now)
        ticket.rows = 0
        ledger.open(ticket)
        job.answer(ledger, now, result, Used.CACHE, version=replica.version)
    finally:
        job.world.replicas.unpin(replica)
    return True


def _take_in_batch(
    ledger: Ledger, request: BatchRequest, world: World, order: tuple[int, int], now: float
) -> None:
    ticket = BatchTicket(request, world, order, now)
    if ticket.rows:
        is_quick = world.replicas.is_quick(request.options)
        ledger.enter(ticket, Lane.SHORT if is_quick else Lane.BEGIN, now)
    else:
        ledger.open(ticket)
        ticket.settle_if_done(ledger, now)
