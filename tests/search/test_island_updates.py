"""Labels under edits."""

from __future__ import annotations

import numpy as np
import pytest

from navserver.search.grid import Grid
from navserver.search.island_labeling import CONNECTED, UNSURE
from navserver.search.island_updates import ring_table
from navserver.search.islands import (
    Reach,
    islands_of,
)
from navserver.search.moves import DX, DY
from tests import reference as ref
from tests.reference_islands import EIGHT, FOUR, numbers_are, scipy_labels


@pytest.mark.parametrize("eight", [False, True])
def test_a_ring_falls_into_its_parts(eight: bool) -> None:
    """All 256 rings: the parts that a cell's closing may leave, counted by a flood."""
    around = list(zip(DX, DY, strict=True))
    mode = ref.ALWAYS if eight else ref.NEVER
    table = ring_table(eight)
    for ring in range(256):
        free = {around[d] for d in range(8) if ring >> d & 1}
        labels = ref.components(free, mode)
        beside = {cell for cell in free if eight or 0 in cell}
        assert table[ring] == len({labels[cell] for cell in beside})


@pytest.mark.slow
@pytest.mark.parametrize("eight", [False, True])
@pytest.mark.parametrize("density", [0.02, 0.35, 0.42, 0.6])
def test_many_edits_of_a_larger_map(eight: bool, density: float) -> None:
    random = np.random.default_rng([int(100 * density), eight])
    blocked = random.random((120, 150)) < density
    grid = Grid.from_blocked(blocked)
    islands = islands_of(grid, EIGHT if eight else FOUR)
    told = {Reach.SEPARATE: 0, Reach.CONNECTED: 0, Reach.UNSURE: 0}
    for step in range(150):
        n_cells = int(random.integers(1, 40))
        cells = random.integers(0, [150, 120], (n_cells, 2))
        grid.set_cells(cells, random.choice([0, 255], n_cells, p=[1 - density, density]))
        if step % 10 == 0:
            x, y = random.integers(0, [140, 110])
            grid.set_rectangle((int(x), int(y)), (10, 1), 255)
        truth = scipy_labels(~grid.blocked(), eight)
        flat = truth.reshape(-1)
        for _ in range(10):
            start, goal = (int(cell) for cell in random.integers(0, flat.size, 2))
            answer = islands.may_reach(start, goal, int(random.choice([0, 10, 1000])))
            told[answer] += 1
            if answer != UNSURE:
                assert (answer == CONNECTED) == (flat[start] != 0 and flat[start] == flat[goal])
        if step % 7 == 0:
            numbers_are(islands.labels(), truth)
    assert islands is islands_of(grid, EIGHT if eight else FOUR), "it was built anew"
    assert told[Reach.SEPARATE] > 0
    if density < 0.5:
        assert told[Reach.CONNECTED] > 0
