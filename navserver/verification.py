"""Paths held against the rules of movement by other code than that which found them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.search.grid import DEFAULT_PROFILE, CostModel, DiagonalMode, Grid, Profile

if TYPE_CHECKING:
    from navserver.maps.movingai import Scenario
    from navserver.search.results import PathResult

__all__ = ["PathVerifier", "find_mismatch"]

COST_ERROR = 1e-9
"""Relative error that the sum of a path's step costs may have."""

ROUNDED_DIFFERENCE = 0.011
"""Absolute difference to an optimal length of fewer than 8 decimals that is no mismatch."""

EXACT_DIFFERENCE = 1e-4
"""Relative difference to an optimal length of 8 decimals that is no mismatch."""


class PathVerifier:
    """Checks paths on one grid; prepares what all paths have in common once.

    Parameters
    ----------
    grid : Grid
        The map, as it is now.
    profile : Profile
        Cost of each cell class.
    diagonal_mode : DiagonalMode
        When diagonal steps are allowed.
    cost_model : CostModel
        How a step's cost follows from its cells.
    overlays : mapping of str to float, optional
        Weights of the grid's layers.
    """

    def __init__(
        self,
        grid: Grid,
        *,
        profile: Profile = DEFAULT_PROFILE,
        diagonal_mode: DiagonalMode = DiagonalMode.ONLY_IF_NO_OBSTACLES,
        cost_model: CostModel = CostModel.ENTERED,
        overlays: Mapping[str, float] | None = None,
    ) -> None:
        self._origin = np.array(grid.region_position, np.int64)
        self._size = np.array([grid.width, grid.height], np.int64)
        self._blocked = grid.blocked(profile)
        self._classes = grid.classes
        self._class_costs = profile.costs.astype(np.float64)
        self._scale = grid.cell_scale
        self._layers = [(grid.layers[name], weight) for name, weight in (overlays or {}).items()]
        self._diagonal_mode = diagonal_mode
        self._cost_model = cost_model

    def find_fault(
        self, cells: ArrayLike, start: tuple[int, int], goal: tuple[int, int], cost: float
    ) -> str | None:
        """Return what is wrong with a path.

        Parameters
        ----------
        cells : array-like of int, shape (n, 2)
            The path.
        start, goal : (int, int)
            The cells that it must join.
        cost : float
            What it is said to cost.

        Returns
        -------
        str or None
            The first fault, with its segment; None for a good path.
        """
        path = np.asarray(cells, np.int64)
        if path.ndim != 2 or path.shape[1] != 2 or len(path) == 0:
            return "the path has no cells"
        if tuple(path[0].tolist()) != tuple(start):
            return f"the path starts at {_shown(path[0])}, not at {_shown(start)}"
        fault = self._find_bad_segment(path)
        if fault is not None:
            return fault
        if tuple(path[-1].tolist()) != tuple(goal):
            return f"the path ends at {_shown(path[-1])}, not at {_shown(goal)}"
        total = self.sum_costs(path)
        if not math.isclose(total, cost, rel_tol=COST_ERROR, abs_tol=COST_ERROR):
            return f"the steps cost {total:.9g} together, not {cost:.9g}"
        return None

    def sum_costs(self, cells: ArrayLike) -> float:
        """Return what the steps of a path cost together.

        Parameters
        ----------
        cells : array-like of int, shape (n, 2)
            A path on the map, at least one cell.

        Returns
        -------
        float
            Their exact sum, rounded once.
        """
        x, y = (np.asarray(cells, np.int64) - self._origin).T
        costs = self._class_costs[self._classes[y, x]]
        if self._scale is not None:
            costs = costs * self._scale[y, x].astype(np.float64)
        for layer, weight in self._layers:
            costs = costs + weight * layer[y, x].astype(np.float64)
        lengths = np.where((np.diff(x) != 0) & (np.diff(y) != 0), math.sqrt(2.0), 1.0)
        left, entered = costs[:-1], costs[1:]
        if self._cost_model == CostModel.ENTERED:
            steps = lengths * entered
        elif self._cost_model == CostModel.MEAN:
            steps = lengths * (left + entered) / 2.0
        else:
            steps = lengths * left * entered
        return math.fsum(steps.tolist())

    def _find_bad_segment(self, path: NDArray[np.int64]) -> str | None:
        local = path - self._origin
        outside = ((local < 0) | (local >= self._size)).any(axis=1)
        if outside.any():
            return self._segment(path, int(outside.argmax()), "leaves the map")
        x, y = local[:, 0], local[:, 1]
        walls = self._blocked[y, x]
        if walls.any():
            return self._segment(path, int(walls.argmax()), "enters a wall")
        dx, dy = np.diff(x), np.diff(y)
        far = np.maximum(np.abs(dx), np.abs(dy)) != 1
        if far.any():
            return self._segment(path, int(far.argmax()) + 1, "is not a step to a neighbour")
        diagonal = (dx != 0) & (dy != 0)
        sides = self._blocked[y[:-1], x[1:]].astype(np.int64) + self._blocked[y[1:], x[:-1]]
        most = {
            DiagonalMode.ALWAYS: 2,
            DiagonalMode.AT_LEAST_ONE_WALKABLE: 1,
            DiagonalMode.ONLY_IF_NO_OBSTACLES: 0,
            DiagonalMode.NEVER: -1,
        }[self._diagonal_mode]
        cut = diagonal & (sides > most)
        if cut.any():
            problem = "is diagonal" if most < 0 else "cuts a corner"
            return self._segment(path, int(cut.argmax()) + 1, problem)
        return None

    def _segment(self, path: NDArray[np.int64], end: int, problem: str) -> str:
        if end == 0:
            return f"the first cell {_shown(path[0])} {problem}"
        return f"segment {end} from {_shown(path[end - 1])} to {_shown(path[end])} {problem}"


def find_mismatch(scenario: Scenario, result: PathResult, verifier: PathVerifier) -> str | None:
    """Compare a result with a scenario's optimum, and verify its path.

    Parameters
    ----------
    scenario : Scenario
        Asked at uniform cost and ONLY_IF_NO_OBSTACLES.
    result : PathResult
        The answer.
    verifier : PathVerifier
        Of the scenario's map.

    Returns
    -------
    str or None
        What is wrong, None if nothing is. A length differs if it does so by more than 0.011,
        or, where the file gives 8 decimals or more, by more than a relative 1e-4.
    """
    if not result.found:
        return f"{result.status.name.lower()}, the file says {scenario.optimal_length:g}"
    fault = verifier.find_fault(result.cells, scenario.start, scenario.goal, result.cost)
    if fault is not None:
        return fault
    allowed = ROUNDED_DIFFERENCE
    if scenario.decimals >= 8:
        allowed = EXACT_DIFFERENCE * scenario.optimal_length
    if abs(result.cost - scenario.optimal_length) > allowed:
        return f"length {result.cost:.9g}, the file says {scenario.optimal_length:.9g}"
    return None


def _shown(cell: ArrayLike) -> str:
    x, y = np.asarray(cell).tolist()
    return f"({x}, {y})"
