from __future__ import annotations

import numpy as np
import pytest

from navserver.search.islands import connected
from navserver.sim.bots import Orders
from navserver.sim.scenarios import Area
from navserver.status import InputError
from tests.sim.crowds import GRID, LEFT, RIGHT, kind_of


def test_goals_are_drawn_from_the_bots_own_island() -> None:
    kind = kind_of([LEFT, RIGHT] * 100)
    goals = kind.draw_goals(np.arange(200))
    assert connected(GRID, kind.spawns, goals).all()
    # every cell of either room turns up
    assert len(np.unique(goals, axis=0)) == 15


def test_a_bot_whose_island_has_no_goal_gets_one_all_the_same() -> None:
    kind = kind_of([LEFT, RIGHT], goals=(Area(-2, 5, 1, 1),))
    assert kind.draw_goals([0, 1]).tolist() == [list(LEFT), list(LEFT)]


def test_goals_follow_edits() -> None:
    grid = GRID.copy()
    kind = kind_of([LEFT] * 50, goals=(Area(-2, 5, 6, 1),), grid=grid)
    assert kind.draw_goals(range(50))[:, 0].max() == 0
    grid.set_cell((1, 5), 0)
    assert kind.draw_goals(range(50))[:, 0].max() == 3
    grid.set_all(255)
    assert kind.draw_goals([0]).tolist() == [list(LEFT)]


def test_goal_areas_without_a_free_cell_are_refused() -> None:
    with pytest.raises(InputError, match=r"goals: \[\(1, 5, 1, 3\)\] have no free cell"):
        kind_of([LEFT], goals=(Area(1, 5, 1, 3),))


def test_orders_are_a_named_tuple() -> None:
    assert Orders([1], [(0, 0)]).rows == [1]
