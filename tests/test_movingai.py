"""Optimal lengths of the MovingAI scenarios: uniform cost, no corner cut."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from navserver.maps.movingai import Scenario, load_movingai, load_scenarios
from navserver.search.astar import AStar
from navserver.search.grid import SOLID, DiagonalMode, Grid
from navserver.search.heuristics import Heuristic
from tests import reference as ref

# Dijkstra looks at whole maps, so it takes fewer.
DIJKSTRA_STEP = 8


def sampled(movingai: Path, every: int) -> Iterator[tuple[Path, Grid, list[Scenario]]]:
    """Each scenario file with its map and every N-th of its scenarios, the last included."""
    files = sorted((movingai / "scens").glob("*.scen"))
    assert files, f"no scenarios in {movingai}"
    for file in files:
        scenarios = load_scenarios(file)
        grid = load_movingai(movingai / "maps" / Path(scenarios[0].map_name).name)
        chosen = scenarios[::every]
        if chosen[-1] is not scenarios[-1]:
            chosen.append(scenarios[-1])
        yield file, grid, chosen


class FreeCells:
    """The cells of a map that are no wall."""

    def __init__(self, grid: Grid) -> None:
        self._free = grid.classes != SOLID

    def __contains__(self, cell: object) -> bool:
        x, y = cell  # type: ignore[misc]
        height, width = self._free.shape
        return bool(0 <= x < width and 0 <= y < height and self._free[y, x])


def mismatches(file: Path, grid: Grid, search: AStar, scenarios: list[Scenario]) -> list[str]:
    """Say what is wrong, by the oracle's rules and the file's number."""
    found = []
    free = FreeCells(grid)
    for scenario in scenarios:
        where = f"{file.name}:{scenario.line}"
        assert (scenario.width, scenario.height) == (grid.width, grid.height), where
        result = search.find_path(scenario.start, scenario.goal)
        cells = ref.as_cells(result.cells)
        try:
            assert result.found, result.status.name
            assert (cells[0], cells[-1]) == (scenario.start, scenario.goal), "wrong ends"
            for a, b in pairwise(cells):
                legal = ref.move_allowed(free, a, b, DiagonalMode.ONLY_IF_NO_OBSTACLES)
                assert legal, f"step from {a} to {b}"
            length = sum(ref.step_length(a, b) for a, b in pairwise(cells))
            assert result.cost == pytest.approx(length, rel=1e-9, abs=1e-9)
            optimum = scenario.optimal_length
            allowed = 1e-4 * optimum if scenario.decimals >= 8 else 0.011
            assert abs(length - optimum) <= allowed, f"length {length}, optimum {optimum}"
        except AssertionError as failure:
            found.append(f"{where}: {str(failure).splitlines()[0]}")
    return found


@pytest.mark.slow
def test_astar_finds_the_optimal_lengths(movingai: Path, every: int) -> None:
    wrong: list[str] = []
    count = 0
    for file, grid, scenarios in sampled(movingai, every):
        wrong += mismatches(file, grid, AStar(grid), scenarios)
        count += len(scenarios)
    assert count > 0
    assert not wrong, f"{len(wrong)} of {count}: " + "; ".join(wrong[:5])


@pytest.mark.slow
def test_dijkstra_finds_the_optimal_lengths(movingai: Path, every: int) -> None:
    wrong: list[str] = []
    count = 0
    for file, grid, scenarios in sampled(movingai, every * DIJKSTRA_STEP):
        search = AStar(grid, heuristic=Heuristic.ZERO)
        wrong += mismatches(file, grid, search, scenarios)
        count += len(scenarios)
    assert count > 0
    assert not wrong, f"{len(wrong)} of {count}: " + "; ".join(wrong[:5])
