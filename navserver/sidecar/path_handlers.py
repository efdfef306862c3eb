"""Carries out the messages that ask for one path."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.search.results import PathResult
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
_SEARCH = _SOURCE[Used.SEARCH]
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

    def __init__(
        self, office: Office, call: Call, world: World, options: SearchOptions, *, is_tried: bool
    ) -> None:
        fields = call.fields
        self._office = office
        self._call = call
        self._agent: int | None = fields["agent"]
        self._world = world
        self._options = options
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
        office.submit(call, request, self._deliver, is_tried=is_tried)
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
        status = _STATUS[reply.outcome]
        if self._is_superseded and reply.outcome is Outcome.CANCELLED:
            status = _STATUS[Outcome.SUPERSEDED]
        fields: dict[str, Any] = {"expanded": 0, "source": _SOURCE[reply.used]}
        arrays: dict[str, NDArray[Any]] = {}
        if reply.result is not None:
            arrays = _tell_path(
                office, call, self._world, self._options, reply.result, reply.map_version, fields
            )
        office.answer(call, Reply(status, fields, arrays, reply.map_version, *times_of(reply)))


def _tell_path(
    office: Office,
    call: Call,
    world: World,
    options: SearchOptions,
    found: PathResult,
    version: int,
    fields: dict[str, Any],
) -> dict[str, NDArray[Any]]:
    """Add what a search has found to the fields of a reply, and return the reply's arrays."""
    fields["expanded"] = found.metrics.expanded
    cost = found.cost
    if not math.isfinite(cost):
        return {}
    asked, movement = call.request.fields, options.movement
    fields["cost"], fields["length"] = cost, found.length
    cells = found.cells
    if asked["watch"]:
        fields["watch"] = office.watchers.watch(call.session, world, movement, cells)
    if asked["smoothing"] != "none":
        offsets = np.array([0, len(cells)])
        cells, _ = smoothed(world, movement, asked["smoothing"], cells, offsets, version)
    return as_asked(world, asked["result"], cells)


def _ask_path(office: Office, call: Call) -> Reply | None:
    fields = call.request.fields
    world = office.world_of(call)
    options = search_options_of(world, fields)
    trial = None
    # Cells of its own make a search one that is begun as a long one.
    if not call.request.arrays and fields["deadline_ms"] != 0.0 and office.may_search():
        began = office.clock()
        trial = office.scheduler.try_path(world, options, fields["start"], fields["goal"])
        if trial is not None and trial.result is not None:
            return _at_once(office, call, world, options, trial.result, began)
    _PathCall(office, call, world, options, is_tried=trial is not None)
    return None


def _at_once(
    office: Office,
    call: Call,
    world: World,
    options: SearchOptions,
    found: PathResult,
    began: float,
) -> Reply:
    """Return the reply with a path that was found before the request could wait."""
    agent: int | None = call.request.fields["agent"]
    if agent is not None:
        office.agents.supersede(call.session, agent)
    waiting, searching = max(began - call.now, 0.0), office.clock() - began
    status, version = PATH_STATUSES[found.status], found.map_version
    office.scheduler.note_path(status, waiting, searching)
    fields: dict[str, Any] = {"expanded": 0, "source": _SEARCH}
    arrays = _tell_path(office, call, world, options, found, version, fields)
    return Reply(status, fields, arrays, version, waiting * 1e6, searching * 1e6)


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
