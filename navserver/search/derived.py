"""Arrays derived from a grid: built on first use, kept current on edits, bounded in bytes.

A *space* says which cells one kind of body may stand on: the classes that a profile leaves open,
or what of them is wide enough. Move masks, islands and the like are derived from a space. An edit
of the grid goes to each space, which tells its dependents the cells that opened or closed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import NamedTuple, Protocol, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from navserver.search.costs import Terrain
from navserver.search.moves import DiagonalMode, fill_masks_, mask_table, patch_masks_
from navserver.search.profile import Profile

__all__ = [
    "Change",
    "ClassSpace",
    "Derived",
    "DerivedArrays",
    "Edit",
    "MoveMasks",
    "Source",
    "Space",
]


class Edit(NamedTuple):
    """Classes that were written: a rectangle ``x0, y0, x1, y1``, else distinct flat cells."""

    rectangle: tuple[int, int, int, int] | None
    cells: NDArray[np.int64]
    before: NDArray[np.uint8]
    after: NDArray[np.uint8]


class Change(NamedTuple):
    """Distinct flat cells that opened or closed in a space."""

    opened: NDArray[np.int64]
    closed: NDArray[np.int64]


class Source(Protocol):
    """An array that several spaces are cut from."""

    @property
    def nbytes(self) -> int:
        """Bytes held."""

    def update(self, edit: Edit) -> None:
        """Take in an edit that has been written, before the spaces do.

        Parameters
        ----------
        edit : Edit
            What was written.
        """

    def forget(self) -> None:
        """Drop what was kept of the edit for the spaces."""


class Space(Protocol):
    """Which cells a body may stand on."""

    @property
    def cells(self) -> NDArray[np.uint8]:
        """uint8 array (height, width): a value a cell, the same array for the space's life."""

    @property
    def open_table(self) -> NDArray[np.uint8]:
        """uint8 array (256,): 1 for the values of `cells` that are open."""

    @property
    def nbytes(self) -> int:
        """Bytes held beside the grid's own arrays."""

    def update(self, edit: Edit) -> Change:
        """Take in an edit that has been written.

        Parameters
        ----------
        edit : Edit
            What was written.

        Returns
        -------
        Change
            What opened and closed.
        """

    def anchors(
        self, blocked_cells: NDArray[np.int64], ignored_cells: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where a body could stand but for cells that one query sees as walls, and so on.

        Parameters
        ----------
        blocked_cells, ignored_cells : int64 arrays (n,)
            Flat cells that count as walls, or as walkable; one in both is walkable.

        Returns
        -------
        (int64 array (n,), int64 array (n,))
            Flat cells of the space that close and that open; one in both opens.
        """


class Derived(Protocol):
    """An array that depends on one space."""

    @property
    def nbytes(self) -> int:
        """Bytes held."""

    def update(self, change: Change) -> None:
        """Take in a change of the space, which the space's cells already show.

        Parameters
        ----------
        change : Change
            What opened and closed; not empty.
        """


D = TypeVar("D", bound=Derived)
S = TypeVar("S", bound=Source)


class DerivedArrays:
    """The spaces of one grid and what is derived from them, least recently used out first.

    Threads that only read the grid still build and drop entries here, one at a time.

    Parameters
    ----------
    max_bytes : int
        What may be held; the array asked for last is kept whatever its size.
    """

    def __init__(self, max_bytes: int = 1 << 30) -> None:
        self.max_bytes = max_bytes
        self._sources: WeakValueDictionary[Hashable, Source] = WeakValueDictionary()
        self._spaces: OrderedDict[Hashable, Space] = OrderedDict()
        self._entries: OrderedDict[tuple[Hashable, Hashable], Derived] = OrderedDict()
        self.lock = threading.RLock()
        """Held over `space` and the `get` that needs it, so that the space is still there."""

    @property
    def nbytes(self) -> int:
        """Bytes held now."""
        with self.lock:
            return (
                sum(entry.nbytes for entry in self._entries.values())
                + sum(space.nbytes for space in self._spaces.values())
                + sum(source.nbytes for source in self._sources.values())
            )

    def source(self, key: Hashable, build: Callable[[], S]) -> S:
        """Return what spaces share, built if it is not there; called as a space is built.

        Parameters
        ----------
        key : hashable
            Names it.
        build : callable
            Makes it from the grid as it is now.

        Returns
        -------
        Source
            Kept current as long as a space holds it.
        """
        with self.lock:
            source = self._sources.get(key)
            if source is None:
                source = self._sources[key] = build()
            return source  # type: ignore[return-value]

    def space(self, key: Hashable, build: Callable[[], Space]) -> Space:
        """Return the space of a key, built if it is not there.

        Parameters
        ----------
        key : hashable
            Names the body and what blocks it.
        build : callable
            Makes the space from the grid as it is now.

        Returns
        -------
        Space
            Kept current until it is dropped for room, which is not before everything derived
            from it is.
        """
        with self.lock:
            space = self._spaces.get(key)
            if space is None:
                space = self._spaces[key] = build()
                self._drop(key)
            else:
                self._spaces.move_to_end(key)
            return space

    def get(self, space_key: Hashable, kind: Hashable, build: Callable[[Space], D]) -> D:
        """Return what is derived from a space that `space` has returned, built if need be.

        Parameters
        ----------
        space_key : hashable
            The key of the space.
        kind : hashable
            Names what is derived, and its parameters.
        build : callable
            Makes it from the space as it is now.

        Returns
        -------
        Derived
            Kept current from now on, until it is dropped for room or by a very large edit.
        """
        key = (space_key, kind)
        with self.lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = build(self._spaces[space_key])
                self._drop(space_key)
            else:
                self._entries.move_to_end(key)
            return entry  # type: ignore[return-value]

    def held(self, space_key: Hashable, kind: Hashable) -> Derived | None:
        """Return what `get` would return, if it is there.

        Parameters
        ----------
        space_key : hashable
            The key of the space.
        kind : hashable
            Names what is derived, and its parameters.

        Returns
        -------
        Derived or None
            None if it would have to be built.
        """
        key = (space_key, kind)
        with self.lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
            return entry

    def built(self, kind: type[D]) -> list[D]:
        """Return all that is held of one kind.

        Parameters
        ----------
        kind : type
            A class.

        Returns
        -------
        list
            Of its objects.
        """
        with self.lock:
            return [entry for entry in self._entries.values() if isinstance(entry, kind)]

    def _drop(self, kept_key: Hashable) -> None:
        """Make room: first spaces without dependents, then what was used longest ago."""
        while self.nbytes > self.max_bytes:
            used = {space_key for space_key, _ in self._entries}
            idle = next((key for key in self._spaces if key not in used and key != kept_key), None)
            if idle is not None:
                del self._spaces[idle]
            elif len(self._entries) > 1:
                self._entries.popitem(last=False)
            else:
                return

    def update(self, edit: Edit) -> None:
        """Pass an edit on to every space and what is derived from it.

        Parameters
        ----------
        edit : Edit
            What was written.
        """
        sources = list(self._sources.values())
        for source in sources:
            source.update(edit)
        for space_key, space in self._spaces.items():
            change = space.update(edit)
            n_changed = change.opened.size + change.closed.size
            if n_changed == 0:
                continue
            dependents = [key for key in self._entries if key[0] == space_key]
            # Beyond that, to build anew on next use is cheaper.
            if n_changed > max(64, space.cells.size // 16):
                for key in dependents:
                    del self._entries[key]
            else:
                for key in dependents:
                    self._entries[key].update(change)
        for source in sources:
            source.forget()


class ClassSpace:
    """The cells whose class a profile leaves open: the space of a body of one cell.

    Parameters
    ----------
    classes : uint8 array (height, width)
        The grid's own array.
    profile : Profile
        Says which classes block.
    """

    nbytes = 0

    def __init__(self, classes: NDArray[np.uint8], profile: Profile) -> None:
        self.cells = classes
        self.open_table = np.isfinite(profile.costs).astype(np.uint8)

    def update(self, edit: Edit) -> Change:
        """Return what an edit opened and closed.

        Parameters
        ----------
        edit : Edit
            What was written.

        Returns
        -------
        Change
            Distinct flat cells.
        """
        before = self.open_table[edit.before]
        after = self.open_table[edit.after]
        return Change(
            _edited_cells(edit, after > before, self.cells.shape[1]),
            _edited_cells(edit, before > after, self.cells.shape[1]),
        )

    def anchors(
        self, blocked_cells: NDArray[np.int64], ignored_cells: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the cells as they are: a body of one cell stands on nothing else.

        Parameters
        ----------
        blocked_cells, ignored_cells : int64 arrays (n,)
            Flat cells.

        Returns
        -------
        (int64 array (n,), int64 array (n,))
            The same arrays.
        """
        return blocked_cells, ignored_cells


def _edited_cells(edit: Edit, chosen: NDArray[np.bool_], width: int) -> NDArray[np.int64]:
    if edit.rectangle is None:
        return edit.cells[chosen]
    x0, y0, _, _ = edit.rectangle
    rows, columns = np.nonzero(chosen)
    return (rows + y0) * width + (columns + x0)


class MoveMasks:
    """One byte of allowed moves a cell, for one space and diagonal mode.

    Parameters
    ----------
    space : Space
        The cells that a body may stand on.
    mode : DiagonalMode
        The diagonal rule.
    """

    def __init__(self, space: Space, mode: DiagonalMode) -> None:
        self._space = space
        self._table = mask_table(mode)
        self.masks = np.empty(space.cells.shape, np.uint8)
        self.terrains: dict[Hashable, Terrain] = {}
        """What the grid has put together around the masks, by movement; gone when they are."""
        height, width = space.cells.shape
        fill_masks_(space.cells, space.open_table, self._table, 0, 0, width, height, self.masks)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.masks.nbytes

    def update(self, change: Change) -> None:
        """Write the masks around the cells that opened or closed.

        Parameters
        ----------
        change : Change
            What opened and closed.
        """
        cells = np.concatenate([change.opened, change.closed])
        patch_masks_(self._space.cells, self._space.open_table, self._table, cells, self.masks)
