"""Where bots live: in this process, and what every other place must offer as well."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from navserver.movers.columns import MoverState, StuckReason
from navserver.movers.movers import Movers
from navserver.movers.saving import hash_movers
from navserver.movers.stepper import Stepper
from navserver.search.grid import read_only
from navserver.sim.bots import BotState
from navserver.sim.look_ahead import LookAheadPlanner
from navserver.sim.planning import Pulse, WatchedPlanner
from navserver.sim.scenarios import MapEdit
from navserver.sim.setup import Setup

__all__ = ["BotStatus", "BotWorld", "LocalWorld", "Tick", "Traffic"]

SEARCH_BUDGET = 1 << 28
"""Expansions of searches a tick: no frame waits here, so orders are planned as soon as given. That
is some seconds of work: of a hundred thousand orders across a huge map a tick does a part, so that
progress can be shown."""

NO_REASON = 255
"""Stands for a reason where a bot is not stuck."""


class Tick(NamedTuple):
    """The bots after a step; arrays of a row a bot, valid until the next step."""

    position: NDArray[np.float32]
    """float32 array (n, 2): in cell space."""
    velocity: NDArray[np.float32]
    """float32 array (n, 2): cells a second."""
    state: NDArray[np.uint8]
    """uint8 array (n,): a `BotState` each."""
    reason: NDArray[np.uint8]
    """uint8 array (n,): why a bot is stuck, a `StuckReason`, else `NO_REASON`."""
    arrived: NDArray[np.int64]
    """int64 array: rows of those that arrived in this step."""
    stuck: NDArray[np.int64]
    """int64 array: rows of those that got stuck in this step."""
    repaths: int
    """How often an edit or a crowd made a bot ask for another way in this step."""


class Traffic(NamedTuple):
    """What went over the wire."""

    latencies: NDArray[np.float64]
    """float64 array (n,): seconds from each request to its answer."""
    waited: float
    """Seconds in which answers were waited for, in all."""
    overloaded: int
    """Requests that the server had no room for, and that were made again."""


class BotWorld(Protocol):
    """A map with bots on it that can be ordered about and stepped."""

    def order(self, rows: NDArray[np.int64], goals: NDArray[np.int32]) -> None:
        """Send bots to cells.

        Parameters
        ----------
        rows : int64 array (k,)
            Bots, each once.
        goals : int32 array (k, 2)
            Cells on the map.
        """

    def edit(self, edit: MapEdit) -> None:
        """Change the map.

        Parameters
        ----------
        edit : MapEdit
            Its tick does not count.
        """

    def step(self) -> Tick:
        """Move everybody by one tick.

        Returns
        -------
        Tick
            Where they are then.
        """

    def watch(self, pulse: Pulse) -> None:
        """Be told how steps get on that take long.

        Parameters
        ----------
        pulse : callable
            Called as ``pulse(waiting)`` now and then within a step, with the number of bots that
            wait for a way. Where it returns False the step ends with what it has, and is the last.
        """

    def state_hash(self) -> str:
        """Return a digest of all that decides the future, in hex.

        Returns
        -------
        str
            Equal for equal states.
        """

    def traffic(self) -> Traffic | None:
        """Return what requests have taken.

        Returns
        -------
        Traffic or None
            None where nothing travels.
        """

    def close(self) -> None:
        """Free what it holds."""


class LocalWorld:
    """Bots in this process.

    Parameters
    ----------
    setup : Setup
        Map and bots; the map is copied.
    threads : int, optional
        Default: one a core. Results are the same for any number.
    """

    def __init__(self, setup: Setup, threads: int | None = None) -> None:
        self.grid = setup.grid.copy()
        self._dt = setup.dt
        self._movers = Movers(self.grid)
        movements = setup.movements
        handles = [
            self._movers.add(
                setup.spawns[setup.rows_of(number)],
                radius=kind.radius,
                max_speed=kind.speed,
                movement=movements[number],
            )
            for number, kind in enumerate(setup.kinds)
        ]
        self._handles = np.concatenate(handles)
        self._stepper = Stepper(
            self._movers, threads=threads, budget=SEARCH_BUDGET, avoidance=setup.avoidance
        )
        self._use(LookAheadPlanner(self._movers, SEARCH_BUDGET, self._stepper.workers.threads))
        self._status = BotStatus(len(self._handles))

    def _use(self, planner: WatchedPlanner) -> None:
        """Let a planner find the ways, as the stepper's own would lay them."""
        planner.keep_right = self._stepper.orders.planner.keep_right
        self._stepper.orders.planner = self._planner = planner

    @property
    def movers(self) -> Movers:
        """The bots' bodies; not to be changed."""
        return self._movers

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
        # A goal for one mover is a goal for all of them, as on the wire.
        self._stepper.order(self._handles[rows], goals if rows.size > 1 else goals[0])

    def edit(self, edit: MapEdit) -> None:
        """Change the map.

        Parameters
        ----------
        edit : MapEdit
            Its tick does not count.
        """
        edit.apply_to(self.grid)

    def step(self) -> Tick:
        """Move everybody by one tick.

        Returns
        -------
        Tick
            Where they are then.
        """
        events = self._stepper.step(self._dt)
        # No bot is ever removed, so handles are in the order of their slots, and so of the rows.
        movers = self._movers
        ended = np.concatenate([events.arrived, events.arrived_crowd_full])
        return self._status.tick(
            movers.position,
            movers.velocity,
            movers.state,
            np.sort(ended & 0xFFFFFFFF),
            events.stuck & 0xFFFFFFFF,
            events.stuck_reason,
            len(events.path_blocked) + len(events.repath_wanted),
        )

    def watch(self, pulse: Pulse) -> None:
        """Be told how steps get on that take long.

        Parameters
        ----------
        pulse : callable
            As for `BotWorld.watch`.
        """
        self._planner.pulse = pulse

    def state_hash(self) -> str:
        """Return a digest of all that decides the future, in hex.

        Returns
        -------
        str
            Equal for equal states.
        """
        return hash_movers(self._movers)

    def traffic(self) -> Traffic | None:
        """Return None: nothing travels.

        Returns
        -------
        Traffic or None
            None.
        """
        return None

    def close(self) -> None:
        """End the threads."""
        self._planner.close()
        self._stepper.close()


class BotStatus:
    """Keeps how each bot fares, from what its mover does and what happened to it.

    Parameters
    ----------
    count : int
        Bots.
    """

    def __init__(self, count: int) -> None:
        self._state = np.full(count, BotState.IDLE, np.uint8)
        self._reason = np.full(count, NO_REASON, np.uint8)

    def note_orders(self, rows: NDArray[np.int64]) -> None:
        """Let bots set out.

        Parameters
        ----------
        rows : int64 array (k,)
            Who.
        """
        self._state[rows] = BotState.EN_ROUTE
        self._reason[rows] = NO_REASON

    def tick(
        self,
        position: NDArray[np.float32],
        velocity: NDArray[np.float32],
        movers: NDArray[np.uint8],
        arrived: NDArray[np.int64],
        stuck: NDArray[np.int64],
        reasons: NDArray[np.uint8],
        repaths: int,
    ) -> Tick:
        """Return the bots after a step.

        Parameters
        ----------
        position, velocity : float32 arrays (n, 2)
            Of the movers.
        movers : uint8 array (n,)
            A `MoverState` each.
        arrived, stuck : int64 arrays
            Rows of the step's events.
        reasons : uint8 array
            Why, one each of `stuck`.
        repaths : int
            How many asked for another way.

        Returns
        -------
        Tick
            Its arrays are read-only.
        """
        self._state[arrived] = BotState.ARRIVED
        self._reason[arrived] = NO_REASON
        self._state[stuck] = np.where(
            reasons == StuckReason.UNREACHABLE, BotState.NO_PATH, BotState.STUCK
        )
        self._reason[stuck] = reasons
        # A mover that was stuck may get free without a new order.
        goes_on = (self._state == BotState.STUCK) & (movers == MoverState.PATH)
        goes_on[stuck] = False
        self._state[goes_on] = BotState.EN_ROUTE
        self._reason[goes_on] = NO_REASON
        return Tick(
            position,
            velocity,
            read_only(self._state.copy()),
            read_only(self._reason.copy()),
            arrived,
            stuck[reasons != StuckReason.UNREACHABLE],
            repaths,
        )
