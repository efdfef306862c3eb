"""Which movers end with which session."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from navserver.service.world import World
from navserver.wire.server_session import Session

__all__ = ["MoverOwners"]

_SLACK = 1024
"""Handles of movers that were removed may be kept beyond as many as there are."""


class MoverOwners:
    """The movers that sessions own, by world."""

    def __init__(self) -> None:
        self._owned: dict[tuple[Session, World], NDArray[np.int64]] = {}

    def add(self, session: Session, world: World, handles: NDArray[np.int64]) -> None:
        """Let a session own movers.

        Parameters
        ----------
        session : Session
            Who.
        world : World
            Where.
        handles : int64 array (n,)
            Movers that were just added.
        """
        key = (session, world)
        owned = np.concatenate([self._owned.get(key, handles[:0]), handles])
        if owned.size > 2 * len(world.movers) + _SLACK:
            owned = owned[world.movers.is_alive(owned)]
        self._owned[key] = owned

    def worlds_of(self, session: Session) -> list[World]:
        """Return where a session owns movers.

        Parameters
        ----------
        session : Session
            Who.

        Returns
        -------
        list of World
            The worlds.
        """
        return [world for owner, world in self._owned if owner is session]

    def take(self, session: Session, world: World) -> NDArray[np.int64]:
        """Let a session own no movers of a world any more.

        Parameters
        ----------
        session : Session
            Who.
        world : World
            Where.

        Returns
        -------
        int64 array (n,)
            Those of its movers that there still are.
        """
        owned = self._owned.pop((session, world), np.empty(0, np.int64))
        return owned[world.movers.is_alive(owned)] if owned.size else owned

    def forget(self, world: World) -> None:
        """Take note that all movers of a world are gone.

        Parameters
        ----------
        world : World
            Which.
        """
        for key in [key for key in self._owned if key[1] is world]:
            del self._owned[key]
