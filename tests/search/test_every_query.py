"""Every query: its answers after edits are those of a map made anew, and what it refuses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.astar import AStar, find_path
from navserver.search.batch import find_paths
from navserver.search.clearance import distance_to_wall, fits
from navserver.search.distance_map import distance_map
from navserver.search.flow_field import FlowField, FlowFieldBuild, FlowFields
from navserver.search.grid import CostModel, DiagonalMode, Grid, Profile
from navserver.search.islands import connected, island_labels
from navserver.search.line_of_sight import line_of_sight, raycast, raycasts
from navserver.search.many import OneToMany, cost_matrix, nearest_goal, reachable
from navserver.search.nearest import nearest_reachable, nearest_walkable, random_reachable
from navserver.search.nodes import CancelFlag
from navserver.search.openings import what_opens
from navserver.search.smoothing import pull_string, round_path
from navserver.status import InputError, KeywordError
from tests import strategies as my
from tests.reference import Cell

BODIES = [{}, {}, {"size": 2}, {"size": 3}, {"radius": 1.0}, {"radius": 0.5}]


class Queries:
    """All that can be asked of one grid, by one movement, with what callers keep."""

    def __init__(self, grid: Grid, movement: dict[str, Any]) -> None:
        self.grid = grid
        self.movement = movement
        self.astar = AStar(grid, islands=True, **movement)
        self.many = OneToMany(grid, **movement)
        self.fields = FlowFields(grid)

    def answers(self, cells: list[Cell]) -> Mapping[str, Any]:
        """What each query says of some cells; an error counts as its text."""
        grid, movement = self.grid, self.movement
        first, last = cells[0], cells[-1]
        points = np.array(cells, np.float64)
        sighted = {name: value for name, value in movement.items() if name != "overlays"}
        questions: dict[str, Callable[[], Any]] = {
            "path": lambda: self.astar.find_path(first, last).cells,
            "cost": lambda: self.astar.find_path(first, last).cost,
            "connected": lambda: connected(grid, first, cells, **movement),
            "islands": lambda: island_labels(grid, **movement),
            "walkable": lambda: nearest_walkable(grid, first, **movement),
            "nearest": lambda: nearest_reachable(grid, first, last, **movement),
            "random": lambda: random_reachable(grid, first, seed=3, count=5, **movement),
            "fits": lambda: fits(grid, cells, **movement),
            "walls": lambda: distance_to_wall(grid, cells, profile=movement["profile"]),
            "opens": lambda: what_opens(grid, first, last, **sighted),
            "sight": lambda: line_of_sight(grid, first, cells, **movement),
            "rays": lambda: raycasts(grid, points, points[::-1], **movement).points,
            "reachable": lambda: self.many.reachable(first, 4.0).cells,
            "costs": lambda: self.many.reachable(first, 4.0).costs,
            "goal": lambda: self.many.nearest_goal(first, cells[1:] or cells).index,
            "matrix": lambda: self.many.cost_matrix(cells, cells),
            "map": lambda: distance_map(grid, [first], **movement).costs,
            "field": lambda: FlowField(grid, [last], **movement).sample(points),
            "kept": lambda: self.fields.get([last], **movement).costs,
            "string": lambda: pull_string(grid, self._path(first, last), **movement),
            "curve": lambda: round_path(grid, self._path(first, last), **movement),
        }
        return {name: _answer(question) for name, question in questions.items()}

    def _path(self, first: Cell, last: Cell) -> Any:
        return self.astar.find_path(first, last).cells


def _answer(question: Callable[[], Any]) -> Any:
    try:
        answer = question()
    except InputError as error:
        return str(error)
    return answer.tolist() if isinstance(answer, np.ndarray) else answer


@given(st.data())
def test_queries_after_edits_equal_those_of_a_map_made_anew(data: st.DataObject) -> None:
    model = data.draw(my.models(10))
    grid = my.grid_of(model)
    profile = Profile(data.draw(my.cost_mappings()))
    movement: dict[str, Any] = {
        "profile": profile,
        "diagonal_mode": data.draw(st.sampled_from(DiagonalMode)),
        "cost_model": data.draw(st.sampled_from(CostModel)),
        **data.draw(st.sampled_from(BODIES)),
    }
    overlays = data.draw(my.overlays_for(model))
    if overlays:
        movement["overlays"] = overlays
    cells = data.draw(st.lists(my.cells(model), min_size=1, max_size=4))
    # Little room, so that what is derived is dropped now and then.
    grid.derived.max_bytes = data.draw(st.sampled_from([1, 4 * grid.size, 1 << 30]))
    kept = Queries(grid, movement)
    kept.answers(cells)
    for _ in range(data.draw(st.integers(1, 3))):
        edit = data.draw(my.edits(model))
        edit.apply_to_model(model)
        edit.apply_to_grid(grid)
        assert kept.answers(cells) == Queries(my.grid_of(model), movement).answers(cells)


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
