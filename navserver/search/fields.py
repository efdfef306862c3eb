"""What wavefronts write and leave: labels of cells, and the ways that directions tell.

A label is the length or cost to the nearest source and the direction in which the cell was
reached. `even_wavefront` and `cost_wavefront` write them, distance maps and flow fields keep
them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver._jit import kernel, subkernel
from navserver.search.costs import SQRT2
from navserver.search.moves import DX, DY

__all__ = [
    "NO_DIRECTION",
    "Field",
    "Search",
    "count_back_",
    "count_steps_",
    "finish_",
    "finish_single_",
    "follow_",
    "forget_",
    "label_sources_",
    "read_",
    "targets_settled_",
    "trace_back_",
]

NO_DIRECTION = 255
"""Where a field has no direction: at its sources, and where it does not reach."""

# Lengths of `advance_evenly_`. The longest path has fewer than 2**26 steps and fits 63 bits.
UNIT = 1 << 36
DIAGONAL = round(SQRT2 * UNIT)

# State of a cell: 0 is unknown, else the direction it was reached in plus 1, or SOURCE.
SOURCE = 9
DIRECTION_BITS = 15
PENDING = 64
CLOSED = 128

CANCEL_EVERY = 1024

MOST_SINGLE = float(np.finfo(np.float32).max)

# Why a kernel returned.
RUNNING, EXHAUSTED, SETTLED, CANCELLED, FULL = range(5)

# Counters that a wavefront carries from slice to slice.
(
    EXPANDED, GENERATED, REOPENED, OPEN_PEAK, LABELLED, TOUCHED, TARGETS, OPEN_SIZE,
    CURRENT_LIST, CURRENT_SIZE, NEXT_SIZE, HORIZON, RUN, BUCKET_EXPANDED, BUCKET_LABELLED,
    BUCKET, FREE_ENTRY, HEAP_SIZE, N_COUNTERS,
) = range(19)  # fmt: skip


class Field(NamedTuple):
    """What a wavefront writes of each flat cell; lengths and costs are one memory."""

    lengths: NDArray[np.int64]
    costs: NDArray[np.float64]
    state: NDArray[np.uint8]


class Search(NamedTuple):
    """One wavefront, as its kernels see it."""

    reverse: bool
    stop_at_first: bool
    record: bool
    max_length: int
    max_cost: float
    per_bucket: float
    ordered: bool


@subkernel
def targets_settled_(
    search: Search,
    field: Field,
    targets: NDArray[np.int64],
    counters: NDArray[np.int64],
    horizon: int,
) -> bool:
    """Drop the targets whose costs are certain; return whether the search may stop."""
    left = 0
    n_before = counters[TARGETS]
    for i in range(n_before):
        cell = targets[i]
        known = field.state[cell]
        if horizon > 0:
            settled = known != 0 and field.lengths[cell] < horizon
        else:
            settled = (known & CLOSED) != 0
        if not settled:
            targets[i] = targets[left]
            targets[left] = cell
            left += 1
    counters[TARGETS] = left
    return n_before > 0 and (left == 0 or (search.stop_at_first and left < n_before))


@subkernel
def direction_of_(known: int, turn: int) -> int:
    """Return the direction that a state tells, turned by `turn` eighths."""
    code = known & DIRECTION_BITS
    return NO_DIRECTION if code in (0, SOURCE) else (code - 1 + turn) & 7


@kernel
def finish_(
    field: Field,
    unit: float,
    turn: int,
    costs: NDArray[np.float64],
    directions: NDArray[np.uint8],
) -> None:
    """Write costs and directions; both may be the field's own memory. Lengths where unit > 0."""
    if unit > 0.0:
        for cell in range(costs.size):
            costs[cell] = np.inf if field.state[cell] == 0 else field.lengths[cell] * unit
    else:
        for cell in range(costs.size):
            costs[cell] = np.inf if field.state[cell] == 0 else field.costs[cell]
    for cell in range(directions.size):
        directions[cell] = direction_of_(field.state[cell], turn)


@kernel
def finish_single_(
    field: Field,
    unit: float,
    turn: int,
    costs: NDArray[np.float32],
    directions: NDArray[np.uint8],
) -> None:
    """Write costs in single precision, and directions.

    The dearest cost that it has stands for dearer ones, since infinity says out of reach.
    """
    if unit > 0.0:
        for cell in range(costs.size):
            cost = min(field.lengths[cell] * unit, MOST_SINGLE)
            costs[cell] = np.inf if field.state[cell] == 0 else cost
    else:
        for cell in range(costs.size):
            cost = min(field.costs[cell], MOST_SINGLE)
            costs[cell] = np.inf if field.state[cell] == 0 else cost
    for cell in range(directions.size):
        directions[cell] = direction_of_(field.state[cell], turn)


@kernel
def read_(
    field: Field,
    unit: float,
    turn: int,
    cells: NDArray[np.int64],
    costs: NDArray[np.float64],
    directions: NDArray[np.uint8],
) -> None:
    """Write costs and directions of some cells, not necessarily certain ones."""
    for i in range(cells.size):
        known = field.state[cells[i]]
        if known == 0:
            costs[i] = np.inf
        elif unit > 0.0:
            costs[i] = field.lengths[cells[i]] * unit
        else:
            costs[i] = field.costs[cells[i]]
        directions[i] = direction_of_(known, turn)


@kernel
def count_back_(state: NDArray[np.uint8], offsets: NDArray[np.int64], cell: int) -> int:
    """Return how many cells lead from a source to a cell that has a label."""
    count = 1
    code = state[cell] & DIRECTION_BITS
    while code != SOURCE:
        cell -= offsets[code - 1]
        code = state[cell] & DIRECTION_BITS
        count += 1
    return count


@kernel
def trace_back_(
    state: NDArray[np.uint8], offsets: NDArray[np.int64], cell: int, path: NDArray[np.int64]
) -> None:
    """Write the cells that lead from a source to a cell that has a label."""
    for i in range(path.size - 1, -1, -1):
        path[i] = cell
        code = state[cell] & DIRECTION_BITS
        if code != SOURCE:
            cell -= offsets[code - 1]


@kernel
def forget_(field: Field, touched: NDArray[np.int32], count: int) -> None:
    """Make the cells that were touched unknown again."""
    for i in range(count):
        field.state[touched[i]] = 0


@kernel
def count_steps_(directions: NDArray[np.uint8], width: int, cell: int, sign: int) -> int:
    """Return how many steps lead from a flat cell along the directions, or against them."""
    steps = 0
    while directions[cell] != NO_DIRECTION:
        direction = directions[cell]
        cell += sign * (DY[direction] * width + DX[direction])
        steps += 1
    return steps


@kernel
def follow_(
    directions: NDArray[np.uint8], width: int, cell: int, sign: int, cells: NDArray[np.int64]
) -> None:
    """Write the cells passed, from the first on; against directions, the first comes last."""
    for i in range(cells.size):
        cells[i if sign > 0 else cells.size - 1 - i] = cell
        direction = directions[cell]
        if direction != NO_DIRECTION:
            cell += sign * (DY[direction] * width + DX[direction])


@kernel
def label_sources_(
    directions: NDArray[np.uint8],
    costs: NDArray[np.float64],
    width: int,
    sign: int,
    sources: NDArray[np.int64],
    start_costs: NDArray[np.float64],
    labels: NDArray[np.int32],
) -> None:
    """Write for each cell which source it was reached from, -1 for none.

    Invariant: a cell with a label has the label of the cell before it.
    """
    labels[:] = -1
    for i in range(sources.size):
        cell = sources[i]
        if directions[cell] != NO_DIRECTION or costs[cell] == np.inf:
            continue
        if labels[cell] < 0 or start_costs[i] < start_costs[labels[cell]]:
            labels[cell] = i
    for first in range(directions.size):
        if labels[first] >= 0 or directions[first] == NO_DIRECTION:
            continue
        cell = first
        while labels[cell] < 0:
            direction = directions[cell]
            cell += sign * (DY[direction] * width + DX[direction])
        label = labels[cell]
        cell = first
        while labels[cell] < 0:
            labels[cell] = label
            direction = directions[cell]
            cell += sign * (DY[direction] * width + DX[direction])
