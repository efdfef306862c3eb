"""Steering behaviours against sums over all pairs, and at their edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from navserver.movers import steering
from navserver.search.grid import Grid
from navserver.status import InputError

Crowd = tuple[NDArray[np.float64], NDArray[np.float64]]


@st.composite
def crowds(draw: st.DrawFn) -> Crowd:
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = draw(st.integers(0, 30))
    spread = draw(st.sampled_from([0.5, 5.0, 100.0]))
    places = random.uniform(-spread, spread, (count, 2)).astype(np.float32).astype(np.float64)
    return places, random.normal(0.0, 2.0, (count, 2))


def neighbours(places: NDArray[np.float64], i: int, distance: float) -> list[int]:
    gaps = np.linalg.norm(places - places[i], axis=1)
    return [j for j in range(len(places)) if j != i and gaps[j] < distance]


@given(crowds(), st.sampled_from([0.3, 2.0, 50.0]))
def test_flocking_is_the_sum_over_those_who_are_near(crowd: Crowd, distance: float) -> None:
    places, velocities = crowd
    speed = 3.0
    apart = steering.separation(places, distance, speed)
    same = steering.alignment(places, velocities, distance)
    together = steering.cohesion(places, distance, speed)
    assert apart.shape == same.shape == together.shape == (len(places), 2)
    for i in range(len(places)):
        near = neighbours(places, i, distance)
        away = np.zeros(2)
        for j in near:
            way = places[i] - places[j]
            length = np.linalg.norm(way)
            away += way / length * (1 - length / distance)
        away *= speed
        away *= min(1.0, speed / max(float(np.linalg.norm(away)), 1e-12))
        np.testing.assert_allclose(apart[i], away, atol=1e-4)
        mean = velocities[near].mean(axis=0) if near else velocities[i]
        np.testing.assert_allclose(same[i], mean, atol=1e-4)
        middle = places[near].mean(axis=0) - places[i] if near else np.zeros(2)
        np.testing.assert_allclose(together[i], middle * speed / distance, atol=1e-4)


def test_movers_in_one_place_go_apart() -> None:
    away = steering.separation([(3, 3)] * 4, 1.0, 2.0)
    assert np.linalg.norm(away, axis=1) == pytest.approx([2.0] * 4)
    assert len({tuple(row) for row in away.round(3).tolist()}) == 4


@given(crowds(), st.floats(0.0, 9.0), st.floats(0.0, 20.0))
def test_seek_arrive_and_flee(crowd: Crowd, speed: float, distance: float) -> None:
    places, targets = crowd
    way = targets - places
    length = np.linalg.norm(way, axis=1)
    unit = way / length[:, None]
    found = steering.seek(places, targets, speed)
    np.testing.assert_allclose(found, unit * speed, atol=1e-5)
    with np.errstate(over="ignore"):  # distances may be as small as there are numbers
        slow = np.minimum(1.0, length / distance) if distance > 0 else np.ones(len(length))
    found = steering.arrive(places, targets, speed, distance)
    np.testing.assert_allclose(found, unit * (speed * slow)[:, None], atol=1e-5)
    found = steering.flee(places, targets, speed, distance)
    np.testing.assert_allclose(
        found, -unit * np.where(length <= distance, speed, 0.0)[:, None], atol=1e-5
    )


def test_on_the_target_there_is_nowhere_to_go() -> None:
    for behaviour in (steering.seek, steering.flee):
        assert behaviour([(1, 2)], (1, 2), 3.0).tolist() == [[0.0, 0.0]]
    assert steering.arrive([(1, 2)], (1, 2), 3.0, 0.0).tolist() == [[0.0, 0.0]]


@given(st.integers(0, 2**32), st.floats(0.05, 3.0))
def test_walls_ahead_turn_a_mover_but_do_not_slow_it(seed: int, look_ahead: float) -> None:
    random = np.random.default_rng(seed)
    blocked = random.random((8, 8)) < 0.25
    blocked[0, 0] = False
    grid = Grid.from_blocked(blocked)
    ys, xs = np.nonzero(~blocked)
    pick = random.integers(0, len(xs), 20)
    places = np.stack([xs[pick], ys[pick]], axis=1) + random.uniform(-0.4, 0.4, (20, 2))
    wish = random.normal(0.0, 2.0, (20, 2))
    found = steering.avoid_walls(grid, places, wish, look_ahead)
    np.testing.assert_allclose(
        np.linalg.norm(found, axis=1), np.linalg.norm(wish, axis=1), rtol=1e-4
    )


def test_a_wall_is_met_the_less_the_nearer_it_is() -> None:
    grid = Grid.filled(9, 9)
    into = [
        steering.avoid_walls(grid, [(x, 4)], [(2.0, 0.1)], 2.0)[0, 0]
        for x in (4.0, 5.0, 6.0, 7.0, 8.0, 8.4)
    ]
    assert into[0] == 2.0
    assert (np.diff(into[1:]) < 0).all()
    assert into[-1] < 0.1
    assert steering.avoid_walls(grid, np.empty((0, 2)), np.empty((0, 2)), 1.0).shape == (0, 2)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: steering.seek([(0, 0), (math.nan, 0)], (1, 1), 1.0), r"positions\[1\]"),
        (lambda: steering.seek([(0, 0)], [(1, 1), (2, 2)], 1.0), "targets"),
        (lambda: steering.seek([(0, 0)], (1, 1), -1.0), r"max_speed\[0\]"),
        (lambda: steering.seek([(0, 0)], (1, 1), [1.0, 2.0]), "max_speed"),
        (lambda: steering.seek("no", (1, 1), 1.0), "positions"),
        (lambda: steering.arrive([(0, 0)], (1, 1), 1.0, math.inf), "slowing_distance"),
        (lambda: steering.flee([(0, 0)], (1, 1), 1.0, math.nan), "panic_distance"),
        (lambda: steering.separation([(0, 0)], 0.0, 1.0), "distance"),
        (lambda: steering.alignment([(0, 0)], [(0, 0), (1, 1)], 1.0), "velocities"),
        (lambda: steering.cohesion([(0, 0)], math.nan, 1.0), "distance"),
        (lambda: steering.avoid_walls(Grid.filled(2, 2), [(0, 0)], [(1, 0)], 0.0), "look_ahead"),
        (
            lambda: steering.avoid_walls(Grid.filled(2, 2), [(9, 0)], [(1, 0)], 1.0),
            r"positions\[0\]",
        ),
        (lambda: steering.limit([(0, 0)], "fast"), "max_speed"),
    ],
)
def test_bad_input_is_named(call: object, field: str) -> None:
    with pytest.raises(InputError, match=field):
        call()  # type: ignore[operator]
