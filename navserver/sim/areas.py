"""The open cells of areas, and random ones of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.search.grid import Grid
from navserver.search.islands import islands_of
from navserver.search.movement import Movement
from navserver.sim.scenarios import Area

__all__ = ["IslandCells", "free_cells"]


def free_cells(grid: Grid, movement: Movement, areas: tuple[Area, ...]) -> NDArray[np.int32]:
    """Return the open cells of some areas, row by row, each once.

    Parameters
    ----------
    grid : Grid
        The map.
    movement : Movement
        Says which cells are open.
    areas : tuple of Area
        Empty means the whole map.

    Returns
    -------
    int32 array (k, 2)
        Cells.
    """
    space = grid.space(movement)
    is_open = space.open_table[space.cells] != 0
    ox, oy = grid.region_position
    if areas:
        inside = np.zeros_like(is_open)
        for x, y, width, height in areas:
            inside[y - oy : y - oy + height, x - ox : x - ox + width] = True
        is_open &= inside
    rows, columns = np.nonzero(is_open)
    return np.stack([columns + ox, rows + oy], axis=1).astype(np.int32)


class IslandCells:
    """The open cells of some areas sorted by island, to draw from each in one go.

    Parameters
    ----------
    grid : Grid
        The map.
    movement : Movement
        Says which cells are open, and which are connected.
    areas : tuple of Area
        Empty means the whole map.
    """

    def __init__(self, grid: Grid, movement: Movement, areas: tuple[Area, ...]) -> None:
        self.version = grid.version
        """Of the map that was looked at."""
        self._grid = grid
        self._labels = islands_of(grid, movement).labels().reshape(-1)
        cells = free_cells(grid, movement, areas)
        labels = self._labels[grid.flat_indices(cells)]
        order = np.argsort(labels, kind="stable")
        self.cells = cells[order]
        """int32 array (k, 2)."""
        self._names, self._firsts, self._counts = np.unique(
            labels[order], return_index=True, return_counts=True
        )

    def draw(self, here: NDArray[Any], random: np.random.Generator) -> NDArray[np.int32]:
        """Draw a cell for each of some cells, on its own island where there is one.

        Parameters
        ----------
        here : int array (k, 2)
            Cells on the map.
        random : numpy.random.Generator
            Draws.

        Returns
        -------
        int32 array (k, 2)
            Others than its island's where that has none; `here` where there are none at all.
        """
        if not len(self.cells):
            return here.astype(np.int32)
        labels = self._labels[self._grid.flat_indices(here)]
        place = np.minimum(np.searchsorted(self._names, labels), len(self._names) - 1)
        is_there = self._names[place] == labels
        firsts = np.where(is_there, self._firsts[place], 0)
        counts = np.where(is_there, self._counts[place], len(self.cells))
        drawn: NDArray[np.int32] = self.cells[firsts + random.integers(0, counts)]
        return drawn
