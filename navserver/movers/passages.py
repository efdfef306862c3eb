"""Passages one body wide: who goes first where two cannot pass each other.

A cell is thin if it is no part of four open cells in a square: two bodies cannot pass each other
there. A chain of thin cells without a branch is a passage; a door in a wall is the shortest one.
Who is inside goes through, and who comes from the other side waits beside the mouth. From where
the highest priority waits, the next ones go in, and among equals from where one has waited
longest: so the sides take turns. Of those who have met inside, the lower side backs out.

Nothing is kept of passages: a mover traces the one before it when it comes near, so an edit of the
map needs no upkeep.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver._jit import inlined, kernel, register_warm_up, subkernel
from navserver.movers.columns import MoverState
from navserver.movers.movers import Movers
from navserver.movers.sight import Ground, cell_at_
from navserver.search.grid import Grid
from navserver.search.moves import dx_, dy_

__all__ = ["Passages", "direct_traffic_", "trace_passage_"]

LONGEST = 64
"""Cells that a passage is followed to either side; beyond, it counts as another one."""

LEAST_RADIUS = 0.25
"""Two smaller bodies pass each other in one cell."""

PATIENCE = 3.0
"""Seconds for which one waits before those of equal priority on the other side are held up."""

# How far ahead of its rim a mover looks for a passage, in cells, and in what steps.
_LOOKAHEAD = 1.5
_STEP = 0.25

PATH = int(MoverState.PATH)


class Claims(NamedTuple):
    """Who is in a passage or before one, in the order of their slots; room for all movers."""

    row: NDArray[np.int32]
    passage: NDArray[np.int32]
    """The lower of its end cells."""
    side: NDArray[np.int8]
    """1 if it goes from the lower end to the other one, else -1."""
    inside: NDArray[np.bool_]
    gap: NDArray[np.float32]
    """How far it still is from there, in cells."""
    cell: NDArray[np.int32]
    """The cell of it that the mover is in, or comes to first."""
    turn: NDArray[np.int8]
    """1 if it may go on, 0 if it waits, -1 if it backs out."""
    way: NDArray[np.float32]
    """Unit vector along the passage as the mover goes, at its mouth or where it is."""
    next: NDArray[np.int32]
    heads: NDArray[np.int32]
    """Lists of claims by passage, hashed; twice as many as movers, a power of two."""


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
    """Return whether a cell is part of a passage: thin, and no junction."""
    return is_thin_(ground, cell) and straight_moves_(ground, cell) <= 2


@subkernel
def follow_passage_(ground: Ground, cell: int, direction: int) -> int:
    """Return the last cell of a passage that begins with a straight step from one of its cells."""
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
    """Return a passage's lower end cell, and its course from there on at a cell of it.

    The course leads from the step towards the lower end to the step towards the other one; it is
    (0, 0) for a cell without neighbours.
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


@inlined
def bucket_of_(claims: Claims, passage: int) -> int:
    """Return the list of a passage."""
    return (np.int64(passage) * 2654435761) & (claims.heads.size - 1)


@subkernel
def enter_claim_(
    ground: Ground,
    claims: Claims,
    count: int,
    row: int,
    cell: int,
    inside: bool,
    gap: float,
    going_x: float,
    going_y: float,
) -> bool:
    """Write down that a mover is in a passage, or will be, at a cell of it, going some way."""
    passage, dx, dy = trace_passage_(ground, cell)
    along = dx * going_x + dy * going_y
    if along == 0.0:
        return False
    side = 1 if along > 0.0 else -1
    length = math.sqrt(dx * dx + dy * dy)
    claims.row[count] = row
    claims.passage[count] = passage
    claims.side[count] = side
    claims.inside[count] = inside
    claims.cell[count] = cell
    claims.gap[count] = gap
    claims.way[count, 0] = side * dx / length
    claims.way[count, 1] = side * dy / length
    bucket = bucket_of_(claims, passage)
    claims.next[count] = claims.heads[bucket]
    claims.heads[bucket] = count
    return True


@subkernel
def look_ahead_(
    ground: Ground,
    claims: Claims,
    count: int,
    row: int,
    position: NDArray[np.float32],
    radius: NDArray[np.float32],
    path_next: NDArray[np.int32],
    path_end: NDArray[np.int32],
    pool: NDArray[np.float32],
) -> bool:
    """Enter the claim of a mover for the first passage on its route that is near."""
    x = np.float64(position[row, 0])
    y = np.float64(position[row, 1])
    here = cell_at_(ground, x, y)
    left = np.float64(radius[row]) + _LOOKAHEAD
    cell = here
    inside = here >= 0 and is_passage_(ground, here)
    for k in range(path_next[row], path_end[row]):
        dx = np.float64(pool[k, 0]) - x
        dy = np.float64(pool[k, 1]) - y
        length = math.sqrt(dx * dx + dy * dy)
        if length == 0.0:
            continue
        if inside:
            return enter_claim_(ground, claims, count, row, here, True, 0.0, dx, dy)
        steps = math.ceil(min(length, left) / _STEP)
        for step in range(1, steps + 1):
            share = min(step * _STEP, length) / length
            at = cell_at_(ground, x + dx * share, y + dy * share)
            if at >= 0 and at != cell:
                if is_passage_(ground, at):
                    gap = np.float64(radius[row]) + _LOOKAHEAD - left + length * share
                    return enter_claim_(ground, claims, count, row, at, False, gap, dx, dy)
                cell = at
        left -= length
        if left <= 0.0:
            return False
        x += dx
        y += dy
    return False


@inlined
def patience_(held: float) -> float:
    """Return for how long one has waited, if that is long."""
    return held if held > PATIENCE else 0.0


@subkernel
def outranks_(
    claims: Claims,
    priority: NDArray[np.float32],
    held: NDArray[np.float32],
    one: int,
    other: int,
) -> bool:
    """Return whether one claim goes before another, -1 being nobody's.

    By priority; then who has waited long, and longest; then who is nearer, and so stays ahead.
    """
    if other < 0 or one < 0:
        return other < 0
    row = np.int64(claims.row[one])
    other_row = np.int64(claims.row[other])
    if priority[row] != priority[other_row]:
        return bool(priority[row] > priority[other_row])
    waited = patience_(held[row])
    other_waited = patience_(held[other_row])
    if waited != other_waited:
        return waited > other_waited
    if claims.gap[one] != claims.gap[other]:
        return bool(claims.gap[one] < claims.gap[other])
    return row < other_row


@subkernel
def turn_of_(
    claims: Claims, i: int, priority: NDArray[np.float32], held: NDArray[np.float32]
) -> int:
    """Return 1 if a mover may go on, 0 if it has to wait, -1 if it has to back out."""
    ours_inside = -1
    theirs_inside = -1
    ours_outside = -1
    theirs_outside = -1
    k = np.int64(claims.heads[bucket_of_(claims, claims.passage[i])])
    while k >= 0:
        if claims.passage[k] == claims.passage[i]:
            if claims.side[k] == claims.side[i]:
                if claims.inside[k]:
                    if outranks_(claims, priority, held, k, ours_inside):
                        ours_inside = k
                elif outranks_(claims, priority, held, k, ours_outside):
                    ours_outside = k
            elif claims.inside[k]:
                if outranks_(claims, priority, held, k, theirs_inside):
                    theirs_inside = k
            elif outranks_(claims, priority, held, k, theirs_outside):
                theirs_outside = k
        k = np.int64(claims.next[k])
    if claims.inside[i]:
        return 1 if outranks_(claims, priority, held, ours_inside, theirs_inside) else -1
    if theirs_inside >= 0:
        return 0
    if theirs_outside < 0:
        return 1
    if ours_inside < 0:
        return 1 if outranks_(claims, priority, held, ours_outside, theirs_outside) else 0
    # Behind others of one's own side, unless the other side is due.
    row = np.int64(claims.row[i])
    other_row = np.int64(claims.row[theirs_outside])
    if priority[row] != priority[other_row]:
        return 1 if priority[row] > priority[other_row] else 0
    return 1 if patience_(held[row]) >= patience_(held[other_row]) else 0


@subkernel
def yielding_(
    ground: Ground,
    claims: Claims,
    i: int,
    position: NDArray[np.float32],
    radius: NDArray[np.float32],
) -> tuple[float, float]:
    """Return the velocity, in parts of its greatest speed, of a mover that has to let others by.

    One inside backs out. One outside keeps beside the way that others come out by: it goes to the
    side that it is on until there is room for a body, and stands there.
    """
    way_x = np.float64(claims.way[i, 0])
    way_y = np.float64(claims.way[i, 1])
    if claims.turn[i] < 0:
        return -way_x, -way_y
    row = np.int64(claims.row[i])
    cell = np.int64(claims.cell[i])
    x = position[row, 0] - ground.origin_x - cell % ground.width
    y = position[row, 1] - ground.origin_y - cell // ground.width
    aside = way_x * y - way_y * x
    behind = -(way_x * x + way_y * y)
    room = 2.0 * radius[row] + 0.5
    if abs(aside) >= room or behind >= radius[row] + 0.5 + _LOOKAHEAD:
        return 0.0, 0.0
    # Rather back than into the mouth's own walls.
    sign = 1.0 if aside > 0.0 or (aside == 0.0 and row & 1) else -1.0
    back = 0.5 if behind < room else 0.0
    return -sign * way_y * 0.5 - back * way_x, sign * way_x * 0.5 - back * way_y


@kernel
def direct_traffic_(
    ground: Ground,
    which: int,
    slots: int,
    state: NDArray[np.uint8],
    movement: NDArray[np.uint8],
    position: NDArray[np.float32],
    preferred: NDArray[np.float32],
    radius: NDArray[np.float32],
    max_speed: NDArray[np.float32],
    priority: NDArray[np.float32],
    path_next: NDArray[np.int32],
    path_end: NDArray[np.int32],
    pool: NDArray[np.float32],
    held: NDArray[np.float32],
    dt: float,
    claims: Claims,
) -> int:
    """Change the preferred velocities of movers that have to wait or back out; return how many.

    Invariant: after the first loop, claims of one passage are on one list; the second reads
    waiting times as they were before the step, and the third writes them.
    """
    count = 0
    claims.heads[:] = -1
    for row in range(slots):
        if state[row] != PATH or movement[row] != which or radius[row] <= LEAST_RADIUS:
            continue
        if look_ahead_(ground, claims, count, row, position, radius, path_next, path_end, pool):
            count += 1
        else:
            held[row] = 0.0
    for i in range(count):
        claims.turn[i] = turn_of_(claims, i, priority, held)
    n_held = 0
    for i in range(count):
        row = np.int64(claims.row[i])
        if claims.inside[i]:
            held[row] = 0.0
        # Who may go keeps its rank until it is inside.
        if claims.turn[i] > 0:
            continue
        n_held += 1
        if not claims.inside[i]:
            held[row] += np.float32(dt)
        vx, vy = yielding_(ground, claims, i, position, radius)
        preferred[row, 0] = vx * max_speed[row]
        preferred[row, 1] = vy * max_speed[row]
    return n_held


class Passages:
    """The phase that lets movers wait before passages that others are in.

    Parameters
    ----------
    movers : Movers
        Who avoids each other.
    """

    name = "give way"

    def __init__(self, movers: Movers) -> None:
        self._movers = movers
        self._claims = _claims_of(64)

    def is_used(self) -> bool:
        """Return whether there is something to do.

        Returns
        -------
        bool
            False without movers.
        """
        return self._movers.slots > 0

    def run(self, dt: float) -> int:
        """Change the preferred velocities of those who have to wait.

        Parameters
        ----------
        dt : float
            Seconds.

        Returns
        -------
        int
            0: it makes no events.
        """
        movers = self._movers
        columns = movers.columns
        if self._claims.row.size < movers.slots:
            self._claims = _claims_of(len(columns.state))
        for which in range(len(movers.movements)):
            direct_traffic_(
                movers.ground(which), which, movers.slots, columns.state, columns.movement,
                columns.position, columns.preferred_velocity, columns.radius, columns.max_speed,
                columns.priority, columns.path_next, columns.path_end, movers.routes.pool,
                columns.held, dt, self._claims,
            )  # fmt: skip
        return 0


def _claims_of(capacity: int) -> Claims:
    n_lists = 1 << (2 * capacity - 1).bit_length()
    return Claims(
        row=np.empty(capacity, np.int32),
        passage=np.empty(capacity, np.int32),
        side=np.empty(capacity, np.int8),
        inside=np.empty(capacity, np.bool_),
        gap=np.empty(capacity, np.float32),
        cell=np.empty(capacity, np.int32),
        turn=np.empty(capacity, np.int8),
        way=np.empty((capacity, 2), np.float32),
        next=np.empty(capacity, np.int32),
        heads=np.empty(n_lists, np.int32),
    )


def _warm_up() -> None:
    movers = Movers(Grid.filled(2, 1))
    movers.add([(0, 0)], radius=0.4, max_speed=1.0)
    Passages(movers).run(0.1)


register_warm_up("passages", _warm_up)
