"""The pruning table against its definition: local shortest paths in 3 x 3 cells."""

from __future__ import annotations

import heapq
import itertools

import numpy as np
import pytest

from navserver.search.canonical import canonical_successors
from navserver.search.moves import DX, DY, DiagonalMode
from tests import reference as ref
from tests.reference import Cell

CENTRE = (0, 0)
AROUND = [(x, y) for x, y in itertools.product((-1, 0, 1), repeat=2) if (x, y) != CENTRE]


def ways_round(open_cells: set[Cell], start: Cell, mode: int) -> dict[Cell, tuple[float, bool]]:
    """Least length to each cell without passing the centre, and whether a diagonal comes first.

    The centre still counts as open: it may stand beside a diagonal step.
    """
    best: dict[Cell, tuple[float, bool]] = {}
    heap: list[tuple[float, bool, Cell]] = [(0.0, True, start)]
    while heap:
        length, straight_first, cell = heapq.heappop(heap)
        if cell in best:
            continue
        best[cell] = (length, not straight_first)
        for to in ref.neighbours(open_cells, cell, mode):
            if to == CENTRE or to in best:
                continue
            step = ref.step_length(cell, to)
            first = (step == 1.0) if cell == start else straight_first
            heapq.heappush(heap, (length + step, first, to))
    return best


@pytest.mark.parametrize("mode", list(DiagonalMode))
def test_a_move_is_left_out_where_another_way_is_shorter_or_more_canonical(
    mode: DiagonalMode,
) -> None:
    table = canonical_successors(mode)
    for bits in range(256):
        open_cells = {CENTRE} | {cell for i, cell in enumerate(AROUND) if bits >> i & 1}
        moves = sum(
            1 << d for d in range(8) if ref.move_allowed(open_cells, CENTRE, (DX[d], DY[d]), mode)
        )
        assert table[8, moves] & moves == moves
        for arrival in range(8):
            parent = (-DX[arrival], -DY[arrival])
            if not ref.move_allowed(open_cells, parent, CENTRE, mode):
                continue
            key = moves
            if mode == DiagonalMode.NEVER:
                key = sum(
                    1 << d
                    for d in range(0, 8, 2)
                    if (parent[0] + DX[d], parent[1] + DY[d]) in open_cells
                )
            round_about = ways_round(open_cells, parent, mode)
            expected = 0
            for direction in range(8):
                to = (DX[direction], DY[direction])
                if not moves >> direction & 1 or to == parent:
                    continue
                length = ref.step_length(parent, CENTRE) + ref.step_length(CENTRE, to)
                other, other_is_canonical = round_about.get(to, (np.inf, False))
                if mode == DiagonalMode.NEVER:
                    # Vertical steps come first. What lies beside the far end of a vertical
                    # step is out of the parent's sight, so no move is left out there.
                    other_is_canonical = to[1] != 0
                    if arrival in (2, 6):
                        other = np.inf
                else:
                    other_is_canonical &= not arrival & 1
                if other > length + 1e-9 or (other > length - 1e-9 and not other_is_canonical):
                    expected |= 1 << direction
            assert table[arrival, key] & moves == expected, (
                f"arrival {arrival}, open {sorted(open_cells)}: "
                f"{table[arrival, key] & moves:08b}, expected {expected:08b}"
            )
