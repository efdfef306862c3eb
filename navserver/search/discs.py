"""Where discs fit at cells' centres, by the distance to the nearest wall within each column.

All radii share one array of distances.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from navserver._jit import kernel, subkernel
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

__all__ = ["DiscSpace", "WallColumns"]

FAR = MAX_BODY + 1
"""Distance within a column that no disc reaches."""


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
        i, x0, y0, x1, y1 = next_box_(cells, i, width, 2 * reach + 1, BOX_SIDE)
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
        if self.changed.size > self.columns.size // REBUILD_PART + 1:
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
        if cells.size > flat.size // REBUILD_PART + 1:
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
        overrides = Overrides(blocked_cells, ignored_cells)
        reach = int(self._widths[0])
        side = BOX_SIDE + 4 * reach + 3
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
