"""Movers that are steered: by given velocities, within limits, along walls, around others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from navserver.movers.columns import MoverState
from navserver.movers.movers import Movers
from navserver.movers.saving import hash_movers, load_movers, save_movers
from navserver.movers.steering import arrive, flee, separation
from navserver.movers.stepper import Stepper
from navserver.search.grid import Grid
from navserver.search.profile import SOLID
from navserver.status import InputError

DT = 1 / 20


def table(n: int = 1, **properties: float) -> tuple[Movers, NDArray[np.int64]]:
    movers = Movers(Grid.filled(24, 12))
    places = [(2 + 2 * i, 4) for i in range(n)]
    return movers, movers.add(places, **({"radius": 0.4, "max_speed": 2.0} | properties))


@pytest.mark.parametrize("avoidance", [False, True])
def test_a_steered_mover_goes_by_its_velocity_until_it_is_stopped(avoidance: bool) -> None:
    movers, units = table()
    stepper = Stepper(movers, avoidance=avoidance)
    movers.steer(units, (1.0, 0.5))
    for _ in range(20):
        assert not stepper.step(DT)
    assert movers.of("position", units)[0].tolist() == pytest.approx([3.0, 4.5], abs=1e-4)
    assert movers.of("velocity", units)[0].tolist() == pytest.approx([1.0, 0.5], abs=1e-4)
    assert movers.of("state", units).tolist() == [MoverState.STEERED]
    movers.stop(units)
    stepper.step(DT)
    assert movers.of("position", units)[0].tolist() == pytest.approx([3.0, 4.5], abs=1e-4)


@pytest.mark.parametrize("avoidance", [False, True])
def test_top_speed_acceleration_and_turn_rate_hold(avoidance: bool) -> None:
    movers, units = table(acceleration=4.0, turn_rate=1.0)
    stepper = Stepper(movers, avoidance=avoidance)
    movers.steer(units, (9.0, 0.0))
    speeds = []
    for _ in range(14):
        stepper.step(DT)
        speeds.append(float(movers.of("velocity", units)[0, 0]))
    assert speeds == pytest.approx([min(0.2 * k, 2.0) for k in range(1, 15)], abs=1e-5)
    movers.steer(units, (0.0, 2.0))
    stepper.step(DT)
    vx, vy = movers.of("velocity", units)[0].tolist()
    assert math.atan2(vy, vx) == pytest.approx(DT, abs=1e-5)


@pytest.mark.parametrize("avoidance", [False, True])
def test_walls_let_nobody_in(avoidance: bool) -> None:
    movers, units = table()
    movers.grid.set_rectangle((5, 0), (1, 12), SOLID)
    stepper = Stepper(movers, avoidance=avoidance)
    for _ in range(60):
        movers.steer(units, (2.0, 0.5))
        stepper.step(DT)
    x, y = movers.of("position", units)[0].tolist()
    assert x == pytest.approx(4.1, abs=1e-3)
    # It slides along.
    assert y == pytest.approx(4 + 3 * 0.5, abs=0.1)


def test_others_are_avoided() -> None:
    movers, units = table(2)
    stepper = Stepper(movers, avoidance=True)
    movers.steer(units, [(1.0, 0.0), (-1.0, 0.0)])
    for _ in range(60):
        stepper.step(DT)
        one, other = movers.of("position", units)
        assert math.dist(one, other) > 0.79
    assert movers.of("position", units)[0, 0] > movers.of("position", units)[1, 0]


def test_an_order_ends_steering_and_steering_ends_an_order() -> None:
    movers, units = table()
    stepper = Stepper(movers)
    stepper.order(units, (20, 4))
    # Before its way was found, and on it.
    for ticks in (0, 5):
        for _ in range(ticks):
            stepper.step(DT)
        movers.steer(units, (0.0, 0.0))
        for _ in range(5):
            stepper.step(DT)
        assert movers.of("state", units).tolist() == [MoverState.STEERED]
        before = movers.of("position", units)
        stepper.step(DT)
        assert movers.of("position", units).tolist() == before.tolist()
        stepper.order(units, (20, 4))
    arrived = 0
    for _ in range(300):
        arrived += stepper.step(DT).arrived.size
    assert arrived == 1


def test_a_mover_that_is_stopped_while_it_waits_for_a_way_stays() -> None:
    movers, units = table()
    stepper = Stepper(movers)
    stepper.order(units, (20, 4))
    movers.stop(units)
    for _ in range(5):
        stepper.step(DT)
    assert movers.of("position", units).tolist() == [[2.0, 4.0]]
    assert movers.of("state", units).tolist() == [MoverState.IDLE]


def test_behaviours_add_up() -> None:
    movers, units = table(3)
    stepper = Stepper(movers, avoidance=True)
    for _ in range(200):
        here = movers.of("position", units)
        wished = (
            arrive(here, (16, 6), 2.0, slowing_distance=2.0)
            + separation(here, 2.0, 1.0)
            + flee(here, (16, 4), 0.5, panic_distance=1.0)
        )
        movers.steer(units, wished)
        stepper.step(DT)
    here = movers.of("position", units)
    assert np.hypot(*(here - [16, 6]).T).max() < 2.5
    assert min(math.dist(here[i], here[j]) for i, j in ((0, 1), (0, 2), (1, 2))) > 0.79


def test_who_is_shut_in_by_a_wall_is_put_beside_it_and_goes_on() -> None:
    movers, units = table()
    stepper = Stepper(movers)
    movers.steer(units, (1.0, 0.0))
    movers.grid.set_cell((2, 4), SOLID)
    assert stepper.step(DT).path_blocked.tolist() == units.tolist()
    before = movers.of("position", units)
    stepper.step(DT)
    assert movers.of("state", units).tolist() == [MoverState.STEERED]
    assert movers.of("position", units).tolist() != before.tolist()


@pytest.mark.parametrize("avoidance", [False, True])
def test_a_body_that_something_else_has_moved_goes_on_from_there(avoidance: bool) -> None:
    movers, units = table()
    movers.grid.set_rectangle((12, 0), (1, 12), SOLID)
    stepper = Stepper(movers, avoidance=avoidance)
    stepper.order(units, (10, 4))
    stepper.step(DT)
    for x, y in ((5.0, 4.0), (5.0, 8.0), (7.25, 9.5)):
        movers.steer(units, (1.0, 0.0), positions=[(x, y)])
        stepper.step(DT)
        assert movers.of("position", units)[0].tolist() == pytest.approx([x + DT, y], abs=1e-4)
        assert movers.of("velocity", units)[0].tolist() == pytest.approx([1.0, 0.0], abs=1e-4)
    # From within a wall the way leads along it, on the side where the body came in.
    movers.steer(units, (1.0, 1.0), positions=[(11.6, 6.0)])
    stepper.step(DT)
    x, y = movers.of("position", units)[0].tolist()
    assert 11.4 < x < 11.5
    assert y == pytest.approx(6.0 + DT, abs=0.01)


def test_a_current_velocity_is_what_limits_begin_from_and_others_expect() -> None:
    movers, units = table(2, acceleration=2.0)
    stepper = Stepper(movers)
    movers.steer(units, (2.0, 0.0), current_velocities=[(1.0, 0.0), (0.0, 0.0)])
    stepper.step(DT)
    assert movers.of("velocity", units)[:, 0].tolist() == pytest.approx([1.1, 0.1])
    # One that is known to stand is passed otherwise than one that comes along.
    ways = []
    for speed in (0.0, -2.0):
        movers, units = table(2)
        movers.place(units[1:], [(6, 4)])
        stepper = Stepper(movers, avoidance=True)
        movers.steer(units, [(2.0, 0.0), (0.0, 0.0)], current_velocities=[(2, 0), (speed, 0)])
        stepper.step(DT)
        ways.append(movers.of("velocity", units)[0].tolist())
    assert ways[0] != ways[1]


def test_steering_is_saved() -> None:
    movers, units = table()
    movers.steer(units, (1.0, 0.0))
    again = load_movers(movers.grid, save_movers(movers))
    for each in (movers, again):
        stepper = Stepper(each)
        for _ in range(5):
            stepper.step(DT)
    assert hash_movers(movers) == hash_movers(again)


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"positions": [(math.nan, 0.0)]}, "positions[0]"),
        ({"positions": [(0.0, 1.0), (0.0, 1.0)]}, "positions"),
        ({"positions": [(2.0, 4.0)]}, "positions[0]"),
        ({"current_velocities": [(0.0, math.inf)]}, "current_velocities[0]"),
        ({"current_velocities": [(0.0, 1.0)] * 3}, "current_velocities"),
    ],
)
def test_what_is_no_place_or_current_velocity_is_refused(
    more: dict[str, list[tuple[float, float]]], field: str
) -> None:
    movers, units = table()
    if field == "positions[0]":
        movers.grid.set_all(SOLID)
    before = hash_movers(movers)
    with pytest.raises(InputError) as caught:
        movers.steer(units, (1.0, 0.0), **more)
    assert caught.value.field == field
    assert hash_movers(movers) == before


@pytest.mark.parametrize(
    ("velocities", "field"),
    [
        ([(math.nan, 0.0)], "velocities[0]"),
        ([(0.0, 2e6)], "velocities[0]"),
        ([(0.0, 1.0), (0.0, 1.0)], "velocities"),
        ("no", "velocities"),
    ],
)
def test_what_is_no_velocity_is_refused(velocities: object, field: str) -> None:
    movers, units = table()
    with pytest.raises(InputError) as caught:
        movers.steer(units, velocities)  # type: ignore[arg-type]
    assert caught.value.field == field
    assert movers.of("state", units).tolist() == [MoverState.IDLE]
