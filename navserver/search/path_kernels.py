"""The kernels of whole searches: begin, advance by an engine, and write the path.

What they return is taken on by `AStar`, which grows what has run full and calls them again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver._jit import kernel, subkernel
from navserver.search.bucket_engine import advance_buckets_, begin_buckets_
from navserver.search.canonical_engine import advance_canonical_
from navserver.search.costs import SQRT2, Terrain, cell_cost_, step_cost_
from navserver.search.engine import (
    BOUND,
    BUCKETS,
    CANONICAL,
    COST_PRUNED,
    EXHAUSTED,
    EXPANDED,
    EXPANSION_LIMIT,
    GENERATED_COUNT,
    MULTIPLES,
    NEAREST,
    OPEN_FULL,
    OPEN_PEAK,
    OUTCOME,
    REACHED,
    REOPENED,
    STAMP,
    TOO_LONG,
    Query,
    Request,
    Scratch,
    begin_nodes_,
    next_stamp_,
    record_expansion_,
)
from navserver.search.heap_engine import advance_heap_, begin_heap_
from navserver.search.moves import dx_, dy_
from navserver.search.multiples_engine import advance_multiples_
from navserver.search.nodes import (
    HAS_PARENT,
    PARENT_SHIFT,
    OpenList,
    TraceArrays,
    is_open_,
    override_nodes_,
)
from navserver.search.packed_nodes import ARRIVAL_SHIFT, HAS_ARRIVAL, begin_packed_, real_g_
from navserver.search.validation import UNLIMITED

__all__ = ["Outputs"]

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
