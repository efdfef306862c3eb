"""Bots that are clients of a sidecar: each asks it for its paths over a connection of its own."""

from __future__ import annotations

import time
from array import array
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from navserver.client import RequestTimeoutError, UnansweredError
from navserver.fleet import Fleet, Reply
from navserver.movers.closures import Cuts
from navserver.movers.movers import Movers
from navserver.movers.repath import Plans
from navserver.movers.waypoints import lay_waypoints
from navserver.sim.planning import WatchedPlanner
from navserver.sim.remote_map import RemoteMap
from navserver.sim.scenarios import MapEdit
from navserver.sim.setup import Setup
from navserver.sim.worlds import SEARCH_BUDGET, LocalWorld, Traffic
from navserver.status import NavserverError
from navserver.wire.questions import PathAnswer, find_path

__all__ = ["ClientsWorld"]

# Some waiting is the server's right: it may be compiling, or serve others.
_PATIENCE = 60.0
_LOOK_SECONDS = 0.2


class ClientsWorld(LocalWorld):
    """Bots that walk in this process and ask a sidecar for their ways, each as a client.

    Parameters
    ----------
    setup : Setup
        Map and bots; the sidecar gets a world with a copy of the map.
    connection_file : path-like
        What the sidecar has written.
    threads : int, optional
        That move the bots; default: one a core.

    Raises
    ------
    InputError
        If the system does not let the process have so many connections.
    ServerUnavailableError
        If there is no sidecar, or it refuses the token.

    Notes
    -----
    A tick waits for the ways that its bots have asked for, so a run can be repeated as long as no
    request is put off. Every request of a tick is sent before the first answer is waited for:
    latencies are those of a burst.
    """

    def __init__(
        self,
        setup: Setup,
        connection_file: str | PathLike[str],
        threads: int | None = None,
    ) -> None:
        super().__init__(setup, threads)
        self._fleet: Fleet | None = None
        self._map: RemoteMap | None = None
        try:
            self._map = RemoteMap(setup, connection_file, _PATIENCE)
            for number, movement in enumerate(self._movers.movements):
                self._map.define(_profile(number), movement)
            self._fleet = Fleet(
                len(setup.spawns), connection_file=connection_file, timeout=_PATIENCE
            )
        except BaseException:
            self.close()
            raise
        self._asking = _AskingPlanner(self._movers, self._fleet, self._map.name)
        self._use(self._asking)

    def edit(self, edit: MapEdit) -> None:
        """Change the map, here and there.

        Parameters
        ----------
        edit : MapEdit
            Its tick does not count.
        """
        super().edit(edit)
        assert self._map is not None
        self._map.edit(edit)

    def traffic(self) -> Traffic:
        """Return what the requests for paths have taken.

        Returns
        -------
        Traffic
            One latency a path.
        """
        return self._asking.traffic()

    def close(self) -> None:
        """End the threads and the connections."""
        if self._fleet is not None:
            self._fleet.close()
        if self._map is not None:
            self._map.close()
        super().close()


def _profile(number: int) -> str:
    return f"walker-{number}"


class _AskingPlanner(WatchedPlanner):
    """A planner that searches nowhere, but asks a server: for each mover its own client."""

    def __init__(self, movers: Movers, fleet: Fleet, world: str) -> None:
        super().__init__(movers, SEARCH_BUDGET)
        self._fleet = fleet
        self._world = world
        # No bot is ever removed: a slot is a row, and a row a client.
        self._asks = np.zeros(movers.slots, np.bool_)
        self._latencies = array("d")
        self._overloaded = 0
        self._waited = 0.0

    def traffic(self) -> Traffic:
        """Return what the requests have taken."""
        return Traffic(np.array(self._latencies), self._waited, self._overloaded)

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits."""
        return not self._asks.any()

    def ask(self, rows: NDArray[np.int64], anchors: NDArray[np.int64]) -> None:  # noqa: ARG002
        """Let movers ask in the next run, each for itself."""
        self._asks[rows] = True

    def mend(self, cuts: Cuts) -> None:
        """Let movers whose ways are cut ask for whole ones."""
        self._asks[cuts.rows] = True

    def withdraw(self, rows: NDArray[np.int64]) -> None:
        """Forget what movers wanted to ask."""
        self._asks[rows] = False

    def are_asking(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which movers wait for a way."""
        asking: NDArray[np.bool_] = self._asks[rows]
        return asking

    def run(self) -> Plans:
        """Ask for all, wait for all, and let those walk that have a way."""
        began = time.perf_counter()
        rows = np.flatnonzero(self._asks)
        self._send(rows)
        answers = self._wait_for(rows.size)
        self._waited += time.perf_counter() - began
        # In the order of the rows, whoever was answered first.
        found = [row for row in rows.tolist() if row in answers and answers[row].found]
        lost = [row for row in rows.tolist() if row in answers and not answers[row].found]
        self._asks[found] = self._asks[lost] = False
        self._set_out(found, answers)
        return Plans(np.array(found, np.int64), np.array(lost, np.int64))

    def _send(self, rows: NDArray[np.int64]) -> None:
        columns = self._movers.columns
        starts, goals = (
            np.floor(points.astype(np.float64) + 0.5).astype(int).tolist()
            for points in (columns.position[rows], columns.goal[rows])
        )
        which = columns.movement[rows].tolist()
        for row, start, goal, number in zip(rows.tolist(), starts, goals, which, strict=True):
            question = find_path(self._world, start, goal, profile=_profile(number), result="cells")
            self._fleet.ask(row, question, row)

    def _wait_for(self, count: int) -> dict[int, PathAnswer]:
        """Return the answers by row; who is put off is left out, and asks again."""
        answers: dict[int, PathAnswer] = {}
        looked = time.monotonic()
        while count:
            if time.monotonic() - looked > _LOOK_SECONDS:
                looked = time.monotonic()
                if self.pulse is not None and not self.pulse(count):
                    break
            for reply in self._fleet.collect(_LOOK_SECONDS):
                count -= 1
                answer = self._read(reply)
                if answer is not None:
                    answers[reply.key] = answer
        return answers

    def _read(self, reply: Reply) -> PathAnswer | None:
        answer = reply.answer
        if isinstance(answer, UnansweredError):
            self._overloaded += 1
            return None
        if isinstance(answer, RequestTimeoutError):
            raise NavserverError(f"bot {reply.key} asks for a path: {answer}") from answer
        if isinstance(answer, Exception):
            raise answer
        self._latencies.append(reply.seconds)
        assert isinstance(answer, PathAnswer)
        return answer

    def _set_out(self, rows: list[int], answers: dict[int, PathAnswer]) -> None:
        """Send movers along the paths that were answered."""
        movers = self._movers
        columns = movers.columns
        which = columns.movement[rows]
        for number in np.unique(which).tolist():
            own = np.array(rows, np.int64)[which == number]
            paths = [movers.grid.flat_indices(answers[row].path) for row in own.tolist()]
            offsets = np.zeros(own.size + 1, np.int64)
            np.cumsum([path.size for path in paths], out=offsets[1:])
            points, bounds = lay_waypoints(
                movers.grid,
                movers.movements[number],
                np.concatenate(paths),
                offsets,
                columns.position[own],
                columns.goal[own],
                columns.radius[own],
                self.keep_right,
            )
            movers.start_routes(own, points, bounds)
