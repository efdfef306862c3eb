"""From one cell to many: cells within a budget, the nearest of many goals, cost matrices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver._jit import kernel, register_warm_up, subkernel
from navserver.search.costs import MEAN, PRODUCT, SQRT2, Terrain, cell_cost_
from navserver.search.fields import NO_DIRECTION
from navserver.search.grid import Grid, checked_movement
from navserver.search.movement import MovementOptions, check_keywords
from navserver.search.moves import DX, DY
from navserver.search.nodes import CancelFlag, OneUser, SearchMetrics, unpack_cells
from navserver.search.overrides import checked_query_cells, overridden_masks
from navserver.search.results import PathResult, ResultRow
from navserver.search.validation import checked_number
from navserver.search.wavefront import Outcome, Wavefront
from navserver.status import Detail, InputError, Status

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["NearestGoal", "OneToMany", "Reachable", "cost_matrix", "nearest_goal", "reachable"]


_NOTHING_DONE = SearchMetrics(0, 0, 0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class NearestGoal:
    """The goal of least path cost."""

    index: int
    """Its index among the goals, -1 if none can be reached."""
    path: PathResult
    """The path to it; its `status` tells why where there is none."""


class Reachable:
    """The cells within a cost budget of a start; `reachable` makes it.

    Parameters
    ----------
    grid : Grid
        The map.
    budget : float
        The budget asked for.
    flat : int64 array (n,)
        The cells in order.
    search : Wavefront
        A search that has labelled them.
    """

    def __init__(
        self, grid: Grid, budget: float, flat: NDArray[np.int64], search: Wavefront
    ) -> None:
        costs, directions = search.read(flat)
        self.budget = budget
        """The budget asked for."""
        self.cells = unpack_cells(flat, grid.width, grid.region_position)
        """int32 array (n, 2): cells x and y, row by row; the start is among them."""
        self.costs = costs
        """float64 array (n,): least cost from the start to each."""
        self.directions = directions
        """uint8 array (n,): the step by which each is entered, 0 to 7; 255 for the start."""
        self.map_version = search.map_version
        """Version of the grid that was searched."""
        self.metrics = search.metrics
        """What the search did."""
        self._grid = grid
        self._flat = flat

    def __len__(self) -> int:
        """Return the number of cells."""
        return int(self._flat.size)

    def __contains__(self, cell: tuple[int, int]) -> bool:
        """Return whether a cell of the map is within the budget."""
        return self._grid.contains(cell) and self._place(cell) >= 0

    def cost_at(self, cell: tuple[int, int]) -> float:
        """Return the cost to a cell.

        Parameters
        ----------
        cell : (int, int)
            x and y.

        Returns
        -------
        float
            ``inf`` beyond the budget.

        Raises
        ------
        CellError
            If the cell lies outside the map.
        """
        place = self._place(cell)
        return float(self.costs[place]) if place >= 0 else math.inf

    def path_to(self, cell: tuple[int, int]) -> NDArray[np.int32]:
        """Return a least-cost path to a cell, without a search.

        Parameters
        ----------
        cell : (int, int)
            x and y.

        Returns
        -------
        int32 array (n, 2)
            Cells from the start on, both ends included; (0, 2) beyond the budget. Time
            O(n log m) for m reachable cells.

        Raises
        ------
        CellError
            If the cell lies outside the map.
        """
        place = self._place(cell)
        steps = count_sparse_(self._flat, self.directions, self._grid.width, place)
        path = np.empty(steps, np.int64)
        follow_sparse_(self._flat, self.directions, self._grid.width, place, path)
        return unpack_cells(path, self._grid.width, self._grid.region_position)

    def _place(self, cell: tuple[int, int]) -> int:
        flat = self._grid.flat_index(cell)
        place = int(np.searchsorted(self._flat, flat))
        return place if place < self._flat.size and self._flat[place] == flat else -1


@subkernel
def place_(flat: NDArray[np.int64], cell: int) -> int:
    """Return where a cell stands among sorted ones that hold it."""
    low = 0
    high = flat.size
    while high - low > 1:
        middle = (low + high) >> 1
        if flat[middle] <= cell:
            low = middle
        else:
            high = middle
    return low


@kernel
def count_sparse_(
    flat: NDArray[np.int64], directions: NDArray[np.uint8], width: int, place: int
) -> int:
    """Return how many cells the path to a sorted cell has; 0 for the place -1."""
    if place < 0:
        return 0
    count = 1
    while directions[place] != NO_DIRECTION:
        direction = directions[place]
        place = place_(flat, flat[place] - DY[direction] * width - DX[direction])
        count += 1
    return count


@kernel
def follow_sparse_(
    flat: NDArray[np.int64],
    directions: NDArray[np.uint8],
    width: int,
    place: int,
    path: NDArray[np.int64],
) -> None:
    """Write the path to a sorted cell, from the start on."""
    for i in range(path.size - 1, -1, -1):
        path[i] = flat[place]
        direction = directions[place]
        if direction != NO_DIRECTION:
            place = place_(flat, flat[place] - DY[direction] * width - DX[direction])


@subkernel
def is_diagonal_(width: int, cell: int, to: int) -> bool:
    """Return whether a step changes both row and column."""
    return cell // width != to // width and cell % width != to % width


@kernel
def path_totals_(terrain: Terrain, cells: NDArray[np.int64], totals: NDArray[np.float64]) -> None:
    """Write a path's cost, summed from its start, and its length."""
    cost = 0.0
    diagonal_steps = 0
    for i in range(1, cells.size):
        step = cell_cost_(terrain, cells[i])
        if terrain.cost_model == MEAN:
            step = (cell_cost_(terrain, cells[i - 1]) + step) * 0.5
        elif terrain.cost_model == PRODUCT:
            step = cell_cost_(terrain, cells[i - 1]) * step
        if is_diagonal_(terrain.width, cells[i - 1], cells[i]):
            step *= SQRT2
            diagonal_steps += 1
        cost += step
    totals[0] = cost
    totals[1] = cells.size - 1 - diagonal_steps + SQRT2 * diagonal_steps


class OneToMany:
    """Queries from one cell to many with scratch of their own, for many on one grid.

    Parameters
    ----------
    grid : Grid
        The map; each query sees it as it is then.
    **movement
        Keywords of `Movement`.

    Raises
    ------
    InputError
        If an option is out of its bounds.

    Notes
    -----
    Work and memory touched depend on the area that a query searches, not on the map: 13 bytes a
    cell. Deterministic. One object serves one thread at a time. Costs are exact as those of
    `distance_map`.

    Examples
    --------
    >>> queries = OneToMany(Grid.filled(9, 9))
    >>> len(queries.reachable((4, 4), 2.5))
    21
    """

    def __init__(self, grid: Grid, **movement: Unpack[MovementOptions]) -> None:
        self._grid = grid
        self._search = Wavefront(grid, checked_movement(grid, movement, OneToMany), record=True)
        self._in_use = OneUser("OneToMany")

    @property
    def _terrain(self) -> Terrain:
        """What the queries see, as of the grid's present version."""
        self._search.prepare()
        return self._search.terrain

    def reachable(
        self,
        start: tuple[int, int],
        budget: float,
        *,
        blocked_cells: ArrayLike | None = None,
        cancel: CancelFlag | None = None,
    ) -> Reachable:
        """Return the cells within a cost budget, as `reachable` does.

        Parameters
        ----------
        start : (int, int)
            An open cell.
        budget : float
            Finite, >= 0.
        blocked_cells : array-like of int, shape (n, 2), optional
            Cells that count as walls in this query.
        cancel : CancelFlag, optional
            Stops the search from another thread.

        Returns
        -------
        Reachable
            Cells, costs and paths; it owns what it holds.

        Raises
        ------
        InputError
            If the start is blocked or outside the map, the budget is no number >= 0, or the
            search was cancelled.
        """
        with self._in_use:
            return self._reachable(start, budget, blocked_cells, cancel)

    def _reachable(
        self,
        start: tuple[int, int],
        budget: float,
        blocked_cells: ArrayLike | None,
        cancel: CancelFlag | None,
    ) -> Reachable:
        limit = checked_number("budget", budget, 0.0, "give a finite number >= 0")
        grid, search = self._grid, self._search
        flat = grid.flat_index(start, "start")
        blocked = checked_query_cells(grid, "blocked_cells", blocked_cells)
        terrain = self._terrain
        is_open = terrain.open_table[terrain.space[flat]] != 0
        if blocked.size:
            movement, nothing = search.movement, blocked[:0]
            is_open = is_open and flat not in grid.space(movement).anchors(blocked, nothing)[0]
        if not is_open:
            raise InputError("start", start, "is blocked for this movement", "give an open cell")
        try:
            if blocked.size:
                masks = overridden_masks(grid, movement, blocked, nothing)
                search.terrain = terrain._replace(masks=masks)
            search.begin(np.array([flat], np.int64), max_cost=limit)
            search.advance(cancel=cancel)
            _refuse_cancelled(search, cancel)
            cells = np.sort(search.touched).astype(np.int64)
            return Reachable(grid, limit, cells, search)
        finally:
            search.terrain = terrain
            search.forget()

    def nearest_goal(
        self, start: tuple[int, int], goals: ArrayLike, *, cancel: CancelFlag | None = None
    ) -> NearestGoal:
        """Return the goal of least path cost, as `nearest_goal` does.

        Parameters
        ----------
        start : (int, int)
            x and y.
        goals : array-like of int, shape (n, 2)
            At least one cell; blocked ones are never reached.
        cancel : CancelFlag, optional
            Stops the search from another thread.

        Returns
        -------
        NearestGoal
            Its index and the path.

        Raises
        ------
        InputError
            If a cell lies outside the map, or there is no goal.
        """
        with self._in_use:
            return self._nearest_goal(start, goals, cancel)

    def _nearest_goal(
        self, start: tuple[int, int], goals: ArrayLike, cancel: CancelFlag | None
    ) -> NearestGoal:
        grid = self._grid
        flat = grid.flat_index(start, "start")
        targets = grid.flat_indices(goals, "goals")
        if targets.size == 0:
            raise InputError("goals", goals, "is empty", "give at least one cell")
        terrain = self._terrain
        search = self._search
        is_open = terrain.open_table[terrain.space[targets]] != 0
        if not terrain.open_table[terrain.space[flat]]:
            return self._no_goal(start, targets[0], Status.START_BLOCKED, Detail.NONE)
        if not is_open.any():
            return self._no_goal(start, targets[0], Status.GOAL_BLOCKED, Detail.NONE)
        try:
            search.begin(
                np.array([flat], np.int64), targets=np.unique(targets[is_open]), stop_at_first=True
            )
            search.advance(cancel=cancel)
            if search.outcome == Outcome.CANCELLED:
                return self._no_goal(
                    start, targets[0], Status.CANCELLED, Detail.CANCELLED, search.metrics
                )
            costs, _ = search.read(targets)
            index = int(np.argmin(costs))
            if math.isinf(costs[index]):
                return self._no_goal(
                    start, targets[0], Status.UNREACHABLE, Detail.UNREACHABLE, search.metrics
                )
            path = search.path_to(int(targets[index]))
            totals = np.empty(2)
            path_totals_(terrain, path, totals)
            return NearestGoal(
                index,
                PathResult(
                    ResultRow(
                        status=Status.FOUND,
                        detail=Detail.NONE,
                        start=self._cell(flat),
                        goal=self._cell(int(targets[index])),
                        cells=unpack_cells(path, grid.width, grid.region_position),
                        cost=float(totals[0]),
                        length=float(totals[1]),
                        suboptimality=1.0,
                        **search.metrics._asdict(),
                        map_version=search.map_version,
                    )
                ),
            )
        finally:
            search.forget()

    def cost_matrix(
        self, starts: ArrayLike, goals: ArrayLike, *, cancel: CancelFlag | None = None
    ) -> NDArray[np.float64]:
        """Return the least cost from every start to every goal, as `cost_matrix` does.

        Parameters
        ----------
        starts, goals : array-like of int, shape (n, 2) and (m, 2)
            Cells; none is allowed.
        cancel : CancelFlag, optional
            Stops the searches from another thread.

        Returns
        -------
        float64 array (n, m)
            ``inf`` where there is no path.

        Raises
        ------
        InputError
            If a cell lies outside the map, or the searches were cancelled.
        """
        with self._in_use:
            return self._cost_matrix(starts, goals, cancel)

    def _cost_matrix(
        self, starts: ArrayLike, goals: ArrayLike, cancel: CancelFlag | None
    ) -> NDArray[np.float64]:
        rows = self._grid.flat_indices(starts, "starts")
        columns = self._grid.flat_indices(goals, "goals")
        near, far = np.unique(rows), np.unique(columns)
        reverse = far.size < near.size
        if reverse:
            near, far = far, near
        table = np.full((near.size, far.size), math.inf)
        terrain = self._terrain
        search = self._search
        far_open = terrain.open_table[terrain.space[far]] != 0
        targets = far[far_open]
        for row, cell in zip(table, near, strict=True):
            if targets.size == 0 or not terrain.open_table[terrain.space[cell]]:
                continue
            try:
                search.begin(np.array([cell], np.int64), reverse=reverse, targets=targets)
                search.advance(cancel=cancel)
                _refuse_cancelled(search, cancel)
                row[far_open], _ = search.read(targets)
            finally:
                search.forget()
        if reverse:
            near, far, table = far, near, table.T
        return np.ascontiguousarray(
            table[np.ix_(np.searchsorted(near, rows), np.searchsorted(far, columns))]
        )

    def _cell(self, flat: int) -> tuple[int, int]:
        y, x = divmod(flat, self._grid.width)
        return x + self._grid.region_position[0], y + self._grid.region_position[1]

    def _no_goal(
        self,
        start: tuple[int, int],
        goal: int,
        status: Status,
        detail: Detail,
        metrics: SearchMetrics = _NOTHING_DONE,
    ) -> NearestGoal:
        row = ResultRow(
            status=status,
            detail=detail,
            start=(int(start[0]), int(start[1])),
            goal=self._cell(int(goal)),
            cells=np.empty((0, 2), np.int32),
            cost=math.inf,
            length=math.inf,
            suboptimality=1.0,
            **metrics._asdict(),
            map_version=self._search.map_version,
        )
        return NearestGoal(-1, PathResult(row))


def _refuse_cancelled(search: Wavefront, cancel: CancelFlag | None) -> None:
    if search.outcome == Outcome.CANCELLED:
        raise InputError("cancel", cancel, "stopped the search", "clear the flag and ask again")


def reachable(
    grid: Grid,
    start: tuple[int, int],
    budget: float,
    *,
    blocked_cells: ArrayLike | None = None,
    cancel: CancelFlag | None = None,
    **movement: Unpack[MovementOptions],
) -> Reachable:
    """Return the cells that a body can reach for a cost budget, such as its action points.

    Parameters
    ----------
    grid : Grid
        The map.
    start : (int, int)
        An open cell.
    budget : float
        Finite, >= 0; a cell's cost may exceed it by one part in 1e9, so that the cost of a path
        is always enough for it.
    blocked_cells : array-like of int, shape (n, 2), optional
        Cells that count as walls in this query alone, such as those where others stand; at most
        4,096.
    cancel : CancelFlag, optional
        Stops the search from another thread.
    **movement
        Keywords of `Movement`.

    Returns
    -------
    Reachable
        Cells, costs, and the path to each without another search.

    Raises
    ------
    InputError
        If the start is blocked or outside the map, the budget is no number >= 0, or the search
        was cancelled.
    CellError
        If there are too many blocked cells, or one lies outside the map.

    Notes
    -----
    Work depends on the area reached, not on the map, but for a copy of the map's move masks (a
    byte a cell) where cells are blocked. For many queries keep a `OneToMany`.

    Examples
    --------
    >>> area = reachable(Grid.filled(9, 9), (4, 4), 2.5)
    >>> len(area), area.path_to((6, 4)).tolist()
    (21, [[4, 4], [5, 4], [6, 4]])
    """
    check_keywords(movement, reachable)
    return OneToMany(grid, **movement).reachable(
        start, budget, blocked_cells=blocked_cells, cancel=cancel
    )


def nearest_goal(
    grid: Grid,
    start: tuple[int, int],
    goals: ArrayLike,
    *,
    cancel: CancelFlag | None = None,
    **movement: Unpack[MovementOptions],
) -> NearestGoal:
    """Return the goal of least path cost and the path to it, in one search.

    Parameters
    ----------
    grid : Grid
        The map.
    start : (int, int)
        x and y.
    goals : array-like of int, shape (n, 2)
        At least one cell; blocked ones are never reached.
    cancel : CancelFlag, optional
        Stops the search from another thread.
    **movement
        Keywords of `Movement`.

    Returns
    -------
    NearestGoal
        Index and path; of goals at equal cost the first one given. Where none is reached the
        index is -1, and the path's status is START_BLOCKED, GOAL_BLOCKED (all of them),
        UNREACHABLE or CANCELLED.

    Raises
    ------
    InputError
        If a cell lies outside the map, or there is no goal.

    Notes
    -----
    The search stops where the first goal is certain. For many queries keep a `OneToMany`.

    Examples
    --------
    >>> nearest_goal(Grid.filled(9, 1), (3, 0), [(8, 0), (0, 0)]).index
    1
    """
    check_keywords(movement, nearest_goal)
    return OneToMany(grid, **movement).nearest_goal(start, goals, cancel=cancel)


def cost_matrix(
    grid: Grid,
    starts: ArrayLike,
    goals: ArrayLike,
    *,
    cancel: CancelFlag | None = None,
    **movement: Unpack[MovementOptions],
) -> NDArray[np.float64]:
    """Return the least cost from every start to every goal.

    Parameters
    ----------
    grid : Grid
        The map.
    starts, goals : array-like of int, shape (n, 2) and (m, 2)
        Cells; none is allowed.
    cancel : CancelFlag, optional
        Stops the searches from another thread.
    **movement
        Keywords of `Movement`.

    Returns
    -------
    float64 array (n, m)
        ``inf`` where there is no path, as from or to a blocked cell.

    Raises
    ------
    InputError
        If a cell lies outside the map, or the searches were cancelled.

    Notes
    -----
    One search for each distinct cell of the smaller side, which stops when the other side is
    certain.

    Examples
    --------
    >>> cost_matrix(Grid.filled(4, 1), [(0, 0), (1, 0)], [(3, 0)]).tolist()
    [[3.0], [2.0]]
    """
    check_keywords(movement, cost_matrix)
    return OneToMany(grid, **movement).cost_matrix(starts, goals, cancel=cancel)


def _warm_up() -> None:
    queries = OneToMany(Grid([[0, 0]]))
    queries.nearest_goal((0, 0), [(1, 0)])
    queries.reachable((0, 0), 1.0).path_to((1, 0))


register_warm_up("one to many", _warm_up)
