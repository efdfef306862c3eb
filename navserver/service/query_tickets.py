"""Questions on their way: each is one unit of work."""

from __future__ import annotations

from typing import Any, cast

from navserver.search.nodes import CancelFlag
from navserver.service.path_queue import Lane
from navserver.service.pending import Desk, Pending
from navserver.service.queries import QUERIES, bind_query
from navserver.service.requests import Outcome, QueryReply, QueryRequest
from navserver.service.work import QueryUnit, WorkUnit
from navserver.service.world import World

__all__ = ["QueryTicket"]


class QueryTicket(Pending):
    """A question that waits for its unit.

    Parameters
    ----------
    request : QueryRequest
        What was asked.
    world, order, now
        As for `Pending`.

    Raises
    ------
    InputError
        If the question is not known, or does not go with its arguments.
    """

    __slots__ = ("_answer", "_cancel", "lane")

    def __init__(
        self, request: QueryRequest, world: World, order: tuple[int, int], now: float
    ) -> None:
        super().__init__(request, world, 1, order, now)
        self._answer = bind_query(request.question, request.arguments, request.movement)
        self._cancel = CancelFlag()
        self.lane = Lane.SHORT if QUERIES[request.question].is_short else Lane.WHOLE
        """Where it waits."""

    def begin_unit(  # numpydoc ignore=PR01
        self,
        desk: Desk,  # noqa: ARG002
        lane: Lane,  # noqa: ARG002
        now: float,  # noqa: ARG002
    ) -> WorkUnit:
        """Return the question."""
        replica = self.world.replicas.pin()
        return QueryUnit(self.client, replica, self._cancel, self._answer)

    def end_unit(self, desk: Desk, unit: WorkUnit, now: float) -> None:  # numpydoc ignore=PR01
        """Answer, unless that was done while it was at work."""
        unit = cast("QueryUnit", unit)
        version = unit.replica.version
        self.world.replicas.unpin(unit.replica)
        if self.is_gone:
            return
        outcome = Outcome.DONE if unit.error is None else Outcome.FAILED
        self._settle(desk, now, outcome, version, now - unit.started, unit.result, unit.error)

    def withdraw(self, desk: Desk, outcome: Outcome, now: float) -> None:  # numpydoc ignore=PR01
        """Answer now; a question at work is told to end."""
        self._cancel.set()
        self._settle(desk, now, outcome, 0, 0.0, None, None)

    def _settle(
        self,
        desk: Desk,
        now: float,
        outcome: Outcome,
        version: int,
        searching: float,
        result: Any,
        error: Exception | None,
    ) -> None:
        timing = self.timing(now, searching)
        reply = QueryReply(
            self.client, self.request.request_id, self.world.name, outcome, version, timing,
            error, result,
        )  # fmt: skip
        desk.settle(self, reply)
