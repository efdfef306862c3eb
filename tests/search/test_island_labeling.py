"""The first labels."""

from __future__ import annotations

import numpy as np
import pytest

from navserver.search.grid import Grid
from navserver.search.islands import (
    island_labels,
)
from navserver.search.moves import DiagonalMode
from tests.reference_islands import numbers_are, scipy_labels, spiral


@pytest.mark.parametrize("eight", [False, True])
@pytest.mark.parametrize(
    "kind", ["noise", "stripes", "checkers", "comb", "spiral", "empty", "full"]
)
@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 1), (70, 90), (257, 129)])
def test_labeling_agrees_with_scipy(eight: bool, kind: str, shape: tuple[int, int]) -> None:
    height, width = shape
    y, x = np.indices(shape)
    free = {
        "noise": np.random.default_rng(width).random(shape) < 0.55,
        "stripes": (x + 2 * y) % 5 < 2,
        "checkers": (x + y) % 2 == 0,
        "comb": (x % 2 == 0) | (y == height - 1),
        "spiral": spiral(height, width),
        "empty": np.zeros(shape, np.bool_),
        "full": np.ones(shape, np.bool_),
    }[kind]
    grid = Grid.from_blocked(~free)
    mode = DiagonalMode.ALWAYS if eight else DiagonalMode.NEVER
    numbers_are(island_labels(grid, diagonal_mode=mode), scipy_labels(free, eight))
