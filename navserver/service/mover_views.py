"""What can be seen of a table of movers: those in an area, and as instances to draw."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.movers.columns import MoverState
from navserver.movers.movers import Movers
from navserver.search.grid import Grid
from navserver.search.validation import checked_number
from navserver.status import InputError

__all__ = [
    "Rectangle",
    "Stance",
    "View",
    "instance_transforms",
    "stance_of",
    "velocities_of",
    "view_of",
    "world_velocities",
]

Rectangle = tuple[float, float, float, float]
"""x0, y0, x1, y1, ends included."""


class Stance(NamedTuple):
    """Where the movers of a table stand and how they move, by slot; copies."""

    generations: NDArray[np.int32]
    """int32 array (slots,): 0 where nobody is."""
    positions: NDArray[np.float32]
    """float32 array (slots, 2), in cell space."""
    velocities: NDArray[np.float32]
    """float32 array (slots, 2), in cells a second."""


class View(NamedTuple):
    """Movers of an area after a step, in the order of their slots."""

    tick: int
    """Steps since the movers were made."""
    version: int
    """Version of the map that the last step saw."""
    handles: NDArray[np.int64]
    """int64 array (n,)."""
    positions: NDArray[np.float32]
    """float32 array (n, 2), in cell space."""
    velocities: NDArray[np.float32]
    """float32 array (n, 2), in cells a second."""
    states: NDArray[np.uint8]
    """uint8 array (n,): a `MoverState` each."""
    truncated: bool
    """Whether there were more than the limit."""
    positions_before: NDArray[np.float32]
    """float32 array (n, 2): where they stood before the step; where they are if they were not there
    then."""
    velocities_before: NDArray[np.float32]
    """float32 array (n, 2): likewise."""


def stance_of(movers: Movers) -> Stance:
    """Return how movers stand now, for a view after the next step.

    Parameters
    ----------
    movers : Movers
        The table.

    Returns
    -------
    Stance
        Copies. O(movers).
    """
    columns, slots = movers.columns, movers.slots
    is_there = columns.state[:slots] != MoverState.FREE
    return Stance(
        columns.generation[:slots] * is_there,
        columns.position[:slots].copy(),
        columns.velocity[:slots].copy(),
    )


def view_of(
    movers: Movers,
    tick: int,
    rectangle: Rectangle | None,
    limit: int | None,
    *,
    in_world: bool = False,
    before: Stance | None = None,
) -> View:
    """Return the movers in an area.

    Parameters
    ----------
    movers : Movers
        The table, between two steps.
    tick : int
        Steps so far.
    rectangle : (float, float, float, float) or None
        x0, y0, x1, y1, ends included; None is everywhere.
    limit : int or None
        Most movers to return, 0 or more.
    in_world : bool
        Whether the rectangle is one of world positions instead of cell space.
    before : Stance, optional
        How they stood before the step; default: as they do now.

    Returns
    -------
    View
        Copies. O(movers).

    Raises
    ------
    InputError
        If that is no rectangle, or no limit.
    """
    columns, slots = movers.columns, movers.slots
    is_there = columns.state[:slots] != MoverState.FREE
    if rectangle is not None:
        x0, y0, x1, y1 = _checked_rectangle(rectangle)
        points = columns.position[:slots]
        x, y = (movers.grid.cell_to_world(points) if in_world else points).T
        is_there &= (x0 <= x) & (x <= x1) & (y0 <= y) & (y <= y1)
    rows = np.flatnonzero(is_there)
    truncated = False
    if limit is not None:
        most = int(checked_number("limit", limit, 0, "give an integer of 0 or more"))
        truncated = rows.size > most
        rows = rows[:most]
    old_positions, old_velocities = columns.position[rows], columns.velocity[rows]
    if before is not None:
        where = np.flatnonzero(rows < len(before.generations))
        where = where[before.generations[rows[where]] == columns.generation[rows[where]]]
        old_positions[where] = before.positions[rows[where]]
        old_velocities[where] = before.velocities[rows[where]]
    return View(
        tick,
        movers.grid.version,
        movers.handles_of(rows),
        columns.position[rows],
        columns.velocity[rows],
        columns.state[rows],
        truncated,
        old_positions,
        old_velocities,
    )


def world_velocities(grid: Grid, velocities: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return velocities in world units a second.

    Parameters
    ----------
    grid : Grid
        Its transform gives world positions.
    velocities : float32 array (n, 2)
        In cells a second.

    Returns
    -------
    float64 array (n, 2)
        In their order.
    """
    return velocities.astype(np.float64) @ grid.transform[:, :2].T


def velocities_of(
    movers: Movers, handles: ArrayLike, *, in_world: bool = False
) -> NDArray[np.float32]:
    """Return how some movers have moved in the last step.

    Parameters
    ----------
    movers : Movers
        The table, between two steps.
    handles : array-like of int, shape (n,)
        Any integers.
    in_world : bool
        Whether in world units a second instead of cells.

    Returns
    -------
    float32 array (n, 2)
        In the order of the handles; 0, 0 for one that is not that of a mover.
    """
    known = movers.is_alive(handles)
    velocities = np.zeros((known.size, 2), np.float32)
    velocities[known] = movers.of("velocity", np.asarray(handles)[known])
    if in_world:
        return world_velocities(movers.grid, velocities).astype(np.float32)
    return velocities


def instance_transforms(grid: Grid, view: View, *, before: bool = False) -> NDArray[np.float32]:
    """Return movers as the buffer of a Godot MultiMesh with TRANSFORM_2D and nothing else.

    Parameters
    ----------
    grid : Grid
        Its transform gives world positions.
    view : View
        Who.
    before : bool
        Whether to return them as they stood before the step.

    Returns
    -------
    float32 array (n, 8)
        ``x.x, y.x, 0, origin.x, x.y, y.y, 0, origin.y`` an instance: the x axis points where the
        mover goes, unturned for one that stands.
    """
    n = len(view.handles)
    buffer = np.zeros((n, 8), np.float32)
    positions = view.positions_before if before else view.positions
    origins = grid.cell_to_world(positions).reshape(n, 2)
    ways = world_velocities(grid, view.velocities_before if before else view.velocities)
    lengths = np.hypot(ways[:, 0], ways[:, 1])
    stands = lengths < 1e-9
    ways[stands] = (1.0, 0.0)
    lengths[stands] = 1.0
    cosine, sine = (ways / lengths[:, None]).T
    buffer[:, 0] = cosine
    buffer[:, 1] = -sine
    buffer[:, 3] = origins[:, 0]
    buffer[:, 4] = sine
    buffer[:, 5] = cosine
    buffer[:, 7] = origins[:, 1]
    return buffer


def _checked_rectangle(rectangle: Rectangle) -> Rectangle:
    try:
        x0, y0, x1, y1 = (float(side) for side in rectangle)
    except (TypeError, ValueError):
        x0 = y0 = x1 = y1 = math.nan
    if x0 <= x1 and y0 <= y1:
        return x0, y0, x1, y1
    raise InputError(
        "rectangle", rectangle, "is not a rectangle", "give x0, y0, x1, y1 with x0 <= x1, y0 <= y1"
    )
