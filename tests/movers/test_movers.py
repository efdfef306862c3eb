"""Movers: slots and handles against a plain model, bounds, and what cannot be done."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.movers import movers as module
from navserver.movers.columns import MoverState
from navserver.movers.movers import Movers
from navserver.search.batch import find_paths
from navserver.search.grid import Grid, Profile
from navserver.search.movement import Movement
from navserver.status import InputError

WALL = [[False, False, True, False]]


def table(n: int = 0, grid: Grid | None = None) -> tuple[Movers, Any]:
    movers = Movers(grid or Grid.filled(8, 8))
    return movers, movers.add(np.zeros((n, 2)), radius=0.4, max_speed=1.0)


# --- slots and handles ----------------------------------------------------------------------------


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 40), st.integers(0, 2**32)), max_size=30))
def test_handles_name_their_movers_for_life(actions: list[tuple[bool, int, int]]) -> None:
    movers = Movers(Grid.filled(64, 64))
    alive: dict[int, tuple[int, float]] = {}
    gone: set[int] = set()
    speed = 0.0
    for adds, count, seed in actions:
        if adds:
            speeds = speed + np.arange(count)
            speed += count
            handles = movers.add(np.full((count, 2), 3.5), radius=0.25, max_speed=speeds)
            assert not gone.intersection(handles.tolist())
            for handle, own in zip(handles.tolist(), speeds.tolist(), strict=True):
                assert handle > 0
                assert handle not in alive
                alive[handle] = (handle & 0xFFFFFFFF, own)
        elif alive:
            chosen = np.random.default_rng(seed).permutation(sorted(alive))[:count]
            movers.remove(chosen)
            for handle in chosen.tolist():
                gone.add(handle)
                del alive[handle]
        assert len(movers) == len(alive)
        order = sorted(alive, key=lambda handle: handle & 0xFFFFFFFF)
        assert movers.handles().tolist() == order
        assert movers.of("max_speed", order).tolist() == [alive[handle][1] for handle in order]
        assert movers.rows_of(order).tolist() == [alive[handle][0] for handle in order]
        assert movers.is_alive(sorted(gone)).tolist() == [False] * len(gone)
        assert (movers.state != MoverState.FREE).sum() == len(alive)
    # Slots are given again before new ones are.
    assert movers.slots <= max(40 * len(actions), 1)


def test_removed_slots_are_given_again() -> None:
    movers, handles = table(100)
    for _ in range(20):
        movers.remove(handles)
        handles = movers.add(np.zeros((100, 2)), radius=0.4, max_speed=1.0)
    assert movers.slots == 100
    assert (handles >> 32 == 21).all()


def test_a_slot_whose_generations_are_used_up_is_given_no_more() -> None:
    movers, _ = table(1)
    movers.columns.generation[0] = np.iinfo(np.int32).max - 1
    last = movers.handles()
    assert last[0] > 0
    movers.remove(last)
    (handle,) = movers.add([(0, 0)], radius=0.4, max_speed=1.0).tolist()
    assert handle & 0xFFFFFFFF == 1
    assert not movers.is_alive(last)[0]
    assert len(movers) == 1


@pytest.mark.parametrize("bad", [0, -1, 7, 1 << 32 | 3, 2 << 32, 1 << 62, -(1 << 63), 2**63 - 1])
def test_a_handle_of_nobody_is_named(bad: int) -> None:
    movers, handles = table(3)
    given = [int(handles[0]), bad]
    assert movers.is_alive(given).tolist() == [True, False]
    calls: list[Any] = [
        movers.rows_of,
        movers.remove,
        movers.stop,
        lambda units: movers.of("position", units),
        lambda units: movers.set(units, max_speed=2.0),
        lambda units: movers.place(units, [(0, 0), (1, 1)]),
        lambda units: movers.set_paths(units, [(1, 1), (2, 2)], [0, 1, 2]),
    ]
    for call in calls:
        with pytest.raises(InputError, match=rf"^handles\[1\]: {bad} is not the handle of a mover"):
            call(given)
    assert len(movers) == 3


def test_the_handle_of_a_removed_mover_stays_dead() -> None:
    movers, handles = table(2)
    movers.remove(handles[:1])
    again = movers.add([(1, 1)], radius=0.4, max_speed=1.0)
    assert again[0] & 0xFFFFFFFF == handles[0] & 0xFFFFFFFF
    with pytest.raises(InputError, match=r"handles\[0\]"):
        movers.rows_of(handles)
    assert movers.rows_of(again).tolist() == [0]


def test_a_mover_that_stands_twice_is_named() -> None:
    movers, handles = table(3)
    twice = handles[[0, 1, 2, 1]]
    for call in (
        movers.remove,
        lambda units: movers.set(units, max_speed=2.0),
        lambda units: movers.set_paths(units, np.zeros((4, 2)), [0, 1, 2, 3, 4]),
    ):
        with pytest.raises(InputError, match=r"^handles\[3\]: .* stands twice"):
            call(twice)
    assert len(movers) == 3


def test_nobody_is_no_trouble() -> None:
    movers, handles = table(0)
    assert handles.dtype == np.int64
    assert handles.size == 0
    for nobody in ([], np.empty(0), np.empty(0, np.int64)):
        movers.remove(nobody)
        movers.stop(nobody)
        movers.set(nobody, max_speed=[])
        movers.place(nobody, [])
        movers.set_paths(nobody, [], [0])
        assert movers.of("position", nobody).shape == (0, 2)
        assert movers.is_alive(nobody).size == 0
    assert len(movers) == 0


# --- arrays ---------------------------------------------------------------------------------------


def test_arrays_show_the_present_and_cannot_be_written() -> None:
    movers, handles = table(3)
    speeds = movers.max_speed
    movers.set(handles[1:2], max_speed=5.0)
    assert speeds.tolist() == [1.0, 5.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        speeds[0] = 2.0
    for name, array in movers.columns.arrays().items():
        view = getattr(movers, name, None)
        if view is not None:
            assert view.shape == (3, *array.shape[1:])
            assert not view.flags.writeable
    assert movers.position.shape == (3, 2)


def test_growth_moves_no_mover() -> None:
    movers, first = table(3)
    movers.set(first, max_speed=[1.0, 2.0, 3.0])
    movers.add(np.zeros((5000, 2)), radius=0.4, max_speed=9.0)
    assert movers.rows_of(first).tolist() == [0, 1, 2]
    assert movers.of("max_speed", first).tolist() == [1.0, 2.0, 3.0]
    assert len(movers) == movers.slots == 5003


def test_a_column_that_is_none_is_refused() -> None:
    movers, handles = table(1)
    with pytest.raises(InputError, match="choose one of generation"):
        movers.of("positions", handles)


# --- adding ---------------------------------------------------------------------------------------


def test_what_is_given_is_kept() -> None:
    movers = Movers(Grid.filled(8, 8))
    units = movers.add(
        [(1, 2), (3.25, 4.5)],
        radius=[0.25, 0.5],
        max_speed=3,
        acceleration=[1.0, math.inf],
        turn_rate=2.5,
        slowing_distance=1.5,
        arrival_radius=[0.0, 0.25],
        priority=0.5,
        layers=6,
        mask=[1, 2**32 - 1],
    )
    rows = movers.rows_of(units)
    assert movers.position[rows].tolist() == movers.goal[rows].tolist() == [[1, 2], [3.25, 4.5]]
    assert movers.radius[rows].tolist() == [0.25, 0.5]
    assert movers.max_speed[rows].tolist() == [3, 3]
    assert movers.acceleration[rows].tolist() == [1.0, math.inf]
    assert movers.turn_rate[rows].tolist() == [2.5, 2.5]
    assert movers.slowing_distance[rows].tolist() == [1.5, 1.5]
    assert movers.arrival_radius[rows].tolist() == [0.0, 0.25]
    assert movers.priority[rows].tolist() == [0.5, 0.5]
    assert movers.layers[rows].tolist() == [6, 6]
    assert movers.mask[rows].tolist() == [1, 2**32 - 1]
    assert movers.velocity[rows].tolist() == [[0, 0], [0, 0]]
    assert movers.state[rows].tolist() == [MoverState.IDLE] * 2


@pytest.mark.parametrize(
    ("field", "value"), [("radius", -1), ("max_speed", [1, math.nan]), ("priority", [0.5, 2])]
)
def test_nothing_is_added_where_something_is_wrong(field: str, value: Any) -> None:
    movers, _ = table(1)
    given = {"radius": 0.4, "max_speed": 1.0, field: value}
    with pytest.raises(InputError, match=f"^{field}"):
        movers.add([(0, 0), (1, 1)], **given)
    assert len(movers) == movers.slots == 1


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ((2, 0), "not open"),
        ((1.5, 0), "not open"),
        ((2.4999, -0.4999), "not open"),
        ((3.5, 0), "not on the map"),
        ((-0.501, 0), "not on the map"),
        ((0, 0.5), "not on the map"),
    ],
)
def test_nobody_is_put_into_a_wall(bad: tuple[float, float], problem: str) -> None:
    movers, handles = table(2, Grid.from_blocked(WALL))
    with pytest.raises(InputError, match=rf"^positions\[1\]: .*{problem}.*nearest_walkable"):
        movers.add([(0, 0), bad], radius=0.4, max_speed=1.0)
    with pytest.raises(InputError, match=rf"^positions\[1\]: .*{problem}"):
        movers.place(handles, [(0, 0), bad])
    assert len(movers) == 2
    for good in ((1.4999, 0.4999), (-0.5, -0.5), (2.5, 0)):
        movers.place(handles[:1], [good])


def test_a_mover_may_be_where_its_own_movement_is_open() -> None:
    movers = Movers(Grid([[0, 1]]), Movement(Profile({1: math.inf})))
    with pytest.raises(InputError, match="not open"):
        movers.add([(1, 0)], radius=0.4, max_speed=1.0)
    boat = Movement(Profile({0: math.inf}))
    for _ in range(2):
        units = movers.add([(1, 0)], radius=0.4, max_speed=1.0, movement=boat)
        assert movers.of("movement", units).tolist() == [1]
    with pytest.raises(InputError, match="not open"):
        movers.place(units, [(0, 0)])
    for bad in (Profile({0: 1.0}), "boat"):
        with pytest.raises(InputError, match=r"^movement"):
            movers.add([(0, 0)], radius=0.4, max_speed=1.0, movement=bad)  # type: ignore[arg-type]


def test_movements_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_MOVEMENTS", 2)
    movers = Movers(Grid.filled(2, 2))
    movers.add([(0, 0)], radius=0.4, max_speed=1.0, movement=Movement(Profile({1: 2.0})))
    with pytest.raises(InputError, match="keep to 2"):
        movers.add([(0, 0)], radius=0.4, max_speed=1.0, movement=Movement(Profile({1: 3.0})))


def test_movers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_MOVERS", 3)
    movers, handles = table(3)
    movers.remove(handles[:1])
    with pytest.raises(InputError, match="keep to 3"):
        movers.add(np.zeros((2, 2)), radius=0.4, max_speed=1.0)
    assert len(movers) == 2
    movers.add(np.zeros((1, 2)), radius=0.4, max_speed=1.0)
    assert len(movers) == 3


def test_maps_beyond_single_precision_are_refused() -> None:
    for region in ((1 << 14, 0), (0, -(1 << 14) - 1), (-(1 << 20), 0)):
        with pytest.raises(InputError, match="transform"):
            Movers(Grid.filled(2, 2, region_position=region))
    Movers(Grid.filled(2, 2, region_position=(-(1 << 14), (1 << 14) - 2)))


def test_regions_that_begin_elsewhere() -> None:
    movers = Movers(Grid.from_blocked(WALL, region_position=(-3, 7)))
    movers.add([(-3, 7), (0.25, 7)], radius=0.4, max_speed=1.0)
    with pytest.raises(InputError, match="not open"):
        movers.add([(-1, 7)], radius=0.4, max_speed=1.0)
    with pytest.raises(InputError, match="not on the map"):
        movers.add([(0, 0)], radius=0.4, max_speed=1.0)


# --- sending --------------------------------------------------------------------------------------


def test_paths_of_a_batch() -> None:
    grid = Grid.from_blocked(WALL)
    movers, handles = table(3, grid)
    batch = find_paths(grid, [(0, 0)] * 3, [(1, 0), (3, 0), (0, 0)])
    movers.set_path_batch(handles, batch)
    states = movers.of("state", handles).tolist()
    assert states == [MoverState.PATH, MoverState.WAITING, MoverState.PATH]
    assert movers.of("goal", handles).tolist() == [[1, 0], [0, 0], [0, 0]]


def test_a_path_through_a_wall_is_named() -> None:
    movers, handles = table(2, Grid.from_blocked(WALL))
    with pytest.raises(InputError, match=r"^path 1, waypoint 2: \(3.0, 0.0\) cannot be walked"):
        movers.set_paths(handles, [(1, 0), (0, 0), (1, 0), (3, 0)], [0, 1, 4])
    assert movers.of("state", handles).tolist() == [MoverState.IDLE] * 2


def test_placing_takes_routes_away() -> None:
    movers, handles = table(3)
    movers.set_paths(handles[:1], [(1, 0)], [0, 1])
    movers.place(handles[:2], [(5, 5), (6, 6)])
    assert movers.of("position", handles).tolist() == [[5, 5], [6, 6], [0, 0]]
    states = movers.of("state", handles).tolist()
    assert states == [MoverState.WAITING, MoverState.IDLE, MoverState.IDLE]
    assert movers.take_flagged() == 1
    with pytest.raises(InputError, match="give 2"):
        movers.place(handles[:2], [(1, 1)])


def test_unknown_properties_are_refused() -> None:
    movers, handles = table(1)
    with pytest.raises(InputError, match=r"^speed: .*max_speed"):
        movers.set(handles, speed=2.0)
    with pytest.raises(InputError, match=r"^max_speed"):
        movers.set(handles, radius=0.1, max_speed=-2.0)
    assert movers.of("radius", handles)[0] == np.float32(0.4)


def test_it_tells_what_it_is() -> None:
    movers, _ = table(2)
    assert repr(movers) == "<Movers 2 on <Grid 8 x 8 at (0, 0), version 1>>"


def test_a_movement_of_which_nobody_was_added_is_not_kept() -> None:
    movers = Movers(Grid.filled(4, 4))
    with pytest.raises(InputError, match="positions"):
        movers.add([(9, 9)], radius=0.4, max_speed=1.0, movement=Movement(size=2))
    assert movers.movements == [Movement()]


@pytest.mark.parametrize(
    "points",
    [[(1 + 1j, 1)], np.ones((1, 2), complex), [("1", "1")], np.ones((1, 2), bool)],
)
def test_what_are_no_real_numbers_is_refused(points: Any) -> None:
    movers = Movers(Grid.filled(4, 4))
    units = movers.add([(2, 2)], radius=0.4, max_speed=1.0)
    for field, call in (
        ("positions", lambda: movers.add(points, radius=0.4, max_speed=1.0)),
        ("positions", lambda: movers.place(units, points)),
        ("points", lambda: movers.set_paths(units, points, [0, 1])),
        ("velocities", lambda: movers.steer(units, points)),
        ("positions", lambda: movers.steer(units, (1, 0), positions=points)),
    ):
        with pytest.raises(InputError, match=f"^{field}: .* is not a type of real numbers"):
            call()
    assert len(movers) == 1
    assert movers.of("position", units).tolist() == [[2, 2]]


def test_a_table_is_of_a_map_and_a_movement() -> None:
    with pytest.raises(InputError, match=r"^grid: None is not a map"):
        Movers(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^movement: 'walker' is not a Movement"):
        Movers(Grid.filled(2, 2), "walker")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^name: \[\] is not a column of movers"):
        Movers(Grid.filled(2, 2)).of([], [])  # type: ignore[arg-type]
