"""Profiles: what each class of cell costs one kind of body."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.status import InputError

__all__ = ["DEFAULT_PROFILE", "N_CLASSES", "SOLID", "Profile"]

N_CLASSES = 256
SOLID = 255
"""The class of a wall: it blocks under every profile that does not name it."""


class Profile:
    """Costs of the 256 cell classes; one map serves walkers, boats and tanks.

    Parameters
    ----------
    costs : mapping of int to float, or array-like of 256 floats, optional
        Cost of entering a cell of each class, >= 0; ``inf`` blocks. Stored as float32.
    default : float
        Cost of the classes that a mapping does not name, except `SOLID`, which blocks unless
        it is named.

    Raises
    ------
    InputError
        If a class is not in 0..255, or a cost is NaN or negative.

    Examples
    --------
    >>> boat = Profile({3: 1.0}, default=float("inf"))
    >>> float(boat.costs[3]), float(boat.costs[0])
    (1.0, inf)
    >>> float(Profile().costs[SOLID])
    inf
    """

    __slots__ = ("_key", "blocked_key", "costs")

    def __init__(
        self, costs: Mapping[int, float] | ArrayLike | None = None, *, default: float = 1.0
    ) -> None:
        table = np.full(N_CLASSES, _checked_cost("default", default), np.float32)
        table[SOLID] = np.inf
        if costs is None:
            costs = {}
        if isinstance(costs, Mapping):
            for class_id, cost in costs.items():
                table[_checked_class("costs", class_id)] = _checked_cost(f"costs[{class_id}]", cost)
        else:
            table[:] = _checked_table(costs)
        # Makes one of the two zeros: profiles that compare equal must hash alike.
        table += np.float32(0.0)
        table.flags.writeable = False
        self.costs: NDArray[np.float32] = table
        """float32 array of 256 costs, read-only."""
        self.blocked_key: bytes = np.packbits(np.isinf(table)).tobytes()
        """The set of blocking classes as 256 bits: equal for profiles that block alike."""
        self._key = table.tobytes()

    def __eq__(self, other: object) -> bool:
        """Return whether the other is a profile of equal costs."""
        return self is other or (isinstance(other, Profile) and self._key == other._key)

    def __hash__(self) -> int:
        """Return a hash of the costs."""
        return hash(self._key)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what pickling and the copy module rebuild it from, read-only and hashed again."""
        return Profile, (self.costs,)

    def __repr__(self) -> str:
        """Return the constructor call that names the fewest classes."""
        values, counts = np.unique(self.costs[:SOLID], return_counts=True)
        default = float(values[counts.argmax()])
        named = {i: float(c) for i, c in enumerate(self.costs[:SOLID]) if c != default}
        if not np.isinf(self.costs[SOLID]):
            named[SOLID] = float(self.costs[SOLID])
        return f"Profile({named}, default={default})"


def _checked_cost(field: str, cost: object) -> float:
    try:
        value = float(cost if isinstance(cost, Real) else "")
    except (ValueError, OverflowError):
        raise InputError(
            field, cost, "is not a number of float32", "give a cost >= 0, or inf"
        ) from None
    if not value >= 0.0:
        raise InputError(field, cost, "is not a cost", "give a number >= 0, or inf to block")
    with np.errstate(over="ignore"):
        stored = np.float32(value)
    if np.isinf(stored) and value != float("inf"):
        raise InputError(field, cost, "exceeds float32", "give at most 3.4e38, or inf to block")
    return float(stored)


def _checked_class(field: str, class_id: object) -> int:
    if isinstance(class_id, (int, np.integer)) and 0 <= class_id < N_CLASSES:
        return int(class_id)
    raise InputError(field, class_id, "is not a cell class", "give an integer from 0 to 255")


def _checked_table(costs: ArrayLike) -> NDArray[np.float32]:
    try:
        table = np.asarray(costs, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("costs", costs, "is not an array of numbers", "give 256 costs") from None
    if table.shape != (N_CLASSES,):
        raise InputError("costs", table.shape, "is not the shape (256,)", "give 256 costs")
    for class_id, cost in enumerate(table):
        _checked_cost(f"costs[{class_id}]", cost)
    return table.astype(np.float32)


DEFAULT_PROFILE = Profile()
"""Every class costs 1, and `SOLID` blocks."""
