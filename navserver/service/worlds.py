"""The worlds there are, by name; their number and their bytes are bounded."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from navserver.search.grid import Grid
from navserver.search.validation import checked_count
from navserver.service.world import World
from navserver.status import InputError

__all__ = ["Worlds"]

# A cell with its masks and islands, three times: the head, and the copies that take turns with it.
_BYTES_A_CELL = 3 * (1 + 1 + 4 + 1)


class Worlds:
    """Worlds by name, bounded in number and bytes.

    Parameters
    ----------
    max_worlds : int
        How many there may be.
    max_bytes : int
        What their maps may take, counted by their sizes before they are made.

    Raises
    ------
    InputError
        If a bound is not a positive integer.

    Examples
    --------
    >>> worlds = Worlds()
    >>> worlds.add("cave", Grid.filled(8, 8)).version
    1
    >>> "cave" in worlds, len(worlds)
    (True, 1)
    """

    def __init__(self, max_worlds: int = 64, max_bytes: int = 1 << 32) -> None:
        self.max_worlds = checked_count("max_worlds", max_worlds)
        self.max_bytes = checked_count("max_bytes", max_bytes)
        self._worlds: dict[str, World] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of worlds."""
        return len(self._worlds)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a world of this name."""
        return isinstance(name, str) and name in self._worlds

    def __iter__(self) -> Iterator[World]:
        """Yield the worlds there are now."""
        return iter(list(self._worlds.values()))

    def __getitem__(self, name: str) -> World:
        """Return the world of a name; InputError if there is none."""
        try:
            return self._worlds[name]
        except (KeyError, TypeError):
            known = ", ".join(sorted(self._worlds)[:20]) or "none"
            raise InputError(
                "world", name, "does not exist", f"create it, or use one of: {known}"
            ) from None

    def check_room(self, width: int, height: int) -> None:
        """Refuse a map that would be too much, before it is made.

        Parameters
        ----------
        width, height : int
            Its size in cells.

        Raises
        ------
        InputError
            If there are too many worlds or bytes.
        """
        if len(self._worlds) >= self.max_worlds:
            raise InputError(
                "worlds", len(self._worlds), "are as many as there may be", "remove one first"
            )
        held = sum(_BYTES_A_CELL * world.replicas.grid.size for world in self)
        if held + _BYTES_A_CELL * width * height > self.max_bytes:
            raise InputError(
                "size", (width, height), f"would take the worlds beyond {self.max_bytes} bytes",
                "make it smaller, or remove a world first",
            )  # fmt: skip

    def add(self, name: str, grid: Grid) -> World:
        """Make a world.

        Parameters
        ----------
        name : str
            One that is not taken.
        grid : Grid
            The map; from now on nobody else may edit it.

        Returns
        -------
        World
            Ready for searches of the default body.

        Raises
        ------
        InputError
            If the name is taken, or the world would be too much.
        """
        world = World(name, grid)
        self._check_free(name, grid)
        world.prepare()
        world.replicas.make_spare()
        with self._lock:
            self._check_free(name, grid)
            self._worlds[name] = world
        return world

    def _check_free(self, name: str, grid: Grid) -> None:
        if name in self._worlds:
            raise InputError("name", name, "is taken", "remove that world first")
        self.check_room(grid.width, grid.height)

    def replace(self, restored: Sequence[World]) -> list[World]:
        """Put worlds in the place of those of the same names, all or none.

        Parameters
        ----------
        restored : sequence of World
            Of no registry yet; their names are distinct.

        Returns
        -------
        list of World
            Those that were replaced; their watches have ended. `Scheduler.drop_world` answers
            what waits for them.

        Raises
        ------
        InputError
            If they would be too much, or a name stands twice; then nothing has changed.
        """
        for world in restored:
            world.prepare()
            world.replicas.make_spare()
        with self._lock:
            after = {**self._worlds, **{world.name: world for world in restored}}
            if len({world.name for world in restored}) < len(restored):
                raise InputError("worlds", restored, "have a name twice", "leave out one of them")
            if len(after) > self.max_worlds:
                raise InputError(
                    "worlds", len(after), "would be too many", f"keep at most {self.max_worlds}"
                )
            held = sum(_BYTES_A_CELL * world.replicas.grid.size for world in after.values())
            if held > self.max_bytes:
                raise InputError(
                    "worlds", len(restored), f"would take all beyond {self.max_bytes} bytes",
                    "remove others first",
                )  # fmt: skip
            replaced = [
                self._worlds[world.name] for world in restored if world.name in self._worlds
            ]
            self._worlds = after
        for world in replaced:
            world.watches.end_all(world.version)
        return replaced

    def remove(self, name: str) -> World:
        """Forget a world.

        Parameters
        ----------
        name : str
            Which.

        Returns
        -------
        World
            The one that was; its watches have ended. `Scheduler.drop_world` answers what waits.

        Raises
        ------
        InputError
            If there is none of the name.
        """
        world = self[name]
        with self._lock:
            self._worlds.pop(name, None)
        world.watches.end_all(world.version)
        return world
