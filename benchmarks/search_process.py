"""One contender of bench_search in a process of its own: ``python -m benchmarks.search_process``.

It times what it is told to and writes a JSON file; bench_search starts it and reads that.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import field_cases, problems, search_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.rows import Row

MODULES = {
    "yardstick": "yardstick",
    "navserver": "navserver",
    "heapq": "plain_heapq",
    "pathfinding": "pypi_pathfinding",
    "tcod": "libtcod",
    "scikit-image": "scikit_image",
    "pyastar2d": "py_astar_2d",
}

OTHER_CASES: dict[str, dict[str, Callable[[bool], list[Row]]]] = {
    "line_of_sight": {"navserver": search_cases.lines_of_sight},
    "after_search": {"navserver": search_cases.after_search},
    "weight_sweep": {"navserver": search_cases.weight_sweep},
    "memory": {"navserver": search_cases.memory},
    "batch": {"navserver": search_cases.batch},
    "query_overhead": {"navserver": search_cases.query_overhead},
    "edit_4096": {"navserver": search_cases.edit_4096},
    "flow_field": {
        "navserver": field_cases.navserver_fields,
        "tcod": field_cases.tcod_distances,
        "scipy": field_cases.scipy_distances,
    },
}


def time_paths(
    contender: str, problem: problems.Problem, chosen: Sequence[int], runs: int
) -> dict[str, Any]:
    """Return the median time of each chosen query, and what its path is worth."""
    module = importlib.import_module(f"benchmarks.contenders.{MODULES[contender]}")
    search = module.Search(problem.blocked, problem.costs, cut_corners=problem.cut_corners)
    queries = [tuple(problem.queries[i].tolist()) for i in chosen]
    own_optimum = getattr(search, "own_optimum", None)
    # The first call may compile, grow scratch and fault pages in.
    search.find_path(*queries[0])
    gc.collect()
    times: list[list[float]] = [[] for _ in queries]
    answers = []
    for run in range(runs):
        # One run after the other, so that a disturbance does not hit all times of one query.
        for i, query in enumerate(queries):
            begin = time.perf_counter_ns()
            path = search.find_path(*query)
            times[i].append((time.perf_counter_ns() - begin) / 1e3)
            if run == 0:
                answers.append(search.judge(path))
    return {
        "queries": [int(i) for i in chosen],
        "us": [statistics.median(each) for each in times],
        "costs": [answer.cost for answer in answers],
        "expanded": [answer.expanded for answer in answers],
        "own_optima": None if own_optimum is None else [own_optimum(*query) for query in queries],
    }


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("contender")
    parser.add_argument("--plan", type=Path, required=True, help="JSON: what to time")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    plan = json.loads(options.plan.read_text(encoding="utf-8"))
    result: dict[str, Any] = {"paths": {}, "rows": []}
    for case, parts in plan["paths"].items():
        made = problems.problems(case, list(parts))
        result["paths"][case] = {
            problem.name: time_paths(options.contender, problem, *parts[problem.name])
            for problem in made
        }
    for case in plan["others"]:
        result["rows"] += OTHER_CASES[case][options.contender](options.quick)
    options.out.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
