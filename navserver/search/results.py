"""What a search returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from navserver.search.nodes import SearchMetrics
from navserver.status import Detail, NoPathError, Status

__all__ = ["PathResult"]


@dataclass(frozen=True, slots=True, eq=False)
class PathResult:
    """The outcome of one query."""

    status: Status
    """How the search ended."""
    detail: Detail
    """Why, where `status` alone does not tell."""
    start: tuple[int, int]
    """The cell asked from."""
    goal: tuple[int, int]
    """The cell asked to."""
    cells: NDArray[np.int32]
    """int32 array (n, 2), columns x and y, both ends included; (0, 2) without a path."""
    cost: float
    """Sum of the path's step costs in order; ``inf`` without a path."""
    length: float
    """Length in cells: 1 a straight step, sqrt 2 a diagonal one; ``inf`` without a path."""
    suboptimality: float
    """For FOUND, ``cost <= suboptimality * optimum``: 1 is exact, ``inf`` promises nothing."""
    metrics: SearchMetrics
    """What the search did."""
    map_version: int
    """Version of the grid that was searched."""

    @property
    def found(self) -> bool:
        """Whether the path reaches the goal."""
        return self.status == Status.FOUND

    def raise_for_status(self) -> None:
        """Do nothing if a whole path was found.

        Raises
        ------
        NoPathError
            Naming start, goal and status otherwise.
        """
        if not self.found:
            status = self.status.name.lower()
            reasons = [str(reason.name).lower() for reason in Detail if reason & self.detail]
            why = f" ({', '.join(reasons)})" if reasons not in ([], [status]) else ""
            raise NoPathError(f"no path from {self.start} to {self.goal}: {status}{why}")
