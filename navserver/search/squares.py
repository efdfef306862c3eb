"""Where squares of n x n cells fit, by the largest square at each anchor, its top left cell.

All sizes share one array.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from navserver._jit import kernel
from navserver.search.body_overrides import (
    BOX_SIDE,
    REBUILD_PART,
    Overrides,
    next_box_,
    query_open_,
)
from navserver.search.derived import Change, ClassSpace, Edit
from navserver.search.movement import MAX_BODY
from navserver.search.profile import Profile

__all__ = ["SquareClearance", "SquareSpace"]

NOTED = 128
SIDE_BITS = 127  # not ~NOTED: interpreted, a byte takes no negative mask


@kernel
def fill_squares_(
    classes: NDArray[np.uint8], open_table: NDArray[np.uint8], squares: NDArray[np.uint8]
) -> None:
    """Write the side of the largest open square anchored at each cell, at most MAX_BODY.

    Invariant: rows below y are done; in row y each entry is what its right neighbour allows of
    what the row below does. In two passes without branches, since a processor that guesses at
    walls guesses wrong.
    """
    height, width = classes.shape
    for y in range(height - 1, -1, -1):
        for x in range(width):
            below = 0
            if y + 1 < height and x + 1 < width:
                below = min(squares[y + 1, x], squares[y + 1, x + 1], MAX_BODY - 1)
            squares[y, x] = (below + 1) * open_table[classes[y, x]]
        side = 0
        for x in range(width - 1, -1, -1):
            excess = side + 1 - np.int64(squares[y, x])
            side += 1 - max(excess, 0)
            squares[y, x] = side


@kernel
def patch_squares_(
    classes: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    cells: NDArray[np.int64],
    squares: NDArray[np.uint8],
    changed: NDArray[np.int64],
    before: NDArray[np.uint8],
) -> int:
    """Write the squares again that some of the cells may lie in; note and count what changed.

    Invariant: an entry whose square may hold a cell of a later box can be wrong until then, but
    lies between its values with all such cells closed and all open; other entries are right.
    """
    height, width = classes.shape
    count = 0
    i = 0
    while i < cells.size:
        i, x0, y0, x1, y1 = next_box_(cells, i, width, MAX_BODY, width + height)
        for y in range(y1, max(y0 - MAX_BODY + 1, 0) - 1, -1):
            right = 0
            diagonal = 0
            if x1 + 1 < width:
                right = np.int64(squares[y, x1 + 1] & SIDE_BITS)
                if y + 1 < height:
                    diagonal = np.int64(squares[y + 1, x1 + 1] & SIDE_BITS)
            for x in range(x1, max(x0 - MAX_BODY + 1, 0) - 1, -1):
                below = np.int64(squares[y + 1, x] & SIDE_BITS) if y + 1 < height else 0
                side = 0
                if open_table[classes[y, x]]:
                    side = min(min(right, below, diagonal) + 1, MAX_BODY)
                old = np.int64(squares[y, x])
                if side != old & SIDE_BITS:
                    if not old & NOTED:
                        changed[count] = y * width + x
                        before[count] = old
                        count += 1
                    squares[y, x] = side | NOTED
                right = side
                diagonal = below
    for j in range(count):
        y = changed[j] // width
        squares[y, changed[j] - y * width] &= SIDE_BITS
    return count


@kernel
def square_anchors_(
    classes: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    squares: NDArray[np.uint8],
    size: int,
    cells: NDArray[np.int64],
    keys: NDArray[np.int64],
    opens: NDArray[np.uint8],
    scratch: NDArray[np.uint8],
    closed: NDArray[np.int64],
    opened: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Write where a square fits no more, or only now, as a query changes some cells.

    Invariant: `scratch` holds the largest square within the part that the box's anchors cover.
    """
    width = classes.shape[1]
    counts[:] = 0
    i = 0
    while i < cells.size:
        i, x0, y0, x1, y1 = next_box_(cells, i, width, size, BOX_SIDE)
        ax0 = max(x0 - size + 1, 0)
        ay0 = max(y0 - size + 1, 0)
        for y in range(y1 + size - 1, ay0 - 1, -1):
            for x in range(x1 + size - 1, ax0 - 1, -1):
                row, column = y - ay0, x - ax0
                side = 0
                if query_open_(classes, open_table, keys, opens, x, y):
                    side = 1
                    if y < y1 + size - 1 and x < x1 + size - 1:
                        side += min(
                            scratch[row + 1, column],
                            scratch[row, column + 1],
                            scratch[row + 1, column + 1],
                        )
                    side = min(side, MAX_BODY)
                scratch[row, column] = side
                if y > y1 or x > x1:
                    continue
                fitted = squares[y, x] >= size
                if side >= size and not fitted:
                    opened[counts[1]] = y * width + x
                    counts[1] += 1
                elif side < size and fitted:
                    closed[counts[0]] = y * width + x
                    counts[0] += 1


class SquareClearance:
    """The largest square that fits at each anchor, of one set of blocking classes.

    Parameters
    ----------
    classes : uint8 array (height, width)
        The grid's own array.
    profile : Profile
        Says which classes block.
    """

    def __init__(self, classes: NDArray[np.uint8], profile: Profile) -> None:
        self.base = ClassSpace(classes, profile)
        self.squares = np.empty(classes.shape, np.uint8)
        """uint8 array (height, width): a side in cells, 0 in a wall, at most `MAX_BODY`."""
        fill_squares_(classes, self.base.open_table, self.squares)
        self.forget()

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.squares.nbytes

    def update(self, edit: Edit) -> None:
        """Take in an edit.

        Parameters
        ----------
        edit : Edit
            What was written.
        """
        base = self.base
        change = base.update(edit)
        cells = np.concatenate([change.opened, change.closed])
        if cells.size > self.squares.size // REBUILD_PART + 1:
            old = self.squares.reshape(-1).copy()
            fill_squares_(base.cells, base.open_table, self.squares)
            self.changed = np.nonzero(old != self.squares.reshape(-1))[0]
            self.before = old[self.changed]
        elif cells.size:
            capacity = min(cells.size * MAX_BODY**2, self.squares.size)
            changed = np.empty(capacity, np.int64)
            before = np.empty(capacity, np.uint8)
            count = patch_squares_(
                base.cells, base.open_table, cells, self.squares, changed, before
            )
            self.changed = changed[:count]
            self.before = before[:count]

    def forget(self) -> None:
        """Drop what was kept of the last edit."""
        self.changed = np.empty(0, np.int64)
        self.before = np.empty(0, np.uint8)


class SquareSpace:
    """The anchors where a square of n x n cells fits.

    Parameters
    ----------
    clearance : SquareClearance
        The largest square at each anchor.
    size : int
        n, 1 to `MAX_BODY`.
    """

    nbytes = 0

    def __init__(self, clearance: SquareClearance, size: int) -> None:
        self._clearance = clearance
        self._size = size
        self.cells = clearance.squares
        self.open_table = (np.arange(256) >= size).astype(np.uint8)

    def update(self, edit: Edit) -> Change:
        """Return where the square fits since an edit, or does no more.

        Parameters
        ----------
        edit : Edit
            What was written, and the clearance has taken in.

        Returns
        -------
        Change
            Distinct flat anchors.
        """
        del edit  # The clearance has read it.
        changed = self._clearance.changed
        before = self._clearance.before >= self._size
        after = self.cells.reshape(-1)[changed] >= self._size
        return Change(changed[after & ~before], changed[before & ~after])

    def anchors(
        self, blocked_cells: NDArray[np.int64], ignored_cells: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the anchors that cells seen as walls, or as walkable, close and open.

        Parameters
        ----------
        blocked_cells, ignored_cells : int64 arrays (n,)
            Flat cells; one in both is walkable.

        Returns
        -------
        (int64 array (n,), int64 array (n,))
            Flat anchors, perhaps several times.
        """
        overrides = Overrides(blocked_cells, ignored_cells)
        side = BOX_SIDE + 2 * self._size
        closed = np.empty(overrides.cells.size * self._size**2, np.int64)
        opened = np.empty_like(closed)
        counts = np.empty(2, np.int64)
        base = self._clearance.base
        square_anchors_(
            base.cells,
            base.open_table,
            self.cells,
            self._size,
            overrides.cells,
            overrides.keys,
            overrides.opens,
            np.empty((side, side), np.uint8),
            closed,
            opened,
            counts,
        )
        return closed[: counts[0]], opened[: counts[1]]
