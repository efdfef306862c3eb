"""Cells that one query sees otherwise than the map shows them: as walls, or as walkable."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.search.moves import mask_table, patch_masks_
from navserver.status import CellError

__all__ = ["MAX_QUERY_CELLS", "checked_query_cells", "overridden_masks"]

MAX_QUERY_CELLS = 4096
"""Most cells of either kind in one query."""

_NO_CELLS = np.empty(0, np.int64)
_OPEN_IF_ONE = (np.arange(256) == 1).astype(np.uint8)


def checked_query_cells(grid: Grid, field: str, cells: ArrayLike | None) -> NDArray[np.int64]:
    """Return the flat indices of cells that a query sees otherwise.

    Parameters
    ----------
    grid : Grid
        The map.
    field : str
        How an error names them.
    cells : array-like of int, shape (n, 2), or None
        What was given; None is no cells.

    Returns
    -------
    int64 array (n,)
        At most `MAX_QUERY_CELLS`.

    Raises
    ------
    CellError
        If there are more, or they are not cells of the map.
    """
    if cells is None:
        return _NO_CELLS
    flat = grid.flat_indices(cells, field)
    if flat.size > MAX_QUERY_CELLS:
        raise CellError(
            field, flat.size, "is too many cells",
            f"give at most {MAX_QUERY_CELLS}, or edit the grid",
        )  # fmt: skip
    return flat


def overridden_masks(
    grid: Grid,
    movement: Movement,
    blocked_cells: NDArray[np.int64],
    ignored_cells: NDArray[np.int64],
) -> NDArray[np.uint8]:
    """Return the move masks as a query sees them that has cells of its own.

    Parameters
    ----------
    grid : Grid
        The map.
    movement : Movement
        The body and its steps.
    blocked_cells, ignored_cells : int64 arrays (n,)
        Flat cells that count as walls, or as walkable; one in both is walkable.

    Returns
    -------
    uint8 array (cells,)
        A copy of the grid's, written around those cells. Takes the time of that copy.
    """
    terrain = grid.terrain(movement)
    closes, opens = grid.space(movement).anchors(blocked_cells, ignored_cells)
    changed = np.unique(np.concatenate([closes, opens]))
    height, width = shape = (grid.height, grid.width)
    # Only what lies within two steps of the changed cells is read, so only that is filled in.
    space = np.zeros(grid.size, np.uint8)
    y, x = np.divmod(changed, width)
    for dy in range(-2, 3):
        near_y = np.clip(y + dy, 0, height - 1) * width
        for dx in range(-2, 3):
            near = near_y + np.clip(x + dx, 0, width - 1)
            space[near] = terrain.open_table[terrain.space[near]]
    space[closes] = 0
    space[opens] = 1
    masks = terrain.masks.copy()
    patch_masks_(
        space.reshape(shape),
        _OPEN_IF_ONE,
        mask_table(movement.diagonal_mode),
        changed,
        masks.reshape(shape),
    )
    return masks
