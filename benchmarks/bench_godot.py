"""The addon in a running game: ``python -m benchmarks.bench_godot [--quick] [--json]``.

One Godot process for each contender: ``off`` (the same scene without the addon), ``fallback``
(AStarGrid2D answers) and ``sidecar``. Where ``DISPLAY`` names one, frames are drawn into a window;
else Godot runs without a renderer. Frames are 60 a second; their intervals are taken by the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import dev
from benchmarks.rows import Row, print_rows, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
SCRIPTS = Path(__file__).parent / "godot"
CONTENDERS = ("off", "fallback", "sidecar")
TIMEOUT_SECONDS = 900.0
# The longest name first: load_512 is a case and a part of its metrics' names.
CASES = ("load_512", "order_500", "killed", "click", "edit", "still", "agent")
CROWD = "crowd_2000"


@contextmanager
def sidecar(folder: Path) -> Iterator[Path]:
    """Connection file of a sidecar that runs meanwhile, everything compiled."""
    file = folder / "connection.json"
    subprocess.run([sys.executable, "-m", "navserver", "warmup"], cwd=CHECKOUT, check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-m", "navserver", "serve", "--stdin-eof", "--connection-file", str(file)],
        cwd=CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            assert server.stdout is not None
            if not server.stdout.readline():
                raise RuntimeError("the sidecar did not start: run `navserver serve` to see why")
            yield file
        finally:
            server.kill()


def run_godot(program: Path, script: str, contender: str, quick: bool) -> dict[str, Any]:
    """What a script of the folder godot has found out; a contender's metrics by name."""
    with tempfile.TemporaryDirectory(prefix="navserver-godot-") as parent:
        folder = Path(parent) / "project"
        ignored = shutil.ignore_patterns(".godot", "tests", "demo")
        shutil.copytree(CHECKOUT / "godot_addon", folder, ignore=ignored)
        shutil.copy(SCRIPTS / script, folder)
        results = folder / "results.json"
        command = [str(program), "--path", str(folder)]
        if not os.environ.get("DISPLAY"):
            command.append("--headless")
        subprocess.run([*command, "--import"], stdout=subprocess.DEVNULL, check=True,
                       stderr=subprocess.DEVNULL, timeout=TIMEOUT_SECONDS)  # fmt: skip
        arguments = [f"contender={contender}", f"results={results}", *["quick=1"] * quick]
        command += ["-s", f"res://{script}", "--", *arguments]
        if contender == "sidecar":
            with sidecar(Path(parent)) as file:
                done = run([*command, f"file={file}"])
        else:
            done = run(command)
        if not results.exists():
            raise RuntimeError(f"Godot ended with exit code {done.returncode}:\n{done.stdout}")
        return dict(json.loads(results.read_text(encoding="utf-8")))


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def rows_of(contender: str, metrics: dict[str, float]) -> list[Row]:
    """The metrics as rows; a name is a case, what is measured, and a unit."""
    rows = []
    for name, value in metrics.items():
        case = next(case for case in CASES if case in name)
        rows.append(Row(case, contender, name.removeprefix(f"{case}_"), value, unit_of(name)))
    return rows


def unit_of(metric: str) -> str:
    """The unit that the name of a metric ends with."""
    return next((unit for unit in ("ms", "us", "frames") if metric.endswith(f"_{unit}")), "")


def crowd_rows(program: Path, quick: bool) -> list[Row]:
    """2,000 units, ours and the engine's, and the scene without any, in one process."""
    found = run_godot(program, "bench_crowd.gd", "sidecar", quick)
    return [
        Row(CROWD, contender, metric, value, unit_of(metric))
        for contender, metrics in found.items()
        for metric, value in metrics.items()
    ]


def main(arguments: Sequence[str]) -> int:
    """Run the contenders one after the other; 1 if there is no Godot."""
    parser = argparse.ArgumentParser(prog="bench_godot", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer trials, rougher figures")
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    parser.add_argument("--contender", action="append", choices=CONTENDERS, metavar="NAME")
    parser.add_argument("--crowd-only", action="store_true", help=f"{CROWD} and nothing else")
    options = parser.parse_args(arguments)
    search = dev.find_godot()
    if search.path is None:
        say("no Godot: run `python3 dev.py godot`, or set GODOT")
        return 1
    rows: list[Row] = []
    for contender in [] if options.crowd_only else options.contender or CONTENDERS:
        found = run_godot(search.path, "bench_addon.gd", contender, options.quick)
        rows += rows_of(contender, found)
    rows.sort(key=lambda row: CASES.index(row.case))
    if options.crowd_only or not options.contender:
        rows += crowd_rows(search.path, options.quick)
    drawn = "drawn" if os.environ.get("DISPLAY") else "without a renderer"
    print_rows(f"The addon in a game, {drawn}{', quick' * options.quick}", rows, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
