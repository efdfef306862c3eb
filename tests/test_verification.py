from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.maps.builtin import load_builtin
from navserver.maps.movingai import Scenario
from navserver.search.astar import find_path
from navserver.search.grid import SOLID, CostModel, DiagonalMode, Grid, Profile
from navserver.search.results import PathResult, ResultRow
from navserver.status import Detail, Status
from navserver.verification import PathVerifier, find_mismatch
from tests.strategies import settings  # noqa: F401 - importing it loads the suite's profile

GRID = Grid(
    [[0, 0, 0, 0], [0, SOLID, 0, 2], [0, 0, 0, 0]],
    cell_scale=[[1, 1, 1, 1], [1, 1, 4, 1], [1, 1, 1, 1]],
    layers={"mud": [[0, 0, 2, 0], [0, 0, 0, 0], [0, 0, 0, 0]]},
    region_position=(-1, 10),
)


def fault(path: list[tuple[int, int]], cost: float = 0.0, **options: Any) -> str | None:
    return PathVerifier(GRID, **options).find_fault(path, (-1, 10), path[-1], cost)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ([(0, 10), (1, 10)], "the path starts at (0, 10), not at (-1, 10)"),
        ([(-1, 10), (0, 11), (1, 11)], "segment 1 from (-1, 10) to (0, 11) enters a wall"),
        ([(-1, 10), (-2, 10)], "segment 1 from (-1, 10) to (-2, 10) leaves the map"),
        ([(-1, 10), (-1, 9)], "segment 1 from (-1, 10) to (-1, 9) leaves the map"),
        (
            [(-1, 10), (0, 10), (2, 10)],
            "segment 2 from (0, 10) to (2, 10) is not a step to a neighbour",
        ),
        (
            [(-1, 10), (-1, 10), (0, 10)],
            "segment 1 from (-1, 10) to (-1, 10) is not a step to a neighbour",
        ),
        ([(-1, 10), (0, 10), (1, 11)], "segment 2 from (0, 10) to (1, 11) cuts a corner"),
    ],
)
def test_first_bad_segment_is_named(path: list[tuple[int, int]], message: str) -> None:
    assert fault(path) == message


CORNER = [(-1, 10), (0, 10), (1, 11)]


@pytest.mark.parametrize(
    ("mode", "problem"),
    [
        (DiagonalMode.ALWAYS, None),
        (DiagonalMode.AT_LEAST_ONE_WALKABLE, None),
        (DiagonalMode.ONLY_IF_NO_OBSTACLES, "cuts a corner"),
        (DiagonalMode.NEVER, "is diagonal"),
    ],
)
def test_diagonal_modes(mode: DiagonalMode, problem: str | None) -> None:
    found = fault(CORNER, 1 + 4 * math.sqrt(2), diagonal_mode=mode)
    assert found == (None if problem is None else f"segment 2 from (0, 10) to (1, 11) {problem}")


def test_between_two_walls_only_always_passes() -> None:
    grid = Grid([[0, SOLID], [SOLID, 0]])
    path = [(0, 0), (1, 1)]
    for mode in DiagonalMode:
        found = PathVerifier(grid, diagonal_mode=mode).find_fault(path, *path, math.sqrt(2))
        assert (found is None) == (mode == DiagonalMode.ALWAYS)


def test_start_in_a_wall_and_wrong_goal() -> None:
    verifier = PathVerifier(GRID)
    assert (
        verifier.find_fault([(0, 11)], (0, 11), (0, 11), 0)
        == "the first cell (0, 11) enters a wall"
    )
    assert verifier.find_fault([(0, 10)], (0, 10), (1, 10), 0) == (
        "the path ends at (0, 10), not at (1, 10)"
    )
    assert verifier.find_fault([], (0, 10), (1, 10), 0) == "the path has no cells"


STRAIGHT = [(-1, 10), (0, 10), (1, 10), (1, 11), (2, 11)]


@pytest.mark.parametrize(
    ("options", "cost"),
    [
        ({}, 1 + 1 + 4 + 1),
        ({"profile": Profile({2: 7})}, 1 + 1 + 4 + 7),
        ({"overlays": {"mud": 0.5}}, 1 + 2 + 4 + 1),
        ({"cost_model": CostModel.MEAN}, 1 + 1 + 2.5 + 2.5),
        ({"cost_model": CostModel.PRODUCT}, 1 + 1 + 4 + 4),
    ],
)
def test_cost_is_summed_anew(options: dict[str, Any], cost: float) -> None:
    assert fault(STRAIGHT, cost, **options) is None
    found = fault(STRAIGHT, cost * 1.001, **options)
    assert found is not None
    assert found.startswith(f"the steps cost {cost:.9g} together, not ")


@given(
    name=st.sampled_from(("rooms", "obstacles", "countryside")),
    seed=st.integers(0, 50),
    mode=st.sampled_from(DiagonalMode),
    model=st.sampled_from(CostModel),
    data=st.data(),
)
def test_found_paths_pass_and_broken_ones_do_not(
    name: str, seed: int, mode: DiagonalMode, model: CostModel, data: st.DataObject
) -> None:
    scene = load_builtin(name, width=24, height=20, seed=seed)
    options: Any = {
        "profile": Profile(scene.class_costs), "diagonal_mode": mode, "cost_model": model,
    }  # fmt: skip
    result = find_path(scene.grid, scene.start, scene.goal, **options)
    verifier = PathVerifier(scene.grid, **options)
    assert verifier.find_fault(result.cells, scene.start, scene.goal, result.cost) is None
    removed = data.draw(st.integers(0, len(result.cells) - 1))
    broken = np.delete(result.cells, removed, axis=0)
    assert verifier.find_fault(broken, scene.start, scene.goal, result.cost) is not None


def scenario(length: float, decimals: int) -> Scenario:
    return Scenario(0, "a.map", 4, 3, (0, 0), (3, 0), length, decimals, 1)


def result_of(cost: float, status: Status = Status.FOUND) -> PathResult:
    cells = np.array([[0, 0], [1, 0], [2, 0], [3, 0]], np.int32)
    return PathResult(
        ResultRow(status, Detail.NONE, (0, 0), (3, 0), cells, cost, cost, 1.0, 4, 4, 0, 4, 1)
    )


@pytest.mark.parametrize(
    ("length", "decimals", "matches"),
    [
        (3.0, 0, True),
        (3.0109, 2, True),
        (2.9891, 7, True),
        (3.0111, 2, False),
        (2.9889, 5, False),
        (3.0002, 8, True),
        (2.9998, 8, True),
        (3.0004, 8, False),
        (2.9996, 9, False),
    ],
)
def test_allowed_differences(length: float, decimals: int, matches: bool) -> None:
    verifier = PathVerifier(Grid.filled(4, 3))
    found = find_mismatch(scenario(length, decimals), result_of(3.0), verifier)
    assert (found is None) == matches
    if found is not None:
        assert found == f"length 3, the file says {length:.9g}"


def test_bad_path_or_none_is_a_mismatch() -> None:
    verifier = PathVerifier(Grid([[0, SOLID, 0, 0]]))
    assert find_mismatch(scenario(3.0, 2), result_of(3.0), verifier) == (
        "segment 1 from (0, 0) to (1, 0) enters a wall"
    )
    result = result_of(math.inf, Status.UNREACHABLE)
    assert find_mismatch(scenario(3.0, 2), result, verifier) == "unreachable, the file says 3"
