"""Who watches which path, and who is told when an edit breaks it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.search.movement import Movement
from navserver.service.watches import PathInvalid
from navserver.service.world import World
from navserver.service.worlds import Worlds
from navserver.wire.server_session import ServerSessions, Session

__all__ = ["Watchers"]

_MOST_WATCHES = (1 << 32) - 1
# What may be on its way, or unread, when a connection breaks.
_TOLD_AGAIN = 64


class Watchers:
    """The sessions that watch paths; each numbers its watches from 1.

    Parameters
    ----------
    worlds : Worlds
        Where.
    sessions : ServerSessions
        Who is told.
    """

    def __init__(self, worlds: Worlds, sessions: ServerSessions) -> None:
        self._worlds = worlds
        self._sessions = sessions
        self._numbers: dict[Session, int] = {}
        self._told: dict[Session, list[tuple[dict[str, Any], dict[str, NDArray[Any]]]]] = {}

    def watch(
        self, session: Session, world: World, movement: Movement, cells: NDArray[np.int32]
    ) -> int:
        """Watch a path for a session.

        Parameters
        ----------
        session : Session
            Who is told.
        world : World
            Where.
        movement : Movement
            Who walks.
        cells : int32 array (n, 2)
            The path.

        Returns
        -------
        int
            What the session calls the watch, from 1.

        Raises
        ------
        InputError
            If that is no path, or too much is watched.
        """
        offsets = np.array([0, len(cells)])
        return int(self.watch_all(session, world, movement, cells, offsets)[0])

    def watch_all(
        self,
        session: Session,
        world: World,
        movement: Movement,
        cells: NDArray[np.int32],
        offsets: NDArray[np.int64],
    ) -> NDArray[np.uint32]:
        """Watch many paths for a session; all of them or, on errors, none.

        Parameters
        ----------
        session : Session
            Who is told.
        world : World
            Where.
        movement : Movement
            Who walks.
        cells : int32 array (total, 2)
            One path after the other.
        offsets : int64 array (n + 1,)
            Path i is ``cells[offsets[i]:offsets[i + 1]]``; none is empty.

        Returns
        -------
        uint32 array (n,)
            What the session calls the watches, from 1.

        Raises
        ------
        InputError
            If one is no path, or too much is watched.
        """
        last = self._numbers.get(session, 0)
        numbers = (last + np.arange(len(offsets) - 1)) % _MOST_WATCHES + 1
        with world.watches.lock, world.pinned() as grid:
            world.watches.add_all(grid, session, numbers.tolist(), movement, cells, offsets)
        self._numbers[session] = int(numbers[-1]) if numbers.size else last
        return numbers.astype(np.uint32)

    def unwatch(self, session: Session, watches: Iterable[int]) -> None:
        """End watches of a session.

        Parameters
        ----------
        session : Session
            Whose.
        watches : iterable of int
            Which; others are passed over.
        """
        numbers = list(watches)
        for world in self._worlds:
            world.watches.remove(session, numbers)

    def forget(self, session: Session) -> None:
        """End all watches of a session.

        Parameters
        ----------
        session : Session
            One that has ended.
        """
        self._numbers.pop(session, None)
        self._told.pop(session, None)
        for world in self._worlds:
            world.watches.remove_owner(session)

    def tell_all(self) -> None:
        """Tell which watched paths edits have broken."""
        for world in self._worlds:
            if world.watches.has_broken:
                self.tell(world)

    def tell(self, world: World) -> None:
        """Tell which watched paths of a world are broken.

        Parameters
        ----------
        world : World
            Which; it may have been removed.
        """
        by_session: dict[Any, list[PathInvalid]] = {}
        for broken in world.watches.take():
            by_session.setdefault(broken.owner, []).append(broken)
        for session, broken_paths in by_session.items():
            columns = list(zip(*broken_paths, strict=True))
            arrays: dict[str, NDArray[Any]] = {
                "watches": np.array(columns[1], np.uint32),
                "indices": np.array(columns[3], np.uint32),
                "reasons": np.array(columns[4], np.uint8),
            }
            fields = {"world": world.name, "version": max(columns[2])}
            told = self._told.setdefault(session, [])
            told.append((fields, arrays))
            self._sessions.push(session, "path_invalid", fields, arrays)
            if session.connection is not None:
                # Who is away is told of all of them.
                del told[:-_TOLD_AGAIN]

    def resume(self, session: Session) -> None:
        """Tell a session that has another connection what the former one may not have brought.

        Parameters
        ----------
        session : Session
            Whose.
        """
        told = self._told.get(session, [])
        for fields, arrays in told:
            self._sessions.push(session, "path_invalid", fields, arrays)
        del told[:-_TOLD_AGAIN]
