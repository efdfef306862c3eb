"""Dijkstra's algorithm from many sources at once, outwards over the cells of a grid.

Distance maps, flow fields, reachable cells and cost matrices all run it. Where every cell costs
the same `even_wavefront` does the work, else `cost_wavefront`.
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver._jit import register_warm_up
from navserver.search.canonical import canonical_successors
from navserver.search.cost_wavefront import (
    N_BUCKETS,
    Buckets,
    Heap,
    advance_by_cost_,
    grow_entries_,
    seed_by_cost_,
    typical_step_,
)
from navserver.search.costs import PRODUCT, Terrain
from navserver.search.even_wavefront import (
    MOST_RUN,
    advance_evenly_,
    seed_evenly_,
)
from navserver.search.fields import (
    CURRENT_SIZE,
    EXPANDED,
    FULL,
    GENERATED,
    HEAP_SIZE,
    N_COUNTERS,
    NEXT_SIZE,
    OPEN_PEAK,
    OPEN_SIZE,
    REOPENED,
    RUNNING,
    TARGETS,
    TOUCHED,
    UNIT,
    Field,
    Search,
    count_back_,
    forget_,
    read_,
    trace_back_,
)
from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.search.moves import DX, DY, DiagonalMode
from navserver.search.nodes import CancelFlag, SearchMetrics, checked_cancel
from navserver.search.validation import UNLIMITED
from navserver.status import GridChangedError, InputError

__all__ = ["COST_TOLERANCE", "Outcome", "Wavefront", "checked_sources"]

COST_TOLERANCE = 1.0 + 1e-9
"""A cost limit is a limit up to this factor, so that a path's own cost is never too small."""

# Steps more unequal than that (the typical one to the least) are put in order by a heap.
MOST_UNEQUAL = 128.0


class Outcome(IntEnum):
    """Why a wavefront stands still."""

    RUNNING = 0
    """The budget is used up."""
    EXHAUSTED = 1
    """Every cell within reach and limit has its least cost."""
    SETTLED = 2
    """The targets asked for have their least costs."""
    CANCELLED = 3
    """Another thread has set the flag."""
    FULL = 4
    """The open list has to grow; never seen outside."""


def checked_sources(
    terrain: Terrain, grid: Grid, field: str, cells: ArrayLike
) -> NDArray[np.int64]:
    """Return the flat indices of cells that a wavefront may start from.

    Parameters
    ----------
    terrain : Terrain
        Says which cells are open.
    grid : Grid
        The map.
    field : str
        How an error names the array.
    cells : array-like of int, shape (n, 2)
        What was given.

    Returns
    -------
    int64 array (n,)
        At least one, all open.

    Raises
    ------
    InputError
        If there is none, or one is blocked or outside the map; names it.
    """
    flat = grid.flat_indices(cells, field)
    if flat.size == 0:
        raise InputError(field, cells, "is empty", "give at least one cell")
    is_open = terrain.open_table[terrain.space[flat]] != 0
    if not is_open.all():
        i = int(np.argmin(is_open))
        y, x = divmod(int(flat[i]), grid.width)
        cell = (x + grid.region_position[0], y + grid.region_position[1])
        raise InputError(f"{field}[{i}]", cell, "is blocked for this movement", "give an open cell")
    return flat


_NO_CELLS = np.empty(0, np.int64)


class Wavefront:
    """A search from many sources with scratch of its own, for one grid and movement.

    Parameters
    ----------
    grid : Grid
        The map; each search sees it as it is then.
    movement : Movement
        What the body pays and where it may step.
    record : bool
        Keep a list of the cells that were touched, so that `forget` takes time only for them.

    Notes
    -----
    Scratch: 9 bytes a cell, of which the system only gives what a search touches, 4 bytes a
    touched cell with `record`, and the open list: 8 bytes an entry, at most a few cells wide
    around the front. Deterministic; slices change nothing. One object serves one thread at a time.
    """

    def __init__(self, grid: Grid, movement: Movement, *, record: bool = False) -> None:
        self.grid = grid
        self.movement = movement
        self.terrain = grid.terrain(movement)
        self.map_version = 0
        self.outcome = Outcome.EXHAUSTED
        self.reverse = False
        self.unit = 0.0
        """Cost of one `UNIT` of length in the last search; 0 if it ran on costs."""
        self._record = record
        self._field: Field | None = None
        self._touched = np.empty(1024 if record else 0, np.int32)
        self._offsets = np.array(DY, np.int64) * grid.width + np.array(DX, np.int64)
        self._successors = canonical_successors(movement.diagonal_mode).reshape(-1)
        self._counters = np.zeros(N_COUNTERS, np.int64)
        self._entries = np.empty((2, 1024), np.int32)
        self._buckets: Buckets | None = None
        self._heap = _heap_of(64)
        self._targets = _NO_CELLS
        self._step = 0.0
        self._per_bucket = 1.0
        self._ordered = False
        self._search: Search

    @property
    def field(self) -> Field:
        """Labels of the cells; `take_field` gives them away."""
        if self._field is None:
            costs = np.empty(self.grid.size, np.float64)
            # Zeroed by the system page by page: a short search on a large map stays small.
            state = np.zeros(self.grid.size, np.uint8)
            self._field = Field(costs.view(np.int64), costs, state)
        return self._field

    def take_field(self) -> Field:
        """Return the labels for good; the next search makes new ones.

        Returns
        -------
        Field
            No longer known to the wavefront.
        """
        field = self.field
        self._field = None
        return field

    @property
    def turn(self) -> int:
        """Eighths from the direction a cell was reached in to the one that a field shows."""
        return 4 if self.reverse else 0

    @property
    def metrics(self) -> SearchMetrics:
        """What the search has done so far."""
        counters = self._counters
        return SearchMetrics(
            int(counters[EXPANDED]),
            int(counters[GENERATED]),
            int(counters[REOPENED]),
            int(counters[OPEN_PEAK]),
        )

    @property
    def touched(self) -> NDArray[np.int32]:
        """int32 array (n,): the flat cells that have a label, if they are recorded."""
        return self._touched[: self._counters[TOUCHED]]

    def prepare(self) -> None:
        """Read the grid's arrays again if it has been edited."""
        grid, movement = self.grid, self.movement
        if self.map_version == grid.version:
            return
        self.terrain = grid.terrain(movement)
        least, greatest = grid.cost_range(movement)
        if self.terrain.cost_model == PRODUCT:
            least, greatest = least * least, greatest * greatest
        self._step = least if least == greatest else 0.0
        typical = least
        if least != greatest:
            typical = typical_step_(self.terrain, max(1, grid.size >> 8))
        # Buckets as wide as the least step need no order inside, but must not be too many.
        self._ordered = not 0.0 < typical <= MOST_UNEQUAL * least
        width = typical / MOST_UNEQUAL if self._ordered else least * (1.0 - 2.0**-20)
        self._per_bucket = 1.0 / width if width > 0.0 else 1.0
        self.map_version = grid.version

    def begin(
        self,
        sources: NDArray[np.int64],
        start_costs: NDArray[np.float64] | None = None,
        *,
        max_cost: float = math.inf,
        reverse: bool = False,
        targets: NDArray[np.int64] = _NO_CELLS,
        stop_at_first: bool = False,
    ) -> None:
        """Begin a search on labels that are all unknown.

        Parameters
        ----------
        sources : int64 array (n,)
            Flat open cells, may repeat.
        start_costs : float64 array (n,), optional
            Finite, >= 0; default 0.
        max_cost : float
            Cells beyond are not reached.
        reverse : bool
            Costs are those of going from a cell to the sources.
        targets : int64 array (n,)
            Flat cells; stop when all have their costs.
        stop_at_first : bool
            Stop when one of them has.
        """
        self.prepare()
        self.reverse = reverse
        self.outcome = Outcome.RUNNING
        self._targets = targets.copy()
        # Start values take floats, since no count of steps stands for them.
        even = self._step > 0.0 and (start_costs is None or not start_costs.any())
        self.unit = self._step / UNIT if even else 0.0
        limit = max_cost * COST_TOLERANCE
        max_length = limit / self.unit if even else 0.0
        self._search = Search(
            reverse=reverse,
            stop_at_first=stop_at_first,
            record=self._record,
            max_length=int(max_length) if max_length < UNLIMITED else (1 << 63) - 1,
            max_cost=limit,
            per_bucket=self._per_bucket,
            ordered=self._ordered,
        )
        if self._record and self._touched.size < sources.size + 1024:
            self._touched = np.empty(2 * sources.size + 1024, np.int32)
        if even:
            if self._entries.shape[1] < sources.size + 16:
                self._entries = np.empty((2, 2 * sources.size), np.int32)
            seed_evenly_(sources, self.field, self._entries, self._touched, self._counters)
        else:
            if self._buckets is None or self._buckets.cells.size < sources.size + 16:
                self._buckets = _buckets_of(2 * sources.size + 1024)
            values = np.zeros(sources.size) if start_costs is None else start_costs
            seed_by_cost_(
                sources,
                values,
                self._search,
                self.field,
                self._buckets,
                self._touched,
                self._counters,
            )
        self._counters[TARGETS] = targets.size

    def advance(self, budget: int = UNLIMITED, cancel: CancelFlag | None = None) -> bool:
        """Go on for a slice.

        Parameters
        ----------
        budget : int
            About how many cells.
        cancel : CancelFlag, optional
            Stops the slice from another thread.

        Returns
        -------
        bool
            Whether the search has ended; `outcome` tells how.

        Raises
        ------
        GridChangedError
            If the grid was edited since `begin`.
        """
        if self.map_version != self.grid.version:
            raise GridChangedError(
                f"the grid went from version {self.map_version} to {self.grid.version} "
                "during the search; begin it again, or search a copy of the grid"
            )
        if not isinstance(budget, (int, np.integer)) or budget < 1:
            raise InputError("budget", budget, "is not a number of cells", "give 1 or more")
        if self.outcome != Outcome.RUNNING:
            return True
        flag = checked_cancel(cancel).array
        last = min(int(self._counters[EXPANDED]) + int(budget), UNLIMITED)
        while True:
            left = max(last - int(self._counters[EXPANDED]), 0)
            outcome = self._advance(left, flag)
            if outcome != FULL:
                self.outcome = Outcome(outcome)
                return outcome != RUNNING
            self._grow()

    def _advance(self, budget: int, cancel: NDArray[np.uint8]) -> int:
        terrain = self.terrain
        if self.unit > 0.0:
            return advance_evenly_(
                budget,
                terrain.masks,
                self._offsets,
                self._successors,
                self.movement.diagonal_mode == DiagonalMode.NEVER,
                self._search,
                self.field,
                self._entries,
                self._touched,
                self._targets,
                cancel,
                self._counters,
            )
        assert self._buckets is not None
        return advance_by_cost_(
            budget,
            terrain,
            self._offsets,
            self._search,
            self.field,
            self._buckets,
            self._heap,
            self._touched,
            self._targets,
            cancel,
            self._counters,
        )

    def _grow(self) -> None:
        """Double what is nearly full."""
        counters = self._counters
        if self._record and counters[TOUCHED] + 8 * MOST_RUN + 8 > self._touched.size:
            grown = np.empty(2 * self._touched.size, np.int32)
            grown[: self._touched.size] = self._touched
            self._touched = grown
        if self.unit > 0.0:
            capacity = self._entries.shape[1]
            if max(counters[CURRENT_SIZE], counters[NEXT_SIZE]) + 8 > capacity:
                entries = np.empty((2, 2 * capacity), np.int32)
                entries[:, :capacity] = self._entries
                self._entries = entries
            return
        assert self._buckets is not None
        if counters[OPEN_SIZE] + 9 > self._buckets.cells.size:
            buckets = _buckets_of(2 * self._buckets.cells.size)
            grow_entries_(self._buckets, buckets, counters)
            buckets.heads[:] = self._buckets.heads
            self._buckets = buckets
        if counters[HEAP_SIZE] + 9 > self._heap.costs.size:
            heap = _heap_of(2 * self._heap.costs.size)
            heap.costs[: self._heap.costs.size] = self._heap.costs
            heap.cells[: self._heap.cells.size] = self._heap.cells
            self._heap = heap

    def read(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return what some cells are labelled with.

        Parameters
        ----------
        cells : int64 array (n,)
            Flat cells.

        Returns
        -------
        costs : float64 array (n,)
            ``inf`` where unknown.
        directions : uint8 array (n,)
            As `turn` says; `NO_DIRECTION` at sources and where unknown.
        """
        costs = np.empty(cells.size, np.float64)
        directions = np.empty(cells.size, np.uint8)
        read_(self.field, self.unit, self.turn, cells, costs, directions)
        return costs, directions

    def path_to(self, cell: int) -> NDArray[np.int64]:
        """Return the way that a cell was reached by.

        Parameters
        ----------
        cell : int
            A flat cell that has a label.

        Returns
        -------
        int64 array (n,)
            Flat cells from a source to it.
        """
        path = np.empty(count_back_(self.field.state, self._offsets, cell), np.int64)
        trace_back_(self.field.state, self._offsets, cell, path)
        return path

    def forget(self) -> None:
        """Make all labels unknown."""
        if self._record:
            forget_(self.field, self._touched, int(self._counters[TOUCHED]))
        elif self._field is not None:
            self._field.state.fill(0)


def _heap_of(capacity: int) -> Heap:
    return Heap(np.empty(capacity, np.float64), np.empty(capacity, np.int32))


def _buckets_of(capacity: int) -> Buckets:
    return Buckets(
        np.empty(N_BUCKETS, np.int32), np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    )


def _warm_up() -> None:
    for costs in ([1.0, 1.0], [1.0, 2.0]):
        grid = Grid([[0, 0]], cell_scale=[costs]) if costs[1] > 1.0 else Grid([[0, 0]])
        search = Wavefront(grid, Movement(), record=True)
        search.begin(np.zeros(1, np.int64))
        search.advance()
        search.read(np.zeros(1, np.int64))
        search.path_to(1)
        search.forget()
    assert search._buckets is not None
    grow_entries_(search._buckets, _buckets_of(4096), search._counters)


register_warm_up("wavefronts", _warm_up)
