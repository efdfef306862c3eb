"""Preferences: aims lie in sight, pushes are forgiven, limits are kept, goals are reached."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from navserver.movers.columns import EventFlag, MoverState
from navserver.movers.movers import Movers
from navserver.movers.orders import Orders
from navserver.movers.preferences import LOOK_AGAIN_AFTER, NEAR, Preferring
from navserver.movers.workers import Workers
from navserver.search.batch import find_paths
from navserver.search.grid import Grid
from navserver.search.line_of_sight import raycasts


def alone(**properties: Any) -> tuple[Movers, Preferring]:
    movers = Movers(Grid.filled(20, 20))
    unit = movers.add([(2, 2)], radius=0.4, max_speed=4.0, **properties)
    movers.set_paths(unit, [(10, 2), (10, 10)], [0, 2])
    return movers, Preferring(movers, Workers(1))


def put(movers: Movers, x: float, y: float, vx: float = 0.0, vy: float = 0.0) -> None:
    """As the phases after it do."""
    movers.columns.position[0] = (x, y)
    movers.columns.velocity[0] = (vx, vy)


def preferred(movers: Movers) -> list[float]:
    return movers.columns.preferred_velocity[0].tolist()


def test_it_aims_at_the_next_waypoint() -> None:
    movers, phase = alone()
    assert phase.run(0.1) == 0
    assert preferred(movers) == [4, 0]
    put(movers, 2, 5)
    phase.run(0.1)
    assert preferred(movers) == pytest.approx([4 * 8 / math.hypot(8, 3), -4 * 3 / math.hypot(8, 3)])


def test_the_first_waypoint_is_passed_by_who_is_nearer_to_the_next() -> None:
    for x, passes in ((9.0, False), (12.0, True)):
        movers, phase = alone()
        movers.set_paths(movers.handles(), [(10, 2), (19, 2)], [0, 2])
        put(movers, x, 3.5)
        phase.run(0.1)
        assert (movers.columns.path_next[0] > movers.columns.path_begin[0]) == passes


@pytest.mark.parametrize(
    ("x", "y", "passes"),
    [
        (9.5, 2.0, False),
        (9.7, 2.1, True),  # near it
        (9.5, 6.0, False),
        (10.5, 6.0, True),  # beyond it
        (12.0, 0.0, True),
    ],
)
def test_waypoints_are_passed_near_or_beyond_them(x: float, y: float, passes: bool) -> None:
    movers, phase = alone()
    movers.set_paths(movers.handles(), [(2, 2), (10, 2), (10, 10)], [0, 3])
    phase.run(0.1)
    assert movers.columns.path_next[0] - movers.columns.path_begin[0] == 1
    put(movers, x, y)
    phase.run(0.1)
    assert (movers.columns.path_next[0] - movers.columns.path_begin[0] == 2) == passes


def test_it_comes_to_its_goal_and_no_further() -> None:
    movers, phase = alone()
    put(movers, 10, 9.9)
    movers.columns.path_next[0] += 1
    phase.run(0.1)
    assert preferred(movers) == pytest.approx([0, 1], abs=1e-5)
    put(movers, 10, 10 - NEAR / 2)
    assert phase.run(0.1) == 1
    assert preferred(movers) == [0, 0]
    assert movers.columns.events[0] == EventFlag.ARRIVED
    assert movers.state[0] == MoverState.IDLE
    assert phase.run(0.1) == 0


def test_it_brakes_for_its_goal() -> None:
    movers, phase = alone(acceleration=2.0)
    movers.columns.path_next[0] += 1
    put(movers, 10, 8, 0, 4)
    phase.run(0.01)
    # Braking by 2 over 2 cells takes a speed of sqrt(8).
    assert preferred(movers)[1] == pytest.approx(4 - 0.02, abs=1e-3)
    put(movers, 10, 8, 0, math.sqrt(8))
    phase.run(0.01)
    assert preferred(movers)[1] == pytest.approx(math.sqrt(8) - 0.02, abs=1e-3)


def test_limits_bound_what_is_preferred() -> None:
    movers, phase = alone(acceleration=5.0, turn_rate=1.0)
    phase.run(0.1)
    assert preferred(movers) == pytest.approx([0.5, 0])
    put(movers, 2, 2, 0, 3)
    phase.run(0.1)
    vx, vy = preferred(movers)
    assert math.atan2(vx, vy) == pytest.approx(0.1, abs=1e-5)
    assert math.hypot(vx, vy) == pytest.approx(2.5, abs=1e-5)


def test_who_has_lost_sight_aims_at_what_is_in_sight() -> None:
    blocked = np.zeros((9, 9), np.bool_)
    blocked[3, 0:8] = True
    movers = Movers(Grid.from_blocked(blocked))
    unit = movers.add([(0, 0)], radius=0.4, max_speed=1.0)
    movers.set_paths(unit, [(8, 0), (8, 6), (0, 6)], [0, 3])
    phase = Preferring(movers, Workers(1))
    phase.run(0.1)
    movers.columns.path_next[0] += 2
    # Beyond the wall again: neither (0, 6) nor (8, 6) is in sight.
    put(movers, 4, 1)
    phase.run(0.1)
    assert movers.columns.path_next[0] - movers.columns.path_begin[0] == 0
    assert preferred(movers) == pytest.approx([4 / math.hypot(4, 1), -1 / math.hypot(4, 1)])
    # Nothing of the path is in sight.
    blocked[:, 4] = True
    movers.grid.set_all(np.where(blocked, 255, 0))
    put(movers, 1, 1)
    assert phase.run(0.1) == 1
    assert movers.columns.events[0] == EventFlag.REPATH_WANTED
    assert movers.state[0] == MoverState.WAITING
    assert preferred(movers) == [0, 0]


def test_who_makes_no_headway_looks_again_within_its_cell() -> None:
    blocked = np.zeros((20, 20), bool)
    blocked[10:, :10] = True
    movers = Movers(Grid.from_blocked(blocked))
    unit = movers.add([(9.45, 9.45)], radius=0.2, max_speed=4.0)
    movers.set_paths(unit, [(10, 9), (9.6, 15)], [0, 2])
    phase = Preferring(movers, Workers(1))
    columns = movers.columns
    columns.path_next[0] = columns.path_begin[0] + 1
    columns.seen_from[0] = 9 * 20 + 9
    put(movers, 9.0, 9.3)
    # It trusts that it sees the second one from all of the cell.
    phase.run(0.1)
    assert columns.preferred_velocity[0, 1] > 3.9
    columns.stalled[0] = LOOK_AGAIN_AFTER
    phase.run(0.1)
    assert columns.path_next[0] == columns.path_begin[0]
    assert columns.preferred_velocity[0].tolist() == pytest.approx(
        [4 / math.hypot(1, 0.3), -4 * 0.3 / math.hypot(1, 0.3)]
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_pushed_about_everybody_arrives_and_nobody_aims_at_a_wall(seed: int) -> None:
    random = np.random.default_rng(seed)
    n, dt = 200, 1 / 20
    blocked = random.random((40, 40)) < 0.25
    grid = Grid.from_blocked(blocked)
    free = np.argwhere(~blocked)[:, ::-1]
    starts, goals = free[random.integers(0, len(free), (2, n))]
    batch = find_paths(grid, starts, goals, threads=1)
    found = np.diff(batch.offsets) > 0
    movers = Movers(grid)
    units = movers.add(starts, radius=0.3, max_speed=4.0)
    movers.set_path_batch(units, batch)
    phase = Preferring(movers, Workers(1))
    columns = movers.columns
    columns.events[:n] = 0
    for step in range(1200):
        phase.run(dt)
        aims = columns.preferred_velocity[:n].astype(np.float64)
        assert (np.hypot(*aims.T) <= 4.0 + 1e-5).all()
        pushes = random.normal(0, 3, (n, 2)) * (random.random((n, 1)) < 0.1) * (step < 600)
        pushes[movers.state != MoverState.PATH] = 0.0
        at = movers.position.astype(np.float64)
        hits = raycasts(grid, at, at + (aims + pushes) * dt)
        untouched = ~pushes.any(axis=1)
        assert hits.reached[untouched].all()
        columns.position[:n] = hits.points
        if (movers.state[found] == MoverState.IDLE).all():
            break
    flags = columns.events[:n][found]
    assert ((flags & (EventFlag.ARRIVED | EventFlag.REPATH_WANTED)) != 0).all()
    assert ((flags & EventFlag.ARRIVED) != 0).mean() > 0.95
    arrived = found & (movers.state == MoverState.IDLE)
    away = np.linalg.norm(movers.position[:n] - goals, axis=1)[arrived]
    assert away.max() <= NEAR + 1e-5


def test_one_of_a_crowd_slows_down_before_its_place_and_one_alone_does_not() -> None:
    for members, slows in ((1, False), (100, True)):
        movers = Movers(Grid.filled(40, 40))
        starts = [(2 + k % 10, 2 + k // 10) for k in range(members)]
        units = movers.add(starts, radius=0.4, max_speed=4.0)
        orders = Orders(movers)
        orders.order(units, (30, 30))
        orders.run(0.0)
        goal = movers.of("goal", units)[0]
        phase = Preferring(movers, Workers(1))
        speeds = []
        for away in (6.0, 0.8, 0.4, 0.2):
            put(movers, goal[0] - away, goal[1])
            movers.leave_rails(np.zeros(1, np.int64))
            phase.run(1e-3)
            speeds.append(math.hypot(*preferred(movers)))
        assert speeds[0] == pytest.approx(4.0)
        if slows:
            # By as much a cell everywhere: half the way has half the square of the speed.
            assert 0.5 < speeds[1] < 3.5
            assert speeds[2] ** 2 == pytest.approx(speeds[1] ** 2 / 2, rel=1e-3)
            assert speeds[3] ** 2 == pytest.approx(speeds[1] ** 2 / 4, rel=1e-3)
        else:
            assert speeds == pytest.approx([4.0] * 4)
