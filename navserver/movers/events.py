"""What a step tells: who arrived, whose path is blocked, who wants a new one, who is stuck."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.movers.columns import Columns, EventFlag

__all__ = ["NO_EVENTS", "Events", "collect_events"]


class Events(NamedTuple):
    """Handles of movers, in the order of their slots; each an int64 array."""

    arrived: NDArray[np.int64]
    """Reached their goal."""
    arrived_crowd_full: NDArray[np.int64]
    """Settled as near to their goal as there was room."""
    path_blocked: NDArray[np.int64]
    """An edit closed the way ahead."""
    repath_wanted: NDArray[np.int64]
    """Cannot go on without a new path."""
    stuck: NDArray[np.int64]
    """Make no headway."""
    stuck_reason: NDArray[np.uint8]
    """uint8 array: why, one entry each of `stuck`."""

    def __bool__(self) -> bool:
        """Return whether anything happened."""
        return any(len(handles) for handles in self)


def _empty(dtype: type[np.generic]) -> NDArray[np.generic]:
    array = np.empty(0, dtype)
    array.flags.writeable = False
    return array


_NOBODY: NDArray[np.int64] = _empty(np.int64)  # type: ignore[assignment]

NO_EVENTS = Events(_NOBODY, _NOBODY, _NOBODY, _NOBODY, _NOBODY, _empty(np.uint8))  # type: ignore[arg-type]
"""A step without events."""


def collect_events(columns: Columns, slots: int) -> Events:
    """Return the events that phases have flagged, and clear the flags.

    Parameters
    ----------
    columns : Columns
        The movers.
    slots : int
        How many rows are in use.

    Returns
    -------
    Events
        Of new arrays.
    """
    flags = columns.events[:slots]
    rows = np.flatnonzero(flags)
    if not rows.size:
        return NO_EVENTS
    flagged = flags[rows]
    flags[rows] = 0
    handles = (columns.generation[rows].astype(np.int64) << 32) | rows

    def having(flag: EventFlag) -> NDArray[np.int64]:
        return handles[(flagged & flag) != 0]

    stuck = (flagged & EventFlag.STUCK) != 0
    return Events(
        arrived=having(EventFlag.ARRIVED),
        arrived_crowd_full=having(EventFlag.ARRIVED_CROWD_FULL),
        path_blocked=having(EventFlag.PATH_BLOCKED),
        repath_wanted=having(EventFlag.REPATH_WANTED),
        stuck=handles[stuck],
        stuck_reason=columns.stuck_reason[rows[stuck]],
    )
