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
from navserver.search.moves import WORTH, dx_, dy_, turned_
from navserver.search.nodes import TraceArrays
from navserver.search.packed_nodes import (
    ARRIVAL_SHIFT,
    CLOSED_BIT,
    G_SHIFT,
    GO_ON,
    HAS_ARRIVAL,
    MAX_G,
    RANK,
    STAMP_AT,
    estimate_,
    interrupted_,
    pop_stack_,
    push_stack_,
    real_g_,
    stopped_,
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
    step_ranks = request.step_ranks
    offsets = request.offsets
    packed = scratch.packed
    stacks = scratch.stacks
    heights = scratch.heights
    counters = scratch.counters
    noting = trace.cells.size > 0 or request.allow_partial
    shift = request.shift
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
    while True:
        if pending == NO_CELL:
            pending, filled, bucket, entries = pop_stack_(
                terrain, request, scratch, filled, bucket, entries, bound, True
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
        packed[np.uint64(cell)] = word | CLOSED_BIT
        rank = word & RANK
        moves = np.int64(masks[np.uint64(cell)])
        arrival = np.int64(8)
        if word & HAS_ARRIVAL:
            arrival = (word >> ARRIVAL_SHIFT) & 7
            moves &= turned_(WORTH, arrival)
        if noting:
            g = MAX_G - ((word >> G_SHIFT) & MAX_G)
            record_expansion_(
                terrain, request, query, scratch, trace, expanded, cell, arrival,
                real_g_(request, g),
            )  # fmt: skip
        expanded += 1
        # Which successors are better is told without a branch, since no processor foretells it.
        better = np.int64(0)
        while moves:
            direction = np.int64(trailing_zeros(moves))
            moves &= moves - 1
            to = np.uint64(cell + offsets[direction])
            to_rank = rank - step_ranks[np.uint64(2 * np.int64(classes[to]) + (direction & 1))]
            better |= np.int64(to_rank > packed[to]) << direction
        y = (cell * request.row_factor) >> request.row_shift
        away_x = cell - y * width - query.goal_x
        away_y = y - query.goal_y
        while better:
            direction = np.int64(trailing_zeros(better))
            better &= better - 1
            to = np.uint64(cell + offsets[direction])
            to_rank = rank - step_ranks[np.uint64(2 * np.int64(classes[to]) + (direction & 1))]
            to_g = MAX_G - ((to_rank >> G_SHIFT) & MAX_G)
            if to_g > request.max_g:
                counters[COST_PRUNED] = 1
                continue
            f = to_g + estimate_(request, away_x + dx_(direction), away_y + dy_(direction))
            if f >= bound:
                continue
            before = packed[to]
            if before >= fresh and before & CLOSED_BIT:
                reopened += 1
            generated += 1
            packed[to] = to_rank | (direction << ARRIVAL_SHIFT) | HAS_ARRIVAL
            if np.int64(to) == query.goal:
                bound = to_g
                continue
            filled, is_nearly_full = push_stack_(
                stacks, heights, filled, max(f >> shift, bucket), f, np.int64(to)
            )
            is_full |= is_nearly_full
            entries += 1
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
