"""The yardstick: A* as textbooks have it, compiled, and nothing more.

Eight neighbours, each tested for the map's border, for walls and for the corner it would cut; one
binary heap of (f, cell) in arrays with lazy deletion: a cell whose g falls is pushed again, and
entries of closed cells are skipped. float64 costs, octile estimate, a cell's cost is paid on
entering it. Stamps save clearing the arrays between two queries, as any implementation that is
meant for many queries does.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numba
import numpy as np

from benchmarks.contenders.searching import Answer, Cells, path_cost

if TYPE_CHECKING:
    from numpy.typing import NDArray

SQRT2 = math.sqrt(2.0)
DX = (1, 1, 0, -1, -1, -1, 0, 1)
DY = (0, 1, 1, 1, 0, -1, -1, -1)


@numba.njit(cache=True)
def search_(
    start: int,
    goal: int,
    stamp: int,
    blocked: NDArray[np.bool_],
    costs: NDArray[np.float64],
    cut_corners: bool,
    diagonal: float,
    stamps: NDArray[np.int32],
    closed: NDArray[np.bool_],
    g: NDArray[np.float64],
    parents: NDArray[np.int32],
    heap_f: NDArray[np.float64],
    heap_cell: NDArray[np.int32],
    path: NDArray[np.int32],
    expanded: NDArray[np.int64],
) -> int:
    """Write the path's cells and return how many they are."""
    height, width = blocked.shape
    weighted = costs.size > 0
    goal_x = goal % width
    goal_y = goal // width
    expanded[0] = 0
    stamps[start] = stamp
    closed[start] = False
    g[start] = 0.0
    parents[start] = -1
    heap_f[0] = 0.0
    heap_cell[0] = start
    size = 1
    while size > 0:
        cell = heap_cell[0]
        size -= 1
        last_f = heap_f[size]
        last_cell = heap_cell[size]
        i = 0
        while True:
            child = 2 * i + 1
            if child >= size:
                break
            if child + 1 < size and heap_f[child + 1] < heap_f[child]:
                child += 1
            if heap_f[child] >= last_f:
                break
            heap_f[i] = heap_f[child]
            heap_cell[i] = heap_cell[child]
            i = child
        heap_f[i] = last_f
        heap_cell[i] = last_cell
        if closed[cell]:
            continue
        closed[cell] = True
        expanded[0] += 1
        if cell == goal:
            break
        x = cell % width
        y = cell // width
        for direction in range(8):
            dx = DX[direction]
            dy = DY[direction]
            nx = x + dx
            ny = y + dy
            if nx < 0 or ny < 0 or nx >= width or ny >= height or blocked[ny, nx]:
                continue
            step = 1.0
            if dx != 0 and dy != 0:
                if not cut_corners and (blocked[y, nx] or blocked[ny, x]):
                    continue
                step = diagonal
            to = ny * width + nx
            if weighted:
                step *= costs[to]
            to_g = g[cell] + step
            if stamps[to] == stamp:
                if closed[to] or to_g >= g[to]:
                    continue
            else:
                stamps[to] = stamp
                closed[to] = False
            g[to] = to_g
            parents[to] = cell
            away_x = abs(nx - goal_x)
            away_y = abs(ny - goal_y)
            f = to_g + max(away_x, away_y) + (diagonal - 1.0) * min(away_x, away_y)
            i = size
            size += 1
            while i > 0:
                parent = (i - 1) >> 1
                if heap_f[parent] <= f:
                    break
                heap_f[i] = heap_f[parent]
                heap_cell[i] = heap_cell[parent]
                i = parent
            heap_f[i] = f
            heap_cell[i] = to
    if stamps[goal] != stamp or not closed[goal]:
        return 0
    length = 0
    cell = goal
    while cell >= 0:
        length += 1
        cell = parents[cell]
    cell = goal
    for i in range(length - 1, -1, -1):
        path[i, 0] = cell % width
        path[i, 1] = cell // width
        cell = parents[cell]
    return length


class Search:
    """One map; costs of at least 1 for entering its cells, or None for 1 everywhere."""

    def __init__(
        self,
        blocked: NDArray[np.bool_],
        costs: NDArray[np.float64] | None = None,
        *,
        cut_corners: bool = False,
        diagonal: float = SQRT2,
    ) -> None:
        self._costs = costs
        self._width = blocked.shape[1]
        self._stamp = 0
        size = blocked.size
        self._path = np.empty((size, 2), np.int32)
        self._expanded = np.zeros(1, np.int64)
        self._arrays = (
            np.ascontiguousarray(blocked),
            np.empty(0) if costs is None else np.ravel(costs).astype(np.float64),
            cut_corners,
            diagonal,
            np.zeros(size, np.int32),
            np.zeros(size, np.bool_),
            np.zeros(size, np.float64),
            np.zeros(size, np.int32),
            # Each of a cell's eight neighbours may push it once.
            np.empty(8 * size + 1, np.float64),
            np.empty(8 * size + 1, np.int32),
            self._path,
            self._expanded,
        )

    def find_path(self, x: int, y: int, goal_x: int, goal_y: int) -> Cells:
        """Return the path's cells (n, 2), empty without one. This is what is timed."""
        self._stamp += 1
        start = y * self._width + x
        goal = goal_y * self._width + goal_x
        length = search_(start, goal, self._stamp, *self._arrays)
        return self._path[:length].copy()

    def judge(self, cells: Cells) -> Answer:
        """Return cost and expansions of the last query."""
        return Answer(path_cost(cells, self._costs), int(self._expanded[0]))
