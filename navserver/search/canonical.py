"""Canonical ordering: which neighbours a cell has to generate where every cell costs the same.

Most cells can be reached by many paths of equal cost. The canonical one takes its diagonal steps
as early as it can, under NEVER its vertical ones. Jump point search prunes alike.

Sources: Harabor and Grastien, "Online Graph Pruning for Pathfinding on Grid Maps" (2011), section
3, and "Improving Jump Point Search" (2014) for steps that cut no corner; Sturtevant and Rabin,
"Canonical Orderings on Grids" (2016).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from navserver.search.moves import DiagonalMode

__all__ = ["canonical_successors"]


@cache
def canonical_successors(mode: DiagonalMode) -> NDArray[np.uint8]:
    """Return which moves a cell keeps, by the direction it was reached in.

    A move is left out where the 3 x 3 cells around show another way from the parent to its end
    that is shorter, or as long and more canonical. Where that other way is as long, it ends in a
    straight step (under NEVER a horizontal one), which is never left out after any parent on a
    shortest path. So every cell keeps its least cost whichever of equal parents is recorded.

    Parameters
    ----------
    mode : DiagonalMode
        The diagonal rule.

    Returns
    -------
    uint8 array (9, 256)
        Row 8 is the start's. The column is the cell's own move mask; under NEVER, whose masks
        do not show the cells that matter, that of the cell before it. The same array each
        time; kernels read it.
    """
    table = np.full((9, 256), 0xFF, np.uint8)
    for arrival in range(8):
        for mask in range(256):
            kept = _kept_under_never(arrival, mask)
            if mode != DiagonalMode.NEVER:
                kept = _kept(arrival, mask, mode)
            table[arrival, mask] = kept
    return table


def _kept(arrival: int, mask: int, mode: DiagonalMode) -> int:
    def turned(by: int) -> int:
        return 1 << ((arrival + by) & 7)

    kept = turned(0)
    if arrival & 1:
        # Diagonal: both its straight parts go on; an obstacle beside the step hides what lies
        # behind it from the parent, where corners may be cut at all.
        kept |= turned(1) | turned(-1)
        if mode != DiagonalMode.ONLY_IF_NO_OBSTACLES:
            for side in (1, -1):
                if not mask & turned(3 * side):
                    kept |= turned(2 * side)
        return kept
    for side in (1, -1):
        if mode == DiagonalMode.ONLY_IF_NO_OBSTACLES:
            # The side is open, yet not by a diagonal step from the parent: its cell beside the
            # parent is blocked.
            if mask & turned(2 * side) and not mask & turned(3 * side):
                kept |= turned(2 * side) | turned(side)
        elif not mask & turned(2 * side):
            kept |= turned(side)
    return kept


def _kept_under_never(arrival: int, parents_mask: int) -> int:
    kept = 1 << arrival
    if arrival in (2, 6):
        return kept | 1 | 16
    for vertical in (2, 6):
        if not parents_mask >> vertical & 1:
            kept |= 1 << vertical
    return kept
