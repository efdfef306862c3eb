"""``navserver path``: one search on one map."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from navserver.commands.arguments import (
    UsageError,
    as_cell,
    as_name,
    as_number,
    as_positive,
    choices_of,
)
from navserver.commands.movement import MAPS_HELP, add_enum, add_movement
from navserver.commands.path_output import as_object, draw_answer, print_answer, save_answer
from navserver.commands.path_query import (
    FLOW,
    PathQuery,
    answer_query,
    query_of_arguments,
    query_of_case,
)
from navserver.maps.case import load_case
from navserver.maps.case_writing import save_case
from navserver.maps.loading import BUILTIN_PREFIX
from navserver.render import fits_terminal
from navserver.search.astar import ALGORITHMS
from navserver.search.heuristics import Heuristic
from navserver.search.nodes import SearchTrace
from navserver.search.results import PathResult

__all__ = ["add_to", "run"]

NO_PATH = 1

MOST_DRAWN = 2**22
"""Expansions that a picture shows; 32 bytes each while it is drawn."""

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
    query = query_of_arguments(arguments) if case is None else query_of_case(case, arguments)
    if query.flows and arguments.save_case is not None:
        raise UsageError(
            f"--save-case keeps queries of {' and '.join(ALGORITHMS)}; leave out it or "
            "--algorithm flow"
        )
    draws_text = not arguments.json and fits_terminal(query.grid)
    trace = None
    if not query.flows and (draws_text or arguments.png is not None):
        # Twice the cells, since a reopened one is expanded again.
        trace = SearchTrace(min(2 * query.grid.size, MOST_DRAWN))
    answer = answer_query(query, arguments.smooth, trace)
    result = answer.result
    if arguments.save_case is not None:
        _save(arguments, query, result)
    picture = None if arguments.png is None else save_answer(arguments.png, answer, trace)
    difference = None if case is None else case.difference(result.status, result.cost)
    if arguments.json:
        print(json.dumps(as_object(answer, case, difference)))
    else:
        print_answer(answer, case, difference)
        if arguments.save_case is not None:
            print(f"case        {arguments.save_case}")
        if picture is not None:
            print(f"picture     {picture}")
        if draws_text:
            print(f"\n{draw_answer(answer, trace)}")
        elif picture is None:
            print(
                f"The map of {query.grid.width} x {query.grid.height} cells does not fit this "
                "terminal; --png FILE draws it."
            )
    if difference is not None:
        print(f"navserver: {case.path if case else ''}: {difference}", file=sys.stderr)
    return 0 if result.found and difference is None else NO_PATH


def _save(arguments: argparse.Namespace, query: PathQuery, result: PathResult) -> None:
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
