"""The engine for costs that differ: float64 g and a circular bucket queue.

Bucket ``k`` holds the nodes with ``k <= f * bucket_rate < k + 1``; inside a bucket the last in
is the first out. A bucket is no wider than the least step, so that order is lost only among
nodes of nearly equal f; what that costs is mended: a closed node is reopened when a smaller g
comes, and the search goes on until no entry's f lies below the goal's best g.

Three of the eight neighbours need no look, since the parent reaches them at no more cost: those
adjacent to it by a straight step, and the parent itself. (Under PRODUCT only the parent.)

Source of the bucket queue: Dial, "Algorithm 360: Shortest-path forest with topological ordering"
(1969).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from navserver._jit import inlined, prefetch, subkernel, trailing_zeros
from navserver.search.costs import ENTERED, PRODUCT, Terrain, cost_of_, step_of_
from navserver.search.engine import (
    BOUND_G,
    BUCKET,
    CANCELLED,
    COST_PRUNED,
    ENTRIES,
    EXHAUSTED,
    EXPANDED,
    EXPANSION_LIMIT,
    FREE,
    GENERATED_COUNT,
    NO_CELL,
    OPEN_FULL,
    OPEN_PEAK,
    REACHED,
    REOPENED,
    RUNNING,
    STAMP,
    USED,
    Query,
    Request,
    Scratch,
    record_expansion_,
)
from navserver.search.heuristics import distance_
from navserver.search.moves import NOT_BACK, WORTH, dx_, dy_, turned_
from navserver.search.nodes import (
    CLOSED,
    GENERATED,
    HAS_PARENT,
    MASK_BITS,
    PARENT_SHIFT,
    PATCHED,
    QUERY_BITS,
    REOPEN_MARGIN,
    STAMP_SHIFT,
    TraceArrays,
)

__all__ = ["N_BUCKETS", "advance_buckets_", "begin_buckets_"]

N_BUCKETS = 4096
"""64 words of 64 bits, and one word that says which of them are not empty."""


@inlined
def push_bucket_(
    heads: NDArray[np.int32],
    occupied: NDArray[np.uint64],
    entry_cell: NDArray[np.int32],
    entry_next: NDArray[np.int32],
    counters: NDArray[np.int64],
    bucket: int,
    cell: int,
) -> None:
    """Put a cell on a bucket; the caller has made sure of the room."""
    entry = counters[FREE]
    if entry == NO_CELL:
        entry = counters[USED]
        counters[USED] += 1
    else:
        counters[FREE] = entry_next[entry]
    slot = bucket & (N_BUCKETS - 1)
    entry_cell[entry] = cell
    entry_next[entry] = heads[slot]
    heads[slot] = entry
    word = slot >> 6
    occupied[word] |= np.uint64(1) << np.uint64(slot & 63)
    occupied[64] |= np.uint64(1) << np.uint64(word)
    counters[ENTRIES] += 1


@inlined
def pop_bucket_(
    heads: NDArray[np.int32],
    occupied: NDArray[np.uint64],
    entry_cell: NDArray[np.int32],
    entry_next: NDArray[np.int32],
    counters: NDArray[np.int64],
    bucket: int,
) -> int:
    """Take the last cell off a bucket that is not empty."""
    slot = bucket & (N_BUCKETS - 1)
    entry = np.int64(heads[slot])
    following = entry_next[entry]
    heads[slot] = following
    entry_next[entry] = counters[FREE]
    counters[FREE] = entry
    if following == NO_CELL:
        word = slot >> 6
        occupied[word] &= ~(np.uint64(1) << np.uint64(slot & 63))
        if occupied[word] == 0:
            occupied[64] &= ~(np.uint64(1) << np.uint64(word))
    counters[ENTRIES] -= 1
    return np.int64(entry_cell[entry])


@inlined
def next_bucket_(occupied: NDArray[np.uint64], bucket: int) -> int:
    """Return the first bucket from the given one on that is not empty; one must be."""
    slot = bucket & (N_BUCKETS - 1)
    word = slot >> 6
    here = occupied[word] >> np.uint64(slot & 63)
    if here:
        return bucket + np.int64(trailing_zeros(here))
    # The words that follow, rotated so that the next one comes first.
    after = (word + 1) & 63
    words = occupied[64]
    turned = (words >> np.uint64(after)) | (words << np.uint64((64 - after) & 63))
    steps = np.int64(trailing_zeros(turned))
    found = (after + steps) & 63
    first = np.int64(trailing_zeros(occupied[found]))
    return bucket - (slot & 63) + (steps + 1) * 64 + first


@subkernel
def begin_buckets_(request: Request, query: Query, scratch: Scratch, h: float) -> None:
    """Put the start, whose node has been written, into its bucket."""
    heads = scratch.heads
    occupied = scratch.occupied
    counters = scratch.counters
    heads[:] = NO_CELL
    occupied[:] = 0
    counters[FREE] = NO_CELL
    bucket = np.int64(request.weight * h * request.bucket_rate)
    counters[BUCKET] = bucket
    if query.start == query.goal:
        scratch.floats[BOUND_G] = 0.0
        return
    push_bucket_(
        heads, occupied, scratch.entry_cell, scratch.entry_next, counters, bucket, query.start
    )


@subkernel
def advance_buckets_(
    budget: int,
    terrain: Terrain,
    request: Request,
    query: Query,
    scratch: Scratch,
    trace: TraceArrays,
    cancel: NDArray[np.uint8],
) -> int:
    """Expand at most `budget` nodes and return why it stopped.

    Invariant: between two expansions every node that is generated and not closed has an entry,
    and no entry lies below the current bucket.
    """
    width = terrain.width
    words = scratch.words
    node_g = scratch.g
    heads = scratch.heads
    occupied = scratch.occupied
    entry_cell = scratch.entry_cell
    entry_next = scratch.entry_next
    counters = scratch.counters
    rate = request.bucket_rate
    scale = request.weight * request.unit_cost
    noting = trace.cells.size > 0 or request.allow_partial
    worth = NOT_BACK if terrain.cost_model == PRODUCT else WORTH
    stamp = counters[STAMP]
    fresh = stamp << STAMP_SHIFT
    masks = terrain.masks
    classes = terrain.classes
    class_costs = terrain.class_costs
    cell_scale = terrain.cell_scale
    layers = terrain.layers
    layer_rows = terrain.layer_rows
    layer_weights = terrain.layer_weights
    cost_model = terrain.cost_model
    heuristic = request.heuristic
    goal_x = query.goal_x
    goal_y = query.goal_y
    expanded = counters[EXPANDED]
    last = expanded + budget
    stop = min(last, request.max_expansions)
    bucket = counters[BUCKET]
    bound = scratch.floats[BOUND_G]
    outcome = RUNNING
    while True:
        if counters[ENTRIES] == 0:
            if bound == np.inf:
                outcome = EXHAUSTED
            elif expanded >= request.max_expansions:
                outcome = EXPANSION_LIMIT
            elif expanded < last:
                outcome = REACHED
            break
        bucket = next_bucket_(occupied, bucket)
        if counters[ENTRIES] + 8 > entry_cell.size:
            outcome = OPEN_FULL
            break
        if expanded >= stop:
            # Entries of closed nodes may be all that is left.
            if words[2 * np.int64(entry_cell[heads[bucket & (N_BUCKETS - 1)]])] & CLOSED:
                pop_bucket_(heads, occupied, entry_cell, entry_next, counters, bucket)
                continue
            if expanded >= request.max_expansions:
                outcome = EXPANSION_LIMIT
            break
        if bucket > bound * rate:
            outcome = REACHED
            break
        if cancel[0]:
            outcome = CANCELLED
            break
        cell = pop_bucket_(heads, occupied, entry_cell, entry_next, counters, bucket)
        # While this cell is expanded, the memory around the next one is fetched.
        ahead = np.int64(entry_cell[max(heads[bucket & (N_BUCKETS - 1)], 0)])
        prefetch(masks, ahead)
        for beside in (ahead - width, ahead, ahead + width):
            prefetch(words, 2 * beside)
            prefetch(classes, beside)
            if cell_scale.size > 0:
                prefetch(cell_scale, beside)
        word = words[2 * cell]
        if word & CLOSED:
            continue
        g = node_g[2 * cell + 1]
        y = cell // width
        x = cell - y * width
        if bound < np.inf:
            h = distance_(heuristic, x - goal_x, y - goal_y)
            if g + scale * h >= bound:
                continue
        words[2 * cell] = word | CLOSED
        arrival = (word >> PARENT_SHIFT) & 7 if word & HAS_PARENT else 8
        if noting:
            record_expansion_(terrain, request, query, scratch, trace, expanded, cell, arrival, g)
        expanded += 1
        from_cost = 0.0
        if cost_model != ENTERED:
            from_cost = cost_of_(
                classes, class_costs, cell_scale, layers, layer_rows, layer_weights, cell
            )
        moves = word & MASK_BITS if word & PATCHED else np.int64(masks[cell])
        if arrival < 8:
            moves &= turned_(worth, arrival)
        while moves:
            direction = np.int64(trailing_zeros(moves))
            moves &= moves - 1
            to = cell + dy_(direction) * width + dx_(direction)
            to_word = words[2 * to]
            to_cost = cost_of_(
                classes, class_costs, cell_scale, layers, layer_rows, layer_weights, to
            )
            to_g = g + step_of_(cost_model, from_cost, to_cost, direction)
            # One branch that cannot be foretold instead of three: the rest are selections.
            is_current = to_word >> STAMP_SHIFT == stamp
            to_word = to_word if is_current else fresh
            before = node_g[2 * to + 1] if to_word & GENERATED else np.inf
            if to_g >= before * REOPEN_MARGIN:
                continue
            if to_g > request.max_cost:
                counters[COST_PRUNED] = 1
                continue
            h = distance_(
                heuristic,
                x + dx_(direction) - goal_x,
                y + dy_(direction) - goal_y,
            )
            f = to_g + scale * h
            if f >= bound:
                continue
            if to_word & CLOSED:
                counters[REOPENED] += 1
            words[2 * to] = (
                fresh
                | (to_word & QUERY_BITS)
                | GENERATED
                | HAS_PARENT
                | (direction << PARENT_SHIFT)
            )
            node_g[2 * to + 1] = to_g
            if to == query.goal:
                bound = to_g
            push_bucket_(
                heads,
                occupied,
                entry_cell,
                entry_next,
                counters,
                max(np.int64(f * rate), bucket),
                to,
            )
            counters[GENERATED_COUNT] += 1
        counters[OPEN_PEAK] = max(counters[OPEN_PEAK], counters[ENTRIES])
    counters[BUCKET] = bucket
    counters[EXPANDED] = expanded
    scratch.floats[BOUND_G] = bound
    return outcome
