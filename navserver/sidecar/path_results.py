"""Paths as requests want them: smoothed, as cells or as world positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.search.movement import Movement
from navserver.search.smoothing import pull_strings, simplify_paths
from navserver.service.requests import movement_keywords
from navserver.service.world import World

__all__ = ["as_asked", "smoothed"]

_IDENTITY = np.eye(2, 3).tobytes()


def smoothed(
    world: World,
    movement: Movement,
    smoothing: str,
    cells: NDArray[np.int32],
    offsets: NDArray[np.int64],
    version: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return paths with fewer cells.

    Parameters
    ----------
    world : World
        Where they lie.
    movement : Movement
        Whose they are.
    smoothing : str
        ``none``, ``simplify`` or ``pull_string``. Where the map has changed since, strings are
        not pulled: a straight line could cross what is a wall by now.
    cells : int32 array (total, 2)
        The paths, one after the other.
    offsets : int64 array (n + 1,)
        Where each begins and ends.
    version : int
        Version of the map that they were found on.

    Returns
    -------
    int32 array (m, 2), int64 array (n + 1,)
        The same for what remains.
    """
    if smoothing == "none" or len(cells) == 0:
        return cells, offsets
    if smoothing == "pull_string":
        replica = world.replicas.pin()
        try:
            if replica.version == version:
                return pull_strings(replica.grid, cells, offsets, **movement_keywords(movement))
        finally:
            world.replicas.unpin(replica)
    return simplify_paths(cells, offsets)


def as_asked(world: World, result: str, cells: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    """Return cells as the array that a request asks for.

    Parameters
    ----------
    world : World
        Whose transform holds.
    result : str
        ``cells`` or ``points``.
    cells : int32 array (n, 2)
        Cells x and y.

    Returns
    -------
    dict of str to array
        ``cells``, or ``points``: float32 array (n, 2).
    """
    if result == "cells":
        return {"cells": cells}
    transform = world.replicas.grid.transform
    if transform.tobytes() == _IDENTITY:
        return {"points": cells.astype(np.float32)}
    # Cast first: numpy multiplies mixed types element by element.
    points = cells.astype(np.float64) @ transform[:, :2].T
    points += transform[:, 2]
    return {"points": points.astype(np.float32)}
