"""Maps drawn in plain text: one character a cell, one line a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from navserver.maps.files import check_size, read_file, shown_bytes
from navserver.search.grid import SOLID, Grid
from navserver.status import MapFileError

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["load_text"]

_KNOWN = np.zeros(256, np.bool_)
_CLASSES = np.zeros(256, np.uint8)
for _character in b". 0123456789#@":
    _KNOWN[_character] = True
for _digit in range(1, 10):
    _CLASSES[ord("0") + _digit] = _digit
_CLASSES[ord("#")] = _CLASSES[ord("@")] = SOLID


def load_text(path: str | PathLike[str]) -> Grid:
    """Read a text map.

    ``.``, blank and ``0`` are class 0, ``1`` to ``9`` that class, ``#`` and ``@`` a wall.

    All rows must be equally long. A blank is a cell, so none may be missing at a line's end;
    empty lines at the end of the file are ignored.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    Grid
        One class a cell, nothing else.

    Raises
    ------
    MapFileError
        If a row's length differs or a character is unknown; names the line and the column.
    """
    rows = read_file(path).removeprefix(b"\xef\xbb\xbf").splitlines()
    while rows and not rows[-1]:
        del rows[-1]
    width = len(rows[0]) if rows else 0
    check_size(path, 1, width, len(rows))
    for index, row in enumerate(rows):
        if len(row) != width:
            raise MapFileError(
                path,
                index + 1,
                f"the row has {len(row)} cells, the first one {width}",
                "make all rows equally long",
            )
    cells = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), width)
    wrong = ~_KNOWN[cells]
    if wrong.any():
        y, x = (int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
        raise MapFileError(
            path,
            y + 1,
            f"column {x + 1}: {shown_bytes(rows[y][x : x + 1])} is not a map character",
            "use . or 0 for free, 1 to 9 for a class, # for a wall",
        )
    return Grid(_CLASSES[cells])
