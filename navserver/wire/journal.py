"""The changes that a client made and the server acknowledged, to be made again by another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from navserver.wire.message import Message

__all__ = ["Change", "Journal", "Plan"]

_CREATE = "world_create"
_KINDS = frozenset({_CREATE, "world_edit", "world_tiles", "profile_set"})


class Change(NamedTuple):
    """One change of a world."""

    message: Message
    header: dict[str, Any]
    """As it was sent, with ``bulk``."""
    bulk: tuple[bytes, ...]
    """The frames after the header."""

    @property
    def world(self) -> str:
        """The world that is changed."""
        return str(self.header["world"])

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly."""
        return 256 + sum(map(len, self.bulk))


class Plan(NamedTuple):
    """What brings a world of a server up to date."""

    changes: list[tuple[int, Change]]
    """To be made in this order; each with the key that `Journal.renumber` takes."""
    is_lossy: bool
    """Whether acknowledged changes cannot be made again."""


@dataclass
class _History:
    """The changes of one world in their order."""

    lineage: str | None = None
    """Of the world that this client made; None if another one did."""
    is_whole: bool = False
    """Whether the first change is the world's creation."""
    changes: dict[int, tuple[Change, int]] = field(default_factory=dict)
    """By key, each with the version that it made."""
    profiles: dict[str, int] = field(default_factory=dict)
    """The key of the newest change of each profile."""
    nbytes: int = 0
    lost_version: int = 0
    """The greatest version whose change has been dropped."""


class Journal:
    """Changes by world, oldest first, bounded in bytes.

    Parameters
    ----------
    max_bytes : int
        What may be held. The oldest changes of the world that holds most are dropped.

    Notes
    -----
    Of each profile the newest change is kept: setting it again does no harm.
    """

    def __init__(self, max_bytes: int = 1 << 28) -> None:
        self.max_bytes = max_bytes
        """What may be held."""
        self._worlds: dict[str, _History] = {}
        self._last_key = 0

    @property
    def worlds(self) -> list[str]:
        """Names of the worlds that have changes."""
        return list(self._worlds)

    @property
    def nbytes(self) -> int:
        """Bytes held now."""
        return sum(history.nbytes for history in self._worlds.values())

    def note(self, change: Change, version: int, reply: Mapping[str, Any]) -> None:
        """Take in a change that the server acknowledged.

        Parameters
        ----------
        change : Change
            What was changed; what is no matter of the journal is passed over.
        version : int
            Version of the map that it made.
        reply : mapping of str to object
            Fields of the reply.
        """
        kind = change.message.name
        if kind == "world_delete":
            self.forget(change.world)
        if kind not in _KINDS:
            return
        if kind == _CREATE:
            self._worlds[change.world] = _History(reply["lineage"], is_whole=True)
        history = self._worlds.setdefault(change.world, _History())
        self._last_key += 1
        if kind == "profile_set":
            name = change.header["profile"]
            _drop(history, history.profiles.get(name))
            history.profiles[name] = self._last_key
        history.changes[self._last_key] = (change, version)
        history.nbytes += change.nbytes
        while self.nbytes > self.max_bytes:
            _drop_oldest(max(self._worlds.values(), key=lambda each: each.nbytes))

    def plan(self, world: str, lineage: str | None, version: int) -> Plan:
        """Return what brings a world up to date.

        Parameters
        ----------
        world : str
            One of `worlds`.
        lineage : str or None
            Of the server's world; None if it has none of this name.
        version : int
            Version of the server's world.

        Returns
        -------
        Plan
            Changes to be made, and whether that is less than there was.
        """
        history = self._worlds[world]
        if lineage is not None and history.lineage in (None, lineage):
            missing = [
                (key, change)
                for key, (change, made) in history.changes.items()
                if made > version or change.message.name == "profile_set"
            ]
            return Plan(missing, history.lost_version > version)
        if not history.is_whole:
            return Plan([], is_lossy=True)
        changes = [(key, change) for key, (change, _) in history.changes.items()]
        key, first = changes[0]
        first = first._replace(header={**first.header, "replace": True})
        return Plan([(key, first), *changes[1:]], is_lossy=False)

    def renumber(self, world: str, key: int, version: int, reply: Mapping[str, Any]) -> None:
        """Take in that a planned change has been made again.

        Parameters
        ----------
        world : str
            Where.
        key : int
            The plan's.
        version : int
            Version of the map that it made now.
        reply : mapping of str to object
            Fields of the reply.
        """
        history = self._worlds[world]
        change, _ = history.changes[key]
        history.changes[key] = (change, version)
        history.lost_version = 0
        if change.message.name == _CREATE:
            history.lineage = reply["lineage"]

    def forget(self, world: str) -> None:
        """Drop the changes of a world.

        Parameters
        ----------
        world : str
            Its name; one that is not known is passed over.
        """
        self._worlds.pop(world, None)


def _drop(history: _History, key: int | None) -> None:
    if key is not None:
        change, _ = history.changes.pop(key)
        history.nbytes -= change.nbytes


def _drop_oldest(history: _History) -> None:
    key, (change, version) = next(iter(history.changes.items()))
    history.is_whole = False
    if change.message.name == "profile_set":
        del history.profiles[change.header["profile"]]
    history.lost_version = max(history.lost_version, version)
    _drop(history, key)
