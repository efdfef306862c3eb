"""navserver through its public interface, with default options, limits and metrics on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.contenders.searching import Answer, path_cost
from navserver import SOLID, AStar, DiagonalMode, Grid, PathResult, Profile

if TYPE_CHECKING:
    from numpy.typing import NDArray


def grid_of(
    blocked: NDArray[np.bool_], costs: NDArray[np.float64] | None = None
) -> tuple[Grid, Profile]:
    """Return a grid whose classes are the costs, in their order, and what they cost."""
    if costs is None:
        return Grid.from_blocked(blocked), Profile()
    values, classes = np.unique(costs, return_inverse=True)
    classes = np.where(blocked, SOLID, classes.reshape(costs.shape)).astype(np.uint8)
    return Grid(classes), Profile({i: float(value) for i, value in enumerate(values)})


class Search:
    """One `AStar` on one `Grid`."""

    def __init__(
        self,
        blocked: NDArray[np.bool_],
        costs: NDArray[np.float64] | None = None,
        *,
        cut_corners: bool = False,
    ) -> None:
        self._costs = costs
        grid, profile = grid_of(blocked, costs)
        # Whatever is not said is the default.
        options = {"diagonal_mode": DiagonalMode.ALWAYS} if cut_corners else {}
        self._search = AStar(grid, profile=profile, **options)

    def find_path(self, x: int, y: int, goal_x: int, goal_y: int) -> PathResult:
        """Return the whole result: path, cost, metrics."""
        return self._search.find_path((x, y), (goal_x, goal_y))

    def judge(self, result: PathResult) -> Answer:
        """Return the cost of the cells that were returned, not the one that was claimed."""
        return Answer(path_cost(result.cells, self._costs), result.metrics.expanded)
