"""Slow oracles for islands."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode


def scipy_labels(free: NDArray[np.bool_], eight: bool) -> NDArray[np.int32]:
    return canonical(ndimage.label(free, structure=np.ones((3, 3)) if eight else None)[0])


def canonical(labels: NDArray[Any]) -> NDArray[np.int32]:
    numbers, first = np.unique(labels, return_index=True)
    order = numbers[np.argsort(first)]
    rank = np.zeros(int(numbers.max()) + 1, np.int32)
    rank[order[order != 0]] = np.arange(1, np.count_nonzero(order) + 1)
    return rank[labels]


def numbers_are(actual: NDArray[Any], expected: NDArray[Any]) -> None:
    assert actual.dtype == np.int32
    np.testing.assert_array_equal(actual, expected)


FOUR, EIGHT = Movement(), Movement(diagonal_mode=DiagonalMode.ALWAYS)


def spiral(height: int, width: int) -> NDArray[np.bool_]:
    y, x = np.indices((height, width))
    depth = np.minimum(np.minimum(x, width - 1 - x), np.minimum(y, height - 1 - y))
    free = depth % 2 == 0
    # One wall in each ring to open it, and one gap to the next ring.
    free |= (x == y + 1) & (depth % 2 == 1)
    free &= ~((x == y) & (depth % 2 == 0) & (depth > 0))
    return free
