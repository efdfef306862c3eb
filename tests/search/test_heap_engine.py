"""The heap on what only it serves: zero costs, costs too far apart, weights without bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from navserver.search.astar import AStar
from navserver.search.engine import HEAP
from navserver.search.grid import CostModel, DiagonalMode, Grid, Profile
from navserver.search.heuristics import Heuristic
from navserver.search.nodes import CancelFlag, SearchTrace
from navserver.status import Detail, Status
from tests import engines as eng
from tests import reference as ref
from tests.reference_engines import all_pairs

MODES = list(DiagonalMode)
each_mode = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
each_model = pytest.mark.parametrize("model", CostModel, ids=lambda model: model.name)


def small_maps(random: np.random.Generator, kind: str, n: int) -> NDArray[np.float64]:
    shape = (n, *random.integers(2, 5, 2).tolist())
    costs = {
        "zero and one": lambda: random.integers(0, 2, shape),
        "mostly zero": lambda: random.choice([0.0, 0.0, 0.0, 0.3, 8.0], shape),
        "all zero": lambda: np.zeros(shape),
        "a million beside a millionth": lambda: random.choice([1e-6, 1.0, 1e6], shape),
        "to the ends of float32": lambda: random.choice([1e-38, 1e-20, 1.0, 1e20, 3e38], shape),
        "whole numbers": lambda: random.integers(1, 4, shape),
    }[kind]()
    costs = np.asarray(costs, np.float32).astype(np.float64)
    costs[random.random(shape) < random.uniform(0.0, 0.4, (n, 1, 1))] = np.inf
    return costs


KINDS = (
    "zero and one",
    "mostly zero",
    "all zero",
    "a million beside a millionth",
    "to the ends of float32",
    "whole numbers",
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@each_mode
@each_model
def test_all_pairs_on_small_maps(kind: str, mode: DiagonalMode, model: CostModel) -> None:
    for seed in range(4):
        random = np.random.default_rng(seed)
        costs = small_maps(random, kind, 60)
        _, height, width = costs.shape
        map_, flat = eng.tiled(costs, np.inf)
        blocked = np.isinf(map_)
        grid = Grid.from_blocked(blocked, cell_scale=np.where(blocked, 1.0, map_))
        heuristic = (None, Heuristic.EUCLIDEAN)[seed % 2]
        search = eng.searcher(grid, HEAP, diagonal_mode=mode, cost_model=model, heuristic=heuristic)
        cells = height * width
        starts = flat.repeat(cells, axis=1).reshape(-1)
        found = eng.many_costs(search, starts, np.tile(flat, (1, cells)).reshape(-1))
        expected = all_pairs(costs, mode, model)
        np.testing.assert_allclose(found.reshape(expected.shape), expected, 1e-9)


@each_mode
def test_zero_costs_make_no_path_go_round_for_ever(mode: DiagonalMode) -> None:
    random = np.random.default_rng(1)
    blocked = random.random((50, 50)) < 0.2
    blocked[0, 0] = blocked[49, 49] = False
    grid = Grid.from_blocked(blocked, cell_scale=random.integers(0, 2, (50, 50)) * 0.5)
    for model in CostModel:
        options: dict[str, Any] = {"diagonal_mode": mode, "cost_model": model}
        trace = SearchTrace(10_000)
        result = eng.find(grid, HEAP, (0, 0), (49, 49), trace=trace, **options)
        cells = ref.as_cells(result.cells)
        assert len(set(cells)) == len(cells)
        assert result.metrics.reopened == 0
        assert len(set(ref.as_cells(trace.cells))) == trace.count


@each_mode
def test_f_never_falls_under_an_exact_estimate(mode: DiagonalMode) -> None:
    random = np.random.default_rng(2)
    scale = np.exp(random.uniform(-9.0, 9.0, (40, 40)))
    grid = Grid.filled(40, 40, cell_scale=scale)
    trace = SearchTrace(5000)
    result = eng.find(grid, HEAP, (20, 20), (39, 0), diagonal_mode=mode, trace=trace)
    f = trace.g + trace.h
    assert (np.diff(f) >= -1e-12 * f[1:]).all()
    assert f[-1] == result.cost
    # Nothing dearer than the path is expanded.
    assert (f <= result.cost * (1 + 1e-12)).all()


@pytest.mark.slow
@pytest.mark.parametrize("weight", [1.0, 4.5, 1e4, 1e100, 1e300])
def test_weights_without_bounds(weight: float) -> None:
    random = np.random.default_rng(3)
    blocked = random.random((60, 60)) < 0.15
    blocked[:2, :2] = blocked[-2:, -2:] = False
    scale = np.exp(random.uniform(0.0, 8.0, (60, 60)))
    grid = Grid.from_blocked(blocked, cell_scale=scale)
    exact = eng.find(grid, HEAP, (0, 0), (59, 59))
    result = eng.find(grid, HEAP, (0, 0), (59, 59), weight=weight)
    assert (exact.status, result.status) == (Status.FOUND, Status.FOUND)
    assert result.suboptimality == weight
    assert exact.cost * (1 - 1e-12) <= result.cost <= weight * exact.cost
    dear = Profile({0: 1e30})
    far = eng.find(grid, HEAP, (0, 0), (59, 59), weight=weight, profile=dear)
    assert far.status == Status.FOUND
    assert math.isfinite(far.cost)


def test_a_flag_is_looked_at_every_1024_expansions() -> None:
    grid = Grid.filled(100, 100, cell_scale=np.random.default_rng(4).integers(0, 9, (100, 100)))
    flag = CancelFlag()
    search = AStar(grid)
    for before in (1, 1023, 1024, 1025):
        flag.clear()
        search.begin((0, 0), (99, 99), cancel=flag)
        assert eng.engine_of(search) == HEAP
        assert search.advance(before) is False
        flag.set()
        assert search.advance(5000) is True
        result = search.finish()
        assert (result.status, result.detail) == (Status.CANCELLED, Detail.CANCELLED)
        assert result.metrics.expanded == -(-before // 1024) * 1024


# Interpreted kernels warn where compiled ones go on with infinity.
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("model", CostModel, ids=lambda model: model.name)
@pytest.mark.parametrize("weight", [1.0, 1e308])
def test_the_greatest_costs_stay_finite(model: CostModel, weight: float) -> None:
    # Weight and layer are the greatest there are, and so is the factor on the estimate.
    grid = Grid.filled(7, 5)
    grid.set_rectangle((3, 0), (1, 5), layers={"fire": 3e38})
    search = AStar(grid, overlays={"fire": 1e38}, cost_model=model, weight=weight)
    crossing = search.find_path((0, 2), (6, 2))
    dear = 1.0 + 3e38 * 1e38
    expected = {
        CostModel.ENTERED: dear,
        CostModel.MEAN: dear,
        CostModel.PRODUCT: 2.0 * dear,
    }[model]
    assert search._request.engine == HEAP
    assert crossing.status == Status.FOUND
    assert expected * (1 - 1e-6) <= crossing.cost < math.inf
    beside = search.find_path((0, 2), (2, 4))
    assert beside.cost < 100.0, "a path through the fire"
    if weight == 1.0:
        assert crossing.cost == pytest.approx(expected, rel=1e-6)
        assert beside.cost == pytest.approx(2.0 * math.sqrt(2.0))
