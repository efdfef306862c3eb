"""Carries out the messages about watched paths."""

from __future__ import annotations

from navserver.sidecar.movement_fields import movement_of
from navserver.sidecar.office import Call, Handler, Office
from navserver.wire.message import Reply

__all__ = ["WATCH_HANDLERS"]


def _watch(office: Office, call: Call) -> Reply:
    world = office.world_of(call)
    movement = movement_of(world, call.fields)
    number = office.watchers.watch(call.session, world, movement, call.arrays["cells"])
    return Reply("ok", {"watch": number}, {}, world.version)


def _unwatch(office: Office, call: Call) -> Reply:
    office.watchers.unwatch(call.session, call.arrays["watches"].tolist())
    return Reply("ok", {}, {})


WATCH_HANDLERS: dict[str, Handler] = {"watch": _watch, "unwatch": _unwatch}
"""Who carries out which message."""
