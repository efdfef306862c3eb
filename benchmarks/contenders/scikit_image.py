"""`skimage.graph.MCP_Geometric`, Dijkstra's algorithm that cuts corners: under ALWAYS alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from skimage.graph import MCP_Geometric

from benchmarks.contenders.searching import Answer, path_cost

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Search:
    """One map as an array of costs, -1 being a wall."""

    def __init__(
        self,
        blocked: NDArray[np.bool_],
        costs: NDArray[np.float64] | None = None,
        *,
        cut_corners: bool = False,
    ) -> None:
        if costs is not None or not cut_corners:
            raise ValueError("scikit-image is timed at uniform cost under ALWAYS alone")
        self._search = MCP_Geometric(np.where(blocked, -1.0, 1.0))

    def find_path(self, x: int, y: int, goal_x: int, goal_y: int) -> list[tuple[int, int]]:
        """Return the path as rows and columns."""
        self._search.find_costs([(y, x)], [(goal_y, goal_x)])
        return self._search.traceback((goal_y, goal_x))

    def judge(self, path: list[tuple[int, int]]) -> Answer:
        """Return the cost of the path."""
        return Answer(path_cost(np.array(path, np.int32)[:, ::-1], None))
