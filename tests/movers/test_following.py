"""Following: distances walked are exact, whatever the steps, corners and coordinates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.movers.columns import MoverState
from navserver.movers.movers import Movers
from navserver.movers.stepper import Stepper
from navserver.search.grid import Grid
from tests import reference_movers as ref

SIDE = 40
COORDINATES = st.integers(0, SIDE - 1).map(float) | st.floats(0, SIDE - 1, width=32)
POINTS = st.tuples(COORDINATES, COORDINATES)


def sent(
    start: ref.Point, waypoints: list[ref.Point], speed: float = 1.0, **properties: float
) -> tuple[Movers, Stepper]:
    movers = Movers(Grid.filled(SIDE, SIDE))
    unit = movers.add([start], radius=0.4, max_speed=speed, **properties)
    movers.set_paths(unit, waypoints, [0, len(waypoints)])
    return movers, Stepper(movers, threads=1)


@given(
    POINTS,
    st.lists(POINTS, min_size=1, max_size=8),
    st.sampled_from((0.0, 1e-3, 0.5, 4.0, 100.0, 1e6)),
    st.lists(st.sampled_from((0.0, 1e-6, 1 / 60, 0.25, 1.0, 30.0)), min_size=1, max_size=40),
)
def test_the_distance_walked_is_exact(
    start: ref.Point, waypoints: list[ref.Point], speed: float, steps: list[float]
) -> None:
    movers, stepper = sent(start, waypoints, speed)
    start = tuple(movers.position[0].tolist())
    whole = ref.length_of(start, waypoints)
    distance = 0.0
    arrivals = 0
    for dt in steps:
        arrivals += len(stepper.step(dt).arrived)
        distance += speed * dt
        expected, _ = ref.walked(start, waypoints, distance)
        assert movers.position[0] == pytest.approx(expected, abs=2e-5 * max(1.0, speed * dt / 50))
        if abs(distance - whole) > 1e-4 * max(1.0, whole):
            assert arrivals == (distance > whole)
        if movers.state[0] == MoverState.IDLE:
            assert movers.velocity[0].tolist() == [0, 0]
            assert movers.position[0].tolist() == list(map(np.float32, waypoints[-1]))
        elif math.hypot(*movers.velocity[0]) > 0:
            assert math.hypot(*movers.velocity[0]) == pytest.approx(speed, rel=1e-5)


def test_slow_bodies_move_far_from_the_origin() -> None:
    # A step of 1e-5 cells is a hundredth of what float32 tells at 8,000.
    movers = Movers(Grid.filled(8192, 2))
    unit = movers.add([(8000, 0)], radius=0.4, max_speed=1e-3)
    movers.set_paths(unit, [(8001, 0)], [0, 1])
    stepper = Stepper(movers, threads=1)
    for _ in range(5000):
        stepper.step(0.01)
    assert movers.position[0, 0] == pytest.approx(8000.05, abs=1e-3)


@given(
    POINTS,
    st.lists(POINTS, min_size=1, max_size=4),
    st.floats(0, 10, width=32),
    st.sampled_from((1 / 60, 0.25, 3.0)),
)
def test_arrival_within_a_radius(
    start: ref.Point, waypoints: list[ref.Point], arrival: float, dt: float
) -> None:
    movers, stepper = sent(start, waypoints, 5.0, arrival_radius=arrival)
    start = tuple(movers.position[0].tolist())
    before = start if len(waypoints) == 1 else tuple(map(np.float32, waypoints[-2]))
    whole = ref.length_of(start, waypoints) - min(arrival, math.dist(before, waypoints[-1]))
    steps = 0
    while movers.state[0] == MoverState.PATH:
        stepper.step(dt)
        steps += 1
        assert steps * dt * 5.0 <= whole + 5.0 * dt + 1e-3
    away = math.dist(movers.position[0], waypoints[-1])
    assert away == pytest.approx(min(arrival, math.dist(before, waypoints[-1])), abs=1e-4)


def test_speed_changes_on_the_way() -> None:
    movers, stepper = sent((0, 0), [(30, 0)], 2.0)
    unit = movers.handles()
    stepper.step(1.0)
    movers.set(unit, max_speed=8.0)
    stepper.step(1.0)
    assert movers.position[0].tolist() == [10, 0]
    movers.set(unit, max_speed=0.0)
    stepper.step(1.0)
    assert movers.position[0].tolist() == [10, 0]
    assert movers.velocity[0].tolist() == [0, 0]
    assert movers.state[0] == MoverState.PATH
    movers.set(unit, max_speed=20.0)
    assert len(stepper.step(1.0).arrived) == 1
    assert movers.position[0].tolist() == [30, 0]


def test_a_new_route_begins_where_the_mover_is() -> None:
    movers, stepper = sent((0, 0), [(30, 0)], 2.0)
    unit = movers.handles()
    stepper.step(1.0)
    movers.set_paths(unit, [(2, 4)], [0, 1])
    stepper.step(1.5)
    assert movers.position[0].tolist() == [2, 3]
    movers.stop(unit)
    stepper.step(1.0)
    assert movers.position[0].tolist() == [2, 3]
    assert movers.state[0] == MoverState.IDLE


def test_a_route_to_where_one_is_ends_at_once() -> None:
    movers, stepper = sent((3, 3), [(3, 3)])
    assert stepper.step(0.0).arrived.tolist() == movers.handles().tolist()
    assert not stepper.step(1.0)
