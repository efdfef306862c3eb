"""Questions that say who the movers are, and where they are to go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.status import InputError
from navserver.wire.mover_messages import MOVER_PROPERTIES
from navserver.wire.question import Question, as_array, read_nothing

__all__ = [
    "add_movers",
    "order_movers",
    "place_movers",
    "remove_movers",
    "send_movers_along",
    "set_movers",
    "set_up_movers",
    "steer_movers",
    "stop_movers",
]


def _handles(handles: ArrayLike) -> NDArray[np.int64]:
    array: NDArray[np.int64] = as_array("handles", handles, np.int64, (None,))
    return array


def _points(name: str, points: ArrayLike) -> NDArray[np.float32]:
    array: NDArray[np.float32] = as_array(name, points, np.float32, (None, 2))
    return array


def _stated(
    properties: Mapping[str, Any], n: int
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the fields and arrays that state properties of n movers."""
    fields: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}
    for name, given in properties.items():
        if name not in MOVER_PROPERTIES:
            known = ", ".join(MOVER_PROPERTIES)
            raise InputError(name, given, "is not a property of movers", f"choose among {known}")
        single, many = MOVER_PROPERTIES[name]
        if np.ndim(given):
            dtype = np.uint32 if name in ("layers", "mask") else np.float32
            arrays[many] = as_array(name, given, dtype, (n,))
        else:
            fields[single] = given
    return fields, arrays


def set_up_movers(world: str, *, replace: bool = False, **options: Any) -> Question[None]:
    """Make an empty table of movers.

    Parameters
    ----------
    world : str
        Its name.
    replace : bool
        Drop the movers there are.
    **options
        ``avoidance``, ``neighbor_dist``, ``max_neighbors``, ``time_horizon``, ``keep_right``,
        ``budget``, ``repath_interval``, ``goal_tolerance``; see ``movers_setup`` in PROTOCOL.md.

    Returns
    -------
    Question of None
        Answered when it is made.
    """
    fields = {"world": world, "replace": replace, **options}
    return Question("movers_setup", fields, read_nothing)


def add_movers(
    world: str,
    positions: ArrayLike,
    *,
    radius: ArrayLike,
    max_speed: ArrayLike,
    space: str = "cell",
    owned: bool = True,
    movement: Mapping[str, Any] | None = None,
    **properties: ArrayLike,
) -> Question[NDArray[np.int64]]:
    """Add movers that stand still.

    Parameters
    ----------
    world : str
        Its name.
    positions : array-like of float, shape (n, 2)
        Where they stand.
    radius, max_speed : float or array-like, shape (n,)
        Of their bodies, in cells and cells a second.
    space : str
        What positions are given in, ``cell`` or ``world``.
    owned : bool
        Remove them when the session ends.
    movement : mapping of str to object, optional
        What blocks them; see `MovementFields`.
    **properties
        Other keywords of `Movers.add`, a number or an array (n,) each.

    Returns
    -------
    Question of int64 array (n,)
        Their handles.

    Raises
    ------
    InputError
        If an argument cannot be sent.
    """
    points = _points("positions", positions)
    stated = {"radius": radius, "max_speed": max_speed, **properties}
    fields, arrays = _stated(stated, len(points))
    return Question(
        "movers_add",
        {"world": world, "space": space, "owned": owned, **fields, **(movement or {})},
        lambda answer: answer.arrays["handles"],
        {"positions": points, **arrays},
    )


def remove_movers(world: str, handles: ArrayLike) -> Question[None]:
    """Remove movers.

    Parameters
    ----------
    world : str
        Its name.
    handles : array-like of int, shape (n,)
        Each once.

    Returns
    -------
    Question of None
        Answered when they are gone.
    """
    return Question("movers_remove", {"world": world}, read_nothing, {"handles": _handles(handles)})


def set_movers(world: str, handles: ArrayLike, **properties: ArrayLike) -> Question[None]:
    """Change properties of movers.

    Parameters
    ----------
    world : str
        Its name.
    handles : array-like of int, shape (n,)
        Each once.
    **properties
        Keywords of `Movers.set`, a number or an array (n,) each.

    Returns
    -------
    Question of None
        Answered when it is done.

    Raises
    ------
    InputError
        If there is no such property.
    """
    movers = _handles(handles)
    fields, arrays = _stated(properties, movers.size)
    return Question(
        "movers_set", {"world": world, **fields}, read_nothing, {"handles": movers, **arrays}
    )


def place_movers(
    world: str, handles: ArrayLike, positions: ArrayLike, *, space: str = "cell"
) -> Question[None]:
    """Put movers somewhere else, standing still.

    Parameters
    ----------
    world : str
        Its name.
    handles : array-like of int, shape (n,)
        Each once.
    positions : array-like of float, shape (n, 2)
        Where to.
    space : str
        ``cell`` or ``world``.

    Returns
    -------
    Question of None
        Answered when they are there.
    """
    arrays: dict[str, NDArray[Any]] = {
        "handles": _handles(handles),
        "positions": _points("positions", positions),
    }
    return Question("movers_set", {"world": world, "space": space}, read_nothing, arrays)


def order_movers(
    world: str,
    handles: ArrayLike,
    goals: ArrayLike,
    *,
    spread: bool = True,
    space: str = "cell",
) -> Question[None]:
    """Send movers to a goal, or each to its own.

    Parameters
    ----------
    world : str
        Its name.
    handles : array-like of int, shape (n,)
        Each once.
    goals : array-like of float, shape (2,) or (n, 2)
        One for all, or one for each.
    spread : bool
        Whether those that share a goal get places of their own.
    space : str
        What goals are given in, ``cell`` or ``world``.

    Returns
    -------
    Question of None
        Answered when the order is given; ways are found within the steps to come.
    """
    arrays: dict[str, NDArray[Any]] = {
        "handles": _handles(handles),
        "goals": _points("goals", np.atleast_2d(np.asarray(goals))),
    }
    fields = {"world": world, "space": space, "spread": spread}
    return Question("movers_order", fields, read_nothing, arrays)


def send_movers_along(
    world: str, handles: ArrayLike, points: ArrayLike, offsets: ArrayLike, *, space: str = "cell"
) -> Question[None]:
    """Send movers along waypoints.

    Parameters
    ----------
    world : str
        Its name.
    handles : array-like of int, shape (n,)
        Each once.
    points : array-like of float, shape (m, 2)
        The waypoints of all, one after the other.
    offsets : array-like of int, shape (n + 1,)
        Path i is ``points[offsets[i]:offsets[i + 1]]``.
    space : str
        ``cell`` or ``world``.

    Returns
    -------
    Question of None
        Answered when they are on their way.
    """
    arrays = {
        "handles": _handles(handles),
        "points": _points("points", points),
        "offsets": as_array("offsets", offsets, np.uint32, (None,)),
    }
    return Question("movers_paths", {"world": world, "space": space}, read_nothing, arrays)


def stop_movers(world: str, handles: ArrayLike) -> Question[None]:
    """Let movers stand where they are.

    Parameters
    ----------
    world : str
        Its name.
    handles : array-like of int, shape (n,)
        Movers.

    Returns
    -------
    Question of None
        Answered when they stand.
    """
    return Question("movers_stop", {"world": world}, read_nothing, {"handles": _handles(handles)})


def steer_movers(
    world: str,
    handles: ArrayLike,
    velocities: ArrayLike,
    *,
    positions: ArrayLike | None = None,
    current_velocities: ArrayLike | None = None,
    space: str = "cell",
) -> Question[None]:
    """Let movers go by velocities of yours.

    Parameters
    ----------
    world : str
        Its name.
    handles : array-like of int, shape (n,)
        Each once.
    velocities : array-like of float, shape (n, 2)
        How each is to go, in units of the space a second.
    positions : array-like of float, shape (n, 2), optional
        Where each is by now, if something else has moved it as well.
    current_velocities : array-like of float, shape (n, 2), optional
        How each moves by now, if that is not what the last step has made of it.
    space : str
        What all these are given in, ``cell`` or ``world``.

    Returns
    -------
    Question of None
        Answered when they know.
    """
    arrays: dict[str, NDArray[Any]] = {
        "handles": _handles(handles),
        "velocities": _points("velocities", velocities),
    }
    if positions is not None:
        arrays["positions"] = _points("positions", positions)
    if current_velocities is not None:
        arrays["current_velocities"] = _points("current_velocities", current_velocities)
    return Question("movers_steer", {"world": world, "space": space}, read_nothing, arrays)
