"""``navserver install-addon``: copy the Godot addon into a project."""

from __future__ import annotations

import argparse
import configparser
import shutil
from pathlib import Path
from typing import Any

import navserver
from navserver.commands.arguments import UsageError

__all__ = ["add_to", "addon_folder", "addon_version", "install", "run"]

_PLACE = Path("addons", "navserver")


def add_to(commands: Any) -> None:
    """State the command's arguments.

    Parameters
    ----------
    commands : argparse subparsers
        Where the command is added.
    """
    parser = commands.add_parser(
        "install-addon",
        help="copy the Godot addon into a project, or bring it up to date there",
        description="Copy the addon to addons/navserver of a Godot project. What is there of the\n"
        "addon already is replaced; nothing else is touched.",
        epilog="example: navserver install-addon ~/games/castle",
    )
    parser.add_argument("project", type=Path, metavar="PROJECT", help="folder with project.godot")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Copy it and say what comes next.

    Parameters
    ----------
    arguments : Namespace
        ``project``.

    Returns
    -------
    int
        0.
    """
    before = install(arguments.project)
    now = addon_version(addon_folder())
    change = f"version {now}" if before in {None, now} else f"version {now}, before {before}"
    print(f"addon       {arguments.project / _PLACE} ({change})")
    if before is None:
        print("next        enable it in Godot: Project, Project Settings, Plugins, navserver")
    return 0


def install(project: Path) -> str | None:
    """Copy the addon into a project, in place of what it had of it.

    Parameters
    ----------
    project : Path
        Folder with ``project.godot``.

    Returns
    -------
    str or None
        The version that was there before.

    Raises
    ------
    UsageError
        The folder is no project or cannot be written, or something else stands in the addon's
        place.
    """
    if not (project / "project.godot").is_file():
        raise UsageError(f"{project}: no project.godot in it; give the folder of a Godot project")
    place = project / _PLACE
    before = addon_version(place) if place.is_dir() else None
    if place.exists() and before is None:
        raise UsageError(f"{place}: is there and is not the addon; move it out of the way")
    try:
        _put(addon_folder(), place)
    except OSError as error:
        raise UsageError(
            f"{place}: cannot be written ({error.strerror or error}); allow it, or close whatever"
            " has its files open"
        ) from None
    return before


def _put(addon: Path, place: Path) -> None:
    """Copy it whole or not at all: an editor that is open reads the folder at any moment."""
    place.parent.mkdir(exist_ok=True)
    partial, old = place.with_name(".navserver-new"), place.with_name(".navserver-old")
    for folder in (partial, old):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(addon, partial)
    if place.exists():
        place.rename(old)
    try:
        partial.rename(place)
    except OSError:
        if old.exists():
            old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)


def addon_folder() -> Path:
    """Return where this installation keeps the addon: in the package, or beside it in a checkout.

    Returns
    -------
    Path
        Folder with ``plugin.cfg``.

    Raises
    ------
    UsageError
        It is in neither place.
    """
    package = Path(navserver.__file__).resolve().parent
    for folder in (package / "godot_addon", package.parent / "godot_addon" / _PLACE):
        if (folder / "plugin.cfg").is_file():
            return folder
    raise UsageError("this installation has no Godot addon in it; install navserver from its wheel")


def addon_version(folder: Path) -> str | None:
    """Return the version that an addon states.

    Parameters
    ----------
    folder : Path
        Where it is.

    Returns
    -------
    str or None
        None if it is not this addon.
    """
    config = configparser.ConfigParser()
    try:
        config.read(folder / "plugin.cfg", encoding="utf-8")
        plugin = config["plugin"]
        return plugin["version"].strip('"') if plugin["name"] == '"navserver"' else None
    except (configparser.Error, KeyError, UnicodeDecodeError):
        return None
