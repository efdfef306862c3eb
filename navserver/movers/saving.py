"""A table of movers as bytes, back from bytes, and as a digest.

What is kept is what the table holds: who there is and under which handle, where all are, what they
can do and along which waypoints they go. How much room the arrays have, where in the pool a route
lies and how many threads have worked makes no difference. A flow field and the plans of a stepper
are not part of a table: who waits for a way or follows a field wants a new one once it is loaded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.movers.archive import digest_of, pack, unpack
from navserver.movers.columns import Columns, EventFlag, MoverState
from navserver.movers.movers import Movers
from navserver.movers.soundness import IN_POOL, check_table
from navserver.search.costs import CostModel
from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from navserver.search.profile import Profile
from navserver.status import InputError

__all__ = ["hash_movers", "load_movers", "save_movers"]


def save_movers(movers: Movers) -> bytes:
    """Return all that `load_movers` needs to go on with the same movers under the same handles.

    Parameters
    ----------
    movers : Movers
        The table, between two steps.

    Returns
    -------
    bytes
        Versioned, checksummed, and the same on every machine.

    Examples
    --------
    >>> movers = Movers(Grid.filled(8, 8))
    >>> units = movers.add([(1, 1)], radius=0.4, max_speed=4.0)
    >>> again = load_movers(movers.grid, save_movers(movers))
    >>> again.is_alive(units).tolist(), hash_movers(again) == hash_movers(movers)
    ([True], True)
    """
    return pack(*_contents(movers))


def hash_movers(movers: Movers) -> str:
    """Return a digest of the state of a table, to compare runs.

    Parameters
    ----------
    movers : Movers
        The table, between two steps.

    Returns
    -------
    str
        BLAKE2b in hex, 32 digits; equal for tables that are equal, whatever the capacity of their
        arrays and the threads that have worked.
    """
    return digest_of(*_contents(movers))


def load_movers(grid: Grid, data: bytes) -> Movers:
    """Return a table that was saved.

    Parameters
    ----------
    grid : Grid
        The map: of the size and region that it had. Edits since do no harm: as after any edit,
        a stepper looks whose way they cut.
    data : bytes
        As from `save_movers`.

    Returns
    -------
    Movers
        Equal to the one saved. Movers that waited for a way, or followed a flow field, stand and
        are named in `repath_wanted` by the next step.

    Raises
    ------
    InputError
        If the bytes are damaged, of another version, or of a map of another shape.
    """
    if not isinstance(grid, Grid):
        raise InputError("grid", grid, "is not a map", "give a Grid")
    facts, arrays = unpack("data", data)
    kind = facts.get("kind") if isinstance(facts, dict) else None
    if kind != "movers":
        raise InputError("data", kind, "are not movers", "give what save_movers gave")
    region = [grid.width, grid.height, *grid.region_position]
    if facts.get("region") != region:
        raise InputError(
            "grid", grid, f"is not the map of the movers, {facts.get('region')}",
            "give one of the same width, height and region_position",
        )  # fmt: skip
    movers = Movers(grid)
    try:
        movers.movements[:] = [
            _movement_of(told, costs)
            for told, costs in zip(facts["movements"], arrays["profile_costs"], strict=True)
        ]
    except (KeyError, TypeError, ValueError):
        raise InputError(
            "data", "movements", "cannot be what was saved", "give the bytes that were saved"
        ) from None
    check_table(grid, len(movers.movements), arrays)
    columns = {name: arrays[name] for name in Columns.__slots__ if name not in IN_POOL}
    # Fields are not saved: whoever followed one waits for a way.
    columns["flow_field"] = np.full_like(columns["flow_field"], -1)
    movers.restore(columns, arrays["free_slots"])
    counts, passed = arrays["route_counts"], arrays["route_passed"]
    routed = np.flatnonzero(counts)
    offsets = np.concatenate([[0], np.cumsum(counts[routed], dtype=np.int64)])
    movers.routes.assign(routed, arrays["waypoints"], offsets)
    movers.columns.path_next[routed] += passed[routed]
    state = movers.columns.state[: movers.slots]
    lost = np.flatnonzero((state == MoverState.FIELD) | (state == MoverState.WAITING))
    movers.halt(lost, MoverState.WAITING)
    movers.flag(lost, EventFlag.REPATH_WANTED)
    return movers


def _contents(movers: Movers) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    if not isinstance(movers, Movers):
        raise InputError("movers", movers, "is not a table of movers", "give Movers(grid)")
    slots = movers.slots
    columns = movers.columns
    arrays = {
        name: array[:slots] for name, array in columns.arrays().items() if name not in IN_POOL
    }
    under_way = columns.path_next[:slots] < columns.path_end[:slots]
    begin = columns.path_begin[:slots]
    counts = np.where(under_way, columns.path_end[:slots] - begin, 0).astype(np.int32)
    passed = np.where(under_way, columns.path_next[:slots] - begin, 0).astype(np.int32)
    offsets = np.cumsum(counts, dtype=np.int64) - counts
    sources = np.arange(int(counts.sum(dtype=np.int64))) + np.repeat(begin - offsets, counts)
    arrays["route_counts"] = counts
    arrays["route_passed"] = passed
    arrays["waypoints"] = movers.routes.pool[sources]
    arrays["free_slots"] = movers.free_slots
    costs = [movement.profile.costs for movement in movers.movements]
    arrays["profile_costs"] = np.stack(costs)
    grid = movers.grid
    facts = {
        "kind": "movers",
        "region": [grid.width, grid.height, *grid.region_position],
        "movements": [_told(movement) for movement in movers.movements],
    }
    return facts, arrays


def _told(movement: Movement) -> dict[str, Any]:
    return {
        "diagonal_mode": int(movement.diagonal_mode),
        "cost_model": int(movement.cost_model),
        "overlays": [list(pair) for pair in movement.overlays],
        "size": movement.size,
        "radius": movement.radius,
    }


def _movement_of(told: dict[str, Any], costs: NDArray[np.float32]) -> Movement:
    return Movement(
        Profile(costs),
        DiagonalMode(told["diagonal_mode"]),
        CostModel(told["cost_model"]),
        dict(told["overlays"]),
        told["size"],
        told["radius"],
    )
