from __future__ import annotations

import numpy as np
import pytest

from navserver.movers.movers import Movers
from navserver.movers.repath import NO_ANCHOR, Planner
from navserver.search.grid import Grid
from navserver.sim import planning
from navserver.sim.planning import WatchedPlanner

pytestmark = pytest.mark.slow


def asking(kind: type[Planner], budget: int, bots: int = 60) -> tuple[Movers, Planner]:
    """Bots at random places that ask for ways to random places, each for itself and in parties."""
    random = np.random.default_rng(5)
    grid = Grid.from_blocked(random.random((60, 60)) < 0.2)
    movers = Movers(grid)
    cells = np.argwhere(~grid.blocked())[:, ::-1]
    ends = cells[random.integers(0, len(cells), (2, bots))].astype(np.float32)
    movers.add(ends[0], radius=0.3, max_speed=1.0)
    movers.columns.goal[:bots] = ends[1]
    anchors = np.full(bots, NO_ANCHOR)
    anchors[::3] = grid.flat_index((int(ends[1][0, 0]), int(ends[1][0, 1])))
    planner = kind(movers, budget)
    planner.ask(np.arange(bots), anchors)
    return movers, planner


@pytest.mark.parametrize("budget", [700, 5_000, 1 << 28])
@pytest.mark.parametrize("slice_", [40, 150, 1 << 20])
def test_slices_change_neither_ways_nor_when_they_come(
    budget: int, slice_: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "SLICE", slice_)
    (movers, whole), (others, sliced) = asking(Planner, budget), asking(WatchedPlanner, budget)
    steps = 0
    while not whole.is_idle:
        plans, same = whole.run(), sliced.run()
        assert plans.found.tolist() == same.found.tolist()
        assert plans.lost.tolist() == same.lost.tolist()
        assert (sliced.budget, sliced.is_idle) == (budget, whole.is_idle)
        steps += 1
    assert (steps == 1) == (budget == 1 << 28)
    for row in range(60):
        np.testing.assert_array_equal(movers.routes.remaining(row), others.routes.remaining(row))


def test_the_pulse_tells_who_waits_and_ends_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "SLICE", 400)
    _, planner = asking(WatchedPlanner, 1 << 28)
    assert isinstance(planner, WatchedPlanner)
    told: list[int] = []

    def pulse(waiting: int) -> bool:
        told.append(waiting)
        return len(told) < 5

    planner.pulse = pulse
    plans = planner.run()
    assert len(told) == 5
    assert told == sorted(told, reverse=True)
    assert told[-1] == planner.waiting == 60 - plans.found.size - plans.lost.size > 0
    assert not planner.is_idle
    planner.pulse = None
    rest = planner.run()
    assert planner.is_idle
    assert plans.found.size + rest.found.size + plans.lost.size + rest.lost.size == 60
