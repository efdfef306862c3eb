"""Passages: who goes first, and on which side, where few can be side by side.

See `narrows` for what a passage is. Everybody keeps behind those who are nearer to it or farther in
it: whoever is ahead need not give way to who presses from behind, so nobody gets wedged in the
mouth.

Where two cannot pass each other, those who are inside go through, and who comes from the other side
waits beside the mouth. From where the highest priority waits, the next ones go in, and among equals
from where one has waited longest: so the sides take turns. Of those who have met inside, the lower
side backs out.

Where two can pass and there are some on either side, each keeps to the right of the middle line:
inside, and before it, so that a lane is left for those who come out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver._jit import inlined, kernel, register_warm_up, subkernel
from navserver.movers.columns import MoverState
from navserver.movers.movers import Movers
from navserver.movers.narrows import LONGEST, is_narrow_, narrow_at_
from navserver.movers.sight import Ground
from navserver.movers.walls import wall_reach_of
from navserver.search.grid import Grid

__all__ = ["ZONE", "Passages", "direct_traffic_"]

ZONE = 4.0
"""How far ahead of its rim a mover looks for a passage, in cells."""

MOST_ABREAST = 4
"""A passage in which so many can be side by side needs no rules."""

PATIENCE = 3.0
"""Seconds for which one waits before those of equal priority on the other side are held up."""

AFTERWARDS = 1.5
"""Seconds for which one that has come out still goes before those who wait."""

PRECEDENCE = 1e-3
"""What being at the mouth of a passage adds to a mover's priority; the more the farther it is."""

# In what steps a mover looks ahead, in cells.
_STEP = 0.4

# How far beyond a body's width from the middle line those stand who wait, in cells.
_ASIDE = 0.1

PATH = int(MoverState.PATH)

# What is known of a cell.
UNKNOWN, CLOSED, WIDE, NARROW = range(4)


class Claims(NamedTuple):
    """Who is in a passage or before one, in the order of their slots; room for all movers."""

    row: NDArray[np.int32]
    passage: NDArray[np.int64]
    """As `Narrow` has it."""
    first: NDArray[np.int32]
    """The first claim of the same passage."""
    best: NDArray[np.int32]
    """For each first claim the one that goes before others, -1 for none, by side and place: those
    that go up and are outside, up and inside, down and outside, down and inside.
    """
    side: NDArray[np.int8]
    """1 if it goes up, from the lower end to the other one, else -1."""
    inside: NDArray[np.bool_]
    has_lanes: NDArray[np.bool_]
    """Whether it can pass another one of its size."""
    gap: NDArray[np.float32]
    """How far it still is from there, in cells."""
    turn: NDArray[np.int8]
    """1 if it may go on, 0 if it waits, -1 if it backs out."""
    way: NDArray[np.float32]
    """Unit vector along the passage as the mover goes, at its mouth or where it is."""
    middle: NDArray[np.float32]
    """A point of the middle line there, in cell space."""
    half: NDArray[np.float32]
    """Half the width that is left to a centre there."""
    next: NDArray[np.int32]
    heads: NDArray[np.int32]
    """Lists of claims by passage, hashed; twice as many as movers, a power of two."""


class Walkers(NamedTuple):
    """The columns and the pool that say who goes where."""

    state: NDArray[np.uint8]
    movement: NDArray[np.uint8]
    position: NDArray[np.float32]
    preferred: NDArray[np.float32]
    radius: NDArray[np.float32]
    max_speed: NDArray[np.float32]
    priority: NDArray[np.float32]
    path_next: NDArray[np.int32]
    path_end: NDArray[np.int32]
    pool: NDArray[np.float32]
    held: NDArray[np.float32]
    precedence: NDArray[np.float32]
    lanes: NDArray[np.float32]


@inlined
def bucket_of_(claims: Claims, passage: int) -> int:
    """Return the list of a passage."""
    return (np.int64(passage) * 2654435761) & (claims.heads.size - 1)


@subkernel
def enter_claim_(
    ground: Ground,
    claims: Claims,
    count: int,
    row: int,
    cell: int,
    inside: bool,
    gap: float,
    going_x: float,
    going_y: float,
    radius: float,
    reach: float,
) -> bool:
    """Write down that a mover is in a passage, or will be, at a cell of it, going some way."""
    narrow = narrow_at_(ground, cell)
    along = narrow.dx * going_x + narrow.dy * going_y
    half = 0.5 * narrow.width - reach
    abreast = 1.0 + half / max(radius, 1e-3)
    if along == 0.0 or abreast >= MOST_ABREAST or (narrow.width == 1 and abreast >= 2.0):
        return False
    side = 1 if along > 0.0 else -1
    length = math.sqrt(float(narrow.dx * narrow.dx + narrow.dy * narrow.dy))
    claims.row[count] = row
    claims.passage[count] = narrow.passage
    claims.side[count] = side
    claims.inside[count] = inside
    claims.has_lanes[count] = abreast >= 2.0
    claims.gap[count] = gap
    claims.way[count, 0] = side * narrow.dx / length
    claims.way[count, 1] = side * narrow.dy / length
    claims.middle[count, 0] = narrow.middle_x + ground.origin_x
    claims.middle[count, 1] = narrow.middle_y + ground.origin_y
    claims.half[count] = half
    bucket = bucket_of_(claims, narrow.passage)
    k = np.int64(claims.heads[bucket])
    while k >= 0 and claims.passage[k] != narrow.passage:
        k = np.int64(claims.next[k])
    claims.first[count] = claims.first[k] if k >= 0 else count
    if k < 0:
        for place in range(4):
            claims.best[count, place] = -1
    claims.next[count] = claims.heads[bucket]
    claims.heads[bucket] = count
    return True


@inlined
def flat_at_(ground: Ground, x: float, y: float) -> int:
    """Return the flat index of the cell that holds a point, -1 off the map."""
    column = x - ground.origin_x + 0.5
    row = y - ground.origin_y + 0.5
    # Written so that it is False for NaN.
    if not (0.0 <= column < ground.width and 0.0 <= row < ground.height):
        return -1
    return math.floor(row) * ground.width + math.floor(column)


@inlined
def kind_of_(ground: Ground, known: NDArray[np.uint8], cell: int) -> int:
    """Return what a cell is, and keep it for those who look at it later."""
    kind = known[cell]
    if kind == UNKNOWN:
        if not ground.open_table[ground.space[cell]]:
            kind = np.uint8(CLOSED)
        elif is_narrow_(ground, cell):
            kind = np.uint8(NARROW)
        else:
            kind = np.uint8(WIDE)
        known[cell] = kind
    return int(kind)


@inlined
def look_ahead_(
    ground: Ground,
    known: NDArray[np.uint8],
    claims: Claims,
    count: int,
    row: int,
    walkers: Walkers,
    most_reach: float,
) -> bool:
    """Enter the claim of a mover for the first passage on its route that is near."""
    radius = np.float64(walkers.radius[row])
    reach = min(radius, most_reach)
    x = np.float64(walkers.position[row, 0])
    y = np.float64(walkers.position[row, 1])
    here = flat_at_(ground, x, y)
    left = radius + ZONE
    cell = here
    inside = here >= 0 and kind_of_(ground, known, here) == NARROW
    for k in range(walkers.path_next[row], walkers.path_end[row]):
        dx = np.float64(walkers.pool[k, 0]) - x
        dy = np.float64(walkers.pool[k, 1]) - y
        length = math.sqrt(dx * dx + dy * dy)
        if length == 0.0:
            continue
        if inside and enter_claim_(
            ground, claims, count, row, here, True, 0.0, dx, dy, radius, reach
        ):
            return True
        inside = False
        steps = math.ceil(min(length, left) / _STEP)
        for step in range(1, steps + 1):
            share = min(step * _STEP, length) / length
            at = flat_at_(ground, x + dx * share, y + dy * share)
            if at < 0 or at == cell:
                continue
            kind = kind_of_(ground, known, at)
            if kind != CLOSED:
                cell = at
            if kind == NARROW:
                gap = radius + ZONE - left + length * share
                if enter_claim_(ground, claims, count, row, at, False, gap, dx, dy, radius, reach):
                    return True
        left -= length
        if left <= 0.0:
            return False
        x += dx
        y += dy
    return False


@inlined
def patience_(held: float) -> int:
    """Return how many times one has been patient: who gets its turn can use it until the next."""
    return math.floor(max(held, 0.0) / PATIENCE)


@subkernel
def outranks_(
    claims: Claims,
    priority: NDArray[np.float32],
    held: NDArray[np.float32],
    one: int,
    other: int,
) -> bool:
    """Return whether one claim goes before another, -1 being nobody's.

    By priority; then who has waited long, and longest; then who is nearer, and so stays ahead.
    """
    if other < 0 or one < 0:
        return other < 0
    row = np.int64(claims.row[one])
    other_row = np.int64(claims.row[other])
    if priority[row] != priority[other_row]:
        return bool(priority[row] > priority[other_row])
    waited = patience_(held[row])
    other_waited = patience_(held[other_row])
    if waited != other_waited:
        return waited > other_waited
    if claims.gap[one] != claims.gap[other]:
        return bool(claims.gap[one] < claims.gap[other])
    return row < other_row


@inlined
def place_of_(side: int, inside: bool) -> int:
    """Return where `Claims.best` has those of a side, inside or outside."""
    return (0 if side > 0 else 2) + (1 if inside else 0)


@subkernel
def turn_of_(
    claims: Claims, i: int, priority: NDArray[np.float32], held: NDArray[np.float32]
) -> int:
    """Return 1 if a mover may go on, 0 if it has to wait, -1 if it has to back out."""
    best = claims.best[claims.first[i]]
    side = claims.side[i]
    ours_inside = np.int64(best[place_of_(side, True)])
    ours_outside = np.int64(best[place_of_(side, False)])
    theirs_inside = np.int64(best[place_of_(-side, True)])
    theirs_outside = np.int64(best[place_of_(-side, False)])
    if claims.inside[i]:
        return 1 if outranks_(claims, priority, held, ours_inside, theirs_inside) else -1
    if theirs_inside >= 0:
        return 0
    if theirs_outside < 0:
        return 1
    if ours_inside < 0:
        return 1 if outranks_(claims, priority, held, ours_outside, theirs_outside) else 0
    # Behind others of one's own side, unless the other side is due.
    row = np.int64(claims.row[i])
    other_row = np.int64(claims.row[theirs_outside])
    if priority[row] != priority[other_row]:
        return 1 if priority[row] > priority[other_row] else 0
    return 1 if patience_(held[row]) >= patience_(held[other_row]) else 0


@inlined
def meets_others_(claims: Claims, i: int) -> bool:
    """Return whether somebody comes the other way."""
    best = claims.best[claims.first[i]]
    side = claims.side[i]
    return best[place_of_(-side, True)] >= 0 or best[place_of_(-side, False)] >= 0


@inlined
def seen_along_(claims: Claims, i: int, x: float, y: float) -> tuple[float, float]:
    """Return how far a point is before the claim's middle point, and to the right of its line."""
    way_x = np.float64(claims.way[i, 0])
    way_y = np.float64(claims.way[i, 1])
    x = np.float64(claims.middle[i, 0]) - x
    y = np.float64(claims.middle[i, 1]) - y
    return way_x * x + way_y * y, way_y * x - way_x * y


@inlined
def wish_(walkers: Walkers, claims: Claims, i: int, ahead: float, right: float) -> None:
    """Let a mover prefer to go ahead along the passage and to the right, at its own speed."""
    row = claims.row[i]
    length = math.sqrt(ahead * ahead + right * right)
    share = walkers.max_speed[row] / length if length > 1e-6 else 0.0
    way_x = np.float64(claims.way[i, 0])
    way_y = np.float64(claims.way[i, 1])
    walkers.preferred[row, 0] = (way_x * ahead - way_y * right) * share
    walkers.preferred[row, 1] = (way_y * ahead + way_x * right) * share


@inlined
def bar_(walkers: Walkers, claims: Claims, i: int, sign: float, gap: float) -> None:
    """Let a mover come no nearer than by a gap to the middle line, from one side of it."""
    row = claims.row[i]
    walkers.lanes[row, 0] = -sign * claims.way[i, 1]
    walkers.lanes[row, 1] = sign * claims.way[i, 0]
    walkers.lanes[row, 2] = gap


@subkernel
def keep_lane_(walkers: Walkers, claims: Claims, i: int) -> None:
    """Let a mover that others come against go by the right half of a wide passage."""
    row = claims.row[i]
    radius = np.float64(walkers.radius[row])
    before, right = seen_along_(
        claims, i, np.float64(walkers.position[row, 0]), np.float64(walkers.position[row, 1])
    )
    lane = min(max(right, radius), max(np.float64(claims.half[i]), radius))
    bar_(walkers, claims, i, 1.0, right - radius)
    if claims.inside[i]:
        wish_(walkers, claims, i, 1.0, 2.0 * (lane - right))
        return
    # Up to the mouth it has to be in its lane.
    before -= 0.5
    before = max(before - radius, 0.0) if lane - right > _ASIDE else max(before, 0.5)
    wish_(walkers, claims, i, before, lane - right)


@subkernel
def let_by_(walkers: Walkers, claims: Claims, i: int) -> None:
    """Let a mover wait for others beside the way that they come out by; one inside backs out."""
    row = claims.row[i]
    if claims.turn[i] < 0:
        wish_(walkers, claims, i, -1.0, 0.0)
        return
    radius = np.float64(walkers.radius[row])
    before, right = seen_along_(
        claims, i, np.float64(walkers.position[row, 0]), np.float64(walkers.position[row, 1])
    )
    sign = 1.0 if right > 0.0 or (right == 0.0 and row & 1) else -1.0
    room = 2.0 * radius + _ASIDE
    missing = room - abs(right)
    bar_(walkers, claims, i, sign, -missing)
    # Beside the mouth's own walls there is no more to gain.
    ahead = before - 0.5 - radius - _ASIDE
    if missing > 0.0:
        ahead = 0.0 if ahead > 0.0 else -0.5
        wish_(walkers, claims, i, ahead * missing, sign * missing)
    elif ahead > 0.1:
        wish_(walkers, claims, i, 1.0, 0.0)
    else:
        walkers.preferred[row, 0] = walkers.preferred[row, 1] = 0.0


@inlined
def precedence_(ground: Ground, walkers: Walkers, claims: Claims, i: int) -> float:
    """Return what a mover's place adds to its priority: more, the farther on its way it is."""
    if claims.turn[i] <= 0:
        return 0.0
    if not claims.inside[i]:
        return PRECEDENCE * max(1.0 - np.float64(claims.gap[i]) / (2.0 * ZONE), 0.0)
    row = claims.row[i]
    lower = claims.passage[i] >> 1
    x = np.float64(walkers.position[row, 0]) - ground.origin_x - lower % ground.width
    y = np.float64(walkers.position[row, 1]) - ground.origin_y - lower // ground.width
    depth = claims.way[i, 0] * x + claims.way[i, 1] * y
    return PRECEDENCE * (2.0 + min(max(depth / LONGEST, -1.0), 1.0))


@kernel
def direct_traffic_(
    ground: Ground,
    which: int,
    most_reach: float,
    slots: int,
    walkers: Walkers,
    dt: float,
    known: NDArray[np.uint8],
    claims: Claims,
) -> int:
    """Tell movers near passages how to go: write preferred velocities, lanes and precedence.

    Return how many have to wait or to back out. Invariant: `known` tells of each cell what it is,
    or that nobody has looked at it yet; after the first loop, claims of one
    passage are on one list; the second reads waiting times as they were before the step, and the
    third writes them.
    """
    count = 0
    claims.heads[:] = -1
    for row in range(slots):
        if walkers.state[row] != PATH or walkers.movement[row] != which:
            continue
        walkers.precedence[row] = 0.0
        if look_ahead_(ground, known, claims, count, row, walkers, most_reach):
            count += 1
        elif walkers.held[row] < 0.0:
            # Out of the way of those behind it, through those who wait there.
            walkers.precedence[row] = PRECEDENCE
            walkers.held[row] = min(walkers.held[row] + np.float32(dt), np.float32(0.0))
        else:
            walkers.held[row] = 0.0
    for i in range(count):
        best = claims.best[claims.first[i]]
        place = place_of_(claims.side[i], claims.inside[i])
        if outranks_(claims, walkers.priority, walkers.held, i, np.int64(best[place])):
            best[place] = i
    for i in range(count):
        claims.turn[i] = 1
        if not claims.has_lanes[i]:
            claims.turn[i] = turn_of_(claims, i, walkers.priority, walkers.held)
    n_held = 0
    for i in range(count):
        row = np.int64(claims.row[i])
        walkers.precedence[row] = precedence_(ground, walkers, claims, i)
        # Who may go keeps its rank until it is inside.
        if claims.inside[i]:
            walkers.held[row] = -AFTERWARDS if claims.turn[i] > 0 else 0.0
        if claims.turn[i] > 0:
            if claims.has_lanes[i] and meets_others_(claims, i):
                keep_lane_(walkers, claims, i)
            continue
        n_held += 1
        if not claims.inside[i]:
            walkers.held[row] = max(walkers.held[row], np.float32(0.0)) + np.float32(dt)
        let_by_(walkers, claims, i)
    return n_held


class Passages:
    """The phase that lets movers go through passages in good order.

    Parameters
    ----------
    movers : Movers
        Who avoids each other.
    """

    name = "give way"

    def __init__(self, movers: Movers) -> None:
        self._movers = movers
        self._claims = _claims_of(64)
        self._known: dict[int, NDArray[np.uint8]] = {}
        self._version = movers.grid.version
        self.lanes = np.zeros((0, 3), np.float32)
        """float32 array (capacity, 3): lines that movers keep to one side of in this step, as the
        normal towards it and how far away the line is; all 0 where there is none.
        """

    def is_used(self) -> bool:
        """Return whether there is something to do.

        Returns
        -------
        bool
            False without movers.
        """
        return self._movers.slots > 0

    def run(self, dt: float) -> int:
        """Change what movers near passages prefer.

        Parameters
        ----------
        dt : float
            Seconds.

        Returns
        -------
        int
            0: it makes no events.
        """
        movers = self._movers
        columns = movers.columns
        if len(self.lanes) < len(columns.state):
            self._claims = _claims_of(len(columns.state))
            self.lanes = np.zeros((len(columns.state), 3), np.float32)
        self.lanes[: movers.slots] = 0.0
        walkers = Walkers(
            columns.state, columns.movement, columns.position, columns.preferred_velocity,
            columns.radius, columns.max_speed, columns.priority, columns.path_next,
            columns.path_end, movers.routes.pool, columns.held, columns.precedence, self.lanes,
        )  # fmt: skip
        for which, movement in enumerate(movers.movements):
            direct_traffic_(
                movers.ground(which), which, wall_reach_of(movement), movers.slots, walkers, dt,
                self._known_of(which), self._claims,
            )  # fmt: skip
        return 0

    def _known_of(self, which: int) -> NDArray[np.uint8]:
        """Return what is known of the cells of one movement, for the grid as it is now."""
        grid = self._movers.grid
        if self._version != grid.version:
            self._known.clear()
            self._version = grid.version
        if which not in self._known:
            # Of fresh zeros the system only gives the pages that somebody looks at.
            self._known[which] = np.zeros(grid.size, np.uint8)
        return self._known[which]


def _claims_of(capacity: int) -> Claims:
    n_lists = 1 << (2 * capacity - 1).bit_length()
    return Claims(
        row=np.empty(capacity, np.int32),
        passage=np.empty(capacity, np.int64),
        first=np.empty(capacity, np.int32),
        best=np.empty((capacity, 4), np.int32),
        side=np.empty(capacity, np.int8),
        inside=np.empty(capacity, np.bool_),
        has_lanes=np.empty(capacity, np.bool_),
        gap=np.empty(capacity, np.float32),
        turn=np.empty(capacity, np.int8),
        way=np.empty((capacity, 2), np.float32),
        middle=np.empty((capacity, 2), np.float32),
        half=np.empty(capacity, np.float32),
        next=np.empty(capacity, np.int32),
        heads=np.empty(n_lists, np.int32),
    )


def _warm_up() -> None:
    movers = Movers(Grid.filled(2, 1))
    movers.add([(0, 0)], radius=0.4, max_speed=1.0)
    Passages(movers).run(0.1)


register_warm_up("passages", _warm_up)
