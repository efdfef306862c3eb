"""How a file is opened, and what every loader refuses in the same words."""

from __future__ import annotations

import stat
from os import PathLike, fspath, strerror
from pathlib import Path

from navserver.search.grid import MAX_SIDE
from navserver.status import MapFileError

__all__ = ["LONGEST_FILE", "check_size", "read_file", "read_start", "shown_bytes"]

LONGEST_FILE = 256 * 2**20
"""Bytes of the largest file that is read into memory."""


def read_start(path: str | PathLike[str], count: int) -> bytes:
    """Read the first bytes of a file.

    Parameters
    ----------
    path : path-like
        The file.
    count : int
        Bytes to read at most.

    Returns
    -------
    bytes
        Never empty; shorter than `count` if the file is.

    Raises
    ------
    MapFileError
        If the file is missing, unreadable or empty, or a folder, a pipe or a device.
    """
    shown = fspath(path)
    try:
        mode = Path(shown).stat().st_mode
        # To open a pipe would wait for somebody who writes into it.
        is_stream = not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
        data = b"" if is_stream else _first_bytes(shown, count)
    except FileNotFoundError:
        raise MapFileError(shown, None, "no such file", "check the path") from None
    except (OSError, ValueError) as error:
        # Windows reports a folder as a missing permission.
        if isinstance(error, IsADirectoryError) or _is_folder(shown):
            raise MapFileError(shown, None, "is a folder", "name a file in it") from None
        reason = strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise MapFileError(
            shown, None, f"cannot be read ({reason})", "check the path and its permissions"
        ) from None
    if is_stream:
        raise MapFileError(
            shown, None, "is a pipe or a device", "save what it gives to a file first"
        )
    if not data:
        raise MapFileError(shown, None, "the file is empty", "save it again")
    return data


def _first_bytes(path: str, count: int) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(count)


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def read_file(path: str | PathLike[str], *, longest: int = LONGEST_FILE) -> bytes:
    """Read a whole file, but never more than a stated number of bytes.

    Parameters
    ----------
    path : path-like
        The file.
    longest : int
        Bytes above which the file is refused.

    Returns
    -------
    bytes
        The content, never empty.

    Raises
    ------
    MapFileError
        If the file is missing, unreadable, empty or too long, or a folder, a pipe or a device.
    """
    data = read_start(path, longest + 1)
    if len(data) > longest:
        raise MapFileError(
            path,
            None,
            f"the file is longer than {longest} bytes",
            f"use a map of at most {MAX_SIDE} x {MAX_SIDE} cells",
        )
    return data


def check_size(path: str | PathLike[str], line: int | None, width: int, height: int) -> None:
    """Refuse a map that is empty or larger than a grid may be.

    Parameters
    ----------
    path : path-like
        The file.
    line : int or None
        The line that states the size.
    width, height : int
        Cells.

    Raises
    ------
    MapFileError
        If a side is not in 1..8192.
    """
    if width < 1 or height < 1:
        raise MapFileError(
            path, line, f"the map has no cells ({width} x {height})", "make it at least 1 x 1"
        )
    if width > MAX_SIDE or height > MAX_SIDE:
        raise MapFileError(
            path,
            line,
            f"the map is too large ({width} x {height})",
            f"make it at most {MAX_SIDE} x {MAX_SIDE}",
        )


def shown_bytes(data: bytes) -> str:
    """Return bytes as a short quoted text for an error.

    Parameters
    ----------
    data : bytes
        Any bytes.

    Returns
    -------
    str
        At most about 30 characters, unprintable bytes escaped.
    """
    text = data[:24].decode("latin-1")
    return ascii(text) + ("..." if len(data) > 24 else "")
