from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.astar import find_path
from navserver.search.distance_map import DistanceMap, distance_map
from navserver.search.grid import CostModel, DiagonalMode, Grid, Profile
from navserver.search.moves import DX, DY
from navserver.search.nodes import CancelFlag
from navserver.status import CellError, InputError
from tests import reference as ref
from tests import strategies as sts
from tests.reference import Cell
from tests.reference_bodies import body_cells
from tests.reference_fields import field_costs

MODES = list(DiagonalMode)
VALUES = (0.0, 0.0, 0.5, 1.0, 7.25, 1e3, 1e12)


def as_array(model: ref.Model, costs: dict[Cell, float]) -> np.ndarray[Any, Any]:
    array = np.full((model.height, model.width), np.inf)
    for (x, y), cost in costs.items():
        array[y - model.region[1], x - model.region[0]] = cost
    return array


def check_directions(
    field: DistanceMap, query: sts.Query, costs: ref.Costs, starts: dict[Cell, float]
) -> None:
    """Each direction is a legal step to a cell nearer by the step's cost; sources have none."""
    ox, oy = query.model.region
    for x, y in query.model.cells():
        direction = int(field.directions[y - oy, x - ox])
        cost = float(field.costs[y - oy, x - ox])
        if direction == 255:
            assert math.isinf(cost) or starts[x, y] == pytest.approx(cost, rel=1e-9)
            continue
        sign = 1 if field.reverse else -1
        other = (x + sign * DX[direction], y + sign * DY[direction])
        assert ref.move_allowed(costs, (x, y), other, query.diagonal_mode)
        steps = ((x, y), other) if field.reverse else (other, (x, y))
        step = ref.step_cost(costs, *steps, query.cost_model)
        nearer = float(field.costs[other[1] - oy, other[0] - ox])
        assert cost == pytest.approx(nearer + step, rel=1e-9, abs=1e-12)


def check_path(
    field: DistanceMap, query: sts.Query, costs: ref.Costs, sources: list[Cell], cell: Cell
) -> None:
    """The path joins the cell with its nearest source at the cost that the map states."""
    ox, oy = query.model.region
    path = ref.as_cells(field.path(cell))
    index = int(field.sources[cell[1] - oy, cell[0] - ox])
    if math.isinf(field.cost_at(cell)):
        assert path == []
        assert index == -1
        return
    source = sources[index]
    ends = (cell, source) if field.reverse else (source, cell)
    cost, _ = ref.check_path(costs, path, *ends, query.diagonal_mode, query.cost_model)
    start = float(field.cost_at(source))
    assert start + cost == pytest.approx(field.cost_at(cell), rel=1e-9, abs=1e-12)


@given(sts.queries(), st.data())
def test_against_dijkstra_with_edits_in_between(query: sts.Query, data: st.DataObject) -> None:
    grid = sts.grid_of(query.model)
    for _ in range(data.draw(st.integers(1, 3))):
        costs = query.costs()
        if costs:
            sources = data.draw(
                st.lists(st.sampled_from(sorted(costs)), min_size=1, max_size=4), label="sources"
            )
            values = data.draw(st.none() | st.lists(
                st.sampled_from(VALUES), min_size=len(sources), max_size=len(sources)
            ), label="start_values")  # fmt: skip
            reverse = data.draw(st.booleans(), label="reverse")
            starts: dict[Cell, float] = {}
            for source, value in zip(sources, values or [0.0] * len(sources), strict=True):
                starts[source] = min(starts.get(source, math.inf), value)
            field = distance_map(
                grid, sources, start_values=values, reverse=reverse, **query.options()
            )
            expected = field_costs(
                costs, starts, query.diagonal_mode, query.cost_model, towards=reverse
            )
            assert field.costs.dtype == np.float64
            np.testing.assert_allclose(
                field.costs, as_array(query.model, expected), rtol=1e-9, atol=1e-12
            )
            check_directions(field, query, costs, starts)
            for cell in data.draw(st.lists(sts.cells(query.model), max_size=4)):
                check_path(field, query, costs, sources, cell)
            assert field.map_version == grid.version
            assert field.metrics.expanded >= len(expected)
        edit = data.draw(sts.edits(query.model))
        edit.apply_to_model(query.model)
        edit.apply_to_grid(grid)
        query.overlays = {
            name: weight
            for name, weight in (query.overlays or {}).items()
            if name in query.model.layers
        } or None


@given(sts.queries(), st.data())
def test_a_cost_limit_cuts_off_what_lies_beyond(query: sts.Query, data: st.DataObject) -> None:
    costs = query.costs()
    if not costs:
        return
    source = data.draw(st.sampled_from(sorted(costs)))
    whole = ref.distances(costs, source, query.diagonal_mode, query.cost_model)
    limit = data.draw(st.sampled_from([0.0, 1.0, 2.5, *whole.values()]))
    field = distance_map(sts.grid_of(query.model), [source], max_cost=limit, **query.options())
    kept = {cell: cost for cell, cost in whole.items() if cost <= limit * (1 + 1e-9)}
    np.testing.assert_allclose(field.costs, as_array(query.model, kept), rtol=1e-9, atol=1e-12)


@given(sts.queries(12), st.data())
def test_bodies_stay_where_they_fit(query: sts.Query, data: st.DataObject) -> None:
    costs = query.costs()
    size, radius = data.draw(st.sampled_from([(2, 0.0), (3, 0.0), (1, 0.75), (1, 1.5)]))
    fitting = body_cells(query.model, set(costs), size, radius)
    costs = {cell: cost for cell, cost in costs.items() if cell in fitting}
    if not costs:
        return
    source = data.draw(st.sampled_from(sorted(costs)))
    field = distance_map(
        sts.grid_of(query.model), [source], size=size, radius=radius, **query.options()
    )
    expected = ref.distances(costs, source, query.diagonal_mode, query.cost_model)
    np.testing.assert_allclose(field.costs, as_array(query.model, expected), rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "costs", [{}, {1: 3.0, 2: 5.0}, {0: 1e-2, 1: 1.0, 2: 1e2}, {0: 0.0, 1: 1.0, 2: 2.0}]
)
def test_against_scipy_on_a_larger_map(mode: DiagonalMode, costs: dict[int, float]) -> None:
    random = np.random.default_rng(int(mode))
    classes = random.integers(0, 3, (90, 110)).astype(np.uint8)
    classes[random.random(classes.shape) < 0.25] = sts.SOLID
    classes[45, 55] = 0
    if 0.0 in costs.values():
        classes[classes == 0] = 1  # scipy takes a cost of 0 for no edge
        classes[45, 55] = 1
    model = ref.Model(classes, region=(-20, 7))
    grid = sts.grid_of(model)
    source = (55 - 20, 45 + 7)
    for model_number in ref.COST_MODELS:
        field = distance_map(
            grid,
            [source],
            profile=Profile(costs),
            diagonal_mode=mode,
            cost_model=CostModel(model_number),
        )
        expected = ref.scipy_distances(
            model, ref.cell_costs(model, sts.table(costs)), source, mode, model_number
        )
        np.testing.assert_allclose(field.costs, expected, rtol=1e-9)


def test_costs_agree_with_a_path_search() -> None:
    blocked = np.random.default_rng(3).random((40, 40)) < 0.3
    blocked[0, 0] = False
    grid = Grid.from_blocked(blocked)
    field = distance_map(grid, [(0, 0)])
    for y, x in np.argwhere(~blocked)[::37]:
        result = find_path(grid, (0, 0), (int(x), int(y)))
        assert field.cost_at((int(x), int(y))) == pytest.approx(result.cost, rel=1e-11)


def test_both_ways_differ_where_the_cell_entered_is_paid() -> None:
    grid = Grid([[0, 1, 2]])
    profile = Profile({0: 1.0, 1: 10.0, 2: 100.0})
    to = distance_map(grid, [(0, 0)], profile=profile)
    back = distance_map(grid, [(0, 0)], profile=profile, reverse=True)
    assert to.costs.tolist() == [[0.0, 10.0, 110.0]]
    assert back.costs.tolist() == [[0.0, 1.0, 11.0]]
    assert to.path((2, 0)).tolist() == [[0, 0], [1, 0], [2, 0]]
    assert back.path((2, 0)).tolist() == [[2, 0], [1, 0], [0, 0]]
    assert to.directions.tolist() == [[255, 0, 0]]
    assert back.directions.tolist() == [[255, 4, 4]]


def test_a_source_that_another_one_undercuts_is_no_source() -> None:
    field = distance_map(Grid.filled(5, 1), [(0, 0), (4, 0), (2, 0)], start_values=[0, 0, 9])
    assert field.costs.tolist() == [[0.0, 1.0, 2.0, 1.0, 0.0]]
    assert field.sources[0, 2] in (0, 1)
    assert field.directions[0, 2] != 255


def test_of_equal_sources_the_first_counts() -> None:
    field = distance_map(Grid.filled(2, 1), [(0, 0), (0, 0), (0, 0)], start_values=[2, 1, 1])
    assert field.costs.tolist() == [[1.0, 2.0]]
    assert field.sources.tolist() == [[1, 1]]


def test_the_same_bytes_each_time() -> None:
    classes = np.random.default_rng(5).integers(0, 3, (50, 60)).astype(np.uint8)
    profile = Profile({1: 2.5, 2: math.inf})
    classes[0, 0] = 0
    fields = [distance_map(Grid(classes), [(0, 0)], profile=profile) for _ in range(2)]
    assert fields[0].costs.tobytes() == fields[1].costs.tobytes()
    assert fields[0].directions.tobytes() == fields[1].directions.tobytes()


def test_memory() -> None:
    field = distance_map(Grid.filled(10, 10), [(0, 0)])
    assert field.nbytes == 900
    assert field.sources.shape == (10, 10)
    assert field.nbytes == 1300


@pytest.mark.parametrize("value", [1e-300, 1e18, 1e300])
def test_start_values_of_any_size(value: float) -> None:
    field = distance_map(Grid.filled(3, 1), [(0, 0), (2, 0)], start_values=[value, 2 * value])
    assert field.cost_at((0, 0)) == value
    assert field.cost_at((1, 0)) == pytest.approx(value + 1.0)


@pytest.mark.parametrize(
    ("sources", "keywords", "named"),
    [
        ([], {}, "sources"),
        (np.empty((0, 2), int), {}, "sources"),
        ([(0, 0), (1, 0)], {}, r"sources\[1\].*\(1, 0\).*blocked"),
        ([(0, 0), (3, 0)], {}, r"sources\[1\].*outside"),
        ([(0.5, 0)], {}, "sources"),
        ([(0, 0)], {"start_values": [1, 2]}, "start_values"),
        ([(0, 0)], {"start_values": [math.nan]}, r"start_values\[0\]"),
        ([(0, 0)], {"start_values": [-1.0]}, r"start_values\[0\]"),
        ([(0, 0)], {"start_values": [math.inf]}, r"start_values\[0\]"),
        ([(0, 0)], {"start_values": ["x"]}, "start_values"),
        ([(0, 0)], {"max_cost": -1.0}, "max_cost"),
        ([(0, 0)], {"max_cost": math.nan}, "max_cost"),
        ([(0, 0)], {"max_cost": "3"}, "max_cost"),
        ([(0, 0)], {"overlays": {"fog": 1.0}}, "overlays"),
    ],
)
def test_bad_arguments_are_named(sources: Any, keywords: dict[str, Any], named: str) -> None:
    grid = Grid.from_blocked([[False, True, False]])
    with pytest.raises(InputError, match=named):
        distance_map(grid, sources, **keywords)


def test_a_cell_outside_is_refused() -> None:
    field = distance_map(Grid.filled(2, 2, region_position=(5, 5)), [(5, 5)])
    for ask in (field.cost_at, field.path):
        with pytest.raises(CellError, match="outside"):
            ask((0, 0))


def test_a_cancelled_search_returns_nothing() -> None:
    flag = CancelFlag()
    flag.set()
    with pytest.raises(InputError, match="cancel"):
        distance_map(Grid.filled(64, 64), [(0, 0)], cancel=flag)
