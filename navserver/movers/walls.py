"""Walls: what of the map's own cells is near a mover, and motion that they stop.

A mover's centre is in a cell that is open to it, and only the eight cells around can touch a disc
of half a cell: four sides, and each corner that two open sides leave bare. Each of these is a
half-plane of displacements through its nearest point. A displacement within all of them stays
clear of the walls on the whole way, so long as the centre stays in the cell; where it leaves, the
next cell's walls take over.

The centre never enters a cell that is not open, nor passes between two that are not, whatever the
displacement. A disc that touches no wall before touches none after, up to the rounding of float32
positions; one that does touch goes no deeper. Discs wider than half a cell count as half a cell:
what they need besides is in the movement's `radius` or `size`, and where it has one, the cells say
where the centre may be and the disc is not looked at.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from navserver._jit import inlined, kernel, register_warm_up, subkernel
from navserver.movers.half_planes import PLANE, descend_
from navserver.movers.movers import Movers
from navserver.movers.sight import Ground, cell_at_
from navserver.movers.workers import Workers
from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.search.moves import dx_, dy_

__all__ = [
    "MOST_WALLS",
    "Moving",
    "look_around_",
    "move_",
    "slide_",
    "wall_planes_",
    "wall_reach_of",
]

MOST_WALLS = 4
"""Most half-planes that walls leave: a corner counts only between two open sides."""

# Longest displacement for which the half-plane of a corner stands in for its roundness.
STRIDE = 0.5


def wall_reach_of(movement: Movement) -> float:
    """Return the most that a disc's radius counts near walls, in cells.

    Parameters
    ----------
    movement : Movement
        What blocks the body.

    Returns
    -------
    float
        0 if the movement's cells already leave room for the body, else 0.5.
    """
    return 0.0 if movement.radius > 0.0 or movement.size > 1 else 0.5


@subkernel
def walls_around_(ground: Ground, cell: int) -> int:
    """Return the walls that a cell has, one bit a direction.

    A straight neighbour is a wall if nothing may stand there. A diagonal one counts only if both
    cells beside it are open, since otherwise one of these hides it.
    """
    if ground.masks[cell] == 0xFF:
        return 0
    row = cell // ground.width
    column = cell - row * ground.width
    walls = 0
    for turn in range(8):
        # Straight ones first.
        direction = 2 * turn if turn < 4 else 2 * turn - 7
        if direction & 1 and walls & (1 << (direction - 1) | 1 << ((direction + 1) & 7)):
            continue
        x = column + dx_(direction)
        y = row + dy_(direction)
        outside = x < 0 or y < 0 or x >= ground.width or y >= ground.height
        if outside or ground.masks[y * ground.width + x] == 0:
            walls |= 1 << direction
    return walls


@inlined
def wall_planes_(
    walls: int, x: float, y: float, reach: float, per_step: float, planes: NDArray[np.float64]
) -> int:
    """Write the half-planes that a cell's walls leave a disc; return how many.

    (x, y) is seen from the cell's centre. With ``per_step`` 1 they are of displacements, with
    ``1 / dt`` of velocities.
    """
    n_planes = 0
    for direction in range(8):
        if not walls >> direction & 1:
            continue
        dx = dx_(direction)
        dy = dy_(direction)
        if direction & 1:
            nx = x - 0.5 * dx
            ny = y - 0.5 * dy
            length = math.sqrt(nx * nx + ny * ny)
            gap = length - reach
            if length > 1e-9:
                nx /= length
                ny /= length
            else:
                nx = -dx * math.sqrt(0.5)
                ny = -dy * math.sqrt(0.5)
        else:
            nx = -1.0 * dx
            ny = -1.0 * dy
            gap = 0.5 - x * dx - y * dy - reach
        planes[n_planes, 0] = nx
        planes[n_planes, 1] = ny
        planes[n_planes, 2] = -max(gap, 0.0) * per_step
        planes[n_planes, 3] = 1.0
        n_planes += 1
    return n_planes


@inlined
def skin_(x: float, y: float) -> float:
    """Return how far from walls to keep so that rounding to float32 does not reach them."""
    return 1.2e-7 * max(abs(x), abs(y), 1.0)


@inlined
def within_line_(value: float, line: int) -> np.float32:
    """Return a coordinate as a float32 that a column or row of cells owns."""
    rounded = np.float32(min(max(value, line - 0.5), line + 0.5))
    if math.floor(np.float64(rounded) + 0.5) > line:
        rounded = np.nextafter(rounded, np.float32(-np.inf))
    elif math.floor(np.float64(rounded) + 0.5) < line:
        rounded = np.nextafter(rounded, np.float32(np.inf))
    return rounded


@subkernel
def stride_(
    walls: int,
    x: float,
    y: float,
    dx: float,
    dy: float,
    reach: float,
    planes: NDArray[np.float64],
) -> tuple[float, float, bool]:
    """Return what a cell's walls leave of a short displacement, and whether that is less."""
    n_planes = wall_planes_(walls, x, y, reach, 1.0, planes)
    length = math.sqrt(dx * dx + dy * dy)
    n_met, step_x, step_y = descend_(planes, n_planes, length, dx, dy, False, 0.0, 0.0)
    if n_met < n_planes:
        # Standing still is always allowed; only rounding can say that nothing is.
        return 0.0, 0.0, True
    return step_x, step_y, abs(step_x - dx) + abs(step_y - dy) > 1e-6 * length


@inlined
def way_out_(x: float, y: float, dx: float, dy: float) -> tuple[float, int]:
    """Return the part of a displacement up to the border of the cell, and where it leaves.

    (x, y) is seen from the cell's centre. (1, -1) if it stays inside.
    """
    until = 1.0
    direction = -1
    if dx != 0.0:
        part = max((0.5 if dx > 0.0 else -0.5) / dx - x / dx, 0.0)
        if part < until:
            until = part
            direction = 0 if dx > 0.0 else 4
    if dy != 0.0:
        part = max((0.5 if dy > 0.0 else -0.5) / dy - y / dy, 0.0)
        if part < until:
            until = part
            direction = 2 if dy > 0.0 else 6
    return until, direction


@subkernel
def slide_(
    ground: Ground,
    x: float,
    y: float,
    dx: float,
    dy: float,
    reach: float,
    planes: NDArray[np.float64],
) -> tuple[float, float, bool]:
    """Return where a disc ends that goes by (dx, dy) and slides along walls, and if it met one.

    Invariant: the centre is at (here_x, here_y), seen from the centre of `cell`, which is open and
    was reached through open cells; a part `rest` of the displacement is still to go.
    """
    cell = cell_at_(ground, x, y)
    length = math.sqrt(dx * dx + dy * dy)
    if cell < 0 or not 0.0 < length < np.inf:
        return x, y, False
    # Farther than across the map nobody can go.
    most = 2.0 * (ground.width + ground.height)
    if length > most:
        dx *= most / length
        dy *= most / length
        length = most
    skin = skin_(x, y)
    row = cell // ground.width
    column = cell - row * ground.width
    here_x = x - (column + ground.origin_x)
    here_y = y - (row + ground.origin_y)
    rest = 1.0
    met = False
    n_idle = 0
    for _ in range(8 * (ground.width + ground.height) + 64):
        part = rest
        step_x = dx * part
        step_y = dy * part
        walls = walls_around_(ground, cell)
        if walls:
            part = min(rest, STRIDE / length)
            step_x, step_y, hindered = stride_(
                walls, here_x, here_y, dx * part, dy * part, reach + skin, planes
            )
            met = met or hindered
        until, direction = way_out_(here_x, here_y, step_x, step_y)
        here_x += step_x * until
        here_y += step_y * until
        rest -= part * until
        # Two cells could pass a mover on to each other for ever.
        n_idle = n_idle + 1 if until * part * length <= 1e-9 else 0
        if rest * length <= 1e-9 or n_idle > 2:
            break
        if direction >= 0:
            if walls >> direction & 1:
                met = True
                break
            column += dx_(direction)
            row += dy_(direction)
            cell = row * ground.width + column
            # The border just crossed, seen from the other side.
            here_x = -0.5 * dx_(direction) if direction & 2 == 0 else min(max(here_x, -0.5), 0.5)
            here_y = -0.5 * dy_(direction) if direction & 2 else min(max(here_y, -0.5), 0.5)
        elif abs(step_x) + abs(step_y) <= 1e-9:
            break
    column += ground.origin_x
    row += ground.origin_y
    return (
        np.float64(within_line_(here_x + column, column)),
        np.float64(within_line_(here_y + row, row)),
        met,
    )


@kernel
def look_around_(
    masks: NDArray[np.uint8],
    space: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    width: int,
    height: int,
    origin_x: int,
    origin_y: int,
    movement: NDArray[np.uint8],
    which: int,
    most_reach: float,
    state: NDArray[np.uint8],
    position: NDArray[np.float32],
    radius: NDArray[np.float32],
    first: int,
    last: int,
    walls: NDArray[np.uint8],
    reaches: NDArray[np.float32],
) -> int:
    """Write for the movers of one movement which walls are near, and how near they may come."""
    ground = Ground(masks, space, open_table, width, height, origin_x, origin_y)
    for i in range(first, last):
        if state[i] and movement[i] == which:
            cell = cell_at_(ground, position[i, 0], position[i, 1])
            walls[i] = walls_around_(ground, cell) if cell >= 0 else 0
            reaches[i] = min(radius[i], most_reach)
    return 0


@kernel
def move_(
    masks: NDArray[np.uint8],
    space: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    width: int,
    height: int,
    origin_x: int,
    origin_y: int,
    movement: NDArray[np.uint8],
    which: int,
    most_reach: float,
    state: NDArray[np.uint8],
    radius: NDArray[np.float32],
    dt: float,
    first: int,
    last: int,
    planes: NDArray[np.float64],
    position: NDArray[np.float32],
    velocity: NDArray[np.float32],
) -> int:
    """Move the movers of one movement by their velocities, and write what walls leave of these."""
    ground = Ground(masks, space, open_table, width, height, origin_x, origin_y)
    for i in range(first, last):
        vx = np.float64(velocity[i, 0])
        vy = np.float64(velocity[i, 1])
        if not state[i] or movement[i] != which or (vx == 0.0 and vy == 0.0):
            continue
        x = np.float64(position[i, 0])
        y = np.float64(position[i, 1])
        reach = min(np.float64(radius[i]), most_reach)
        new_x, new_y, met = slide_(ground, x, y, vx * dt, vy * dt, reach, planes)
        position[i, 0] = new_x
        position[i, 1] = new_y
        if met:
            velocity[i, 0] = (new_x - x) / dt
            velocity[i, 1] = (new_y - y) / dt
    return 0


class Moving:
    """The phase that moves everybody by their velocities, as far as walls let them.

    Parameters
    ----------
    movers : Movers
        Whom.
    workers : Workers
        The threads.
    """

    name = "move"

    def __init__(self, movers: Movers, workers: Workers) -> None:
        self._movers = movers
        self._workers = workers

    def is_used(self) -> bool:
        """Return whether there is something to do.

        Returns
        -------
        bool
            False without movers.
        """
        return len(self._movers) > 0

    def run(self, dt: float) -> int:
        """Move for so many seconds.

        Parameters
        ----------
        dt : float
            Seconds; with 0 nothing changes.

        Returns
        -------
        int
            0: it has no events.
        """
        if dt == 0.0:
            return 0
        for which, movement in enumerate(self._movers.movements):
            self._move(which, wall_reach_of(movement), dt)
        return 0

    def _move(self, which: int, most_reach: float, dt: float) -> None:
        columns = self._movers.columns
        ground = self._movers.ground(which)

        def move(first: int, last: int) -> int:
            return move_(
                *ground, columns.movement, which, most_reach, columns.state, columns.radius, dt,
                first, last, np.empty((MOST_WALLS, PLANE)), columns.position, columns.velocity,
            )  # fmt: skip

        self._workers.run(move, self._movers.slots, worthwhile=4096)


def _warm_up() -> None:
    movers = Movers(Grid([[0, 0], [0, 255]]))
    movers.add([(0, 0)], radius=0.5, max_speed=1.0)
    columns = movers.columns
    columns.velocity[0] = 1.0
    Moving(movers, Workers(1)).run(0.1)
    look_around_(
        *movers.ground(0), columns.movement, 0, 0.5, columns.state, columns.position,
        columns.radius, 0, 1, np.zeros(1, np.uint8), np.zeros(1, np.float32),
    )  # fmt: skip


register_warm_up("walls", _warm_up)
