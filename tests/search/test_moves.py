"""Move masks against the definition of the diagonal modes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.grid import (
    DEFAULT_PROFILE,
    DiagonalMode,
    Grid,
    Profile,
)
from tests import reference as ref
from tests import strategies as sts
from tests.reference import Model

MODES = list(DiagonalMode)


@given(sts.models(plain=True), sts.cost_mappings(), st.sampled_from(MODES))
def test_masks_are_those_of_the_definition(
    model: Model, mapping: dict[int, float], mode: DiagonalMode
) -> None:
    masks = sts.grid_of(model).move_masks(Profile(mapping), mode)
    assert masks.dtype == np.uint8
    np.testing.assert_array_equal(masks, ref.move_masks(model, sts.table(mapping), mode))


@pytest.mark.parametrize("mode", MODES)
def test_masks_of_every_neighbourhood(mode: DiagonalMode) -> None:
    for bits in range(512):
        classes = np.array([255 if bits >> i & 1 else 0 for i in range(9)], np.uint8)
        model = Model(classes.reshape(3, 3))
        np.testing.assert_array_equal(
            Grid(model.classes).move_masks(DEFAULT_PROFILE, mode),
            ref.move_masks(model, sts.table(), mode),
        )
