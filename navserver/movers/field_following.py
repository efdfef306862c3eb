"""Following a flow field: from cell to cell the way that the field tells, on rails.

Within a cell a field leads straight to one point, the centre of the next cell or a goal in sight,
so a follower is on a rail up to the border of its cell, where it asks again. In a goal's cell it
walks to the centre and has arrived. Followers with limits are driven step by step as on a path (see
`driving`), and brake for a goal that they see.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from navserver._jit import inlined, kernel, subkernel
from navserver.movers.columns import EventFlag, MoverState
from navserver.movers.driving import (
    REACHED,
    Limits,
    braked_speed_,
    steps_freely_,
    turned_,
    turning_speed_,
)
from navserver.movers.rails import Course, Rails, arrive_, go_, pause_, rest_
from navserver.movers.sight import Ground, walkable_
from navserver.search.fields import NO_DIRECTION
from navserver.search.flow_field import FieldArrays, way_at_
from navserver.search.moves import DX, DY

__all__ = ["follow_field_", "prefer_field_"]

# How far beyond the border of its cell a rail ends, in cells: more than float32 rounds off at the
# edge of the largest map, so that the mover is in the next one then.
BEYOND = 2e-3

# Cells that one mover may pass within a step; what time is left then is lost.
MOST_CELLS = 1 << 14

FIELD, WAITING, IDLE = int(MoverState.FIELD), int(MoverState.WAITING), int(MoverState.IDLE)
REPATH_WANTED, ARRIVED = int(EventFlag.REPATH_WANTED), int(EventFlag.ARRIVED)


@inlined
def to_border_(x: float, y: float, hx: float, hy: float) -> float:
    """Return how far it is to the border of the cell of a point, along a unit vector."""
    way_x = np.inf
    if hx > 0.0:
        way_x = (math.floor(x + 0.5) + 0.5 - x) / hx
    elif hx < 0.0:
        way_x = (math.floor(x + 0.5) - 0.5 - x) / hx
    way_y = np.inf
    if hy > 0.0:
        way_y = (math.floor(y + 0.5) + 0.5 - y) / hy
    elif hy < 0.0:
        way_y = (math.floor(y + 0.5) - 0.5 - y) / hy
    return min(way_x, way_y)


@subkernel
def is_goal_(field: FieldArrays, x: float, y: float) -> bool:
    """Return whether a point is in the cell of one of the field's goals."""
    column = math.floor(x + 0.5) - field.origin_x
    row = math.floor(y + 0.5) - field.origin_y
    if not (0 <= column < field.width and 0 <= row < field.height):
        return False
    cell = row * field.width + column
    return bool(field.directions[cell] == NO_DIRECTION and field.costs[cell] < np.inf)


@subkernel
def step_at_(field: FieldArrays, x: float, y: float) -> tuple[int, int]:
    """Return the step from the cell of a point of the map that has one."""
    column = math.floor(x + 0.5) - field.origin_x
    row = math.floor(y + 0.5) - field.origin_y
    direction = field.directions[row * field.width + column]
    return DX[direction], DY[direction]


@subkernel
def detour_(field: FieldArrays, x: float, y: float) -> tuple[float, float]:
    """Return what to walk to where rounding would carry the straight way into a wall.

    A diagonal step beside a wall goes through the corner itself: up to it, and then across it in
    one go. Else the way is that from centre to centre.
    """
    step_x, step_y = step_at_(field, x, y)
    centre_x = float(math.floor(x + 0.5))
    centre_y = float(math.floor(y + 0.5))
    if step_x != 0 and step_y != 0:
        corner_x = centre_x + 0.5 * step_x
        corner_y = centre_y + 0.5 * step_y
        is_there = max(abs(x - corner_x), abs(y - corner_y)) <= 2.0 * BEYOND
        beyond = BEYOND if is_there else -BEYOND
        centre_x = corner_x + beyond * step_x
        centre_y = corner_y + beyond * step_y
    elif x == centre_x and y == centre_y:
        centre_x += step_x
        centre_y += step_y
    return float(np.float32(centre_x)), float(np.float32(centre_y))


@subkernel
def aim_(field: FieldArrays, x: float, y: float) -> tuple[float, float, bool, bool]:
    """Return the vector to what one walks to, whether that is a goal, and whether there is none."""
    if is_goal_(field, x, y):
        return math.floor(x + 0.5) - x, math.floor(y + 0.5) - y, True, False
    vx, vy, sees_goal = way_at_(field, x, y)
    return vx, vy, sees_goal, vx == 0.0 and vy == 0.0


@subkernel
def lose_way_(rails: Rails, course: Course, i: int, x: float, y: float) -> int:
    """Let one stand for whom the field knows no way."""
    rest_(rails, i, x, y)
    course.state[i] = WAITING
    course.events[i] |= REPATH_WANTED
    return 1


@subkernel
def follow_on_(
    rails: Rails,
    course: Course,
    field: FieldArrays,
    ground: Ground,
    i: int,
    x: float,
    y: float,
    speed: float,
    spare: float,
    stays: bool,
) -> int:
    """Go exactly where the field leads for so many seconds; return whether there is an event.

    Invariant: the mover is at (x, y), in an open cell. With `stays` no rail is laid beyond the
    seconds, since its speed will be another one then.
    """
    for _ in range(MOST_CELLS):
        vx, vy, sees_goal, is_lost = aim_(field, x, y)
        if is_lost:
            return lose_way_(rails, course, i, x, y)
        length = math.sqrt(vx * vx + vy * vy)
        if sees_goal and length <= max(float(course.arrival_radius[i]), REACHED):
            arrive_(rails, course, i, x, y)
            return 1
        hx = vx / length
        hy = vy / length
        if not sees_goal or not is_goal_(field, x, y):
            length = min(to_border_(x, y, hx, hy) + BEYOND, length + (0.0 if sees_goal else BEYOND))
        to_x = float(np.float32(x + hx * length))
        to_y = float(np.float32(y + hy * length))
        if not walkable_(ground, x, y, to_x, to_y):
            to_x, to_y = detour_(field, x, y)
        length = math.sqrt((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y))
        if length == 0.0:
            return lose_way_(rails, course, i, x, y)
        seconds = length / speed
        vx = (to_x - x) / seconds
        vy = (to_y - y) / seconds
        if stays and seconds >= spare:
            pause_(rails, i, x + vx * spare, y + vy * spare, vx, vy)
            return 0
        if seconds > spare:
            go_(rails, i, x, y, to_x, to_y, vx, vy, seconds, spare)
            return 0
        spare -= seconds
        x = to_x
        y = to_y
    pause_(rails, i, x, y, 0.0, 0.0)
    return 0


@subkernel
def drive_field_(
    rails: Rails,
    course: Course,
    limits: Limits,
    field: FieldArrays,
    ground: Ground,
    i: int,
    spare: float,
) -> int:
    """Spend the seconds that are left beyond the target; return whether there is an event."""
    x = float(rails.target[i, 0])
    y = float(rails.target[i, 1])
    hx = float(rails.velocity[i, 0])
    hy = float(rails.velocity[i, 1])
    speed = math.sqrt(hx * hx + hy * hy)
    vx, vy, sees_goal, is_lost = aim_(field, x, y)
    if is_lost:
        return lose_way_(rails, course, i, x, y)
    distance = math.sqrt(vx * vx + vy * vy)
    ahead = distance - course.arrival_radius[i] if sees_goal else np.inf
    if ahead <= REACHED:
        arrive_(rails, course, i, x, y)
        return 1
    if spare <= 0.0:
        pause_(rails, i, x, y, hx, hy)
        return 0
    vx /= distance
    vy /= distance
    change = limits.acceleration[i] * spare
    cosine = 1.0
    if speed > 0.0:
        hx, hy = turned_(hx / speed, hy / speed, vx, vy, limits.turn_rate[i] * spare)
        cosine = hx * vx + hy * vy
    else:
        hx = vx
        hy = vy
    wanted = float(course.max_speed[i])
    if sees_goal:
        wanted = braked_speed_(ahead, 0.0, float(limits.braking[i]), spare, wanted)
    is_on_course = hx == vx and hy == vy
    if not is_on_course:
        wanted = turning_speed_(float(limits.turn_rate[i]), cosine, distance, wanted)
    speed = min(max(wanted, speed - change), speed + change)
    if speed <= 0.0:
        pause_(rails, i, x, y, 0.0, 0.0)
        return 0
    if is_on_course:
        return follow_on_(rails, course, field, ground, i, x, y, speed, spare, True)
    new_x = float(np.float32(x + hx * speed * spare))
    new_y = float(np.float32(y + hy * speed * spare))
    if steps_freely_(ground, x, y, new_x, new_y):
        pause_(rails, i, new_x, new_y, hx * speed, hy * speed)
    else:
        pause_(rails, i, x, y, 0.0, 0.0)
    return 0


@kernel
def follow_field_(
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
    is_limited: NDArray[np.uint8],
    costs: NDArray[np.float32],
    directions: NDArray[np.uint8],
    sight: NDArray[np.uint16],
    masks: NDArray[np.uint8],
    width: int,
    height: int,
    origin_x: int,
    origin_y: int,
    space: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    flow_field: NDArray[np.int32],
    which: int,
    due: NDArray[np.int32],
    first: int,
    count: int,
) -> int:
    """Move those of the listed rows that follow one field; return how many have an event."""
    rails = Rails(position, velocity, target, time_left)
    course = Course(state, events, max_speed, arrival_radius, path_next, path_end, pool)
    limits = Limits(acceleration, turn_rate, braking, exit_speed, path_begin)
    field = FieldArrays(costs, directions, sight, masks, width, height, origin_x, origin_y)
    ground = Ground(masks, space, open_table, width, height, origin_x, origin_y)
    flagged = 0
    for entry in range(first, first + count):
        i = int(due[entry])
        if state[i] != FIELD or flow_field[i] != which:
            continue
        spare = -float(time_left[i])
        if is_limited[i]:
            flagged += drive_field_(rails, course, limits, field, ground, i, spare)
        elif max_speed[i] > 0.0:
            x = float(target[i, 0])
            y = float(target[i, 1])
            speed = float(max_speed[i])
            flagged += follow_on_(rails, course, field, ground, i, x, y, speed, spare, False)
        else:
            rest_(rails, i, target[i, 0], target[i, 1])
    return flagged


@kernel
def prefer_field_(
    position: NDArray[np.float32],
    preferred: NDArray[np.float32],
    state: NDArray[np.uint8],
    events: NDArray[np.uint8],
    max_speed: NDArray[np.float32],
    braking: NDArray[np.float32],
    arrival_radius: NDArray[np.float32],
    near: float,
    costs: NDArray[np.float32],
    directions: NDArray[np.uint8],
    sight: NDArray[np.uint16],
    masks: NDArray[np.uint8],
    width: int,
    height: int,
    origin_x: int,
    origin_y: int,
    flow_field: NDArray[np.int32],
    which: int,
    dt: float,
    first: int,
    last: int,
) -> int:
    """Write what avoiding followers of one field would do alone; return how many have an event."""
    field = FieldArrays(costs, directions, sight, masks, width, height, origin_x, origin_y)
    flagged = 0
    for i in range(first, last):
        if state[i] != FIELD or flow_field[i] != which:
            continue
        x = float(position[i, 0])
        y = float(position[i, 1])
        vx, vy, sees_goal, is_lost = aim_(field, x, y)
        distance = math.sqrt(vx * vx + vy * vy)
        ahead = distance - arrival_radius[i] if sees_goal else np.inf
        speed = float(max_speed[i])
        if is_lost or ahead <= near:
            state[i] = WAITING if is_lost else IDLE
            events[i] |= REPATH_WANTED if is_lost else ARRIVED
            flagged += 1
            speed = 0.0
        elif sees_goal:
            speed = braked_speed_(ahead, 0.0, float(braking[i]), dt, speed)
            if speed * dt > ahead:
                speed = ahead / dt
        share = speed / distance if distance > 0.0 else 0.0
        preferred[i, 0] = vx * share
        preferred[i, 1] = vy * share
    return flagged
