"""Messages that ask about a map without asking for a path."""

from __future__ import annotations

from navserver.wire.fields import OPTIONAL, Array, flag, integer, number
from navserver.wire.message import Message, Part
from navserver.wire.path_messages import BLOCKED_CELLS, MOVEMENT_FIELDS, cell
from navserver.wire.world_messages import world_field

__all__ = ["QUERY_MESSAGES"]

_ANY = 1 << 53
_LARGEST = 1e300

_STARTS = Array("starts", "i32", ("n", 2), "cells")
_GOALS = Array("goals", "i32", ("n", 2), "cells, one for each start")

NEAREST = Message(
    "nearest",
    "Returns the cell nearest to a given one where the body may stand; with ``start``, the nearest "
    "one that can be reached from there.",
    Part(
        (
            world_field(),
            cell("cell", "where to look around; may be blocked or outside the map"),
            cell("start", "where the body stands", required=False),
            number("max_distance", 0.0, 1e9, "look no farther", default=OPTIONAL, unit="cells"),
            *MOVEMENT_FIELDS,
        ),
        (),
    ),
    Part((cell("cell", "the cell; left out if there is none", required=False),), ()),
    statuses=("found", "unreachable"),
    errors=("unknown_world",),
)

REACHABLE = Message(
    "reachable",
    "Returns all cells that the body can reach for a cost, such as its action points.",
    Part(
        (
            world_field(),
            cell("start", "an open cell"),
            number("budget", 0.0, _LARGEST, "the cost that may be spent"),
            *MOVEMENT_FIELDS,
        ),
        (BLOCKED_CELLS,),
    ),
    Part(
        (),
        (
            Array("cells", "i32", ("n", 2), "the cells, row by row"),
            Array("costs", "f64", ("n",), "cost of the path to each"),
        ),
    ),
    errors=("unknown_world", "too_large"),
)

LINE_OF_SIGHT = Message(
    "line_of_sight",
    "Tells whether the straight lines between cells' centres are free to walk.",
    Part((world_field(), *MOVEMENT_FIELDS), (_STARTS, _GOALS)),
    Part((), (Array("visible", "u8", ("n",), "1 where the line is free, else 0"),)),
    errors=("unknown_world",),
)

RAYCAST = Message(
    "raycast",
    "Walks straight from points towards others and stops before the first wall.",
    Part(
        (world_field(), *MOVEMENT_FIELDS),
        (
            Array("starts", "f32", ("n", 2), "points on the map", unit="world"),
            Array("ends", "f32", ("n", 2), "points", unit="world"),
        ),
    ),
    Part(
        (),
        (
            Array("reached", "u8", ("n",), "1 where the whole way is free"),
            Array("points", "f32", ("n", 2), "the last free points: the ends that were reached, "
                  "the starts of rays that begin in a wall", unit="world"),
            Array("cells", "i32", ("n", 2), "the cells that stopped the rays, perhaps beyond the "
                  "border; those of the ends that were reached"),
            Array("normals", "i8", ("n", 2), "the sides of those cells that were met: -1, 0 is the "
                  "left one, both numbers are set at a corner, and 0, 0 is none: the end was "
                  "reached, or the ray begins in a wall"),
        ),
    ),
    errors=("unknown_world",),
)  # fmt: skip

CONNECTED = Message(
    "connected",
    "Tells whether ways lead from cells to others, without a search.",
    Part((world_field(), *MOVEMENT_FIELDS), (_STARTS, _GOALS)),
    Part((), (Array("connected", "u8", ("n",), "1 where a way leads, else 0"),)),
    errors=("unknown_world",),
)

MATRIX = Message(
    "matrix",
    "Returns the path costs from each of some cells to each of others.",
    Part(
        (world_field(), *MOVEMENT_FIELDS),
        (
            Array("starts", "i32", ("n", 2), "cells"),
            Array("goals", "i32", ("m", 2), "cells"),
        ),
    ),
    Part((), (Array("costs", "f64", ("n", "m"), "inf where there is no path"),)),
    errors=("unknown_world", "too_large"),
)

FLOW_FIELD = Message(
    "flow_field",
    "Returns which way to go from every cell to the nearest goal, and what that costs.",
    Part(
        (
            world_field(),
            flag("directions", "return the directions", default=True),
            flag("costs", "return the costs"),
            *MOVEMENT_FIELDS,
        ),
        (Array("goals", "i32", ("n", 2), "open cells, at least one"),),
    ),
    Part(
        (
            integer("width", 1, 8192, "columns of the map", unit="cells"),
            integer("height", 1, 8192, "rows of the map", unit="cells"),
        ),
        (
            Array("directions", "u8", ("height", "width"), "the step, clockwise from 0 east to 7 "
                  "north east; 255 at goals and out of their reach", required=False),
            Array("costs", "f32", ("height", "width"), "inf out of reach", required=False),
        ),
    ),
    errors=("unknown_world", "too_large"),
)  # fmt: skip

WHAT_OPENS = Message(
    "what_opens",
    "Returns the fewest blocked cells whose opening would connect two cells.",
    Part(
        (
            world_field(),
            cell("start", "a cell"),
            cell("goal", "a cell"),
            *MOVEMENT_FIELDS,
        ),
        (),
    ),
    Part((), (Array("cells", "i32", ("n", 2), "from the start to the goal; none if connected"),)),
    errors=("unknown_world",),
)

QUERY_MESSAGES = (
    NEAREST,
    REACHABLE,
    LINE_OF_SIGHT,
    RAYCAST,
    CONNECTED,
    MATRIX,
    FLOW_FIELD,
    WHAT_OPENS,
)
"""Messages that ask about a map."""
