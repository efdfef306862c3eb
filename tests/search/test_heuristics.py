from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.astar import AStar, find_path
from navserver.search.grid import CostModel, DiagonalMode, Grid, Profile
from navserver.search.heuristics import Heuristic
from navserver.search.nodes import SearchTrace
from navserver.status import InputError, Status
from tests import reference as ref
from tests import strategies as sts

EIGHT = [mode for mode in DiagonalMode if mode != DiagonalMode.NEVER]


def test_numbers_are_those_of_godot() -> None:
    assert {heuristic.name: int(heuristic) for heuristic in Heuristic} == {
        "EUCLIDEAN": 0,
        "MANHATTAN": 1,
        "OCTILE": 2,
        "CHEBYSHEV": 3,
        "ZERO": 4,
    }


@pytest.mark.parametrize("mode", DiagonalMode)
@pytest.mark.parametrize("heuristic", Heuristic)
def test_estimates_are_the_distances_by_name(mode: DiagonalMode, heuristic: Heuristic) -> None:
    trace = SearchTrace(1)
    grid = Grid.filled(12, 9)
    find_path(
        grid,
        (2, 1),
        (11, 5),
        heuristic=heuristic,
        diagonal_mode=mode,
        inexact=True,
        trace=trace,
    )
    assert trace.h[0] == pytest.approx(ref.estimate(heuristic, (2, 1), (11, 5)), rel=1e-12)


@pytest.mark.parametrize("mode", EIGHT)
def test_manhattan_is_refused_where_steps_are_diagonal(mode: DiagonalMode) -> None:
    grid = Grid.filled(4, 4)
    with pytest.raises(InputError, match=r"(?s)heuristic.*MANHATTAN.*inexact") as caught:
        AStar(grid, heuristic=Heuristic.MANHATTAN, diagonal_mode=mode)
    assert caught.value.field == "heuristic"
    with pytest.raises(InputError, match="inexact"):
        find_path(grid, (0, 0), (3, 3), heuristic=Heuristic.MANHATTAN, diagonal_mode=mode)


@pytest.mark.parametrize("mode", EIGHT)
def test_manhattan_is_taken_when_called_inexact(mode: DiagonalMode) -> None:
    grid = Grid.filled(4, 4)
    result = find_path(
        grid, (0, 0), (3, 3), heuristic=Heuristic.MANHATTAN, diagonal_mode=mode, inexact=True
    )
    assert result.found
    assert result.suboptimality == math.inf


def test_manhattan_is_exact_where_no_step_is_diagonal() -> None:
    grid = Grid.filled(4, 4)
    result = find_path(
        grid, (0, 0), (3, 3), heuristic=Heuristic.MANHATTAN, diagonal_mode=DiagonalMode.NEVER
    )
    assert (result.cost, result.suboptimality) == (6.0, 1.0)


@pytest.mark.parametrize("heuristic", [*range(5), None])
def test_other_heuristics_are_exact_in_every_mode(heuristic: int | None) -> None:
    for mode in DiagonalMode:
        if heuristic is None or ref.admissible(heuristic, mode):
            chosen = None if heuristic is None else Heuristic(heuristic)
            result = find_path(
                Grid.filled(5, 3), (0, 0), (4, 2), heuristic=chosen, diagonal_mode=mode
            )
            assert result.suboptimality == 1.0


@pytest.mark.parametrize(
    ("mode", "tightest"),
    [
        (mode, Heuristic.MANHATTAN if mode == DiagonalMode.NEVER else Heuristic.OCTILE)
        for mode in DiagonalMode
    ],
)
def test_the_default_is_the_tightest_exact_one(mode: DiagonalMode, tightest: Heuristic) -> None:
    traces = [SearchTrace(1000), SearchTrace(1000)]
    for trace, heuristic in zip(traces, (None, tightest), strict=True):
        find_path(
            Grid.filled(20, 15),
            (0, 3),
            (19, 11),
            heuristic=heuristic,
            diagonal_mode=mode,
            trace=trace,
        )
    np.testing.assert_array_equal(traces[0].h, traces[1].h)
    np.testing.assert_array_equal(traces[0].cells, traces[1].cells)


@pytest.mark.parametrize(("model", "scaled"), [(0, 0.25), (1, 0.25), (2, 0.0625)])
def test_the_scale_is_the_least_cost_of_a_unit_length(model: int, scaled: float) -> None:
    grid = Grid(np.array([[0, 1, 0, 0, 0]], np.uint8))
    trace = SearchTrace(1)
    profile = Profile({0: 4.0, 1: 0.25}, default=9.0)
    find_path(grid, (0, 0), (4, 0), profile=profile, cost_model=CostModel(model), trace=trace)
    # 4 cells to go; a scale that also counts classes that the map lacks may only be smaller.
    assert 0 < trace.h[0] <= 4 * scaled


@pytest.mark.parametrize("model", CostModel)
def test_a_zero_cost_makes_every_estimate_zero(model: CostModel) -> None:
    grid = Grid(np.array([[0, 1, 0, 0, 0]], np.uint8))
    trace = SearchTrace(100)
    find_path(grid, (0, 0), (4, 0), profile=Profile({1: 0.0}), cost_model=model, trace=trace)
    assert not trace.h.any()


def test_zero_equals_dijkstra() -> None:
    grid = Grid.filled(9, 9)
    traces = [SearchTrace(100), SearchTrace(100)]
    find_path(grid, (1, 1), (7, 4), heuristic=Heuristic.ZERO, trace=traces[0])
    find_path(grid, (1, 1), (7, 4), algorithm="dijkstra", trace=traces[1])
    np.testing.assert_array_equal(traces[0].cells, traces[1].cells)


@given(sts.queries(max_side=16), st.data())
def test_no_estimate_exceeds_what_is_left_to_pay(query: sts.Query, data: st.DataObject) -> None:
    heuristic = data.draw(sts.heuristics_for(query.diagonal_mode))
    grid, costs = sts.grid_of(query.model), query.costs()
    trace = SearchTrace(query.model.classes.size + 1)
    chosen = None if heuristic is None else Heuristic(heuristic)
    result = find_path(
        grid, query.start, query.goal, heuristic=chosen, trace=trace, **query.options()
    )
    if result.status != Status.FOUND:
        return
    left = ref.distances(costs, query.goal, query.diagonal_mode, query.cost_model, towards=True)
    for (x, y), h in zip(trace.cells, trace.h, strict=True):
        assert h <= left[int(x), int(y)] * (1 + 1e-9) + 1e-12


def test_the_scale_follows_edits() -> None:
    grid = Grid(
        np.full((70, 70), 1, np.uint8),
        cell_scale=np.full((70, 70), 3.0),
        layers={"mud": np.full((70, 70), 2.0)},
    )
    search = AStar(grid, profile=Profile({1: 5.0, 2: 4.0, 3: 9.0}), overlays={"mud": 0.5})
    trace = SearchTrace(1)

    def unit_cost() -> float:
        search.find_path((0, 0), (1, 0), trace=trace)
        return float(trace.h[0])

    assert unit_cost() == 5.0 * 3.0 + 0.5 * 2.0
    grid.set_cell((66, 3), 2)
    assert unit_cost() == 4.0 * 3.0 + 0.5 * 2.0
    grid.set_cells([(66, 3), (3, 66)], [3, 1])
    assert unit_cost() == 5.0 * 3.0 + 0.5 * 2.0
    grid.set_cells([(8, 8), (9, 9)], 2)
    grid.set_cells([(8, 8), (8, 8)], 3)
    assert unit_cost() == 4.0 * 3.0 + 0.5 * 2.0, "a cell named twice was counted twice"
    grid.set_cell((9, 9), 1)
    assert unit_cost() == 5.0 * 3.0 + 0.5 * 2.0
    grid.set_cell((69, 69), cell_scale=0.5)
    assert unit_cost() == 5.0 * 0.5 + 0.5 * 2.0
    grid.set_rectangle((60, 60), (10, 10), cell_scale=4.0, layers={"mud": 1.0})
    assert unit_cost() == 5.0 * 3.0 + 0.5 * 1.0
    grid.set_all(cell_scale=4.0)
    assert unit_cost() == 5.0 * 4.0 + 0.5 * 1.0
    grid.set_cells([(x, y) for x in range(60, 70) for y in range(60, 70)], layers={"mud": 8.0})
    assert unit_cost() == 5.0 * 4.0 + 0.5 * 2.0
    grid.set_all(layers={"mud": 0.0, "other": 1.0})
    assert unit_cost() == 5.0 * 4.0
    grid.set_all(255)
    grid.set_cells([(0, 0), (1, 0)], 3)
    assert unit_cost() == 9.0 * 4.0
