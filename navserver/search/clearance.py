"""Room around cells: whether a body fits, and how far the nearest wall is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.search.bodies import cell_scale_of, wall_columns
from navserver.search.cells import flat_cells
from navserver.search.derived import Change
from navserver.search.discs import WallColumns, wall_distances_
from navserver.search.grid import Grid, checked_movement
from navserver.search.movement import MAX_BODY, Movement, MovementOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["distance_to_wall", "fits"]

_CHUNK = 1 << 16


def fits(
    grid: Grid, cells: ArrayLike, **movement: Unpack[MovementOptions]
) -> bool | NDArray[np.bool_]:
    """Return whether a body may stand on cells.

    Parameters
    ----------
    grid : Grid
        The map.
    cells : (int, int) or array-like of int, shape (n, 2)
        One cell, or n; the top left one of a square body.
    **movement
        Keywords of `Movement`; ``profile`` with ``size`` or ``radius`` decide.

    Returns
    -------
    bool or bool array (n,)
        One answer a cell; O(1) each once the body's space is built.

    Raises
    ------
    CellError
        If a cell lies outside the map.
    InputError
        If the body is larger than `MAX_BODY` cells.

    Examples
    --------
    >>> grid = Grid.filled(3, 2)
    >>> fits(grid, (1, 0), size=2), fits(grid, (2, 0), size=2)
    (True, False)
    >>> fits(grid, [(1, 0), (2, 0)], radius=0.5).tolist()
    [True, True]
    """
    options = checked_movement(grid, movement, fits)
    space = grid.space(options)
    flat, single = flat_cells(grid, "cells", cells)
    answers = space.open_table[space.cells.reshape(-1)[flat]] != 0
    return bool(answers[0]) if single else answers


class _HeldColumns:
    """Keeps the columns that no disc holds for as long as they are asked for."""

    nbytes = 0

    def __init__(self, walls: WallColumns) -> None:
        self.walls = walls

    def update(self, change: Change) -> None:
        """Do nothing: the columns are told of edits themselves.

        Parameters
        ----------
        change : Change
            What opened and closed.
        """


def distance_to_wall(
    grid: Grid, cells: ArrayLike | None = None, **movement: Unpack[MovementOptions]
) -> float | NDArray[np.float64]:
    """Return the Euclidean distance from cells' centres to the nearest blocked cell's square.

    The border of the map counts as wall.

    Parameters
    ----------
    grid : Grid
        The map.
    cells : (int, int) or array-like of int, shape (n, 2), optional
        One cell, or n; default all of the map.
    **movement
        Keywords of `Movement`; ``profile`` says which cells block, all else is ignored.

    Returns
    -------
    float, or float64 array (n,) or (height, width)
        World units, 0 in a wall; exact up to `MAX_BODY` cells and ``inf`` beyond. Under a
        transform that stretches the axes unequally a lower bound: distance in cells times the
        smallest stretch. A disc fits where this is no less than its radius. Each answer takes
        O(distance) time.

    Raises
    ------
    CellError
        If a cell lies outside the map.

    Examples
    --------
    >>> grid = Grid.from_blocked([[False] * 7] * 6 + [[False, True] + [False] * 5])
    >>> distance_to_wall(grid, (1, 2))
    1.5
    >>> distance_to_wall(grid, [(3, 4), (1, 6)]).tolist()
    [2.1213203435596424, 0.0]
    """
    profile = checked_movement(grid, movement, distance_to_wall).profile
    base = Movement(profile)
    with grid.derived.lock:
        classes = grid.space(base).cells
        walls = grid.derived.get(
            base.space_key,
            "wall columns",
            lambda _: _HeldColumns(wall_columns(grid.derived, classes, profile)),
        ).walls
    single = False
    if cells is None:
        flat = np.arange(grid.size)
    else:
        flat, single = flat_cells(grid, "cells", cells)
    distances = np.empty(flat.size, np.float64)
    for begin in range(0, flat.size, _CHUNK):
        part = flat[begin : begin + _CHUNK]
        squared = np.empty(part.size, np.int64)
        wall_distances_(walls.columns, part, squared)
        distances[begin : begin + _CHUNK] = np.sqrt(squared)
        distances[begin : begin + _CHUNK][squared > 4 * MAX_BODY**2] = np.inf
    distances *= 0.5 * cell_scale_of(grid.transform)
    if cells is None:
        return distances.reshape(grid.height, grid.width)
    return float(distances[0]) if single else distances
