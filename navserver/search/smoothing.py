"""After the search: paths pulled straight, without needless points, and rounded.

Every function takes cells and gives back cells or points; none needs the search that found them.
The plural forms take many paths at once: all cells in one array, and offsets, path i being
``cells[offsets[i]:offsets[i + 1]]``; their results are packed alike.

Sources: Catmull and Rom, "A Class of Local Interpolating Splines" (1974); Yuksel, Schaefer and
Keyser, "Parameterization and Applications of Catmull-Rom Curves" (2011), for the centripetal form.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver._jit import kernel, register_warm_up, subkernel
from navserver.search.costs import PRODUCT, Terrain
from navserver.search.grid import Grid, checked_movement
from navserver.search.line_of_sight import (
    ARRIVED,
    follow_,
    from_lattice_,
    sees_,
    to_lattice_,
)
from navserver.search.movement import Movement, MovementOptions
from navserver.search.nodes import unpack_cells
from navserver.search.overrides import checked_query_cells, overridden_masks
from navserver.search.validation import checked_cells, checked_flag
from navserver.status import CellError, InputError

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "pull_string",
    "pull_strings",
    "round_path",
    "round_paths",
    "simplify_path",
    "simplify_paths",
]

MAX_SAMPLES = 1024
_MAX_EXTENT = 1 << 30

# Share of a path's cost that rounding may add to one of its stretches.
COST_MARGIN = 2.0**-40

# What a segment of a path is looked at for.
MEASURE, AHEAD, BACK = range(3)


@kernel
def pull_strings_(
    terrain: Terrain,
    keep_costs: bool,
    cells: NDArray[np.int64],
    offsets: NDArray[np.int64],
    costs: NDArray[np.float64],
    pulled: NDArray[np.int64],
    pulled_offsets: NDArray[np.int64],
) -> None:
    """Write of each path the cells that stay when it is pulled straight.

    Invariant: `i` is the last cell that stays, `reach` the farthest of those tried after it that
    it may be joined with; the next cell always is one. Before that, `costs` up to `i` is known.

    All is one loop over segments, since each call with the arrays of a terrain would count
    references to them: that takes ten times as long as a segment of some cells.
    """
    width = terrain.width
    masks = terrain.masks
    classes = terrain.classes
    class_costs = terrain.class_costs
    cell_scale = terrain.cell_scale
    layers = terrain.layers
    layer_rows = terrain.layer_rows
    layer_weights = terrain.layer_weights
    squared = terrain.cost_model == PRODUCT
    n_pulled = 0
    pulled_offsets[0] = 0
    for path in range(offsets.size - 1):
        first = offsets[path]
        last = offsets[path + 1] - 1
        if first <= last:
            pulled[n_pulled] = cells[first]
            n_pulled += 1
            if keep_costs:
                costs[first] = 0.0
        aim = MEASURE if keep_costs else AHEAD
        i = first
        j = first + 1
        reach = j
        stride = 1
        while i < last:
            allowed = j == i + 1 or sees_(masks, width, cells[i], cells[j])
            if keep_costs and allowed:
                # Sum of length in a cell times its cost: `at` of the `whole` parts are summed,
                # `to_x` and `to_y` lead to the next column and row, `cell` is between them.
                cell = cells[i]
                start_y = cell // width
                goal_y = cells[j] // width
                dx = (cells[j] - goal_y * width) - (cell - start_y * width)
                adx = abs(dx)
                ady = abs(goal_y - start_y)
                sx = 1 if dx > 0 else -1
                sy = width if goal_y > start_y else -width
                part_x = max(ady, 1)
                part_y = max(adx, 1)
                whole = 2 * part_x * part_y
                to_x = part_x if adx > 0 else whole
                to_y = part_y if ady > 0 else whole
                at = 0
                cost = 0.0
                while at < whole:
                    here = class_costs[classes[cell]]
                    if cell_scale.size > 0:
                        here *= cell_scale[cell]
                    for k in range(layer_rows.size):
                        here += layer_weights[k] * layers[layer_rows[k], cell]
                    if squared:
                        here *= here
                    after = min(to_x, to_y, whole)
                    cost += (after - at) * here
                    at = after
                    if to_x == after:
                        cell += sx
                        to_x += 2 * part_x
                    if to_y == after:
                        cell += sy
                        to_y += 2 * part_y
                cost *= math.sqrt(adx * adx + ady * ady) / whole
                if aim == MEASURE:
                    costs[j] = costs[i] + cost
                else:
                    limit = costs[j] - costs[i] + COST_MARGIN * costs[j]
                    allowed = j == i + 1 or cost <= limit
            if aim == MEASURE:
                i = j
                j = i + 1
                if i == last:
                    aim = AHEAD
                    i = first
                    j = first + 1
                continue
            if allowed:
                reach = j
            if aim == AHEAD and allowed and reach < last:
                stride *= 2
                j = min(i + stride, last)
                continue
            if aim == AHEAD and not allowed:
                aim = BACK
            if aim == BACK and not allowed:
                j -= 1
                if j > reach:
                    continue
            pulled[n_pulled] = cells[reach]
            n_pulled += 1
            aim = AHEAD
            stride = 1
            i = reach
            j = i + 1
            reach = j
        pulled_offsets[path + 1] = n_pulled


@kernel
def simplify_paths_(
    cells: NDArray[np.int64],
    offsets: NDArray[np.int64],
    kept: NDArray[np.int64],
    kept_offsets: NDArray[np.int64],
) -> None:
    """Write the rows of the cells at which a path turns, and those of its ends.

    Invariant: all rows between the last one kept and `i` lie in order on one segment.
    """
    n_kept = 0
    kept_offsets[0] = 0
    for path in range(offsets.size - 1):
        first = offsets[path]
        last = offsets[path + 1] - 1
        before = first
        for i in range(first, last + 1):
            if first < i < last:
                ax = cells[i, 0] - cells[before, 0]
                ay = cells[i, 1] - cells[before, 1]
                bx = cells[i + 1, 0] - cells[i, 0]
                by = cells[i + 1, 1] - cells[i, 1]
                if ax * by == ay * bx and ax * bx + ay * by >= 0:
                    continue
            kept[n_kept] = i
            n_kept += 1
            before = i
        kept_offsets[path + 1] = n_kept


@subkernel
def tangent_(a: float, b: float, c: float, ab: float, bc: float) -> float:
    """Return the curve's velocity at b on its way from a to c, ab and bc being the times."""
    return (b - a) / ab - (c - a) / (ab + bc) + (c - b) / bc


@subkernel
def time_(ax: float, ay: float, bx: float, by: float) -> float:
    """Return the time between two points in the centripetal form: root of the distance."""
    return math.sqrt(math.sqrt((bx - ax) * (bx - ax) + (by - ay) * (by - ay)))


@kernel
def round_paths_(
    masks: NDArray[np.uint8],
    width: int,
    origin_x: int,
    origin_y: int,
    samples: int,
    cells: NDArray[np.int64],
    offsets: NDArray[np.int64],
    points: NDArray[np.float64],
    point_offsets: NDArray[np.int64],
) -> None:
    """Write the points of a curve through each path's cells.

    Invariant: all points written lie on the lattice, and the segments between them are free
    unless one between two cells of the path is not.
    """
    n_points = 0
    point_offsets[0] = 0
    for path in range(offsets.size - 1):
        first = offsets[path]
        last = offsets[path + 1] - 1
        for i in range(first, last + 1):
            cx = float(cells[i] % width)
            cy = float(cells[i] // width)
            if i > first and cells[i] != cells[i - 1]:
                bx = float(cells[i - 1] % width)
                by = float(cells[i - 1] // width)
                # Beyond an end the path goes on as it came.
                ax = 2.0 * bx - cx
                ay = 2.0 * by - cy
                dx = 2.0 * cx - bx
                dy = 2.0 * cy - by
                if i - 1 > first and cells[i - 2] != cells[i - 1]:
                    ax = float(cells[i - 2] % width)
                    ay = float(cells[i - 2] // width)
                if i < last and cells[i + 1] != cells[i]:
                    dx = float(cells[i + 1] % width)
                    dy = float(cells[i + 1] // width)
                ab = time_(ax, ay, bx, by)
                bc = time_(bx, by, cx, cy)
                cd = time_(cx, cy, dx, dy)
                from_x = bc * tangent_(ax, bx, cx, ab, bc)
                from_y = bc * tangent_(ay, by, cy, ab, bc)
                into_x = bc * tangent_(bx, cx, dx, bc, cd)
                into_y = bc * tangent_(by, cy, dy, bc, cd)
                here_x = to_lattice_(bx)
                here_y = to_lattice_(by)
                free = True
                for k in range(1, samples + 1):
                    x1 = to_lattice_(cx)
                    y1 = to_lattice_(cy)
                    if k < samples:
                        t = k / samples
                        to = t * t * (3.0 - 2.0 * t)
                        leave = t * (1.0 - t) * (1.0 - t)
                        enter = t * t * (t - 1.0)
                        x1 = to_lattice_(bx + to * (cx - bx) + leave * from_x + enter * into_x)
                        y1 = to_lattice_(by + to * (cy - by) + leave * from_y + enter * into_y)
                    how, _ = follow_(masks, width, here_x, here_y, x1, y1)
                    if how != ARRIVED:
                        free = False
                        break
                    here_x = x1
                    here_y = y1
                    points[n_points + k - 1, 0] = from_lattice_(x1, origin_x)
                    points[n_points + k - 1, 1] = from_lattice_(y1, origin_y)
                if free:
                    n_points += samples - 1
            points[n_points, 0] = cx + origin_x
            points[n_points, 1] = cy + origin_y
            n_points += 1
        point_offsets[path + 1] = n_points


def pull_string(
    grid: Grid,
    cells: ArrayLike,
    *,
    keep_costs: bool = True,
    blocked_cells: ArrayLike | None = None,
    ignored_cells: ArrayLike | None = None,
    **movement: Unpack[MovementOptions],
) -> NDArray[np.int32]:
    """Pull a path straight: leave out cells as long as a free straight line joins the rest.

    Parameters
    ----------
    grid : Grid
        The map.
    cells : array-like of int, shape (n, 2)
        A path, neighbouring cells or only those where it turns.
    keep_costs : bool
        Pull only where that costs no more: the straight segment's cost must not exceed that of
        the stretch of path it replaces. Both are measured in one way, whatever the cost model:
        the length of the line in each cell times the cell's cost (PRODUCT: its cost squared).
        Without it a straight line may cross what the path went around because it is costly.
    blocked_cells, ignored_cells : array-like of int, shape (n, 2), optional
        Those of the query that found the path, see `AStar.find_path`.
    **movement
        Keywords of `Movement`: what blocks, who may pass exactly through a corner, and the costs.

    Returns
    -------
    int32 array (m, 2)
        Some of the cells, in order, both ends among them.

    Raises
    ------
    CellError
        If a cell lies outside the map.

    Notes
    -----
    From each cell that stays, cells 2, 4, 8, ... ahead are tried as long as they may be joined;
    then all cells back from the first that may not. Cells that follow one another are never
    parted, so a path that crosses walls keeps those steps; every other segment has
    `line_of_sight`. Never longer than the path. 2 to 20 us for paths of 150 to 1,000 cells;
    O(n d) at worst with d cells the longest segment. Cells of the query take the time to copy
    a byte for each cell of the map.

    Examples
    --------
    >>> grid = Grid.filled(5, 3)
    >>> pull_string(grid, [(0, 0), (1, 1), (2, 2), (3, 2), (4, 2)]).tolist()
    [[0, 0], [4, 2]]
    """
    pulled, _ = pull_strings(
        grid,
        cells,
        _one_path(cells),
        keep_costs=keep_costs,
        blocked_cells=blocked_cells,
        ignored_cells=ignored_cells,
        **movement,
    )
    return pulled


def pull_strings(
    grid: Grid,
    cells: ArrayLike,
    offsets: ArrayLike,
    *,
    keep_costs: bool = True,
    blocked_cells: ArrayLike | None = None,
    ignored_cells: ArrayLike | None = None,
    **movement: Unpack[MovementOptions],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Pull many paths straight.

    Parameters
    ----------
    grid : Grid
        The map.
    cells : array-like of int, shape (n, 2)
        The cells of all paths.
    offsets : array-like of int, shape (paths + 1,)
        From 0 to n; an empty path stays empty.
    keep_costs, blocked_cells, ignored_cells
        As for `pull_string`.
    **movement
        Keywords of `Movement`.

    Returns
    -------
    int32 array (m, 2)
        The cells that stay.
    int64 array (paths + 1,)
        Their offsets.

    Raises
    ------
    InputError
        If a cell lies outside the map, or the offsets do not go with the cells.

    Examples
    --------
    >>> grid = Grid.filled(3, 1)
    >>> cells, offsets = pull_strings(grid, [(0, 0), (1, 0), (2, 0), (1, 0)], [0, 3, 4])
    >>> cells.tolist(), offsets.tolist()
    ([[0, 0], [2, 0], [1, 0]], [0, 2, 3])
    """
    options = checked_movement(grid, movement, pull_strings)
    flat = grid.flat_indices(cells)
    begins = _checked_offsets(offsets, flat.size)
    terrain, ignoring = _terrain_seen(grid, options, blocked_cells, ignored_cells)
    # Where every cell costs the same, a straight line never costs more.
    keep_costs = checked_flag("keep_costs", keep_costs)
    if keep_costs:
        least, greatest = grid.cost_range(options, ignoring=ignoring)
        keep_costs = least != greatest
    pulled = np.empty(flat.size, np.int64)
    pulled_offsets = np.empty(begins.size, np.int64)
    costs = np.empty(flat.size if keep_costs else 0, np.float64)
    pull_strings_(terrain, keep_costs, flat, begins, costs, pulled, pulled_offsets)
    kept = pulled[: pulled_offsets[-1]]
    return unpack_cells(kept, grid.width, grid.region_position), pulled_offsets


def simplify_path(cells: ArrayLike) -> NDArray[np.int32]:
    """Leave out the cells at which a path goes straight on.

    Parameters
    ----------
    cells : array-like of int, shape (n, 2)
        A path; it may span up to 2**30 cells.

    Returns
    -------
    int32 array (m, 2)
        The ends and the cells where it turns. Cells that repeat one another are left out too.

    Raises
    ------
    CellError
        If these are not cells, or spread too far.

    Notes
    -----
    Exact: by integer products. The line is the same, so its length and what it crosses are.

    Examples
    --------
    >>> simplify_path([(0, 0), (1, 1), (2, 2), (3, 2), (4, 2)]).tolist()
    [[0, 0], [2, 2], [4, 2]]
    """
    kept, _ = simplify_paths(cells, _one_path(cells))
    return kept


def simplify_paths(
    cells: ArrayLike, offsets: ArrayLike
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Leave out the cells at which many paths go straight on.

    Parameters
    ----------
    cells : array-like of int, shape (n, 2)
        The cells of all paths.
    offsets : array-like of int, shape (paths + 1,)
        From 0 to n; an empty path stays empty.

    Returns
    -------
    int32 array (m, 2)
        The cells that stay.
    int64 array (paths + 1,)
        Their offsets.

    Raises
    ------
    InputError
        If these are not cells, or the offsets do not go with them.

    Examples
    --------
    >>> cells, offsets = simplify_paths([(0, 0), (1, 0), (2, 0), (5, 5)], [0, 3, 4])
    >>> cells.tolist(), offsets.tolist()
    ([[0, 0], [2, 0], [5, 5]], [0, 2, 3])
    """
    array = _checked_cells(cells)
    begins = _checked_offsets(offsets, len(array))
    kept = np.empty(len(array), np.int64)
    kept_offsets = np.empty(begins.size, np.int64)
    simplify_paths_(array, begins, kept, kept_offsets)
    return array[kept[: kept_offsets[-1]]].astype(np.int32), kept_offsets


def round_path(
    grid: Grid,
    cells: ArrayLike,
    *,
    samples: int = 8,
    blocked_cells: ArrayLike | None = None,
    ignored_cells: ArrayLike | None = None,
    **movement: Unpack[MovementOptions],
) -> NDArray[np.float64]:
    """Round a path: a centripetal Catmull-Rom curve through its cells that touches no wall.

    Parameters
    ----------
    grid : Grid
        The map.
    cells : array-like of int, shape (n, 2)
        A path, best one that was pulled straight.
    samples : int
        Points from one cell of the path to the next, 1 to 1,024; 1 leaves it as it is.
    blocked_cells, ignored_cells : array-like of int, shape (n, 2), optional
        Those of the query that found the path, see `AStar.find_path`.
    **movement
        Keywords of `Movement`: what blocks the body.

    Returns
    -------
    float64 array (m, 2)
        Points in cells (`Grid.cell_to_world` makes positions of them), the path's own among
        them; multiples of 1 / 65,536.

    Raises
    ------
    InputError
        If a cell lies outside the map, or `samples` is out of bounds.

    Notes
    -----
    Between two cells the curve is taken if the body may walk it from point to point by the rules
    of `raycast`, exactly; otherwise that piece stays straight. The centripetal form makes neither
    loops nor cusps within a piece. Beyond its ends the path counts as going straight on. Costs
    are not looked at. O(n samples).

    Examples
    --------
    >>> round_path(Grid.filled(5, 5), [(0, 0), (4, 0), (4, 4)], samples=2).tolist()
    [[0.0, 0.0], [2.25, -0.25], [4.0, 0.0], [4.25, 1.75], [4.0, 4.0]]
    """
    points, _ = round_paths(
        grid,
        cells,
        _one_path(cells),
        samples=samples,
        blocked_cells=blocked_cells,
        ignored_cells=ignored_cells,
        **movement,
    )
    return points


def round_paths(
    grid: Grid,
    cells: ArrayLike,
    offsets: ArrayLike,
    *,
    samples: int = 8,
    blocked_cells: ArrayLike | None = None,
    ignored_cells: ArrayLike | None = None,
    **movement: Unpack[MovementOptions],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Round many paths.

    Parameters
    ----------
    grid : Grid
        The map.
    cells : array-like of int, shape (n, 2)
        The cells of all paths.
    offsets : array-like of int, shape (paths + 1,)
        From 0 to n; an empty path stays empty.
    samples, blocked_cells, ignored_cells
        As for `round_path`.
    **movement
        Keywords of `Movement`.

    Returns
    -------
    float64 array (m, 2)
        The points of all curves, in cells.
    int64 array (paths + 1,)
        Their offsets.

    Raises
    ------
    InputError
        If a cell lies outside the map, the offsets do not go with the cells, or `samples` is out
        of bounds.

    Examples
    --------
    >>> points, offsets = round_paths(Grid.filled(3, 1), [(0, 0), (2, 0), (1, 0)], [0, 2, 3])
    >>> len(points), offsets.tolist()
    (10, [0, 9, 10])
    """
    options = checked_movement(grid, movement, round_paths)
    if not isinstance(samples, (int, np.integer)) or not 1 <= samples <= MAX_SAMPLES:
        raise InputError("samples", samples, "is out of bounds", f"give 1 to {MAX_SAMPLES}")
    flat = grid.flat_indices(cells)
    begins = _checked_offsets(offsets, flat.size)
    terrain, _ = _terrain_seen(grid, options, blocked_cells, ignored_cells)
    points = np.empty((flat.size * int(samples), 2), np.float64)
    point_offsets = np.empty(begins.size, np.int64)
    round_paths_(
        terrain.masks,
        grid.width,
        *grid.region_position,
        int(samples),
        flat,
        begins,
        points,
        point_offsets,
    )
    return points[: point_offsets[-1]].copy(), point_offsets


def _terrain_seen(
    grid: Grid,
    movement: Movement,
    blocked_cells: ArrayLike | None,
    ignored_cells: ArrayLike | None,
) -> tuple[Terrain, bool]:
    """Return the terrain with the masks of a query, and whether blocked cells may be entered."""
    terrain = grid.terrain(movement)
    blocked = checked_query_cells(grid, "blocked_cells", blocked_cells)
    ignored = checked_query_cells(grid, "ignored_cells", ignored_cells)
    if blocked.size or ignored.size:
        terrain = terrain._replace(masks=overridden_masks(grid, movement, blocked, ignored))
    return terrain, ignored.size > 0


def _one_path(cells: ArrayLike) -> NDArray[np.int64]:
    try:
        return np.array([0, len(cells)], np.int64)  # type: ignore[arg-type]
    except TypeError:
        raise CellError("cells", cells, "is not a path", "give cells of shape (n, 2)") from None


def _checked_cells(cells: ArrayLike) -> NDArray[np.int64]:
    array = checked_cells("cells", cells)
    if array.size and np.abs(array.astype(np.float64)).max() > _MAX_EXTENT:
        raise CellError("cells", array.tolist(), "are too far out", "stay within -2**30..2**30")
    return np.ascontiguousarray(array, np.int64)


def _checked_offsets(offsets: ArrayLike, n_cells: int) -> NDArray[np.int64]:
    try:
        array = np.asarray(offsets)
    except ValueError:
        array = np.empty(0)
    good = array.ndim == 1 and array.size > 0 and array.dtype.kind in "iu"
    if good:
        array = array.astype(np.int64)
        good = array[0] == 0 and array[-1] == n_cells and bool((np.diff(array) >= 0).all())
    if not good:
        raise InputError(
            "offsets",
            offsets,
            "do not go with the cells",
            f"give integers that rise from 0 to the number of cells, {n_cells}",
        )
    return array


def _warm_up() -> None:
    grid = Grid([[0, 0]], cell_scale=[[1.0, 1.0]])
    cells = [(0, 0), (1, 0)]
    pull_string(grid, cells)
    simplify_path(cells)
    round_path(grid, cells)


register_warm_up("smoothing", _warm_up)
