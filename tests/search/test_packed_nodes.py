from __future__ import annotations

import math

import numpy as np

from navserver.search.engine import LAST_STAMP
from navserver.search.grid import MAX_SIDE
from navserver.search.packed_nodes import (
    ARRIVAL_SHIFT,
    BELOW_G,
    CELL_BITS,
    CLOSED_BIT,
    DIAGONAL,
    G_SHIFT,
    HAS_ARRIVAL,
    MAX_G,
    N_STACKS,
    STAMP_AT,
    STRAIGHT,
    push_stack_,
)


def node(stamp: int, g: int, arrival: int = 7, *, closed: bool = True) -> int:
    low = (arrival << ARRIVAL_SHIFT) | HAS_ARRIVAL | (CLOSED_BIT if closed else 0)
    return (stamp << STAMP_AT) | ((MAX_G - g) << G_SHIFT) | low


def test_a_better_node_is_the_larger_word() -> None:
    for stamp in (1, 2, LAST_STAMP):
        for g in (0, 1, STRAIGHT, MAX_G - 1):
            assert node(stamp, g, 0, closed=False) > node(stamp, g + 1) | BELOW_G
            # At the same g neither arrival nor closing makes it better.
            assert node(stamp, g) <= node(stamp, g, 0, closed=False) | BELOW_G


def test_any_node_of_a_later_search_is_better() -> None:
    assert node(2, MAX_G, 0, closed=False) > node(1, 0) | BELOW_G
    assert node(1, MAX_G, 0, closed=False) > 0 | BELOW_G, "0 is a node that no search has seen"


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
    occupied = np.zeros(1, np.uint64)
    is_full = False
    for height in range(1, capacity + 1):
        is_full = push_stack_(stacks, heights, occupied, 5, 7, height)
        assert heights[5] == height
        assert is_full or height + 8 <= capacity, "an expansion may push eight more"
    assert is_full
    assert np.count_nonzero(stacks) == capacity
    assert np.count_nonzero(stacks[5 * capacity : 6 * capacity]) == capacity
