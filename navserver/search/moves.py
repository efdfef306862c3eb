"""Directions, diagonal modes, and the byte of allowed moves that every cell has.

Direction ``d`` in 0..7 turns clockwise on screen from east: even ones are straight, odd ones
diagonal, ``(d + 4) & 7`` is the opposite. Bit ``d`` of a cell's move mask says that a step in
direction ``d`` is allowed; the mask of a blocked cell is 0.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from navserver._jit import inlined, kernel, register_warm_up, subkernel

__all__ = ["DX", "DY", "DiagonalMode", "dx_", "dy_", "fill_masks_", "mask_table", "patch_masks_"]

DX = (1, 1, 0, -1, -1, -1, 0, 1)
DY = (0, 1, 1, 1, 0, -1, -1, -1)

# Both once more, plus 1, in two bits a direction: a tuple at an index that is not constant
# becomes a jump table, whose target no processor foretells.
DX_BITS = sum((dx + 1) << (2 * d) for d, dx in enumerate(DX))
DY_BITS = sum((dy + 1) << (2 * d) for d, dy in enumerate(DY))


@inlined
def dx_(direction: int) -> int:
    """Return ``DX[direction]``."""
    return ((DX_BITS >> (2 * direction)) & 3) - 1


@inlined
def dy_(direction: int) -> int:
    """Return ``DY[direction]``."""
    return ((DY_BITS >> (2 * direction)) & 3) - 1


# Moves worth a look after an arrival from the west: all but those to the parent, and to what the
# parent reaches by a straight step.
WORTH = 0xFF & ~(1 << 3 | 1 << 4 | 1 << 5)
NOT_BACK = 0xFF & ~(1 << 4)


@inlined
def turned_(mask: int, direction: int) -> int:
    """Return a move mask turned clockwise by so many eighths."""
    return ((mask << direction) | (mask >> (8 - direction))) & 0xFF


class DiagonalMode(IntEnum):
    """When a diagonal step is allowed; Godot's names, numbers and meaning.

    The target must always be walkable. Cells outside the map count as blocked.
    """

    ALWAYS = 0
    """Whatever stands beside the step."""
    NEVER = 1
    """Straight steps only."""
    AT_LEAST_ONE_WALKABLE = 2
    """If one of the two cells beside the step is walkable."""
    ONLY_IF_NO_OBSTACLES = 3
    """If both cells beside the step are walkable: no corner is cut."""


def _neighbourhood_bit(dx: int, dy: int) -> int:
    """Return the bit of a neighbour in a 9-bit neighbourhood, column by column."""
    return 1 << (3 * (dx + 1) + dy + 1)


def _allowed_moves(neighbourhood: int, mode: DiagonalMode) -> int:
    if not neighbourhood & _neighbourhood_bit(0, 0):
        return 0
    mask = 0
    for direction, (dx, dy) in enumerate(zip(DX, DY, strict=True)):
        if not neighbourhood & _neighbourhood_bit(dx, dy):
            continue
        if dx != 0 and dy != 0:
            if mode == DiagonalMode.NEVER:
                continue
            sides = bool(neighbourhood & _neighbourhood_bit(dx, 0)) + bool(
                neighbourhood & _neighbourhood_bit(0, dy)
            )
            if (
                sides
                < {
                    DiagonalMode.ALWAYS: 0,
                    DiagonalMode.AT_LEAST_ONE_WALKABLE: 1,
                    DiagonalMode.ONLY_IF_NO_OBSTACLES: 2,
                }[mode]
            ):
                continue
        mask |= 1 << direction
    return mask


_MASK_TABLES: dict[DiagonalMode, NDArray[np.uint8]] = {}


def mask_table(mode: DiagonalMode) -> NDArray[np.uint8]:
    """Return the move mask of each of the 512 neighbourhoods.

    Parameters
    ----------
    mode : DiagonalMode
        The diagonal rule.

    Returns
    -------
    uint8 array of shape (512,)
        Indexed by the 3 x 3 cells' walkability, bit ``3 * (dx + 1) + dy + 1``.
    """
    if mode not in _MASK_TABLES:
        masks = [_allowed_moves(neighbourhood, mode) for neighbourhood in range(512)]
        _MASK_TABLES[mode] = np.array(masks, np.uint8)
    return _MASK_TABLES[mode]


@subkernel
def column_(space: NDArray[np.uint8], open_table: NDArray[np.uint8], x: int, y: int) -> int:
    """Return walkability of (x, y - 1), (x, y), (x, y + 1) as bits 0 to 2."""
    height, width = space.shape
    if x < 0 or x >= width:
        return 0
    bits = 0
    if y > 0 and open_table[space[y - 1, x]]:
        bits |= 1
    if open_table[space[y, x]]:
        bits |= 2
    if y + 1 < height and open_table[space[y + 1, x]]:
        bits |= 4
    return bits


@kernel
def fill_masks_(
    space: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    table: NDArray[np.uint8],
    x0: int,
    y0: int,
    x1: int,
    y1: int,
    masks: NDArray[np.uint8],
) -> None:
    """Write the masks of the rectangle [x0, x1) x [y0, y1), which lies inside the map.

    Invariant: `bits` holds the columns x - 1, x, x + 1 of the neighbourhood.
    """
    for y in range(y0, y1):
        bits = (column_(space, open_table, x0 - 1, y) << 3) | (
            column_(space, open_table, x0, y) << 6
        )
        for x in range(x0, x1):
            bits = (bits >> 3) | (column_(space, open_table, x + 1, y) << 6)
            masks[y, x] = table[bits]


@kernel
def patch_masks_(
    space: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    table: NDArray[np.uint8],
    cells: NDArray[np.int64],
    masks: NDArray[np.uint8],
) -> None:
    """Write the masks of all that lies within one step of the flat cells."""
    height, width = space.shape
    for cell in cells:
        y = cell // width
        x = cell - y * width
        for ny in range(max(y - 1, 0), min(y + 2, height)):
            for nx in range(max(x - 1, 0), min(x + 2, width)):
                bits = (
                    column_(space, open_table, nx - 1, ny)
                    | (column_(space, open_table, nx, ny) << 3)
                    | (column_(space, open_table, nx + 1, ny) << 6)
                )
                masks[ny, nx] = table[bits]


def _warm_up() -> None:
    space = np.zeros((2, 2), np.uint8)
    masks = np.zeros((2, 2), np.uint8)
    open_table = np.ones(256, np.uint8)
    table = mask_table(DiagonalMode.ALWAYS)
    fill_masks_(space, open_table, table, 0, 0, 2, 2, masks)
    patch_masks_(space, open_table, table, np.zeros(1, np.int64), masks)


register_warm_up("move masks", _warm_up)
