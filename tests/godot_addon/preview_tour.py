"""Drives the path preview by real mouse events.

``python -m tests.godot_addon.preview_tour [FOLDER]``: a real editor opens the demo under a virtual
display; markers are dragged, a wall is painted with the tile brush and undone, layers are switched,
the search is played back. After each step what the editor shows is written to FOLDER (default:
docs/images/preview) as a small PNG. Needs Xvfb, xdotool and ImageMagick's ``import``. The places
are those of an editor in its first layout at 1600 x 1000.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import dev
from benchmarks.rows import say

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKOUT = Path(__file__).resolve().parent.parent.parent
SCENE = "res://demo/01_click_to_move/click_to_move.tscn"
CONNECTION = Path(".godot", "editor", "navserver_connection.json")
SCREEN = (1600, 1000)
SHOW_BUTTON, DOCK_TAB = (953, 96), (1472, 537)
SEARCH, MAP = (1513, 680), (1513, 716)
# Below either list, its entries.
FIRST_ENTRY, ENTRY_HEIGHT = 37, 23
PLAY, SLIDER_LEFT, SLIDER_RIGHT = (1340, 758), 1380, 1565
GROUND, WALL_TILE = (88, 158), (832, 892)
# The scene's origin at 100 percent.
ORIGIN, CELL = (452, 227), 32


class Mouse:
    """A mouse on the virtual display."""

    def __init__(self, display: str, folder: Path) -> None:
        self.environment = {**os.environ, "DISPLAY": display}
        self.folder = folder

    def run(self, *command: str) -> None:
        subprocess.run(command, env=self.environment, check=True, stdout=subprocess.DEVNULL)

    def click(self, place: tuple[int, int], wait: float = 1.0) -> None:
        self.run("xdotool", "mousemove", *map(str, place), "click", "1")
        time.sleep(wait)

    def drag(self, *places: tuple[int, int], until: str = "") -> None:
        """Drag along places; a name takes a picture before the button is let go."""
        self.run("xdotool", "mousemove", *map(str, places[0]), "mousedown", "1")
        for before, place in itertools.pairwise(places):
            for step in range(1, 9):
                at = [a + (b - a) * step // 8 for a, b in zip(before, place, strict=True)]
                self.run("xdotool", "mousemove", *map(str, at))
                time.sleep(0.05)
        time.sleep(1.0)
        if until:
            self.shoot(until)
        self.run("xdotool", "mouseup", "1")
        time.sleep(1.0)

    def choose(self, options: tuple[int, int], entry: int) -> None:
        self.click(options)
        self.click((options[0] - 33, options[1] + FIRST_ENTRY + ENTRY_HEIGHT * entry))

    def key(self, name: str) -> None:
        self.run("xdotool", "key", name)
        time.sleep(1.5)

    def shoot(self, name: str) -> None:
        """Write what is on the display, small."""
        path = self.folder / f"{name}.png"
        self.run("import", "-window", "root", "-crop", "1310x860+290+100", "+repage", "-resize",
                 "900x", "+dither", "-colors", "64", str(path))  # fmt: skip
        say(f"{path} {path.stat().st_size:,} bytes")


def at(x: float, y: float) -> tuple[int, int]:
    """Where the centre of a cell is on the display."""
    return round(ORIGIN[0] + (x + 0.5) * CELL), round(ORIGIN[1] + (y + 0.5) * CELL)


@contextmanager
def editor(program: Path, display: str) -> Iterator[None]:
    """An editor with the demo open and a sidecar that has compiled everything."""
    with tempfile.TemporaryDirectory(prefix="navserver-tour-") as parent:
        folder = Path(parent) / "project"
        ignored = shutil.ignore_patterns(".godot", "tests")
        shutil.copytree(CHECKOUT / "godot_addon", folder, ignore=ignored)
        sidecar = folder / ".venv" / "bin" / "navserver"
        sidecar.parent.mkdir(parents=True)
        sidecar.write_text(
            f'#!/bin/sh\nPYTHONPATH="{CHECKOUT}" exec "{sys.executable}" -m navserver "$@"\n'
        )
        sidecar.chmod(0o755)
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([sys.executable, "-m", "navserver", "warmup"], cwd=CHECKOUT, check=True,
                       **silent)  # fmt: skip
        godot = [str(program), "--path", str(folder)]
        subprocess.run([*godot, "--headless", "--import"], check=True, **silent)
        size = "x".join(map(str, SCREEN))
        screen = [f"{display}", "-screen", "0", f"{size}x24"]
        environment = {**os.environ, "DISPLAY": display, "LIBGL_ALWAYS_SOFTWARE": "1"}
        with (
            subprocess.Popen(["Xvfb", *screen], **silent) as server,
            subprocess.Popen(
                [*godot, "-e", "--rendering-driver", "opengl3", "--audio-driver", "Dummy",
                 "--resolution", size, SCENE],
                env=environment,
                **silent,
            ) as running,
        ):  # fmt: skip
            try:
                while not (folder / CONNECTION).exists():
                    time.sleep(1.0)
                time.sleep(20.0)
                yield
            finally:
                running.kill()
                server.kill()


def tour(mouse: Mouse) -> None:
    """Show what the preview can do, step by step."""
    mouse.click(SHOW_BUTTON)
    mouse.click(DOCK_TAB, 3.0)
    mouse.drag(at(24, 10), at(22, 4), at(24, 11), until="dragging")
    mouse.drag(at(12, 10), at(13, 14), at(12, 11))
    mouse.choose(SEARCH, 1)
    mouse.shoot("order")
    middle = round(SLIDER_LEFT + 0.45 * (SLIDER_RIGHT - SLIDER_LEFT))
    mouse.drag((SLIDER_RIGHT, PLAY[1]), (middle, PLAY[1]))
    mouse.shoot("scrubbed")
    mouse.drag((middle, PLAY[1]), (SLIDER_RIGHT + 20, PLAY[1]))
    mouse.choose(SEARCH, 2)
    mouse.shoot("cost-from-start")
    mouse.choose(SEARCH, 0)
    for entry, name in enumerate(("cell-costs", "clearance", "islands"), start=1):
        mouse.choose(MAP, entry)
        mouse.shoot(name)
    mouse.choose(MAP, 0)
    mouse.click(GROUND, 2.0)
    mouse.click(WALL_TILE)
    mouse.drag(at(18, 5), at(18, 1), until="painting")
    mouse.shoot("walled")
    mouse.key("ctrl+z")
    mouse.shoot("undone")


def main(arguments: list[str]) -> int:
    """Take the pictures; 1 if something to take them with is missing."""
    folder = Path(arguments[0]) if arguments else CHECKOUT / "docs" / "images" / "preview"
    program = dev.find_godot().path
    missing = [name for name in ("Xvfb", "xdotool", "import") if shutil.which(name) is None]
    if program is None or missing:
        say(f"missing: {', '.join(missing) or 'Godot, see python3 dev.py godot'}")
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    display = f":{90 + os.getpid() % 100}"
    with editor(program, display):
        tour(Mouse(display, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
