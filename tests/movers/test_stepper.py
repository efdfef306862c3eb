"""Stepper: phases in their order, events, bad spans, and the same bytes on any threads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from navserver.movers.columns import EventFlag, MoverState
from navserver.movers.events import NO_EVENTS
from navserver.movers.movers import Movers
from navserver.movers.stepper import Stepper
from navserver.search.grid import Grid
from navserver.status import InputError


def crowd(n: int, seed: int = 1) -> Movers:
    random = np.random.default_rng(seed)
    movers = Movers(Grid.filled(200, 200))
    starts = random.uniform(0, 199, (n, 2))
    units = movers.add(starts, radius=0.4, max_speed=random.uniform(1, 8, n))
    waypoints = random.uniform(0, 199, (n, 4, 2))
    movers.set_paths(units, waypoints.reshape(-1, 2), np.arange(n + 1) * 4)
    return movers


@pytest.mark.slow
def test_the_same_bytes_on_any_number_of_threads() -> None:
    n = 70_000
    tables = [crowd(n), crowd(n), crowd(n)]
    steppers = [Stepper(movers, threads=k) for movers, k in zip(tables, (1, 2, 3), strict=True)]
    for _ in range(30):
        events = [stepper.step(1.3) for stepper in steppers]
        for other, movers in zip(events[1:], tables[1:], strict=True):
            for mine, theirs in zip(events[0], other, strict=True):
                assert mine.tobytes() == theirs.tobytes()
            for name, array in movers.columns.arrays().items():
                assert array.tobytes() == tables[0].columns.arrays()[name].tobytes(), name
    assert len(events[0].arrived) > 0
    for stepper in steppers:
        stepper.close()


def test_phases_run_in_order_and_only_where_used() -> None:
    done: list[str] = []

    class Noted:
        def __init__(self, name: str, used: bool, flags: int = 0) -> None:
            self.name, self.used, self.flags = name, used, flags

        def is_used(self) -> bool:
            return self.used

        def run(self, dt: float) -> int:
            done.append(f"{self.name} {dt}")
            return self.flags

    movers = Movers(Grid.filled(2, 2))
    stepper = Stepper(movers)
    stepper.phases[:] = [Noted("a", True), Noted("b", False), Noted("c", True)]
    assert stepper.step(0.5) is NO_EVENTS
    assert done == ["a 0.5", "c 0.5"]
    _, times = stepper.step_timed(0.25)
    assert done[2:] == ["a 0.25", "c 0.25"]
    assert list(times) == ["a", "c", "events"]
    assert all(seconds >= 0.0 for seconds in times.values())


def test_events_are_told_once() -> None:
    movers = Movers(Grid.filled(9, 1))
    units = movers.add([(0, 0), (0, 0), (8, 0)], radius=0.4, max_speed=[1.0, 2.0, 4.0])
    movers.set_paths(units, [(4, 0), (4, 0), (0, 0)], [0, 1, 2, 3])
    stepper = Stepper(movers)
    assert not stepper.step(1.0)
    assert stepper.step(1.0).arrived.tolist() == units[1:].tolist()
    assert not stepper.step(1.0)
    assert stepper.step(1.5).arrived.tolist() == units[:1].tolist()
    assert not stepper.step(1.0)
    assert (movers.state == MoverState.IDLE).all()


def test_what_was_flagged_between_steps_is_told_by_the_next() -> None:
    movers = Movers(Grid.filled(2, 2))
    units = movers.add([(0, 0), (1, 1)], radius=0.4, max_speed=1.0)
    movers.set_paths(units, [(1, 0)], [0, 1, 1])
    movers.flag(movers.rows_of(units[:1]), EventFlag.PATH_BLOCKED)
    events, _ = Stepper(movers).step_timed(0.0)
    assert events.repath_wanted.tolist() == units[1:].tolist()
    assert events.path_blocked.tolist() == units[:1].tolist()


def test_a_removed_mover_takes_its_events_along() -> None:
    movers = Movers(Grid.filled(2, 2))
    units = movers.add([(0, 0), (1, 1)], radius=0.4, max_speed=1.0)
    movers.set_paths(units, [(1, 0)], [0, 1, 1])
    movers.remove(units[1:])
    assert not Stepper(movers).step(0.0)


@pytest.mark.parametrize("dt", [-1e-9, math.nan, math.inf, 3601.0, "1", None, 1j, [0.1]])
def test_a_span_out_of_bounds_changes_nothing(dt: object) -> None:
    movers = crowd(3)
    before = {name: array.tobytes() for name, array in movers.columns.arrays().items()}
    stepper = Stepper(movers)
    for step in (stepper.step, stepper.step_timed):
        with pytest.raises(InputError, match=r"^dt: .*give seconds from 0 to 3600"):
            step(dt)  # type: ignore[operator]
    assert before == {name: array.tobytes() for name, array in movers.columns.arrays().items()}


def test_no_movers_and_no_time_are_no_trouble() -> None:
    movers = Movers(Grid.filled(2, 2))
    stepper = Stepper(movers)
    assert stepper.step(1.0) is NO_EVENTS
    movers = crowd(3)
    before = movers.position.copy()
    Stepper(movers).step(0.0)
    assert (movers.position == before).all()


def test_only_movers_are_stepped() -> None:
    with pytest.raises(InputError, match=r"^movers: "):
        Stepper(Grid.filled(2, 2))  # type: ignore[arg-type]


@pytest.mark.parametrize("avoidance", ["yes", None, 1, Grid])
def test_what_is_no_way_to_avoid_each_other_is_refused(avoidance: Any) -> None:
    with pytest.raises(InputError, match=r"^avoidance: .*give an Avoidance, True or False"):
        Stepper(Movers(Grid.filled(2, 2)), avoidance=avoidance)


def test_the_largest_movers_can_be_sent() -> None:
    movers = Movers(Grid.filled(300, 300))
    units = movers.add([(10, 10), (20, 10)], radius=32.0, max_speed=50.0)
    stepper = Stepper(movers)
    stepper.order(units, (150, 150))
    arrived: list[int] = []
    for _ in range(100):
        arrived += stepper.step(0.1).arrived.tolist()
    assert sorted(arrived) == units.tolist()
    one, other = movers.of("position", units)
    assert math.dist(one, other) >= 64.0
