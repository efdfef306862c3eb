from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.grid import CostModel, DiagonalMode, Grid, Profile
from navserver.search.many import OneToMany, Reachable, cost_matrix, nearest_goal, reachable
from navserver.search.nodes import CancelFlag
from navserver.status import CellError, Detail, InputError, Status
from tests import reference as ref
from tests import strategies as sts
from tests.reference import Cell

BUDGETS = (0.0, 0.5, 1.0, 1.5, 3.0, 10.0, 1e6)


def next_edit(query: sts.Query, grid: Grid, data: st.DataObject) -> None:
    edit = data.draw(sts.edits(query.model))
    edit.apply_to_model(query.model)
    edit.apply_to_grid(grid)
    layers = query.model.layers
    query.overlays = {n: w for n, w in (query.overlays or {}).items() if n in layers} or None


def same_overlays(query: sts.Query, before: dict[str, float] | None) -> bool:
    return query.overlays == before


# --- within a budget ------------------------------------------------------------------------------


@given(sts.queries(), st.data())
def test_reachable_cells_are_those_within_the_budget(query: sts.Query, data: st.DataObject) -> None:
    grid = sts.grid_of(query.model)
    queries = OneToMany(grid, **query.options())
    overlays = query.overlays
    for _ in range(3):
        costs = query.costs()
        if not costs or not same_overlays(query, overlays):
            return
        start = data.draw(st.sampled_from(sorted(costs)))
        whole = ref.distances(costs, start, query.diagonal_mode, query.cost_model)
        budget = data.draw(st.sampled_from([*BUDGETS, *whole.values()]))
        expected = {c: cost for c, cost in whole.items() if cost <= budget * (1 + 1e-9)}
        area = queries.reachable(start, budget)
        check_area(query, area, start, expected, data)
        next_edit(query, grid, data)


def check_area(
    query: sts.Query,
    area: Reachable,
    start: Cell,
    expected: dict[Cell, float],
    data: st.DataObject,
) -> None:
    costs = query.costs()
    cells = ref.as_cells(area.cells)
    assert area.cells.dtype == np.int32
    assert cells == sorted(expected, key=query.model.index), "row by row, each once"
    assert len(area) == len(expected)
    assert dict(zip(cells, area.costs.tolist(), strict=True)) == pytest.approx(
        expected, rel=1e-9, abs=1e-12
    )
    for cell in [start, *data.draw(st.lists(sts.cells(query.model), max_size=4))]:
        assert (cell in area) == (cell in expected)
        path = ref.as_cells(area.path_to(cell))
        if cell not in expected:
            assert path == []
            assert math.isinf(area.cost_at(cell))
            continue
        cost, _ = ref.check_path(costs, path, start, cell, query.diagonal_mode, query.cost_model)
        assert cost == pytest.approx(expected[cell], rel=1e-9, abs=1e-12)
        assert area.cost_at(cell) == pytest.approx(cost, rel=1e-9, abs=1e-12)


@given(sts.queries(), st.data())
def test_blocked_cells_are_walls_for_one_query(query: sts.Query, data: st.DataObject) -> None:
    grid = sts.grid_of(query.model)
    queries = OneToMany(grid, **query.options())
    query.blocked_cells = data.draw(st.lists(sts.cells(query.model), min_size=1, max_size=6))
    costs = query.costs()
    if not costs:
        return
    start = data.draw(st.sampled_from(sorted(costs)))
    whole = ref.distances(costs, start, query.diagonal_mode, query.cost_model)
    budget = data.draw(st.sampled_from([*BUDGETS, *whole.values()]))
    expected = {c: cost for c, cost in whole.items() if cost <= budget * (1 + 1e-9)}
    area = queries.reachable(start, budget, blocked_cells=query.blocked_cells)
    check_area(query, area, start, expected, data)
    query.blocked_cells = []
    whole = ref.distances(query.costs(), start, query.diagonal_mode, query.cost_model)
    assert len(queries.reachable(start, 1e9)) == len(whole), "the walls are gone again"


def test_blocked_cells_that_cannot_be_are_named() -> None:
    grid = Grid.filled(3, 3)
    with pytest.raises(InputError, match="start"):
        reachable(grid, (0, 0), 1.0, blocked_cells=[(0, 0)])
    with pytest.raises(CellError, match="blocked_cells"):
        reachable(grid, (0, 0), 1.0, blocked_cells=[(3, 0)])


def test_the_area_stays_when_the_grid_and_the_queries_go_on() -> None:
    grid = Grid.filled(9, 9)
    queries = OneToMany(grid)
    area = queries.reachable((4, 4), 2.0)
    grid.set_cell((5, 4), sts.SOLID)
    other = queries.reachable((4, 4), 2.0)
    assert area.path_to((6, 4)).tolist() == [[4, 4], [5, 4], [6, 4]]
    assert (6, 4) not in other
    assert other.map_version == area.map_version + 1


@pytest.mark.parametrize("mode", list(DiagonalMode))
def test_the_cost_of_a_path_is_enough_for_it(mode: DiagonalMode) -> None:
    grid = Grid.filled(40, 3)
    for x in range(1, 40):
        cost = reachable(grid, (0, 0), 100.0, diagonal_mode=mode).cost_at((x, 2))
        assert (x, 2) in reachable(grid, (0, 0), cost, diagonal_mode=mode)


def test_free_cells_are_reached_for_nothing() -> None:
    grid = Grid([[0, 1, 1, 0]])
    area = reachable(grid, (1, 0), 0.0, profile=Profile({0: 1.0, 1: 0.0}))
    assert area.cells.tolist() == [[1, 0], [2, 0]]
    assert area.costs.tolist() == [0.0, 0.0]


def test_work_depends_on_the_area_and_not_on_the_map() -> None:
    large = OneToMany(Grid.filled(2000, 2000))
    small = OneToMany(Grid.filled(50, 50))
    one, other = large.reachable((1000, 1000), 10.0), small.reachable((25, 25), 10.0)
    assert one.metrics == other.metrics
    assert (one.cells - 975).tolist() == other.cells.tolist()
    assert one.metrics.expanded == len(one)


@pytest.mark.parametrize(
    ("start", "budget", "named"),
    [
        ((1, 0), 1.0, r"start: \(1, 0\) is blocked"),
        ((3, 0), 1.0, "start"),
        ((0, 0), -1.0, "budget"),
        ((0, 0), math.nan, "budget"),
        ((0, 0), math.inf, "budget"),
        ((0, 0), None, "budget"),
    ],
)
def test_bad_budgets_and_starts_are_named(start: Cell, budget: Any, named: str) -> None:
    with pytest.raises(InputError, match=named):
        reachable(Grid.from_blocked([[False, True, False]]), start, budget)


def test_a_cell_outside_the_map_is_in_no_area() -> None:
    area = reachable(Grid.filled(2, 2), (0, 0), 5.0)
    assert (7, 7) not in area
    with pytest.raises(CellError):
        area.path_to((7, 7))


# --- nearest goal ---------------------------------------------------------------------------------


@given(sts.queries(), st.data())
def test_nearest_goal_is_the_one_of_least_cost(query: sts.Query, data: st.DataObject) -> None:
    grid = sts.grid_of(query.model)
    queries = OneToMany(grid, **query.options())
    overlays = query.overlays
    for _ in range(3):
        if not same_overlays(query, overlays):
            return
        costs = query.costs()
        goals = data.draw(st.lists(sts.cells(query.model), min_size=1, max_size=6))
        found = queries.nearest_goal(query.start, np.array(goals, np.int32))
        best = ref.distances(costs, query.start, query.diagonal_mode, query.cost_model)
        least = min((best[goal] for goal in goals if goal in best), default=math.inf)
        path = found.path
        assert path.start == query.start
        if math.isinf(least):
            assert found.index == -1
            if query.start not in costs:
                expected = Status.START_BLOCKED
            elif not any(goal in costs for goal in goals):
                expected = Status.GOAL_BLOCKED
            else:
                expected = Status.UNREACHABLE
            assert path.status == expected
            assert path.cells.shape == (0, 2)
        else:
            assert path.found
            goal = goals[found.index]
            assert path.goal == goal
            assert found.index == goals.index(goal), "the first of equal cells"
            assert best[goal] == pytest.approx(least, rel=1e-9, abs=1e-12)
            cost, length = ref.check_path(
                costs,
                ref.as_cells(path.cells),
                query.start,
                goal,
                query.diagonal_mode,
                query.cost_model,
            )
            assert path.cost == pytest.approx(cost, rel=1e-12, abs=1e-12)
            assert path.cost == pytest.approx(least, rel=1e-9, abs=1e-12)
            assert path.length == pytest.approx(length)
        next_edit(query, grid, data)


def test_the_search_stops_at_the_first_goal() -> None:
    near = nearest_goal(Grid.filled(300, 300), (0, 0), [(20, 0), (299, 299)])
    assert near.index == 0
    assert near.path.metrics.expanded < 3000
    costly = Grid.filled(300, 300, cell_scale=np.full((300, 300), 1.5))
    assert nearest_goal(costly, (0, 0), [(299, 299), (20, 0)]).path.metrics.expanded < 3000


@pytest.mark.parametrize("width", [1, 2, 3])
def test_paths_on_narrow_maps(width: int) -> None:
    found = nearest_goal(Grid.filled(width, 4), (0, 0), [(width - 1, 3)])
    diagonal = width - 1
    assert found.path.length == pytest.approx(3 - diagonal + diagonal * math.sqrt(2))


def test_a_cancelled_search_for_a_goal_says_so() -> None:
    flag = CancelFlag()
    flag.set()
    found = nearest_goal(Grid.filled(50, 50), (0, 0), [(49, 49)], cancel=flag)
    assert found.index == -1
    assert found.path.status == Status.CANCELLED
    assert found.path.detail == Detail.CANCELLED
    for ask in (
        lambda: reachable(Grid.filled(50, 50), (0, 0), 99.0, cancel=flag),
        lambda: cost_matrix(Grid.filled(50, 50), [(0, 0)], [(49, 49)], cancel=flag),
    ):
        with pytest.raises(InputError, match="cancel"):
            ask()


def test_a_search_that_fails_leaves_nothing_behind() -> None:
    queries = OneToMany(Grid.filled(50, 50))
    flag = CancelFlag()
    flag.set()
    with pytest.raises(InputError):
        queries.reachable((0, 0), 99.0, cancel=flag)
    assert len(queries.reachable((25, 25), 1.0)) == 5


@pytest.mark.parametrize("goals", [[], np.empty((0, 2), int), [(9, 9)], [(0.5, 1.0)]])
def test_bad_goals_are_named(goals: Any) -> None:
    with pytest.raises(InputError, match="goals"):
        nearest_goal(Grid.filled(3, 3), (0, 0), goals)


# --- cost matrix ----------------------------------------------------------------------------------


@given(sts.queries(16), st.data())
def test_cost_matrix_against_dijkstra(query: sts.Query, data: st.DataObject) -> None:
    grid = sts.grid_of(query.model)
    queries = OneToMany(grid, **query.options())
    overlays = query.overlays
    for _ in range(2):
        if not same_overlays(query, overlays):
            return
        costs = query.costs()
        lists = st.lists(sts.cells(query.model), max_size=6)
        starts, goals = data.draw(lists), data.draw(lists)
        matrix = queries.cost_matrix(starts, goals)
        assert matrix.shape == (len(starts), len(goals))
        assert matrix.dtype == np.float64
        assert matrix.flags.c_contiguous
        for row, start in zip(matrix, starts, strict=True):
            best = ref.distances(costs, start, query.diagonal_mode, query.cost_model)
            expected = [best.get(goal, math.inf) for goal in goals]
            assert row.tolist() == pytest.approx(expected, rel=1e-9, abs=1e-12)
        next_edit(query, grid, data)


@pytest.mark.parametrize("cost_model", list(CostModel))
def test_both_sides_of_a_matrix_search_alike(cost_model: CostModel) -> None:
    random = np.random.default_rng(4)
    classes = random.integers(0, 4, (30, 30)).astype(np.uint8)
    options: dict[str, Any] = {
        "profile": Profile({1: 2.0, 2: 7.5, 3: math.inf}),
        "cost_model": cost_model,
    }
    grid = Grid(classes, region_position=(-9, 4))
    cells = random.integers([-9, 4], [21, 34], (12, 2))
    whole = cost_matrix(grid, cells, cells, **options)
    np.testing.assert_allclose(cost_matrix(grid, cells[:3], cells, **options), whole[:3])
    np.testing.assert_allclose(cost_matrix(grid, cells, cells[:3], **options), whole[:, :3])
    assert np.isfinite(whole).any()
    assert np.isinf(whole).any()


def test_matrices_without_cells() -> None:
    grid = Grid.filled(3, 3)
    assert cost_matrix(grid, [], [(0, 0)]).shape == (0, 1)
    assert cost_matrix(grid, [(0, 0)], []).shape == (1, 0)
    with pytest.raises(CellError, match=r"goals\[1\]"):
        cost_matrix(grid, [(0, 0)], [(0, 0), (5, 5)])


def test_queries_in_use_refuse_another() -> None:
    queries = OneToMany(Grid.filled(5, 5))
    with queries._in_use:
        for ask in (
            lambda: queries.reachable((0, 0), 2.0),
            lambda: queries.nearest_goal((0, 0), [(1, 1)]),
            lambda: queries.cost_matrix([(0, 0)], [(1, 1)]),
        ):
            with pytest.raises(InputError, match=r"OneToMany.* still at work.*of its own"):
                ask()
    assert len(queries.reachable((0, 0), 1.0)) == 3
