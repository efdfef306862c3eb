"""What avoiding movers would do if they were alone: preferred velocities along their paths.

Others push such a mover off its path, so a waypoint need not be met: it is passed once the mover is
near it or beyond it, and sees the next one. A mover never aims through a wall: has it lost sight of
its waypoint, it aims at the farthest one in sight, and asks for a new path where there is none.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver._jit import inlined, kernel, register_warm_up, subkernel
from navserver.movers.columns import EventFlag, MoverState
from navserver.movers.driving import SWING, within_limits_
from navserver.movers.field_following import prefer_field_
from navserver.movers.movers import Movers
from navserver.movers.sight import Ground, cell_at_, farthest_in_sight_, walkable_
from navserver.movers.workers import Workers
from navserver.search.flow_field import FlowField
from navserver.search.grid import Grid

__all__ = ["NEAR", "Preferring", "prefer_", "steered_"]

NEAR = 0.02
"""How near an avoiding mover has to come to its goal, in cells, beyond its arrival radius."""

EASING = 0.3
"""Over how much of its radius the members of a crowd slow down before their places.

At full speed up to the last they would push each other past their places and back, the whole crowd
as one: it takes twice as long until all stand.
"""

LOOK_AGAIN_AFTER = 0.4
"""Seconds without headway after which a mover no longer trusts that it sees its waypoint."""

# Rows a thread that are worth it: each costs tens of nanoseconds.
WORTHWHILE = 1 << 12

IDLE, WAITING = int(MoverState.IDLE), int(MoverState.WAITING)
PATH, FIELD = int(MoverState.PATH), int(MoverState.FIELD)
STEERED = int(MoverState.STEERED)
ARRIVED, REPATH_WANTED = int(EventFlag.ARRIVED), int(EventFlag.REPATH_WANTED)


class Walkers(NamedTuple):
    """The columns and the pool that say where avoiding movers are and go."""

    position: NDArray[np.float32]
    velocity: NDArray[np.float32]
    preferred: NDArray[np.float32]
    state: NDArray[np.uint8]
    events: NDArray[np.uint8]
    radius: NDArray[np.float32]
    max_speed: NDArray[np.float32]
    acceleration: NDArray[np.float32]
    turn_rate: NDArray[np.float32]
    braking: NDArray[np.float32]
    arrival_radius: NDArray[np.float32]
    anchor: NDArray[np.int32]
    crowd_radius: NDArray[np.float32]
    begin: NDArray[np.int32]
    next: NDArray[np.int32]
    end: NDArray[np.int32]
    seen_from: NDArray[np.int32]
    stalled: NDArray[np.float32]
    pool: NDArray[np.float32]


@subkernel
def is_passed_(walkers: Walkers, ground: Ground, i: int, k: int, x: float, y: float) -> bool:
    """Return whether a waypoint that is not the last is done with, seen from (x, y)."""
    pool = walkers.pool
    away_x = x - pool[k, 0]
    away_y = y - pool[k, 1]
    reach = max(float(walkers.radius[i]), SWING)
    if away_x * away_x + away_y * away_y > reach * reach:
        if k > walkers.begin[i]:
            # Beyond it, if the plane through it across the way there has been crossed.
            along_x = pool[k, 0] - pool[k - 1, 0]
            along_y = pool[k, 1] - pool[k - 1, 1]
            if away_x * along_x + away_y * along_y <= 0.0:
                return False
        else:
            # Beyond the first, who is nearer to the next one than it is.
            on_x = pool[k + 1, 0] - pool[k, 0]
            on_y = pool[k + 1, 1] - pool[k, 1]
            left_x = on_x - away_x
            left_y = on_y - away_y
            if left_x * left_x + left_y * left_y >= on_x * on_x + on_y * on_y:
                return False
    return walkable_(ground, x, y, pool[k + 1, 0], pool[k + 1, 1])


@subkernel
def waypoint_of_(walkers: Walkers, ground: Ground, i: int, x: float, y: float) -> int:
    """Return which waypoint a mover at (x, y) aims at, -1 if it sees none.

    Invariant: `seen_from` is the cell from which the mover has seen its next waypoint. Not from
    everywhere in it: who makes no headway looks again.
    """
    k = int(walkers.next[i])
    last = int(walkers.end[i]) - 1
    cell = cell_at_(ground, x, y)
    while k < last and is_passed_(walkers, ground, i, k, x, y):
        k += 1
        walkers.seen_from[i] = cell
    if walkers.seen_from[i] != cell or walkers.stalled[i] >= LOOK_AGAIN_AFTER:
        if not walkable_(ground, x, y, walkers.pool[k, 0], walkers.pool[k, 1]):
            k = farthest_in_sight_(ground, walkers.pool, int(walkers.begin[i]), k, last, x, y)
        walkers.seen_from[i] = cell
    if k >= 0:
        walkers.next[i] = k
    return k


@inlined
def wish_(walkers: Walkers, i: int, vx: float, vy: float, dt: float) -> None:
    """Write the velocity that is nearest to the wanted one within what a mover can do in a step."""
    walkers.preferred[i, 0], walkers.preferred[i, 1] = within_limits_(
        np.float64(walkers.velocity[i, 0]), np.float64(walkers.velocity[i, 1]), vx, vy,
        np.float64(walkers.acceleration[i]), np.float64(walkers.turn_rate[i]), dt,
    )  # fmt: skip


@inlined
def steered_(
    steering: NDArray[np.float32], max_speed: NDArray[np.float32], i: int
) -> tuple[float, float]:
    """Return the velocity that a steered mover was given, within its top speed."""
    vx = np.float64(steering[i, 0])
    vy = np.float64(steering[i, 1])
    speed = math.sqrt(vx * vx + vy * vy)
    if speed > max_speed[i]:
        vx *= max_speed[i] / speed
        vy *= max_speed[i] / speed
    return vx, vy


@subkernel
def prefer_path_(walkers: Walkers, ground: Ground, i: int, dt: float) -> int:
    """Write what one on a path prefers; return whether there is an event."""
    x = float(walkers.position[i, 0])
    y = float(walkers.position[i, 1])
    k = waypoint_of_(walkers, ground, i, x, y)
    last = int(walkers.end[i]) - 1
    if k < 0:
        walkers.preferred[i, 0] = walkers.preferred[i, 1] = 0.0
        walkers.state[i] = WAITING
        walkers.events[i] |= REPATH_WANTED
        return 1
    dx = walkers.pool[k, 0] - x
    dy = walkers.pool[k, 1] - y
    distance = math.sqrt(dx * dx + dy * dy)
    speed = float(walkers.max_speed[i])
    if k == last:
        ahead = distance - walkers.arrival_radius[i]
        if ahead <= NEAR:
            walkers.preferred[i, 0] = walkers.preferred[i, 1] = 0.0
            walkers.next[i] = last + 1
            walkers.state[i] = IDLE
            walkers.events[i] |= ARRIVED
            return 1
        if walkers.anchor[i] >= 0 and ahead < EASING * walkers.crowd_radius[i]:
            speed *= math.sqrt(ahead / (EASING * walkers.crowd_radius[i]))
        if walkers.braking[i] < np.inf:
            lost = walkers.braking[i] * dt
            speed = min(speed, math.sqrt(lost * lost + 2.0 * walkers.braking[i] * ahead) - lost)
        if speed * dt > ahead:
            speed = ahead / dt
    share = speed / distance if distance > 0.0 else 0.0
    wish_(walkers, i, dx * share, dy * share, dt)
    return 0


@kernel
def prefer_(
    position: NDArray[np.float32],
    velocity: NDArray[np.float32],
    preferred: NDArray[np.float32],
    state: NDArray[np.uint8],
    events: NDArray[np.uint8],
    radius: NDArray[np.float32],
    max_speed: NDArray[np.float32],
    acceleration: NDArray[np.float32],
    turn_rate: NDArray[np.float32],
    braking: NDArray[np.float32],
    arrival_radius: NDArray[np.float32],
    anchor: NDArray[np.int32],
    crowd_radius: NDArray[np.float32],
    path_begin: NDArray[np.int32],
    path_next: NDArray[np.int32],
    path_end: NDArray[np.int32],
    seen_from: NDArray[np.int32],
    stalled: NDArray[np.float32],
    pool: NDArray[np.float32],
    steering: NDArray[np.float32],
    masks: NDArray[np.uint8],
    space: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    width: int,
    height: int,
    origin_x: int,
    origin_y: int,
    movement: NDArray[np.uint8],
    which: int,
    dt: float,
    first: int,
    last: int,
) -> int:
    """Write the preferred velocities of the rows of one movement; return how many have an event.

    Nobody has moved since the paths were looked at last, but others may have pushed.
    """
    walkers = Walkers(
        position, velocity, preferred, state, events, radius, max_speed, acceleration, turn_rate,
        braking, arrival_radius, anchor, crowd_radius, path_begin, path_next, path_end, seen_from,
        stalled, pool,
    )  # fmt: skip
    ground = Ground(masks, space, open_table, width, height, origin_x, origin_y)
    flagged = 0
    for i in range(first, last):
        if movement[i] != which:
            continue
        if state[i] == PATH:
            flagged += prefer_path_(walkers, ground, i, dt)
        elif state[i] == STEERED:
            vx, vy = steered_(steering, max_speed, i)
            wish_(walkers, i, vx, vy, dt)
        elif state[i] != FIELD:
            preferred[i, 0] = preferred[i, 1] = 0.0
    return flagged


class Preferring:
    """The phase before avoidance: what everybody would do alone, and who has arrived.

    Parameters
    ----------
    movers : Movers
        Who.
    workers : Workers
        The threads.
    """

    name = "prefer"

    def __init__(self, movers: Movers, workers: Workers) -> None:
        self._movers = movers
        self._workers = workers

    def is_used(self) -> bool:
        """Return whether there is something to do.

        Returns
        -------
        bool
            False without movers.
        """
        return self._movers.slots > 0

    def run(self, dt: float) -> int:
        """Write the column `preferred_velocity`.

        Parameters
        ----------
        dt : float
            Seconds that the step spans.

        Returns
        -------
        int
            How many movers have events.
        """
        movers = self._movers
        columns = movers.columns
        walkers: tuple[Any, ...] = (
            columns.position,
            columns.velocity,
            columns.preferred_velocity,
            columns.state,
            columns.events,
            columns.radius,
            columns.max_speed,
            columns.acceleration,
            columns.turn_rate,
            columns.braking,
            columns.arrival_radius,
            columns.anchor,
            columns.crowd_radius,
            columns.path_begin,
            columns.path_next,
            columns.path_end,
            columns.seen_from,
            columns.stalled,
            movers.routes.pool,
            columns.steering,
        )
        followers = (
            columns.position, columns.preferred_velocity, columns.state, columns.events,
            columns.max_speed, columns.braking, columns.arrival_radius, NEAR,
        )  # fmt: skip
        grounds = movers.grounds()
        fields = movers.fields()
        stopped = movers.take_flagged()

        def call(first: int, last: int) -> int:
            flagged = 0
            for which, ground in enumerate(grounds):
                whole = (*walkers, *ground, columns.movement, which, dt, first, last)
                flagged += prefer_(*whole)
            for which, followed in fields.items():
                whole = (
                    *followers, *followed.arrays, columns.flow_field, which, dt, first, last
                )  # fmt: skip
                flagged += prefer_field_(*whole)
            return flagged

        return stopped + self._workers.run(call, movers.slots, WORTHWHILE)


def _warm_up() -> None:
    movers = Movers(Grid.filled(2, 1))
    movers.set_paths(movers.add([(0, 0)], radius=0.4, max_speed=1.0), [(1.0, 0.0)], [0, 1])
    followers = movers.add([(0, 0)], radius=0.4, max_speed=1.0)
    movers.set_field(followers, FlowField(movers.grid, [(1, 0)]))
    Preferring(movers, Workers(1)).run(0.1)


register_warm_up("preferred velocities", _warm_up)
