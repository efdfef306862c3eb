"""Walking along waypoints, exactly.

A mover without other movers to avoid is on rails: for `time_left` seconds more it keeps its
velocity, and then it is at `target`. So at any time before::

    position == target - velocity * time_left

and a step only has to count the time down. Rounding does not add up, a slow body moves however
far from the origin it is, and the loop has no branch a mover. Where the time is used up within the
step, what is left of the step is spent beyond the target, past as many waypoints as it takes.

Whoever changes a mover's position or speed from outside calls `Movers.leave_rails`: its target is
then where it is, and no time is left.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver._jit import inlined, kernel, register_warm_up, subkernel
from navserver.movers.columns import REST, EventFlag, MoverState
from navserver.movers.movers import Movers
from navserver.movers.workers import Workers
from navserver.search.grid import Grid

__all__ = ["Walking", "walk_"]

# Movers whose time is counted down together; then those are looked at that have none left.
BLOCK = 128

IDLE, PATH = int(MoverState.IDLE), int(MoverState.PATH)
ARRIVED = int(EventFlag.ARRIVED)


class Rails(NamedTuple):
    """The columns that say where movers are and how long they go on like that."""

    position: NDArray[np.float32]
    velocity: NDArray[np.float32]
    target: NDArray[np.float32]
    time_left: NDArray[np.float32]


class Course(NamedTuple):
    """The columns and the pool that say where movers go."""

    state: NDArray[np.uint8]
    events: NDArray[np.uint8]
    max_speed: NDArray[np.float32]
    arrival_radius: NDArray[np.float32]
    next: NDArray[np.int32]
    end: NDArray[np.int32]
    pool: NDArray[np.float32]


@inlined
def glide_(rails: Rails, first: int, last: int, dt: np.float32) -> bool:
    """Count the time of movers down and place them; return whether one has none left."""
    due = 0
    for i in range(first, last):
        time_left = rails.time_left[i] - dt
        rails.time_left[i] = time_left
        rails.position[i, 0] = rails.target[i, 0] - rails.velocity[i, 0] * time_left
        rails.position[i, 1] = rails.target[i, 1] - rails.velocity[i, 1] * time_left
        due |= time_left <= np.float32(0.0)
    return due != 0


@subkernel
def rest_(rails: Rails, i: int, x: float, y: float) -> None:
    """Let a mover stand at a point."""
    rails.position[i, 0] = rails.target[i, 0] = x
    rails.position[i, 1] = rails.target[i, 1] = y
    rails.velocity[i, 0] = 0.0
    rails.velocity[i, 1] = 0.0
    rails.time_left[i] = REST


@subkernel
def walk_on_(rails: Rails, course: Course, i: int, spare: float) -> int:
    """Spend the seconds that are left beyond the target; return whether the goal was reached.

    Invariant: the mover is at (x, y) with `spare` seconds to go, before waypoint `k`.
    """
    x = float(rails.target[i, 0])
    y = float(rails.target[i, 1])
    speed = float(course.max_speed[i])
    if speed <= 0.0:
        rest_(rails, i, x, y)
        return 0
    k = int(course.next[i])
    end = int(course.end[i])
    while k < end:
        to_x = float(course.pool[k, 0])
        to_y = float(course.pool[k, 1])
        dx = to_x - x
        dy = to_y - y
        length = math.sqrt(dx * dx + dy * dy)
        if k == end - 1 and course.arrival_radius[i] > 0.0:
            short = max(length - course.arrival_radius[i], 0.0)
            share = short / length if length > 0.0 else 0.0
            to_x = float(np.float32(x + dx * share))
            to_y = float(np.float32(y + dy * share))
            dx = to_x - x
            dy = to_y - y
            length = math.sqrt(dx * dx + dy * dy)
        time = length / speed
        if time > spare:
            left = min(time - spare, REST)
            rails.target[i, 0] = to_x
            rails.target[i, 1] = to_y
            rails.velocity[i, 0] = dx / time
            rails.velocity[i, 1] = dy / time
            rails.time_left[i] = left
            rails.position[i, 0] = x + dx / time * spare
            rails.position[i, 1] = y + dy / time * spare
            course.next[i] = k
            return 0
        spare -= time
        x = to_x
        y = to_y
        k += 1
    course.next[i] = k
    course.state[i] = IDLE
    course.events[i] |= ARRIVED
    rest_(rails, i, x, y)
    return 1


@kernel
def walk_(
    position: NDArray[np.float32],
    velocity: NDArray[np.float32],
    target: NDArray[np.float32],
    time_left: NDArray[np.float32],
    state: NDArray[np.uint8],
    events: NDArray[np.uint8],
    max_speed: NDArray[np.float32],
    arrival_radius: NDArray[np.float32],
    path_next: NDArray[np.int32],
    path_end: NDArray[np.int32],
    pool: NDArray[np.float32],
    dt: float,
    first: int,
    last: int,
) -> int:
    """Move the rows first <= i < last; return how many arrived.

    Invariant: a mover is at ``target - velocity * time_left``.
    """
    rails = Rails(position, velocity, target, time_left)
    course = Course(state, events, max_speed, arrival_radius, path_next, path_end, pool)
    short_dt = np.float32(dt)
    arrived = 0
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        if glide_(rails, begin, end, short_dt):
            for i in range(begin, end):
                if time_left[i] <= np.float32(0.0):
                    arrived += walk_on_(rails, course, i, -float(time_left[i]))
    return arrived


class Walking:
    """The phase that moves everybody who avoids nobody.

    Parameters
    ----------
    movers : Movers
        Whom.
    workers : Workers
        The threads.
    """

    name = "walk"

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
        """Move for so many seconds.

        Parameters
        ----------
        dt : float
            Seconds.

        Returns
        -------
        int
            How many movers have events.
        """
        columns = self._movers.columns
        arguments = (
            columns.position,
            columns.velocity,
            columns.target,
            columns.time_left,
            columns.state,
            columns.events,
            columns.max_speed,
            columns.arrival_radius,
            columns.path_next,
            columns.path_end,
            self._movers.routes.pool,
            dt,
        )
        return self._workers.run(
            lambda first, last: walk_(*arguments, first, last), self._movers.slots
        )


def _warm_up() -> None:
    movers = Movers(Grid.filled(2, 1))
    movers.set_paths(movers.add([(0, 0)], radius=0.4, max_speed=1.0), [(1.0, 0.0)], [0, 1])
    Walking(movers, Workers(1)).run(0.1)


register_warm_up("walking", _warm_up)
