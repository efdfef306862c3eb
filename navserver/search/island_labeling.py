"""Labels of islands: how they are first given, and how they are read.

Source: Wu, Otoo and Suzuki, "Optimizing two-pass connected-component labeling algorithms" (2009),
section 3, for the labeling of runs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver._jit import kernel, subkernel

__all__ = ["IslandArrays"]

SEPARATE, CONNECTED, UNSURE = range(3)


class IslandArrays(NamedTuple):
    """What kernels read: the label of each flat cell, each label's parent, marks of roots."""

    labels: NDArray[np.int32]
    parents: NDArray[np.int32]
    unsure: NDArray[np.uint8]


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
