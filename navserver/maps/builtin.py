"""Maps that the package generates: rooms, a maze, obstacles, caves and a countryside.

The same name, size and seed give the same cells on any machine: the random numbers come from
NumPy's frozen ``RandomState``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from navserver.search.grid import MAX_SIDE, SOLID, Grid
from navserver.status import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "BUILTIN_MAPS",
    "FOREST",
    "GRASS",
    "ROAD",
    "SWAMP",
    "WATER",
    "BuiltinMap",
    "load_builtin",
]

SHORTEST_SIDE = 16

GRASS, ROAD, FOREST, SWAMP, WATER = 0, 1, 2, 3, 4
"""Classes of the countryside; rock is `SOLID`."""

WALKER_COSTS: Mapping[int, float] = {
    GRASS: 1.0,
    ROAD: 0.5,
    FOREST: 2.0,
    SWAMP: 4.0,
    WATER: float("inf"),
}
"""What one who walks pays for each class of the countryside."""

Classes = NDArray[np.uint8]


@dataclass(frozen=True)
class BuiltinMap:
    """A generated map, and a query on it that has a path."""

    name: str
    grid: Grid
    start: tuple[int, int]
    goal: tuple[int, int]
    class_costs: Mapping[int, float] = field(default_factory=dict)
    """Costs that the map's classes are meant to have, for `Profile`."""


def load_builtin(
    name: str, *, width: int | None = None, height: int | None = None, seed: int | None = None
) -> BuiltinMap:
    """Generate a map.

    Parameters
    ----------
    name : {"rooms", "maze", "obstacles", "caves", "countryside"}
        Which one.
    width, height : int, optional
        Cells, 16 to 8192; each map has a size of its own if left out.
    seed : int, optional
        Another seed gives another map; each has one of its own if left out.

    Returns
    -------
    BuiltinMap
        Start near the top left, goal near the bottom right, joined by a path in any diagonal
        mode.

    Raises
    ------
    InputError
        If the name is unknown, a side is out of bounds, or the seed is not in 0..2**32 - 1.

    Examples
    --------
    >>> rooms = load_builtin("rooms")
    >>> rooms.grid.width, rooms.grid.height, rooms.start
    (72, 36, (1, 1))
    """
    if name not in BUILTIN_MAPS:
        raise InputError("name", name, "is no builtin map", f"use one of {', '.join(BUILTIN_MAPS)}")
    build, usual_width, usual_height, usual_seed = BUILTIN_MAPS[name]
    seed = usual_seed if seed is None else seed
    width = usual_width if width is None else width
    height = usual_height if height is None else height
    for side, cells in (("width", width), ("height", height)):
        if not SHORTEST_SIDE <= cells <= MAX_SIDE:
            raise InputError(
                side, cells, "is out of bounds", f"give {SHORTEST_SIDE} to {MAX_SIDE} cells"
            )
    if not 0 <= seed < 2**32:
        raise InputError("seed", seed, "is out of bounds", "give 0 to 4294967295")
    classes = build(width, height, np.random.RandomState(seed))
    class_costs = WALKER_COSTS if name == "countryside" else {}
    walkable = (classes != SOLID) & ((classes != WATER) | (not class_costs))
    start, goal = _far_ends(_largest_region(walkable))
    return BuiltinMap(name, Grid(classes), start, goal, class_costs)


def _build_rooms(width: int, height: int, random: np.random.RandomState) -> Classes:
    """Rooms in uneven columns and rows; a random tree of doors joins all, more doors make loops."""
    classes = np.zeros((height, width), np.uint8)
    columns = _wall_lines(width, 8, 13, random)
    rows = _wall_lines(height, 6, 10, random)
    classes[:, columns] = SOLID
    classes[rows, :] = SOLID
    n_columns, n_rows = len(columns) - 1, len(rows) - 1
    joined = np.zeros((n_rows, n_columns), np.bool_)
    joined[0, 0] = True
    walls = [(x, y, 1, 0) for y in range(n_rows) for x in range(n_columns - 1)]
    walls += [(x, y, 0, 1) for y in range(n_rows - 1) for x in range(n_columns)]
    open_walls = set()
    while not joined.all():
        edge = [w for w in walls if joined[w[1], w[0]] != joined[w[1] + w[3], w[0] + w[2]]]
        x, y, dx, dy = edge[random.randint(len(edge))]
        joined[y, x] = joined[y + dy, x + dx] = True
        open_walls.add((x, y, dx, dy))
    for wall in walls:
        if wall not in open_walls and random.random_sample() > 0.25:
            continue
        x, y, dx, dy = wall
        if dx:
            door = random.randint(rows[y] + 1, rows[y + 1])
            classes[door, columns[x + 1]] = 0
        else:
            door = random.randint(columns[x] + 1, columns[x + 1])
            classes[rows[y + 1], door] = 0
    return classes


def _wall_lines(length: int, least: int, most: int, random: np.random.RandomState) -> list[int]:
    """Return positions of walls from 0 to length - 1, least to most cells apart."""
    lines = [0]
    while length - 1 - lines[-1] > most + least:
        lines.append(lines[-1] + int(random.randint(least, most + 1)))
    if length - 1 - lines[-1] > most:
        lines.append((lines[-1] + length - 1) // 2)
    return [*lines, length - 1]


def _build_maze(width: int, height: int, random: np.random.RandomState) -> Classes:
    """Passages of one cell, one way between any two: a depth-first walk over the odd cells."""
    classes = np.full((height, width), SOLID, np.uint8)
    columns, rows = (width - 1) // 2, (height - 1) // 2
    classes[1, 1] = 0
    stack = [(0, 0)]
    while stack:
        x, y = stack[-1]
        ways = [
            (dx, dy)
            for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1))
            if 0 <= x + dx < columns
            and 0 <= y + dy < rows
            and classes[2 * (y + dy) + 1, 2 * (x + dx) + 1] == SOLID
        ]
        if not ways:
            stack.pop()
            continue
        dx, dy = ways[random.randint(len(ways))]
        classes[2 * y + 1 + dy, 2 * x + 1 + dx] = 0
        classes[2 * (y + dy) + 1, 2 * (x + dx) + 1] = 0
        stack.append((x + dx, y + dy))
    return classes


def _build_obstacles(width: int, height: int, random: np.random.RandomState) -> Classes:
    """Block a quarter of the cells at random."""
    return np.where(random.random_sample((height, width)) < 0.25, SOLID, 0).astype(np.uint8)


def _build_caves(width: int, height: int, random: np.random.RandomState) -> Classes:
    """Caves by a cellular automaton: a cell becomes what most of its neighbours are."""
    walls = random.random_sample((height, width)) < 0.45
    for _ in range(5):
        padded = np.pad(walls, 1, constant_values=True).astype(np.int8)
        around = sum(
            padded[1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width]
            for dy in (-1, 0, 1)
            for dx in (-1, 0, 1)
        )
        walls = np.asarray(around) >= 5
    walls |= ~_largest_region(~walls)
    return np.where(walls, SOLID, 0).astype(np.uint8)


def _build_countryside(width: int, height: int, random: np.random.RandomState) -> Classes:
    """Grass, forest, swamp, lakes and rock by smooth noise, and two roads across."""
    elevation = _landscape(width, height, 24, random)
    wetness = _landscape(width, height, 18, random)
    low, shore, high = np.quantile(elevation, (0.12, 0.22, 0.86))
    dry, wet = np.quantile(wetness, (0.5, 0.62))
    classes = np.zeros((height, width), np.uint8)
    classes[(elevation >= shore) & (wetness > dry)] = FOREST
    classes[(elevation < shore) & (wetness > wet)] = SWAMP
    classes[elevation < low] = WATER
    classes[elevation > high] = SOLID
    for level in (0.3, 0.72):
        _lay_road(classes, level, random)
    return classes


def _landscape(
    width: int, height: int, spacing: int, random: np.random.RandomState
) -> NDArray[np.float64]:
    """Return hills `spacing` cells apart, with smaller ones on them."""
    hills = _smooth_noise(width, height, spacing, random)
    hills += 0.5 * _smooth_noise(width, height, spacing // 2, random)
    hills += 0.25 * _smooth_noise(width, height, spacing // 4, random)
    return hills


def _smooth_noise(
    width: int, height: int, spacing: int, random: np.random.RandomState
) -> NDArray[np.float64]:
    """Return random values `spacing` cells apart, joined by smooth steps."""
    knots = random.random_sample((height // spacing + 2, width // spacing + 2))
    x, y = np.arange(width) / spacing, np.arange(height) / spacing
    column, row = x.astype(np.int64), y.astype(np.int64)
    along, down = x - column, y - row
    along = along * along * (3 - 2 * along)
    down = (down * down * (3 - 2 * down))[:, np.newaxis]
    upper = knots[row][:, column] * (1 - along) + knots[row][:, column + 1] * along
    lower = knots[row + 1][:, column] * (1 - along) + knots[row + 1][:, column + 1] * along
    return np.asarray(upper * (1 - down) + lower * down)


def _lay_road(classes: Classes, level: float, random: np.random.RandomState) -> None:
    """Lay a road from the left to the right edge: it cuts through rock and bridges water."""
    height, width = classes.shape
    wave = _smooth_noise(width, 1, 18, random)[0] - 0.5
    heights = np.clip((level + 0.45 * wave) * height, 1, height - 2).astype(np.int64)
    before = int(heights[0])
    for x in range(width):
        now = int(heights[x])
        classes[min(before, now) : max(before, now) + 1, x] = ROAD
        before = now


def _largest_region(walkable: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the largest set of cells joined by straight steps; the first one of equal size."""
    height, width = walkable.shape
    waiting = np.pad(walkable, 1).ravel().tolist()
    stride = width + 2
    best: list[int] = []
    for first in range(len(waiting)):
        if not waiting[first]:
            continue
        waiting[first] = False
        region = [first]
        for cell in region:
            for near in (cell + 1, cell - 1, cell + stride, cell - stride):
                if waiting[near]:
                    waiting[near] = False
                    region.append(near)
        if len(region) > len(best):
            best = region
    chosen = np.zeros((height + 2) * stride, np.bool_)
    chosen[best] = True
    return chosen.reshape(height + 2, stride)[1:-1, 1:-1]


def _far_ends(region: NDArray[np.bool_]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the region's cells nearest to the top left and the bottom right corner.

    A rim of a twentieth of the shorter side is left free, where the region reaches further in.
    """
    rim = min(region.shape) // 20
    inner = np.zeros_like(region)
    inner[rim : region.shape[0] - rim, rim : region.shape[1] - rim] = True
    if (region & inner).any():
        region = region & inner
    ys, xs = np.nonzero(region)
    first = int((xs + ys).argmin())
    last = len(xs) - 1 - int((xs + ys)[::-1].argmax())
    return (int(xs[first]), int(ys[first])), (int(xs[last]), int(ys[last]))


BUILTIN_MAPS: Mapping[
    str, tuple[Callable[[int, int, np.random.RandomState], Classes], int, int, int]
] = {
    "rooms": (_build_rooms, 72, 36, 1),
    "maze": (_build_maze, 71, 35, 1),
    "obstacles": (_build_obstacles, 72, 36, 1),
    "caves": (_build_caves, 120, 72, 1),
    "countryside": (_build_countryside, 160, 96, 12),
}
"""Builder, usual width, height and seed of each map by its name."""
