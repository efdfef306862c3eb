"""``navserver replay``: a recorded run once more, and where it parts."""

from __future__ import annotations

import argparse
import json
from typing import Any

from navserver._jit import warm_up
from navserver.commands.arguments import as_positive
from navserver.sim.recording import load_recording
from navserver.sim.runner import replay
from navserver.sim.worlds import LocalWorld

__all__ = ["add_to", "run"]

PARTED = 1

_EXAMPLES = """\
examples:
  navserver replay rush-hour.npz
  navserver replay rush-hour.npz --workers 1 --json

A run repeats to the bit on one machine with one version of navserver, for any number of workers.

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
        help="step a recorded run again and find the first tick that differs",
        description="Step a run again that `navserver bots --record` has kept.",
        epilog=_EXAMPLES,
    )
    parser.set_defaults(run=run)
    parser.add_argument("recording", metavar="FILE", help="a recording")
    parser.add_argument(
        "--workers", type=as_positive, metavar="N", help="threads; default one a core"
    )
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
    recording = load_recording(arguments.recording)
    warm_up()
    parted = replay(recording, lambda setup: LocalWorld(setup, arguments.workers))
    if arguments.json:
        found = {"bots": len(recording.setup.spawns), "ticks": recording.ticks}
        print(json.dumps({**found, "first_difference": parted}))
    elif parted is None:
        print(f"the same at all {recording.ticks:,} ticks")
    else:
        print(f"parts at tick {parted:,} of {recording.ticks:,}")
    return 0 if parted is None else PARTED
