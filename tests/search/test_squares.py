"""The largest square at each anchor."""

from __future__ import annotations

from navserver.search.clearance import fits
from navserver.search.grid import Grid
from navserver.search.movement import MAX_BODY
from tests.bodies import space_cells


def test_the_largest_square_is_capped() -> None:
    side = MAX_BODY + 3
    grid = Grid.filled(side, side)
    assert fits(grid, (3, 3), size=MAX_BODY) is True
    assert fits(grid, (4, 3), size=MAX_BODY) is False
    assert fits(grid, (3, 4), size=MAX_BODY) is False
    grid.set_cell((3, 3), 255)
    assert space_cells(grid, size=MAX_BODY) == {
        (x, y) for x in range(4) for y in range(4) if (x, y) != (3, 3)
    } - {(x, y) for x in range(4) for y in range(4)}
    grid.set_cell((3, 3), 0)
    assert len(space_cells(grid, size=MAX_BODY)) == 16
