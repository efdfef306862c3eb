"""What the server tells of movers, as Python values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.status import InputError
from navserver.wire.client_session import Answer, Notice
from navserver.wire.mover_messages import COLUMNS, EVENT_KINDS, STUCK_REASONS

__all__ = ["MoverEvents", "MoverInfo", "MoverStep", "MoverView", "read_state", "read_view"]


class MoverEvents(NamedTuple):
    """What happened to movers, as one table ordered by tick."""

    ticks: NDArray[np.int64]
    """int64 array (n,)."""
    kinds: NDArray[np.uint8]
    """uint8 array (n,): index into `EVENT_KINDS`."""
    handles: NDArray[np.int64]
    """int64 array (n,)."""
    reasons: NDArray[np.uint8]
    """uint8 array (n,): index into `STUCK_REASONS`, 0 unless stuck."""

    def of(self, kind: str) -> NDArray[np.int64]:
        """Return to whom something happened.

        Parameters
        ----------
        kind : str
            One of `EVENT_KINDS`.

        Returns
        -------
        int64 array (k,)
            Handles.
        """
        return self.handles[self.kinds == EVENT_KINDS.index(kind)]

    @property
    def stuck(self) -> dict[int, str]:
        """Why movers are stuck, in words, by their handles."""
        is_stuck = self.kinds == EVENT_KINDS.index("stuck")
        pairs = zip(self.handles[is_stuck].tolist(), self.reasons[is_stuck].tolist(), strict=True)
        return {handle: STUCK_REASONS[reason] for handle, reason in pairs}


class MoverView(NamedTuple):
    """Movers after a step; arrays that were not asked for are None."""

    tick: int
    version: int
    """Version of the map that the step saw."""
    handles: NDArray[np.int64] | None
    positions: NDArray[np.float32] | None
    velocities: NDArray[np.float32] | None
    states: NDArray[np.uint8] | None
    """uint8 array (n,): index into `MOVER_STATES`."""
    transforms: NDArray[np.float32] | None
    """float32 array (n, 8): instances of a Godot MultiMesh."""
    transforms_before: NDArray[np.float32] | None
    """float32 array (n, 8): the same before the last step."""
    truncated: bool
    """Whether there were more than the limit."""
    events: MoverEvents
    skipped: int = 0
    """States that a stream has left out before this one."""
    lost_events: int = 0
    """Events that a stream could not keep."""


class MoverStep(NamedTuple):
    """What a step in lockstep has come to."""

    view: MoverView
    steps: int
    """Steps done; fewer than asked for if it was cancelled."""
    hash: str | None
    """Digest of the state, if asked for."""
    watched_velocities: NDArray[np.float32] | None = None
    """float32 array (w, 2): how the watched have moved, (0, 0) for one that is not there."""


class MoverInfo(NamedTuple):
    """How many movers there are and how they run."""

    movers: int
    """How many there are."""
    tick: int
    """Steps since they were made."""
    rate: float
    """Steps a second; 0 if they do not run."""
    skipped: int
    """Steps left out because the server was late."""
    hash: str | None
    """Digest of the state, if asked for."""


def _read_events(arrays: Mapping[str, NDArray[Any]]) -> MoverEvents:
    return MoverEvents(
        arrays.get("event_ticks", np.zeros(0, np.int64)),
        arrays.get("event_kinds", np.zeros(0, np.uint8)),
        arrays.get("event_handles", np.zeros(0, np.int64)),
        arrays.get("event_reasons", np.zeros(0, np.uint8)),
    )


def _as_view(version: int, fields: Mapping[str, Any], arrays: Mapping[str, Any]) -> MoverView:
    columns = {name: arrays.get(name) for name in COLUMNS}
    return MoverView(
        tick=fields["tick"],
        version=version,
        truncated=fields["truncated"],
        events=_read_events(arrays),
        skipped=fields.get("skipped", 0),
        lost_events=fields.get("lost_events", 0),
        **columns,
    )


def read_view(answer: Answer) -> MoverView:
    """Return the movers that an answer tells of.

    Parameters
    ----------
    answer : Answer
        To a question for a view or a step.

    Returns
    -------
    MoverView
        What was asked for of them.
    """
    return _as_view(answer.version, answer.fields, answer.arrays)


def read_state(notice: Notice) -> MoverView:
    """Return what an event ``movers_state`` tells.

    Parameters
    ----------
    notice : Notice
        From `Client.poll` or `AsyncClient.on_notice`.

    Returns
    -------
    MoverView
        The movers and what happened to them.

    Raises
    ------
    InputError
        If it is another event.
    """
    if notice.name != "movers_state":
        raise InputError("notice", notice.name, "is no movers_state", "look at its name first")
    return _as_view(notice.fields["version"], notice.fields, notice.arrays)
