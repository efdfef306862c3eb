"""``navserver bots``: bots on a map without an engine, and a report."""

from __future__ import annotations

import argparse
import json
import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from navserver.commands.arguments import UsageError, as_number, as_positive, as_seed
from navserver.commands.movement import add_movement
from navserver.commands.outputs import Outputs, check_file, make_folder
from navserver.commands.progress import Progress, StopRequest, compile_visibly
from navserver.maps.builtin import load_builtin
from navserver.maps.loading import BUILTIN_PREFIX, load_map
from navserver.render import check_pictures
from navserver.search.grid import Grid
from navserver.search.profile import Profile
from navserver.sidecar.connection_file import ConnectionInfo
from navserver.sim.behaviors import BEHAVIORS
from navserver.sim.clients import ClientsWorld
from navserver.sim.lockstep import LockstepWorld
from navserver.sim.recording import Recorder
from navserver.sim.report import REPORT, summary_of, write_report
from navserver.sim.runner import Run, RunResult, run_scenario
from navserver.sim.scenarios import (
    MOST_BOTS,
    BotKind,
    Scenario,
    fault_in_file,
    load_scenario,
)
from navserver.sim.setup import Setup
from navserver.sim.worlds import BotWorld, LocalWorld
from navserver.status import InputError, MapFileError

__all__ = ["add_to", "run"]

FAILED = 1

# Where no bar can be shown, as in CI.
_LINE_SECONDS = 10.0

_EXAMPLES = """\
examples:
  navserver bots town.map --bots 2000 --behavior commute --out report
  navserver bots builtin:rooms --bots 300 --ticks 600 --json
  navserver bots --scenario rush-hour.toml --record rush-hour.npz --junit bots.xml
  navserver bots town.map --bots 500 --connect connection.json

A behavior is wander, commute, chase, or FILE.py with a class of your own. A scenario file mixes
kinds of bots, their areas, and edits of the map; see docs/bots.md. --out takes the optional
packages of navserver[pictures].

With --connect each bot is a client of a running sidecar, with a connection and a session of its
own: it asks there for its paths and walks them here. With --lockstep as well, the sidecar moves
the bots, a step a request, and the state hash is that of a run in process.

exit codes: 0 done, 1 the run ended early or a bot stood in a wall, 2 bad input."""


def add_to(commands: Any) -> None:
    """State the command's arguments.

    Parameters
    ----------
    commands : argparse subparsers
        Where the command is added.
    """
    parser = commands.add_parser(
        "bots",
        help="let bots walk a map, and report where it fails them",
        description="Let bots walk a map without an engine: traffic, choke points, who gets stuck "
        "and why,\nwhat cannot be reached, and how long it all takes.",
        epilog=_EXAMPLES,
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "map", nargs="?", metavar="MAP", help="as for `navserver path`; may stand in the scenario"
    )
    parser.add_argument("--scenario", metavar="FILE", help="a TOML file; options here win over it")
    parser.add_argument(
        "--bots", type=as_positive, metavar="N", help="bots of one kind; default 1000"
    )
    parser.add_argument("--behavior", metavar="B", help=f"{', '.join(BEHAVIORS)}, or FILE.py")
    parser.add_argument("--speed", type=as_number, metavar="V", help="cells a second; default 4")
    parser.add_argument("--radius", type=as_number, metavar="R", help="cells, to 0.5; default 0.3")
    parser.add_argument("--ticks", type=as_positive, metavar="T", help="steps; default 3000")
    parser.add_argument("--dt", type=as_number, metavar="S", help="seconds a step; default 0.1")
    parser.add_argument(
        "--seed", type=as_seed, metavar="S", help="of all that is random; default 0"
    )
    parser.add_argument(
        "--no-avoidance", action="store_true", help="let bots walk through each other"
    )
    parser.add_argument(
        "--workers", type=as_positive, metavar="N", help="threads; default one a core"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--in-process", action="store_true", help="search and move in this process; the default"
    )
    where.add_argument(
        "--connect", metavar="FILE",
        help="bots are clients of the sidecar that `serve --connection-file FILE` has started",
    )  # fmt: skip
    parser.add_argument(
        "--lockstep", action="store_true", help="with --connect: the sidecar moves the bots"
    )
    parser.add_argument("--out", metavar="DIR", help="write report.html, report.json and pictures")
    parser.add_argument("--record", metavar="FILE", help="keep the run for `navserver replay`")
    parser.add_argument("--junit", metavar="FILE", help="write what failed as JUnit XML, for CI")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_movement(parser, body=False, costs=False)


def run(arguments: argparse.Namespace) -> int:
    """Run bots and say how they fared.

    Parameters
    ----------
    arguments : Namespace
        As `add_to` states them.

    Returns
    -------
    int
        0, or 1 if the run ended early or a bot stood in a wall.
    """
    _check_place(arguments)
    scenario = _scenario_of(arguments)
    grid, scenario = _with_map(scenario, arguments)
    _check_outputs(arguments)
    compile_visibly(_LINE_SECONDS)
    result, recorder = _run(scenario, grid, arguments)
    summary = summary_of(result)
    outputs = Outputs()
    if recorder is not None:
        outputs.write(lambda: recorder.save(arguments.record))
    has_report = False
    if arguments.out is not None:
        title = f"Bots on {Path(scenario.map or '').name}"
        has_report = outputs.write(lambda: write_report(arguments.out, result, title))
    if arguments.junit is not None:
        outputs.write(lambda: _write_junit(arguments.junit, summary))
    if arguments.json:
        print(json.dumps(summary, allow_nan=False))
    else:
        _print_summary(summary, result)
        if has_report:
            print(f"report      {Path(arguments.out) / REPORT}")
    outputs.end()
    if result.error is not None:
        print(f"navserver: the run ended early: {result.error}", file=sys.stderr)
    return FAILED if result.error is not None or result.in_wall else 0


def _run(
    scenario: Scenario, grid: Grid, arguments: argparse.Namespace
) -> tuple[RunResult, Recorder | None]:
    """Run, show how far it is, and end early where the user asks for it."""
    with Progress(_LINE_SECONDS) as progress, StopRequest() as stop:

        def show(done: int, total: int, run: Run) -> bool:
            progress.show(done, total, _text_of(run))
            return not stop.is_made

        try:
            return run_scenario(
                scenario,
                grid,
                partial(_make_world, arguments),
                record=arguments.record is not None,
                progress=show,
            )
        except MapFileError:
            raise
        except InputError as error:
            raise _as_stated(error, arguments) from None


def _as_stated(error: InputError, arguments: argparse.Namespace) -> InputError:
    """Return an error by the option, or the line of the scenario file, that has caused it."""
    found = re.match(r"(?:bots|edits)\[\d+\]\.(\w+)", error.field)
    if found is None:
        return error
    name = {"count": "bots"}.get(found[1], found[1])
    is_option = name in ("bots", "behavior", "speed", "radius")
    if arguments.scenario is not None and not (is_option and getattr(arguments, name) is not None):
        return fault_in_file(arguments.scenario, error)
    return InputError(f"--{name}", error.value, error.problem, error.remedy)


def _check_place(arguments: argparse.Namespace) -> None:
    if arguments.lockstep and arguments.connect is None:
        raise UsageError("--lockstep needs a sidecar; add --connect FILE")
    if arguments.lockstep and arguments.workers is not None:
        raise UsageError("--workers: the sidecar moves the bots; tell its `serve` the workers")
    if arguments.connect is not None:
        ConnectionInfo.read(arguments.connect)


def _make_world(arguments: argparse.Namespace, setup: Setup) -> BotWorld:
    if arguments.connect is None:
        return LocalWorld(setup, arguments.workers)
    if arguments.lockstep:
        return LockstepWorld(setup, arguments.connect)
    return ClientsWorld(setup, arguments.connect, arguments.workers)


def _scenario_of(arguments: argparse.Namespace) -> Scenario:
    """Return the scenario file's, or one of a single kind, with what the command line changes."""
    if arguments.scenario is None:
        kind = BotKind("bots", 1000)
        scenario = Scenario((kind,))
    else:
        scenario = load_scenario(arguments.scenario)
    return _with_options(scenario, arguments)


def _with_options(scenario: Scenario, arguments: argparse.Namespace) -> Scenario:
    of_kind = {
        "count": arguments.bots,
        "behavior": arguments.behavior,
        "speed": arguments.speed,
        "radius": arguments.radius,
    }
    changed = {name: value for name, value in of_kind.items() if value is not None}
    _check_kind(changed)
    if changed and len(scenario.kinds) > 1:
        option = {"count": "bots"}.get(next(iter(changed)), next(iter(changed)))
        raise UsageError(
            f"--{option} does not say which of the scenario's {len(scenario.kinds)} kinds it is "
            "for; change the file"
        )
    if changed:
        scenario = replace(scenario, kinds=(replace(scenario.kinds[0], **changed),))
    whole = {name: getattr(arguments, name) for name in ("ticks", "dt", "seed")}
    if whole["dt"] is not None and not 0 < whole["dt"] <= 1:
        raise InputError("--dt", whole["dt"], "is no step", "give seconds above 0, at most 1")
    if arguments.no_avoidance:
        whole["avoidance"] = False
    return replace(scenario, **{name: v for name, v in whole.items() if v is not None})


def _check_kind(changed: dict[str, Any]) -> None:
    bounds = {
        "count": ("--bots", MOST_BOTS),
        "speed": ("--speed", 1e3),
        "radius": ("--radius", 0.5),
    }
    for name, (option, most) in bounds.items():
        if name in changed and not 0 < changed[name] <= most:
            raise InputError(
                option, changed[name], "is out of bounds", f"give more than 0, at most {most:g}"
            )


def _with_map(scenario: Scenario, arguments: argparse.Namespace) -> tuple[Grid, Scenario]:
    name = arguments.map if arguments.map is not None else scenario.map
    if name is None:
        raise UsageError("MAP is missing; name a map, or a --scenario that names one")
    costs: dict[int, float] = {}
    if name.startswith(BUILTIN_PREFIX):
        builtin = load_builtin(name.removeprefix(BUILTIN_PREFIX))
        grid = builtin.grid
        costs.update(builtin.class_costs)
    else:
        grid = load_map(name)
    given = dict(arguments.class_costs or [])
    if costs or given:
        kinds = tuple(
            replace(kind, profile=_profile_with(kind.profile, costs, given))
            for kind in scenario.kinds
        )
        scenario = replace(scenario, kinds=kinds)
    return grid, replace(scenario, map=name)


def _profile_with(profile: Profile, builtin: dict[int, float], given: dict[int, float]) -> Profile:
    """Return a kind's profile with the costs that the map suggests below and options above."""
    table = profile.costs.copy()
    usual = Profile().costs
    for class_id, cost in builtin.items():
        if table[class_id] == usual[class_id]:
            table[class_id] = cost
    for class_id, cost in given.items():
        table[class_id] = cost
    return Profile(table)


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Refuse what could not be written before the run, not after it."""
    check_file("--record", arguments.record)
    check_file("--junit", arguments.junit)
    make_folder("--out", arguments.out)
    if arguments.out is not None:
        check_pictures()


def _text_of(run: Run) -> str:
    """Return what a run has come to, in some words."""
    arrivals = f"ticks, {run.tally.arrivals:,} arrivals"
    return f"{arrivals}, {run.waiting:,} wait for a way" if run.waiting else arrivals


def _print_summary(summary: dict[str, Any], result: RunResult) -> None:
    reasons = ", ".join(f"{n} {name}" for name, n in summary["stuck_reasons"].items())
    lines = {
        "bots": f"{summary['bots']:,}, {summary['ticks']:,} ticks of {result.setup.dt:g} s",
        "arrived": f"{summary['arrived']:,}",
        "en route": f"{summary['en_route']:,}",
        "stuck": f"{summary['stuck']:,}" + (f" ({reasons})" if reasons else ""),
        "no path": f"{summary['no_path']:,}",
        "in walls": f"{summary['in_wall']:,}",
        "arrivals": f"{summary['arrivals']:,} of {summary['orders']:,} orders",
        "speed": f"{summary['bot_ticks_per_s']:,} bot-ticks a second",
        "state hash": summary["state_hash"],
    }
    if summary["requests"] is not None:
        latency = summary["latency_us"] or {"p50": 0, "p99": 0}
        lines["requests"] = (
            f"{summary['requests']['answered']:,} answered, {summary['requests']['per_s']:,} a "
            f"second, p50 {latency['p50']:,.0f} us, p99 {latency['p99']:,.0f} us"
        )
    for name, value in lines.items():
        print(f"{name:<12}{value}")


def _write_junit(file: str, summary: dict[str, Any]) -> None:
    """Write one test case for each thing that a map must not do to bots."""
    cases = {
        "no bot stands in a wall": (summary["in_wall"], "times a bot stood in a wall"),
        "every bot has a way": (summary["no_path"], "bots have no way to their goal"),
        "no bot is stuck": (summary["stuck"], f"bots are stuck: {summary['stuck_reasons']}"),
    }
    suite = ET.Element(
        "testsuite",
        name="navserver bots",
        tests=str(len(cases) + 1),
        failures=str(sum(count > 0 for count, _ in cases.values())),
        errors=str(int(summary["error"] is not None)),
    )
    whole = ET.SubElement(suite, "testcase", classname="bots", name="the run goes to its end")
    if summary["error"] is not None:
        ET.SubElement(whole, "error", message=summary["error"])
    for name, (count, words) in cases.items():
        case = ET.SubElement(suite, "testcase", classname="bots", name=name)
        if count:
            ET.SubElement(case, "failure", message=f"{count} {words}")
    try:
        ET.ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise InputError(
            "--junit", file, f"cannot be written ({error.strerror})", "name another file"
        ) from None
