"""Narrow places: found as the definitions say, and the same from each of their cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from navserver.movers.narrows import (
    WIDEST,
    is_passage_,
    line_at_,
    narrow_at_,
    trace_passage_,
)
from navserver.movers.sight import ground_of
from navserver.search.grid import Grid
from navserver.search.movement import Movement

Cell = tuple[int, int]
STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))


def passage_cells(free: set[Cell]) -> set[Cell]:
    """Open cells in no open square of four, with at most two open straight neighbours."""
    found = set()
    for x, y in free:
        squares = [
            {(x + i, y + j) for i in (0, dx) for j in (0, dy)} for dx in (-1, 1) for dy in (-1, 1)
        ]
        ways = sum((x + dx, y + dy) in free for dx, dy in STEPS)
        if not any(square <= free for square in squares) and ways <= 2:
            found.add((x, y))
    return found


@given(st.integers(0, 10_000), st.integers(1, 9), st.integers(1, 9), st.sampled_from((0.3, 0.5)))
def test_passages_are_chains_and_all_of_one_tell_the_same_course(
    seed: int, width: int, height: int, density: float
) -> None:
    blocked = np.random.default_rng(seed).random((height, width)) < density
    free = {(int(x), int(y)) for y, x in np.argwhere(~blocked)}
    assume(free)
    ground = ground_of(Grid.from_blocked(blocked), Movement())
    expected = passage_cells(free)
    assert {cell for cell in free if is_passage_(ground, cell[1] * width + cell[0])} == expected
    for x, y in expected:
        passage, dx, dy = trace_passage_(ground, y * width + x)
        ahead = [(x + i, y + j) for i, j in STEPS if (x + i, y + j) in free]
        assert (dx, dy) != (0, 0) or not ahead
        chain = {(x, y)}
        while True:
            more = {(a + i, b + j) for a, b in chain for i, j in STEPS} & expected
            if more <= chain:
                break
            chain |= more
        ends = [c for c in chain if sum((c[0] + i, c[1] + j) in chain for i, j in STEPS) < 2]
        if ends:
            assert passage == min(b * width + a for a, b in ends)


def run_of(free: set[Cell], cell: Cell, dx: int, dy: int) -> list[Cell]:
    """The open cells in a row with a cell, in order."""
    x, y = cell
    while (x - dx, y - dy) in free:
        x, y = x - dx, y - dy
    run = []
    while (x, y) in free:
        run.append((x, y))
        x, y = x + dx, y + dy
    return run


@given(st.integers(0, 10_000), st.integers(1, 9), st.integers(1, 9), st.sampled_from((0.3, 0.5)))
def test_lines_are_the_shorter_of_the_open_runs_through_a_cell(
    seed: int, width: int, height: int, density: float
) -> None:
    blocked = np.random.default_rng(seed).random((height, width)) < density
    free = {(int(x), int(y)) for y, x in np.argwhere(~blocked)}
    assume(free)
    ground = ground_of(Grid.from_blocked(blocked), Movement())
    for x, y in free:
        line = line_at_(ground, y * width + x)
        down, across = run_of(free, (x, y), 0, 1), run_of(free, (x, y), 1, 0)
        expected = (-1, 0, 0)
        if len(down) < min(len(across), WIDEST + 1) and len(down) >= 2:
            expected = (0, down[0][1] * width + down[0][0], len(down))
        elif len(across) < min(len(down), WIDEST + 1) and len(across) >= 2:
            expected = (1, across[0][1] * width + across[0][0], len(across))
        assert (line[0], line[1] if line[0] >= 0 else 0, line[2]) == expected


@pytest.mark.parametrize("turned", [False, True])
def test_a_wide_corridor_is_one_passage_with_one_middle_line(turned: bool) -> None:
    blocked = np.zeros((9, 20), bool)
    blocked[:, 5:12] = True
    blocked[3:5, 5:12] = False
    if turned:
        blocked = blocked.T.copy()
    ground = ground_of(Grid.from_blocked(blocked), Movement())
    found = set()
    for x in range(5, 12):
        for y in (3, 4):
            column, row = (y, x) if turned else (x, y)
            narrow = narrow_at_(ground, row * ground.width + column)
            found.add(narrow.passage)
            assert narrow.width == 2
            assert (narrow.dx, narrow.dy) == ((0, 1) if turned else (1, 0))
            middle = (narrow.middle_y, narrow.middle_x) if turned else narrow[4:]
            assert middle == (x, 3.5)
    lower = 5 * ground.width + 3 if turned else 3 * ground.width + 5
    assert found == {2 * lower + turned}


def test_open_ground_is_no_passage() -> None:
    ground = ground_of(Grid.filled(9, 9), Movement())
    assert {narrow_at_(ground, cell).passage for cell in range(81)} == {-1}
