"""Which walls part two points: the fewest cells whose opening would connect them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from navserver._jit import kernel, register_warm_up
from navserver.search.bodies import disc_limit
from navserver.search.grid import Grid, checked_movement
from navserver.search.movement import Movement, MovementOptions
from navserver.search.moves import DX, DY, DiagonalMode
from navserver.search.nodes import unpack_cells
from navserver.status import InputError

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["what_opens"]

_START = 9


@kernel
def open_way_(
    space: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    direction_step: int,
    start: int,
    goal: int,
    came: NDArray[np.uint8],
    deque: NDArray[np.int32],
) -> None:
    """Write for each flat cell on the way the direction it was entered by, plus 1.

    Invariant: the cells on the deque, front to back, have been reached through k walls or k + 1,
    and first all that were through k; a cell is put there once, since who reaches it first does
    so through the fewest walls.
    """
    height, width = space.shape
    came[start] = _START
    deque[0] = start
    head = 0
    size = 1
    while size > 0:
        cell = np.int64(deque[head])
        head = head + 1 if head + 1 < deque.size else 0
        size -= 1
        y = cell // width
        x = cell - y * width
        for direction in range(0, 8, direction_step):
            to_x = x + DX[direction]
            to_y = y + DY[direction]
            if to_x < 0 or to_y < 0 or to_x >= width or to_y >= height:
                continue
            to = to_y * width + to_x
            if came[to] != 0:
                continue
            came[to] = direction + 1
            if to == goal:
                return
            if open_table[space[to_y, to_x]]:
                head = head - 1 if head > 0 else deque.size - 1
                deque[head] = to
            else:
                tail = head + size
                deque[tail if tail < deque.size else tail - deque.size] = to
            size += 1


@kernel
def walls_on_way_(
    space: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    goal: int,
    came: NDArray[np.uint8],
    walls: NDArray[np.int64],
) -> int:
    """Write the walls on the way from the goal back, as far as there is room; return how many."""
    width = space.shape[1]
    count = 0
    cell = goal
    while True:
        y = cell // width
        if not open_table[space[y, cell - y * width]]:
            if count < walls.size:
                walls[count] = cell
            count += 1
        if came[cell] == _START:
            return count
        direction = came[cell] - 1
        cell -= DY[direction] * width + DX[direction]


def what_opens(
    grid: Grid,
    start: tuple[int, int],
    goal: tuple[int, int],
    **movement: Unpack[MovementOptions],
) -> NDArray[np.int32]:
    """Return the fewest blocked cells whose opening would connect two cells.

    Parameters
    ----------
    grid : Grid
        The map.
    start, goal : (int, int)
        Cells; one that is blocked must be opened itself.
    **movement
        Keywords of `Movement`; ``profile`` and ``diagonal_mode`` decide. The body must be one
        cell: walls that a larger one shares between steps cannot be counted step by step.

    Returns
    -------
    int32 array (n, 2)
        Columns x and y, in the order of a way from start to goal; (0, 2) if they are connected.
        Of several smallest sets always the same one. O(cells), 5 bytes a cell that is seen.

    Raises
    ------
    CellError
        If a cell lies outside the map.
    InputError
        If the body is larger than one cell.

    Notes
    -----
    A 0-1 search over 8 neighbours under ALWAYS, else over 4: where the mode allows a diagonal
    step it also allows a way around the corner through cells that are open, so that 4 neighbours
    lose nothing and never need a diagonal.

    Examples
    --------
    >>> grid = Grid.from_blocked([[False, True, True, False], [False, True, False, False]])
    >>> what_opens(grid, (0, 0), (3, 0)).tolist()
    [[1, 1]]
    """
    options = checked_movement(grid, movement, what_opens)
    start_flat = grid.flat_index(start, "start")
    goal_flat = grid.flat_index(goal, "goal")
    if options.size > 1:
        raise InputError("size", options.size, "is more than one cell", "leave it out")
    if options.radius > 0.0 and disc_limit(options.radius, grid.transform) > 1:
        raise InputError("radius", options.radius, "is more than half a cell", "leave it out")
    space = grid.space(Movement(options.profile))
    came = np.zeros(grid.size, np.uint8)
    step = 1 if options.diagonal_mode == DiagonalMode.ALWAYS else 2
    if start_flat == goal_flat:
        came[start_flat] = _START
    else:
        deque = np.empty(grid.size, np.int32)
        open_way_(space.cells, space.open_table, step, start_flat, goal_flat, came, deque)
    walls = np.empty(64, np.int64)
    count = walls_on_way_(space.cells, space.open_table, goal_flat, came, walls)
    if count > walls.size:
        walls = np.empty(count, np.int64)
        walls_on_way_(space.cells, space.open_table, goal_flat, came, walls)
    return unpack_cells(walls[:count][::-1], grid.width, grid.region_position)


def _warm_up() -> None:
    what_opens(Grid([[0, 255, 0]]), (0, 0), (2, 0))


register_warm_up("openings", _warm_up)
