"""The engine for uniform cost: integers, a word a node, and one path to each cell.

On uniform cost most cells can be reached by many paths of equal cost. Canonical ordering keeps
one of them: the one whose diagonal steps come first (under NEVER, whose vertical steps come
first). A cell then generates only the neighbours that its arrival direction leaves it, and those
that an obstacle forces on it; jump point search prunes alike, and jumps on top of it. Where a
cell has a single successor ahead, the engine runs on along it without the open list.

Costs and the open list are those of `packed_nodes`.

Sources: Harabor and Grastien, "Online Graph Pruning for Pathfinding on Grid Maps" (2011),
sections 3 and 4, and "Improving Jump Point Search" (2014) for steps that cut no corner; Sturtevant
and Rabin, "Canonical Orderings on Grids" (2016).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from navserver._jit import subkernel, trailing_zeros
from navserver.search.costs import Terrain
from navserver.search.engine import (
    BOUND,
    BUCKET,
    COST_PRUNED,
    ENTRIES,
    EXPANDED,
    GENERATED_COUNT,
    NO_CELL,
    OPEN_PEAK,
    PENDING,
    REOPENED,
    STAMP,
    Query,
    Request,
    Scratch,
    record_expansion_,
)
from navserver.search.moves import dx_, dy_
from navserver.search.nodes import TraceArrays
from navserver.search.packed_nodes import (
    ARRIVAL_SHIFT,
    CLOSED_BIT,
    DIAGONAL,
    G_SHIFT,
    GO_ON,
    HAS_ARRIVAL,
    MAX_G,
    RANK,
    STAMP_AT,
    STRAIGHT,
    estimate_,
    interrupted_,
    pop_stack_,
    push_stack_,
    real_g_,
    stopped_,
)

__all__ = ["advance_canonical_"]


@subkernel
def advance_canonical_(
    budget: int,
    terrain: Terrain,
    request: Request,
    query: Query,
    scratch: Scratch,
    trace: TraceArrays,
    cancel: NDArray[np.uint8],
) -> int:
    """Expand at most `budget` nodes and return why it stopped.

    Invariant: outside the inner loop every node that is generated and not closed has an entry
    or is the pending one, and no entry lies below the current bucket.
    """
    width = terrain.width
    masks = terrain.masks
    successors = request.successors
    offsets = request.offsets
    packed = scratch.packed
    stacks = scratch.stacks
    heights = scratch.heights
    counters = scratch.counters
    noting = trace.cells.size > 0 or request.allow_partial
    shift = request.shift
    run_ahead = request.run_ahead
    four_neighbours = request.four_neighbours
    max_g = request.max_g
    fresh = counters[STAMP] << STAMP_AT
    filled = scratch.occupied[0]
    bound = counters[BOUND]
    bucket = counters[BUCKET]
    pending = counters[PENDING]
    entries = counters[ENTRIES]
    peak = counters[OPEN_PEAK]
    expanded = counters[EXPANDED]
    generated = counters[GENERATED_COUNT]
    reopened = counters[REOPENED]
    last = expanded + budget
    stop = min(last, request.max_expansions)
    is_full = False
    is_nearly_full = False
    while True:
        if pending == NO_CELL:
            pending, filled, bucket, entries = pop_stack_(
                terrain, request, scratch, filled, bucket, entries, bound, False
            )
            if pending == NO_CELL:
                outcome = stopped_(request, bound, expanded, last)
                break
        outcome = interrupted_(request, is_full, expanded, stop, cancel)
        if outcome != GO_ON:
            break
        cell = pending
        pending = np.int64(NO_CELL)
        word = packed[np.uint64(cell)]
        y = (cell * request.row_factor) >> request.row_shift
        away_x = cell - y * width - query.goal_x
        away_y = y - query.goal_y
        while True:
            # Expand the cell, whose node is `word`.
            packed[np.uint64(cell)] = word | CLOSED_BIT
            rank = word & RANK
            arrival = (word >> ARRIVAL_SHIFT) & 7 if word & HAS_ARRIVAL else 8
            if noting:
                g = MAX_G - ((word >> G_SHIFT) & MAX_G)
                record_expansion_(
                    terrain, request, query, scratch, trace, expanded, cell, arrival,
                    real_g_(request, g),
                )  # fmt: skip
            expanded += 1
            mask = np.int64(masks[np.uint64(cell)])
            key = mask
            if four_neighbours and arrival < 8:
                key = np.int64(masks[cell - offsets[arrival]])
            moves = mask & np.int64(successors[arrival, key])
            if moves == 1 << arrival:
                # Run on as long as the cell ahead is the only successor.
                dx = dx_(arrival)
                dy = dy_(arrival)
                ahead = offsets[arrival]
                step = DIAGONAL if arrival & 1 else STRAIGHT
                g = MAX_G - ((word >> G_SHIFT) & MAX_G)
                low = (arrival << ARRIVAL_SHIFT) | HAS_ARRIVAL
                top = (bucket + 1 + run_ahead) << shift
                while True:
                    cell += ahead
                    away_x += dx
                    away_y += dy
                    g += step
                    rank -= step << G_SHIFT
                    before = packed[np.uint64(cell)]
                    moves = 0
                    if rank <= before:
                        break
                    if g > max_g:
                        counters[COST_PRUNED] = 1
                        break
                    f = g + estimate_(request, away_x, away_y)
                    if f >= bound:
                        break
                    if before >= fresh and before & CLOSED_BIT:
                        reopened += 1
                    generated += 1
                    packed[np.uint64(cell)] = rank | low
                    if cell == query.goal:
                        bound = g
                        break
                    if f >= top:
                        filled, is_nearly_full = push_stack_(
                            stacks, heights, filled, max(f >> shift, bucket), f, cell
                        )
                        is_full |= is_nearly_full
                        entries += 1
                        break
                    if expanded >= stop:
                        pending = cell
                        break
                    if noting:
                        record_expansion_(
                            terrain, request, query, scratch, trace, expanded, cell, arrival,
                            real_g_(request, g),
                        )  # fmt: skip
                    packed[np.uint64(cell)] = rank | low | CLOSED_BIT
                    expanded += 1
                    key = mask
                    mask = np.int64(masks[np.uint64(cell)])
                    if not four_neighbours:
                        key = mask
                    moves = mask & np.int64(successors[arrival, key])
                    if moves != 1 << arrival:
                        break
                if moves == 0:
                    break
            is_single = moves & (moves - 1) == 0
            next_cell = np.int64(NO_CELL)
            next_x = 0
            next_y = 0
            next_word = np.int64(0)
            next_f = np.int64(0)
            while moves:
                direction = np.int64(trailing_zeros(moves))
                moves &= moves - 1
                to = cell + offsets[direction]
                to_rank = rank - ((DIAGONAL if direction & 1 else STRAIGHT) << G_SHIFT)
                before = packed[np.uint64(to)]
                if to_rank <= before:
                    continue
                to_g = MAX_G - ((to_rank >> G_SHIFT) & MAX_G)
                if to_g > max_g:
                    counters[COST_PRUNED] = 1
                    continue
                x = away_x + dx_(direction)
                y = away_y + dy_(direction)
                f = to_g + estimate_(request, x, y)
                if f >= bound:
                    continue
                if before >= fresh and before & CLOSED_BIT:
                    reopened += 1
                generated += 1
                to_word = to_rank | (direction << ARRIVAL_SHIFT) | HAS_ARRIVAL
                packed[np.uint64(to)] = to_word
                if to == query.goal:
                    bound = to_g
                    continue
                to_bucket = max(f >> shift, bucket)
                if to_bucket == bucket or (is_single and to_bucket <= bucket + run_ahead):
                    # The last one stays in hand; the one in hand before goes on the open list.
                    if next_cell != NO_CELL:
                        filled, is_nearly_full = push_stack_(
                            stacks, heights, filled, bucket, next_f, next_cell
                        )
                        is_full |= is_nearly_full
                        entries += 1
                    next_cell = to
                    next_x = x
                    next_y = y
                    next_word = to_word
                    next_f = f
                else:
                    filled, is_nearly_full = push_stack_(stacks, heights, filled, to_bucket, f, to)
                    is_full |= is_nearly_full
                    entries += 1
            if next_cell == NO_CELL or next_f >= bound:
                break
            if is_full or expanded >= stop:
                pending = next_cell
                break
            cell = next_cell
            away_x = next_x
            away_y = next_y
            word = next_word
        peak = max(peak, entries)
    scratch.occupied[0] = filled
    counters[BOUND] = bound
    counters[BUCKET] = bucket
    counters[PENDING] = pending
    counters[ENTRIES] = entries
    counters[OPEN_PEAK] = peak
    counters[EXPANDED] = expanded
    counters[GENERATED_COUNT] = generated
    counters[REOPENED] = reopened
    return outcome
