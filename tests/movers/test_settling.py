"""Crowds that come to rest: all end somewhere, apart, and then nobody moves any more."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from navserver.movers.archive import digest_of
from navserver.movers.columns import STANDING, MoverState, StuckReason
from navserver.movers.movers import Movers
from navserver.movers.orca import Avoidance
from navserver.movers.proximity import BucketSort
from navserver.movers.settling import Bodies, find_room_
from navserver.movers.stepper import Stepper
from navserver.search.grid import Grid

DT = 1 / 20


def are_in_open_cells(movers: Movers) -> bool:
    columns = movers.columns
    alive = np.flatnonzero(columns.state[: movers.slots])
    x, y = np.floor(columns.position[alive] + 0.5).astype(int).T
    return not movers.grid.blocked()[y, x].any()


def walk(stepper: Stepper, seconds: float) -> dict[str, list[int]]:
    """Step, and return the handles of each kind of event; nobody is ever in a wall."""
    told: dict[str, list[int]] = {"arrived": [], "arrived_crowd_full": [], "stuck": []}
    for _ in range(round(seconds / DT)):
        events = stepper.step(DT)
        for name, handles in told.items():
            handles += getattr(events, name).tolist()
        assert are_in_open_cells(stepper.movers)
        assert np.isfinite(stepper.movers.columns.position[: stepper.movers.slots]).all()
    return told


def block(n: int, x: float, y: float) -> NDArray[np.float64]:
    side = math.ceil(math.sqrt(n))
    return np.array([(x + i % side, y + i // side) for i in range(n)])


def check_at_rest(stepper: Stepper, units: NDArray[np.int64]) -> None:
    movers = stepper.movers
    assert (movers.of("state", units) == MoverState.IDLE).all()
    before = movers.of("position", units)
    walk(stepper, 1.0)
    np.testing.assert_array_equal(movers.of("position", units), before)
    for one, other in combinations(before, 2):
        assert math.dist(one, other) >= 0.8 - 0.01


@pytest.mark.slow
def test_a_group_settles_around_its_goal_and_each_end_is_told_once() -> None:
    movers = Movers(Grid.filled(40, 30))
    units = movers.add(block(25, 3, 3), radius=0.4, max_speed=3.0)
    stepper = Stepper(movers, avoidance=Avoidance())
    stepper.order(units, (28, 18))
    told = walk(stepper, 30.0)
    assert sorted(told["arrived"] + told["arrived_crowd_full"]) == sorted(units.tolist())
    assert np.hypot(*(movers.of("position", units) - [28, 18]).T).max() <= 5.0
    check_at_rest(stepper, units)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_of_a_thousand_sent_to_one_cell_nobody_moves_after_a_minute(seed: int) -> None:
    movers = Movers(Grid.filled(120, 120))
    shifts = np.random.default_rng(seed).uniform(-0.05, 0.05, (1000, 2))
    units = movers.add(block(1000, 3, 3) + shifts, radius=0.4, max_speed=4.0)
    stepper = Stepper(movers, avoidance=True)
    stepper.order(units, (84, 72))
    told = walk(stepper, 60.0)
    assert sorted(told["arrived"] + told["arrived_crowd_full"]) == sorted(units.tolist())
    assert len(told["arrived_crowd_full"]) <= 250
    assert (movers.of("state", units) == MoverState.IDLE).all()
    before = movers.of("position", units)
    walk(stepper, 5.0)
    np.testing.assert_array_equal(movers.of("position", units), before)
    # Packed around the goal: a disc of a thousand places has a radius of 17.3.
    away = np.hypot(*(before - [84, 72]).T)
    assert away.max() < 24.0
    assert np.percentile(away, 95) < 18.5


def test_those_with_goals_of_their_own_do_not_exchange_them() -> None:
    blocked = np.ones((3, 20), bool)
    blocked[1] = False
    movers = Movers(Grid.from_blocked(blocked))
    units = movers.add([(2, 1), (4, 1)], radius=0.45, max_speed=2.0)
    stepper = Stepper(movers, avoidance=Avoidance())
    goals = [[12.0, 1.0], [10.0, 1.0]]
    stepper.order(units, goals)
    walk(stepper, 6.0)
    assert movers.of("goal", units[1:]).tolist() == goals[1:]


def through_a_door(width: int, length: int, n: int, most: float) -> float:
    """Send n from either side through a door, and return after how many seconds all have ended."""
    blocked = np.zeros((22, 60), bool)
    blocked[:, 30 : 30 + length] = True
    blocked[10 : 10 + width, 30 : 30 + length] = False
    movers = Movers(Grid.from_blocked(blocked))
    x, y = np.divmod(np.arange(n), 12)
    left = movers.add(np.column_stack([26 - 1.2 * x, 4 + 1.2 * y]), radius=0.4, max_speed=3.0)
    right = movers.add(
        np.column_stack([33 + length + 1.2 * x, 4 + 1.2 * y]), radius=0.4, max_speed=3.0
    )
    stepper = Stepper(movers, avoidance=True)
    stepper.order(left, (43 + length, 10))
    stepper.order(right, (16, 10))
    units = np.concatenate([left, right])
    told: list[int] = []
    seconds = 0.0
    while seconds < most and not (movers.of("state", units) == MoverState.IDLE).all():
        ended = walk(stepper, DT)
        told += ended["arrived"] + ended["arrived_crowd_full"]
        seconds += DT
    assert sorted(told) == sorted(units.tolist())
    assert (movers.of("position", left)[:, 0] > 29 + length).all()
    assert (movers.of("position", right)[:, 0] < 30).all()
    # The last to come may overlap the others by a hair, which contact undoes.
    walk(stepper, 0.5)
    check_at_rest(stepper, units)
    return seconds


@pytest.mark.slow
@pytest.mark.parametrize(("width", "length"), [(1, 1), (2, 1), (3, 1), (1, 6), (2, 12)])
def test_streams_that_meet_in_a_door_get_through(width: int, length: int) -> None:
    # Without anybody in its way a unit walks for 12 to 16 seconds.
    assert through_a_door(width, length, 12, 90.0) < (45.0 if width == 1 else 30.0)


@pytest.mark.slow
def test_long_streams_that_meet_in_a_door_two_bodies_wide_get_through() -> None:
    assert through_a_door(2, 1, 30, 120.0) < 60.0


def test_who_stands_outranks_who_walks() -> None:
    movers = Movers(Grid.filled(20, 5))
    units = movers.add([(1, 2), (10, 2)], radius=0.4, max_speed=2.0, priority=[0.5, 0.25])
    stepper = Stepper(movers, avoidance=Avoidance())
    stepper.order(units[:1], (18, 2))
    stepper.step(DT)
    assert movers.of("precedence", units).tolist() == [0.0, STANDING]
    before = movers.of("position", units[1:])
    walk(stepper, 15.0)
    assert movers.of("state", units[:1]).tolist() == [MoverState.IDLE]
    # It was walked around.
    np.testing.assert_array_equal(movers.of("position", units[1:]), before)


@pytest.mark.parametrize("offset", [0.3, 0.5])
def test_equals_that_stand_in_the_way_make_room(offset: float) -> None:
    movers = Movers(Grid.filled(24, 20))
    standing = [(10.0, 10.0), (10.5, 10.0), (10.0, 10.5), (10.5, 10.5)]
    units = movers.add([(16, 10 + offset), *standing], radius=0.19, max_speed=3.75)
    stepper = Stepper(movers, avoidance=Avoidance())
    stepper.order(units[:1], (3, 10 + offset))
    told = walk(stepper, 10.0)
    # Once they touch and stand, none sees another move.
    assert told == {"arrived": units[:1].tolist(), "arrived_crowd_full": [], "stuck": []}
    for one, other in combinations(movers.of("position", units), 2):
        assert math.dist(one, other) >= 0.38 - 0.01


def test_two_that_are_in_each_others_way_exchange_places() -> None:
    blocked = np.ones((3, 20), bool)
    blocked[1] = False
    movers = Movers(Grid.from_blocked(blocked))
    units = movers.add([(2, 1), (4, 1)], radius=0.45, max_speed=2.0)
    stepper = Stepper(movers, avoidance=Avoidance())
    stepper.order(units, (12, 1))
    # As if they had been sent the other way round.
    columns = movers.columns
    columns.goal[:2] = columns.goal[[1, 0]]
    told = walk(stepper, 20.0)
    assert sorted(told["arrived"] + told["arrived_crowd_full"]) == sorted(units.tolist())
    assert told["stuck"] == []
    assert movers.of("position", units)[0, 0] < movers.of("position", units)[1, 0]


def test_a_crowd_that_holds_somebody_up_is_named() -> None:
    blocked = np.ones((3, 30), bool)
    blocked[1] = False
    movers = Movers(Grid.from_blocked(blocked))
    units = movers.add([(2, 1), (10, 1)], radius=0.45, max_speed=2.0, priority=[0.1, 1.0])
    stepper = Stepper(movers, avoidance=Avoidance())
    stepper.order(units[:1], (28, 1))
    reasons: list[int] = []
    for _ in range(200):
        events = stepper.step(DT)
        reasons += events.stuck_reason.tolist()
        assert set(events.stuck.tolist()) <= {int(units[0])}
    assert set(reasons) == {StuckReason.CROWD}


def test_who_is_pushed_from_its_place_goes_back() -> None:
    movers = Movers(Grid.filled(20, 9))
    units = movers.add([(3, 4)], radius=0.4, max_speed=2.0)
    stepper = Stepper(movers, avoidance=Avoidance())
    stepper.order(units, (10, 4))
    told = walk(stepper, 6.0)
    assert told["arrived"] == units.tolist()
    goal = movers.of("goal", units)
    for _ in range(3):
        movers.columns.position[0] = (11, 5)
        told = walk(stepper, 3.0)
        # It has told so before.
        assert told["arrived"] == []
        assert np.abs(movers.of("position", units) - goal).max() <= 0.02
    # After so many times it stays.
    movers.columns.position[0] = (11, 5)
    walk(stepper, 3.0)
    assert movers.of("position", units).tolist() == [[11, 5]]


def room_for(
    position: tuple[float, float], goal: tuple[float, float], others: list[tuple[float, float]]
) -> tuple[float, float] | None:
    """Return the free place that the first mover finds, walls being around (10, 10)."""
    blocked = np.zeros((20, 20), bool)
    blocked[10, 10] = True
    movers = Movers(Grid.from_blocked(blocked))
    movers.add([position, *others], radius=0.4, max_speed=2.0)
    columns = movers.columns
    columns.goal[0] = goal
    sort = BucketSort()
    sort.sort(columns.position, columns.state, movers.slots, 1.3)
    bodies = Bodies(*(columns.arrays().get(name) for name in BODY_COLUMNS))
    places = np.zeros((movers.slots, 2), np.float32)
    found = find_room_(movers.ground(0), bodies, sort.buckets, sort.order, 0, 0.4, places)
    return (float(places[0, 0]), float(places[0, 1])) if found else None


BODY_COLUMNS = ["preferred_velocity" if name == "preferred" else name for name in Bodies._fields]


def test_the_free_place_nearest_to_the_goal_is_found_where_one_can_go_straight() -> None:
    place = room_for((4, 4), (7, 4), [(7, 4)])
    assert place is not None
    assert 0.77 <= math.dist(place, (7, 4)) <= 1.0
    # Walled in by others there is none, nor where the way is no shorter.
    ring = [(4 + math.cos(k * math.pi / 4), 4 + math.sin(k * math.pi / 4)) for k in range(8)]
    assert room_for((4, 4), (7, 4), ring) is None
    assert room_for((4, 4), (4.3, 4), []) is None
    # Nor through a wall.
    through = room_for((8.5, 10), (11.5, 10), [])
    assert through is None or math.dist(through, (10, 10)) > 0.85


def test_nothing_happens_in_no_time() -> None:
    movers = Movers(Grid.filled(20, 9))
    units = movers.add([(3, 4), (4, 4)], radius=0.4, max_speed=2.0)
    stepper = Stepper(movers, avoidance=Avoidance())
    stepper.order(units, (10, 4))
    stepper.step(DT)
    before: dict[str, Any] = {k: v.copy() for k, v in movers.columns.arrays().items()}
    stepper.step(0.0)
    for name in ("position", "velocity", "stalled", "headway", "held", "goal"):
        np.testing.assert_array_equal(movers.columns.arrays()[name], before[name])


def random_ticks(threads: int, ticks: int) -> str:
    """Return the digest after orders, edits, additions and removals; nobody is ever in a wall."""
    random = np.random.default_rng(7)
    grid = Grid.from_blocked(random.random((40, 40)) < 0.15)
    movers = Movers(grid)
    stepper = Stepper(movers, threads=threads, avoidance=True, budget=500)
    share_out = stepper.workers.run
    # So that even few rows are shared out.
    stepper.workers.run = lambda call, rows, worthwhile=0: share_out(  # noqa: ARG005
        call, rows, 8
    )  # type: ignore[method-assign]
    for _ in range(ticks):
        if len(movers) < 80 and random.random() < 0.2:
            n = int(random.integers(1, 8))
            free = np.argwhere(~grid.blocked())[:, ::-1]
            movers.add(
                free[random.integers(0, len(free), n)],
                radius=random.choice([0.2, 0.3, 0.45], n),
                max_speed=random.uniform(0.5, 4, n),
                priority=random.choice([0.5, 1.0], n),
            )
        units = movers.handles()
        if random.random() < 0.03:
            movers.remove(units[random.random(len(units)) < 0.1])
        units = movers.handles()
        if random.random() < 0.1:
            chosen = units[random.random(len(units)) < 0.4]
            stepper.order(chosen, random.integers(0, 40, 2))
        if random.random() < 0.1:
            kinds = np.array([0, 0, 255], np.uint8)
            grid.set_cells(random.integers(0, 40, (3, 2)), random.choice(kinds, 3))
        stepper.step(float(random.choice([1 / 60, 1 / 20, 0.25, 0.0])))
        alive = np.flatnonzero(movers.columns.state[: movers.slots])
        assert np.isfinite(movers.columns.position[alive]).all()
        assert np.isfinite(movers.columns.velocity[alive]).all()
        assert are_in_open_cells(movers)
    return digest_of(
        len(movers),
        {name: array[: movers.slots] for name, array in movers.columns.arrays().items()},
    )


@pytest.mark.slow
def test_random_ticks_end_alike_on_one_thread_and_on_two() -> None:
    assert random_ticks(1, 1000) == random_ticks(2, 1000)


@pytest.mark.soak
def test_many_random_ticks_end_alike_on_one_thread_and_on_two() -> None:
    assert random_ticks(1, 10_000) == random_ticks(2, 10_000)


@pytest.mark.slow
def test_who_is_sent_farther_than_it_had_come_near_is_not_stuck() -> None:
    movers = Movers(Grid.filled(60, 9))
    ordered, led = movers.add([(3, 2), (3, 6)], radius=0.3, max_speed=4.0)
    stepper = Stepper(movers, avoidance=True)
    stepper.order([ordered], (5, 2))
    movers.set_paths([led], [(5, 6)], [0, 1])
    assert sorted(walk(stepper, 2.0)["arrived"]) == [ordered, led]
    # one straight leg again, as before, but one that takes ten seconds
    stepper.order([ordered], (45, 2))
    movers.set_paths([led], [(45, 6)], [0, 1])
    told = walk(stepper, 12.0)
    assert told["stuck"] == []
    assert sorted(told["arrived"]) == [ordered, led]
