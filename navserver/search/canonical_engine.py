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
    CANCELLED,
    COST_PRUNED,
    ENTRIES,
    EXHAUSTED,
    EXPANDED,
    EXPANSION_LIMIT,
    GENERATED_COUNT,
    NO_CELL,
    OPEN_FULL,
    OPEN_PEAK,
    PENDING,
    REACHED,
    REOPENED,
    RUNNING,
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
    BELOW_G,
    CELL_BITS,
    CELL_MASK,
    CLOSED_BIT,
    DIAGONAL,
    G_SHIFT,
    HAS_ARRIVAL,
    MAX_G,
    N_STACKS,
    STAMP_AT,
    STRAIGHT,
    UNBOUNDED,
    estimate_,
    push_stack_,
    real_g_,
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
    packed = scratch.packed
    stacks = scratch.stacks
    heights = scratch.heights
    occupied = scratch.occupied
    counters = scratch.counters
    capacity = stacks.size >> 6
    noting = trace.cells.size > 0 or request.allow_partial
    goal_x = query.goal_x
    goal_y = query.goal_y
    straight = request.straight
    diagonal_rest = request.diagonal_rest
    shift = request.shift
    run_ahead = request.run_ahead
    four_neighbours = request.four_neighbours
    max_g = request.max_g
    fresh = counters[STAMP] << STAMP_AT
    bound = counters[BOUND]
    bucket = counters[BUCKET]
    pending = counters[PENDING]
    entries = counters[ENTRIES]
    expanded = counters[EXPANDED]
    generated = counters[GENERATED_COUNT]
    reopened = counters[REOPENED]
    last = expanded + budget
    stop = min(last, request.max_expansions)
    is_full = False
    outcome = RUNNING
    while True:
        if pending == NO_CELL:
            filled = occupied[0]
            if filled == 0 and bound == UNBOUNDED:
                outcome = EXHAUSTED
                break
            if filled != 0:
                turn = np.uint64(bucket & (N_STACKS - 1))
                turned = (filled >> turn) | (
                    filled << ((np.uint64(N_STACKS) - turn) & np.uint64(N_STACKS - 1))
                )
                bucket += np.int64(trailing_zeros(turned))
            if filled == 0 or (bucket << shift) >= bound:
                if expanded >= request.max_expansions:
                    outcome = EXPANSION_LIMIT
                elif expanded < last:
                    outcome = REACHED
                break
            slot = bucket & (N_STACKS - 1)
            height = heights[slot] - 1
            entry = stacks[slot * capacity + height]
            heights[slot] = height
            if height == 0:
                occupied[0] = filled & ~(np.uint64(1) << np.uint64(slot))
            entries -= 1
            pending = entry & CELL_MASK
            if packed[pending] & CLOSED_BIT or (entry >> CELL_BITS) >= bound:
                pending = np.int64(NO_CELL)
                continue
        if is_full:
            outcome = OPEN_FULL
            break
        if expanded >= stop:
            if expanded >= request.max_expansions:
                outcome = EXPANSION_LIMIT
            break
        if cancel[0]:
            outcome = CANCELLED
            break
        cell = pending
        pending = np.int64(NO_CELL)
        word = packed[cell]
        y = cell // width
        x = cell - y * width
        while True:
            # Expand the cell, whose node is `word`.
            packed[cell] = word | CLOSED_BIT
            g = MAX_G - ((word >> G_SHIFT) & MAX_G)
            arrival = (word >> ARRIVAL_SHIFT) & 7 if word & HAS_ARRIVAL else 8
            if noting:
                record_expansion_(
                    terrain, request, query, scratch, trace, expanded, cell, arrival,
                    real_g_(request, g),
                )  # fmt: skip
            expanded += 1
            mask = np.int64(masks[cell])
            key = mask
            if four_neighbours and arrival < 8:
                key = np.int64(masks[cell - dy_(arrival) * width - dx_(arrival)])
            moves = mask & np.int64(successors[arrival, key])
            if moves == 1 << arrival:
                # Run on as long as the cell ahead is the only successor.
                dx = dx_(arrival)
                dy = dy_(arrival)
                ahead = dy * width + dx
                step = DIAGONAL if arrival & 1 else STRAIGHT
                low = (arrival << ARRIVAL_SHIFT) | HAS_ARRIVAL
                top = (bucket + 1 + run_ahead) << shift
                while True:
                    cell += ahead
                    x += dx
                    y += dy
                    g += step
                    word = fresh | ((MAX_G - g) << G_SHIFT) | low
                    before = packed[cell]
                    moves = 0
                    if word <= (before | BELOW_G):
                        break
                    if g > max_g:
                        counters[COST_PRUNED] = 1
                        break
                    f = g + estimate_(straight, diagonal_rest, x - goal_x, y - goal_y)
                    if f >= bound:
                        break
                    if before >= fresh and before & CLOSED_BIT:
                        reopened += 1
                    generated += 1
                    packed[cell] = word
                    if cell == query.goal:
                        bound = g
                        break
                    if f >= top:
                        is_full |= push_stack_(
                            stacks, heights, occupied, max(f >> shift, bucket), f, cell
                        )
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
                    packed[cell] = word | CLOSED_BIT
                    expanded += 1
                    key = mask
                    mask = np.int64(masks[cell])
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
                dx = dx_(direction)
                dy = dy_(direction)
                to = cell + dy * width + dx
                to_g = g + (DIAGONAL if direction & 1 else STRAIGHT)
                to_word = (
                    fresh | ((MAX_G - to_g) << G_SHIFT) | (direction << ARRIVAL_SHIFT) | HAS_ARRIVAL
                )
                before = packed[to]
                if to_word <= (before | BELOW_G):
                    continue
                if to_g > max_g:
                    counters[COST_PRUNED] = 1
                    continue
                f = to_g + estimate_(straight, diagonal_rest, x + dx - goal_x, y + dy - goal_y)
                if f >= bound:
                    continue
                if before >= fresh and before & CLOSED_BIT:
                    reopened += 1
                generated += 1
                packed[to] = to_word
                if to == query.goal:
                    bound = to_g
                    continue
                to_bucket = max(f >> shift, bucket)
                if to_bucket == bucket or (is_single and to_bucket <= bucket + run_ahead):
                    # The last one stays in hand; the one in hand before goes on the open list.
                    if next_cell != NO_CELL:
                        is_full |= push_stack_(stacks, heights, occupied, bucket, next_f, next_cell)
                        entries += 1
                    next_cell = to
                    next_x = x + dx
                    next_y = y + dy
                    next_word = to_word
                    next_f = f
                else:
                    is_full |= push_stack_(stacks, heights, occupied, to_bucket, f, to)
                    entries += 1
            if next_cell == NO_CELL or next_f >= bound:
                break
            if is_full or expanded >= stop:
                pending = next_cell
                break
            cell = next_cell
            x = next_x
            y = next_y
            word = next_word
        counters[OPEN_PEAK] = max(counters[OPEN_PEAK], entries)
    counters[BOUND] = bound
    counters[BUCKET] = bucket
    counters[PENDING] = pending
    counters[ENTRIES] = entries
    counters[EXPANDED] = expanded
    counters[GENERATED_COUNT] = generated
    counters[REOPENED] = reopened
    return outcome
