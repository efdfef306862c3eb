"""What a search returns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from navserver.search.nodes import SearchMetrics
from navserver.status import Detail, NoPathError, Status

__all__ = ["PathResult"]

_STATUSES = tuple(Status)


class PathResult:
    """The outcome of one query.

    Parameters
    ----------
    status : int
        A `Status`.
    detail : int
        A `Detail`.
    start, goal : (int, int)
        The cells asked for.
    cells : int32 array (n, 2)
        The path.
    cost, length : float
        Of the path.
    suboptimality : float
        What the search promises.
    metrics : sequence of 4 int
        What the search did.
    map_version : int
        Version of the grid that was searched.
    """

    __slots__ = (
        "_detail", "_goal", "_metrics", "_start", "cells", "cost", "length", "map_version",
        "status", "suboptimality",
    )  # fmt: skip

    def __init__(
        self,
        status: int,
        detail: int,
        start: tuple[int, int],
        goal: tuple[int, int],
        cells: NDArray[np.int32],
        cost: float,
        length: float,
        suboptimality: float,
        metrics: Sequence[int],
        map_version: int,
    ) -> None:
        # Costs more than a short search if everything is brought into its form at once.
        self.status: Status = _STATUSES[status]
        """How the search ended."""
        self._detail = detail
        self._start = start
        self._goal = goal
        self.cells = cells
        """int32 array (n, 2), columns x and y, both ends included; (0, 2) without a path."""
        self.cost = cost
        """Sum of the path's step costs in order; ``inf`` without a path."""
        self.length = length
        """Length in cells: 1 a straight step, sqrt 2 a diagonal one; ``inf`` without a path."""
        self.suboptimality = suboptimality
        """For FOUND, ``cost <= suboptimality * optimum``: 1 is exact, ``inf`` promises nothing."""
        self._metrics = metrics
        self.map_version = map_version
        """Version of the grid that was searched."""

    def __repr__(self) -> str:
        """Return status, ends, cost and number of cells."""
        return (
            f"<PathResult {self.status.name} {self.start} to {self.goal}, "
            f"cost {self.cost:g}, {len(self.cells)} cells>"
        )

    @property
    def detail(self) -> Detail:
        """Why the search ended so, where `status` alone does not tell."""
        return Detail(self._detail)

    @property
    def start(self) -> tuple[int, int]:
        """The cell asked from."""
        return int(self._start[0]), int(self._start[1])

    @property
    def goal(self) -> tuple[int, int]:
        """The cell asked to."""
        return int(self._goal[0]), int(self._goal[1])

    @property
    def metrics(self) -> SearchMetrics:
        """What the search did."""
        return SearchMetrics(*self._metrics)

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
            why = f" ({self.detail!s})" if self.detail else ""
            raise NoPathError(
                f"no path from {self.start} to {self.goal}: {self.status.name.lower()}{why}"
            )
