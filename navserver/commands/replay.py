"""``navserver replay``: a recorded run once more, where it parts, and pictures of it."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from navserver._jit import warm_up
from navserver.animation import LARGEST_SIDE, Film, draw_movers
from navserver.commands.arguments import as_positive
from navserver.commands.outputs import check_file, make_folder
from navserver.search.grid import Grid
from navserver.sim.bots import BotState
from navserver.sim.recording import Recording, load_recording
from navserver.sim.runner import replay
from navserver.sim.setup import Setup
from navserver.sim.worlds import LocalWorld, Tick
from navserver.status import InputError

__all__ = ["add_to", "run"]

PARTED = 1

USUAL_FRAMES = 150
"""Frames of a film, unless it is told how often to take one."""

LONGEST_GIF = 15.0
"""Seconds that a GIF lasts; a longer run is shown faster."""

MOST_BYTES = 64_000_000
"""Bytes of the largest GIF; of one that would be larger every second frame is left out."""

USUAL_SIDE = 640
"""Pixels along the longer side of a frame."""

STUCK_HUE = 0.0
"""Red, in turns of the color wheel, is for those that cannot get on."""

# Kinds have the hues from green to violet, one after the other as far apart as they can be.
_FIRST_HUE, _HUES, _FIRST_KIND, _NEXT_KIND = 0.25, 0.55, 0.6, 0.618034

_EXAMPLES = """\
examples:
  navserver replay rush-hour.npz
  navserver replay rush-hour.npz --workers 1 --json
  navserver replay rush-hour.npz --gif rush-hour.gif --every 5
  navserver replay rush-hour.npz --frames frames --side 1200

A run repeats to the bit on one machine with one version of navserver, for any number of workers.
Pictures show a disc a bot, a color a kind: full while it walks, pale at rest, white while it waits
for a way, red once it is stuck or has no path. They take the optional packages of
navserver[pictures].

exit codes: 0 the same at every tick, 1 it parted, 2 bad input."""


def add_to(commands: Any) -> None:
    """State the command's arguments.

    Parameters
    ----------
    commands : argparse subparsers
        Where the command is added.
    """
    parser = commands.add_parser(
        "replay",
        help="step a recorded run again, find the first tick that differs, draw it",
        description="Step a run again that `navserver bots --record` has kept.",
        epilog=_EXAMPLES,
    )
    parser.set_defaults(run=run)
    parser.add_argument("recording", metavar="FILE", help="a recording")
    parser.add_argument(
        "--workers", type=as_positive, metavar="N", help="threads; default one a core"
    )
    parser.add_argument("--gif", metavar="FILE", help="draw the run as an animated GIF")
    parser.add_argument("--frames", metavar="DIR", help="draw the run as PNGs, one a frame")
    parser.add_argument(
        "--every", type=as_positive, metavar="N",
        help=f"ticks from frame to frame; default: so that there are about {USUAL_FRAMES}",
    )  # fmt: skip
    parser.add_argument(
        "--side", type=as_positive, metavar="PIXELS",
        help=f"longer side of a frame, to {LARGEST_SIDE}; default {USUAL_SIDE}",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Replay, and say whether it was the same.

    Parameters
    ----------
    arguments : Namespace
        As `add_to` states them.

    Returns
    -------
    int
        0, or 1 if it parted.
    """
    _check_outputs(arguments)
    recording = load_recording(arguments.recording)
    warm_up()
    camera = _Camera(recording, arguments)
    parted = replay(recording, camera.make_world, camera.look)
    files = camera.develop()
    if arguments.json:
        found = {"bots": len(recording.setup.spawns), "ticks": recording.ticks}
        print(json.dumps({**found, "first_difference": parted, **files}))
        return 0 if parted is None else PARTED
    if parted is None:
        print(f"the same at all {recording.ticks:,} ticks")
    else:
        print(f"parts at tick {parted:,} of {recording.ticks:,}")
    for name, file in files.items():
        print(f"{name:<12}{file}")
    return 0 if parted is None else PARTED


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Refuse what could not be drawn before the run, not after it."""
    wants_pictures = arguments.gif is not None or arguments.frames is not None
    for option in ("every", "side"):
        value = getattr(arguments, option)
        if value is not None and not wants_pictures:
            raise InputError(f"--{option}", value, "is for pictures", "add --gif or --frames")
    if arguments.side is not None and arguments.side > LARGEST_SIDE:
        raise InputError(
            "--side", arguments.side, "is out of bounds", f"give at most {LARGEST_SIDE} pixels"
        )
    check_file("--gif", arguments.gif)
    make_folder("--frames", arguments.frames)


class _Camera:
    """Takes pictures of a run while it is stepped."""

    def __init__(self, recording: Recording, arguments: argparse.Namespace) -> None:
        self._dt = recording.setup.dt
        self._every = arguments.every or max(1, math.ceil(recording.ticks / USUAL_FRAMES))
        self._ticks = recording.ticks
        self._side = arguments.side or USUAL_SIDE
        self._gif = arguments.gif
        self._folder = None if arguments.frames is None else Path(arguments.frames)
        self._workers = arguments.workers
        share = (_FIRST_KIND + recording.setup.kind_of * _NEXT_KIND) % 1.0
        self._kind_hues = _FIRST_HUE + share * _HUES
        self._hues = self._kind_hues.copy()
        self._profile = recording.setup.kinds[0].profile
        self._drawn = 0

    def make_world(self, setup: Setup) -> LocalWorld:
        """Return the world that is stepped, and photograph it before its first tick."""
        self._world = LocalWorld(setup, self._workers)
        self._film = None
        if self._gif is not None:
            # It looks at these hues, which change, whenever it records.
            self._film = Film(
                self._world.movers, hues=self._hues, side=self._side, profile=self._profile
            )
        self._take(0.0)
        return self._world

    def look(self, tick: int, bots: Tick, _grid: Grid) -> None:
        """Take a picture if it is time."""
        done = tick + 1
        if done % self._every and done != self._ticks:
            return
        is_stuck = (bots.state == BotState.STUCK) | (bots.state == BotState.NO_PATH)
        self._hues[:] = np.where(is_stuck, STUCK_HUE, self._kind_hues)
        self._take(done * self._dt)

    def _take(self, time: float) -> None:
        if self._film is not None:
            self._film.record(time)
        if self._folder is not None:
            picture = draw_movers(
                self._world.movers, hues=self._hues, side=self._side, profile=self._profile
            )
            file = self._folder / f"frame-{self._drawn:05}.png"
            try:
                picture.save(file)
            except OSError as error:
                raise InputError(
                    "--frames", str(file), f"cannot be written ({error.strerror or error})",
                    "name another folder, or make room",
                ) from None  # fmt: skip
            self._drawn += 1

    def develop(self) -> dict[str, str]:
        """Write the film, and return what has been written by kind."""
        files = {}
        if self._film is not None:
            seconds = self._film.times[-1]
            self._film.save_gif(
                self._gif, speed=max(1.0, seconds / LONGEST_GIF), most_bytes=MOST_BYTES
            )
            files["gif"] = str(self._gif)
        if self._folder is not None:
            files["frames"] = f"{self._folder} ({self._drawn} PNGs)"
        return files
