from __future__ import annotations

import numpy as np
import pytest

from navserver.search.fields import (
    CLOSED,
    NO_DIRECTION,
    PENDING,
    SOURCE,
    Field,
    count_back_,
    count_steps_,
    finish_,
    finish_single_,
    follow_,
    forget_,
    label_sources_,
    read_,
    trace_back_,
)
from navserver.search.moves import DX, DY

WIDTH = 3
# Around the border of 3 x 3 cells, clockwise from the top left; the middle is not reached.
RING = [0, 1, 2, 5, 8, 7, 6]
STEPS = [0, 0, 2, 2, 4, 4]
OFFSETS = np.array(DY, np.int64) * WIDTH + np.array(DX, np.int64)


def ring_field() -> Field:
    lengths = np.zeros(9, np.int64)
    state = np.zeros(9, np.uint8)
    state[0] = SOURCE | CLOSED
    for i, (cell, step) in enumerate(zip(RING[1:], STEPS, strict=True)):
        lengths[cell] = i + 1
        state[cell] = (step + 1) | (PENDING if i % 2 else CLOSED)
    return Field(lengths, lengths.view(np.float64), state)


@pytest.mark.parametrize(("turn", "sign"), [(0, -1), (4, 1)])
def test_directions_lead_along_the_ring(turn: int, sign: int) -> None:
    field = ring_field()
    costs = np.empty(9)
    single = np.empty(9, np.float32)
    directions = np.empty(9, np.uint8)
    again = np.empty(9, np.uint8)
    finish_(field, 0.5, turn, costs, directions)
    finish_single_(field, 0.5, turn, single, again)
    np.testing.assert_array_equal(directions, again)
    np.testing.assert_array_equal(costs, single)
    assert [costs[cell] for cell in RING] == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    assert np.isinf(costs[[3, 4]]).all()
    assert (directions[[0, 3, 4]] == NO_DIRECTION).all()
    for i, cell in enumerate(RING):
        assert count_steps_(directions, WIDTH, cell, sign) == i
        cells = np.empty(i + 1, np.int64)
        follow_(directions, WIDTH, cell, sign, cells)
        assert cells.tolist() == (RING[: i + 1] if sign < 0 else RING[i::-1])
    labels = np.empty(9, np.int32)
    label_sources_(directions, costs, WIDTH, sign, np.array([4, 0]), np.array([0.0, 0.0]), labels)
    assert [int(labels[cell]) for cell in [*RING, 3, 4]] == [1] * 7 + [-1, -1]


def test_costs_finish_in_their_own_memory() -> None:
    lengths = np.array([3, 0, 7], np.int64)
    state = np.array([1, SOURCE, 0], np.uint8)
    field = Field(lengths, lengths.view(np.float64), state)
    finish_(field, 2.0, 0, field.costs, field.state)
    assert field.costs.tolist() == [6.0, 0.0, np.inf]
    assert field.state.tolist() == [0, NO_DIRECTION, NO_DIRECTION]


def test_labels_are_read_traced_and_forgotten() -> None:
    field = ring_field()
    cells = np.array([6, 0, 4])
    costs, directions = np.empty(3), np.empty(3, np.uint8)
    read_(field, 1.0, 0, cells, costs, directions)
    assert costs.tolist() == [6.0, 0.0, np.inf]
    assert directions.tolist() == [4, NO_DIRECTION, NO_DIRECTION]
    path = np.empty(count_back_(field.state, OFFSETS, 6), np.int64)
    trace_back_(field.state, OFFSETS, 6, path)
    assert path.tolist() == RING
    forget_(field, np.array([1, 2, 8, 8], np.int32), 3)
    assert np.flatnonzero(field.state).tolist() == [0, 5, 6, 7]
