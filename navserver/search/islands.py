"""Islands: which cells are connected, told without a search.

Every open cell has a label, and a table of parents joins labels into islands. Cells of different
islands are never connected. Cells of one island are, unless it is marked unsure: since a cell
closed whose neighbours may have no other way to each other. A flood from the cells around it,
one step from each side in turn, settles that when somebody asks; until then the answer is
UNSURE, and one has to search. Under ALWAYS cells are connected with 8 neighbours, under each of
the other modes with 4: a diagonal step allowed there has a way around its corner.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver._jit import register_warm_up
from navserver.search.cells import is_cell, paired_cells
from navserver.search.derived import Change, ClassSpace, Space
from navserver.search.grid import Grid, checked_movement
from navserver.search.island_labeling import (
    CONNECTED,
    UNSURE,
    IslandArrays,
    canonical_labels_,
    compact_labels_,
    label_rows_,
    may_reach_each_,
)
from navserver.search.island_updates import (
    N_ACTIVE,
    N_LABELS,
    N_SUSPECTS,
    Flood,
    Table,
    advance_flood_,
    begin_flood_,
    next_unsure_,
    ring_table,
    update_labels_,
)
from navserver.search.movement import Movement, MovementOptions
from navserver.search.moves import DiagonalMode
from navserver.search.profile import DEFAULT_PROFILE

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "Islands",
    "Reach",
    "connected",
    "island_labels",
    "islands_if_built",
    "islands_of",
]

SETTLE_BUDGET = 1 << 11
"""Cells that one question may flood: about 0.1 ms."""


class Reach(IntEnum):
    """Whether one cell can be reached from another."""

    SEPARATE = 0
    """No way leads there, or one of the two is blocked."""
    CONNECTED = 1
    """A way leads there."""
    UNSURE = 2
    """A search has to tell."""


class Islands:
    """The islands of one space, for 8 or for 4 neighbours.

    Get it by `islands_of`, so that it is kept current. Many threads may ask; edits need the
    caller's lock.

    Parameters
    ----------
    space : Space
        The cells that a body may stand on.
    eight : bool
        Whether cells are connected with 8 neighbours, else with 4.

    Notes
    -----
    4 bytes a cell. Opening a cell joins islands at once; closing one looks at the 8 cells around
    it. When the suspects or the labels of past floods become too many, `may_reach` answers with
    UNSURE until somebody settles.
    """

    def __init__(self, space: Space, eight: bool) -> None:
        self._space = space
        self._eight = bool(eight)
        self._ring_table = ring_table(self._eight)
        self._lock = threading.Lock()
        self._readers = 0
        self._epoch = 0
        self._max_suspects = max(1024, space.cells.size // 4096)
        self._flood = Flood.of(1, 16)
        self._build()

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        table = self._table
        return (
            table.labels.nbytes
            + table.parents.nbytes
            + table.unsure.nbytes
            + table.ranks.nbytes
            + table.suspects.nbytes
            + sum(array.nbytes for array in self._flood)
        )

    def _build(self) -> None:
        """Label anew, into arrays of its own: who reads the old ones goes on."""
        cells = self._space.cells
        height, width = cells.shape
        labels = np.empty(cells.shape, np.int32)
        parents = np.zeros(max(1024, 2 * width), np.int32)
        y, n_labels = 0, 1
        while y < height:
            y, n_labels = label_rows_(
                cells, self._space.open_table, self._eight, y, n_labels, labels, parents
            )
            if y < height:
                parents = np.concatenate([parents, np.empty_like(parents)])
        count = compact_labels_(n_labels, labels.reshape(-1), parents)
        room = count + 1 + 1024
        self._max_labels = room + max(1 << 16, cells.size // 8)
        counters = np.zeros(10, np.int64)
        counters[N_LABELS] = count + 1
        self._table = Table(
            width=width,
            height=height,
            direction_step=1 if self._eight else 2,
            labels=labels.reshape(-1),
            parents=np.arange(room, dtype=np.int32),
            unsure=np.zeros(room, np.uint8),
            ranks=np.zeros(room, np.uint8),
            ring_table=self._ring_table,
            suspects=np.empty(64, np.int64),
            counters=counters,
        )
        self._see_table()
        self._stale = False
        self._flooding = False
        self._next_suspect = 0

    def _see_table(self) -> None:
        table = self._table
        # An entry of a memoryview is read in a third of the time that an array's takes.
        self._views = (table.labels.data, table.parents.data, table.unsure.data)

    def _make_room(self, n_labels: int, n_suspects: int) -> bool:
        """Return whether the tables hold so many more labels and suspects now."""
        table = self._table
        n_labels += int(table.counters[N_LABELS])
        n_suspects += int(table.counters[N_SUSPECTS])
        if n_labels > self._max_labels:
            return False
        if n_labels > table.parents.size:
            room = max(n_labels, min(2 * table.parents.size, self._max_labels))
            table = table._replace(
                parents=_grown(table.parents, room),
                unsure=_grown(table.unsure, room),
                ranks=_grown(table.ranks, room),
            )
        if n_suspects > table.suspects.size:
            table = table._replace(
                suspects=_grown(table.suspects, max(n_suspects, 2 * table.suspects.size))
            )
        if table is not self._table:
            self._table = table
            self._see_table()
        return True

    def update(self, change: Change) -> None:
        """Take in cells that opened or closed.

        Parameters
        ----------
        change : Change
            What opened and closed.
        """
        if self._stale:
            return
        self._flooding = False
        self._next_suspect = 0
        if not self._make_room(change.opened.size, change.closed.size):
            self._stale = True
            return
        update_labels_(self._table, change.closed, change.opened)
        counters = self._table.counters
        if counters[N_SUSPECTS] > self._max_suspects:
            suspects = np.unique(self._table.suspects[: counters[N_SUSPECTS]])
            self._table.suspects[: suspects.size] = suspects
            counters[N_SUSPECTS] = suspects.size
            self._stale = 2 * suspects.size > self._max_suspects

    def may_reach(self, start: int, goal: int, budget: int = SETTLE_BUDGET) -> Reach:
        """Return whether one flat cell can be reached from another, if that can be told soon.

        Parameters
        ----------
        start, goal : int
            Flat cells on the map.
        budget : int
            Most cells to flood where their island is unsure; 0 only looks.

        Returns
        -------
        Reach
            SEPARATE if either is blocked; UNSURE where only a search can tell.
        """
        epoch = self._epoch
        labels, parents, unsure = self._views
        island = labels[start]
        while (parent := parents[island]) != island:
            island = parent
        other = labels[goal]
        while (parent := parents[other]) != other:
            other = parent
        # A thread that settles may have moved one of the cells in between.
        if epoch == self._epoch and not self._stale:
            if island != other or island == 0:
                return _SEPARATE
            if not unsure[island]:
                return _CONNECTED
        if budget > 0 and self._settle_some(budget, island):
            return self.may_reach(start, goal, 0)
        return _UNSURE

    def _settle_some(self, budget: int, island: int) -> bool:
        """Spend a budget on what is unsure; return whether an answer may have changed."""
        with self._lock:
            if self._stale or self._readers > 0:
                return False
            return self._flood_on(budget, island) < budget

    def settle(self) -> None:
        """Make every island sure: by floods, or by labeling anew where those are no shorter.

        Worth its price, which is at most about that of two labelings, after a search that UNSURE
        let run and that found nothing.
        """
        with self._lock:
            if not self._stale and self._readers == 0:
                self._flood_on(self._table.labels.size // 32 + 1024, 0)
            if self._stale or self._is_unsure():
                self._build()

    def _is_unsure(self) -> bool:
        return next_unsure_(self._table, 0)[1] != 0

    def _flood_on(self, budget: int, island: int) -> int:
        """Go on with floods, the one of an island first; return what is left of the budget."""
        self._epoch += 1
        try:
            while budget > 0:
                if not self._flooding and not self._begin_flood(island):
                    break
                island = 0
                left = advance_flood_(self._table, self._flood, budget)
                if left < 0:
                    n_nodes = 2 * self._flood.node_cells.size
                    self._flood = self._flood._replace(
                        node_cells=_grown(self._flood.node_cells, n_nodes),
                        node_nexts=_grown(self._flood.node_nexts, n_nodes),
                    )
                    continue
                # Beginning has a price too.
                budget = min(left, budget - 1)
                self._flooding = self._table.counters[N_ACTIVE] > 1
        finally:
            self._epoch += 1
        return budget

    def _begin_flood(self, island: int) -> bool:
        """Begin the flood of an island, 0 for any that is unsure; return whether there is one."""
        counters = self._table.counters
        if island == 0 or not self._table.unsure[island]:
            self._next_suspect, island = next_unsure_(self._table, self._next_suspect)
            if island == 0:
                counters[N_SUSPECTS] = 0
                self._next_suspect = 0
                return False
        n_fronts = 8 * int(counters[N_SUSPECTS])
        if not self._make_room(n_fronts, 0):
            self._stale = True
            return False
        if self._flood.heads.size < n_fronts:
            n_nodes = max(2 * n_fronts, self._flood.node_cells.size)
            self._flood = Flood.of(2 * n_fronts, n_nodes)
        begin_flood_(self._table, self._flood, island)
        self._flooding = True
        return True

    @contextmanager
    def reading(self, budget: int = SETTLE_BUDGET) -> Iterator[IslandArrays]:
        """Lend the arrays to kernels: until the end of the block no flood writes them.

        For many questions at once, since it labels anew where `may_reach` would give up.

        Parameters
        ----------
        budget : int
            Most cells to flood before, where islands are unsure.

        Yields
        ------
        IslandArrays
            Valid in the block, in which nobody may edit the grid.
        """
        with self._lock:
            if self._stale:
                self._build()
            if budget > 0 and self._readers == 0:
                self._flood_on(budget, 0)
                if self._stale:
                    self._build()
            table = self._table
            self._readers += 1
        try:
            yield IslandArrays(table.labels, table.parents, table.unsure)
        finally:
            with self._lock:
                self._readers -= 1

    @contextmanager
    def settled(self) -> Iterator[IslandArrays]:
        """Lend the arrays, as `reading` does, with every island sure.

        Yields
        ------
        IslandArrays
            Valid in the block, in which nobody may edit the grid.
        """
        # Nobody edits between the two lines, and what is sure stays sure.
        self.settle()
        with self.reading(0) as arrays:
            yield arrays

    def answer(self, starts: NDArray[np.int64], goals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for pairs of flat cells whether they are connected, settled if need be.

        Parameters
        ----------
        starts, goals : int64 arrays (n,)
            Flat cells.

        Returns
        -------
        bool array (n,)
            False where either is blocked.
        """
        answers = np.empty(starts.size, np.uint8)
        with self.reading(0) as arrays:
            may_reach_each_(arrays, starts, goals, answers)
        if (answers == UNSURE).any():
            with self.settled() as arrays:
                may_reach_each_(arrays, starts, goals, answers)
        return answers == CONNECTED

    def labels(self) -> NDArray[np.int32]:
        """Return the number of each cell's island, settled.

        Returns
        -------
        int32 array (height, width)
            A new array; 0 where blocked, else 1, 2, ... in the order of the islands' first cells.
        """
        with self.settled() as arrays:
            out = np.empty(arrays.labels.size, np.int32)
            canonical_labels_(arrays, np.zeros(arrays.parents.size, np.int32), out)
        return out.reshape(self._space.cells.shape)


_SEPARATE, _CONNECTED, _UNSURE = Reach


def _grown(array: NDArray, size: int) -> NDArray:  # type: ignore[type-arg]
    larger = np.empty(size, array.dtype)
    larger[: array.size] = array
    return larger


def _kind(movement: Movement) -> tuple[str, int]:
    return "islands", 8 if movement.diagonal_mode == DiagonalMode.ALWAYS else 4


def islands_of(grid: Grid, movement: Movement) -> Islands:
    """Return the islands of a body on a grid, labeled on first use and kept current.

    Parameters
    ----------
    grid : Grid
        The map.
    movement : Movement
        The body.

    Returns
    -------
    Islands
        The grid's own, not a copy; one for each blocked set, body size, and 8 or 4 neighbours.
    """
    kind = _kind(movement)
    with grid.derived.lock:
        held = islands_if_built(grid, movement)
        if held is not None:
            return held
        grid.space(movement)
        return grid.derived.get(
            movement.space_key, kind, lambda space: Islands(space, eight=kind[1] == 8)
        )


def islands_if_built(grid: Grid, movement: Movement) -> Islands | None:
    """Return the islands of a body on a grid, unless they would have to be labeled.

    Parameters
    ----------
    grid : Grid
        The map.
    movement : Movement
        The body.

    Returns
    -------
    Islands or None
        As `islands_of`.
    """
    islands = grid.derived.held(movement.space_key, _kind(movement))
    return islands if isinstance(islands, Islands) else None


def connected(
    grid: Grid, start: ArrayLike, goal: ArrayLike, **movement: Unpack[MovementOptions]
) -> bool | NDArray[np.bool_]:
    """Return whether a way leads from one cell to another, without a search.

    Parameters
    ----------
    grid : Grid
        The map.
    start, goal : (int, int) or array-like of int, shape (n, 2)
        Cells; one pair, n pairs, or one cell against n.
    **movement
        Keywords of `Movement`; the body and ``diagonal_mode`` decide.

    Returns
    -------
    bool or bool array (n,)
        False where either cell is blocked. O(1) a pair, but for the first question after an edit
        that may have parted an island: O(the smaller part), at most O(cells).

    Raises
    ------
    CellError
        If a cell lies outside the map, or the arrays differ in length.

    Examples
    --------
    >>> grid = Grid.from_blocked([[False, True, False], [True, False, False]])
    >>> connected(grid, (1, 1), (2, 0)), connected(grid, (0, 0), (1, 1))
    (True, False)
    >>> connected(grid, (0, 0), (1, 1), diagonal_mode=DiagonalMode.ALWAYS)
    True
    """
    islands = islands_of(grid, checked_movement(grid, movement, connected))
    if is_cell(start) and is_cell(goal):
        start_flat, goal_flat = grid.flat_index(start, "start"), grid.flat_index(goal, "goal")
        reach = islands.may_reach(start_flat, goal_flat)
        if reach is not Reach.UNSURE:
            return reach is Reach.CONNECTED
    starts, goals, single = paired_cells(grid, start, goal)
    answers = islands.answer(starts, goals)
    return bool(answers[0]) if single else answers


def island_labels(grid: Grid, **movement: Unpack[MovementOptions]) -> NDArray[np.int32]:
    """Return the number of the island that each cell lies on.

    Parameters
    ----------
    grid : Grid
        The map.
    **movement
        Keywords of `Movement`; the body and ``diagonal_mode`` decide.

    Returns
    -------
    int32 array (height, width)
        0 where blocked, else 1, 2, ... in the order of the islands' first cells. O(cells).

    Examples
    --------
    >>> island_labels(Grid.from_blocked([[False, True, False], [True, False, False]])).tolist()
    [[1, 0, 2], [0, 2, 2]]
    """
    return islands_of(grid, checked_movement(grid, movement, island_labels)).labels()


def _warm_up() -> None:
    classes = np.zeros((1, 3), np.uint8)
    islands = Islands(ClassSpace(classes, DEFAULT_PROFILE), eight=False)
    nothing, middle = np.empty(0, np.int64), np.ones(1, np.int64)
    classes[0, 1] = 255
    islands.update(Change(nothing, middle))
    islands.answer(np.zeros(1, np.int64), np.full(1, 2, np.int64))
    islands.labels()


register_warm_up("islands", _warm_up)
