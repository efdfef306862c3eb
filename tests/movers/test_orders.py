"""Orders: all who can get there do, each to a place of its own, whatever is built meanwhile."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from navserver.movers.columns import MoverState, StuckReason
from navserver.movers.movers import Movers
from navserver.movers.orders import Orders
from navserver.movers.stepper import Stepper
from navserver.search.grid import Grid
from navserver.search.islands import connected
from navserver.search.movement import Movement
from navserver.search.nearest import nearest_reachable
from navserver.status import InputError

DT = 1 / 20


def are_in_open_cells(movers: Movers) -> bool:
    columns = movers.columns
    alive = np.flatnonzero(columns.state[: movers.slots])
    x, y = np.floor(columns.position[alive] + 0.5).astype(int).T
    ox, oy = movers.grid.region_position
    return not movers.grid.blocked()[y - oy, x - ox].any()


def walk_out(stepper: Stepper, most: int = 4000) -> tuple[list[int], dict[int, int]]:
    """Step until nobody is under way; return who arrived, and who is stuck for what reason."""
    arrived: list[int] = []
    stuck: dict[int, int] = {}
    for _ in range(most):
        events = stepper.step(DT)
        arrived += events.arrived.tolist()
        stuck |= dict(zip(events.stuck.tolist(), events.stuck_reason.tolist(), strict=True))
        assert are_in_open_cells(stepper.movers)
        if not (stepper.movers.columns.state[: stepper.movers.slots] > MoverState.IDLE).any():
            return arrived, stuck
    raise AssertionError("never done")


def group(grid: Grid, n: int, seed: int = 0, **keywords: Any) -> tuple[Movers, NDArray[np.int64]]:
    movers = Movers(grid)
    free = np.argwhere(~grid.blocked())[:, ::-1] + grid.region_position
    random = np.random.default_rng(seed)
    spots = free[random.permutation(len(free))[:n]]
    return movers, movers.add(spots, **({"radius": 0.4, "max_speed": 8.0} | keywords))


def test_a_group_ends_around_its_goal_each_in_a_place_of_its_own() -> None:
    movers, units = group(Grid.filled(50, 40), 60)
    stepper = Stepper(movers)
    stepper.order(units, (30.25, 20))
    arrived, stuck = walk_out(stepper)
    assert sorted(arrived) == sorted(units.tolist())
    assert stuck == {}
    ends = movers.of("position", units)
    np.testing.assert_array_equal(ends, movers.of("goal", units))
    for one, other in combinations(ends, 2):
        assert math.dist(one, other) >= 0.8
    assert np.hypot(*(ends - np.float32([30.25, 20])).T).max() <= 4.5


@settings(max_examples=30)
@given(st.integers(0, 999), st.sampled_from((20, 300, 100_000)))
def test_who_can_get_there_arrives_and_who_cannot_is_stuck(seed: int, budget: int) -> None:
    random = np.random.default_rng(seed)
    grid = Grid.from_blocked(random.random((20, 20)) < 0.35, region_position=(-4, 9))
    movers, units = group(grid, 12, seed)
    stepper = Stepper(movers, budget=budget)
    goal = (int(random.integers(-4, 16)), int(random.integers(9, 29)))
    starts = np.floor(movers.of("position", units) + 0.5).astype(int).tolist()
    stepper.order(units, goal)
    arrived, stuck = walk_out(stepper)
    assert not set(arrived) & set(stuck)
    assert sorted([*arrived, *stuck]) == sorted(units.tolist())
    for unit, start in zip(units.tolist(), starts, strict=True):
        if grid.blocked()[goal[1] - 9, goal[0] + 4]:
            near = nearest_reachable(grid, tuple(start), goal)
            assert near is not None
            end = np.floor(movers.of("goal", [unit])[0] + 0.5).astype(int).tolist()
            assert connected(grid, tuple(start), tuple(end))
            assert unit in arrived
        else:
            assert (unit in arrived) == connected(grid, tuple(start), goal)
            assert unit in arrived or stuck[unit] == StuckReason.UNREACHABLE


def test_two_groups_sent_to_one_goal_get_places_beside_each_other() -> None:
    movers, units = group(Grid.filled(30, 30), 30)
    stepper = Stepper(movers)
    stepper.order(units[:15], (15, 15))
    walk_out(stepper)
    stepper.order(units[15:], (15, 15))
    walk_out(stepper)
    for one, other in combinations(movers.of("position", units), 2):
        assert math.dist(one, other) >= 0.8


def test_without_places_all_go_to_the_very_point() -> None:
    movers, units = group(Grid.filled(30, 30), 5)
    stepper = Stepper(movers)
    stepper.order(units, (15, 15), spread=False)
    walk_out(stepper)
    assert (movers.of("position", units) == [15, 15]).all()


def goals_of(orders: list[tuple[list[int], Any]]) -> NDArray[np.float32]:
    """Return the goals of 12 movers after orders by indices."""
    movers, units = group(Grid.filled(40, 40), 12)
    stepper = Stepper(movers)
    for indices, goal in orders:
        stepper.order(units[indices], goal)
    return movers.of("goal", units)


def test_each_goes_to_the_very_goal_that_is_its_own() -> None:
    movers, units = group(Grid.filled(30, 30, region_position=(-5, 3)), 6)
    stepper = Stepper(movers)
    goals = np.float32([(-4.75, 4), (24, 32), (0.25, 20.5), (0, 9), (-5, 3), (10, 10)])
    stepper.order(units[::-1], goals[::-1])
    arrived, stuck = walk_out(stepper)
    assert sorted(arrived) == sorted(units.tolist())
    assert stuck == {}
    np.testing.assert_array_equal(movers.of("position", units), goals)


def test_goals_of_their_own_do_not_hang_on_how_orders_are_split() -> None:
    goals = np.float32([(3 * i % 37, i) for i in range(12)])
    whole = goals_of([(list(range(12)), goals)])
    np.testing.assert_array_equal(whole, goals)
    parts = ([11, 0, 5], [1, 2, 3, 4], [10, 9, 8, 7, 6])
    split = goals_of([(part, goals[part]) for part in parts])
    np.testing.assert_array_equal(split, whole)


def test_movers_of_one_goal_cell_are_sent_there_together() -> None:
    goals = np.float32([(20, 20)] * 8 + [(5, 5), (5.25, 5), (30, 8), (31, 8)])
    together = goals_of([(list(range(12)), goals)])
    # As one order to all of them, and one to each other cell.
    apart = goals_of([(list(range(8)), (20, 20)), ([8, 9], (5, 5)), ([10, 11], goals[10:])])
    np.testing.assert_array_equal(together[8:], apart[8:])
    assert sorted(together[:8].tolist()) == sorted(apart[:8].tolist())
    for one, other in combinations(together[:10], 2):
        assert math.dist(one, other) >= 0.8
    movers, units = group(Grid.filled(40, 40), 12)
    stepper = Stepper(movers)
    stepper.order(units, goals, spread=False)
    np.testing.assert_array_equal(movers.of("goal", units), goals)


def test_a_goal_of_its_own_that_cannot_be_reached_is_the_nearest_that_can() -> None:
    blocked = np.zeros((20, 20), bool)
    blocked[:, 10] = True
    blocked[4:9, 2:7] = True
    grid = Grid.from_blocked(blocked, region_position=(100, -7))
    movers = Movers(grid)
    units = movers.add([(100, -7), (101, -7), (119, 0), (115, 5)], radius=0.3, max_speed=8.0)
    stepper = Stepper(movers)
    stepper.order(units, [(104, -2), (118, 12), (110, 0), (111.5, 1)])
    goals = movers.of("goal", units).tolist()
    for i, goal in ((0, (104, -2)), (2, (110, 0))):
        start = movers.of("position", units)[i].astype(int).tolist()
        assert goals[i] == list(nearest_reachable(grid, tuple(start), goal) or ())
    assert goals[3] == [111.5, 1.0]
    arrived, stuck = walk_out(stepper)
    assert sorted(arrived) == units[[0, 2, 3]].tolist()
    assert stuck == {int(units[1]): StuckReason.UNREACHABLE}


@pytest.mark.parametrize(("n", "gap"), [(3, 1.8), (6, 0.94)])
def test_places_are_as_loose_as_there_is_room_for(n: int, gap: float) -> None:
    blocked = np.ones((3, 9), bool)
    blocked[1, 1:8] = False
    movers = Movers(Grid.from_blocked(blocked))
    units = movers.add([(i + 1, 1) for i in range(n)], radius=0.45, max_speed=2.0)
    orders = Orders(movers)
    orders.gap = 1.0
    orders.order(units, (4, 1))
    assert not movers.columns.stuck_reason.any()
    goals = np.sort(movers.of("goal", units)[:, 0])
    assert np.diff(goals).min() == pytest.approx(gap, abs=0.01)


def test_who_finds_no_place_says_that_the_goal_is_taken() -> None:
    blocked = np.ones((3, 9), bool)
    blocked[1, 2:5] = False
    movers = Movers(Grid.from_blocked(blocked))
    units = movers.add([(2, 1), (2.5, 1), (3, 1), (4, 1)], radius=0.45, max_speed=2.0)
    stepper = Stepper(movers)
    stepper.order(units, (3, 1))
    arrived, stuck = walk_out(stepper)
    assert sorted([*arrived, *stuck]) == units.tolist()
    assert list(stuck.values()) == [StuckReason.GOAL_TAKEN]


@pytest.mark.parametrize(
    ("goal", "named"),
    [
        ([(1, 1)], "goal"),
        ([(1, 1)] * 3, "goal"),
        ([(1, 1), (4, 0)], r"goal\[1\]"),
        ([(1, 1), (0, -0.6)], r"goal\[1\]"),
        ([(np.nan, 1), (0, 0)], r"goal\[0\]"),
        ([(1, 1), (1, np.inf)], r"goal\[1\]"),
        ([(1, 1), (1e30, 0)], r"goal\[1\]"),
        ([1, 2, 3, 4], "goal"),
        ([[], []], "goal"),
    ],
)
def test_a_goal_of_its_own_that_is_none_is_named(goal: Any, named: str) -> None:
    movers, units = group(Grid.filled(4, 4), 2)
    before = {name: array.copy() for name, array in movers.columns.arrays().items()}
    with pytest.raises(InputError, match=named):
        Stepper(movers).order(units, goal)
    for name, array in movers.columns.arrays().items():
        np.testing.assert_array_equal(array, before[name])


def test_order_numbers_begin_again_when_they_run_out() -> None:
    movers, units = group(Grid.filled(9, 9), 2)
    orders = Orders(movers)
    orders._last_group = 2**31 - 2
    groups = []
    for _ in range(3):
        orders.order(units, (4, 4))
        groups.append(movers.of("group", units).tolist())
    assert groups == [[2**31 - 1] * 2, [0, 0], [1, 1]]


def test_bodies_of_several_movements_go_where_each_can() -> None:
    blocked = np.zeros((20, 30), bool)
    blocked[:, 15] = True
    blocked[10, 15] = False
    movers = Movers(Grid.from_blocked(blocked))
    small = movers.add([(2, 2), (2, 4)], radius=0.4, max_speed=8.0)
    large = movers.add([(5, 5)], radius=1.2, max_speed=8.0, movement=Movement(radius=1.2))
    stepper = Stepper(movers)
    stepper.order(np.concatenate([small, large]), (25, 10))
    arrived, stuck = walk_out(stepper)
    assert sorted(arrived) == small.tolist()
    assert stuck == {int(large[0]): StuckReason.UNREACHABLE}


def test_an_order_in_between_replaces_the_one_before() -> None:
    movers, units = group(Grid.filled(60, 20), 10)
    stepper = Stepper(movers, budget=5)
    stepper.order(units, (50, 10))
    stepper.step(DT)
    stepper.order(units, (5, 10))
    arrived, _ = walk_out(stepper)
    assert sorted(arrived) == sorted(units.tolist())
    assert (np.abs(movers.of("position", units) - [5, 10]) < 3).all()


def test_who_has_a_new_way_at_once_does_not_stop_for_it() -> None:
    movers, units = group(Grid.filled(60, 5), 1, acceleration=1.0, max_speed=5.0)
    movers.place(units, [(2, 2)])
    stepper = Stepper(movers)
    stepper.order(units, (55, 2))
    for _ in range(40):
        stepper.step(DT)
    before = movers.of("velocity", units)[0, 0]
    assert before > 1.5
    stepper.order(units, (45, 2))
    stepper.step(DT)
    assert movers.of("velocity", units)[0, 0] >= before


def test_a_goal_that_moves_a_little_bends_the_way_without_a_plan() -> None:
    movers, units = group(Grid.filled(60, 5), 1)
    movers.place(units, [(2, 2)])
    stepper = Stepper(movers, goal_tolerance=0.5)
    stepper.order(units, (50, 2))
    stepper.step(DT)
    for shift in range(1, 8):
        stepper.order(units, (50 + 0.25 * shift, 2))
        assert stepper.orders.planner.is_idle
        assert movers.of("state", units)[0] == MoverState.PATH
        stepper.step(DT)
    walk_out(stepper)
    assert movers.of("position", units).tolist() == [[51.75, 2.0]]


def test_a_goal_that_moves_far_is_planned_for_once_in_an_interval() -> None:
    movers, units = group(Grid.filled(200, 5), 1)
    movers.place(units, [(2, 2)])
    stepper = Stepper(movers, repath_interval=1.0)
    plans = 0
    for step in range(60):
        stepper.order(units, (150 + (2 * step) % 40, 2))
        stepper.step(DT)
        # Fresh from a plan it has all of the interval before it.
        plans += bool(movers.of("replan_wait", units)[0] == 1.0)
    # 60 steps are 3 seconds.
    assert 3 <= plans <= 4


@pytest.mark.slow
@settings(max_examples=25)
@given(st.integers(0, 9999), st.sampled_from((30, 10_000)))
def test_whatever_is_built_meanwhile_nobody_ends_in_a_wall(seed: int, budget: int) -> None:
    random = np.random.default_rng(seed)
    grid = Grid.from_blocked(random.random((24, 24)) < 0.2)
    movers, units = group(grid, 15, seed)
    stepper = Stepper(movers, budget=budget)
    stepper.order(units, (12, 12))
    done: set[int] = set()
    for _ in range(60):
        cells = random.integers(0, 24, (3, 2))
        grid.set_cells(cells, random.choice(np.array([0, 255], np.uint8), 3))
        if not grid.blocked().all():
            events = stepper.step(DT)
            done |= {*events.arrived.tolist(), *events.stuck.tolist()}
        assert are_in_open_cells(movers)
    arrived, stuck = walk_out(stepper)
    done |= {*arrived, *stuck}
    assert done == set(units.tolist())


def test_a_door_that_closes_is_walked_around() -> None:
    blocked = np.zeros((20, 40), bool)
    blocked[:, 20] = True
    blocked[[3, 16], 20] = False
    grid = Grid.from_blocked(blocked)
    movers, units = group(grid, 12)
    movers.place(units, [(2 + i % 4, 2 + i // 4) for i in range(12)])
    stepper = Stepper(movers)
    stepper.order(units, (35, 3))
    for _ in range(10):
        stepper.step(DT)
    grid.set_cell((20, 3), 255)
    events = stepper.step(DT)
    assert sorted(events.path_blocked.tolist()) == sorted(units.tolist())
    arrived, _ = walk_out(stepper)
    assert sorted(arrived) == sorted(units.tolist())


def test_a_cut_way_that_nobody_ordered_is_reported_and_left() -> None:
    grid = Grid.filled(30, 5)
    movers = Movers(grid)
    units = movers.add([(0, 2)], radius=0.4, max_speed=8.0)
    movers.set_paths(units, [(29, 2)], [0, 1])
    stepper = Stepper(movers)
    stepper.step(DT)
    grid.set_cell((15, 2), 255)
    events = stepper.step(DT)
    assert events.path_blocked.tolist() == units.tolist()
    assert events.repath_wanted.tolist() == units.tolist()
    assert movers.of("state", units).tolist() == [MoverState.WAITING]


def test_an_edit_before_the_first_step_is_seen_too() -> None:
    grid = Grid.filled(30, 5)
    movers = Movers(grid)
    units = movers.add([(0, 2)], radius=0.4, max_speed=8.0)
    movers.set_paths(units, [(29, 2)], [0, 1])
    grid.set_cell((15, 2), 255)
    assert Stepper(movers).step(DT).path_blocked.tolist() == units.tolist()


def test_who_is_built_over_stands_beside_it_and_goes_on() -> None:
    grid = Grid.filled(30, 9)
    movers, units = group(grid, 3)
    movers.place(units, [(5, 4), (9, 4), (9, 6)])
    stepper = Stepper(movers)
    stepper.order(units[:1], (25, 4))
    stepper.step(DT)
    grid.set_rectangle((4, 3), (7, 3), 255)
    events = stepper.step(DT)
    assert set(events.path_blocked.tolist()) >= set(units[:2].tolist())
    assert are_in_open_cells(movers)
    assert movers.of("position", units[2:]).tolist() == [[9, 6]]
    arrived, _ = walk_out(stepper)
    assert arrived == units[:1].tolist()
    assert movers.of("state", units[1:]).tolist() == [MoverState.IDLE] * 2


def test_a_place_that_is_closed_is_given_up_for_another() -> None:
    grid = Grid.filled(40, 20)
    movers, units = group(grid, 8)
    stepper = Stepper(movers)
    stepper.order(units, (30, 10))
    stepper.step(DT)
    grid.set_rectangle((30, 10), (2, 2), 255)
    arrived, stuck = walk_out(stepper)
    assert sorted(arrived) == sorted(units.tolist())
    assert stuck == {}
    for one, other in combinations(movers.of("position", units), 2):
        assert math.dist(one, other) >= 0.8


def test_a_table_with_waiting_movers_is_taken_up_again() -> None:
    movers, units = group(Grid.filled(40, 20), 5)
    Stepper(movers).order(units, (30, 10))
    arrived, _ = walk_out(Stepper(movers))
    assert sorted(arrived) == sorted(units.tolist())


def test_the_phase_is_not_used_when_all_is_done() -> None:
    movers, units = group(Grid.filled(40, 20), 5)
    stepper = Stepper(movers)
    stepper.step(DT)
    assert not stepper.orders.is_used()
    stepper.order(units, (30, 10))
    assert stepper.orders.is_used()
    walk_out(stepper)
    for _ in range(20):
        stepper.step(DT)
    assert not stepper.orders.is_used()
    movers.grid.set_cell((0, 0), 255)
    assert stepper.orders.is_used()


def test_who_is_stopped_on_its_way_stays_there() -> None:
    movers, units = group(Grid.from_blocked(np.zeros((30, 30), np.bool_)), 4)
    stepper = Stepper(movers, avoidance=True)
    stepper.order(units, (25, 25))
    for _ in range(30):
        stepper.step(1 / 60)
    stopped = movers.of("position", units[:2])
    movers.stop(units[:2])
    walk_out(stepper)
    assert np.abs(movers.of("position", units[:2]) - stopped).max() < 1.0
    assert movers.of("state", units).tolist() == [MoverState.IDLE] * 4


def test_who_is_put_elsewhere_after_it_has_arrived_stays_there() -> None:
    movers, units = group(Grid.from_blocked(np.zeros((30, 30), np.bool_)), 2)
    stepper = Stepper(movers, avoidance=True)
    stepper.order(units, (15, 15))
    walk_out(stepper)
    movers.place(units[:1], [(2, 2)])
    for _ in range(60):
        stepper.step(DT)
    assert movers.of("position", units[:1]).tolist() == [[2, 2]]


def test_nobody_is_sent_by_an_empty_order() -> None:
    movers, _ = group(Grid.filled(4, 4), 2)
    stepper = Stepper(movers)
    stepper.order([], (1, 1))
    assert not (movers.columns.state[:2] == MoverState.WAITING).any()


@pytest.mark.parametrize(
    "goal", [(4, 0), (np.nan, 0), (np.inf, 0), "x", (1, 2, 3), [(1, 2)], 5, (-1, 0), None]
)
def test_a_goal_off_the_map_is_named(goal: Any) -> None:
    movers, units = group(Grid.filled(4, 4), 2)
    before = movers.columns.group.copy()
    with pytest.raises(InputError, match="goal"):
        Stepper(movers).order(units, goal)
    np.testing.assert_array_equal(movers.columns.group, before)


def test_handles_of_nobody_are_named() -> None:
    movers, units = group(Grid.filled(4, 4), 2)
    stepper = Stepper(movers)
    movers.remove(units[:1])
    with pytest.raises(InputError, match=r"handles\[1\]"):
        stepper.order(units[::-1], (1, 1))
    with pytest.raises(InputError, match="twice"):
        stepper.order([units[1], units[1]], (1, 1))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("budget", 0),
        ("budget", 1.5),
        ("repath_interval", -1),
        ("repath_interval", np.nan),
        ("goal_tolerance", -1),
        ("goal_tolerance", np.inf),
    ],
)
def test_bad_options_are_named(option: str, value: Any) -> None:
    with pytest.raises(InputError, match=option):
        Orders(Movers(Grid.filled(2, 2)), **{option: value})
