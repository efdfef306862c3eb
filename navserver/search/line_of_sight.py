"""Exact line of sight between cell centres, and walking rays between any two points.

The segment is followed from cell to cell in integers, so that a crossing of a corner is told
from a crossing beside it at any distance. Source of the traversal: Amanatides and Woo, "A Fast
Voxel Traversal Algorithm for Ray Tracing" (1987).

Points between the centres are brought to a lattice of 1 / 65,536 of a cell first. A cell owns its
left and upper border but not its right and lower one, as in `Grid.world_to_cell`: every point is
in one cell. A segment is in the cells of its ends and in those that own more than one of its
points; where it passes a corner of four cells exactly, it goes diagonally, and the rule of the
diagonal mode for that step holds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver._jit import kernel, register_warm_up, subkernel
from navserver.search.cells import paired_cells
from navserver.search.grid import Grid, checked_movement
from navserver.search.movement import Movement, MovementOptions
from navserver.search.validation import checked_array, checked_flag, checked_points
from navserver.status import CellError, InputError

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["RayHit", "RayHits", "line_of_sight", "raycast", "raycasts"]

# Points of the lattice a cell and axis. A segment of up to 2**14 cells then keeps the products
# of two of its lengths within 2**60.
LATTICE_BITS = 16
ONE = 1 << LATTICE_BITS
_LONGEST = 1 << 14

# How `follow_` ended.
ARRIVED, AT_COLUMN, AT_ROW, AT_CORNER = range(4)


@subkernel
def straight_(sign: int, vertical: bool) -> int:
    """Return the direction of a straight step."""
    if vertical:
        return 2 if sign > 0 else 6
    return 0 if sign > 0 else 4


@subkernel
def corner_open_(masks: NDArray[np.uint8], cell: int, sx: int, sy: int) -> bool:
    """Return whether a segment may leave a cell exactly through a corner."""
    horizontal = straight_(sx, False)
    vertical = straight_(sy, True)
    east = 1 if sy > 0 else 7
    west = 3 if sy > 0 else 5
    if masks[cell] >> (east if sx > 0 else west) & 1:
        return True
    # Under NEVER no mask has a diagonal; under the other modes this asks no less than they do.
    sides = masks[cell] >> horizontal & 1 and masks[cell] >> vertical & 1
    return bool(sides and masks[cell + sx] >> vertical & 1)


@subkernel
def sees_(masks: NDArray[np.uint8], width: int, start: int, goal: int) -> bool:
    """Return whether the segment between two walkable cells' centres is free.

    Invariant: `cell` is the one that the segment is in, `i` columns and `j` rows on its way.
    """
    start_y = start // width
    goal_y = goal // width
    dx = (goal - goal_y * width) - (start - start_y * width)
    dy = goal_y - start_y
    sx = 1 if dx > 0 else -1
    sy = 1 if dy > 0 else -1
    adx = abs(dx)
    ady = abs(dy)
    i = 0
    j = 0
    cell = start
    while i < adx or j < ady:
        # Sign of (2 i + 1) / (2 adx) - (2 j + 1) / (2 ady): which border comes first.
        order = (2 * i + 1) * ady - (2 * j + 1) * adx
        if order == 0:
            if not corner_open_(masks, cell, sx, sy):
                return False
            cell += sy * width + sx
            i += 1
            j += 1
        elif order < 0:
            if not masks[cell] >> straight_(sx, False) & 1:
                return False
            cell += sx
            i += 1
        else:
            if not masks[cell] >> straight_(sy, True) & 1:
                return False
            cell += sy * width
            j += 1
    return True


@kernel
def line_of_sight_(
    masks: NDArray[np.uint8],
    space: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    width: int,
    starts: NDArray[np.int64],
    goals: NDArray[np.int64],
    visible: NDArray[np.bool_],
) -> None:
    """Write for each pair whether one sees the other; a blocked cell sees nothing."""
    for i in range(starts.size):
        start = starts[i]
        goal = goals[i]
        visible[i] = (
            open_table[space[start]] != 0
            and open_table[space[goal]] != 0
            and sees_(masks, width, start, goal)
        )


def line_of_sight(
    grid: Grid,
    start: ArrayLike,
    goal: ArrayLike,
    **movement: Unpack[MovementOptions],
) -> bool | NDArray[np.bool_]:
    """Return whether the straight segment between two cells' centres is free.

    Every cell whose inside the segment passes must be walkable. Where it passes exactly through
    a corner, the rule of the diagonal mode for that step holds; NEVER asks, like
    ONLY_IF_NO_OBSTACLES, for both cells beside the corner.

    Parameters
    ----------
    grid : Grid
        The map.
    start, goal : (int, int) or array-like of int, shape (n, 2)
        Cells; one pair, n pairs, or one cell against n.
    **movement
        Keywords of `Movement`; ``profile`` says which cells block, ``diagonal_mode`` rules at
        corners.

    Returns
    -------
    bool or bool array (n,)
        False where an end is blocked. Symmetric in start and goal; O(dx + dy) a pair.

    Raises
    ------
    CellError
        If a cell lies outside the map, or the arrays differ in length.

    Examples
    --------
    >>> grid = Grid.from_blocked([[False, False], [True, False]])
    >>> line_of_sight(grid, (0, 0), (1, 1))
    False
    >>> from navserver.search.moves import DiagonalMode
    >>> line_of_sight(grid, (0, 0), (1, 1), diagonal_mode=DiagonalMode.ALWAYS)
    True
    """
    options = checked_movement(grid, movement, line_of_sight)
    terrain = grid.terrain(options)
    starts, goals, single = paired_cells(grid, start, goal)
    visible = np.empty(starts.size, np.bool_)
    line_of_sight_(
        terrain.masks, terrain.space, terrain.open_table, grid.width, starts, goals, visible
    )
    return bool(visible[0]) if single else visible


@subkernel
def follow_(
    masks: NDArray[np.uint8], width: int, x0: int, y0: int, x1: int, y1: int
) -> tuple[int, int]:
    """Walk from a lattice point of an open cell to another point, up to the first wall.

    Return how it ended, and the flat cell where. Invariant: `cell` owns the segment's point at
    the last crossing, `to_x` and `to_y` lead from the start to the cell's next borders.
    """
    column = x0 >> LATTICE_BITS
    row = y0 >> LATTICE_BITS
    columns = abs((x1 >> LATTICE_BITS) - column)
    rows = abs((y1 >> LATTICE_BITS) - row)
    sx = 1 if x1 > x0 else -1
    sy = 1 if y1 > y0 else -1
    horizontal = straight_(sx, False)
    vertical = straight_(sy, True)
    adx = abs(x1 - x0)
    ady = abs(y1 - y0)
    to_x = ((column + 1) << LATTICE_BITS) - x0 if sx > 0 else x0 - (column << LATTICE_BITS)
    to_y = ((row + 1) << LATTICE_BITS) - y0 if sy > 0 else y0 - (row << LATTICE_BITS)
    cell = row * width + column
    while columns > 0 or rows > 0:
        # A border that only the end touches may not be crossed at all.
        order = to_x * ady - to_y * adx
        if rows == 0:
            order = -1
        elif columns == 0:
            order = 1
        if order == 0:
            if not corner_open_(masks, cell, sx, sy):
                return AT_CORNER, cell
            cell += sy * width + sx
        elif order < 0:
            if not masks[cell] >> horizontal & 1:
                return AT_COLUMN, cell
            cell += sx
        else:
            if not masks[cell] >> vertical & 1:
                return AT_ROW, cell
            cell += sy * width
        if order <= 0:
            to_x += ONE
            columns -= 1
        if order >= 0:
            to_y += ONE
            rows -= 1
    return ARRIVED, cell


@subkernel
def way_to_border_(how: int, cell: int, width: int, x0: int, y0: int, x1: int, y1: int) -> int:
    """Return how far along its axis a segment leaves the cell where it was stopped."""
    if how == AT_ROW:
        top = (cell // width) << LATTICE_BITS
        return abs((top + ONE if y1 > y0 else top) - y0)
    left = (cell % width) << LATTICE_BITS
    return abs((left + ONE if x1 > x0 else left) - x0)


@subkernel
def last_point_(
    how: int, cell: int, width: int, x0: int, y0: int, x1: int, y1: int
) -> tuple[int, int]:
    """Return where a segment leaves the cell where it was stopped, as a point the cell owns."""
    along = way_to_border_(how, cell, width, x0, y0, x1, y1)
    length = abs(y1 - y0) if how == AT_ROW else abs(x1 - x0)
    left = (cell % width) << LATTICE_BITS
    top = (cell // width) << LATTICE_BITS
    x = x0 + (x1 - x0) * along // length
    y = y0 + (y1 - y0) * along // length
    return min(max(x, left), left + ONE - 1), min(max(y, top), top + ONE - 1)


@subkernel
def last_free_(
    masks: NDArray[np.uint8],
    width: int,
    how: int,
    cell: int,
    x0: int,
    y0: int,
    x1: int,
    y1: int,
) -> tuple[int, int]:
    """Return the last point of a segment that was stopped, such that what leads to it is free.

    The point where it leaves its cell has to be rounded, and then its own segment may pass on
    the wrong side of a corner that the true one goes through or just misses.
    """
    x, y = last_point_(how, cell, width, x0, y0, x1, y1)
    stopped, at = follow_(masks, width, x0, y0, x, y)
    if stopped == ARRIVED:
        return x, y
    # The last points of the lattice that are exactly on the segment.
    common = abs(x1 - x0)
    rest = abs(y1 - y0)
    while rest > 0:
        common, rest = rest, common % rest
    length = abs(y1 - y0) if how == AT_ROW else abs(x1 - x0)
    last = way_to_border_(how, cell, width, x0, y0, x1, y1) * common // length
    for step in range(last, max(last - 2, 0), -1):
        on_x = x0 + (x1 - x0) // common * step
        on_y = y0 + (y1 - y0) // common * step
        if follow_(masks, width, x0, y0, on_x, on_y)[0] == ARRIVED:
            return on_x, on_y
    # Else where the rounded segment was stopped, rounded in its turn.
    for _ in range(4):
        x, y = last_point_(stopped, at, width, x0, y0, x, y)
        stopped, at = follow_(masks, width, x0, y0, x, y)
        if stopped == ARRIVED:
            return x, y
    return x0, y0


@subkernel
def to_lattice_(point: float) -> int:
    """Return a coordinate from the map's first cell in steps of the lattice, rounded down."""
    return math.floor((point + 0.5) * ONE)


@subkernel
def from_lattice_(steps: int, origin: int) -> float:
    """Return the coordinate of a lattice point, which a float holds exactly."""
    return steps / ONE - 0.5 + origin


@kernel
def raycasts_(
    masks: NDArray[np.uint8],
    space: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    width: int,
    height: int,
    origin_x: int,
    origin_y: int,
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    reached: NDArray[np.bool_],
    points: NDArray[np.float64],
    cells: NDArray[np.int32],
    normals: NDArray[np.int8],
) -> int:
    """Follow each segment; where it meets a wall write the last free point.

    Return the first row whose start lies outside the map or whose points are not finite, -1 if
    there is none. Invariant: the segment from a start in an open cell to its point is free.
    """
    for i in range(reached.size):
        start_x = starts[i, 0] - origin_x
        start_y = starts[i, 1] - origin_y
        end_x = ends[i, 0] - origin_x
        end_y = ends[i, 1] - origin_y
        if not (-1.0 < start_x < width and -1.0 < start_y < height):
            return i
        x0 = to_lattice_(start_x)
        y0 = to_lattice_(start_y)
        inside = 0 <= x0 < width << LATTICE_BITS and 0 <= y0 < height << LATTICE_BITS
        if not (inside and math.isfinite(end_x) and math.isfinite(end_y)):
            return i
        distance = max(abs(end_x - start_x), abs(end_y - start_y))
        if distance > _LONGEST:
            # Still beyond the border, and on the same line as far as it matters.
            end_x = start_x + (end_x - start_x) * (_LONGEST / distance)
            end_y = start_y + (end_y - start_y) * (_LONGEST / distance)
        x1 = to_lattice_(end_x)
        y1 = to_lattice_(end_y)
        cell = (y0 >> LATTICE_BITS) * width + (x0 >> LATTICE_BITS)
        normal_x = 0
        normal_y = 0
        last_x = x0
        last_y = y0
        hit_x = x0 >> LATTICE_BITS
        hit_y = y0 >> LATTICE_BITS
        reached[i] = False
        if open_table[space[cell]]:
            how, cell = follow_(masks, width, x0, y0, x1, y1)
            if how == ARRIVED:
                reached[i] = True
                last_x = x1
                last_y = y1
            else:
                sx = 1 if x1 > x0 else -1
                sy = 1 if y1 > y0 else -1
                open_x = masks[cell] >> straight_(sx, False) & 1
                open_y = masks[cell] >> straight_(sy, True) & 1
                # At a corner what stands beside it is named before what lies behind it.
                if how == AT_COLUMN or (how == AT_CORNER and (not open_x or open_y)):
                    normal_x = -sx
                if how == AT_ROW or (how == AT_CORNER and open_x):
                    normal_y = -sy
                hit_x = cell % width - normal_x
                hit_y = cell // width - normal_y
                last_x, last_y = last_free_(masks, width, how, cell, x0, y0, x1, y1)
            if reached[i]:
                hit_x = last_x >> LATTICE_BITS
                hit_y = last_y >> LATTICE_BITS
        points[i, 0] = from_lattice_(last_x, origin_x)
        points[i, 1] = from_lattice_(last_y, origin_y)
        cells[i, 0] = hit_x + origin_x
        cells[i, 1] = hit_y + origin_y
        normals[i, 0] = normal_x
        normals[i, 1] = normal_y
    return -1


class RayHit(NamedTuple):
    """Where a walking ray ended."""

    reached: bool
    """Whether the whole segment is free."""
    point: tuple[float, float]
    """The last free point: the end if reached, the start if that is in a wall."""
    cell: tuple[int, int]
    """The cell that stopped the ray, perhaps beyond the border; if reached, that of the end."""
    normal: tuple[int, int]
    """The side of that cell that was met: (-1, 0) is its left one. Both are set where a ray meets
    a cell exactly at its corner; (0, 0) if reached, or if the start is in a wall."""


class RayHits(NamedTuple):
    """Where many walking rays ended, one row a ray; see `RayHit`."""

    reached: NDArray[np.bool_]
    """bool array (n,)."""
    points: NDArray[np.float64]
    """float64 array (n, 2)."""
    cells: NDArray[np.int32]
    """int32 array (n, 2)."""
    normals: NDArray[np.int8]
    """int8 array (n, 2)."""


def raycast(
    grid: Grid,
    start: tuple[float, float],
    end: tuple[float, float],
    *,
    world: bool = False,
    **movement: Unpack[MovementOptions],
) -> RayHit:
    """Walk straight from one point towards another and stop before the first wall.

    Parameters
    ----------
    grid : Grid
        The map. What lies beyond its border is a wall.
    start, end : (float, float)
        Points x and y; the start must lie on the map.
    world : bool
        Whether points are world positions. Otherwise they are in cells, a cell's centre being at
        whole numbers and its square reaching half a cell to each side.
    **movement
        Keywords of `Movement`: what blocks, and who may pass exactly through a corner. A larger
        body is its anchor's point, which walks on the cells where the body fits.

    Returns
    -------
    RayHit
        Whether the end was reached, the last free point, the cell hit and its side.

    Raises
    ------
    InputError
        If a point is not finite or the start lies outside the map.

    Notes
    -----
    Both points are first rounded down to 1 / 65,536 of a cell; from there on all is exact. The
    last free point is in a free cell, a step or two of that size from the wall, and a ray from
    the start to it reaches it: where rounding would carry that ray past the wrong side of a
    corner, the point is moved back. O(dx + dy).

    Examples
    --------
    >>> grid = Grid.from_blocked([[False, False, False, True]])
    >>> hit = raycast(grid, (0.0, 0.25), (3.0, 0.25))
    >>> hit.reached, hit.cell, hit.normal, round(hit.point[0], 3)
    (False, (3, 0), (-1, 0), 2.5)
    """
    options = checked_movement(grid, movement, raycast)
    ends = (_one_point("start", start), _one_point("end", end))
    hits = _cast(grid, options, *ends, world, ("start", "end"))
    x, y = hits.points[0].tolist()
    column, row = hits.cells[0].tolist()
    right, down = hits.normals[0].tolist()
    return RayHit(bool(hits.reached[0]), (x, y), (column, row), (right, down))


def raycasts(
    grid: Grid,
    starts: ArrayLike,
    ends: ArrayLike,
    *,
    world: bool = False,
    **movement: Unpack[MovementOptions],
) -> RayHits:
    """Walk along many segments at once.

    Parameters
    ----------
    grid : Grid
        The map.
    starts, ends : array-like of float, shape (n, 2)
        Points, as for `raycast`.
    world : bool
        Whether points are world positions.
    **movement
        Keywords of `Movement`.

    Returns
    -------
    RayHits
        One row a ray.

    Raises
    ------
    InputError
        If a point is not finite, a start lies outside the map, or the arrays differ in length;
        names the row.

    Examples
    --------
    >>> grid = Grid.from_blocked([[False, False, False, True]])
    >>> raycasts(grid, [(0, 0), (0, 0)], [(2, 0), (2, 5)]).reached.tolist()
    [True, False]
    """
    options = checked_movement(grid, movement, raycasts)
    origins, targets = _many_points("starts", starts), _many_points("ends", ends)
    if len(origins) != len(targets):
        raise InputError("ends", len(targets), "do not go with the starts", f"give {len(origins)}")
    return _cast(grid, options, origins, targets, world, ("starts[{}]", "ends[{}]"))


def _one_point(field: str, point: ArrayLike) -> NDArray[np.float64]:
    array = checked_points(field, point)
    if array.ndim != 1:
        raise InputError(field, array.shape, "is not the shape of a point", "give x and y")
    return array[np.newaxis]


def _many_points(field: str, points: ArrayLike) -> NDArray[np.float64]:
    array = checked_array(field, points)
    array = checked_points(field, array) if array.size else np.empty((0, 2))
    if array.ndim != 2:
        raise InputError(field, array.shape, "is not a shape of points", "give the shape (n, 2)")
    return array


def _cast(
    grid: Grid,
    movement: Movement,
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    world: bool,
    fields: tuple[str, str],
) -> RayHits:
    """Follow rays; `fields` names the points of a row in errors."""
    world = checked_flag("world", world)
    origins, targets = (_in_cells(grid, points, world) for points in (starts, ends))
    n_rays = len(origins)
    hits = RayHits(
        np.empty(n_rays, np.bool_),
        np.empty((n_rays, 2), np.float64),
        np.empty((n_rays, 2), np.int32),
        np.empty((n_rays, 2), np.int8),
    )
    terrain = grid.terrain(movement)
    bad = raycasts_(
        terrain.masks,
        terrain.space,
        terrain.open_table,
        grid.width,
        grid.height,
        *grid.region_position,
        origins,
        targets,
        hits.reached,
        hits.points,
        hits.cells,
        hits.normals,
    )
    if bad >= 0:
        # Ends may lie anywhere, as long as there is a direction towards them.
        at_end = not np.isfinite(targets[bad]).all()
        raise CellError(
            fields[at_end].format(bad),
            tuple((ends if at_end else starts)[bad].tolist()),
            "is not finite" if at_end else "is not a point of the map",
            "give finite numbers" if at_end else "start a ray on one of its cells",
        )
    return hits._replace(points=grid.cell_to_world(hits.points)) if world else hits


def _in_cells(grid: Grid, points: NDArray[np.float64], world: bool) -> NDArray[np.float64]:
    if world:
        with np.errstate(invalid="ignore", over="ignore"):
            points = grid.world_to_cell_space(points)
    array = np.ascontiguousarray(points)
    # Arrays that cannot be written have another type to a kernel.
    return array if array.flags.writeable else array.copy()


def _warm_up() -> None:
    line_of_sight(Grid([[0]]), (0, 0), (0, 0))
    raycast(Grid([[0]]), (0, 0), (0, 0))


register_warm_up("line of sight", _warm_up)
