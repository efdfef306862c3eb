"""The query of ``navserver path``: from the command line or a case file to its result."""

from __future__ import annotations

import argparse
import math
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.commands.arguments import UsageError
from navserver.commands.movement import MOVEMENT_ARGUMENTS, chosen_cell, read_scene
from navserver.maps.case import Case
from navserver.search.astar import find_path
from navserver.search.clearance import fits
from navserver.search.flow_field import FlowField, FlowFieldBuild
from navserver.search.grid import Grid
from navserver.search.heuristics import Heuristic
from navserver.search.movement import MovementOptions
from navserver.search.nodes import SearchTrace
from navserver.search.results import PathResult, ResultRow
from navserver.search.smoothing import pull_string, round_path, simplify_path
from navserver.status import Detail, Status
from navserver.verification import PathVerifier

__all__ = [
    "FLOW",
    "PathOutcome",
    "PathQuery",
    "Smoothed",
    "answer_query",
    "query_of_arguments",
    "query_of_case",
]

FLOW = "flow"
"""The algorithm that follows a flow field."""


# Where the parsed arguments keep what a case file states too.
_OF_THE_SEARCH = {
    "heuristic": "--heuristic",
    "inexact": "--inexact",
    "weight": "--weight",
    "max_expansions": "--max-expansions",
    "max_cost": "--max-cost",
    "allow_partial": "--allow-partial",
}
_OF_THE_CASE = {
    "start": "--from",
    "goal": "--to",
    "algorithm": "--algorithm",
    **_OF_THE_SEARCH,
    **MOVEMENT_ARGUMENTS,
}
_BODY = ("size", "radius")
_MOVEMENT_OPTIONS = frozenset(MovementOptions.__annotations__)


class PathQuery(NamedTuple):
    """All that one search needs."""

    grid: Grid
    """The map."""
    start: tuple[int, int]
    """Start cell (x, y)."""
    goal: tuple[int, int]
    """Goal cell (x, y)."""
    flows: bool
    """Whether the path is to follow a flow field."""
    options: dict[str, Any]
    """Keywords of `find_path`."""
    blocked_cells: Any
    """Cells that count as walls."""
    ignored_cells: Any
    """Cells that count as walkable."""

    @property
    def movement(self) -> dict[str, Any]:
        """Those of the options that state the movement."""
        return {name: self.options[name] for name in _MOVEMENT_OPTIONS & self.options.keys()}


class Smoothed(NamedTuple):
    """What a path was smoothed to."""

    method: str
    """As ``--smooth`` names it."""
    points: NDArray[Any]
    """Shape (n, 2), in cells; whole cells but for curves."""
    turns: NDArray[np.int32]
    """The cells of the path that stay."""

    @property
    def length(self) -> float:
        """Length of the line in cells."""
        return float(np.hypot(*np.diff(self.points, axis=0).T).sum())


class PathOutcome(NamedTuple):
    """What a query came to."""

    query: PathQuery
    """What was asked."""
    result: PathResult
    """The path, or why there is none."""
    search_us: float
    """Microseconds of the search, or of building the field, alone."""
    field: FlowField | None
    """What the path follows, where it follows one."""
    smoothed: Smoothed | None
    """The path smoothed, where it was asked for."""


def answer_query(query: PathQuery, smooth: str, trace: SearchTrace | None) -> PathOutcome:
    """Search, or follow a flow field, and smooth the path.

    Parameters
    ----------
    query : PathQuery
        What is asked.
    smooth : str
        ``none``, ``simplify``, ``string`` or ``curve``.
    trace : SearchTrace or None
        Takes what the search expands.

    Returns
    -------
    PathOutcome
        A `Status` says whether there is a path.
    """
    field = None
    if query.flows:
        result, field, search_us = _follow_field(query)
    else:
        result, search_us = _search_path(query, trace)
    return PathOutcome(query, result, search_us, field, _smooth_result(query, smooth, result))


def query_of_case(case: Case, arguments: argparse.Namespace) -> PathQuery:
    """Return the query that a case file keeps.

    Parameters
    ----------
    case : Case
        The file.
    arguments : Namespace
        Must state no query, but may name the map.

    Returns
    -------
    PathQuery
        On the map of the case.

    Raises
    ------
    UsageError
        If the command line states what the case does.
    MapFileError
        If the map is not there, or another one.
    """
    given = [
        option for name, option in _OF_THE_CASE.items() if getattr(arguments, name) is not None
    ]
    if given:
        raise UsageError(f"--case brings its own query and options; leave out {', '.join(given)}")
    return PathQuery(
        case.resolve_map(arguments.map),
        case.start,
        case.goal,
        False,
        dict(case.options),
        case.blocked_cells,
        case.ignored_cells,
    )


def query_of_arguments(arguments: argparse.Namespace) -> PathQuery:
    """Return the query that the command line states.

    Parameters
    ----------
    arguments : Namespace
        As `navserver.commands.path.add_to` states them.

    Returns
    -------
    PathQuery
        On the map that is named.

    Raises
    ------
    UsageError
        If options do not go together, or a cell is missing.
    MapFileError
        If the map cannot be read.
    """
    if arguments.map is None:
        raise UsageError("MAP is missing; name a map file, builtin:rooms, or --case FILE")
    flows = arguments.algorithm == FLOW
    for name, option in _OF_THE_SEARCH.items():
        if flows and getattr(arguments, name) is not None:
            raise UsageError(f"{option} does not go with --algorithm flow; leave out one of them")
    if arguments.algorithm == "dijkstra" and arguments.weight is not None:
        raise UsageError("--weight does not go with --algorithm dijkstra; leave out one of them")
    scene = read_scene(arguments)
    start = chosen_cell(arguments.start, scene.start, "--from")
    goal = chosen_cell(arguments.goal, scene.goal, "--to")
    options: dict[str, Any] = dict(scene.movement)
    if arguments.heuristic is not None:
        options["heuristic"] = Heuristic[arguments.heuristic.upper()]
    for name in ("algorithm", *_OF_THE_SEARCH):
        if name != "heuristic" and not flows and getattr(arguments, name) is not None:
            options[name] = getattr(arguments, name)
    return PathQuery(scene.grid, start, goal, flows, options, None, None)


def _search_path(query: PathQuery, trace: SearchTrace | None) -> tuple[PathResult, float]:
    """Return the result and the microseconds of the search alone."""

    def search(trace: SearchTrace | None, **limits: Any) -> PathResult:
        return find_path(
            query.grid,
            query.start,
            query.goal,
            blocked_cells=query.blocked_cells,
            ignored_cells=query.ignored_cells,
            trace=trace,
            **{**query.options, **limits},
        )

    # Kernels and what is derived from the map are made ready outside the time.
    search(None if trace is None else SearchTrace(1), max_expansions=1, allow_partial=True)
    began = time.perf_counter_ns()
    result = search(trace)
    return result, (time.perf_counter_ns() - began) / 1000.0


def _follow_field(query: PathQuery) -> tuple[PathResult, FlowField | None, float]:
    """Return the path along a flow field, the field, and the microseconds to build it."""
    grid, movement = query.grid, query.movement
    for cell, name in ((query.start, "start"), (query.goal, "goal")):
        grid.flat_index(cell, name)
    status, field, microseconds = Status.FOUND, None, 0.0
    cells = np.empty((0, 2), np.int32)
    cost = length = math.inf
    if not fits(grid, query.start, **movement):
        status = Status.START_BLOCKED
    elif not fits(grid, query.goal, **movement):
        status = Status.GOAL_BLOCKED
    else:
        # Kernels and what is derived from the map are made ready outside the time.
        build = FlowFieldBuild(grid, [query.goal], **movement)
        build.advance(1)
        began = time.perf_counter_ns()
        field = FlowField(grid, [query.goal], **movement)
        microseconds = (time.perf_counter_ns() - began) / 1000.0
        cells = field.path_from(query.start)
        if len(cells):
            priced = {name: value for name, value in movement.items() if name not in _BODY}
            cost = PathVerifier(grid, **priced).sum_costs(cells)
            length = float(np.hypot(*np.diff(cells, axis=0).T).sum())
        else:
            status = Status.UNREACHABLE
    row = ResultRow(
        status=status,
        detail=Detail.UNREACHABLE if status == Status.UNREACHABLE else Detail.NONE,
        start=query.start,
        goal=query.goal,
        cells=cells,
        cost=cost,
        length=length,
        suboptimality=1.0,
        expanded=0,
        generated=0,
        reopened=0,
        open_peak=0,
        map_version=grid.version,
    )
    return PathResult(row), field, microseconds


def _smooth_result(query: PathQuery, method: str, result: PathResult) -> Smoothed | None:
    if method == "none" or len(result.cells) == 0:
        return None
    if method == "simplify":
        turns = simplify_path(result.cells)
        return Smoothed(method, turns, turns)
    seen = {
        "blocked_cells": query.blocked_cells,
        "ignored_cells": query.ignored_cells,
        **query.movement,
    }
    turns = pull_string(query.grid, result.cells, **seen)
    if method == "string":
        return Smoothed(method, turns, turns)
    return Smoothed(method, round_path(query.grid, turns, **seen), turns)
