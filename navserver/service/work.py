"""Units of work: what a worker thread does between two looks at the queue.

A unit owns what it needs, so `run` takes no lock that another thread may hold for long, and its
loops run in kernels without the GIL. It keeps what went wrong for the scheduler to tell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.search.astar import Outputs
from navserver.search.grid import Grid
from navserver.search.nodes import CancelFlag, SearchTrace
from navserver.search.results import PathResult
from navserver.service.replicas import Replica, Searcher
from navserver.service.requests import SearchOptions
from navserver.status import NavserverError

__all__ = ["QueryUnit", "SearchState", "SliceUnit", "TrialUnit", "WorkUnit"]

_CELLS_A_PATH = 64


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


class TrialUnit(WorkUnit):
    """Short searches, each given up at a limit.

    Parameters
    ----------
    client, replica, cancel
        As for `WorkUnit`.
    options : SearchOptions
        How to search.
    limit : int
        Most expansions of each.
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
        starts: NDArray[np.int64],
        goals: NDArray[np.int64],
    ) -> None:
        super().__init__(client, replica, cancel)
        self.options = options
        self.limit = limit
        self.starts = starts
        self.goals = goals
        self.outputs: Outputs | None = None
        self.jobs: list[Any] = []
        """What each row is for."""

    def _run(self) -> None:
        searcher = self.replica.borrow(self.options, self.limit)
        outputs = Outputs.of(self.starts.size, _CELLS_A_PATH * self.starts.size)
        self.outputs = searcher.search.run(self.starts, self.goals, outputs, self.cancel)
        self.replica.give_back(searcher)

    @property
    def expanded(self) -> int:
        """Expansions of all searches."""
        return 0 if self.outputs is None else int(self.outputs.summary[:, 4].sum())

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
    """

    __slots__ = (
        "cancel", "expanded", "goal", "options", "replica", "result", "searcher", "start", "trace",
    )  # fmt: skip

    def __init__(
        self,
        replica: Replica,
        options: SearchOptions,
        start: tuple[int, int],
        goal: tuple[int, int],
        trace: SearchTrace | None,
    ) -> None:
        self.replica = replica
        self.options = options
        self.start = start
        self.goal = goal
        self.trace = trace
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
            self.searcher.search.begin(self.start, self.goal, cancel=self.cancel, trace=self.trace)
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


class SliceUnit(WorkUnit):
    """A slice of a long search.

    Parameters
    ----------
    client : hashable
        Who is charged.
    search : SearchState
        The search.
    budget : int
        Most expansions.
    """

    OVERHEAD = 300.0

    def __init__(self, client: Hashable, search: SearchState, budget: int) -> None:
        super().__init__(client, search.replica, search.cancel)
        self.search = search
        self.budget = budget
        self.before = search.expanded

    def _run(self) -> None:
        self.search.advance(self.budget)

    @property
    def expanded(self) -> int:
        """Expansions of this slice."""
        return self.search.expanded - self.before

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
        return self.OVERHEAD + self.expanded


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
