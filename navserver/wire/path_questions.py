"""Questions for paths."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.status import InputError
from navserver.wire.client_session import Answer, Notice
from navserver.wire.path_messages import PATH_STATUSES, REASONS, SOURCES
from navserver.wire.question import (
    Question,
    Times,
    as_array,
    as_cells,
    as_pair,
    read_nothing,
    read_times,
)

__all__ = [
    "BrokenPath",
    "MovementFields",
    "PathAnswer",
    "PathsAnswer",
    "SearchFields",
    "TraceAnswer",
    "find_path",
    "find_paths",
    "read_broken",
    "trace",
    "unwatch",
    "watch_path",
]


class MovementFields(TypedDict, total=False):
    """Options of all questions about ways; see ``path`` in PROTOCOL.md."""

    profile: str
    diagonal_mode: int
    cost_model: int
    size: int
    radius: float
    overlays: Mapping[str, float]


class SearchFields(MovementFields, total=False):
    """Options of all questions for paths."""

    weight: float
    max_expansions: int
    max_cost: float
    allow_partial: bool
    result: str
    smoothing: str
    priority: int
    deadline_ms: float
    watch: bool


class PathAnswer(NamedTuple):
    """A path, or why there is none."""

    status: str
    """``found``, ``partial``, ``unreachable``, ...; see the statuses in PROTOCOL.md."""
    path: NDArray[Any]
    """float32 array (n, 2) of world positions, or int32 array (n, 2) of cells."""
    cost: float
    """``inf`` without a path."""
    length: float
    """In cells, before smoothing; ``inf`` without a path."""
    version: int
    """Version of the map that was searched."""
    source: str
    """What was used."""
    expanded: int
    times: Times
    watch: int | None = None
    """Names the watch, if it was asked for and there is a path; see `read_broken`."""

    @property
    def found(self) -> bool:
        """Whether the path reaches the goal."""
        return self.status == "found"


class PathsAnswer(NamedTuple):
    """Many paths, as flat arrays."""

    status: str
    statuses: NDArray[np.uint8]
    """uint8 array (n,): index into `PATH_STATUSES`."""
    sources: NDArray[np.uint8]
    """uint8 array (n,): index into `SOURCES`."""
    versions: NDArray[np.uint32]
    cost: NDArray[np.float64]
    length: NDArray[np.float64]
    offsets: NDArray[np.uint32]
    """uint32 array (n + 1,): path i is ``paths[offsets[i]:offsets[i + 1]]``."""
    paths: NDArray[Any]
    """float32 (total, 2) of world positions, or int32 (total, 2) of cells."""
    times: Times
    watches: NDArray[np.uint32] | None = None
    """uint32 array (n,): the watch of each path, 0 without one; None if not asked for."""

    def path(self, i: int) -> NDArray[Any]:
        """Return one path.

        Parameters
        ----------
        i : int
            The row.

        Returns
        -------
        array (m, 2)
            A view.
        """
        return self.paths[int(self.offsets[i]) : int(self.offsets[i + 1])]

    def status_of(self, i: int) -> str:
        """Return how one row ended.

        Parameters
        ----------
        i : int
            The row.

        Returns
        -------
        str
            In words.
        """
        return PATH_STATUSES[self.statuses[i]]

    def source_of(self, i: int) -> str:
        """Return what was used for one row.

        Parameters
        ----------
        i : int
            The row.

        Returns
        -------
        str
            In words.
        """
        return SOURCES[self.sources[i]]


class TraceAnswer(NamedTuple):
    """What a search did."""

    status: str
    path: NDArray[np.int32]
    """int32 array (n, 2); empty without a path."""
    expanded_cells: NDArray[np.int32]
    """int32 array (e, 2): cells in the order of their expansion."""
    parents: NDArray[np.int32]
    """int32 array (e, 2)."""
    g: NDArray[np.float64]
    h: NDArray[np.float64]
    truncated: bool
    """Whether the record ends before the search."""


def find_path(
    world: str,
    start: tuple[int, int],
    goal: tuple[int, int],
    *,
    agent: int | None = None,
    blocked_cells: ArrayLike | None = None,
    ignored_cells: ArrayLike | None = None,
    **options: Any,
) -> Question[PathAnswer]:
    """Ask for a path.

    Parameters
    ----------
    world : str
        Its name.
    start, goal : (int, int)
        Cells.
    agent : int, optional
        Who asks; a newer request takes the place of one that waits.
    blocked_cells, ignored_cells : array-like of int, shape (n, 2), optional
        Cells that count as walls, or as walkable.
    **options
        See `SearchFields`.

    Returns
    -------
    Question of PathAnswer
        The path.
    """
    fields = {
        "world": world, "start": as_pair("start", start), "goal": as_pair("goal", goal),
        "agent": agent, **options,
    }  # fmt: skip
    given = {"blocked_cells": blocked_cells, "ignored_cells": ignored_cells}
    arrays = {name: as_cells(name, cells) for name, cells in given.items() if cells is not None}
    return Question("path", fields, _read_path, arrays)


def _read_path(answer: Answer) -> PathAnswer:
    fields = answer.fields
    path = answer.arrays.get("points")
    if path is None:
        path = answer.arrays.get("cells")
    if path is None:
        path = np.zeros((0, 2), np.float32)
    return PathAnswer(
        answer.status,
        path,
        _or_infinite(fields.get("cost")),
        _or_infinite(fields.get("length")),
        answer.version,
        fields.get("source", "nothing"),
        fields.get("expanded", 0),
        read_times(answer),
        fields.get("watch"),
    )


def _or_infinite(value: float | None) -> float:
    return math.inf if value is None else value


def find_paths(
    world: str,
    starts: ArrayLike,
    goals: ArrayLike,
    *,
    profiles: list[str] | None = None,
    sizes: ArrayLike | None = None,
    priorities: ArrayLike | None = None,
    deadlines: ArrayLike | None = None,
    agents: ArrayLike | None = None,
    **options: Any,
) -> Question[PathsAnswer]:
    """Ask for many paths.

    Parameters
    ----------
    world : str
        Its name.
    starts : array-like of int, shape (n, 2)
        A cell a row.
    goals : array-like of int, shape (n, 2) or (2,)
        A cell a row, or one for all.
    profiles : list of str, optional
        The profile of each row.
    sizes, priorities, deadlines, agents : array-like, shape (n,), optional
        Options of each row.
    **options
        See `SearchFields`; they hold for all rows.

    Returns
    -------
    Question of PathsAnswer
        All paths.
    """
    arrays = {
        "starts": as_cells("starts", starts),
        "goals": as_cells("goals", np.atleast_2d(np.asarray(goals))),
    }
    fields: dict[str, Any] = {"world": world, **options}
    if profiles is not None:
        names, indices = np.unique(np.asarray(profiles, str), return_inverse=True)
        fields["profile_names"] = names.tolist()
        arrays["profiles"] = as_array("profiles", indices, np.uint8, (None,))
    for name, given, dtype in (
        ("sizes", sizes, np.uint8),
        ("priorities", priorities, np.int8),
        ("deadlines", deadlines, np.float32),
        ("agents", agents, np.int64),
    ):
        if given is not None:
            arrays[name] = as_array(name, given, dtype, (None,))
    return Question("batch", fields, _read_paths, arrays)


def _read_paths(answer: Answer) -> PathsAnswer:
    arrays = answer.arrays
    paths = arrays.get("points")
    return PathsAnswer(
        answer.status,
        arrays.get("statuses", np.zeros(0, np.uint8)),
        arrays.get("sources", np.zeros(0, np.uint8)),
        arrays.get("versions", np.zeros(0, np.uint32)),
        arrays.get("costs", np.zeros(0)),
        arrays.get("lengths", np.zeros(0)),
        arrays.get("offsets", np.zeros(1, np.uint32)),
        arrays.get("cells", np.zeros((0, 2), np.int32)) if paths is None else paths,
        read_times(answer),
        arrays.get("watches"),
    )


def trace(
    world: str,
    start: tuple[int, int],
    goal: tuple[int, int],
    *,
    capacity: int = 65536,
    **options: Any,
) -> Question[TraceAnswer]:
    """Ask what a search does.

    Parameters
    ----------
    world : str
        Its name.
    start, goal : (int, int)
        Cells.
    capacity : int
        Most expansions to record.
    **options
        See `SearchFields`, but for what concerns result and queue.

    Returns
    -------
    Question of TraceAnswer
        The path and the expansions.
    """
    fields = {
        "world": world, "start": as_pair("start", start), "goal": as_pair("goal", goal),
        "capacity": capacity, **options,
    }  # fmt: skip
    return Question("trace", fields, _read_trace)


def _read_trace(answer: Answer) -> TraceAnswer:
    nothing = np.zeros((0, 2), np.int32)
    arrays = answer.arrays
    return TraceAnswer(
        answer.status,
        arrays.get("cells", nothing),
        arrays.get("expanded_cells", nothing),
        arrays.get("parents", nothing),
        arrays.get("g", np.zeros(0)),
        arrays.get("h", np.zeros(0)),
        bool(answer.fields.get("truncated", False)),
    )


# Watched paths


class BrokenPath(NamedTuple):
    """A watched path that an edit has broken."""

    watch: int
    """As its answer named it."""
    at: int
    """Index of the first of the path's cells that cannot be reached any more."""
    reason: str
    """``blocked``, ``corner``, ``narrow`` or ``world_removed``."""


def watch_path(
    world: str,
    cells: ArrayLike,
    *,
    profile: str = "default",
    diagonal_mode: int = 3,
    size: int = 1,
    radius: float = 0.0,
) -> Question[int]:
    """Watch a path: an edit that breaks it is told by the event ``path_invalid``.

    Parameters
    ----------
    world : str
        Its name.
    cells : array-like of int, shape (n, 2)
        The path's cells, each a step from the one before.
    profile, diagonal_mode, size, radius
        See `MovementFields`.

    Returns
    -------
    Question of int
        Names the watch in this session.
    """
    fields = {
        "world": world, "profile": profile, "diagonal_mode": diagonal_mode, "size": size,
        "radius": radius,
    }  # fmt: skip
    arrays = {"cells": as_cells("cells", cells)}
    return Question("watch", fields, lambda answer: int(answer.fields["watch"]), arrays)


def unwatch(watches: ArrayLike) -> Question[None]:
    """End watches.

    Parameters
    ----------
    watches : array-like of int, shape (n,)
        Names of watches; those that have ended are passed over.

    Returns
    -------
    Question of None
        Answered when nothing is told of them any more.
    """
    arrays = {"watches": as_array("watches", watches, np.uint32, (None,))}
    return Question("unwatch", {}, read_nothing, arrays)


def read_broken(notice: Notice) -> list[BrokenPath]:
    """Return what an event ``path_invalid`` tells.

    Parameters
    ----------
    notice : Notice
        From `Client.poll` or `AsyncClient.on_notice`.

    Returns
    -------
    list of BrokenPath
        Each is told once.

    Raises
    ------
    InputError
        If it is another event.
    """
    if notice.name != "path_invalid":
        raise InputError("notice", notice.name, "is no path_invalid", "look at its name first")
    columns = (notice.arrays[name].tolist() for name in ("watches", "indices", "reasons"))
    return [
        BrokenPath(watch, index, REASONS[reason])
        for watch, index, reason in zip(*columns, strict=True)
    ]
