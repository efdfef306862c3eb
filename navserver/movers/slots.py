"""Goal slots: where each body of a group stands when all of them are sent to one goal.

Slots are packed in a hexagonal lattice around the goal, and where walls leave no room for its
points, wherever else a body fits. Nearest first: a slot's distance is the straight one plus what
walls make the way longer, so that nobody is sent to the far side of a wall.

Sources: Thue, "Ueber die dichteste Zusammenstellung von kongruenten Kreisen in einer Ebene"
(1910), for the lattice; Villani, "Optimal Transport" (2009), chapter 5, for why pairs that do not
cross are those with the least sum of squared distances.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver._jit import kernel, register_warm_up, subkernel
from navserver.search.grid import Grid
from navserver.search.movement import MAX_BODY, Movement
from navserver.search.validation import checked_number, checked_points
from navserver.search.wavefront import Wavefront
from navserver.status import CellError, InputError

__all__ = ["SlotPlanner", "match_slots"]

LEAST_RADIUS = 0.05
"""Smaller bodies get slots as if they were this large, in cells."""

LARGEST_RADIUS = float(MAX_BODY)
"""Radius in cells beyond which a body is refused."""

MOST_CLASSES = 8
"""Radii that are told apart in one group; more are rounded up to so many."""

# Beyond a straight line an octile length is at most this factor, and a slot and the goal lie
# within half a diagonal of their cells' centres.
_OCTILE_EXCESS = 0.0824
_HALF_DIAGONALS = 1.4143
# A point of the lattice moves by so much when it is rounded, at the far end of the largest map.
_ROUNDING = 1e-3
_TOUCH = 1e-6
# Bodies swap slots with those that follow in the order by strips: so many pairs are tried, with
# at least so many of them, in so many rounds.
_PAIRS = 1 << 16
_LEAST_WINDOW = 8
_MOST_ROUNDS = 16
# Places a cell and axis where a body is tried that finds no room on the lattice.
_FILLERS = 4


class Discs(NamedTuple):
    """Discs by place: lists of those in one bucket of a table that is hashed by square."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    radius: NDArray[np.float64]
    nexts: NDArray[np.int32]
    heads: NDArray[np.int32]
    used: NDArray[np.int64]
    """One entry: how many there are."""

    @staticmethod
    def of(capacity: int) -> Discs:
        """Return an empty table.

        Parameters
        ----------
        capacity : int
            Discs that it has room for.

        Returns
        -------
        Discs
            With twice as many buckets, a power of two.
        """
        n_buckets = 1 << max(4, (2 * capacity - 1).bit_length())
        return Discs(
            np.empty(capacity, np.float64),
            np.empty(capacity, np.float64),
            np.empty(capacity, np.float64),
            np.empty(capacity, np.int32),
            np.full(n_buckets, -1, np.int32),
            np.zeros(1, np.int64),
        )


class Room(NamedTuple):
    """Where bodies may stand, as kernels read it."""

    width: int
    height: int
    origin_x: int
    origin_y: int
    space: NDArray[np.uint8]
    space_open: NDArray[np.uint8]
    walls: NDArray[np.uint8]
    walls_open: NDArray[np.uint8]
    has_disc: bool
    """Whether a body is a disc that has to stay clear of walls; a larger one is in the space."""


@subkernel
def bucket_(discs: Discs, column: int, row: int) -> int:
    """Return the bucket of a square."""
    return (column * 73856093 ^ row * 19349663) & (discs.heads.size - 1)


@subkernel
def insert_disc_(discs: Discs, side: float, x: float, y: float, radius: float) -> bool:
    """Add a disc to the table of squares of a side; return False if it is full."""
    i = discs.used[0]
    if i == discs.x.size:
        return False
    discs.x[i] = x
    discs.y[i] = y
    discs.radius[i] = radius
    bucket = bucket_(discs, math.floor(x / side), math.floor(y / side))
    discs.nexts[i] = discs.heads[bucket]
    discs.heads[bucket] = i
    discs.used[0] = i + 1
    return True


@subkernel
def is_apart_(discs: Discs, side: float, spacing: float, x: float, y: float, r: float) -> bool:
    """Return whether a disc keeps its distance to all of the table; no two reach over a side."""
    column = math.floor(x / side)
    row = math.floor(y / side)
    for near_row in range(row - 1, row + 2):
        for near_column in range(column - 1, column + 2):
            i = np.int64(discs.heads[bucket_(discs, near_column, near_row)])
            while i >= 0:
                distance = max((r + discs.radius[i]) * spacing - _ROUNDING, 0.0)
                if (x - discs.x[i]) ** 2 + (y - discs.y[i]) ** 2 < distance * distance:
                    return False
                i = np.int64(discs.nexts[i])
    return True


@subkernel
def has_room_(room: Room, x: float, y: float, radius: float) -> bool:
    """Return whether a body may stand at a point, its disc clear of blocked squares."""
    x -= room.origin_x
    y -= room.origin_y
    column = math.floor(x + 0.5)
    row = math.floor(y + 0.5)
    if column < 0 or row < 0 or column >= room.width or row >= room.height:
        return False
    if not room.space_open[room.space[row * room.width + column]]:
        return False
    if not room.has_disc:
        return True
    reach = radius - _TOUCH
    for near_row in range(math.floor(y - radius + 0.5), math.floor(y + radius + 0.5) + 1):
        for near in range(math.floor(x - radius + 0.5), math.floor(x + radius + 0.5) + 1):
            inside = 0 <= near < room.width and 0 <= near_row < room.height
            if inside and room.walls_open[room.walls[near_row * room.width + near]]:
                continue
            dx = max(abs(x - near) - 0.5, 0.0)
            dy = max(abs(y - near_row) - 0.5, 0.0)
            if dx * dx + dy * dy < reach * reach:
                return False
    return True


@subkernel
def offer_(
    room: Room, discs: Discs, side: float, spacing: float, radius: float, x: float, y: float
) -> int:
    """Take a point as a slot if it is free: 1 if it is taken, 0 if not, -1 without room."""
    # As float32, since that is how it will be walked to.
    x = np.float64(np.float32(x))
    y = np.float64(np.float32(y))
    if not is_apart_(discs, side, spacing, x, y, radius) or not has_room_(room, x, y, radius):
        return 0
    return 1 if insert_disc_(discs, side, x, y, radius) else -1


@kernel
def hold_discs_(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    radius: NDArray[np.float64],
    side: float,
    discs: Discs,
) -> None:
    """Empty the table and put discs there, for which it has room."""
    discs.heads[:] = -1
    discs.used[0] = 0
    for i in range(x.size):
        insert_disc_(discs, side, x[i], y[i], radius[i])


@kernel
def pack_slots_(
    room: Room,
    cells: NDArray[np.int64],
    goal_x: float,
    goal_y: float,
    radius: float,
    spacing: float,
    side: float,
    discs: Discs,
    cell_places: NDArray[np.int64],
) -> bool:
    """Add to the discs as many slots of one radius as the cells hold; False without room.

    Write for each the place of its cell. Invariant: the discs keep their distance, and the new
    ones are clear of walls. Points of the lattice come first, all of them, so that none of what
    fills the holes beside walls takes the room of one.
    """
    pitch = 2.0 * radius * spacing
    rise = pitch * 0.8660254037844386
    for place in range(cells.size):
        row = cells[place] // room.width + room.origin_y
        column = cells[place] % room.width + room.origin_x
        first = math.floor((row - 0.5 - goal_y) / rise)
        for j in range(first, math.ceil((row + 0.5 - goal_y) / rise) + 1):
            y = goal_y + j * rise
            if math.floor(y + 0.5) != row:
                continue
            shift = 0.5 * (j & 1)
            first_i = math.floor((column - 0.5 - goal_x) / pitch - shift)
            for i in range(first_i, math.ceil((column + 0.5 - goal_x) / pitch - shift) + 1):
                x = goal_x + (i + shift) * pitch
                if math.floor(x + 0.5) != column:
                    continue
                offered = offer_(room, discs, side, spacing, radius, x, y)
                if offered < 0:
                    return False
                if offered:
                    cell_places[discs.used[0] - 1] = place
    for place in range(cells.size):
        row = cells[place] // room.width + room.origin_y
        column = cells[place] % room.width + room.origin_x
        for k in range(_FILLERS * _FILLERS):
            # From the cell's centre on.
            x = column + ((k % _FILLERS + 2) % _FILLERS - 2) / _FILLERS
            y = row + ((k // _FILLERS + 2) % _FILLERS - 2) / _FILLERS
            offered = offer_(room, discs, side, spacing, radius, x, y)
            if offered < 0:
                return False
            if offered:
                cell_places[discs.used[0] - 1] = place
    return True


@kernel
def uncross_(
    bodies: NDArray[np.float64],
    slots: NDArray[np.float64],
    window: int,
    partner: NDArray[np.int64],
) -> int:
    """Swap the slots of bodies where that shortens the sum of squares; return how many swaps.

    Only bodies that stand within a window of each other in the given order are tried. Invariant:
    `partner` is a permutation.
    """
    swaps = 0
    for i in range(partner.size):
        for j in range(i + 1, min(i + window, partner.size)):
            one = partner[i]
            other = partner[j]
            gain = (bodies[i, 0] - bodies[j, 0]) * (slots[one, 0] - slots[other, 0]) + (
                bodies[i, 1] - bodies[j, 1]
            ) * (slots[one, 1] - slots[other, 1])
            if gain < -_TOUCH:
                partner[i] = other
                partner[j] = one
                swaps += 1
    return swaps


class _Walk(Wavefront):
    """Lengths of the ways around one cell, whatever the ground costs."""

    def prepare(self) -> None:
        """Read the grid's arrays again, and let every cell cost 1."""
        super().prepare()
        self._step = 1.0

    def around(
        self, cell: int, length: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], bool]:
        """Return the cells within a length, nearest first, their lengths, and if that is all."""
        try:
            self.begin(np.array([cell], np.int64), max_cost=length)
            self.advance()
            cells = np.sort(self.touched).astype(np.int64)
            lengths, _ = self.read(cells)
        finally:
            self.forget()
        order = np.argsort(lengths, kind="stable")
        is_all = bool(lengths.max() + _HALF_DIAGONALS < length)
        return cells[order], lengths[order], is_all


class SlotPlanner:
    """Plans where the bodies of groups stand around their goals.

    Parameters
    ----------
    grid : Grid
        The map; each plan sees it as it is then.
    movement : Movement, optional
        Where a body may stand and how it gets there.
    gap : float
        Distance between two bodies' rims, in parts of their radii, 0 to 4.

    Raises
    ------
    InputError
        If an option is out of its bounds.

    Notes
    -----
    Time is linear in the area that a group covers. Deterministic. One object serves one thread
    at a time.

    Examples
    --------
    >>> planner = SlotPlanner(Grid.filled(9, 9))
    >>> slots, placed = planner.plan((4.0, 4.0), [(0, 4), (2, 4)], [0.4, 0.4])
    >>> bool(placed.all()), slots.round(2).astype(str).tolist()
    (True, [['3.16', '4.0'], ['4.0', '4.0']])
    """

    def __init__(self, grid: Grid, movement: Movement | None = None, *, gap: float = 0.05) -> None:
        self._grid = grid
        self._movement = Movement() if movement is None else movement
        self._spacing = 1.0 + checked_number("gap", gap, 0.0, "give a number from 0 to 4")
        if self._spacing > 5.0:
            raise InputError("gap", gap, "is out of bounds", "give a number from 0 to 4")
        self._walk = _Walk(grid, self._movement, record=True)
        self._discs = Discs.of(1024)

    def plan(
        self,
        goal: tuple[float, float],
        positions: ArrayLike,
        radii: ArrayLike,
        *,
        taken: ArrayLike | None = None,
        taken_radii: ArrayLike | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return a slot for each body.

        Parameters
        ----------
        goal : (float, float)
            A point in an open cell; the first slot, if nothing is in its way.
        positions : array-like of float, shape (n, 2)
            Where the bodies are now: their order is kept, so that they do not cross.
        radii : array-like of float, shape (n,)
            In cells, 0 to 32. Large bodies get their slots first.
        taken, taken_radii : array-like of float, shape (m, 2) and (m,), optional
            Discs that are not available, such as the slots of other groups.

        Returns
        -------
        slots : float32 array (n, 2)
            Points in cell space that the goal can be reached from, apart from each other, clear
            of walls, nearest to the goal first; the goal itself where there is none.
        placed : bool array (n,)
            Which bodies have one; False where the goal's island is full.

        Raises
        ------
        InputError
            If the goal is not in an open cell, or an array is out of its bounds; names the row.
        """
        where = _checked_discs("positions", positions, "radii", radii)
        held = _checked_discs(
            "taken",
            [] if taken is None else taken,
            "taken_radii",
            [] if taken_radii is None else taken_radii,
        )
        x, y, cell = self._checked_goal(goal)
        slots = np.empty((len(where), 2), np.float32)
        slots[:] = (x, y)
        placed = np.zeros(len(where), np.bool_)
        if not len(where):
            return slots, placed
        radii_of = _few_radii(np.maximum(where[:, 2], LEAST_RADIUS))
        area = 0.8660254037844386 * float(((2.0 * self._spacing * radii_of) ** 2).sum())
        length = 1.2 * math.sqrt(area / math.pi) + 2.5
        while True:
            cells, lengths, is_all = self._walk.around(cell, length)
            farthest = self._pack(
                (x, y), where[:, :2], radii_of, held, cells, lengths, slots, placed
            )
            # A slot farther out than the cells reach is at least so far away.
            beyond = length * (1.0 - _OCTILE_EXCESS) - _HALF_DIAGONALS
            if is_all or (farthest <= beyond and placed.all()):
                break
            length *= 1.6
        for radius in np.unique(radii_of):
            members = np.flatnonzero((radii_of == radius) & placed)
            slots[members] = slots[members][match_slots(where[members, :2], slots[members])]
        return slots, placed

    def _checked_goal(self, goal: tuple[float, float]) -> tuple[float, float, int]:
        point = checked_points("goal", goal)
        if point.shape != (2,) or not np.isfinite(point).all() or np.abs(point).max() > 2**30:
            raise InputError("goal", goal, "is not a point", "give finite x and y, in cells")
        x, y = point.tolist()
        cell = self._grid.flat_index((math.floor(x + 0.5), math.floor(y + 0.5)), "goal")
        space = self._grid.space(self._movement)
        if not space.open_table[space.cells.reshape(-1)[cell]]:
            raise CellError(
                "goal", goal, "is blocked for this movement", "give a point in an open cell"
            )
        return x, y, cell

    def _pack(
        self,
        goal: tuple[float, float],
        positions: NDArray[np.float64],
        radii: NDArray[np.float64],
        held: NDArray[np.float64],
        cells: NDArray[np.int64],
        lengths: NDArray[np.float64],
        slots: NDArray[np.float32],
        placed: NDArray[np.bool_],
    ) -> float:
        """Write the slots that some cells hold, large bodies first; return the farthest one's way.

        `placed` tells who has got one.
        """
        placed[:] = False
        detours = _detours(self._grid, goal, cells, lengths)
        side = 2.0 * self._spacing * max(float(radii.max()), float(held[:, 2].max(initial=0.0)))
        farthest = 0.0
        for radius in np.unique(radii)[::-1].tolist():
            members = np.flatnonzero(radii == radius)
            points, places = self._pack_radius(goal, radius, side, held, cells)
            ways = np.hypot(points[:, 0] - goal[0], points[:, 1] - goal[1]) + detours[places]
            # Equally far ones in the order of the cells.
            nearest = np.argsort(ways, kind="stable")[: members.size]
            if nearest.size:
                farthest = max(farthest, float(ways[nearest[-1]]))
            chosen = points[nearest]
            # The nearest bodies where there are too few slots.
            distances = ((positions[members] - goal) ** 2).sum(axis=1)
            members = members[np.argsort(distances, kind="stable")[: nearest.size]]
            slots[members] = chosen
            placed[members] = True
            held = np.concatenate([held, np.column_stack([chosen, np.full(len(chosen), radius)])])
        return farthest

    def _pack_radius(
        self,
        goal: tuple[float, float],
        radius: float,
        side: float,
        held: NDArray[np.float64],
        cells: NDArray[np.int64],
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return all slots of one radius beside discs that are held, and the places of cells."""
        room = self._room()
        while True:
            if len(held) > self._discs.x.size:
                self._discs = Discs.of(2 * len(held))
            discs = self._discs
            x, y, radii = (np.ascontiguousarray(column) for column in held.T)
            hold_discs_(x, y, radii, side, discs)
            places = np.empty(discs.x.size, np.int64)
            if pack_slots_(room, cells, *goal, radius, self._spacing, side, discs, places):
                new = slice(len(held), int(discs.used[0]))
                return np.column_stack([discs.x[new], discs.y[new]]), places[new]
            self._discs = Discs.of(2 * discs.x.size)

    def _room(self) -> Room:
        grid, movement = self._grid, self._movement
        space = grid.space(movement)
        walls = grid.space(Movement(movement.profile))
        return Room(
            grid.width,
            grid.height,
            *grid.region_position,
            space.cells.reshape(-1),
            space.open_table,
            walls.cells.reshape(-1),
            walls.open_table,
            movement.size == 1 and movement.radius == 0.0,
        )


def match_slots(positions: ArrayLike, slots: ArrayLike) -> NDArray[np.int64]:
    """Pair bodies with as many slots so that their straight ways hardly cross.

    Both are cut into strips across the way from the bodies' middle to the slots' middle, and
    paired in order: who is in front goes to the far side, who is on the left stays on the left.
    Then pairs swap as long as the sum of squared distances falls.

    Parameters
    ----------
    positions, slots : array-like of float, shape (n, 2)
        Finite points.

    Returns
    -------
    int64 array (n,)
        The slot of each body, each slot once. O(n log n).

    Raises
    ------
    InputError
        If they differ in number or are not finite.

    Examples
    --------
    >>> match_slots([(2, 0), (0, 0), (1, 0)], [(7, 0), (9, 0), (8, 0)]).tolist()
    [1, 0, 2]
    """
    bodies, targets = _checked_rows("positions", positions), _checked_rows("slots", slots)
    n = len(bodies)
    if len(targets) != n:
        raise InputError("slots", len(targets), "do not go with the positions", f"give {n}")
    result = np.empty(n, np.int64)
    if n:
        way = targets.mean(axis=0) - bodies.mean(axis=0)
        length = math.hypot(*way)
        along = way / length if length > 1e-9 else np.array([1.0, 0.0])
        order = _in_strips(bodies, along)
        slot = _in_strips(targets, along)
        bodies, targets = bodies[order], targets[slot]
        partner = np.arange(n)
        window = max(_PAIRS // n, _LEAST_WINDOW)
        rounds = 0
        while rounds < _MOST_ROUNDS and uncross_(bodies, targets, window, partner):
            rounds += 1
        result[order] = slot[partner]
    return result


def _in_strips(points: NDArray[np.float64], along: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the order of points by strips across a direction, and in a strip along it."""
    n = len(points)
    first = points @ along
    second = points @ np.array([-along[1], along[0]])
    ranks = np.empty(n, np.int64)
    ranks[np.lexsort((second, first))] = np.arange(n)
    n_strips = max(1, round(math.sqrt(n)))
    return np.lexsort((first, second, ranks * n_strips // n))


def _detours(
    grid: Grid, goal: tuple[float, float], cells: NDArray[np.int64], lengths: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return by how much walls make the way from the goal to each cell longer."""
    ox, oy = grid.region_position
    dx = np.abs(cells % grid.width + ox - math.floor(goal[0] + 0.5))
    dy = np.abs(cells // grid.width + oy - math.floor(goal[1] + 0.5))
    octile = np.maximum(dx, dy) + (math.sqrt(2.0) - 1.0) * np.minimum(dx, dy)
    return np.maximum(lengths - octile, 0.0)


def _few_radii(radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the radii, rounded up to a few where they are many."""
    least, most = float(radii.min()), float(radii.max())
    if np.unique(radii).size <= MOST_CLASSES:
        return radii
    steps = np.ceil((radii - least) / (most - least) * (MOST_CLASSES - 1))
    return np.maximum(radii, least + steps * (most - least) / (MOST_CLASSES - 1))


def _checked_rows(field: str, points: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(points) if isinstance(points, (list, tuple)) and not points else points
    if isinstance(array, np.ndarray) and array.size == 0:
        return np.empty((0, 2))
    rows = checked_points(field, array)
    if rows.ndim != 2:
        raise InputError(field, rows.shape, "is not a shape of points", "give the shape (n, 2)")
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        i = int(np.argmin(finite))
        raise InputError(
            f"{field}[{i}]", tuple(rows[i].tolist()), "is not finite", "give finite x and y"
        )
    return rows


def _checked_discs(
    field: str, points: ArrayLike, radii_field: str, radii: ArrayLike
) -> NDArray[np.float64]:
    """Return columns x, y, radius."""
    rows = _checked_rows(field, points)
    try:
        sizes = np.asarray(radii, np.float64)
    except (TypeError, ValueError):
        raise InputError(radii_field, radii, "are not numbers", "give one for each body") from None
    if sizes.shape != (len(rows),):
        raise InputError(
            radii_field, sizes.shape, "is not the shape of the bodies", f"give ({len(rows)},)"
        )
    good = (sizes >= 0.0) & (sizes <= LARGEST_RADIUS)
    if not good.all():
        i = int(np.argmin(good))
        raise InputError(
            f"{radii_field}[{i}]",
            float(sizes[i]),
            "is out of bounds",
            f"give cells from 0 to {LARGEST_RADIUS:g}",
        )
    return np.column_stack([rows, sizes])


def _warm_up() -> None:
    SlotPlanner(Grid([[0, 0]])).plan((0.0, 0.0), [(1.0, 0.0)], [0.25])


register_warm_up("goal slots", _warm_up)
