"""`pyastar2d`, A* in C++ that cuts corners and counts a diagonal step as 1: under ALWAYS alone.

Its optimum is therefore another one, the least number of steps, and it is checked against that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyastar2d

from benchmarks.contenders import yardstick
from benchmarks.contenders.searching import Answer

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Search:
    """One map as an array of weights, infinity being a wall."""

    def __init__(
        self,
        blocked: NDArray[np.bool_],
        costs: NDArray[np.float64] | None = None,
        *,
        cut_corners: bool = False,
    ) -> None:
        if costs is not None or not cut_corners:
            raise ValueError("pyastar2d is timed at uniform cost under ALWAYS alone")
        self._weights = np.where(blocked, np.inf, 1.0).astype(np.float32)
        self._oracle = yardstick.Search(blocked, cut_corners=True, diagonal=1.0)

    def find_path(self, x: int, y: int, goal_x: int, goal_y: int) -> NDArray[np.int32]:
        """Return the path as rows and columns."""
        return pyastar2d.astar_path(self._weights, (y, x), (goal_y, goal_x), allow_diagonal=True)

    def judge(self, path: NDArray[np.int32]) -> Answer:
        """Return the number of the path's steps."""
        return Answer(float(len(path) - 1))

    def own_optimum(self, x: int, y: int, goal_x: int, goal_y: int) -> float:
        """Return the least number of steps."""
        return float(len(self._oracle.find_path(x, y, goal_x, goal_y)) - 1)
