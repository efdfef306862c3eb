"""Discs by the distance to the nearest wall within each column."""

from __future__ import annotations

import numpy as np
import pytest

from navserver.search.discs import FAR, DiscSpace, WallColumns, disc_widths
from navserver.search.profile import DEFAULT_PROFILE


def squared_to_square(dx: int, dy: int) -> int:
    """4 times the squared distance from a cell's centre to the square of a cell apart."""
    return max(2 * dx - 1, 0) ** 2 + max(2 * dy - 1, 0) ** 2


@pytest.mark.parametrize("limit", [1, 2, 4, 9, 10, 16, 25, 26, 100, 4 * 32**2])
def test_widths_are_the_columns_that_a_wall_keeps_off(limit: int) -> None:
    widths = disc_widths(limit)
    for dy in range(FAR + 1):
        near = [dx for dx in range(FAR + 1) if squared_to_square(dx, dy) < limit]
        assert widths[dy] == (max(near) if near else -1)


@pytest.mark.parametrize("limit", [1, 4, 9, 16, 36])
def test_one_wall_keeps_off_every_disc_that_it_would_touch(limit: int) -> None:
    side, middle = 31, 15
    classes = np.zeros((side, side), np.uint8)
    classes[middle, middle] = 255
    space = DiscSpace(WallColumns(classes, DEFAULT_PROFILE), limit)
    for y in range(side):
        for x in range(side):
            to_border = 2 * min(x, y, side - 1 - x, side - 1 - y) + 1
            clear = squared_to_square(abs(x - middle), abs(y - middle)) >= limit
            inside = (x, y) != (middle, middle) and to_border**2 >= limit
            assert space.cells[y, x] == (clear and inside)
