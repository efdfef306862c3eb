"""What the arrays of a saved table must be before kernels may index by them.

A checksum tells accidents from what was saved, not a forger from the server: whoever may send
bytes may send any.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.movers.columns import Columns, MoverState, StuckReason
from navserver.movers.properties import FURTHEST, PROPERTIES
from navserver.search.grid import Grid
from navserver.status import InputError

__all__ = ["IN_POOL", "check_table"]

IN_POOL = ("path_begin", "path_next", "path_end")
"""Columns that are not saved: where a route lies is told by its length and what is passed."""

_POINTS = ("position", "goal", "target")
_UNBOUNDED = ("acceleration", "turn_rate", "headway", "braking")


def check_table(grid: Grid, n_movements: int, arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse arrays that cannot be those of a table of movers.

    Parameters
    ----------
    grid : Grid
        The map.
    n_movements : int
        How many movements the table has.
    arrays : dict of str to array
        By name, as they were saved.

    Raises
    ------
    InputError
        Naming the array; nothing has been taken over then.
    """
    state = _array(arrays, "state", np.dtype(np.uint8), (None,))
    n = len(state)
    for spec in fields(Columns):
        if spec.name not in IN_POOL:
            width = spec.metadata["width"]
            shape = (n,) if width == 1 else (n, width)
            _check_numbers(spec.name, _array(arrays, spec.name, spec.metadata["dtype"], shape))
    _hold("state", state <= max(MoverState))
    alive = state != MoverState.FREE
    for name in _POINTS:
        _hold(name, _is_on(grid, arrays[name][alive]))
    for name, bound in PROPERTIES.items():
        _hold(name, bound.holds(arrays[name][alive]))
    for name, least, most in (
        ("generation", 1, np.iinfo(np.int32).max),
        ("movement", 0, n_movements - 1),
        ("stuck_reason", 0, max(StuckReason)),
        ("group", -1, np.iinfo(np.int32).max),
        ("anchor", -1, grid.size - 1),
        ("seen_from", -1, grid.size - 1),
        ("headway_left", 0, np.iinfo(np.int32).max),
        ("crowd_radius", 0.0, 2.0 * FURTHEST),
    ):
        _hold(name, (arrays[name] >= least) & (arrays[name] <= most))
    _check_routes(grid, arrays)
    _check_free(arrays)


def _check_numbers(name: str, array: NDArray[Any]) -> None:
    if array.dtype.kind == "f":
        _hold(name, ~np.isnan(array) if name in _UNBOUNDED else np.isfinite(array))


def _check_routes(grid: Grid, arrays: dict[str, NDArray[Any]]) -> None:
    state = arrays["state"]
    counts = _array(arrays, "route_counts", np.dtype(np.int32), state.shape)
    passed = _array(arrays, "route_passed", np.dtype(np.int32), state.shape)
    walks = state == MoverState.PATH
    may_walk = walks | (state == MoverState.WAITING)
    _hold("route_counts", (counts >= 0) & (counts <= np.where(may_walk, np.inf, 0)))
    _hold("route_counts", counts >= walks)
    _hold("route_passed", (passed >= 0) & ((passed < counts) | (counts == 0)))
    total = int(counts.sum(dtype=np.int64))
    points = _array(arrays, "waypoints", np.dtype(np.float32), (total, 2))
    _hold("waypoints", _is_on(grid, points))


def _check_free(arrays: dict[str, NDArray[Any]]) -> None:
    state = arrays["state"]
    free = _array(arrays, "free_slots", np.dtype(np.int64), (None,))
    _hold("free_slots", (free >= 0) & (free < state.size))
    _hold("free_slots", state[free] == MoverState.FREE)
    _hold("free_slots", np.unique(free).size == free.size)


def _is_on(grid: Grid, points: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which points lie in cells of the map."""
    x, y = np.floor(points.astype(np.float64) + 0.5).T
    ox, oy = grid.region_position
    inside: NDArray[np.bool_] = (
        (x >= ox) & (x < ox + grid.width) & (y >= oy) & (y < oy + grid.height)
    )
    return inside


def _array(
    arrays: dict[str, NDArray[Any]], name: str, dtype: np.dtype[Any], shape: tuple[int | None, ...]
) -> NDArray[Any]:
    found = arrays.get(name)
    if (
        found is None
        or found.dtype != dtype
        or found.ndim != len(shape)
        or any(wanted not in (None, n) for wanted, n in zip(shape, found.shape, strict=True))
    ):
        told = None if found is None else f"{found.dtype} of shape {found.shape}"
        raise _unsound(name, told)
    return found


def _hold(name: str, is_sound: Any) -> None:
    if not np.all(is_sound):
        raise _unsound(name, int(np.argmin(np.reshape(is_sound, -1))))


def _unsound(name: str, where: object) -> InputError:
    return InputError(
        "data", f"{name}: {where}", "cannot be what was saved", "give the bytes that were saved"
    )
