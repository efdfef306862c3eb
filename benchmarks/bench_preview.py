"""The path preview in a real editor: ``python -m benchmarks.bench_preview [--quick] [--json]``.

One editor with a map of 512 x 512 cells: frames a second without and with the preview, answers
drawn a second while a marker is dragged, with the path alone and with what the search did, and how
soon the path of an edited map is there. ``--window`` says how large the editor's window is. It is
drawn on the display that ``DISPLAY`` names, else on a virtual one where there is Xvfb, else not at
all.
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
from typing import TYPE_CHECKING, Any

import dev
from benchmarks.rows import Row, print_rows, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CHECKOUT = Path(__file__).resolve().parent.parent
PROBE = Path(__file__).parent / "godot" / "preview_probe"
DEMO = CHECKOUT / "godot_addon" / "demo" / "01_click_to_move"
TIMEOUT_SECONDS = 600.0


def make_project(folder: Path) -> None:
    """A project with the addon, the probe, and a sidecar to find."""
    ignored = shutil.ignore_patterns("*.uid")
    shutil.copytree(CHECKOUT / "godot_addon" / "addons", folder / "addons", ignore=ignored)
    shutil.copytree(PROBE, folder / "addons" / "preview_probe")
    tiles = (DEMO / "tiles.tres").read_text(encoding="utf-8")
    (folder / "tiles.tres").write_text(tiles.replace("res://demo/01_click_to_move/", "res://"))
    shutil.copy(DEMO / "tiles.svg", folder)
    plugins = ", ".join(
        f'"res://addons/{name}/plugin.cfg"' for name in ("navserver", "preview_probe")
    )
    (folder / "project.godot").write_text(
        'config_version=5\n\n[application]\n\nconfig/name="preview"\n\n[editor_plugins]\n\n'
        f"enabled=PackedStringArray({plugins})\n\n[rendering]\n\n"
        'renderer/rendering_method="gl_compatibility"\n',
        encoding="utf-8",
    )
    program = folder / ".venv" / "bin" / "navserver"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{CHECKOUT}" exec "{sys.executable}" -m navserver "$@"\n',
        encoding="utf-8",
    )
    program.chmod(0o755)


@contextmanager
def display(window: str) -> Iterator[str]:
    """The name of a display to draw on; empty if there is none."""
    name = os.environ.get("DISPLAY", "")
    if name or shutil.which("Xvfb") is None:
        yield name
        return
    # It chooses a free number and writes it down once it can be used.
    reading, writing = os.pipe()
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{window}x24"]
    running = subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        with os.fdopen(reading) as told:
            yield f":{told.readline().strip()}"
    finally:
        running.terminate()
        running.wait()


def run_editor(program: Path, quick: bool, window: str, shown: str) -> dict[str, float]:
    """What the probe measured, by name, on a display or none."""
    subprocess.run([sys.executable, "-m", "navserver", "warmup"], cwd=CHECKOUT, check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="navserver-preview-") as parent:
        folder = Path(parent) / "project"
        make_project(folder)
        results = folder / "results.json"
        command = [str(program), "--path", str(folder)]
        if shown:
            command += ["--rendering-driver", "opengl3", "--audio-driver", "Dummy"]
            command += ["--resolution", window]
        else:
            command.append("--headless")
        told: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
            "text": True,
            "errors": "replace",
            "timeout": TIMEOUT_SECONDS,
        }
        imported = subprocess.run([str(program), "--headless", "--path", str(folder), "--import"],
                                  check=False, **told)  # fmt: skip
        # A probe that does not compile would never end the editor.
        if "SCRIPT ERROR" in imported.stdout:
            raise RuntimeError(imported.stdout)
        done = subprocess.run(
            [*command, "-e"],
            check=False,
            env={
                **os.environ,
                "DISPLAY": shown,
                "PROBE_RESULTS": str(results),
                "PROBE_QUICK": "1" * quick,
            },
            **told,
        )
        if not results.exists():
            raise RuntimeError(f"the editor ended with exit code {done.returncode}:\n{done.stdout}")
        return dict(json.loads(results.read_text(encoding="utf-8")))


def rows_of(metrics: dict[str, float]) -> list[Row]:
    """The metrics as rows."""
    rows = []
    for name, value in metrics.items():
        units = ("ms", "per_s", "pixels")
        unit = next((unit for unit in units if name.endswith(f"_{unit}")), "")
        case = name.split("_")[0]
        rows.append(Row(case, "editor", name.removeprefix(f"{case}_"), value, unit))
    return rows


def main(arguments: Sequence[str]) -> int:
    """Measure; 1 if there is no Godot."""
    parser = argparse.ArgumentParser(prog="bench_preview", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter trials, rougher figures")
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    parser.add_argument("--window", default="1024x700", metavar="WIDTHxHEIGHT",
                        help="size of the editor's window (default: %(default)s)")  # fmt: skip
    options = parser.parse_args(arguments)
    search = dev.find_godot()
    if search.path is None:
        say("no Godot: run `python3 dev.py godot`, or set GODOT")
        return 1
    with display(options.window) as shown:
        rows = rows_of(run_editor(search.path, options.quick, options.window, shown))
    drawn = f"drawn into {options.window} pixels" if shown else "without a renderer"
    title = f"The path preview on 512 x 512 cells, one in five solid, {drawn}"
    print_rows(f"{title}{', quick' * options.quick}", rows, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
