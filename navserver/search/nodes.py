"""What searches share: the stamped nodes, the cells that a query changes, metrics and the trace.

A node takes two 8-byte words, `words[2 * cell]` and `g[2 * cell + 1]` of one buffer, so that a
visit touches one cache line. The upper half of the first word is the stamp of the search that
wrote it: a new search makes all nodes unknown by counting the stamp up. Its lower half holds
the bits named below, the parent's direction, and the move mask of a cell that the query changed.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver._jit import subkernel
from navserver.search.costs import Terrain
from navserver.status import InputError

__all__ = [
    "NEVER",
    "CancelFlag",
    "OneUser",
    "OpenList",
    "SearchMetrics",
    "SearchTrace",
    "TraceArrays",
    "checked_cancel",
    "checked_trace",
    "override_nodes_",
    "pop_open_",
    "push_open_",
    "unpack_cells",
]

MASK_BITS = 0xFF
PATCHED = 1 << 8
GENERATED = 1 << 9
CLOSED = 1 << 10
HAS_PARENT = 1 << 11
PARENT_SHIFT = 12
CLOSES = 1 << 16
OPENS = 1 << 17
QUERY_BITS = MASK_BITS | PATCHED | CLOSES | OPENS
STAMP_SHIFT = 32

# A closed node is reopened only if its g falls by more than rounding can explain.
REOPEN_MARGIN = 1.0 - 2.0**-40


class OpenList(NamedTuple):
    """A binary heap in arrays, with lazy deletion, ordered by f, then larger g, then cell."""

    f: NDArray[np.float64]
    g: NDArray[np.float64]
    cell: NDArray[np.int64]

    @staticmethod
    def of(capacity: int) -> OpenList:
        """Return an empty open list.

        Parameters
        ----------
        capacity : int
            Entries it can hold.

        Returns
        -------
        OpenList
            Its arrays are not initialised.
        """
        return OpenList(
            np.empty(capacity, np.float64),
            np.empty(capacity, np.float64),
            np.empty(capacity, np.int64),
        )

    def grown(self) -> OpenList:
        """Return an open list of twice the capacity with the same entries.

        Returns
        -------
        OpenList
            A copy.
        """
        larger = OpenList.of(2 * self.f.size)
        for old, new in zip(self, larger, strict=True):
            new[: old.size] = old
        return larger


class SearchMetrics(NamedTuple):
    """What a search did."""

    expanded: int
    """Nodes taken from the open list and closed, the goal among them; again when reopened."""
    generated: int
    """Entries put on the open list, the start among them."""
    reopened: int
    """Closed nodes that a smaller g put on the open list again."""
    open_peak: int
    """Most entries on the open list, outdated ones among them."""


class TraceArrays(NamedTuple):
    """What kernels write of a trace."""

    cells: NDArray[np.int64]
    parents: NDArray[np.int64]
    g: NDArray[np.float64]
    h: NDArray[np.float64]


class SearchTrace:
    """The expansions of a search in their order, as far as the capacity reaches.

    Parameters
    ----------
    capacity : int
        Most expansions to keep, 1 or more; 32 bytes each.

    Raises
    ------
    InputError
        If the capacity is not a positive integer.
    """

    def __init__(self, capacity: int) -> None:
        if not isinstance(capacity, (int, np.integer)) or not 1 <= capacity <= 1 << 32:
            raise InputError("capacity", capacity, "is not a number of expansions", "give 1..2**32")
        self.arrays = TraceArrays(
            np.empty(capacity, np.int64),
            np.empty(capacity, np.int64),
            np.empty(capacity, np.float64),
            np.empty(capacity, np.float64),
        )
        self._expanded = 0
        self._width = 1
        self._origin = (0, 0)

    def close(self, expanded: int, width: int, origin: tuple[int, int]) -> None:
        """Take in what a search has written; called by the search.

        Parameters
        ----------
        expanded : int
            Expansions of the search, kept or not.
        width : int
            The map's width.
        origin : (int, int)
            The map's top left cell.
        """
        self._expanded = expanded
        self._width = width
        self._origin = origin

    @property
    def count(self) -> int:
        """Expansions kept."""
        return min(self._expanded, self.arrays.cells.size)

    @property
    def truncated(self) -> bool:
        """Whether the search went on beyond the capacity."""
        return self._expanded > self.arrays.cells.size

    @property
    def cells(self) -> NDArray[np.int32]:
        """int32 array (count, 2): the cells expanded, in order."""
        return unpack_cells(self.arrays.cells[: self.count], self._width, self._origin)

    @property
    def parents(self) -> NDArray[np.int32]:
        """int32 array (count, 2): each one's parent; the start is its own."""
        return unpack_cells(self.arrays.parents[: self.count], self._width, self._origin)

    @property
    def g(self) -> NDArray[np.float64]:
        """float64 array (count,): cost from the start."""
        return self.arrays.g[: self.count]

    @property
    def h(self) -> NDArray[np.float64]:
        """float64 array (count,): estimate to the goal, without weight."""
        return self.arrays.h[: self.count]


class CancelFlag:
    """Tells a running search to stop, from any thread.

    The search looks at it after at most 1,024 expansions, on uniform cost after at most 8,192.
    """

    __slots__ = ("array",)

    def __init__(self) -> None:
        self.array = np.zeros(1, np.uint8)

    @property
    def is_set(self) -> bool:
        """Whether the search shall stop."""
        return bool(self.array[0])

    def set(self) -> None:
        """Stop every search that holds this flag."""
        self.array[0] = 1

    def clear(self) -> None:
        """Make the flag ready for another search."""
        self.array[0] = 0


NEVER = CancelFlag()
"""The flag of searches that nobody stops."""


class OneUser:
    """Keeps all but one call at a time out of an object with scratch of its own.

    Two kernels on one scratch would write beyond its arrays, so who comes second is refused.

    Parameters
    ----------
    name : str
        The object's class; for errors.
    """

    __slots__ = ("_name", "lock")

    def __init__(self, name: str) -> None:
        self.lock = threading.Lock()
        """Held by who is inside."""
        self._name = name

    def __enter__(self) -> None:
        """Come in, or raise `refusal`."""
        if not self.lock.acquire(False):
            raise self.refusal()

    def __exit__(self, *exception: object) -> None:
        """Leave."""
        self.lock.release()

    def refusal(self) -> InputError:
        """Return what to raise where the lock is taken.

        Returns
        -------
        InputError
            Names the object and the remedy.
        """
        return InputError(
            "search",
            self._name,
            "is still at work, in another thread or around this call",
            f"give each thread one {self._name} of its own, and let a call end before the next",
        )


def checked_cancel(cancel: CancelFlag | None) -> CancelFlag:
    """Return the flag that a search looks at.

    Parameters
    ----------
    cancel : CancelFlag or None
        What was given.

    Returns
    -------
    CancelFlag
        `NEVER` for None.

    Raises
    ------
    InputError
        If it is anything else.
    """
    if cancel is None:
        return NEVER
    if isinstance(cancel, CancelFlag):
        return cancel
    raise InputError("cancel", cancel, "is not a CancelFlag", "make one, and set it to stop")


def checked_trace(trace: SearchTrace | None) -> SearchTrace | None:
    """Return what receives the expansions of a search.

    Parameters
    ----------
    trace : SearchTrace or None
        What was given.

    Returns
    -------
    SearchTrace or None
        The same.

    Raises
    ------
    InputError
        If it is anything else.
    """
    if trace is None or isinstance(trace, SearchTrace):
        return trace
    raise InputError("trace", trace, "is not a SearchTrace", "make one of a capacity")


def unpack_cells(flat: NDArray[np.int64], width: int, origin: tuple[int, int]) -> NDArray[np.int32]:
    """Return flat indices as cells.

    Parameters
    ----------
    flat : int64 array (n,)
        Flat indices.
    width : int
        The map's width.
    origin : (int, int)
        The map's top left cell.

    Returns
    -------
    int32 array (n, 2)
        Columns x and y.
    """
    cells = np.empty((flat.size, 2), np.int32)
    cells[:, 0] = flat % width + origin[0]
    cells[:, 1] = flat // width + origin[1]
    return cells


@subkernel
def before_(open_list: OpenList, i: int, f: float, g: float, cell: int) -> bool:
    """Return whether entry i leaves the open list before (f, g, cell)."""
    if open_list.f[i] != f:
        return bool(open_list.f[i] < f)
    if open_list.g[i] != g:
        return bool(open_list.g[i] > g)
    return bool(open_list.cell[i] < cell)


@subkernel
def push_open_(open_list: OpenList, size: int, f: float, g: float, cell: int) -> int:
    """Add an entry; the caller has made sure of the room. Return the new size."""
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if before_(open_list, parent, f, g, cell):
            break
        open_list.f[i] = open_list.f[parent]
        open_list.g[i] = open_list.g[parent]
        open_list.cell[i] = open_list.cell[parent]
        i = parent
    open_list.f[i] = f
    open_list.g[i] = g
    open_list.cell[i] = cell
    return size + 1


@subkernel
def pop_open_(open_list: OpenList, size: int) -> int:
    """Remove the first entry, which the caller has read. Return the new size."""
    size -= 1
    f = open_list.f[size]
    g = open_list.g[size]
    cell = open_list.cell[size]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and before_(
            open_list,
            child + 1,
            open_list.f[child],
            open_list.g[child],
            open_list.cell[child],
        ):
            child += 1
        if not before_(open_list, child, f, g, cell):
            break
        open_list.f[i] = open_list.f[child]
        open_list.g[i] = open_list.g[child]
        open_list.cell[i] = open_list.cell[child]
        i = child
    open_list.f[i] = f
    open_list.g[i] = g
    open_list.cell[i] = cell
    return size


@subkernel
def is_open_(terrain: Terrain, words: NDArray[np.int64], stamp: int, cell: int) -> bool:
    """Return whether the query may enter a flat cell."""
    word = words[2 * cell]
    if word >> STAMP_SHIFT == stamp:
        if word & OPENS:
            return True
        if word & CLOSES:
            return False
    return bool(terrain.open_table[terrain.space[cell]])


@subkernel
def override_nodes_(
    terrain: Terrain,
    words: NDArray[np.int64],
    stamp: int,
    blocked_cells: NDArray[np.int64],
    ignored_cells: NDArray[np.int64],
) -> None:
    """Give the cells around those that the query changes move masks of their own.

    Invariant: the second pass reads only the bits that the first one wrote.
    """
    for cell in blocked_cells:
        words[2 * cell] = (stamp << STAMP_SHIFT) | CLOSES
    for cell in ignored_cells:
        words[2 * cell] = (stamp << STAMP_SHIFT) | OPENS
    for i in range(blocked_cells.size + ignored_cells.size):
        j = i - blocked_cells.size
        cell = blocked_cells[i] if j < 0 else ignored_cells[j]
        y = cell // terrain.width
        x = cell - y * terrain.width
        for ny in range(max(y - 1, 0), min(y + 2, terrain.height)):
            for nx in range(max(x - 1, 0), min(x + 2, terrain.width)):
                bits = 0
                for by in range(max(ny - 1, 0), min(ny + 2, terrain.height)):
                    for bx in range(max(nx - 1, 0), min(nx + 2, terrain.width)):
                        if is_open_(terrain, words, stamp, by * terrain.width + bx):
                            bits |= 1 << (3 * (bx - nx + 1) + by - ny + 1)
                n = ny * terrain.width + nx
                kept = 0
                if words[2 * n] >> STAMP_SHIFT == stamp:
                    kept = words[2 * n] & (CLOSES | OPENS)
                mask = np.int64(terrain.mask_table[bits])
                words[2 * n] = (stamp << STAMP_SHIFT) | kept | PATCHED | mask
