"""``navserver demo``: a path, a flow field, and bots as clients of a sidecar, with pictures."""

from __future__ import annotations

import argparse
import sys
from os import PathLike
from pathlib import Path
from typing import Any

from navserver.animation import Film
from navserver.commands.arguments import as_positive
from navserver.commands.outputs import make_folder
from navserver.commands.progress import Progress, compile_visibly
from navserver.maps.builtin import BuiltinMap, load_builtin
from navserver.maps.case_writing import save_case
from navserver.render import save_picture
from navserver.search.astar import find_path
from navserver.search.flow_field import FlowField
from navserver.search.grid import Profile
from navserver.search.nodes import SearchTrace
from navserver.search.smoothing import pull_string
from navserver.sidecar.launch import launched_sidecar
from navserver.sim.clients import ClientsWorld
from navserver.sim.report import summary_of, write_report
from navserver.sim.runner import Run, RunResult, run_scenario
from navserver.sim.scenarios import BotKind, Scenario
from navserver.sim.setup import Setup
from navserver.sim.worlds import Tick

__all__ = ["add_to", "run"]

USUAL_BOTS = 200
TICKS = 300
"""Half a minute of world time, at the usual tenth of a second."""

_RADIUS, _FRAME_TICKS, _FILM_SIDE, _FILM_SPEED = 0.45, 4, 800, 3.0
_FILM_BYTES = 4_000_000
# How often a line tells how far it is where no bar can be shown.
_TELL_SECONDS = 2.0


def add_to(commands: Any) -> None:
    """State the command's arguments.

    Parameters
    ----------
    commands : argparse subparsers
        Where the command is added.
    """
    parser = commands.add_parser(
        "demo",
        help="a path, a flow field, and bots of a sidecar on a generated map, drawn",
        description="Find a path across a generated countryside, pull it straight, build a flow "
        "field to its\ngoal; then start a sidecar, and let bots walk there, each as a client that "
        "asks for\nits paths. All is drawn. Roads cost 0.5 a cell, grass 1, forest 2, swamp 4; "
        "lakes and\nrock block.",
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "--out",
        default="navserver-demo",
        metavar="DIR",
        help="folder of the pictures, the report and a case file; default navserver-demo",
    )
    parser.add_argument(
        "--bots", type=as_positive, default=USUAL_BOTS, metavar="N",
        help=f"clients; default {USUAL_BOTS}",
    )  # fmt: skip
    parser.add_argument("--no-bots", action="store_true", help="leave sidecar and bots out")


def run(arguments: argparse.Namespace) -> int:
    """Search, let bots walk, write the pictures and say where they are.

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
    make_folder("--out", arguments.out)
    # Before the sidecar does the same beside this process.
    compile_visibly(_TELL_SECONDS)
    scene = load_builtin("countryside")
    _show_searches(scene, folder)
    if not arguments.no_bots:
        _show_bots(scene, arguments.bots, folder)
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _show_searches(scene: BuiltinMap, folder: Path) -> None:
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


class _FilmedWorld(ClientsWorld):
    """Bots as clients, filmed every few ticks."""

    def __init__(self, setup: Setup, file: str | PathLike[str]) -> None:
        super().__init__(setup, file)
        self.film = Film(self.movers, side=_FILM_SIDE, profile=setup.kinds[0].profile)
        self._dt, self._ticks = setup.dt, 0
        self.film.record(0.0)

    def step(self) -> Tick:
        """Step, and take a picture if it is time."""
        tick = super().step()
        self._ticks += 1
        if self._ticks % _FRAME_TICKS == 0:
            self.film.record(self._ticks * self._dt)
        return tick


def _show_bots(scene: BuiltinMap, bots: int, folder: Path) -> None:
    kind = BotKind("bots", bots, radius=_RADIUS, profile=Profile(scene.class_costs))
    scenario = Scenario((kind,), seed=1, ticks=TICKS)
    worlds: list[_FilmedWorld] = []
    with launched_sidecar() as (file, info):
        _say(f"a sidecar runs on port {info.port}; {bots} bots connect to it")

        def make_world(setup: Setup) -> _FilmedWorld:
            worlds.append(_FilmedWorld(setup, file))
            return worlds[0]

        with Progress(_TELL_SECONDS) as progress:

            def show(done: int, total: int, run: Run) -> bool:
                progress.show(done, total, f"ticks, {run.tally.arrivals} arrivals")
                return True

            result, _ = run_scenario(scenario, scene.grid, make_world, progress=show)
    _tell_of_bots(result)
    film = folder / "bots.gif"
    worlds[0].film.save_gif(film, speed=_FILM_SPEED, most_bytes=_FILM_BYTES)
    print(f"film:    {film}")
    print(f"report:  {write_report(folder, result, 'Bots in the countryside')}")


def _tell_of_bots(result: RunResult) -> None:
    summary = summary_of(result)
    requests, latency = summary["requests"], summary["latency_us"] or {"p50": 0.0, "p99": 0.0}
    print(
        f"{summary['bots']} bots, each a client of a sidecar: {requests['answered']:,} paths, "
        f"{requests['per_s']:,} a second\n"
        f"(p50 {latency['p50'] / 1e3:.1f} ms, p99 {latency['p99'] / 1e3:.1f} ms in bursts); "
        f"{summary['arrivals']:,} arrivals, {summary['in_wall']} in walls, "
        f"{summary['stuck']} stuck."
    )
    if result.error is not None:
        print(f"The run ended early: {result.error}")
