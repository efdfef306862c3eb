"""Arrays derived from a grid: built on first use, kept current on edits, bounded in bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from navserver.search.moves import DiagonalMode, fill_masks_, mask_table, patch_masks_
from navserver.search.profile import Profile

__all__ = ["Derived", "DerivedArrays", "Edit", "MoveMasks"]


class Edit(NamedTuple):
    """Classes that were written: a rectangle ``x0, y0, x1, y1``, else distinct flat cells."""

    classes: NDArray[np.uint8]
    rectangle: tuple[int, int, int, int] | None
    cells: NDArray[np.int64]
    before: NDArray[np.uint8]
    after: NDArray[np.uint8]


class Derived(Protocol):
    """What is kept of a grid beside its own arrays."""

    @property
    def nbytes(self) -> int:
        """Bytes held."""

    def update(self, edit: Edit) -> None:
        """Take in an edit that has been written.

        Parameters
        ----------
        edit : Edit
            What was written.
        """


D = TypeVar("D", bound=Derived)


class DerivedArrays:
    """The derived arrays of one grid, least recently used out first.

    Parameters
    ----------
    max_bytes : int
        What may be held; the array asked for last is kept whatever its size.
    """

    def __init__(self, max_bytes: int = 1 << 30) -> None:
        self.max_bytes = max_bytes
        self._entries: OrderedDict[Hashable, Derived] = OrderedDict()

    @property
    def nbytes(self) -> int:
        """Bytes held now."""
        return sum(entry.nbytes for entry in self._entries.values())

    def get(self, key: Hashable, build: Callable[[], D]) -> D:
        """Return the entry of a key, built if it is not there.

        Parameters
        ----------
        key : hashable
            Names the kind and all that it depends on.
        build : callable
            Makes the entry from the grid as it is now.

        Returns
        -------
        Derived
            Kept current from now on, until it is dropped for space.
        """
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = build()
            while len(self._entries) > 1 and self.nbytes > self.max_bytes:
                self._entries.popitem(last=False)
        else:
            self._entries.move_to_end(key)
        return entry  # type: ignore[return-value]

    def update(self, edit: Edit) -> None:
        """Pass an edit to every entry.

        Parameters
        ----------
        edit : Edit
            What was written.
        """
        for entry in self._entries.values():
            entry.update(edit)


class MoveMasks:
    """One byte of allowed moves a cell, for one set of blocking classes and diagonal mode.

    Parameters
    ----------
    classes : uint8 array (height, width)
        The grid's own array.
    profile : Profile
        Says which classes block.
    mode : DiagonalMode
        The diagonal rule.
    """

    def __init__(self, classes: NDArray[np.uint8], profile: Profile, mode: DiagonalMode) -> None:
        self._open_table = np.isfinite(profile.costs).astype(np.uint8)
        self._table = mask_table(mode)
        self.masks = np.empty(classes.shape, np.uint8)
        height, width = classes.shape
        fill_masks_(classes, self._open_table, self._table, 0, 0, width, height, self.masks)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.masks.nbytes

    def update(self, edit: Edit) -> None:
        """Write the masks around the cells that opened or closed.

        Parameters
        ----------
        edit : Edit
            What was written.
        """
        changed = self._open_table[edit.before] != self._open_table[edit.after]
        if not changed.any():
            return
        height, width = edit.classes.shape
        tables = (self._open_table, self._table)
        if edit.rectangle is None:
            patch_masks_(edit.classes, *tables, edit.cells[changed], self.masks)
        else:
            x0, y0, x1, y1 = edit.rectangle
            around = (max(x0 - 1, 0), max(y0 - 1, 0), min(x1 + 1, width), min(y1 + 1, height))
            fill_masks_(edit.classes, *tables, *around, self.masks)
