"""The engine for any costs: float64 g and a binary heap with lazy deletion.

The heap is ordered by smaller f, then larger g, then smaller flat index. It serves the maps that
buckets cannot: zero costs, and costs too far apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from navserver._jit import subkernel
from navserver.search.costs import Terrain, cell_cost_, step_cost_
from navserver.search.engine import (
    CANCELLED,
    COST_PRUNED,
    ENTRIES,
    EXHAUSTED,
    EXPANDED,
    EXPANSION_LIMIT,
    GENERATED_COUNT,
    OPEN_FULL,
    OPEN_PEAK,
    REACHED,
    REOPENED,
    RUNNING,
    STAMP,
    Query,
    Request,
    Scratch,
    record_expansion_,
)
from navserver.search.heuristics import distance_
from navserver.search.moves import dx_, dy_
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
    pop_open_,
    push_open_,
)

__all__ = ["advance_heap_", "begin_heap_"]

CANCEL_EVERY = 1024


@subkernel
def begin_heap_(request: Request, query: Query, scratch: Scratch, h: float) -> None:
    """Put the start, whose node has been written, on the heap."""
    scratch.counters[ENTRIES] = push_open_(scratch.heap, 0, request.weight * h, 0.0, query.start)


@subkernel
def advance_heap_(
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
    with its g on the heap; entries with another g are outdated.
    """
    width = terrain.width
    words = scratch.words
    counters = scratch.counters
    noting = trace.cells.size > 0 or request.allow_partial
    fresh = counters[STAMP] << STAMP_SHIFT
    size = counters[ENTRIES]
    expanded = counters[EXPANDED]
    last = expanded + budget
    outcome = RUNNING
    while True:
        if size == 0:
            outcome = EXHAUSTED
            break
        cell = scratch.heap.cell[0]
        g = scratch.heap.g[0]
        word = words[2 * cell]
        if word & CLOSED or scratch.g[2 * cell + 1] != g:
            size = pop_open_(scratch.heap, size)
            continue
        if size + 8 > scratch.heap.f.size:
            outcome = OPEN_FULL
            break
        if expanded >= request.max_expansions:
            outcome = EXPANSION_LIMIT
            break
        if expanded >= last:
            break
        if cell == query.goal:
            outcome = REACHED
            break
        if expanded & (CANCEL_EVERY - 1) == 0 and cancel[0]:
            outcome = CANCELLED
            break
        size = pop_open_(scratch.heap, size)
        words[2 * cell] = word | CLOSED
        if noting:
            arrival = (word >> PARENT_SHIFT) & 7 if word & HAS_PARENT else 8
            record_expansion_(terrain, request, query, scratch, trace, expanded, cell, arrival, g)
        expanded += 1
        y = cell // width
        x = cell - y * width
        from_cost = cell_cost_(terrain, cell)
        moves = word & MASK_BITS if word & PATCHED else np.int64(terrain.masks[cell])
        for direction in range(8):
            if not (moves >> direction) & 1:
                continue
            to = cell + dy_(direction) * width + dx_(direction)
            to_g = g + step_cost_(terrain, from_cost, to, direction)
            to_word = words[2 * to]
            if to_word >> STAMP_SHIFT != counters[STAMP]:
                to_word = fresh
            if to_word & GENERATED:
                if to_word & CLOSED:
                    if to_g >= scratch.g[2 * to + 1] * REOPEN_MARGIN:
                        continue
                    counters[REOPENED] += 1
                elif to_g >= scratch.g[2 * to + 1]:
                    continue
            if to_g > request.max_cost:
                counters[COST_PRUNED] = 1
                continue
            words[2 * to] = (
                fresh
                | (to_word & QUERY_BITS)
                | GENERATED
                | HAS_PARENT
                | (direction << PARENT_SHIFT)
            )
            scratch.g[2 * to + 1] = to_g
            h = request.unit_cost * distance_(
                request.heuristic,
                x + dx_(direction) - query.goal_x,
                y + dy_(direction) - query.goal_y,
            )
            size = push_open_(scratch.heap, size, to_g + request.weight * h, to_g, to)
            counters[GENERATED_COUNT] += 1
        counters[OPEN_PEAK] = max(counters[OPEN_PEAK], size)
    counters[ENTRIES] = size
    counters[EXPANDED] = expanded
    return outcome
