"""Carries out the messages that ask about a map."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.search.heuristics import Heuristic
from navserver.service.inspection import CellReport, Exploration, MapLayer
from navserver.service.requests import Outcome, QueryReply, QueryRequest
from navserver.service.requests import Reply as ServiceReply
from navserver.sidecar.movement_fields import movement_of
from navserver.sidecar.office import Call, Handler, Office
from navserver.sidecar.path_handlers import failure_of, times_of
from navserver.wire.message import Reply

__all__ = ["QUERY_HANDLERS"]

_Parts = tuple[str, dict[str, Any], dict[str, NDArray[Any]]]


class _Question(NamedTuple):
    """How a message is asked of the service, and what its answer is on the wire."""

    ask: Callable[[Call], tuple[str, dict[str, Any]]]
    """Returns the service's question and its arguments."""
    tell: Callable[[Call, Any], _Parts]
    """Returns status, fields and arrays."""


def _nearest(call: Call) -> tuple[str, dict[str, Any]]:
    fields = call.fields
    options = {} if fields["max_distance"] is None else {"max_distance": fields["max_distance"]}
    if fields["start"] is None:
        return "nearest_walkable", {"cell": fields["cell"], **options}
    return (
        "nearest_reachable",
        {"start": fields["start"], "target": fields["cell"], **options},
    )


def _tell_nearest(call: Call, found: tuple[int, int] | None) -> _Parts:  # noqa: ARG001
    if found is None:
        return "unreachable", {}, {}
    return "found", {"cell": [int(found[0]), int(found[1])]}, {}


def _reachable(call: Call) -> tuple[str, dict[str, Any]]:
    arguments = {"start": call.fields["start"], "budget": call.fields["budget"]}
    if "blocked_cells" in call.arrays:
        arguments["blocked_cells"] = call.arrays["blocked_cells"]
    return "reachable", arguments


def _tell_bytes(name: str) -> Callable[[Call, Any], _Parts]:
    def tell(call: Call, found: NDArray[np.bool_]) -> _Parts:  # noqa: ARG001
        return "ok", {}, {name: np.atleast_1d(found).astype(np.uint8)}

    return tell


def _tell_rays(call: Call, hits: Any) -> _Parts:  # noqa: ARG001
    arrays = {
        "reached": hits.reached.astype(np.uint8),
        "points": hits.points.astype(np.float32),
        "cells": hits.cells,
        "normals": hits.normals,
    }
    return "ok", {}, arrays


def _tell_field(call: Call, field: Any) -> _Parts:
    arrays = {}
    if call.fields["directions"]:
        arrays["directions"] = field.directions
    if call.fields["costs"]:
        arrays["costs"] = field.costs
    height, width = field.costs.shape
    return "ok", {"width": width, "height": height}, arrays


def _explore(call: Call) -> tuple[str, dict[str, Any]]:
    fields = call.fields
    heuristic = fields["heuristic"]
    arguments = {name: fields[name] for name in _EXPLORE_OPTIONS}
    arguments["heuristic"] = None if heuristic is None else Heuristic[heuristic.upper()]
    # One that was left out is the search's own default.
    return "explore", {name: value for name, value in arguments.items() if value is not None}


_EXPLORE_OPTIONS = (
    "start",
    "goal",
    "algorithm",
    "inexact",
    "weight",
    "max_expansions",
    "max_cost",
    "allow_partial",
    "capacity",
    "arrays",
    "step",
)


def _tell_exploration(call: Call, seen: Exploration) -> _Parts:
    result = seen.result
    height, width = (seen.order if seen.order.size else seen.costs).shape
    fields: dict[str, Any] = {
        "expanded": result.metrics.expanded,
        "truncated": seen.truncated,
        "position": list(seen.position),
        "width": width,
        "height": height,
    }
    arrays: dict[str, NDArray[Any]] = {}
    if math.isfinite(result.cost):
        fields["cost"], fields["length"] = result.cost, result.length
        arrays["cells"] = result.cells
        if "smoothed" in call.fields["arrays"]:
            arrays["smoothed"] = seen.smoothed
    if seen.order.size:
        arrays["order"] = seen.order
    if seen.costs.size:
        arrays["costs"] = seen.costs
        fields.update(_greatest_of(seen.costs))
    return result.status.name.lower(), fields, arrays


def _tell_layer(call: Call, layer: MapLayer) -> _Parts:
    height, width = layer.values.shape
    fields = {"position": list(layer.position), "width": width, "height": height}
    if layer.values.dtype == np.float32:
        fields.update(_greatest_of(layer.values))
    return "ok", fields, {call.fields["layer"]: layer.values}


def _greatest_of(numbers: NDArray[Any]) -> dict[str, float]:
    greatest = numbers.max(where=np.isfinite(numbers), initial=-np.inf)
    return {"greatest": float(greatest)} if greatest >= 0 else {}


def _tell_cells(call: Call, report: CellReport) -> _Parts:  # noqa: ARG001
    return "ok", {}, report._asdict()


def _ends(question: str) -> Callable[[Call], tuple[str, dict[str, Any]]]:
    def ask(call: Call) -> tuple[str, dict[str, Any]]:
        return question, {"start": call.arrays["starts"], "goal": call.arrays["goals"]}

    return ask


def _many(*names: str, **more: Any) -> Callable[[Call], dict[str, Any]]:
    return lambda call: {**{name: call.arrays[name] for name in names}, **more}


_QUESTIONS: dict[str, _Question] = {
    "nearest": _Question(_nearest, _tell_nearest),
    "reachable": _Question(
        _reachable,
        lambda _, area: ("ok", {}, {"cells": area.cells, "costs": area.costs}),
    ),
    "line_of_sight": _Question(_ends("line_of_sight"), _tell_bytes("visible")),
    "raycast": _Question(
        lambda call: ("raycasts", _many("starts", "ends", world=True)(call)), _tell_rays
    ),
    "connected": _Question(_ends("connected"), _tell_bytes("connected")),
    "matrix": _Question(
        lambda call: ("cost_matrix", _many("starts", "goals")(call)),
        lambda _, costs: ("ok", {}, {"costs": costs}),
    ),
    "flow_field": _Question(
        lambda call: ("flow_field", _many("goals")(call)), _tell_field
    ),
    "what_opens": _Question(
        lambda call: (
            "what_opens", {"start": call.fields["start"], "goal": call.fields["goal"]}
        ),
        lambda _, cells: ("ok", {}, {"cells": cells}),
    ),
    "explore": _Question(_explore, _tell_exploration),
    "map_layer": _Question(
        lambda call: (
            "map_layer", {"layer": call.fields["layer"], "step": call.fields["step"]}
        ),
        _tell_layer,
    ),
    "describe_cells": _Question(
        lambda call: ("describe_cells", _many("cells")(call)), _tell_cells
    ),
}  # fmt: skip


def _ask(office: Office, call: Call) -> None:
    world = office.world_of(call)
    question, arguments = _QUESTIONS[call.request.message.name].ask(call)
    movement = movement_of(world, call.fields)
    request = QueryRequest(
        call.session,
        call.id,
        world.name,
        question=question,
        arguments=arguments,
        movement=movement,
    )
    office.submit(call, request, lambda reply: _deliver(office, call, reply))


def _deliver(office: Office, call: Call, reply: ServiceReply) -> None:
    assert isinstance(reply, QueryReply)
    if reply.outcome is Outcome.FAILED:
        office.answer(call, failure_of(reply))
        return
    parts: _Parts = (reply.outcome.word, {}, {})
    if reply.outcome is Outcome.DONE:
        tell = _QUESTIONS[call.request.message.name].tell
        parts = tell(call, reply.result)
    office.answer(call, Reply(*parts, reply.map_version, *times_of(reply)))


QUERY_HANDLERS: dict[str, Handler] = dict.fromkeys(_QUESTIONS, _ask)
"""Who carries out which message."""
