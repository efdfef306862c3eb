"""The one door to map files: the loader is picked by the file's ending."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import PurePath
from typing import TYPE_CHECKING

from navserver.maps.array import load_array
from navserver.maps.builtin import load_builtin
from navserver.maps.image import load_image
from navserver.maps.movingai import load_movingai
from navserver.maps.text import load_text
from navserver.status import InputError, MapFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from navserver.search.grid import Grid

__all__ = ["BUILTIN_PREFIX", "ENDINGS", "FORMATS", "load_map"]

FORMATS: Mapping[str, Callable[[str | PathLike[str]], Grid]] = {
    "movingai": load_movingai,
    "text": load_text,
    "image": load_image,
    "npy": load_array,
}
"""Loader of each format by its name."""

ENDINGS: Mapping[str, str] = {
    ".map": "movingai",
    ".txt": "text",
    ".npy": "npy",
    ".png": "image",
    ".bmp": "image",
    ".gif": "image",
    ".jpg": "image",
    ".jpeg": "image",
    ".pgm": "image",
    ".ppm": "image",
    ".tif": "image",
    ".tiff": "image",
    ".webp": "image",
}
"""Format of each file ending, in lower case."""

BUILTIN_PREFIX = "builtin:"
"""What a map name begins with that is no file but a generated map."""


def load_map(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word for it, as in numpy and Pillow
) -> Grid:
    """Read a map file as a grid.

    Parameters
    ----------
    path : path-like
        The file, or ``builtin:NAME`` for a map that the package generates
        (see `navserver.maps.builtin`).
    format : {"movingai", "text", "image", "npy"}, optional
        What the file is; by its ending if left out.

    Returns
    -------
    Grid
        Cells from (0, 0), identity transform.

    Raises
    ------
    MapFileError
        If the ending is unknown or the file is not what it claims to be; says file, line and
        reason.
    InputError
        If `format` is not a format.
    """
    shown = fspath(path)
    if isinstance(path, str) and path.startswith(BUILTIN_PREFIX):
        return load_builtin(path.removeprefix(BUILTIN_PREFIX)).grid
    if format is None:
        ending = PurePath(shown).suffix.lower()
        if ending not in ENDINGS:
            raise MapFileError(
                shown,
                None,
                f"unknown ending {ending!r}" if ending else "the name has no ending",
                f"use one of {' '.join(ENDINGS)}",
            )
        return FORMATS[ENDINGS[ending]](path)
    if format not in FORMATS:
        raise InputError("format", format, "is not a map format", f"use {', '.join(FORMATS)}")
    return FORMATS[format](path)
