"""The scratch of searches: room for the engine in use, made at first use and grown when full."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.search.bucket_engine import N_BUCKETS
from navserver.search.engine import BUCKETS, CANONICAL, HEAP, N_COUNTERS, N_FLOATS, Scratch
from navserver.search.nodes import OpenList
from navserver.search.packed_nodes import N_STACKS

__all__ = ["empty_scratch", "grown_scratch", "scratch_with"]


def empty_scratch() -> Scratch:
    """Return scratch without room for any engine.

    Returns
    -------
    Scratch
        Its arrays are empty.
    """
    return Scratch(
        words=np.empty(0, np.int64),
        g=np.empty(0, np.float64),
        packed=np.empty(0, np.int64),
        heap=OpenList.of(0),
        stacks=np.empty(0, np.int64),
        heights=np.empty(N_STACKS, np.int64),
        heads=np.empty(0, np.int32),
        occupied=np.empty(65, np.uint64),
        entry_cell=np.empty(0, np.int32),
        entry_next=np.empty(0, np.int32),
        counters=np.zeros(N_COUNTERS, np.int64),
        floats=np.zeros(N_FLOATS, np.float64),
    )


def scratch_with(scratch: Scratch, engine: int, size: int) -> Scratch:
    """Return scratch with room for an engine on a map of so many cells.

    Parameters
    ----------
    scratch : Scratch
        What there is; its arrays stay.
    engine : int
        CANONICAL, MULTIPLES, BUCKETS or HEAP.
    size : int
        Cells of the map.

    Returns
    -------
    Scratch
        The same where it has the room.
    """
    if engine >= CANONICAL:
        if scratch.packed.size:
            return scratch
        # Zeroed by the system page by page: a short search on a large map stays small.
        return scratch._replace(
            packed=np.zeros(size, np.int64), stacks=np.empty(N_STACKS * 256, np.int64)
        )
    if not scratch.words.size:
        words = np.zeros(2 * size, np.int64)
        scratch = scratch._replace(words=words, g=words.view(np.float64))
    if engine == HEAP and not scratch.heap.f.size:
        scratch = scratch._replace(heap=OpenList.of(1024))
    if engine == BUCKETS and not scratch.heads.size:
        scratch = scratch._replace(
            heads=np.empty(N_BUCKETS, np.int32),
            entry_cell=np.empty(1024, np.int32),
            entry_next=np.empty(1024, np.int32),
        )
    return scratch


def grown_scratch(scratch: Scratch, engine: int) -> Scratch:
    """Return scratch whose open list has twice the room and the same entries.

    Parameters
    ----------
    scratch : Scratch
        What has run full.
    engine : int
        Whose open list it is.

    Returns
    -------
    Scratch
        Shares all but the open list.
    """
    if engine >= CANONICAL:
        rows = scratch.stacks.reshape(N_STACKS, -1)
        stacks = np.empty((N_STACKS, 2 * rows.shape[1]), np.int64)
        stacks[:, : rows.shape[1]] = rows
        return scratch._replace(stacks=stacks.reshape(-1))
    if engine == HEAP:
        return scratch._replace(heap=scratch.heap.grown())
    return scratch._replace(
        entry_cell=_doubled(scratch.entry_cell), entry_next=_doubled(scratch.entry_next)
    )


def _doubled(array: NDArray[Any]) -> NDArray[Any]:
    larger = np.empty(2 * array.size, array.dtype)
    larger[: array.size] = array
    return larger
