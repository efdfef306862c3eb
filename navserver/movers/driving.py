"""Walking with limits: speed that rises and falls by so much a second, turns that take time.

`acceleration` bounds how fast a mover's speed changes, `turn_rate` how fast the direction of its
velocity turns. A mover with a turn rate cannot keep to its path at a corner, and a fixed speed
would let it circle around a waypoint for ever. So it turns as fast as it can and is only as fast
as lets it

- meet the waypoint on the arc that it can drive: a point at distance d, seen at the angle a from
  the direction of motion, lies on a circle of radius d / (2 sin a), which takes a speed of at most
  turn_rate * d / (2 sin a);
- swing out by no more than `SWING` while it turns by a: turn_rate * SWING / (1 - cos a).

It brakes early enough for the next corners and for the goal (`exit_speed_`). A wall beats all
limits: who would drive into one stops before it, and sets off anew from there. One that stands
sets off in any direction.

Source of the arc: Coulter, "Implementation of the Pure Pursuit Path Tracking Algorithm" (1992).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver._jit import inlined, kernel, prefetch, subkernel
from navserver.movers.columns import EventFlag, MoverState
from navserver.movers.rails import Course, Rails, arrive_, go_, pause_, rest_
from navserver.movers.sight import Ground, farthest_in_sight_, is_free_, walkable_

__all__ = ["SWING", "drive_", "within_limits_"]

SWING = 0.25
"""How far, in cells, a mover may swing out of its path, and how near it has to pass a waypoint."""

# Nearer to its goal than this a mover is there: braking in steps comes ever nearer.
REACHED = 1e-4

# A direction this near to that of a waypoint is the same: cosine of the angle, which float32
# directions tell to a thousandth of a degree.
ON_COURSE = 1.0 - 1e-10

# This share of its greatest speed is a mover's full speed, which float32 makes of it.
FULL = 1.0 - 1e-6

# Below it the series of `small_rotation_` are as exact as float64.
SMALL_ANGLE = 0.25

PATH, WAITING = int(MoverState.PATH), int(MoverState.WAITING)
REPATH_WANTED = int(EventFlag.REPATH_WANTED)


class Limits(NamedTuple):
    """The columns of movers that say what they cannot do."""

    acceleration: NDArray[np.float32]
    turn_rate: NDArray[np.float32]
    braking: NDArray[np.float32]
    exit_speed: NDArray[np.float32]
    path_begin: NDArray[np.int32]


@inlined
def turning_speed_(turn_rate: float, cosine: float, distance: float, most: float) -> float:
    """Return how fast one may be, at most so fast, who has yet to turn to a point so far away."""
    if most * (1.0 - cosine) > turn_rate * SWING:
        most = turn_rate * SWING / (1.0 - cosine)
    square = 1.0 - cosine * cosine if cosine > 0.0 else 1.0
    reach = 0.5 * turn_rate * distance
    if most * most * square > reach * reach:
        most = reach / math.sqrt(square)
    return most


@subkernel
def exit_speed_(
    pool: NDArray[np.float32],
    k: int,
    end: int,
    x: float,
    y: float,
    braking: float,
    turn_rate: float,
    best: float,
    arrival_radius: float,
) -> float:
    """Return how fast, at most `best`, one who comes from (x, y) may pass waypoint `k`.

    Invariant: `best` allows for the corners before waypoint `j`, `covered` is the way from `k` to
    `j`, and (x, y) the point before `j`.
    """
    covered = 0.0
    for j in range(k, end):
        corner = 0.0
        length = 0.0
        if j < end - 1:
            dx = float(pool[j, 0]) - x
            dy = float(pool[j, 1]) - y
            next_dx = float(pool[j + 1, 0]) - float(pool[j, 0])
            next_dy = float(pool[j + 1, 1]) - float(pool[j, 1])
            length = math.sqrt(next_dx * next_dx + next_dy * next_dy)
            both = math.sqrt(dx * dx + dy * dy) * length
            corner = best
            if both > 0.0:
                cosine = (dx * next_dx + dy * next_dy) / both
                corner = turning_speed_(turn_rate, cosine, length, best)
        elif braking < np.inf and j > k:
            covered = max(covered - arrival_radius, 0.0)
        if braking == np.inf:
            return min(best, corner) if j < end - 1 else best
        best = min(best, math.sqrt(corner * corner + 2.0 * braking * covered))
        covered += length
        if 2.0 * braking * covered >= best * best:
            break
        x = float(pool[j, 0])
        y = float(pool[j, 1])
    return best


@inlined
def braked_speed_(
    distance: float, exit_speed: float, braking: float, seconds: float, most: float
) -> float:
    """Return how fast one may go for some seconds, at most so fast, to pass a point as wanted."""
    if braking == np.inf:
        return most
    lost = braking * seconds
    square = exit_speed * exit_speed + 2.0 * braking * distance
    if square >= most * (most + 2.0 * lost):
        return most
    return math.sqrt(lost * lost + square) - lost


@subkernel
def restart_(
    rails: Rails, course: Course, limits: Limits, ground: Ground, i: int, x: float, y: float
) -> int:
    """Stop one who cannot go on, to set off to a waypoint in sight; return whether none is.

    It will stop there once more, and then be on its path again: else it could swing into the same
    wall for ever.
    """
    limits.exit_speed[i] = 0.0
    k = farthest_in_sight_(
        ground, course.pool, int(limits.path_begin[i]), int(course.next[i]),
        int(course.end[i]) - 1, x, y,
    )  # fmt: skip
    if k < 0:
        rest_(rails, i, x, y)
        course.state[i] = WAITING
        course.events[i] |= REPATH_WANTED
        return 1
    course.next[i] = k
    pause_(rails, i, x, y, 0.0, 0.0)
    return 0


@inlined
def small_rotation_(angle: float) -> tuple[float, float]:
    """Return the cosine and sine of a small angle: their series, a third of the time."""
    square = angle * angle
    cosine = 1.0 - square * (1 / 2 - square * (1 / 24 - square * (1 / 720 - square / 40320)))
    sine = 1.0 - square * (1 / 6 - square * (1 / 120 - square * (1 / 5040 - square / 362880)))
    return cosine, sine * angle


@inlined
def turned_(hx: float, hy: float, to_x: float, to_y: float, angle: float) -> tuple[float, float]:
    """Return a direction turned towards another by at most an angle."""
    cosine = hx * to_x + hy * to_y
    sine = hx * to_y - hy * to_x
    if angle >= math.pi or cosine >= ON_COURSE:
        return to_x, to_y
    if angle < SMALL_ANGLE:
        most, turn = small_rotation_(angle)
    else:
        most = math.cos(angle)
        turn = math.sin(angle)
    if cosine >= most:
        return to_x, to_y
    if sine < 0.0:
        turn = -turn
    return hx * most - hy * turn, hy * most + hx * turn


@subkernel
def within_limits_(
    now_x: float,
    now_y: float,
    vx: float,
    vy: float,
    acceleration: float,
    turn_rate: float,
    dt: float,
) -> tuple[float, float]:
    """Return the velocity that is nearest to a wanted one within what can be done in a step."""
    wanted = math.sqrt(vx * vx + vy * vy)
    speed = math.sqrt(now_x * now_x + now_y * now_y)
    if wanted > 0.0 and speed > 0.0 and dt > 0.0:
        # Which way it goes is turned first, and then how fast.
        hx, hy = turned_(now_x / speed, now_y / speed, vx / wanted, vy / wanted, turn_rate * dt)
        wanted *= max(hx * vx + hy * vy, 0.0) / wanted
        change = acceleration * dt
        wanted = min(max(wanted, speed - change), speed + change)
        return hx * wanted, hy * wanted
    if wanted > 0.0 and dt > 0.0:
        share = min(acceleration * dt / wanted, 1.0)
        return vx * share, vy * share
    return vx, vy


@inlined
def steps_freely_(ground: Ground, x0: float, y0: float, x1: float, y1: float) -> bool:
    """Return whether one in an open cell may step straight to a point."""
    if math.floor(x0 + 0.5) == math.floor(x1 + 0.5) and math.floor(y0 + 0.5) == math.floor(
        y1 + 0.5
    ):
        return True
    return walkable_(ground, x0, y0, x1, y1)


@inlined
def speed_of_(
    course: Course,
    limits: Limits,
    i: int,
    cosine: float,
    distance: float,
    ahead: float,
    seconds: float,
) -> float:
    """Return how fast a mover would go for some seconds, that many cells before its waypoint.

    `ahead` of them it has to go, `cosine` says how far it has yet to turn.
    """
    wanted = braked_speed_(
        ahead, float(limits.exit_speed[i]), float(limits.braking[i]), seconds,
        float(course.max_speed[i]),
    )  # fmt: skip
    if cosine < 1.0:
        wanted = turning_speed_(float(limits.turn_rate[i]), cosine, distance, wanted)
        if wanted * seconds > distance:
            wanted = distance / seconds
    return wanted


@inlined
def cruise_(
    rails: Rails,
    course: Course,
    limits: Limits,
    ground: Ground,
    i: int,
    x: float,
    y: float,
    hx: float,
    hy: float,
    speed: float,
    ahead: float,
) -> int:
    """Put one at full speed and on course on rails, up to where it has to brake or turn."""
    braking = float(limits.braking[i])
    exit_speed = float(limits.exit_speed[i])
    if braking < np.inf:
        ahead -= max(speed * speed - exit_speed * exit_speed, 0.0) / (2.0 * braking)
    if ahead <= 0.0:
        pause_(rails, i, x, y, hx * speed, hy * speed)
        return 0
    to_x = float(np.float32(x + hx * ahead))
    to_y = float(np.float32(y + hy * ahead))
    # One that turns has left the path, which alone is known to be free.
    if limits.turn_rate[i] < np.inf and not is_free_(ground, x, y, to_x, to_y):
        return restart_(rails, course, limits, ground, i, x, y)
    go_(rails, i, x, y, to_x, to_y, hx * speed, hy * speed, ahead / speed, 0.0)
    return 0


@inlined
def drive_on_(
    rails: Rails, course: Course, limits: Limits, ground: Ground, i: int, spare: float
) -> int:
    """Spend the seconds that are left beyond the target; return whether there is an event.

    Invariant: the mover is at (x, y), goes (hx, hy) at `speed`, and has `spare` seconds to go.
    """
    x = float(rails.target[i, 0])
    y = float(rails.target[i, 1])
    hx = float(rails.velocity[i, 0])
    hy = float(rails.velocity[i, 1])
    speed = math.sqrt(hx * hx + hy * hy)
    if speed > 0.0:
        hx *= 1.0 / speed
        hy *= 1.0 / speed
    # What the whole step allows, however many waypoints it passes.
    slowest = speed - limits.acceleration[i] * spare if spare > 0.0 else speed
    fastest = speed + limits.acceleration[i] * spare if spare > 0.0 else speed
    turn_rate = float(limits.turn_rate[i])
    angle = turn_rate * spare if spare > 0.0 else 0.0
    last = int(course.end[i]) - 1
    while True:
        k = int(course.next[i])
        to_x = float(course.pool[k, 0])
        to_y = float(course.pool[k, 1])
        distance = math.sqrt((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y))
        ahead = distance
        if k == last:
            ahead = max(distance - course.arrival_radius[i], 0.0)
            if ahead <= REACHED:
                if course.arrival_radius[i] == 0.0:
                    x = float(course.pool[k, 0])
                    y = float(course.pool[k, 1])
                arrive_(rails, course, i, x, y)
                return 1
        elif distance == 0.0 or (limits.exit_speed[i] == 0.0 and distance <= REACHED):
            if limits.exit_speed[i] == 0.0:
                speed = slowest = 0.0
            x = float(course.pool[k, 0])
            y = float(course.pool[k, 1])
            course.next[i] = k + 1
            limits.exit_speed[i] = -1.0
            continue
        if spare <= 0.0:
            pause_(rails, i, x, y, hx * speed, hy * speed)
            return 0
        to_x = (to_x - x) * (1.0 / distance)
        to_y = (to_y - y) * (1.0 / distance)
        if limits.exit_speed[i] < 0.0:
            limits.exit_speed[i] = exit_speed_(
                course.pool, k, last + 1, x, y, float(limits.braking[i]), turn_rate,
                float(course.max_speed[i]), float(course.arrival_radius[i]),
            )  # fmt: skip
        if speed > 0.0:
            before = hx * to_x + hy * to_y
            hx, hy = turned_(hx, hy, to_x, to_y, angle)
            if before < ON_COURSE and turn_rate < np.inf:
                angle = 0.0
        else:
            hx, hy = to_x, to_y
        is_on_course = hx == to_x and hy == to_y
        cosine = 1.0 if is_on_course else min(hx * to_x + hy * to_y, 1.0 - 1e-9)
        speed = speed_of_(course, limits, i, cosine, distance, ahead, spare)
        speed = min(max(speed, slowest), fastest)
        length = speed * spare
        if is_on_course and length >= ahead and speed > 0.0:
            spare -= ahead / speed
            length = ahead
        else:
            spare = 0.0
        new_x = float(np.float32(x + hx * length))
        new_y = float(np.float32(y + hy * length))
        if turn_rate < np.inf and not steps_freely_(ground, x, y, new_x, new_y):
            return restart_(rails, course, limits, ground, i, x, y)
        if is_on_course and length == distance:
            x = float(course.pool[k, 0])
            y = float(course.pool[k, 1])
            continue
        x = new_x
        y = new_y
        if spare > 0.0:
            continue
        if is_on_course:
            if speed >= course.max_speed[i] * FULL and speed > 0.0:
                return cruise_(
                    rails, course, limits, ground, i, x, y, hx, hy, speed, ahead - length
                )
        elif k < last and distance - length <= SWING and limits.exit_speed[i] > 0.0:
            next_x = float(course.pool[k + 1, 0])
            next_y = float(course.pool[k + 1, 1])
            to_x = float(course.pool[k, 0]) - x
            to_y = float(course.pool[k, 1]) - y
            if to_x * to_x + to_y * to_y <= SWING * SWING and is_free_(
                ground, x, y, next_x, next_y
            ):
                course.next[i] = k + 1
                limits.exit_speed[i] = -1.0
        pause_(rails, i, x, y, hx * speed, hy * speed)
        return 0


@inlined
def turn_on_(rails: Rails, course: Course, limits: Limits, i: int, spare: float) -> bool:
    """Take a step of one at full speed that has yet to turn to a waypoint far ahead.

    Return False, having changed nothing, if anything else is the matter: then `drive_on_` knows
    what to do. Most movers that are not on rails are in such a turn, and what there is to reckon
    has no branch that could be foretold wrong.
    """
    k = int(course.next[i])
    x = float(rails.target[i, 0])
    y = float(rails.target[i, 1])
    vx = float(rails.velocity[i, 0])
    vy = float(rails.velocity[i, 1])
    dx = float(course.pool[k, 0]) - x
    dy = float(course.pool[k, 1]) - y
    top = float(course.max_speed[i])
    exit_speed = float(limits.exit_speed[i])
    turn_rate = float(limits.turn_rate[i])
    square = vx * vx + vy * vy
    distance = math.sqrt(dx * dx + dy * dy)
    angle = turn_rate * spare
    if not (
        (spare > 0.0)
        & (angle < SMALL_ANGLE)
        & (exit_speed >= 0.0)
        & (k < int(course.end[i]) - 1)
        & (square >= (top * FULL) ** 2)
        & (top * spare < distance - SWING)
    ):
        return False
    per_speed = 1.0 / math.sqrt(square)
    per_distance = 1.0 / distance
    hx = vx * per_speed
    hy = vy * per_speed
    dx *= per_distance
    dy *= per_distance
    most, turn = small_rotation_(angle)
    before = hx * dx + hy * dy
    turn = math.copysign(turn, hx * dy - hy * dx)
    to_x = hx * most - hy * turn
    to_y = hy * most + hx * turn
    cosine = to_x * dx + to_y * dy
    lost = float(limits.braking[i]) * spare
    braked = exit_speed * exit_speed + 2.0 * float(limits.braking[i]) * distance
    reach = 0.5 * turn_rate * distance
    new_x = float(np.float32(x + to_x * top * spare))
    new_y = float(np.float32(y + to_y * top * spare))
    if not (
        (before < most)
        & (cosine > 0.0)
        & (top * (1.0 - cosine) <= turn_rate * SWING)
        & (top * top * (1.0 - cosine * cosine) <= reach * reach)
        & ((braked >= top * (top + 2.0 * lost)) | (lost == np.inf))
        & (math.floor(x + 0.5) == math.floor(new_x + 0.5))
        & (math.floor(y + 0.5) == math.floor(new_y + 0.5))
    ):
        return False
    pause_(rails, i, new_x, new_y, to_x * top, to_y * top)
    return True


@inlined
def fetch_(rails: Rails, course: Course, limits: Limits, soon: int, later: int) -> None:
    """Ask for what is known of a mover whose turn comes soon, and where the way of a later one is.

    Which waypoints are wanted is known only once `next` is there, so that is asked for first.
    """
    prefetch(course.next, later)
    waypoint = 2 * course.next[soon]
    prefetch(course.pool, waypoint)
    prefetch(course.pool, waypoint + 4)
    prefetch(rails.target, 2 * soon)
    prefetch(rails.velocity, 2 * soon)
    prefetch(rails.position, 2 * soon)
    prefetch(rails.time_left, soon)
    prefetch(course.max_speed, soon)
    prefetch(course.end, soon)
    prefetch(limits.turn_rate, soon)
    prefetch(limits.braking, soon)
    prefetch(limits.exit_speed, soon)


@kernel
def drive_(
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
    acceleration: NDArray[np.float32],
    turn_rate: NDArray[np.float32],
    braking: NDArray[np.float32],
    exit_speed: NDArray[np.float32],
    path_begin: NDArray[np.int32],
    masks: NDArray[np.uint8],
    space: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    width: int,
    height: int,
    origin_x: int,
    origin_y: int,
    movement: NDArray[np.uint8],
    which: int,
    due: NDArray[np.int32],
    first: int,
    count: int,
) -> int:
    """Move those of the listed rows that walk with limits; return how many have an event.

    Only rows of one movement, whose ground it is. A row is in the list once.
    """
    rails = Rails(position, velocity, target, time_left)
    course = Course(state, events, max_speed, arrival_radius, path_next, path_end, pool)
    limits = Limits(acceleration, turn_rate, braking, exit_speed, path_begin)
    ground = Ground(masks, space, open_table, width, height, origin_x, origin_y)
    flagged = 0
    last = first + count - 1
    for entry in range(first, first + count):
        fetch_(rails, course, limits, due[min(entry + 8, last)], due[min(entry + 16, last)])
        # Without a sign: else each read would ask whether to count from the array's end.
        i = np.uint64(due[entry])
        if state[i] == PATH and movement[i] == which:
            spare = -float(time_left[i])
            if not turn_on_(rails, course, limits, i, spare):
                flagged += drive_on_(rails, course, limits, ground, i, spare)
    return flagged
