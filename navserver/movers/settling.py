"""Crowds that come to rest, and movers that notice that they are stuck.

A mover that makes no headway near its place looks at who is in its way. If both would be nearer to
their places with each other's, they exchange them: the sum of their squared distances falls, so
it cannot go on for ever. Where that does not help it settles where it is. Farther away it tells
what holds it up, a wall or a crowd.

Who has arrived rests. Others may push it aside, and it goes back once they have passed, a few times
at most: then its place is where it is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver._jit import kernel, register_warm_up, subkernel
from navserver.movers.columns import STANDING, EventFlag, MoverState, StuckReason
from navserver.movers.movers import Movers
from navserver.movers.orders import Orders
from navserver.movers.proximity import Buckets, BucketSort, line_, run_
from navserver.movers.repath import NO_ANCHOR
from navserver.movers.sight import Ground, walkable_
from navserver.movers.waypoints import disc_free_
from navserver.search.grid import Grid

__all__ = ["Settling", "assess_"]

NEARLY_THERE = 0.4
"""A mover that comes no nearer is there within this part of its radius: there is no more room."""

NEARLY_AFTER = 0.2
"""Seconds without headway after which it is."""

BESIDE_AFTER = 1.0
"""Seconds without headway after which one of a crowd is there as well beside its place."""

BESIDE = 1.0
"""In radii, how near to its place that is."""

BESIDE_AGAIN = 2.0
"""The same for one that has been there before."""

EXCHANGE_AFTER = 0.4
"""Seconds without headway after which a mover looks for somebody to exchange places with."""

YIELD_AFTER = 0.8
"""Seconds without headway after which those at rest in a mover's way let it by."""

YIELD_FOR = 1.0
"""Seconds for which they do."""

YIELDING = -1.0 / 1024.0
"""What letting others by adds to a mover's priority.

Less than nothing: of equals who touch and stand neither would begin to move, since neither sees the
other move. So who walks no longer heeds who lets it by, who steps aside or is pushed.
"""

SETTLE_AFTER = 2.0
"""Seconds without headway after which a mover settles near its place, or is stuck."""

JAM_AFTER = 6.0
"""The same behind others that walk: they may yet make way."""

HEADWAY = 0.1
"""Coming nearer by less, in cells, is no headway."""

NEAR_PLACE = 2.0
"""A mover is near its place within so many times the radius of its group, and some cells."""

DISPLACED = 0.5
"""A mover at rest goes back when it is farther from its place than this part of its radius."""

MOST_RETURNS = 3
"""So often it goes back, or on to a free place nearer to its own."""

# Bodies are in each other's way if their rims are nearer than that, in cells.
_CONTACT = 0.5
# How much nearer the two that exchange places must be, summed in squared cells.
_LEAST_GAIN = 0.02
# Where a mover looks for a free place: in so many directions, so far, in steps of a part of its
# radius; bodies may overlap by a part of the sum of their radii, as they do in a crowd.
_DIRECTIONS = 24
_ROOM_REACH = 3.0
_ROOM_STEP = 0.5
_SQUEEZE = 0.03

IDLE, PATH, WAITING = int(MoverState.IDLE), int(MoverState.PATH), int(MoverState.WAITING)
STEERED = int(MoverState.STEERED)
ARRIVED, CROWD_FULL = int(EventFlag.ARRIVED), int(EventFlag.ARRIVED_CROWD_FULL)

# What a mover is to do.
NOTHING, EXCHANGE, ARRIVE, SETTLE, HELD_BY_WALL, HELD_BY_CROWD, GO_BACK, STAY, GO_NEARER = range(9)


class Headway(NamedTuple):
    """The columns that say whether movers make headway."""

    least: NDArray[np.float32]
    """Least distance to the waypoint so far."""
    left: NDArray[np.int32]
    """Waypoints left then."""
    stalled: NDArray[np.float32]
    returns: NDArray[np.uint8]


class Bodies(NamedTuple):
    """The columns that say who movers are and where they belong."""

    state: NDArray[np.uint8]
    movement: NDArray[np.uint8]
    position: NDArray[np.float32]
    goal: NDArray[np.float32]
    radius: NDArray[np.float32]
    group: NDArray[np.int32]
    anchor: NDArray[np.int32]
    crowd_radius: NDArray[np.float32]
    layers: NDArray[np.uint32]
    mask: NDArray[np.uint32]
    preferred: NDArray[np.float32]
    yields: NDArray[np.float32]


class Standing(NamedTuple):
    """The columns that say who stands, and what was told of it."""

    precedence: NDArray[np.float32]
    yields: NDArray[np.float32]
    announced: NDArray[np.uint8]
    events: NDArray[np.uint8]
    returns: NDArray[np.uint8]


@subkernel
def measure_(
    headway: Headway,
    i: int,
    position: NDArray[np.float32],
    pool: NDArray[np.float32],
    next_: int,
    end: int,
    dt: float,
) -> float:
    """Count the seconds for which one came no nearer to its waypoint; return how far it is."""
    dx = np.float64(pool[next_, 0]) - position[i, 0]
    dy = np.float64(pool[next_, 1]) - position[i, 1]
    distance = math.sqrt(dx * dx + dy * dy)
    if end - next_ != headway.left[i] or distance < headway.least[i] - HEADWAY:
        headway.left[i] = end - next_
        headway.least[i] = distance
        headway.stalled[i] = 0.0
    else:
        headway.stalled[i] += np.float32(dt)
    return distance


@kernel
def stand_(
    state: NDArray[np.uint8],
    standing: Standing,
    dt: float,
    slots: int,
) -> None:
    """Write who stands, and let the events tell of each order's end only once.

    Invariant: who stands outranks who walks; while it lets others by its equals outrank it.
    """
    for i in range(slots):
        if standing.events[i] & ARRIVED:
            if standing.announced[i]:
                standing.events[i] &= ~np.uint8(ARRIVED)
            elif standing.returns[i]:
                # Not at the place that the order gave it.
                standing.events[i] ^= np.uint8(ARRIVED | CROWD_FULL)
            standing.announced[i] = 1
        standing.precedence[i] = 0.0
        if state[i] not in (IDLE, WAITING):
            standing.yields[i] = 0.0
        elif standing.yields[i] > 0.0:
            standing.yields[i] -= np.float32(dt)
            standing.precedence[i] = YIELDING
        else:
            standing.precedence[i] = STANDING


@subkernel
def way_left_(
    position: NDArray[np.float32],
    i: int,
    pool: NDArray[np.float32],
    next_: int,
    end: int,
    limit: float,
) -> float:
    """Return the length of a mover's route, or of a part of it that is longer than a limit."""
    x = np.float64(position[i, 0])
    y = np.float64(position[i, 1])
    length = 0.0
    for k in range(next_, end):
        dx = pool[k, 0] - x
        dy = pool[k, 1] - y
        length += math.sqrt(dx * dx + dy * dy)
        if length > limit:
            break
        x = np.float64(pool[k, 0])
        y = np.float64(pool[k, 1])
    return length


@subkernel
def gain_(bodies: Bodies, i: int, j: int) -> float:
    """Return by how much the sum of squared distances falls if two exchange their goals."""
    dx = np.float64(bodies.position[i, 0]) - bodies.position[j, 0]
    dy = np.float64(bodies.position[i, 1]) - bodies.position[j, 1]
    goal_dx = np.float64(bodies.goal[i, 0]) - bodies.goal[j, 0]
    goal_dy = np.float64(bodies.goal[i, 1]) - bodies.goal[j, 1]
    return -2.0 * (dx * goal_dx + dy * goal_dy)


@subkernel
def may_exchange_(ground: Ground, bodies: Bodies, i: int, j: int) -> bool:
    """Return whether two movers of one goal are alike and see each other's places."""
    return (
        bodies.group[i] == bodies.group[j]
        and bodies.anchor[i] != NO_ANCHOR
        and bodies.anchor[j] != NO_ANCHOR
        and bodies.movement[i] == bodies.movement[j]
        and bodies.radius[i] == bodies.radius[j]
        and bodies.state[j] in (IDLE, PATH)
        and walkable_(
            ground,
            np.float64(bodies.position[i, 0]),
            np.float64(bodies.position[i, 1]),
            np.float64(bodies.goal[j, 0]),
            np.float64(bodies.goal[j, 1]),
        )
        and walkable_(
            ground,
            np.float64(bodies.position[j, 0]),
            np.float64(bodies.position[j, 1]),
            np.float64(bodies.goal[i, 0]),
            np.float64(bodies.goal[i, 1]),
        )
    )


class _Around(NamedTuple):
    """Who is near a mover: the best partner for an exchange, and what else there is."""

    partner: int
    touches: bool
    meets_walker: bool
    follows_walker: bool
    goal_is_taken: bool


@subkernel
def look_around_(
    ground: Ground,
    bodies: Bodies,
    buckets: Buckets,
    order: NDArray[np.int32],
    is_taken: NDArray[np.bool_],
    i: int,
    reach: float,
    wants_partner: bool,
    wants_room: bool,
) -> _Around:
    """Return who is near a mover, and near the goal of one at rest, at most `reach` away."""
    x = np.float64(bodies.position[i, 0])
    y = np.float64(bodies.position[i, 1])
    goal_x = np.float64(bodies.goal[i, 0])
    goal_y = np.float64(bodies.goal[i, 1])
    partner = -1
    best = _LEAST_GAIN
    touches = False
    meets_walker = False
    follows_walker = False
    goal_is_taken = False
    # The goal of one who walks may be far away.
    also_x = goal_x if bodies.state[i] == IDLE else x
    also_y = goal_y if bodies.state[i] == IDLE else y
    top = line_(min(y, also_y) - reach, buckets.top, buckets.per_side, buckets.rows)
    bottom = line_(max(y, also_y) + reach, buckets.top, buckets.per_side, buckets.rows)
    for row in range(top, bottom + 1):
        begin, end = run_(buckets, row, min(x, also_x) - reach, max(x, also_x) + reach)
        for rank in range(begin, end):
            j = np.int64(order[rank])
            if j == i or not (bodies.mask[i] & bodies.layers[j]):
                continue
            sum_of_radii = np.float64(bodies.radius[i]) + bodies.radius[j]
            dx = np.float64(bodies.position[j, 0]) - goal_x
            dy = np.float64(bodies.position[j, 1]) - goal_y
            if bodies.state[j] == IDLE and dx * dx + dy * dy < (0.9 * sum_of_radii) ** 2:
                goal_is_taken = True
            dx = np.float64(bodies.position[j, 0]) - x
            dy = np.float64(bodies.position[j, 1]) - y
            if dx * dx + dy * dy > (sum_of_radii + _CONTACT) ** 2:
                continue
            touches = True
            ahead = bodies.preferred[i, 0] * dx + bodies.preferred[i, 1] * dy
            if wants_room and ahead > 0.0 and bodies.state[j] == IDLE:
                bodies.yields[j] = YIELD_FOR
            if bodies.state[j] in (PATH, STEERED):
                meets_walker = True
                follows_walker = follows_walker or ahead > 0.0
            if wants_partner and not is_taken[j]:
                gain = gain_(bodies, i, j)
                if gain > best and may_exchange_(ground, bodies, i, j):
                    best = gain
                    partner = j
    return _Around(partner, touches, meets_walker, follows_walker, goal_is_taken)


@subkernel
def is_room_(
    bodies: Bodies,
    buckets: Buckets,
    order: NDArray[np.int32],
    i: int,
    x: float,
    y: float,
    widest: float,
) -> bool:
    """Return whether no other body is where a mover would be at a point."""
    reach = bodies.radius[i] + widest
    top = line_(y - reach, buckets.top, buckets.per_side, buckets.rows)
    bottom = line_(y + reach, buckets.top, buckets.per_side, buckets.rows)
    for row in range(top, bottom + 1):
        begin, end = run_(buckets, row, x - reach, x + reach)
        for rank in range(begin, end):
            j = np.int64(order[rank])
            if j != i and bodies.mask[i] & bodies.layers[j]:
                dx = np.float64(bodies.position[j, 0]) - x
                dy = np.float64(bodies.position[j, 1]) - y
                apart = (np.float64(bodies.radius[i]) + bodies.radius[j]) * (1.0 - _SQUEEZE)
                if dx * dx + dy * dy < apart * apart:
                    return False
    return True


@subkernel
def find_room_(
    ground: Ground,
    bodies: Bodies,
    buckets: Buckets,
    order: NDArray[np.int32],
    i: int,
    widest: float,
    places: NDArray[np.float32],
) -> bool:
    """Write the free place nearest to a mover's goal that it can go straight to; else False.

    Nearer than where it is by its radius at least.
    """
    x = np.float64(bodies.position[i, 0])
    y = np.float64(bodies.position[i, 1])
    goal_x = np.float64(bodies.goal[i, 0])
    goal_y = np.float64(bodies.goal[i, 1])
    radius = np.float64(bodies.radius[i])
    best = math.sqrt((goal_x - x) ** 2 + (goal_y - y) ** 2) - max(radius, 0.1)
    stride = _ROOM_STEP * max(radius, 0.1)
    found = False
    for direction in range(_DIRECTIONS):
        angle = direction * (2.0 * math.pi / _DIRECTIONS)
        for step in range(1, int(_ROOM_REACH / stride) + 1):
            to_x = np.float64(np.float32(x + math.cos(angle) * stride * step))
            to_y = np.float64(np.float32(y + math.sin(angle) * stride * step))
            if not is_room_(bodies, buckets, order, i, to_x, to_y, widest):
                break
            length = math.sqrt((goal_x - to_x) ** 2 + (goal_y - to_y) ** 2)
            if length < best and disc_free_(ground, x, y, to_x, to_y, min(radius, 0.5)):
                best = length
                places[i, 0] = to_x
                places[i, 1] = to_y
                found = True
    return found


@kernel
def assess_(
    ground: Ground,
    which: int,
    slots: int,
    bodies: Bodies,
    headway: Headway,
    held: NDArray[np.float32],
    announced: NDArray[np.uint8],
    path_next: NDArray[np.int32],
    path_end: NDArray[np.int32],
    pool: NDArray[np.float32],
    buckets: Buckets,
    order: NDArray[np.int32],
    widest: float,
    dt: float,
    is_taken: NDArray[np.bool_],
    actions: NDArray[np.uint8],
    partners: NDArray[np.int32],
    places: NDArray[np.float32],
) -> int:
    """Write what movers of one movement are to do; return how many are to do anything.

    Invariant: nobody exchanges places twice in a step, and who is exchanged with does no more.
    """
    count = 0
    for i in range(slots):
        if bodies.movement[i] != which:
            continue
        actions[i] = NOTHING
        if is_taken[i]:
            continue
        reach = bodies.radius[i] + widest + _CONTACT
        if bodies.state[i] == PATH:
            # Who lets others by is not stuck.
            distance = measure_(
                headway, i, bodies.position, pool, np.int64(path_next[i]), np.int64(path_end[i]),
                dt if held[i] <= 0.0 else 0.0,
            )  # fmt: skip
            is_last = path_end[i] - path_next[i] == 1
            nearly = NEARLY_THERE
            if headway.stalled[i] >= BESIDE_AFTER and bodies.anchor[i] != NO_ANCHOR:
                nearly = BESIDE_AGAIN if announced[i] else BESIDE
            if (
                is_last
                and headway.stalled[i] >= NEARLY_AFTER
                and distance <= nearly * bodies.radius[i]
            ):
                actions[i] = ARRIVE
                count += 1
                continue
            if bodies.group[i] < 0 or headway.stalled[i] < EXCHANGE_AFTER:
                continue
            wants_room = headway.stalled[i] >= YIELD_AFTER
            near = look_around_(
                ground, bodies, buckets, order, is_taken, i, reach, is_last, wants_room
            )
            if near.partner >= 0:
                actions[i] = EXCHANGE
                partners[i] = near.partner
                is_taken[i] = True
                is_taken[near.partner] = True
            elif headway.stalled[i] >= SETTLE_AFTER:
                actions[i] = HELD_BY_CROWD if near.touches else HELD_BY_WALL
                limit = NEAR_PLACE * bodies.crowd_radius[i] + 2.0 * bodies.radius[i] + 1.0
                left = way_left_(
                    bodies.position, i, pool, np.int64(path_next[i]), np.int64(path_end[i]), limit
                )
                patience = JAM_AFTER if near.follows_walker and not announced[i] else SETTLE_AFTER
                if headway.stalled[i] < patience:
                    actions[i] = NOTHING
                elif near.touches and left <= limit:
                    actions[i] = SETTLE
                    if headway.returns[i] < MOST_RETURNS and find_room_(
                        ground, bodies, buckets, order, i, widest, places
                    ):
                        actions[i] = GO_NEARER
        elif bodies.state[i] == IDLE and bodies.group[i] >= 0:
            dx = np.float64(bodies.position[i, 0]) - bodies.goal[i, 0]
            dy = np.float64(bodies.position[i, 1]) - bodies.goal[i, 1]
            if dx * dx + dy * dy <= (DISPLACED * bodies.radius[i]) ** 2:
                continue
            near = look_around_(ground, bodies, buckets, order, is_taken, i, reach, False, False)
            if near.meets_walker:
                continue
            is_free = headway.returns[i] < MOST_RETURNS and not near.goal_is_taken
            actions[i] = STAY
            if is_free and walkable_(
                ground,
                np.float64(bodies.position[i, 0]),
                np.float64(bodies.position[i, 1]),
                np.float64(bodies.goal[i, 0]),
                np.float64(bodies.goal[i, 1]),
            ):
                actions[i] = GO_BACK
        count += actions[i] != NOTHING
    return count


class Settling:
    """The phase that lets crowds come to rest and tells who is stuck.

    Parameters
    ----------
    movers : Movers
        Who avoids each other.
    orders : Orders
        What finds other ways.
    """

    name = "settle"

    def __init__(self, movers: Movers, orders: Orders) -> None:
        self._movers = movers
        self._orders = orders
        self._sort = BucketSort()
        self._is_taken = np.zeros(0, np.bool_)
        self._actions = np.zeros(0, np.uint8)
        self._partners = np.zeros(0, np.int32)
        self._places = np.zeros((0, 2), np.float32)

    def is_used(self) -> bool:
        """Return whether there is something to do.

        Returns
        -------
        bool
            False without movers.
        """
        return len(self._movers) > 0

    def run(self, dt: float) -> int:
        """Look at everybody's headway.

        Parameters
        ----------
        dt : float
            Seconds; with 0 nothing changes.

        Returns
        -------
        int
            How many movers have events.
        """
        if dt == 0.0:
            return 0
        movers = self._movers
        columns = movers.columns
        capacity = len(columns.state)
        if self._actions.size < capacity:
            self._is_taken = np.empty(capacity, np.bool_)
            self._actions = np.zeros(capacity, np.uint8)
            self._partners = np.empty(capacity, np.int32)
            self._places = np.empty((capacity, 2), np.float32)
        slots = movers.slots
        widest = float(columns.radius[:slots].max())
        self._sort.sort(columns.position, columns.state, slots, 2.0 * widest + _CONTACT)
        self._is_taken[:slots] = False
        if sum(self._assess(which, widest, dt) for which in range(len(movers.movements))):
            self._act(self._actions[:slots])
        stand_(
            columns.state,
            Standing(
                columns.precedence, columns.yields, columns.announced, columns.events,
                columns.returns,
            ),
            dt,
            slots,
        )  # fmt: skip
        return movers.take_flagged()

    def _assess(self, which: int, widest: float, dt: float) -> int:
        movers = self._movers
        columns = movers.columns
        return assess_(
            movers.ground(which),
            which,
            movers.slots,
            Bodies(
                columns.state, columns.movement, columns.position, columns.goal, columns.radius,
                columns.group, columns.anchor, columns.crowd_radius, columns.layers, columns.mask,
                columns.preferred_velocity, columns.yields,
            ),
            Headway(columns.headway, columns.headway_left, columns.stalled, columns.returns),
            columns.held,
            columns.announced,
            columns.path_next,
            columns.path_end,
            movers.routes.pool,
            self._sort.buckets,
            self._sort.order,
            widest,
            dt,
            self._is_taken,
            self._actions,
            self._partners,
            self._places,
        )  # fmt: skip

    def _act(self, actions: NDArray[np.uint8]) -> None:
        movers = self._movers
        columns = movers.columns
        ones = np.flatnonzero(actions == EXCHANGE)
        others = self._partners[ones].astype(np.int64)
        both = np.concatenate([ones, others])
        columns.goal[both] = columns.goal[np.concatenate([others, ones])]
        back = np.flatnonzero(actions == GO_BACK)
        columns.returns[back] += 1
        nearer = np.flatnonzero(actions == GO_NEARER)
        columns.goal[nearer] = self._places[nearer]
        columns.returns[nearer] += 1
        self._go_straight(np.concatenate([both, back, nearer]))
        resting = np.flatnonzero((actions == SETTLE) | (actions == STAY))
        columns.goal[resting] = columns.position[resting]
        arrived = np.flatnonzero(actions == ARRIVE)
        beside = np.hypot(*(columns.goal[arrived] - columns.position[arrived]).T)
        beside = arrived[beside > NEARLY_THERE * columns.radius[arrived]]
        columns.goal[beside] = columns.position[beside]
        movers.halt(arrived, MoverState.IDLE)
        movers.flag(arrived, EventFlag.ARRIVED)
        settled = np.flatnonzero(actions == SETTLE)
        movers.halt(settled, MoverState.IDLE)
        fresh = settled[columns.announced[settled] == 0]
        columns.announced[fresh] = 1
        movers.flag(fresh, EventFlag.ARRIVED_CROWD_FULL)
        for action, reason in (
            (HELD_BY_WALL, StuckReason.WALL),
            (HELD_BY_CROWD, StuckReason.CROWD),
        ):
            rows = np.flatnonzero(actions == action)
            columns.stalled[rows] = 0.0
            columns.stuck_reason[rows] = reason
            movers.flag(rows, EventFlag.STUCK)
            if reason == StuckReason.WALL:
                self._orders.want_again(rows)

    def _go_straight(self, rows: NDArray[np.int64]) -> None:
        """Send movers straight to their goals, which they see."""
        columns = self._movers.columns
        goals = columns.goal[rows]
        velocity = columns.velocity[rows]
        self._movers.start_routes(rows, goals, np.arange(rows.size + 1))
        columns.velocity[rows] = velocity
        columns.stalled[rows] = 0.0
        columns.headway_left[rows] = 0


def _warm_up() -> None:
    movers = Movers(Grid.filled(2, 1))
    movers.add([(0, 0)], radius=0.4, max_speed=1.0)
    Settling(movers, Orders(movers)).run(0.1)


register_warm_up("settling", _warm_up)
