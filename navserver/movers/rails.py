"""Rails: how movers that avoid nobody are moved, a nanosecond each.

A mover on rails keeps its velocity for `time_left` seconds more, and then it is at `target`. So at
any time before::

    position == target - velocity * time_left

and a step only has to count the time down. Rounding does not add up, a slow body moves however
far from the origin it is, and the loop has no branch a mover. Where the time is used up within the
step, what is left of the step is spent beyond the target, see `following`, `driving` and
`field_following`. Movers that rest are on a rail that never ends.

Whoever changes a mover's position or speed from outside calls `Movers.leave_rails`: its target is
then where it is, and no time is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver._jit import inlined
from navserver.movers.columns import REST, EventFlag, MoverState

__all__ = ["Course", "Rails", "arrive_", "glide_", "go_", "pause_", "rest_"]

IDLE = int(MoverState.IDLE)
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
def glide_(rails: Rails, first: int, last: int, dt: np.float32) -> None:
    """Count the time of movers down and place them; where none is left, beyond the target.

    Over flat slices, which LLVM knows to vectorise.
    """
    position = rails.position.reshape(-1)[2 * first : 2 * last]
    velocity = rails.velocity.reshape(-1)[2 * first : 2 * last]
    target = rails.target.reshape(-1)[2 * first : 2 * last]
    clock = rails.time_left[first:last]
    for i in range(clock.shape[0]):
        time_left = clock[i] - dt
        clock[i] = time_left
        x = target[2 * i] - velocity[2 * i] * time_left
        y = target[2 * i + 1] - velocity[2 * i + 1] * time_left
        position[2 * i] = x
        position[2 * i + 1] = y


@inlined
def go_(
    rails: Rails,
    i: int,
    x: float,
    y: float,
    to_x: float,
    to_y: float,
    vx: float,
    vy: float,
    seconds: float,
    spare: float,
) -> None:
    """Send a mover from a point to another within so many seconds, `spare` of which are over."""
    rails.velocity[i, 0] = vx
    rails.velocity[i, 1] = vy
    rails.target[i, 0] = to_x
    rails.target[i, 1] = to_y
    rails.time_left[i] = min(seconds - spare, REST)
    rails.position[i, 0] = x + vx * spare
    rails.position[i, 1] = y + vy * spare


@inlined
def pause_(rails: Rails, i: int, x: float, y: float, vx: float, vy: float) -> None:
    """Leave a mover at a point with a velocity that the next step will change."""
    rails.velocity[i, 0] = vx
    rails.velocity[i, 1] = vy
    rails.position[i, 0] = rails.target[i, 0] = x
    rails.position[i, 1] = rails.target[i, 1] = y
    rails.time_left[i] = 0.0


@inlined
def rest_(rails: Rails, i: int, x: float, y: float) -> None:
    """Let a mover stand at a point."""
    rails.position[i, 0] = rails.target[i, 0] = x
    rails.position[i, 1] = rails.target[i, 1] = y
    rails.velocity[i, 0] = 0.0
    rails.velocity[i, 1] = 0.0
    rails.time_left[i] = REST


@inlined
def arrive_(rails: Rails, course: Course, i: int, x: float, y: float) -> None:
    """Let a mover end at a point, and tell."""
    course.state[i] = IDLE
    course.next[i] = course.end[i]
    course.events[i] |= ARRIVED
    rest_(rails, i, x, y)
