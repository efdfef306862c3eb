"""`Movers`: a table of bodies on one grid, one row each, named by handles that never dangle."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.movers.columns import REST, Columns, EventFlag, MoverState
from navserver.movers.properties import (
    FURTHEST,
    PROPERTIES,
    checked_handles,
    checked_offsets,
    checked_positions,
    checked_property,
    checked_velocities,
)
from navserver.movers.routes import Routes
from navserver.movers.sight import Ground, first_blocked_path_, ground_of
from navserver.movers.standing import nearest_standing
from navserver.search.batch import PathBatch
from navserver.search.flow_field import FieldArrays, FlowField
from navserver.search.grid import Grid, read_only
from navserver.search.movement import Movement
from navserver.status import InputError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Movers"]

MOST_MOVERS = 1 << 24
MOVING = (MoverState.PATH, MoverState.FIELD, MoverState.STEERED)
MOST_MOVEMENTS = 256

_LEAST_CAPACITY = 64


S = TypeVar("S", bound=np.generic)


class _View(Generic[S]):
    """A column as an attribute: its rows in use, read-only."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, movers: None, owner: type) -> Self: ...

    @overload
    def __get__(self, movers: Movers, owner: type) -> NDArray[S]: ...

    def __get__(self, movers: Movers | None, owner: type) -> Self | NDArray[S]:
        if movers is None:
            return self
        return read_only(getattr(movers.columns, self._name)[: movers.slots])


class Followed(NamedTuple):
    """A flow field that movers follow, as kernels read it."""

    field: FlowField
    arrays: FieldArrays
    ground: Ground


class Movers:
    """Bodies on one grid, as a structure of arrays.

    A mover is known by its handle, an int64 ``generation << 32 | slot``. Its slot is its row in
    every array for as long as it lives; once it is removed the slot may be given to another mover,
    under another handle, and the old handle is refused. Handles are positive and never repeat.

    The arrays (`position`, `velocity`, `state`, ...) are read-only views of the rows ``0`` to
    `slots` - 1, those of removed movers among them (their `state` is FREE). They show the present
    until the table grows in `add`; ask for them anew then.

    Parameters
    ----------
    grid : Grid
        The map. Its cells must lie within -16384..16384.
    movement : Movement, optional
        What blocks movers that are added without one of their own.

    Raises
    ------
    InputError
        If that is no map or no movement, or the map lies too far out.

    Notes
    -----
    A mover takes 137 bytes, and 8 more a waypoint. Positions are float32 in cell space: the centre
    of cell (x, y) is the point (x, y); `Grid.world_to_cell_space` and `Grid.cell_to_world` convert.
    One thread at a time may use a table.

    Examples
    --------
    >>> movers = Movers(Grid.filled(8, 8))
    >>> units = movers.add([(1, 1), (2.5, 3)], radius=0.4, max_speed=4.0)
    >>> movers.of("position", units).tolist()
    [[1.0, 1.0], [2.5, 3.0]]
    >>> movers.remove(units[:1])
    >>> len(movers), movers.is_alive(units).tolist()
    (1, [False, True])
    """

    state = _View[np.uint8]()
    """uint8 array (slots,): a `MoverState`, FREE for rows without a mover."""
    position = _View[np.float32]()
    """float32 array (slots, 2): in cell space."""
    velocity = _View[np.float32]()
    """float32 array (slots, 2): cells a second, at the end of the last step."""
    goal = _View[np.float32]()
    """float32 array (slots, 2): where a mover was sent last, at first where it was added."""
    radius = _View[np.float32]()
    """float32 array (slots,): cells."""
    max_speed = _View[np.float32]()
    """float32 array (slots,): cells a second."""
    acceleration = _View[np.float32]()
    """float32 array (slots,): cells a second squared."""
    turn_rate = _View[np.float32]()
    """float32 array (slots,): radians a second."""
    slowing_distance = _View[np.float32]()
    """float32 array (slots,): cells."""
    arrival_radius = _View[np.float32]()
    """float32 array (slots,): cells."""
    priority = _View[np.float32]()
    """float32 array (slots,): 0 to 1."""
    layers = _View[np.uint32]()
    """uint32 array (slots,): what a mover is to others."""
    mask = _View[np.uint32]()
    """uint32 array (slots,): which layers it avoids."""

    def __init__(self, grid: Grid, movement: Movement | None = None) -> None:
        if not isinstance(grid, Grid):
            raise InputError("grid", grid, "is not a map", "give a Grid")
        if movement is not None and not isinstance(movement, Movement):
            raise InputError("movement", movement, "is not a Movement", "give Movement(...)")
        ox, oy = grid.region_position
        if max(abs(ox), abs(oy), abs(ox + grid.width), abs(oy + grid.height)) > FURTHEST:
            raise InputError(
                "grid", grid, "lies too far out for positions in float32",
                f"keep its region within -{FURTHEST}..{FURTHEST}, and put what is left into "
                "its transform",
            )  # fmt: skip
        self.grid = grid
        """The map."""
        self.movements: list[Movement] = [Movement() if movement is None else movement]
        """What blocks movers, by the number in their column `movement`."""
        self.columns = Columns.of(_LEAST_CAPACITY)
        """The arrays to write to; for the phases of a step."""
        self.routes = Routes(self.columns)
        """The waypoints."""
        self.slots = 0
        """How many rows were ever used."""
        self._free = np.empty(_LEAST_CAPACITY, np.int64)
        self._n_free = 0
        self._n_alive = 0
        self._grounds: dict[int, Ground] = {}
        self._grounds_version = -1
        self.some_are_steered = False
        """False if no mover of the table was ever steered."""
        self._flagged = 0
        self._fields: dict[int, Followed] = {}

    def __len__(self) -> int:
        """Return how many movers there are."""
        return self._n_alive

    def __repr__(self) -> str:
        """Return the count and the map."""
        return f"<Movers {len(self)} on {self.grid!r}>"

    # Adding and removing

    def add(
        self,
        positions: ArrayLike,
        *,
        radius: ArrayLike,
        max_speed: ArrayLike,
        acceleration: ArrayLike = math.inf,
        turn_rate: ArrayLike = math.inf,
        slowing_distance: ArrayLike = 0.0,
        arrival_radius: ArrayLike = 0.0,
        priority: ArrayLike = 1.0,
        layers: ArrayLike = 1,
        mask: ArrayLike = 1,
        movement: Movement | None = None,
    ) -> NDArray[np.int64]:
        """Add movers that stand still.

        Parameters
        ----------
        positions : array-like of float, shape (n, 2)
            In cell space, each in a cell that is open to the movement.
        radius : array-like of float, shape (n,) or scalar
            In cells, 0 to 32.
        max_speed : array-like of float, shape (n,) or scalar
            Cells a second, 0 to 1e6.
        acceleration : array-like of float, shape (n,) or scalar
            Most change of speed a second, more than 0; default: no limit.
        turn_rate : array-like of float, shape (n,) or scalar
            Radians a second, more than 0; default: no limit.
        slowing_distance : array-like of float, shape (n,) or scalar
            How far before its goal a mover begins to brake, at least.
        arrival_radius : array-like of float, shape (n,) or scalar
            How near the goal counts as there.
        priority : array-like of float, shape (n,) or scalar
            0 to 1: a mover gives way to those of equal or higher priority.
        layers, mask : array-like of int, shape (n,) or scalar
            32 bits: a mover avoids those whose layers meet its mask.
        movement : Movement, optional
            What blocks them; default: that of the table.

        Returns
        -------
        int64 array (n,)
            Their handles.

        Raises
        ------
        InputError
            If a value is out of its bounds or a position is not in an open cell; names the row,
            and nothing is added.
        """
        points = checked_positions("positions", positions)
        n = len(points)
        values = {
            name: checked_property(name, given, n)
            for name, given in {
                "radius": radius,
                "max_speed": max_speed,
                "acceleration": acceleration,
                "turn_rate": turn_rate,
                "slowing_distance": slowing_distance,
                "arrival_radius": arrival_radius,
                "priority": priority,
                "layers": layers,
                "mask": mask,
            }.items()
        }
        known = len(self.movements)
        which = self._movement_number(movement)
        try:
            self._check_open(points, np.full(n, which, np.uint8))
        except InputError:
            del self.movements[known:]
            raise
        rows = self._take_slots(n)
        self._n_alive += n
        columns = self.columns
        columns.reset(rows)
        columns.state[rows] = MoverState.IDLE
        columns.movement[rows] = which
        for name, value in values.items():
            getattr(columns, name)[rows] = value
        self._note_limits(rows)
        columns.position[rows] = columns.target[rows] = columns.goal[rows] = points
        return self.handles_of(rows)

    def remove(self, handles: ArrayLike) -> None:
        """Remove movers.

        Parameters
        ----------
        handles : array-like of int, shape (n,)
            Each once.

        Raises
        ------
        InputError
            If a handle is not that of a mover, or stands twice; then nothing is removed.
        """
        rows = self.checked_rows(handles)
        columns = self.columns
        columns.reset(rows)
        columns.generation[rows] += 1
        self._n_alive -= rows.size
        # A slot whose generations are used up is given to nobody any more.
        rows = rows[columns.generation[rows] < np.iinfo(np.int32).max]
        self._free[self._n_free : self._n_free + rows.size] = rows
        self._n_free += rows.size

    def _take_slots(self, n: int) -> NDArray[np.int64]:
        reused = min(n, self._n_free)
        self._n_free -= reused
        # The slot freed last comes first: its rows are the most likely to be in the cache.
        old = self._free[self._n_free : self._n_free + reused][::-1]
        fresh = np.arange(self.slots, self.slots + n - reused)
        rows = np.concatenate([old, fresh])
        self.slots += fresh.size
        if self.slots > MOST_MOVERS:
            self.slots -= fresh.size
            self._n_free += reused
            raise InputError("positions", n, "movers are too many", f"keep to {MOST_MOVERS}")
        self._reserve(self.slots)
        return rows

    def _reserve(self, slots: int) -> None:
        capacity = len(self.columns.state)
        if slots > capacity:
            while capacity < slots:
                capacity *= 2
            self.columns.grow(capacity)
            free = np.empty(capacity, np.int64)
            free[: self._n_free] = self._free[: self._n_free]
            self._free = free

    @property
    def free_slots(self) -> NDArray[np.int64]:
        """int64 array (k,): slots of removed movers; the last is given first. A copy."""
        return self._free[: self._n_free].copy()

    def restore(self, arrays: dict[str, NDArray[Any]], free_slots: NDArray[np.int64]) -> None:
        """Take over the rows of another table; for loading into a new one.

        Parameters
        ----------
        arrays : dict of str to array
            All columns but those of routes, of one length.
        free_slots : int64 array (k,)
            As the other's.
        """
        self.slots = len(arrays["state"])
        self._reserve(self.slots)
        for name, array in arrays.items():
            getattr(self.columns, name)[: self.slots] = array
        self._free[: free_slots.size] = free_slots
        self._n_free = free_slots.size
        self._n_alive = int(np.count_nonzero(arrays["state"]))
        self.some_are_steered = bool((arrays["state"] == MoverState.STEERED).any())

    # Handles

    def handles_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the handles of the movers in some slots.

        Parameters
        ----------
        rows : int64 array (n,)
            Slots.

        Returns
        -------
        int64 array (n,)
            Those of the slots' present generation.
        """
        return (self.columns.generation[rows].astype(np.int64) << 32) | rows

    def handles(self) -> NDArray[np.int64]:
        """Return the handles of all movers.

        Returns
        -------
        int64 array (n,)
            In the order of their slots.
        """
        return self.handles_of(np.flatnonzero(self.columns.state[: self.slots]))

    def rows_of(self, handles: ArrayLike, field: str = "handles") -> NDArray[np.int64]:
        """Return the slots of movers.

        Parameters
        ----------
        handles : array-like of int, shape (n,)
            Handles.
        field : str
            How an error names them.

        Returns
        -------
        int64 array (n,)
            Slots, the index into every array.

        Raises
        ------
        InputError
            If a handle is not that of a mover, as after its removal; names the row.
        """
        array = checked_handles(field, handles)
        rows = array & 0xFFFFFFFF
        alive = self._are_alive(array, rows)
        if not alive.all():
            i = int(np.argmin(alive))
            raise InputError(
                f"{field}[{i}]", int(array[i]), "is not the handle of a mover",
                "forget handles once you have removed their movers",
            )  # fmt: skip
        return rows

    def is_alive(self, handles: ArrayLike) -> NDArray[np.bool_]:
        """Return which handles are those of movers.

        Parameters
        ----------
        handles : array-like of int, shape (n,)
            Any integers.

        Returns
        -------
        bool array (n,)
            False for movers that were removed.
        """
        array = checked_handles("handles", handles)
        return self._are_alive(array, array & 0xFFFFFFFF)

    def _are_alive(self, handles: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        known = rows < self.slots
        rows = np.where(known, rows, 0)
        columns = self.columns
        return (
            known
            & (columns.generation[rows] == handles >> 32)
            & (columns.state[rows] != MoverState.FREE)
        )

    # Reading

    def of(self, name: str, handles: ArrayLike) -> NDArray[Any]:
        """Return one property of some movers.

        Parameters
        ----------
        name : str
            A column, as ``"position"``.
        handles : array-like of int, shape (n,)
            Whose.

        Returns
        -------
        array (n,) or (n, 2)
            A copy, in the order of the handles.

        Raises
        ------
        InputError
            If there is no such column, or a handle is not that of a mover.
        """
        rows = self.rows_of(handles)
        array: NDArray[Any] = self._column(name)[rows]
        return array

    def _column(self, name: str) -> NDArray[Any]:
        arrays = self.columns.arrays()
        if not isinstance(name, str) or name not in arrays:
            raise InputError(
                "name", name, "is not a column of movers", f"choose one of {', '.join(arrays)}"
            )
        return arrays[name]

    # Sending

    def set_paths(self, handles: ArrayLike, points: ArrayLike, offsets: ArrayLike) -> None:
        """Send movers along waypoints, each from where it is.

        Parameters
        ----------
        handles : array-like of int, shape (n,)
            Movers, each once.
        points : array-like of float, shape (m, 2)
            The waypoints of all paths in cell space, one path after the other. The first may be
            where the mover is; each is walked to straight from the one before.
        offsets : array-like of int, shape (n + 1,)
            Path i is ``points[offsets[i]:offsets[i + 1]]``. A mover whose path is empty stops, and
            the next step's events name it in `repath_wanted`.

        Raises
        ------
        InputError
            If a straight line to a waypoint is not free (names it), or anything is out of bounds;
            then nothing has changed.
        """
        rows = self.checked_rows(handles)
        waypoints = checked_positions("points", points)
        bounds = checked_offsets(offsets, rows.size, len(waypoints))
        self._check_free(rows, waypoints, bounds)
        self.start_routes(rows, waypoints, bounds)
        self.begin_anew(rows)

    def set_path_batch(self, handles: ArrayLike, batch: PathBatch) -> None:
        """Send movers along the paths of a batch of searches.

        Parameters
        ----------
        handles : array-like of int, shape (n,)
            Movers, each once; mover i takes path i.
        batch : PathBatch
            As `find_paths` gives it. Movers without a path stop.

        Raises
        ------
        InputError
            As for `set_paths`.
        """
        self.set_paths(handles, batch.cells, batch.offsets)

    def set_field(self, handles: ArrayLike, field: FlowField) -> None:
        """Send movers where a flow field leads, any number of them to the nearest of its goals.

        Parameters
        ----------
        handles : array-like of int, shape (n,)
            Movers, each once.
        field : FlowField
            Of this grid as it is now, and of a movement that blocks as theirs. Once the grid is
            edited its followers stop, and are named in `path_blocked` and `repath_wanted`.

        Raises
        ------
        InputError
            If the field does not go with the movers; nothing has changed then.
        """
        rows = self.checked_rows(handles)
        if not isinstance(field, FlowField):
            raise InputError("field", field, "is not a flow field", "give FlowField(grid, goals)")
        if not field.is_of(self.grid) or not field.is_current:
            raise InputError(
                "field", field, "is not of the movers' map as it is now", "build it again"
            )
        for which in np.unique(self.columns.movement[rows]).tolist():
            movement = self.movements[which]
            if (
                movement.space_key != field.movement.space_key
                or movement.diagonal_mode != field.movement.diagonal_mode
            ):
                raise InputError(
                    "field", field.movement, "is the movement of other bodies",
                    f"build the field for {movement}",
                )  # fmt: skip
        columns = self.columns
        self.routes.drop(rows)
        columns.state[rows] = MoverState.FIELD
        columns.flow_field[rows] = self._field_number(field)
        self.leave_rails(rows)

    def _field_number(self, field: FlowField) -> int:
        used = set(np.unique(self.columns.flow_field[: self.slots]).tolist())
        self._fields = {which: other for which, other in self._fields.items() if which in used}
        for which, other in self._fields.items():
            if other.field is field:
                return which
        which = next(number for number in itertools.count() if number not in used)
        self._fields[which] = Followed(field, field.arrays, ground_of(self.grid, field.movement))
        return which

    def steer(
        self,
        handles: ArrayLike,
        velocities: ArrayLike,
        *,
        positions: ArrayLike | None = None,
        current_velocities: ArrayLike | None = None,
    ) -> None:
        """Let movers go by velocities of yours, as those of `navserver.movers.steering`.

        They give up what they were doing, and go by these until they are steered anew, sent
        somewhere or stopped: within their top speed and their limits, along walls and not into
        them, and where the stepper lets movers avoid each other, around the others.

        Parameters
        ----------
        handles : array-like of int, shape (n,)
            Movers, each once.
        velocities : array-like of float, shape (n, 2) or (2,)
            Cells a second, within 1e6; one for all, or one each.
        positions : array-like of float, shape (n, 2), optional
            Where each is by now, in cell space, if something else has moved it as well. One in a
            wall or off the map stands for the nearest point where the mover may be.
        current_velocities : array-like of float, shape (n, 2) or (2,), optional
            How each moves by now, for others to expect and its limits to begin from; by default as
            at the end of the last step.

        Raises
        ------
        InputError
            If a velocity or position is not finite or out of its bounds (names it), no cell is
            open to a mover, or a handle is not that of a mover; nothing has changed then.

        Examples
        --------
        >>> from navserver.movers.steering import seek
        >>> from navserver.movers.stepper import Stepper
        >>> movers = Movers(Grid.filled(8, 8))
        >>> units = movers.add([(1, 1), (2, 5)], radius=0.4, max_speed=2.0)
        >>> stepper = Stepper(movers)
        >>> for _ in range(30):
        ...     movers.steer(units, seek(movers.of("position", units), (6, 1), 2.0))
        ...     events = stepper.step(1 / 60)
        >>> movers.of("position", units[:1]).round(3).tolist()
        [[2.0, 1.0]]
        """
        rows = self.checked_rows(handles)
        wished = checked_velocities("velocities", velocities, rows.size)
        places, current = None, None
        if current_velocities is not None:
            current = checked_velocities("current_velocities", current_velocities, rows.size)
        if positions is not None:
            points = checked_positions("positions", positions)
            _check_count("positions", points, rows)
            places = nearest_standing(
                self.grid, self.movements, self.columns.movement[rows], points
            )
        columns = self.columns
        if places is not None:
            columns.position[rows] = places
        fresh = rows[columns.state[rows] != MoverState.STEERED]
        velocity = columns.velocity[fresh]
        self.halt(fresh, MoverState.STEERED)
        columns.velocity[fresh] = velocity
        self._forget_order(fresh)
        columns.steering[rows] = wished
        if current is not None:
            columns.velocity[rows] = current
        self.some_are_steered = True
        self.leave_rails(fresh if places is None else rows)

    def stop(self, handles: ArrayLike) -> None:
        """Let movers stand where they are, without a goal.

        Parameters
        ----------
        handles : array-like of int, shape (n,)
            Movers.
        """
        rows = self.rows_of(handles)
        self.halt(rows, MoverState.IDLE)
        self._forget_order(rows)

    def _forget_order(self, rows: NDArray[np.int64]) -> None:
        """Let movers belong where they stand: who rests goes back to its goal."""
        columns = self.columns
        columns.group[rows] = columns.anchor[rows] = -1
        columns.goal[rows] = columns.position[rows]
        columns.wants_way[rows] = 0

    def place(self, handles: ArrayLike, positions: ArrayLike) -> None:
        """Put movers somewhere else, standing still.

        Movers on a route lose it and want a new one; followers of a flow field go on.

        Parameters
        ----------
        handles : array-like of int, shape (n,)
            Movers, each once.
        positions : array-like of float, shape (n, 2)
            In cell space, each in an open cell.

        Raises
        ------
        InputError
            If a position is not in an open cell; names it, and nothing has changed.
        """
        rows = self.checked_rows(handles)
        points = checked_positions("positions", positions)
        _check_count("positions", points, rows)
        columns = self.columns
        self._check_open(points, columns.movement[rows])
        columns.position[rows] = points
        walked = columns.state[rows] == MoverState.PATH
        rested = rows[columns.state[rows] == MoverState.IDLE]
        fields = rows[columns.state[rows] == MoverState.FIELD]
        self.halt(rows[walked], MoverState.WAITING)
        self.flag(rows[walked], EventFlag.REPATH_WANTED)
        self.halt(rows[~walked & (columns.state[rows] != MoverState.FIELD)], MoverState.IDLE)
        self._forget_order(rested)
        columns.velocity[fields] = 0.0
        self.leave_rails(fields)

    def set(self, handles: ArrayLike, **properties: ArrayLike) -> None:
        """Change properties of movers.

        Parameters
        ----------
        handles : array-like of int, shape (n,)
            Movers, each once.
        **properties
            Keywords of `add` but for positions and movement, each a scalar or of shape (n,).

        Raises
        ------
        InputError
            If there is no such property or a value is out of its bounds; nothing has changed then.
        """
        rows = self.checked_rows(handles)
        for name, given in properties.items():
            if name not in PROPERTIES:
                raise InputError(
                    name, given, "is not a property of movers",
                    f"choose among {', '.join(PROPERTIES)}",
                )  # fmt: skip
        values = {
            name: checked_property(name, given, rows.size) for name, given in properties.items()
        }
        for name, value in values.items():
            getattr(self.columns, name)[rows] = value
        self._note_limits(rows)
        self.leave_rails(rows)

    def _note_limits(self, rows: NDArray[np.int64]) -> None:
        columns = self.columns
        slowing = columns.slowing_distance[rows].astype(np.float64)
        top = columns.max_speed[rows].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gentle = np.where(slowing > 0.0, top * top / (2.0 * slowing), np.inf)
            columns.braking[rows] = np.minimum(columns.acceleration[rows], gentle)
        columns.is_limited[rows] = (
            np.isfinite(columns.acceleration[rows])
            | np.isfinite(columns.turn_rate[rows])
            | (columns.slowing_distance[rows] > 0.0)
        )

    # For the phases of a step

    def ground(self, which: int) -> Ground:
        """Return where movers of one movement may be, for the grid as it is now.

        Parameters
        ----------
        which : int
            Number of the movement.

        Returns
        -------
        Ground
            Arrays of the grid's own.
        """
        if self._grounds_version != self.grid.version:
            self._grounds.clear()
            self._grounds_version = self.grid.version
        found = self._grounds.get(which)
        if found is None:
            found = self._grounds[which] = ground_of(self.grid, self.movements[which])
        return found

    def grounds(self) -> list[Ground]:
        """Return where movers may be, by the number of their movement.

        Returns
        -------
        list of Ground
            As from `ground`.
        """
        return [self.ground(which) for which in range(len(self.movements))]

    def fields(self) -> dict[int, Followed]:
        """Return the flow fields that are followed, by their number in the column `flow_field`.

        Followers of a field of an earlier version of the grid are stopped and flagged first.

        Returns
        -------
        dict of int to Followed
            All current.
        """
        for which, followed in list(self._fields.items()):
            if not followed.field.is_current:
                rows = np.flatnonzero(self.columns.flow_field[: self.slots] == which)
                self.halt(rows, MoverState.WAITING)
                self.flag(rows, EventFlag.PATH_BLOCKED | EventFlag.REPATH_WANTED)
                del self._fields[which]
        return self._fields

    def flag(self, rows: NDArray[np.int64], event: EventFlag) -> None:
        """Let the events of the step under way, or of the next, name movers.

        Parameters
        ----------
        rows : int64 array (n,)
            Slots.
        event : EventFlag
            What happened to them.
        """
        self.columns.events[rows] |= np.uint8(event)
        self._flagged += rows.size

    def take_flagged(self) -> int:
        """Return how many times `flag` has named a mover since this was asked last.

        Returns
        -------
        int
            The count.
        """
        flagged, self._flagged = self._flagged, 0
        return flagged

    def halt(self, rows: NDArray[np.int64], state: MoverState) -> None:
        """Let movers stand where they are.

        Parameters
        ----------
        rows : int64 array (n,)
            Slots.
        state : MoverState
            What they do from now on.
        """
        columns = self.columns
        self.routes.drop(rows)
        columns.flow_field[rows] = -1
        columns.state[rows] = state
        columns.velocity[rows] = columns.preferred_velocity[rows] = 0.0
        columns.target[rows] = columns.position[rows]
        columns.time_left[rows] = REST

    def leave_rails(self, rows: NDArray[np.int64]) -> None:
        """Let movers find their course anew in the next step, after a change from outside.

        Parameters
        ----------
        rows : int64 array (n,)
            Slots.
        """
        columns = self.columns
        moving = np.isin(columns.state[rows], MOVING)
        columns.target[rows] = columns.position[rows]
        columns.time_left[rows] = np.where(moving, np.float32(0.0), np.float32(REST))
        columns.exit_speed[rows] = -1.0
        columns.seen_from[rows] = -1

    def start_routes(
        self, rows: NDArray[np.int64], points: NDArray[np.float32], offsets: NDArray[np.int64]
    ) -> None:
        """Send movers along waypoints, as `set_paths` does with what it has checked.

        Parameters
        ----------
        rows : int64 array (n,)
            Slots, each once.
        points : float32 array (m, 2)
            Waypoints, each of which can be walked to straight from the one before.
        offsets : int64 array (n + 1,)
            Route i is ``points[offsets[i]:offsets[i + 1]]``.
        """
        columns = self.columns
        self.routes.assign(rows, points, offsets)
        columns.flow_field[rows] = -1
        has_way = offsets[1:] > offsets[:-1]
        walkers = rows[has_way]
        columns.state[walkers] = MoverState.PATH
        columns.goal[walkers] = points[offsets[1:][has_way] - 1]
        self.leave_rails(walkers)
        lost = rows[~has_way]
        self.halt(lost, MoverState.WAITING)
        self.flag(lost, EventFlag.REPATH_WANTED)

    def begin_anew(self, rows: NDArray[np.int64]) -> None:
        """Forget how movers have fared that are sent elsewhere now.

        Parameters
        ----------
        rows : int64 array (n,)
            Slots.
        """
        columns = self.columns
        columns.returns[rows] = 0
        columns.announced[rows] = 0
        # How near it had come to its last goal is no measure for the next one.
        columns.headway[rows] = np.inf
        columns.stalled[rows] = 0.0

    # Checks

    def _movement_number(self, movement: Movement | None) -> int:
        if movement is None:
            return 0
        if not isinstance(movement, Movement):
            raise InputError("movement", movement, "is not a Movement", "give Movement(...)")
        if movement not in self.movements:
            if len(self.movements) == MOST_MOVEMENTS:
                raise InputError(
                    "movement", movement, "is one more than a table can hold",
                    f"keep to {MOST_MOVEMENTS}",
                )  # fmt: skip
            self.movements.append(movement)
        return self.movements.index(movement)

    def checked_rows(self, handles: ArrayLike) -> NDArray[np.int64]:
        """Return the slots of movers, each of which must stand once.

        Parameters
        ----------
        handles : array-like of int, shape (n,)
            Movers.

        Returns
        -------
        int64 array (n,)
            Slots, in the order of the handles.

        Raises
        ------
        InputError
            If a handle is not that of a mover, or stands twice; names the row.
        """
        rows = self.rows_of(handles)
        ordered = np.sort(rows)
        if (ordered[1:] == ordered[:-1]).any():
            _, first = np.unique(rows, return_index=True)
            i = int(np.setdiff1d(np.arange(rows.size), first)[0])
            raise InputError(
                f"handles[{i}]", int(self.handles_of(rows[i : i + 1])[0]), "stands twice",
                "give each mover once",
            )  # fmt: skip
        return rows

    def _check_open(self, points: NDArray[np.float32], movement: NDArray[np.uint8]) -> None:
        grid = self.grid
        ox, oy = grid.region_position
        cells = np.floor(points.astype(np.float64) + 0.5).astype(np.int64) - (ox, oy)
        on_axis = (cells >= 0) & (cells < (grid.width, grid.height))
        inside = on_axis[:, 0] & on_axis[:, 1]
        cells[~inside] = 0
        is_open = np.zeros(len(points), np.bool_)
        for which in np.unique(movement).tolist():
            space = grid.space(self.movements[which])
            of_it = movement == which
            is_open[of_it] = space.open_table[space.cells[cells[of_it, 1], cells[of_it, 0]]] != 0
        good: NDArray[np.bool_] = inside & is_open
        if not good.all():
            i = int(np.argmin(good))
            problem = (
                "is in a cell that is not open to the mover" if inside[i] else "is not on the map"
            )
            raise InputError(
                f"positions[{i}]", tuple(points[i].tolist()), problem,
                "give a point of an open cell, as nearest_walkable finds it",
            )  # fmt: skip

    def _check_free(
        self, rows: NDArray[np.int64], points: NDArray[np.float32], offsets: NDArray[np.int64]
    ) -> None:
        columns = self.columns
        for which in np.unique(columns.movement[rows]).tolist():
            i, k = first_blocked_path_(
                *self.ground(which), columns.movement, which, columns.position, rows, points,
                offsets,
            )  # fmt: skip
            if i >= 0:
                raise InputError(
                    f"path {i}, waypoint {k}", tuple(points[offsets[i] + k].tolist()),
                    "cannot be walked to straight from the point before",
                    "search the path again on the present map, from where the mover is",
                )  # fmt: skip


def _check_count(field: str, points: NDArray[np.float32], rows: NDArray[np.int64]) -> None:
    if len(points) != rows.size:
        raise InputError(field, len(points), "do not go with the handles", f"give {rows.size}")
