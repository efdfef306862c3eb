"""Cell classes from the tiles of Godot's TileMapLayers.

``TileMapLayer.tile_map_data`` is 2 bytes of format (0 in Godot 4.3 to 4.6), then 12 bytes a cell:
i16 x, i16 y, u16 source, u16 atlas x, u16 atlas y, u16 alternative, little-endian.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.status import InputError

__all__ = ["NO_OPINION", "Placement", "read_tiles"]

NO_OPINION = 256
"""In a table: the tile leaves the cell to the layers below."""

_SOLID = 255
_HEADER_BYTES = 2
_KNOWN_FORMAT = 0
# Godot keeps flips and transposition in the upper bits of the alternative.
_ALTERNATIVE = 0x0FFF
_TILE = np.dtype(
    [("x", "<i2"), ("y", "<i2"), ("source", "<u2"), ("atlas_x", "<u2"), ("atlas_y", "<u2"),
     ("alternative", "<u2")]
)  # fmt: skip


class Placement(NamedTuple):
    """What tiles say of a map."""

    classes: NDArray[np.uint16]
    """uint16 array (height, width); `NO_OPINION` where no tile says anything."""
    outside: int
    """Tiles that lie outside the map."""
    unknown: int
    """Tiles on the map that the table does not have."""


def read_tiles(
    blobs: Sequence[bytes | NDArray[np.uint8]],
    table: NDArray[np.uint16],
    position: tuple[int, int],
    shape: tuple[int, int],
) -> Placement:
    """Return what the tiles of some layers say of the cells of a map.

    Of several layers the topmost with an opinion wins, but a wall (255) wins whatever lies above.

    Parameters
    ----------
    blobs : sequence of bytes-like
        ``tile_map_data`` of each layer, the bottom one first.
    table : uint16 array (k, 6)
        Columns layer, source, atlas x, atlas y, alternative, class; `NO_OPINION` as class is the
        same as leaving the tile out but for `Placement.unknown`. Of equal rows the last holds.
    position : (int, int)
        The map's top left cell.
    shape : (int, int)
        Height and width.

    Returns
    -------
    Placement
        The classes and what was left out.

    Raises
    ------
    InputError
        If a blob is no tile map data, or a class is above 256.

    Notes
    -----
    O(tiles log table), in numpy: 1,000 x 1,000 tiles take some tens of ms.

    Examples
    --------
    >>> import numpy as np
    >>> blob = bytes(2) + np.array([3, 1, 7, 0, 0, 0], "<u2").tobytes()
    >>> table = np.array([[0, 7, 0, 0, 0, 255]], np.uint16)
    >>> read_tiles([blob], table, (3, 0), (2, 1)).classes.tolist()
    [[256], [255]]
    """
    if table.size and int(table[:, 5].max()) > NO_OPINION:
        row = int(table[:, 5].argmax())
        raise InputError(
            f"table[{row}]", table[row].tolist(), "has no class as its last entry",
            f"give 0 to 255, or {NO_OPINION} for no opinion",
        )  # fmt: skip
    height, width = shape
    classes = np.full(height * width, NO_OPINION, np.uint16)
    outside = unknown = 0
    for layer, blob in enumerate(blobs):
        tiles = _tiles_of(layer, blob)
        x = tiles["x"].astype(np.int64) - position[0]
        y = tiles["y"].astype(np.int64) - position[1]
        inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
        outside += int(tiles.size - np.count_nonzero(inside))
        tiles, cells = tiles[inside], (y * width + x)[inside]
        opinions, is_known = _looked_up(tiles, table[table[:, 0] == layer])
        unknown += int(is_known.size - np.count_nonzero(is_known))
        speaks = opinions != NO_OPINION
        cells, opinions = cells[speaks], opinions[speaks]
        opinions[classes[cells] == _SOLID] = _SOLID
        classes[cells] = opinions
    return Placement(classes.reshape(height, width), outside, unknown)


def _tiles_of(layer: int, blob: bytes | NDArray[np.uint8]) -> NDArray[np.void]:
    raw = np.frombuffer(blob, np.uint8)
    # A layer without tiles has no bytes at all.
    if raw.size == 0:
        return np.empty(0, _TILE)
    tiles, rest = divmod(raw.size - _HEADER_BYTES, _TILE.itemsize)
    if tiles < 0 or rest:
        raise InputError(
            f"tiles of layer {layer}", f"{raw.size} bytes", "are no tile map data",
            "send TileMapLayer.tile_map_data as it is: 2 bytes and 12 a cell",
        )  # fmt: skip
    found = int(raw[0]) | int(raw[1]) << 8
    if found != _KNOWN_FORMAT:
        raise InputError(
            f"tiles of layer {layer}", found, "is no known format of tile map data",
            f"send format {_KNOWN_FORMAT}, which Godot 4.3 and later write",
        )  # fmt: skip
    return raw[_HEADER_BYTES:].view(_TILE)


def _looked_up(
    tiles: NDArray[np.void], table: NDArray[np.uint16]
) -> tuple[NDArray[np.uint16], NDArray[np.bool_]]:
    """Return each tile's class, and whether the table has it."""
    if len(table) == 0:
        return np.full(tiles.size, NO_OPINION, np.uint16), np.zeros(tiles.size, np.bool_)
    keys = _keys(table[:, 1], table[:, 2], table[:, 3], table[:, 4])
    order = np.argsort(keys, kind="stable")
    sorted_keys = keys[order]
    wanted = _keys(tiles["source"], tiles["atlas_x"], tiles["atlas_y"], tiles["alternative"])
    # The last of equal rows.
    places = np.searchsorted(sorted_keys, wanted, side="right") - 1
    is_known = (places >= 0) & (sorted_keys[places] == wanted)
    opinions = np.where(is_known, table[order[places], 5], np.uint16(NO_OPINION))
    return opinions.astype(np.uint16), is_known


def _keys(
    source: NDArray[np.uint16],
    atlas_x: NDArray[np.uint16],
    atlas_y: NDArray[np.uint16],
    alternative: NDArray[np.uint16],
) -> NDArray[np.uint64]:
    """Return a number that tells tiles apart."""
    parts = (source, atlas_x, atlas_y, alternative & np.uint16(_ALTERNATIVE))
    key = np.zeros(len(source), np.uint64)
    for part in parts:
        key = (key << np.uint64(16)) | part.astype(np.uint64)
    return key
