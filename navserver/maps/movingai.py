r"""MovingAI benchmark files: ``.map`` grids and ``.scen`` scenarios.

A map is a header (``type octile``, then ``height`` and ``width`` in either order, then ``map``)
and one line of characters a row. A scenario file is an optional ``version`` line and one line of
nine columns a scenario, split by tabs or, where a line has none, by blanks.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from navserver.maps.files import check_size, read_file, shown_bytes
from navserver.search.grid import MAX_SIDE, SOLID, Grid
from navserver.status import InputError, MapFileError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

__all__ = ["TERRAIN_CLASSES", "Scenario", "load_movingai", "load_scenarios"]

TERRAIN_CLASSES: Mapping[str, int] = {
    ".": 0,
    "G": 0,
    "S": 1,
    "@": SOLID,
    "O": SOLID,
    "T": SOLID,
    "W": SOLID,
}
"""Class of each character of a map: ground, swamp (S), and what blocks.

Under the default profile this is the benchmark's own rule: ``. G S`` cost 1, ``@ O T W`` block.
"""

_WORDS = re.compile(rb"\s+")
_INTEGER = re.compile(r"[0-9]{1,9}")
_DECIMAL = re.compile(r"[0-9]{1,15}(?:\.([0-9]{0,17}))?(?:[eE][+-]?[0-9]{1,3})?")
_COLUMNS = (
    "bucket",
    "map name",
    "width",
    "height",
    "start x",
    "start y",
    "goal x",
    "goal y",
    "optimal length",
)


class Scenario(NamedTuple):
    """One line of a scenario file."""

    bucket: int
    """The file's own group, about a quarter of the optimal length."""
    map_name: str
    """The map's path as the file's author had it; only its last part is of use elsewhere."""
    width: int
    """Width of the map in cells."""
    height: int
    """Height of the map in cells."""
    start: tuple[int, int]
    """Start cell (x, y)."""
    goal: tuple[int, int]
    """Goal cell (x, y)."""
    optimal_length: float
    """Length of the shortest path: octile steps, no corner cut."""
    decimals: int
    """Digits after the point of `optimal_length` as written."""
    line: int
    """Line in the file, counted from 1."""


def load_movingai(path: str | PathLike[str], *, terrain: Mapping[str, int] | None = None) -> Grid:
    """Read a MovingAI ``.map`` file.

    Line ends may be of any system, and blanks at the end of a line are ignored. Everything else
    must be as stated: rows of exactly the header's width, as many as its height.

    Parameters
    ----------
    path : path-like
        The file.
    terrain : mapping of str to int, optional
        Classes of characters that are to differ from `TERRAIN_CLASSES`, for instance
        ``{"W": 2, "T": 3}`` to leave it to the profile who may swim or walk under trees.

    Returns
    -------
    Grid
        One class a cell, nothing else.

    Raises
    ------
    MapFileError
        If the file is not such a map; names the line, and the column of a wrong character.
    InputError
        If `terrain` names something that is not a map character or a class.
    """
    table, known = _class_table(terrain)
    lines = read_file(path).removeprefix(b"\xef\xbb\xbf").splitlines()
    width, height, first_row = _read_header(path, lines)
    while len(lines) > first_row + height and not lines[-1].strip():
        del lines[-1]
    rows = [line.rstrip(b" \t") for line in lines[first_row : first_row + height]]
    for index, row in enumerate(rows):
        if len(row) != width:
            raise MapFileError(
                path,
                first_row + index + 1,
                f"row {index} has {len(row)} cells, the header says width {width}",
                "mend the row or the header",
            )
    if len(rows) < height:
        raise MapFileError(
            path,
            len(lines),
            f"the map ends after {len(rows)} rows, the header says height {height}",
            "mend the header or add the rows",
        )
    if len(lines) > first_row + height:
        raise MapFileError(
            path,
            first_row + height + 1,
            f"there is more after the {height} rows that the header states",
            "mend the header or remove the lines",
        )
    cells = np.frombuffer(b"".join(rows), np.uint8).reshape(height, width)
    wrong = ~known[cells]
    if wrong.any():
        y, x = (int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
        raise MapFileError(
            path,
            first_row + y + 1,
            f"column {x + 1}: {shown_bytes(rows[y][x : x + 1])} is not a map character",
            f"use one of {' '.join(TERRAIN_CLASSES)}",
        )
    return Grid(table[cells])


def _class_table(
    terrain: Mapping[str, int] | None,
) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint8]], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Return the class of each byte, and whether it is a map character."""
    table = np.zeros(256, np.uint8)
    known = np.zeros(256, np.bool_)
    classes: dict[str, Any] = {**TERRAIN_CLASSES, **(terrain or {})}
    for character, class_id in classes.items():
        if character not in TERRAIN_CLASSES:
            raise InputError(
                "terrain", character, "is not a map character", f"use {' '.join(TERRAIN_CLASSES)}"
            )
        if not isinstance(class_id, (int, np.integer)) or not 0 <= class_id <= 255:
            raise InputError(
                f"terrain[{character!r}]",
                class_id,
                "is not a cell class",
                "give an integer from 0 to 255",
            )
        table[ord(character)] = class_id
        known[ord(character)] = True
    return table, known


def _read_header(path: str | PathLike[str], lines: list[bytes]) -> tuple[int, int, int]:
    """Return width, height and the index of the first row."""
    sizes: dict[str, int] = {}
    kind = b""
    for index, line in enumerate(lines):
        words = line.split()
        if not words:
            raise MapFileError(path, index + 1, "blank line in the header", "remove the line")
        key = words[0].lower()
        if key == b"map" and len(words) == 1:
            if index == 0 or not kind:
                break
            for name in ("height", "width"):
                if name not in sizes:
                    raise MapFileError(
                        path, index + 1, f"the header states no {name}", f"add a line '{name} N'"
                    )
            check_size(path, index + 1, sizes["width"], sizes["height"])
            return sizes["width"], sizes["height"], index + 1
        if index == 0:
            if key != b"type" or words[1:] != [b"octile"]:
                break
            kind = words[1]
            continue
        name = key.decode("latin-1")
        if name not in ("height", "width") or len(words) != 2:
            raise MapFileError(
                path,
                index + 1,
                f"{shown_bytes(line)} is not a header line",
                "the header is 'type octile', 'height N', 'width N', 'map'",
            )
        if name in sizes:
            raise MapFileError(path, index + 1, f"a second {name}", "remove the line")
        if not re.fullmatch(rb"[0-9]{1,9}", words[1]):
            raise MapFileError(
                path,
                index + 1,
                f"{name} {shown_bytes(words[1])} is not a whole number",
                f"give 1 to {MAX_SIDE}",
            )
        sizes[name] = int(words[1])
    if not kind:
        raise MapFileError(
            path,
            1,
            f"not a MovingAI map: the file begins with {shown_bytes(lines[0] if lines else b'')}",
            "the first line must be 'type octile'",
        )
    raise MapFileError(path, len(lines), "the file ends in the header", "add 'map' and the rows")


def load_scenarios(path: str | PathLike[str]) -> list[Scenario]:
    """Read a MovingAI ``.scen`` file.

    Blank lines are skipped; a ``version`` line may stand at the top.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    list of Scenario
        In the order of the file; at least one.

    Raises
    ------
    MapFileError
        If a line is not a scenario; names the line, the column and its value.
    """
    lines = read_file(path).removeprefix(b"\xef\xbb\xbf").splitlines()
    scenarios = []
    for index, raw in enumerate(lines):
        line = raw.strip()
        if not line:
            continue
        if index == 0 and line.lower().startswith(b"version"):
            if not re.fullmatch(rb"version\s+1(\.0*)?", line.lower()):
                raise MapFileError(
                    path, 1, f"{shown_bytes(line)} is not a known version", "use version 1"
                )
            continue
        scenarios.append(_read_scenario(path, index + 1, line))
    if not scenarios:
        raise MapFileError(path, None, "the file has no scenarios", "add at least one line")
    return scenarios


def _read_scenario(path: str | PathLike[str], number: int, line: bytes) -> Scenario:
    parts = line.split(b"\t") if b"\t" in line else _WORDS.split(line)
    if len(parts) != len(_COLUMNS):
        raise MapFileError(
            path,
            number,
            f"{len(parts)} columns instead of {len(_COLUMNS)}",
            f"give {', '.join(_COLUMNS)}, split by tabs",
        )
    try:
        texts = [part.decode("utf-8").strip() for part in parts]
    except UnicodeDecodeError:
        raise MapFileError(
            path, number, "the line is not UTF-8 text", "save the file as UTF-8"
        ) from None

    def whole(column: int) -> int:
        if not _INTEGER.fullmatch(texts[column]):
            raise MapFileError(
                path,
                number,
                f"{_COLUMNS[column]} {texts[column][:24]!a} is not a whole number",
                "give a number >= 0",
            )
        return int(texts[column])

    if not texts[1]:
        raise MapFileError(path, number, "map name is empty", "name the map's file")
    length = _DECIMAL.fullmatch(texts[8])
    optimal_length = float(texts[8]) if length else math.inf
    if length is None or math.isinf(optimal_length):
        raise MapFileError(
            path,
            number,
            f"optimal length {texts[8][:24]!a} is not a length",
            "give a decimal number >= 0",
        )
    width, height = whole(2), whole(3)
    check_size(path, number, width, height)
    start, goal = (whole(4), whole(5)), (whole(6), whole(7))
    for name, (x, y) in (("start", start), ("goal", goal)):
        if x >= width or y >= height:
            raise MapFileError(
                path,
                number,
                f"{name} {x},{y} lies outside the map of {width} x {height}",
                "mend the cell or the size",
            )
    return Scenario(
        bucket=whole(0),
        map_name=texts[1],
        width=width,
        height=height,
        start=start,
        goal=goal,
        optimal_length=optimal_length,
        decimals=len(length.group(1) or ""),
        line=number,
    )
