"""Sight: a straight walk is free exactly where a walking ray reaches its end."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.movers.sight import first_blocked_path_, ground_of, is_free_, walkable_
from navserver.search.grid import Grid
from navserver.search.line_of_sight import raycast
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from tests import strategies
from tests.reference import Model

HALVES = st.integers(-4, 52).map(lambda i: i / 2) | st.floats(-2, 26, width=32)


def free(ground: object, *segment: float) -> bool:
    """As a kernel asks it: a path of one waypoint."""
    start, end = segment[:2], segment[2:]
    bad = first_blocked_path_(
        *ground,  # type: ignore[misc]
        np.zeros(1, np.uint8),
        0,
        np.array([start], np.float32),
        np.zeros(1, np.int64),
        np.array([end], np.float32),
        np.array([0, 1]),
    )
    return bad == (-1, -1)


@given(
    st.integers(0, 10_000),
    st.integers(1, 12),
    st.integers(1, 12),
    st.sampled_from((0.02, 0.1, 0.4)),
    st.sampled_from(list(DiagonalMode)),
)
def test_the_look_at_all_cells_nearby_never_says_more_than_the_walk(
    seed: int, width: int, height: int, density: float, mode: DiagonalMode
) -> None:
    random = np.random.default_rng(seed)
    grid = Grid.from_blocked(random.random((height, width)) < density, region_position=(-3, 5))
    ground = ground_of(grid, Movement(diagonal_mode=mode))
    for kind in range(20):
        ends = random.uniform(-0.5, 0.499, (2, 2)) + random.integers(0, (width, height), (2, 2))
        if kind % 4 == 0:
            # On centres, borders and corners.
            ends = np.minimum(np.round(ends * 2) / 2, [width - 0.6, height - 0.6])
        (x0, y0), (x1, y1) = np.float32(ends + grid.region_position).tolist()
        assert is_free_(ground, x0, y0, x1, y1) == walkable_(ground, x0, y0, x1, y1)


@given(strategies.models(plain=True), st.sampled_from(list(DiagonalMode)), st.data())
def test_as_a_ray_that_reaches_its_end(
    model: Model, mode: DiagonalMode, data: st.DataObject
) -> None:
    grid = Grid(model.classes, region_position=model.region)
    ground = ground_of(grid, Movement(diagonal_mode=mode))
    ox, oy = model.region
    for _ in range(10):
        x0, y0, x1, y1 = (
            float(np.float32(data.draw(HALVES) + shift)) for shift in (ox, oy, ox, oy)
        )
        inside = all(
            -0.5 <= x - ox < grid.width - 0.5 and -0.5 <= y - oy < grid.height - 0.5
            for x, y in ((x0, y0), (x1, y1))
        )
        if not inside:
            assert not free(ground, x0, y0, x1, y1)
            continue
        hit = raycast(grid, (x0, y0), (x1, y1), diagonal_mode=mode)
        cell = (math.floor(x0 + 0.5), math.floor(y0 + 0.5))
        is_open = grid.class_at(cell) != 255
        assert free(ground, x0, y0, x1, y1) == (hit.reached and is_open)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e30])
def test_no_cell_holds_what_is_not_on_the_map(bad: float) -> None:
    ground = ground_of(Grid.filled(3, 3), Movement())
    assert not free(ground, 1.0, 1.0, bad, 1.0)
    assert not free(ground, 1.0, 1.0, 1.0, bad)
    assert not free(ground, bad, bad, 1.0, 1.0)


def test_the_first_bad_waypoint_is_named() -> None:
    grid = Grid.from_blocked([[False, False, True, False]])
    rows, position = np.array([2, 0]), np.zeros((3, 2), np.float32)
    points = np.array([(1, 0), (0, 0), (1, 0), (3, 0), (1, 0)], np.float32)
    movement = np.array([0, 9, 1], np.uint8)
    ground = ground_of(grid, Movement())
    offsets = np.array([0, 2, 5])
    assert first_blocked_path_(*ground, movement, 0, position, rows, points, offsets) == (1, 1)
    # Route 0 is of another movement.
    offsets = np.array([0, 4, 5])
    assert first_blocked_path_(*ground, movement, 0, position, rows, points, offsets) == (-1, -1)
    assert first_blocked_path_(*ground, movement, 1, position, rows, points, offsets) == (0, 3)
