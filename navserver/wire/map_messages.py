"""Messages for those who look at a map and at what a search does on it."""

from __future__ import annotations

from navserver.wire.fields import OPTIONAL, Array, Field, choice, flag, integer, number, pair, words
from navserver.wire.message import Message, Part
from navserver.wire.path_messages import MOVEMENT_FIELDS, PATH_STATUSES, SEARCH_LIMITS, cell
from navserver.wire.world_messages import COORDINATE, world_field

__all__ = ["MAP_MESSAGES"]

_ANY = 1 << 53
_LARGEST = 1e300

_HEURISTICS = ("euclidean", "manhattan", "octile", "chebyshev", "zero")
_EXPLORED = ("smoothed", "order", "costs")
_LAYERS = ("classes", "costs", "islands", "clearance")

_WIDTH = integer("width", 0, 8192, "columns of the arrays", unit="cells")
_HEIGHT = integer("height", 0, 8192, "rows of the arrays", unit="cells")
_GREATEST = number(
    "greatest",
    0.0,
    _LARGEST,
    "greatest number below infinity of the array that "
    "holds costs or distances; left out where there is none",
    default=OPTIONAL,
)
_POSITION = pair("position", -COORDINATE, COORDINATE, "the arrays' top left cell")


def _step(doc: str) -> Field:
    return integer("step", 1, 256, doc, default=1, unit="cells")


EXPLORE = Message(
    "explore",
    "Searches a path to be looked at: with the path come the same path pulled straight and, cell "
    "by cell, what the search did. Not for play: it is never shared or taken from the cache.",
    Part(
        (
            world_field(),
            cell("start", "where the body stands"),
            cell("goal", "where it wants to go"),
            *MOVEMENT_FIELDS,
            *SEARCH_LIMITS,
            choice("algorithm", ("astar", "dijkstra"), "how to search", default="astar"),
            choice("heuristic", _HEURISTICS, "estimate of the remaining cost; left out: the "
                   "closest that never overestimates", default=OPTIONAL),
            flag("inexact", "accept a heuristic that overestimates: the path may not be the "
                 "cheapest"),
            integer("capacity", 0, 1 << 24, "most expansions to record; 0 leaves out the arrays "
                    "over the map", default=0),
            words("arrays", _EXPLORED, "what to send beside the path", default=list(_EXPLORED)),
            _step("order and costs have one number for each square of so many cells a side: its "
                  "first expansion and its least cost"),
        ),
        (),
    ),
    Part(
        (
            number("cost", 0.0, _LARGEST, "of the path; left out without one", default=OPTIONAL),
            number("length", 0.0, _LARGEST, "of the path; left out without one",
                   default=OPTIONAL, unit="cells"),
            integer("expanded", 0, _ANY, "nodes expanded in all"),
            flag("truncated", "whether the record ends before the search"),
            _GREATEST,
            _POSITION,
            _WIDTH,
            _HEIGHT,
        ),
        (
            Array("cells", "i32", ("m", 2), "the path; left out without one", required=False),
            Array("smoothed", "i32", ("k", 2), "the corners that remain when it is pulled "
                  "straight; left out without one and where not asked for", required=False),
            Array("order", "i32", ("height", "width"), "when each cell was first expanded, from "
                  "1; 0 is never; left out where not asked for", required=False),
            Array("costs", "f32", ("height", "width"), "cost from the start; inf where not "
                  "expanded; left out where not asked for", required=False),
        ),
    ),
    statuses=PATH_STATUSES,
    errors=("unknown_world", "too_large"),
)  # fmt: skip

MAP_LAYER = Message(
    "map_layer",
    "Returns one number for every cell of the map.",
    Part(
        (
            world_field(),
            choice("layer", _LAYERS, "the cells' classes, what entering them costs, the number "
                   "of the island that each lies on, or how far the nearest wall is"),
            *MOVEMENT_FIELDS,
            _step("tell only of every so many-th cell of every so many-th row"),
        ),
        (),
    ),
    Part(
        (_GREATEST, _POSITION, _WIDTH, _HEIGHT),
        (
            Array("classes", "u8", ("height", "width"), "if asked for", required=False),
            Array("costs", "f32", ("height", "width"), "inf where blocked, if asked for",
                  required=False),
            Array("islands", "i32", ("height", "width"), "0 where the body may not stand, if "
                  "asked for", required=False),
            Array("clearance", "f32", ("height", "width"), "inf beyond 32 cells, if asked for",
                  required=False, unit="world"),
        ),
    ),
    errors=("unknown_world", "too_large"),
)  # fmt: skip

DESCRIBE_CELLS = Message(
    "describe_cells",
    "Returns all that decides about some cells.",
    Part(
        (world_field(), *MOVEMENT_FIELDS),
        (Array("cells", "i32", ("n", 2), "cells of the map, up to 4,096"),),
    ),
    Part(
        (),
        (
            Array("classes", "u8", ("n",), "their classes"),
            Array("scales", "f32", ("n",), "factors of their costs"),
            Array("costs", "f64", ("n",), "what entering them costs with scale and overlays; inf "
                  "where the class is blocked"),
            Array("islands", "i32", ("n",), "numbers of their islands; 0 where the body may not "
                  "stand"),
            Array("clearance", "f64", ("n",), "how far the nearest wall is; inf beyond 32 cells",
                  unit="world"),
            Array("fits", "u8", ("n",), "1 where the body may stand"),
        ),
    ),
    errors=("unknown_world",),
)  # fmt: skip

MAP_MESSAGES = (EXPLORE, MAP_LAYER, DESCRIBE_CELLS)
"""Messages for those who look at a map."""
