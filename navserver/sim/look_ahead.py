"""Searches of many bots on several threads, handed out one by one as a single search would."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from navserver.movers.movers import Movers
from navserver.movers.sight import options_of
from navserver.search.astar import AStar
from navserver.search.batch import BatchSearch
from navserver.search.results import PathResult
from navserver.sim.planning import WatchedPlanner

__all__ = ["LookAheadPlanner"]

_SEARCHES_A_THREAD = 8
_MOST_SEARCHES = 1024
# Of those that are searched at once: about a tenth of a second, and then somebody may look.
_EXPANSIONS_AT_ONCE = 1 << 20
# Of all threads, so that large maps on many cores do not fill the machine.
_MOST_SCRATCH_BYTES = 1 << 29
_SCRATCH_BYTES_A_CELL = 16
# What it takes to hand work to threads, and to begin and end a search by itself.
_EXPANSIONS_OF_HANDING, _EXPANSIONS_OF_A_SEARCH = 20_000, 400

_Ends = tuple[tuple[int, int], tuple[int, int]]


class LookAheadPlanner(WatchedPlanner):
    """A planner that searches for those next in the queue on several threads at once.

    Parameters
    ----------
    movers : Movers
        Whose ways.
    budget : int
        Expansions a step.
    threads : int
        That search; fewer are used on maps so large that their scratch would take too much.

    Notes
    -----
    A search gives the same path on any thread, and a budget that would end within one is given to
    that search itself: who gets which way in which step is as with a single thread.
    """

    def __init__(self, movers: Movers, budget: int, threads: int) -> None:
        super().__init__(movers, budget)
        room = _MOST_SCRATCH_BYTES // (_SCRATCH_BYTES_A_CELL * movers.grid.size)
        self._threads = max(min(threads, room), 1)
        self._ahead: dict[int, _LookAhead] = {}

    def close(self) -> None:
        """End the threads."""
        for search in self._ahead.values():
            search.close()
        self._ahead.clear()

    def _astar(self, which: int, *, is_short: bool) -> AStar:
        search = super()._astar(which, is_short=is_short)
        if is_short or self._threads == 1:
            return search
        if which not in self._ahead:
            self._ahead[which] = _LookAhead(self, which, search, self._threads)
        ahead = self._ahead[which]
        # It does all that a planner asks of a search.
        return cast("AStar", ahead)

    def coming_ends(self, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return between which cells the searches of the job at work come next.

        Parameters
        ----------
        most : int
            Searches wanted.

        Returns
        -------
        starts : int64 array (n, 2)
            Cells that lie on the map; closed ones among them.
        goals : int64 array (n, 2)
            The same.
        """
        rows = self.coming[:most]
        rows = rows[self.are_asking(rows)]
        columns = self._movers.columns
        ends = [
            np.floor(points[rows].astype(np.float64) + 0.5).astype(np.int64)
            for points in (columns.position, columns.goal)
        ]
        grid = self._movers.grid
        first = np.array(grid.region_position)
        last = first + np.array([grid.width - 1, grid.height - 1])
        inside = np.all([(cells >= first) & (cells <= last) for cells in ends], axis=(0, 2))
        return ends[0][inside], ends[1][inside]


class _LookAhead:
    """Stands for an `AStar`: begin, advance, finish; its results may be there already."""

    def __init__(self, planner: LookAheadPlanner, which: int, search: AStar, threads: int) -> None:
        self._planner = planner
        self._grid = planner._movers.grid
        self._search = search
        self._batch = BatchSearch(
            self._grid,
            threads=threads,
            islands=True,
            **options_of(planner._movers.movements[which]),
        )
        self._least = _SEARCHES_A_THREAD * threads
        self._ready: dict[_Ends, PathResult] = {}
        self._version = self._grid.version
        self._result: PathResult | None = None
        self._ends: _Ends = (0, 0), (0, 0)
        # What a search has expanded of late.
        self._usual = float(_EXPANSIONS_OF_HANDING)

    def close(self) -> None:
        self._batch.close()

    def begin(self, start: tuple[int, int], goal: tuple[int, int]) -> None:
        self._ends = start, goal
        if self._version != self._grid.version:
            self._version = self._grid.version
            self._ready.clear()
        if self._ends not in self._ready:
            self._fill()
        self._result = self._ready.pop(self._ends, None)
        if self._result is None:
            self._search.begin(start, goal)

    def _fill(self) -> None:
        count = self._planner.coming.size
        if count < 2 or count * (self._usual + _EXPANSIONS_OF_A_SEARCH) < _EXPANSIONS_OF_HANDING:
            return
        most = int(_EXPANSIONS_AT_ONCE / (self._usual + 1.0))
        self._ready.clear()
        starts, goals = self._planner.coming_ends(min(max(most, self._least), _MOST_SEARCHES))
        batch = self._batch.find_paths(starts, goals)
        results = map(batch.result, range(len(starts)))
        self._ready.update(((result.start, result.goal), result) for result in results)

    def advance(self, expansions: int) -> bool:
        if self._result is not None:
            if self._result.metrics.expanded < expansions + self._planner.spare:
                return True
            # It would not end within the step: where it stops is known by itself alone.
            self._result = None
            self._search.begin(*self._ends)
        return self._search.advance(expansions)

    def finish(self) -> PathResult:
        result = self._search.finish() if self._result is None else self._result
        self._result = None
        self._usual += (result.metrics.expanded - self._usual) / 16.0
        return result
