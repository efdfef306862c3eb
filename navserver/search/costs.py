"""What a step costs: cost models, the terrain that kernels see, and least costs.

The cost of a cell is ``profile[class] * cell_scale + sum(weight * layer)``, in float64 from
float32 inputs. A cell is blocked exactly if its class is.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver._jit import inlined

__all__ = [
    "BlockExtremes",
    "CostModel",
    "Terrain",
    "cell_cost_",
    "cost_of_",
    "step_cost_",
    "step_of_",
]

SQRT2 = math.sqrt(2.0)
ENTERED, MEAN, PRODUCT = range(3)


class CostModel(IntEnum):
    """How a step's cost follows from its two cells; its length is 1 or sqrt 2."""

    ENTERED = 0
    """Length times the cost of the cell entered (Godot's rule); the start's never counts."""
    MEAN = 1
    """Length times the mean of both cells' costs."""
    PRODUCT = 2
    """Length times the product of both cells' costs."""


class Terrain(NamedTuple):
    """One grid under one profile, diagonal mode, cost model and set of overlays.

    Kernels take it whole. `masks`, `space` and `cell_scale` are flat, one entry a cell;
    `cell_scale` is empty where every cell's is 1. `class_costs` holds no infinity: blocked
    cells are told by the masks, and one that a query ignores costs as class cost 1.
    """

    width: int
    height: int
    masks: NDArray[np.uint8]
    space: NDArray[np.uint8]
    open_table: NDArray[np.uint8]
    mask_table: NDArray[np.uint8]
    classes: NDArray[np.uint8]
    class_costs: NDArray[np.float64]
    cell_scale: NDArray[np.float32]
    layers: NDArray[np.float32]
    layer_rows: NDArray[np.int64]
    layer_weights: NDArray[np.float64]
    cost_model: int


@inlined
def cost_of_(
    classes: NDArray[np.uint8],
    class_costs: NDArray[np.float64],
    cell_scale: NDArray[np.float32],
    layers: NDArray[np.float32],
    layer_rows: NDArray[np.int64],
    layer_weights: NDArray[np.float64],
    cell: int,
) -> float:
    """Return the cost of a flat cell: `cell_cost_` for inner loops, with the arrays in hand."""
    cost = class_costs[classes[cell]]
    if cell_scale.size > 0:
        cost *= cell_scale[cell]
    if layer_rows.size > 0:
        for i in range(layer_rows.size):
            cost += layer_weights[i] * layers[layer_rows[i], cell]
    return cost


@inlined
def cell_cost_(terrain: Terrain, cell: int) -> float:
    """Return the cost of a flat cell."""
    return cost_of_(
        terrain.classes,
        terrain.class_costs,
        terrain.cell_scale,
        terrain.layers,
        terrain.layer_rows,
        terrain.layer_weights,
        cell,
    )


@inlined
def step_of_(cost_model: int, from_cost: float, to_cost: float, direction: int) -> float:
    """Return the cost of a step between cells of the given costs."""
    cost = to_cost
    if cost_model == MEAN:
        cost = (from_cost + cost) * 0.5
    elif cost_model == PRODUCT:
        cost = from_cost * cost
    if direction & 1:
        cost *= SQRT2
    return cost


@inlined
def step_cost_(terrain: Terrain, from_cost: float, to_cell: int, direction: int) -> float:
    """Return the cost of a step from a cell of the given cost."""
    return step_of_(terrain.cost_model, from_cost, cell_cost_(terrain, to_cell), direction)


class BlockExtremes:
    """The least and greatest value of a 2-D array, kept in time that depends on the edit.

    Parameters
    ----------
    values : float32 array (height, width)
        The array; it is read again on each `update`.
    """

    _SIDE = 64

    def __init__(self, values: NDArray[np.float32]) -> None:
        height, width = values.shape
        side = self._SIDE
        self._values = values
        shape = (-(-height // side), -(-width // side))
        self._minima = np.empty(shape, np.float32)
        self._maxima = np.empty(shape, np.float32)
        self.update(0, 0, width, height)

    def update(self, x0: int, y0: int, x1: int, y1: int) -> None:
        """Read the values of [x0, x1) x [y0, y1) again.

        Parameters
        ----------
        x0, y0, x1, y1 : int
            A rectangle inside the array, not empty.
        """
        side = self._SIDE
        bx0, by0, bx1, by1 = x0 // side, y0 // side, -(-x1 // side), -(-y1 // side)
        part = self._values[by0 * side : by1 * side, bx0 * side : bx1 * side]
        rows = np.arange(0, part.shape[0], side)
        columns = np.arange(0, part.shape[1], side)
        for extremes, of in ((self._minima, np.minimum), (self._maxima, np.maximum)):
            extremes[by0:by1, bx0:bx1] = of.reduceat(of.reduceat(part, rows), columns, axis=1)

    def update_cells(self, xs: NDArray[np.int64], ys: NDArray[np.int64]) -> None:
        """Read the values around single cells again.

        Parameters
        ----------
        xs, ys : int64 arrays (n,)
            Columns and rows.
        """
        side = self._SIDE
        columns = self._minima.shape[1]
        for block in np.unique(ys // side * columns + xs // side):
            y, x = divmod(int(block), columns)
            self.update(x * side, y * side, x * side + 1, y * side + 1)

    def extremes(self) -> tuple[float, float]:
        """Return the least and the greatest value.

        Returns
        -------
        (float, float)
            Both exact.
        """
        return float(self._minima.min()), float(self._maxima.max())
