"""Walking along waypoints: the phase of movers that avoid nobody.

One kernel counts all movers' time down (`rails`) and lets those without limits walk on where it is
used up: exactly, past as many corners as the time allows. Those with limits and those that follow
a flow field are listed and handed to `driving` and `field_following`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver._jit import inlined, kernel, register_warm_up
from navserver.movers.columns import MoverState
from navserver.movers.driving import drive_, within_limits_
from navserver.movers.field_following import follow_field_
from navserver.movers.half_planes import PLANE
from navserver.movers.movers import Movers
from navserver.movers.preferences import steered_
from navserver.movers.rails import Course, Rails, arrive_, glide_, go_, pause_, rest_
from navserver.movers.sight import Ground
from navserver.movers.walls import MOST_WALLS, slide_, wall_reach_of
from navserver.movers.workers import Workers
from navserver.search.flow_field import FlowField
from navserver.search.grid import Grid

__all__ = ["Walking", "walk_"]

# Movers whose time is counted down together before those are looked at that have none left: few
# enough for the first level of the cache, enough for long vectors.
BLOCK = 512

PATH, STEERED = int(MoverState.PATH), int(MoverState.STEERED)


@inlined
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
        length = math.sqrt((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y))
        if k == end - 1 and course.arrival_radius[i] > 0.0:
            share = max(length - course.arrival_radius[i], 0.0) / max(length, 1e-30)
            # As the target will be rounded: else one would never get there.
            to_x = float(np.float32(x + (to_x - x) * share))
            to_y = float(np.float32(y + (to_y - y) * share))
            length = math.sqrt((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y))
        seconds = length / speed
        if seconds > spare:
            vx = (to_x - x) / seconds
            vy = (to_y - y) / seconds
            go_(rails, i, x, y, to_x, to_y, vx, vy, seconds, spare)
            course.next[i] = k
            return 0
        spare -= seconds
        x = to_x
        y = to_y
        k += 1
    arrive_(rails, course, i, x, y)
    return 1


@inlined
def list_due_(
    time_left: NDArray[np.float32], first: int, last: int, due: NDArray[np.int32], end: int
) -> int:
    """Append the rows that have no time left to a list, and return its new end.

    Invariant: the list has room for one more row than it can get, so that each is written before
    it is known to belong there: a branch would be foretold wrong for most of those that do. Eight
    rows of which none does are passed over at once.
    """
    none = np.float32(0.0)
    clock = time_left[first:last]
    eights = clock.shape[0] >> 3
    for eight in range(eights):
        left = clock[8 * eight : 8 * eight + 8]
        lower = min(left[0], left[1], left[2], left[3])
        upper = min(left[4], left[5], left[6], left[7])
        if min(lower, upper) <= none:
            for i in range(8):
                due[end] = first + 8 * eight + i
                end += left[i] <= none
    for i in range(8 * eights, clock.shape[0]):
        due[end] = first + i
        end += clock[i] <= none
    return end


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
    is_limited: NDArray[np.uint8],
    due: NDArray[np.int32],
    dt: float,
    first: int,
    last: int,
) -> tuple[int, int]:
    """Move the rows first <= i < last; return how many arrived, and how many are left to others.

    Invariant: a mover is at ``target - velocity * time_left``. Those left to others are listed
    from ``due[first]`` on; what their time_left is below 0 they have yet to go.
    """
    rails = Rails(position, velocity, target, time_left)
    course = Course(state, events, max_speed, arrival_radius, path_next, path_end, pool)
    end = first
    for begin in range(first, last, BLOCK):
        glide_(rails, begin, min(begin + BLOCK, last), np.float32(dt))
        end = list_due_(time_left, begin, min(begin + BLOCK, last), due, end)
    arrived = 0
    left = first
    for entry in range(first, end):
        i = int(due[entry])
        if state[i] == PATH and not is_limited[i]:
            arrived += walk_on_(rails, course, i, -float(time_left[i]))
        else:
            due[left] = i
            left += 1
    return arrived, left - first


@kernel
def steer_(
    ground: Ground,
    which: int,
    most_reach: float,
    rails: Rails,
    state: NDArray[np.uint8],
    movement: NDArray[np.uint8],
    steering: NDArray[np.float32],
    radius: NDArray[np.float32],
    max_speed: NDArray[np.float32],
    acceleration: NDArray[np.float32],
    turn_rate: NDArray[np.float32],
    due: NDArray[np.int32],
    first: int,
    count: int,
    planes: NDArray[np.float64],
) -> int:
    """Move those of the listed rows that are steered and of one movement; return 0.

    Their target is where they were before the step.
    """
    for entry in range(first, first + count):
        i = np.int64(due[entry])
        if state[i] != STEERED or movement[i] != which:
            continue
        dt = -np.float64(rails.time_left[i])
        x = np.float64(rails.target[i, 0])
        y = np.float64(rails.target[i, 1])
        wished_x, wished_y = steered_(steering, max_speed, i)
        vx, vy = within_limits_(
            np.float64(rails.velocity[i, 0]), np.float64(rails.velocity[i, 1]), wished_x, wished_y,
            np.float64(acceleration[i]), np.float64(turn_rate[i]), dt,
        )  # fmt: skip
        if dt <= 0.0:
            pause_(
                rails, i, x, y, np.float64(rails.velocity[i, 0]), np.float64(rails.velocity[i, 1])
            )
            continue
        reach = min(np.float64(radius[i]), most_reach)
        new_x, new_y, met = slide_(ground, x, y, vx * dt, vy * dt, reach, planes)
        if met:
            vx = (new_x - x) / dt
            vy = (new_y - y) / dt
        pause_(rails, i, new_x, new_y, vx, vy)
    return 0


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
        self._due = np.empty(0, np.int32)

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
        movers = self._movers
        columns = movers.columns
        if len(self._due) != len(columns.state):
            self._due = np.empty(len(columns.state), np.int32)
        due = self._due
        rails: tuple[Any, ...] = (
            columns.position,
            columns.velocity,
            columns.target,
            columns.time_left,
        )
        course: tuple[Any, ...] = (
            columns.state,
            columns.events,
            columns.max_speed,
            columns.arrival_radius,
            columns.path_next,
            columns.path_end,
            movers.routes.pool,
        )
        limits: tuple[Any, ...] = (
            columns.acceleration,
            columns.turn_rate,
            columns.braking,
            columns.exit_speed,
            columns.path_begin,
        )
        grounds = movers.grounds()
        fields = movers.fields()
        stopped = movers.take_flagged()
        steered = movers.some_are_steered
        walking: tuple[Any, ...] = (*rails, *course, columns.is_limited, due, dt)
        driving: tuple[Any, ...] = (*rails, *course, *limits)

        def call(first: int, last: int) -> int:
            whole = (*walking, first, last)
            flagged, left = walk_(*whole)
            if left:
                for which, ground in enumerate(grounds):
                    whole = (*driving, *ground, columns.movement, which, due, first, left)
                    flagged += drive_(*whole)
                for which, ground in enumerate(grounds if steered else []):
                    steer_(
                        ground, which, wall_reach_of(movers.movements[which]), Rails(*rails),
                        columns.state, columns.movement, columns.steering, columns.radius,
                        columns.max_speed, columns.acceleration, columns.turn_rate, due, first,
                        left, np.empty((MOST_WALLS, PLANE)),
                    )  # fmt: skip
                for which, followed in fields.items():
                    whole = (
                        *driving, columns.is_limited, *followed.arrays, followed.ground.space,
                        followed.ground.open_table, columns.flow_field, which, due, first, left,
                    )  # fmt: skip
                    flagged += follow_field_(*whole)
            return flagged

        return stopped + self._workers.run(call, movers.slots)


def _warm_up() -> None:
    movers = Movers(Grid.filled(2, 1))
    units = movers.add([(0, 0), (0, 0)], radius=0.4, max_speed=1.0, turn_rate=[np.inf, 1.0])
    movers.set_paths(units, [(1.0, 0.0), (1.0, 0.0)], [0, 1, 2])
    followers = movers.add([(0, 0)], radius=0.4, max_speed=1.0)
    movers.set_field(followers, FlowField(movers.grid, [(1, 0)]))
    movers.steer(movers.add([(0, 0)], radius=0.4, max_speed=1.0), (1.0, 0.0))
    Walking(movers, Workers(1)).run(0.1)


register_warm_up("walking", _warm_up)
