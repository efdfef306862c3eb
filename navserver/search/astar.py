"""A*, weighted A* and Dijkstra over a grid, whole or in slices.

Sources: Hart, Nilsson and Raphael, "A Formal Basis for the Heuristic Determination of Minimum
Cost Paths" (1968), section II; Pohl, "Heuristic search viewed as path finding in a graph" (1970)
for the weight.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver._jit import kernel, register_warm_up, subkernel
from navserver.search.bucket_engine import N_BUCKETS, advance_buckets_, begin_buckets_
from navserver.search.canonical import canonical_successors
from navserver.search.canonical_engine import advance_canonical_
from navserver.search.costs import SQRT2, CostModel, Terrain, cell_cost_, step_cost_
from navserver.search.engine import (
    BOUND,
    BUCKETS,
    CANONICAL,
    COST_PRUNED,
    EXHAUSTED,
    EXPANDED,
    EXPANSION_LIMIT,
    GENERATED_COUNT,
    HEAP,
    MULTIPLES,
    N_COUNTERS,
    N_FLOATS,
    NEAREST,
    OPEN_FULL,
    OPEN_PEAK,
    OUTCOME,
    REACHED,
    REOPENED,
    RUNNING,
    STAMP,
    TOO_LONG,
    Query,
    Request,
    Scratch,
    begin_nodes_,
    next_stamp_,
    record_expansion_,
)
from navserver.search.grid import Grid, checked_movement
from navserver.search.heap_engine import advance_heap_, begin_heap_
from navserver.search.heuristics import (
    Heuristic,
    best_heuristic,
    check_heuristic,
    least_unit_cost,
)
from navserver.search.islands import Islands, Reach, islands_of
from navserver.search.movement import MovementOptions, check_keywords
from navserver.search.moves import DX, DY, DiagonalMode, dx_, dy_
from navserver.search.multiples_engine import advance_multiples_
from navserver.search.nodes import (
    HAS_PARENT,
    NEVER,
    PARENT_SHIFT,
    CancelFlag,
    OpenList,
    SearchTrace,
    TraceArrays,
    checked_cancel,
    checked_trace,
    is_open_,
    override_nodes_,
)
from navserver.search.overrides import checked_query_cells
from navserver.search.packed_nodes import (
    ARRIVAL_SHIFT,
    DIAGONAL,
    G_SHIFT,
    HAS_ARRIVAL,
    MAX_G,
    N_STACKS,
    STRAIGHT,
    begin_packed_,
    real_g_,
    row_division,
)
from navserver.search.profile import N_CLASSES
from navserver.search.results import PathResult, ResultRow
from navserver.search.validation import (
    UNLIMITED,
    checked_count,
    checked_enum,
    checked_flag,
    checked_number,
)
from navserver.status import GridChangedError, InputError

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["ALGORITHMS", "AStar", "find_path"]

ALGORITHMS = ("astar", "dijkstra")

# `Status` and `Detail` as kernels write them.
FOUND, PARTIAL, UNREACHABLE, START_BLOCKED, GOAL_BLOCKED, LIMIT, CANCELLED_STATUS = range(7)
D_UNREACHABLE, D_GOAL_BLOCKED, D_EXPANSION_LIMIT, D_COST_LIMIT, D_CANCELLED = 1, 2, 4, 8, 16

# Columns of `Outputs.summary`.
S_STATUS, S_DETAIL, S_OFFSET, S_COUNT, S_EXPANDED, S_GENERATED, S_REOPENED, S_PEAK = range(8)

# Why `find_paths_` returned, and with what it is called again.
FRESH, SEARCHING, WRITING = range(3)

START_OPEN, GOAL_OPEN = 1, 2


class Outputs(NamedTuple):
    """What searches write: a row a query, and the cells of all paths one after the other."""

    summary: NDArray[np.int64]
    totals: NDArray[np.float64]
    """Columns: cost, length."""
    cells: NDArray[np.int32]
    state: NDArray[np.int64]
    """Query at work, cells written so far, FRESH, SEARCHING or WRITING, which ends are open."""

    @staticmethod
    def of(queries: int, cells: int) -> Outputs:
        """Return outputs for a number of queries and of cells in all.

        Parameters
        ----------
        queries, cells : int
            How many.

        Returns
        -------
        Outputs
            With no query done.
        """
        return Outputs(
            np.zeros((queries, 8), np.int64),
            np.full((queries, 2), np.inf),
            np.empty((cells, 2), np.int32),
            np.zeros(4, np.int64),
        )

    def grown(self) -> Outputs:
        """Return the same with twice the room for cells.

        Returns
        -------
        Outputs
            Shares all but the cells.
        """
        cells = np.empty((2 * len(self.cells), 2), np.int32)
        cells[: len(self.cells)] = self.cells
        return self._replace(cells=cells)


@kernel
def begin_(
    terrain: Terrain,
    request: Request,
    query: Query,
    scratch: Scratch,
    closes: NDArray[np.int64],
    opens: NDArray[np.int64],
) -> int:
    """Begin a search. Return which ends are open."""
    next_stamp_(scratch)
    if closes.size + opens.size > 0:
        override_nodes_(terrain, scratch.words, scratch.counters[STAMP], closes, opens)
    return begin_search_(terrain, request, query, scratch)


@subkernel
def begin_search_(terrain: Terrain, request: Request, query: Query, scratch: Scratch) -> int:
    """Put the start on the open list of the request's engine. Return which ends are open."""
    if request.engine >= CANONICAL:
        begin_packed_(terrain, request, query, scratch)
        start_open = terrain.open_table[terrain.space[query.start]] != 0
        goal_open = terrain.open_table[terrain.space[query.goal]] != 0
    else:
        stamp = scratch.counters[STAMP]
        start_open = is_open_(terrain, scratch.words, stamp, query.start)
        goal_open = is_open_(terrain, scratch.words, stamp, query.goal)
        h = begin_nodes_(terrain, request, query, scratch)
        if request.engine == BUCKETS:
            begin_buckets_(request, query, scratch, h)
        else:
            begin_heap_(request, query, scratch, h)
    return (START_OPEN if start_open else 0) | (GOAL_OPEN if goal_open else 0)


@subkernel
def arrival_(request: Request, scratch: Scratch, cell: int) -> int:
    """Return the direction in which a cell was reached, 8 at the start."""
    if request.engine >= CANONICAL:
        word = scratch.packed[cell]
        return (word >> ARRIVAL_SHIFT) & 7 if word & HAS_ARRIVAL else 8
    word = scratch.words[2 * cell]
    return (word >> PARENT_SHIFT) & 7 if word & HAS_PARENT else 8


@subkernel
def goal_g_(request: Request, query: Query, scratch: Scratch) -> float:
    """Return the goal's g after it has been reached."""
    if request.engine >= CANONICAL:
        return real_g_(request, scratch.counters[BOUND])
    return scratch.g[2 * query.goal + 1]


@subkernel
def advance_search_(
    budget: int,
    terrain: Terrain,
    request: Request,
    query: Query,
    scratch: Scratch,
    trace: TraceArrays,
    cancel: NDArray[np.uint8],
) -> int:
    """Expand at most `budget` nodes and return why it stopped."""
    if request.engine == CANONICAL:
        outcome = advance_canonical_(budget, terrain, request, query, scratch, trace, cancel)
    elif request.engine == MULTIPLES:
        outcome = advance_multiples_(budget, terrain, request, query, scratch, trace, cancel)
    elif request.engine == BUCKETS:
        outcome = advance_buckets_(budget, terrain, request, query, scratch, trace, cancel)
    else:
        outcome = advance_heap_(budget, terrain, request, query, scratch, trace, cancel)
    if outcome == REACHED:
        # Engines stop before they expand the goal; it counts as the last expansion.
        if trace.cells.size > 0:
            arrival = arrival_(request, scratch, query.goal)
            g = goal_g_(request, query, scratch)
            record_expansion_(
                terrain,
                request,
                query,
                scratch,
                trace,
                scratch.counters[EXPANDED],
                query.goal,
                arrival,
                g,
            )
        scratch.counters[EXPANDED] += 1
    elif outcome == EXHAUSTED and request.engine >= CANONICAL and scratch.counters[COST_PRUNED]:
        # The end of fixed point, or the limit that was asked for.
        is_short = real_g_(request, request.max_g + 1) < request.max_cost
        outcome = TOO_LONG if is_short else EXHAUSTED
    return outcome


@kernel
def advance_(
    budget: int,
    terrain: Terrain,
    request: Request,
    query: Query,
    scratch: Scratch,
    trace: TraceArrays,
    cancel: NDArray[np.uint8],
) -> int:
    """Expand at most `budget` nodes and return why it stopped."""
    return advance_search_(budget, terrain, request, query, scratch, trace, cancel)


@subkernel
def is_blocked_(allow_partial: bool, ends: int) -> bool:
    """Return whether a search with these ends open has nothing to look for."""
    return not ends & START_OPEN or not (ends & GOAL_OPEN or allow_partial)


@subkernel
def conclude_(
    request: Request,
    query: Query,
    scratch: Scratch,
    ends: int,
    outcome: int,
    summary: NDArray[np.int64],
) -> int:
    """Write a row of the summary but for its path, and return the path's last cell or -1."""
    counters = scratch.counters
    summary[:] = 0
    if is_blocked_(request.allow_partial, ends):
        summary[S_STATUS] = GOAL_BLOCKED if ends & START_OPEN else START_BLOCKED
        return -1
    summary[S_EXPANDED] = counters[EXPANDED]
    summary[S_GENERATED] = counters[GENERATED_COUNT]
    summary[S_REOPENED] = counters[REOPENED]
    summary[S_PEAK] = counters[OPEN_PEAK]
    if outcome == REACHED:
        summary[S_STATUS] = FOUND
        return query.goal
    detail = 0 if ends & GOAL_OPEN else D_GOAL_BLOCKED
    if outcome == EXPANSION_LIMIT:
        summary[S_STATUS] = LIMIT
        detail |= D_EXPANSION_LIMIT
    elif outcome == EXHAUSTED and counters[COST_PRUNED]:
        summary[S_STATUS] = LIMIT
        detail |= D_COST_LIMIT
    elif outcome == EXHAUSTED:
        summary[S_STATUS] = UNREACHABLE
        if detail == 0:
            detail = D_UNREACHABLE
    else:
        summary[S_STATUS] = CANCELLED_STATUS
        detail |= D_CANCELLED
    summary[S_DETAIL] = detail
    # Until the start is expanded there is nothing to be near to the goal.
    if request.allow_partial and counters[EXPANDED] > 0:
        summary[S_STATUS] = PARTIAL
        return counters[NEAREST]
    return -1


@subkernel
def write_path_(
    terrain: Terrain,
    request: Request,
    scratch: Scratch,
    origin: tuple[int, int],
    end: int,
    offset: int,
    row: int,
    outputs: Outputs,
) -> bool:
    """Write the path to a cell, its cost and its length; return False if it finds no room."""
    width = terrain.width
    count = 1
    cell = end
    direction = arrival_(request, scratch, cell)
    while direction < 8:
        count += 1
        cell -= dy_(direction) * width + dx_(direction)
        direction = arrival_(request, scratch, cell)
    outputs.summary[row, S_OFFSET] = offset
    outputs.summary[row, S_COUNT] = count
    if offset + count > len(outputs.cells):
        return False
    cell = end
    for i in range(offset + count - 1, offset - 1, -1):
        y = cell // width
        outputs.cells[i, 0] = cell - y * width + origin[0]
        outputs.cells[i, 1] = y + origin[1]
        direction = arrival_(request, scratch, cell)
        if direction < 8:
            cell -= dy_(direction) * width + dx_(direction)
    cost = 0.0
    diagonal_steps = 0
    from_cost = cell_cost_(terrain, cell)
    for i in range(offset + 1, offset + count):
        cell = (outputs.cells[i, 1] - origin[1]) * width + outputs.cells[i, 0] - origin[0]
        direction = arrival_(request, scratch, cell)
        cost += step_cost_(terrain, from_cost, cell, direction)
        from_cost = cell_cost_(terrain, cell)
        diagonal_steps += direction & 1
    outputs.totals[row, 0] = cost
    outputs.totals[row, 1] = count - 1 - diagonal_steps + SQRT2 * diagonal_steps
    return True


@kernel
def finish_(
    terrain: Terrain,
    request: Request,
    query: Query,
    scratch: Scratch,
    origin: tuple[int, int],
    ends: int,
    outcome: int,
    outputs: Outputs,
) -> bool:
    """Write the result of a search to row 0; return False if its path finds no room."""
    end = conclude_(request, query, scratch, ends, outcome, outputs.summary[0])
    return end < 0 or write_path_(terrain, request, scratch, origin, end, 0, 0, outputs)


@kernel
def find_paths_(
    width: int,
    height: int,
    masks: NDArray[np.uint8],
    space: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    mask_table: NDArray[np.uint8],
    classes: NDArray[np.uint8],
    class_costs: NDArray[np.float64],
    cell_scale: NDArray[np.float32],
    layers: NDArray[np.float32],
    layer_rows: NDArray[np.int64],
    layer_weights: NDArray[np.float64],
    cost_model: int,
    request_integers: NDArray[np.int64],
    request_floats: NDArray[np.float64],
    successors: NDArray[np.uint8],
    step_ranks: NDArray[np.int64],
    words: NDArray[np.int64],
    g: NDArray[np.float64],
    packed: NDArray[np.int64],
    heap_f: NDArray[np.float64],
    heap_g: NDArray[np.float64],
    heap_cell: NDArray[np.int64],
    stacks: NDArray[np.int64],
    heights: NDArray[np.int64],
    heads: NDArray[np.int32],
    occupied: NDArray[np.uint64],
    entry_cell: NDArray[np.int32],
    entry_next: NDArray[np.int32],
    counters: NDArray[np.int64],
    floats: NDArray[np.float64],
    origin_x: int,
    origin_y: int,
    starts: NDArray[np.int64],
    goals: NDArray[np.int64],
    cancel: NDArray[np.uint8],
    summary: NDArray[np.int64],
    totals: NDArray[np.float64],
    cells: NDArray[np.int32],
    state: NDArray[np.int64],
) -> int:
    """Search from each start to its goal and write all results.

    Return FRESH when all is done; SEARCHING if the open list, WRITING if the cells must grow,
    TOO_LONG if a path needs another engine; it is called again after that. Invariant: the
    state tells where it goes on. The tuples arrive taken apart, since to unpack them at the call
    takes longer than a short search.
    """
    terrain = Terrain(
        width, height, masks, space, open_table, mask_table, classes, class_costs, cell_scale,
        layers, layer_rows, layer_weights, cost_model,
    )  # fmt: skip
    request = Request(
        request_integers[0],
        request_integers[1],
        request_floats[0],
        request_floats[1],
        request_integers[2],
        request_floats[2],
        request_integers[3] != 0,
        request_floats[3],
        request_floats[4],
        request_integers[4],
        request_integers[5],
        request_integers[6],
        request_integers[7],
        request_integers[8],
        request_integers[9] != 0,
        request_integers[10],
        request_integers[11],
        request_integers[12:],
        successors,
        step_ranks,
    )
    scratch = Scratch(
        words, g, packed, OpenList(heap_f, heap_g, heap_cell), stacks, heights, heads, occupied,
        entry_cell, entry_next, counters, floats,
    )  # fmt: skip
    outputs = Outputs(summary, totals, cells, state)
    origin = (origin_x, origin_y)
    trace = TraceArrays(starts[:0], starts[:0], floats[:0], floats[:0])
    while state[0] < starts.size:
        i = state[0]
        goal = goals[i]
        goal_y = goal // terrain.width
        query = Query(starts[i], goal, goal - goal_y * terrain.width, goal_y)
        if state[2] == FRESH:
            outputs.totals[i] = np.inf
            next_stamp_(scratch)
            state[3] = begin_search_(terrain, request, query, scratch)
        if not is_blocked_(request.allow_partial, state[3]) and state[2] != WRITING:
            outcome = advance_search_(UNLIMITED, terrain, request, query, scratch, trace, cancel)
            if outcome == OPEN_FULL:
                state[2] = SEARCHING
                return SEARCHING
            if outcome == TOO_LONG:
                state[2] = FRESH
                return TOO_LONG
            scratch.counters[OUTCOME] = outcome
        outcome = scratch.counters[OUTCOME]
        end = conclude_(request, query, scratch, state[3], outcome, outputs.summary[i])
        if end >= 0:
            if not write_path_(terrain, request, scratch, origin, end, state[1], i, outputs):
                state[2] = WRITING
                return WRITING
            state[1] += outputs.summary[i, S_COUNT]
        state[2] = FRESH
        state[0] += 1
    return FRESH


_NO_CELLS = np.empty(0, np.int64)
_NO_TRACE = TraceArrays(_NO_CELLS, _NO_CELLS, np.empty(0), np.empty(0))
_SUCCESSORS = {mode: canonical_successors(mode) for mode in DiagonalMode}

# An estimate by max and min of the distances on both axes, in straight steps and diagonal rests.
_FIXED_POINT = {
    Heuristic.OCTILE: (STRAIGHT, DIAGONAL - STRAIGHT),
    Heuristic.MANHATTAN: (STRAIGHT, STRAIGHT),
    Heuristic.CHEBYSHEV: (STRAIGHT, 0),
    Heuristic.ZERO: (0, 0),
}
_MAX_FIXED_WEIGHT = 4.0
_MAX_MULTIPLE = 64
_NO_RANKS = np.zeros(2 * N_CLASSES, np.int64)
_RUN_AHEAD = 24

# In least steps.
_BUCKET_WIDTH = 1.0 / 16.0


class AStar:
    """A*, weighted A* and Dijkstra with scratch of their own, for many queries on one grid.

    Parameters
    ----------
    grid : Grid
        The map; each query sees it as it is then.
    heuristic : Heuristic, optional
        Default: MANHATTAN under NEVER, else OCTILE. ZERO makes it Dijkstra's algorithm.
    weight : float
        Factor >= 1 on the estimate: faster, and the cost is at most ``weight`` times the least.
    inexact : bool
        Accept a heuristic that overestimates; the result then promises nothing.
    max_expansions : int, optional
        Stop with LIMIT after so many expansions.
    max_cost : float, optional
        Do not look beyond this cost from the start, >= 0. Where a step was too dear and the goal
        has not been reached the status is LIMIT, even if no dearer path leads there either: that
        the search has not seen. `islands` tells it beforehand.
    allow_partial : bool
        Where the goal is not reached, return the path to the expanded cell nearest to it by
        octile distance, then of smaller g, then of smaller flat index.
    islands : bool
        Ask the islands first, so that a goal out of reach is told without a search. They are
        labeled at first use (some ns a cell) and kept under edits; where an edit has left them
        unsure, the search runs. Has no effect on queries with ``ignored_cells`` and on partial
        paths.
    **movement
        Keywords of `Movement`.

    Raises
    ------
    InputError
        If an option is out of its bounds.

    Notes
    -----
    Four engines do the work. On uniform cost: canonical ordering in fixed point, whose rounding
    is 1.1e-8 of a cell a diagonal step. On classes that cost small multiples of one: fixed point
    as well. On other costs up to some thousands apart: float64 and a bucket queue. Else, and for
    zero costs: float64 and a binary heap. The cost stated is the float64 sum along the path.
    Where a path is too long for fixed point (millions of cells) the search begins anew in
    float64; metrics and trace are then of the second one.

    Deterministic: the open list is ordered by smaller f, in buckets no wider than the least
    step, and the last in is the first out of a bucket; with the heap by smaller f, then larger
    g, then smaller flat index. Directions are generated clockwise from east; among parents of
    equal g the first stays. Slices and threads change nothing. One object serves one thread at a
    time. Time O(n log n); scratch 8 bytes a cell in fixed point, else 16, plus the open list.

    Examples
    --------
    >>> grid = Grid.from_blocked([[False, True, False], [False, False, False]])
    >>> result = AStar(grid).find_path((0, 0), (2, 0))
    >>> result.cost, result.cells.tolist()
    (4.0, [[0, 0], [0, 1], [1, 1], [2, 1], [2, 0]])
    """

    def __init__(
        self,
        grid: Grid,
        *,
        heuristic: Heuristic | None = None,
        weight: float = 1.0,
        inexact: bool = False,
        max_expansions: int | None = None,
        max_cost: float | None = None,
        allow_partial: bool = False,
        islands: bool = False,
        **movement: Unpack[MovementOptions],
    ) -> None:
        self._movement = checked_movement(grid, movement, AStar)
        self._grid = grid
        self._in_use = threading.Lock()
        if heuristic is None:
            heuristic = best_heuristic(self._movement.diagonal_mode)
        self._heuristic = checked_enum("heuristic", heuristic, Heuristic)
        self._weight = checked_number("weight", weight, 1.0, "give a finite number >= 1")
        self._max_expansions = checked_count("max_expansions", max_expansions)
        self._max_cost = math.inf
        if max_cost is not None:
            self._max_cost = checked_number("max_cost", max_cost, 0.0, "give a number >= 0")
        self._allow_partial = checked_flag("allow_partial", allow_partial)
        self._ask_islands = checked_flag("islands", islands) and not self._allow_partial
        self._islands: Islands | None = None
        self.suboptimality = self._weight if self._heuristic != Heuristic.ZERO else 1.0
        """What every FOUND promises, see `PathResult.suboptimality`."""
        if checked_flag("inexact", inexact):
            self.suboptimality = math.inf
        else:
            check_heuristic(self._heuristic, self._movement.diagonal_mode)
        grid.terrain(self._movement)
        self._scratch = _empty_scratch()
        self._outputs = Outputs.of(1, 256)
        self._ends = (np.zeros(1, np.int64), np.zeros(1, np.int64))
        self._prepared_version = 0
        self._terrain: Terrain
        self._request: Request
        self._arguments: tuple[Any, ...]
        self._own_arguments: tuple[Any, ...]
        self._search: _Search | None = None

    def find_path(
        self,
        start: tuple[int, int],
        goal: tuple[int, int],
        *,
        blocked_cells: ArrayLike | None = None,
        ignored_cells: ArrayLike | None = None,
        cancel: CancelFlag | None = None,
        trace: SearchTrace | None = None,
    ) -> PathResult:
        """Search whole.

        Parameters
        ----------
        start, goal : (int, int)
            Cells x and y.
        blocked_cells, ignored_cells : array-like of int, shape (n, 2), optional
            Up to 4,096 cells each that count as walls, or as walkable, in this query. A cell in
            both is walkable; one whose class blocks costs as class cost 1.
        cancel : CancelFlag, optional
            Stops the search from another thread.
        trace : SearchTrace, optional
            Receives the expansions.

        Returns
        -------
        PathResult
            FOUND, PARTIAL, UNREACHABLE, START_BLOCKED, GOAL_BLOCKED, LIMIT or CANCELLED.

        Raises
        ------
        CellError
            If a cell lies outside the map.
        """
        if trace is not None or blocked_cells is not None or ignored_cells is not None:
            self.begin(
                start,
                goal,
                blocked_cells=blocked_cells,
                ignored_cells=ignored_cells,
                cancel=cancel,
                trace=trace,
            )
            self.advance(UNLIMITED)
            return self.finish()
        if not self._in_use.acquire(False):
            raise _in_use_error()
        try:
            self._search = None
            flag = NEVER if cancel is None else checked_cancel(cancel)
            grid = self._grid
            starts, goals = self._ends
            starts[0] = grid.flat_index(start, "start")
            goals[0] = grid.flat_index(goal, "goal")
            if self._prepared_version != grid.version:
                self.prepare()
            if self._islands is None or not self._are_apart(int(starts[0]), int(goals[0])):
                outputs = self._outputs
                outputs.state.fill(0)
                if cancel is None:
                    outcome = find_paths_(*self._own_arguments)
                else:
                    outcome = self._call(starts, goals, outputs, flag)
                if outcome != FRESH:
                    outputs = self._make_room(outcome, outputs)
                    self._use_outputs(self.run(starts, goals, outputs, flag))
                return self._result(self._outputs, start, goal, grid.version)
        finally:
            self._in_use.release()
        self.begin(start, goal)
        return self.finish()

    def run(
        self,
        starts: NDArray[np.int64],
        goals: NDArray[np.int64],
        outputs: Outputs,
        cancel: CancelFlag,
    ) -> Outputs:
        """Search for many pairs of flat cells, on the grid as the last query has seen it.

        Parameters
        ----------
        starts, goals : int64 arrays (n,)
            Flat cells, which lie on the map.
        outputs : Outputs
            With a row a pair and a state of zeros.
        cancel : CancelFlag
            Stops it.

        Returns
        -------
        Outputs
            The outputs, grown if the paths found no room in them.
        """
        while (outcome := self._call(starts, goals, outputs, cancel)) != FRESH:
            outputs = self._make_room(outcome, outputs)
        return outputs

    def _call(
        self,
        starts: NDArray[np.int64],
        goals: NDArray[np.int64],
        outputs: Outputs,
        cancel: CancelFlag,
    ) -> int:
        return find_paths_(
            *self._arguments,  # type: ignore[call-arg]
            starts,
            goals,
            cancel.array,
            *outputs,
        )

    def _make_room(self, outcome: int, outputs: Outputs) -> Outputs:
        """Grant what a call of `find_paths_` has ended for, and return the outputs to go on."""
        if outcome == WRITING:
            return outputs.grown()
        if outcome == SEARCHING:
            self._use_scratch(_grown_scratch(self._scratch, self._request.engine))
        else:
            self._use_wide_engine()
        return outputs

    def begin(
        self,
        start: tuple[int, int],
        goal: tuple[int, int],
        *,
        blocked_cells: ArrayLike | None = None,
        ignored_cells: ArrayLike | None = None,
        cancel: CancelFlag | None = None,
        trace: SearchTrace | None = None,
    ) -> None:
        """Begin a search in slices; any other that has not been finished is dropped before.

        Parameters
        ----------
        start, goal, blocked_cells, ignored_cells, cancel, trace
            As for `find_path`.

        Raises
        ------
        CellError
            If a cell lies outside the map.
        """
        self._search = None
        grid = self._grid
        flag, trace = checked_cancel(cancel), checked_trace(trace)
        start_flat = grid.flat_index(start, "start")
        goal_flat = grid.flat_index(goal, "goal")
        blocked = checked_query_cells(grid, "blocked_cells", blocked_cells)
        ignored = checked_query_cells(grid, "ignored_cells", ignored_cells)
        if self._prepared_version != grid.version:
            self.prepare()
        request = self._request
        closes = opens = _NO_CELLS
        if blocked.size or ignored.size:
            request = self._make_request(overriding=True)
            closes, opens = grid.space(self._movement).anchors(blocked, ignored)
        scratch = _scratch_with(self._scratch, request.engine, grid.size)
        if scratch is not self._scratch:
            self._use_scratch(scratch)
        query = Query(start_flat, goal_flat, goal_flat % grid.width, goal_flat // grid.width)
        ends = begin_(self._terrain, request, query, self._scratch, closes, opens)
        self._search = _Search(start, goal, request, query, ends, grid.version, flag, trace)
        if not ends & START_OPEN or not (ends & GOAL_OPEN or self._allow_partial):
            self._search.is_done = True
        elif not ignored.size and self._islands and self._are_apart(start_flat, goal_flat):
            self._search.is_done = True
            self._search.outcome = EXHAUSTED

    def advance(self, expansions: int) -> bool:
        """Go on for a slice.

        Parameters
        ----------
        expansions : int
            Most nodes to expand, 1 or more; a slice of 5,000 takes about 0.2 ms.

        Returns
        -------
        bool
            True when the search has ended and `finish` is due.

        Raises
        ------
        GridChangedError
            If the grid was edited since `begin`; the search is dropped.
        """
        search = self._current()
        if not isinstance(expansions, (int, np.integer)) or expansions < 1:
            raise InputError("expansions", expansions, "is not a budget", "give 1 or more")
        counters = self._scratch.counters
        last = min(int(counters[EXPANDED]) + int(expansions), UNLIMITED)
        if not self._in_use.acquire(blocking=False):
            raise _in_use_error()
        try:
            return self._advance(search, last)
        finally:
            self._in_use.release()

    def _advance(self, search: _Search, last: int) -> bool:
        counters = self._scratch.counters
        while not search.is_done:
            search.outcome = advance_(
                last - int(counters[EXPANDED]),
                self._terrain,
                search.request,
                search.query,
                self._scratch,
                _NO_TRACE if search.trace is None else search.trace.arrays,
                search.cancel.array,
            )
            if search.outcome == RUNNING:
                return False
            if search.outcome == OPEN_FULL:
                self._use_scratch(_grown_scratch(self._scratch, search.request.engine))
            elif search.outcome == TOO_LONG:
                last -= int(counters[EXPANDED])
                self._use_wide_engine()
                search.request = self._request
                begin_(
                    self._terrain, search.request, search.query, self._scratch, _NO_CELLS, _NO_CELLS
                )
                search.outcome = RUNNING
                if last <= 0:
                    return False
            else:
                search.is_done = True
        return True

    def finish(self) -> PathResult:
        """End the search and return its result.

        Returns
        -------
        PathResult
            As for `find_path`; CANCELLED (or PARTIAL) if `advance` has not returned True.

        Raises
        ------
        GridChangedError
            If the grid was edited since `begin`; the search is dropped.
        """
        search = self._current()
        self._search = None
        grid = self._grid
        if search.trace is not None:
            expanded = int(self._scratch.counters[EXPANDED])
            search.trace.close(expanded, grid.width, grid.region_position)
        outputs = self._outputs
        outputs.totals[0] = np.inf
        while not finish_(
            self._terrain,
            search.request,
            search.query,
            self._scratch,
            grid.region_position,
            search.ends,
            search.outcome,
            outputs,
        ):
            outputs = outputs.grown()
        if outputs is not self._outputs:
            self._use_outputs(outputs)
        return self._result(outputs, search.start, search.goal, search.map_version)

    def prepare(self) -> None:
        """Read the grid's arrays again after an edit, and choose the engine.

        Queries do so themselves; `run` does not.
        """
        if self._ask_islands:
            self._islands = islands_of(self._grid, self._movement)
        self._terrain = self._grid.terrain(self._movement)
        self._use_request(self._make_request())
        self._prepared_version = self._grid.version

    def _are_apart(self, start: int, goal: int) -> bool:
        """Return whether the islands are sure that no way leads from one flat cell to another."""
        assert self._islands is not None
        return self._islands.may_reach(start, goal) is Reach.SEPARATE

    def _use_wide_engine(self) -> None:
        """Go on in float64 where a path is too long for fixed point."""
        self._use_request(self._make_request(is_long=True))

    def _use_request(self, request: Request) -> None:
        self._request = request
        self._use_scratch(_scratch_with(self._scratch, request.engine, self._grid.size))

    def _use_scratch(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._arguments = self._take_apart()
        self._use_outputs(self._outputs)

    def _use_outputs(self, outputs: Outputs) -> None:
        self._outputs = outputs
        # To gather all arguments takes as long as some searches, so that is not done a query.
        self._own_arguments = (*self._arguments, *self._ends, NEVER.array, *outputs)

    def _take_apart(self) -> tuple[Any, ...]:
        """Return the first arguments of `find_paths_`."""
        scratch = self._scratch
        i = scratch._fields.index("heap")
        *scalars, offsets, successors, step_ranks = self._request
        integers = [value for value in scalars if not isinstance(value, float)]
        return (
            *self._terrain,
            np.array([*integers, *offsets], np.int64),
            np.array([value for value in scalars if isinstance(value, float)], np.float64),
            successors,
            step_ranks,
            *scratch[:i],
            *scratch.heap,
            *scratch[i + 1 :],
            *self._grid.region_position,
        )

    def _make_request(self, *, overriding: bool = False, is_long: bool = False) -> Request:
        """Return the options as kernels read them, with the engine that suits the costs."""
        least, greatest = self._grid.cost_range(self._movement, ignoring=overriding)
        model = self._movement.cost_model
        row_factor, row_shift = row_division(self._grid.width)
        request = Request(
            engine=HEAP,
            heuristic=int(self._heuristic),
            unit_cost=least_unit_cost(least, model),
            weight=self._weight,
            max_expansions=self._max_expansions,
            max_cost=self._max_cost,
            allow_partial=self._allow_partial,
            bucket_rate=0.0,
            g_unit=0.0,
            straight=0,
            diagonal_rest=0,
            max_g=0,
            shift=0,
            run_ahead=0,
            four_neighbours=self._movement.diagonal_mode == DiagonalMode.NEVER,
            row_factor=row_factor,
            row_shift=row_shift,
            offsets=_offsets(self._grid.width),
            successors=_SUCCESSORS[self._movement.diagonal_mode],
            step_ranks=_NO_RANKS,
        )
        unit = request.unit_cost
        if unit == 0.0:
            return request
        in_fixed_point = self._heuristic in _FIXED_POINT and self._weight <= _MAX_FIXED_WEIGHT
        if in_fixed_point and not overriding and not is_long:
            if least == greatest:
                request = self._in_fixed_point(request, CANONICAL, unit, 1, _RUN_AHEAD)
            else:
                request = self._in_multiples(request)
            if request.engine != HEAP:
                return request
        growth_of_f = SQRT2 * least_unit_cost(greatest, model) + 2.0 * self._weight * unit
        width = max(growth_of_f / (N_BUCKETS - 4), unit * _BUCKET_WIDTH)
        if width <= unit:
            return request._replace(engine=BUCKETS, bucket_rate=1.0 / width)
        return request

    def _in_multiples(self, request: Request) -> Request:
        """Return the request for MULTIPLES, if the costs are small multiples of one."""
        costs = self._grid.class_costs(self._movement)
        if costs is None or self._movement.cost_model != CostModel.ENTERED:
            return request
        for parts in range(1, 9):
            base = float(costs[0]) / parts
            multiples = np.rint(costs / base)
            if multiples[-1] > _MAX_MULTIPLE:
                return request
            if np.allclose(multiples * base, costs, rtol=2.0**-50, atol=0.0):
                break
        else:
            return request
        chosen = self._in_fixed_point(request, MULTIPLES, base, parts, 0, int(multiples[-1]))
        by_class = np.zeros(N_CLASSES, np.int64)
        finite = np.isfinite(self._movement.profile.costs)
        # Classes that are not on the map may cost anything.
        by_class[finite] = np.minimum(
            np.rint(self._movement.profile.costs[finite] / base), _MAX_MULTIPLE
        )
        is_ordered = 1 << chosen.shift <= parts * STRAIGHT
        step_ranks = np.outer(by_class, (STRAIGHT << G_SHIFT, DIAGONAL << G_SHIFT)).reshape(-1)
        return chosen._replace(step_ranks=step_ranks) if is_ordered else request

    def _in_fixed_point(
        self,
        request: Request,
        engine: int,
        base: float,
        least: int,
        run_ahead: int,
        greatest: int = 1,
    ) -> Request:
        """Return the request for steps that cost from `least` to `greatest` times the base."""
        straight, rest = (
            int(self._weight * least * part) for part in _FIXED_POINT[self._heuristic]
        )
        # The most that f can grow in a step.
        growth = greatest * DIAGONAL + straight + rest
        shift = 10
        while (growth >> shift) + 2 + run_ahead >= N_STACKS:
            shift += 1
        max_g = MAX_G - growth
        if self._max_cost < math.inf:
            # A sum of float64 costs along the longest path may be off by so much.
            limit = self._max_cost / base * STRAIGHT * (1.0 + 2.0**-31) + 1e-6
            max_g = math.floor(min(max_g, limit))
        return request._replace(
            engine=engine,
            g_unit=base / STRAIGHT,
            straight=straight,
            diagonal_rest=rest,
            max_g=max_g,
            shift=shift,
            run_ahead=run_ahead,
        )

    def _current(self) -> _Search:
        search = self._search
        if search is None:
            raise InputError(
                "search", "AStar", "has no search in slices under way", "call begin first"
            )
        if search.map_version != self._grid.version:
            self._search = None
            raise GridChangedError(
                f"the grid went from version {search.map_version} to {self._grid.version} "
                "during the search; begin it again, or search a copy of the grid"
            )
        return search

    def _result(
        self,
        outputs: Outputs,
        start: tuple[int, int],
        goal: tuple[int, int],
        map_version: int,
    ) -> PathResult:
        """Return row 0 of the outputs."""
        row = outputs.summary[0].tolist()
        status, detail, _, count, expanded, generated, reopened, peak = row
        cost, length = outputs.totals[0].tolist()
        return PathResult(
            ResultRow(
                status,
                detail,
                start,
                goal,
                outputs.cells[:count].copy(),
                cost,
                length,
                self.suboptimality,
                expanded,
                generated,
                reopened,
                peak,
                map_version,
            )
        )


def _in_use_error() -> InputError:
    return InputError(
        "search", "AStar", "is at work in another thread", "give each thread an AStar of its own"
    )


class _Search:
    """The state of a begun search that lies outside the arrays."""

    __slots__ = (
        "cancel", "ends", "goal", "is_done", "map_version", "outcome", "query", "request",
        "start", "trace",
    )  # fmt: skip

    def __init__(
        self,
        start: tuple[int, int],
        goal: tuple[int, int],
        request: Request,
        query: Query,
        ends: int,
        map_version: int,
        cancel: CancelFlag,
        trace: SearchTrace | None,
    ) -> None:
        self.start = start
        self.goal = goal
        self.request = request
        self.query = query
        self.ends = ends
        self.map_version = map_version
        self.cancel = cancel
        self.trace = trace
        self.outcome = RUNNING
        self.is_done = False


def find_path(
    grid: Grid,
    start: tuple[int, int],
    goal: tuple[int, int],
    *,
    algorithm: str = "astar",
    heuristic: Heuristic | None = None,
    weight: float = 1.0,
    inexact: bool = False,
    max_expansions: int | None = None,
    max_cost: float | None = None,
    allow_partial: bool = False,
    islands: bool = False,
    blocked_cells: ArrayLike | None = None,
    ignored_cells: ArrayLike | None = None,
    cancel: CancelFlag | None = None,
    trace: SearchTrace | None = None,
    **movement: Unpack[MovementOptions],
) -> PathResult:
    """Find one path; for many on one grid, keep an `AStar`.

    Parameters
    ----------
    grid : Grid
        The map.
    start, goal : (int, int)
        Cells x and y.
    algorithm : {"astar", "dijkstra"}
        Dijkstra's is A* with the heuristic ZERO, and without a weight.
    heuristic, weight, inexact, max_expansions, max_cost, allow_partial, islands
        As for `AStar`.
    blocked_cells, ignored_cells, cancel, trace
        As for `AStar.find_path`.
    **movement
        As for `AStar`.

    Returns
    -------
    PathResult
        Status, cells, cost and metrics.

    Raises
    ------
    InputError
        If an argument is out of its bounds.

    Examples
    --------
    >>> find_path(Grid.filled(3, 3), (0, 0), (2, 2)).cells.tolist()
    [[0, 0], [1, 1], [2, 2]]
    """
    if algorithm not in ALGORITHMS:
        raise InputError(
            "algorithm", algorithm, "is not known", f"choose one of {', '.join(ALGORITHMS)}"
        )
    check_keywords(movement, find_path)
    if algorithm == "dijkstra":
        if weight != 1.0:
            raise InputError(
                "weight", weight, "does not go with dijkstra", "leave it out, or use astar"
            )
        if heuristic not in (None, Heuristic.ZERO):
            raise InputError(
                "heuristic", heuristic, "does not go with dijkstra", "leave it out, or use astar"
            )
        heuristic = Heuristic.ZERO
    search = AStar(
        grid,
        heuristic=heuristic,
        weight=weight,
        inexact=inexact,
        max_expansions=max_expansions,
        max_cost=max_cost,
        allow_partial=allow_partial,
        islands=islands,
        **movement,
    )
    return search.find_path(
        start,
        goal,
        blocked_cells=blocked_cells,
        ignored_cells=ignored_cells,
        cancel=cancel,
        trace=trace,
    )


def _empty_scratch() -> Scratch:
    """Return scratch without room for any engine."""
    return Scratch(
        words=np.empty(0, np.int64),
        g=np.empty(0, np.float64),
        packed=np.empty(0, np.int64),
        heap=OpenList.of(0),
        stacks=np.empty(0, np.int64),
        heights=np.empty(N_STACKS, np.int64),
        heads=np.empty(0, np.int32),
        occupied=np.empty(65, np.uint64),
        entry_cell=np.empty(0, np.int32),
        entry_next=np.empty(0, np.int32),
        counters=np.zeros(N_COUNTERS, np.int64),
        floats=np.zeros(N_FLOATS, np.float64),
    )


def _scratch_with(scratch: Scratch, engine: int, size: int) -> Scratch:
    """Return scratch with room for an engine on a map of so many cells."""
    if engine >= CANONICAL:
        if scratch.packed.size:
            return scratch
        # Zeroed by the system page by page: a short search on a large map stays small.
        return scratch._replace(
            packed=np.zeros(size, np.int64), stacks=np.empty(N_STACKS * 256, np.int64)
        )
    if not scratch.words.size:
        words = np.zeros(2 * size, np.int64)
        scratch = scratch._replace(words=words, g=words.view(np.float64))
    if engine == HEAP and not scratch.heap.f.size:
        scratch = scratch._replace(heap=OpenList.of(1024))
    if engine == BUCKETS and not scratch.heads.size:
        scratch = scratch._replace(
            heads=np.empty(N_BUCKETS, np.int32),
            entry_cell=np.empty(1024, np.int32),
            entry_next=np.empty(1024, np.int32),
        )
    return scratch


def _grown_scratch(scratch: Scratch, engine: int) -> Scratch:
    """Return scratch whose open list has twice the room and the same entries."""
    if engine >= CANONICAL:
        rows = scratch.stacks.reshape(N_STACKS, -1)
        stacks = np.empty((N_STACKS, 2 * rows.shape[1]), np.int64)
        stacks[:, : rows.shape[1]] = rows
        return scratch._replace(stacks=stacks.reshape(-1))
    if engine == HEAP:
        return scratch._replace(heap=scratch.heap.grown())
    return scratch._replace(
        entry_cell=_doubled(scratch.entry_cell), entry_next=_doubled(scratch.entry_next)
    )


def _offsets(width: int) -> NDArray[np.int64]:
    """Return what a step adds to a flat cell, by direction."""
    return np.array([dy * width + dx for dx, dy in zip(DX, DY, strict=True)], np.int64)


def _doubled(array: NDArray[Any]) -> NDArray[Any]:
    larger = np.empty(2 * array.size, array.dtype)
    larger[: array.size] = array
    return larger


def _warm_up() -> None:
    search = AStar(Grid([[0, 0]]))
    search.find_path((0, 0), (1, 0))
    search.find_path((0, 0), (1, 0), ignored_cells=[[1, 0]])


register_warm_up("A*", _warm_up)
