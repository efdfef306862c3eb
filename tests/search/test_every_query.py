"""What every query refuses in the same words."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from navserver.search.astar import AStar, find_path
from navserver.search.batch import find_paths
from navserver.search.clearance import distance_to_wall, fits
from navserver.search.distance_map import distance_map
from navserver.search.flow_field import FlowField, FlowFieldBuild, FlowFields
from navserver.search.grid import Grid
from navserver.search.islands import connected, island_labels
from navserver.search.line_of_sight import line_of_sight, raycast, raycasts
from navserver.search.many import OneToMany, cost_matrix, nearest_goal, reachable
from navserver.search.nearest import nearest_reachable, nearest_walkable, random_reachable
from navserver.search.nodes import CancelFlag
from navserver.search.openings import what_opens
from navserver.search.smoothing import pull_string, round_path
from navserver.status import InputError, KeywordError

GRID = Grid.filled(4, 3)
CELL, CELLS = (0, 0), [(0, 0), (1, 0)]
QUERIES: dict[str, Callable[..., Any]] = {
    "find_path": lambda grid, **more: find_path(grid, CELL, CELL, **more),
    "find_paths": lambda grid, **more: find_paths(grid, CELLS, CELL, threads=1, **more),
    "connected": lambda grid, **more: connected(grid, CELL, CELL, **more),
    "island_labels": island_labels,
    "nearest_walkable": lambda grid, **more: nearest_walkable(grid, CELL, **more),
    "nearest_reachable": lambda grid, **more: nearest_reachable(grid, CELL, CELL, **more),
    "random_reachable": lambda grid, **more: random_reachable(grid, CELL, seed=1, **more),
    "what_opens": lambda grid, **more: what_opens(grid, CELL, CELL, **more),
    "fits": lambda grid, **more: fits(grid, CELL, **more),
    "distance_to_wall": distance_to_wall,
    "line_of_sight": lambda grid, **more: line_of_sight(grid, CELL, CELL, **more),
    "raycast": lambda grid, **more: raycast(grid, CELL, CELL, **more),
    "raycasts": lambda grid, **more: raycasts(grid, CELLS, CELLS, **more),
    "reachable": lambda grid, **more: reachable(grid, CELL, 1.0, **more),
    "nearest_goal": lambda grid, **more: nearest_goal(grid, CELL, CELLS, **more),
    "cost_matrix": lambda grid, **more: cost_matrix(grid, CELLS, CELLS, **more),
    "distance_map": lambda grid, **more: distance_map(grid, CELLS, **more),
    "FlowField": lambda grid, **more: FlowField(grid, CELLS, **more),
    "FlowFieldBuild": lambda grid, **more: FlowFieldBuild(grid, CELLS, **more),
    "pull_strings": lambda grid, **more: pull_string(grid, CELLS, **more),
    "round_paths": lambda grid, **more: round_path(grid, CELLS, **more),
    "AStar": AStar,
    "OneToMany": OneToMany,
}


@pytest.mark.parametrize("name", QUERIES)
def test_every_query_refuses_what_is_no_grid_and_no_keyword(name: str) -> None:
    ask = QUERIES[name]
    ask(GRID)
    for grid in (GRID.classes, None, "arena.map", Grid):
        with pytest.raises(InputError, match=r"^grid: .* is not a Grid; make one of the map"):
            ask(grid)
    with pytest.raises(
        KeywordError, match=rf"^diagonal: 1 .* that {name} .*; did you mean diagonal_mode\?"
    ):
        ask(GRID, diagonal=1)
    with pytest.raises(KeywordError, match=r"^zzz: .*; use .*profile"):
        ask(GRID, zzz=None)


@pytest.mark.parametrize(
    "name",
    [
        "find_path", "reachable", "nearest_goal", "cost_matrix", "distance_map", "FlowField",
    ],
)  # fmt: skip
def test_every_query_refuses_what_is_no_flag(name: str) -> None:
    QUERIES[name](GRID, cancel=CancelFlag())
    for flag in (True, "now", threading.Event()):
        with pytest.raises(InputError, match=r"^cancel: .* is not a CancelFlag; make one"):
            QUERIES[name](GRID, cancel=flag)


def test_fields_of_what_is_no_grid() -> None:
    with pytest.raises(InputError, match=r"^grid: .* is not a Grid"):
        FlowFields(GRID.classes)  # type: ignore[arg-type]
