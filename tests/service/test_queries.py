from __future__ import annotations

import numpy as np
import pytest

from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.search.nodes import CancelFlag
from navserver.search.profile import Profile
from navserver.service.queries import QUERIES, bind_query
from navserver.status import InputError

ARGUMENTS = {
    "connected": {"start": (0, 0), "goal": (4, 0)},
    "cost_matrix": {"starts": [(0, 0)], "goals": [(4, 0), (0, 0)]},
    "describe_cells": {"cells": [(2, 0)]},
    "distance_to_wall": {"cells": (0, 0)},
    "explore": {"start": (0, 0), "goal": (4, 0)},
    "fits": {"cells": (0, 0)},
    "flow_field": {"goals": [(4, 0)]},
    "line_of_sight": {"start": (0, 0), "goal": (4, 0)},
    "map_layer": {"layer": "islands"},
    "nearest_goal": {"start": (0, 0), "goals": [(4, 0)]},
    "nearest_reachable": {"start": (0, 0), "target": (9, 0)},
    "nearest_walkable": {"cell": (9, 0)},
    "random_reachable": {"start": (0, 0), "seed": 3},
    "raycasts": {"starts": [(0, 0)], "ends": [(4, 0)]},
    "reachable": {"start": (0, 0), "budget": 2.0},
    "what_opens": {"start": (0, 0), "goal": (4, 0)},
}


@pytest.mark.parametrize("question", sorted(QUERIES))
def test_every_question_is_the_function_of_its_name(question: str) -> None:
    grid = Grid([[0, 0, 1, 0, 0]])
    # Class 1 blocks under this profile only: it must reach the function.
    movement = Movement(Profile({1: float("inf")}))
    result = bind_query(question, ARGUMENTS[question], movement)(grid, CancelFlag())
    shown = {
        "connected": False,
        "fits": True,
        "line_of_sight": False,
        "nearest_reachable": (1, 0),
        "nearest_walkable": (4, 0),
    }
    if question in shown:
        assert result == shown[question]
    elif question == "cost_matrix":
        assert result.tolist() == [[np.inf, 0.0]]
    elif question == "describe_cells":
        assert result.costs.tolist() == [np.inf]
    elif question == "explore":
        assert result.result.status.name == "UNREACHABLE"
    elif question == "map_layer":
        assert result.values.tolist() == [[1, 1, 0, 2, 2]]
    elif question == "distance_to_wall":
        assert result == 0.5
    elif question == "flow_field":
        assert result.cost_at((3, 0)) == 1.0
        assert result.cost_at((0, 0)) == np.inf
    elif question == "nearest_goal":
        assert result.index == -1
    elif question == "random_reachable":
        assert result.max() <= 1
    elif question == "raycasts":
        assert result.cells.tolist() == [[2, 0]]
    elif question == "reachable":
        assert len(result) == 2
    else:
        assert result.tolist() == [[2, 0]]


@pytest.mark.parametrize("question", [q for q, query in QUERIES.items() if query.is_cancellable])
def test_those_that_can_be_cancelled_take_the_flag(question: str) -> None:
    flag = CancelFlag()
    flag.set()
    grid = Grid.filled(64, 64)
    answer = bind_query(question, ARGUMENTS[question], Movement())
    if question == "explore":
        assert answer(grid, flag).result.status.name == "CANCELLED"
    elif question == "nearest_goal":
        assert answer(grid, flag).path.status.name == "CANCELLED"
    else:
        with pytest.raises(InputError, match="cancel"):
            answer(grid, flag)


def test_arguments_are_checked_by_name() -> None:
    with pytest.raises(InputError, match="goal"):
        bind_query("connected", {"start": (0, 0)}, Movement())
    with pytest.raises(InputError, match="fuel"):
        bind_query("connected", {"start": (0, 0), "goal": (1, 0), "fuel": 3}, Movement())
    with pytest.raises(InputError, match="ask one of"):
        bind_query(3, {}, Movement())  # type: ignore[arg-type]
