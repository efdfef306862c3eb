"""`tcod.path.AStar` of python-tcod, which cuts corners: for the cases under ALWAYS alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import tcod.path

from benchmarks.contenders.searching import Answer, path_cost

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Search:
    """One map as an array of costs, 0 being a wall."""

    def __init__(
        self,
        blocked: NDArray[np.bool_],
        costs: NDArray[np.float64] | None = None,
        *,
        cut_corners: bool = False,
    ) -> None:
        if costs is not None or not cut_corners:
            raise ValueError("tcod is timed at uniform cost under ALWAYS alone")
        # It takes x first.
        walkable = np.ascontiguousarray((~blocked).T.astype(np.int8))
        self._search = tcod.path.AStar(walkable, diagonal=math.sqrt(2.0))

    def find_path(self, x: int, y: int, goal_x: int, goal_y: int) -> list[tuple[int, int]]:
        """Return the cells after the start."""
        self._start = (x, y)
        return self._search.get_path(x, y, goal_x, goal_y)

    def judge(self, path: list[tuple[int, int]]) -> Answer:
        """Return the cost of the path."""
        return Answer(path_cost(np.array([self._start, *path], np.int32), None))
