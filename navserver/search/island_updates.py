"""How labels of islands follow edits: merges at once, and floods that settle possible splits.

Source: Hopcroft and Tarjan, "Efficient algorithms for graph manipulation" (1973), for floods that
take turns.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver._jit import kernel, subkernel
from navserver.search.island_labeling import root_
from navserver.search.moves import DX, DY

__all__ = ["Flood", "Table", "ring_parts", "ring_table"]

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
