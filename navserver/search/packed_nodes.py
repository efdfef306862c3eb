"""Nodes of one word and an open list of stacks: what the engines in fixed point share.

Costs are counted in multiples of a base cost, a straight step as 5,741 of it and a diagonal one
as 8,119. The ratio is a convergent of sqrt 2, so the order of two paths is the true one unless
they differ by thousands of diagonal steps, and then they differ by less than 1.1e-8 of a step
for each. The cost that a result states is summed in float64 along its path.

The open list is 64 circular buckets of f, each a stack. Exactness as in `bucket_engine`: closed
nodes are reopened, and the search ends when no entry's f lies below the goal's g.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from navserver._jit import inlined, prefetch, subkernel, trailing_zeros
from navserver.search.costs import Terrain
from navserver.search.engine import (
    BOUND,
    BUCKET,
    CANCELLED,
    ENTRIES,
    EXHAUSTED,
    EXPANSION_LIMIT,
    NO_CELL,
    OPEN_FULL,
    REACHED,
    RUNNING,
    STAMP,
    Query,
    Request,
    Scratch,
    reset_counters_,
)

__all__ = [
    "DIAGONAL",
    "MAX_G",
    "N_STACKS",
    "STRAIGHT",
    "begin_packed_",
    "estimate_",
    "interrupted_",
    "pop_stack_",
    "push_stack_",
    "real_g_",
    "row_division",
    "stopped_",
]

STRAIGHT = 5741
DIAGONAL = 8119

# A node is one word: stamp, MAX_G - g, arrival direction, whether it has a parent, closed. Stamp
# and g make its rank: a better node of the same search has a higher one, and so has any node of a
# later search. A step takes its cost off the rank, and the rank is better than a node if it is a
# larger number than the node's whole word.
G_BITS = 34
MAX_G = (1 << G_BITS) - 1
G_SHIFT = 6
STAMP_AT = G_BITS + G_SHIFT
RANK = ~((1 << G_SHIFT) - 1)
ARRIVAL_SHIFT = 3
HAS_ARRIVAL = 4
CLOSED_BIT = 2

# An entry of the open list is one word: f, cell.
CELL_BITS = 26
CELL_MASK = (1 << CELL_BITS) - 1
N_STACKS = 64
UNBOUNDED = 1 << 62


GO_ON = -1


@inlined
def push_stack_(
    stacks: NDArray[np.int64],
    heights: NDArray[np.int64],
    filled: int,
    bucket: int,
    f: int,
    cell: int,
) -> tuple[int, bool]:
    """Put an entry on a stack.

    Return which stacks are filled, and whether eight more entries might not find room.
    """
    capacity = stacks.size >> 6
    slot = bucket & (N_STACKS - 1)
    height = heights[np.uint64(slot)]
    stacks[np.uint64(slot * capacity + height)] = (f << CELL_BITS) | cell
    heights[np.uint64(slot)] = height + 1
    return filled | (np.uint64(1) << np.uint64(slot)), height + 10 > capacity


@inlined
def first_bucket_(filled: int, bucket: int) -> int:
    """Return the first bucket from the given one on whose stack is filled; one must be."""
    turn = np.uint64(bucket & (N_STACKS - 1))
    turned = (filled >> turn) | (filled << ((np.uint64(N_STACKS) - turn) & np.uint64(63)))
    return bucket + np.int64(trailing_zeros(turned))


@inlined
def pop_stack_(
    terrain: Terrain,
    request: Request,
    scratch: Scratch,
    filled: int,
    bucket: int,
    entries: int,
    bound: int,
    costs_differ: bool,
) -> tuple[int, int, int, int]:
    """Take entries off until one's node is not closed and its f lies below the bound.

    Return the node's cell, NO_CELL if there is none; then `filled`, `bucket` and `entries` as
    they are now.
    """
    width = terrain.width
    packed = scratch.packed
    stacks = scratch.stacks
    heights = scratch.heights
    capacity = stacks.size >> 6
    while filled != 0:
        bucket = first_bucket_(filled, bucket)
        if (bucket << request.shift) >= bound:
            break
        slot = bucket & (N_STACKS - 1)
        height = heights[np.uint64(slot)] - 1
        entry = stacks[np.uint64(slot * capacity + height)]
        heights[np.uint64(slot)] = height
        filled &= ~(np.uint64(height == 0) << np.uint64(slot))
        entries -= 1
        # While this cell is expanded, the memory around one of the next is fetched.
        ahead = stacks[np.uint64(slot * capacity + max(height - 2, 0))] & CELL_MASK
        prefetch(terrain.masks, ahead)
        for beside in (ahead - width, ahead, ahead + width):
            prefetch(packed, beside)
            if costs_differ:
                prefetch(terrain.classes, beside)
        cell = entry & CELL_MASK
        if packed[np.uint64(cell)] & CLOSED_BIT == 0 and (entry >> CELL_BITS) < bound:
            return cell, filled, bucket, entries
    return NO_CELL, filled, bucket, entries


@inlined
def stopped_(request: Request, bound: int, expanded: int, last: int) -> int:
    """Return how a search ends that has no entry left to expand."""
    if bound == UNBOUNDED:
        return EXHAUSTED
    # The goal counts as the last expansion, for which there may be no room.
    if expanded >= request.max_expansions:
        return EXPANSION_LIMIT
    return REACHED if expanded < last else RUNNING


@inlined
def interrupted_(
    request: Request, is_full: bool, expanded: int, stop: int, cancel: NDArray[np.uint8]
) -> int:
    """Return why a search has to stop before its next expansion, GO_ON if it has not."""
    if is_full:
        return OPEN_FULL
    if expanded >= stop:
        return EXPANSION_LIMIT if expanded >= request.max_expansions else RUNNING
    return CANCELLED if cancel[0] else GO_ON


@inlined
def estimate_(request: Request, dx: int, dy: int) -> int:
    """Return the fixed-point estimate of a cell dx columns and dy rows from the goal."""
    dx = abs(dx)
    dy = abs(dy)
    return request.straight * max(dx, dy) + request.diagonal_rest * min(dx, dy)


@inlined
def real_g_(request: Request, g: int) -> float:
    """Return a fixed-point cost in the grid's units."""
    return g * request.g_unit


def row_division(width: int) -> tuple[int, int]:
    """Return how kernels divide a cell by the width of its map.

    Parameters
    ----------
    width : int
        1 or more.

    Returns
    -------
    (int, int)
        Factor and shift: ``(cell * factor) >> shift`` is ``cell // width`` for every cell below
        ``1 << CELL_BITS``.
    """
    shift = CELL_BITS + (width - 1).bit_length()
    return -(-(1 << shift) // width), shift


@subkernel
def begin_packed_(terrain: Terrain, request: Request, query: Query, scratch: Scratch) -> None:
    """Put the start on the open list of a search whose stamp has been set."""
    heights = scratch.heights
    counters = scratch.counters
    reset_counters_(query.start, counters, scratch.floats)
    heights[:] = 0
    scratch.packed[query.start] = (counters[STAMP] << STAMP_AT) | (MAX_G << G_SHIFT)
    y = query.start // terrain.width
    dx = query.start - y * terrain.width - query.goal_x
    f = estimate_(request, dx, y - query.goal_y)
    bucket = f >> request.shift
    scratch.occupied[0], _ = push_stack_(
        scratch.stacks, heights, np.uint64(0), bucket, f, query.start
    )
    counters[BUCKET] = bucket
    counters[BOUND] = 0 if query.start == query.goal else UNBOUNDED
    counters[ENTRIES] = 1
