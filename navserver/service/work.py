"""Units of work: what a worker thread does between two looks at the queue.

A unit owns what it needs, so `run` takes no lock that another thread may hold for long, and its
loops run in kernels without the GIL. It keeps what went wrong for the scheduler to tell.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.search.astar import AStar
from navserver.search.grid import Grid
from navserver.search.many import path_totals_
from navserver.search.movement import Movement
from navserver.search.nodes import CancelFlag, SearchTrace
from navserver.search.path_kernels import (
    S_COUNT,
    S_DETAIL,
    S_EXPANDED,
    S_GENERATED,
    S_PEAK,
    S_REOPENED,
    S_STATUS,
    Outputs,
)
from navserver.search.results import PathResult, ResultRow
from navserver.search.wavefront import Wavefront
from navserver.service.replicas import Replica, Searcher
from navserver.service.requests import SearchOptions
from navserver.status import NavserverError

__all__ = [
    "BundleUnit",
    "FieldState",
    "QueryUnit",
    "RangeUnit",
    "SearchState",
    "SliceUnit",
    "WorkUnit",
]

_CELLS_A_PATH = 64
_NO_ROWS = np.empty(0, np.int64)
_NEVER = CancelFlag()


class WorkUnit(ABC):
    """Something to do on one version of a map.

    Parameters
    ----------
    client : hashable
        Who is charged.
    replica : Replica
        The map, pinned by whoever made the unit.
    cancel : CancelFlag
        Ends the unit early.
    """

    def __init__(self, client: Hashable, replica: Replica, cancel: CancelFlag) -> None:
        self.client = client
        self.replica = replica
        self.cancel = cancel
        self.started = 0.0
        """When it was taken."""
        self.error: Exception | None = None
        """What went wrong, if something did."""
        self.owner: Any = None
        """The request that takes it in again."""

    def run(self) -> None:
        """Do the work; called once, by any thread."""
        try:
            self._run()
        except (NavserverError, MemoryError) as error:
            self.error = error

    @abstractmethod
    def _run(self) -> None: ...

    @abstractmethod
    def work(self, seconds: float) -> float:
        """Return what it cost, in expansions.

        Parameters
        ----------
        seconds : float
            How long it took.

        Returns
        -------
        float
            More than 0.
        """


class BundleUnit(WorkUnit):
    """Short searches for single paths, each given up at a limit.

    Parameters
    ----------
    client, replica
        As for `WorkUnit`.
    options : SearchOptions
        How to search.
    limit : int
        Most expansions of each.
    ends : list of ((int, int), (int, int))
        Start and goal of each.
    """

    OVERHEAD = 200.0
    OVERHEAD_A_ROW = 20.0

    def __init__(
        self,
        client: Hashable,
        replica: Replica,
        options: SearchOptions,
        limit: int,
        ends: list[tuple[tuple[int, int], tuple[int, int]]],
    ) -> None:
        super().__init__(client, replica, _NEVER)
        self.options = options
        self.limit = limit
        self.ends = ends
        self.jobs: list[Any] = []
        """What each of them is for."""
        self.results: list[PathResult] = []
        """In the order of the ends; none if something went wrong."""
        self.expanded = 0
        """Expansions of all searches."""

    def _run(self) -> None:
        searcher = self.replica.borrow(self.options, self.limit)
        if len(self.ends) == 1:
            self.results = [searcher.search.find_path(*self.ends[0])]
        else:
            self.results = self._results(searcher.search)
        self.replica.give_back(searcher)
        self.expanded = sum(result.metrics.expanded for result in self.results)

    def _results(self, search: AStar) -> list[PathResult]:
        grid = self.replica.grid
        starts, goals = (
            grid.flat_indices(np.array(cells)) for cells in zip(*self.ends, strict=True)
        )
        outputs = Outputs.of(starts.size, _CELLS_A_PATH * starts.size)
        outputs = search.run(starts, goals, outputs, _NEVER)
        results, first = [], 0
        rows, totals = outputs.summary.tolist(), outputs.totals.tolist()
        for (start, goal), row, (cost, length) in zip(self.ends, rows, totals, strict=True):
            last = first + row[S_COUNT]
            result = ResultRow(
                row[S_STATUS], row[S_DETAIL], start, goal, outputs.cells[first:last].copy(), cost,
                length, search.suboptimality, row[S_EXPANDED], row[S_GENERATED], row[S_REOPENED],
                row[S_PEAK], grid.version,
            )  # fmt: skip
            results.append(PathResult(result))
            first = last
        return results

    def work(self, seconds: float) -> float:  # noqa: ARG002
        """Return the expansions done, with the overhead in the same unit.

        Parameters
        ----------
        seconds : float
            Makes no difference.

        Returns
        -------
        float
            More than 0.
        """
        return self.OVERHEAD + self.OVERHEAD_A_ROW * len(self.ends) + self.expanded


class RangeUnit(WorkUnit):
    """Short searches for rows of a batch, each given up at a limit.

    Parameters
    ----------
    client, replica, cancel
        As for `WorkUnit`.
    options : SearchOptions
        How to search.
    limit : int
        Most expansions of each.
    rows : int64 array (n,)
        Which rows of the batch these are.
    starts, goals : int64 arrays (n,)
        Flat cells.
    """

    OVERHEAD = 200.0
    OVERHEAD_A_ROW = 20.0

    def __init__(
        self,
        client: Hashable,
        replica: Replica,
        cancel: CancelFlag,
        options: SearchOptions,
        limit: int,
        rows: NDArray[np.int64],
        starts: NDArray[np.int64],
        goals: NDArray[np.int64],
    ) -> None:
        super().__init__(client, replica, cancel)
        self.options = options
        self.limit = limit
        self.rows = rows
        self.starts = starts
        self.goals = goals
        self.group: NDArray[np.int64] = _NO_ROWS
        """The rows of the batch that these are a sample of."""
        self.outputs: Outputs | None = None
        self.expanded = 0
        """Expansions of all searches."""

    def _run(self) -> None:
        searcher = self.replica.borrow(self.options, self.limit)
        outputs = Outputs.of(self.starts.size, _CELLS_A_PATH * self.starts.size)
        self.outputs = searcher.search.run(self.starts, self.goals, outputs, self.cancel)
        self.replica.give_back(searcher)
        self.expanded = int(self.outputs.summary[:, S_EXPANDED].sum())

    def work(self, seconds: float) -> float:  # noqa: ARG002
        """Return the expansions done, with the overhead in the same unit.

        Parameters
        ----------
        seconds : float
            Makes no difference.

        Returns
        -------
        float
            More than 0.
        """
        return self.OVERHEAD + self.OVERHEAD_A_ROW * self.starts.size + self.expanded


class SearchState:
    """One long search between its slices.

    Parameters
    ----------
    replica : Replica
        The map, pinned for as long as the search lasts.
    options : SearchOptions
        How to search.
    start, goal : (int, int)
        Cells.
    trace : SearchTrace or None
        Receives the expansions.
    blocked_cells, ignored_cells : array-like or None
        As for `AStar.begin`.
    """

    __slots__ = (
        "blocked_cells", "cancel", "expanded", "goal", "ignored_cells", "options", "replica",
        "result", "searcher", "start", "trace",
    )  # fmt: skip

    def __init__(
        self,
        replica: Replica,
        options: SearchOptions,
        start: tuple[int, int],
        goal: tuple[int, int],
        trace: SearchTrace | None = None,
        blocked_cells: ArrayLike | None = None,
        ignored_cells: ArrayLike | None = None,
    ) -> None:
        self.replica = replica
        self.options = options
        self.start = start
        self.goal = goal
        self.trace = trace
        self.blocked_cells = blocked_cells
        self.ignored_cells = ignored_cells
        self.cancel = CancelFlag()
        self.searcher: Searcher | None = None
        self.expanded = 0
        self.result: PathResult | None = None

    def advance(self, budget: int) -> None:
        """Go on for a slice; `result` is there when the search has ended.

        Parameters
        ----------
        budget : int
            Most expansions.
        """
        if self.searcher is None:
            self.searcher = self.replica.borrow(self.options)
            self.searcher.search.begin(
                self.start,
                self.goal,
                blocked_cells=self.blocked_cells,
                ignored_cells=self.ignored_cells,
                cancel=self.cancel,
                trace=self.trace,
            )
        if self.searcher.search.advance(budget):
            self.result = self.searcher.search.finish()
            self.expanded = self.result.metrics.expanded
            self.close()
        else:
            self.expanded += budget

    def close(self) -> None:
        """Give the scratch back; the search cannot go on."""
        if self.searcher is not None:
            self.replica.give_back(self.searcher)
            self.searcher = None


class FieldState:
    """One search from a goal for many starts, between its slices.

    Parameters
    ----------
    replica : Replica
        The map, pinned for as long as the search lasts.
    movement : Movement
        The body.
    goal : int
        Flat cell, open.
    starts : int64 array (n,)
        Flat cells.
    """

    def __init__(
        self, replica: Replica, movement: Movement, goal: int, starts: NDArray[np.int64]
    ) -> None:
        self.replica = replica
        self.starts = starts
        self.cancel = CancelFlag()
        self.expanded = 0
        """Cells that the search has labelled."""
        self.paths: list[NDArray[np.int64]] = []
        """Flat cells from start to goal, one path a start; empty where there is none."""
        self.totals = np.full((starts.size, 2), math.inf)
        """Cost and length."""
        self.open_starts = np.ones(starts.size, np.bool_)
        """Which starts the body may stand on."""
        self._movement = movement
        self._goal = goal
        self._search: Wavefront | None = None
        self._has_spread = False

    @property
    def is_done(self) -> bool:
        """Whether every start has its path."""
        return len(self.paths) == self.starts.size

    def advance(self, budget: int) -> None:
        """Go on for a slice.

        Parameters
        ----------
        budget : int
            Most cells to label; a path counts as a hundred.
        """
        if self._search is None:
            self._search = Wavefront(self.replica.grid, self._movement)
            terrain = self._search.terrain
            self.open_starts = terrain.open_table[terrain.space[self.starts]] != 0
            targets = np.unique(self.starts[self.open_starts])
            self._search.begin(np.array([self._goal]), reverse=True, targets=targets)
        if not self._has_spread:
            self._has_spread = self._search.advance(budget, self.cancel)
            self.expanded = self._search.metrics.expanded
            return
        first = len(self.paths)
        for i in range(first, min(first + budget // 100 + 1, self.starts.size)):
            self.paths.append(self._path_from(int(self.starts[i]), self.totals[i]))

    def _path_from(self, start: int, totals: NDArray[np.float64]) -> NDArray[np.int64]:
        search = self._search
        assert search is not None
        costs, _ = search.read(np.array([start]))
        if math.isinf(costs[0]):
            return np.empty(0, np.int64)
        path = np.ascontiguousarray(search.path_to(start)[::-1])
        path_totals_(search.terrain, path, totals)
        return path


S = TypeVar("S", SearchState, FieldState)


class SliceUnit(WorkUnit, Generic[S]):
    """A slice of a long search.

    Parameters
    ----------
    client : hashable
        Who is charged.
    state : SearchState or FieldState
        The search, for one or for rows of a batch that share it.
    budget : int
        Most expansions.
    """

    OVERHEAD = 300.0

    def __init__(self, client: Hashable, state: S, budget: int) -> None:
        super().__init__(client, state.replica, state.cancel)
        self.state: S = state
        self.budget = budget
        self.before = state.expanded

    def _run(self) -> None:
        self.state.advance(self.budget)

    @property
    def expanded(self) -> int:
        """Expansions of this slice."""
        return self.state.expanded - self.before

    def work(self, seconds: float) -> float:  # noqa: ARG002
        """Return the expansions done, with the overhead in the same unit.

        Parameters
        ----------
        seconds : float
            Makes no difference.

        Returns
        -------
        float
            More than 0; a slice that only read paths counts whole.
        """
        return self.OVERHEAD + (self.expanded or self.budget)


class QueryUnit(WorkUnit):
    """A question that is answered whole.

    Parameters
    ----------
    client, replica, cancel
        As for `WorkUnit`.
    answer : callable
        Called with the grid and the flag.
    """

    OVERHEAD = 500.0
    WORK_A_SECOND = 2e7

    def __init__(
        self,
        client: Hashable,
        replica: Replica,
        cancel: CancelFlag,
        answer: Callable[[Grid, CancelFlag], Any],
    ) -> None:
        super().__init__(client, replica, cancel)
        self._answer = answer
        self.result: Any = None

    def _run(self) -> None:
        self.result = self._answer(self.replica.grid, self.cancel)

    def work(self, seconds: float) -> float:
        """Return the time it took in expansions, which it does not count.

        Parameters
        ----------
        seconds : float
            How long it took.

        Returns
        -------
        float
            More than 0.
        """
        return self.OVERHEAD + self.WORK_A_SECOND * seconds
