"""Whether a body may walk straight between points in cell space.

The rule is that of `line_of_sight.raycast`: points are brought to its lattice, and the segment is
followed exactly.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver._jit import inlined, kernel, register_warm_up, subkernel
from navserver.search.grid import Grid
from navserver.search.line_of_sight import ARRIVED, LATTICE_BITS, follow_, to_lattice_
from navserver.search.movement import Movement, MovementOptions

__all__ = [
    "Ground",
    "cell_at_",
    "farthest_in_sight_",
    "first_blocked_path_",
    "ground_of",
    "is_free_",
    "options_of",
    "walkable_",
]


# Waypoints to each side that one who has lost sight of the next looks at.
LOOKED_AT = 16

# More than a point is moved by when it is brought to the lattice.
MARGIN = 2.0 / (1 << LATTICE_BITS)


class Ground(NamedTuple):
    """Where bodies of one movement may be, as kernels see it; flat arrays of the grid's own."""

    masks: NDArray[np.uint8]
    """Allowed moves of each cell."""
    space: NDArray[np.uint8]
    """What is on each cell."""
    open_table: NDArray[np.uint8]
    """Whether a body may stand on that."""
    width: int
    height: int
    origin_x: int
    origin_y: int


def ground_of(grid: Grid, movement: Movement) -> Ground:
    """Return the ground of a movement, valid for this version of the grid.

    Parameters
    ----------
    grid : Grid
        The map.
    movement : Movement
        What blocks a body.

    Returns
    -------
    Ground
        Not copied.
    """
    terrain = grid.terrain(movement)
    return Ground(
        terrain.masks, terrain.space, terrain.open_table, grid.width, grid.height,
        *grid.region_position,
    )  # fmt: skip


def options_of(movement: Movement) -> MovementOptions:
    """Return a movement as the keywords that searches take.

    Parameters
    ----------
    movement : Movement
        What blocks a body, and what it pays.

    Returns
    -------
    dict
        One entry a field.
    """
    return {  # type: ignore[return-value]
        field.name: getattr(movement, field.name) for field in fields(movement)
    }


@subkernel
def cell_at_(ground: Ground, x: float, y: float) -> int:
    """Return the flat index of the open cell that holds a point, -1 if there is none."""
    column = x - ground.origin_x + 0.5
    row = y - ground.origin_y + 0.5
    # Written so that it is False for NaN.
    if not (0.0 <= column < ground.width and 0.0 <= row < ground.height):
        return -1
    cell = math.floor(row) * ground.width + math.floor(column)
    return cell if ground.open_table[ground.space[cell]] else -1


@subkernel
def walkable_(ground: Ground, x0: float, y0: float, x1: float, y1: float) -> bool:
    """Return whether both points are in open cells and the segment between them is free."""
    cell = cell_at_(ground, x0, y0)
    goal = cell_at_(ground, x1, y1)
    if cell < 0 or goal < 0:
        return False
    if cell == goal:
        return True
    how, reached = follow_(
        ground.masks,
        ground.width,
        # Points are in the map, but rounding could carry one to the border that it does not own.
        min(to_lattice_(x0 - ground.origin_x), (ground.width << LATTICE_BITS) - 1),
        min(to_lattice_(y0 - ground.origin_y), (ground.height << LATTICE_BITS) - 1),
        min(to_lattice_(x1 - ground.origin_x), (ground.width << LATTICE_BITS) - 1),
        min(to_lattice_(y1 - ground.origin_y), (ground.height << LATTICE_BITS) - 1),
    )
    return bool(how == ARRIVED and reached == goal)


@inlined
def is_open_along_(
    masks: NDArray[np.uint8],
    along: int,
    across: int,
    lines: int,
    u0: float,
    v0: float,
    u1: float,
    v1: float,
) -> bool:
    """Return whether all cells near a segment are open that is longer along u than along v.

    Cells are ``along`` apart in u and ``across`` in v, of which there are so many lines; a point's
    cell is its floor. Cells that a segment only comes as near to as its ends are rounded count as
    well. Invariant: `is_open` tells of the cells before u = k; without a branch to be foretold.
    """
    slope = (v1 - v0) / (u1 - u0) if u1 != u0 else 0.0
    # The line goes on to the far borders of its first and last cells.
    start = v0 - u0 * slope + min(slope, 0.0) - MARGIN
    span = abs(slope) + 2.0 * MARGIN
    last = lines - 1
    is_open = True
    for k in range(int(min(u0, u1)), int(max(u0, u1)) + 1):
        v = start + k * slope
        low = min(max(int(v), 0), last)
        high = min(max(int(v + span), 0), last)
        cell = k * along
        is_open &= (
            (masks[cell + low * across] != 0)
            & (masks[cell + min(low + 1, high) * across] != 0)
            & (masks[cell + high * across] != 0)
        )
    return is_open


@inlined
def is_free_(ground: Ground, x0: float, y0: float, x1: float, y1: float) -> bool:
    """Return what `walkable_` does of two points in open cells, sooner where nothing is near."""
    from_x = x0 - ground.origin_x + 0.5
    from_y = y0 - ground.origin_y + 0.5
    to_x = x1 - ground.origin_x + 0.5
    to_y = y1 - ground.origin_y + 0.5
    low = MARGIN
    if (
        min(from_x, to_x) < low
        or min(from_y, to_y) < low
        or max(from_x, to_x) > ground.width - low
        or max(from_y, to_y) > ground.height - low
    ):
        return walkable_(ground, x0, y0, x1, y1)
    if abs(to_x - from_x) >= abs(to_y - from_y):
        is_open = is_open_along_(
            ground.masks, 1, ground.width, ground.height, from_x, from_y, to_x, to_y
        )
    else:
        is_open = is_open_along_(
            ground.masks, ground.width, 1, ground.width, from_y, from_x, to_y, to_x
        )
    return is_open or walkable_(ground, x0, y0, x1, y1)


@subkernel
def farthest_in_sight_(
    ground: Ground, pool: NDArray[np.float32], first: int, k: int, last: int, x: float, y: float
) -> int:
    """Return the farthest waypoint in sight of a point, around waypoint `k`; -1 if none is."""
    for j in range(min(last, k + LOOKED_AT), max(first, k - LOOKED_AT) - 1, -1):
        if walkable_(ground, x, y, pool[j, 0], pool[j, 1]):
            return j
    return -1


@kernel
def first_blocked_path_(
    masks: NDArray[np.uint8],
    space: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    width: int,
    height: int,
    origin_x: int,
    origin_y: int,
    movement: NDArray[np.uint8],
    which: int,
    position: NDArray[np.float32],
    rows: NDArray[np.int64],
    points: NDArray[np.float32],
    offsets: NDArray[np.int64],
) -> tuple[int, int]:
    """Return the first route, and the waypoint in it, that cannot be walked to straight.

    (-1, -1) if all can. Only movers of one movement are looked at. A route begins where its
    mover is.
    """
    ground = Ground(masks, space, open_table, width, height, origin_x, origin_y)
    for i in range(rows.size):
        if movement[rows[i]] != which:
            continue
        x = position[rows[i], 0]
        y = position[rows[i], 1]
        for k in range(offsets[i], offsets[i + 1]):
            if not walkable_(ground, x, y, points[k, 0], points[k, 1]):
                return i, k - offsets[i]
            x = points[k, 0]
            y = points[k, 1]
    return -1, -1


def _warm_up() -> None:
    ground = ground_of(Grid.filled(2, 1), Movement())
    first_blocked_path_(
        *ground,
        np.zeros(1, np.uint8),
        0,
        np.zeros((1, 2), np.float32),
        np.zeros(1, np.int64),
        np.ones((1, 2), np.float32),
        np.array([0, 1]),
    )


register_warm_up("walking in a straight line", _warm_up)
