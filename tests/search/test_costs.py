"""Costs of cells against their definition, and least costs under edits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.costs import BlockExtremes
from navserver.search.grid import (
    Grid,
    Profile,
)
from tests import reference as ref
from tests import strategies as sts
from tests.reference import Model

INF = math.inf
WALLS = np.array([[0, 255, 0, 0], [0, 255, 1, 2], [0, 0, 0, 255]], np.uint8)


@given(sts.models(), sts.cost_mappings(), st.data())
def test_costs_are_those_of_the_definition(
    model: Model, mapping: dict[int, float], data: st.DataObject
) -> None:
    overlays = data.draw(sts.overlays_for(model))
    grid, profile = sts.grid_of(model), Profile(mapping)
    costs = ref.cell_costs(model, sts.table(mapping), overlays)
    for cell in data.draw(st.lists(sts.cells(model), min_size=1, max_size=20)):
        expected = costs.get(cell, INF)
        assert grid.cost_at(cell, profile, overlays) == pytest.approx(expected, rel=1e-12)
        x, y = cell[0] - model.region[0], cell[1] - model.region[1]
        assert grid.class_at(cell) == model.classes[y, x]
    blocked = grid.blocked(profile)
    assert blocked.dtype == np.bool_
    expected_blocked = [cell not in costs for cell in model.cells()]
    np.testing.assert_array_equal(blocked.ravel(), expected_blocked)


def test_a_wall_stays_a_wall_at_scale_zero() -> None:
    grid = Grid(WALLS, cell_scale=np.zeros(WALLS.shape, np.float32))
    assert grid.cost_at((1, 0)) == INF
    assert grid.cost_at((0, 0)) == 0.0


@given(st.integers(1, 200), st.integers(1, 200), st.integers(0, 2**32 - 1), st.booleans())
def test_the_extremes_are_kept_under_edits(
    width: int, height: int, seed: int, single_cells: bool
) -> None:
    random = np.random.default_rng(seed)
    values = random.random((height, width), np.float32)
    kept = BlockExtremes(values)
    assert kept.extremes() == (values.min(), values.max())
    for _ in range(4):
        # The least cell rises in every round, and the greatest falls in some.
        y, x = (int(i) for i in np.unravel_index(values.argmin(), values.shape))
        x1, y1 = int(random.integers(x + 1, width + 1)), int(random.integers(y + 1, height + 1))
        if single_cells:
            xs, ys = np.array([x, x1 - 1]), np.array([y, y1 - 1])
            values[ys, xs] = random.uniform(0.5, 2.0, 2)
            kept.update_cells(xs, ys)
        else:
            values[y:y1, x:x1] = random.uniform(0.5, 2.0, (y1 - y, x1 - x))
            kept.update(x, y, x1, y1)
        assert kept.extremes() == (values.min(), values.max())
