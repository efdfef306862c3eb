"""Cells as callers give them: one or many, and in pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.search.grid import Grid
from navserver.search.validation import checked_array
from navserver.status import CellError

if TYPE_CHECKING:
    from typing import TypeGuard

__all__ = ["flat_cells", "is_cell", "paired_cells"]


def is_cell(cells: ArrayLike) -> TypeGuard[tuple[int, int]]:
    """Return whether this is one cell in its plainest form, which need not become an array.

    Parameters
    ----------
    cells : array-like of int
        What was given.

    Returns
    -------
    bool
        True for a tuple of two numbers; not for other forms of one cell.
    """
    return isinstance(cells, tuple) and len(cells) == 2 and isinstance(cells[0], (int, np.integer))


def flat_cells(grid: Grid, field: str, cells: ArrayLike) -> tuple[NDArray[np.int64], bool]:
    """Return the flat indices of one cell or of many.

    Parameters
    ----------
    grid : Grid
        The map.
    field : str
        How an error names them.
    cells : (int, int) or array-like of int, shape (n, 2)
        What was given.

    Returns
    -------
    int64 array (n,)
        One index a cell.
    bool
        Whether one cell was given, not an array of one.

    Raises
    ------
    CellError
        If these are not cells of the map.
    """
    if is_cell(cells):
        return np.array([grid.flat_index(cells, field)], np.int64), True
    array = checked_array(field, cells)
    if array.ndim == 1 and array.size > 0:
        return np.array([grid.flat_index(tuple(array.tolist()), field)], np.int64), True
    return grid.flat_indices(array, field), False


def paired_cells(
    grid: Grid,
    starts: ArrayLike,
    goals: ArrayLike,
    fields: tuple[str, str] = ("start", "goal"),
) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """Return the flat indices of one pair of cells, of many, or of one cell against many.

    Parameters
    ----------
    grid : Grid
        The map.
    starts, goals : (int, int) or array-like of int, shape (n, 2)
        What was given.
    fields : (str, str)
        How an error names them.

    Returns
    -------
    int64 array (n,)
        The starts.
    int64 array (n,)
        The goals.
    bool
        Whether both were one cell.

    Raises
    ------
    CellError
        If these are not cells of the map, or the arrays differ in length.
    """
    one, is_one = flat_cells(grid, fields[0], starts)
    other, is_other = flat_cells(grid, fields[1], goals)
    if is_one and not is_other:
        one = np.repeat(one, other.size)
    elif is_other and not is_one:
        other = np.repeat(other, one.size)
    if one.size != other.size:
        raise CellError(
            fields[1], other.size, "cells do not go with the starts", f"give {one.size}, or one"
        )
    return one, other, is_one and is_other
