"""Many paths at once, over all cores.

One pool of threads calls one kernel on ranges of the queries. The kernel runs without the GIL
and each thread has scratch of its own, so a path does not depend on the threads, nor on their
number.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.search.astar import AStar
from navserver.search.cells import paired_cells
from navserver.search.grid import Grid
from navserver.search.islands import islands_of
from navserver.search.movement import Movement, MovementOptions, check_keywords
from navserver.search.nodes import CancelFlag, OneUser, checked_cancel, unpack_cells
from navserver.search.path_kernels import (
    D_UNREACHABLE,
    S_COUNT,
    S_DETAIL,
    S_EXPANDED,
    S_STATUS,
    Outputs,
)
from navserver.search.results import PathResult, ResultRow
from navserver.search.validation import checked_callback, checked_count, checked_flag
from navserver.status import GridChangedError, InputError, Status

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

__all__ = ["BatchSearch", "PathBatch", "find_paths"]

_CELLS_A_QUERY = 64
_MOST_IN_A_RANGE = 256


class PathBatch(NamedTuple):
    """The results of many queries, in their order, as flat arrays."""

    status: NDArray[np.uint8]
    """uint8 array (n,): a `Status` a query."""
    detail: NDArray[np.uint8]
    """uint8 array (n,): a `Detail` a query."""
    starts: NDArray[np.int32]
    """int32 array (n, 2)."""
    goals: NDArray[np.int32]
    """int32 array (n, 2)."""
    cells: NDArray[np.int32]
    """int32 array (total, 2): the cells of all paths, one path after the other."""
    offsets: NDArray[np.int64]
    """int64 array (n + 1,): path i is ``cells[offsets[i]:offsets[i + 1]]``."""
    cost: NDArray[np.float64]
    """float64 array (n,): ``inf`` without a path."""
    length: NDArray[np.float64]
    """float64 array (n,): in cells; ``inf`` without a path."""
    metrics: NDArray[np.int64]
    """int64 array (n, 4): expanded, generated, reopened, open_peak."""
    suboptimality: float
    """What every FOUND promises, see `PathResult.suboptimality`."""
    map_version: int
    """Version of the grid that was searched."""

    def path(self, i: int) -> NDArray[np.int32]:
        """Return the path of one query.

        Parameters
        ----------
        i : int
            The query, 0 to n - 1.

        Returns
        -------
        int32 array (m, 2)
            A view into `cells`; empty without a path.

        Raises
        ------
        InputError
            If there is no such query.
        """
        row = self._row(i)
        return self.cells[self.offsets[row] : self.offsets[row + 1]]

    def result(self, i: int) -> PathResult:
        """Return one query's result as a single search would.

        Parameters
        ----------
        i : int
            The query, 0 to n - 1.

        Returns
        -------
        PathResult
            Its cells are a view into `cells`.

        Raises
        ------
        InputError
            If there is no such query.
        """
        i = self._row(i)
        (start_x, start_y), (goal_x, goal_y) = self.starts[i].tolist(), self.goals[i].tolist()
        expanded, generated, reopened, open_peak = self.metrics[i].tolist()
        return PathResult(
            ResultRow(
                int(self.status[i]),
                int(self.detail[i]),
                (start_x, start_y),
                (goal_x, goal_y),
                self.path(i),
                float(self.cost[i]),
                float(self.length[i]),
                self.suboptimality,
                expanded,
                generated,
                reopened,
                open_peak,
                self.map_version,
            )
        )

    def _row(self, i: int) -> int:
        if isinstance(i, (int, np.integer)) and 0 <= i < len(self.status):
            return int(i)
        raise InputError(
            "i", i, "is not a query of the batch", f"it has {len(self.status)}, from 0"
        )


class BatchSearch:
    """A* for arrays of queries on one grid, with a pool of threads of its own.

    Parameters
    ----------
    grid : Grid
        The map. It must not be edited while `find_paths` runs.
    threads : int, optional
        Default: one a core. Each has scratch of its own, see `AStar`.
    islands : bool
        Ask the islands before all searches, so that goals out of reach cost nothing. They are
        labeled at first use and settled after edits.
    **options
        Keywords of `AStar`, and of `Movement`.

    Raises
    ------
    InputError
        If an option is out of its bounds.

    Notes
    -----
    One object serves one thread at a time, and no batch from within the `progress` of another.

    Examples
    --------
    >>> with BatchSearch(Grid.filled(9, 9), threads=2) as search:
    ...     batch = search.find_paths([(0, 0), (8, 8)], [(8, 0), (8, 8)])
    >>> batch.cost.tolist(), len(batch.path(0))
    ([8.0, 0.0], 9)
    """

    def __init__(
        self, grid: Grid, *, threads: int | None = None, islands: bool = False, **options: Any
    ) -> None:
        if threads is None:
            threads = os.cpu_count() or 1
        count = min(checked_count("threads", threads), 256)
        self._grid = grid
        self._searches = [AStar(grid, **options) for _ in range(count)]
        self._islands = checked_flag("islands", islands) and not options.get("allow_partial", False)
        self._movement = Movement(
            **{name: value for name, value in options.items() if name in _MOVEMENT_NAMES}
        )
        self._is_closed = False
        self._in_use = OneUser("BatchSearch")
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="navserver-batch")

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """End the threads."""
        self._is_closed = True
        self._pool.shutdown()

    def find_paths(
        self,
        starts: ArrayLike,
        goals: ArrayLike,
        *,
        cancel: CancelFlag | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> PathBatch:
        """Search from each start to the goal of the same row.

        Parameters
        ----------
        starts, goals : array-like of int, shape (n, 2)
            Cells, columns x and y; a single cell goes with all rows of the other.
        cancel : CancelFlag, optional
            Stops all searches from another thread; what is not done is CANCELLED.
        progress : callable, optional
            Called in this thread as ``progress(done, n)``, at least at the end. What it raises
            ends the batch.

        Returns
        -------
        PathBatch
            The same for any number of threads.

        Raises
        ------
        CellError
            If a cell lies outside the map; names its row.
        GridChangedError
            If the grid was edited meanwhile.
        InputError
            If it has been closed, or is still at work.
        """
        if self._is_closed:
            raise InputError("search", self, "has been closed", "make another BatchSearch")
        flag = checked_cancel(cancel)
        progress = checked_callback("progress", progress)
        with self._in_use:
            return self._find_paths(starts, goals, flag, progress)

    def _find_paths(
        self,
        starts: ArrayLike,
        goals: ArrayLike,
        flag: CancelFlag,
        progress: Callable[[int, int], None] | None,
    ) -> PathBatch:
        grid = self._grid
        start_flat, goal_flat, _ = paired_cells(grid, starts, goals, ("starts", "goals"))
        rows = np.arange(start_flat.size)
        version = self._grid.version
        for search in self._searches:
            search.prepare()
        if self._islands:
            apart = self._apart(start_flat, goal_flat)
            rows = rows[~apart]
        summary, totals, cells = self._run(
            np.ascontiguousarray(start_flat[rows]),
            np.ascontiguousarray(goal_flat[rows]),
            flag,
            progress,
        )
        if self._grid.version != version:
            raise GridChangedError(
                f"the grid went from version {version} to {self._grid.version} during the batch; "
                "edit it between batches"
            )
        if self._islands:
            summary, totals = _spread(summary, totals, rows, start_flat.size)
        offsets = np.zeros(start_flat.size + 1, np.int64)
        np.cumsum(summary[:, S_COUNT], out=offsets[1:])
        return PathBatch(
            status=summary[:, S_STATUS].astype(np.uint8),
            detail=summary[:, S_DETAIL].astype(np.uint8),
            starts=unpack_cells(start_flat, grid.width, grid.region_position),
            goals=unpack_cells(goal_flat, grid.width, grid.region_position),
            cells=cells,
            offsets=offsets,
            cost=totals[:, 0],
            length=totals[:, 1],
            metrics=summary[:, S_EXPANDED:],
            suboptimality=self._searches[0].suboptimality,
            map_version=self._grid.version,
        )

    def _apart(self, starts: NDArray[np.int64], goals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which pairs of open cells lie on different islands."""
        space = self._grid.space(self._movement)
        is_open = space.open_table[space.cells.reshape(-1)] != 0
        islands = islands_of(self._grid, self._movement)
        return is_open[starts] & is_open[goals] & ~islands.answer(starts, goals)

    def _run(
        self,
        starts: NDArray[np.int64],
        goals: NDArray[np.int64],
        cancel: CancelFlag,
        progress: Callable[[int, int], None] | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int32]]:
        """Share the queries out in ranges, and put what comes back in their order."""
        total = starts.size
        # Small ranges at the end of a batch leave no thread waiting for long.
        step = min(max(total // (8 * len(self._searches)), 1), _MOST_IN_A_RANGE)
        firsts = range(0, total, step)
        parts: list[_Part] = [_NO_PART] * len(firsts)
        ranges = itertools.count()
        done: SimpleQueue[int] = SimpleQueue()
        given_up = threading.Event()

        def work(search: AStar) -> None:
            for i in _upto(ranges, len(firsts)):
                if given_up.is_set():
                    return
                chosen = slice(firsts[i], firsts[i] + step)
                parts[i] = _search_range(search, starts[chosen], goals[chosen], cancel)
                done.put(len(parts[i].summary))

        used = self._searches[: len(firsts)]
        running: list[Future[None]] = []
        try:
            for search in used:
                running.append(self._pool.submit(work, search))
                running[-1].add_done_callback(lambda _: done.put(0))
            count = ended = 0
            while ended < len(running):
                step_done = done.get()
                count += step_done
                ended += step_done == 0
                if step_done and progress is not None:
                    progress(count, total)
        finally:
            # Whatever was raised: the next batch may not begin on scratch that is still in use.
            given_up.set()
            wait(running)
        for future in running:
            future.result()
        if progress is not None and total == 0:
            progress(0, 0)
        return (
            np.concatenate([part.summary for part in parts] or [np.zeros((0, 8), np.int64)]),
            np.concatenate([part.totals for part in parts] or [np.zeros((0, 2))]),
            np.concatenate([part.cells for part in parts] or [np.zeros((0, 2), np.int32)]),
        )


class _Part(NamedTuple):
    summary: NDArray[np.int64]
    totals: NDArray[np.float64]
    cells: NDArray[np.int32]


_NO_PART = _Part(np.zeros((0, 8), np.int64), np.zeros((0, 2)), np.zeros((0, 2), np.int32))
_MOVEMENT_NAMES = MovementOptions.__annotations__


def _upto(numbers: Iterator[int], end: int) -> Iterator[int]:
    """Yield numbers that several threads draw from one counter."""
    return iter(lambda: min(next(numbers), end), end)


def _search_range(
    search: AStar, starts: NDArray[np.int64], goals: NDArray[np.int64], cancel: CancelFlag
) -> _Part:
    outputs = Outputs.of(starts.size, _CELLS_A_QUERY * starts.size)
    outputs = search.run(starts, goals, outputs, cancel)
    written = int(outputs.summary[:, S_COUNT].sum())
    return _Part(outputs.summary, outputs.totals, outputs.cells[:written])


def _spread(
    summary: NDArray[np.int64], totals: NDArray[np.float64], rows: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the results with those that the islands have answered in between."""
    all_summary = np.zeros((size, 8), np.int64)
    all_summary[:, S_STATUS] = Status.UNREACHABLE
    all_summary[:, S_DETAIL] = D_UNREACHABLE
    all_summary[rows] = summary
    all_totals = np.full((size, 2), np.inf)
    all_totals[rows] = totals
    return all_summary, all_totals


def find_paths(
    grid: Grid,
    starts: ArrayLike,
    goals: ArrayLike,
    *,
    threads: int | None = None,
    islands: bool = False,
    heuristic: Any = None,
    weight: float = 1.0,
    max_expansions: int | None = None,
    max_cost: float | None = None,
    allow_partial: bool = False,
    **movement: Unpack[MovementOptions],
) -> PathBatch:
    """Find many paths at once; for many batches on one grid, keep a `BatchSearch`.

    Parameters
    ----------
    grid : Grid
        The map.
    starts, goals : array-like of int, shape (n, 2)
        Cells, columns x and y; a single cell goes with all rows of the other.
    threads, islands
        As for `BatchSearch`.
    heuristic, weight, max_expansions, max_cost, allow_partial
        As for `AStar`.
    **movement
        Keywords of `Movement`.

    Returns
    -------
    PathBatch
        The same for any number of threads.

    Raises
    ------
    InputError
        If an argument is out of its bounds.

    Examples
    --------
    >>> find_paths(Grid.filled(9, 9), (0, 0), [(8, 0), (3, 4)]).cost.round(3).tolist()
    [8.0, 5.243]
    """
    check_keywords(movement, find_paths)
    with BatchSearch(
        grid,
        threads=threads,
        islands=islands,
        heuristic=heuristic,
        weight=weight,
        max_expansions=max_expansions,
        max_cost=max_cost,
        allow_partial=allow_partial,
        **movement,
    ) as search:
        return search.find_paths(starts, goals)
