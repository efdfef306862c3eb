"""The behaviours that every run knows by name: bots that wander, commute, and chase."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from navserver.sim.bots import Behavior, Kind, Observation, Orders
from navserver.status import InputError

__all__ = ["BEHAVIORS", "Chase", "Commute", "Wander"]


class Wander:
    """Each bot that does not walk goes to a random cell that it can reach.

    Parameters
    ----------
    kind : Kind
        The bots.
    pause : float
        Seconds that a bot rests after it arrived.
    """

    def __init__(self, kind: Kind, pause: float = 0.0) -> None:
        self._kind = kind
        self._rest = _Rest(len(kind.spawns), pause)

    def decide(self, bots: Observation) -> Orders | None:
        """Send the rested on.

        Parameters
        ----------
        bots : Observation
            What they see.

        Returns
        -------
        Orders or None
            Random goals.
        """
        rows = self._rest.over(bots)
        return Orders(rows, self._kind.draw_goals(rows, bots.cell[rows])) if rows.size else None


class Commute:
    """Each bot goes between where it started and one goal cell, for ever.

    Parameters
    ----------
    kind : Kind
        The bots.
    pause : float
        Seconds that a bot rests at either end.
    """

    def __init__(self, kind: Kind, pause: float = 0.0) -> None:
        self._homes = kind.spawns
        self._works = kind.draw_goals(np.arange(len(kind.spawns)))
        self._goes_home = np.ones(len(kind.spawns), np.bool_)
        self._rest = _Rest(len(kind.spawns), pause)

    def decide(self, bots: Observation) -> Orders | None:
        """Turn those round that have rested.

        Parameters
        ----------
        bots : Observation
            What they see.

        Returns
        -------
        Orders or None
            The other end.
        """
        rows = self._rest.over(bots)
        if not rows.size:
            return None
        self._goes_home[rows] ^= True
        goes_home = self._goes_home[rows, None]
        return Orders(rows, np.where(goes_home, self._homes[rows], self._works[rows]))


class Chase:
    """Some bots wander, the others run after the nearest of them.

    Parameters
    ----------
    kind : Kind
        The bots.
    prey : float
        The share of those that wander, above 0 and below 1.
    interval : float
        Seconds until a chaser looks again.
    """

    def __init__(self, kind: Kind, prey: float = 0.1, interval: float = 1.0) -> None:
        if not 0 < _checked("prey", prey) < 1:
            raise InputError("prey", prey, "is not a share", "give a number between 0 and 1")
        if not _checked("interval", interval) > 0:
            raise InputError("interval", interval, "is not above 0", "give seconds")
        self._kind = kind
        self._prey = max(int(len(kind.spawns) * prey), 1)
        self._interval = interval
        self._next_look = 0.0

    def decide(self, bots: Observation) -> Orders | None:
        """Send the prey on, and now and then the chasers after it.

        Parameters
        ----------
        bots : Observation
            What they see.

        Returns
        -------
        Orders or None
            Goals.
        """
        rows = np.flatnonzero(bots.is_free[: self._prey])
        goals = self._kind.draw_goals(rows, bots.cell[rows])
        if bots.time >= self._next_look and self._prey < len(bots.cell):
            self._next_look = bots.time + self._interval
            chasers = np.arange(self._prey, len(bots.cell))
            prey = bots.cell[: self._prey]
            nearest = _nearest(bots.cell[chasers], prey)
            rows = np.concatenate([rows, chasers])
            goals = np.concatenate([goals, prey[nearest]])
        return Orders(rows, goals) if rows.size else None


def _nearest(cells: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the row of the nearest other, block by block so that memory stays bounded."""
    nearest = np.empty(len(cells), np.int64)
    block = max((1 << 22) // len(others), 1)
    for first in range(0, len(cells), block):
        apart = cells[first : first + block, None].astype(np.int64) - others[None]
        nearest[first : first + block] = (apart**2).sum(axis=2).argmin(axis=1)
    return nearest


def _checked(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(name, value, "is not a number", "give one")
    return value


class _Rest:
    """Who has not walked for a while."""

    def __init__(self, count: int, pause: float) -> None:
        if not _checked("pause", pause) >= 0:
            raise InputError("pause", pause, "is not 0 or more", "give seconds")
        self._pause = pause
        self._since = np.full(count, -np.inf)
        self._walked = np.zeros(count, np.bool_)

    def over(self, bots: Observation) -> NDArray[np.int64]:
        stopped = bots.is_free & self._walked
        self._since[stopped] = bots.time
        self._walked = ~bots.is_free
        return np.flatnonzero(bots.is_free & (bots.time >= self._since + self._pause))


BEHAVIORS: Mapping[str, Callable[..., Behavior]] = {
    "wander": Wander,
    "commute": Commute,
    "chase": Chase,
}
"""The built-in behaviours by name."""
