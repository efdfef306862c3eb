"""Whether paths still hold on a map that has been edited, and where they break."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.search.grid import Grid
from navserver.search.many import path_totals_
from navserver.search.movement import Movement
from navserver.search.moves import DX, DY

__all__ = ["Break", "BreakReason", "find_breaks", "path_cost", "reach_of"]


class BreakReason(IntEnum):
    """Why a path cannot be walked."""

    BLOCKED = 0
    """The cell is a wall for this profile."""
    CORNER = 1
    """The cell is open, but the diagonal step to it is no longer allowed."""
    WORLD_REMOVED = 2
    """There is no map any more."""
    NARROW = 3
    """The cell is open, but the body no longer fits there."""

    @property
    def word(self) -> str:
        """The name in lower case."""
        return self.name.lower()


class Break(NamedTuple):
    """Where a path breaks first."""

    cell_index: int
    """Of the first cell that cannot be entered."""
    reason: BreakReason


# The direction of a step by 3 * (dx + 1) + dy + 1; 8 for standing still.
_DIRECTIONS = np.full(9, 8, np.int64)
for _direction, (_dx, _dy) in enumerate(zip(DX, DY, strict=True)):
    _DIRECTIONS[3 * (_dx + 1) + _dy + 1] = _direction


def find_breaks(
    grid: Grid, movement: Movement, cells: NDArray[np.int64], offsets: NDArray[np.int64]
) -> dict[int, Break]:
    """Return the paths that cannot be walked any more.

    Parameters
    ----------
    grid : Grid
        The map as it is.
    movement : Movement
        The body.
    cells : int64 array (total,)
        Flat cells of paths that could be walked once, one path after the other.
    offsets : int64 array (n + 1,)
        Path i is ``cells[offsets[i]:offsets[i + 1]]``; none is empty.

    Returns
    -------
    dict of int to Break
        By the number of the path. O(total).
    """
    terrain = grid.terrain(movement)
    is_open = terrain.open_table[terrain.space[cells]] != 0
    enters = is_open.copy()
    y, x = np.divmod(cells, grid.width)
    direction = _DIRECTIONS[3 * (np.diff(x) + 1).clip(0, 2) + (np.diff(y) + 1).clip(0, 2)]
    # A first cell is not stepped to; whatever the difference to the last one of the path before.
    steps = (terrain.masks[cells[:-1]].astype(np.int64) | 256) >> direction & 1
    steps[offsets[1:-1] - 1] = 1
    enters[1:] &= steps != 0
    broken = np.flatnonzero(~enters)
    if broken.size == 0:
        return {}
    paths, first = np.unique(np.searchsorted(offsets, broken, side="right") - 1, return_index=True)
    blocks = np.isinf(movement.profile.costs)
    breaks = {}
    for path, at in zip(paths.tolist(), broken[first].tolist(), strict=True):
        if blocks[terrain.classes[cells[at]]]:
            reason = BreakReason.BLOCKED
        else:
            reason = BreakReason.CORNER if is_open[at] else BreakReason.NARROW
        breaks[path] = Break(at - int(offsets[path]), reason)
    return breaks


def path_cost(grid: Grid, movement: Movement, cells: NDArray[np.int64]) -> float:
    """Return what a path costs on the map as it is.

    Parameters
    ----------
    grid : Grid
        The map.
    movement : Movement
        The body.
    cells : int64 array (n,)
        Flat cells of a path that can be walked.

    Returns
    -------
    float
        Sum of its step costs in order.
    """
    totals = np.zeros(2)
    path_totals_(grid.terrain(movement), cells, totals)
    return float(totals[0])


def reach_of(grid: Grid, movement: Movement) -> int:
    """Return how far from a cell its class decides about standing and stepping.

    Parameters
    ----------
    grid : Grid
        The map.
    movement : Movement
        The body.

    Returns
    -------
    int
        In cells, to each side: 1 for a body of one cell, since a wall forbids the diagonal steps
        beside it.
    """
    if movement.size > 1:
        return movement.size
    if movement.radius > 0.0:
        stretch = float(np.linalg.svd(grid.transform[:, :2], compute_uv=False).min())
        return math.ceil(movement.radius / stretch + 0.5) + 1
    return 1
