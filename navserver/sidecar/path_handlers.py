"""Carries out the messages that ask for one path."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.service.requests import Outcome, PathReply, PathRequest, SearchOptions, Used
from navserver.service.requests import Reply as ServiceReply
from navserver.service.world import World
from navserver.sidecar.movement_fields import search_options_of
from navserver.sidecar.office import Call, Handler, Office
from navserver.sidecar.path_results import as_asked, smoothed
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


class _PathCall:
    """One ``path`` on its way."""

    def __init__(self, office: Office, call: Call) -> None:
        fields = call.fields
        self._office = office
        self._call = call
        self._agent: int | None = fields["agent"]
        self._world = office.world_of(call)
        self._options = search_options_of(self._world, fields)
        self._is_superseded = False
        request = PathRequest(
            call.session,
            call.id,
            self._world.name,
            fields["priority"],
            fields["deadline_ms"],
            fields["start"],
            fields["goal"],
            self._options,
            blocked_cells=call.arrays.get("blocked_cells"),
            ignored_cells=call.arrays.get("ignored_cells"),
        )
        office.submit(call, request, self._deliver)
        if self._agent is not None:
            self._withdraw = self._supersede
            office.agents.ask(call.session, self._agent, self._withdraw)

    def _supersede(self) -> None:
        self._is_superseded = True
        self._office.scheduler.cancel(self._call.session, self._call.id, self._office.clock())

    def _deliver(self, reply: ServiceReply) -> None:
        assert isinstance(reply, PathReply)
        office, call = self._office, self._call
        if self._agent is not None:
            office.agents.leave(call.session, self._agent, self._withdraw)
        if reply.outcome is Outcome.FAILED:
            office.answer(call, failure_of(reply))
            return
        found = reply.result
        fields: dict[str, Any] = {"expanded": 0, "source": _SOURCE[reply.used]}
        arrays: dict[str, NDArray[Any]] = {}
        if found is not None:
            fields["expanded"] = found.metrics.expanded
            if math.isfinite(found.cost):
                fields["cost"], fields["length"] = found.cost, found.length
                fields["watch"] = self._watch(found.cells)
                arrays = self._path(found.cells, reply.map_version)
        status = _STATUS[reply.outcome]
        if self._is_superseded and reply.outcome is Outcome.CANCELLED:
            status = _STATUS[Outcome.SUPERSEDED]
        office.answer(call, Reply(status, fields, arrays, reply.map_version, *times_of(reply)))

    def _watch(self, cells: NDArray[np.int32]) -> int | None:
        if not self._call.fields["watch"]:
            return None
        session, movement = self._call.session, self._options.movement
        return self._office.watch(session, self._world, movement, cells)

    def _path(self, cells: NDArray[np.int32], version: int) -> dict[str, NDArray[Any]]:
        fields, world = self._call.fields, self._world
        if fields["smoothing"] != "none":
            offsets = np.array([0, len(cells)])
            movement = self._options.movement
            cells, _ = smoothed(world, movement, fields["smoothing"], cells, offsets, version)
        return as_asked(world, fields["result"], cells)


def _ask_path(office: Office, call: Call) -> None:
    _PathCall(office, call)


def _ask_trace(office: Office, call: Call) -> None:
    fields = call.fields
    world: World = office.world_of(call)
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
    office.submit(call, request, lambda reply: _deliver_trace(office, call, reply))


def _deliver_trace(office: Office, call: Call, reply: ServiceReply) -> None:
    assert isinstance(reply, PathReply)
    if reply.outcome is Outcome.FAILED:
        office.answer(call, failure_of(reply))
        return
    found, record = reply.result, reply.trace
    nothing = np.zeros((0, 2), np.int32)
    fields: dict[str, Any] = {
        "expanded": 0 if found is None else found.metrics.expanded,
        "truncated": record is not None and record.truncated,
    }
    arrays: dict[str, NDArray[Any]] = {
        "expanded_cells": nothing if record is None else record.cells,
        "parents": nothing if record is None else record.parents,
        "g": np.zeros(0) if record is None else record.g,
        "h": np.zeros(0) if record is None else record.h,
    }
    if found is not None and math.isfinite(found.cost):
        fields["cost"] = found.cost
        arrays["cells"] = found.cells
    status = _STATUS[reply.outcome]
    office.answer(call, Reply(status, fields, arrays, reply.map_version, *times_of(reply)))


PATH_HANDLERS: dict[str, Handler] = {"path": _ask_path, "trace": _ask_trace}
"""Who carries out which message."""
