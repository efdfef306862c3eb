"""``navserver path``: one search on one map."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.commands.arguments import (
    UsageError,
    as_cell,
    as_name,
    as_number,
    as_positive,
    choices_of,
    finite,
)
from navserver.commands.movement import (
    MAPS_HELP,
    MOVEMENT_ARGUMENTS,
    add_enum,
    add_movement,
    body_offset,
    chosen_cell,
    read_scene,
    wants_color,
)
from navserver.maps.case import Case, load_case, save_case
from navserver.maps.loading import BUILTIN_PREFIX
from navserver.render import draw_text, fits_terminal, save_picture
from navserver.search.astar import ALGORITHMS, find_path
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

__all__ = ["add_to", "run"]

NO_PATH = 1

MOST_DRAWN = 2**22
"""Expansions that a picture shows; 32 bytes each while it is drawn."""

FLOW = "flow"
SMOOTHINGS = ("none", "simplify", "string", "curve")

_EXAMPLES = f"""\
examples:
  navserver path builtin:rooms
  navserver path arena.map --from 1,11 --to 47,46 --size 2 --smooth string
  navserver path island.png --from=3,4 --to 60,12 --cost-model mean --png path.png
  navserver path field.txt --from 0,0 --to 9,9 --class-cost 1=2.5 2=inf --json
  navserver path builtin:countryside --algorithm flow --png field.png
  navserver path arena.map --from 1,11 --to 47,46 --save-case slow.json
  navserver path --case slow.json

{MAPS_HELP}

exit codes: 0 found, 1 no path to the goal, or not the result that the case recorded,
2 bad input."""

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


class _Query(NamedTuple):
    """All that one search needs."""

    grid: Grid
    start: tuple[int, int]
    goal: tuple[int, int]
    flows: bool
    """Whether the path is to follow a flow field."""
    options: dict[str, Any]
    """Keywords of `find_path`."""
    blocked_cells: Any
    ignored_cells: Any

    @property
    def movement(self) -> dict[str, Any]:
        """Those of the options that state the movement."""
        return {name: self.options[name] for name in _MOVEMENT_OPTIONS & self.options.keys()}


class _Smoothed(NamedTuple):
    """What a path was smoothed to."""

    method: str
    points: NDArray[Any]
    """Shape (n, 2), in cells; whole cells but for curves."""
    turns: NDArray[np.int32]
    """The cells of the path that stay."""

    @property
    def length(self) -> float:
        """Length of the line in cells."""
        return float(np.hypot(*np.diff(self.points, axis=0).T).sum())


def add_to(commands: Any) -> None:
    """State the command's arguments.

    Parameters
    ----------
    commands : argparse subparsers
        Where the command is added.
    """
    parser = commands.add_parser(
        "path",
        help="find a path on a map and draw it",
        description="Find the cheapest path between two cells of a map.",
        epilog=_EXAMPLES,
    )
    parser.set_defaults(run=run)
    parser.add_argument("map", nargs="?", metavar="MAP", help="map file, or builtin:NAME")
    parser.add_argument("--from", dest="start", type=as_cell, metavar="X,Y", help="start cell")
    parser.add_argument("--to", dest="goal", type=as_cell, metavar="X,Y", help="goal cell")
    search = parser.add_argument_group("search")
    algorithms = (*ALGORITHMS, FLOW)
    search.add_argument(
        "--algorithm",
        type=as_name(algorithms),
        metavar=choices_of(algorithms),
        help="default astar; flow follows a flow field that is built from the goal",
    )
    add_enum(
        search,
        "--heuristic",
        Heuristic,
        "estimate of the remaining cost; default octile, or manhattan under never",
    )
    search.add_argument(
        "--inexact",
        action="store_true",
        default=None,
        help="accept a heuristic that overestimates: the path may not be the cheapest",
    )
    search.add_argument(
        "--weight",
        type=as_number,
        metavar="W",
        help="factor >= 1 on the estimate: faster, and at most W times the cheapest cost",
    )
    search.add_argument(
        "--max-expansions", type=as_positive, metavar="N", help="give up after N expanded cells"
    )
    search.add_argument(
        "--max-cost", type=as_number, metavar="C", help="look no further than cost C"
    )
    search.add_argument(
        "--allow-partial",
        action="store_true",
        default=None,
        help="where the goal is not reached, show the path to the nearest cell that is",
    )
    add_movement(parser)
    output = parser.add_argument_group("files and output")
    output.add_argument(
        "--smooth",
        type=as_name(SMOOTHINGS),
        default="none",
        metavar=choices_of(SMOOTHINGS),
        help="leave out cells where the path goes straight on, pull it straight where that is "
        "free and costs no more, or round it after that; default none",
    )
    output.add_argument("--png", metavar="FILE", help="draw map, search and path as a picture")
    output.add_argument(
        "--case", metavar="FILE", help="replay the query of a case file and compare the result"
    )
    output.add_argument("--save-case", metavar="FILE", help="keep map, query and result to replay")
    output.add_argument("--json", action="store_true", help="print one JSON object instead")


def run(arguments: argparse.Namespace) -> int:
    """Search, print and draw.

    Parameters
    ----------
    arguments : Namespace
        As `add_to` states them.

    Returns
    -------
    int
        0 if the goal was reached and a replayed case gave its result, else 1.
    """
    case = None if arguments.case is None else load_case(arguments.case)
    query = _query_of_arguments(arguments) if case is None else _query_of_case(case, arguments)
    if query.flows and arguments.save_case is not None:
        raise UsageError(
            f"--save-case keeps queries of {' and '.join(ALGORITHMS)}; leave out it or "
            "--algorithm flow"
        )
    grid = query.grid
    draws_text = not arguments.json and fits_terminal(grid)
    trace = None
    if not query.flows and (draws_text or arguments.png is not None):
        # Twice the cells, since a reopened one is expanded again.
        trace = SearchTrace(min(2 * grid.size, MOST_DRAWN))
    field = None
    if query.flows:
        result, field, search_us = _follow_field(query)
    else:
        result, search_us = _search(query, trace)
    smoothed = _smooth(query, arguments.smooth, result)
    explored = None if trace is None else trace.cells
    if arguments.save_case is not None:
        _save(arguments, query, result)
    picture = None
    if arguments.png is not None:
        picture = save_picture(
            arguments.png,
            grid,
            path=result.cells,
            line=None if smoothed is None else smoothed.points,
            explored=explored,
            shades=None if field is None else field.costs,
            directions=None if field is None else field.directions,
            start=result.start,
            goal=result.goal,
            profile=query.options["profile"],
            overlays=query.options.get("overlays"),
            offset=body_offset(query.options),
        )
    difference = None if case is None else case.difference(result.status, result.cost)
    if arguments.json:
        content = _as_object(query, result, search_us, field)
        if smoothed is not None:
            content["smoothed"] = {
                "method": smoothed.method,
                "length": smoothed.length,
                "points": smoothed.points.tolist(),
            }
        if case is not None and case.status is not None:
            content["recorded"] = {
                "status": case.status.name.lower(),
                "cost": finite(math.inf if case.cost is None else case.cost),
                "matches": difference is None,
            }
        print(json.dumps(content))
    else:
        _print_summary(query, result, search_us, field)
        if smoothed is not None:
            print(
                f"smoothed    {smoothed.method}: length {smoothed.length:.9g}, "
                f"{len(smoothed.points)} points"
            )
        if case is not None:
            _print_comparison(case, difference)
        if arguments.save_case is not None:
            print(f"case        {arguments.save_case}")
        if picture is not None:
            part = ""
            if trace is not None and trace.truncated:
                part = f", the first {trace.count} expansions"
            print(f"picture     {arguments.png} ({picture[0]} x {picture[1]} pixels{part})")
        if draws_text:
            print()
            print(
                draw_text(
                    grid,
                    path=result.cells,
                    explored=explored,
                    marks=None if smoothed is None else smoothed.turns,
                    start=result.start,
                    goal=result.goal,
                    profile=query.options["profile"],
                    color=wants_color(),
                )
            )
        elif picture is None:
            print(
                f"The map of {grid.width} x {grid.height} cells does not fit this terminal; "
                "--png FILE draws it."
            )
    if difference is not None:
        print(f"navserver: {case.path if case else ''}: {difference}", file=sys.stderr)
    return 0 if result.found and difference is None else NO_PATH


def _query_of_case(case: Case, arguments: argparse.Namespace) -> _Query:
    given = [
        option for name, option in _OF_THE_CASE.items() if getattr(arguments, name) is not None
    ]
    if given:
        raise UsageError(f"--case brings its own query and options; leave out {', '.join(given)}")
    return _Query(
        case.resolve_map(arguments.map),
        case.start,
        case.goal,
        False,
        dict(case.options),
        case.blocked_cells,
        case.ignored_cells,
    )


def _query_of_arguments(arguments: argparse.Namespace) -> _Query:
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
    return _Query(scene.grid, start, goal, flows, options, None, None)


def _search(query: _Query, trace: SearchTrace | None) -> tuple[PathResult, float]:
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


def _follow_field(query: _Query) -> tuple[PathResult, FlowField | None, float]:
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


def _smooth(query: _Query, method: str, result: PathResult) -> _Smoothed | None:
    if method == "none" or len(result.cells) == 0:
        return None
    if method == "simplify":
        turns = simplify_path(result.cells)
        return _Smoothed(method, turns, turns)
    seen = {
        "blocked_cells": query.blocked_cells,
        "ignored_cells": query.ignored_cells,
        **query.movement,
    }
    turns = pull_string(query.grid, result.cells, **seen)
    if method == "string":
        return _Smoothed(method, turns, turns)
    return _Smoothed(method, round_path(query.grid, turns, **seen), turns)


def _save(arguments: argparse.Namespace, query: _Query, result: PathResult) -> None:
    is_file = arguments.map is not None and not arguments.map.startswith(BUILTIN_PREFIX)
    save_case(
        arguments.save_case,
        query.grid,
        query.start,
        query.goal,
        blocked_cells=query.blocked_cells,
        ignored_cells=query.ignored_cells,
        options=query.options,
        result=result,
        map_file=arguments.map if is_file else None,
    )


def _detail_names(detail: Detail) -> list[str]:
    return [bit.name.lower() for bit in Detail if bit and bit in detail and bit.name]


def _as_object(
    query: _Query, result: PathResult, search_us: float, field: FlowField | None
) -> dict[str, Any]:
    """Return the result for JSON; what is infinite there is null."""
    metrics = {name: int(value) for name, value in result.metrics._asdict().items()}
    content: dict[str, Any] = {
        "status": result.status.name.lower(),
        "detail": _detail_names(result.detail),
        "found": result.found,
        "start": list(result.start),
        "goal": list(result.goal),
        "cost": finite(result.cost),
        "length": finite(result.length),
        "suboptimality": finite(result.suboptimality),
        "cells": np.asarray(result.cells).tolist(),
        "metrics": None if query.flows else metrics,
        "search_us": round(search_us, 1),
        "map": {
            "width": query.grid.width,
            "height": query.grid.height,
            "hash": query.grid.map_hash(),
        },
    }
    if field is not None:
        content["field"] = {
            "reached": int(np.isfinite(field.costs).sum()),
            "bytes": field.nbytes,
        }
    return content


def _print_summary(
    query: _Query, result: PathResult, search_us: float, field: FlowField | None
) -> None:
    status = result.status.name.lower()
    details = [name for name in _detail_names(result.detail) if name != status]
    why = f" ({', '.join(details)})" if details else ""
    print(f"status      {status}{why}")
    if len(result.cells):
        bound = ""
        if result.found and math.isinf(result.suboptimality):
            bound = " (may not be the least)"
        elif result.found and result.suboptimality > 1.0:
            bound = f" (at most {result.suboptimality:g} times the least)"
        print(f"cost        {result.cost:.9g}{bound}")
        print(f"length      {result.length:.9g}, {len(result.cells)} cells")
    metrics = result.metrics
    if field is not None:
        reached = int(np.isfinite(field.costs).sum())
        print(f"field       {reached} cells reach the goal, built in {search_us / 1000.0:.3g} ms")
    elif not query.flows:
        print(
            f"search      {metrics.expanded} expanded, {metrics.generated} generated, "
            f"{metrics.reopened} reopened, open list at most {metrics.open_peak}, "
            f"{search_us / 1000.0:.3g} ms"
        )


def _print_comparison(case: Case, difference: str | None) -> None:
    if case.status is None:
        print("recorded    nothing to compare with")
    elif difference is None:
        print("recorded    the same")
    else:
        print(f"recorded    differs: {difference}")
