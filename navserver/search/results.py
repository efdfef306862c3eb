"""What a search returns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.search.nodes import SearchMetrics
from navserver.status import Detail, NoPathError, Status

__all__ = ["PathResult", "ResultRow"]

_STATUSES = tuple(Status)


class ResultRow(NamedTuple):
    """A result as kernels leave it."""

    status: int
    detail: int
    start: tuple[int, int]
    goal: tuple[int, int]
    cells: NDArray[np.int32]
    cost: float
    length: float
    suboptimality: float
    expanded: int
    generated: int
    reopened: int
    open_peak: int
    map_version: int


class PathResult:
    """The outcome of one query; cannot be changed.

    Parameters
    ----------
    row : tuple
        The values of a `ResultRow`, which is made when they are asked for: that takes as long as
        some searches.
    """

    __slots__ = ("_values",)

    def __init__(self, row: tuple[Any, ...]) -> None:
        self._values = row

    @property
    def _row(self) -> ResultRow:
        values = self._values
        if not isinstance(values, ResultRow):
            values = self._values = ResultRow._make(values)
        return values

    def __repr__(self) -> str:
        """Return status, ends, cost and number of cells."""
        return (
            f"<PathResult {self.status.name} {self.start} to {self.goal}, "
            f"cost {self.cost:g}, {len(self.cells)} cells>"
        )

    @property
    def status(self) -> Status:
        """How the search ended."""
        return _STATUSES[self._row.status]

    @property
    def detail(self) -> Detail:
        """Why the search ended so, where `status` alone does not tell."""
        return Detail(self._row.detail)

    @property
    def start(self) -> tuple[int, int]:
        """The cell asked from."""
        x, y = self._row.start
        return int(x), int(y)

    @property
    def goal(self) -> tuple[int, int]:
        """The cell asked to."""
        x, y = self._row.goal
        return int(x), int(y)

    @property
    def cells(self) -> NDArray[np.int32]:
        """int32 array (n, 2), columns x and y, both ends included; (0, 2) without a path."""
        return self._row.cells

    @property
    def cost(self) -> float:
        """Sum of the path's step costs in order; ``inf`` without a path."""
        return self._row.cost

    @property
    def length(self) -> float:
        """Length in cells: 1 a straight step, sqrt 2 a diagonal one; ``inf`` without a path."""
        return self._row.length

    @property
    def suboptimality(self) -> float:
        """For FOUND, ``cost <= suboptimality * optimum``: 1 is exact, ``inf`` promises nothing."""
        return self._row.suboptimality

    @property
    def metrics(self) -> SearchMetrics:
        """What the search did."""
        row = self._row
        return SearchMetrics(row.expanded, row.generated, row.reopened, row.open_peak)

    @property
    def map_version(self) -> int:
        """Version of the grid that was searched."""
        return self._row.map_version

    @property
    def found(self) -> bool:
        """Whether the path reaches the goal."""
        return self._row.status == Status.FOUND

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
