"""Which routes an edit of the map has cut.

An edit that closes cells can only cut what passes near them. A journal of the cells that closed
comes from the map itself; blocks of the map around them are marked, and of all the routes only
the segments that meet a marked block are followed.
"""

from __future__ import annotations

from collections import deque
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver._jit import kernel, register_warm_up, subkernel
from navserver.movers.columns import Columns, MoverState
from navserver.movers.sight import Ground, ground_of, walkable_
from navserver.search.derived import Change
from navserver.search.grid import Grid
from navserver.search.movement import Movement

__all__ = ["ClosedCells", "Closures", "Cuts"]

BLOCK_BITS = 3
"""Blocks of 8 x 8 cells are marked."""

_MOST_EDITS = 256
_PATH = int(MoverState.PATH)
_identities = count(1)


class ClosedCells:
    """The cells that have closed in one space, edit by edit; the grid keeps it current."""

    def __init__(self) -> None:
        self._edits: deque[NDArray[np.int64]] = deque(maxlen=_MOST_EDITS)
        self._n_edits = 0
        self.identity = next(_identities)
        """Differs from that of every other journal: one may be dropped and begun anew."""

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(cells.nbytes for cells in self._edits)

    @property
    def n_edits(self) -> int:
        """How many edits have closed cells since the journal began."""
        return self._n_edits

    def update(self, change: Change) -> None:
        """Take in a change of the space.

        Parameters
        ----------
        change : Change
            What opened and closed.
        """
        if change.closed.size:
            self._edits.append(change.closed)
            self._n_edits += 1

    def since(self, n_edits: int) -> NDArray[np.int64] | None:
        """Return the cells that have closed since the journal had so many edits.

        Parameters
        ----------
        n_edits : int
            As `n_edits` was then.

        Returns
        -------
        int64 array (n,) or None
            Flat cells, perhaps open again; None if that is too long ago.
        """
        new = self._n_edits - n_edits
        if new > len(self._edits):
            return None
        if new <= 0:
            return np.empty(0, np.int64)
        return np.concatenate(list(self._edits)[-new:])


class Cuts(NamedTuple):
    """Movers whose routes are cut, and where."""

    rows: NDArray[np.int64]
    """int64 array (n,): their slots, in order."""
    first: NDArray[np.int32]
    """int32 array (n,): the first waypoint that cannot be walked to, counted from the end."""
    last: NDArray[np.int32]
    """int32 array (n,): the last such waypoint: those after it can still be walked."""


@subkernel
def meets_block_(
    blocks: NDArray[np.uint8], across: int, x0: float, y0: float, x1: float, y1: float
) -> bool:
    """Return whether the box around a segment, grown by a cell, meets a marked block.

    Coordinates are those of the map's own first cell; a route never leaves the map.
    """
    down = blocks.size // across
    left = max(int(min(x0, x1) - 0.5), 0) >> BLOCK_BITS
    top = max(int(min(y0, y1) - 0.5), 0) >> BLOCK_BITS
    right = min(int(max(x0, x1) + 1.5) >> BLOCK_BITS, across - 1)
    bottom = min(int(max(y0, y1) + 1.5) >> BLOCK_BITS, down - 1)
    for row in range(top, bottom + 1):
        for column in range(left, right + 1):
            if blocks[row * across + column]:
                return True
    return False


@kernel
def find_cuts_(
    ground: Ground,
    blocks: NDArray[np.uint8],
    across: int,
    which: int,
    slots: int,
    state: NDArray[np.uint8],
    movement: NDArray[np.uint8],
    position: NDArray[np.float32],
    path_next: NDArray[np.int32],
    path_end: NDArray[np.int32],
    pool: NDArray[np.float32],
    rows: NDArray[np.int64],
    first: NDArray[np.int32],
    last: NDArray[np.int32],
) -> int:
    """Write the movers on routes that are cut, and where; return how many.

    The outputs have room for all rows. Invariant: a segment that meets no marked block is free.
    """
    count = 0
    for i in range(slots):
        if state[i] != _PATH or movement[i] != which:
            continue
        x = np.float64(position[i, 0])
        y = np.float64(position[i, 1])
        is_cut = False
        for k in range(path_next[i], path_end[i]):
            to_x = np.float64(pool[k, 0])
            to_y = np.float64(pool[k, 1])
            is_near = meets_block_(
                blocks,
                across,
                x - ground.origin_x,
                y - ground.origin_y,
                to_x - ground.origin_x,
                to_y - ground.origin_y,
            )
            if is_near and not walkable_(ground, x, y, to_x, to_y):
                if not is_cut:
                    rows[count] = i
                    first[count] = path_end[i] - k
                    is_cut = True
                last[count] = path_end[i] - k
            x = to_x
            y = to_y
        if is_cut:
            count += 1
    return count


class Closures:
    """Tells, whenever it is asked, whose routes have been cut since it was asked before.

    Parameters
    ----------
    grid : Grid
        The map.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._version = -1
        self._known: dict[int, tuple[int, int]] = {}

    @property
    def is_current(self) -> bool:
        """Whether the map is still as it was when it was asked."""
        return self._version == self._grid.version

    def watch(self, movements: list[Movement]) -> None:
        """Keep a journal for movements from now on; routes are free on the map as it is now.

        Parameters
        ----------
        movements : list of Movement
            Those of a table of movers, by number.
        """
        for which in range(len(self._known), len(movements)):
            journal = self._journal(movements[which])
            self._known[which] = (journal.identity, journal.n_edits)

    def closed_cells(self, which: int, movement: Movement) -> NDArray[np.int64] | None:
        """Return the cells that have closed to a movement since they were asked for.

        Parameters
        ----------
        which : int
            Its number.
        movement : Movement
            What blocks.

        Returns
        -------
        int64 array (n,) or None
            Flat cells; None if any cell may have.
        """
        journal = self._journal(movement)
        identity, n_edits = self._known.get(which, (0, 0))
        self._known[which] = (journal.identity, journal.n_edits)
        return journal.since(n_edits) if journal.identity == identity else None

    def find(
        self,
        which: int,
        movement: Movement,
        columns: Columns,
        slots: int,
        pool: NDArray[np.float32],
    ) -> tuple[NDArray[np.int64] | None, Cuts]:
        """Return what has closed to a movement, and the movers on routes that this has cut.

        Parameters
        ----------
        which : int
            Number of the movement.
        movement : Movement
            What blocks.
        columns : Columns
            The movers.
        slots : int
            Rows in use.
        pool : float32 array (capacity, 2)
            The waypoints.

        Returns
        -------
        closed : int64 array (n,) or None
            As from `closed_cells`.
        cuts : Cuts
            Those of the movement alone. O(remaining waypoints), and the length of what is near
            closed cells.
        """
        closed = self.closed_cells(which, movement)
        across = -(-self._grid.width >> BLOCK_BITS)
        down = -(-self._grid.height >> BLOCK_BITS)
        if closed is None:
            blocks = np.ones(across * down, np.uint8)
        else:
            blocks = np.zeros(across * down, np.uint8)
            y, x = np.divmod(closed, self._grid.width)
            blocks[(y >> BLOCK_BITS) * across + (x >> BLOCK_BITS)] = 1
        rows = np.empty(slots, np.int64)
        first, last = np.empty(slots, np.int32), np.empty(slots, np.int32)
        n = 0
        if closed is None or closed.size:
            n = find_cuts_(
                ground_of(self._grid, movement), blocks, across, which, slots, columns.state,
                columns.movement, columns.position, columns.path_next, columns.path_end, pool,
                rows, first, last,
            )  # fmt: skip
        return closed, Cuts(rows[:n], first[:n], last[:n])

    def mark_current(self) -> None:
        """Say that every movement has been asked for on the map as it is now."""
        self._version = self._grid.version

    def _journal(self, movement: Movement) -> ClosedCells:
        grid = self._grid
        with grid.derived.lock:
            grid.space(movement)
            return grid.derived.get(movement.space_key, "closed cells", lambda _: ClosedCells())


def _warm_up() -> None:
    grid = Grid([[0, 0]])
    closures = Closures(grid)
    columns = Columns.of(1)
    closures.find(0, Movement(), columns, 1, np.zeros((1, 2), np.float32))


register_warm_up("cut routes", _warm_up)
