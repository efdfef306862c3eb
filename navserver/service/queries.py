"""Questions about a map other than for a path: their names, and who answers them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from navserver.search.clearance import distance_to_wall, fits
from navserver.search.flow_field import FlowField
from navserver.search.grid import Grid
from navserver.search.islands import connected
from navserver.search.line_of_sight import line_of_sight, raycasts
from navserver.search.many import cost_matrix, nearest_goal, reachable
from navserver.search.movement import Movement
from navserver.search.nearest import nearest_reachable, nearest_walkable, random_reachable
from navserver.search.nodes import CancelFlag
from navserver.search.openings import what_opens
from navserver.service.inspection import describe_cells, explore, map_layer
from navserver.service.requests import movement_keywords
from navserver.status import InputError

__all__ = ["QUERIES", "Query", "bind_query"]


class Query(NamedTuple):
    """A question that a world answers."""

    function: Callable[..., Any]
    """Takes the grid, the arguments and the keywords of `Movement`."""
    arguments: tuple[str, ...]
    """Which arguments it must be given."""
    options: tuple[str, ...] = ()
    """Which it may be given."""
    is_cancellable: bool = False
    """Whether it takes a `CancelFlag`."""
    is_short: bool = False
    """Whether its time does not grow with the map."""


QUERIES: Mapping[str, Query] = {
    "connected": Query(connected, ("start", "goal")),
    "cost_matrix": Query(cost_matrix, ("starts", "goals"), is_cancellable=True),
    "describe_cells": Query(describe_cells, ("cells",)),
    "distance_to_wall": Query(distance_to_wall, (), ("cells",)),
    "explore": Query(
        explore,
        ("start", "goal"),
        (
            "algorithm",
            "heuristic",
            "weight",
            "inexact",
            "max_expansions",
            "max_cost",
            "allow_partial",
            "capacity",
            "arrays",
            "step",
        ),
        is_cancellable=True,
    ),
    "fits": Query(fits, ("cells",)),
    "flow_field": Query(FlowField, ("goals",), ("sight_radius",), is_cancellable=True),
    "line_of_sight": Query(line_of_sight, ("start", "goal"), is_short=True),
    "map_layer": Query(map_layer, ("layer",), ("step",)),
    "nearest_goal": Query(nearest_goal, ("start", "goals"), is_cancellable=True),
    "nearest_reachable": Query(nearest_reachable, ("start", "target"), ("max_distance",)),
    "nearest_walkable": Query(nearest_walkable, ("cell",), ("max_distance",)),
    "random_reachable": Query(random_reachable, ("start", "seed"), ("count",)),
    "raycasts": Query(raycasts, ("starts", "ends"), ("world",), is_short=True),
    "reachable": Query(reachable, ("start", "budget"), ("blocked_cells",), is_cancellable=True),
    "what_opens": Query(what_opens, ("start", "goal")),
}
"""Every question by its name; the functions of the package say what arguments mean."""


def bind_query(
    question: str, arguments: Mapping[str, Any], movement: Movement
) -> Callable[[Grid, CancelFlag], Any]:
    """Return what answers a question on a grid.

    Parameters
    ----------
    question : str
        A key of `QUERIES`.
    arguments : mapping of str to object
        Its arguments and options; their values are checked when it is answered.
    movement : Movement
        The body.

    Returns
    -------
    callable
        Called with the grid and a flag that ends it early.

    Raises
    ------
    InputError
        If there is no such question, or an argument is missing or not known.
    """
    query = QUERIES.get(question) if isinstance(question, str) else None
    if query is None:
        raise InputError(
            "question", question, "is not known", f"ask one of {', '.join(sorted(QUERIES))}"
        )
    for name in query.arguments:
        if name not in arguments:
            raise InputError(name, None, f"is missing for {question}", "give it")
    known = (*query.arguments, *query.options)
    for name in arguments:
        if name not in known:
            raise InputError(
                "arguments", name, f"is not an argument of {question}", f"give {', '.join(known)}"
            )
    keywords = {**arguments, **movement_keywords(movement)}

    def answer(grid: Grid, cancel: CancelFlag) -> Any:
        if query.is_cancellable:
            return query.function(grid, **keywords, cancel=cancel)
        return query.function(grid, **keywords)

    return answer
