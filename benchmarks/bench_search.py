"""Path searches raced: ``python -m benchmarks.bench_search [--quick] [--json]``; see README.md."""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING, Any

import numpy as np

import dev
from benchmarks.contenders.godot import GodotCase, run_godot
from benchmarks.problems import (
    CASES,
    MAPS,
    SMALL_MAPS,
    VARIABLE,
    Problem,
    movingai_folder,
    needs_movingai,
    problems,
    spread,
)
from benchmarks.rows import Row, print_rows, say, unique
from benchmarks.search_process import OTHER_CASES

if TYPE_CHECKING:
    from collections.abc import Sequence

RACERS = {
    "w1": ["yardstick", "navserver", "heapq", "pathfinding", "godot", "godot_jumping"],
    "w2": ["yardstick", "navserver", "heapq", "pathfinding", "godot", "godot_jumping"],
    # Godot's jumping ignores weights.
    "w2w": ["yardstick", "navserver", "heapq", "pathfinding", "godot"],
    "w1_always": ["yardstick", "navserver", "tcod", "scikit-image", "pyastar2d"],
    "w2_always": ["yardstick", "navserver", "tcod", "scikit-image", "pyastar2d"],
    **{case: list(contenders) for case, contenders in OTHER_CASES.items()},
}
CONTENDERS = unique(contender for contenders in RACERS.values() for contender in contenders)
NEEDS_MOVINGAI = [*filter(needs_movingai, CASES), "weight_sweep"]
NEEDED_MODULES = {
    "pathfinding": "pathfinding",
    "tcod": "tcod",
    "scikit-image": "skimage",
    "pyastar2d": "pyastar2d",
    "scipy": "scipy",
}
GODOT = ("godot", "godot_jumping")
SLOW = ("heapq", "pathfinding")
SLOWER = ("scikit-image",)
# What a contender's costs may deviate by: some add float32 numbers to choose a path.
TOLERANCE = 1e-9
FLOAT32_TOLERANCE = 1e-4
FLOAT32 = (*GODOT, "tcod", "scikit-image")
# AStarGrid2D without jumping is this fast beside a fair yardstick, whatever the machine.
FAIR = (0.5, 0.85)


@dataclass
class Race:
    """What is known of all contenders over paths: by case, contender and map."""

    times: dict[tuple[str, str], dict[str, dict[str, Any]]] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What makes figures invalid; each has been said."""

    def fault(self, text: str) -> None:
        say(text)
        self.problems.append(text)


def sample(contender: str, case: str, quick: bool) -> tuple[Sequence[str], int, int]:
    """Return the maps, the queries a map and the runs of each query."""
    if not needs_movingai(case):
        if contender in SLOW:
            return ["w1"], 1, 3
        return ["w1"], 1, 99
    if contender in SLOW:
        return (SMALL_MAPS, 2, 1) if quick else (MAPS, 5, 3)
    if contender in SLOWER:
        return (SMALL_MAPS, 2, 2) if quick else (MAPS, 20, 3)
    if contender in GODOT:
        return (SMALL_MAPS, 5, 3) if quick else (MAPS, 200, 3)
    if quick and case == "w2_always":
        return SMALL_MAPS, 5, 3
    return (MAPS, 4, 2) if quick else (MAPS, 200, 5)


def plan_of(contender: str, case: str, quick: bool) -> dict[str, tuple[list[int], int]]:
    """Return by map the queries, always among those of the yardstick, and the runs."""
    maps, wanted, runs = sample(contender, case, quick)
    _, most, _ = sample("yardstick", case, quick)
    plan = {}
    for problem in problems(case, maps):
        all_queries = spread(len(problem.queries), most)
        plan[problem.name] = (all_queries[spread(len(all_queries), wanted)].tolist(), runs)
    if len(maps) < len(MAPS) and needs_movingai(case):
        say(f"{case}: {contender} is sampled: {len(maps)} of {len(MAPS)} maps")
    if wanted < most:
        say(f"{case}: {contender} is sampled: {wanted} of {most} queries a map")
    return plan


def run_process(
    contender: str, race: Race, paths: list[str], others: list[str], quick: bool
) -> None:
    """Time a contender in a process of its own."""
    plan = {"paths": {case: plan_of(contender, case, quick) for case in paths}, "others": others}
    with tempfile.TemporaryDirectory(prefix="navserver-bench-") as folder:
        plan_file, out_file = Path(folder) / "plan.json", Path(folder) / "out.json"
        plan_file.write_text(json.dumps(plan), encoding="utf-8")
        command = [sys.executable, "-m", "benchmarks.search_process", contender]
        command += ["--plan", str(plan_file), "--out", str(out_file)]
        done = subprocess.run(
            command + ["--quick"] * quick, cwd=dev.CHECKOUT, stdout=subprocess.DEVNULL, check=False
        )
        if done.returncode != 0:
            race.fault(f"{contender} ended with exit code {done.returncode}: it has no figures")
            return
        result = json.loads(out_file.read_text(encoding="utf-8"))
    for case, maps in result["paths"].items():
        race.times[case, contender] = maps
    race.rows += [Row(*row) for row in result["rows"]]


def run_in_godot(program: Path, contender: str, race: Race, paths: list[str], quick: bool) -> None:
    """Time AStarGrid2D, in a Godot process of its own for each number of runs."""
    cases: dict[int, list[GodotCase]] = {}
    places: dict[int, list[tuple[str, str, list[int]]]] = {}
    for case in paths:
        plan = plan_of(contender, case, quick)
        for problem in problems(case, list(plan)):
            chosen, runs = plan[problem.name]
            costs = None if problem.costs is None else problem.costs.astype(np.float32)
            queries = problem.queries[chosen]
            name = f"{case} {problem.name}"
            cases.setdefault(runs, []).append(GodotCase(name, problem.blocked, queries, costs))
            places.setdefault(runs, []).append((case, problem.name, chosen))
    for runs, same in cases.items():
        try:
            times = run_godot(program, same, contender == "godot_jumping", runs=runs)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            race.fault(f"{contender} has no figures: {error}")
            return
        for (case, name, chosen), found in zip(places[runs], times, strict=True):
            race.times.setdefault((case, contender), {})[name] = {
                "queries": chosen,
                "us": found.microseconds.tolist(),
                "costs": found.costs.tolist(),
                "expanded": [None] * len(chosen),
                "own_optima": None,
            }


def optima_of(race: Race, case: str) -> dict[str, dict[int, float]]:
    """Return the least cost by map and query: the yardstick's, if it keeps to published ones."""
    yardstick = race.times[case, "yardstick"]
    found: dict[str, dict[int, float]] = {}
    for problem in problems(case, list(yardstick)):
        part = yardstick[problem.name]
        found[problem.name] = dict(zip(part["queries"], part["costs"], strict=True))
        check_published(race, case, problem, found[problem.name])
    return found


def check_published(race: Race, case: str, problem: Problem, costs: dict[int, float]) -> None:
    for query, cost in costs.items():
        optimum = float(problem.optima[query])
        if not math.isnan(optimum) and not abs(cost - optimum) <= problem.tolerance:
            race.fault(
                f"VOID: {case}: the yardstick's cost on {problem.name} query {query} is {cost}, "
                f"published is {optimum}"
            )


def wrong_costs(
    contender: str, maps: dict[str, dict[str, Any]], optima: dict[str, dict[int, float]]
) -> list[str]:
    """Return a line for each cost that is not the optimum."""
    tolerance = FLOAT32_TOLERANCE if contender in FLOAT32 else TOLERANCE
    wrong = []
    for name, part in maps.items():
        for i, query in enumerate(part["queries"]):
            expected = part["own_optima"][i] if part["own_optima"] else optima[name][query]
            if not math.isclose(part["costs"][i], expected, rel_tol=tolerance):
                wrong.append(f"{name} query {query}: {part['costs'][i]} instead of {expected}")
    return wrong


def rows_of(race: Race, case: str, contender: str) -> list[Row]:
    """Return the figures of one contender in one case."""
    maps = race.times[case, contender]
    yardstick = race.times[case, "yardstick"]
    times, ratios, expansions = [], [], []
    for name, part in maps.items():
        times.append(fmean(part["us"]))
        theirs = dict(zip(yardstick[name]["queries"], yardstick[name]["us"], strict=True))
        ratios.append(fmean(theirs[query] for query in part["queries"]) / times[-1])
        if None not in part["expanded"] and sum(part["expanded"]) > 0:
            expansions.append(1e3 * sum(part["us"]) / sum(part["expanded"]))
    rows = [Row(case, contender, "us_per_query", geometric_mean(times), "us")]
    if expansions:
        rows.append(Row(case, contender, "ns_per_expanded", geometric_mean(expansions), "ns"))
    rows.append(Row(case, contender, "ratio_to_yardstick", geometric_mean(ratios), "times as fast"))
    return rows


def judge(race: Race, case: str) -> list[Row]:
    """Return the figures of a case over paths, without those of wrong costs."""
    if (case, "yardstick") not in race.times:
        return []
    optima = optima_of(race, case)
    rows = []
    for contender in RACERS[case]:
        if (case, contender) not in race.times:
            continue
        wrong = wrong_costs(contender, race.times[case, contender], optima)
        if wrong:
            race.fault(f"VOID: {case}: {contender} has {len(wrong)} wrong costs, as {wrong[0]}")
            continue
        rows += rows_of(race, case, contender)
    for row in rows:
        fair = FAIR[0] <= row.value <= FAIR[1]
        if row[:3] == ("w1", "godot", "ratio_to_yardstick") and not fair:
            race.fault(
                f"VOID: Godot without jumping is {row.value:.2f} times as fast as the yardstick on "
                f"w1, expected {FAIR[0]} to {FAIR[1]}: the machine was disturbed, or the yardstick "
                "is no fair one here; run it again"
            )
    return rows


def available(contenders: Sequence[str]) -> tuple[list[str], Path | None]:
    """Return the contenders that are there, and Godot's program; say what is left out."""
    kept = []
    program = None
    for contender in contenders:
        module = NEEDED_MODULES.get(contender)
        if module and importlib.util.find_spec(module) is None:
            needs = ", which needs a C++ compiler" if contender == "pyastar2d" else ""
            say(f"{contender} is left out: it is not installed (pip install {contender}{needs})")
            continue
        if contender in GODOT and program is None:
            program = dev.find_godot().path
            if program is None:
                say(
                    f"{contender} is left out: no Godot {dev.GODOT_WANTED} or newer; set GODOT to "
                    "one, or run `python3 dev.py godot`"
                )
                continue
        kept.append(contender)
    return kept, program


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench_search", description="Race path searches."
    )
    parser.add_argument("--quick", action="store_true", help="fewer queries, ends within 40 s")
    parser.add_argument("--json", action="store_true", help="an array of rows on stdout")
    parser.add_argument(
        "--case", action="append", choices=list(RACERS), help="may be given again; default: all"
    )
    parser.add_argument(
        "--contender",
        action="append",
        choices=CONTENDERS,
        help="may be given again; default: all; the yardstick always runs",
    )
    options = parser.parse_args(arguments)
    cases = options.case or list(RACERS)
    if movingai_folder() is None:
        left_out = [case for case in cases if case in NEEDS_MOVINGAI]
        if left_out:
            say(f"{', '.join(left_out)} left out: no MovingAI maps; set {VARIABLE} to their folder")
        cases = [case for case in cases if case not in NEEDS_MOVINGAI]
    wanted = [
        contender
        for contender in CONTENDERS
        if contender == "yardstick" or not options.contender or contender in options.contender
    ]
    wanted = [contender for contender in wanted if any(contender in RACERS[case] for case in cases)]
    contenders, program = available(wanted)
    if options.quick:
        say("quick: 4 instead of about 200 queries a map, so the figures are rough")
    race = Race()
    for contender in contenders:
        paths = [case for case in cases if case in CASES and contender in RACERS[case]]
        others = [case for case in cases if case in OTHER_CASES and contender in RACERS[case]]
        if contender in GODOT:
            assert program is not None
            run_in_godot(program, contender, race, paths, options.quick)
        elif paths or others:
            run_process(contender, race, paths, others, options.quick)
    rows = []
    for case in cases:
        if case in CASES:
            rows += judge(race, case)
        else:
            rows += [row for row in race.rows if row.case == case]
    print_rows("Path searches" + ", quick" * options.quick, rows, options.json)
    return 1 if race.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
