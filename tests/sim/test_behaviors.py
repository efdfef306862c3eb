from __future__ import annotations

import numpy as np

from navserver.search.grid import Grid
from navserver.sim.behaviors import Chase, Commute, Wander
from navserver.sim.bots import BotState
from tests.sim.crowds import LEFT, kind_of, seen


def test_wander_sends_who_does_not_walk() -> None:
    behavior = Wander(kind_of([LEFT] * 4))
    orders = behavior.decide(
        seen([LEFT] * 4, [BotState.IDLE, BotState.EN_ROUTE, BotState.STUCK, BotState.ARRIVED])
    )
    assert orders is not None
    assert np.asarray(orders.rows).tolist() == [0, 2, 3]
    assert behavior.decide(seen([LEFT] * 4, BotState.EN_ROUTE, tick=1)) is None


def test_a_pause_is_kept() -> None:
    behavior = Wander(kind_of([LEFT]), pause=0.25)
    assert behavior.decide(seen([LEFT], BotState.IDLE)) is not None
    assert behavior.decide(seen([LEFT], BotState.EN_ROUTE, tick=1)) is None
    went = [behavior.decide(seen([LEFT], BotState.ARRIVED, tick=t)) for t in (2, 3, 4, 5)]
    assert [orders is not None for orders in went] == [False, False, False, True]


def test_commuters_go_there_and_back() -> None:
    behavior = Commute(kind_of([LEFT] * 3))
    ends = []
    for tick in range(4):
        orders = behavior.decide(seen([LEFT] * 3, BotState.ARRIVED, tick=tick))
        assert orders is not None
        ends.append(np.asarray(orders.goals).tolist())
    assert ends[0] == ends[2]
    assert ends[1] == ends[3] == [list(LEFT)] * 3


def test_chasers_run_after_the_nearest_prey() -> None:
    grid = Grid.filled(50, 1)
    spawns = [(5, 0), (40, 0), *[(x, 0) for x in range(18)]]
    behavior = Chase(kind_of(spawns, grid=grid), prey=0.1, interval=0.3)
    orders = behavior.decide(seen(spawns, BotState.EN_ROUTE))
    assert orders is not None
    assert np.asarray(orders.rows).tolist() == list(range(2, 20))
    assert {tuple(goal) for goal in np.asarray(orders.goals).tolist()} == {(5, 0)}
    assert behavior.decide(seen(spawns, BotState.EN_ROUTE, tick=2)) is None
    assert behavior.decide(seen(spawns, BotState.EN_ROUTE, tick=3)) is not None
