"""Contact: what overlaps after the motion is pushed apart, but never into a wall.

Avoidance looks ahead and leaves overlaps where there was no way out. Here each overlap of a pair
is undone by moving both along the line between their centres, pair after pair in one order, a few
sweeps over all. What results is then walked to, with the walls that stop any motion; a mover with
its back to a wall stays, and its partner moves the rest in the next round. Source: Mueller,
Heidelberger, Hennix and Ratcliff, "Position Based Dynamics" (2007), section 3.3.

The pairs are looked for on all threads and parted on one, so that threads change nothing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from navserver._jit import kernel, register_warm_up
from navserver.movers.half_planes import PLANE
from navserver.movers.movers import Movers
from navserver.movers.proximity import Buckets, BucketSort, apart_, line_, run_
from navserver.movers.sight import Ground
from navserver.movers.walls import MOST_WALLS, slide_, wall_reach_of
from navserver.movers.workers import Workers
from navserver.search.grid import Grid

__all__ = ["Parting", "find_pairs_", "give_way_", "sweep_"]

ROUNDS = 6
"""Most walks to where the sweeps lead."""

SWEEPS = 12
"""Most passes over the pairs before each."""

# Overlaps of less than this part of the sum of radii are left as they are.
TOLERANCE = 0.003

# Pairs this near, as a part of the sum of radii, may come to overlap while others are parted.
MARGIN = 0.1


@kernel
def find_pairs_(
    top: float,
    per_side: float,
    rows: int,
    left: NDArray[np.float64],
    per_width: NDArray[np.float64],
    first_buckets: NDArray[np.int32],
    starts: NDArray[np.int32],
    xs: NDArray[np.float32],
    ys: NDArray[np.float32],
    radii: NDArray[np.float32],
    layers: NDArray[np.uint32],
    masks: NDArray[np.uint32],
    first: int,
    last: int,
    pairs: NDArray[np.int32],
) -> tuple[int, int]:
    """Write the pairs that touch or nearly so; return how many, and how many of them overlap.

    A pair is found by the wider one, the later of equals: then nobody has to look farther than
    twice its own radius. Pairs beyond the capacity are counted but not written.
    """
    buckets = Buckets(top, per_side, rows, left, per_width, first_buckets, starts, xs, ys)
    n_pairs = 0
    n_overlaps = 0
    for rank in range(first, last):
        x = np.float64(xs[rank])
        y = np.float64(ys[rank])
        radius = np.float64(radii[rank])
        reach = 2.0 * radius * (1.0 + MARGIN) + 1e-9
        begin_row = line_(y - reach, top, per_side, rows)
        end_row = line_(y + reach, top, per_side, rows)
        for row in range(begin_row, end_row + 1):
            begin, end = run_(buckets, row, x - reach, x + reach)
            for other in range(begin, end):
                if radii[other] > radius or (radii[other] == radius and other >= rank):
                    continue
                dx = np.float64(xs[other]) - x
                dy = np.float64(ys[other]) - y
                touch = radius + np.float64(radii[other])
                near = touch * (1.0 + MARGIN)
                square = dx * dx + dy * dy
                if square >= near * near:
                    continue
                if not (masks[rank] & layers[other] or masks[other] & layers[rank]):
                    continue
                if n_pairs < pairs.shape[0]:
                    pairs[n_pairs, 0] = rank
                    pairs[n_pairs, 1] = other
                n_pairs += 1
                overlap = touch * (1.0 - TOLERANCE)
                n_overlaps += square < overlap * overlap
    return n_pairs, n_overlaps


@kernel
def sweep_(
    pairs: NDArray[np.int32],
    n_pairs: int,
    order: NDArray[np.int32],
    radii: NDArray[np.float32],
    priorities: NDArray[np.float32],
    layers: NDArray[np.uint32],
    masks: NDArray[np.uint32],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    moved: NDArray[np.uint8],
) -> int:
    """Part the pairs on open ground, and mark who moved; return how often a pair overlapped.

    Of two that give way to each other each moves half; who does not give way, since its mask or
    its higher priority says so, stays. Every other sweep goes backwards, so that no end of the
    order is favoured.
    """
    n_overlaps = 0
    for sweep in range(SWEEPS):
        before = n_overlaps
        for turn in range(n_pairs):
            k = n_pairs - 1 - turn if sweep & 1 else turn
            i = np.int64(pairs[k, 0])
            j = np.int64(pairs[k, 1])
            touch = np.float64(radii[i]) + np.float64(radii[j])
            dx = x[j] - x[i]
            dy = y[j] - y[i]
            square = dx * dx + dy * dy
            overlap = touch * (1.0 - TOLERANCE)
            if square >= overlap * overlap:
                continue
            n_overlaps += 1
            length = math.sqrt(square)
            if length > 1e-9:
                nx = dx / length
                ny = dy / length
            else:
                nx, ny = apart_(np.int64(order[j]), np.int64(order[i]))
            i_yields = masks[i] & layers[j] and priorities[i] <= priorities[j]
            j_yields = masks[j] & layers[i] and priorities[j] <= priorities[i]
            way = touch - length
            if i_yields and j_yields:
                way *= 0.5
            if i_yields:
                x[i] -= way * nx
                y[i] -= way * ny
                moved[i] = 1
            if j_yields:
                x[j] += way * nx
                y[j] += way * ny
                moved[j] = 1
        if n_overlaps == before:
            break
    return n_overlaps


@kernel
def give_way_(
    masks: NDArray[np.uint8],
    space: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    width: int,
    height: int,
    origin_x: int,
    origin_y: int,
    movement: NDArray[np.uint8],
    which: int,
    most_reach: float,
    order: NDArray[np.int32],
    radii: NDArray[np.float32],
    first: int,
    last: int,
    planes: NDArray[np.float64],
    moved: NDArray[np.uint8],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    position: NDArray[np.float32],
) -> int:
    """Walk those of one movement that moved to where they are to be, as far as walls let them."""
    ground = Ground(masks, space, open_table, width, height, origin_x, origin_y)
    for rank in range(first, last):
        slot = order[rank]
        if not moved[rank] or movement[slot] != which:
            continue
        moved[rank] = 0
        here_x = np.float64(position[slot, 0])
        here_y = np.float64(position[slot, 1])
        reach = min(np.float64(radii[rank]), most_reach)
        x[rank], y[rank], _ = slide_(
            ground, here_x, here_y, x[rank] - here_x, y[rank] - here_y, reach, planes
        )
        position[slot, 0] = x[rank]
        position[slot, 1] = y[rank]
    return 0


class Parting:
    """The phase that pushes overlapping movers apart.

    Parameters
    ----------
    movers : Movers
        Whom.
    workers : Workers
        The threads.
    """

    name = "part"

    def __init__(self, movers: Movers, workers: Workers) -> None:
        self._movers = movers
        self._workers = workers
        self._sort = BucketSort()
        self._pairs = np.empty((0, 2), np.int32)
        self._make_room(0)

    def _make_room(self, capacity: int) -> None:
        self._radii = np.empty(capacity, np.float32)
        self._priorities = np.empty(capacity, np.float32)
        self._layers = np.empty(capacity, np.uint32)
        self._masks = np.empty(capacity, np.uint32)
        self._x = np.empty(capacity)
        self._y = np.empty(capacity)
        self._moved = np.zeros(capacity, np.uint8)

    def is_used(self) -> bool:
        """Return whether there is something to do.

        Returns
        -------
        bool
            False with fewer than two movers.
        """
        return len(self._movers) > 1

    def run(self, dt: float) -> int:
        """Push apart what overlaps.

        Parameters
        ----------
        dt : float
            Seconds; with 0 nothing changes, otherwise it does not matter.

        Returns
        -------
        int
            0: it has no events.
        """
        if dt == 0.0:
            return 0
        n_pairs, n_overlaps = self._find_pairs()
        if n_overlaps == 0:
            return 0
        count = self._sort.count
        self._x[:count] = self._sort.buckets.x[:count]
        self._y[:count] = self._sort.buckets.y[:count]
        for _ in range(ROUNDS):
            n_overlaps = sweep_(
                self._pairs, n_pairs, self._sort.order, self._radii, self._priorities,
                self._layers, self._masks, self._x, self._y, self._moved,
            )  # fmt: skip
            if n_overlaps == 0:
                break
            for which, movement in enumerate(self._movers.movements):
                self._give_way(which, wall_reach_of(movement))
        return 0

    def _find_pairs(self) -> tuple[int, int]:
        movers = self._movers
        columns = movers.columns
        widest = float(columns.radius[: movers.slots].max())
        self._sort.sort(columns.position, columns.state, movers.slots, max(2.0 * widest, 1e-3))
        if len(self._radii) < len(columns.state):
            self._make_room(len(columns.state))
        count = self._sort.count
        order = self._sort.order[:count]
        for column, here in (
            (columns.radius, self._radii),
            (columns.priority + columns.precedence, self._priorities),
            (columns.layers, self._layers),
            (columns.mask, self._masks),
        ):
            np.take(column, order, out=here[:count], mode="clip")
        return self._collect_pairs(count)

    def _collect_pairs(self, count: int) -> tuple[int, int]:
        """Find pairs range by range; in the order of ranks they are the same for any ranges."""
        found: dict[int, tuple[NDArray[np.int32], int]] = {}

        def find(first: int, last: int) -> int:
            pairs = np.empty((4 * (last - first) + 64, 2), np.int32)
            while True:
                n_pairs, n_overlaps = find_pairs_(
                    *self._sort.buckets, self._radii, self._layers, self._masks, first, last, pairs
                )
                if n_pairs <= len(pairs):
                    found[first] = pairs, n_pairs
                    return n_overlaps
                pairs = np.empty((n_pairs, 2), np.int32)

        n_overlaps = self._workers.run(find, count, worthwhile=4096)
        parts = [pairs[:n_pairs] for _, (pairs, n_pairs) in sorted(found.items())]
        self._pairs = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return len(self._pairs), n_overlaps

    def _give_way(self, which: int, most_reach: float) -> None:
        columns = self._movers.columns
        ground = self._movers.ground(which)

        def give_way(first: int, last: int) -> int:
            return give_way_(
                *ground, columns.movement, which, most_reach, self._sort.order, self._radii,
                first, last, np.empty((MOST_WALLS, PLANE)), self._moved, self._x, self._y,
                columns.position,
            )  # fmt: skip

        self._workers.run(give_way, self._sort.count)


def _warm_up() -> None:
    movers = Movers(Grid.filled(2, 1))
    movers.add([(0, 0), (0.5, 0)], radius=0.4, max_speed=1.0)
    Parting(movers, Workers(1)).run(0.1)


register_warm_up("contact", _warm_up)
