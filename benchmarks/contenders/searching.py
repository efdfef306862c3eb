"""What a contender that finds paths offers to be timed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

Cells = NDArray[np.int32]


class Answer(NamedTuple):
    """What a path that was found is worth; worked out after the clock has stopped."""

    cost: float
    """Length times the cost of the cell entered; ``inf`` without a path."""
    expanded: int | None = None
    """Nodes expanded, where the contender tells."""


class Searcher(Protocol):
    """One map that is ready to be asked."""

    @property
    def find_path(self) -> Callable[[int, int, int, int], Any]:
        """Search from (x, y) to (x, y): the one call that is timed."""

    @property
    def judge(self) -> Callable[[Any], Answer]:
        """Say what the path that `find_path` has just returned is worth."""


def path_cost(cells: NDArray[Any], costs: NDArray[Any] | None) -> float:
    """Return the cost of a path of cells (n, 2), whose steps may span several cells in a line."""
    if len(cells) == 0:
        return math.inf
    steps = np.abs(np.diff(cells.astype(np.int64), axis=0))
    lengths = np.where(
        steps.min(axis=1) == 0,
        steps.max(axis=1),
        steps.max(axis=1) + (math.sqrt(2.0) - 1.0) * steps.min(axis=1),
    )
    if costs is None:
        return float(lengths.sum())
    return float((lengths * costs[cells[1:, 1], cells[1:, 0]]).sum())
