"""``navserver demo``: a generated map, a path and a flow field on it, and pictures of both."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from navserver.maps.builtin import load_builtin
from navserver.maps.case import save_case
from navserver.render import save_picture
from navserver.search.astar import find_path
from navserver.search.flow_field import FlowField
from navserver.search.grid import Profile
from navserver.search.nodes import SearchTrace
from navserver.search.smoothing import pull_string
from navserver.status import InputError

__all__ = ["add_to", "run"]


def add_to(commands: Any) -> None:
    """State the command's arguments.

    Parameters
    ----------
    commands : argparse subparsers
        Where the command is added.
    """
    parser = commands.add_parser(
        "demo",
        help="find a path on a generated map and draw it",
        description="Find a path across a generated countryside, pull it straight, build a flow "
        "field to its\ngoal, and draw both. Roads cost 0.5 a cell, grass 1, forest 2, swamp 4; "
        "lakes and rock\nblock.",
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "--out",
        default="navserver-demo",
        metavar="DIR",
        help="folder of the pictures and of a case file to replay; default navserver-demo",
    )


def run(arguments: argparse.Namespace) -> int:
    """Search, write the pictures and say where they are.

    Parameters
    ----------
    arguments : Namespace
        As `add_to` states them.

    Returns
    -------
    int
        0.
    """
    folder = Path(arguments.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            "--out", arguments.out, f"cannot be made ({error.strerror})", "name another folder"
        ) from None
    scene = load_builtin("countryside")
    profile = Profile(scene.class_costs)
    trace = SearchTrace(2 * scene.grid.size)
    result = find_path(scene.grid, scene.start, scene.goal, profile=profile, trace=trace)
    result.raise_for_status()
    pulled = pull_string(scene.grid, result.cells, profile=profile)
    drawn = folder / "countryside.png"
    save_picture(
        drawn,
        scene.grid,
        path=result.cells,
        line=pulled,
        explored=trace.cells,
        start=scene.start,
        goal=scene.goal,
        profile=profile,
    )
    field = FlowField(scene.grid, [scene.goal], profile=profile)
    drawn_field = folder / "flow-field.png"
    save_picture(
        drawn_field,
        scene.grid,
        shades=field.costs,
        directions=field.directions,
        goal=scene.goal,
        profile=profile,
    )
    case = folder / "countryside.json"
    save_case(
        case, scene.grid, scene.start, scene.goal, options={"profile": profile}, result=result
    )
    print(
        f"A path across {scene.grid.width} x {scene.grid.height} cells of countryside: "
        f"cost {result.cost:.6g}, {len(result.cells)} cells, "
        f"{result.metrics.expanded} cells expanded (tinted green to violet).\n"
        f"Pulled straight it has {len(pulled)} points (the dark blue line)."
    )
    print(f"path:    {drawn}")
    print(f"field:   {drawn_field} (the way to the goal from every cell)")
    print(f"replay:  navserver path --case {case}")
    return 0
