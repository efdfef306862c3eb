"""Motion that walls stop: nobody in a wall, through a corner or off the island, ever."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from navserver.movers.half_planes import PLANE
from navserver.movers.movers import Movers
from navserver.movers.walls import MOST_WALLS, move_, wall_reach_of
from navserver.search.grid import Grid
from navserver.search.islands import island_labels
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode


def move(movers: Movers, velocities: NDArray[np.float32], dt: float) -> None:
    columns = movers.columns
    columns.velocity[: movers.slots] = velocities
    planes = np.empty((MOST_WALLS, PLANE))
    for which, movement in enumerate(movers.movements):
        move_(
            *movers.ground(which), columns.movement, which, wall_reach_of(movement), columns.state,
            columns.radius, dt, 0, movers.slots, planes, columns.position, columns.velocity,
        )  # fmt: skip


def cells_of(positions: NDArray[np.float32]) -> NDArray[np.int64]:
    return np.floor(positions.astype(np.float64) + 0.5).astype(np.int64)


def wall_gaps(grid: Grid, positions: NDArray[np.float32]) -> NDArray[np.float64]:
    """How far each point is from the nearest blocked square, the map's surroundings included."""
    ox, oy = grid.region_position
    blocked = np.pad(grid.blocked(), 1, constant_values=True)
    rows, columns = np.nonzero(blocked)
    x = columns + ox - 1.0
    y = rows + oy - 1.0
    px, py = positions.astype(np.float64).T[:, :, None]
    dx = np.maximum(np.abs(px - x) - 0.5, 0.0)
    dy = np.maximum(np.abs(py - y) - 0.5, 0.0)
    gaps: NDArray[np.float64] = np.hypot(dx, dy).min(axis=1)
    return gaps


@given(
    st.integers(0, 2**32),
    st.integers(1, 12),
    st.integers(1, 12),
    st.sampled_from([0.0, 0.2, 0.45]),
    st.sampled_from(list(DiagonalMode)),
    st.sampled_from([1 / 60, 0.25, 3.0, 1e9]),
    st.sampled_from([(0, 0), (-3, 7), (5000, -8000)]),
)
def test_nobody_gets_into_a_wall_or_off_the_island(
    seed: int,
    width: int,
    height: int,
    density: float,
    mode: DiagonalMode,
    dt: float,
    region: tuple[int, int],
) -> None:
    random = np.random.default_rng(seed)
    blocked = random.random((height, width)) < density
    blocked[0, 0] = False
    grid = Grid.from_blocked(blocked, region_position=region)
    movement = Movement(diagonal_mode=mode)
    movers = Movers(grid, movement)
    ys, xs = np.nonzero(~blocked)
    picks = random.integers(0, len(xs), 20)
    places = np.stack([xs[picks], ys[picks]], axis=1) + random.uniform(-0.499, 0.499, (20, 2))
    places += region
    radius = random.choice([0.0, 0.1, 0.4, 0.5, 3.0], 20)
    movers.add(places, radius=radius, max_speed=9.0)
    labels = island_labels(grid, diagonal_mode=mode)
    # Positions far out are rounded to about a thousandth of a cell.
    tolerance = 1e-3 if region == (5000, -8000) else 1e-4

    def islands() -> NDArray[np.int32]:
        cells = cells_of(movers.position) - region
        found: NDArray[np.int32] = labels[cells[:, 1], cells[:, 0]]
        return found

    home = islands()
    gaps = wall_gaps(grid, movers.position)
    for _ in range(12):
        velocity = random.normal(0.0, 4.0, (20, 2)).astype(np.float32)
        velocity[random.random(20) < 0.3, 0] = 0.0
        move(movers, velocity, dt)
        assert np.isfinite(movers.position).all()
        assert np.isfinite(movers.velocity).all()
        assert (home > 0).all()
        np.testing.assert_array_equal(islands(), home)
        new_gaps = wall_gaps(grid, movers.position)
        reach = np.minimum(radius, 0.5)
        assert (new_gaps >= np.minimum(gaps, reach) - tolerance).all()
        gaps = new_gaps


def one(grid: Grid, at: tuple[float, float], radius: float = 0.3, **options: object) -> Movers:
    movers = Movers(grid, Movement(**options))  # type: ignore[arg-type]
    movers.add([at], radius=radius, max_speed=9.0)
    return movers


def moved(movers: Movers, velocity: tuple[float, float], dt: float = 1.0) -> tuple[float, float]:
    move(movers, np.array([velocity], np.float32), dt)
    x, y = movers.position[0].tolist()
    return x, y


def test_open_ground_is_walked_straight() -> None:
    movers = one(Grid.filled(50, 50), (10, 10))
    assert moved(movers, (20.0, 13.5)) == pytest.approx((30.0, 23.5), abs=1e-5)
    assert movers.velocity[0].tolist() == [20.0, 13.5]


def test_a_wall_stops_what_goes_into_it_and_lets_the_rest_slide() -> None:
    movers = one(Grid.filled(9, 3), (1, 1))
    x, y = moved(movers, (4.0, 6.0))
    assert (x, y) == pytest.approx((5.0, 2.2), abs=1e-5)
    assert movers.velocity[0] == pytest.approx((4.0, 1.2), abs=1e-4)


def test_a_disc_as_wide_as_a_corridor_walks_through_it() -> None:
    grid = Grid.from_blocked(np.array([[1, 1, 1, 1, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], bool))
    movers = one(grid, (0, 1), radius=0.5)
    assert moved(movers, (3.5, 0.3)) == pytest.approx((3.5, 1.0), abs=1e-5)


def test_a_disc_rounds_a_corner_at_its_radius() -> None:
    blocked = np.zeros((5, 5), bool)
    blocked[2, 2] = True
    grid = Grid.from_blocked(blocked)
    movers = one(grid, (1.0, 1.15), radius=0.4)
    for _ in range(60):
        moved(movers, (2.0, 0.0), 1 / 30)
        assert wall_gaps(grid, movers.position)[0] >= 0.4 - 1e-4
    x, y = movers.position[0].tolist()
    assert x == pytest.approx(4.0 + 0.1, abs=0.35), "the corner costs little of the way"
    assert y == pytest.approx(1.1, abs=0.01), "it is passed at the radius"


def test_two_walls_that_touch_at_a_corner_let_nobody_between() -> None:
    grid = Grid.from_blocked(np.array([[0, 1], [1, 0]], bool))
    for mode in DiagonalMode:
        movers = one(grid, (0.0, 0.0), radius=0.0, diagonal_mode=mode)
        x, y = moved(movers, (5.0, 5.0))
        assert max(x, y) < 0.5


def test_a_body_with_its_own_room_is_stopped_by_its_cells_alone() -> None:
    movement = Movement(radius=2.0)
    movers = Movers(Grid.filled(9, 9), movement)
    movers.add([(4, 4)], radius=2.0, max_speed=9.0)
    x, y = moved(movers, (30.0, 0.25))
    # Cells 2 to 6 are open to it.
    assert (x, y) == pytest.approx((6.5, 4.25), abs=1e-3)
    assert x < 6.5


def test_what_is_no_displacement_moves_nobody() -> None:
    movers = one(Grid.filled(9, 9), (4, 4))
    for velocity in ((math.nan, 1.0), (math.inf, 0.0), (0.0, 0.0)):
        assert moved(movers, velocity) == (4.0, 4.0)


def test_removed_movers_stay_as_they_are() -> None:
    movers = Movers(Grid.filled(9, 9))
    units = movers.add([(1, 1), (2, 2)], radius=0.3, max_speed=1.0)
    movers.remove(units[:1])
    before = movers.position[0].copy()
    move(movers, np.ones((2, 2), np.float32), 1.0)
    assert movers.position[0].tolist() == before.tolist()
    assert movers.position[1].tolist() == pytest.approx([3.0, 3.0])
