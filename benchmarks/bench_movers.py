"""Steps of movers raced: ``python -m benchmarks.bench_movers [--quick] [--json]``."""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import dev
from benchmarks.movers_process import MOVER_CASES
from benchmarks.rows import Row, print_rows, say, unique

CONTENDERS = unique(contender for racers in MOVER_CASES.values() for contender in racers)
NEEDED_MODULES = {"pyrvo": "pyrvo"}


def run_process(contender: str, cases: list[str], quick: bool) -> list[Row] | None:
    """Return the rows of one contender, None if it broke down."""
    with tempfile.TemporaryDirectory(prefix="navserver-bench-") as folder:
        out = Path(folder) / "out.json"
        command = [sys.executable, "-m", "benchmarks.movers_process", contender, "--out", str(out)]
        for case in cases:
            command += ["--case", case]
        done = subprocess.run(
            command + ["--quick"] * quick, cwd=dev.CHECKOUT, stdout=subprocess.DEVNULL, check=False
        )
        if done.returncode != 0:
            say(f"{contender} ended with exit code {done.returncode}: it has no figures")
            return None
        return [Row(*row) for row in json.loads(out.read_text(encoding="utf-8"))]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench_movers", description="Race steps of many movers."
    )
    parser.add_argument("--quick", action="store_true", help="fewer steps: rough figures")
    parser.add_argument("--json", action="store_true", help="an array of rows on stdout")
    parser.add_argument(
        "--case",
        action="append",
        choices=list(MOVER_CASES),
        help="may be given again; default: all",
    )
    parser.add_argument(
        "--contender", action="append", choices=CONTENDERS, help="may be given again; default: all"
    )
    options = parser.parse_args(arguments)
    cases = options.case or list(MOVER_CASES)
    if options.quick:
        say("quick: fewer steps, so the figures are rough")
    rows, is_whole = [], True
    for contender in options.contender or CONTENDERS:
        own = [case for case in cases if contender in MOVER_CASES[case]]
        module = NEEDED_MODULES.get(contender)
        if own and module and importlib.util.find_spec(module) is None:
            say(f"{contender} is left out: it is not installed (pip install {contender})")
        elif own:
            found = run_process(contender, own, options.quick)
            is_whole &= found is not None
            rows += found or []
    ordered = [row for case in cases for row in rows if row.case == case]
    print_rows("Steps of movers" + ", quick" * options.quick, ordered, options.json)
    return 0 if is_whole else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
