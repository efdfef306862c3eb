from __future__ import annotations

from typing import Any

import pytest

from navserver.movers.columns import MoverState
from navserver.search.grid import Grid
from navserver.service.world import World
from navserver.service.world_movers import MAX_EVENTS, WorldMovers
from navserver.status import InputError


def moving(**options: Any) -> tuple[World, WorldMovers]:
    world = World("map", Grid.filled(32, 16))
    movers = WorldMovers(world.replicas, threads=1, **options)
    return world, movers


def test_movers_of_a_world_arrive() -> None:
    world = World("map", Grid.filled(32, 16))
    assert not world.has_movers
    units = world.movers.add([(1, 1), (2, 1)], radius=0.4, max_speed=8.0)
    assert world.has_movers
    assert world.movers is world.movers
    world.movers.order(units, (20, 8))
    arrived: set[int] = set()
    for _ in range(100):
        arrived.update(world.movers.step(0.1).events.arrived.tolist())
    assert arrived == set(units.tolist())
    assert world.movers.tick == 100
    steps, dropped = world.movers.take_events()
    assert {h for step in steps for h in step.events.arrived.tolist()} == arrived
    assert dropped == 0
    assert world.movers.take_events() == ([], 0)
    world.movers.close()


def test_a_step_sees_the_newest_version_and_names_it() -> None:
    world, movers = moving()
    [unit] = movers.add([(1, 1)], radius=0.4, max_speed=8.0)
    movers.order([unit], (30, 1))
    assert movers.step(0.1).version == 1
    world.set_rectangle((10, 0), (1, 15), 255)
    with world.pinned():
        world.set_cells([(5, 15)], 3)
    assert movers.step(0.1).version == 3
    for _ in range(200):
        movers.step(0.1)
        x, y = movers.view().positions[0]
        assert not (9.5 < x < 10.5 and y < 14.5)
    assert movers.view().positions.tolist() == [[30.0, 1.0]]
    with pytest.raises(InputError, match="positions"):
        movers.add([(10, 3)], radius=0.4, max_speed=1.0)


def test_at_a_fixed_rate_late_steps_are_left_out() -> None:
    _, movers = moving()
    movers.add([(1, 1)], radius=0.4, max_speed=8.0)
    assert movers.advance(5.0) == 0
    movers.run(10.0, now=100.0)
    assert movers.due == pytest.approx(100.1)
    assert movers.advance(100.05) == 0
    assert movers.advance(100.25) == 2
    assert (movers.tick, movers.skipped) == (2, 0)
    assert movers.advance(101.05) == 4
    assert (movers.tick, movers.skipped) == (6, 4)
    assert movers.due == pytest.approx(101.1)
    movers.run(0.0, now=101.2)
    assert movers.advance(200.0) == 0
    for rate in (-1.0, float("nan"), 1001.0):
        with pytest.raises(InputError, match="rate"):
            movers.run(rate, now=0.0)


def test_a_view_shows_an_area() -> None:
    _, movers = moving()
    units = movers.add([(1, 1), (5, 5), (9, 9)], radius=0.4, max_speed=8.0)
    movers.remove(units[:1])
    assert len(movers) == 2
    assert movers.view().handles.tolist() == units[1:].tolist()
    view = movers.view((4.0, 4.0, 5.0, 6.0))
    assert view.handles.tolist() == [units[1]]
    assert view.states.tolist() == [MoverState.IDLE]
    assert not view.truncated
    limited = movers.view(limit=1)
    assert (limited.handles.tolist(), limited.truncated) == ([units[1]], True)
    for bad in ((5, 5, 4, 6), (0, 0, float("nan"), 1), (1, 2), "abcd"):
        with pytest.raises(InputError, match="rectangle"):
            movers.view(bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="limit"):
        movers.view(limit=-1)


def test_stopped_movers_stand_and_new_speeds_count() -> None:
    _, movers = moving()
    units = movers.add([(1, 1)], radius=0.4, max_speed=2.0)
    movers.set_paths(units, [(30, 1)], [0, 1])
    movers.set(units, max_speed=4.0)
    movers.step(1.0)
    assert movers.view().positions.tolist() == [[5.0, 1.0]]
    movers.stop(units)
    movers.step(1.0)
    assert movers.view().positions.tolist() == [[5.0, 1.0]]


def test_events_that_nobody_takes_are_bounded() -> None:
    _, movers = moving()
    units = movers.add([(1, 1)], radius=0.4, max_speed=2.0)
    for i in range(MAX_EVENTS + 5):
        movers.set_paths(units, [(1 + i % 2, 1)], [0, 1])
        movers.step(1.0)
    steps, dropped = movers.take_events()
    assert len(steps) + dropped == MAX_EVENTS + 5
    assert len(steps) == MAX_EVENTS


def test_saved_movers_go_on_as_if_nothing_had_been() -> None:
    _, movers = moving()
    _, others = moving()
    units = movers.add([(1, 1), (2, 9)], radius=0.4, max_speed=2.0)
    movers.set_paths(units, [(9, 1), (9, 9)], [0, 1, 2])
    movers.step(0.5)
    assert others.load(movers.save()).tolist() == units.tolist()
    assert others.state_hash() == movers.state_hash()
    assert (others.tick, len(others)) == (0, 2)
    movers.step(0.5)
    others.step(0.5)
    assert others.state_hash() == movers.state_hash()
    others.place(units[:1], [(20, 5)])
    assert others.state_hash() != movers.state_hash()
    assert others.view().positions[0].tolist() == [20.0, 5.0]


def test_what_cannot_be_loaded_changes_nothing() -> None:
    _, movers = moving()
    movers.add([(1, 1), (2, 1)], radius=0.4, max_speed=2.0)
    saved, before = movers.save(), movers.state_hash()
    with pytest.raises(InputError, match="damaged"):
        movers.load(saved[:-1])
    with pytest.raises(InputError, match="too many"):
        movers.load(saved, most=1)
    assert movers.state_hash() == before
