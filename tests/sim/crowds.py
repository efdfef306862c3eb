"""Bots on a map of two rooms, for the tests of what decides for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.sim.bots import Kind, Observation
from navserver.sim.scenarios import Area, BotKind

# Two rooms that a wall parts, on a map whose first cell is not (0, 0).
GRID = Grid.from_blocked(
    np.tile([False, False, False, True, False, False], (3, 1)), region_position=(-2, 5)
)
LEFT, RIGHT = (-2, 5), (3, 7)


def kind_of(spawns: Any, goals: tuple[Area, ...] = (), grid: Grid = GRID, seed: int = 1) -> Kind:
    cells = np.asarray(spawns, np.int32)
    bots = BotKind("bots", len(cells), goals=goals)
    return Kind(grid, Movement(), bots, cells, np.random.default_rng(seed))


def seen(cells: Any, state: Any, *, tick: int = 0, goal: Any = None) -> Observation:
    cells = np.asarray(cells, np.int32)
    positions = cells.astype(np.float32)
    states = np.broadcast_to(np.asarray(state, np.uint8), len(cells))
    goals = cells if goal is None else np.asarray(goal, np.int32)
    return Observation(
        tick, tick * 0.1, positions, np.zeros_like(positions), cells, goals, states, positions
    )
