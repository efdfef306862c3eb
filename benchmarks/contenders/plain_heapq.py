"""A* in plain Python as tutorials have it: heapq, dictionaries, tuples."""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.contenders.searching import Answer, path_cost

if TYPE_CHECKING:
    from numpy.typing import NDArray

Cell = tuple[int, int]

SQRT2 = math.sqrt(2.0)
STEPS = [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)]


class Search:
    """One map as lists of rows."""

    def __init__(
        self,
        blocked: NDArray[np.bool_],
        costs: NDArray[np.float64] | None = None,
        *,
        cut_corners: bool = False,
    ) -> None:
        self._costs = costs
        self._free = (~blocked).tolist()
        self._rows = (np.ones(blocked.shape) if costs is None else costs).tolist()
        self._cut_corners = cut_corners
        self._expanded = 0

    def find_path(self, x: int, y: int, goal_x: int, goal_y: int) -> list[Cell]:
        """Return the path's cells, empty without one."""
        start, goal = (x, y), (goal_x, goal_y)
        open_list = [(0.0, start)]
        g = {start: 0.0}
        parents: dict[Cell, Cell] = {}
        closed: set[Cell] = set()
        while open_list:
            _, cell = heapq.heappop(open_list)
            if cell in closed:
                continue
            closed.add(cell)
            if cell == goal:
                break
            for to, cost in self._neighbours(cell):
                if to in closed:
                    continue
                to_g = g[cell] + cost
                if to_g < g.get(to, math.inf):
                    g[to] = to_g
                    parents[to] = cell
                    dx, dy = abs(to[0] - goal_x), abs(to[1] - goal_y)
                    h = max(dx, dy) + (SQRT2 - 1.0) * min(dx, dy)
                    heapq.heappush(open_list, (to_g + h, to))
        self._expanded = len(closed)
        if goal not in closed:
            return []
        path = [goal]
        while path[-1] != start:
            path.append(parents[path[-1]])
        path.reverse()
        return path

    def _neighbours(self, cell: Cell) -> list[tuple[Cell, float]]:
        x, y = cell
        free, rows = self._free, self._rows
        height, width = len(free), len(free[0])
        found = []
        for dx, dy in STEPS:
            nx, ny = x + dx, y + dy
            if not (0 <= nx < width and 0 <= ny < height and free[ny][nx]):
                continue
            length = 1.0
            if dx and dy:
                if not self._cut_corners and not (free[y][nx] and free[ny][x]):
                    continue
                length = SQRT2
            found.append(((nx, ny), length * rows[ny][nx]))
        return found

    def judge(self, path: list[Cell]) -> Answer:
        """Return cost and expansions of the last query."""
        cells = np.array(path, np.int32).reshape(-1, 2)
        return Answer(path_cost(cells, self._costs), self._expanded)
