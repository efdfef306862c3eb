"""Slow oracles of lines over cells, in fractions: rays, costs along a line, paths pulled straight.

Points are pairs of fractions in cells; the square of a cell reaches half a cell to each side of
its centre, and owns its left and upper border.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tests import reference as ref
from tests.reference import Cell

Point = tuple[Fraction, Fraction]
HALF = Fraction(1, 2)


def owner(point: Point) -> Cell:
    return math.floor(point[0] + HALF), math.floor(point[1] + HALF)


def _owned(origin: Fraction, delta: Fraction, centre: int) -> tuple[Fraction, Fraction] | None:
    """The closure of the times at which origin + t * delta lies between a cell's borders."""
    low, high = centre - HALF, centre + HALF
    if delta == 0:
        return (Fraction(0), Fraction(1)) if low <= origin < high else None
    ends = sorted([(low - origin) / delta, (high - origin) / delta])
    return max(ends[0], Fraction(0)), min(ends[1], Fraction(1))


def visited(a: Point, b: Point) -> list[tuple[Cell, Fraction, Fraction]]:
    """The cells of a segment in order, each with the times at which it comes and goes."""
    delta = (b[0] - a[0], b[1] - a[1])
    first, last = owner(a), owner(b)
    found = {first: (Fraction(0), Fraction(0)), last: (Fraction(1), Fraction(1))}
    if first == last:
        return [(first, Fraction(0), Fraction(1))]
    for x in range(min(first[0], last[0]), max(first[0], last[0]) + 1):
        for y in range(min(first[1], last[1]), max(first[1], last[1]) + 1):
            spans = [_owned(a[0], delta[0], x), _owned(a[1], delta[1], y)]
            if spans[0] is None or spans[1] is None:
                continue
            low = max(spans[0][0], spans[1][0])
            high = min(spans[0][1], spans[1][1])
            if low < high:
                found[x, y] = (low, high)
    return sorted(((cell, *times) for cell, times in found.items()), key=lambda row: row[1:])


@dataclass
class Walk:
    reached: bool
    time: Fraction
    """How far along the segment it ended, from 0 to 1."""
    inside: Cell
    """The last free cell; the start's if that is a wall."""
    hit: Cell
    normal: Cell


def walk(walkable: Mapping[Cell, Any] | set[Cell], a: Point, b: Point, mode: int) -> Walk:
    """Follow a segment from cell to cell until one may not be entered."""
    cells = visited(a, b)
    if cells[0][0] not in walkable:
        return Walk(False, Fraction(0), cells[0][0], cells[0][0], (0, 0))
    corner_mode = ref.ONLY_IF_NO_OBSTACLES if mode == ref.NEVER else mode
    for (cell, _, _), (to, time, _) in pairwise(cells):
        if ref.move_allowed(walkable, cell, to, corner_mode):
            continue
        dx, dy = to[0] - cell[0], to[1] - cell[1]
        assert abs(dx) <= 1
        assert abs(dy) <= 1
        steps = [(dx, dy)]
        if dx and dy:
            steps = [(dx, 0), (0, dy), (dx, dy)]
        for x, y in steps:
            hit = (cell[0] + x, cell[1] + y)
            if hit not in walkable:
                return Walk(False, time, cell, hit, (-x, -y))
        raise AssertionError(f"nothing stands between {cell} and {to}")
    return Walk(True, Fraction(1), cells[-1][0], cells[-1][0], (0, 0))


def line_cost(costs: Mapping[Cell, float], a: Cell, b: Cell, cost_model: int) -> float:
    """Length in a cell times its cost (its square under PRODUCT), summed over a segment."""
    if a == b:
        return 0.0
    start, end = (Fraction(a[0]), Fraction(a[1])), (Fraction(b[0]), Fraction(b[1]))
    parts = []
    for cell, low, high in visited(start, end):
        cost = costs[cell]
        parts.append(float(high - low) * (cost * cost if cost_model == ref.PRODUCT else cost))
    return math.hypot(b[0] - a[0], b[1] - a[1]) * math.fsum(parts)


def pull(
    costs: Mapping[Cell, float],
    cells: Sequence[Cell],
    mode: int,
    cost_model: int,
    *,
    keep_costs: bool,
) -> list[Cell]:
    """The stated rule: 2, 4, 8 ... ahead while allowed, then back from the first refusal."""
    stretch = [0.0]
    for a, b in pairwise(cells):
        stretch.append(stretch[-1] + line_cost(costs, a, b, cost_model))

    def allowed(i: int, j: int) -> bool:
        if not ref.line_of_sight(costs, cells[i], cells[j], mode):
            return False
        limit = stretch[j] - stretch[i] + 1e-12 * stretch[j]
        return not keep_costs or line_cost(costs, cells[i], cells[j], cost_model) <= limit

    last = len(cells) - 1
    kept = [0]
    while kept[-1] < last:
        i, stride = kept[-1], 2
        reach, refused = i + 1, last + 1
        while reach < last:
            j = min(i + stride, last)
            if not allowed(i, j):
                refused = j
                break
            reach, stride = j, 2 * stride
        kept.append(next((j for j in range(refused - 1, reach, -1) if allowed(i, j)), reach))
    return [cells[i] for i in kept]


def catmull_rom(a: Cell, b: Cell, c: Cell, d: Cell, share: float) -> tuple[float, float]:
    """A point between b and c, by the pyramid of Barry and Goldman with centripetal times."""
    times = [0.0]
    for p, q in pairwise((a, b, c, d)):
        times.append(times[-1] + math.sqrt(math.dist(p, q)))
    t = times[1] + share * (times[2] - times[1])

    def blend(
        p: tuple[float, float], q: tuple[float, float], low: float, high: float
    ) -> tuple[float, float]:
        u = (t - low) / (high - low)
        return (1 - u) * p[0] + u * q[0], (1 - u) * p[1] + u * q[1]

    t0, t1, t2, t3 = times
    ab, bc, cd = blend(a, b, t0, t1), blend(b, c, t1, t2), blend(c, d, t2, t3)
    return blend(blend(ab, bc, t0, t2), blend(bc, cd, t1, t3), t1, t2)
