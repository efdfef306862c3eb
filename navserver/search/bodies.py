"""Spaces of bodies larger than one cell, and the arrays that they are cut from.

A square body of n x n cells is anchored at its top left cell, a round one stands at its cell's
centre. All sizes of squares share one array of the largest square that fits at each anchor; all
radii share one of the distance to the nearest wall within each column. What lies outside the map
is wall to both.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from navserver._jit import kernel, register_warm_up, subkernel
from navserver.search.derived import Change, ClassSpace, DerivedArrays, Edit, Space
from navserver.search.movement import MAX_BODY, Movement
from navserver.search.profile import DEFAULT_PROFILE, Profile
from navserver.status import InputError

__all__ = ["DiscSpace", "SquareClearance", "SquareSpace", "WallColumns", "body_space"]

FAR = MAX_BODY + 1
"""Distance within a column that no disc reaches."""

NOTED = 128
SIDE_BITS = 127  # not ~NOTED: interpreted, a byte takes no negative mask
_BOX_SIDE = 64
# Edits beyond this part of the map are taken in by building anew.
_REBUILD_PART = 256
# Rounding of a transform shall not tell 0.3 / 0.2 from 1.5.
_FORGIVEN = Fraction(1, 1 << 40)


# Boxes of changed cells


@subkernel
def next_box_(
    cells: NDArray[np.int64], i: int, width: int, reach: int, side: int
) -> tuple[int, int, int, int, int]:
    """Join cells from the i-th on, as long as what they reach together is no more than apart.

    Returns the index of the first cell left out and the box x0, y0, x1, y1, ends included.
    """
    y0 = cells[i] // width
    x0 = cells[i] - y0 * width
    y1 = y0
    x1 = x0
    i += 1
    while i < cells.size:
        y = cells[i] // width
        x = cells[i] - y * width
        new_x0, new_x1 = min(x0, x), max(x1, x)
        new_y0, new_y1 = min(y0, y), max(y1, y)
        if new_x1 - new_x0 >= side or new_y1 - new_y0 >= side:
            break
        area = (x1 - x0 + reach) * (y1 - y0 + reach)
        if (new_x1 - new_x0 + reach) * (new_y1 - new_y0 + reach) > area + reach * reach:
            break
        x0, y0, x1, y1 = new_x0, new_y0, new_x1, new_y1
        i += 1
    return i, x0, y0, x1, y1


@subkernel
def find_slot_(keys: NDArray[np.int64], cell: int) -> int:
    """Return where a hash table of a power of two entries, -1 empty, has a cell or would."""
    slot = ((cell * 0x9E3779B1) >> 16) & (keys.size - 1)
    while keys[slot] != -1 and keys[slot] != cell:
        slot = (slot + 1) & (keys.size - 1)
    return slot


@kernel
def override_cells_(
    blocked_cells: NDArray[np.int64],
    ignored_cells: NDArray[np.int64],
    keys: NDArray[np.int64],
    opens: NDArray[np.uint8],
) -> None:
    """Enter into an empty hash table which cells a query closes (0) and opens (1)."""
    for cell in blocked_cells:
        slot = find_slot_(keys, cell)
        keys[slot] = cell
        opens[slot] = 0
    for cell in ignored_cells:
        slot = find_slot_(keys, cell)
        keys[slot] = cell
        opens[slot] = 1


@subkernel
def query_open_(
    classes: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    keys: NDArray[np.int64],
    opens: NDArray[np.uint8],
    x: int,
    y: int,
) -> bool:
    """Return whether a cell, which may lie outside the map, is open to a query."""
    height, width = classes.shape
    if x < 0 or y < 0 or x >= width or y >= height:
        return False
    slot = find_slot_(keys, y * width + x)
    if keys[slot] != -1:
        return bool(opens[slot])
    return bool(open_table[classes[y, x]])


class _Overrides:
    """The cells that one query changes, in a hash table."""

    def __init__(self, blocked_cells: NDArray[np.int64], ignored_cells: NDArray[np.int64]) -> None:
        self.cells = np.unique(np.concatenate([blocked_cells, ignored_cells]))
        n_slots = 1 << (2 * self.cells.size).bit_length()
        self.keys = np.full(n_slots, -1, np.int64)
        self.opens = np.empty(n_slots, np.uint8)
        override_cells_(blocked_cells, ignored_cells, self.keys, self.opens)


# Squares


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
        i, x0, y0, x1, y1 = next_box_(cells, i, width, size, _BOX_SIDE)
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
        if cells.size > self.squares.size // _REBUILD_PART + 1:
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
        overrides = _Overrides(blocked_cells, ignored_cells)
        side = _BOX_SIDE + 2 * self._size
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


# Discs


@kernel
def fill_columns_(
    classes: NDArray[np.uint8], open_table: NDArray[np.uint8], columns: NDArray[np.uint8]
) -> None:
    """Write each cell's distance to the nearest wall in its column, in cells, at most FAR."""
    height, width = classes.shape
    for y in range(height):
        for x in range(width):
            distance = min(np.int64(columns[y - 1, x]) + 1 if y > 0 else 1, FAR)
            columns[y, x] = distance * open_table[classes[y, x]]
    for y in range(height - 1, -1, -1):
        for x in range(width):
            distance = np.int64(columns[y + 1, x]) + 1 if y + 1 < height else 1
            columns[y, x] = min(np.int64(columns[y, x]), distance)


@kernel
def patch_columns_(
    classes: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    cells: NDArray[np.int64],
    columns: NDArray[np.uint8],
) -> None:
    """Write the distances again that depend on some of the cells.

    Invariant: a distance is written from the walls as they are now, so any order will do.
    """
    height, width = classes.shape
    for cell in cells:
        y = cell // width
        x = cell - y * width
        above = y - 1
        while above >= max(0, y - 2 * FAR) and open_table[classes[above, x]]:
            above -= 1
        below = y + 1
        while below < min(height, y + 2 * FAR + 1) and open_table[classes[below, x]]:
            below += 1
        here_open = open_table[classes[y, x]]
        for row in range(max(above + 1, y - FAR), min(below, y + FAR + 1)):
            distance = min(row - above, below - row)
            if not here_open:
                distance = min(distance, abs(row - y))
            columns[row, x] = min(distance, FAR)


@subkernel
def cover_row_(
    columns: NDArray[np.uint8],
    y: int,
    x0: int,
    x1: int,
    widths: NDArray[np.int64],
    fits: NDArray[np.uint8],
) -> None:
    """Set bit 1 of `fits` of the columns [x0, x1) of a row where no wall comes too near.

    Invariant: `covered` is the last column, or the first on the way back, that the walls passed
    so far forbid. A wall at distance d within its column forbids `widths[d]` on both sides.
    """
    width = columns.shape[1]
    reach = widths[0]
    covered = reach - 1
    for x in range(max(x0 - reach, 0), x0):
        covered = max(covered, x + widths[columns[y, x]])
    for x in range(x0, x1):
        covered = max(covered, x + widths[columns[y, x]])
        fits[y, x] = (fits[y, x] & 1) | (2 if x > covered else 0)
    covered = width - reach
    for x in range(min(x1 + reach, width) - 1, x1 - 1, -1):
        covered = min(covered, x - widths[columns[y, x]])
    for x in range(x1 - 1, x0 - 1, -1):
        covered = min(covered, x - widths[columns[y, x]])
        if x >= covered:
            fits[y, x] &= 1


@kernel
def fill_discs_(
    columns: NDArray[np.uint8], widths: NDArray[np.int64], fits: NDArray[np.uint8]
) -> None:
    """Write 1 where a disc fits, else 0; the array comes filled with zeros."""
    height, width = columns.shape
    for y in range(height):
        cover_row_(columns, y, 0, width, widths, fits)
        for x in range(width):
            fits[y, x] >>= 1


@kernel
def patch_discs_(
    columns: NDArray[np.uint8],
    widths: NDArray[np.int64],
    cells: NDArray[np.int64],
    fits: NDArray[np.uint8],
    changed: NDArray[np.int64],
) -> int:
    """Write again where a disc fits around the cells; note and count what changed.

    Invariant: bit 0 is the old answer until bit 1, the new one, takes its place.
    """
    height, width = columns.shape
    reach = widths[0]
    count = 0
    i = 0
    while i < cells.size:
        i, x0, y0, x1, y1 = next_box_(cells, i, width, 2 * reach + 1, width + height)
        x0 = max(x0 - reach, 0)
        x1 = min(x1 + reach + 1, width)
        for y in range(max(y0 - reach, 0), min(y1 + reach + 1, height)):
            cover_row_(columns, y, x0, x1, widths, fits)
            for x in range(x0, x1):
                if fits[y, x] == 1 or fits[y, x] == 2:
                    changed[count] = y * width + x
                    count += 1
                fits[y, x] >>= 1
    return count


@kernel
def disc_anchors_(
    classes: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    widths: NDArray[np.int64],
    fits: NDArray[np.uint8],
    cells: NDArray[np.int64],
    keys: NDArray[np.int64],
    opens: NDArray[np.uint8],
    columns: NDArray[np.uint8],
    new_fits: NDArray[np.uint8],
    closed: NDArray[np.int64],
    opened: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Write where a disc fits no more, or only now, as a query changes some cells.

    Invariant: `columns` holds the part that the box's discs cover, and no wall beyond it counts.
    """
    height, width = classes.shape
    reach = widths[0]
    counts[:] = 0
    i = 0
    while i < cells.size:
        i, x0, y0, x1, y1 = next_box_(cells, i, width, 2 * reach + 1, _BOX_SIDE)
        left = x0 - 2 * reach - 1
        top = y0 - 2 * reach - 1
        n_columns = x1 + 2 * reach + 2 - left
        n_rows = y1 + 2 * reach + 2 - top
        for row in range(n_rows):
            for column in range(n_columns):
                distance = 0
                if query_open_(classes, open_table, keys, opens, left + column, top + row):
                    distance = FAR
                    if row > 0:
                        distance = min(np.int64(columns[row - 1, column]) + 1, FAR)
                columns[row, column] = distance
        for row in range(n_rows - 2, -1, -1):
            for column in range(n_columns):
                distance = np.int64(columns[row + 1, column]) + 1
                columns[row, column] = min(np.int64(columns[row, column]), distance)
        part = columns[:n_rows, :n_columns]
        for y in range(max(y0 - reach, 0), min(y1 + reach + 1, height)):
            ax0 = max(x0 - reach, 0)
            ax1 = min(x1 + reach + 1, width)
            cover_row_(part, y - top, ax0 - left, ax1 - left, widths, new_fits)
            for x in range(ax0, ax1):
                fit = new_fits[y - top, x - left] >> 1
                if fit and not fits[y, x]:
                    opened[counts[1]] = y * width + x
                    counts[1] += 1
                elif fits[y, x] and not fit:
                    closed[counts[0]] = y * width + x
                    counts[0] += 1


@kernel
def wall_distances_(
    columns: NDArray[np.uint8], cells: NDArray[np.int64], squared: NDArray[np.int64]
) -> None:
    """Write 4 times the squared distance from cells' centres to the nearest wall's square.

    Invariant: columns nearer than `dx` have been read on both sides; none beyond it can be
    nearer than the least so far. Distances beyond MAX_BODY come out as 4 * MAX_BODY**2 + 1.
    """
    width = columns.shape[1]
    for i in range(cells.size):
        y = cells[i] // width
        x = cells[i] - y * width
        least = np.int64(4 * MAX_BODY * MAX_BODY + 1)
        dx = 0
        while True:
            across = max(2 * dx - 1, 0) ** 2
            if across >= least:
                break
            for other in (x - dx, x + dx):
                distance = 0
                if 0 <= other < width:
                    distance = np.int64(columns[y, other])
                least = min(least, across + max(2 * distance - 1, 0) ** 2)
            dx += 1
        squared[i] = least


class WallColumns:
    """Each cell's distance to the nearest wall of its column, of one set of blocking classes.

    Parameters
    ----------
    classes : uint8 array (height, width)
        The grid's own array.
    profile : Profile
        Says which classes block.
    """

    def __init__(self, classes: NDArray[np.uint8], profile: Profile) -> None:
        self.base = ClassSpace(classes, profile)
        self.columns = np.empty(classes.shape, np.uint8)
        """uint8 array (height, width): whole cells, 0 in a wall, at most `FAR`."""
        fill_columns_(classes, self.base.open_table, self.columns)
        self.forget()

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.columns.nbytes

    def update(self, edit: Edit) -> None:
        """Take in an edit.

        Parameters
        ----------
        edit : Edit
            What was written.
        """
        base = self.base
        change = base.update(edit)
        self.changed = np.concatenate([change.opened, change.closed])
        if self.changed.size > self.columns.size // _REBUILD_PART + 1:
            fill_columns_(base.cells, base.open_table, self.columns)
        elif self.changed.size:
            patch_columns_(base.cells, base.open_table, self.changed, self.columns)

    def forget(self) -> None:
        """Drop what was kept of the last edit."""
        self.changed = np.empty(0, np.int64)


class DiscSpace:
    """The cells at whose centre a disc fits.

    Parameters
    ----------
    walls : WallColumns
        Distances to the walls within columns.
    limit : int
        4 times the least squared distance from the centre to a wall, in cells; 1 to
        ``4 * MAX_BODY**2``.
    """

    def __init__(self, walls: WallColumns, limit: int) -> None:
        self._walls = walls
        self._widths = disc_widths(limit)
        self.cells = np.zeros(walls.columns.shape, np.uint8)
        self.open_table = (np.arange(256) == 1).astype(np.uint8)
        fill_discs_(walls.columns, self._widths, self.cells)

    @property
    def nbytes(self) -> int:
        """Bytes held beside the columns."""
        return self.cells.nbytes

    def update(self, edit: Edit) -> Change:
        """Return where the disc fits since an edit, or does no more.

        Parameters
        ----------
        edit : Edit
            What was written, and the columns have taken in.

        Returns
        -------
        Change
            Distinct flat cells.
        """
        del edit  # The columns have read it.
        walls = self._walls
        cells = walls.changed
        flat = self.cells.reshape(-1)
        if cells.size > flat.size // _REBUILD_PART + 1:
            old = flat.copy()
            flat.fill(0)
            fill_discs_(walls.columns, self._widths, self.cells)
            changed = np.nonzero(old != flat)[0]
        else:
            reach = 2 * int(self._widths[0]) + 1
            changed = np.empty(min(cells.size * reach**2, flat.size), np.int64)
            count = patch_discs_(walls.columns, self._widths, cells, self.cells, changed)
            changed = changed[:count]
        fits = flat[changed] == 1
        return Change(changed[fits], changed[~fits])

    def anchors(
        self, blocked_cells: NDArray[np.int64], ignored_cells: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the cells where walls that one query sees, or does not see, change the answer.

        Parameters
        ----------
        blocked_cells, ignored_cells : int64 arrays (n,)
            Flat cells; one in both is walkable.

        Returns
        -------
        (int64 array (n,), int64 array (n,))
            Flat cells that close and that open, perhaps several times.
        """
        overrides = _Overrides(blocked_cells, ignored_cells)
        reach = int(self._widths[0])
        side = _BOX_SIDE + 4 * reach + 3
        closed = np.empty(overrides.cells.size * (2 * reach + 1) ** 2, np.int64)
        opened = np.empty_like(closed)
        counts = np.empty(2, np.int64)
        base = self._walls.base
        disc_anchors_(
            base.cells,
            base.open_table,
            self._widths,
            self.cells,
            overrides.cells,
            overrides.keys,
            overrides.opens,
            np.empty((side, side), np.uint8),
            np.zeros((side, side), np.uint8),
            closed,
            opened,
            counts,
        )
        return closed[: counts[0]], opened[: counts[1]]


def disc_widths(limit: int) -> NDArray[np.int64]:
    """Return how many columns to each side a wall keeps a disc off.

    Parameters
    ----------
    limit : int
        4 times the least squared distance allowed.

    Returns
    -------
    int64 array (FAR + 1,)
        By the wall's distance in cells within its column; -1 where it does not matter.
    """
    widths = np.full(FAR + 1, -1, np.int64)
    halves = np.maximum(2 * np.arange(FAR + 1) - 1, 0) ** 2
    for distance in range(FAR + 1):
        near = np.nonzero(halves + halves[distance] < limit)[0]
        if near.size:
            widths[distance] = near[-1]
    return widths


def cell_scale_of(transform: NDArray[np.float64]) -> float:
    """Return how many world units a cell measures in the direction where it measures least.

    Parameters
    ----------
    transform : float64 array (2, 3)
        From cells to the world.

    Returns
    -------
    float
        The least singular value of its linear part: for a similarity simply its scale.
    """
    (a, b), (c, d) = (map(float, row) for row in transform[:, :2])
    # Sums before differences: exact for turned and mirrored squares.
    squares = a * a + b * b + c * c + d * d
    determinant = abs(a * d - b * c)
    shear = max(squares * squares - 4.0 * determinant * determinant, 0.0) ** 0.5
    return float(determinant / ((squares + shear) / 2.0) ** 0.5)


def disc_limit(radius: float, transform: NDArray[np.float64]) -> int:
    """Return 4 times the squared radius in cells, rounded up.

    Parameters
    ----------
    radius : float
        World units, > 0.
    transform : float64 array (2, 3)
        From cells to the world.

    Returns
    -------
    int
        1 or more.

    Raises
    ------
    InputError
        If it is larger than `MAX_BODY` cells.
    """
    scale = cell_scale_of(transform)
    cells = Fraction(radius) / Fraction(scale) * (1 - _FORGIVEN)
    if cells > MAX_BODY:
        raise InputError(
            "radius",
            radius,
            f"is {float(cells):.6g} cells on this map, more than {MAX_BODY}",
            f"give at most {MAX_BODY * scale:.6g} world units, or a map of larger cells",
        )
    return max(1, -((-4 * cells * cells) // 1))


def body_space(
    derived: DerivedArrays,
    classes: NDArray[np.uint8],
    transform: NDArray[np.float64],
    movement: Movement,
) -> Space:
    """Build the space of a body.

    Parameters
    ----------
    derived : DerivedArrays
        Holds what spaces share.
    classes : uint8 array (height, width)
        The grid's own array.
    transform : float64 array (2, 3)
        From cells to the world.
    movement : Movement
        The body.

    Returns
    -------
    Space
        Of the body's size.

    Raises
    ------
    InputError
        If the body is too large.
    """
    profile = movement.profile
    if movement.radius > 0.0:
        limit = disc_limit(movement.radius, transform)
        return DiscSpace(wall_columns(derived, classes, profile), limit)
    if movement.size > 1:
        clearance = derived.source(
            ("squares", profile.blocked_key), lambda: SquareClearance(classes, profile)
        )
        return SquareSpace(clearance, movement.size)
    return ClassSpace(classes, profile)


def wall_columns(
    derived: DerivedArrays, classes: NDArray[np.uint8], profile: Profile
) -> WallColumns:
    """Return the distances within columns that all discs of a blocked set share.

    Parameters
    ----------
    derived : DerivedArrays
        Holds what spaces share.
    classes : uint8 array (height, width)
        The grid's own array.
    profile : Profile
        Says which classes block.

    Returns
    -------
    WallColumns
        Built if no space holds it.
    """
    return derived.source(("columns", profile.blocked_key), lambda: WallColumns(classes, profile))


def _warm_up() -> None:
    classes = np.zeros((2, 2), np.uint8)
    edit = Edit(None, np.zeros(1, np.int64), np.full(1, 255, np.uint8), np.zeros(1, np.uint8))
    nothing = np.empty(0, np.int64)
    squares = SquareClearance(classes, DEFAULT_PROFILE)
    walls = WallColumns(classes, DEFAULT_PROFILE)
    square, disc = SquareSpace(squares, 2), DiscSpace(walls, 4)
    squares.update(edit)
    walls.update(edit)
    for space in (square, disc):
        space.update(edit)
        space.anchors(edit.cells, nothing)
    wall_distances_(walls.columns, edit.cells, np.empty(1, np.int64))


register_warm_up("bodies", _warm_up)
