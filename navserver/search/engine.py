"""What the engines of A* share: the request, the scratch, and the bookkeeping of an expansion.

An *engine* is one way to keep the open list and the nodes. All engines answer the same request
with the same cost; which one runs depends on the costs alone (`navserver.search.astar` chooses).
Each has `begin`, which puts the start on its open list, and `advance`, which expands nodes until
its budget is used or the search has ended. Between the two all state is in the scratch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver._jit import subkernel
from navserver.search.costs import Terrain
from navserver.search.heuristics import OCTILE, distance_
from navserver.search.moves import dx_, dy_
from navserver.search.nodes import GENERATED, QUERY_BITS, STAMP_SHIFT, OpenList, TraceArrays

__all__ = ["Query", "Request", "Scratch", "begin_nodes_", "next_stamp_", "record_expansion_"]

HEAP, BUCKETS, CANONICAL, MULTIPLES = range(4)

# Why an engine stopped. TOO_LONG: exhausted, but for paths beyond fixed point.
RUNNING, REACHED, EXHAUSTED, EXPANSION_LIMIT, CANCELLED, OPEN_FULL, TOO_LONG = range(7)

# Entries of `Scratch.counters`.
(
    STAMP,
    ENTRIES,
    EXPANDED,
    GENERATED_COUNT,
    REOPENED,
    OPEN_PEAK,
    NEAREST,
    COST_PRUNED,
    BUCKET,
    PENDING,
    BOUND,
    FREE,
    USED,
    OUTCOME,
    N_COUNTERS,
) = range(15)

# Entries of `Scratch.floats`.
NEAREST_DISTANCE, NEAREST_G, BOUND_G, N_FLOATS = range(4)

NO_CELL = -1


class Request(NamedTuple):
    """The options of a search, for as long as the grid stays as it is."""

    engine: int
    heuristic: int
    unit_cost: float
    weight: float
    max_expansions: int
    max_cost: float
    allow_partial: bool
    bucket_rate: float
    """Buckets a unit of f, for BUCKETS."""
    g_unit: float
    """What 1 in fixed point is worth."""
    straight: int
    """Fixed-point estimate of a straight step, for CANONICAL and MULTIPLES."""
    diagonal_rest: int
    """Fixed-point estimate of a diagonal step beyond that of a straight one."""
    max_g: int
    shift: int
    run_ahead: int
    four_neighbours: bool
    row_factor: int
    row_shift: int
    """A cell's row is ``(cell * row_factor) >> row_shift``, see `packed_nodes.row_division`."""
    offsets: NDArray[np.int64]
    """What a step adds to a flat cell, by direction."""
    successors: NDArray[np.uint8]
    """Canonical successors by arrival direction (8 at the start) and move mask."""
    step_ranks: NDArray[np.int64]
    """What a step takes off a node's rank, for MULTIPLES: at ``2 * class + is_diagonal``."""


class Query(NamedTuple):
    """Both ends of one search, as flat cells."""

    start: int
    goal: int
    goal_x: int
    goal_y: int


class Scratch(NamedTuple):
    """What one search at a time works on; an engine's arrays are empty until it is used."""

    words: NDArray[np.int64]
    g: NDArray[np.float64]
    packed: NDArray[np.int64]
    heap: OpenList
    stacks: NDArray[np.int64]
    heights: NDArray[np.int64]
    heads: NDArray[np.int32]
    occupied: NDArray[np.uint64]
    entry_cell: NDArray[np.int32]
    entry_next: NDArray[np.int32]
    counters: NDArray[np.int64]
    floats: NDArray[np.float64]


# The packed nodes of CANONICAL have room for no more.
LAST_STAMP = (1 << 23) - 1


@subkernel
def next_stamp_(scratch: Scratch) -> None:
    """Make every node unknown."""
    counters = scratch.counters
    if counters[STAMP] == LAST_STAMP:
        scratch.words[:] = 0
        scratch.packed[:] = 0
        counters[STAMP] = 0
    counters[STAMP] += 1


@subkernel
def reset_counters_(start: int, counters: NDArray[np.int64], floats: NDArray[np.float64]) -> None:
    """Make the counters ready for a search whose stamp has been set."""
    stamp = counters[STAMP]
    counters[:] = 0
    counters[STAMP] = stamp
    counters[NEAREST] = start
    counters[PENDING] = NO_CELL
    counters[GENERATED_COUNT] = 1
    counters[OPEN_PEAK] = 1
    floats[:] = np.inf


@subkernel
def begin_nodes_(terrain: Terrain, request: Request, query: Query, scratch: Scratch) -> float:
    """Write the start's node for the float64 engines. Return its estimate."""
    reset_counters_(query.start, scratch.counters, scratch.floats)
    stamp = scratch.counters[STAMP]
    word = scratch.words[2 * query.start]
    kept = word & QUERY_BITS if word >> STAMP_SHIFT == stamp else 0
    scratch.words[2 * query.start] = (stamp << STAMP_SHIFT) | kept | GENERATED
    scratch.g[2 * query.start + 1] = 0.0
    y = query.start // terrain.width
    dx = query.start - y * terrain.width - query.goal_x
    return request.unit_cost * distance_(request.heuristic, dx, y - query.goal_y)


@subkernel
def record_expansion_(
    terrain: Terrain,
    request: Request,
    query: Query,
    scratch: Scratch,
    trace: TraceArrays,
    expanded: int,
    cell: int,
    arrival: int,
    g: float,
) -> None:
    """Note an expansion for the trace and for the nearest cell; arrival is 8 at the start."""
    y = cell // terrain.width
    dx = cell - y * terrain.width - query.goal_x
    dy = y - query.goal_y
    if expanded < trace.cells.size:
        trace.cells[expanded] = cell
        trace.parents[expanded] = cell
        if arrival < 8:
            trace.parents[expanded] = cell - dy_(arrival) * terrain.width - dx_(arrival)
        trace.g[expanded] = g
        trace.h[expanded] = request.unit_cost * distance_(request.heuristic, dx, dy)
    away = distance_(OCTILE, dx, dy)
    floats = scratch.floats
    if away > floats[NEAREST_DISTANCE]:
        return
    if away == floats[NEAREST_DISTANCE]:
        if g > floats[NEAREST_G]:
            return
        if g == floats[NEAREST_G] and cell > scratch.counters[NEAREST]:
            return
    floats[NEAREST_DISTANCE] = away
    floats[NEAREST_G] = g
    scratch.counters[NEAREST] = cell
