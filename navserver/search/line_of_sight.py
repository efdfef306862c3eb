"""Exact line of sight between cell centres.

The segment is followed from cell to cell in integers, so that a crossing of a corner is told
from a crossing beside it at any distance. Source of the traversal: Amanatides and Woo, "A Fast
Voxel Traversal Algorithm for Ray Tracing" (1987).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver._jit import kernel, register_warm_up, subkernel
from navserver.search.grid import Grid
from navserver.search.movement import Movement, MovementOptions
from navserver.status import CellError

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["line_of_sight"]


@subkernel
def straight_(sign: int, vertical: bool) -> int:
    """Return the direction of a straight step."""
    if vertical:
        return 2 if sign > 0 else 6
    return 0 if sign > 0 else 4


@subkernel
def corner_open_(masks: NDArray[np.uint8], cell: int, sx: int, sy: int) -> bool:
    """Return whether a segment may leave a cell exactly through a corner."""
    horizontal = straight_(sx, False)
    vertical = straight_(sy, True)
    east = 1 if sy > 0 else 7
    west = 3 if sy > 0 else 5
    if masks[cell] >> (east if sx > 0 else west) & 1:
        return True
    # Under NEVER no mask has a diagonal; under the other modes this asks no less than they do.
    sides = masks[cell] >> horizontal & 1 and masks[cell] >> vertical & 1
    return bool(sides and masks[cell + sx] >> vertical & 1)


@subkernel
def sees_(masks: NDArray[np.uint8], width: int, start: int, goal: int) -> bool:
    """Return whether the segment between two walkable cells' centres is free.

    Invariant: `cell` is the one that the segment is in, `i` columns and `j` rows on its way.
    """
    start_y = start // width
    goal_y = goal // width
    dx = (goal - goal_y * width) - (start - start_y * width)
    dy = goal_y - start_y
    sx = 1 if dx > 0 else -1
    sy = 1 if dy > 0 else -1
    adx = abs(dx)
    ady = abs(dy)
    i = 0
    j = 0
    cell = start
    while i < adx or j < ady:
        # Sign of (2 i + 1) / (2 adx) - (2 j + 1) / (2 ady): which border comes first.
        order = (2 * i + 1) * ady - (2 * j + 1) * adx
        if order == 0:
            if not corner_open_(masks, cell, sx, sy):
                return False
            cell += sy * width + sx
            i += 1
            j += 1
        elif order < 0:
            if not masks[cell] >> straight_(sx, False) & 1:
                return False
            cell += sx
            i += 1
        else:
            if not masks[cell] >> straight_(sy, True) & 1:
                return False
            cell += sy * width
            j += 1
    return True


@kernel
def line_of_sight_(
    masks: NDArray[np.uint8],
    space: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    width: int,
    starts: NDArray[np.int64],
    goals: NDArray[np.int64],
    visible: NDArray[np.bool_],
) -> None:
    """Write for each pair whether one sees the other; a blocked cell sees nothing."""
    for i in range(starts.size):
        start = starts[i]
        goal = goals[i]
        visible[i] = (
            open_table[space[start]] != 0
            and open_table[space[goal]] != 0
            and sees_(masks, width, start, goal)
        )


def line_of_sight(
    grid: Grid,
    start: ArrayLike,
    goal: ArrayLike,
    **movement: Unpack[MovementOptions],
) -> bool | NDArray[np.bool_]:
    """Return whether the straight segment between two cells' centres is free.

    Every cell whose inside the segment passes must be walkable. Where it passes exactly through
    a corner, the rule of the diagonal mode for that step holds; NEVER asks, like
    ONLY_IF_NO_OBSTACLES, for both cells beside the corner.

    Parameters
    ----------
    grid : Grid
        The map.
    start, goal : (int, int) or array-like of int, shape (n, 2)
        Cells; one pair, or n pairs.
    **movement
        Keywords of `Movement`; ``profile`` says which cells block, ``diagonal_mode`` rules at
        corners.

    Returns
    -------
    bool or bool array (n,)
        False where an end is blocked. Symmetric in start and goal; O(dx + dy) a pair.

    Raises
    ------
    CellError
        If a cell lies outside the map, or the arrays differ in length.

    Examples
    --------
    >>> grid = Grid.from_blocked([[False, False], [True, False]])
    >>> line_of_sight(grid, (0, 0), (1, 1))
    False
    >>> from navserver.search.moves import DiagonalMode
    >>> line_of_sight(grid, (0, 0), (1, 1), diagonal_mode=DiagonalMode.ALWAYS)
    True
    """
    single = np.ndim(start) == 1 and np.ndim(goal) == 1
    starts = grid.flat_indices(np.atleast_2d(start), "start")
    goals = grid.flat_indices(np.atleast_2d(goal), "goal")
    if starts.size != goals.size:
        raise CellError(
            "goal", goals.size, "cells do not go with the starts", f"give {starts.size}"
        )
    terrain = grid.terrain(Movement(**movement))
    visible = np.empty(starts.size, np.bool_)
    line_of_sight_(
        terrain.masks, terrain.space, terrain.open_table, grid.width, starts, goals, visible
    )
    return bool(visible[0]) if single else visible


def _warm_up() -> None:
    line_of_sight(Grid([[0]]), (0, 0), (0, 0))


register_warm_up("line of sight", _warm_up)
