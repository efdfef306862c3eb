"""Movers as messages tell of them: spaces, properties, views and events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.search.grid import Grid
from navserver.service.mover_views import View, instance_transforms, world_velocities
from navserver.service.world import World
from navserver.service.world_movers import Step, WorldMovers
from navserver.sidecar.office import Call
from navserver.sidecar.workers import default_workers
from navserver.status import InputError
from navserver.wire.errors import WireError
from navserver.wire.mover_messages import EVENT_KINDS, MOVER_PROPERTIES

__all__ = [
    "count_events",
    "event_arrays",
    "in_cell_space",
    "movers_of",
    "properties_of",
    "refusals",
    "velocities_in_cells",
    "view_arrays",
    "view_for",
]

# What the core calls the arguments of `Movers`, and messages otherwise.
_RENAMED = {"goal": "goals", "data": "state", "rectangle": "area"}


@contextmanager
def refusals(call: Call) -> Iterator[None]:
    """Let refusals of the core name what the message calls the field.

    Parameters
    ----------
    call : Call
        What is carried out.

    Yields
    ------
    None
        While it is.
    """
    try:
        yield
    except WireError:
        raise
    except InputError as error:
        name, bracket, index = error.field.partition("[")
        if name in MOVER_PROPERTIES:
            single, many = MOVER_PROPERTIES[name]
            name = many if many in call.arrays else single
        field = _RENAMED.get(name, name) + bracket + index
        raise WireError("bad_field", field, error.value, error.problem, error.remedy) from None


def movers_of(world: World) -> WorldMovers:
    """Return the movers of a world.

    Parameters
    ----------
    world : World
        Which.

    Returns
    -------
    WorldMovers
        Where there are none yet, an empty table with the defaults of ``movers_setup``.
    """
    if world.has_movers:
        return world.movers
    return world.make_movers(avoidance=True, threads=default_workers())


def in_cell_space(grid: Grid, call: Call, name: str) -> NDArray[np.float64]:
    """Return the points of an array of a call.

    Parameters
    ----------
    grid : Grid
        The map.
    call : Call
        With a ``space``.
    name : str
        The array.

    Returns
    -------
    float64 array (n, 2)
        In cell space.
    """
    return _in_cells(call, name, grid.world_to_cell_space)


def velocities_in_cells(grid: Grid, call: Call, name: str) -> NDArray[np.float64]:
    """Return the velocities of an array of a call.

    Parameters
    ----------
    grid : Grid
        The map.
    call : Call
        With a ``space``.
    name : str
        The array.

    Returns
    -------
    float64 array (n, 2)
        In cells a second.
    """
    axes = grid.transform[:, :2]
    return _in_cells(call, name, lambda velocities: np.linalg.solve(axes, velocities.T).T)


def _in_cells(
    call: Call, name: str, to_cells: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return an array of a call, brought into cell space where it is in that of the world."""
    values: NDArray[np.float64] = call.arrays[name].astype(np.float64)
    if call.fields["space"] == "cell":
        return values
    # What is not finite is refused where it is used.
    with np.errstate(invalid="ignore", over="ignore"):
        return to_cells(values)


def properties_of(call: Call) -> dict[str, ArrayLike]:
    """Return the properties of movers that a call states.

    Parameters
    ----------
    call : Call
        With the fields and arrays of properties.

    Returns
    -------
    dict of str to number or array
        Keywords of `Movers.set`.

    Raises
    ------
    WireError
        If one is stated twice.
    """
    found: dict[str, ArrayLike] = {}
    for name, (single, many) in MOVER_PROPERTIES.items():
        value, array = call.fields[single], call.arrays.get(many)
        if value is not None and array is not None:
            raise WireError("bad_field", single, value, f"goes with no {many}", "give one of both")
        given = value if array is None else array
        if given is not None:
            found[name] = given
    return found


def view_for(movers: WorldMovers, fields: Mapping[str, Any]) -> View:
    """Return the movers that a request for a view means.

    Parameters
    ----------
    movers : WorldMovers
        The movers.
    fields : mapping of str to object
        Of the request.

    Returns
    -------
    View
        After the last step.

    Raises
    ------
    InputError
        If the area is none.
    """
    return movers.view(fields["area"], fields["limit"], in_world=fields["space"] == "world")


def view_arrays(grid: Grid, view: View, fields: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the columns of a view that were asked for.

    Parameters
    ----------
    grid : Grid
        The map.
    view : View
        From `view_for`.
    fields : mapping of str to object
        Of the request.

    Returns
    -------
    dict of str to array
        By their names on the wire.
    """
    columns, in_world = fields["columns"], fields["space"] == "world"
    arrays: dict[str, NDArray[Any]] = {}
    if "handles" in columns:
        arrays["handles"] = view.handles
    if "positions" in columns:
        arrays["positions"] = (
            grid.cell_to_world(view.positions).astype(np.float32) if in_world else view.positions
        )
    if "velocities" in columns:
        arrays["velocities"] = (
            world_velocities(grid, view.velocities).astype(np.float32)
            if in_world
            else view.velocities
        )
    if "states" in columns:
        arrays["states"] = view.states
    if "transforms" in columns:
        arrays["transforms"] = instance_transforms(grid, view)
    if "transforms_before" in columns:
        arrays["transforms_before"] = instance_transforms(grid, view, before=True)
    return arrays


def count_events(steps: Iterable[Step]) -> int:
    """Return how many events steps have brought.

    Parameters
    ----------
    steps : iterable of Step
        Steps.

    Returns
    -------
    int
        Rows of `event_arrays`.
    """
    return sum(len(handles) for step in steps for handles in step.events[: len(EVENT_KINDS)])


def event_arrays(steps: Iterable[Step]) -> dict[str, NDArray[Any]]:
    """Return the events of steps as one table.

    Parameters
    ----------
    steps : iterable of Step
        In their order.

    Returns
    -------
    dict of str to array
        By their names on the wire, ordered by tick, kind and slot; empty without events.
    """
    ticks: list[NDArray[Any]] = []
    kinds: list[NDArray[Any]] = []
    handles: list[NDArray[Any]] = []
    reasons: list[NDArray[Any]] = []
    for step in steps:
        for kind, found in enumerate(step.events[: len(EVENT_KINDS)]):
            if not found.size:
                continue
            ticks.append(np.full(found.size, step.tick, np.int64))
            kinds.append(np.full(found.size, kind, np.uint8))
            handles.append(found)
            is_stuck = EVENT_KINDS[kind] == "stuck"
            reasons.append(step.events.stuck_reason if is_stuck else np.zeros(found.size, np.uint8))
    if not ticks:
        return {}
    columns = {
        "event_ticks": ticks,
        "event_kinds": kinds,
        "event_handles": handles,
        "event_reasons": reasons,
    }
    return {name: np.concatenate(parts) for name, parts in columns.items()}
