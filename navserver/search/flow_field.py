"""Flow fields: one search from the goals tells every cell of the map which way to go.

Sources: Treuille, Cooper and Popovic, "Continuum Crowds" (2006) for the idea of a potential that
many agents follow; Emerson, "Crowd Pathfinding and Steering Using Flow Field Tiles", Game AI Pro
(2013), chapter 23, for integration and direction fields and the line-of-sight flag.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver._jit import kernel, register_warm_up, subkernel
from navserver.search.costs import Terrain, cell_cost_
from navserver.search.fields import NO_DIRECTION, count_steps_, finish_single_, follow_
from navserver.search.grid import Grid, checked_grid, checked_movement, read_only
from navserver.search.line_of_sight import sees_
from navserver.search.movement import Movement, MovementOptions, movement_of
from navserver.search.moves import DX, DY
from navserver.search.nodes import CancelFlag, OneUser, unpack_cells
from navserver.search.validation import checked_points
from navserver.search.wavefront import Outcome, Wavefront, checked_sources
from navserver.status import GridChangedError, InputError

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["FieldArrays", "FlowField", "FlowFieldBuild", "FlowFields", "way_at_"]

MAX_SIGHT_RADIUS = 127
DEFAULT_SIGHT_RADIUS = 16

# A straight walk to a goal that is this little longer than the field says is as good.
SIGHT_TOLERANCE = 1.0 + 1e-6

# Nearer to a corner than this, a step through it is taken from where one stands.
AT_CORNER = 1e-4


@subkernel
def even_radius_(terrain: Terrain, goal: int, radius: int) -> int:
    """Return how far around a goal every open cell costs what the goal does, at most `radius`."""
    width = terrain.width
    goal_y = goal // width
    goal_x = goal - goal_y * width
    cost = cell_cost_(terrain, goal)
    for r in range(1, radius + 1):
        for y in range(max(goal_y - r, 0), min(goal_y + r + 1, terrain.height)):
            whole_row = abs(y - goal_y) == r
            for x in range(goal_x - r, goal_x + r + 1, 1 if whole_row else 2 * r):
                if 0 <= x < width:
                    cell = y * width + x
                    if (
                        terrain.open_table[terrain.space[cell]]
                        and cell_cost_(terrain, cell) != cost
                    ):
                        return r - 1
    return radius


@kernel
def mark_sight_(
    terrain: Terrain,
    goals: NDArray[np.int64],
    radius: int,
    is_even: bool,
    costs: NDArray[np.float32],
    sight: NDArray[np.uint16],
) -> None:
    """Write the way to the nearest goal that a cell may walk straight to, else leave it 0.

    Invariant: around a goal, as far as all cells cost the same, a free straight line to it costs
    its length; it is marked if the field knows nothing cheaper.
    """
    width = terrain.width
    for goal in goals:
        goal_y = goal // width
        goal_x = goal - goal_y * width
        reach = radius if is_even else even_radius_(terrain, goal, radius)
        unit = cell_cost_(terrain, goal)
        if terrain.cost_model == 2:
            unit *= unit
        for y in range(max(goal_y - reach, 0), min(goal_y + reach + 1, terrain.height)):
            for x in range(max(goal_x - reach, 0), min(goal_x + reach + 1, width)):
                cell = y * width + x
                dx = goal_x - x
                dy = goal_y - y
                away = dx * dx + dy * dy
                if away == 0 or math.sqrt(away) * unit > costs[cell] * SIGHT_TOLERANCE:
                    continue
                if not terrain.masks[cell]:
                    continue
                if sight[cell]:
                    other = np.int64(sight[cell])
                    other_x = (other >> 8) - 128
                    other_y = (other & 255) - 128
                    if other_x * other_x + other_y * other_y <= away:
                        continue
                if sees_(terrain.masks, width, cell, goal):
                    sight[cell] = ((dx + 128) << 8) | (dy + 128)


@subkernel
def leaves_freely_(moves: int, x: float, y: float, vx: float, vy: float) -> bool:
    """Return whether a ray from (x, y), seen from the cell's centre, leaves to an open cell."""
    time_x = np.inf
    if vx > 0.0:
        time_x = (0.5 - x) / vx
    elif vx < 0.0:
        time_x = (-0.5 - x) / vx
    time_y = np.inf
    if vy > 0.0:
        time_y = (0.5 - y) / vy
    elif vy < 0.0:
        time_y = (-0.5 - y) / vy
    # Near a corner both sides have to be open: rounding could choose either.
    horizontal = 0 if vx > 0.0 else 4
    vertical = 2 if vy > 0.0 else 6
    if time_x <= time_y * 1.001 and not (moves >> horizontal) & 1:
        return False
    return not (time_y <= time_x * 1.001 and not (moves >> vertical) & 1)


@subkernel
def leads_on_(field: FieldArrays, moves: int, cell: int, direction: int) -> bool:
    """Return whether a straight step leads to an open cell that is nearer to a goal.

    One that is not may send back whoever strays into it on a diagonal step.
    """
    if not (moves >> direction) & 1:
        return False
    beside = cell + DY[direction] * field.width + DX[direction]
    return bool(field.costs[beside] < field.costs[cell])


class FieldArrays(NamedTuple):
    """What kernels read of a field: flat arrays, and where its map lies."""

    costs: NDArray[np.float32]
    """``inf`` where no goal can be reached."""
    directions: NDArray[np.uint8]
    """The step, `NO_DIRECTION` at goals and out of their reach."""
    sight: NDArray[np.uint16]
    """The way to a goal in sight, 128 added to each axis, x in the upper byte; 0 for none."""
    masks: NDArray[np.uint8]
    width: int
    height: int
    origin_x: int
    origin_y: int


@subkernel
def way_at_(field: FieldArrays, px: float, py: float) -> tuple[float, float, bool]:
    """Return the vector from a point to what it is to walk to, and whether that is a goal.

    The point is one of cell space. The vector is zero where `FlowField.sample` has none.
    """
    px -= field.origin_x
    py -= field.origin_y
    if not (-0.5 <= px < field.width - 0.5 and -0.5 <= py < field.height - 0.5):
        return 0.0, 0.0, False
    column = math.floor(px + 0.5)
    row = math.floor(py + 0.5)
    cell = row * field.width + column
    direction = field.directions[cell]
    if direction == NO_DIRECTION:
        return 0.0, 0.0, False
    x = px - column
    y = py - row
    moves = np.int64(field.masks[cell])
    if field.sight[cell]:
        way = np.int64(field.sight[cell])
        vx = (way >> 8) - 128.0 - x
        vy = (way & 255) - 128.0 - y
        if leaves_freely_(moves, x, y, vx, vy):
            return vx, vy, True
    dx = DX[direction]
    dy = DY[direction]
    vx = dx - x
    vy = dy - y
    if direction & 1 and not (
        leads_on_(field, moves, cell, (direction + 1) & 7)
        and leads_on_(field, moves, cell, (direction - 1) & 7)
    ):
        # Beside a wall the only sure way is through the corner itself.
        vx = 0.5 * dx - x
        vy = 0.5 * dy - y
        if abs(vx) < AT_CORNER and abs(vy) < AT_CORNER:
            vx = float(dx)
            vy = float(dy)
    return vx, vy, False


@kernel
def sample_(
    costs: NDArray[np.float32],
    directions: NDArray[np.uint8],
    sight: NDArray[np.uint16],
    masks: NDArray[np.uint8],
    width: int,
    height: int,
    origin_x: int,
    origin_y: int,
    positions: NDArray[np.float64],
    vectors: NDArray[np.float32],
) -> None:
    """Write a unit vector for each position, or zero."""
    field = FieldArrays(costs, directions, sight, masks, width, height, origin_x, origin_y)
    for i in range(positions.shape[0]):
        vx, vy, _ = way_at_(field, positions[i, 0], positions[i, 1])
        norm = math.sqrt(vx * vx + vy * vy)
        vectors[i, 0] = vx / norm if norm > 0.0 else 0.0
        vectors[i, 1] = vy / norm if norm > 0.0 else 0.0


class FlowField:
    """The way from every cell to the nearest of some goals, for any number of bodies.

    Parameters
    ----------
    grid : Grid
        The map.
    goals : array-like of int, shape (n, 2)
        Open cells, at least one.
    sight_radius : int
        How far around each goal, 0 to 127 cells, to find the cells that may walk straight to it.
    cancel : CancelFlag, optional
        Stops the building from another thread.
    **movement
        Keywords of `Movement`.

    Raises
    ------
    InputError
        If an option is out of its bounds, a goal is blocked (names it), or the building was
        cancelled.

    Notes
    -----
    Costs are those of going to a goal, rounded to float32 (relative error 6e-8, at most 3.4e38);
    directions come from the exact search. The field stays as it is when the grid is edited:
    `is_current` tells. Building takes time linear in the map where steps cost nearly alike,
    O(n log n) at worst; a field holds 7 bytes a cell (2 of which the system gives only around the
    goals), its building needs 9 more. To build in slices see `FlowFieldBuild`, to keep fields
    `FlowFields`.

    Examples
    --------
    >>> field = FlowField(Grid.filled(4, 1), [(3, 0)])
    >>> field.costs.tolist(), field.sample([(0.25, 0.0)]).tolist()
    ([[3.0, 2.0, 1.0, 0.0]], [[1.0, 0.0]])
    """

    def __init__(
        self,
        grid: Grid,
        goals: ArrayLike,
        *,
        sight_radius: int = DEFAULT_SIGHT_RADIUS,
        cancel: CancelFlag | None = None,
        **movement: Unpack[MovementOptions],
    ) -> None:
        search = Wavefront(grid, checked_movement(grid, movement, FlowField))
        flat = checked_sources(search.terrain, grid, "goals", goals)
        radius = _checked_radius(sight_radius)
        search.begin(flat, reverse=True)
        search.advance(cancel=cancel)
        self._complete(search, flat, radius, cancel)

    def _complete(
        self,
        search: Wavefront,
        goals: NDArray[np.int64],
        radius: int,
        cancel: CancelFlag | None = None,
    ) -> None:
        """Take over what a search that has ended has found."""
        if search.outcome == Outcome.CANCELLED:
            raise InputError(
                "cancel", cancel, "stopped the building", "clear the flag and build again"
            )
        grid, terrain = search.grid, search.terrain
        self.movement = search.movement
        """What the field is for."""
        self.map_version = search.map_version
        """Version of the grid that was searched."""
        self.metrics = search.metrics
        """What the search did."""
        self.region_position = grid.region_position
        """The cell of the arrays' top left corner."""
        self._grid = grid
        self._goals = goals
        self._masks = terrain.masks
        self._costs = np.empty(grid.size, np.float32)
        self._directions = np.empty(grid.size, np.uint8)
        finish_single_(search.field, search.unit, search.turn, self._costs, self._directions)
        # Zeroed by the system page by page.
        self._sight = np.zeros(grid.size, np.uint16)
        if radius > 0:
            is_even = search.unit > 0.0
            mark_sight_(terrain, goals, radius, is_even, self._costs, self._sight)

    @property
    def costs(self) -> NDArray[np.float32]:
        """float32 array (height, width), the integration field, read-only; ``inf`` out of reach."""
        return read_only(self._costs.reshape(self._grid.height, self._grid.width))

    @property
    def directions(self) -> NDArray[np.uint8]:
        """uint8 array (height, width), read-only: the step, 255 at goals and out of their reach.

        Direction ``d`` is ``(DX[d], DY[d])`` of `navserver.search.moves`.
        """
        return read_only(self._directions.reshape(self._grid.height, self._grid.width))

    @property
    def arrays(self) -> FieldArrays:
        """The field as kernels read it: its own arrays, not copies."""
        grid = self._grid
        return FieldArrays(
            self._costs, self._directions, self._sight, self._masks, grid.width, grid.height,
            *self.region_position,
        )  # fmt: skip

    @property
    def line_of_sight(self) -> NDArray[np.bool_]:
        """Bool array (height, width): cells whose best way is straight to a goal that they see.

        Only within the sight radius, and as far around a goal as all open cells cost what the
        goal does.
        """
        flags: NDArray[np.bool_] = self._sight != 0
        return flags.reshape(self._grid.height, self._grid.width)

    @property
    def goals(self) -> NDArray[np.int32]:
        """int32 array (n, 2): the goals."""
        return unpack_cells(self._goals, self._grid.width, self.region_position)

    @property
    def is_current(self) -> bool:
        """Whether the grid is still as it was searched."""
        return self.map_version == self._grid.version

    def is_of(self, grid: Grid) -> bool:
        """Return whether the field was built on a grid.

        Parameters
        ----------
        grid : Grid
            The very object; an equal one does not count.

        Returns
        -------
        bool
            Whatever the versions, see `is_current`.
        """
        return self._grid is grid

    @property
    def nbytes(self) -> int:
        """Bytes held at most; the system gives those of sight only around the goals."""
        return self._costs.nbytes + self._directions.nbytes + self._sight.nbytes

    def cost_at(self, cell: tuple[int, int]) -> float:
        """Return the cost from a cell to the nearest goal.

        Parameters
        ----------
        cell : (int, int)
            x and y.

        Returns
        -------
        float
            ``inf`` where no goal can be reached.

        Raises
        ------
        CellError
            If the cell lies outside the map.
        """
        return float(self._costs[self._grid.flat_index(cell)])

    def path_from(self, cell: tuple[int, int]) -> NDArray[np.int32]:
        """Return the cells from one to its goal along the directions.

        Parameters
        ----------
        cell : (int, int)
            x and y.

        Returns
        -------
        int32 array (n, 2)
            Both ends included, a path of least cost; (0, 2) where no goal can be reached.

        Raises
        ------
        CellError
            If the cell lies outside the map.
        """
        flat = self._grid.flat_index(cell)
        width = self._grid.width
        steps = -1
        if self._costs[flat] < math.inf:
            steps = count_steps_(self._directions, width, flat, 1)
        cells = np.empty(steps + 1, np.int64)
        follow_(self._directions, width, flat, 1, cells)
        return unpack_cells(cells, width, self.region_position)

    def sample(
        self, positions: ArrayLike, out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Return which way to go at many positions.

        The cell that holds a position decides: where its line of sight is flagged the vector
        points at the goal, else at the centre of the next cell. It never points into a wall: a
        ray towards the goal that would leave the cell into one gives way to the next cell, and
        a diagonal step beside a wall is aimed at the corner, as is one beside a cell that is no
        nearer to a goal.

        Parameters
        ----------
        positions : array-like of float, shape (n, 2)
            In cells: a cell's centre is at its whole numbers.
        out : float32 array (n, 2), optional
            Receives the result; C-contiguous and writeable.

        Returns
        -------
        float32 array (n, 2)
            Unit vectors; zero in goal cells, where no goal can be reached, in walls, outside
            the map and for positions that are not finite.

        Raises
        ------
        InputError
            If the positions are not of shape (n, 2), or `out` cannot receive the vectors.
        GridChangedError
            If the grid was edited: a vector could point into a new wall.
        """
        # Another layout, or an array that is read-only, would compile the kernel once more.
        points = np.require(checked_points("positions", positions), requirements=["C", "W"])
        if points.ndim != 2:
            raise InputError("positions", points.shape, "is not a list of positions", "give (n, 2)")
        if not self.is_current:
            raise GridChangedError(
                f"the grid went from version {self.map_version} to {self._grid.version} since "
                "the field was built; build it again"
            )
        if out is None:
            out = np.empty(points.shape, np.float32)
        elif not _can_receive(out, points.shape):
            given = (
                f"{out.dtype} array of shape {out.shape}" if isinstance(out, np.ndarray) else out
            )
            raise InputError(
                "out", given, "cannot receive the vectors",
                f"give a writeable, contiguous float32 array of shape {points.shape}",
            )  # fmt: skip
        sample_(*self.arrays, points, out)
        return out


def _can_receive(out: object, shape: tuple[int, ...]) -> bool:
    return (
        isinstance(out, np.ndarray)
        and out.shape == shape
        and out.dtype == np.float32
        and out.flags.c_contiguous
        and out.flags.writeable
    )


class FlowFieldBuild:
    """The building of one flow field in slices.

    Parameters
    ----------
    grid, goals, sight_radius, **movement
        As for `FlowField`.

    Examples
    --------
    >>> build = FlowFieldBuild(Grid.filled(64, 64), [(0, 0)])
    >>> while not build.advance(1000):
    ...     pass
    >>> build.finish().cost_at((5, 0))
    5.0
    """

    def __init__(
        self,
        grid: Grid,
        goals: ArrayLike,
        *,
        sight_radius: int = DEFAULT_SIGHT_RADIUS,
        **movement: Unpack[MovementOptions],
    ) -> None:
        self._search = Wavefront(grid, checked_movement(grid, movement, FlowFieldBuild))
        self._in_use = OneUser("FlowFieldBuild")
        self._goals = checked_sources(self._search.terrain, grid, "goals", goals)
        self._radius = _checked_radius(sight_radius)
        self._search.begin(self._goals, reverse=True)

    def advance(self, budget: int, cancel: CancelFlag | None = None) -> bool:
        """Go on for a slice; slices change nothing in the field.

        Parameters
        ----------
        budget : int
            About how many cells, 1 or more; 100,000 take 1 to 10 ms.
        cancel : CancelFlag, optional
            Stops the building from another thread.

        Returns
        -------
        bool
            True when `finish` is due.

        Raises
        ------
        GridChangedError
            If the grid was edited since the building began.
        """
        with self._in_use:
            return self._search.advance(budget, cancel)

    def finish(self) -> FlowField:
        """Return the field.

        Returns
        -------
        FlowField
            The same as one built at once.

        Raises
        ------
        InputError
            If `advance` has not returned True, or the building was cancelled.
        GridChangedError
            If the grid was edited since the building began.
        """
        if self._search.outcome == Outcome.RUNNING:
            raise InputError("build", self, "has not ended", "call advance until it returns True")
        with self._in_use:
            self._search.advance()
            field = FlowField.__new__(FlowField)
            field._complete(self._search, self._goals, self._radius)
        return field


class FlowFields:
    """Flow fields of one grid, kept for the goals and movements asked for last.

    Parameters
    ----------
    grid : Grid
        The map; fields of its earlier versions are dropped.
    max_bytes : int
        What may be held; the field asked for last is kept whatever its size.

    Notes
    -----
    Threads may share one object; they build one field at a time.

    Examples
    --------
    >>> fields = FlowFields(Grid.filled(8, 8))
    >>> fields.get([(0, 0)]) is fields.get([(0, 0)]), fields.hit_rate
    (True, 0.5)
    """

    def __init__(self, grid: Grid, max_bytes: int = 1 << 28) -> None:
        if not isinstance(max_bytes, (int, np.integer)) or max_bytes < 0:
            raise InputError("max_bytes", max_bytes, "is not a size", "give bytes, 0 or more")
        self.max_bytes = int(max_bytes)
        """What may be held."""
        self.hits = 0
        """Fields found."""
        self.misses = 0
        """Fields built."""
        self._grid = checked_grid(grid)
        self._fields: OrderedDict[tuple[bytes, Movement, int], FlowField] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of fields held."""
        return len(self._fields)

    @property
    def nbytes(self) -> int:
        """Bytes held now."""
        return sum(field.nbytes for field in self._fields.values())

    @property
    def hit_rate(self) -> float:
        """Share of fields asked for that were found; 0 before the first."""
        return self.hits / max(self.hits + self.misses, 1)

    def get(
        self,
        goals: ArrayLike,
        *,
        sight_radius: int = DEFAULT_SIGHT_RADIUS,
        cancel: CancelFlag | None = None,
        **movement: Unpack[MovementOptions],
    ) -> FlowField:
        """Return the field of some goals for the grid as it is now.

        Parameters
        ----------
        goals, sight_radius, cancel, **movement
            As for `FlowField`. The order of goals and their repetition make no difference.

        Returns
        -------
        FlowField
            One that is held, or a new one.

        Raises
        ------
        InputError
            As for `FlowField`.
        """
        grid = self._grid
        options = movement_of(movement, self.get)
        radius = _checked_radius(sight_radius)
        cells = np.unique(grid.flat_indices(goals, "goals"))
        key = (cells.tobytes(), options, radius)
        with self._lock:
            for stale in [key for key, field in self._fields.items() if not field.is_current]:
                del self._fields[stale]
            field = self._fields.get(key)
            if field is not None:
                self._fields.move_to_end(key)
                self.hits += 1
                return field
            field = FlowField(grid, goals, sight_radius=radius, cancel=cancel, **movement)
            self.misses += 1
            self._fields[key] = field
            while len(self._fields) > 1 and self.nbytes > self.max_bytes:
                self._fields.popitem(last=False)
            return field


def _checked_radius(radius: object) -> int:
    if isinstance(radius, (int, np.integer)) and 0 <= radius <= MAX_SIGHT_RADIUS:
        return int(radius)
    raise InputError(
        "sight_radius", radius, "is out of bounds", f"give cells from 0 to {MAX_SIGHT_RADIUS}"
    )


def _warm_up() -> None:
    field = FlowField(Grid([[0, 0]]), [(0, 0)])
    field.sample([(1.0, 0.0)])
    field.path_from((1, 0))


register_warm_up("flow fields", _warm_up)
