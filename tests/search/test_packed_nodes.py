from __future__ import annotations

import math

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from navserver.search.engine import CANONICAL, LAST_STAMP
from navserver.search.grid import MAX_SIDE, Grid
from navserver.search.heuristics import Heuristic
from navserver.search.packed_nodes import (
    ARRIVAL_SHIFT,
    CELL_BITS,
    CLOSED_BIT,
    DIAGONAL,
    G_SHIFT,
    HAS_ARRIVAL,
    MAX_G,
    N_STACKS,
    RANK,
    STAMP_AT,
    STRAIGHT,
    estimate_,
    first_bucket_,
    push_stack_,
    row_division,
)
from tests import engines as eng

REQUESTS = {
    heuristic: eng.searcher(
        Grid.filled(2, 2), CANONICAL, heuristic=heuristic, inexact=True
    )._request
    for heuristic in (Heuristic.OCTILE, Heuristic.MANHATTAN, Heuristic.CHEBYSHEV, Heuristic.ZERO)
}


def node(stamp: int, g: int, arrival: int = 7, *, closed: bool = True) -> int:
    low = (arrival << ARRIVAL_SHIFT) | HAS_ARRIVAL | (CLOSED_BIT if closed else 0)
    return (stamp << STAMP_AT) | ((MAX_G - g) << G_SHIFT) | low


def test_a_rank_is_better_than_a_node_of_a_greater_g_alone() -> None:
    for stamp in (1, 2, LAST_STAMP):
        for g in (0, 1, STRAIGHT, MAX_G - 1):
            rank = node(stamp, g) & RANK
            assert rank > node(stamp, g + 1)
            # At the same g neither arrival nor closing makes it better or worse.
            for arrival in range(8):
                assert rank <= node(stamp, g, arrival, closed=False)
            # A step takes its cost off the rank.
            assert rank - (1 << G_SHIFT) == node(stamp, g + 1) & RANK


def test_any_node_of_a_later_search_is_better() -> None:
    assert node(2, MAX_G, 0, closed=False) & RANK > node(1, 0)
    assert node(1, MAX_G, 0, closed=False) & RANK > 0, "0 is a node that no search has seen"


def test_words_stay_within_64_signed_bits() -> None:
    assert node(LAST_STAMP, 0) < 2**63
    assert MAX_SIDE * MAX_SIDE <= 1 << CELL_BITS
    # f is g and an estimate of at most four times as much.
    assert 5 * MAX_G << CELL_BITS < 2**63


def test_the_ratio_of_the_steps_is_as_near_to_sqrt_2_as_stated() -> None:
    assert abs(DIAGONAL / STRAIGHT - math.sqrt(2)) < 1.1e-8
    assert DIAGONAL**2 - 2 * STRAIGHT**2 in (-1, 1), "it is no convergent"


def test_paths_are_ordered_rightly_unless_thousands_of_diagonals_apart() -> None:
    # The worst pairs of all are those that the convergents before this one tell apart.
    for p, q in [(1, 1), (3, 2), (7, 5), (17, 12), (41, 29), (99, 70), (239, 169), (577, 408)]:
        true = p - q * math.sqrt(2)
        counted = p * STRAIGHT - q * DIAGONAL
        assert (true > 0) == (counted > 0)


def test_a_stack_tells_in_time_that_it_is_full() -> None:
    # Past its end lies the next stack, so no check of bounds would show an overflow.
    capacity = 32
    stacks = np.zeros(N_STACKS * capacity, np.int64)
    heights = np.zeros(N_STACKS, np.int64)
    filled = np.uint64(0)
    is_full = False
    for height in range(1, capacity + 1):
        filled, is_full = push_stack_(stacks, heights, np.uint64(filled), 5, 7, height)
        assert (int(filled), heights[5]) == (1 << 5, height)
        assert is_full or height + 8 <= capacity, "an expansion may push eight more"
        assert not is_full or height + 10 > capacity, "it tells too early"
    assert is_full
    assert np.count_nonzero(stacks) == capacity
    assert np.count_nonzero(stacks[5 * capacity : 6 * capacity]) == capacity


def test_an_entry_lies_where_its_bucket_says() -> None:
    stacks = np.zeros(N_STACKS * 16, np.int64)
    heights = np.zeros(N_STACKS, np.int64)
    filled = np.uint64(0)
    for bucket in (3, 3 + N_STACKS * 5, 63, 64):
        slot = bucket % N_STACKS
        f, cell = bucket * 1000, (1 << CELL_BITS) - 1
        before = int(heights[slot])
        filled, _ = push_stack_(stacks, heights, np.uint64(filled), bucket, f, cell)
        assert int(stacks[slot * 16 + before]) == f << CELL_BITS | cell
        assert int(filled) >> slot & 1
    assert (heights[3], heights[63], heights[0]) == (2, 1, 1)
    assert int(filled) == 1 << 3 | 1 << 63 | 1


@given(st.sets(st.integers(0, N_STACKS - 1), min_size=1), st.integers(0, 10**9))
def test_the_first_bucket_is_the_next_filled_one_in_the_circle(
    slots: set[int], bucket: int
) -> None:
    filled = np.uint64(sum(1 << slot for slot in slots))
    expected = next(b for b in range(bucket, bucket + N_STACKS) if b % N_STACKS in slots)
    assert first_bucket_(filled, bucket) == expected


@given(st.integers(1, 1 << CELL_BITS), st.integers(0, (1 << CELL_BITS) - 1))
@example(1, (1 << CELL_BITS) - 1)
@example(1 << CELL_BITS, (1 << CELL_BITS) - 1)
def test_rows_are_found_without_a_division(width: int, cell: int) -> None:
    factor, shift = row_division(width)
    for near in {cell, cell // width * width, max(cell // width * width - 1, 0)}:
        assert near * factor < 1 << 63
        assert (near * factor) >> shift == near // width


@given(st.integers(-8191, 8191), st.integers(-8191, 8191))
def test_the_estimate_is_that_of_the_heuristic(dx: int, dy: int) -> None:
    straight = max(abs(dx), abs(dy)) - min(abs(dx), abs(dy))
    octile = straight * STRAIGHT + min(abs(dx), abs(dy)) * DIAGONAL
    for heuristic, expected in [
        (Heuristic.OCTILE, octile),
        (Heuristic.MANHATTAN, (abs(dx) + abs(dy)) * STRAIGHT),
        (Heuristic.CHEBYSHEV, max(abs(dx), abs(dy)) * STRAIGHT),
        (Heuristic.ZERO, 0),
    ]:
        assert estimate_(REQUESTS[heuristic], dx, dy) == expected
