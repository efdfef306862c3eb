"""Cells by nearness and by chance: the nearest walkable one, the nearest one within reach."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from navserver._jit import kernel, register_warm_up
from navserver.search.grid import Grid, checked_movement
from navserver.search.island_labeling import IslandArrays, find_island_
from navserver.search.islands import islands_of
from navserver.search.movement import MovementOptions
from navserver.search.nodes import unpack_cells
from navserver.search.validation import checked_count, checked_number, checked_position
from navserver.status import CellError, InputError

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["nearest_reachable", "nearest_walkable", "random_reachable"]

MAX_COUNT = 1 << 20
_FARTHEST = 2**30
_NO_ISLANDS = IslandArrays(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.uint8))


@kernel
def nearest_(
    space: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    islands: IslandArrays,
    island: int,
    x: int,
    y: int,
    max_squared: int,
) -> int:
    """Return the flat cell nearest to (x, y) that is open, or that lies on an island if not 0.

    Returns -1 if there is none. Invariant: rings of cells around (x, y) below `ring` have been
    read, and a cell on a ring lies at least as far as its number.
    """
    height, width = space.shape
    best = -1
    best_squared = max_squared + 1
    ring = max(0, -x, x - width + 1, -y, y - height + 1)
    last = max(abs(x), abs(x - width + 1), abs(y), abs(y - height + 1))
    while ring <= last and ring * ring <= min(best_squared, max_squared):
        for row in range(max(y - ring, 0), min(y + ring, height - 1) + 1):
            step = 1 if abs(row - y) == ring else max(2 * ring, 1)
            column = x - ring
            if column < 0 and step == 1:
                column = 0
            while column <= min(x + ring, width - 1):
                if column >= 0 and open_table[space[row, column]]:
                    squared = (column - x) ** 2 + (row - y) ** 2
                    cell = row * width + column
                    if (squared < best_squared or (squared == best_squared and cell < best)) and (
                        island == 0 or find_island_(islands, cell) == island
                    ):
                        best = cell
                        best_squared = squared
                column += step
        ring += 1
    return best


@kernel
def count_on_island_(islands: IslandArrays, island: int) -> int:
    """Return how many cells an island has."""
    count = 0
    for cell in range(islands.labels.size):
        if find_island_(islands, cell) == island:
            count += 1
    return count


@kernel
def pick_on_island_(
    islands: IslandArrays, island: int, ranks: NDArray[np.int64], cells: NDArray[np.int64]
) -> None:
    """Write the cells of an island that have the given ranks, which ascend, in flat order."""
    i = 0
    rank = 0
    for cell in range(islands.labels.size):
        if i == ranks.size:
            return
        if find_island_(islands, cell) == island:
            while i < ranks.size and ranks[i] == rank:
                cells[i] = cell
                i += 1
            rank += 1


@kernel
def on_island_each_(
    islands: IslandArrays, island: int, cells: NDArray[np.int64], answers: NDArray[np.bool_]
) -> None:
    """Write which flat cells lie on an island."""
    for i in range(cells.size):
        answers[i] = find_island_(islands, cells[i]) == island


@kernel
def islands_at_(islands: IslandArrays, cells: NDArray[np.int64], roots: NDArray[np.int64]) -> None:
    """Write the roots of flat cells, 0 where blocked."""
    for i in range(cells.size):
        roots[i] = find_island_(islands, cells[i])


def _checked_target(grid: Grid, field: str, cell: tuple[int, int]) -> tuple[int, int]:
    """Return the column and row of a cell that may lie outside the map."""
    x, y = checked_position(field, cell)
    column, row = x - grid.region_position[0], y - grid.region_position[1]
    if max(abs(column), abs(row)) > _FARTHEST:
        raise CellError(field, cell, "is too far from the map", "stay within 2**30 cells of it")
    return column, row


def _checked_distance(max_distance: float | None) -> int:
    """Return the largest squared distance allowed."""
    if max_distance is None:
        return 1 << 62
    distance = checked_number("max_distance", max_distance, 0.0, "give a finite number >= 0")
    return int(min(distance, 2.0**30) ** 2)


def _as_cell(grid: Grid, flat: int) -> tuple[int, int] | None:
    if flat < 0:
        return None
    row, column = divmod(flat, grid.width)
    return column + grid.region_position[0], row + grid.region_position[1]


def nearest_walkable(
    grid: Grid,
    cell: tuple[int, int],
    *,
    max_distance: float | None = None,
    **movement: Unpack[MovementOptions],
) -> tuple[int, int] | None:
    """Return the cell nearest to a given one where a body may stand.

    Parameters
    ----------
    grid : Grid
        The map.
    cell : (int, int)
        Where to look around; it may lie outside the map.
    max_distance : float, optional
        Look no farther than so many cells, >= 0.
    **movement
        Keywords of `Movement`; the body decides.

    Returns
    -------
    (int, int) or None
        The least Euclidean distance between centres, then the smaller flat index. O(distance^2).

    Raises
    ------
    InputError
        If an argument is out of its bounds.

    Examples
    --------
    >>> grid = Grid.from_blocked([[True, True, False], [True, False, True]])
    >>> nearest_walkable(grid, (0, 0)), nearest_walkable(grid, (9, 0))
    ((1, 1), (2, 0))
    >>> nearest_walkable(grid, (0, 0), max_distance=1.0) is None
    True
    """
    options = checked_movement(grid, movement, nearest_walkable)
    space = grid.space(options)
    x, y = _checked_target(grid, "cell", cell)
    max_squared = _checked_distance(max_distance)
    flat = nearest_(space.cells, space.open_table, _NO_ISLANDS, 0, x, y, max_squared)
    return _as_cell(grid, flat)


def nearest_reachable(
    grid: Grid,
    start: tuple[int, int],
    target: tuple[int, int],
    *,
    max_distance: float | None = None,
    **movement: Unpack[MovementOptions],
) -> tuple[int, int] | None:
    """Return the cell nearest to a target that can be reached from a start, without a search.

    Parameters
    ----------
    grid : Grid
        The map.
    start : (int, int)
        Where the body stands.
    target : (int, int)
        Where to look around; it may be blocked, or lie outside the map.
    max_distance : float, optional
        Look no farther from the target than so many cells, >= 0.
    **movement
        Keywords of `Movement`; the body and ``diagonal_mode`` decide.

    Returns
    -------
    (int, int) or None
        The least Euclidean distance between centres, then the smaller flat index. None if the
        start is blocked or nothing is near enough. O(distance^2) on settled islands.

    Raises
    ------
    InputError
        If an argument is out of its bounds.

    Examples
    --------
    >>> grid = Grid.from_blocked([[False, False, True, False]])
    >>> nearest_reachable(grid, (0, 0), (3, 0))
    (1, 0)
    """
    options = checked_movement(grid, movement, nearest_reachable)
    start_flat = grid.flat_index(start, "start")
    x, y = _checked_target(grid, "target", target)
    max_squared = _checked_distance(max_distance)
    space = grid.space(options)
    islands = islands_of(grid, options)
    with islands.settled() as arrays:
        island = _island_at(arrays, start_flat)
        if island == 0:
            return None
        flat = nearest_(space.cells, space.open_table, arrays, island, x, y, max_squared)
    return _as_cell(grid, flat)


def _island_at(arrays: IslandArrays, cell: int) -> int:
    roots = np.empty(1, np.int64)
    islands_at_(arrays, np.array([cell], np.int64), roots)
    return int(roots[0])


def random_reachable(
    grid: Grid,
    start: tuple[int, int],
    *,
    seed: int,
    count: int = 1,
    **movement: Unpack[MovementOptions],
) -> NDArray[np.int32]:
    """Return random cells that can be reached from a start, each with equal chance.

    Parameters
    ----------
    grid : Grid
        The map.
    start : (int, int)
        Where the body stands; it may come out as well.
    seed : int
        Equal seeds give equal cells on equal maps, on every machine.
    count : int
        Cells wanted, 1 to 2**20; one may come several times.
    **movement
        Keywords of `Movement`; the body and ``diagonal_mode`` decide.

    Returns
    -------
    int32 array (count, 2)
        Columns x and y; (0, 2) if the start is blocked. O(count) on settled islands that are no
        small part of the map, else O(cells).

    Raises
    ------
    InputError
        If an argument is out of its bounds.

    Notes
    -----
    Source of the numbers: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators"
    (2014), section 6.

    Examples
    --------
    >>> grid = Grid.from_blocked([[False, False, True, False]])
    >>> sorted(set(random_reachable(grid, (0, 0), seed=1, count=50)[:, 0].tolist()))
    [0, 1]
    """
    options = checked_movement(grid, movement, random_reachable)
    start_flat = grid.flat_index(start, "start")
    if not isinstance(seed, (int, np.integer)):
        raise InputError("seed", seed, "is not an integer", "give any integer")
    count = checked_count("count", count)
    if count > MAX_COUNT:
        raise InputError("count", count, "is too many cells", f"give at most {MAX_COUNT}")
    picked: NDArray[np.int64] = np.empty(0, np.int64)
    with islands_of(grid, options).settled() as arrays:
        island = _island_at(arrays, start_flat)
        if island == 0:
            return np.empty((0, 2), np.int32)
        # Cells of the map, of which those elsewhere are left out: short of tries on a small island.
        tries = 8 * count + 256
        cells = _below(grid.size, seed, 0, tries)
        on_island = np.empty(tries, np.bool_)
        on_island_each_(arrays, island, cells, on_island)
        picked = cells[on_island][:count]
        if picked.size < count:
            missing = count - picked.size
            ranks = _below(count_on_island_(arrays, island), seed, tries, missing)
            order = np.argsort(ranks, kind="stable")
            ascending = np.empty(missing, np.int64)
            pick_on_island_(arrays, island, ranks[order], ascending)
            rest = np.empty(missing, np.int64)
            rest[order] = ascending
            picked = np.concatenate([picked, rest])
    return unpack_cells(picked, grid.width, grid.region_position)


def _below(bound: int, seed: int, first: int, count: int) -> NDArray[np.int64]:
    """Return numbers in 0..bound-1, the first-th on of the sequence of a seed."""
    golden = 0x9E3779B97F4A7C15
    origin = np.uint64((index(seed) + (first + 1) * golden) % 2**64)
    word = np.arange(count, dtype=np.uint64) * np.uint64(golden) + origin
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    # 53 bits as a float of [0, 1): a bound of 2**26 leaves no bias that could be seen.
    return ((word >> np.uint64(11)) * 2.0**-53 * bound).astype(np.int64)


def _warm_up() -> None:
    grid = Grid([[0, 255] + [0] * 30])
    nearest_walkable(grid, (1, 0))
    # So few cells of an island that tries on the whole map do not suffice.
    random_reachable(grid, (0, 0), seed=1, count=300)
    nearest_reachable(grid, (0, 0), (3, 0))


register_warm_up("nearest cells", _warm_up)
