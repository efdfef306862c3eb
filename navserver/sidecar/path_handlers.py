"""Carries out the messages that ask for paths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.search.smoothing import pull_string, simplify_path
from navserver.service.requests import (
    Outcome,
    PathReply,
    PathRequest,
    SearchOptions,
    Used,
    movement_keywords,
)
from navserver.service.requests import Reply as ServiceReply
from navserver.service.world import World
from navserver.sidecar.movement_fields import search_options_of
from navserver.sidecar.office import Call, Handler, Office
from navserver.status import InputError
from navserver.wire.errors import WireError
from navserver.wire.message import Reply
from navserver.wire.path_messages import PATH_STATUSES, SOURCES

__all__ = ["PATH_HANDLERS", "failure_of", "times_of"]

_STATUS = {outcome: outcome.word for outcome in Outcome}
_SOURCE = {used: used.word for used in Used}
assert tuple(_STATUS[Outcome(i)] for i in range(len(PATH_STATUSES))) == PATH_STATUSES
assert tuple(_SOURCE.values()) == SOURCES


def times_of(reply: ServiceReply) -> tuple[float, float]:
    """Return the time waiting and the time searching.

    Parameters
    ----------
    reply : service reply
        Any.

    Returns
    -------
    (float, float)
        Microseconds.
    """
    return reply.timing.waiting * 1e6, reply.timing.searching * 1e6


def failure_of(reply: ServiceReply) -> InputError:
    """Return why a request could not be carried out.

    Parameters
    ----------
    reply : service reply
        Of outcome FAILED.

    Returns
    -------
    InputError
        What is told.
    """
    if isinstance(reply.error, InputError):
        return reply.error
    return WireError(
        "internal", "type", reply.outcome.word, f"failed: {reply.error}",
        "report it with the server's log: it is a defect",
    )  # fmt: skip


def _path(office: Office, call: Call) -> None:
    fields = call.fields
    world = office.world_of(call)
    request = PathRequest(
        call.session,
        call.id,
        world.name,
        fields["priority"],
        fields["deadline_ms"],
        fields["start"],
        fields["goal"],
        search_options_of(world, fields),
        fields["agent"],
    )
    _submit(office, call, request, _deliver_path)


def _submit(office: Office, call: Call, request: PathRequest, deliver: Any) -> None:
    office.expect(call, request.request_id, deliver)
    try:
        office.scheduler.submit(request, call.now)
    except InputError:
        office.forget(call, request.request_id)
        raise


def _deliver_path(office: Office, call: Call, reply: ServiceReply) -> None:
    assert isinstance(reply, PathReply)
    if reply.outcome is Outcome.FAILED:
        office.answer(call, failure_of(reply))
        return
    found = reply.result
    fields: dict[str, Any] = {"expanded": 0, "source": _SOURCE[reply.used]}
    arrays: dict[str, NDArray[Any]] = {}
    if found is not None:
        fields["expanded"] = found.metrics.expanded
        if math.isfinite(found.cost):
            world = office.world_of(call)
            fields["cost"], fields["length"] = found.cost, found.length
            cells = _smoothed(world, call, found.cells, reply.map_version)
            arrays = _as_asked(world, call, cells)
    office.answer(
        call,
        Reply(_STATUS[reply.outcome], fields, arrays, reply.map_version, *times_of(reply)),
    )


def _smoothed(
    world: World, call: Call, cells: NDArray[np.int32], version: int
) -> NDArray[np.int32]:
    smoothing = call.fields["smoothing"]
    if smoothing == "none" or len(cells) < 3:
        return cells
    if smoothing == "pull_string":
        replica = world.replicas.pin()
        try:
            # On another version a straight line may cross what is a wall now.
            if replica.version == version:
                options = search_options_of(world, call.fields)
                return pull_string(replica.grid, cells, **movement_keywords(options.movement))
        finally:
            world.replicas.unpin(replica)
    return simplify_path(cells)


def _as_asked(world: World, call: Call, cells: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    """Return cells as cells or points."""
    if call.fields["result"] == "cells":
        return {"cells": cells}
    transform = world.replicas.grid.transform
    points = cells @ transform[:, :2].T + transform[:, 2]
    return {"points": points.astype(np.float32)}


def _trace(office: Office, call: Call) -> None:
    fields = call.fields
    world = office.world_of(call)
    options: SearchOptions = search_options_of(world, fields)
    request = PathRequest(
        call.session,
        call.id,
        world.name,
        start=fields["start"],
        goal=fields["goal"],
        options=options,
        trace_capacity=fields["capacity"],
    )
    _submit(office, call, request, _deliver_trace)


def _deliver_trace(office: Office, call: Call, reply: ServiceReply) -> None:
    assert isinstance(reply, PathReply)
    if reply.outcome is Outcome.FAILED:
        office.answer(call, failure_of(reply))
        return
    found, trace = reply.result, reply.trace
    nothing = np.zeros((0, 2), np.int32)
    fields: dict[str, Any] = {
        "expanded": 0 if found is None else found.metrics.expanded,
        "truncated": trace is not None and trace.truncated,
    }
    arrays: dict[str, NDArray[Any]] = {
        "expanded_cells": nothing if trace is None else trace.cells,
        "parents": nothing if trace is None else trace.parents,
        "g": np.zeros(0) if trace is None else trace.g,
        "h": np.zeros(0) if trace is None else trace.h,
    }
    if found is not None and math.isfinite(found.cost):
        fields["cost"] = found.cost
        arrays["cells"] = found.cells
    office.answer(
        call,
        Reply(_STATUS[reply.outcome], fields, arrays, reply.map_version, *times_of(reply)),
    )


PATH_HANDLERS: dict[str, Handler] = {"path": _path, "trace": _trace}
"""Who carries out which message."""
