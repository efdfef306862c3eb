"""Islands: which cells are connected, told without a search.

Every open cell has a label, and a table of parents joins labels into islands. Cells of different
islands are never connected. Cells of one island are, unless it is marked unsure: since a cell
closed whose neighbours may have no other way to each other. A flood from the cells around it,
one step from each side in turn, settles that when somebody asks; until then the answer is
UNSURE, and one has to search. Under ALWAYS cells are connected with 8 neighbours, under each of
the other modes with 4: a diagonal step allowed there has a way around its corner.

Sources: Hopcroft and Tarjan, "Efficient algorithms for graph manipulation" (1973), for floods
that take turns; Wu, Otoo and Suzuki, "Optimizing two-pass connected-component labeling
algorithms" (2009), section 3, for the labeling of runs.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver._jit import kernel, register_warm_up, subkernel
from navserver.search.cells import is_cell, paired_cells
from navserver.search.derived import Change, ClassSpace, Space
from navserver.search.grid import Grid, checked_movement
from navserver.search.movement import Movement, MovementOptions
from navserver.search.moves import DX, DY, DiagonalMode
from navserver.search.profile import DEFAULT_PROFILE

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "CONNECTED",
    "SEPARATE",
    "UNSURE",
    "IslandArrays",
    "Islands",
    "Reach",
    "connected",
    "island_labels",
    "islands_if_built",
    "islands_of",
    "may_reach_",
    "on_island_",
]

SEPARATE, CONNECTED, UNSURE = range(3)

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


class IslandArrays(NamedTuple):
    """What kernels read: the label of each flat cell, each label's parent, marks of roots."""

    labels: NDArray[np.int32]
    parents: NDArray[np.int32]
    unsure: NDArray[np.uint8]


# Questions


@subkernel
def find_island_(islands: IslandArrays, cell: int) -> int:
    """Return the root of a flat cell's label, 0 for a blocked cell."""
    label = islands.labels[cell]
    while islands.parents[label] != label:
        label = islands.parents[label]
    return int(label)


@subkernel
def may_reach_(islands: IslandArrays, start: int, goal: int) -> int:
    """Return SEPARATE, CONNECTED or UNSURE for two flat cells."""
    island = find_island_(islands, start)
    if island == 0 or island != find_island_(islands, goal):
        return SEPARATE
    return UNSURE if islands.unsure[island] else CONNECTED


@subkernel
def on_island_(islands: IslandArrays, island: int, cell: int) -> bool:
    """Return whether a flat cell lies on the island of a root."""
    return find_island_(islands, cell) == island


@kernel
def may_reach_each_(
    islands: IslandArrays,
    starts: NDArray[np.int64],
    goals: NDArray[np.int64],
    answers: NDArray[np.uint8],
) -> None:
    """Answer for pairs of flat cells."""
    for i in range(answers.size):
        answers[i] = may_reach_(islands, starts[i], goals[i])


@kernel
def canonical_labels_(
    islands: IslandArrays, numbers: NDArray[np.int32], out: NDArray[np.int32]
) -> int:
    """Write the islands' numbers in the order of their first cells; return how many they are.

    Invariant: `numbers`, zeros at first, holds the number of every root met so far.
    """
    count = 0
    for cell in range(out.size):
        island = find_island_(islands, cell)
        if island != 0 and numbers[island] == 0:
            count += 1
            numbers[island] = count
        out[cell] = numbers[island]
    return count


# Labeling


@subkernel
def root_(parents: NDArray[np.int32], label: int) -> int:
    """Return the root of a label, and shorten the way there."""
    while parents[label] != label:
        parents[label] = parents[parents[label]]
        label = parents[label]
    return label


@kernel
def label_rows_(
    cells: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    eight: bool,
    y: int,
    n_labels: int,
    labels: NDArray[np.int32],
    parents: NDArray[np.int32],
) -> tuple[int, int]:
    """Label runs of open cells, row by row from row y on, while the table has room for a row.

    Returns the next row and the number of labels, the 0 of blocked cells among them.
    Invariant: a label's parent is no larger than the label, and the roots of two runs are equal
    exactly if the rows so far connect them.
    """
    height, width = cells.shape
    aside = 1 if eight else 0
    while y < height and n_labels + width // 2 + 1 <= parents.size:
        x = 0
        while x < width:
            if not open_table[cells[y, x]]:
                labels[y, x] = 0
                x += 1
                continue
            first = x
            while x < width and open_table[cells[y, x]]:
                x += 1
            label = 0
            if y > 0:
                last = 0
                for above_x in range(max(first - aside, 0), min(x + aside, width)):
                    above = np.int64(labels[y - 1, above_x])
                    if above == last:
                        continue
                    last = above
                    if above == 0:
                        continue
                    root = root_(parents, above)
                    if label == 0:
                        label = root
                    elif root < label:
                        parents[label] = root
                        label = root
                    elif label < root:
                        parents[root] = label
            if label == 0:
                label = n_labels
                parents[label] = label
                n_labels += 1
            for run_x in range(first, x):
                labels[y, run_x] = label
        y += 1
    return y, n_labels


@kernel
def compact_labels_(n_labels: int, labels: NDArray[np.int32], parents: NDArray[np.int32]) -> int:
    """Write into the cells their islands' numbers, from 1 on; return how many they are.

    Invariant: entries of `parents` below `label` are final numbers.
    """
    count = 0
    for label in range(1, n_labels):
        if parents[label] == label:
            count += 1
            parents[label] = count
        else:
            parents[label] = parents[parents[label]]
    for cell in range(labels.size):
        labels[cell] = parents[labels[cell]]
    return count


# Edits

# Entries of an Islands' counters.
N_LABELS, N_SUSPECTS, ROOT, BASE, N_FRONTS, N_ACTIVE, TURN, N_NODES, FREE, N_USED = range(10)


class Table(NamedTuple):
    """Labels with what only edits and floods need."""

    width: int
    height: int
    direction_step: int
    """1 for 8 neighbours, 2 for 4."""
    labels: NDArray[np.int32]
    parents: NDArray[np.int32]
    unsure: NDArray[np.uint8]
    ranks: NDArray[np.uint8]
    ring_table: NDArray[np.uint8]
    suspects: NDArray[np.int64]
    counters: NDArray[np.int64]


def ring_parts(ring: int, eight: bool) -> int:
    """Return into how many parts a ring of 8 cells falls that a cell in its middle connects.

    Parameters
    ----------
    ring : int
        Bit d is set where the cell in direction d is open.
    eight : bool
        Whether cells have 8 neighbours; else parts without a cell beside the middle don't count.

    Returns
    -------
    int
        0 to 4.
    """
    step = 1 if eight else 2
    parts = {d: d for d in range(0, 8, step) if ring >> d & 1}
    for d in range(0, 8, 2):
        beside, corner, ahead = d, d + 1, (d + 2) & 7
        joined = {beside, corner, ahead} if ring >> corner & 1 else set()
        if eight and not joined:
            joined = {beside, ahead}
        joined &= parts.keys() if eight or len(joined & parts.keys()) > 1 else set()
        numbers = {parts[e] for e in joined}
        for e, number in parts.items():
            if number in numbers:
                parts[e] = min(numbers)
    return len(set(parts.values()))


@functools.cache
def ring_table(eight: bool) -> NDArray[np.uint8]:
    """Return `ring_parts` of the 256 rings.

    Parameters
    ----------
    eight : bool
        Whether cells have 8 neighbours.

    Returns
    -------
    uint8 array (256,)
        Indexed by the ring.
    """
    return np.array([ring_parts(ring, eight) for ring in range(256)], np.uint8)


@subkernel
def neighbour_(table: Table, cell: int, direction: int) -> int:
    """Return the flat neighbour of a cell, -1 outside the map."""
    y = cell // table.width
    x = cell - y * table.width + DX[direction]
    y += DY[direction]
    if x < 0 or y < 0 or x >= table.width or y >= table.height:
        return -1
    return y * table.width + x


@kernel
def update_labels_(table: Table, closed: NDArray[np.int64], opened: NDArray[np.int64]) -> None:
    """Take in cells that closed and opened, one after the other.

    Invariant: a cell is open exactly if its label is not 0; open neighbours have one root; the
    cells of a root that is not unsure are connected; of one that is, every connected part has a
    cell beside a suspect. The arrays have room for all labels and suspects.
    """
    labels, parents, counters = table.labels, table.parents, table.counters
    for cell in closed:
        ring = 0
        for direction in range(8):
            other = neighbour_(table, cell, direction)
            if other >= 0 and labels[other] != 0:
                ring |= 1 << direction
        root = root_(parents, np.int64(labels[cell]))
        labels[cell] = 0
        parts = table.ring_table[ring]
        if parts > 1:
            table.unsure[root] = 1
        # A part of an unsure island may have hung on this very cell.
        if parts > 0 and table.unsure[root]:
            table.suspects[counters[N_SUSPECTS]] = cell
            counters[N_SUSPECTS] += 1
    for cell in opened:
        root = np.int64(0)
        for direction in range(0, 8, table.direction_step):
            other = neighbour_(table, cell, direction)
            if other < 0 or labels[other] == 0:
                continue
            joined = root_(parents, np.int64(labels[other]))
            if root == 0:
                root = joined
            elif joined != root:
                if table.ranks[root] < table.ranks[joined]:
                    root, joined = joined, root
                elif table.ranks[root] == table.ranks[joined]:
                    table.ranks[root] += 1
                parents[joined] = root
                table.unsure[root] |= table.unsure[joined]
        if root == 0:
            root = counters[N_LABELS]
            counters[N_LABELS] += 1
            parents[root] = root
            table.unsure[root] = 0
            table.ranks[root] = 0
        labels[cell] = root


# Floods


class Flood(NamedTuple):
    """Fronts that grow in turns from the cells around suspects.

    A front is a label of its own below the island's root, which the cells that it has reached
    carry; fronts that meet become one by their labels' parents. The cells from which a front has
    yet to look around are a list linked through the nodes.
    """

    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    places: NDArray[np.int32]
    active: NDArray[np.int32]
    node_cells: NDArray[np.int64]
    node_nexts: NDArray[np.int32]

    @staticmethod
    def of(n_fronts: int, n_nodes: int) -> Flood:
        """Return room for a flood.

        Parameters
        ----------
        n_fronts, n_nodes : int
            Fronts, and cells on their lists.

        Returns
        -------
        Flood
            Its arrays are not initialised.
        """
        return Flood(
            np.empty(n_fronts, np.int32),
            np.empty(n_fronts, np.int32),
            np.empty(n_fronts, np.int32),
            np.empty(n_fronts, np.int32),
            np.empty(n_nodes, np.int64),
            np.empty(n_nodes, np.int32),
        )


@subkernel
def append_(table: Table, flood: Flood, front: int, cell: int) -> None:
    """Label a cell and put it at the end of a front's list; the caller has made sure of room."""
    counters = table.counters
    if counters[FREE] >= 0:
        node = counters[FREE]
        counters[FREE] = flood.node_nexts[node]
    else:
        node = counters[N_USED]
        counters[N_USED] += 1
    counters[N_NODES] += 1
    flood.node_cells[node] = cell
    flood.node_nexts[node] = -1
    if flood.heads[front] < 0:
        flood.heads[front] = node
    else:
        flood.node_nexts[flood.tails[front]] = node
    flood.tails[front] = node
    table.labels[cell] = counters[BASE] + front


@subkernel
def front_(table: Table, label: int) -> int:
    """Return the front of a label of this flood."""
    parents = table.parents
    root = table.counters[ROOT]
    while parents[label] != root and parents[label] != label:
        parent = parents[label]
        if parents[parent] != root and parents[parent] != parent:
            parents[label] = parents[parent]
        label = np.int64(parent)
    return label - table.counters[BASE]


@subkernel
def drop_front_(table: Table, flood: Flood, front: int) -> None:
    """Take a front off the list of those that grow."""
    counters = table.counters
    counters[N_ACTIVE] -= 1
    last = flood.active[counters[N_ACTIVE]]
    flood.active[flood.places[front]] = last
    flood.places[last] = flood.places[front]


@kernel
def next_unsure_(table: Table, first: int) -> tuple[int, int]:
    """Return the first suspect from an index on with an unsure island beside it, and its root.

    Returns the number of suspects and 0 if there is none.
    """
    for i in range(first, table.counters[N_SUSPECTS]):
        for direction in range(0, 8, table.direction_step):
            cell = neighbour_(table, table.suspects[i], direction)
            if cell >= 0 and table.labels[cell] != 0:
                root = root_(table.parents, np.int64(table.labels[cell]))
                if table.unsure[root]:
                    return i, root
    return int(table.counters[N_SUSPECTS]), 0


@kernel
def begin_flood_(table: Table, flood: Flood, root: int) -> None:
    """Start a front at each cell of an island that stands beside a suspect.

    The tables of labels, fronts and nodes have room for 8 of each a suspect.
    """
    counters = table.counters
    counters[ROOT] = root
    counters[BASE] = counters[N_LABELS]
    counters[N_FRONTS] = 0
    counters[TURN] = 0
    counters[N_NODES] = 0
    counters[N_USED] = 0
    counters[FREE] = -1
    for i in range(counters[N_SUSPECTS]):
        for direction in range(0, 8, table.direction_step):
            cell = neighbour_(table, table.suspects[i], direction)
            if cell < 0 or table.labels[cell] == 0 or table.labels[cell] >= counters[BASE]:
                continue
            if root_(table.parents, np.int64(table.labels[cell])) != root:
                continue
            front = counters[N_FRONTS]
            label = counters[BASE] + front
            table.parents[label] = root
            table.unsure[label] = 0
            table.ranks[label] = 0
            flood.heads[front] = -1
            flood.active[front] = front
            flood.places[front] = front
            append_(table, flood, front, cell)
            counters[N_FRONTS] += 1
    counters[N_LABELS] += counters[N_FRONTS]
    counters[N_ACTIVE] = counters[N_FRONTS]


@kernel
def advance_flood_(table: Table, flood: Flood, budget: int) -> int:
    """Let fronts grow by a cell in turn; return what is left of the budget, -1 for lack of nodes.

    Invariant: cells with a label of the flood are on their front's list, or all their neighbours
    have such a label too. A front whose list ends is an island of its own; with one front left,
    that and the cells not reached are what remains of the island.
    """
    counters = table.counters
    labels, parents = table.labels, table.parents
    base = counters[BASE]
    while counters[N_ACTIVE] > 1 and budget > 0:
        if counters[N_NODES] + 8 > flood.node_cells.size:
            return -1
        budget -= 1
        if counters[TURN] >= counters[N_ACTIVE]:
            counters[TURN] = 0
        front = np.int64(flood.active[counters[TURN]])
        node = flood.heads[front]
        cell = flood.node_cells[node]
        flood.heads[front] = flood.node_nexts[node]
        flood.node_nexts[node] = counters[FREE]
        counters[FREE] = node
        counters[N_NODES] -= 1
        for direction in range(0, 8, table.direction_step):
            other = neighbour_(table, cell, direction)
            if other < 0 or labels[other] == 0:
                continue
            if labels[other] < base:
                append_(table, flood, front, other)
                continue
            met = front_(table, np.int64(labels[other]))
            if met == front:
                continue
            parents[base + met] = base + front
            if flood.heads[front] < 0:
                flood.heads[front] = flood.heads[met]
            else:
                flood.node_nexts[flood.tails[front]] = flood.heads[met]
            flood.tails[front] = flood.tails[met]
            drop_front_(table, flood, met)
        if flood.heads[front] < 0:
            if counters[N_ACTIVE] > 1:
                parents[base + front] = base + front
                table.ranks[base + front] = 1
            counters[TURN] = flood.places[front]
            drop_front_(table, flood, front)
        else:
            counters[TURN] = flood.places[front] + 1
    if counters[N_ACTIVE] <= 1:
        table.unsure[counters[ROOT]] = 0
        for label in range(base, counters[N_LABELS]):
            root_(parents, label)
    return budget


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
