"""Slow oracles of bodies and islands, written from the definitions and from nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from tests import reference as ref
from tests.reference import Cell, Model


def walls_of(model: Model, open_cells: set[Cell]) -> list[Cell]:
    """The walls; one ring of them around the map stands for its border."""
    ox, oy = model.region
    around = [
        (x, y)
        for y in range(oy - 1, oy + model.height + 1)
        for x in range(ox - 1, ox + model.width + 1)
    ]
    return [cell for cell in around if cell not in open_cells]


def wall_distance(walls: list[Cell], cell: Cell) -> int:
    """4 times the squared distance from a cell's centre to the nearest wall's square."""
    cx, cy = cell
    return min(
        max(2 * abs(x - cx) - 1, 0) ** 2 + max(2 * abs(y - cy) - 1, 0) ** 2 for x, y in walls
    )


def square_cells(open_cells: set[Cell], size: int) -> set[Cell]:
    """The anchors of squares that fit."""
    return {
        (x, y)
        for x, y in open_cells
        if all((x + i, y + j) in open_cells for i in range(size) for j in range(size))
    }


def disc_cells(model: Model, open_cells: set[Cell], radius: float) -> set[Cell]:
    """The cells where a disc of a radius in cells fits; exact for halves of whole numbers."""
    walls = walls_of(model, open_cells)
    return {cell for cell in open_cells if wall_distance(walls, cell) >= 4 * radius * radius}


def body_cells(model: Model, open_cells: set[Cell], size: int, radius: float) -> set[Cell]:
    """The cells where a body fits, whichever kind it is."""
    return disc_cells(model, open_cells, radius) if radius else square_cells(open_cells, size)


def fewest_openings(
    model: Model, open_cells: set[Cell], start: Cell, goal: Cell, mode: int
) -> int | None:
    """How many walls must be opened to join two cells, by trying all sets of them."""
    walls = [cell for cell in model.cells() if cell not in open_cells]
    for count in range(len(walls) + 1):
        for chosen in combinations(walls, count):
            if joined(open_cells.union(chosen), start, goal, mode):
                return count
    return None


def joined(open_cells: Iterable[Cell], start: Cell, goal: Cell, mode: int) -> bool:
    """Whether a path joins two cells."""
    cells = set(open_cells)
    if start not in cells or goal not in cells:
        return False
    labels = ref.components(cells, mode)
    return labels[start] == labels[goal]
