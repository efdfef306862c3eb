"""A*, weighted A* and Dijkstra over a grid, whole or in slices.

Sources: Hart, Nilsson and Raphael, "A Formal Basis for the Heuristic Determination of Minimum
Cost Paths" (1968), section II; Pohl, "Heuristic search viewed as path finding in a graph" (1970)
for the weight.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver._jit import kernel, register_warm_up
from navserver.search.costs import SQRT2, Terrain, cell_cost_, step_cost_
from navserver.search.grid import Grid
from navserver.search.heuristics import (
    OCTILE,
    Heuristic,
    best_heuristic,
    check_heuristic,
    distance_,
    least_unit_cost,
)
from navserver.search.movement import Movement, MovementOptions
from navserver.search.moves import DX, DY
from navserver.search.nodes import (
    CLOSED,
    GENERATED,
    HAS_PARENT,
    MASK_BITS,
    PARENT_SHIFT,
    PATCHED,
    QUERY_BITS,
    STAMP_SHIFT,
    CancelFlag,
    NodePool,
    Nodes,
    OpenList,
    SearchMetrics,
    SearchTrace,
    TraceArrays,
    is_open_,
    override_nodes_,
    pop_open_,
    push_open_,
    unpack_cells,
)
from navserver.search.results import PathResult
from navserver.search.validation import UNLIMITED, checked_count, checked_enum, checked_number
from navserver.status import CellError, Detail, GridChangedError, InputError, Status

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["ALGORITHMS", "AStar", "find_path"]

ALGORITHMS = ("astar", "dijkstra")
MAX_QUERY_CELLS = 4096

# Why `advance_` returned.
RUNNING, REACHED, EXHAUSTED, EXPANSION_LIMIT, CANCELLED, OPEN_FULL = range(6)

# Entries of the counters and of the floats that a search carries from slice to slice.
OPEN_SIZE, EXPANDED, GENERATED_COUNT, REOPENED, OPEN_PEAK, NEAREST, COST_PRUNED = range(7)
NEAREST_DISTANCE, NEAREST_G = range(2)

# A closed node is reopened only if its g falls by more than rounding can explain.
REOPEN_MARGIN = 1.0 - 2.0**-40
CANCEL_EVERY = 1024


class Query(NamedTuple):
    """One search, as its kernels see it."""

    start: int
    goal: int
    goal_x: int
    goal_y: int
    stamp: int
    heuristic: int
    unit_cost: float
    weight: float
    max_expansions: int
    max_cost: float


@kernel
def begin_(
    terrain: Terrain,
    query: Query,
    nodes: Nodes,
    open_list: OpenList,
    counters: NDArray[np.int64],
    floats: NDArray[np.float64],
) -> int:
    """Put the start on the open list. Return bit 0: start is open, bit 1: goal is open."""
    counters[:] = 0
    counters[NEAREST] = query.start
    floats[NEAREST_DISTANCE] = np.inf
    floats[NEAREST_G] = np.inf
    start_open = is_open_(terrain, nodes, query.stamp, query.start)
    goal_open = is_open_(terrain, nodes, query.stamp, query.goal)
    word = nodes.words[2 * query.start]
    kept = word & QUERY_BITS if word >> STAMP_SHIFT == query.stamp else 0
    nodes.words[2 * query.start] = (query.stamp << STAMP_SHIFT) | kept | GENERATED
    nodes.g[2 * query.start + 1] = 0.0
    y = query.start // terrain.width
    dx = query.start - y * terrain.width - query.goal_x
    h = query.unit_cost * distance_(query.heuristic, dx, y - query.goal_y)
    counters[OPEN_SIZE] = push_open_(open_list, 0, query.weight * h, 0.0, query.start)
    counters[GENERATED_COUNT] = 1
    counters[OPEN_PEAK] = 1
    return int(start_open) | (int(goal_open) << 1)


@kernel
def advance_(
    budget: int,
    terrain: Terrain,
    query: Query,
    nodes: Nodes,
    open_list: OpenList,
    trace: TraceArrays,
    cancel: NDArray[np.uint8],
    counters: NDArray[np.int64],
    floats: NDArray[np.float64],
) -> int:
    """Expand at most `budget` nodes and return why it stopped.

    Invariant: between two expansions every node that is generated and not closed has an entry
    with its g on the open list; entries with another g are outdated.
    """
    width = terrain.width
    size = counters[OPEN_SIZE]
    expanded = counters[EXPANDED]
    last = expanded + budget
    outcome = RUNNING
    while True:
        if size == 0:
            outcome = EXHAUSTED
            break
        cell = open_list.cell[0]
        g = open_list.g[0]
        word = nodes.words[2 * cell]
        if word & CLOSED or nodes.g[2 * cell + 1] != g:
            size = pop_open_(open_list, size)
            continue
        if size + 8 > open_list.f.size:
            outcome = OPEN_FULL
            break
        if expanded >= query.max_expansions:
            outcome = EXPANSION_LIMIT
            break
        if expanded >= last:
            break
        if expanded & (CANCEL_EVERY - 1) == 0 and cancel[0]:
            outcome = CANCELLED
            break
        size = pop_open_(open_list, size)
        nodes.words[2 * cell] = word | CLOSED
        y = cell // width
        x = cell - y * width
        arrival = (word >> PARENT_SHIFT) & 7
        if expanded < trace.cells.size:
            trace.cells[expanded] = cell
            trace.parents[expanded] = cell
            if word & HAS_PARENT:
                trace.parents[expanded] = cell - DY[arrival] * width - DX[arrival]
            trace.g[expanded] = g
            trace.h[expanded] = query.unit_cost * distance_(
                query.heuristic, x - query.goal_x, y - query.goal_y
            )
        expanded += 1
        if cell == query.goal:
            outcome = REACHED
            break
        away = distance_(OCTILE, x - query.goal_x, y - query.goal_y)
        if away < floats[NEAREST_DISTANCE] or (
            away == floats[NEAREST_DISTANCE]
            and (g < floats[NEAREST_G] or (g == floats[NEAREST_G] and cell < counters[NEAREST]))
        ):
            floats[NEAREST_DISTANCE] = away
            floats[NEAREST_G] = g
            counters[NEAREST] = cell
        from_cost = cell_cost_(terrain, cell)
        moves = word & MASK_BITS if word & PATCHED else np.int64(terrain.masks[cell])
        for direction in range(8):
            if not (moves >> direction) & 1:
                continue
            to = cell + DY[direction] * width + DX[direction]
            to_g = g + step_cost_(terrain, from_cost, to, direction)
            to_word = nodes.words[2 * to]
            if to_word >> STAMP_SHIFT != query.stamp:
                to_word = query.stamp << STAMP_SHIFT
            if to_word & GENERATED:
                if to_word & CLOSED:
                    if to_g >= nodes.g[2 * to + 1] * REOPEN_MARGIN:
                        continue
                    counters[REOPENED] += 1
                elif to_g >= nodes.g[2 * to + 1]:
                    continue
            if to_g > query.max_cost:
                counters[COST_PRUNED] = 1
                continue
            nodes.words[2 * to] = (
                (query.stamp << STAMP_SHIFT)
                | (to_word & QUERY_BITS)
                | GENERATED
                | HAS_PARENT
                | (direction << PARENT_SHIFT)
            )
            nodes.g[2 * to + 1] = to_g
            h = query.unit_cost * distance_(
                query.heuristic, x + DX[direction] - query.goal_x, y + DY[direction] - query.goal_y
            )
            size = push_open_(open_list, size, to_g + query.weight * h, to_g, to)
            counters[GENERATED_COUNT] += 1
        counters[OPEN_PEAK] = max(counters[OPEN_PEAK], size)
    counters[OPEN_SIZE] = size
    counters[EXPANDED] = expanded
    return outcome


@kernel
def count_path_(width: int, nodes: Nodes, end: int) -> int:
    """Return how many cells the path to a node has, both ends included."""
    count = 1
    word = nodes.words[2 * end]
    while word & HAS_PARENT:
        direction = (word >> PARENT_SHIFT) & 7
        end -= DY[direction] * width + DX[direction]
        word = nodes.words[2 * end]
        count += 1
    return count


@kernel
def write_path_(
    terrain: Terrain,
    nodes: Nodes,
    end: int,
    cells: NDArray[np.int64],
    totals: NDArray[np.float64],
) -> None:
    """Write the path's flat cells, and its cost and length summed from the start."""
    cell = end
    for i in range(cells.size - 1, -1, -1):
        cells[i] = cell
        direction = (nodes.words[2 * cell] >> PARENT_SHIFT) & 7
        cell -= DY[direction] * terrain.width + DX[direction]
    cost = 0.0
    diagonal_steps = 0
    for i in range(1, cells.size):
        direction = (nodes.words[2 * cells[i]] >> PARENT_SHIFT) & 7
        cost += step_cost_(terrain, cell_cost_(terrain, cells[i - 1]), cells[i], direction)
        diagonal_steps += direction & 1
    totals[0] = cost
    totals[1] = cells.size - 1 - diagonal_steps + SQRT2 * diagonal_steps


_NO_CELLS = np.empty(0, np.int64)
_NO_TRACE = TraceArrays(_NO_CELLS, _NO_CELLS, np.empty(0), np.empty(0))
_NEVER = CancelFlag()
_WITHOUT_PATH = SearchMetrics(0, 0, 0, 0)


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
        Do not look beyond this cost from the start, >= 0.
    allow_partial : bool
        Where the goal is not reached, return the path to the expanded cell nearest to it by
        octile distance, then of smaller g, then of smaller flat index.
    **movement
        Keywords of `Movement`: ``profile``, ``diagonal_mode``, ``cost_model``, ``overlays``.

    Raises
    ------
    InputError
        If an option is out of its bounds.

    Notes
    -----
    Deterministic: the open list is ordered by smaller f, then larger g, then smaller flat index;
    directions are generated clockwise from east; among parents of equal g the first stays.
    Slices and threads change nothing. One object serves one thread at a time. Time O(n log n),
    scratch 16 bytes a cell plus the open list.

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
        **movement: Unpack[MovementOptions],
    ) -> None:
        self._grid = grid
        self._movement = Movement(**movement)
        if heuristic is None:
            heuristic = best_heuristic(self._movement.diagonal_mode)
        self._heuristic = checked_enum("heuristic", heuristic, Heuristic)
        self._weight = checked_number("weight", weight, 1.0, "give a finite number >= 1")
        self._max_expansions = checked_count("max_expansions", max_expansions)
        self._max_cost = math.inf
        if max_cost is not None:
            self._max_cost = checked_number("max_cost", max_cost, 0.0, "give a number >= 0")
        self._allow_partial = bool(allow_partial)
        self._suboptimality = self._weight if self._heuristic != Heuristic.ZERO else 1.0
        if inexact:
            self._suboptimality = math.inf
        else:
            check_heuristic(self._heuristic, self._movement.diagonal_mode)
        grid.terrain(self._movement)
        self._pool = NodePool(grid.size)
        self._open_list = OpenList.of(1024)
        self._counters = np.zeros(7, np.int64)
        self._floats = np.zeros(2, np.float64)
        self._prepared_version = 0
        self._terrain: Terrain
        self._unit_cost = 0.0
        self._unit_cost_ignoring = 0.0
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
        self.begin(
            start,
            goal,
            blocked_cells=blocked_cells,
            ignored_cells=ignored_cells,
            cancel=cancel,
            trace=trace,
        )
        self.advance(UNLIMITED)
        return self.finish()

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
        """Begin a search in slices, in place of any other that has not been finished.

        Parameters
        ----------
        start, goal, blocked_cells, ignored_cells, cancel, trace
            As for `find_path`.

        Raises
        ------
        CellError
            If a cell lies outside the map.
        """
        grid = self._grid
        start_flat = grid.flat_index(start, "start")
        goal_flat = grid.flat_index(goal, "goal")
        blocked = _checked_query_cells(grid, "blocked_cells", blocked_cells)
        ignored = _checked_query_cells(grid, "ignored_cells", ignored_cells)
        self._search = None
        self._prepare()
        stamp = self._pool.next_stamp()
        if blocked.size or ignored.size:
            closes, opens = grid.space(self._movement).anchors(blocked, ignored)
            override_nodes_(self._terrain, self._pool.arrays, stamp, closes, opens)
        query = Query(
            start=start_flat,
            goal=goal_flat,
            goal_x=goal_flat % grid.width,
            goal_y=goal_flat // grid.width,
            stamp=stamp,
            heuristic=int(self._heuristic),
            unit_cost=self._unit_cost_ignoring if ignored.size else self._unit_cost,
            weight=self._weight,
            max_expansions=self._max_expansions,
            max_cost=self._max_cost,
        )
        ends = begin_(
            self._terrain, query, self._pool.arrays, self._open_list, self._counters, self._floats
        )
        self._search = _Search(query, start, goal, grid.version, cancel or _NEVER, trace)
        if not ends & 1:
            self._search.blocked = Status.START_BLOCKED
        elif not ends & 2:
            self._search.goal_blocked = True
            if not self._allow_partial:
                self._search.blocked = Status.GOAL_BLOCKED

    def advance(self, expansions: int) -> bool:
        """Go on for a slice.

        Parameters
        ----------
        expansions : int
            Most nodes to expand, 1 or more; a slice of 2,000 takes about 0.2 ms.

        Returns
        -------
        bool
            True when the search has ended and `finish` is due.

        Raises
        ------
        GridChangedError
            If the grid was edited since `begin`; the search is dropped.
        """
        search = self._current()
        if not isinstance(expansions, (int, np.integer)) or expansions < 1:
            raise InputError("expansions", expansions, "is not a budget", "give 1 or more")
        if search.blocked is not None or search.outcome not in (RUNNING, OPEN_FULL):
            return True
        last = min(int(self._counters[EXPANDED]) + int(expansions), UNLIMITED)
        while True:
            search.outcome = advance_(
                last - int(self._counters[EXPANDED]),
                self._terrain,
                search.query,
                self._pool.arrays,
                self._open_list,
                _NO_TRACE if search.trace is None else search.trace.arrays,
                search.cancel.array,
                self._counters,
                self._floats,
            )
            if search.outcome != OPEN_FULL:
                return search.outcome != RUNNING
            self._open_list = self._open_list.grown()

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
        search = self._current()
        self._search = None
        if search.trace is not None:
            search.trace.close(
                int(self._counters[EXPANDED]), self._grid.width, self._grid.region_position
            )
        if search.blocked is not None:
            return self._without_path(search, search.blocked, Detail.NONE)
        if search.outcome == REACHED:
            return self._with_path(search, Status.FOUND, Detail.NONE, search.query.goal)
        status, detail = self._why_not(search)
        # Until the start is expanded there is nothing to be near to the goal.
        if self._allow_partial and self._counters[EXPANDED] > 0:
            return self._with_path(search, Status.PARTIAL, detail, int(self._counters[NEAREST]))
        return self._without_path(search, status, detail)

    def _prepare(self) -> None:
        """Read the grid's arrays again if it has been edited."""
        grid = self._grid
        if self._prepared_version == grid.version:
            return
        self._terrain = grid.terrain(self._movement)
        least = grid.least_cost(self._movement)
        self._unit_cost = least_unit_cost(
            0.0 if math.isinf(least) else least, self._movement.cost_model
        )
        self._unit_cost_ignoring = least_unit_cost(
            grid.least_cost(self._movement, ignoring=True), self._movement.cost_model
        )
        self._prepared_version = grid.version

    def _current(self) -> _Search:
        search = self._search
        if search is None:
            raise InputError("search", None, "has not begun", "call begin first")
        if search.map_version != self._grid.version:
            self._search = None
            raise GridChangedError(
                f"the grid went from version {search.map_version} to {self._grid.version} "
                "during the search; begin it again, or search a copy of the grid"
            )
        return search

    def _why_not(self, search: _Search) -> tuple[Status, Detail]:
        blocked = Detail.GOAL_BLOCKED if search.goal_blocked else Detail.NONE
        if search.outcome == EXPANSION_LIMIT:
            return Status.LIMIT, Detail.EXPANSION_LIMIT | blocked
        if search.outcome == EXHAUSTED:
            if self._counters[COST_PRUNED]:
                return Status.LIMIT, Detail.COST_LIMIT | blocked
            return Status.UNREACHABLE, blocked or Detail.UNREACHABLE
        return Status.CANCELLED, Detail.CANCELLED | blocked

    def _with_path(self, search: _Search, status: Status, detail: Detail, end: int) -> PathResult:
        grid = self._grid
        flat = np.empty(count_path_(grid.width, self._pool.arrays, end), np.int64)
        totals = np.empty(2, np.float64)
        write_path_(self._terrain, self._pool.arrays, end, flat, totals)
        return self._result(
            search,
            status,
            detail,
            unpack_cells(flat, grid.width, grid.region_position),
            float(totals[0]),
            float(totals[1]),
        )

    def _without_path(self, search: _Search, status: Status, detail: Detail) -> PathResult:
        return self._result(search, status, detail, np.empty((0, 2), np.int32), math.inf, math.inf)

    def _result(
        self,
        search: _Search,
        status: Status,
        detail: Detail,
        cells: NDArray[np.int32],
        cost: float,
        length: float,
    ) -> PathResult:
        counters = self._counters
        metrics = _WITHOUT_PATH
        if search.blocked is None:
            metrics = SearchMetrics(
                int(counters[EXPANDED]),
                int(counters[GENERATED_COUNT]),
                int(counters[REOPENED]),
                int(counters[OPEN_PEAK]),
            )
        return PathResult(
            status=status,
            detail=detail,
            start=search.start,
            goal=search.goal,
            cells=cells,
            cost=cost,
            length=length,
            suboptimality=self._suboptimality,
            metrics=metrics,
            map_version=search.map_version,
        )


class _Search:
    """The state of a begun search that lies outside the arrays."""

    __slots__ = (
        "blocked", "cancel", "goal", "goal_blocked", "map_version", "outcome", "query", "start",
        "trace",
    )  # fmt: skip

    def __init__(
        self,
        query: Query,
        start: tuple[int, int],
        goal: tuple[int, int],
        map_version: int,
        cancel: CancelFlag,
        trace: SearchTrace | None,
    ) -> None:
        self.query = query
        self.start = (int(start[0]), int(start[1]))
        self.goal = (int(goal[0]), int(goal[1]))
        self.map_version = map_version
        self.cancel = cancel
        self.trace = trace
        self.blocked: Status | None = None
        self.goal_blocked = False
        self.outcome = RUNNING


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
        Dijkstra's is A* with the heuristic ZERO.
    heuristic, weight, inexact, max_expansions, max_cost, allow_partial
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
    if algorithm == "dijkstra":
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


def _checked_query_cells(grid: Grid, field: str, cells: ArrayLike | None) -> NDArray[np.int64]:
    if cells is None:
        return _NO_CELLS
    flat = grid.flat_indices(cells, field)
    if flat.size > MAX_QUERY_CELLS:
        raise CellError(
            field, flat.size, "is too many cells",
            f"give at most {MAX_QUERY_CELLS}, or edit the grid",
        )  # fmt: skip
    return flat


def _warm_up() -> None:
    grid = Grid([[0, 0]], cell_scale=[[1.0, 1.0]], layers={"layer": [[0.0, 0.0]]})
    search = AStar(grid, overlays={"layer": 1.0})
    search.find_path((0, 0), (1, 0), blocked_cells=[[1, 0]], ignored_cells=[[1, 0]])


register_warm_up("A*", _warm_up)
