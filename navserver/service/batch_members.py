"""What a batch leaves to searches of their own: single rows, and rows that share a field.

Each waits for its turn like a request, and tells its batch what has come of it.
"""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from navserver.search.nodes import SearchTrace, unpack_cells
from navserver.search.results import PathResult
from navserver.service.path_queue import Lane
from navserver.service.path_tickets import Job, PathTicket
from navserver.service.pending import Desk, Pending
from navserver.service.replicas import Replica
from navserver.service.requests import BatchRequest, Outcome, SearchOptions, Used
from navserver.service.work import FieldState, SliceUnit, WorkUnit
from navserver.service.world import World

__all__ = ["Batch", "FieldTicket", "RowTicket"]


class Batch(Protocol):
    """What members know of their batch; the scheduler's lock is held."""

    request: BatchRequest
    world: World
    order: tuple[int, int]
    deadline: float
    starts: NDArray[np.int64]
    """Flat cells, of all rows."""
    goals: NDArray[np.int64]
    error: Exception | None
    """Why there is a row without a result."""
    is_leaving: bool
    """Whether what members still tell makes no difference."""

    @property
    def options(self) -> SearchOptions:
        """How to search."""

    def pin(self) -> Replica:
        """Return the version of the map that all rows see, pinned once more.

        Returns
        -------
        Replica
            To be unpinned.
        """

    def note_row(
        self,
        desk: Desk,
        member: RowTicket,
        outcome: Outcome,
        result: PathResult | None,
        used: Used,
        error: Exception | None,
        now: float,
    ) -> None:
        """Take in a row that was searched in slices.

        Parameters
        ----------
        desk : Desk
            The scheduler.
        member : RowTicket
            The row.
        outcome : Outcome
            How it ended.
        result : PathResult or None
            What was found.
        used : Used
            How.
        error : Exception or None
            Why there is no result.
        now : float
            Seconds.
        """

    def note_field(self, desk: Desk, member: FieldTicket, now: float) -> None:
        """Take in the rows that a field has answered.

        Parameters
        ----------
        desk : Desk
            The scheduler.
        member : FieldTicket
            The rows.
        now : float
            Seconds.
        """

    def withdraw(self, desk: Desk, outcome: Outcome, now: float) -> None:
        """Answer now, with the rows that are done.

        Parameters
        ----------
        desk : Desk
            The scheduler.
        outcome : Outcome
            Why.
        now : float
            Seconds.
        """


class RowTicket(PathTicket):
    """A row of a batch that is searched in slices.

    Parameters
    ----------
    batch : Batch
        Whose row.
    row : int
        Which.
    now : float
        Seconds.
    """

    __slots__ = ("batch", "row")

    def __init__(self, batch: Batch, row: int, now: float) -> None:
        grid = batch.world.replicas.grid
        ends = unpack_cells(
            np.array([batch.starts[row], batch.goals[row]]), grid.width, grid.region_position
        )
        start, goal = (tuple(cell) for cell in ends.tolist())
        job = Job(batch.world, batch.options, start, goal)
        job.tried = True
        job.pin = batch.pin
        super().__init__(batch.request, job, (batch.order[0], 1 + row), now)
        self.deadline = batch.deadline
        self.batch = batch
        self.row = row

    def _settle(
        self,
        desk: Desk,
        now: float,
        outcome: Outcome,
        result: PathResult | None,
        used: Used,
        version: int = 0,  # noqa: ARG002
        error: Exception | None = None,
        trace: SearchTrace | None = None,  # noqa: ARG002
    ) -> None:
        desk.leave(self)
        if not self.batch.is_leaving:
            self.batch.note_row(desk, self, outcome, result, used, error, now)


class FieldTicket(Pending):
    """Rows of a batch that share one search from their goal.

    Parameters
    ----------
    batch : Batch
        Whose rows.
    rows : int64 array (n,)
        Which; all of one goal.
    now : float
        Seconds.
    """

    __slots__ = ("batch", "field", "is_at_work", "row_numbers", "searching")

    def __init__(self, batch: Batch, rows: NDArray[np.int64], now: float) -> None:
        super().__init__(batch.request, batch.world, 0, (batch.order[0], 1 + int(rows[0])), now)
        self.deadline = batch.deadline
        self.batch = batch
        self.row_numbers = rows
        self.field: FieldState | None = None
        self.searching = 0.0
        self.is_at_work = False

    def begin_unit(  # numpydoc ignore=PR01
        self,
        desk: Desk,
        lane: Lane,  # noqa: ARG002
        now: float,
    ) -> WorkUnit | None:
        """Return a slice of the search."""
        if self.field is None:
            replica = self.batch.pin()
            desk.lend(self.client, replica.scratch_bytes)
            goal = int(self.batch.goals[self.row_numbers[0]])
            starts = self.batch.starts[self.row_numbers]
            self.field = FieldState(replica, self.batch.options.movement, goal, starts)
        self.is_at_work = True
        rate = self.world.rates.of_field(self.batch.options)
        return SliceUnit(self.client, self.field, desk.budget(rate, self.deadline, now))

    def end_unit(  # numpydoc ignore=PR01
        self, desk: Desk, unit: WorkUnit, now: float
    ) -> None:
        """Hand the rows to the batch, or wait for the next slice."""
        unit = cast("SliceUnit[FieldState]", unit)
        seconds = max(now - unit.started, 0.0)
        self.is_at_work = False
        self.searching += seconds
        self.world.rates.note_field(self.batch.options, unit.expanded, seconds)
        if self.is_gone:
            self._close(desk)
        elif unit.error is not None:
            self._close(desk)
            self.batch.error = unit.error
            self.batch.withdraw(desk, Outcome.FAILED, now)
        elif unit.state.is_done:
            self._close(desk)
            desk.leave(self)
            self.batch.note_field(desk, self, now)
        else:
            desk.wait(self, Lane.GO_ON)

    def withdraw(  # numpydoc ignore=PR01
        self,
        desk: Desk,
        outcome: Outcome,  # noqa: ARG002
        now: float,  # noqa: ARG002
    ) -> None:
        """End the search; the batch has answered for the rows."""
        desk.leave(self)
        if self.field is not None:
            self.field.cancel.set()
            if not self.is_at_work:
                self._close(desk)

    def _close(self, desk: Desk) -> None:
        assert self.field is not None
        desk.lend(self.client, -self.field.replica.scratch_bytes)
        self.world.replicas.unpin(self.field.replica)
