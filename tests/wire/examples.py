"""One example of each message and event: what the document shows and the vectors hold."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.wire.message import Body, Reply

Arrays = Mapping[str, NDArray[Any]]


class Example(NamedTuple):
    """A request and its reply."""

    fields: dict[str, Any]
    reply: Reply
    arrays: Arrays = MappingProxyType({})


def i32(*rows: Any) -> NDArray[np.int32]:
    return np.array(rows, np.int32)


def u8(*values: Any) -> NDArray[np.uint8]:
    return np.array(values, np.uint8)


def u32(*values: int) -> NDArray[np.uint32]:
    return np.array(values, np.uint32)


def f32(*values: Any) -> NDArray[np.float32]:
    return np.array(values, np.float32)


def i64(*values: int) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def f64(*values: Any) -> NDArray[np.float64]:
    return np.array(values, np.float64)


def ok(
    fields: dict[str, Any] | None = None, arrays: Arrays | None = None, version: int = 0
) -> Reply:
    return Reply("ok", fields or {}, arrays or {}, version, 12.5, 40.25)


_TILES = np.frombuffer(
    # format 0; cell (0, 0): source 1, atlas (2, 0); cell (1, 0): source 1, atlas (0, 3), flipped
    bytes.fromhex("0000 0000 0000 0100 0200 0000 0000 0100 0000 0100 0000 0300 0050"),
    np.uint8,
)
_COSTS = np.ones(256, np.float32)
_COSTS[2] = 3.5
_COSTS[255] = np.inf

MESSAGE_EXAMPLES: dict[str, Example] = {
    "hello": Example(
        {"session": "5d41402abc4b2a76", "protocol": 1, "client": "navserver-gd 0.1.0"},
        ok(
            {
                "protocol": 1,
                "server": "navserver 0.1.0",
                "instance": "9f86d081884c7d65",
                "resumed": False,
                "capabilities": ["hello", "ping", "path"],
                "max_header_bytes": 65536,
                "max_frame_bytes": 67108864,
                "max_frames": 17,
                "max_requests": 1024,
                "max_batch": 65536,
                "warm_up_done": 30,
                "warm_up_total": 30,
            }
        ),
    ),
    "ping": Example({}, ok({"time": 61.5})),
    "cancel": Example({"target": 41}, ok({"running": True}), {"rows": u32(3, 9)}),
    "stats": Example({}, ok({"stats": {"path.count": 1200, "path.p50_us": 85.5, "sessions": 1}})),
    "log": Example({"level": "info"}, ok()),
    "snapshot": Example({"world": "city"}, ok({"bytes": 4}, {"state": u8(78, 86, 1, 0)})),
    "restore": Example({}, ok({"worlds": ["city"]}), {"state": u8(78, 86, 1, 0)}),
    "shutdown": Example({}, ok()),
    "world_create": Example(
        {
            "world": "city",
            "width": 3,
            "height": 2,
            "position": [-1, 0],
            "transform": [16.0, 0.0, 8.0, 0.0, 16.0, 8.0],
        },
        ok({"lineage": "b1946ac92492d234"}, version=1),
        {"classes": u8((0, 255, 0), (0, 0, 2))},
    ),
    "world_edit": Example(
        {"world": "city", "base_version": 1},
        ok(version=2),
        {"cells": i32((0, 0), (1, 1)), "class_ids": u8(0, 255)},
    ),
    "world_tiles": Example(
        {"world": "city"},
        ok({"placed": 2, "outside": 0, "unknown": 0}, version=3),
        {
            "tiles": _TILES,
            "sizes": u32(26),
            "table": np.array([(0, 1, 2, 0, 0, 0), (0, 1, 0, 3, 0, 255)], np.uint16),
        },
    ),
    "world_info": Example(
        {"world": "city"},
        ok(
            {
                "lineage": "b1946ac92492d234",
                "width": 3,
                "height": 2,
                "position": [-1, 0],
                "transform": [16.0, 0.0, 8.0, 0.0, 16.0, 8.0],
                "layers": ["danger"],
                "profiles": ["default", "boat"],
                "memory_bytes": 4096,
            },
            version=3,
        ),
    ),
    "world_hash": Example({"world": "city"}, ok({"hash": "e3b0c442" * 8}, version=3)),
    "world_list": Example({}, ok({"worlds": ["city", "forest"]})),
    "world_delete": Example({"world": "city"}, ok()),
    "profile_set": Example({"world": "city", "profile": "boat"}, ok(version=3), {"costs": _COSTS}),
    "watch": Example(
        {"world": "city"}, ok({"watch": 5}, version=3), {"cells": i32((-1, 0), (-1, 1), (0, 1))}
    ),
    "unwatch": Example({}, ok(), {"watches": u32(5, 6)}),
    "path": Example(
        {
            "world": "city",
            "start": [-1, 0],
            "goal": [1, 1],
            "profile": "boat",
            "deadline_ms": 5.0,
            "agent": 12,
            "overlays": {"danger": 2.0},
        },
        Reply(
            "found",
            {"cost": 3.0, "length": 3.0, "expanded": 4, "source": "search"},
            {"points": f32((-8, 8), (-8, 24), (8, 24), (24, 24))},
            3,
            12.5,
            40.25,
        ),
    ),
    "batch": Example(
        {"world": "city", "result": "cells", "watch": True},
        ok(
            {"more": False},
            {
                "statuses": u8(0, 2),
                "sources": u8(1, 5),
                "versions": u32(3, 3),
                "costs": f64(1.0, np.inf),
                "lengths": f64(1.0, np.inf),
                "offsets": u32(0, 2, 2),
                "cells": i32((-1, 0), (-1, 1)),
                "watches": u32(7, 0),
            },
            version=3,
        ),
        {
            "starts": i32((-1, 0), (0, 1)),
            "goals": i32((-1, 1), (1, 0)),
            "sizes": u8(1, 2),
            "agents": np.array([12, -1], np.int64),
        },
    ),
    "trace": Example(
        {"world": "city", "start": [-1, 0], "goal": [-1, 1], "capacity": 16},
        Reply(
            "found",
            {"cost": 1.0, "expanded": 2, "truncated": False},
            {
                "cells": i32((-1, 0), (-1, 1)),
                "expanded_cells": i32((-1, 0), (-1, 1)),
                "parents": i32((-1, 0), (-1, 0)),
                "g": f64(0.0, 1.0),
                "h": f64(1.0, 0.0),
            },
            3,
            12.5,
            40.25,
        ),
    ),
    "nearest": Example(
        {"world": "city", "cell": [0, 0], "start": [-1, 0], "max_distance": 8.0},
        Reply("found", {"cell": [-1, 0]}, {}, 3, 12.5, 40.25),
    ),
    "reachable": Example(
        {"world": "city", "start": [-1, 0], "budget": 1.0},
        ok({}, {"cells": i32((-1, 0), (-1, 1)), "costs": f64(0.0, 1.0)}, 3),
        {"blocked_cells": i32((0, 0))},
    ),
    "line_of_sight": Example(
        {"world": "city"},
        ok({}, {"visible": u8(1, 0)}, 3),
        {"starts": i32((-1, 0), (-1, 0)), "goals": i32((-1, 1), (1, 0))},
    ),
    "raycast": Example(
        {"world": "city"},
        ok(
            {},
            {
                "reached": u8(0),
                "points": f32((-0.25, 8)),
                "cells": i32((0, 0)),
                "normals": np.array([(-1, 0)], np.int8),
            },
            3,
        ),
        {"starts": f32((-8, 8)), "ends": f32((24, 8))},
    ),
    "connected": Example(
        {"world": "city", "diagonal_mode": 1},
        ok({}, {"connected": u8(1)}, 3),
        {"starts": i32((-1, 0)), "goals": i32((1, 1))},
    ),
    "matrix": Example(
        {"world": "city"},
        ok({}, {"costs": f64((1.0, np.inf))}, 3),
        {"starts": i32((-1, 0)), "goals": i32((-1, 1), (0, 0))},
    ),
    "flow_field": Example(
        {"world": "city", "costs": True},
        ok(
            {"width": 3, "height": 2},
            {
                "directions": u8((2, 255, 2), (0, 0, 255)),
                "costs": f32((3, np.inf, 1), (2, 1, 0)),
            },
            3,
        ),
        {"goals": i32((1, 1))},
    ),
    "what_opens": Example(
        {"world": "city", "start": [-1, 0], "goal": [1, 0]},
        ok({}, {"cells": i32((0, 0))}, 3),
    ),
    "explore": Example(
        {
            "world": "city",
            "start": [-1, 0],
            "goal": [-1, 1],
            "capacity": 100,
            "arrays": ["smoothed", "order", "costs"],
            "step": 1,
        },
        Reply(
            "found",
            {
                "cost": 1.0,
                "length": 1.0,
                "expanded": 2,
                "truncated": False,
                "position": [-1, 0],
                "width": 1,
                "height": 2,
            },
            {
                "cells": i32((-1, 0), (-1, 1)),
                "smoothed": i32((-1, 0), (-1, 1)),
                "order": i32((1,), (2,)),
                "costs": f32((0,), (1,)),
            },
            3,
            12.5,
            40.25,
        ),
    ),
    "map_layer": Example(
        {"world": "city", "layer": "islands"},
        ok(
            {"position": [-1, 0], "width": 3, "height": 2},
            {"islands": i32((1, 0, 1), (1, 1, 1))},
            3,
        ),
    ),
    "describe_cells": Example(
        {"world": "city", "profile": "boat"},
        ok(
            {},
            {
                "classes": u8(2, 255),
                "scales": f32(1, 1),
                "costs": f64(3.5, np.inf),
                "islands": i32(1, 0),
                "clearance": f64(8, 0),
                "fits": u8(1, 0),
            },
            3,
        ),
        {"cells": i32((1, 1), (0, 0))},
    ),
    "movers_setup": Example({"world": "city", "budget": 20000}, ok(version=3)),
    "movers_add": Example(
        {"world": "city", "body_radius": 0.25, "profile": "boat"},
        ok({}, {"handles": i64(4294967296, 4294967297)}, 3),
        {"positions": f32((-1, 0), (-1, 1)), "max_speeds": f32(2, 3.5)},
    ),
    "movers_remove": Example({"world": "city"}, ok(version=3), {"handles": i64(4294967296)}),
    "movers_set": Example(
        {"world": "city", "priority": 0.5, "layers": 3},
        ok(version=3),
        {"handles": i64(4294967297)},
    ),
    "movers_order": Example(
        {"world": "city", "space": "world"},
        ok(version=3),
        {"handles": i64(4294967296, 4294967297), "goals": f32((24, 24))},
    ),
    "movers_paths": Example(
        {"world": "city"},
        ok(version=3),
        {
            "handles": i64(4294967296, 4294967297),
            "points": f32((-1, 1), (0, 1)),
            "offsets": u32(0, 2, 2),
        },
    ),
    "movers_stop": Example({"world": "city"}, ok(version=3), {"handles": i64(4294967296)}),
    "movers_steer": Example(
        {"world": "city", "space": "world"},
        ok(version=3),
        {
            "handles": i64(4294967297),
            "velocities": f32((48, -16)),
            "positions": f32((8.5, 24)),
        },
    ),
    "movers_step": Example(
        {"world": "city", "dt": 0.125, "count": 8, "hash": True, "columns": ["positions"]},
        ok(
            {
                "tick": 8,
                "steps": 8,
                "hash": "0cc175b9c0f1b6a8" * 2,
                "truncated": False,
            },
            {
                "positions": f32((1, 1), (0, 1)),
                "watched_velocities": f32((3, -1)),
                "event_ticks": i64(6, 8),
                "event_kinds": u8(0, 4),
                "event_handles": i64(4294967296, 4294967297),
                "event_reasons": u8(0, 2),
            },
            3,
        ),
        {"watched": i64(4294967297)},
    ),
    "movers_run": Example({"world": "city", "rate": 60.0}, ok({"tick": 8}, version=3)),
    "movers_info": Example(
        {"world": "city"}, ok({"count": 2, "tick": 8, "rate": 60.0, "skipped": 0}, version=3)
    ),
    "movers_view": Example(
        {"world": "city", "area": [-16.0, 0.0, 32.0, 32.0], "space": "world", "limit": 1},
        ok(
            {"tick": 8, "truncated": True},
            {
                "handles": i64(4294967296),
                "positions": f32((24, 24)),
                "velocities": f32((0, 0)),
                "states": u8(1),
            },
            3,
        ),
    ),
    "movers_routes": Example(
        {"world": "city"},
        ok({"tick": 8}, {"points": f32((0, 1), (4, 1)), "offsets": u32(0, 2, 2)}, 3),
        {"handles": i64(4294967296, 4294967297)},
    ),
    "movers_stream": Example(
        {"world": "city", "columns": ["transforms"], "every": 2, "window": 3},
        ok({"tick": 8}, version=3),
    ),
    "movers_seen": Example({"world": "city", "tick": 10}, ok(version=3)),
    "movers_save": Example({"world": "city"}, ok({"count": 2}, {"state": u8(78, 65, 86, 65)}, 3)),
    "movers_load": Example(
        {"world": "city"},
        ok({}, {"handles": i64(4294967296, 4294967297)}, 3),
        {"state": u8(78, 65, 86, 65)},
    ),
}

EVENT_EXAMPLES: dict[str, Body] = {
    "goodbye": Body({"reason": "shutdown", "remedy": "start the server again"}, {}),
    "alive": Body({}, {}),
    "progress": Body({"done": 3, "total": 30, "doing": "line of sight"}, {}),
    "logged": Body(
        {"time": 1.5e9, "level": "info", "event": "session_opened", "text": "session opened"}, {}
    ),
    "path_invalid": Body(
        {"world": "city", "version": 4},
        {"watches": u32(5), "indices": u32(2), "reasons": u8(0)},
    ),
    "movers_state": Body(
        {
            "world": "city",
            "tick": 10,
            "version": 3,
            "skipped": 1,
            "lost_events": 0,
            "truncated": False,
        },
        {
            "transforms": f32((0, -1, 0, -8, 1, 0, 0, 8), (1, 0, 0, 8, 0, 1, 0, 24)),
            "transforms_before": f32((1, 0, 0, -8, 0, 1, 0, 4), (1, 0, 0, 8, 0, 1, 0, 24)),
            "event_ticks": i64(9),
            "event_kinds": u8(4),
            "event_handles": i64(4294967297),
            "event_reasons": u8(1),
        },
    ),
    "movers_gone": Body({"world": "city"}, {}),
}

ERROR_EXAMPLE = ("path", 7, ("bad_field", "goal", [1], "is no pair", "give [x, y]"))
