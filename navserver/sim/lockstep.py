"""Bots that a sidecar moves, step by step."""

from __future__ import annotations

import time
from array import array
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from navserver.client import Pending
from navserver.sim.planning import Pulse
from navserver.sim.remote_map import RemoteMap
from navserver.sim.scenarios import MapEdit
from navserver.sim.setup import Setup
from navserver.sim.worlds import SEARCH_BUDGET, BotStatus, Tick, Traffic
from navserver.status import NavserverError
from navserver.wire.mover_messages import EVENT_KINDS
from navserver.wire.questions import (
    add_movers,
    mover_info,
    order_movers,
    set_up_movers,
    step_movers,
)

__all__ = ["LockstepWorld"]

_PATIENCE = 600.0
_ARRIVED, _CROWD_FULL, _BLOCKED, _REPATH, _STUCK = (
    EVENT_KINDS.index(kind)
    for kind in ("arrived", "arrived_crowd_full", "path_blocked", "repath_wanted", "stuck")
)


class LockstepWorld:
    """Bots in a sidecar that steps when it is told to: the same bytes as in this process.

    Parameters
    ----------
    setup : Setup
        Map and bots; the sidecar gets a world with a copy of the map.
    connection_file : path-like
        What the sidecar has written.

    Raises
    ------
    ServerUnavailableError
        If there is no sidecar, or it refuses the token.
    """

    def __init__(self, setup: Setup, connection_file: str | PathLike[str]) -> None:
        self._dt = setup.dt
        self._map = RemoteMap(setup, connection_file, _PATIENCE)
        try:
            self._handles = self._add(setup)
        except BaseException:
            self._map.close()
            raise
        self._status = BotStatus(len(self._handles))
        self._orders: list[Pending[None]] = []
        self._latencies = array("d")
        self._hash = ""

    def _add(self, setup: Setup) -> NDArray[np.int64]:
        ask, world = self._map.client.ask, self._map.name
        ask(set_up_movers(world, avoidance=setup.avoidance, budget=SEARCH_BUDGET))
        handles = []
        for number, kind in enumerate(setup.kinds):
            profile = f"kind-{number}"
            self._map.define(profile, setup.movements[number])
            question = add_movers(
                world,
                setup.spawns[setup.rows_of(number)],
                radius=kind.radius,
                max_speed=kind.speed,
                movement={"profile": profile},
            )
            handles.append(ask(question))
        return np.concatenate(handles)

    def order(self, rows: NDArray[np.int64], goals: NDArray[np.int32]) -> None:
        """Send bots to cells.

        Parameters
        ----------
        rows : int64 array (k,)
            Bots, each once.
        goals : int32 array (k, 2)
            Cells on the map.
        """
        self._status.note_orders(rows)
        question = order_movers(self._map.name, self._handles[rows], goals)
        # The step that follows is sent without waiting: requests are carried out in their order.
        self._orders.append(self._map.client.submit(question))

    def edit(self, edit: MapEdit) -> None:
        """Change the map.

        Parameters
        ----------
        edit : MapEdit
            Its tick does not count.
        """
        self._map.edit(edit)

    def step(self) -> Tick:
        """Move everybody by one tick.

        Returns
        -------
        Tick
            Where they are then.
        """
        began = time.perf_counter()
        question = step_movers(
            self._map.name, self._dt, columns=("positions", "velocities", "states"), hash=True
        )
        pending = self._map.client.submit(question)
        for order in self._orders:
            order.result()
        self._orders.clear()
        step = pending.result()
        self._latencies.append(time.perf_counter() - began)
        self._hash = step.hash or ""
        view, events = step.view, step.view.events
        assert view.positions is not None
        assert view.velocities is not None
        assert view.states is not None
        # No bot is ever removed, so handles are in the order of their slots, and so of the rows.
        rows, kinds = events.handles & 0xFFFFFFFF, events.kinds
        is_stuck = kinds == _STUCK
        return self._status.tick(
            view.positions,
            view.velocities,
            view.states,
            np.sort(rows[(kinds == _ARRIVED) | (kinds == _CROWD_FULL)]),
            rows[is_stuck],
            events.reasons[is_stuck],
            int(((kinds == _BLOCKED) | (kinds == _REPATH)).sum()),
        )

    def watch(self, pulse: Pulse) -> None:
        """Do nothing: a sidecar says no more of a step than that it is done.

        Parameters
        ----------
        pulse : callable
            Never called.
        """

    def state_hash(self) -> str:
        """Return a digest of all that decides the future, in hex.

        Returns
        -------
        str
            As it was after the last step, even where the sidecar is gone.
        """
        if not self._hash:
            try:
                self._hash = self._map.client.ask(mover_info(self._map.name, hash=True)).hash or ""
            except NavserverError:
                return ""
        return self._hash

    def traffic(self) -> Traffic:
        """Return what the steps have taken.

        Returns
        -------
        Traffic
            One latency a tick.
        """
        latencies = np.array(self._latencies)
        return Traffic(latencies, float(latencies.sum()), 0)

    def close(self) -> None:
        """Delete the world."""
        self._map.close()
