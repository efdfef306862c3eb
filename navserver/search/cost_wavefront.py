"""The wavefront where cells cost differently: a circular bucket queue with float64 costs.

With buckets no wider than the least step, no cell of a bucket can improve another one, so their
order does not matter. Where steps are too unequal for that (or free), a heap orders the cells of
the current bucket.

Sources: Dial, "Algorithm 360: Shortest-path forest with topological ordering" (1969); Denardo and
Fox, "Shortest-route methods: 1. Reaching, pruning, and buckets" (1979), for float costs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver._jit import kernel, subkernel, trailing_zeros
from navserver.search.costs import ENTERED, MEAN, PRODUCT, SQRT2, Terrain, cell_cost_
from navserver.search.fields import (
    BUCKET,
    CANCEL_EVERY,
    CANCELLED,
    CLOSED,
    EXHAUSTED,
    EXPANDED,
    FREE_ENTRY,
    FULL,
    GENERATED,
    HEAP_SIZE,
    LABELLED,
    OPEN_PEAK,
    OPEN_SIZE,
    RUNNING,
    SETTLED,
    SOURCE,
    TOUCHED,
    Field,
    Search,
    targets_settled_,
)

__all__ = [
    "Buckets",
    "Heap",
    "advance_by_cost_",
    "grow_entries_",
    "seed_by_cost_",
    "typical_step_",
]

N_BUCKETS = 1024
# Beyond that, rounding could put a step's end into the bucket that it starts from.
LAST_EXACT_BUCKET = 1 << 31
LAST_BUCKET = 1 << 62

LENGTHS = (1.0, SQRT2, 1.0, SQRT2, 1.0, SQRT2, 1.0, SQRT2)
# Moves by state, 1 to 8, that lead to cells which the parent does not reach at less cost itself:
# those within a right angle of the direction of arrival.
AHEAD = (255, *(sum(1 << ((d + turn) & 7) for turn in (-2, -1, 0, 1, 2)) for d in range(8)), 255)


class Buckets(NamedTuple):
    """A circular array of lists in one pool of entries, -1 where a list ends."""

    heads: NDArray[np.int32]
    cells: NDArray[np.int32]
    following: NDArray[np.int32]


class Heap(NamedTuple):
    """A binary heap ordered by cost, then cell."""

    costs: NDArray[np.float64]
    cells: NDArray[np.int32]


@subkernel
def bucket_(search: Search, cost: float) -> int:
    """Return the bucket of a cost: never a smaller one for a larger cost."""
    bucket = cost * search.per_bucket
    return LAST_BUCKET if bucket >= LAST_BUCKET else np.int64(bucket)


@subkernel
def put_(buckets: Buckets, free: int, current: int, bucket: int, cell: int) -> int:
    """Put a cell in a bucket, or in the last one of the window; return the next free entry."""
    slot = min(bucket, current + N_BUCKETS - 1) & (N_BUCKETS - 1)
    following = np.int64(buckets.following[np.uint64(free)])
    buckets.cells[np.uint64(free)] = cell
    buckets.following[np.uint64(free)] = buckets.heads[slot]
    buckets.heads[slot] = free
    return following


@subkernel
def before_(heap: Heap, i: int, cost: float, cell: int) -> bool:
    """Return whether entry i leaves the heap before another one."""
    if heap.costs[i] != cost:
        return bool(heap.costs[i] < cost)
    return bool(heap.cells[i] < cell)


@subkernel
def push_(heap: Heap, size: int, cost: float, cell: int) -> int:
    """Add an entry; the caller has made sure of the room. Return the new size."""
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if before_(heap, parent, cost, cell):
            break
        heap.costs[i] = heap.costs[parent]
        heap.cells[i] = heap.cells[parent]
        i = parent
    heap.costs[i] = cost
    heap.cells[i] = cell
    return size + 1


@subkernel
def pop_(heap: Heap, size: int) -> int:
    """Remove the first entry, which the caller has read. Return the new size."""
    size -= 1
    cost = heap.costs[size]
    cell = np.int64(heap.cells[size])
    i = 0
    child = 1
    while child < size:
        if child + 1 < size and before_(
            heap, child + 1, heap.costs[child], np.int64(heap.cells[child])
        ):
            child += 1
        if not before_(heap, child, cost, cell):
            break
        heap.costs[i] = heap.costs[child]
        heap.cells[i] = heap.cells[child]
        i = child
        child = 2 * i + 1
    heap.costs[i] = cost
    heap.cells[i] = cell
    return size


@kernel
def seed_by_cost_(
    sources: NDArray[np.int64],
    start_costs: NDArray[np.float64],
    search: Search,
    field: Field,
    buckets: Buckets,
    touched: NDArray[np.int32],
    counters: NDArray[np.int64],
) -> None:
    """Put the sources in their buckets; the caller has made sure of room."""
    counters[:] = 0
    buckets.heads[:] = -1
    link_entries_(buckets.following, 0, counters)
    least = np.inf
    for i in range(sources.size):
        least = min(least, start_costs[i])
    counters[BUCKET] = bucket_(search, least)
    n_touched = 0
    for i in range(sources.size):
        cell = sources[i]
        known = field.state[cell]
        if start_costs[i] > search.max_cost:
            continue
        if known != 0 and start_costs[i] >= field.costs[cell]:
            continue
        if known == 0:
            if touched.size > 0:
                touched[n_touched] = cell
            n_touched += 1
        field.state[cell] = SOURCE
        field.costs[cell] = start_costs[i]
        counters[FREE_ENTRY] = put_(
            buckets,
            counters[FREE_ENTRY],
            counters[BUCKET],
            bucket_(search, start_costs[i]),
            cell,
        )
        counters[OPEN_SIZE] += 1
    counters[LABELLED] = n_touched
    counters[TOUCHED] = n_touched
    counters[GENERATED] = counters[OPEN_SIZE]
    counters[OPEN_PEAK] = counters[OPEN_SIZE]


@subkernel
def link_entries_(following: NDArray[np.int32], first: int, counters: NDArray[np.int64]) -> None:
    """Make the entries from `first` on the only free ones."""
    for i in range(first, following.size):
        following[i] = i + 1
    following[following.size - 1] = -1
    counters[FREE_ENTRY] = first


@kernel
def grow_entries_(old: Buckets, new: Buckets, counters: NDArray[np.int64]) -> None:
    """Copy all lists into a larger pool; the free entries of the old one stay free."""
    free = counters[FREE_ENTRY]
    link_entries_(new.following, old.cells.size, counters)
    for i in range(old.cells.size):
        new.cells[i] = old.cells[i]
        new.following[i] = old.following[i]
    while free >= 0:
        following = old.following[free]
        new.following[free] = counters[FREE_ENTRY]
        counters[FREE_ENTRY] = free
        free = following


@subkernel
def next_bucket_(search: Search, field: Field, buckets: Buckets, bucket: int) -> int:
    """Return the first bucket after an empty one that is not empty; there is one."""
    for following in range(bucket + 1, bucket + N_BUCKETS - 1):
        if buckets.heads[following & (N_BUCKETS - 1)] >= 0:
            return following
    # All that is left lies in the window's last bucket or beyond: go where the first belongs.
    last = bucket + N_BUCKETS - 1
    head = buckets.heads[last & (N_BUCKETS - 1)]
    first = LAST_BUCKET
    entry = np.int64(head)
    while entry >= 0:
        cell = np.int64(buckets.cells[entry])
        if not field.state[cell] & CLOSED:
            first = min(first, bucket_(search, field.costs[cell]))
        entry = np.int64(buckets.following[entry])
    first = max(first, last)
    buckets.heads[last & (N_BUCKETS - 1)] = -1
    buckets.heads[first & (N_BUCKETS - 1)] = head
    return first


@kernel
def advance_by_cost_(
    budget: int,
    terrain: Terrain,
    offsets: NDArray[np.int64],
    search: Search,
    field: Field,
    buckets: Buckets,
    heap: Heap,
    touched: NDArray[np.int32],
    targets: NDArray[np.int64],
    cancel: NDArray[np.uint8],
    counters: NDArray[np.int64],
) -> int:
    """Close at most `budget` cells and return why it stopped.

    Invariant: a cell that is known and not closed stands in the bucket of its cost, or in the last
    of the window if its own lies beyond, or on the heap. Closed cells have their least cost: they
    are taken in the order of costs, or of buckets no wider than a step.
    """
    # What a step costs backwards under ENTERED is known when its first cell is taken.
    leaving = search.reverse and terrain.cost_model == ENTERED
    # A product of small costs can make the way round by this cell the cheaper one.
    parent_is_nearer = terrain.cost_model != PRODUCT
    expanded = counters[EXPANDED]
    last = expanded + budget
    bucket = counters[BUCKET]
    ordered = search.ordered or bucket >= LAST_EXACT_BUCKET
    slot = bucket & (N_BUCKETS - 1)
    free = counters[FREE_ENTRY]
    open_size = counters[OPEN_SIZE]
    heap_size = counters[HEAP_SIZE]
    n_touched = counters[TOUCHED]
    generated = counters[GENERATED]
    peak = counters[OPEN_PEAK]
    outcome = RUNNING
    while True:
        if buckets.heads[slot] < 0 and heap_size == 0:
            if targets_settled_(search, field, targets, counters, 0):
                outcome = SETTLED
                break
            if open_size == 0:
                outcome = EXHAUSTED
                break
            bucket = next_bucket_(search, field, buckets, bucket)
            ordered = search.ordered or bucket >= LAST_EXACT_BUCKET
            slot = bucket & (N_BUCKETS - 1)
        if (
            open_size + 9 > buckets.cells.size
            or heap_size + 9 > heap.costs.size
            or (search.record and n_touched + 8 > touched.size)
        ):
            outcome = FULL
            break
        if expanded >= last:
            break
        if expanded & (CANCEL_EVERY - 1) == 0 and cancel[0]:
            outcome = CANCELLED
            break
        entry = np.int64(buckets.heads[slot])
        if entry >= 0:
            cell = np.int64(buckets.cells[np.uint64(entry)])
            buckets.heads[slot] = buckets.following[np.uint64(entry)]
            buckets.following[np.uint64(entry)] = free
            free = entry
            open_size -= 1
            known = np.int64(field.state[np.uint64(cell)])
            if known & CLOSED:
                continue
            cost = field.costs[np.uint64(cell)]
            own = bucket_(search, cost)
            if own > bucket:
                free = put_(buckets, free, bucket, own, cell)
                open_size += 1
                continue
            if ordered:
                heap_size = push_(heap, heap_size, cost, cell)
                continue
        else:
            cell = np.int64(heap.cells[0])
            cost = heap.costs[0]
            heap_size = pop_(heap, heap_size)
            known = np.int64(field.state[np.uint64(cell)])
            if known & CLOSED:
                continue
        field.state[np.uint64(cell)] = known | CLOSED
        expanded += 1
        from_cost = cell_cost_(terrain, np.uint64(cell))
        moves = np.int64(terrain.masks[np.uint64(cell)])
        if parent_is_nearer:
            moves &= AHEAD[np.uint64(known)]
        while moves:
            direction = np.int64(trailing_zeros(moves))
            moves &= moves - 1
            to = cell + offsets[np.uint64(direction)]
            at = np.uint64(to)
            known = np.int64(field.state[at])
            if known & CLOSED:
                continue
            if leaving:
                step = from_cost
            else:
                step = cell_cost_(terrain, at)
                if terrain.cost_model == MEAN:
                    step = (from_cost + step) * 0.5
                elif terrain.cost_model == PRODUCT:
                    step = from_cost * step
            to_cost = cost + step * LENGTHS[np.uint64(direction)]
            if known != 0 and to_cost >= field.costs[at]:
                continue
            if to_cost > search.max_cost:
                continue
            own = bucket_(search, to_cost)
            if known == 0:
                if search.record:
                    touched[np.uint64(n_touched)] = to
                n_touched += 1
            if ordered and own == bucket:
                heap_size = push_(heap, heap_size, to_cost, to)
                generated += 1
            elif known == 0 or bucket_(search, field.costs[at]) != own:
                free = put_(buckets, free, bucket, own, to)
                open_size += 1
                generated += 1
            field.costs[at] = to_cost
            field.state[at] = direction + 1
        peak = max(peak, open_size + heap_size)
    counters[EXPANDED] = expanded
    counters[BUCKET] = bucket
    counters[FREE_ENTRY] = free
    counters[OPEN_SIZE] = open_size
    counters[HEAP_SIZE] = heap_size
    counters[TOUCHED] = n_touched
    counters[GENERATED] = generated
    counters[OPEN_PEAK] = peak
    return outcome


@kernel
def typical_step_(terrain: Terrain, stride: int) -> float:
    """Return the mean cost of a straight step from some cells to their like; 0 without any."""
    total = 0.0
    count = 0
    for cell in range(stride >> 1, terrain.masks.size, stride):
        if terrain.open_table[terrain.space[cell]]:
            cost = cell_cost_(terrain, cell)
            total += cost * cost if terrain.cost_model == PRODUCT else cost
            count += 1
    return total / count if count > 0 else 0.0
