"""Distances by other means, many at a time: all pairs on small maps, and scipy on large ones.

As `reference`, nothing here imports the package.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csr_matrix

from tests.reference import (
    ALWAYS,
    AT_LEAST_ONE_WALKABLE,
    DIRECTIONS,
    ENTERED,
    MEAN,
    NEVER,
    ONLY_IF_NO_OBSTACLES,
    SQRT2,
)


def _steps(
    costs: NDArray[np.float64], dx: int, dy: int, mode: int, cost_model: int
) -> NDArray[np.float64]:
    """What the step (dx, dy) costs from each cell of maps (..., h, w); inf where it is barred."""
    h, w = costs.shape[-2:]
    padded = np.full((*costs.shape[:-2], h + 2, w + 2), np.inf)
    padded[..., 1:-1, 1:-1] = costs

    def beside(x: int, y: int) -> NDArray[np.float64]:
        return padded[..., 1 + y : 1 + y + h, 1 + x : 1 + x + w]

    there = beside(dx, dy)
    legal = np.isfinite(costs) & np.isfinite(there)
    length = 1.0
    if dx and dy:
        length = SQRT2
        first, second = np.isfinite(beside(dx, 0)), np.isfinite(beside(0, dy))
        legal &= {
            ALWAYS: True,
            NEVER: False,
            AT_LEAST_ONE_WALKABLE: first | second,
            ONLY_IF_NO_OBSTACLES: first & second,
        }[mode]
    here, there = np.where(legal, costs, 1.0), np.where(legal, there, 1.0)
    if cost_model == ENTERED:
        factor = there
    elif cost_model == MEAN:
        factor = (here + there) / 2.0
    else:
        factor = here * there
    return np.where(legal, length * factor, np.inf)


def all_pairs(
    costs: NDArray[np.float64], mode: int, cost_model: int = ENTERED
) -> NDArray[np.float64]:
    """Least costs between all cells of small maps (n, h, w), by Floyd and Warshall: (n, hw, hw)."""
    n, h, w = costs.shape
    cells = h * w
    best = np.full((n, cells, cells), np.inf)
    for dx, dy in DIRECTIONS:
        step = _steps(costs, dx, dy, mode, cost_model)
        for y in range(max(0, -dy), min(h, h - dy)):
            for x in range(max(0, -dx), min(w, w - dx)):
                best[:, y * w + x, (y + dy) * w + x + dx] = step[:, y, x]
    flat = costs.reshape(n, cells)
    for cell in range(cells):
        best[:, cell, cell] = np.where(np.isfinite(flat[:, cell]), 0.0, np.inf)
    for middle in range(cells):
        np.minimum(best, best[:, :, middle, None] + best[:, None, middle, :], out=best)
    return best


def graph(costs: NDArray[np.float64], mode: int, cost_model: int = ENTERED) -> csr_matrix:
    """The steps of one map (h, w) as a sparse matrix for scipy; inf blocks a cell."""
    h, w = costs.shape
    index = np.arange(h * w).reshape(h, w)
    rows, columns, values = [], [], []
    for dx, dy in DIRECTIONS:
        step = _steps(costs, dx, dy, mode, cost_model)
        legal = np.isfinite(step)
        rows.append(index[legal])
        columns.append(index[legal] + dy * w + dx)
        values.append(step[legal])
    data = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return coo_matrix(data, shape=(h * w, h * w)).tocsr()
