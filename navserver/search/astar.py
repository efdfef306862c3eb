"""A*, weighted A* and Dijkstra over a grid, whole or in slices.

Sources: Hart, Nilsson and Raphael, "A Formal Basis for the Heuristic Determination of Minimum
Cost Paths" (1968), section II; Pohl, "Heuristic search viewed as path finding in a graph" (1970)
for the weight.
"""

from __future__ import annotations

import math
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver._jit import register_warm_up
from navserver.search.costs import Terrain
from navserver.search.engine import (
    EXHAUSTED,
    EXPANDED,
    OPEN_FULL,
    RUNNING,
    TOO_LONG,
    Query,
    Request,
    Scratch,
)
from navserver.search.engine_choice import SearchOptions, make_request
from navserver.search.grid import Grid, checked_movement
from navserver.search.heuristics import (
    Heuristic,
    best_heuristic,
    check_heuristic,
)
from navserver.search.islands import Islands, Reach, islands_of
from navserver.search.movement import MovementOptions, check_keywords
from navserver.search.nodes import (
    NEVER,
    CancelFlag,
    OneUser,
    SearchTrace,
    TraceArrays,
    checked_cancel,
    checked_trace,
)
from navserver.search.overrides import checked_query_cells
from navserver.search.path_kernels import (
    FRESH,
    GOAL_OPEN,
    SEARCHING,
    START_OPEN,
    WRITING,
    Outputs,
    advance_,
    begin_,
    find_paths_,
    finish_,
)
from navserver.search.results import PathResult
from navserver.search.scratch import empty_scratch, grown_scratch, scratch_with
from navserver.search.validation import (
    UNLIMITED,
    checked_count,
    checked_enum,
    checked_flag,
    checked_number,
)
from navserver.status import GridChangedError, InputError

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["ALGORITHMS", "AStar", "find_path"]

ALGORITHMS = ("astar", "dijkstra")

_NO_CELLS = np.empty(0, np.int64)
_NO_TRACE = TraceArrays(_NO_CELLS, _NO_CELLS, np.empty(0), np.empty(0))


class AStar:
    """A*, weighted A* and Dijkstra with scratch of their own, for many queries on one grid.

    Parameters
    ----------
    grid : Grid
        The map; each query sees it as it is then.
    heuristic : Heuristic, optional
        Default: MANHATTAN under NEVER, else OCTILE. ZERO makes it Dijkstra's algorithm.
    weight : float
        Factor >= 1 on the estimate: faster, and the cost is at most ``weight`` times the least.
    inexact : bool
        Accept a heuristic that overestimates; the result then promises nothing.
    max_expansions : int, optional
        Stop with LIMIT after so many expansions.
    max_cost : float, optional
        Do not look beyond this cost from the start, >= 0. Where a step was too dear and the goal
        has not been reached the status is LIMIT, even if no dearer path leads there either: that
        the search has not seen. `islands` tells it beforehand.
    allow_partial : bool
        Where the goal is not reached, return the path to the expanded cell nearest to it by
        octile distance, then of smaller g, then of smaller flat index.
    islands : bool
        Ask the islands first, so that a goal out of reach is told without a search. They are
        labeled at first use (some ns a cell) and kept under edits; where an edit has left them
        unsure, the search runs. Has no effect on queries with ``ignored_cells`` and on partial
        paths.
    **movement
        Keywords of `Movement`.

    Raises
    ------
    InputError
        If an option is out of its bounds.

    Notes
    -----
    Four engines do the work. On uniform cost: canonical ordering in fixed point, whose rounding
    is 1.1e-8 of a cell a diagonal step. On classes that cost small multiples of one: fixed point
    as well. On other costs up to some thousands apart: float64 and a bucket queue. Else, and for
    zero costs: float64 and a binary heap. The cost stated is the float64 sum along the path.
    Where a path is too long for fixed point (millions of cells) the search begins anew in
    float64; metrics and trace are then of the second one.

    Deterministic: the open list is ordered by smaller f, in buckets no wider than the least
    step, and the last in is the first out of a bucket; with the heap by smaller f, then larger
    g, then smaller flat index. Directions are generated clockwise from east; among parents of
    equal g the first stays. Slices and threads change nothing. One object serves one thread at a
    time. Time O(n log n); scratch 8 bytes a cell in fixed point, else 16, plus the open list.

    Examples
    --------
    >>> grid = Grid.from_blocked([[False, True, False], [False, False, False]])
    >>> result = AStar(grid).find_path((0, 0), (2, 0))
    >>> result.cost, result.cells.tolist()
    (4.0, [[0, 0], [0, 1], [1, 1], [2, 1], [2, 0]])
    """

    def __init__(
        self,
        grid: Grid,
        *,
        heuristic: Heuristic | None = None,
        weight: float = 1.0,
        inexact: bool = False,
        max_expansions: int | None = None,
        max_cost: float | None = None,
        allow_partial: bool = False,
        islands: bool = False,
        **movement: Unpack[MovementOptions],
    ) -> None:
        self._movement = checked_movement(grid, movement, AStar)
        self._grid = grid
        self._in_use = OneUser("AStar")
        if heuristic is None:
            heuristic = best_heuristic(self._movement.diagonal_mode)
        heuristic = checked_enum("heuristic", heuristic, Heuristic)
        self._options = SearchOptions(
            heuristic,
            checked_number("weight", weight, 1.0, "give a finite number >= 1"),
            checked_count("max_expansions", max_expansions),
            math.inf
            if max_cost is None
            else checked_number("max_cost", max_cost, 0.0, "give a number >= 0"),
            checked_flag("allow_partial", allow_partial),
        )
        self._ask_islands = checked_flag("islands", islands) and not self._options.allow_partial
        self._islands: Islands | None = None
        self.suboptimality = 1.0 if heuristic == Heuristic.ZERO else self._options.weight
        """What every FOUND promises, see `PathResult.suboptimality`."""
        if checked_flag("inexact", inexact):
            self.suboptimality = math.inf
        else:
            check_heuristic(heuristic, self._movement.diagonal_mode)
        grid.terrain(self._movement)
        self._scratch = empty_scratch()
        self._outputs = Outputs.of(1, 256)
        ends = np.zeros(2, np.int64)
        self._ends = ends[:1], ends[1:]
        # Views that Python reads and writes in a third of the time that arrays take.
        self._end_views = ends.data
        self._state_view: memoryview
        self._row_views: tuple[memoryview, memoryview, NDArray[np.int32]]
        self._prepared_version = 0
        self._terrain: Terrain
        self._request: Request
        self._arguments: tuple[Any, ...]
        self._own_arguments: tuple[Any, ...]
        self._search: _Search | None = None

    def find_path(
        self,
        start: tuple[int, int],
        goal: tuple[int, int],
        *,
        blocked_cells: ArrayLike | None = None,
        ignored_cells: ArrayLike | None = None,
        cancel: CancelFlag | None = None,
        trace: SearchTrace | None = None,
    ) -> PathResult:
        """Search whole.

        Parameters
        ----------
        start, goal : (int, int)
            Cells x and y.
        blocked_cells, ignored_cells : array-like of int, shape (n, 2), optional
            Up to 4,096 cells each that count as walls, or as walkable, in this query. A cell in
            both is walkable; one whose class blocks costs as class cost 1.
        cancel : CancelFlag, optional
            Stops the search from another thread.
        trace : SearchTrace, optional
            Receives the expansions.

        Returns
        -------
        PathResult
            FOUND, PARTIAL, UNREACHABLE, START_BLOCKED, GOAL_BLOCKED, LIMIT or CANCELLED.

        Raises
        ------
        CellError
            If a cell lies outside the map.
        """
        in_use = self._in_use.lock
        if not in_use.acquire(False):
            raise self._in_use.refusal()
        try:
            if trace is not None or blocked_cells is not None or ignored_cells is not None:
                self._begin(start, goal, blocked_cells, ignored_cells, cancel, trace)
                self._advance(UNLIMITED)
                return self._finish()
            self._search = None
            flag = NEVER if cancel is None else checked_cancel(cancel)
            grid = self._grid
            ends = self._end_views
            from_cell, to_cell = _flat_ends(grid, start, goal)
            ends[0] = from_cell
            ends[1] = to_cell
            if self._prepared_version != grid.version:
                self.prepare()
            if self._islands is None or not self._are_apart(from_cell, to_cell):
                state = self._state_view
                state[0] = state[1] = state[2] = 0
                if cancel is None:
                    outcome = find_paths_(*self._own_arguments)
                else:
                    outcome = self._call(*self._ends, self._outputs, flag)
                if outcome != FRESH:
                    outputs = self._make_room(outcome, self._outputs)
                    self._use_outputs(self.run(*self._ends, outputs, flag))
                return self._result(start, goal, grid.version)
            self._begin(start, goal)
            return self._finish()
        finally:
            in_use.release()

    def run(
        self,
        starts: NDArray[np.int64],
        goals: NDArray[np.int64],
        outputs: Outputs,
        cancel: CancelFlag,
    ) -> Outputs:
        """Search for many pairs of flat cells, on the grid as the last query has seen it.

        Parameters
        ----------
        starts, goals : int64 arrays (n,)
            Flat cells, which lie on the map.
        outputs : Outputs
            With a row a pair and a state of zeros.
        cancel : CancelFlag
            Stops it.

        Returns
        -------
        Outputs
            The outputs, grown if the paths found no room in them.
        """
        while (outcome := self._call(starts, goals, outputs, cancel)) != FRESH:
            outputs = self._make_room(outcome, outputs)
        return outputs

    def _call(
        self,
        starts: NDArray[np.int64],
        goals: NDArray[np.int64],
        outputs: Outputs,
        cancel: CancelFlag,
    ) -> int:
        return find_paths_(
            *self._arguments,  # type: ignore[call-arg]
            starts,
            goals,
            cancel.array,
            *outputs,
        )

    def _make_room(self, outcome: int, outputs: Outputs) -> Outputs:
        """Grant what a call of `find_paths_` has ended for, and return the outputs to go on."""
        if outcome == WRITING:
            return outputs.grown()
        if outcome == SEARCHING:
            self._use_scratch(grown_scratch(self._scratch, self._request.engine))
        else:
            self._use_wide_engine()
        return outputs

    def begin(
        self,
        start: tuple[int, int],
        goal: tuple[int, int],
        *,
        blocked_cells: ArrayLike | None = None,
        ignored_cells: ArrayLike | None = None,
        cancel: CancelFlag | None = None,
        trace: SearchTrace | None = None,
    ) -> None:
        """Begin a search in slices; any other that has not been finished is dropped before.

        Parameters
        ----------
        start, goal, blocked_cells, ignored_cells, cancel, trace
            As for `find_path`.

        Raises
        ------
        CellError
            If a cell lies outside the map.
        """
        with self._in_use:
            self._begin(start, goal, blocked_cells, ignored_cells, cancel, trace)

    def _begin(
        self,
        start: tuple[int, int],
        goal: tuple[int, int],
        blocked_cells: ArrayLike | None = None,
        ignored_cells: ArrayLike | None = None,
        cancel: CancelFlag | None = None,
        trace: SearchTrace | None = None,
    ) -> None:
        self._search = None
        grid = self._grid
        flag, trace = checked_cancel(cancel), checked_trace(trace)
        start_flat = grid.flat_index(start, "start")
        goal_flat = grid.flat_index(goal, "goal")
        blocked = checked_query_cells(grid, "blocked_cells", blocked_cells)
        ignored = checked_query_cells(grid, "ignored_cells", ignored_cells)
        if self._prepared_version != grid.version:
            self.prepare()
        request = self._request
        closes = opens = _NO_CELLS
        if blocked.size or ignored.size:
            request = self._make_request(overriding=True)
            closes, opens = grid.space(self._movement).anchors(blocked, ignored)
        scratch = scratch_with(self._scratch, request.engine, grid.size)
        if scratch is not self._scratch:
            self._use_scratch(scratch)
        query = Query(start_flat, goal_flat, goal_flat % grid.width, goal_flat // grid.width)
        ends = begin_(self._terrain, request, query, self._scratch, closes, opens)
        self._search = _Search(start, goal, request, query, ends, grid.version, flag, trace)
        if not ends & START_OPEN or not (ends & GOAL_OPEN or self._options.allow_partial):
            self._search.is_done = True
        elif not ignored.size and self._islands and self._are_apart(start_flat, goal_flat):
            self._search.is_done = True
            self._search.outcome = EXHAUSTED

    def advance(self, expansions: int) -> bool:
        """Go on for a slice.

        Parameters
        ----------
        expansions : int
            Most nodes to expand, 1 or more; a slice of 5,000 takes about 0.2 ms.

        Returns
        -------
        bool
            True when the search has ended and `finish` is due.

        Raises
        ------
        GridChangedError
            If the grid was edited since `begin`; the search is dropped.
        """
        if not isinstance(expansions, (int, np.integer)) or expansions < 1:
            raise InputError("expansions", expansions, "is not a budget", "give 1 or more")
        with self._in_use:
            return self._advance(int(expansions))

    def _advance(self, expansions: int) -> bool:
        search = self._current()
        counters = self._scratch.counters
        last = min(int(counters[EXPANDED]) + expansions, UNLIMITED)
        while not search.is_done:
            search.outcome = advance_(
                last - int(counters[EXPANDED]),
                self._terrain,
                search.request,
                search.query,
                self._scratch,
                _NO_TRACE if search.trace is None else search.trace.arrays,
                search.cancel.array,
            )
            if search.outcome == RUNNING:
                return False
            if search.outcome == OPEN_FULL:
                self._use_scratch(grown_scratch(self._scratch, search.request.engine))
            elif search.outcome == TOO_LONG:
                last -= int(counters[EXPANDED])
                self._use_wide_engine()
                search.request = self._request
                begin_(
                    self._terrain, search.request, search.query, self._scratch, _NO_CELLS, _NO_CELLS
                )
                search.outcome = RUNNING
                if last <= 0:
                    return False
            else:
                search.is_done = True
        return True

    def finish(self) -> PathResult:
        """End the search and return its result.

        Returns
        -------
        PathResult
            As for `find_path`; CANCELLED (or PARTIAL) if `advance` has not returned True.

        Raises
        ------
        GridChangedError
            If the grid was edited since `begin`; the search is dropped.
        """
        with self._in_use:
            return self._finish()

    def _finish(self) -> PathResult:
        search = self._current()
        self._search = None
        grid = self._grid
        if search.trace is not None:
            expanded = int(self._scratch.counters[EXPANDED])
            search.trace.close(expanded, grid.width, grid.region_position)
        outputs = self._outputs
        outputs.totals[0] = np.inf
        while not finish_(
            self._terrain,
            search.request,
            search.query,
            self._scratch,
            grid.region_position,
            search.ends,
            search.outcome,
            outputs,
        ):
            outputs = outputs.grown()
        if outputs is not self._outputs:
            self._use_outputs(outputs)
        return self._result(search.start, search.goal, search.map_version)

    def prepare(self) -> None:
        """Read the grid's arrays again after an edit, and choose the engine.

        Queries do so themselves; `run` does not.
        """
        if self._ask_islands:
            self._islands = islands_of(self._grid, self._movement)
        self._terrain = self._grid.terrain(self._movement)
        self._use_request(self._make_request())
        self._prepared_version = self._grid.version

    def _are_apart(self, start: int, goal: int) -> bool:
        """Return whether the islands are sure that no way leads from one flat cell to another."""
        assert self._islands is not None
        return self._islands.may_reach(start, goal) is Reach.SEPARATE

    def _use_wide_engine(self) -> None:
        """Go on in float64 where a path is too long for fixed point."""
        self._use_request(self._make_request(is_long=True))

    def _use_request(self, request: Request) -> None:
        self._request = request
        self._use_scratch(scratch_with(self._scratch, request.engine, self._grid.size))

    def _use_scratch(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._arguments = self._take_apart()
        self._use_outputs(self._outputs)

    def _use_outputs(self, outputs: Outputs) -> None:
        self._outputs = outputs
        self._state_view = outputs.state.data
        self._row_views = outputs.summary[0].data, outputs.totals[0].data, outputs.cells
        # To gather all arguments takes as long as some searches, so that is not done a query.
        self._own_arguments = (*self._arguments, *self._ends, NEVER.array, *outputs)

    def _take_apart(self) -> tuple[Any, ...]:
        """Return the first arguments of `find_paths_`."""
        scratch = self._scratch
        i = scratch._fields.index("heap")
        *scalars, offsets, successors, step_ranks = self._request
        integers = [value for value in scalars if not isinstance(value, float)]
        return (
            *self._terrain,
            np.array([*integers, *offsets], np.int64),
            np.array([value for value in scalars if isinstance(value, float)], np.float64),
            successors,
            step_ranks,
            *scratch[:i],
            *scratch.heap,
            *scratch[i + 1 :],
            *self._grid.region_position,
        )

    def _make_request(self, *, overriding: bool = False, is_long: bool = False) -> Request:
        return make_request(
            self._grid, self._movement, self._options, overriding=overriding, is_long=is_long
        )

    def _current(self) -> _Search:
        search = self._search
        if search is None:
            raise InputError(
                "search", "AStar", "has no search in slices under way", "call begin first"
            )
        if search.map_version != self._grid.version:
            self._search = None
            raise GridChangedError(
                f"the grid went from version {search.map_version} to {self._grid.version} "
                "during the search; begin it again, or search a copy of the grid"
            )
        return search

    def _result(
        self, start: tuple[int, int], goal: tuple[int, int], map_version: int
    ) -> PathResult:
        """Return row 0 of the outputs, in the order of `ResultRow`."""
        summary, totals, cells = self._row_views
        status, detail, _, count, expanded, generated, reopened, peak = summary.tolist()
        cost, length = totals.tolist()
        row = (
            status,
            detail,
            start,
            goal,
            cells[:count].copy(),
            cost,
            length,
            self.suboptimality,
            expanded,
            generated,
            reopened,
            peak,
            map_version,
        )
        return PathResult(row)


def _flat_ends(grid: Grid, start: tuple[int, int], goal: tuple[int, int]) -> tuple[int, int]:
    """Return the flat cells of two ends; what is wrong with one is left to the grid to tell."""
    origin_x, origin_y = grid.region_position
    width, height = grid.width, grid.height
    try:
        x, y = start
        goal_x, goal_y = goal
        x = index(x) - origin_x
        y = index(y) - origin_y
        goal_x = index(goal_x) - origin_x
        goal_y = index(goal_y) - origin_y
    except (TypeError, ValueError):
        pass
    else:
        if 0 <= x < width and 0 <= y < height and 0 <= goal_x < width and 0 <= goal_y < height:
            return y * width + x, goal_y * width + goal_x
    return grid.flat_index(start, "start"), grid.flat_index(goal, "goal")


class _Search:
    """The state of a begun search that lies outside the arrays."""

    __slots__ = (
        "cancel", "ends", "goal", "is_done", "map_version", "outcome", "query", "request",
        "start", "trace",
    )  # fmt: skip

    def __init__(
        self,
        start: tuple[int, int],
        goal: tuple[int, int],
        request: Request,
        query: Query,
        ends: int,
        map_version: int,
        cancel: CancelFlag,
        trace: SearchTrace | None,
    ) -> None:
        self.start = start
        self.goal = goal
        self.request = request
        self.query = query
        self.ends = ends
        self.map_version = map_version
        self.cancel = cancel
        self.trace = trace
        self.outcome = RUNNING
        self.is_done = False


def find_path(
    grid: Grid,
    start: tuple[int, int],
    goal: tuple[int, int],
    *,
    algorithm: str = "astar",
    heuristic: Heuristic | None = None,
    weight: float = 1.0,
    inexact: bool = False,
    max_expansions: int | None = None,
    max_cost: float | None = None,
    allow_partial: bool = False,
    islands: bool = False,
    blocked_cells: ArrayLike | None = None,
    ignored_cells: ArrayLike | None = None,
    cancel: CancelFlag | None = None,
    trace: SearchTrace | None = None,
    **movement: Unpack[MovementOptions],
) -> PathResult:
    """Find one path; for many on one grid, keep an `AStar`.

    Parameters
    ----------
    grid : Grid
        The map.
    start, goal : (int, int)
        Cells x and y.
    algorithm : {"astar", "dijkstra"}
        Dijkstra's is A* with the heuristic ZERO, and without a weight.
    heuristic, weight, inexact, max_expansions, max_cost, allow_partial, islands
        As for `AStar`.
    blocked_cells, ignored_cells, cancel, trace
        As for `AStar.find_path`.
    **movement
        As for `AStar`.

    Returns
    -------
    PathResult
        Status, cells, cost and metrics.

    Raises
    ------
    InputError
        If an argument is out of its bounds.

    Examples
    --------
    >>> find_path(Grid.filled(3, 3), (0, 0), (2, 2)).cells.tolist()
    [[0, 0], [1, 1], [2, 2]]
    """
    if algorithm not in ALGORITHMS:
        raise InputError(
            "algorithm", algorithm, "is not known", f"choose one of {', '.join(ALGORITHMS)}"
        )
    check_keywords(movement, find_path)
    if algorithm == "dijkstra":
        if weight != 1.0:
            raise InputError(
                "weight", weight, "does not go with dijkstra", "leave it out, or use astar"
            )
        if heuristic not in (None, Heuristic.ZERO):
            raise InputError(
                "heuristic", heuristic, "does not go with dijkstra", "leave it out, or use astar"
            )
        heuristic = Heuristic.ZERO
    search = AStar(
        grid,
        heuristic=heuristic,
        weight=weight,
        inexact=inexact,
        max_expansions=max_expansions,
        max_cost=max_cost,
        allow_partial=allow_partial,
        islands=islands,
        **movement,
    )
    return search.find_path(
        start,
        goal,
        blocked_cells=blocked_cells,
        ignored_cells=ignored_cells,
        cancel=cancel,
        trace=trace,
    )


def _warm_up() -> None:
    search = AStar(Grid([[0, 0]]))
    search.find_path((0, 0), (1, 0))
    search.find_path((0, 0), (1, 0), ignored_cells=[[1, 0]])


register_warm_up("A*", _warm_up)
