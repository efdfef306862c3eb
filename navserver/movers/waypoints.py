"""From the cells of a path to the waypoints of one body, with room for its disc.

Between two cells' centres a path of single steps keeps half a cell from every wall. A line pulled
straight does not: it may touch a corner. So a line is taken only where the whole disc that is
moved along it stays clear of walls.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from navserver._jit import kernel, register_warm_up, subkernel
from navserver.movers.sight import Ground, ground_of, walkable_
from navserver.search.grid import Grid
from navserver.search.movement import Movement

__all__ = ["disc_free_", "lay_waypoints", "lay_waypoints_"]

# Cells that a line may skip: beyond, what it costs to look is not worth what is gained.
_LOOKAHEAD = 48
_TOUCH = 1e-4
# Places to the right that are tried for a waypoint.
_SHIFTS = 4


@subkernel
def square_distance_(x: float, y: float, x0: float, y0: float, x1: float, y1: float) -> float:
    """Return the squared distance from a point to a segment."""
    dx = x1 - x0
    dy = y1 - y0
    length = dx * dx + dy * dy
    share = 0.0
    if length > 0.0:
        share = min(max(((x - x0) * dx + (y - y0) * dy) / length, 0.0), 1.0)
    from_x = x0 + share * dx - x
    from_y = y0 + share * dy - y
    return from_x * from_x + from_y * from_y


@subkernel
def gap_squared_(column: int, row: int, x: float, y: float) -> float:
    """Return the squared distance from a point to a cell's square."""
    dx = max(abs(x - column) - 0.5, 0.0)
    dy = max(abs(y - row) - 0.5, 0.0)
    return dx * dx + dy * dy


@subkernel
def clears_square_(
    column: int, row: int, x0: float, y0: float, x1: float, y1: float, squared: float
) -> bool:
    """Return whether a segment that does not enter a square keeps its distance to it.

    Two convex sets apart are nearest to each other at a corner of one of them.
    """
    if gap_squared_(column, row, x0, y0) < squared or gap_squared_(column, row, x1, y1) < squared:
        return False
    for corner in range(4):
        x = column - 0.5 + (corner & 1)
        y = row - 0.5 + (corner >> 1)
        if square_distance_(x, y, x0, y0, x1, y1) < squared:
            return False
    return True


@subkernel
def disc_free_(ground: Ground, x0: float, y0: float, x1: float, y1: float, radius: float) -> bool:
    """Return whether a disc may be moved straight from one point to another.

    Its centre must walk on open cells, and no square that is not open may be nearer than the
    radius, which is at most half a cell.
    """
    if not walkable_(ground, x0, y0, x1, y1):
        return False
    reach = radius - _TOUCH
    if reach <= 0.0:
        return True
    x0 -= ground.origin_x
    x1 -= ground.origin_x
    y0 -= ground.origin_y
    y1 -= ground.origin_y
    squared = reach * reach
    slope = (x1 - x0) / (y1 - y0) if y1 != y0 else 0.0
    low_y = min(y0, y1)
    high_y = max(y0, y1)
    for row in range(math.floor(low_y - reach + 0.5), math.floor(high_y + reach + 0.5) + 1):
        # What the segment spans of the columns near this row, and the radius on either side.
        if y1 != y0:
            top = x0 + (min(max(row - 0.5 - reach, low_y), high_y) - y0) * slope
            bottom = x0 + (min(max(row + 0.5 + reach, low_y), high_y) - y0) * slope
        else:
            top = x0
            bottom = x1
        first = math.floor(min(top, bottom) - reach + 0.5)
        for column in range(first, math.floor(max(top, bottom) + reach + 0.5) + 1):
            inside = 0 <= column < ground.width and 0 <= row < ground.height
            if inside and ground.open_table[ground.space[row * ground.width + column]]:
                continue
            if not clears_square_(column, row, x0, y0, x1, y1, squared):
                return False
    return True


@subkernel
def keeps_course_(cells: NDArray[np.int64], first: int, i: int, j: int) -> bool:
    """Return whether the path goes on to cell `j` in the direction by which it enters cell `i`.

    The first cell has no such direction: it may be left out.
    """
    if i == first:
        return j == first + 1
    return cells[j] - cells[j - 1] == cells[i] - cells[i - 1]


@subkernel
def keep_right_(
    ground: Ground,
    x: float,
    y: float,
    radius: float,
    most: float,
    begin: int,
    end: int,
    points: NDArray[np.float32],
) -> None:
    """Move the waypoints between a start (x, y) and the last one to the right as far as is free.

    Invariant: all legs are as free as they were before.
    """
    for k in range(begin, end - 1):
        at_x = np.float64(points[k, 0])
        at_y = np.float64(points[k, 1])
        next_x = np.float64(points[k + 1, 0])
        next_y = np.float64(points[k + 1, 1])
        dx = next_x - x
        dy = next_y - y
        length = math.sqrt(dx * dx + dy * dy)
        if length > 0.0:
            for step in range(_SHIFTS, 0, -1):
                share = most * step / (_SHIFTS * length)
                to_x = np.float64(np.float32(at_x - dy * share))
                to_y = np.float64(np.float32(at_y + dx * share))
                if disc_free_(ground, x, y, to_x, to_y, radius) and disc_free_(
                    ground, to_x, to_y, next_x, next_y, radius
                ):
                    points[k, 0] = np.float32(to_x)
                    points[k, 1] = np.float32(to_y)
                    at_x = to_x
                    at_y = to_y
                    break
        x = at_x
        y = at_y


@kernel
def lay_waypoints_(
    ground: Ground,
    cells: NDArray[np.int64],
    offsets: NDArray[np.int64],
    pull: bool,
    keep_right: float,
    starts: NDArray[np.float32],
    goals: NDArray[np.float32],
    radii: NDArray[np.float32],
    points: NDArray[np.float32],
    point_offsets: NDArray[np.int64],
) -> None:
    """Write the waypoints of each path, from where its body is to a point in its last cell.

    A path that has no cells gets no waypoints. The points have room for the cells and two more a
    path. Invariant: from (x, y), where the waypoints so far lead, to the centre of cell `i` the
    way is free, or that is the cell that (x, y) is in.
    """
    count = 0
    for path in range(offsets.size - 1):
        point_offsets[path] = count
        first = offsets[path]
        last = offsets[path + 1] - 1
        if last < first:
            continue
        x = np.float64(starts[path, 0])
        y = np.float64(starts[path, 1])
        goal_x = np.float64(goals[path, 0])
        goal_y = np.float64(goals[path, 1])
        radius = np.float64(min(radii[path], np.float32(0.5)))
        i = first
        while True:
            # Many that see their goals from afar must not meet in one line on the way.
            if pull and disc_free_(ground, x, y, goal_x, goal_y, radius):
                points[count, 0] = np.float32(goal_x)
                points[count, 1] = np.float32(goal_y)
                count += 1
                break
            # The farthest cell that can be gone to straight, the goal in the place of the last.
            best = i - 1
            j = i
            while j <= min(last, i + _LOOKAHEAD):
                if not (pull or j == i or keeps_course_(cells, first, i, j)):
                    break
                to_x = np.float64(cells[j] % ground.width + ground.origin_x)
                to_y = np.float64(cells[j] // ground.width + ground.origin_y)
                if j == last:
                    to_x = goal_x
                    to_y = goal_y
                if disc_free_(ground, x, y, to_x, to_y, radius):
                    best = j
                elif j > i:
                    break
                j += 1
            if best == last:
                points[count, 0] = np.float32(goal_x)
                points[count, 1] = np.float32(goal_y)
                count += 1
                break
            # Where not even the next cell is free for the disc, its centre is gone to all the same:
            # at the start a body may touch a wall, and at the end the goal may be beside one.
            best = max(best, i)
            x = np.float64(cells[best] % ground.width + ground.origin_x)
            y = np.float64(cells[best] // ground.width + ground.origin_y)
            points[count, 0] = np.float32(x)
            points[count, 1] = np.float32(y)
            count += 1
            if best == last:
                points[count, 0] = np.float32(goal_x)
                points[count, 1] = np.float32(goal_y)
                count += 1
                break
            i = best + 1
        if keep_right > 0.0:
            keep_right_(
                ground,
                np.float64(starts[path, 0]),
                np.float64(starts[path, 1]),
                radius,
                keep_right,
                point_offsets[path],
                count,
                points,
            )
    point_offsets[offsets.size - 1] = count


def lay_waypoints(
    grid: Grid,
    movement: Movement,
    cells: NDArray[np.int64],
    offsets: NDArray[np.int64],
    starts: NDArray[np.float32],
    goals: NDArray[np.float32],
    radii: NDArray[np.float32],
    keep_right: float = 0.0,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the waypoints of many bodies of one movement along paths of cells.

    Where every cell costs the same, paths are pulled straight as far as the body's disc stays
    clear of walls; where costs differ, they lead from cell to cell as they were found.

    Parameters
    ----------
    grid : Grid
        The map.
    movement : Movement
        What blocks the bodies; a disc larger than half a cell is its affair.
    cells : int64 array (m,)
        Flat cells of all paths, each one legal step from the one before.
    offsets : int64 array (n + 1,)
        Path i is ``cells[offsets[i]:offsets[i + 1]]``; one without cells stays empty.
    starts, goals : float32 arrays (n, 2)
        Points in the first and in the last cell of each path, in cell space.
    radii : float32 array (n,)
        In cells.
    keep_right : float
        How far, in cells, waypoints may lie to the right of the shortest way, so that streams
        that meet in a door or a corridor pass each other.

    Returns
    -------
    float32 array (k, 2)
        Waypoints, without the starts; the last of each path is its goal.
    int64 array (n + 1,)
        Their offsets.
    """
    ground = ground_of(grid, movement)
    points = np.empty((cells.size + 2 * (offsets.size - 1), 2), np.float32)
    point_offsets = np.empty(offsets.size, np.int64)
    pull = grid.uniform_cost(movement) is not None
    lay_waypoints_(
        ground, cells, offsets, pull, keep_right, starts, goals, radii, points, point_offsets
    )
    return points[: point_offsets[-1]], point_offsets


def _warm_up() -> None:
    ends = np.zeros((1, 2), np.float32)
    lay_waypoints(
        Grid([[0]]), Movement(), np.zeros(1, np.int64), np.array([0, 1]), ends, ends,
        np.ones(1, np.float32),
    )  # fmt: skip


register_warm_up("waypoints", _warm_up)
