"""Batches on their way: ranges of first tries, then the rows that are longer, or a shared field.

All rows see the version that the first unit pinned. Rows are tried in ranges; one that is longer
than a first try becomes a job of its own. Rows that share a goal are sampled first, and the rest
is done by one search from the goal where the sample says that this is cheaper.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from navserver.search.cells import paired_cells
from navserver.search.grid import Grid
from navserver.search.nodes import CancelFlag, unpack_cells
from navserver.search.path_kernels import S_COUNT, S_DETAIL, S_EXPANDED, S_STATUS
from navserver.search.results import PathResult
from navserver.service.batch_members import FieldTicket, RowTicket
from navserver.service.path_queue import Lane
from navserver.service.path_tickets import TRIAL_EXPANSIONS, is_cut_short
from navserver.service.pending import Desk, Pending
from navserver.service.replicas import Replica
from navserver.service.requests import (
    BatchReply,
    BatchRequest,
    Outcome,
    RowPaths,
    SearchOptions,
    Used,
)
from navserver.service.work import RangeUnit, WorkUnit
from navserver.service.world import World
from navserver.status import Detail

__all__ = ["BatchTicket"]

FEWEST_OF_A_GOAL = 8
"""Rows of one goal that are worth a sample."""

SAMPLE = 8

_PENDING = 255
_FIRST_RANGE = 32


class _Segment(NamedTuple):
    """Rows to be tried; all of one goal and to be sampled, or of any."""

    rows: NDArray[np.int64]
    is_sampled: bool


class BatchTicket(Pending):
    """A batch request on its way.

    Parameters
    ----------
    request : BatchRequest
        What was asked.
    world, order, now
        As for `Pending`.

    Raises
    ------
    InputError
        If a cell lies outside the map, or the arrays do not go together.
    """

    __slots__ = (
        "_cancel", "_mean", "_members", "_parts", "_replica", "_searching", "_segments", "cost",
        "counts", "detail", "error", "expanded", "goals", "is_leaving", "length",
        "n_left", "starts", "status", "used",
    )  # fmt: skip

    request: BatchRequest

    def __init__(
        self, request: BatchRequest, world: World, order: tuple[int, int], now: float
    ) -> None:
        self.starts, self.goals = _flat_ends(world.replicas.grid, request)
        n = self.starts.size
        super().__init__(request, world, n, order, now)
        self.status = np.full(n, _PENDING, np.uint8)
        self.detail = np.zeros(n, np.uint8)
        self.used = np.zeros(n, np.uint8)
        self.cost = np.full(n, np.inf)
        self.length = np.full(n, np.inf)
        self.expanded = np.zeros(n, np.int64)
        self.counts = np.zeros(n, np.int64)
        self.n_left = n
        """Rows that have no result yet."""
        self.error: Exception | None = None
        self.is_leaving = False
        """Whether what its rows still tell makes no difference."""
        self._members: dict[Pending, None] = {}
        self._replica: Replica | None = None
        self._cancel = CancelFlag()
        self._mean = 0.0
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []
        self._searching = 0.0
        self._segments = self._plan()

    @property
    def options(self) -> SearchOptions:
        """How to search."""
        return self.request.options

    def _plan(self) -> list[_Segment]:
        """Return the rows in segments, the last one first."""
        rows = np.arange(self.starts.size)
        options = self.options
        is_free = options.max_expansions is None and options.max_cost is None
        if not self.request.share_fields or not is_free or rows.size < FEWEST_OF_A_GOAL:
            return [_Segment(rows, False)]
        # To sort takes a fraction of what it takes to tell which row is of which goal.
        ordered, apart = np.sort(self.goals.astype(np.int32)), FEWEST_OF_A_GOAL - 1
        if not (ordered[apart:] == ordered[:-apart]).any():
            return [_Segment(rows, False)]
        _, group, sizes = np.unique(self.goals, return_inverse=True, return_counts=True)
        by_group = np.argsort(group, kind="stable")
        groups = np.split(by_group, np.cumsum(sizes)[:-1])
        segments = [
            _Segment(members, True) for members in groups if members.size >= FEWEST_OF_A_GOAL
        ]
        rest = np.flatnonzero(sizes[group] < FEWEST_OF_A_GOAL)
        return [*segments, _Segment(rest, False)] if rest.size else segments

    # First tries

    def begin_unit(  # numpydoc ignore=PR01
        self,
        desk: Desk,
        lane: Lane,
        now: float,  # noqa: ARG002
    ) -> WorkUnit | None:
        """Return a range of first tries; the rest waits for other threads at once."""
        segment = self._segments.pop()
        if segment.is_sampled:
            rows = segment.rows[:: max(segment.rows.size // SAMPLE, 1)]
        else:
            rows = segment.rows[: self._range()]
            if rows.size < segment.rows.size:
                self._segments.append(_Segment(segment.rows[rows.size :], False))
        if self._segments:
            desk.wait(self, lane)
        unit = RangeUnit(
            self.client,
            self.pin(),
            self._cancel,
            self.options,
            TRIAL_EXPANSIONS,
            rows,
            self.starts[rows],
            self.goals[rows],
        )
        if segment.is_sampled:
            unit.group = segment.rows
        return unit

    def _range(self) -> int:
        if self.n_left == self.rows:
            return _FIRST_RANGE
        return self.world.rates.range(self._mean, self.options)

    def pin(self) -> Replica:
        """Return the batch's version, pinned once more.

        Returns
        -------
        Replica
            To be unpinned.
        """
        if self._replica is None:
            self._replica = self.world.replicas.pin()
        return self.world.replicas.pin_again(self._replica)

    def end_unit(  # numpydoc ignore=PR01
        self, desk: Desk, unit: WorkUnit, now: float
    ) -> None:
        """Take in the rows that have ended, and let the others go on."""
        unit = cast("RangeUnit", unit)
        self._searching += max(now - unit.started, 0.0)
        self.world.replicas.unpin(unit.replica)
        if self.is_gone:
            return
        if unit.outputs is None:
            self.error = unit.error
            self.withdraw(desk, Outcome.FAILED, now)
            return
        self._mean = 0.5 * (self._mean + unit.expanded / unit.rows.size)
        is_long = self._take_in(unit)
        long_rows = unit.rows[is_long]
        if unit.group.size:
            self._go_on(desk, unit, is_long, now)
        else:
            self._begin_rows(desk, long_rows, now)
        self.settle_if_done(desk, now)

    def _take_in(self, unit: RangeUnit) -> NDArray[np.bool_]:
        """Note the rows of a unit that have ended; return which have not."""
        assert unit.outputs is not None
        summary = unit.outputs.summary
        is_long = is_cut_short(summary[:, S_DETAIL], summary[:, S_EXPANDED], self.options)
        counts = summary[:, S_COUNT]
        cells = unit.outputs.cells[: int(counts.sum())]
        if is_long.any():
            cells = cells[np.repeat(~is_long, counts)]
        done = ~is_long
        rows = unit.rows[done]
        self.status[rows] = summary[done, S_STATUS]
        self.detail[rows] = summary[done, S_DETAIL]
        self.expanded[rows] = summary[done, S_EXPANDED]
        self.cost[rows] = unit.outputs.totals[done, 0]
        self.length[rows] = unit.outputs.totals[done, 1]
        self._note(rows, counts[done], cells, Used.SEARCH)
        return is_long

    def _note(
        self,
        rows: NDArray[np.int64],
        counts: NDArray[np.int64],
        cells: NDArray[np.int32],
        used: Used,
    ) -> None:
        self.used[rows] = used
        self.counts[rows] = counts
        self._parts.append((rows, cells))
        self.n_left -= rows.size

    # What first tries leave

    def _go_on(self, desk: Desk, unit: RangeUnit, is_long: NDArray[np.bool_], now: float) -> None:
        """Choose between one field and many searches for the rows that a sample stood for."""
        left = unit.group[self.status[unit.group] == _PENDING]
        if left.size == 0:
            return
        assert unit.outputs is not None
        width = self.world.replicas.grid.width
        likely = unit.outputs.summary[:, S_EXPANDED].astype(np.float64)
        away = _distances(width, unit.starts[is_long], unit.goals[is_long])
        likely[is_long] = np.maximum(likely[is_long], self.world.rates.likely_expanded(away))
        farthest = float(_distances(width, self.starts[left], self.goals[left]).max())
        size = self.world.replicas.grid.size
        if self._is_open(int(self.goals[left[0]])) and self.world.rates.prefers_field(
            self.options, left.size, float(likely.mean()), farthest, size
        ):
            self._enter(desk, FieldTicket(self, left, now), Lane.BEGIN)
            return
        is_tried = np.isin(left, unit.rows)
        if not is_tried.all():
            self._segments.append(_Segment(left[~is_tried], False))
            if not self.is_waiting:
                desk.wait(self, Lane.SHORT)
        self._begin_rows(desk, left[is_tried], now)

    def _is_open(self, cell: int) -> bool:
        assert self._replica is not None
        space = self._replica.grid.space(self.options.movement)
        return bool(space.open_table[space.cells.reshape(-1)[cell]])

    def _begin_rows(self, desk: Desk, rows: NDArray[np.int64], now: float) -> None:
        assert self._replica is not None
        grid, cache = self._replica.grid, self.world.cache
        for row in rows.tolist():
            ticket = RowTicket(self, row, now)
            ends = (ticket.job.start, ticket.job.goal)
            known = (
                cache.find(grid, self.options, *ends) if cache.has(self.options, *ends) else None
            )
            if known is None:
                self._enter(desk, ticket, Lane.BEGIN)
            else:
                ticket.job.answer(desk, now, known, Used.CACHE)

    def _enter(self, desk: Desk, member: Pending, lane: Lane) -> None:
        self._members[member] = None
        desk.wait(member, lane)

    # Results of rows with entries of their own

    def note_row(  # numpydoc ignore=PR01
        self,
        desk: Desk,
        member: RowTicket,
        outcome: Outcome,
        result: PathResult | None,
        used: Used,
        error: Exception | None,
        now: float,
    ) -> None:
        """Take in a row that was searched in slices; see `Batch`."""
        self._members.pop(member, None)
        row = member.row
        self._searching += member.job.searching
        self.status[row] = outcome
        self.error = self.error or error
        cells = np.empty((0, 2), np.int32)
        if result is not None:
            self.detail[row] = result.detail
            self.cost[row], self.length[row] = result.cost, result.length
            self.expanded[row] = result.metrics.expanded
            cells = result.cells
        self._note(np.array([row]), np.array([len(cells)]), cells, used)
        self.settle_if_done(desk, now)

    def note_field(  # numpydoc ignore=PR01
        self, desk: Desk, member: FieldTicket, now: float
    ) -> None:
        """Take in the rows that a field has answered; see `Batch`."""
        self._members.pop(member, None)
        self._searching += member.searching
        field, rows = member.field, member.row_numbers
        assert field is not None
        grid = self.world.replicas.grid
        counts = np.array([path.size for path in field.paths], np.int64)
        is_found = counts > 0
        if self.options.allow_partial and not is_found.all():
            # How near one can come only a search from the start tells.
            self._begin_rows(desk, rows[~is_found], now)
            rows, counts = rows[is_found], counts[is_found]
            totals = field.totals[is_found]
            status = np.full(rows.size, Outcome.FOUND)
        else:
            totals = field.totals
            status = np.where(is_found, Outcome.FOUND, Outcome.UNREACHABLE)
            status[~is_found & ~field.open_starts] = Outcome.START_BLOCKED
        self.status[rows] = status
        self.detail[rows] = np.where(status == Outcome.UNREACHABLE, Detail.UNREACHABLE, 0)
        self.cost[rows], self.length[rows] = totals.T
        flat = np.concatenate(field.paths)
        cells = unpack_cells(flat, grid.width, grid.region_position)
        self._note(rows, counts, cells, Used.FIELD)
        self.settle_if_done(desk, now)

    # The end

    def settle_if_done(self, desk: Desk, now: float) -> None:
        """Answer if every row has its result.

        Parameters
        ----------
        desk : Desk
            The scheduler.
        now : float
            Seconds.
        """
        if self.n_left == 0 and not self.is_gone:
            failed = bool(self.rows) and bool((self.status == Outcome.FAILED).all())
            self._answer(desk, Outcome.FAILED if failed else Outcome.DONE, now)

    def withdraw(  # numpydoc ignore=PR01
        self, desk: Desk, outcome: Outcome, now: float
    ) -> None:
        """Answer now, with the rows that are done."""
        self.is_leaving = True
        self._cancel.set()
        self.status[self.status == _PENDING] = outcome
        for member in list(self._members):
            member.withdraw(desk, outcome, now)
        self._members.clear()
        self._answer(desk, outcome, now)

    def _answer(self, desk: Desk, outcome: Outcome, now: float) -> None:
        version = self.world.version if self._replica is None else self._replica.version
        if self._replica is not None:
            self.world.replicas.unpin(self._replica)
        reply = BatchReply(
            self.client,
            self.request.request_id,
            self.world.name,
            outcome,
            version,
            self.timing(now, self._searching),
            self.error,
            self.status,
            self.detail,
            self.used,
            self.cost,
            self.length,
            self.expanded,
            RowPaths(self.counts, self._parts),
        )
        desk.settle(self, reply)


def _flat_ends(grid: Grid, request: BatchRequest) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and goals as flat cells of equal number."""
    starts, goals, _ = paired_cells(grid, request.starts, request.goals, ("starts", "goals"))
    return starts, goals


def _distances(
    width: int, starts: NDArray[np.int64], goals: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return octile distances in cells."""
    dx = np.abs(starts % width - goals % width)
    dy = np.abs(starts // width - goals // width)
    octile: NDArray[np.float64] = np.maximum(dx, dy) + (2.0**0.5 - 1.0) * np.minimum(dx, dy)
    return octile
