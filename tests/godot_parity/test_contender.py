"""The benchmarks' Godot contender: it must solve the problem that it is timed on."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.contenders.godot import GodotCase, run_godot
from navserver.search.astar import AStar
from navserver.search.grid import SOLID, Grid

RANDOM = np.random.Generator(np.random.PCG64(5))
BLOCKED = RANDOM.random((30, 40)) < 0.25
BLOCKED[0, 0] = BLOCKED[0, 39] = False
BLOCKED[29, 0] = True
WEIGHTS = RANDOM.integers(1, 6, BLOCKED.shape).astype(np.float32)
CORNERS = [(0, 0), (39, 0), (0, 29)]
QUERIES = np.array([[*start, *goal] for start in CORNERS for goal in CORNERS], np.int32)


@pytest.mark.godot
@pytest.mark.parametrize("jumping", [False, True])
def test_it_answers_as_navserver(godot: Path, jumping: bool) -> None:
    cases = [GodotCase("plain", BLOCKED, QUERIES), GodotCase("one", BLOCKED, QUERIES[:1])]
    if not jumping:
        cases.append(GodotCase("weighted", BLOCKED, QUERIES, WEIGHTS))
    times = run_godot(godot, cases, jumping, runs=2)
    assert [row.name for row in times] == [case.name for case in cases]
    for case, row in zip(cases, times, strict=True):
        grid = Grid(np.where(BLOCKED, SOLID, 0).astype(np.uint8), cell_scale=case.weights)
        search = AStar(grid)
        results = [search.find_path((a, b), (c, d)) for a, b, c, d in case.queries.tolist()]
        np.testing.assert_allclose(row.costs, [result.cost for result in results], rtol=1e-5)
        assert np.all(row.microseconds > 0.0)
        found = [result.found for result in results]
        assert ((row.lengths > 0) == found).all()
        if case.weights is None:
            # Where steps cost 1 and sqrt 2, an equal cost means as many steps of either kind.
            lengths = [len(result.cells) for result in results]
            assert row.lengths.tolist() == lengths
    assert math.isinf(times[0].costs[2])


@pytest.mark.parametrize(
    ("case", "jumping", "runs", "problem"),
    [
        (GodotCase("map", BLOCKED, QUERIES, WEIGHTS), True, 1, "map: jumping ignores weights"),
        (GodotCase("map", BLOCKED, QUERIES, WEIGHTS[1:]), False, 1, "map: weights of shape"),
        (GodotCase("map", BLOCKED, QUERIES + 1), False, 1, "map: a query lies outside"),
        (GodotCase("map", BLOCKED, QUERIES - 1), False, 1, "map: a query lies outside"),
        (GodotCase("map", BLOCKED, QUERIES[0]), False, 1, "map: queries of shape"),
        (GodotCase("map", BLOCKED, QUERIES), False, 0, "0 runs"),
    ],
)
def test_a_case_that_cannot_be_timed_is_refused(
    case: GodotCase, jumping: bool, runs: int, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        run_godot("never started", [case], jumping, runs=runs)
