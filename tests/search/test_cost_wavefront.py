from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.cost_wavefront import typical_step_
from navserver.search.grid import CostModel, DiagonalMode, Grid, Profile
from navserver.search.movement import Movement
from navserver.search.wavefront import MOST_UNEQUAL, Wavefront
from tests import reference as ref
from tests import strategies as sts

# Steps of one size, of few, of very many, of all; and free ones.
SPREADS = ((1.0, 3.0), (1.0, 2.0, 5.0), (1e-3, 1.0, 1e3), (1e-4, 0.01, 1.0), (0.0, 1.0, 2.0))


@pytest.mark.parametrize("reverse", [False, True])
@given(
    sts.models(24, plain=True),
    st.sampled_from(SPREADS),
    st.sampled_from(list(DiagonalMode)),
    st.sampled_from(list(CostModel)),
    st.data(),
)
def test_every_spread_of_costs(
    reverse: bool,
    model: ref.Model,
    spread: tuple[float, ...],
    mode: DiagonalMode,
    cost_model: CostModel,
    data: st.DataObject,
) -> None:
    mapping = dict(enumerate(spread))
    costs = ref.cell_costs(model, sts.table(mapping))
    if not costs:
        return
    source = data.draw(st.sampled_from(sorted(costs)))
    search = Wavefront(sts.grid_of(model), Movement(Profile(mapping), mode, cost_model))
    search.begin(np.array([model.index(source)]), reverse=reverse)
    search.advance()
    best = ref.distances(costs, source, mode, cost_model, towards=reverse)
    expected = [best.get(cell, math.inf) for cell in model.cells()]
    found = search.read(np.arange(model.classes.size))[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 4.0), st.sampled_from(list(CostModel)))
def test_float_costs_with_ratios_up_to_ten_thousand(
    seed: int, decades: float, cost_model: CostModel
) -> None:
    random = np.random.default_rng(seed)
    shape = (16, 17)
    scale = (10.0 ** random.uniform(0.0, decades, shape)).astype(np.float32)
    classes = np.where(random.random(shape) < 0.2, sts.SOLID, 0).astype(np.uint8)
    classes[8, 8] = 0
    model = ref.Model(classes, scale)
    search = Wavefront(sts.grid_of(model), Movement(cost_model=cost_model))
    search.begin(np.array([8 * 17 + 8]))
    search.advance()
    costs = ref.cell_costs(model, sts.table())
    best = ref.distances(costs, (8, 8), ref.ONLY_IF_NO_OBSTACLES, cost_model)
    expected = [best.get(cell, math.inf) for cell in model.cells()]
    np.testing.assert_allclose(search.read(np.arange(classes.size))[0], expected, rtol=1e-11)


def test_typical_steps() -> None:
    grid = Grid([[0, 1, sts.SOLID, 1]])
    profile = Profile({0: 1.0, 1: 4.0})
    for cost_model, expected in ((CostModel.ENTERED, 3.0), (CostModel.PRODUCT, 11.0)):
        terrain = grid.terrain(Movement(profile, cost_model=cost_model))
        assert typical_step_(terrain, 1) == expected
    assert typical_step_(Grid([[sts.SOLID]]).terrain(Movement()), 1) == 0.0


def test_the_heap_is_for_unequal_steps() -> None:
    """Both ways give the same; one cell decides which one is taken."""
    classes = np.random.default_rng(2).integers(0, 2, (40, 40)).astype(np.uint8)
    found = []
    for cheapest in (1.0, 0.5 / MOST_UNEQUAL):
        classes[39, 39] = 2
        search = Wavefront(Grid(classes), Movement(Profile({1: 2.0, 2: cheapest})))
        search.begin(np.zeros(1, np.int64))
        search.advance()
        found.append(search.read(np.arange(1599))[0])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
