"""Which engine serves which costs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from navserver.search.astar import AStar
from navserver.search.engine import BUCKETS, CANONICAL, HEAP, MULTIPLES
from navserver.search.grid import CostModel, Grid, Profile
from navserver.search.heuristics import Heuristic
from tests import engines as eng
from tests import reference as ref
from tests import strategies as sts
from tests.engines import check, chosen, close


def test_even_costs_are_served_in_fixed_point() -> None:
    level = Grid.filled(4, 4)
    for heuristic in set(Heuristic) - {Heuristic.EUCLIDEAN}:
        for weight in (1.0, 4.0):
            found = chosen(level, heuristic=heuristic, weight=weight, inexact=True)
            assert found == CANONICAL
    assert chosen(level, weight=4.001) == BUCKETS
    assert chosen(level, heuristic=Heuristic.EUCLIDEAN) == BUCKETS
    assert chosen(level, profile=Profile({0: 1e-30})) == CANONICAL
    assert chosen(level, profile=Profile({0: 1e30}), cost_model=CostModel.PRODUCT) == CANONICAL
    assert chosen(Grid.filled(4, 4, cell_scale=np.full((4, 4), 0.3))) == CANONICAL
    # Classes that are not on the map, or block, make no difference.
    assert chosen(level, profile=Profile({1: 5.0})) == CANONICAL
    assert chosen(Grid([[0, 255]]), profile=Profile({0: 2.0})) == CANONICAL


@pytest.mark.parametrize("unit", [1.0, 1e-30, 1e30])
def test_costs_too_far_apart_are_served_by_the_heap(unit: float) -> None:
    grid = Grid([[0, 1], [1, 0]])
    for apart, expected in [
        (1.001, BUCKETS),
        (100.0, BUCKETS),
        (2800.0, BUCKETS),
        (2900.0, HEAP),
        (1e8, HEAP),
    ]:
        assert chosen(grid, profile=Profile({0: unit, 1: unit * apart})) == expected
    # The product of two cells is as far apart as the square.
    product = {"cost_model": CostModel.PRODUCT}
    assert chosen(grid, profile=Profile({0: unit, 1: unit * 50.0}), **product) == BUCKETS
    assert chosen(grid, profile=Profile({0: unit, 1: unit * 60.0}), **product) == HEAP
    assert chosen(grid, profile=Profile({0: unit, 1: unit * 2.0}), weight=2000.0) == BUCKETS
    assert chosen(grid, profile=Profile({0: unit, 1: unit * 2.0}), weight=2100.0) == HEAP


def test_zero_costs_are_served_by_the_heap() -> None:
    assert chosen(Grid.filled(4, 4), profile=Profile({0: 0.0})) == HEAP
    assert chosen(Grid([[0, 1]]), profile=Profile({0: 0.0})) == HEAP
    grid = Grid.filled(2, 1, cell_scale=[[0, 1]])
    assert chosen(grid) == HEAP


def test_changes_for_one_query_are_served_in_float64() -> None:
    search = AStar(Grid.filled(9, 9))
    search.find_path((0, 0), (8, 8))
    assert search._scratch.words.size == 0
    assert search.find_path((0, 0), (8, 8), blocked_cells=[(4, 4)]).cost == close(
        6 * math.sqrt(2) + 4
    )
    assert search._scratch.words.size == 2 * 81
    assert eng.engine_of(search) == CANONICAL


def test_edits_change_the_engine_and_keep_the_scratch() -> None:
    random = np.random.default_rng(5)
    model = ref.Model(np.where(random.random((30, 30)) < 0.25, 255, 0).astype(np.uint8))
    model.classes[0, 0] = model.classes[29, 29] = 0
    grid, mapping = sts.grid_of(model), {0: 1.0, 1: 3.14, 2: 0.0, 3: 1e5, 4: 3.5}
    search = AStar(grid, profile=Profile(mapping))
    query = sts.Query(model, (0, 0), (29, 29), mapping, 3, 0, None)
    held: dict[str, Any] = {}
    for turn in range(15):
        class_id = (0, 1, 2, 3, 4)[turn % 5]
        expected = (CANONICAL, BUCKETS, HEAP, HEAP, MULTIPLES)[turn % 5]
        spots = [(int(x), int(y)) for x, y in random.integers(1, 29, (60, 2))]
        edits = [cell for cell in spots if model.classes[cell[1], cell[0]] != 255]
        model.classes[model.classes != 255] = 0
        grid.set_all(model.classes)
        if class_id:
            model.put(edits, [class_id] * len(edits))
            grid.set_cells(edits, class_id)
        for query.start, query.goal in [((0, 0), (29, 29)), ((29, 29), (0, 0))]:
            if query.start in query.costs() and query.goal in query.costs():
                check(search.find_path(query.start, query.goal), query)
                changed = {"blocked_cells": edits[:5]}
                query.blocked_cells = edits[:5]
                check(search.find_path(query.start, query.goal, **changed), query)
                query.blocked_cells = []
        assert eng.engine_of(search) == expected
        for name in ("words", "packed", "heads"):
            array = getattr(search._scratch, name)
            assert name not in held or array is held[name], "scratch is made anew"
            if array.size:
                held[name] = array
    assert set(held) == {"words", "packed", "heads"}
