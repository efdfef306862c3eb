"""Takes the pictures of a game that is debugged.

``python -m tests.godot_addon.debugger_tour [FOLDER]``: a real editor under a virtual display plays
a game with a request that fails, and shows the debugger's tab; then the game runs by itself and
draws what its nodes do. Both pictures are written to FOLDER (default: docs/images). Needs Xvfb.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image, ImageGrab

import dev
from benchmarks.rows import say
from tests.godot_addon.conftest import CHECKOUT, make_sidecar_program
from tests.godot_addon.test_editor import make_project

SCREEN = (1600, 1000)
GAME = (960, 544)
DRAWING = ["--rendering-driver", "opengl3", "--audio-driver", "Dummy"]
PATIENCE = 180.0
# The game is shown inside the editor.
EMBEDDED = "[game_view]\n\nmake_floating_on_play=false\n"


def save(picture: Image.Image, path: Path) -> None:
    """Write a picture in few colors."""
    picture.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)
    say(f"{path} {path.stat().st_size:,} bytes")


def show_tab(godot: list[str], environment: dict[str, str], path: Path) -> None:
    """Play the game in the editor until the tab shows a failure."""
    resolution = "x".join(map(str, SCREEN))
    with subprocess.Popen(
        [*godot, "-e", *DRAWING, "--resolution", resolution],
        env={**environment, "PROBE": "show"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        assert running.stdout is not None
        try:
            for line in running.stdout:
                if "PROBE" in line:
                    say(line.rstrip())
                    break
            time.sleep(2.0)
            save(ImageGrab.grab((0, 0, *SCREEN), xdisplay=environment["DISPLAY"]), path)
        finally:
            running.kill()


def show_game(godot: list[str], environment: dict[str, str], path: Path) -> None:
    """Let the game run by itself until its crowd is on its way."""
    scene = "res://addons/probe/dungeon.tscn"
    subprocess.run(
        [*godot, *DRAWING, "--resolution", "x".join(map(str, GAME)), scene],
        env={**environment, "PICTURE": str(path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=PATIENCE,
        check=True,
    )
    save(Image.open(path), path)


def main(arguments: list[str]) -> int:
    """Take the pictures; 1 if something to take them with is missing."""
    folder = Path(arguments[0]) if arguments else CHECKOUT / "docs" / "images"
    program = dev.find_godot().path
    if program is None or shutil.which("Xvfb") is None:
        say("missing: Xvfb, or Godot, see python3 dev.py godot")
        return 1
    display = f":{90 + os.getpid() % 100}"
    environment = {**os.environ, "DISPLAY": display, "LIBGL_ALWAYS_SOFTWARE": "1"}
    size = "x".join(map(str, SCREEN))
    with tempfile.TemporaryDirectory(prefix="navserver-tour-") as parent:
        project = make_project(program, Path(parent) / "game", "navserver", "probe", autostart=True)
        make_sidecar_program(project.folder)
        metadata = project.folder / ".godot" / "editor" / "project_metadata.cfg"
        metadata.parent.mkdir(parents=True, exist_ok=True)
        metadata.write_text(EMBEDDED, encoding="utf-8")
        subprocess.run([sys.executable, "-m", "navserver", "warmup"], cwd=CHECKOUT, check=True)
        godot = [str(program), "--path", str(project.folder)]
        with subprocess.Popen(
            ["Xvfb", display, "-screen", "0", f"{size}x24"], stderr=subprocess.DEVNULL
        ) as server:
            try:
                show_tab(godot, environment, folder / "debugger.png")
                show_game(godot, environment, folder / "debug-drawing.png")
            finally:
                server.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
