"""Steering behaviours for movers that do without avoidance: each says where a mover would go.

All are plain functions over arrays, one row a mover, and return velocities that a mover wishes
for, to be weighed, added and cut with `limit`. Source: Reynolds, "Steering Behaviors for Autonomous
Characters" (1999); steering forces are the differences between these and the present velocities.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver._jit import kernel, register_warm_up
from navserver.movers.proximity import Buckets, BucketSort, apart_, line_, run_
from navserver.search.grid import Grid
from navserver.search.line_of_sight import raycasts
from navserver.search.validation import checked_array, checked_number, checked_points
from navserver.status import InputError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from navserver.search.movement import MovementOptions

__all__ = [
    "alignment",
    "arrive",
    "avoid_walls",
    "cohesion",
    "flee",
    "limit",
    "seek",
    "separation",
]

_FARTHEST = 1e6


def limit(velocities: ArrayLike, max_speed: ArrayLike) -> NDArray[np.float32]:
    """Cut velocities to a top speed.

    Parameters
    ----------
    velocities : array-like of float, shape (n, 2)
        Cells a second.
    max_speed : array-like of float, shape (n,) or scalar
        0 or more.

    Returns
    -------
    float32 array (n, 2)
        The same directions.

    Raises
    ------
    InputError
        If a value is not finite or out of its bounds; names the row.

    Examples
    --------
    >>> limit([(3, 4), (0.5, 0)], 1.0).round(3).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.5, 0.0]]
    """
    given = _checked_vectors("velocities", velocities)
    top = _checked_lengths("max_speed", max_speed, len(given))
    speed = np.hypot(given[:, 0], given[:, 1])
    scale = np.divide(top, speed, out=np.ones(len(given)), where=speed > top)
    return (given * scale[:, None]).astype(np.float32)


def seek(positions: ArrayLike, targets: ArrayLike, max_speed: ArrayLike) -> NDArray[np.float32]:
    """Go to targets at top speed.

    Parameters
    ----------
    positions : array-like of float, shape (n, 2)
        Where movers are, in cell space.
    targets : array-like of float, shape (n, 2) or (2,)
        Where to.
    max_speed : array-like of float, shape (n,) or scalar
        Cells a second, 0 or more.

    Returns
    -------
    float32 array (n, 2)
        Zero for movers on their targets.

    Raises
    ------
    InputError
        If a value is not finite or out of its bounds; names the row.

    Examples
    --------
    >>> seek([(0, 0), (1, 5)], (1, 0), 2.0).tolist()
    [[2.0, 0.0], [0.0, -2.0]]
    """
    here, way, length = _ways(positions, targets)
    speed = _checked_lengths("max_speed", max_speed, len(here))
    return _along(way, length, speed)


def arrive(
    positions: ArrayLike, targets: ArrayLike, max_speed: ArrayLike, slowing_distance: ArrayLike
) -> NDArray[np.float32]:
    """Go to targets, slower and slower within a distance of them.

    Parameters
    ----------
    positions : array-like of float, shape (n, 2)
        Where movers are, in cell space.
    targets : array-like of float, shape (n, 2) or (2,)
        Where to.
    max_speed : array-like of float, shape (n,) or scalar
        Cells a second, 0 or more.
    slowing_distance : array-like of float, shape (n,) or scalar
        Cells; the speed falls linearly from there on.

    Returns
    -------
    float32 array (n, 2)
        Zero for movers on their targets.

    Raises
    ------
    InputError
        If a value is not finite or out of its bounds; names the row.

    Examples
    --------
    >>> arrive([(0, 0), (3, 0)], (4, 0), 2.0, slowing_distance=2.0).tolist()
    [[2.0, 0.0], [1.0, 0.0]]
    """
    here, way, length = _ways(positions, targets)
    speed = _checked_lengths("max_speed", max_speed, len(here))
    slowing = _checked_lengths("slowing_distance", slowing_distance, len(here))
    share = np.divide(length, slowing, out=np.ones(len(here)), where=slowing > length)
    return _along(way, length, speed * share)


def flee(
    positions: ArrayLike,
    threats: ArrayLike,
    max_speed: ArrayLike,
    panic_distance: ArrayLike = _FARTHEST,
) -> NDArray[np.float32]:
    """Go straight away from threats at top speed.

    Parameters
    ----------
    positions : array-like of float, shape (n, 2)
        Where movers are, in cell space.
    threats : array-like of float, shape (n, 2) or (2,)
        What from. From one in the very same place there is no direction away, and none is taken.
    max_speed : array-like of float, shape (n,) or scalar
        Cells a second, 0 or more.
    panic_distance : array-like of float, shape (n,) or scalar
        Cells; threats farther away do not count.

    Returns
    -------
    float32 array (n, 2)
        Zero where there is nothing to flee.

    Raises
    ------
    InputError
        If a value is not finite or out of its bounds; names the row.

    Examples
    --------
    >>> flee([(1, 0), (9, 0)], (0, 0), 2.0, panic_distance=5.0).tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """
    here, way, length = _ways(positions, threats)
    speed = _checked_lengths("max_speed", max_speed, len(here))
    panic = _checked_lengths("panic_distance", panic_distance, len(here))
    # From 0, so that no zero is negative.
    return _along(0.0 - way, length, np.where(length <= panic, speed, 0.0))


def separation(positions: ArrayLike, distance: float, max_speed: ArrayLike) -> NDArray[np.float32]:
    """Go away from those who are near, the more so the nearer they are.

    Parameters
    ----------
    positions : array-like of float, shape (n, 2)
        Where movers are, in cell space.
    distance : float
        Who is closer than this counts, from nothing at the distance to all at no distance; cells,
        more than 0.
    max_speed : array-like of float, shape (n,) or scalar
        Cells a second, 0 or more; what one neighbour in the same place is worth, and the most that
        all are.

    Returns
    -------
    float32 array (n, 2)
        Zero for movers that have nobody near.

    Raises
    ------
    InputError
        If a value is not finite or out of its bounds; names the row.

    Examples
    --------
    >>> separation([(0, 0), (1, 0), (9, 9)], 2.0, 4.0).tolist()
    [[-2.0, 0.0], [2.0, 0.0], [0.0, 0.0]]
    """
    here = _checked_vectors("positions", positions)
    speed = _checked_lengths("max_speed", max_speed, len(here))
    away = _flock(here, np.zeros_like(here), distance)[0]
    return limit(away * speed[:, None], speed)


def alignment(positions: ArrayLike, velocities: ArrayLike, distance: float) -> NDArray[np.float32]:
    """Go as those who are near go, on average.

    Parameters
    ----------
    positions : array-like of float, shape (n, 2)
        Where movers are, in cell space.
    velocities : array-like of float, shape (n, 2)
        Cells a second.
    distance : float
        Who is closer than this counts; cells, more than 0.

    Returns
    -------
    float32 array (n, 2)
        The own velocity for movers that have nobody near.

    Raises
    ------
    InputError
        If a value is not finite or out of its bounds; names the row.

    Examples
    --------
    >>> alignment([(0, 0), (1, 0), (9, 9)], [(1, 0), (0, 2), (3, 3)], 2.0).tolist()
    [[0.0, 2.0], [1.0, 0.0], [3.0, 3.0]]
    """
    here = _checked_vectors("positions", positions)
    heading = _checked_vectors("velocities", velocities, len(here))
    _, total, _, counts = _flock(here, heading, distance)
    mean = np.divide(total, counts[:, None], out=heading.copy(), where=counts[:, None] > 0)
    return mean.astype(np.float32)


def cohesion(positions: ArrayLike, distance: float, max_speed: ArrayLike) -> NDArray[np.float32]:
    """Go to the middle of those who are near.

    Parameters
    ----------
    positions : array-like of float, shape (n, 2)
        Where movers are, in cell space.
    distance : float
        Who is closer than this counts; cells, more than 0.
    max_speed : array-like of float, shape (n,) or scalar
        Cells a second, 0 or more; the speed of a mover whose neighbours' middle is at the distance,
        and proportionally less nearer to it.

    Returns
    -------
    float32 array (n, 2)
        Zero for movers that have nobody near.

    Raises
    ------
    InputError
        If a value is not finite or out of its bounds; names the row.

    Examples
    --------
    >>> cohesion([(0, 0), (1, 0), (9, 9)], 2.0, 4.0).tolist()
    [[2.0, 0.0], [-2.0, 0.0], [0.0, 0.0]]
    """
    here = _checked_vectors("positions", positions)
    speed = _checked_lengths("max_speed", max_speed, len(here))
    _, _, way, counts = _flock(here, np.zeros_like(here), distance)
    scale = speed / (np.maximum(counts, 1) * distance)
    return limit(way * scale[:, None], speed)


def avoid_walls(
    grid: Grid,
    positions: ArrayLike,
    velocities: ArrayLike,
    look_ahead: float,
    **movement: Unpack[MovementOptions],
) -> NDArray[np.float32]:
    """Turn away from walls ahead.

    What of a velocity goes into the wall that it would meet is taken out of it, the more so the
    sooner the wall is met; the speed is kept by going along the wall, to the side that is nearer.

    Parameters
    ----------
    grid : Grid
        The map.
    positions : array-like of float, shape (n, 2)
        Where movers are, in cell space, on the map.
    velocities : array-like of float, shape (n, 2)
        What they wish for without walls, cells a second.
    look_ahead : float
        Walls count that would be met within so many seconds; more than 0.
    **movement
        Keywords of `Movement`: what is a wall.

    Returns
    -------
    float32 array (n, 2)
        The velocities given where no wall is ahead.

    Raises
    ------
    InputError
        If a value is not finite or out of its bounds, or a position is not on the map; names the
        row.

    Examples
    --------
    >>> grid = Grid.filled(9, 9)
    >>> avoid_walls(grid, [(4, 4), (8.49, 4)], [(1, 0.5), (3, 4)], 0.5).round(1).tolist()
    [[1.0, 0.5], [0.0, 5.0]]
    """
    here = _checked_vectors("positions", positions)
    wish = _checked_vectors("velocities", velocities, len(here))
    ahead = _checked_distance("look_ahead", look_ahead)
    _check_on_map(grid, here)
    hits = raycasts(grid, here, here + wish * ahead, **movement)
    speed = np.hypot(wish[:, 0], wish[:, 1])
    until = np.hypot(*(hits.points - here).T)
    range_ahead = np.maximum(speed * ahead, 1e-30)
    share = np.where(hits.reached, 0.0, np.clip(1.0 - until / range_ahead, 0.0, 1.0))
    normal = hits.normals.astype(np.float64)
    normal /= np.maximum(np.hypot(normal[:, 0], normal[:, 1]), 1.0)[:, None]
    tangent = np.stack([-normal[:, 1], normal[:, 0]], axis=1)
    into = (wish * normal).sum(axis=1)
    left_of_it = into * (1.0 - share)
    along = np.sqrt(np.maximum(speed**2 - left_of_it**2, 0.0))
    along = np.where((wish * tangent).sum(axis=1) < 0.0, -along, along)
    turned = normal * left_of_it[:, None] + tangent * along[:, None]
    result = np.where(((share > 0.0) & (into < 0.0))[:, None], turned, wish)
    return result.astype(np.float32)


@kernel
def flock_(
    top: float,
    per_side: float,
    rows: int,
    left: NDArray[np.float64],
    per_width: NDArray[np.float64],
    first_buckets: NDArray[np.int32],
    starts: NDArray[np.int32],
    xs: NDArray[np.float32],
    ys: NDArray[np.float32],
    order: NDArray[np.int32],
    velocities: NDArray[np.float64],
    distance: float,
    away: NDArray[np.float64],
    heading: NDArray[np.float64],
    way: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> None:
    """Add up over each mover's neighbours: directions away, velocities, and ways to them."""
    buckets = Buckets(top, per_side, rows, left, per_width, first_buckets, starts, xs, ys)
    for rank in range(order.size):
        slot = np.int64(order[rank])
        x = np.float64(xs[rank])
        y = np.float64(ys[rank])
        last_row = line_(y + distance, top, per_side, rows)
        for row in range(line_(y - distance, top, per_side, rows), last_row + 1):
            begin, end = run_(buckets, row, x - distance, x + distance)
            for near in range(begin, end):
                dx = np.float64(xs[near]) - x
                dy = np.float64(ys[near]) - y
                length = math.sqrt(dx * dx + dy * dy)
                if near == rank or length >= distance:
                    continue
                other = np.int64(order[near])
                if length > 0.0:
                    share = (1.0 - length / distance) / length
                    away[slot, 0] -= dx * share
                    away[slot, 1] -= dy * share
                else:
                    nx, ny = apart_(slot, other)
                    away[slot, 0] += nx
                    away[slot, 1] += ny
                heading[slot, 0] += velocities[other, 0]
                heading[slot, 1] += velocities[other, 1]
                way[slot, 0] += dx
                way[slot, 1] += dy
                counts[slot] += 1


def _flock(
    positions: NDArray[np.float64], velocities: NDArray[np.float64], distance: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the sums of `flock_` in the order of the positions."""
    reach = _checked_distance("distance", distance)
    n = len(positions)
    sums = np.zeros((3, n, 2))
    counts = np.zeros(n, np.int64)
    if n > 0:
        sort = BucketSort()
        sort.sort(positions.astype(np.float32), np.ones(n, np.uint8), n, reach)
        flock_(*sort.buckets, sort.order[:n], velocities, reach, sums[0], sums[1], sums[2], counts)
    return sums[0], sums[1], sums[2], counts


def _ways(
    positions: ArrayLike, targets: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return positions, the ways to the targets and their lengths."""
    here = _checked_vectors("positions", positions)
    there = _checked_vectors("targets", targets, len(here))
    way = there - here
    return here, way, np.hypot(way[:, 0], way[:, 1])


def _along(
    way: NDArray[np.float64], length: NDArray[np.float64], speed: NDArray[np.float64]
) -> NDArray[np.float32]:
    scale = np.divide(speed, length, out=np.zeros(len(way)), where=length > 0.0)
    return (way * scale[:, None]).astype(np.float32)


def _checked_vectors(
    field: str, vectors: ArrayLike, count: int | None = None
) -> NDArray[np.float64]:
    """Return finite rows; of the count, one vector for all being taken for each."""
    array = checked_array(field, vectors)
    array = checked_points(field, array) if array.size else np.empty((0, 2))
    if count is not None and array.ndim == 1:
        array = np.broadcast_to(array, (count, 2))
    if array.ndim != 2 or (count is not None and len(array) != count):
        shape = "(n, 2)" if count is None else f"({count}, 2)"
        raise InputError(field, array.shape, "is not their shape", f"give the shape {shape}")
    good = (np.abs(array) <= _FARTHEST).all(axis=1)
    if not good.all():
        i = int(np.argmin(good))
        raise InputError(
            f"{field}[{i}]", tuple(array[i].tolist()), "is out of bounds",
            f"give numbers within {_FARTHEST:g}",
        )  # fmt: skip
    return np.array(array, order="C")


def _check_on_map(grid: Grid, positions: NDArray[np.float64]) -> None:
    cells = np.floor(positions + 0.5) - grid.region_position
    inside = ((cells >= 0) & (cells < (grid.width, grid.height))).all(axis=1)
    if not inside.all():
        i = int(np.argmin(inside))
        raise InputError(
            f"positions[{i}]", tuple(positions[i].tolist()), "is not on the map",
            "give points of its cells",
        )  # fmt: skip


def _checked_lengths(field: str, values: ArrayLike, count: int) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(field, values, "are not numbers", "give a number or one a row") from None
    if array.shape not in ((), (count,)):
        raise InputError(field, array.shape, "is not their shape", f"give a number or {count}")
    array = np.broadcast_to(array, count)
    good = (array >= 0.0) & (array <= _FARTHEST)
    if not good.all():
        i = int(np.argmin(good))
        raise InputError(
            f"{field}[{i}]", float(array[i]), "is out of bounds", f"give 0 to {_FARTHEST:g}"
        )
    return array


def _checked_distance(field: str, value: float) -> float:
    remedy = f"give a number from 1e-06 to {_FARTHEST:g}"
    number = checked_number(field, value, 1e-6, remedy)
    if number > _FARTHEST:
        raise InputError(field, value, "is out of bounds", remedy)
    return number


def _warm_up() -> None:
    separation([(0.0, 0.0), (0.5, 0.0)], 1.0, 1.0)


register_warm_up("steering", _warm_up)
