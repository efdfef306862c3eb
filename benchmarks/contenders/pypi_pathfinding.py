"""The package `pathfinding` of PyPI: pure Python, A* over node objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pathfinding.core.diagonal_movement import DiagonalMovement
from pathfinding.core.grid import Grid
from pathfinding.finder.a_star import AStarFinder

from benchmarks.contenders.searching import Answer, path_cost

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Search:
    """One grid and one finder; resetting the nodes after a query is part of the next one."""

    def __init__(
        self,
        blocked: NDArray[np.bool_],
        costs: NDArray[np.float64] | None = None,
        *,
        cut_corners: bool = False,
    ) -> None:
        self._costs = costs
        matrix = np.where(blocked, 0.0, 1.0 if costs is None else costs)
        self._grid = Grid(matrix=matrix.tolist())
        self._finder = AStarFinder(
            diagonal_movement=DiagonalMovement.always
            if cut_corners
            else DiagonalMovement.only_when_no_obstacle
        )

    def find_path(self, x: int, y: int, goal_x: int, goal_y: int) -> list[Any]:
        """Return the path's nodes, empty without one."""
        grid = self._grid
        # Newer versions would do it themselves, older ones leave it to the caller.
        grid.cleanup()
        grid.dirty = False
        path, _ = self._finder.find_path(grid.node(x, y), grid.node(goal_x, goal_y), grid)
        return path

    def judge(self, path: list[Any]) -> Answer:
        """Return the cost of the path."""
        cells = np.array([(node.x, node.y) for node in path], np.int32).reshape(-1, 2)
        return Answer(path_cost(cells, self._costs))
