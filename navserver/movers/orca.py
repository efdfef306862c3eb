"""Velocities that keep movers apart: optimal reciprocal collision avoidance (ORCA).

Each neighbour leaves a mover a half-plane of velocities, each wall near it another; the new
velocity is the one nearest to the preferred velocity that lies in all of them and within the top
speed. Source: van den Berg, Guy, Lin and Manocha, "Reciprocal n-body Collision Avoidance" (2011).

Two things are added. A mover that has others to avoid turns what it prefers a little to the right,
so that streams that meet go round each other instead of standing in each other's way. And where no
velocity is allowed, half-planes of neighbours that could be touched soon count for more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from navserver._jit import inlined, kernel, register_warm_up
from navserver.movers.columns import STANDING
from navserver.movers.half_planes import PLANE, solve_
from navserver.movers.movers import Movers
from navserver.movers.passages import Passages
from navserver.movers.proximity import Buckets, BucketSort, apart_, nearest_around_
from navserver.movers.walls import MOST_WALLS, look_around_, wall_planes_, wall_reach_of
from navserver.movers.workers import Workers
from navserver.search.grid import Grid
from navserver.search.validation import checked_number
from navserver.status import InputError

__all__ = ["Avoidance", "Avoiding", "avoid_"]

MOST_NEIGHBORS = 64

# Those who stand are avoided for so long a part of a second ahead.
PER_STANDING = 4.0

# What a mover knows of its neighbours: velocity, radius, priority.
BODY = 4

# A neighbour that could be touched within this many seconds counts for more, up to so many times,
# where not all can be avoided.
URGENT_WITHIN = 0.25
MOST_URGENT = 10.0


@dataclass(frozen=True, slots=True)
class Avoidance:  # numpydoc ignore=PR02
    """How movers avoid each other.

    Parameters
    ----------
    neighbor_dist : float
        Neighbours are looked for closer than this, centre to centre, in cells; more than 0.
    max_neighbors : int
        The nearest so many are avoided, 1 to 64.
    time_horizon : float
        For how many seconds ahead velocities are to be free of collisions; more than 0. Long ones
        make movers give way early, short ones let them go straight until it is needed.
    keep_right : float
        How far a mover with neighbours turns what it prefers to the right, as the tangent of the
        angle, 0 to 1. 0 is plain ORCA, which blocks itself where many paths cross in one place.

    Raises
    ------
    InputError
        If a value is out of its bounds.
    """

    neighbor_dist: float = 5.0
    max_neighbors: int = 10
    time_horizon: float = 2.0
    keep_right: float = 0.2

    def __post_init__(self) -> None:
        """Check the values."""
        for name, least in (("neighbor_dist", 1e-3), ("time_horizon", 1e-3), ("keep_right", 0.0)):
            value = checked_number(
                name, getattr(self, name), least, f"give a finite number of {least:g} or more"
            )
            object.__setattr__(self, name, value)
        if self.keep_right > 1.0:
            raise InputError("keep_right", self.keep_right, "is out of bounds", "give 0 to 1")
        count = self.max_neighbors
        if not (isinstance(count, (int, np.integer)) and 1 <= count <= MOST_NEIGHBORS):
            raise InputError(
                "max_neighbors", count, "is out of bounds", f"give 1 to {MOST_NEIGHBORS}"
            )


@inlined
def half_plane_(
    px: float,
    py: float,
    vx: float,
    vy: float,
    reach: float,
    per_horizon: float,
    per_step: float,
    own: int,
    other: int,
) -> tuple[float, float, float]:
    """Return the outward normal of a neighbour's velocity obstacle, and how far v is inside.

    `p` is the neighbour's position as the mover sees it, `v` the mover's velocity as the neighbour
    sees it, `reach` the sum of their radii. The obstacle, the relative velocities that make discs
    meet within the horizon, is a cone with a round tip; the normal is where v is nearest to its
    border, and v leaves it (or may come nearer, if negative) by that much along the normal. Discs
    that overlap have only the tip, and one step to part.
    """
    square = px * px + py * py
    away = square - reach * reach
    per_time = per_horizon if away > 0.0 else per_step
    wx = vx - px * per_time
    wy = vy - py * per_time
    w_square = wx * wx + wy * wy
    along = wx * px + wy * py
    if away > 0.0 and (along >= 0.0 or along * along <= reach * reach * w_square):
        leg = math.sqrt(away)
        if px * wy - py * wx > 0.0:
            nx = -(px * reach + py * leg) / square
            ny = (px * leg - py * reach) / square
        else:
            nx = (py * leg - px * reach) / square
            ny = -(px * leg + py * reach) / square
        return nx, ny, -(vx * nx + vy * ny)
    w = math.sqrt(w_square)
    if w > 1e-9:
        return wx / w, wy / w, reach * per_time - w
    nx, ny = apart_(own, other)
    return nx, ny, reach * per_time


@inlined
def neighbour_planes_(
    buckets: Buckets,
    order: NDArray[np.int32],
    layers: NDArray[np.uint32],
    masks: NDArray[np.uint32],
    bodies: NDArray[np.float32],
    rank: int,
    ranks: NDArray[np.int32],
    squares: NDArray[np.float32],
    n_found: int,
    speed: float,
    per_horizon: float,
    per_step: float,
    n_planes: int,
    planes: NDArray[np.float64],
) -> int:
    """Add the half-planes of the neighbours found; return how many there are then.

    The mover takes half of the change that a pair needs; all of it where the neighbour does not
    avoid it. Those that no velocity within the top speed could violate are left out.
    """
    x = np.float64(buckets.x[rank])
    y = np.float64(buckets.y[rank])
    own_x = np.float64(bodies[rank, 0])
    own_y = np.float64(bodies[rank, 1])
    for k in range(n_found):
        other = np.int64(ranks[k])
        reach = np.float64(bodies[rank, 2]) + np.float64(bodies[other, 2])
        nx, ny, change = half_plane_(
            np.float64(buckets.x[other]) - x,
            np.float64(buckets.y[other]) - y,
            own_x - bodies[other, 0],
            own_y - bodies[other, 1],
            reach,
            # Who stands comes no nearer: it can be gone close to at once.
            max(per_horizon, PER_STANDING) if bodies[other, 3] >= STANDING else per_horizon,
            per_step,
            np.int64(order[rank]),
            np.int64(order[other]),
        )
        mutual = masks[other] & layers[rank] and bodies[other, 3] <= bodies[rank, 3]
        c = own_x * nx + own_y * ny + (0.5 if mutual else 1.0) * change
        if c > -speed:
            gap = math.sqrt(np.float64(squares[k])) - reach
            soon = 2.0 * speed * URGENT_WITHIN
            planes[n_planes, 0] = nx
            planes[n_planes, 1] = ny
            planes[n_planes, 2] = c
            planes[n_planes, 3] = min(max(soon / max(gap, 1e-9), 1.0), MOST_URGENT)
            n_planes += 1
    return n_planes


@inlined
def is_against_(planes: NDArray[np.float64], n_walls: int, vx: float, vy: float) -> bool:
    """Return whether a velocity leads into a wall at once.

    Who slides along one must not turn: right may be away from the corner that it wants around.
    """
    k = 0
    while k < n_walls and vx * planes[k, 0] + vy * planes[k, 1] >= planes[k, 2]:
        k += 1
    return k < n_walls


@kernel
def gather_(
    order: NDArray[np.int32],
    velocity: NDArray[np.float32],
    radius: NDArray[np.float32],
    priority: NDArray[np.float32],
    layers: NDArray[np.uint32],
    mask: NDArray[np.uint32],
    first: int,
    last: int,
    bodies: NDArray[np.float32],
    priorities: NDArray[np.float32],
    sorted_layers: NDArray[np.uint32],
    sorted_masks: NDArray[np.uint32],
) -> int:
    """Write what movers know of each other in the order of the buckets."""
    for rank in range(first, last):
        slot = order[rank]
        bodies[rank, 0] = velocity[slot, 0]
        bodies[rank, 1] = velocity[slot, 1]
        bodies[rank, 2] = radius[slot]
        bodies[rank, 3] = priority[slot]
        priorities[rank] = priority[slot]
        sorted_layers[rank] = layers[slot]
        sorted_masks[rank] = mask[slot]
    return 0


@kernel
def avoid_(
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
    layers: NDArray[np.uint32],
    masks: NDArray[np.uint32],
    priorities: NDArray[np.float32],
    bodies: NDArray[np.float32],
    walls: NDArray[np.uint8],
    wall_reaches: NDArray[np.float32],
    lanes: NDArray[np.float32],
    max_speed: NDArray[np.float32],
    preferred: NDArray[np.float32],
    neighbor_dist: float,
    time_horizon: float,
    keep_right: float,
    dt: float,
    first: int,
    last: int,
    ranks: NDArray[np.int32],
    squares: NDArray[np.float32],
    planes: NDArray[np.float64],
    between: NDArray[np.float64],
    velocity: NDArray[np.float32],
) -> int:
    """Write the new velocities of the ranks first <= rank < last, one row a slot.

    Invariant: all that is read of other movers is in arrays of ranks, which nobody writes.
    """
    buckets = Buckets(top, per_side, rows, left, per_width, first_buckets, starts, xs, ys)
    per_step = 1.0 / dt
    for rank in range(first, last):
        slot = order[rank]
        x = np.float64(xs[rank])
        y = np.float64(ys[rank])
        speed = np.float64(max_speed[slot])
        n_walls = 0
        if walls[slot]:
            n_walls = wall_planes_(
                walls[slot],
                x - math.floor(x + 0.5),
                y - math.floor(y + 0.5),
                np.float64(wall_reaches[slot]),
                per_step,
                planes,
            )
        n_hard = n_walls
        if lanes[slot, 0] != 0.0 or lanes[slot, 1] != 0.0:
            planes[n_hard, 0] = lanes[slot, 0]
            planes[n_hard, 1] = lanes[slot, 1]
            planes[n_hard, 2] = -max(np.float64(lanes[slot, 2]), 0.0) * per_step
            planes[n_hard, 3] = 1.0
            n_hard += 1
        n_found = nearest_around_(
            buckets, layers, priorities, masks[rank], bodies[rank, 3], x, y, rank, neighbor_dist,
            ranks, squares,
        )  # fmt: skip
        n_planes = neighbour_planes_(
            buckets, order, layers, masks, bodies, rank, ranks, squares, n_found, speed,
            1.0 / time_horizon, per_step, n_hard, planes,
        )  # fmt: skip
        aim_x = np.float64(preferred[slot, 0])
        aim_y = np.float64(preferred[slot, 1])
        if n_planes > n_hard and not is_against_(planes, n_walls, aim_x, aim_y):
            aim_x, aim_y = aim_x - keep_right * aim_y, aim_y + keep_right * aim_x
        vx, vy = solve_(planes, n_hard, n_planes, speed, aim_x, aim_y, between)
        velocity[slot, 0] = vx
        velocity[slot, 1] = vy
    return 0


class Avoiding:
    """The phase that turns preferred velocities into velocities without collisions.

    Parameters
    ----------
    movers : Movers
        Who avoid each other.
    workers : Workers
        The threads.
    avoidance : Avoidance
        How.
    passages : Passages, optional
        What has told movers which lines to keep to one side of.
    """

    name = "avoid"

    def __init__(
        self,
        movers: Movers,
        workers: Workers,
        avoidance: Avoidance,
        passages: Passages | None = None,
    ) -> None:
        self._movers = movers
        self._workers = workers
        self._avoidance = avoidance
        self._passages = passages
        self._sort = BucketSort()
        self._make_room(0)

    def _make_room(self, capacity: int) -> None:
        self._bodies = np.empty((capacity, BODY), np.float32)
        self._priorities = np.empty(capacity, np.float32)
        self._layers = np.empty(capacity, np.uint32)
        self._masks = np.empty(capacity, np.uint32)
        self._walls = np.empty(capacity, np.uint8)
        self._wall_reaches = np.empty(capacity, np.float32)
        self._no_lanes = np.zeros((capacity, 3), np.float32)

    def is_used(self) -> bool:
        """Return whether there is something to do.

        Returns
        -------
        bool
            False without movers.
        """
        return len(self._movers) > 0

    def run(self, dt: float) -> int:
        """Write the velocities for the next so many seconds.

        Parameters
        ----------
        dt : float
            Seconds; with 0 nothing changes.

        Returns
        -------
        int
            0: it has no events.
        """
        if dt == 0.0:
            return 0
        columns = self._movers.columns
        if len(self._bodies) < len(columns.state):
            self._make_room(len(columns.state))
        slots = self._movers.slots
        reach = self._avoidance.neighbor_dist
        self._sort.sort(columns.position, columns.state, slots, 0.5 * reach)
        for which, movement in enumerate(self._movers.movements):
            self._look_around(which, wall_reach_of(movement))
        count = self._sort.count
        gathered = (self._bodies, self._priorities, self._layers, self._masks)
        priority = columns.priority + columns.precedence
        self._workers.run(
            lambda first, last: gather_(
                self._sort.order, columns.velocity, columns.radius, priority,
                columns.layers, columns.mask, first, last, *gathered,
            ),
            count,
        )  # fmt: skip
        most = self._avoidance.max_neighbors
        most_planes = most + MOST_WALLS + 1
        lanes = self._no_lanes if self._passages is None else self._passages.lanes
        settings = (reach, self._avoidance.time_horizon, self._avoidance.keep_right, dt)

        def avoid(first: int, last: int) -> int:
            return avoid_(
                *self._sort.buckets, self._sort.order, self._layers, self._masks,
                self._priorities, self._bodies, self._walls, self._wall_reaches, lanes,
                columns.max_speed, columns.preferred_velocity, *settings, first, last,
                np.empty(most, np.int32), np.empty(most, np.float32),
                np.empty((most_planes, PLANE)), np.empty((most_planes, PLANE)),
                columns.velocity,
            )  # fmt: skip

        return self._workers.run(avoid, count, worthwhile=1024)

    def _look_around(self, which: int, most_reach: float) -> None:
        columns = self._movers.columns
        ground = self._movers.ground(which)
        self._workers.run(
            lambda first, last: look_around_(
                *ground, columns.movement, which, most_reach, columns.state, columns.position,
                columns.radius, first, last, self._walls, self._wall_reaches,
            ),
            self._movers.slots,
        )  # fmt: skip


def _warm_up() -> None:
    movers = Movers(Grid.filled(2, 1))
    movers.add([(0, 0), (0.5, 0)], radius=0.4, max_speed=1.0)
    Avoiding(movers, Workers(1), Avoidance()).run(0.1)


register_warm_up("avoidance", _warm_up)
