"""Driving: limits are kept, everybody arrives, nobody circles, no wall is entered."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from navserver.movers.columns import MoverState
from navserver.movers.driving import SWING
from navserver.movers.movers import Movers
from navserver.movers.stepper import Stepper
from navserver.search.batch import find_paths
from navserver.search.grid import Grid
from navserver.search.smoothing import pull_strings
from tests import reference_movers as ref

SIDE = 40


@dataclass
class Body:
    """What one mover may do."""

    max_speed: float = 4.0
    acceleration: float = math.inf
    turn_rate: float = math.inf
    slowing_distance: float = 0.0
    arrival_radius: float = 0.0


def sent(grid: Grid, start: ref.Point, waypoints: list[ref.Point], body: Body) -> Movers:
    movers = Movers(grid)
    unit = movers.add([start], radius=0.4, **vars(body))
    movers.set_paths(unit, waypoints, [0, len(waypoints)])
    return movers


def random_bodies(n: int, random: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    return {
        "max_speed": random.choice([1.0, 4.0, 15.0], n),
        "acceleration": random.choice([math.inf, 2.0, 20.0, 200.0], n),
        "turn_rate": random.choice([math.inf, 2.0, 6.0, 30.0], n),
        "slowing_distance": random.choice([0.0, 0.0, 1.5, 6.0], n),
        "arrival_radius": random.choice([0.0, 0.0, 0.5], n),
    }


def turned(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Angles between the rows of two arrays."""
    return np.abs(np.arctan2(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], (a * b).sum(1)))


def most_seconds(legs: NDArray[np.float64], body: dict[str, NDArray[np.float64]]) -> float:
    """More than sensible drivers need: each leg from rest to rest, and a whole turn each."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gentle = body["max_speed"] ** 2 / (2 * body["slowing_distance"])
    slow = np.fmin(np.minimum(body["acceleration"], 1e9), gentle)
    speed = np.minimum(body["max_speed"], body["turn_rate"] * SWING / 2)
    legs = legs + 0.5
    seconds = legs / speed[:, None] + np.sqrt(4 * legs / slow[:, None]) + 1.0
    seconds += (4 * speed / slow + 2 * math.pi / body["turn_rate"])[:, None]
    return float(seconds.sum(1).max())


@pytest.mark.slow
@pytest.mark.parametrize("dt", [1 / 30, 1 / 12, 0.25])
@pytest.mark.parametrize("kind", ["points", "cells", "grid"])
def test_limits_are_kept_and_everybody_arrives(kind: str, dt: float) -> None:
    n, k = 200, 3
    random = np.random.default_rng(7)
    body = random_bodies(n, random)
    points = random.uniform(2, 14, (n, k + 1, 2)).astype(np.float32)
    if kind != "points":
        points = np.round(points)
    if kind == "grid":
        # Waypoints next to one another, some of them the same, as in paths of cells.
        steps = random.integers(-1, 2, (n, k, 2))
        points[:, 1:] = np.clip(points[:, :1] + np.cumsum(steps, axis=1), 0, SIDE - 1)
    movers = Movers(Grid.filled(SIDE, SIDE))
    units = movers.add(points[:, 0], radius=0.4, **body)
    movers.set_paths(units, points[:, 1:].reshape(-1, 2), np.arange(n + 1) * k)
    stepper = Stepper(movers, threads=1)
    legs = np.linalg.norm(np.diff(points, axis=1), axis=2).astype(np.float64)
    at, was = movers.position.astype(np.float64), np.zeros((n, 2))
    moving = np.ones(n, np.bool_)
    for _ in range(math.ceil(most_seconds(legs, body) / dt) + 10):
        moving[movers.rows_of(stepper.step(dt).arrived)] = False
        now_at, now = movers.position.astype(np.float64), movers.velocity.astype(np.float64)
        speed, before = np.hypot(*now.T), np.hypot(*was.T)
        assert (speed <= body["max_speed"] * (1 + 1e-5)).all()
        walked = np.hypot(*(now_at - at).T)
        assert (walked <= body["max_speed"] * dt * (1 + 1e-5) + 1.1e-4).all()
        changed = np.abs(speed - before)[moving]
        assert (changed <= (body["acceleration"] * dt * (1 + 1e-4) + 1e-5)[moving]).all()
        driving = moving & (speed > 1e-2) & (before > 1e-2)
        assert (turned(was, now) <= body["turn_rate"] * dt + 1e-3)[driving].all()
        at, was = now_at, now
        if not moving.any():
            break
    assert not moving.any(), {name: values[moving][:5] for name, values in body.items()}
    assert (movers.state == MoverState.IDLE).all()
    assert not movers.velocity.any()
    away = np.linalg.norm(movers.position - points[:, -1], axis=1)
    assert (away <= body["arrival_radius"] + 2e-4).all()
    assert (away[body["arrival_radius"] == 0.0] == 0.0).all()


def travel_seconds(length: float, speed: float, gain: float, braking: float) -> float:
    """How long a straight way takes from rest to rest."""
    peak = min(speed, math.sqrt(2 * length / (1 / gain + 1 / braking)))
    rising, falling = peak**2 / (2 * gain), peak**2 / (2 * braking)
    return peak / gain + peak / braking + (length - rising - falling) / peak


@pytest.mark.parametrize("length", [0.5, 3.0, 20.0])
@pytest.mark.parametrize(("gain", "slowing"), [(2.0, 0.0), (8.0, 0.0), (50.0, 2.0), (3.0, 5.0)])
def test_a_straight_way_takes_its_time(length: float, gain: float, slowing: float) -> None:
    dt = 1 / 240
    body = Body(acceleration=gain, slowing_distance=slowing)
    movers = sent(Grid.filled(SIDE, SIDE), (5, 5), [(5 + length, 5)], body)
    stepper = Stepper(movers, threads=1)
    seconds = 0.0
    while not stepper.step(dt).arrived.size:
        seconds += dt
    braking = min(gain, 16 / (2 * slowing)) if slowing else gain
    assert seconds == pytest.approx(travel_seconds(length, 4.0, gain, braking), abs=12 * dt)
    assert movers.position[0].tolist() == pytest.approx([5 + length, 5], abs=1e-6)


def test_corners_cost_no_speed_without_a_turn_rate() -> None:
    waypoints: list[ref.Point] = [(10, 5), (10, 15), (5, 15), (5, 30)]
    body = Body(acceleration=8.0)
    movers = sent(Grid.filled(SIDE, SIDE), (5, 5), waypoints, body)
    stepper = Stepper(movers, threads=1)
    dt, seconds = 1 / 240, 0.0
    while not stepper.step(dt).arrived.size:
        seconds += dt
        # Always on its path, however many corners.
        length = travelled(seconds, 4.0, 8.0, 35.0)
        expected, _ = ref.walked((5, 5), waypoints, length)
        assert math.dist(movers.position[0], expected) < 0.05
    assert seconds == pytest.approx(travel_seconds(35.0, 4.0, 8.0, 8.0), abs=12 * dt)


def travelled(seconds: float, speed: float, gain: float, length: float) -> float:
    """How far a straight way has been gone after so long, from rest to rest."""
    whole = travel_seconds(length, speed, gain, gain)
    peak = min(speed, math.sqrt(length * gain))
    if seconds <= peak / gain:
        return gain * seconds**2 / 2
    if seconds >= whole - peak / gain:
        return length - gain * max(whole - seconds, 0.0) ** 2 / 2
    return peak**2 / (2 * gain) + peak * (seconds - peak / gain)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("pulled", [False, True])
def test_no_wall_is_entered(seed: int, pulled: bool) -> None:
    random = np.random.default_rng(seed)
    n, dt = 200, (1 / 30, 1 / 20, 0.2)[seed]
    blocked = random.random((48, 48)) < 0.1 + 0.1 * seed
    grid = Grid.from_blocked(blocked)
    free = np.argwhere(~blocked)[:, ::-1]
    starts, goals = free[random.integers(0, len(free), (2, n))]
    batch = find_paths(grid, starts, goals, threads=1)
    cells, offsets = batch.cells, batch.offsets
    if pulled:
        cells, offsets = pull_strings(grid, cells, offsets)
    movers = Movers(grid)
    units = movers.add(starts, radius=0.4, **random_bodies(n, random))
    movers.set_paths(units, cells, offsets)
    stepper = Stepper(movers, threads=1)
    counts = np.zeros(n, np.int64)
    for _ in range(math.ceil(300 / dt)):
        events = stepper.step(dt)
        counts[movers.rows_of(events.arrived)] += 1
        counts[movers.rows_of(events.repath_wanted)] += 1
        at = np.floor(movers.position.astype(np.float64) + 0.5).astype(int)
        assert not blocked[at[:, 1], at[:, 0]].any()
        if counts.all():
            break
    assert (counts == 1).all()
    # Who has a path gets there.
    found = np.diff(offsets) > 0
    assert (movers.state[found] == MoverState.IDLE).mean() > 0.99
