"""``navserver doctor``: what is wrong with this installation, in plain words."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from navserver.commands.arguments import UsageError
from navserver.commands.install_addon import addon_folder, addon_version

__all__ = ["add_to", "run"]

_SIGNS = {"ok": "ok     ", "warning": "warning", "error": "ERROR  "}


def add_to(commands: Any) -> None:
    """State the command's arguments.

    Parameters
    ----------
    commands : argparse subparsers
        Where the command is added.
    """
    parser = commands.add_parser(
        "doctor",
        help="say what is wrong with this installation",
        description="Look at Python, packages, compiled kernels and ports, start a server, and\n"
        "ask it for a path. What is wrong is told with what to do. Exit code 1 if anything does\n"
        "not work; warnings alone are 0.",
    )
    parser.add_argument(
        "project", type=Path, nargs="?", metavar="PROJECT", help="a Godot project to look at too"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print what is found, each line as soon as it is known.

    Parameters
    ----------
    arguments : Namespace
        As `add_to` states them.

    Returns
    -------
    int
        0, or 1 if something does not work.
    """
    from navserver.diagnosis import diagnose  # noqa: PLC0415 - slow to import

    findings = []
    for finding in diagnose(arguments.project, _packaged_version()):
        findings.append(finding)
        if not arguments.json:
            print(f"{_SIGNS[finding.level]}  {finding.name:<10}  {finding.text}")
            if finding.remedy:
                print(f"{'':<21}{finding.remedy}", flush=True)
    is_well = all(finding.level != "error" for finding in findings)
    if arguments.json:
        print(json.dumps({"ok": is_well, "findings": [each._asdict() for each in findings]}))
    return 0 if is_well else 1


def _packaged_version() -> str | None:
    try:
        return addon_version(addon_folder())
    except UsageError:
        return None
