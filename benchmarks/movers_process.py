"""Runs cases of bench_movers for one contender, in a process of its own."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.orca_cases import ORCA_CASES
from benchmarks.walk_cases import WALK_CASES

MOVER_CASES = {**WALK_CASES, **ORCA_CASES}
"""By case and contender: a call ``(contender, quick)`` that returns rows."""


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("contender")
    parser.add_argument("--case", action="append", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    rows = []
    for case in options.case:
        rows += MOVER_CASES[case][options.contender](options.contender, options.quick)
    options.out.write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
