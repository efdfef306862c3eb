"""Cells that one query closes or opens, and the boxes in which they change where a body fits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from navserver._jit import kernel, subkernel

__all__ = ["Overrides"]

BOX_SIDE = 64
"""Most cells to a side of a box."""

REBUILD_PART = 256
"""Edits beyond this part of the map are taken in by building anew."""


@subkernel
def next_box_(
    cells: NDArray[np.int64], i: int, width: int, reach: int, side: int
) -> tuple[int, int, int, int, int]:
    """Join cells from the i-th on, as long as what they reach together is no more than apart.

    Returns the index of the first cell left out and the box x0, y0, x1, y1, ends included.
    """
    y0 = cells[i] // width
    x0 = cells[i] - y0 * width
    y1 = y0
    x1 = x0
    i += 1
    while i < cells.size:
        y = cells[i] // width
        x = cells[i] - y * width
        new_x0, new_x1 = min(x0, x), max(x1, x)
        new_y0, new_y1 = min(y0, y), max(y1, y)
        if new_x1 - new_x0 >= side or new_y1 - new_y0 >= side:
            break
        area = (x1 - x0 + reach) * (y1 - y0 + reach)
        if (new_x1 - new_x0 + reach) * (new_y1 - new_y0 + reach) > area + reach * reach:
            break
        x0, y0, x1, y1 = new_x0, new_y0, new_x1, new_y1
        i += 1
    return i, x0, y0, x1, y1


@subkernel
def find_slot_(keys: NDArray[np.int64], cell: int) -> int:
    """Return where a hash table of a power of two entries, -1 empty, has a cell or would."""
    slot = ((cell * 0x9E3779B1) >> 16) & (keys.size - 1)
    while keys[slot] != -1 and keys[slot] != cell:
        slot = (slot + 1) & (keys.size - 1)
    return slot


@kernel
def override_cells_(
    blocked_cells: NDArray[np.int64],
    ignored_cells: NDArray[np.int64],
    keys: NDArray[np.int64],
    opens: NDArray[np.uint8],
) -> None:
    """Enter into an empty hash table which cells a query closes (0) and opens (1)."""
    for cell in blocked_cells:
        slot = find_slot_(keys, cell)
        keys[slot] = cell
        opens[slot] = 0
    for cell in ignored_cells:
        slot = find_slot_(keys, cell)
        keys[slot] = cell
        opens[slot] = 1


@subkernel
def query_open_(
    classes: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    keys: NDArray[np.int64],
    opens: NDArray[np.uint8],
    x: int,
    y: int,
) -> bool:
    """Return whether a cell, which may lie outside the map, is open to a query."""
    height, width = classes.shape
    if x < 0 or y < 0 or x >= width or y >= height:
        return False
    slot = find_slot_(keys, y * width + x)
    if keys[slot] != -1:
        return bool(opens[slot])
    return bool(open_table[classes[y, x]])


class Overrides:
    """The cells that one query changes, in a hash table.

    Parameters
    ----------
    blocked_cells, ignored_cells : int64 arrays (n,)
        Flat cells seen as walls, and as walkable; one in both is walkable.
    """

    def __init__(self, blocked_cells: NDArray[np.int64], ignored_cells: NDArray[np.int64]) -> None:
        self.cells = np.unique(np.concatenate([blocked_cells, ignored_cells]))
        n_slots = 1 << (2 * self.cells.size).bit_length()
        self.keys = np.full(n_slots, -1, np.int64)
        self.opens = np.empty(n_slots, np.uint8)
        override_cells_(blocked_cells, ignored_cells, self.keys, self.opens)
