"""What properties of movers may be, and checks of what callers pass for many movers at once."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from navserver.search.movement import MAX_BODY
from navserver.search.validation import checked_array, checked_points
from navserver.status import InputError

__all__ = [
    "FASTEST",
    "FURTHEST",
    "PROPERTIES",
    "Bound",
    "checked_handles",
    "checked_offsets",
    "checked_positions",
    "checked_property",
    "checked_velocities",
]

FURTHEST = 1 << 14
"""Most that a coordinate may be away from 0: float32 tells 1 / 1024 of a cell there."""

FASTEST = 1e6
"""Most cells a second."""

_LARGEST = float(np.finfo(np.float32).max)


class Bound(NamedTuple):
    """What a property of a mover may be."""

    least: float
    most: float
    dtype: DTypeLike = np.float32
    excludes_least: bool = False

    def holds(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which values are within it.

        Parameters
        ----------
        values : array
            Numbers; NaN is not within.

        Returns
        -------
        bool array
            Of the same shape.
        """
        above = values > self.least if self.excludes_least else values >= self.least
        within: NDArray[np.bool_] = above & (values <= self.most)
        return within

    @property
    def remedy(self) -> str:
        """What an error advises."""
        low = f"more than {self.least:g}" if self.excludes_least else f"{self.least:g} or more"
        high = "" if math.isinf(self.most) else f", at most {self.most:g}"
        return f"give {low}{high}"


PROPERTIES = {
    "radius": Bound(0.0, MAX_BODY),
    "max_speed": Bound(0.0, FASTEST),
    "acceleration": Bound(0.0, math.inf, excludes_least=True),
    "turn_rate": Bound(0.0, math.inf, excludes_least=True),
    "slowing_distance": Bound(0.0, _LARGEST),
    "arrival_radius": Bound(0.0, _LARGEST),
    "priority": Bound(0.0, 1.0),
    "layers": Bound(0, 2**32 - 1, np.uint32),
    "mask": Bound(0, 2**32 - 1, np.uint32),
}
"""What the caller may set of a mover, by the name of its column."""


def checked_handles(field: str, handles: ArrayLike) -> NDArray[np.int64]:
    """Return handles that may still be those of nobody.

    Parameters
    ----------
    field : str
        How an error names them.
    handles : array-like
        What was given.

    Returns
    -------
    int64 array (n,)
        Perhaps the array given.

    Raises
    ------
    InputError
        If they are not integers in a row.
    """
    try:
        array = np.asarray(handles)
    except ValueError:
        array = np.empty((0, 0))
    if array.size == 0 and array.ndim == 1:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(field, handles, "is not a list of handles", "give integers of shape (n,)")
    return array.astype(np.int64, copy=False)


def checked_positions(field: str, positions: ArrayLike) -> NDArray[np.float32]:
    """Return points of cell space.

    Parameters
    ----------
    field : str
        How an error names them.
    positions : array-like
        What was given.

    Returns
    -------
    float32 array (n, 2)
        C-contiguous, each within `FURTHEST`.

    Raises
    ------
    InputError
        If they are not pairs of finite numbers within that; names the row.
    """
    array = _checked_pairs(field, positions)
    if array.ndim != 2:
        raise InputError(field, array.shape, "is not a shape of points", "give the shape (n, 2)")
    # Also False for NaN.
    good = (np.abs(array) <= FURTHEST).all(axis=1)
    if not good.all():
        i = int(np.argmin(good))
        raise InputError(
            f"{field}[{i}]", tuple(array[i].tolist()), "is not a point of cell space",
            f"give finite numbers within -{FURTHEST}..{FURTHEST}",
        )  # fmt: skip
    return np.ascontiguousarray(array, np.float32)


def _checked_pairs(field: str, pairs: ArrayLike) -> NDArray[np.float64]:
    """Return pairs of numbers, in whatever shape; none of them have the shape (0, 2)."""
    array = checked_array(field, pairs)
    if not array.size:
        return np.empty((0, 2))
    # Text and complex numbers could be converted as well, but nobody means that.
    if array.dtype.kind not in "iufO":
        raise InputError(field, array.dtype, "is not a type of real numbers", "give floats")
    return checked_points(field, array)


def checked_velocities(field: str, velocities: ArrayLike, n: int) -> NDArray[np.float32]:
    """Return velocities of some movers.

    Parameters
    ----------
    field : str
        How an error names them.
    velocities : array-like
        What was given: one for all, or one a mover.
    n : int
        How many movers.

    Returns
    -------
    float32 array (n, 2)
        Each within `FASTEST`.

    Raises
    ------
    InputError
        If they are not pairs of finite numbers within that; names the row.
    """
    array = _checked_pairs(field, velocities)
    if array.shape not in ((2,), (n, 2)):
        raise InputError(
            field, array.shape, "do not go with the handles", f"give the shape (2,) or ({n}, 2)"
        )
    rows = np.broadcast_to(array, (n, 2))
    # Also False for NaN.
    good = (np.abs(rows) <= FASTEST).all(axis=1)
    if not good.all():
        i = int(np.argmin(good))
        raise InputError(
            f"{field}[{i}]", tuple(rows[i].tolist()), "is not a velocity",
            f"give finite numbers within {FASTEST:g}",
        )  # fmt: skip
    return rows.astype(np.float32)


def checked_property(name: str, values: ArrayLike, n: int) -> NDArray[Any]:
    """Return a property of some movers.

    Parameters
    ----------
    name : str
        One of `PROPERTIES`.
    values : array-like
        What was given: one value, or one a mover.
    n : int
        How many movers.

    Returns
    -------
    array (n,) or ()
        Of the property's dtype.

    Raises
    ------
    InputError
        If a value is out of bounds; names the row.
    """
    bound = PROPERTIES[name]
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty(0, np.object_)
    whole = bound.dtype == np.uint32
    if array.dtype.kind not in ("iu" if whole else "iuf") or array.shape not in ((), (n,)):
        what = "integers" if whole else "numbers"
        raise InputError(
            name, values, "does not go with the movers", f"give {what}, a single one or {n}"
        )
    good = bound.holds(array)
    if not good.all():
        i = int(np.argmin(good))
        where = f"{name}[{i}]" if array.ndim else name
        raise InputError(where, array.reshape(-1)[i].item(), "is out of bounds", bound.remedy)
    # A float64 beyond float32 becomes inf, which is a bound that there is none.
    with np.errstate(over="ignore"):
        return array.astype(bound.dtype)


def checked_offsets(offsets: ArrayLike, n: int, total: int) -> NDArray[np.int64]:
    """Return the offsets of n ranges that divide so many points.

    Parameters
    ----------
    offsets : array-like
        What was given.
    n : int
        Ranges.
    total : int
        Points.

    Returns
    -------
    int64 array (n + 1,)
        C-contiguous.

    Raises
    ------
    InputError
        If they do not divide them.
    """
    try:
        array = np.asarray(offsets)
    except ValueError:
        array = np.empty(0)
    if array.dtype.kind not in "iu" or array.shape != (n + 1,):
        raise InputError("offsets", offsets, "do not go with the handles", f"give {n + 1} integers")
    array = np.ascontiguousarray(array, np.int64)
    if array[0] != 0 or array[-1] != total or (array[1:] < array[:-1]).any():
        raise InputError(
            "offsets", offsets, "do not divide the points",
            f"begin with 0, never fall, and end with {total}",
        )  # fmt: skip
    return array
