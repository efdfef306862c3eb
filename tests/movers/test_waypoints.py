"""Waypoints: free for the centre under the exact rule, and for the disc where that can be."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from navserver.movers.sight import Ground, ground_of
from navserver.movers.waypoints import disc_free_, lay_waypoints
from navserver.search.astar import find_path
from navserver.search.grid import Grid, Profile
from navserver.search.line_of_sight import raycast
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from tests import reference as ref
from tests import strategies as my

Points = NDArray[Any]


def disc_free(ground: Ground, ends: Points, radius: float) -> bool:
    return bool(disc_free_(ground, *ends.ravel().tolist(), radius))


def clearance(walkable: set[ref.Cell], ends: Points) -> float:
    """Least distance of points along a segment to the squares that are not walkable."""
    low, high = np.floor(ends.min(axis=0) - 2), np.ceil(ends.max(axis=0) + 3)
    squares = [
        (x, y)
        for x in range(int(low[0]), int(high[0]))
        for y in range(int(low[1]), int(high[1]))
        if (x, y) not in walkable
    ]
    if not squares:
        return math.inf
    points = np.linspace(*ends, 200)[:, np.newaxis]
    gaps = np.maximum(np.abs(points - np.array(squares)) - 0.5, 0.0)
    return float(np.hypot(gaps[..., 0], gaps[..., 1]).min())


@given(st.data())
def test_a_disc_is_free_where_no_wall_is_nearer_than_its_radius(data: st.DataObject) -> None:
    model = data.draw(my.models(8, plain=True))
    walkable = set(ref.cell_costs(model, my.table()))
    assume(walkable)
    grid = my.grid_of(model)
    ends = np.empty((2, 2))
    for i in range(2):
        cell = data.draw(st.sampled_from(sorted(walkable)))
        shift = data.draw(st.tuples(*[st.sampled_from((0.0, 0.1, -0.2, 0.3, -0.45))] * 2))
        ends[i] = np.add(cell, shift)
    radius = data.draw(st.sampled_from((0.0, 0.2, 0.4, 0.5)))
    free = disc_free(ground_of(grid, Movement()), ends, radius)
    reached = raycast(grid, tuple(ends[0]), tuple(ends[1])).reached
    gap = clearance(walkable, ends)
    if radius == 0.0:
        assert free == reached
    elif free:
        assert reached
        assert gap >= radius - 1e-3
    else:
        # Sampled points lie within a fortieth of a cell of the nearest one.
        assert not reached or gap < radius + 0.03


@given(my.queries(16), st.data())
def test_waypoints_lead_from_start_to_goal_and_are_free(
    query: my.Query, data: st.DataObject
) -> None:
    grid = my.grid_of(query.model)
    options: dict[str, Any] = {"profile": query.profile, "diagonal_mode": query.diagonal_mode}
    path = find_path(grid, query.start, query.goal, **options)
    assume(path.found)
    offset = st.sampled_from((0.0, 0.25, -0.45, 0.4))
    radius = data.draw(st.sampled_from((0.0, 0.3, 0.45, 0.5, 3.0)))
    start, goal = (
        np.float32([np.add(cell, data.draw(st.tuples(offset, offset)))])
        for cell in (query.start, query.goal)
    )
    flat = grid.flat_indices(path.cells)
    movement = Movement(**options)
    points, offsets = lay_waypoints(
        grid, movement, flat, np.array([0, flat.size]), start, goal, np.float32([radius])
    )
    assert offsets.tolist() == [0, len(points)]
    assert points[-1].tolist() == goal[0].tolist()
    assert len(points) <= flat.size + 2
    walkable = set(ref.cell_costs(query.model, my.table(query.costs_of_classes)))
    ground = ground_of(grid, movement)
    legs = list(pairwise([start[0], *points]))
    for k, (one, other) in enumerate(legs):
        ends = np.array([one, other], np.float64)
        assert raycast(grid, tuple(ends[0]), tuple(ends[1]), **options).reached
        is_step = np.abs(ends[1] - ends[0]).max() <= 1.0
        if 0 < k < len(legs) - 1 and not is_step:
            assert disc_free(ground, ends, min(radius, 0.5))
    centres = {tuple(cell) for cell in path.cells.tolist()}
    assert all(tuple(point) in centres for point in points[:-1].tolist())
    if query.diagonal_mode == DiagonalMode.ONLY_IF_NO_OBSTACLES:
        for one, other in legs[1:-1]:
            gap = clearance(walkable, np.array([one, other], np.float64))
            assert gap >= min(radius, 0.5) - 1e-3


def test_in_the_open_one_waypoint_is_enough() -> None:
    grid = Grid.filled(40, 40)
    cells = grid.flat_indices(find_path(grid, (1, 1), (38, 20)).cells)
    points, _ = lay_waypoints(
        grid, Movement(), cells, np.array([0, cells.size]), np.float32([[1, 1]]),
        np.float32([[38.25, 20.0]]), np.float32([0.4]),
    )  # fmt: skip
    assert points.tolist() == [[38.25, 20.0]]


def test_a_goal_in_sight_is_gone_to_straight_however_far_it_is() -> None:
    grid = Grid.filled(200, 120)
    cells = grid.flat_indices(find_path(grid, (1, 1), (190, 90)).cells)
    points, _ = lay_waypoints(
        grid, Movement(), cells, np.array([0, cells.size]), np.float32([[1, 1]]),
        np.float32([[190.25, 90.0]]), np.float32([0.4]),
    )  # fmt: skip
    assert points.tolist() == [[190.25, 90.0]]


def test_where_ground_differs_the_path_is_kept() -> None:
    grid = Grid([[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    profile = Profile({1: 9.0})
    path = find_path(grid, (0, 0), (3, 0), profile=profile)
    cells = grid.flat_indices(path.cells)
    points, _ = lay_waypoints(
        grid, Movement(profile), cells, np.array([0, cells.size]), np.float32([[0, 0]]),
        np.float32([[3, 0]]), np.float32([0.4]),
    )  # fmt: skip
    assert points.tolist() == path.cells[1:].tolist()


def test_paths_are_independent_and_empty_ones_stay_empty() -> None:
    grid = Grid.filled(9, 9)
    cells = np.array([0, 1, 2, 80], np.int64)
    points, offsets = lay_waypoints(
        grid, Movement(), cells, np.array([0, 3, 3, 4]), np.float32([[0, 0], [5, 5], [8, 8]]),
        np.float32([[2, 0], [5, 5], [7.9, 8]]), np.full(3, 0.4, np.float32),
    )  # fmt: skip
    assert offsets.tolist() == [0, 1, 1, 2]
    assert points.tolist() == [[2, 0], [np.float32(7.9), 8]]


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_a_corner_is_rounded_with_room(turns: int) -> None:
    blocked = np.zeros((4 * turns + 3, 12), bool)
    for turn in range(turns):
        if turn % 2:
            blocked[4 * turn + 3, 1:] = True
        else:
            blocked[4 * turn + 3, :-1] = True
    grid = Grid.from_blocked(blocked)
    path = find_path(grid, (0, 0), (0, 4 * turns + 2))
    cells = grid.flat_indices(path.cells)
    start, goal = np.float32([[0, 0]]), np.float32([[0, 4 * turns + 2]])
    points, _ = lay_waypoints(
        grid, Movement(), cells, np.array([0, cells.size]), start, goal, np.float32([0.5])
    )
    assert len(points) < len(path.cells) / 2
    walkable = {(int(x), int(y)) for y, x in np.argwhere(~blocked)}
    for leg in pairwise([start[0], *points]):
        assert clearance(walkable, np.array(leg, np.float64)) >= 0.5 - 1e-3
