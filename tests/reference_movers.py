"""Slow oracles for movers: what walking means, said in plain Python floats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

Point = tuple[float, float]


def walked(start: Point, waypoints: Sequence[Point], distance: float) -> tuple[Point, int]:
    """Where one is after a distance along straight lines, and how many waypoints have been met."""
    x, y = start
    for met, (to_x, to_y) in enumerate(waypoints):
        length = math.hypot(to_x - x, to_y - y)
        if length > distance:
            share = distance / length
            return (x + (to_x - x) * share, y + (to_y - y) * share), met
        distance -= length
        x, y = to_x, to_y
    return (x, y), len(waypoints)


def length_of(start: Point, waypoints: Sequence[Point]) -> float:
    """Length of the way from a start over all waypoints."""
    points = [start, *waypoints]
    return sum(math.dist(a, b) for a, b in pairwise(points))
