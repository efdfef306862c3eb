"""Messages about movers: who is there, where they go, their steps, and the stream of states."""

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
    numbers,
    words,
)
from navserver.wire.limits import MAX_MOVERS, MAX_RATE, MAX_STEPS
from navserver.wire.message import Event, Message, Part
from navserver.wire.path_messages import MOVEMENT_FIELDS
from navserver.wire.world_messages import world_field

__all__ = [
    "COLUMNS",
    "EVENT_KINDS",
    "MOVER_EVENTS",
    "MOVER_MESSAGES",
    "MOVER_PROPERTIES",
    "MOVER_STATES",
    "SPACES",
    "STUCK_REASONS",
]

_ANY = 1 << 53
_FLOAT32 = 3.4e38
_BITS = (1 << 32) - 1

SPACES = ("cell", "world")
"""What positions are given in."""
COLUMNS = ("handles", "positions", "velocities", "states", "transforms", "transforms_before")
"""What a view of movers may hold."""
MOVER_STATES = ("free", "idle", "path", "field", "waiting", "steered")
"""What a mover is doing; views tell the index. No view has one that is ``free``."""
EVENT_KINDS = ("arrived", "arrived_crowd_full", "path_blocked", "repath_wanted", "stuck")
"""What may happen to a mover; events tell the index."""
STUCK_REASONS = ("none", "wall", "crowd", "unreachable", "goal_taken")
"""Why a mover is stuck; events tell the index."""

MOVER_PROPERTIES = {
    "radius": ("body_radius", "body_radii"),
    "max_speed": ("max_speed", "max_speeds"),
    "acceleration": ("acceleration", "accelerations"),
    "turn_rate": ("turn_rate", "turn_rates"),
    "slowing_distance": ("slowing_distance", "slowing_distances"),
    "arrival_radius": ("arrival_radius", "arrival_radii"),
    "priority": ("priority", "priorities"),
    "layers": ("layers", "layer_sets"),
    "mask": ("mask", "masks"),
}
"""By the property's name in the core: the field that sets it for all, the array for each."""


def _space() -> Field:
    return choice(
        "space", SPACES, "what positions and velocities are given in: cells, where the centre of "
        "cell (x, y) is the point (x, y), or world positions", default="cell",
    )  # fmt: skip


_PROPERTY_FIELDS = (
    number("body_radius", 0.0, 32.0, "radius of the body, for others to avoid",
           default=OPTIONAL, unit="cells"),
    number("max_speed", 0.0, 1e6, "greatest speed", default=OPTIONAL, unit="cells/s"),
    number("acceleration", 0.0, _FLOAT32, "most change of speed a second, more than 0; inf is no "
           "limit", default=OPTIONAL, unit="cells/s^2", infinite=True),
    number("turn_rate", 0.0, _FLOAT32, "most turn a second, more than 0; inf is no limit",
           default=OPTIONAL, unit="rad/s", infinite=True),
    number("slowing_distance", 0.0, _FLOAT32, "how far before its goal it begins to brake, at "
           "least", default=OPTIONAL, unit="cells"),
    number("arrival_radius", 0.0, _FLOAT32, "how near the goal counts as there", default=OPTIONAL,
           unit="cells"),
    number("priority", 0.0, 1.0, "it gives way to those of equal or higher priority",
           default=OPTIONAL),
    integer("layers", 0, _BITS, "32 bits: what it is to others", default=OPTIONAL),
    integer("mask", 0, _BITS, "32 bits: it avoids those whose layers meet its mask",
            default=OPTIONAL),
)  # fmt: skip

_PROPERTY_ARRAYS = tuple(
    Array(many, "u32" if single in ("layers", "mask") else "f32", ("n",),
          f"instead of ``{single}``: one for each", required=False)
    for single, many in MOVER_PROPERTIES.values()
)  # fmt: skip

_HANDLES = Array("handles", "i64", ("n",), "movers, each once")

_VIEW_ARRAYS = (
    Array("handles", "i64", ("n",), "movers, in the order of their slots", required=False),
    Array("positions", "f32", ("n", 2), "where they are", required=False),
    Array("velocities", "f32", ("n", 2), "in units of the space a second", required=False),
    Array("states", "u8", ("n",), "index into the mover states", required=False),
    Array("transforms", "f32", ("n", 8), "the buffer of a Godot MultiMesh with TRANSFORM_2D and "
          "nothing else: x.x, y.x, 0, origin.x, x.y, y.y, 0, origin.y in world positions; the x "
          "axis points where the mover goes", required=False),
    Array("transforms_before", "f32", ("n", 8), "the same as it was before the last step, for a "
          "MultiMesh that is drawn between two steps; as now for who was not there then",
          required=False),
)  # fmt: skip

_EVENT_ARRAYS = (
    Array("event_ticks", "i64", ("e",), "the tick of each event; they rise", required=False),
    Array("event_kinds", "u8", ("e",), "index into the event kinds", required=False),
    Array("event_handles", "i64", ("e",), "the mover", required=False),
    Array("event_reasons", "u8", ("e",), "index into the stuck reasons; 0 unless stuck",
          required=False),
)  # fmt: skip


def _view_fields(*default: str) -> tuple[Field, ...]:
    return (
        words("columns", COLUMNS, "what to tell of each mover", default=list(default)),
        numbers("area", 4, -1e9, 1e9, "only movers inside x0, y0, x1, y1, ends included; left out: "
                "all", default=OPTIONAL),
        integer("limit", 0, MAX_MOVERS, "tell of at most so many movers", default=MAX_MOVERS),
        _space(),
    )  # fmt: skip


_TICK = integer("tick", 0, _ANY, "steps since the movers were made")
_TRUNCATED = flag("truncated", "whether there were more movers than ``limit``", default=False)

MOVERS_SETUP = Message(
    "movers_setup",
    "Makes an empty table of movers and says how they plan and avoid each other. Without it the "
    "first ``movers_add`` makes one with these defaults.",
    Part(
        (
            world_field(),
            flag("replace", "drop the movers there are, of all sessions"),
            flag("avoidance", "whether movers avoid each other; without it each keeps exactly to "
                 "its way", default=True),
            number("neighbor_dist", 1e-3, 1e4, "others are looked for closer than this",
                   default=5.0, unit="cells"),
            integer("max_neighbors", 1, 64, "the nearest so many are avoided", default=10),
            number("time_horizon", 1e-3, 1e4, "for how long ahead velocities are to be free of "
                   "collisions", default=2.0, unit="s"),
            number("keep_right", 0.0, 1.0, "how far movers turn to the right where others are, as "
                   "the tangent of the angle", default=0.2),
            integer("budget", 1, 1 << 31, "expansions of searches a step; 10,000 take about a "
                    "millisecond", default=8192),
            number("repath_interval", 0.0, 3600.0, "least time between two plans for one mover",
                   default=0.5, unit="s"),
            number("goal_tolerance", 0.0, 1e4, "a goal that moves by less is gone to without a new "
                   "plan", default=0.5, unit="cells"),
        ),
        (),
    ),
    Part((), ()),
    changes=True,
    errors=("unknown_world", "movers_exist"),
)  # fmt: skip

MOVERS_ADD = Message(
    "movers_add",
    "Adds movers that stand still, each in a cell open to its movement. ``body_radius`` and "
    "``max_speed``, or their arrays, must be given; what blocks the movers is said as for "
    "``path``.",
    Part(
        (
            world_field(),
            flag("owned", "remove them when the session ends", default=True),
            _space(),
            *_PROPERTY_FIELDS,
            *MOVEMENT_FIELDS,
        ),
        (Array("positions", "f32", ("n", 2), "where they stand"), *_PROPERTY_ARRAYS),
    ),
    Part((), (Array("handles", "i64", ("n",), "names the movers, in the order given"),)),
    changes=True,
    errors=("unknown_world", "too_large"),
)

MOVERS_REMOVE = Message(
    "movers_remove",
    "Removes movers. Their handles are never given again.",
    Part((world_field(),), (_HANDLES,)),
    Part((), ()),
    changes=True,
    errors=("unknown_world",),
)

MOVERS_SET = Message(
    "movers_set",
    "Changes properties of movers, or puts them somewhere else: those on a path then ask for a new "
    "one.",
    Part(
        (world_field(), _space(), *_PROPERTY_FIELDS),
        (
            _HANDLES,
            Array("positions", "f32", ("n", 2), "where to put each", required=False),
            *_PROPERTY_ARRAYS,
        ),
    ),
    Part((), ()),
    changes=True,
    errors=("unknown_world",),
)

MOVERS_ORDER = Message(
    "movers_order",
    "Sends movers to a goal, each to a place of its own beside it, or each to a goal of its own. "
    "Ways are found within the budget of the steps to come; who cannot get there is told as "
    "``stuck``.",
    Part(
        (
            world_field(),
            _space(),
            flag("spread", "whether those that share a goal get places of their own; if not, all "
                 "go to the very point", default=True),
        ),
        (
            _HANDLES,
            Array("goals", "f32", ("g", 2), "one for all, or one for each; in a wall it stands "
                  "for the nearest cell that the mover can reach"),
        ),
    ),
    Part((), ()),
    changes=True,
    errors=("unknown_world",),
)  # fmt: skip

MOVERS_PATHS = Message(
    "movers_paths",
    "Sends movers along waypoints, each from where it is and straight from one to the next. Who "
    "gets none stops and asks for a path.",
    Part(
        (world_field(), _space()),
        (
            _HANDLES,
            Array("points", "f32", ("m", 2), "the waypoints of all, one after the other"),
            Array("offsets", "u32", ("n + 1",), "path i is points[offsets[i]] to "
                  "points[offsets[i + 1]]"),
        ),
    ),
    Part((), ()),
    changes=True,
    errors=("unknown_world",),
)  # fmt: skip

MOVERS_STOP = Message(
    "movers_stop",
    "Lets movers stand where they are, without a goal.",
    Part((world_field(),), (_HANDLES,)),
    Part((), ()),
    changes=True,
    errors=("unknown_world",),
)

MOVERS_STEER = Message(
    "movers_steer",
    "Lets movers go by velocities of the client's own, until they are steered anew, sent somewhere "
    "or stopped. Their top speed and limits hold, walls let nobody in, and where movers avoid each "
    "other they go around the others. A game that moves bodies itself sends it once a frame with "
    "``positions``, followed by a ``movers_step`` whose ``watched`` names the same movers, and "
    "moves the bodies by the velocities that come back.",
    Part(
        (world_field(), _space()),
        (
            _HANDLES,
            Array("velocities", "f32", ("n", 2), "how each is to go, in units of the space a "
                  "second; within 1e6 cells a second"),
            Array("positions", "f32", ("n", 2), "where each is by now, if something else has moved "
                  "it as well; in a wall it stands for the nearest point where the mover may be",
                  required=False),
            Array("current_velocities", "f32", ("n", 2), "how each moves by now, if that is not "
                  "what the last step has made of it", required=False),
        ),
    ),
    Part((), ()),
    changes=True,
    errors=("unknown_world",),
)  # fmt: skip

MOVERS_STEP = Message(
    "movers_step",
    "Moves everybody in lockstep: ``count`` steps of ``dt``, each on the newest version of the "
    "map. Changes that the session sends before it are seen, those after it are not. The same "
    "messages give the same bytes. ``cancel`` ends it between two steps.",
    Part(
        (
            world_field(),
            number("dt", 0.0, 3600.0, "seconds a step", unit="s"),
            integer("count", 1, MAX_STEPS, "steps", default=1),
            flag("events", "tell what happened", default=True),
            flag("hash", "tell the state's digest after the last step"),
            *_view_fields(),
        ),
        (
            Array("watched", "i64", ("w",), "movers whose velocities are told whatever the area "
                  "and the columns are", required=False),
        ),
    ),
    Part(
        (
            _TICK,
            integer("steps", 0, MAX_STEPS, "steps done"),
            name("hash", "digest of the movers' state in hex, if asked for; equal for equal states",
                 default=OPTIONAL),
            _TRUNCATED,
        ),
        (
            *_VIEW_ARRAYS,
            Array("watched_velocities", "f32", ("w", 2), "how those of ``watched`` have moved in "
                  "the last step, in units of the space a second; 0, 0 for one that is not there",
                  required=False),
            *_EVENT_ARRAYS,
        ),
    ),
    statuses=("ok", "cancelled"),
    changes=True,
    errors=("unknown_world", "too_large"),
)  # fmt: skip

MOVERS_RUN = Message(
    "movers_run",
    "Steps the movers at a fixed rate from now on, until told otherwise or the session ends.",
    Part(
        (
            world_field(),
            number("rate", 0.0, MAX_RATE, "steps a second; 0 ends it", unit="1/s"),
        ),
        (),
    ),
    Part((_TICK,), ()),
    changes=True,
    errors=("unknown_world",),
)

MOVERS_INFO = Message(
    "movers_info",
    "Returns how many movers there are and how they run.",
    Part((world_field(), flag("hash", "tell the state's digest")), ()),
    Part(
        (
            integer("count", 0, _ANY, "movers"),
            _TICK,
            number("rate", 0.0, MAX_RATE, "steps a second; 0 if they do not run", unit="1/s"),
            integer("skipped", 0, _ANY, "steps left out because the server was late"),
            name("hash", "digest of the movers' state in hex, if asked for", default=OPTIONAL),
        ),
        (),
    ),
    errors=("unknown_world",),
)

MOVERS_VIEW = Message(
    "movers_view",
    "Returns movers as they are after the last step.",
    Part((world_field(), *_view_fields(*COLUMNS[:4])), ()),
    Part((_TICK, _TRUNCATED), _VIEW_ARRAYS),
    errors=("unknown_world", "too_large"),
)

MOVERS_ROUTES = Message(
    "movers_routes",
    "Returns the waypoints that movers have still to pass, for pictures. Who stands, waits for a "
    "way or follows a flow field has none.",
    Part((world_field(), _space()), (_HANDLES,)),
    Part(
        (_TICK,),
        (
            Array("points", "f32", ("m", 2), "the waypoints of all, one after the other"),
            Array("offsets", "u32", ("n + 1",), "those of mover i are points[offsets[i]] to "
                  "points[offsets[i + 1]]"),
        ),
    ),
    errors=("unknown_world",),
)  # fmt: skip

MOVERS_STREAM = Message(
    "movers_stream",
    "Has the movers' state told by ``movers_state`` from now on, or changes what is told, such as "
    "the area, or ends it. A session has one stream a world. Of states only the newest is told: "
    "the server sends no further ones while ``window`` of them have not been confirmed by "
    "``movers_seen``. It does not outlive the server process.",
    Part(
        (
            world_field(),
            flag("on", "whether to tell anything from now on", default=True),
            flag("events", "tell what happens to any mover, inside the area or not", default=True),
            integer("every", 1, 1_000_000, "tell each so many ticks; events come at the next one",
                    default=1),
            integer("window", 1, 64, "how many may be on their way", default=2),
            *_view_fields(*COLUMNS[:4]),
        ),
        (),
    ),
    Part((_TICK,), ()),
    errors=("unknown_world",),
)  # fmt: skip

MOVERS_SEEN = Message(
    "movers_seen",
    "Confirms that states of a stream have been read, so that newer ones are sent.",
    Part((world_field(), integer("tick", 0, _ANY, "the newest that was read")), ()),
    Part((), ()),
    errors=("unknown_world",),
)

MOVERS_SAVE = Message(
    "movers_save",
    "Returns the movers as bytes that ``movers_load`` takes.",
    Part((world_field(),), ()),
    Part(
        (integer("count", 0, _ANY, "movers"),),
        (Array("state", "u8", ("b",), "the movers, checksummed"),),
    ),
    errors=("unknown_world", "too_large"),
)

MOVERS_LOAD = Message(
    "movers_load",
    "Takes saved movers in the place of those there are, under the handles that they had. Those "
    "that waited for a way ask for a new one. Bytes that are damaged or of a map of another shape "
    "change nothing.",
    Part(
        (world_field(), flag("owned", "remove them when the session ends", default=True)),
        (Array("state", "u8", ("b",), "what ``movers_save`` returned"),),
    ),
    Part((), (Array("handles", "i64", ("n",), "all movers, in the order of their slots"),)),
    changes=True,
    errors=("unknown_world", "too_large"),
)

MOVERS_STATE = Event(
    "movers_state",
    "The movers after a step, as ``movers_stream`` asked for them, and what has happened to any "
    "since the last one. Arrays that were not asked for are left out.",
    Part(
        (
            world_field(),
            _TICK,
            integer("version", 0, _ANY, "version of the map that the step saw"),
            integer("skipped", 0, _ANY, "states that were not told since the last one because it "
                    "had not been read"),
            integer("lost_events", 0, _ANY, "events that could not be kept until now", default=0),
            _TRUNCATED,
        ),
        (*_VIEW_ARRAYS, *_EVENT_ARRAYS),
    ),
)  # fmt: skip

MOVERS_GONE = Event(
    "movers_gone",
    "The movers of a stream are gone, and the stream has ended: the world was removed or replaced, "
    "or ``movers_setup`` or ``movers_load`` has put others in their place.",
    Part((world_field(),), ()),
)

MOVER_MESSAGES = (
    MOVERS_SETUP,
    MOVERS_ADD,
    MOVERS_REMOVE,
    MOVERS_SET,
    MOVERS_ORDER,
    MOVERS_PATHS,
    MOVERS_STOP,
    MOVERS_STEER,
    MOVERS_STEP,
    MOVERS_RUN,
    MOVERS_INFO,
    MOVERS_VIEW,
    MOVERS_ROUTES,
    MOVERS_STREAM,
    MOVERS_SEEN,
    MOVERS_SAVE,
    MOVERS_LOAD,
)
"""Messages about movers."""
MOVER_EVENTS = (MOVERS_STATE, MOVERS_GONE)
"""Events about them."""
