from __future__ import annotations

import numpy as np

from navserver.search.islands import connected
from navserver.search.movement import Movement
from navserver.sim.areas import IslandCells, free_cells
from navserver.sim.scenarios import Area
from tests.sim.crowds import GRID, LEFT, RIGHT


def test_free_cells_of_areas() -> None:
    assert len(free_cells(GRID, Movement(), ())) == 15
    cells = free_cells(GRID, Movement(), (Area(0, 5, 2, 2), Area(0, 6, 1, 1)))
    assert cells.tolist() == [[0, 5], [0, 6]]
    assert len(free_cells(GRID, Movement(size=2), ())) == 6


def test_cells_are_drawn_from_the_island_of_each() -> None:
    cells = IslandCells(GRID, Movement(), ())
    here = np.array([LEFT, RIGHT] * 100)
    drawn = cells.draw(here, np.random.default_rng(1))
    assert connected(GRID, here, drawn).all()
    assert len(np.unique(drawn, axis=0)) == len(cells.cells) == 15


def test_where_no_cell_is_open_one_stays() -> None:
    grid = GRID.copy()
    grid.set_all(255)
    cells = IslandCells(grid, Movement(), ())
    assert cells.draw(np.array([LEFT]), np.random.default_rng(1)).tolist() == [list(LEFT)]
    assert cells.version == grid.version
