from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.fields import DIAGONAL, UNIT
from navserver.search.grid import MAX_SIDE, CostModel, DiagonalMode, Profile
from navserver.search.movement import Movement
from navserver.search.wavefront import Wavefront
from tests import reference as ref
from tests import strategies as sts

MODES = list(DiagonalMode)


def test_lengths_fit_their_words() -> None:
    """The longest path visits every cell of the largest map, each by a diagonal step."""
    assert MAX_SIDE * MAX_SIDE * DIAGONAL < 2**63
    assert pytest.approx(math.sqrt(2), rel=1e-11) == DIAGONAL / UNIT


@given(
    sts.models(30, plain=True),
    st.sampled_from(MODES),
    st.sampled_from(list(CostModel)),
    st.sampled_from([1.0, 0.25, 3.7]),
    st.data(),
)
def test_canonical_runs_find_every_shortest_path(
    model: ref.Model, mode: DiagonalMode, cost_model: CostModel, cost: float, data: st.DataObject
) -> None:
    model.classes[model.classes != sts.SOLID] = 0
    costs = ref.cell_costs(model, sts.table({0: cost}))
    if not costs:
        return
    sources = data.draw(st.lists(st.sampled_from(sorted(costs)), min_size=1, max_size=3))
    search = Wavefront(
        sts.grid_of(model), Movement(Profile({0: cost}), mode, cost_model), record=True
    )
    search.begin(np.array([model.index(source) for source in sources]))
    assert search.unit > 0.0, "the kernel for even costs"
    search.advance()
    every = np.arange(model.classes.size)
    best = [ref.distances(costs, source, mode, cost_model) for source in sources]
    expected = [min(b.get(cell, math.inf) for b in best) for cell in model.cells()]
    np.testing.assert_allclose(search.read(every)[0], expected, rtol=1e-10)
    assert search.metrics.reopened == search.metrics.expanded - search.touched.size


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("share", [0.05, 0.2, 0.35, 0.5])
def test_runs_ahead_of_what_is_certain_are_mended(mode: DiagonalMode, share: float) -> None:
    random = np.random.default_rng(int(100 * share))
    classes = np.where(random.random((120, 120)) < share, sts.SOLID, 0).astype(np.uint8)
    classes[60, 60] = 0
    model = ref.Model(classes)
    search = Wavefront(sts.grid_of(model), Movement(diagonal_mode=mode))
    search.begin(np.array([60 * 120 + 60]))
    search.advance()
    costs = ref.cell_costs(model, sts.table())
    expected = ref.scipy_distances(model, costs, (60, 60), mode, ref.ENTERED)
    np.testing.assert_allclose(
        search.read(np.arange(classes.size))[0].reshape(classes.shape), expected, rtol=1e-10
    )
