"""Narrow places of the map: cells where only a few bodies can be side by side.

A cell is thin if it is no part of four open cells in a square: two bodies cannot pass each other
there. A chain of thin cells without a branch is a passage. So is a chain of lines of two or three
open cells, with walls at both ends of each, along the axis that crosses the lines: a wide door, a
corridor.

Nothing of it is kept here: whoever comes near traces the passage before it, so an edit of the map
needs no upkeep.
"""

from __future__ import annotations

from typing import NamedTuple

from navserver._jit import inlined, subkernel
from navserver.movers.sight import Ground
from navserver.search.moves import dx_, dy_

__all__ = [
    "LONGEST",
    "WIDEST",
    "Narrow",
    "is_narrow_",
    "is_passage_",
    "line_at_",
    "narrow_at_",
    "trace_passage_",
]

LONGEST = 64
"""Cells that a passage is followed to either side; beyond, it counts as another one."""

WIDEST = 3
"""Cells across a passage, at most."""


class Narrow(NamedTuple):
    """A passage, as it is at one of its cells."""

    passage: int
    """The lower of its end cells, twice that and 1 where it leads along y; -1 where there is none.
    """
    dx: int
    """Its course from the lower end on, from the step towards that to the step away from it."""
    dy: int
    width: int
    """Cells across."""
    middle_x: float
    """A point of its middle line, seen from the map's own first cell."""
    middle_y: float


class Line(NamedTuple):
    """A line of open cells across a passage."""

    axis: int
    """0 if the passage leads along x, 1 if along y, -1 if there is none."""
    low: int
    """The first cell of the line."""
    width: int


@inlined
def is_open_(ground: Ground, cell: int) -> bool:
    """Return whether a body may stand on a flat cell."""
    return ground.open_table[ground.space[cell]] != 0


@subkernel
def is_thin_(ground: Ground, cell: int) -> bool:
    """Return whether an open cell is no part of four open cells in a square."""
    row = cell // ground.width
    column = cell - row * ground.width
    for corner in range(1, 8, 2):
        x = column + dx_(corner)
        y = row + dy_(corner)
        if (
            0 <= x < ground.width
            and 0 <= y < ground.height
            and is_open_(ground, row * ground.width + x)
            and is_open_(ground, y * ground.width + column)
            and is_open_(ground, y * ground.width + x)
        ):
            return False
    return True


@subkernel
def straight_moves_(ground: Ground, cell: int) -> int:
    """Return how many straight neighbours are open."""
    count = 0
    for direction in range(0, 8, 2):
        count += (ground.masks[cell] >> direction) & 1
    return count


@subkernel
def is_passage_(ground: Ground, cell: int) -> bool:
    """Return whether a cell is part of a thin passage: thin, and no junction."""
    return is_thin_(ground, cell) and straight_moves_(ground, cell) <= 2


@subkernel
def follow_passage_(ground: Ground, cell: int, direction: int) -> int:
    """Return the last cell of a thin passage beyond a straight step from one of its cells."""
    for _ in range(LONGEST):
        to = cell + dy_(direction) * ground.width + dx_(direction)
        if not is_passage_(ground, to):
            return cell
        cell = to
        back = (direction + 4) & 7
        direction = -1
        for other in range(0, 8, 2):
            if other != back and (ground.masks[cell] >> other) & 1:
                direction = other
        if direction < 0:
            return cell
    return cell


@subkernel
def trace_passage_(ground: Ground, cell: int) -> tuple[int, int, int]:
    """Return a thin passage's lower end cell, and its course from there on at a cell of it.

    The course is (0, 0) for a cell without neighbours.
    """
    first = -1
    second = -1
    for direction in range(0, 8, 2):
        if (ground.masks[cell] >> direction) & 1:
            if first < 0:
                first = direction
            else:
                second = direction
    if first < 0:
        return cell, 0, 0
    one = follow_passage_(ground, cell, first)
    other = cell
    dx = -dx_(first)
    dy = -dy_(first)
    if second >= 0:
        other = follow_passage_(ground, cell, second)
        dx += dx_(second)
        dy += dy_(second)
    # A passage of one cell begins where its first direction leads.
    if other < one:
        return other, -dx, -dy
    return one, dx, dy


@subkernel
def reach_(ground: Ground, cell: int, step: int, room: int) -> int:
    """Return how many cells in a row are open beyond a cell, `room` being left on the map.

    One more than the widest passage has stands for any number.
    """
    count = 0
    while count < min(room, WIDEST) and is_open_(ground, cell + (count + 1) * step):
        count += 1
    return count


@subkernel
def line_at_(ground: Ground, cell: int) -> Line:
    """Return the line across a passage of two or three cells that an open cell is in.

    Where lines along both axes would do, the shorter one is it; of equals neither, since such a
    cell leads nowhere.
    """
    width = ground.width
    row = cell // width
    column = cell - row * width
    above = reach_(ground, cell, -width, row)
    down = above + 1 + reach_(ground, cell, width, ground.height - 1 - row)
    before = reach_(ground, cell, -1, column)
    across = before + 1 + reach_(ground, cell, 1, width - 1 - column)
    if down < across and 2 <= down <= WIDEST:
        return Line(0, cell - above * width, down)
    if across < down and 2 <= across <= WIDEST:
        return Line(1, cell - before, across)
    return Line(-1, cell, 0)


@subkernel
def first_line_(ground: Ground, line: Line) -> int:
    """Return the first cell of the line at the lower end of a wide passage."""
    along = 1 if line.axis == 0 else ground.width
    across = ground.width if line.axis == 0 else 1
    for _ in range(LONGEST):
        place = line.low % ground.width if line.axis == 0 else line.low // ground.width
        if place == 0:
            break
        found = Line(-1, line.low, 0)
        for k in range(line.width):
            to = line.low - along + k * across
            if is_open_(ground, to):
                found = line_at_(ground, to)
                break
        if found.axis != line.axis:
            break
        line = found
    return line.low


@inlined
def is_narrow_(ground: Ground, cell: int) -> bool:
    """Return whether an open cell is part of a passage."""
    return is_passage_(ground, cell) or line_at_(ground, cell).axis >= 0


@subkernel
def narrow_at_(ground: Ground, cell: int) -> Narrow:
    """Return the passage that an open cell is part of."""
    row = cell // ground.width
    column = cell - row * ground.width
    if is_passage_(ground, cell):
        passage, dx, dy = trace_passage_(ground, cell)
        return Narrow(2 * passage, dx, dy, 1, float(column), float(row))
    line = line_at_(ground, cell)
    if line.axis < 0:
        return Narrow(-1, 0, 0, 0, float(column), float(row))
    passage = 2 * first_line_(ground, line) + line.axis
    half = 0.5 * (line.width - 1)
    if line.axis == 0:
        low = line.low // ground.width
        return Narrow(passage, 1, 0, line.width, float(column), low + half)
    low = line.low % ground.width
    return Narrow(passage, 0, 1, line.width, low + half, float(row))
