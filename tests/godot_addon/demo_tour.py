"""Takes the pictures of the demos.

``python -m tests.godot_addon.demo_tour [FOLDER]``: a real Godot under a virtual display plays each
demo by scripted input, in game time, until there is something to see. The pictures are written to
FOLDER (default: docs/images/demos). Needs Xvfb.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

import dev
from benchmarks.rows import say
from tests.godot_addon.conftest import ADDON_PROJECT, CHECKOUT, import_project, kept_running

WINDOW = (1152, 648)
# Which part of the window is shown, and how wide; the whole of it where nothing is said.
PARTS = {"y_sorted": (200, 50, 920, 530)}
WIDTHS = {"crowd": 900, "y_sorted": 720}
WIDTH = 768
PATIENCE = 900.0


def play(program: Path, parent: Path, display: str) -> Path:
    """Play the demos; the folder with what the window showed."""
    folder = parent / "navserver"
    shutil.copytree(ADDON_PROJECT, folder, ignore=shutil.ignore_patterns(".godot"))
    import_project(program, folder)
    pictures = parent / "pictures"
    pictures.mkdir()
    connection_file = parent / "connection.json"
    size = "x".join(map(str, WINDOW))
    with kept_running(connection_file):
        subprocess.run(
            [
                str(program), "--path", str(folder), "--rendering-driver", "opengl3",
                "--audio-driver", "Dummy", "--resolution", size, "--fixed-fps", "60",
                "-s", "res://tests/run_tests.gd", "--", "test_pictures",
                f"file={connection_file}", f"pictures={pictures}",
            ],
            env={**os.environ, "DISPLAY": display, "LIBGL_ALWAYS_SOFTWARE": "1"},
            timeout=PATIENCE,
            check=True,
        )  # fmt: skip
    return pictures


def save(source: Path, folder: Path) -> None:
    """Write a picture as wide as its page wants it, in 256 colors."""
    picture = Image.open(source).convert("RGB").crop(PARTS.get(source.stem, (0, 0, *WINDOW)))
    width = WIDTHS.get(source.stem, WIDTH)
    height = round(picture.height * width / picture.width)
    small = picture.resize((width, height), Image.Resampling.LANCZOS)
    path = folder / source.name
    # By what is seldom as well: a walker is a few pixels on a wide lawn.
    few = small.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    say(f"{path} {path.stat().st_size:,} bytes")


def main(arguments: list[str]) -> int:
    """Take the pictures; 1 if something to take them with is missing."""
    folder = Path(arguments[0]) if arguments else CHECKOUT / "docs" / "images" / "demos"
    program = dev.find_godot().path
    if program is None or shutil.which("Xvfb") is None:
        say("missing: Xvfb, or Godot, see python3 dev.py godot")
        return 1
    subprocess.run([sys.executable, "-m", "navserver", "warmup"], cwd=CHECKOUT, check=True)
    display = f":{90 + os.getpid() % 100}"
    screen = ["Xvfb", display, "-screen", "0", f"{WINDOW[0]}x{WINDOW[1]}x24"]
    with (
        tempfile.TemporaryDirectory(prefix="navserver-tour-") as parent,
        subprocess.Popen(screen, stderr=subprocess.DEVNULL) as server,
    ):
        try:
            pictures = play(program, Path(parent), display)
        finally:
            server.kill()
        for source in sorted(pictures.glob("*.png")):
            save(source, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
