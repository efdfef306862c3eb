"""The wavefront where every cell costs the same: lengths in integers, along canonical paths.

A straight run of cells is labelled in one loop, ahead of what is certain; a cell whose label
falls after that is taken again. How far runs may go ahead follows from how often that happens.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from navserver._jit import kernel, trailing_zeros
from navserver.search.fields import (
    BUCKET_EXPANDED,
    BUCKET_LABELLED,
    CANCEL_EVERY,
    CANCELLED,
    CURRENT_LIST,
    CURRENT_SIZE,
    DIAGONAL,
    DIRECTION_BITS,
    EXHAUSTED,
    EXPANDED,
    FULL,
    GENERATED,
    HORIZON,
    LABELLED,
    NEXT_SIZE,
    OPEN_PEAK,
    PENDING,
    REOPENED,
    RUN,
    RUNNING,
    SETTLED,
    SOURCE,
    TOUCHED,
    UNIT,
    Field,
    Search,
    targets_settled_,
)

__all__ = ["MOST_RUN", "advance_evenly_", "seed_evenly_"]

# Cells that a straight run may go beyond what is certain: least and most.
LEAST_RUN = 2
MOST_RUN = 16


@kernel
def seed_evenly_(
    sources: NDArray[np.int64],
    field: Field,
    entries: NDArray[np.int32],
    touched: NDArray[np.int32],
    counters: NDArray[np.int64],
) -> None:
    """Put the sources, all at length 0, on the current list; the caller has made sure of room."""
    counters[:] = 0
    counters[RUN] = 2 * LEAST_RUN
    counters[HORIZON] = counters[RUN] * UNIT
    size = 0
    for cell in sources:
        if field.state[cell] == 0:
            field.state[cell] = SOURCE | PENDING
            field.lengths[cell] = 0
            entries[0, size] = cell
            if touched.size > 0:
                touched[size] = cell
            size += 1
    counters[CURRENT_SIZE] = size
    counters[LABELLED] = size
    counters[TOUCHED] = size
    counters[GENERATED] = size
    counters[OPEN_PEAK] = size


@kernel
def advance_evenly_(
    budget: int,
    masks: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    successors: NDArray[np.uint8],
    four: bool,
    search: Search,
    field: Field,
    entries: NDArray[np.int32],
    touched: NDArray[np.int32],
    targets: NDArray[np.int64],
    cancel: NDArray[np.uint8],
    counters: NDArray[np.int64],
) -> int:
    """Go on for about `budget` cells where all cost the same; return why it stopped.

    Invariant: a cell whose label is not yet passed on carries PENDING and stands on one list: on
    the current one if its length is below the horizon, else on the next. When the current list
    is empty, every label below the horizon is the least one.
    """
    # Indices are made unsigned, which spares the check whether they count from the end.
    lane = counters[CURRENT_LIST]
    current_size = counters[CURRENT_SIZE]
    next_size = counters[NEXT_SIZE]
    horizon = counters[HORIZON]
    run = counters[RUN]
    expanded = counters[EXPANDED]
    labelled = counters[LABELLED]
    generated = counters[GENERATED]
    n_touched = counters[TOUCHED]
    peak = counters[OPEN_PEAK]
    current = entries[lane]
    following = entries[1 - lane]
    capacity = current.size
    last = expanded + budget
    next_check = expanded
    outcome = RUNNING
    while True:
        if current_size == 0:
            if targets_settled_(search, field, targets, counters, horizon):
                outcome = SETTLED
                break
            if next_size == 0:
                outcome = EXHAUSTED
                break
            # Corrections tell how far runs may go ahead of what is certain.
            cells = expanded - counters[BUCKET_EXPANDED]
            fresh = labelled - counters[BUCKET_LABELLED]
            if 16 * cells > 17 * fresh:
                run = max(run >> 1, LEAST_RUN)
            elif 80 * cells < 81 * fresh:
                run = min(run << 1, MOST_RUN)
            counters[BUCKET_EXPANDED] = expanded
            counters[BUCKET_LABELLED] = labelled
            horizon += run * UNIT
            lane = 1 - lane
            current = entries[lane]
            following = entries[1 - lane]
            current_size = next_size
            next_size = 0
        if current_size + 8 > capacity or next_size + 8 > capacity:
            outcome = FULL
            break
        if search.record and n_touched + 8 * MOST_RUN + 8 > touched.size:
            outcome = FULL
            break
        if expanded >= last:
            break
        if expanded >= next_check:
            next_check = expanded + CANCEL_EVERY
            if cancel[0]:
                outcome = CANCELLED
                break
        current_size -= 1
        cell = np.int64(current[np.uint64(current_size)])
        known = np.int64(field.state[np.uint64(cell)])
        if not known & PENDING:
            continue
        known &= DIRECTION_BITS
        field.state[np.uint64(cell)] = known
        expanded += 1
        length = field.lengths[np.uint64(cell)]
        cell_moves = np.int64(masks[np.uint64(cell)])
        key = cell_moves
        if four and known != SOURCE:
            key = np.int64(masks[np.uint64(cell - offsets[np.uint64(known - 1)])])
        moves = cell_moves & successors[np.uint64(((known - 1) << 8) + key)]
        while moves:
            direction = np.int64(trailing_zeros(moves))
            moves &= moves - 1
            offset = offsets[np.uint64(direction)]
            to = cell + offset
            if direction & 1:
                at = np.uint64(to)
                to_length = length + DIAGONAL
                known = np.int64(field.state[at])
                if known == 0:
                    if to_length > search.max_length:
                        continue
                    labelled += 1
                    if search.record:
                        touched[np.uint64(n_touched)] = to
                        n_touched += 1
                elif to_length >= field.lengths[at]:
                    continue
                if to_length < horizon:
                    if not known & PENDING or field.lengths[at] >= horizon:
                        current[np.uint64(current_size)] = to
                        current_size += 1
                        generated += 1
                elif not known & PENDING:
                    following[np.uint64(next_size)] = to
                    next_size += 1
                    generated += 1
                field.lengths[at] = to_length
                field.state[at] = (direction + 1) | PENDING
                continue
            to_length = length + UNIT
            row = direction << 8
            only = np.int64(1) << direction
            before = cell_moves
            while True:
                at = np.uint64(to)
                known = np.int64(field.state[at])
                if known == 0:
                    if to_length > search.max_length:
                        break
                    labelled += 1
                    if search.record:
                        touched[np.uint64(n_touched)] = to
                        n_touched += 1
                elif to_length >= field.lengths[at]:
                    break
                if to_length >= horizon:
                    if not known & PENDING:
                        following[np.uint64(next_size)] = to
                        next_size += 1
                        generated += 1
                    field.lengths[at] = to_length
                    field.state[at] = (direction + 1) | PENDING
                    break
                to_moves = np.int64(masks[at])
                key = before if four else to_moves
                before = to_moves
                onward = to_moves & successors[np.uint64(row + key)]
                if onward & ~only:
                    if not known & PENDING or field.lengths[at] >= horizon:
                        current[np.uint64(current_size)] = to
                        current_size += 1
                        generated += 1
                    field.lengths[at] = to_length
                    field.state[at] = (direction + 1) | PENDING
                    break
                field.lengths[at] = to_length
                field.state[at] = direction + 1
                expanded += 1
                if onward == 0:
                    break
                to += offset
                to_length += UNIT
        peak = max(peak, current_size + next_size)
    counters[CURRENT_LIST] = lane
    counters[CURRENT_SIZE] = current_size
    counters[NEXT_SIZE] = next_size
    counters[HORIZON] = horizon
    counters[RUN] = run
    counters[EXPANDED] = expanded
    counters[LABELLED] = labelled
    counters[GENERATED] = generated
    counters[REOPENED] = max(expanded + current_size + next_size - labelled, 0)
    counters[TOUCHED] = n_touched
    counters[OPEN_PEAK] = peak
    return outcome
