"""Messages that ask for paths."""

from __future__ import annotations

from navserver.wire.fields import (
    OPTIONAL,
    Array,
    Field,
    choice,
    flag,
    integer,
    name,
    number,
    pair,
    texts,
    weights,
)
from navserver.wire.limits import MAX_ID
from navserver.wire.message import Event, Message, Part
from navserver.wire.world_messages import COORDINATE, world_field

__all__ = [
    "BLOCKED_CELLS",
    "MOVEMENT_FIELDS",
    "PATH_EVENTS",
    "PATH_MESSAGES",
    "PATH_STATUSES",
    "REASONS",
    "SEARCH_LIMITS",
    "SOURCES",
    "cell",
]

_ANY = 1 << 53
_LARGEST = 1e300

PATH_STATUSES = (
    "found",
    "partial",
    "unreachable",
    "start_blocked",
    "goal_blocked",
    "limit",
    "cancelled",
    "deadline",
    "superseded",
    "overloaded",
    "world_removed",
)
"""How a path request may end; batches tell the index."""

SOURCES = ("nothing", "search", "field", "cache", "coalesced", "islands")
"""What a path came from; batches tell the index."""

REASONS = ("blocked", "corner", "world_removed", "narrow")
"""Why a watched path is broken; the event tells the index."""


def cell(field: str, doc: str, *, required: bool = True) -> Field:
    """Return a field that holds a cell.

    Parameters
    ----------
    field : str
        Its name.
    doc : str
        What it means.
    required : bool
        Whether it must be there.

    Returns
    -------
    Field
        A pair of integers.
    """
    if required:
        return pair(field, -COORDINATE, COORDINATE, doc)
    return pair(field, -COORDINATE, COORDINATE, doc, default=OPTIONAL)


MOVEMENT_FIELDS = (
    name("profile", "who walks, see ``profile_set``", default="default"),
    integer("diagonal_mode", 0, 3, "Godot's: 0 ALWAYS, 1 NEVER, 2 AT_LEAST_ONE_WALKABLE, "
            "3 ONLY_IF_NO_OBSTACLES", default=3),
    integer("cost_model", 0, 2, "a step costs its length times: 0 the cost of the cell entered, "
            "1 the mean of both, 2 their product", default=0),
    integer("size", 1, 32, "side of a square body, anchored at its top left cell", default=1,
            unit="cells"),
    number("radius", 0.0, 1e38, "radius of a round body; either this or ``size``", default=0.0,
           unit="world"),
    weights("overlays", "weight >= 0 of each of the world's layers that counts"),
)  # fmt: skip
"""How a body moves: fields of every message that asks about ways."""

SEARCH_LIMITS = (
    number("weight", 1.0, 1e6, "factor on the estimate: faster, and at most so many times the "
           "least cost", default=1.0),
    integer("max_expansions", 1, _ANY, "stop with ``limit`` after so many", default=OPTIONAL),
    number("max_cost", 0.0, _LARGEST, "look no further than this cost", default=OPTIONAL),
    flag("allow_partial", "where the goal is not reached, return the path to the cell seen that "
         "is nearest to it"),
)  # fmt: skip
"""How far a search goes: fields of every message that asks for one."""

_SEARCH_FIELDS = (
    *SEARCH_LIMITS,
    choice("result", ("points", "cells"), "what comes back: world positions of the cells' "
           "centres, or the cells", default="points"),
    choice("smoothing", ("none", "simplify", "pull_string"), "``simplify`` keeps only the corners "
           "of the path; ``pull_string`` also straightens it as far as sight allows, unless the "
           "map has changed since the search",
           default="none"),
    integer("priority", -100, 100, "greater goes first among this session's requests", default=0),
    number("deadline_ms", 0.0, 3.6e6, "answer within this time, with ``deadline`` if there is no "
           "result by then", default=OPTIONAL, unit="ms"),
    flag("watch", "watch the path, see ``path_invalid``"),
)  # fmt: skip

BLOCKED_CELLS = Array(
    "blocked_cells", "i32", ("k", 2), "up to 4,096 cells that count as walls", required=False
)
"""Cells that one query alone does not enter."""

PATH = Message(
    "path",
    "Asks for a path of least cost from a cell to a cell, as the world is at the reply's "
    "``version``.",
    Part(
        (
            world_field(),
            cell("start", "where the body stands"),
            cell("goal", "where it wants to go"),
            *MOVEMENT_FIELDS,
            *_SEARCH_FIELDS,
            integer("agent", 0, MAX_ID, "who asks: a new request takes the place of one that "
                    "still waits for the same agent, which ends as ``superseded``",
                    default=OPTIONAL),
        ),
        (
            BLOCKED_CELLS,
            Array("ignored_cells", "i32", ("j", 2), "up to 4,096 cells that count as walkable",
                  required=False),
        ),
    ),
    Part(
        (
            number("cost", 0.0, _LARGEST, "sum of the steps' costs; left out without a path",
                   default=OPTIONAL),
            number("length", 0.0, _LARGEST, "length of the path before smoothing; left out "
                   "without one", default=OPTIONAL, unit="cells"),
            integer("expanded", 0, _ANY, "nodes expanded"),
            choice("source", SOURCES, "what was used", default="nothing"),
            integer("watch", 1, (1 << 32) - 1, "names the watch, if it was asked for and there is "
                    "a path", default=OPTIONAL),
        ),
        (
            Array("points", "f32", ("m", 2), "the path, both ends included", unit="world",
                  required=False),
            Array("cells", "i32", ("m", 2), "the path, both ends included", required=False),
        ),
    ),
    statuses=PATH_STATUSES,
    errors=("unknown_world",),
)  # fmt: skip

BATCH = Message(
    "batch",
    "Asks for many paths of one world in one message. Rows that share goal and movement may be "
    "answered from one flow field. With ``parts`` rows are told as they become ready, in several "
    "replies of the same id; all but the last have ``more``. A batch that is sent again is "
    "answered from the beginning.",
    Part(
        (
            world_field(),
            *MOVEMENT_FIELDS,
            *_SEARCH_FIELDS,
            texts("profile_names", "what ``profiles`` point to", default=OPTIONAL),
            flag("parts", "tell rows as they become ready"),
        ),
        (
            Array("starts", "i32", ("n", 2), "a cell a row"),
            Array("goals", "i32", ("g", 2), "a cell a row, or one for all rows"),
            Array("profiles", "u8", ("n",), "instead of ``profile``: an index into "
                  "``profile_names`` a row", required=False),
            Array("sizes", "u8", ("n",), "instead of ``size``", required=False, unit="cells"),
            Array("priorities", "i8", ("n",), "instead of ``priority``", required=False),
            Array("deadlines", "f32", ("n",), "instead of ``deadline_ms``; 0 is none",
                  required=False, unit="ms"),
            Array("agents", "i64", ("n",), "who asks, see ``path``; -1 is nobody", required=False),
        ),
    ),
    Part(
        (flag("more", "whether more rows follow under this id"),),
        (
            Array("rows", "u32", ("k",), "the rows told here; left out: all, in order",
                  required=False),
            Array("statuses", "u8", ("k",), "index into the path statuses"),
            Array("sources", "u8", ("k",), "index into the sources"),
            Array("versions", "u32", ("k",), "version of the map that was searched, modulo 2^32"),
            Array("costs", "f64", ("k",), "inf without a path"),
            Array("lengths", "f64", ("k",), "before smoothing; inf without a path", unit="cells"),
            Array("offsets", "u32", ("k + 1",), "path i is entries offsets[i] to offsets[i + 1] "
                  "of the points or cells"),
            Array("points", "f32", ("m", 2), "all paths, one after the other", unit="world",
                  required=False),
            Array("cells", "i32", ("m", 2), "all paths, one after the other", required=False),
            Array("watches", "u32", ("k",), "the watch of each path, 0 without one, if asked for",
                  required=False),
        ),
    ),
    statuses=("ok", "overloaded"),
    errors=("unknown_world", "too_large"),
)  # fmt: skip

TRACE = Message(
    "trace",
    "Searches a path and returns what the search did, to be played back. Not for play: it is "
    "never shared or taken from the cache.",
    Part(
        (
            world_field(),
            cell("start", "where the body stands"),
            cell("goal", "where it wants to go"),
            *MOVEMENT_FIELDS,
            *SEARCH_LIMITS,
            integer("capacity", 1, 1 << 20, "most expansions to record", default=65536),
        ),
        (),
    ),
    Part(
        (
            number("cost", 0.0, _LARGEST, "of the path; left out without one", default=OPTIONAL),
            integer("expanded", 0, _ANY, "nodes expanded in all"),
            flag("truncated", "whether the record ends before the search"),
        ),
        (
            Array("cells", "i32", ("m", 2), "the path; left out without one", required=False),
            Array("expanded_cells", "i32", ("e", 2), "cells in the order of their expansion"),
            Array("parents", "i32", ("e", 2), "the cell each was reached from; itself at the "
                  "start"),
            Array("g", "f64", ("e",), "cost from the start"),
            Array("h", "f64", ("e",), "estimate to the goal"),
        ),
    ),
    statuses=PATH_STATUSES,
    errors=("unknown_world",),
)  # fmt: skip

PATH_INVALID = Event(
    "path_invalid",
    "Edits have broken watched paths. Each is told after the reply that named its watch, and the "
    "watch has ended. After a new connection of the same session the newest of these events are "
    "told again, and all that came while it was away: pass over watches that were told before.",
    Part(
        (world_field(), integer("version", 0, _ANY, "version of the map that broke them")),
        (
            Array("watches", "u32", ("n",), "the watches"),
            Array("indices", "u32", ("n",), "which of each path's cells, counted from 0 and as "
                  "they were before smoothing, is the first that cannot be reached any more"),
            Array("reasons", "u8", ("n",), "index into the reasons: 0 the cell is blocked, 1 the "
                  "step to it cuts a corner, 2 the world was removed, 3 the body no longer fits"),
        ),
    ),
)  # fmt: skip

PATH_MESSAGES = (PATH, BATCH, TRACE)
"""Messages that ask for paths."""
PATH_EVENTS = (PATH_INVALID,)
"""Events about paths."""
