"""Drives the path preview by real mouse events.

``python -m tests.godot_addon.preview_tour [FOLDER]``: a real editor opens the demo under a virtual
display; markers are dragged, a wall is painted with the tile brush and undone, layers are switched,
the search is played back, pairs are added and removed, a case file is saved by the dialog and
replayed. After each step what the editor shows is written to FOLDER (default: a new one) as a small
PNG; what must hold is checked on the way. The pictures of docs/images/preview are some of them.
Needs Xvfb, xdotool and Pillow.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageGrab

import dev
from benchmarks.rows import say
from navserver.cli import main as navserver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHECKOUT = Path(__file__).resolve().parent.parent.parent
PLACES = Path(__file__).parent / "places"
SCENE = "res://demo/01_click_to_move/click_to_move.tscn"
SCREEN = (1600, 1000)
PATIENCE = 300.0
# Of the picture: what of the screen, and how wide it becomes.
CUT, WIDTH = (290, 40, 1600, 1000), 900

Place = tuple[float, float]


class Screen:
    """The editor's window, used with a mouse, and what the editor tells of it."""

    def __init__(self, display: str, project: Path, pictures: Path) -> None:
        self.display = display
        self.project = project
        self.pictures = pictures

    # What is there.

    def told(self) -> dict[str, Any]:
        """What the editor tells now."""
        file = self.project / ".godot" / "places.json"
        return dict(json.loads(file.read_bytes())) if file.exists() else {}

    def wait(self, condition: Callable[[dict[str, Any]], object], what: str) -> dict[str, Any]:
        """What the editor tells once a condition holds, some frames after this call."""
        first = self.told().get("frame", 0)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            told = self.told()
            if told and told["frame"] > first + 6 and condition(told):
                return told
            time.sleep(0.1)
        raise RuntimeError(f"no {what}: {self.told()}")

    def settle(self) -> dict[str, Any]:
        """What the editor tells once everything that was asked is answered and drawn."""
        self.wait(lambda told: told.get("settled"), "answer")
        return self.wait(lambda told: told.get("settled"), "answer")

    def rect(self, name: str) -> list[float]:
        told = self.wait(lambda told: told["places"].get(name), name)
        return list(told["places"][name])

    def middle(self, name: str) -> Place:
        x, y, width, height = self.rect(name)
        return x + width / 2, y + height / 2

    def cell(self, x: float, y: float) -> Place:
        """Where the centre of a cell is."""
        told = self.wait(lambda told: told.get("cells"), "cells")
        (ox, oy), (ax, ay), (bx, by) = told["cells"]
        return ox + x * (ax - ox) + y * (bx - ox), oy + x * (ay - oy) + y * (by - oy)

    # What is done.

    def run(self, *command: str) -> None:
        environment = {**os.environ, "DISPLAY": self.display}
        subprocess.run(["xdotool", *command], env=environment, check=True)

    def move(self, place: Place) -> None:
        self.run("mousemove", *(str(round(part)) for part in place))

    def click(self, place: Place | str, button: int = 1) -> None:
        self.move(self.middle(place) if isinstance(place, str) else place)
        # A button that has not seen the mouse come does not take the click.
        self.wait(lambda _: True, "frame")
        self.run("click", str(button))
        self.wait(lambda _: True, "frame")

    def drag(self, *places: Place, until: str = "") -> None:
        """Drag along places; a name takes a picture before the button is let go."""
        self.move(places[0])
        self.wait(lambda _: True, "frame")
        self.run("mousedown", "1")
        for (ax, ay), (bx, by) in itertools.pairwise(places):
            for step in range(1, 9):
                self.move((ax + (bx - ax) * step / 8, ay + (by - ay) * step / 8))
                time.sleep(0.05)
        self.settle()
        if until:
            self.shoot(until)
        self.run("mouseup", "1")
        self.settle()

    def choose(self, options: str, entry: int) -> None:
        """Choose an entry of a list."""
        self.click(options)
        told = self.wait(lambda told: told.get("popup"), "list")
        x, y, width, height = told["popup"]
        self.click((x + width / 2, y + (entry + 0.5) * height / told["entries"]))
        self.wait(lambda told: "popup" not in told, "end of the list")

    def key(self, name: str) -> None:
        self.run("key", name)
        self.wait(lambda _: True, "frame")

    def save(self, entry: int, path: Path) -> None:
        """Save a file by the dialog that an entry of the menu opens."""
        self.choose("save", entry)
        self.wait(lambda told: told.get("dialogs"), "dialog")
        self.key("ctrl+a")
        self.run("type", str(path))
        self.key("Return")
        self.wait(lambda told: not told.get("dialogs") and path.exists(), "file")

    def shoot(self, name: str) -> None:
        """Write what is on the display, small."""
        picture = ImageGrab.grab(xdisplay=self.display).crop(CUT)
        picture = picture.resize((WIDTH, WIDTH * picture.height // picture.width))
        path = self.pictures / f"{name}.png"
        picture.quantize(128, Image.Quantize.FASTOCTREE).save(path, optimize=True)
        say(f"{path} {path.stat().st_size:,} bytes")


def make_project(program: Path, folder: Path) -> None:
    """The demos with the addon, a sidecar to find, and what tells where things are."""
    ignored = shutil.ignore_patterns(".godot", "tests")
    shutil.copytree(CHECKOUT / "godot_addon", folder, ignore=ignored)
    shutil.copytree(PLACES, folder / "addons" / "places")
    settings = folder / "project.godot"
    text = settings.read_text(encoding="utf-8")
    first = '"res://addons/navserver/plugin.cfg"'
    assert first in text
    text = text.replace(first, f'{first}, "res://addons/places/plugin.cfg"')
    settings.write_text(text, encoding="utf-8")
    sidecar = folder / ".venv" / "bin" / "navserver"
    sidecar.parent.mkdir(parents=True)
    sidecar.write_text(
        f'#!/bin/sh\nPYTHONPATH="{CHECKOUT}" exec "{sys.executable}" -m navserver "$@"\n'
    )
    sidecar.chmod(0o755)
    imported = subprocess.run([str(program), "--path", str(folder), "--headless", "--import"],
                              check=True, capture_output=True, text=True)  # fmt: skip
    if "ERROR" in imported.stderr:
        raise RuntimeError(imported.stderr)


@contextmanager
def editor(program: Path, display: str, folder: Path, scene: str) -> Iterator[None]:
    """An editor with a scene open on a display of its own."""
    subprocess.run([sys.executable, "-m", "navserver", "warmup"], cwd=CHECKOUT, check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    size = "x".join(map(str, SCREEN))
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    screen = subprocess.Popen(["Xvfb", display, "-screen", "0", f"{size}x24"], **silent)
    environment = {**os.environ, "DISPLAY": display, "LIBGL_ALWAYS_SOFTWARE": "1"}
    command = [str(program), "--path", str(folder), "-e", "--rendering-driver", "opengl3"]
    command += ["--audio-driver", "Dummy", "--resolution", size, scene]
    try:
        time.sleep(1.0)
        running = subprocess.Popen(command, env=environment, **silent)
        try:
            yield
        finally:
            running.kill()
            running.wait()
    finally:
        screen.kill()
        screen.wait()


def show_search(screen: Screen) -> None:
    """What a search did: by order, played back, by cost."""
    screen.choose("search", 1)
    screen.settle()
    screen.shoot("order")
    x, y, width, height = screen.rect("scrub")
    end, middle = (x + width - 6, y + height / 2), (x + 0.45 * width, y + height / 2)
    screen.drag(end, middle)
    screen.shoot("scrubbed")
    screen.drag(middle, (end[0] + 40, end[1]))
    screen.choose("search", 2)
    screen.settle()
    screen.shoot("cost-from-start")
    screen.choose("search", 0)


def show_map(screen: Screen) -> None:
    """What is known of every cell."""
    for entry, name in enumerate(("cell-costs", "clearance", "islands"), start=1):
        screen.choose("map", entry)
        screen.move(screen.cell(17, 8))
        screen.settle()
        screen.shoot(name)
    screen.choose("map", 0)


def show_pairs(screen: Screen) -> None:
    """Several pairs, as steps of the scene's history."""
    before = screen.settle()["pairs"]
    screen.click("add")
    added = screen.settle()["pairs"]
    assert added.startswith(before[:-1]), added
    assert added != before
    screen.shoot("pairs")
    screen.move(screen.cell(15, 8))
    screen.key("ctrl+z")
    assert screen.settle()["pairs"] == before
    screen.key("ctrl+shift+z")
    assert screen.settle()["pairs"] == added
    screen.choose("pairs", 1)
    screen.click("remove")
    assert screen.settle()["pairs"] == before


def show_painting(screen: Screen) -> None:
    """A wall painted across the path with the tile brush, and undone."""
    screen.click("node Ground")
    # The second of three tiles in a row.
    screen.click("palette")
    before = screen.settle()["answer"]
    screen.drag(screen.cell(18, 5), screen.cell(18, 1), until="painting")
    painted = screen.settle()
    assert "No way to the goal" in painted["answer"], painted["answer"]
    assert "Last edit" in painted["change"]
    screen.shoot("walled")
    screen.key("ctrl+z")
    undone = screen.settle()["answer"]
    assert undone.splitlines()[:2] == before.splitlines()[:2], undone
    screen.shoot("undone")


def save_and_replay(screen: Screen) -> None:
    """The case file of the chosen pair finds the same path without the editor."""
    answer = screen.settle()["answer"]
    case = screen.project / "bug.json"
    screen.save(1, case)
    screen.save(0, screen.project / "bug.png")
    kept = json.loads(case.read_text(encoding="utf-8"))
    assert navserver(["path", "--case", str(case), "--json"]) == 0
    screen.shoot("saved")
    assert f"Cost {kept['result']['cost']:.2f}".rstrip("0").rstrip(".") in answer, answer


def tour(screen: Screen) -> None:
    """Show what the preview can do, step by step."""
    # An editor that is still opening its scene loses clicks.
    screen.wait(lambda told: told["frame"] > 150, "editor")
    screen.click("button")
    screen.settle()
    screen.shoot("shown")
    screen.drag(screen.cell(24, 10), screen.cell(22, 4), screen.cell(24, 11), until="dragging")
    screen.drag(screen.cell(12, 10), screen.cell(13, 14), screen.cell(12, 11))
    show_search(screen)
    show_map(screen)
    show_pairs(screen)
    show_painting(screen)
    save_and_replay(screen)


def main(arguments: list[str]) -> int:
    """Take the pictures; 1 if something to take them with is missing."""
    folder = Path(arguments[0] if arguments else tempfile.mkdtemp(prefix="navserver-pictures-"))
    program = dev.find_godot().path
    missing = [name for name in ("Xvfb", "xdotool") if shutil.which(name) is None]
    if program is None or missing:
        say(f"missing: {', '.join(missing) or 'Godot, see python3 dev.py godot'}")
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    display = f":{90 + os.getpid() % 100}"
    with tempfile.TemporaryDirectory(prefix="navserver-tour-") as parent:
        project = Path(parent) / "project"
        make_project(program, project)
        with editor(program, display, project, SCENE):
            tour(Screen(display, project, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
