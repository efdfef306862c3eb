from __future__ import annotations

import numpy as np
import pytest

from navserver.maps.builtin import load_builtin
from navserver.movers.columns import MoverState, StuckReason
from navserver.search.grid import Grid
from navserver.sim.bots import BotState
from navserver.sim.scenarios import Area, BotKind, MapEdit, Scenario
from navserver.sim.setup import place_bots
from navserver.sim.worlds import NO_REASON, BotStatus, LocalWorld

NOBODY = np.zeros(0, np.int64)
NO_REASONS = np.zeros(0, np.uint8)


def a_world(*, avoidance: bool = False, wall: bool = False) -> LocalWorld:
    blocked = np.zeros((8, 16), np.bool_)
    blocked[:, 8] = wall
    kinds = (
        BotKind("left", 2, speed=2.0, spawn=(Area(0, 0, 4, 8),)),
        BotKind("right", 1, speed=4.0, spawn=(Area(12, 0, 4, 8),)),
    )
    setup = place_bots(Scenario(kinds, avoidance=avoidance), Grid.from_blocked(blocked))
    return LocalWorld(setup, threads=1)


@pytest.mark.parametrize("avoidance", [False, True])
def test_bots_walk_to_their_goals(avoidance: bool) -> None:
    world = a_world(avoidance=avoidance)
    goals = np.array([[2, 2], [2, 6], [14, 4]], np.int32)
    world.order(np.arange(3), goals)
    arrived = set()
    for _ in range(200):
        tick = world.step()
        arrived |= set(tick.arrived.tolist())
    assert arrived == {0, 1, 2}
    assert tick.state.tolist() == [BotState.ARRIVED] * 3
    assert np.hypot(*(tick.position - goals).T).max() < 0.75
    assert world.traffic() is None
    world.close()


def test_who_has_no_way_is_told_apart() -> None:
    world = a_world(wall=True)
    world.order(np.array([0, 2]), np.array([[14, 4], [14, 4]], np.int32))
    ticks = [world.step() for _ in range(60)]
    assert ticks[-1].state.tolist() == [BotState.NO_PATH, BotState.IDLE, BotState.ARRIVED]
    assert ticks[-1].reason.tolist() == [StuckReason.UNREACHABLE, NO_REASON, NO_REASON]
    assert not any(tick.stuck.size for tick in ticks)
    world.close()


def test_edits_change_the_way() -> None:
    world = a_world(wall=True)
    world.edit(MapEdit(0, Area(8, 0, 1, 1), 0))
    world.order(np.array([0]), np.array([[14, 4]], np.int32))
    for _ in range(150):
        tick = world.step()
    assert tick.state[0] == BotState.ARRIVED
    world.close()


def test_hashes_follow_the_state() -> None:
    one, other = a_world(), a_world()
    assert one.state_hash() == other.state_hash()
    one.order(np.array([0]), np.array([[2, 2]], np.int32))
    one.step()
    other.step()
    assert one.state_hash() != other.state_hash()


def test_a_bot_that_gets_free_is_en_route_again() -> None:
    status = BotStatus(2)
    still = np.zeros((2, 2), np.float32)
    walking = np.full(2, MoverState.PATH, np.uint8)
    status.note_orders(np.array([0, 1]))
    stuck = np.array([1])
    reasons = np.array([StuckReason.CROWD], np.uint8)
    tick = status.tick(still, still, walking, NOBODY, stuck, reasons, 0)
    assert tick.state.tolist() == [BotState.EN_ROUTE, BotState.STUCK]
    assert tick.reason.tolist() == [NO_REASON, StuckReason.CROWD]
    assert tick.stuck.tolist() == [1]
    tick = status.tick(still, still, walking, NOBODY, NOBODY, NO_REASONS, 0)
    assert tick.state.tolist() == [BotState.EN_ROUTE] * 2
    with pytest.raises(ValueError, match="read-only"):
        tick.state[0] = 1


@pytest.mark.slow
def test_all_orders_are_planned_in_the_tick_that_follows_them() -> None:
    grid = load_builtin("obstacles", width=400, height=400).grid
    setup = place_bots(Scenario((BotKind("many", 300),), seed=2), grid)
    world = LocalWorld(setup, threads=1)
    # Across the map: some six million expansions in all.
    world.order(np.arange(300), 399 - setup.spawns)
    tick = world.step()
    walks = tick.state == BotState.EN_ROUTE
    assert walks.sum() > 290
    assert (world.movers.state[walks] == MoverState.PATH).all()
    world.close()
