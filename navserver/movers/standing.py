"""Where movers can stand: the point nearest to a given one that is in an open cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from navserver.movers.sight import options_of
from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.search.nearest import nearest_walkable
from navserver.status import InputError

__all__ = ["nearest_standing"]

INSIDE = 0.498
"""How far from its cell's centre, along each axis, a point is put that was beyond the border."""

_AROUND = np.array([(x, y) for y in (-1, 0, 1) for x in (-1, 0, 1)])


def nearest_standing(
    grid: Grid,
    movements: Sequence[Movement],
    which: NDArray[np.uint8],
    points: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Return for each point the nearest one where a mover may stand.

    Parameters
    ----------
    grid : Grid
        The map.
    movements : sequence of Movement
        What blocks movers.
    which : uint8 array (n,)
        Which of them is that of each point's mover.
    points : float32 array (n, 2)
        In cell space; they may lie in walls and off the map.

    Returns
    -------
    float32 array (n, 2)
        The points themselves where their cells are open. A point in a wall whose neighbours are
        not all closed is put just across the nearest border: it never changes sides of a wall. All
        others come to the centre of the nearest open cell.

    Raises
    ------
    InputError
        If no cell is open to a mover.
    """
    found = points.copy()
    first = np.array(grid.region_position)
    cells = _cells_of(points) - first
    for number in np.unique(which).tolist():
        space = grid.space(movements[number])
        rows = np.flatnonzero(which == number)
        is_open = _are_open(space.open_table, space.cells, cells[rows])
        shut = rows[~is_open]
        if not shut.size:
            continue
        beside = cells[shut, np.newaxis] + _AROUND
        centres = (beside + first).astype(np.float64)
        here = points[shut, np.newaxis].astype(np.float64)
        nearest = np.clip(here, centres - INSIDE, centres + INSIDE)
        away = np.hypot(*(nearest - here).transpose(2, 0, 1))
        away[~_are_open(space.open_table, space.cells, beside)] = np.inf
        best = np.argmin(away, axis=1)
        each = np.arange(shut.size)
        found[shut] = nearest[each, best]
        for row in shut[np.isinf(away[each, best])].tolist():
            found[row] = _nearest_centre(grid, movements[number], row, points[row])
    return found


def _cells_of(points: NDArray[np.float32]) -> NDArray[np.int64]:
    return np.floor(points.astype(np.float64) + 0.5).astype(np.int64)


def _are_open(
    open_table: NDArray[np.uint8], space: NDArray[np.uint8], cells: NDArray[np.int64]
) -> NDArray[np.bool_]:
    height, width = space.shape
    x, y = cells[..., 0], cells[..., 1]
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    classes = space[np.where(inside, y, 0), np.where(inside, x, 0)]
    is_open: NDArray[np.bool_] = inside & (open_table[classes] != 0)
    return is_open


def _nearest_centre(
    grid: Grid, movement: Movement, row: int, point: NDArray[np.float32]
) -> tuple[int, int]:
    ox, oy = grid.region_position
    x, y = _cells_of(point).tolist()
    # To look around a cell far off the map would take as long as the way there.
    cell = min(max(x, ox), ox + grid.width - 1), min(max(y, oy), oy + grid.height - 1)
    found = nearest_walkable(grid, cell, **options_of(movement))
    if found is None:
        raise InputError(
            f"positions[{row}]", tuple(point.tolist()), "has no open cell anywhere near",
            "open the map to the mover, or remove it",
        )  # fmt: skip
    return found
