"""``navserver check``: scenario files against the search."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from navserver.commands.arguments import as_name, as_positive, choices_of
from navserver.commands.progress import Progress
from navserver.maps.loading import load_map
from navserver.maps.movingai import Scenario, load_scenarios
from navserver.search.astar import ALGORITHMS, AStar
from navserver.search.grid import DiagonalMode, Grid
from navserver.search.heuristics import Heuristic
from navserver.status import InputError, MapFileError
from navserver.verification import PathVerifier, find_mismatch

__all__ = ["add_to", "run"]

MISMATCHED = 1
MOST_SHOWN = 20

_EXAMPLES = """\
examples:
  navserver check arena.map.scen
  navserver check scens --maps maps --every 100
  navserver check scens --algorithm dijkstra --json

Every scenario is searched at uniform cost without cutting corners. It is a mismatch if the
length differs from the file's by more than 0.011 (a relative 1e-4 where the file gives 8
decimals), or if the path itself breaks a rule. A map is looked up in --maps, else beside the
scenario file, else in a folder `maps` beside its folder.

exit codes: 0 no mismatch, 1 mismatches, 2 bad input."""


class _Totals:
    """What all searches together took."""

    def __init__(self) -> None:
        self.scenarios = 0
        self.search_ns = 0
        self.expanded = 0
        self.mismatches: list[str] = []


def add_to(commands: Any) -> None:
    """State the command's arguments.

    Parameters
    ----------
    commands : argparse subparsers
        Where the command is added.
    """
    parser = commands.add_parser(
        "check",
        help="hold the search against scenario files",
        description="Search the scenarios of MovingAI .scen files and compare with their optimum.",
        epilog=_EXAMPLES,
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "scenarios",
        nargs="+",
        metavar="SCEN",
        help="scenario file, or folder: all *.scen in it and below",
    )
    parser.add_argument("--maps", metavar="DIR", help="folder of the map files")
    parser.add_argument(
        "--algorithm",
        type=as_name(ALGORITHMS),
        default="astar",
        metavar=choices_of(ALGORITHMS),
        help="default astar",
    )
    parser.add_argument(
        "--every",
        type=as_positive,
        default=1,
        metavar="N",
        help="take the first scenario of each file and every N-th after it",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def run(arguments: argparse.Namespace) -> int:
    """Search all scenarios and report.

    Parameters
    ----------
    arguments : Namespace
        As `add_to` states them.

    Returns
    -------
    int
        0 without a mismatch, else 1.
    """
    folder = None if arguments.maps is None else Path(arguments.maps)
    if folder is not None and not folder.is_dir():
        raise InputError("--maps", arguments.maps, "is not a folder", "name one with map files")
    files = [
        (file, load_scenarios(file)[:: arguments.every])
        for file in _scenario_files(arguments.scenarios)
    ]
    totals = _Totals()
    total = sum(len(scenarios) for _, scenarios in files)
    with Progress() as progress:

        def advance(name: str) -> None:
            progress.show(totals.scenarios, total, name)

        for file, scenarios in files:
            _check_file(file, scenarios, folder, arguments.algorithm, totals, advance)
    if arguments.json:
        print(json.dumps(_as_object(arguments.algorithm, len(files), totals)))
    else:
        _print_report(totals)
    return MISMATCHED if totals.mismatches else 0


def _scenario_files(names: Sequence[str]) -> list[Path]:
    """Return the files named and those in the folders named, each once."""
    files: dict[Path, Path] = {}
    for name in names:
        path = Path(name)
        found = [path]
        if path.is_dir():
            found = sorted(p for p in path.rglob("*.scen") if p.is_file())
            if not found:
                raise InputError("SCEN", name, "has no *.scen in it", "name another folder")
        for file in found:
            files.setdefault(file.resolve(), file)
    return list(files.values())


def _find_map(file: Path, scenario: Scenario, folder: Path | None) -> Path:
    stated = PurePosixPath(scenario.map_name.replace("\\", "/"))
    if folder is not None:
        places = [folder / stated.name]
        if not stated.is_absolute() and ".." not in stated.parts:
            places.append(folder / stated)
    else:
        places = [file.parent / stated.name, file.parent / ".." / "maps" / stated.name]
    for place in places:
        if place.is_file():
            return place
    raise MapFileError(
        file,
        scenario.line,
        f"no map {stated.name} in {' or '.join(str(p.parent) for p in places)}",
        "name its folder with --maps DIR",
    )


def _check_file(
    file: Path,
    scenarios: Sequence[Scenario],
    folder: Path | None,
    algorithm: str,
    totals: _Totals,
    advance: Callable[[str], None],
) -> None:
    ready: dict[str, tuple[Grid, AStar, PathVerifier]] = {}
    for scenario in scenarios:
        if scenario.map_name not in ready:
            grid = load_map(_find_map(file, scenario, folder), format="movingai")
            search = AStar(
                grid,
                diagonal_mode=DiagonalMode.ONLY_IF_NO_OBSTACLES,
                heuristic=Heuristic.ZERO if algorithm == "dijkstra" else None,
            )
            # Compiles, and makes the move masks, outside the time.
            search.find_path((0, 0), (0, 0))
            ready[scenario.map_name] = grid, search, PathVerifier(grid)
        grid, search, verifier = ready[scenario.map_name]
        if (grid.width, grid.height) != (scenario.width, scenario.height):
            raise MapFileError(
                file,
                scenario.line,
                f"the scenario is for a map of {scenario.width} x {scenario.height}, "
                f"{PurePosixPath(scenario.map_name).name} has {grid.width} x {grid.height}",
                "use the map that the scenarios were made for",
            )
        began = time.perf_counter_ns()
        result = search.find_path(scenario.start, scenario.goal)
        totals.search_ns += time.perf_counter_ns() - began
        totals.scenarios += 1
        totals.expanded += result.metrics.expanded
        problem = find_mismatch(scenario, result, verifier)
        if problem is not None:
            totals.mismatches.append(
                f"{file}:{scenario.line}: {scenario.start} to {scenario.goal}: {problem}"
            )
        advance(file.name)


def _as_object(algorithm: str, n_files: int, totals: _Totals) -> dict[str, Any]:
    return {
        "algorithm": algorithm,
        "files": n_files,
        "scenarios": totals.scenarios,
        "mismatches": len(totals.mismatches),
        "search_us_mean": totals.search_ns / 1000.0 / totals.scenarios,
        "expanded_mean": totals.expanded / totals.scenarios,
        "first_mismatches": totals.mismatches[:MOST_SHOWN],
    }


def _print_report(totals: _Totals) -> None:
    for mismatch in totals.mismatches[:MOST_SHOWN]:
        print(mismatch)
    if len(totals.mismatches) > MOST_SHOWN:
        print(f"... and {len(totals.mismatches) - MOST_SHOWN} more")
    print(
        f"search {totals.search_ns / 1000.0 / totals.scenarios:.1f} us and "
        f"{totals.expanded / totals.scenarios:.0f} expanded cells a scenario, on average"
    )
    print(f"{totals.scenarios} scenarios, {len(totals.mismatches)} mismatches")
