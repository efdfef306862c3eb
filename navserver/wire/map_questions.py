"""Questions for those who look at a map and at what a search does on it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.wire.client_session import Answer
from navserver.wire.question import Question, as_cells, as_pair

__all__ = ["ExploreAnswer", "describe_cells", "explore", "map_layer"]


class ExploreAnswer(NamedTuple):
    """A path, and what its search did, cell by cell."""

    status: str
    """One of the statuses of paths."""
    cost: float
    """Of the path; ``inf`` without one."""
    path: NDArray[np.int32]
    """int32 array (n, 2); empty without a path."""
    smoothed: NDArray[np.int32]
    """int32 array (m, 2): the corners of the path pulled straight; empty if not asked for."""
    expanded: int
    """Nodes expanded in all."""
    truncated: bool
    """Whether the record ends before the search."""
    position: tuple[int, int]
    """Top left cell of the two arrays that follow."""
    order: NDArray[np.int32]
    """int32 array (height, width): when each cell was first expanded, from 1; 0 is never."""
    costs: NDArray[np.float32]
    """float32 array (height, width): cost from the start, ``inf`` where not expanded."""


def explore(
    world: str,
    start: tuple[int, int],
    goal: tuple[int, int],
    *,
    capacity: int = 65536,
    **options: Any,
) -> Question[ExploreAnswer]:
    """Ask for a path and for what its search did.

    Parameters
    ----------
    world : str
        Its name.
    start, goal : (int, int)
        Cells.
    capacity : int
        Most expansions to record; 0 records none.
    **options
        ``algorithm``, ``heuristic``, ``inexact`` and `SearchFields`, but for what concerns result
        and queue; ``arrays``, a list of ``"smoothed"``, ``"order"`` and ``"costs"``: what is to be
        sent beside the path, all of it if left out; ``step``: order and costs have one number for
        each square of so many cells a side.

    Returns
    -------
    Question of ExploreAnswer
        The path and the search.
    """
    fields = {
        "world": world, "start": as_pair("start", start), "goal": as_pair("goal", goal),
        "capacity": capacity, **options,
    }  # fmt: skip
    return Question("explore", fields, _read_exploration)


def _read_exploration(answer: Answer) -> ExploreAnswer:
    fields, arrays = answer.fields, answer.arrays
    nothing = np.zeros((0, 2), np.int32)
    x, y = fields["position"]
    cost = fields.get("cost")
    return ExploreAnswer(
        answer.status,
        np.inf if cost is None else cost,
        arrays.get("cells", nothing),
        arrays.get("smoothed", nothing),
        fields["expanded"],
        bool(fields["truncated"]),
        (x, y),
        arrays.get("order", np.zeros((0, 0), np.int32)),
        arrays.get("costs", np.zeros((0, 0), np.float32)),
    )


def map_layer(world: str, layer: str, **movement: Any) -> Question[NDArray[Any]]:
    """Ask for one number for every cell of a map.

    Parameters
    ----------
    world : str
        Its name.
    layer : str
        ``classes``, ``costs``, ``islands`` or ``clearance``.
    **movement
        See `MovementFields`; ``step``: only every so many-th cell of every so many-th row.

    Returns
    -------
    Question of array (height, width)
        From the map's top left cell.
    """
    fields = {"world": world, "layer": layer, **movement}
    return Question("map_layer", fields, lambda answer: answer.arrays[layer])


def describe_cells(
    world: str, cells: ArrayLike, **movement: Any
) -> Question[dict[str, NDArray[Any]]]:
    """Ask for all that decides about some cells.

    Parameters
    ----------
    world : str
        Its name.
    cells : array-like of int, shape (n, 2)
        Cells of the map, up to 4,096.
    **movement
        See `MovementFields`.

    Returns
    -------
    Question of dict of str to array
        ``classes``, ``scales``, ``costs``, ``islands``, ``clearance`` and ``fits``, one entry a
        cell.
    """
    arrays = {"cells": as_cells("cells", cells)}
    return Question(
        "describe_cells", {"world": world, **movement}, lambda answer: dict(answer.arrays), arrays
    )
