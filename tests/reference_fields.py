"""Slow oracles of distance maps and flow fields, written from the definitions alone."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tests import reference as ref
from tests.reference import Cell, Costs


def field_costs(
    costs: Costs, starts: Mapping[Cell, float], mode: int, cost_model: int, *, towards: bool = False
) -> dict[Cell, float]:
    """The least start value plus path cost of each cell that a source reaches."""
    best: dict[Cell, float] = {}
    for source, value in starts.items():
        for cell, cost in ref.distances(costs, source, mode, cost_model, towards=towards).items():
            best[cell] = min(best.get(cell, math.inf), value + cost)
    return best


def ends_of_ray(
    position: tuple[float, float], vector: tuple[float, float], tolerance: float = 1e-3
) -> tuple[set[Cell], tuple[float, float]]:
    """The cells that a ray may enter when it leaves its own, and where it leaves.

    Two straight neighbours and the diagonal one, if it leaves so near to a corner that rounding
    decides; else one.
    """
    cell = tuple(math.floor(p + 0.5) for p in position)
    times = []
    for p, c, v in zip(position, cell, vector, strict=True):
        border = c + math.copysign(0.5, v)
        times.append((border - p) / v if abs(v) > 1e-7 else math.inf)
    signs = [int(math.copysign(1, v)) for v in vector]
    time = min(times)
    leaves = (position[0] + time * vector[0], position[1] + time * vector[1])
    beside_x, beside_y = (cell[0] + signs[0], cell[1]), (cell[0], cell[1] + signs[1])
    both = (cell[0] + signs[0], cell[1] + signs[1])
    if abs(times[0] - times[1]) <= tolerance:
        return {beside_x, beside_y, both}, leaves
    return {beside_x if times[0] < times[1] else beside_y}, leaves
