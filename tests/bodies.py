"""Spaces and paths of bodies as tests look at them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.status import Status
from tests import reference as ref
from tests import strategies as my
from tests.reference import Cell


def space_cells(grid: Grid, **movement: Any) -> set[Cell]:
    space = grid.space(Movement(**movement))
    rows, columns = np.nonzero(space.open_table[space.cells])
    ox, oy = grid.region_position
    return {(int(x) + ox, int(y) + oy) for x, y in zip(columns, rows, strict=True)}


def check_result(result: Any, costs: ref.Costs, query: my.Query) -> None:
    if query.start not in costs:
        assert result.status == Status.START_BLOCKED
        return
    if query.goal not in costs:
        assert result.status == Status.GOAL_BLOCKED
        return
    best = ref.distances(costs, query.start, query.diagonal_mode, query.cost_model)
    if query.goal not in best:
        assert result.status == Status.UNREACHABLE
        return
    assert result.status == Status.FOUND
    cost, _ = ref.check_path(
        costs, ref.as_cells(result.cells), query.start, query.goal, query.diagonal_mode,
        query.cost_model,
    )  # fmt: skip
    assert cost == pytest.approx(best[query.goal], rel=1e-9)
    assert result.cost == pytest.approx(cost, rel=1e-9)
