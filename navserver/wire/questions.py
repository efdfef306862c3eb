"""Requests as functions of Python values, with what makes Python values of their answers.

A question is asked by a client: ``client.ask(find_path("city", (0, 0), (9, 9)))``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.status import InputError
from navserver.wire.client_session import Answer
from navserver.wire.path_messages import PATH_STATUSES, SOURCES

__all__ = [
    "MovementFields",
    "PathAnswer",
    "PathsAnswer",
    "Question",
    "SearchFields",
    "Times",
    "TraceAnswer",
    "connected",
    "cost_matrix",
    "create_world",
    "delete_world",
    "edit_world",
    "find_path",
    "find_paths",
    "flow_field",
    "line_of_sight",
    "list_worlds",
    "nearest",
    "ping",
    "raycast",
    "reachable",
    "set_profile",
    "set_tiles",
    "shut_down",
    "stats",
    "trace",
    "what_opens",
    "world_hash",
    "world_info",
]

T = TypeVar("T")


@dataclass(frozen=True)
class Question(Generic[T]):  # numpydoc ignore=PR02
    """A request that is yet to be sent.

    Parameters
    ----------
    message : str
        Its type.
    fields : mapping of str to object
        Its fields; None is left out.
    read : callable
        What makes a value of the answer.
    arrays : mapping of str to array
        Its arrays.
    """

    message: str
    fields: Mapping[str, Any]
    read: Callable[[Answer], T]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


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


class Times(NamedTuple):
    """Where the server's time went."""

    wait_us: float
    search_us: float


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


def _cells(name: str, cells: ArrayLike) -> NDArray[np.int32]:
    return _array(name, cells, np.int32, (None, 2))


def _array(name: str, values: ArrayLike, dtype: Any, shape: tuple[int | None, ...]) -> Any:
    """Return values as an array that can be sent, or refuse what would change on the way."""
    try:
        given = np.asarray(values)
        if given.size == 0 and given.ndim < len(shape):
            given = given.reshape([0 if n is None else n for n in shape])
        with np.errstate(all="ignore"):
            array = given.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        raise InputError(name, values, "are not numbers", f"give {np.dtype(dtype)}") from None
    is_whole = np.issubdtype(dtype, np.integer)
    if (
        is_whole
        and given.size
        and (given.dtype.kind not in "iub" or not np.array_equal(array, given))
    ):
        raise InputError(
            name, values, f"are not values of {np.dtype(dtype)}", "give whole numbers in its range"
        )
    if array.ndim != len(shape) or any(
        wanted not in (None, n) for wanted, n in zip(shape, array.shape, strict=True)
    ):
        shown = " x ".join("n" if n is None else str(n) for n in shape)
        raise InputError(name, array.shape, "is not the shape asked for", f"give {shown}")
    return array


def _pair(name: str, cell: Any) -> list[int]:
    return [int(value) for value in _array(name, cell, np.int64, (2,))]


def _nothing(answer: Answer) -> None:  # noqa: ARG001 - all answers are read alike
    return None


def _version(answer: Answer) -> int:
    return answer.version


def _times(answer: Answer) -> Times:
    return Times(answer.wait_us, answer.search_us)


# The server


def ping() -> Question[float]:
    """Ask whether the server answers.

    Returns
    -------
    Question of float
        Seconds since it started.
    """
    return Question("ping", {}, lambda answer: float(answer.fields["time"]))


def stats() -> Question[dict[str, float]]:
    """Ask for the server's figures.

    Returns
    -------
    Question of dict of str to float
        By name.
    """
    return Question("stats", {}, lambda answer: dict(answer.fields["stats"]))


def shut_down() -> Question[None]:
    """Ask the server to end.

    Returns
    -------
    Question of None
        Answered before it ends.
    """
    return Question("shutdown", {}, _nothing)


# Worlds


def create_world(
    world: str,
    classes: ArrayLike | None = None,
    *,
    width: int | None = None,
    height: int | None = None,
    fill: int = 0,
    cell_scale: ArrayLike | None = None,
    position: tuple[int, int] = (0, 0),
    transform: ArrayLike | None = None,
    replace: bool = False,
    owned: bool = False,
) -> Question[int]:
    """Make a world.

    Parameters
    ----------
    world : str
        Its name.
    classes : array-like of uint8, shape (height, width), optional
        Class of each cell; without it give `width` and `height`.
    width, height : int, optional
        Size in cells.
    fill : int
        Class of every cell where there are no `classes`.
    cell_scale : array-like of float32, shape (height, width), optional
        Factor of each cell's cost.
    position : (int, int)
        The top left cell.
    transform : array-like of float, shape (2, 3), optional
        From a cell to the world position of its centre.
    replace : bool
        Take the place of a world of the same name.
    owned : bool
        Delete the world when the session ends.

    Returns
    -------
    Question of int
        The version.

    Raises
    ------
    InputError
        If an argument cannot be sent.
    """
    arrays: dict[str, NDArray[Any]] = {}
    if classes is not None:
        arrays["classes"] = _array("classes", classes, np.uint8, (None, None))
        height, width = arrays["classes"].shape
    if cell_scale is not None:
        arrays["cell_scale"] = _array("cell_scale", cell_scale, np.float32, (None, None))
    fields = {
        "world": world,
        "width": width,
        "height": height,
        "fill": fill,
        "position": _pair("position", position),
        "transform": None
        if transform is None
        else _array("transform", transform, np.float64, (2, 3)).reshape(-1).tolist(),
        "replace": replace,
        "owned": owned,
    }
    return Question("world_create", fields, _version, arrays)


def edit_world(
    world: str,
    *,
    cells: ArrayLike | None = None,
    position: tuple[int, int] | None = None,
    size: tuple[int, int] | None = None,
    class_ids: ArrayLike | None = None,
    cell_scale: ArrayLike | None = None,
    layer: str | None = None,
    values: ArrayLike | None = None,
    base_version: int | None = None,
) -> Question[int]:
    """Change cells, a rectangle or the whole map.

    Parameters
    ----------
    world : str
        Its name.
    cells : array-like of int, shape (n, 2), optional
        The cells to change.
    position, size : (int, int), optional
        Top left cell, and width and height, of the rectangle to change.
    class_ids : int or array-like, optional
        New class, one for all or one for each cell.
    cell_scale : float or array-like, optional
        New factor, likewise.
    layer : str, optional
        The overlay that `values` go to.
    values : float or array-like, optional
        The layer's new value, likewise.
    base_version : int, optional
        Refuse the edit if the world is at another version.

    Returns
    -------
    Question of int
        The new version.

    Raises
    ------
    InputError
        If an argument cannot be sent.
    """
    fields: dict[str, Any] = {"world": world, "layer": layer, "base_version": base_version}
    arrays: dict[str, NDArray[Any]] = {}
    if cells is not None:
        arrays["cells"] = _cells("cells", cells)
    if position is not None:
        fields["position"] = _pair("position", position)
    if size is not None:
        fields["width"], fields["height"] = _pair("size", size)
    for given, single, many, dtype in (
        (class_ids, "class_id", "class_ids", np.uint8),
        (cell_scale, "scale", "scales", np.float32),
        (values, "value", "values", np.float32),
    ):
        if given is None:
            continue
        if np.ndim(given) == 0:
            array = _array(many, np.atleast_1d(given), dtype, (None,))
            fields[single] = array[0].item()
        else:
            arrays[many] = _array(many, np.reshape(given, -1), dtype, (None,))
    return Question("world_edit", fields, _version, arrays)


def set_tiles(
    world: str, layers: list[bytes], table: ArrayLike, *, empty_class: int = 255
) -> Question[dict[str, int]]:
    """Set cells from Godot's TileMapLayers.

    Parameters
    ----------
    world : str
        Its name.
    layers : list of bytes
        ``tile_map_data`` of each layer, the bottom one first.
    table : array-like of uint16, shape (k, 6)
        Columns layer, source, atlas x, atlas y, alternative, class.
    empty_class : int
        Class of cells that no tile has an opinion on; 256 leaves them.

    Returns
    -------
    Question of dict of str to int
        ``placed``, ``outside``, ``unknown`` and ``version``.
    """
    arrays = {
        "tiles": np.frombuffer(b"".join(layers), np.uint8),
        "sizes": np.array([len(layer) for layer in layers], np.uint32),
        "table": _array("table", table, np.uint16, (None, 6)),
    }
    fields = {"world": world, "empty_class": empty_class}
    return Question(
        "world_tiles", fields, lambda answer: {**answer.fields, "version": answer.version}, arrays
    )


def world_info(world: str) -> Question[dict[str, Any]]:
    """Ask what a world is.

    Parameters
    ----------
    world : str
        Its name.

    Returns
    -------
    Question of dict of str to object
        As ``world_info`` in PROTOCOL.md, and ``version``.
    """
    return Question(
        "world_info", {"world": world}, lambda answer: {**answer.fields, "version": answer.version}
    )


def world_hash(world: str) -> Question[str]:
    """Ask for the digest of a world's map.

    Parameters
    ----------
    world : str
        Its name.

    Returns
    -------
    Question of str
        That of `Grid.map_hash`.
    """
    return Question("world_hash", {"world": world}, lambda answer: str(answer.fields["hash"]))


def list_worlds() -> Question[list[str]]:
    """Ask for the names of all worlds.

    Returns
    -------
    Question of list of str
        In order.
    """
    return Question("world_list", {}, lambda answer: list(answer.fields["worlds"]))


def delete_world(world: str) -> Question[None]:
    """End a world.

    Parameters
    ----------
    world : str
        Its name.

    Returns
    -------
    Question of None
        Answered when it is gone.
    """
    return Question("world_delete", {"world": world}, _nothing)


def set_profile(world: str, profile: str, costs: ArrayLike) -> Question[int]:
    """Define who walks.

    Parameters
    ----------
    world : str
        Its name.
    profile : str
        The profile's name.
    costs : array-like of float32, shape (256,)
        Cost of each class; ``inf`` blocks.

    Returns
    -------
    Question of int
        The map's version.
    """
    arrays = {"costs": _array("costs", costs, np.float32, (256,))}
    return Question("profile_set", {"world": world, "profile": profile}, _version, arrays)


# Paths


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
        "world": world, "start": _pair("start", start), "goal": _pair("goal", goal),
        "agent": agent, **options,
    }  # fmt: skip
    given = {"blocked_cells": blocked_cells, "ignored_cells": ignored_cells}
    arrays = {name: _cells(name, cells) for name, cells in given.items() if cells is not None}
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
        _times(answer),
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
        "starts": _cells("starts", starts),
        "goals": _cells("goals", np.atleast_2d(np.asarray(goals))),
    }
    fields: dict[str, Any] = {"world": world, **options}
    if profiles is not None:
        names, indices = np.unique(np.asarray(profiles, str), return_inverse=True)
        fields["profile_names"] = names.tolist()
        arrays["profiles"] = _array("profiles", indices, np.uint8, (None,))
    for name, given, dtype in (
        ("sizes", sizes, np.uint8),
        ("priorities", priorities, np.int8),
        ("deadlines", deadlines, np.float32),
        ("agents", agents, np.int64),
    ):
        if given is not None:
            arrays[name] = _array(name, given, dtype, (None,))
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
        _times(answer),
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
        "world": world, "start": _pair("start", start), "goal": _pair("goal", goal),
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


# Other questions about a map


def nearest(
    world: str,
    cell: tuple[int, int],
    *,
    start: tuple[int, int] | None = None,
    max_distance: float | None = None,
    **movement: Any,
) -> Question[tuple[int, int] | None]:
    """Ask for the cell nearest to a given one where the body may stand.

    Parameters
    ----------
    world : str
        Its name.
    cell : (int, int)
        Where to look around.
    start : (int, int), optional
        Only cells that can be reached from here.
    max_distance : float, optional
        Look no farther, in cells.
    **movement
        See `MovementFields`.

    Returns
    -------
    Question of (int, int) or None
        The cell.
    """
    fields = {
        "world": world,
        "cell": _pair("cell", cell),
        "start": None if start is None else _pair("start", start),
        "max_distance": max_distance,
        **movement,
    }
    return Question("nearest", fields, lambda answer: answer.fields.get("cell"))


def reachable(
    world: str, start: tuple[int, int], budget: float, **movement: Any
) -> Question[tuple[NDArray[np.int32], NDArray[np.float64]]]:
    """Ask for all cells that can be reached for a cost.

    Parameters
    ----------
    world : str
        Its name.
    start : (int, int)
        An open cell.
    budget : float
        The cost.
    **movement
        See `MovementFields`.

    Returns
    -------
    Question of (int32 array (n, 2), float64 array (n,))
        Cells and costs.
    """
    fields = {"world": world, "start": _pair("start", start), "budget": budget, **movement}
    return Question(
        "reachable", fields, lambda answer: (answer.arrays["cells"], answer.arrays["costs"])
    )


def _of_pairs(
    message: str, name: str, world: str, starts: ArrayLike, goals: ArrayLike, movement: Any
) -> Question[NDArray[np.bool_]]:
    arrays = {"starts": _cells("starts", starts), "goals": _cells("goals", goals)}
    return Question(
        message, {"world": world, **movement}, lambda answer: answer.arrays[name] != 0, arrays
    )


def line_of_sight(
    world: str, starts: ArrayLike, goals: ArrayLike, **movement: Any
) -> Question[NDArray[np.bool_]]:
    """Ask whether straight lines are free.

    Parameters
    ----------
    world : str
        Its name.
    starts, goals : array-like of int, shape (n, 2)
        Cells.
    **movement
        See `MovementFields`.

    Returns
    -------
    Question of bool array (n,)
        Whether each is.
    """
    return _of_pairs("line_of_sight", "visible", world, starts, goals, movement)


def connected(
    world: str, starts: ArrayLike, goals: ArrayLike, **movement: Any
) -> Question[NDArray[np.bool_]]:
    """Ask whether ways lead from cells to others.

    Parameters
    ----------
    world : str
        Its name.
    starts, goals : array-like of int, shape (n, 2)
        Cells.
    **movement
        See `MovementFields`.

    Returns
    -------
    Question of bool array (n,)
        Whether one does.
    """
    return _of_pairs("connected", "connected", world, starts, goals, movement)


def raycast(
    world: str, starts: ArrayLike, ends: ArrayLike, **movement: Any
) -> Question[dict[str, NDArray[Any]]]:
    """Walk straight and stop before the first wall.

    Parameters
    ----------
    world : str
        Its name.
    starts, ends : array-like of float, shape (n, 2)
        World positions.
    **movement
        See `MovementFields`.

    Returns
    -------
    Question of dict of str to array
        ``reached``, ``points``, ``cells`` and ``normals``.
    """
    arrays = {
        "starts": _array("starts", starts, np.float32, (None, 2)),
        "ends": _array("ends", ends, np.float32, (None, 2)),
    }
    return Question(
        "raycast", {"world": world, **movement}, lambda answer: dict(answer.arrays), arrays
    )


def cost_matrix(
    world: str, starts: ArrayLike, goals: ArrayLike, **movement: Any
) -> Question[NDArray[np.float64]]:
    """Ask for the path costs from each of some cells to each of others.

    Parameters
    ----------
    world : str
        Its name.
    starts, goals : array-like of int, shape (n, 2) and (m, 2)
        Cells.
    **movement
        See `MovementFields`.

    Returns
    -------
    Question of float64 array (n, m)
        ``inf`` where there is no path.
    """
    arrays = {"starts": _cells("starts", starts), "goals": _cells("goals", goals)}
    return Question(
        "matrix", {"world": world, **movement}, lambda answer: answer.arrays["costs"], arrays
    )


def flow_field(
    world: str, goals: ArrayLike, *, costs: bool = False, **movement: Any
) -> Question[dict[str, NDArray[Any]]]:
    """Ask which way to go from every cell to the nearest goal.

    Parameters
    ----------
    world : str
        Its name.
    goals : array-like of int, shape (n, 2)
        Open cells.
    costs : bool
        Whether to return the costs as well.
    **movement
        See `MovementFields`.

    Returns
    -------
    Question of dict of str to array
        ``directions`` and perhaps ``costs``, arrays (height, width).
    """
    arrays = {"goals": _cells("goals", goals)}
    fields = {"world": world, "costs": costs, **movement}
    return Question("flow_field", fields, lambda answer: dict(answer.arrays), arrays)


def what_opens(
    world: str, start: tuple[int, int], goal: tuple[int, int], **movement: Any
) -> Question[NDArray[np.int32]]:
    """Ask for the fewest blocked cells whose opening would connect two cells.

    Parameters
    ----------
    world : str
        Its name.
    start, goal : (int, int)
        Cells.
    **movement
        See `MovementFields`.

    Returns
    -------
    Question of int32 array (n, 2)
        The cells.
    """
    fields = {
        "world": world, "start": _pair("start", start), "goal": _pair("goal", goal), **movement
    }  # fmt: skip
    return Question("what_opens", fields, lambda answer: answer.arrays["cells"])
