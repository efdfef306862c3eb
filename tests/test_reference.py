"""The oracles against hand-made answers and against scipy: who proves the provers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tests import reference as ref
from tests import strategies as sts
from tests.reference import Model


def model_of(text: str) -> Model:
    rows = text.split()
    return Model(np.array([[255 if c == "#" else int(c) for c in row] for row in rows], np.uint8))


def walkable(text: str) -> set[ref.Cell]:
    return set(ref.cell_costs(model_of(text), sts.table()))


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("00 00", {ref.ALWAYS, ref.AT_LEAST_ONE_WALKABLE, ref.ONLY_IF_NO_OBSTACLES}),
        ("0# 00", {ref.ALWAYS, ref.AT_LEAST_ONE_WALKABLE}),
        ("00 #0", {ref.ALWAYS, ref.AT_LEAST_ONE_WALKABLE}),
        ("0# #0", {ref.ALWAYS}),
        ("00 0#", set()),
    ],
)
def test_diagonal_rules(text: str, allowed: set[int]) -> None:
    free = walkable(text)
    for mode in ref.MODES:
        assert ref.move_allowed(free, (0, 0), (1, 1), mode) == (mode in allowed)


def test_costs_and_steps() -> None:
    model = model_of("01 2#")
    model.cell_scale = np.array([[1, 2], [3, 4]], np.float32)
    model.layers["mud"] = np.array([[0, 1], [2, 3]], np.float32)
    costs = ref.cell_costs(model, sts.table({0: 5, 1: 2, 2: np.inf}), {"mud": 10.0})
    assert costs == {(0, 0): 5.0, (1, 0): 14.0}
    assert ref.step_cost(costs, (0, 0), (1, 0), ref.ENTERED) == 14.0
    assert ref.step_cost(costs, (0, 0), (1, 0), ref.MEAN) == 9.5
    assert ref.step_cost(costs, (0, 0), (1, 0), ref.PRODUCT) == 70.0
    opened = ref.cell_costs(model, sts.table({2: np.inf}), None, [(1, 0)], [(0, 1), (1, 0)])
    assert opened == {(0, 0): 1.0, (1, 0): 2.0, (0, 1): 3.0}


def test_distances_by_hand() -> None:
    costs = ref.cell_costs(model_of("010 0#0 000"), sts.table({1: 10.0}))
    found = ref.distances(costs, (0, 0), ref.ONLY_IF_NO_OBSTACLES, ref.ENTERED)
    assert found[(2, 0)] == 6.0
    found = ref.distances(costs, (0, 0), ref.ALWAYS, ref.ENTERED)
    assert found[(2, 0)] == pytest.approx(2 + 2 * ref.SQRT2)
    back = ref.distances(costs, (1, 0), ref.NEVER, ref.ENTERED, towards=True)
    assert back[(0, 0)] == 10.0


@given(sts.queries())
def test_distances_equal_those_of_scipy(query: sts.Query) -> None:
    model, costs = query.model, query.costs()
    if query.start not in costs:
        return
    ours = ref.distances(costs, query.start, query.diagonal_mode, query.cost_model)
    theirs = ref.scipy_distances(model, costs, query.start, query.diagonal_mode, query.cost_model)
    for cell in model.cells():
        x, y = cell[0] - model.region[0], cell[1] - model.region[1]
        assert ours.get(cell, np.inf) == pytest.approx(theirs[y, x], rel=1e-9, abs=1e-12)
    joined = ref.components(costs, query.diagonal_mode)
    assert set(ours) == {cell for cell in costs if joined[cell] == joined[query.start]}


@given(sts.queries())
def test_backward_distances_equal_forward_ones(query: sts.Query) -> None:
    costs, mode, kind = query.costs(), query.diagonal_mode, query.cost_model
    back = ref.distances(costs, query.goal, mode, kind, towards=True)
    if query.start in back:
        forward = ref.distances(costs, query.start, mode, kind)
        assert forward[query.goal] == pytest.approx(back[query.start], rel=1e-9, abs=1e-12)


@given(sts.queries(max_side=12))
def test_the_textbook_search_finds_the_least_cost(query: sts.Query) -> None:
    costs, mode, kind = query.costs(), query.diagonal_mode, query.cost_model
    if query.start not in costs:
        return
    best = ref.distances(costs, query.start, mode, kind)
    order, path, _ = ref.astar_order(
        costs, query.start, query.goal, mode, kind, query.model.index, lambda _: 0.0
    )
    assert bool(path) == (query.goal in best)
    if path:
        cost, _ = ref.check_path(costs, path, query.start, query.goal, mode, kind)
        assert cost == pytest.approx(best[query.goal], rel=1e-9, abs=1e-12)
        assert order[-1].cell == query.goal


def test_check_path_refuses_what_is_not_a_path() -> None:
    costs = ref.cell_costs(model_of("0#0 000"), sts.table())
    good = [(0, 0), (0, 1), (1, 1), (2, 1), (2, 0)]
    assert ref.check_path(costs, good, (0, 0), (2, 0), ref.NEVER, ref.ENTERED) == (4.0, 4.0)
    for bad in (
        [],
        good[1:],
        good[:-1],
        [(0, 0), (1, 0), (2, 0)],
        [(0, 0), (1, 1), (2, 0)],
        [(0, 0), (2, 0)],
        [(0, 0), (0, 0), *good[1:]],
    ):
        with pytest.raises(AssertionError):
            ref.check_path(costs, bad, (0, 0), (2, 0), ref.ONLY_IF_NO_OBSTACLES, ref.ENTERED)


@pytest.mark.parametrize(
    ("text", "goal", "seeing"),
    [
        ("000", (2, 0), set(ref.MODES)),
        ("0#0", (2, 0), set()),
        ("00 00", (1, 1), set(ref.MODES)),
        ("0# 00", (1, 1), {ref.ALWAYS, ref.AT_LEAST_ONE_WALKABLE}),
        ("0# #0", (1, 1), {ref.ALWAYS}),
        ("00# #00", (2, 1), set(ref.MODES)),
        ("0## 000", (2, 1), set()),
        ("00## ##00", (3, 1), {ref.ALWAYS}),
        ("000# ##00", (3, 1), {ref.ALWAYS, ref.AT_LEAST_ONE_WALKABLE}),
    ],
)
def test_line_of_sight_by_hand(text: str, goal: ref.Cell, seeing: set[int]) -> None:
    free = walkable(text)
    for mode in ref.MODES:
        assert ref.line_of_sight(free, (0, 0), goal, mode) == (mode in seeing)
        assert ref.line_of_sight(free, goal, (0, 0), mode) == (mode in seeing)


def test_nearest_to_goal_breaks_ties_in_order() -> None:
    model = Model(np.zeros((9, 9), np.uint8))
    assert ref.nearest_to_goal({(0, 0): 0.0, (3, 1): 9.0}, (4, 1), model.index) == (3, 1)
    assert ref.nearest_to_goal({(3, 1): 9.0, (5, 1): 8.0}, (4, 1), model.index) == (5, 1)
    assert ref.nearest_to_goal({(5, 1): 8.0, (3, 1): 8.0}, (4, 1), model.index) == (3, 1)
