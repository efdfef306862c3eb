"""What is known of each mover: one array a property, one row a slot.

A column is one line of `Columns`: its name, dtype and width, and what a new row holds. Rows beyond
`Movers.slots` exist but were never used. Kernels take the arrays themselves; they are replaced
when the table grows, so nobody keeps them from one step to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum, IntFlag
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["REST", "STANDING", "Columns", "EventFlag", "MoverState", "StuckReason"]

REST = float(np.finfo(np.float32).max)
"""`time_left` of a mover that does nothing: no step ever uses it up, and it stays finite."""

STANDING = 2.0
"""What standing adds to a mover's priority, and more than any priority is."""


class MoverState(IntEnum):
    """What a mover is doing."""

    FREE = 0
    """Nothing: the slot has no mover."""
    IDLE = 1
    """It has no goal, or has reached it."""
    PATH = 2
    """It follows the waypoints of its route."""
    FIELD = 3
    """It follows a flow field."""
    WAITING = 4
    """It has a goal and waits for a way there."""
    STEERED = 5
    """It moves by velocities that the caller gives."""


class StuckReason(IntEnum):
    """Why a mover makes no headway."""

    NONE = 0
    """It is not stuck."""
    WALL = 1
    """Something of the map holds it, or what it stands on was closed."""
    CROWD = 2
    """Others stand in its way."""
    UNREACHABLE = 3
    """No way leads to its goal."""
    GOAL_TAKEN = 4
    """Others stand where it is to end, and there is no room beside them."""


class EventFlag(IntFlag):
    """What happened to a mover within a step; phases set the bits in the column `events`."""

    ARRIVED = 1
    PATH_BLOCKED = 2
    REPATH_WANTED = 4
    STUCK = 8
    ARRIVED_CROWD_FULL = 16


def _of(dtype: type[np.generic], width: int = 1, default: float = 0) -> dict[str, Any]:
    return {"dtype": np.dtype(dtype), "width": width, "default": default}


@dataclass(slots=True)
class Columns:
    """The arrays of a table of movers, all of one length.

    Lengths are in cells, times in seconds, angles in radians; positions are in cell space, where
    the centre of cell (x, y) is the point (x, y) and Y points down.
    """

    generation: NDArray[np.int32] = field(metadata=_of(np.int32, default=1))
    """How often the slot was given, from 1; the upper half of a handle."""
    state: NDArray[np.uint8] = field(metadata=_of(np.uint8))
    """A `MoverState`."""
    movement: NDArray[np.uint8] = field(metadata=_of(np.uint8))
    """Which of the table's movements says what blocks the mover."""
    position: NDArray[np.float32] = field(metadata=_of(np.float32, 2))
    velocity: NDArray[np.float32] = field(metadata=_of(np.float32, 2))
    """Cells a second, as walked in the last step."""
    preferred_velocity: NDArray[np.float32] = field(metadata=_of(np.float32, 2))
    """What an avoiding mover would do if it were alone."""
    steering: NDArray[np.float32] = field(metadata=_of(np.float32, 2))
    """The velocity that a steered mover was given."""
    radius: NDArray[np.float32] = field(metadata=_of(np.float32))
    max_speed: NDArray[np.float32] = field(metadata=_of(np.float32))
    acceleration: NDArray[np.float32] = field(metadata=_of(np.float32, default=np.inf))
    """Most change of speed a second; ``inf`` is no limit."""
    turn_rate: NDArray[np.float32] = field(metadata=_of(np.float32, default=np.inf))
    """Most turn of the direction walked a second; ``inf`` is no limit."""
    slowing_distance: NDArray[np.float32] = field(metadata=_of(np.float32))
    """How far before its goal a mover begins to brake, at least."""
    arrival_radius: NDArray[np.float32] = field(metadata=_of(np.float32))
    """How near the goal counts as there."""
    priority: NDArray[np.float32] = field(metadata=_of(np.float32, default=1))
    layers: NDArray[np.uint32] = field(metadata=_of(np.uint32, default=1))
    mask: NDArray[np.uint32] = field(metadata=_of(np.uint32, default=1))
    goal: NDArray[np.float32] = field(metadata=_of(np.float32, 2))
    """Where the mover is to end; its own position where it was never sent anywhere."""
    group: NDArray[np.int32] = field(metadata=_of(np.int32, default=-1))
    """Which order the mover carries out, -1 for none."""
    anchor: NDArray[np.int32] = field(metadata=_of(np.int32, default=-1))
    """Flat cell of the goal that its group was sent to, -1 where it was sent alone."""
    crowd_radius: NDArray[np.float32] = field(metadata=_of(np.float32))
    """How far from that cell its group's places reach."""
    wants_way: NDArray[np.uint8] = field(metadata=_of(np.uint8))
    """1 while it is to ask for a way once `replan_wait` is over."""
    replan_wait: NDArray[np.float32] = field(metadata=_of(np.float32))
    """Seconds before it may ask for a way again."""
    held: NDArray[np.float32] = field(metadata=_of(np.float32))
    """Seconds for which it has let others by before a passage; below 0 in one and shortly after."""
    headway: NDArray[np.float32] = field(metadata=_of(np.float32, default=np.inf))
    """The nearest that it has come to the waypoint walked to, see `settling`."""
    headway_left: NDArray[np.int32] = field(metadata=_of(np.int32))
    """How many waypoints were left then."""
    stalled: NDArray[np.float32] = field(metadata=_of(np.float32))
    """Seconds for which it has come no nearer."""
    returns: NDArray[np.uint8] = field(metadata=_of(np.uint8))
    """How often it has gone back to its place."""
    precedence: NDArray[np.float32] = field(metadata=_of(np.float32))
    """What is added to its priority: `STANDING` while it stands and need not let others by, a hair
    below 0 while it does; a little in a passage and before it, see `passages`.
    """
    yields: NDArray[np.float32] = field(metadata=_of(np.float32))
    """Seconds for which one who stands lets others by, who cannot get past."""
    announced: NDArray[np.uint8] = field(metadata=_of(np.uint8))
    """1 once the events have told how its order ended."""
    events: NDArray[np.uint8] = field(metadata=_of(np.uint8))
    """`EventFlag` bits of the step under way."""
    stuck_reason: NDArray[np.uint8] = field(metadata=_of(np.uint8))
    """Why, where `events` says STUCK."""
    braking: NDArray[np.float32] = field(metadata=_of(np.float32, default=np.inf))
    """Loss of speed a second before corners and goals; follows from the limits."""
    is_limited: NDArray[np.uint8] = field(metadata=_of(np.uint8))
    """Whether a mover has limits that `driving` keeps."""
    target: NDArray[np.float32] = field(metadata=_of(np.float32, 2))
    """Where the mover is once `time_left` is used up, see `following`."""
    time_left: NDArray[np.float32] = field(metadata=_of(np.float32, default=REST))
    """Seconds for which the velocity stays as it is, see `following`."""
    exit_speed: NDArray[np.float32] = field(metadata=_of(np.float32, default=-1))
    """How fast the next waypoint may be passed, -1 where not known yet; see `driving`."""
    seen_from: NDArray[np.int32] = field(metadata=_of(np.int32, default=-1))
    """The flat cell from which an avoiding mover has seen its next waypoint, -1 for none."""
    path_begin: NDArray[np.int32] = field(metadata=_of(np.int32))
    """The route's first waypoint in the pool of `Routes`."""
    path_next: NDArray[np.int32] = field(metadata=_of(np.int32))
    """The waypoint walked to."""
    path_end: NDArray[np.int32] = field(metadata=_of(np.int32))
    """One past the last waypoint; equal to `path_next` where there is none left."""
    flow_field: NDArray[np.int32] = field(metadata=_of(np.int32, default=-1))
    """Which flow field is followed, -1 for none."""

    @classmethod
    def of(cls, length: int) -> Columns:
        """Make columns of fresh rows.

        Parameters
        ----------
        length : int
            Rows.

        Returns
        -------
        Columns
            Each row holds the defaults.
        """
        return cls(**{spec.name: _fresh(spec, length) for spec in fields(cls)})

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name.

        Returns
        -------
        dict of str to array
            In the order of the table, not copied.
        """
        return {spec.name: getattr(self, spec.name) for spec in fields(self)}

    def grow(self, length: int) -> None:
        """Make room for more rows; the present ones keep their place.

        Parameters
        ----------
        length : int
            Rows from now on, at least as many as now.
        """
        for spec in fields(self):
            present = getattr(self, spec.name)
            longer = _fresh(spec, length)
            longer[: len(present)] = present
            setattr(self, spec.name, longer)

    def reset(self, rows: NDArray[np.int64]) -> None:
        """Make rows fresh, but for their generation.

        Parameters
        ----------
        rows : int64 array (n,)
            Which.
        """
        for spec in fields(self):
            if spec.name != "generation":
                getattr(self, spec.name)[rows] = spec.metadata["default"]


def _fresh(spec: Any, length: int) -> NDArray[Any]:
    width = spec.metadata["width"]
    shape = length if width == 1 else (length, width)
    return np.full(shape, spec.metadata["default"], spec.metadata["dtype"])
