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

from navserver._jit import inlined, subkernel
from navserver.search.costs import Terrain
from navserver.search.engine import (
    BOUND,
    BUCKET,
    ENTRIES,
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
    "push_stack_",
    "real_g_",
]

STRAIGHT = 5741
DIAGONAL = 8119

# A node is one word: stamp, MAX_G - g, arrival direction, whether it has a parent, closed. A
# better node of the same search is a larger word, and so is any node of a later search.
G_BITS = 34
MAX_G = (1 << G_BITS) - 1
G_SHIFT = 6
STAMP_AT = G_BITS + G_SHIFT
BELOW_G = (1 << G_SHIFT) - 1
ARRIVAL_SHIFT = 3
HAS_ARRIVAL = 4
CLOSED_BIT = 2

# An entry of the open list is one word: f, cell.
CELL_BITS = 26
CELL_MASK = (1 << CELL_BITS) - 1
N_STACKS = 64
UNBOUNDED = 1 << 62


@inlined
def push_stack_(
    stacks: NDArray[np.int64],
    heights: NDArray[np.int64],
    occupied: NDArray[np.uint64],
    bucket: int,
    f: int,
    cell: int,
) -> bool:
    """Put an entry on a stack, and return whether eight more might not find room."""
    capacity = stacks.size >> 6
    slot = bucket & (N_STACKS - 1)
    height = heights[slot]
    stacks[slot * capacity + height] = (f << CELL_BITS) | cell
    heights[slot] = height + 1
    occupied[0] |= np.uint64(1) << np.uint64(slot)
    return bool(height + 10 > capacity)


@inlined
def estimate_(straight: int, diagonal_rest: int, dx: int, dy: int) -> int:
    """Return the fixed-point estimate of a cell dx columns and dy rows from the goal."""
    dx = abs(dx)
    dy = abs(dy)
    return straight * max(dx, dy) + diagonal_rest * min(dx, dy)


@inlined
def real_g_(request: Request, g: int) -> float:
    """Return a fixed-point cost in the grid's units."""
    return g * request.g_unit


@subkernel
def begin_packed_(terrain: Terrain, request: Request, query: Query, scratch: Scratch) -> None:
    """Put the start on the open list of a search whose stamp has been set."""
    stacks = scratch.stacks
    heights = scratch.heights
    occupied = scratch.occupied
    counters = scratch.counters
    straight = request.straight
    diagonal_rest = request.diagonal_rest
    reset_counters_(query.start, counters, scratch.floats)
    heights[:] = 0
    occupied[0] = 0
    scratch.packed[query.start] = (counters[STAMP] << STAMP_AT) | (MAX_G << G_SHIFT)
    y = query.start // terrain.width
    dx = query.start - y * terrain.width - query.goal_x
    f = estimate_(straight, diagonal_rest, dx, y - query.goal_y)
    push_stack_(stacks, heights, occupied, f >> request.shift, f, query.start)
    counters[BUCKET] = f >> request.shift
    counters[BOUND] = 0 if query.start == query.goal else UNBOUNDED
    counters[ENTRIES] = 1
