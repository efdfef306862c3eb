"""Which engine answers a search: the costs of the map decide, and what is asked.

On uniform cost it is CANONICAL, on classes that cost small multiples of one MULTIPLES, both in
fixed point; on other costs BUCKETS in float64; HEAP where costs are zero or too far apart.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.search.bucket_engine import N_BUCKETS
from navserver.search.canonical import canonical_successors
from navserver.search.costs import SQRT2, CostModel
from navserver.search.engine import BUCKETS, CANONICAL, HEAP, MULTIPLES, Request
from navserver.search.grid import Grid
from navserver.search.heuristics import Heuristic, least_unit_cost
from navserver.search.movement import Movement
from navserver.search.moves import DX, DY, DiagonalMode
from navserver.search.packed_nodes import DIAGONAL, G_SHIFT, MAX_G, N_STACKS, STRAIGHT, row_division
from navserver.search.profile import N_CLASSES

__all__ = ["SearchOptions", "make_request"]

_SUCCESSORS = {mode: canonical_successors(mode) for mode in DiagonalMode}

# An estimate by max and min of the distances on both axes, in straight steps and diagonal rests.
_FIXED_POINT = {
    Heuristic.OCTILE: (STRAIGHT, DIAGONAL - STRAIGHT),
    Heuristic.MANHATTAN: (STRAIGHT, STRAIGHT),
    Heuristic.CHEBYSHEV: (STRAIGHT, 0),
    Heuristic.ZERO: (0, 0),
}
_MAX_FIXED_WEIGHT = 4.0
_MAX_MULTIPLE = 64
_NO_RANKS = np.zeros(2 * N_CLASSES, np.int64)
_RUN_AHEAD = 24

# In least steps.
_BUCKET_WIDTH = 1.0 / 16.0


class SearchOptions(NamedTuple):
    """What a searcher is asked, checked; see `AStar`."""

    heuristic: Heuristic
    weight: float
    max_expansions: int
    max_cost: float
    allow_partial: bool


def make_request(
    grid: Grid,
    movement: Movement,
    options: SearchOptions,
    *,
    overriding: bool = False,
    is_long: bool = False,
) -> Request:
    """Return the options as kernels read them, with the engine that suits the costs.

    Parameters
    ----------
    grid : Grid
        The map as it is now.
    movement : Movement
        What moves, and what it pays.
    options : SearchOptions
        What is asked of the search.
    overriding : bool
        Whether the query has cells of its own that count as walkable.
    is_long : bool
        Whether a path has been too long for fixed point.

    Returns
    -------
    Request
        For the kernels.
    """
    least, greatest = grid.cost_range(movement, ignoring=overriding)
    model = movement.cost_model
    row_factor, row_shift = row_division(grid.width)
    request = Request(
        engine=HEAP,
        heuristic=int(options.heuristic),
        unit_cost=least_unit_cost(least, model),
        weight=options.weight,
        max_expansions=options.max_expansions,
        max_cost=options.max_cost,
        allow_partial=options.allow_partial,
        bucket_rate=0.0,
        g_unit=0.0,
        straight=0,
        diagonal_rest=0,
        max_g=0,
        shift=0,
        run_ahead=0,
        four_neighbours=movement.diagonal_mode == DiagonalMode.NEVER,
        row_factor=row_factor,
        row_shift=row_shift,
        offsets=_offsets(grid.width),
        successors=_SUCCESSORS[movement.diagonal_mode],
        step_ranks=_NO_RANKS,
    )
    unit = request.unit_cost
    if unit == 0.0:
        return request
    in_fixed_point = options.heuristic in _FIXED_POINT and options.weight <= _MAX_FIXED_WEIGHT
    if in_fixed_point and not overriding and not is_long:
        if least == greatest:
            request = _in_fixed_point(options, request, CANONICAL, unit, 1, _RUN_AHEAD)
        else:
            request = _in_multiples(grid, movement, options, request)
        if request.engine != HEAP:
            return request
    growth_of_f = SQRT2 * least_unit_cost(greatest, model) + 2.0 * options.weight * unit
    width = max(growth_of_f / (N_BUCKETS - 4), unit * _BUCKET_WIDTH)
    if width <= unit:
        return request._replace(engine=BUCKETS, bucket_rate=1.0 / width)
    return request


def _in_multiples(
    grid: Grid, movement: Movement, options: SearchOptions, request: Request
) -> Request:
    """Return the request for MULTIPLES, if the costs are small multiples of one."""
    costs = grid.class_costs(movement)
    if costs is None or movement.cost_model != CostModel.ENTERED:
        return request
    for parts in range(1, 9):
        base = float(costs[0]) / parts
        multiples = np.rint(costs / base)
        if multiples[-1] > _MAX_MULTIPLE:
            return request
        if np.allclose(multiples * base, costs, rtol=2.0**-50, atol=0.0):
            break
    else:
        return request
    chosen = _in_fixed_point(options, request, MULTIPLES, base, parts, 0, int(multiples[-1]))
    by_class = np.zeros(N_CLASSES, np.int64)
    finite = np.isfinite(movement.profile.costs)
    # Classes that are not on the map may cost anything.
    by_class[finite] = np.minimum(np.rint(movement.profile.costs[finite] / base), _MAX_MULTIPLE)
    is_ordered = 1 << chosen.shift <= parts * STRAIGHT
    step_ranks = np.outer(by_class, (STRAIGHT << G_SHIFT, DIAGONAL << G_SHIFT)).reshape(-1)
    return chosen._replace(step_ranks=step_ranks) if is_ordered else request


def _in_fixed_point(
    options: SearchOptions,
    request: Request,
    engine: int,
    base: float,
    least: int,
    run_ahead: int,
    greatest: int = 1,
) -> Request:
    """Return the request for steps that cost from `least` to `greatest` times the base."""
    straight, rest = (
        int(options.weight * least * part) for part in _FIXED_POINT[options.heuristic]
    )
    # The most that f can grow in a step.
    growth = greatest * DIAGONAL + straight + rest
    shift = 10
    while (growth >> shift) + 2 + run_ahead >= N_STACKS:
        shift += 1
    max_g = MAX_G - growth
    if options.max_cost < math.inf:
        # A sum of float64 costs along the longest path may be off by so much.
        limit = options.max_cost / base * STRAIGHT * (1.0 + 2.0**-31) + 1e-6
        max_g = math.floor(min(max_g, limit))
    return request._replace(
        engine=engine,
        g_unit=base / STRAIGHT,
        straight=straight,
        diagonal_rest=rest,
        max_g=max_g,
        shift=shift,
        run_ahead=run_ahead,
    )


def _offsets(width: int) -> NDArray[np.int64]:
    """Return what a step adds to a flat cell, by direction."""
    return np.array([dy * width + dx for dx, dy in zip(DX, DY, strict=True)], np.int64)
