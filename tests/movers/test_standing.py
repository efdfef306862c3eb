"""The nearest point where a mover may stand, on either side of walls and off the map."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from navserver.movers.standing import nearest_standing
from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.search.profile import Profile
from navserver.status import InputError


def stand(grid: Grid, *points: tuple[float, float], size: int = 1) -> NDArray[np.float32]:
    which = np.zeros(len(points), np.uint8)
    return nearest_standing(grid, [Movement(size=size)], which, np.array(points, np.float32))


def test_a_point_in_a_thin_wall_stays_on_its_side() -> None:
    grid = Grid.from_blocked([[False, False, True, False, False]] * 3)
    found = stand(grid, (1.55, 1.2), (2.45, 0.8), (0.25, 2.0))
    assert found == pytest.approx(np.array([[1.498, 1.2], [2.502, 0.8], [0.25, 2.0]]), abs=1e-6)


def test_a_point_deep_in_a_wall_or_off_the_map_comes_to_the_nearest_open_cell() -> None:
    blocked = np.ones((9, 9), bool)
    blocked[0, 0] = blocked[8, 8] = False
    grid = Grid.from_blocked(blocked)
    assert stand(grid, (3, 3), (6, 6), (-5000, -5000), (30, 30)).tolist() == [
        [0, 0], [8, 8], [0, 0], [8, 8],
    ]  # fmt: skip
    # Just off the map is just beside the border.
    assert stand(Grid.filled(3, 3), (1.0, -0.6)) == pytest.approx(
        np.array([[1.0, -0.498]]), abs=1e-6
    )


def test_each_stands_where_its_own_movement_lets_it() -> None:
    grid = Grid.filled(6, 6)
    grid.set_cell((3, 3), 7)
    movements = [Movement(), Movement(Profile({7: np.inf})), Movement(size=2)]
    points = np.array([[3, 3.25], [3, 3.25], [5, 5.25]], np.float32)
    found = nearest_standing(grid, movements, np.arange(3, dtype=np.uint8), points)
    assert found == pytest.approx(np.array([[3, 3.25], [3, 3.502], [4.498, 4.498]]), abs=1e-6)


def test_where_nothing_is_open_it_is_said() -> None:
    with pytest.raises(InputError) as caught:
        stand(Grid.from_blocked([[True, True]]), (0, 0))
    assert caught.value.field == "positions[0]"


@given(
    blocked=st.lists(st.booleans(), min_size=25, max_size=25).filter(lambda cells: not all(cells)),
    x=st.floats(-3, 8, width=32),
    y=st.floats(-3, 8, width=32),
)
def test_no_open_cell_beside_is_nearer(blocked: list[bool], x: float, y: float) -> None:
    grid = Grid.from_blocked(np.array(blocked).reshape(5, 5), region_position=(1, -1))
    [found] = stand(grid, (x, y)).astype(float)
    cell = np.floor(found + 0.5).astype(int) - (1, -1)
    assert not np.array(blocked).reshape(5, 5)[cell[1], cell[0]]
    away = float(np.hypot(*(found - (x, y))))
    for row, column in np.argwhere(~np.array(blocked).reshape(5, 5)):
        centre = np.array([column + 1, row - 1])
        edge = np.clip((x, y), centre - 0.5, centre + 0.5)
        # The nearest of those around it; of cells farther off the one whose centre is.
        if np.abs(centre - np.floor(np.array([x, y]) + 0.5)).max() <= 1:
            assert away <= float(np.hypot(*(edge - (x, y)))) + 0.01
