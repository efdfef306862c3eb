"""Who is near: movers sorted into rows of buckets, and queries on them.

The plane is cut into rows of one height, and each row into buckets of its own width: as wide as
the rows are high, wider where a row is long and has few movers, so there are at most two buckets a
mover wherever the movers are. The sort is a counting sort, takes linear time and keeps movers of
one bucket in the order of their slots: the same movers are in the same order on every machine.
What lies near a point is one run of sorted movers a row. Source of sorting instead of linking:
Green, "Particle Simulation using CUDA" (2010).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver._jit import inlined, kernel, register_warm_up
from navserver.search.validation import checked_count
from navserver.status import InputError

if TYPE_CHECKING:
    from navserver.movers.movers import Movers

__all__ = ["BucketSort", "Buckets", "ProximityIndex", "apart_", "nearest_around_", "run_"]

EVERY_LAYER = 0xFFFFFFFF


class Buckets(NamedTuple):
    """Movers in the order of their buckets, as kernels see them.

    Row r covers ``per_side * (y - top)`` from r to r + 1. Its buckets are those from ``first[r]``
    to before ``first[r + 1]``, from the left end at ``left[r]`` on, ``per_width[r]`` a cell. Bucket
    b holds the ranks from ``starts[b]`` to before ``starts[b + 1]``.
    """

    top: float
    per_side: float
    rows: int
    left: NDArray[np.float64]
    per_width: NDArray[np.float64]
    first: NDArray[np.int32]
    starts: NDArray[np.int32]
    x: NDArray[np.float32]
    """float32 array (n,): of the mover of each rank."""
    y: NDArray[np.float32]


@inlined
def line_(value: float, origin: float, per_side: float, lines: int) -> int:
    """Return which row or bucket a coordinate is in, the nearest if it is in none.

    Never falls as the coordinate grows, rounding or not: what lies between two coordinates is in
    the lines between theirs.
    """
    line = (value - origin) * per_side
    # Also where the coordinate is infinite.
    return np.int64(min(max(line, 0.0), lines - 1.0))


@kernel
def extent_(
    position: NDArray[np.float32], state: NDArray[np.uint8], slots: int
) -> tuple[int, float, float]:
    """Return how many movers there are, and their least and greatest y."""
    n_movers = 0
    top = np.float32(np.inf)
    bottom = np.float32(-np.inf)
    for slot in range(slots):
        if state[slot]:
            n_movers += 1
            top = min(top, position[slot, 1])
            bottom = max(bottom, position[slot, 1])
    return n_movers, np.float64(top), np.float64(bottom)


@inlined
def lay_rows_(
    position: NDArray[np.float32],
    state: NDArray[np.uint8],
    slots: int,
    buckets: Buckets,
    bucket_of: NDArray[np.int32],
) -> int:
    """Choose the buckets of each row, and write each mover's row; return how many there are."""
    first = buckets.first
    for row in range(buckets.rows):
        buckets.left[row] = np.inf
        # Until the widths are known, the right end.
        buckets.per_width[row] = -np.inf
        first[row + 1] = 0
    for slot in range(slots):
        if state[slot]:
            x = np.float64(position[slot, 0])
            row = line_(position[slot, 1], buckets.top, buckets.per_side, buckets.rows)
            bucket_of[slot] = row
            first[row + 1] += 1
            buckets.left[row] = min(buckets.left[row], x)
            buckets.per_width[row] = max(buckets.per_width[row], x)
    first[0] = 0
    for row in range(buckets.rows):
        columns = 0
        if first[row + 1] > 0:
            length = buckets.per_width[row] - buckets.left[row]
            wanted = np.int64(min(length * buckets.per_side, 1e9)) + 1
            columns = min(wanted, 2 * np.int64(first[row + 1]))
            buckets.per_width[row] = min(buckets.per_side, columns / max(length, 1e-9))
        first[row + 1] = first[row] + columns
    return np.int64(first[buckets.rows])


@kernel
def sort_(
    position: NDArray[np.float32],
    state: NDArray[np.uint8],
    slots: int,
    top: float,
    per_side: float,
    rows: int,
    left: NDArray[np.float64],
    per_width: NDArray[np.float64],
    first: NDArray[np.int32],
    starts: NDArray[np.int32],
    xs: NDArray[np.float32],
    ys: NDArray[np.float32],
    bucket_of: NDArray[np.int32],
    order: NDArray[np.int32],
) -> None:
    """Sort movers by bucket, those of one bucket by slot.

    Invariant of the last loop: ``starts[bucket + 1]`` is the rank of the bucket's next mover.
    """
    buckets = Buckets(top, per_side, rows, left, per_width, first, starts, xs, ys)
    n_buckets = lay_rows_(position, state, slots, buckets, bucket_of)
    for bucket in range(n_buckets + 2):
        starts[bucket] = 0
    for slot in range(slots):
        if state[slot]:
            row = bucket_of[slot]
            columns = first[row + 1] - first[row]
            bucket = first[row] + line_(position[slot, 0], left[row], per_width[row], columns)
            bucket_of[slot] = bucket
            starts[bucket + 2] += 1
    for bucket in range(2, n_buckets + 2):
        starts[bucket] += starts[bucket - 1]
    for slot in range(slots):
        if state[slot]:
            bucket = bucket_of[slot]
            rank = starts[bucket + 1]
            starts[bucket + 1] = rank + 1
            order[rank] = slot
            xs[rank] = position[slot, 0]
            ys[rank] = position[slot, 1]


@inlined
def run_(buckets: Buckets, row: int, low: float, high: float) -> tuple[int, int]:
    """Return the ranks, first and one past the last, of a row's buckets from x low to high."""
    first = buckets.first[row]
    columns = buckets.first[row + 1] - first
    if columns == 0:
        return 0, 0
    left = buckets.left[row]
    per_width = buckets.per_width[row]
    begin = first + line_(low, left, per_width, columns)
    end = first + line_(high, left, per_width, columns) + 1
    return buckets.starts[begin], buckets.starts[end]


@inlined
def nearest_around_(
    buckets: Buckets,
    layers: NDArray[np.uint32],
    priorities: NDArray[np.float32],
    mask: int,
    least_priority: float,
    x: float,
    y: float,
    itself: int,
    reach: float,
    ranks: NDArray[np.int32],
    squares: NDArray[np.float32],
) -> int:
    """Write the ranks of the nearest movers closer than `reach`, nearest first; return how many.

    Only movers count that are on a layer of the mask and have the least priority, and not the one
    of the rank `itself`. Equally near ones stand in the order in which they are met. Invariant:
    the first `n_found` entries are the nearest so far, and nothing at a squared distance of
    `limit` or more matters.
    """
    capacity = ranks.size
    near_x = np.float32(x)
    near_y = np.float32(y)
    limit = np.float32(reach * reach)
    n_found = 0
    own = line_(y, buckets.top, buckets.per_side, buckets.rows)
    side = 1.0 / buckets.per_side
    n_missed = 0
    # Rows from the own one outwards: 0, -1, +1, -2, +2, ...
    for turn in range(2 * buckets.rows):
        away = (turn + 1) >> 1
        row = own - away if turn & 1 else own + away
        gap = 0.0
        if row < own:
            gap = max(y - (buckets.top + (row + 1) * side), 0.0)
        elif row > own:
            gap = max(buckets.top + row * side - y, 0.0)
        # Rounding of a border and of squared distances must hide nobody.
        rest = limit - gap * gap * (1.0 - 1e-6)
        if rest <= 0.0 or row < 0 or row >= buckets.rows:
            n_missed += 1
            if n_missed == 2:
                break
            continue
        n_missed = 0
        half = math.sqrt(rest) * (1.0 + 1e-6)
        begin, end = run_(buckets, row, x - half, x + half)
        for rank in range(begin, end):
            dx = buckets.x[rank] - near_x
            dy = buckets.y[rank] - near_y
            square = dx * dx + dy * dy
            if (
                square < limit
                and rank != itself
                and layers[rank] & mask
                and priorities[rank] >= least_priority
            ):
                n_found = min(n_found + 1, capacity)
                place = n_found - 1
                while place > 0 and square < squares[place - 1]:
                    squares[place] = squares[place - 1]
                    ranks[place] = ranks[place - 1]
                    place -= 1
                squares[place] = square
                ranks[place] = rank
                if n_found == capacity:
                    limit = squares[capacity - 1]
    return n_found


@inlined
def apart_(own: int, other: int) -> tuple[float, float]:
    """Return the unit vector by which a mover leaves another that is in the same place.

    Each slot has a direction of its own, a golden angle from the last. The vector is what own and
    other differ by: opposite for the other mover, and never against the own direction, so that any
    number of movers in one place part like a star.
    """
    own_angle = 2.399963229728653 * own
    other_angle = 2.399963229728653 * other
    x = math.cos(own_angle) - math.cos(other_angle)
    y = math.sin(own_angle) - math.sin(other_angle)
    length = math.sqrt(x * x + y * y)
    if length == 0.0:
        return (1.0, 0.0) if own < other else (-1.0, 0.0)
    return x / length, y / length


@kernel
def nearest_(
    top: float,
    per_side: float,
    rows: int,
    left: NDArray[np.float64],
    per_width: NDArray[np.float64],
    first: NDArray[np.int32],
    starts: NDArray[np.int32],
    xs: NDArray[np.float32],
    ys: NDArray[np.float32],
    layers: NDArray[np.uint32],
    priorities: NDArray[np.float32],
    mask: int,
    points: NDArray[np.float32],
    reach: float,
    ranks: NDArray[np.int32],
    squares: NDArray[np.float32],
    counts: NDArray[np.int32],
) -> None:
    """Write a row of the nearest movers for each point, and how many they are."""
    buckets = Buckets(top, per_side, rows, left, per_width, first, starts, xs, ys)
    for i in range(points.shape[0]):
        counts[i] = nearest_around_(
            buckets, layers, priorities, mask, -np.inf, points[i, 0], points[i, 1], -1, reach,
            ranks[i], squares[i],
        )  # fmt: skip


@kernel
def inside_(
    top: float,
    per_side: float,
    rows: int,
    left: NDArray[np.float64],
    per_width: NDArray[np.float64],
    first: NDArray[np.int32],
    starts: NDArray[np.int32],
    xs: NDArray[np.float32],
    ys: NDArray[np.float32],
    layers: NDArray[np.uint32],
    mask: int,
    boxes: NDArray[np.float64],
    circles: NDArray[np.float64],
    offsets: NDArray[np.int64],
    ranks: NDArray[np.int32],
) -> None:
    """Write the ranks of the movers in each area, and where each area's begin.

    An area is what of a box ``(x0, y0, x1, y1)``, ends included, is within a circle
    ``(x, y, radius)``. Ranks beyond the capacity are counted but not written.
    """
    buckets = Buckets(top, per_side, rows, left, per_width, first, starts, xs, ys)
    n_found = 0
    offsets[0] = 0
    for i in range(boxes.shape[0]):
        x0, y0, x1, y1 = boxes[i, 0], boxes[i, 1], boxes[i, 2], boxes[i, 3]
        square = circles[i, 2] * circles[i, 2]
        for row in range(line_(y0, top, per_side, rows), line_(y1, top, per_side, rows) + 1):
            begin, end = run_(buckets, row, x0, x1)
            for rank in range(begin, end):
                x = np.float64(xs[rank])
                y = np.float64(ys[rank])
                dx = x - circles[i, 0]
                dy = y - circles[i, 1]
                if (
                    x0 <= x <= x1
                    and y0 <= y <= y1
                    and dx * dx + dy * dy <= square
                    and layers[rank] & mask
                ):
                    if n_found < ranks.size:
                        ranks[n_found] = rank
                    n_found += 1
        offsets[i + 1] = n_found


class BucketSort:
    """Sorts movers into buckets again and again, in arrays that it keeps."""

    def __init__(self) -> None:
        self.count = 0
        """How many movers are sorted."""
        self.order: NDArray[np.int32] = np.empty(0, np.int32)
        """int32 array (capacity,): slot of the mover of each rank."""
        self.buckets = Buckets(
            0.0, 1.0, 0, np.empty(0), np.empty(0), np.zeros(1, np.int32), np.zeros(2, np.int32),
            np.empty(0, np.float32), np.empty(0, np.float32),
        )  # fmt: skip
        """The sorted movers."""
        self._bucket_of = np.empty(0, np.int32)

    def sort(
        self, position: NDArray[np.float32], state: NDArray[np.uint8], slots: int, side: float
    ) -> None:
        """Sort movers where they are now.

        Parameters
        ----------
        position : float32 array (capacity, 2)
            Finite for movers.
        state : uint8 array (capacity,)
            0 where there is no mover.
        slots : int
            How many rows to look at.
        side : float
            Height of a row in cells, more than 0; rows are higher where they would be more than
            four a mover.
        """
        self.count, top, bottom = extent_(position, state, slots)
        if self.count == 0:
            self.buckets = self.buckets._replace(rows=0)
            return
        most_rows = 4 * self.count
        height = max(bottom - top, 0.0)
        side = max(side, height / most_rows)
        rows = min(int(height / side) + 1, most_rows)
        if len(self._bucket_of) < slots or len(self.buckets.left) < rows:
            self._make_room(len(state))
        self.buckets = self.buckets._replace(top=top, per_side=1.0 / side, rows=rows)
        sort_(position, state, slots, *self.buckets, self._bucket_of, self.order)

    def _make_room(self, capacity: int) -> None:
        rows = 4 * capacity
        self.order = np.empty(capacity, np.int32)
        self._bucket_of = np.empty(capacity, np.int32)
        self.buckets = Buckets(
            0.0, 1.0, 0,
            np.empty(rows), np.empty(rows), np.empty(rows + 1, np.int32),
            np.empty(2 * capacity + 2, np.int32),
            np.empty(capacity, np.float32), np.empty(capacity, np.float32),
        )  # fmt: skip


class ProximityIndex:
    """Movers by place, as they are when the index is made; it does not change with them.

    Parameters
    ----------
    movers : Movers
        Whom to index.
    side : float
        Height of a row of buckets in cells; about the size of what is asked for is fastest.

    Raises
    ------
    InputError
        If the side is not a number above 0.

    Notes
    -----
    Made in linear time, about 20 ns a mover. Each query reads what is near it and little more.

    Examples
    --------
    >>> from navserver.movers.movers import Movers
    >>> from navserver.search.grid import Grid
    >>> movers = Movers(Grid.filled(9, 9))
    >>> units = movers.add([(1, 1), (2, 1), (7, 7)], radius=0.4, max_speed=4.0)
    >>> index = ProximityIndex(movers)
    >>> found, offsets = index.in_radius([(1, 1), (8, 8)], 1.5)
    >>> [units.tolist().index(handle) for handle in found], offsets.tolist()
    ([0, 1, 2], [0, 2, 3])
    """

    def __init__(self, movers: Movers, *, side: float = 4.0) -> None:
        if not (isinstance(side, (int, float)) and 0.0 < side < math.inf):
            raise InputError("side", side, "is not a height", "give a finite number above 0")
        columns = movers.columns
        sort = BucketSort()
        sort.sort(columns.position, columns.state, movers.slots, max(side, 1e-6))
        rows = sort.order[: sort.count].astype(np.int64)
        self._buckets = sort.buckets
        self._count = sort.count
        self._handles = movers.handles_of(rows)
        self._layers = columns.layers[rows]
        self._priorities = columns.priority[rows]

    def __len__(self) -> int:
        """Return how many movers are indexed."""
        return self._count

    def in_rectangle(
        self, rectangles: ArrayLike, *, mask: int = EVERY_LAYER
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the movers whose centres are in each of some rectangles.

        Parameters
        ----------
        rectangles : array-like of float, shape (m, 4)
            ``x0, y0, x1, y1`` in cell space, ends included; infinite sides are allowed.
        mask : int
            32 bits: only movers on one of these layers.

        Returns
        -------
        int64 array (n,)
            Handles, those of one rectangle after those of another, in the same order in every
            run.
        int64 array (m + 1,)
            Those of rectangle i are from ``offsets[i]`` to before ``offsets[i + 1]``.

        Raises
        ------
        InputError
            If a rectangle is not four numbers, or ends before it begins; names it.
        """
        boxes = _checked_rows("rectangles", rectangles, 4, "(m, 4): x0, y0, x1, y1")
        good = (boxes[:, 0] <= boxes[:, 2]) & (boxes[:, 1] <= boxes[:, 3])
        if not good.all():
            i = int(np.argmin(good))
            raise InputError(
                f"rectangles[{i}]", tuple(boxes[i].tolist()), "is not a rectangle",
                "give x0 <= x1 and y0 <= y1, no NaN",
            )  # fmt: skip
        circles = np.zeros((len(boxes), 3))
        circles[:, 2] = np.inf
        return self._inside(boxes, circles, mask)

    def in_radius(
        self, points: ArrayLike, radius: ArrayLike, *, mask: int = EVERY_LAYER
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the movers whose centres are within a distance of each of some points.

        Parameters
        ----------
        points : array-like of float, shape (m, 2)
            In cell space.
        radius : array-like of float, shape (m,) or scalar
            In cells, 0 or more; a mover exactly that far is within.
        mask : int
            32 bits: only movers on one of these layers.

        Returns
        -------
        int64 array (n,)
            Handles, those of one point after those of another, in the same order in every run.
        int64 array (m + 1,)
            Those of point i are from ``offsets[i]`` to before ``offsets[i + 1]``.

        Raises
        ------
        InputError
            If a point or radius is not finite or a radius is negative; names it.
        """
        centres = _checked_centres(points)
        radii = np.asarray(radius, np.float64)
        if radii.shape not in ((), (len(centres),)):
            raise InputError(
                "radius", radii.shape, "does not go with the points",
                f"give a number or {len(centres)} of them",
            )  # fmt: skip
        radii = np.broadcast_to(radii, len(centres))
        good = (radii >= 0.0) & (radii < np.inf)
        if not good.all():
            i = int(np.argmin(good))
            raise InputError(
                f"radius[{i}]", float(radii[i]), "is not a distance", "give a finite number >= 0"
            )
        circles = np.column_stack([centres, radii])
        # A little wider than the circle, so that rounding leaves nobody out.
        half = radii[:, None] + 1e-9 * (1.0 + np.abs(centres) + radii[:, None])
        return self._inside(np.hstack([centres - half, centres + half]), circles, mask)

    def _inside(
        self, boxes: NDArray[np.float64], circles: NDArray[np.float64], mask: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        layers = _checked_mask(mask)
        offsets = np.zeros(len(boxes) + 1, np.int64)
        if self._count == 0:
            return np.empty(0, np.int64), offsets
        ranks = np.empty(max(self._count, 64), np.int32)
        inside_(*self._buckets, self._layers, layers, boxes, circles, offsets, ranks)
        if offsets[-1] > ranks.size:
            ranks = np.empty(int(offsets[-1]), np.int32)
            inside_(*self._buckets, self._layers, layers, boxes, circles, offsets, ranks)
        return self._handles[ranks[: offsets[-1]]], offsets

    def nearest(
        self,
        points: ArrayLike,
        count: int | None,
        *,
        radius: float = math.inf,
        mask: int = EVERY_LAYER,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the movers nearest to each of some points.

        Parameters
        ----------
        points : array-like of float, shape (m, 2)
            In cell space; taken as float32, like positions.
        count : int, optional
            How many for each, 1 or more; None for all, in the order of their distance.
        radius : float
            Only movers closer than this, in cells.
        mask : int
            32 bits: only movers on one of these layers.

        Returns
        -------
        int64 array (m, k)
            Handles, nearest first, -1 where there are fewer; k is the count, or the number of
            movers if that is less.
        float32 array (m, k)
            Distances; ``inf`` where there are fewer.

        Raises
        ------
        InputError
            If a point is not finite (names it) or another value is out of its bounds.
        """
        centres = _checked_centres(points).astype(np.float32)
        if not (isinstance(radius, (int, float)) and radius >= 0.0):
            raise InputError("radius", radius, "is not a distance", "give a number >= 0")
        layers = _checked_mask(mask)
        shape = (len(centres), min(checked_count("count", count), self._count))
        handles = np.full(shape, -1, np.int64)
        distances = np.full(shape, np.inf, np.float32)
        if handles.size == 0:
            return handles, distances
        ranks = np.empty(shape, np.int32)
        squares = np.empty(shape, np.float32)
        counts = np.empty(len(centres), np.int32)
        # Beyond this all are closer; its square is finite in float32.
        reach = min(float(radius), 1e18)
        nearest_(
            *self._buckets, self._layers, self._priorities, layers, centres, reach, ranks,
            squares, counts,
        )  # fmt: skip
        filled = np.arange(shape[1]) < counts[:, None]
        handles[filled] = self._handles[ranks[filled]]
        distances[filled] = np.sqrt(squares[filled])
        return handles, distances


def _checked_rows(field: str, values: ArrayLike, width: int, shape: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(field, values, "are not numbers", f"give the shape {shape}") from None
    if array.size == 0:
        return np.empty((0, width))
    if array.ndim != 2 or array.shape[1] != width:
        raise InputError(field, array.shape, "is not the shape", f"give the shape {shape}")
    return np.array(array, order="C")


def _checked_centres(points: ArrayLike) -> NDArray[np.float64]:
    array = _checked_rows("points", points, 2, "(m, 2)")
    # Positions are within 2**14; squares of the distance to anything nearer than this are finite.
    good = (np.abs(array) <= 1e9).all(axis=1)
    if not good.all():
        i = int(np.argmin(good))
        raise InputError(
            f"points[{i}]", tuple(array[i].tolist()), "is not a place", "give numbers within 1e9"
        )
    return array


def _checked_mask(mask: int) -> int:
    if isinstance(mask, (int, np.integer)) and 0 <= mask <= EVERY_LAYER:
        return int(mask)
    raise InputError("mask", mask, "is not a set of layers", "give 32 bits, 0 to 4294967295")


def _warm_up() -> None:
    position = np.zeros((1, 2), np.float32)
    sort = BucketSort()
    sort.sort(position, np.ones(1, np.uint8), 1, 1.0)
    layers = np.ones(1, np.uint32)
    ranks = np.empty((1, 1), np.int32)
    squares = np.empty((1, 1), np.float32)
    counts = np.empty(1, np.int32)
    nearest_(
        *sort.buckets, layers, np.ones(1, np.float32), 1, position, 1.0, ranks, squares, counts
    )
    boxes = np.zeros((1, 4))
    inside_(*sort.buckets, layers, 1, boxes, np.zeros((1, 3)), np.empty(2, np.int64), ranks[0])


register_warm_up("neighbours", _warm_up)
