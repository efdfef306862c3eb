"""Messages about worlds: maps, their edits, and the profiles of those who walk on them."""

from __future__ import annotations

from navserver.wire.fields import (
    OPTIONAL,
    REQUIRED,
    Array,
    Field,
    flag,
    integer,
    name,
    number,
    numbers,
    pair,
    texts,
)
from navserver.wire.message import Message, Part

__all__ = ["COORDINATE", "MAX_SIDE", "WORLD_MESSAGES", "world_field"]

COORDINATE = 1 << 30
"""Largest coordinate of a cell."""
MAX_SIDE = 8192
"""Most cells a side."""

_ANY = 1 << 53
_IDENTITY = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]


def world_field() -> Field:
    """Return the field that names a world.

    Returns
    -------
    Field
        Required.
    """
    return name("world", "the world")


def side(field: str, doc: str, *, default: object = REQUIRED) -> Field:
    """Return a field that holds a width or height.

    Parameters
    ----------
    field : str
        Its name.
    doc : str
        What it means.
    default : object
        See `Field`.

    Returns
    -------
    Field
        In cells.
    """
    return integer(field, 1, MAX_SIDE, doc, default=default, unit="cells")


WORLD_CREATE = Message(
    "world_create",
    "Makes a world of one map. Without ``classes`` every cell is of class ``fill``; large maps may "
    "be filled in bands by ``world_edit``.",
    Part(
        (
            world_field(),
            side("width", "columns"),
            side("height", "rows"),
            pair("position", -COORDINATE, COORDINATE, "the top left cell", default=(0, 0)),
            numbers("transform", 6, -1e100, 1e100, "a, b, x, c, d, y: the centre of cell (i, j) "
                    "lies at (a i + b j + x, c i + d j + y); must be invertible",
                    default=_IDENTITY),
            integer("fill", 0, 255, "class of every cell; 0 is plain ground, 255 a wall",
                    default=0),
            flag("replace", "take the place of a world of the same name"),
            flag("owned", "delete the world when the session ends"),
        ),
        (
            Array("classes", "u8", ("height", "width"), "class of each cell", required=False),
            Array("cell_scale", "f32", ("height", "width"),
                  "finite factor >= 0 of each cell's cost", required=False),
        ),
    ),
    Part((name("lineage", "names this life of the world: versions compare within it only"),), ()),
    changes=True,
    errors=("world_exists", "too_large"),
)  # fmt: skip

WORLD_EDIT = Message(
    "world_edit",
    "Changes cells: those listed in ``cells``, else the rectangle of ``position``, ``width`` and "
    "``height``, else the whole map (an upload). Each of class, scale and layer value is one for "
    "all cells or an array, and stays as it is if left out. An edit is carried out whole or not "
    "at all, and makes one new version, which the reply names.",
    Part(
        (
            world_field(),
            pair("position", -COORDINATE, COORDINATE, "the rectangle's top left cell",
                 default=OPTIONAL),
            side("width", "the rectangle's columns", default=OPTIONAL),
            side("height", "the rectangle's rows", default=OPTIONAL),
            integer("class_id", 0, 255, "class of all cells", default=OPTIONAL),
            number("scale", 0.0, 1e38, "factor of the cost of all cells", default=OPTIONAL),
            name("layer", "the overlay that ``value`` or ``values`` go to; a new name makes one "
                 "that is 0 elsewhere", default=OPTIONAL),
            number("value", 0.0, 1e38, "the layer's value in all cells", default=OPTIONAL),
            integer("base_version", 1, _ANY, "refuse the edit if the world is at another version",
                    default=OPTIONAL),
        ),
        (
            Array("cells", "i32", ("k", 2), "x and y of each cell; where one stands twice the "
                  "later entry holds", required=False),
            Array("class_ids", "u8", ("n",), "class of each cell, in the order of ``cells``, else "
                  "row by row", required=False),
            Array("scales", "f32", ("n",), "factor of each cell, likewise", required=False),
            Array("values", "f32", ("n",), "the layer's value in each cell, likewise",
                  required=False),
        ),
    ),
    Part((), ()),
    changes=True,
    errors=("unknown_world", "stale"),
)  # fmt: skip

WORLD_TILES = Message(
    "world_tiles",
    "Sets cells from Godot's ``TileMapLayer.tile_map_data``: 2 bytes of format, then 12 bytes a "
    "cell (i16 x, i16 y, u16 source, u16 atlas x, u16 atlas y, u16 alternative; the bits that "
    "flip and transpose are masked). ``table`` says what each tile means. Of several layers the "
    "topmost with an opinion wins, but a wall (255) wins whatever lies above. One edit, one "
    "version.",
    Part(
        (
            world_field(),
            integer("empty_class", 0, 256, "class of cells that no layer has an opinion on; 256 "
                    "leaves them as they are", default=255),
        ),
        (
            Array("tiles", "u8", ("n",), "the layers' blobs one after the other, bottom first",
                  unit="B"),
            Array("sizes", "u32", ("layers",), "bytes of each blob", unit="B"),
            Array("table", "u16", ("k", 6), "layer, source, atlas x, atlas y, alternative, class; "
                  "class 256 is no opinion, as is a tile that the table does not have"),
        ),
    ),
    Part(
        (
            integer("placed", 0, _ANY, "cells that a tile decided"),
            integer("outside", 0, _ANY, "tiles outside the map, which were left out"),
            integer("unknown", 0, _ANY, "tiles that the table does not have"),
        ),
        (),
    ),
    changes=True,
    errors=("unknown_world",),
)  # fmt: skip

WORLD_INFO = Message(
    "world_info",
    "Returns what a world is, at the reply's ``version``.",
    Part((world_field(),), ()),
    Part(
        (
            name("lineage", "names this life of the world"),
            side("width", "columns"),
            side("height", "rows"),
            pair("position", -COORDINATE, COORDINATE, "the top left cell"),
            numbers("transform", 6, -1e100, 1e100, "see ``world_create``"),
            texts("layers", "names of its overlays"),
            texts("profiles", "names of its profiles"),
            integer("memory_bytes", 0, _ANY, "what it holds", unit="B"),
        ),
        (),
    ),
    errors=("unknown_world",),
)

WORLD_HASH = Message(
    "world_hash",
    "Returns a digest of everything in the map that can change a path or its position: size, "
    "position, transform, classes, scale and layers.",
    Part((world_field(),), ()),
    Part((name("hash", "SHA-256 in hex"),), ()),
    errors=("unknown_world",),
)

WORLD_LIST = Message(
    "world_list",
    "Returns the names of all worlds.",
    Part((), ()),
    Part((texts("worlds", "their names, in order"),), ()),
)

WORLD_DELETE = Message(
    "world_delete",
    "Ends a world; requests that still wait for it end as ``world_removed``.",
    Part((world_field(),), ()),
    Part((), ()),
    changes=True,
    errors=("unknown_world",),
)

PROFILE_SET = Message(
    "profile_set",
    "Defines who walks: what a cell of each class costs. Searches that are running keep the one "
    "they have. Every world has the profile ``default``: each class costs 1, and 255 blocks.",
    Part(
        (world_field(), name("profile", "the profile; one of the same name is replaced")),
        (Array("costs", "f32", (256,), "cost of each class, >= 0; inf blocks"),),
    ),
    Part((), ()),
    changes=True,
    errors=("unknown_world",),
)

WATCH = Message(
    "watch",
    "Watches a path: an edit that breaks it is told by ``path_invalid``. A path may also be "
    "watched from its answer on, see ``watch`` of ``path`` and ``batch``.",
    Part(
        (
            world_field(),
            name("profile", "who walks", default="default"),
            integer("diagonal_mode", 0, 3, "as for ``path``", default=3),
            integer("size", 1, 32, "as for ``path``", default=1, unit="cells"),
            number("radius", 0.0, 1e38, "as for ``path``", default=0.0, unit="world"),
        ),
        (Array("cells", "i32", ("n", 2), "the path's cells, each a step from the one before"),),
    ),
    Part((integer("watch", 1, (1 << 32) - 1, "names the watch in this session"),), ()),
    changes=True,
    errors=("unknown_world",),
)

UNWATCH = Message(
    "unwatch",
    "Ends watches; those that have ended already are passed over.",
    Part((), (Array("watches", "u32", ("n",), "the watches"),)),
    Part((), ()),
    changes=True,
)

WORLD_MESSAGES = (
    WORLD_CREATE,
    WORLD_EDIT,
    WORLD_TILES,
    WORLD_INFO,
    WORLD_HASH,
    WORLD_LIST,
    WORLD_DELETE,
    PROFILE_SET,
    WATCH,
    UNWATCH,
)
"""Messages about worlds."""
