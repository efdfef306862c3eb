"""Slow oracles, written from the definitions and from nothing else.

Nothing here imports the package: maps are plain arrays, walkable cells are dictionary keys, every
rule is written out cell by cell. Speed is no aim; a reader should see at once that it is right.

A cell is ``(x, y)`` in absolute coordinates, arrays are ``[y, x]``.
"""

from __future__ import annotations

import copy
import heapq
import math
from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra

Cell = tuple[int, int]
Costs = dict[Cell, float]

ALWAYS, NEVER, AT_LEAST_ONE_WALKABLE, ONLY_IF_NO_OBSTACLES = 0, 1, 2, 3
ENTERED, MEAN, PRODUCT = 0, 1, 2
EUCLIDEAN, MANHATTAN, OCTILE, CHEBYSHEV, ZERO = 0, 1, 2, 3, 4
MODES = (ALWAYS, NEVER, AT_LEAST_ONE_WALKABLE, ONLY_IF_NO_OBSTACLES)
COST_MODELS = (ENTERED, MEAN, PRODUCT)
HEURISTICS = (EUCLIDEAN, MANHATTAN, OCTILE, CHEBYSHEV, ZERO)
SQRT2 = math.sqrt(2.0)

#: Two ways of the same cost may sum to floats this far apart, relatively.
ROUNDING = 2.0**-40

#: Bit k of a move mask stands for DIRECTIONS[k]: E SE S SW W NW N NE.
DIRECTIONS: tuple[Cell, ...] = (
    (1, 0),
    (1, 1),
    (0, 1),
    (-1, 1),
    (-1, 0),
    (-1, -1),
    (0, -1),
    (1, -1),
)


# --- the map -------------------------------------------------------------------------------------


@dataclass
class Model:
    """A map as plain arrays; edits are plain assignments."""

    classes: NDArray[np.uint8]
    cell_scale: NDArray[np.float32] | None = None
    layers: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    region: Cell = (0, 0)

    @property
    def width(self) -> int:
        return int(self.classes.shape[1])

    @property
    def height(self) -> int:
        return int(self.classes.shape[0])

    def copy(self) -> Model:
        return copy.deepcopy(self)

    def cells(self) -> list[Cell]:
        """All cells in the order of their flat index."""
        ox, oy = self.region
        return [(x + ox, y + oy) for y in range(self.height) for x in range(self.width)]

    def contains(self, cell: Cell) -> bool:
        x, y = cell[0] - self.region[0], cell[1] - self.region[1]
        return 0 <= x < self.width and 0 <= y < self.height

    def index(self, cell: Cell) -> int:
        return (cell[1] - self.region[1]) * self.width + cell[0] - self.region[0]

    def keywords(self) -> dict[str, Any]:
        """The arguments that build a ``Grid`` of this map (without the classes)."""
        return {
            "cell_scale": None if self.cell_scale is None else self.cell_scale.copy(),
            "layers": {name: array.copy() for name, array in self.layers.items()} or None,
            "region_position": self.region,
        }

    def put(
        self,
        cells: Iterable[Cell],
        class_ids: Sequence[int] | None = None,
        cell_scale: Sequence[float] | None = None,
        layers: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        """Write one value a cell; a later value for the same cell wins."""
        if cell_scale is not None and self.cell_scale is None:
            self.cell_scale = np.ones(self.classes.shape, np.float32)
        for name in layers or {}:
            self.layers.setdefault(name, np.zeros(self.classes.shape, np.float32))
        for i, (cx, cy) in enumerate(cells):
            x, y = cx - self.region[0], cy - self.region[1]
            if class_ids is not None:
                self.classes[y, x] = class_ids[i]
            if cell_scale is not None:
                assert self.cell_scale is not None
                self.cell_scale[y, x] = cell_scale[i]
            for name, values in (layers or {}).items():
                self.layers[name][y, x] = values[i]


def cell_costs(
    model: Model,
    table: NDArray[np.float32],
    overlays: Mapping[str, float] | None = None,
    blocked_cells: Iterable[Cell] = (),
    ignored_cells: Iterable[Cell] = (),
) -> Costs:
    """The cost of each walkable cell; a cell that is missing cannot be entered."""
    ignored, walls = set(ignored_cells), set(blocked_cells)
    costs: Costs = {}
    for cell in model.cells():
        x, y = cell[0] - model.region[0], cell[1] - model.region[1]
        cost = float(table[int(model.classes[y, x])])
        if cell in ignored:
            if math.isinf(cost):
                cost = 1.0
        elif math.isinf(cost) or cell in walls:
            continue
        if model.cell_scale is not None:
            cost *= float(model.cell_scale[y, x])
        for name, weight in (overlays or {}).items():
            cost += weight * float(model.layers[name][y, x])
        costs[cell] = cost
    return costs


# --- moves ---------------------------------------------------------------------------------------


def move_allowed(walkable: Container[Cell], cell: Cell, to: Cell, mode: int) -> bool:
    """Whether one step leads from ``cell`` to ``to`` under a diagonal mode."""
    dx, dy = to[0] - cell[0], to[1] - cell[1]
    if (dx, dy) not in DIRECTIONS or cell not in walkable or to not in walkable:
        return False
    if dx == 0 or dy == 0:
        return True
    sides = [(cell[0] + dx, cell[1]) in walkable, (cell[0], cell[1] + dy) in walkable]
    return {
        ALWAYS: True,
        NEVER: False,
        AT_LEAST_ONE_WALKABLE: any(sides),
        ONLY_IF_NO_OBSTACLES: all(sides),
    }[mode]


def step_length(cell: Cell, to: Cell) -> float:
    return SQRT2 if cell[0] != to[0] and cell[1] != to[1] else 1.0


def step_cost(costs: Costs, cell: Cell, to: Cell, cost_model: int) -> float:
    """The cost of one step: its length times what the cost model takes of both cells."""
    factor = {
        ENTERED: costs[to],
        MEAN: (costs[cell] + costs[to]) / 2.0,
        PRODUCT: costs[cell] * costs[to],
    }[cost_model]
    return step_length(cell, to) * factor


def neighbours(walkable: Container[Cell], cell: Cell, mode: int) -> list[Cell]:
    """The cells one legal step away, in the order of DIRECTIONS."""
    around = [(cell[0] + dx, cell[1] + dy) for dx, dy in DIRECTIONS]
    return [to for to in around if move_allowed(walkable, cell, to, mode)]


def move_masks(model: Model, table: NDArray[np.float32], mode: int) -> NDArray[np.uint8]:
    """One byte of allowed moves a cell; 0 for a blocked one."""
    walkable = cell_costs(model, table)
    masks = np.zeros(model.classes.shape, np.uint8)
    for cell in walkable:
        for bit, (dx, dy) in enumerate(DIRECTIONS):
            if move_allowed(walkable, cell, (cell[0] + dx, cell[1] + dy), mode):
                masks[cell[1] - model.region[1], cell[0] - model.region[0]] |= 1 << bit
    return masks


# --- distances -----------------------------------------------------------------------------------


def distances(
    costs: Costs, start: Cell, mode: int, cost_model: int, *, towards: bool = False
) -> dict[Cell, float]:
    """Dijkstra: the least cost from ``start`` to each cell it reaches.

    With ``towards`` the steps are walked backwards: the least cost from each cell to ``start``.
    """
    if start not in costs:
        return {}
    best: dict[Cell, float] = {}
    heap: list[tuple[float, Cell]] = [(0.0, start)]
    while heap:
        g, cell = heapq.heappop(heap)
        if cell in best:
            continue
        best[cell] = g
        # Every diagonal rule is symmetric, so the cells that lead here are the neighbours.
        for to in neighbours(costs, cell, mode):
            if to not in best:
                step = (
                    step_cost(costs, to, cell, cost_model)
                    if towards
                    else step_cost(costs, cell, to, cost_model)
                )
                heapq.heappush(heap, (g + step, to))
    return best


def scipy_distances(
    model: Model, costs: Costs, start: Cell, mode: int, cost_model: int
) -> NDArray[np.float64]:
    """The same distances by scipy's Dijkstra over a graph built from shifted arrays."""
    h, w = model.classes.shape
    c = np.full((h + 2, w + 2), np.inf)
    for (x, y), cost in costs.items():
        c[y - model.region[1] + 1, x - model.region[0] + 1] = cost
    free = np.isfinite(c)
    index = np.arange(h * w).reshape(h, w)
    here, here_free = c[1:-1, 1:-1], free[1:-1, 1:-1]

    def shifted(array: NDArray[Any], dx: int, dy: int) -> NDArray[Any]:
        return array[1 + dy : 1 + dy + h, 1 + dx : 1 + dx + w]

    rows, columns, values = [], [], []
    for dx, dy in DIRECTIONS:
        legal = here_free & shifted(free, dx, dy)
        if dx and dy:
            first, second = shifted(free, dx, 0), shifted(free, 0, dy)
            if mode == NEVER:
                legal = np.zeros_like(legal)
            elif mode == AT_LEAST_ONE_WALKABLE:
                legal = legal & (first | second)
            elif mode == ONLY_IF_NO_OBSTACLES:
                legal = legal & first & second
        there = shifted(c, dx, dy)
        with np.errstate(invalid="ignore"):
            factor = (there, (here + there) / 2.0, here * there)[cost_model]
            step = math.hypot(dx, dy) * factor
        rows.append(index[legal])
        columns.append(index[legal] + dy * w + dx)
        values.append(step[legal])
    data = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    graph = coo_matrix(data, shape=(h * w, h * w)).tocsr()
    found = dijkstra(graph, indices=model.index(start))
    return np.asarray(found, np.float64).reshape(h, w)


def components(costs: Mapping[Cell, Any] | set[Cell], mode: int) -> dict[Cell, int]:
    """A number for each walkable cell, equal exactly where a path joins two cells."""
    label: dict[Cell, int] = {}
    for number, seed in enumerate(costs):
        if seed in label:
            continue
        label[seed] = number
        queue = deque([seed])
        while queue:
            for to in neighbours(costs, queue[0], mode):
                if to not in label:
                    label[to] = number
                    queue.append(to)
            queue.popleft()
    return label


# --- estimates and ties --------------------------------------------------------------------------


def octile(a: Cell, b: Cell) -> float:
    dx, dy = abs(a[0] - b[0]), abs(a[1] - b[1])
    return max(dx, dy) + (SQRT2 - 1.0) * min(dx, dy)


def estimate(heuristic: int, a: Cell, b: Cell) -> float:
    """The unscaled length that a heuristic puts between two cells."""
    dx, dy = abs(a[0] - b[0]), abs(a[1] - b[1])
    return {
        EUCLIDEAN: math.sqrt(dx * dx + dy * dy),
        MANHATTAN: float(dx + dy),
        OCTILE: octile(a, b),
        CHEBYSHEV: float(max(dx, dy)),
        ZERO: 0.0,
    }[heuristic]


def admissible(heuristic: int, mode: int) -> bool:
    """Whether the estimate never exceeds the length of a path on an empty map."""
    return heuristic != MANHATTAN or mode == NEVER


def nearest_to_goal(
    expanded: Mapping[Cell, float], goal: Cell, index: Callable[[Cell], int]
) -> Cell:
    """The end of a partial path: least octile distance, then smaller g, then smaller index."""
    return min(expanded, key=lambda cell: (octile(cell, goal), expanded[cell], index(cell)))


@dataclass
class Expansion:
    cell: Cell
    parent: Cell
    g: float


def astar_order(
    costs: Costs,
    start: Cell,
    goal: Cell,
    mode: int,
    cost_model: int,
    index: Callable[[Cell], int],
    h: Callable[[Cell], float],
) -> tuple[list[Expansion], list[Cell], int]:
    """Textbook A* with the tie rule: the expansions in order, the path, the number of reopenings.

    Smaller f first, then larger g, then smaller flat index; a parent stays until a smaller g comes;
    a closed cell is opened again when its g gets smaller by more than `ROUNDING`. The goal ends
    the search when it is taken, as the last expansion.
    """
    g = {start: 0.0}
    parent = {start: start}
    closed: set[Cell] = set()
    order: list[Expansion] = []
    reopened = 0
    heap = [(h(start), -0.0, index(start), start)]
    while heap:
        _, minus_g, _, cell = heapq.heappop(heap)
        if cell in closed or -minus_g != g[cell]:
            continue
        closed.add(cell)
        order.append(Expansion(cell, parent[cell], g[cell]))
        if cell == goal:
            break
        for to in neighbours(costs, cell, mode):
            candidate = g[cell] + step_cost(costs, cell, to, cost_model)
            if to in g and candidate >= g[to]:
                continue
            if to in closed:
                if candidate >= g[to] * (1.0 - ROUNDING):
                    continue
                closed.remove(to)
                reopened += 1
            g[to] = candidate
            parent[to] = cell
            heapq.heappush(heap, (candidate + h(to), -candidate, index(to), to))
    path: list[Cell] = []
    if goal in closed:
        path = [goal]
        while path[-1] != start:
            path.append(parent[path[-1]])
        path.reverse()
    return order, path, reopened


# --- paths ---------------------------------------------------------------------------------------


def check_path(
    costs: Costs, cells: Sequence[Cell], start: Cell, end: Cell, mode: int, cost_model: int
) -> tuple[float, float]:
    """Cost and length of a path, after every step was found legal; AssertionError otherwise."""
    assert len(cells) >= 1, "the path is empty"
    assert cells[0] == start, f"the path begins at {cells[0]}, not at {start}"
    assert cells[-1] == end, f"the path ends at {cells[-1]}, not at {end}"
    assert cells[0] in costs, f"the path begins in a wall at {cells[0]}"
    for i, (a, b) in enumerate(pairwise(cells)):
        assert move_allowed(costs, a, b, mode), f"step {i} from {a} to {b} is not legal"
    steps = list(pairwise(cells))
    cost = math.fsum(step_cost(costs, a, b, cost_model) for a, b in steps)
    return cost, math.fsum(step_length(a, b) for a, b in steps)


def as_cells(array: NDArray[Any]) -> list[Cell]:
    return [(int(x), int(y)) for x, y in array]


# --- line of sight -------------------------------------------------------------------------------


def _inside(origin: int, delta: int, centre: int) -> tuple[Fraction, Fraction] | None:
    """The open interval of t in which origin + t * delta lies strictly within half of centre."""
    half = Fraction(1, 2)
    if delta == 0:
        return (Fraction(-1), Fraction(2)) if origin == centre else None
    ends = sorted([(centre - half - origin) / delta, (centre + half - origin) / delta])
    return ends[0], ends[1]


def crosses_interior(a: Cell, b: Cell, cell: Cell) -> bool:
    """Whether the closed segment between two cell centres meets the open square of a cell."""
    spans = [_inside(a[k], b[k] - a[k], cell[k]) for k in (0, 1)]
    if spans[0] is None or spans[1] is None:
        return False
    low = max(spans[0][0], spans[1][0])
    high = min(spans[0][1], spans[1][1])
    return low < high and low < 1 and high > 0


def corners_on_segment(a: Cell, b: Cell) -> list[tuple[Fraction, Fraction]]:
    """The corners between four cells that lie on the segment between two cell centres."""
    half = Fraction(1, 2)
    found = []
    for x in range(min(a[0], b[0]), max(a[0], b[0])):
        for y in range(min(a[1], b[1]), max(a[1], b[1])):
            px, py = x + half, y + half
            if (b[0] - a[0]) * (py - a[1]) == (b[1] - a[1]) * (px - a[0]):
                found.append((px, py))
    return found


def line_of_sight(walkable: Container[Cell], a: Cell, b: Cell, mode: int) -> bool:
    """Sight by exact geometry: every open square that the segment meets, every corner it hits."""
    for x in range(min(a[0], b[0]), max(a[0], b[0]) + 1):
        for y in range(min(a[1], b[1]), max(a[1], b[1]) + 1):
            if crosses_interior(a, b, (x, y)) and (x, y) not in walkable:
                return False
    half = Fraction(1, 2)
    falling = (b[0] - a[0]) * (b[1] - a[1]) > 0
    for px, py in corners_on_segment(a, b):
        left, right, above, below = int(px - half), int(px + half), int(py - half), int(py + half)
        # A segment that falls to the right passes upper left and lower right: the others are sides.
        sides = [(right, above), (left, below)] if falling else [(left, above), (right, below)]
        free = [side in walkable for side in sides]
        if mode == AT_LEAST_ONE_WALKABLE and not any(free):
            return False
        if mode in (NEVER, ONLY_IF_NO_OBSTACLES) and not all(free):
            return False
    return True
