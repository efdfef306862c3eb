"""Room for searches, grown when full."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from navserver.search.astar import AStar
from navserver.search.grid import DiagonalMode, Grid
from navserver.search.heuristics import Heuristic
from tests import engines as eng
from tests.engines import assert_same, each_engine, each_mode


@each_engine
@each_mode
def test_open_lists_grow_from_room_for_one_expansion(engine: int, mode: DiagonalMode) -> None:
    random = np.random.default_rng(mode)
    blocked = random.random((50, 50)) < 0.05
    blocked[0, 0] = blocked[-1, -1] = False
    grid = Grid.from_blocked(blocked)
    for options in ({"heuristic": Heuristic.ZERO}, {"weight": 1.5}, {}):
        keywords: dict[str, Any] = {**options, "diagonal_mode": mode}
        roomy = eng.find(grid, engine, (25, 25), (49, 49), **keywords)
        with eng.forced(engine), eng.tiny_open_lists():
            search = AStar(grid, **keywords)
            search.prepare()
            sizes = [eng.open_list_size(search)]
            result = search.find_path((25, 25), (49, 49))
            sizes.append(eng.open_list_size(search))
            sliced = eng.slices_of(search, itertools.repeat(1), (25, 25), (49, 49))
        assert sizes[0] == eng.LEAST_CAPACITY
        if options.get("heuristic") == Heuristic.ZERO:
            assert sizes[1] > sizes[0], "the map is too small to need growth"
        assert_same(result, roomy)
        assert_same(sliced, roomy)
