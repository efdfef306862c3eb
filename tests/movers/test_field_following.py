"""Following fields: the way is that of the field, walls are kept, everybody arrives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from navserver.movers.columns import MoverState
from navserver.movers.movers import Movers
from navserver.movers.preferences import NEAR, Preferring
from navserver.movers.stepper import Stepper
from navserver.movers.workers import Workers
from navserver.search.flow_field import FlowField
from navserver.search.grid import Grid
from navserver.search.line_of_sight import raycasts
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from navserver.status import InputError

LIMITS: list[dict[str, float]] = [
    {},
    {"acceleration": 6.0},
    {"turn_rate": 5.0},
    {"acceleration": 6.0, "turn_rate": 5.0, "slowing_distance": 1.0},
]


def maze(seed: int, density: float, side: int = 40) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    blocked = random.random((side, side)) < density
    free = np.argwhere(~blocked)[:, ::-1]
    return blocked, free[random.permutation(len(free))]


@pytest.mark.slow
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("mode", [DiagonalMode.ONLY_IF_NO_OBSTACLES, DiagonalMode.ALWAYS])
@pytest.mark.parametrize(("seed", "dt"), [(0, 1 / 30), (1, 1 / 4)])
def test_everybody_arrives_and_no_wall_is_entered(
    limits: dict[str, float], mode: DiagonalMode, seed: int, dt: float
) -> None:
    blocked, free = maze(seed, 0.1 + 0.15 * seed)
    grid = Grid.from_blocked(blocked, region_position=(-7, 11))
    offset = np.array([-7, 11])
    goals, starts = free[:2] + offset, free[2:302] + offset
    field = FlowField(grid, goals, diagonal_mode=mode)
    movers = Movers(grid, Movement(diagonal_mode=mode))
    units = movers.add(starts, radius=0.4, max_speed=4.0, **limits)
    movers.set_field(units, field)
    reachable = np.isfinite([field.cost_at(tuple(cell)) for cell in starts.tolist()])
    stepper = Stepper(movers, threads=1)
    ended = np.zeros(len(units), np.int64)
    lost = np.zeros(len(units), np.int64)
    for _ in range(math.ceil(200 / dt)):
        events = stepper.step(dt)
        ended[movers.rows_of(events.arrived)] += 1
        lost[movers.rows_of(events.repath_wanted)] += 1
        at = np.floor(movers.position.astype(np.float64) + 0.5).astype(int) - offset
        assert not blocked[at[:, 1], at[:, 0]].any()
        assert (np.hypot(*movers.velocity.T) <= 4.0 * (1 + 1e-5)).all()
        if (ended + lost).all():
            break
    assert (ended == reachable).all()
    assert (lost == ~reachable).all()
    away = np.linalg.norm(movers.position[:, None] - goals[None], axis=2).min(axis=1)
    assert away[reachable].max() < 1e-3
    assert (movers.state[reachable] == MoverState.IDLE).all()


def test_a_straight_way_is_walked_exactly() -> None:
    grid = Grid.filled(60, 5)
    movers = Movers(grid)
    units = movers.add([(0, 2), (3.3, 1.4)], radius=0.4, max_speed=[4.0, 2.0])
    movers.set_field(units, FlowField(grid, [(59, 2)], sight_radius=0))
    stepper = Stepper(movers, threads=1)
    for step in range(1, 200):
        stepper.step(0.05)
        assert movers.position[0] == pytest.approx([min(0.2 * step, 59), 2], abs=1e-4)
    far = movers.position[1].copy()
    for _ in range(50):
        stepper.step(0.1)
    assert math.dist(far, movers.position[1]) == pytest.approx(10.0, abs=0.2)


def test_in_one_step_across_the_map() -> None:
    grid = Grid.filled(60, 60)
    movers = Movers(grid)
    units = movers.add([(0, 2)], radius=0.4, max_speed=1e6)
    movers.set_field(units, FlowField(grid, [(59, 50)]))
    assert Stepper(movers, threads=1).step(1.0).arrived.tolist() == units.tolist()
    assert movers.position[0].tolist() == [59, 50]


def test_an_edit_stops_the_followers() -> None:
    grid = Grid.filled(20, 20)
    movers = Movers(grid)
    units = movers.add([(0, 0), (5, 5)], radius=0.4, max_speed=2.0)
    movers.set_field(units, FlowField(grid, [(19, 0)]))
    stepper = Stepper(movers, threads=1)
    stepper.step(1.0)
    grid.set_cell((10, 0), 255)
    for phase in (stepper.phases[-1], Preferring(movers, Workers(1))):
        at = movers.position.copy()
        assert phase.run(0.5) > 0
        assert (movers.position == at).all()
        assert movers.state.tolist() == [MoverState.WAITING] * 2
        field = FlowField(grid, [(19, 0)])
        movers.set_field(units, field)
        grid.set_cell((11, 0), 255)
    events = stepper.step(0.5)
    assert events.path_blocked.tolist() == events.repath_wanted.tolist() == units.tolist()


def test_fields_that_nobody_follows_are_let_go() -> None:
    grid = Grid.filled(20, 20)
    movers = Movers(grid)
    units = movers.add([(0, 0), (5, 5)], radius=0.4, max_speed=2.0)
    for x in range(10):
        field = FlowField(grid, [(x, 0)])
        movers.set_field(units[:1], field)
        movers.set_field(units[1:], field)
    assert len(movers.fields()) <= 2
    assert movers.of("flow_field", units)[0] == movers.of("flow_field", units)[1]


def test_fields_of_others_are_refused() -> None:
    grid = Grid.filled(20, 20)
    movers = Movers(grid)
    units = movers.add([(0, 0)], radius=0.4, max_speed=2.0)
    stale = FlowField(grid, [(3, 3)])
    grid.set_cell((1, 1), 3)
    bad: list[Any] = [
        None,
        stale,
        FlowField(Grid.filled(20, 20), [(3, 3)]),
        FlowField(grid, [(3, 3)], diagonal_mode=DiagonalMode.ALWAYS),
        FlowField(grid, [(3, 3)], radius=1.5),
    ]
    for field in bad:
        with pytest.raises(InputError, match=r"^field: "):
            movers.set_field(units, field)
    assert movers.state.tolist() == [MoverState.IDLE]


@pytest.mark.slow
def test_avoiding_followers_prefer_what_is_free() -> None:
    blocked, free = maze(3, 0.2)
    grid = Grid.from_blocked(blocked)
    goals, starts = free[:1], free[1:201]
    field = FlowField(grid, goals)
    movers = Movers(grid)
    movers.set_field(movers.add(starts, radius=0.3, max_speed=4.0), field)
    reachable = np.isfinite([field.cost_at(tuple(cell)) for cell in starts.tolist()])
    phase = Preferring(movers, Workers(1))
    random = np.random.default_rng(1)
    columns, n, dt = movers.columns, len(starts), 0.05
    for step in range(1500):
        phase.run(dt)
        aims = columns.preferred_velocity[:n].astype(np.float64)
        speeds = np.hypot(*aims.T)
        assert (speeds <= 4.0 + 1e-5).all()
        at = movers.position.astype(np.float64)
        pushes = random.normal(0, 2, (n, 2)) * (random.random((n, 1)) < 0.1) * (step < 600)
        pushes[movers.state != MoverState.FIELD] = 0.0
        hits = raycasts(grid, at, at + (aims + pushes) * dt)
        columns.position[:n] = hits.points
        if (movers.state != MoverState.FIELD).all():
            break
    assert (movers.state[reachable] == MoverState.IDLE).all()
    assert (movers.state[~reachable] == MoverState.WAITING).all()
    away = np.linalg.norm(movers.position - goals, axis=1)[reachable]
    assert away.max() <= NEAR + 1e-4
