"""``navserver path``: one search on one map."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from navserver.commands.arguments import (
    UsageError,
    as_cell,
    as_class_cost,
    as_name,
    as_number,
    as_positive,
    choices_of,
    shown_name,
)
from navserver.maps.builtin import BUILTIN_MAPS, load_builtin
from navserver.maps.case import Case, load_case, save_case
from navserver.maps.loading import BUILTIN_PREFIX, load_map
from navserver.render import draw_text, fits_terminal, save_picture
from navserver.search.astar import ALGORITHMS, find_path
from navserver.search.grid import CostModel, DiagonalMode, Grid, Profile
from navserver.search.heuristics import Heuristic
from navserver.search.nodes import SearchTrace
from navserver.status import Detail

if TYPE_CHECKING:
    from navserver.search.results import PathResult

__all__ = ["add_to", "run"]

NO_PATH = 1

MOST_DRAWN = 2**22
"""Expansions that a picture shows; 32 bytes each while it is drawn."""

_EXAMPLES = f"""\
examples:
  navserver path builtin:rooms
  navserver path arena.map --from 1,11 --to 47,46
  navserver path island.png --from=3,4 --to 60,12 --cost-model mean --png path.png
  navserver path field.txt --from 0,0 --to 9,9 --class-cost 1=2.5 2=inf --json
  navserver path arena.map --from 1,11 --to 47,46 --save-case slow.json
  navserver path --case slow.json

maps: MovingAI .map, text .txt (. free, 1-9 classes, # wall), pictures (dark is a wall, grey
costs more than white), NumPy .npy (bool, uint8 or float), and generated ones that come with a
start, a goal and class costs: {", ".join(f"builtin:{name}" for name in BUILTIN_MAPS)}.

exit codes: 0 found, 1 no path to the goal, or not the result that the case recorded,
2 bad input."""

# Where the parsed arguments keep what a case file states too.
_OF_THE_CASE = {
    "start": "--from",
    "goal": "--to",
    "algorithm": "--algorithm",
    "diagonal_mode": "--diagonal-mode",
    "heuristic": "--heuristic",
    "inexact": "--inexact",
    "weight": "--weight",
    "cost_model": "--cost-model",
    "class_costs": "--class-cost",
    "max_expansions": "--max-expansions",
    "max_cost": "--max-cost",
    "allow_partial": "--allow-partial",
}
_OPTIONS = ("algorithm", "inexact", "weight", "max_expansions", "max_cost", "allow_partial")


class _Query(NamedTuple):
    """All that one search needs."""

    grid: Grid
    start: tuple[int, int]
    goal: tuple[int, int]
    options: dict[str, Any]
    blocked_cells: Any
    ignored_cells: Any


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
    search.add_argument(
        "--algorithm",
        type=as_name(ALGORITHMS),
        metavar=choices_of(ALGORITHMS),
        help="default astar",
    )
    _add_enum(
        search,
        "--diagonal-mode",
        DiagonalMode,
        "when diagonal steps are allowed; default only-if-no-obstacles",
    )
    _add_enum(
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
    _add_enum(
        search,
        "--cost-model",
        CostModel,
        "a step costs its length times the cost of the cell entered (default), or times the "
        "mean or the product of both cells' costs",
    )
    search.add_argument(
        "--class-cost",
        dest="class_costs",
        type=as_class_cost,
        action="extend",
        nargs="+",
        metavar="CLASS=COST",
        help="cost of the cells of a class, >= 0, or inf to block; others cost 1",
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
    output = parser.add_argument_group("files and output")
    output.add_argument("--png", metavar="FILE", help="draw map, search and path as a picture")
    output.add_argument(
        "--case", metavar="FILE", help="replay the query of a case file and compare the result"
    )
    output.add_argument("--save-case", metavar="FILE", help="keep map, query and result to replay")
    output.add_argument("--json", action="store_true", help="print one JSON object instead")


def _add_enum(group: Any, option: str, kind: type[IntEnum], text: str) -> None:
    names = [shown_name(member) for member in kind]
    group.add_argument(option, type=as_name(names), metavar=choices_of(names), help=text)


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
    grid = query.grid
    draws_text = not arguments.json and fits_terminal(grid)
    trace = None
    if draws_text or arguments.png is not None:
        # Twice the cells, since a reopened one is expanded again.
        trace = SearchTrace(min(2 * grid.size, MOST_DRAWN))
    result, search_us = _search(query, trace)
    explored = None if trace is None else trace.cells
    if arguments.save_case is not None:
        _save(arguments, query, result)
    picture = None
    if arguments.png is not None:
        picture = save_picture(
            arguments.png,
            grid,
            path=result.cells,
            explored=explored,
            start=result.start,
            goal=result.goal,
            profile=query.options["profile"],
            overlays=query.options.get("overlays"),
        )
    difference = None if case is None else case.difference(result.status, result.cost)
    if arguments.json:
        print(json.dumps(_as_object(query, result, search_us, case, difference)))
    else:
        _print_summary(result, search_us)
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
                    start=result.start,
                    goal=result.goal,
                    profile=query.options["profile"],
                    color=_wants_color(),
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
        dict(case.options),
        case.blocked_cells,
        case.ignored_cells,
    )


def _query_of_arguments(arguments: argparse.Namespace) -> _Query:
    if arguments.map is None:
        raise UsageError("MAP is missing; name a map file, builtin:rooms, or --case FILE")
    start, goal = arguments.start, arguments.goal
    class_costs: dict[int, float] = {}
    if arguments.map.startswith(BUILTIN_PREFIX):
        builtin = load_builtin(arguments.map.removeprefix(BUILTIN_PREFIX))
        grid = builtin.grid
        start = builtin.start if start is None else start
        goal = builtin.goal if goal is None else goal
        class_costs.update(builtin.class_costs)
    else:
        for cell, option in ((start, "--from"), (goal, "--to")):
            if cell is None:
                raise UsageError(f"{option} is missing; give a cell X,Y")
        grid = load_map(arguments.map)
    class_costs.update(arguments.class_costs or [])
    options: dict[str, Any] = {"profile": Profile(class_costs)}
    for name, kind in (
        ("diagonal_mode", DiagonalMode),
        ("heuristic", Heuristic),
        ("cost_model", CostModel),
    ):
        chosen = getattr(arguments, name)
        if chosen is not None:
            options[name] = kind[chosen.replace("-", "_").upper()]
    for name in _OPTIONS:
        if getattr(arguments, name) is not None:
            options[name] = getattr(arguments, name)
    return _Query(grid, start, goal, options, None, None)


def _search(query: _Query, trace: SearchTrace | None) -> tuple[PathResult, float]:
    """Return the result and the microseconds of the search alone."""
    # Kernels and move masks are made ready outside the time.
    find_path(Grid.filled(1, 1), (0, 0), (0, 0))
    mode = query.options.get("diagonal_mode", DiagonalMode.ONLY_IF_NO_OBSTACLES)
    query.grid.move_masks(query.options["profile"], mode)
    began = time.perf_counter_ns()
    result = find_path(
        query.grid,
        query.start,
        query.goal,
        blocked_cells=query.blocked_cells,
        ignored_cells=query.ignored_cells,
        trace=trace,
        **query.options,
    )
    return result, (time.perf_counter_ns() - began) / 1000.0


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


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _as_object(
    query: _Query,
    result: PathResult,
    search_us: float,
    case: Case | None,
    difference: str | None,
) -> dict[str, Any]:
    """Return the result for JSON; what is infinite there is null."""
    content: dict[str, Any] = {
        "status": result.status.name.lower(),
        "detail": _detail_names(result.detail),
        "found": result.found,
        "start": list(result.start),
        "goal": list(result.goal),
        "cost": _finite(result.cost),
        "length": _finite(result.length),
        "suboptimality": _finite(result.suboptimality),
        "cells": np.asarray(result.cells).tolist(),
        "metrics": {name: int(value) for name, value in result.metrics._asdict().items()},
        "search_us": round(search_us, 1),
        "map": {
            "width": query.grid.width,
            "height": query.grid.height,
            "hash": query.grid.map_hash(),
        },
    }
    if case is not None and case.status is not None:
        content["recorded"] = {
            "status": case.status.name.lower(),
            "cost": _finite(math.inf if case.cost is None else case.cost),
            "matches": difference is None,
        }
    return content


def _print_summary(result: PathResult, search_us: float) -> None:
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


def _wants_color() -> bool:
    return (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "") != "dumb"
        and os.name != "nt"
    )
