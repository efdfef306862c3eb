"""The engine for costs that are small multiples of one: integers, and a word a node.

Terrain of games mostly is: grass 1, mud 2, water 5, or 1 and 1.5. It serves costs that come from
the classes alone, under ENTERED. Nodes and open list are those of `packed_nodes`; the neighbours
looked at are those of `bucket_engine`.
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
from navserver.search.moves import WORTH, dx_, dy_, turned_
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

__all__ = ["advance_multiples_"]


@subkernel
def advance_multiples_(
    budget: int,
    terrain: Terrain,
    request: Request,
    query: Query,
    scratch: Scratch,
    trace: TraceArrays,
    cancel: NDArray[np.uint8],
) -> int:
    """Expand at most `budget` nodes and return why it stopped.

    Invariant: between two expansions every node that is generated and not closed has an entry
    or is the pending one, and no entry lies below the current bucket.
    """
    width = terrain.width
    masks = terrain.masks
    classes = terrain.classes
    multiples = request.multiples
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
        packed[cell] = word | CLOSED_BIT
        g = MAX_G - ((word >> G_SHIFT) & MAX_G)
        moves = np.int64(masks[cell])
        arrival = np.int64(8)
        if word & HAS_ARRIVAL:
            arrival = (word >> ARRIVAL_SHIFT) & 7
            moves &= turned_(WORTH, arrival)
        if noting:
            record_expansion_(
                terrain, request, query, scratch, trace, expanded, cell, arrival,
                real_g_(request, g),
            )  # fmt: skip
        expanded += 1
        while moves:
            direction = np.int64(trailing_zeros(moves))
            moves &= moves - 1
            dx = dx_(direction)
            dy = dy_(direction)
            to = cell + dy * width + dx
            to_g = g + multiples[classes[to]] * (DIAGONAL if direction & 1 else STRAIGHT)
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
            is_full |= push_stack_(stacks, heights, occupied, max(f >> shift, bucket), f, to)
            entries += 1
        counters[OPEN_PEAK] = max(counters[OPEN_PEAK], entries)
    counters[BOUND] = bound
    counters[BUCKET] = bucket
    counters[PENDING] = pending
    counters[ENTRIES] = entries
    counters[EXPANDED] = expanded
    counters[GENERATED_COUNT] = generated
    counters[REOPENED] = reopened
    return outcome
