"""Delivered paths that somebody wants to hear of when an edit breaks them."""

from __future__ import annotations

import itertools
import threading
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.search.validation import checked_count
from navserver.service.edits import Effect
from navserver.service.path_validity import Break, BreakReason, find_breaks, reach_of
from navserver.status import InputError

__all__ = ["PathInvalid", "Watches"]

BLOCK = 32
"""Cells a side of the squares by which watches are found."""


class PathInvalid(NamedTuple):
    """A watched path can no longer be walked; the watch has ended."""

    owner: Hashable
    watch: Hashable
    version: int
    """Version of the map that was looked at."""
    cell_index: int
    """The first of the path's cells that cannot be entered; 0 if the world was removed."""
    reason: BreakReason


_Key = tuple[Hashable, Hashable]


class _Watch:
    __slots__ = ("blocks", "flat", "movement")

    def __init__(self, movement: Movement, flat: NDArray[np.int64], blocks: list[int]) -> None:
        self.movement = movement
        self.flat = flat
        self.blocks = blocks


class Watches:
    """The watched paths of one world.

    Parameters
    ----------
    grid : Grid
        The map in any version, for its size.
    max_cells : int
        Most cells that all watched paths may have.

    Raises
    ------
    InputError
        If the bound is not a positive integer.

    Notes
    -----
    An edit looks only at the paths that pass the squares of 32 x 32 cells it touches. Safe for
    threads.
    """

    def __init__(self, grid: Grid, max_cells: int = 1 << 24) -> None:
        self.max_cells = checked_count("max_cells", max_cells)
        self.n_cells = 0
        """Cells of all watched paths."""
        self._columns = -(-grid.width // BLOCK)
        self._watches: dict[_Key, _Watch] = {}
        self._by_block: defaultdict[int, dict[_Key, None]] = defaultdict(dict)
        self._reaches: dict[Movement, int] = {}
        self._invalid: list[PathInvalid] = []
        self.lock = threading.Lock()
        """Held by whoever pins the map that `add_all` is given, so that no edit comes between."""

    def __len__(self) -> int:
        """Return the number of watched paths."""
        return len(self._watches)

    def add_all(
        self,
        grid: Grid,
        owner: Hashable,
        watches: Sequence[Hashable],
        movement: Movement,
        cells: ArrayLike,
        offsets: NDArray[np.int64],
    ) -> None:
        """Watch paths of one movement; all of them or, on errors, none.

        What is broken already is told at once.

        Parameters
        ----------
        grid : Grid
            The newest version of the map; the lock is held.
        owner : hashable
            Who wants to know.
        watches : sequence of hashable, length n
            What they call the paths, no two alike; older watches of the names end.
        movement : Movement
            Who walks.
        cells : array-like of int, shape (total, 2)
            One path after the other, each of at least one cell, each a step from the one before.
        offsets : int64 array (n + 1,)
            Path i is ``cells[offsets[i]:offsets[i + 1]]``.

        Raises
        ------
        InputError
            If one is no path on the map, or there are too many cells.
        """
        flat = grid.flat_indices(cells)
        if (np.diff(offsets) <= 0).any():
            raise InputError("cells", cells, "is no path", "give at least one cell")
        rows, columns = np.divmod(flat, grid.width)
        steps = np.maximum(np.abs(np.diff(rows)), np.abs(np.diff(columns)))
        steps[offsets[1:-1] - 1] = 0
        if (steps > 1).any():
            i = int(np.argmax(steps > 1)) + 1
            raise InputError(f"cells[{i}]", None, "is no step from the cell before", "give all")
        for watch in watches:
            self._remove((owner, watch))
        if self.n_cells + flat.size > self.max_cells:
            raise InputError(
                "cells", flat.size, "would be more cells than may be watched",
                f"watch fewer paths; {self.n_cells} of {self.max_cells} are in use",
            )  # fmt: skip
        # Overlays block nothing, and one that is removed must not matter.
        movement = replace(movement, overlays=())
        if movement not in self._reaches:
            self._reaches[movement] = reach_of(grid, movement)
        breaks = find_breaks(grid, movement, flat, offsets)
        blocks = _blocks_entered(rows // BLOCK * self._columns + columns // BLOCK, offsets)
        for i, watch in enumerate(watches):
            if i in breaks:
                self._tell((owner, watch), grid.version, breaks[i])
            else:
                # A copy, since the others may end long before.
                path = flat[offsets[i] : offsets[i + 1]].copy()
                self._enter((owner, watch), _Watch(movement, path, blocks[i]))

    def _enter(self, key: _Key, watch: _Watch) -> None:
        self._watches[key] = watch
        self.n_cells += watch.flat.size
        for block in watch.blocks:
            self._by_block[block][key] = None

    def remove(self, owner: Hashable, watches: Iterable[Hashable]) -> None:
        """End watches; those that have ended already are passed over.

        Parameters
        ----------
        owner : hashable
            Whose.
        watches : iterable of hashable
            Which.
        """
        with self.lock:
            for watch in watches:
                self._remove((owner, watch))

    def remove_owner(self, owner: Hashable) -> None:
        """End all watches of one owner, and forget what was not told yet.

        Parameters
        ----------
        owner : hashable
            Whose.
        """
        with self.lock:
            for key in [key for key in self._watches if key[0] == owner]:
                self._remove(key)
            self._invalid = [told for told in self._invalid if told.owner != owner]

    def _remove(self, key: _Key) -> None:
        watch = self._watches.pop(key, None)
        if watch is None:
            return
        self.n_cells -= watch.flat.size
        for block in watch.blocks:
            keys = self._by_block[block]
            del keys[key]
            if not keys:
                del self._by_block[block]

    def check(self, grid: Grid, effect: Effect) -> None:
        """Look at the paths that an edit may have broken.

        Parameters
        ----------
        grid : Grid
            The map, at least as new as the edit; the lock is held.
        effect : Effect
            The edit.
        """
        if effect.turned_from.size == 0 or not self._watches:
            return
        by_movement: defaultdict[Movement, list[_Key]] = defaultdict(list)
        for key in self._near(effect):
            by_movement[self._watches[key].movement].append(key)
        for movement, keys in by_movement.items():
            if effect.closes(movement):
                self._check_paths(grid, movement, keys)

    def _near(self, effect: Effect) -> Iterable[_Key]:
        """Return the watches whose squares an edit touches."""
        reach = max(self._reaches.values())
        x0, y0, x1, y1 = effect.rectangle
        columns = range(max(x0 - reach, 0) // BLOCK, (x1 - 1 + reach) // BLOCK + 1)
        rows = range(max(y0 - reach, 0) // BLOCK, (y1 - 1 + reach) // BLOCK + 1)
        if len(columns) * len(rows) > len(self._by_block):
            return list(self._watches)
        found: dict[_Key, None] = {}
        for row in rows:
            for column in columns:
                if column < self._columns:
                    found.update(self._by_block.get(row * self._columns + column, {}))
        return found

    def _check_paths(self, grid: Grid, movement: Movement, keys: list[_Key]) -> None:
        paths = [self._watches[key].flat for key in keys]
        offsets = np.zeros(len(paths) + 1, np.int64)
        np.cumsum([path.size for path in paths], out=offsets[1:])
        breaks = find_breaks(grid, movement, np.concatenate(paths), offsets)
        for i, found in breaks.items():
            self._remove(keys[i])
            self._tell(keys[i], grid.version, found)

    def _tell(self, key: _Key, version: int, found: Break) -> None:
        self._invalid.append(PathInvalid(*key, version, found.cell_index, found.reason))

    def end_all(self, version: int) -> None:
        """End all watches because the world has been removed.

        Parameters
        ----------
        version : int
            Its last version.
        """
        with self.lock:
            for key in list(self._watches):
                self._remove(key)
                self._tell(key, version, Break(0, BreakReason.WORLD_REMOVED))

    @property
    def has_broken(self) -> bool:
        """Whether `take` would return anything."""
        return bool(self._invalid)

    def take(self) -> list[PathInvalid]:
        """Return what has broken since the last call.

        Returns
        -------
        list of PathInvalid
            In the order of the edits.
        """
        with self.lock:
            invalid, self._invalid = self._invalid, []
            return invalid


def _blocks_entered(blocks: NDArray[np.int64], offsets: NDArray[np.int64]) -> list[list[int]]:
    """Return which blocks each path passes, each of them once; by the block of each cell."""
    is_entered = np.ones(blocks.size, np.bool_)
    is_entered[1:] = blocks[1:] != blocks[:-1]
    is_entered[offsets[:-1]] = True
    entered = blocks[is_entered].tolist()
    bounds = np.concatenate([[0], np.cumsum(is_entered)[offsets[1:] - 1]]).tolist()
    return [list(dict.fromkeys(entered[a:b])) for a, b in itertools.pairwise(bounds)]
