"""Carries out the messages about movers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.movers.orca import Avoidance
from navserver.service.world import World
from navserver.sidecar.movement_fields import movement_of
from navserver.sidecar.mover_fields import (
    in_cell_space,
    movers_of,
    properties_of,
    refusals,
    velocities_in_cells,
    view_arrays,
    view_for,
)
from navserver.sidecar.mover_owners import MoverOwners
from navserver.sidecar.mover_steps import MoverSteps
from navserver.sidecar.mover_streams import MoverStreams
from navserver.sidecar.office import Call, Handler, Office
from navserver.sidecar.workers import default_workers
from navserver.wire.errors import WireError
from navserver.wire.limits import MAX_MOVERS
from navserver.wire.message import Reply
from navserver.wire.server_session import Session

__all__ = ["MOVER_TYPES", "MoverDesk"]

_AVOIDANCE = ("neighbor_dist", "max_neighbors", "time_horizon", "keep_right")
_PLANNING = ("budget", "repath_interval", "goal_tolerance")

MOVER_TYPES = (
    "movers_setup",
    "movers_add",
    "movers_remove",
    "movers_set",
    "movers_order",
    "movers_paths",
    "movers_stop",
    "movers_steer",
    "movers_step",
    "movers_run",
    "movers_info",
    "movers_view",
    "movers_routes",
    "movers_stream",
    "movers_seen",
    "movers_save",
    "movers_load",
)
"""The messages that a `MoverDesk` carries out."""


class MoverDesk:
    """Everything about movers: their tables, owners, steps and streams.

    Parameters
    ----------
    office : Office
        Where.
    """

    def __init__(self, office: Office) -> None:
        self._office = office
        self._owners = MoverOwners()
        self._streams = MoverStreams(office)
        self.steps = MoverSteps(office, self._streams)
        """What moves them."""
        self.handlers: dict[str, Handler] = {
            "movers_setup": self._setup,
            "movers_add": self._add,
            "movers_remove": _remove,
            "movers_set": _set,
            "movers_order": _order,
            "movers_paths": _send_along,
            "movers_stop": _stop,
            "movers_steer": _steer,
            "movers_step": self.steps.step,
            "movers_run": self.steps.run,
            "movers_info": _tell,
            "movers_view": _view,
            "movers_routes": _tell_routes,
            "movers_stream": self._streams.open,
            "movers_seen": self._streams.confirm,
            "movers_save": _save,
            "movers_load": self._load,
        }
        """Who carries out which message."""
        office.on_leave.append(self._leave)
        office.figures["movers"] = self.steps.figures

    # Who comes and goes

    def resume(self, session: Session) -> None:
        """Take note that a session is back on a new connection.

        Parameters
        ----------
        session : Session
            Which.
        """
        self._streams.resume(session)

    def forget(self, session: Session) -> None:
        """Remove what a session owns, and stop what it has asked for.

        Parameters
        ----------
        session : Session
            One that has ended.
        """
        self._streams.forget(session)
        self.steps.forget(session)
        for world in self._owners.worlds_of(session):
            self._office.holds.when_free(world.name, partial(self._remove_owned, session, world))

    def _remove_owned(self, session: Session, world: World) -> None:
        handles = self._owners.take(session, world)
        if handles.size:
            world.movers.remove(handles)

    def _leave(self, world: World) -> None:
        self.steps.leave(world)
        self._owners.forget(world)
        self._streams.end(world)
        if world.has_movers:
            # A step may be under way, and is waited for.
            self._office.aside.do(world.movers.close, lambda _: ())

    # Tables

    def _setup(self, office: Office, call: Call) -> Reply:
        world = office.world_of(call)
        fields = call.fields
        if world.has_movers and len(world.movers) and not fields["replace"]:
            raise WireError(
                "movers_exist", "replace", False, f"would drop {len(world.movers)} movers",
                "set replace, or remove them first",
            )  # fmt: skip
        self._replaced(world)
        with refusals(call):
            world.make_movers(**_options_of(fields))
        return Reply("ok", {}, {}, world.version)

    def _replaced(self, world: World) -> None:
        """Take note that other movers take the place of those of a world."""
        self.steps.leave(world)
        self._owners.forget(world)
        self._streams.end(world)

    def _add(self, office: Office, call: Call) -> Reply:
        world = office.world_of(call)
        _check_room(office, len(call.arrays["positions"]))
        properties = properties_of(call)
        for name, field in (("radius", "body_radius"), ("max_speed", "max_speed")):
            if name not in properties:
                raise WireError(
                    "bad_field", field, None, "is missing", "give it, or one for each mover"
                )
        movers, movement = movers_of(world), movement_of(world, call.fields)
        # Its radius is another than that of the movers' bodies.
        movers.check_movement(movement)
        points = in_cell_space(world.replicas.grid, call, "positions")
        with refusals(call):
            handles = movers.add(points, movement=movement, **properties)
        if call.fields["owned"]:
            self._owners.add(call.session, world, handles)
        return Reply("ok", {}, {"handles": handles}, world.version)

    def _load(self, office: Office, call: Call) -> None:
        world = office.world_of(call)
        packed = call.arrays["state"].tobytes()
        movers = movers_of(world)
        room = MAX_MOVERS - _count(office) + len(movers)

        def finish(handles: NDArray[np.int64]) -> Reply:
            self._replaced(world)
            if call.fields["owned"]:
                self._owners.add(call.session, world, handles)
            return Reply("ok", {}, {"handles": handles}, world.version)

        def load() -> NDArray[np.int64]:
            with refusals(call):
                return movers.load(packed, room)

        office.run_aside(call, load, finish)


def _options_of(fields: dict[str, Any]) -> dict[str, Any]:
    avoidance = Avoidance(**{name: fields[name] for name in _AVOIDANCE})
    return {
        "avoidance": avoidance if fields["avoidance"] else False,
        "threads": default_workers(),
        **{name: fields[name] for name in _PLANNING},
    }


def _count(office: Office) -> int:
    return sum(len(world.movers) for world in office.worlds if world.has_movers)


def _check_room(office: Office, more: int) -> None:
    there = _count(office)
    if there + more > MAX_MOVERS:
        raise WireError(
            "too_large", "positions", more, f"movers are too many beside the {there} there are",
            f"keep to {MAX_MOVERS} in all worlds",
        )  # fmt: skip


def _handles(call: Call) -> NDArray[np.int64]:
    return call.arrays["handles"].astype(np.int64)


def _done(world: World) -> Reply:
    return Reply("ok", {}, {}, world.version)


# Single movers


def _remove(office: Office, call: Call) -> Reply:
    world = office.world_of(call)
    movers_of(world).remove(_handles(call))
    return _done(world)


def _set(office: Office, call: Call) -> Reply:
    world = office.world_of(call)
    properties = properties_of(call)
    has_place = "positions" in call.arrays
    if bool(properties) == has_place:
        raise WireError(
            "bad_field", "positions", None if has_place else "none",
            "go with no properties" if has_place else "are missing, as are properties",
            "change either where movers are or what they can do",
        )  # fmt: skip
    handles, movers = _handles(call), movers_of(world)
    with refusals(call):
        if has_place:
            movers.place(handles, in_cell_space(world.replicas.grid, call, "positions"))
        else:
            movers.set(handles, **properties)
    return _done(world)


def _order(office: Office, call: Call) -> Reply:
    world = office.world_of(call)
    handles, n_goals = _handles(call), len(call.arrays["goals"])
    if n_goals not in (1, handles.size):
        raise WireError(
            "bad_field", "goals", n_goals, f"do not go with {handles.size} movers",
            "give one for all, or one for each",
        )  # fmt: skip
    goals = in_cell_space(world.replicas.grid, call, "goals")
    goal, spread = goals[0] if n_goals == 1 else goals, call.fields["spread"]
    with refusals(call):
        movers_of(world).order(handles, goal, spread=spread)
    return _done(world)


def _send_along(office: Office, call: Call) -> Reply:
    world = office.world_of(call)
    points = in_cell_space(world.replicas.grid, call, "points")
    with refusals(call):
        movers_of(world).set_paths(_handles(call), points, call.arrays["offsets"].astype(np.int64))
    return _done(world)


def _stop(office: Office, call: Call) -> Reply:
    world = office.world_of(call)
    movers_of(world).stop(_handles(call))
    return _done(world)


def _steer(office: Office, call: Call) -> Reply:
    world = office.world_of(call)
    grid, arrays = world.replicas.grid, call.arrays
    more = {}
    if "positions" in arrays:
        more["positions"] = in_cell_space(grid, call, "positions")
    if "current_velocities" in arrays:
        more["current_velocities"] = velocities_in_cells(grid, call, "current_velocities")
    with refusals(call):
        movers_of(world).steer(
            _handles(call), velocities_in_cells(grid, call, "velocities"), **more
        )
    return _done(world)


# All of them


def _tell(office: Office, call: Call) -> Reply:
    world = office.world_of(call)
    movers = movers_of(world)
    fields = {
        "count": len(movers),
        "tick": movers.tick,
        "rate": movers.rate,
        "skipped": movers.skipped,
        "hash": movers.state_hash() if call.fields["hash"] else None,
    }
    return Reply("ok", fields, {}, world.version)


def _view(office: Office, call: Call) -> Reply:
    world = office.world_of(call)
    with refusals(call):
        view = view_for(movers_of(world), call.fields)
    fields = {"tick": view.tick, "truncated": view.truncated}
    arrays = view_arrays(world.replicas.grid, view, call.fields)
    return Reply("ok", fields, arrays, view.version)


def _tell_routes(office: Office, call: Call) -> Reply:
    world = office.world_of(call)
    movers = movers_of(world)
    routes = movers.routes(_handles(call))
    points = np.concatenate([np.empty((0, 2), np.float32), *routes])
    if call.fields["space"] == "world":
        points = world.replicas.grid.cell_to_world(points).astype(np.float32)
    offsets = np.concatenate([[0], np.cumsum([len(route) for route in routes])]).astype(np.uint32)
    fields = {"tick": movers.tick}
    return Reply("ok", fields, {"points": points, "offsets": offsets}, world.version)


def _save(office: Office, call: Call) -> None:
    world = office.world_of(call)
    movers = movers_of(world)

    def finish(packed: bytes) -> Reply:
        fields = {"count": len(movers)}
        return Reply("ok", fields, {"state": np.frombuffer(packed, np.uint8)}, world.version)

    office.run_aside(call, movers.save, finish)
