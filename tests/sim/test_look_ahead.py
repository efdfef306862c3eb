from __future__ import annotations

import numpy as np
import pytest

from navserver.movers.movers import Movers
from navserver.movers.repath import NO_ANCHOR, Planner
from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.search.profile import Profile
from navserver.sim import look_ahead, planning
from navserver.sim.look_ahead import LookAheadPlanner

pytestmark = pytest.mark.slow

BOTS = 80


def scene(seed: int) -> tuple[Movers, np.ndarray]:  # type: ignore[type-arg]
    """Two kinds of bots at random places of a map with islands, with random goals."""
    random = np.random.default_rng(seed)
    grid = Grid(np.where(random.random((50, 70)) < 0.35, 255, random.integers(0, 3, (50, 70))))
    movers = Movers(grid)
    cells = np.argwhere(~grid.blocked())[:, ::-1]
    ends = cells[random.integers(0, len(cells), (2, BOTS))].astype(np.float32)
    half = BOTS // 2
    movers.add(ends[0][:half], radius=0.3, max_speed=1.0)
    wary = Movement(profile=Profile({2: 5.0}))
    movers.add(ends[0][half:], radius=0.3, max_speed=1.0, movement=wary)
    movers.columns.goal[:BOTS] = ends[1]
    return movers, np.full(BOTS, NO_ANCHOR)


@pytest.mark.parametrize("budget", [60, 900, 20_000, 1 << 28])
@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_neither_ways_nor_when_they_come(
    budget: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look_ahead, "_EXPANSIONS_OF_HANDING", 1)
    monkeypatch.setattr(planning, "SLICE", 700)
    (movers, anchors), (others, _) = scene(3), scene(3)
    one, several = Planner(movers, budget), LookAheadPlanner(others, budget, threads)
    for planner in (one, several):
        planner.ask(np.arange(BOTS), anchors)
    for step in range(10**4):
        if step == 3:
            # An edit between two steps, and somebody who has been pushed.
            for table in (movers, others):
                table.grid.set_rectangle((10, 10), (20, 3), 255)
                table.columns.position[BOTS - 1] += (1.0, 0.0)
        plans, same = one.run(), several.run()
        assert plans.found.tolist() == same.found.tolist()
        assert plans.lost.tolist() == same.lost.tolist()
        assert one.is_idle == several.is_idle
        if one.is_idle:
            break
    for row in range(BOTS):
        np.testing.assert_array_equal(movers.routes.remaining(row), others.routes.remaining(row))
    assert bool(several._ahead) == (threads > 1)
    several.close()


def test_threads_are_used_where_many_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look_ahead, "_EXPANSIONS_OF_HANDING", 1)
    sizes: list[int] = []
    find_paths = look_ahead.BatchSearch.find_paths

    def counted(self, starts, goals):  # type: ignore[no-untyped-def]
        sizes.append(len(starts))
        return find_paths(self, starts, goals)

    monkeypatch.setattr(look_ahead.BatchSearch, "find_paths", counted)
    monkeypatch.setattr(look_ahead, "_MOST_SEARCHES", 16)
    movers, anchors = scene(4)
    planner = LookAheadPlanner(movers, 1 << 28, 2)
    planner.ask(np.arange(BOTS), anchors)
    plans = planner.run()
    assert plans.found.size + plans.lost.size == BOTS
    # Each is searched for once, many at a time.
    assert sum(sizes) == BOTS
    assert max(sizes) == 16
    planner.close()


def test_a_map_too_large_for_more_threads_keeps_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    movers, anchors = scene(5)
    monkeypatch.setattr(look_ahead, "_MOST_SCRATCH_BYTES", 16 * movers.grid.size)
    planner = LookAheadPlanner(movers, 1 << 28, 8)
    planner.ask(np.arange(BOTS), anchors)
    planner.run()
    assert planner.is_idle
    assert not planner._ahead
