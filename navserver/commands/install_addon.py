"""``navserver install-addon``: copy the Godot addon into a project."""

from __future__ import annotations

import argparse
import configparser
import errno
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
        The folder is no project or cannot be written, or a link or something else stands in the
        addon's place.
    """
    if not (project / "project.godot").is_file():
        raise UsageError(f"{project}: no project.godot in it; give the folder of a Godot project")
    place = project / _PLACE
    if _is_link(place):
        raise UsageError(
            f"{place}: is a link to {place.readlink()}; bring that up to date where it comes from,"
            " or remove the link"
        )
    before = addon_version(place) if place.is_dir() else None
    if place.exists() and before is None:
        raise UsageError(f"{place}: is there and is not the addon; move it out of the way")
    try:
        _put(addon_folder(), place)
    except OSError as error:
        raise UsageError(
            f"{place}: cannot be written ({error.strerror or error}); {_remedy(error, place)}"
        ) from None
    return before


def _remedy(error: OSError, place: Path) -> str:
    if place.parent.exists() and not place.parent.is_dir():
        return f"{place.parent} has to be a folder: move what is there out of the way"
    if error.errno == errno.EROFS:
        return "its file system is read-only: copy the project to one that is not"
    return "allow it, or close whatever has its files open"


def _put(addon: Path, place: Path) -> None:
    """Copy it whole or not at all: an editor that is open reads the folder at any moment."""
    place.parent.mkdir(exist_ok=True)
    partial, old = place.with_name(".navserver-new"), place.with_name(".navserver-old")
    for folder in (partial, old):
        _remove(folder)
    try:
        shutil.copytree(addon, partial)
        if place.exists():
            place.rename(old)
        try:
            partial.rename(place)
        except OSError:
            if old.exists():
                old.rename(place)
            raise
    finally:
        _remove(partial)
    _remove(old)


def _remove(folder: Path) -> None:
    """Remove what an earlier copy has left there, which may be a link or a file."""
    if _is_link(folder) or folder.is_file():
        folder.unlink()
    else:
        shutil.rmtree(folder, ignore_errors=True)


def _is_link(path: Path) -> bool:
    """Tell whether it is a link, junctions of Windows included."""
    try:
        path.readlink()
    except OSError:
        return False
    return True


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
