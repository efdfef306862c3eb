"""`Stepper`: moves all movers for a span of time, as a list of phases.

A step runs `Stepper.phases` in their order; `Stepper.__init__` is the one place that says which and
in what order. A phase is an object with a name and two methods (`Phase`): `is_used` is asked at
every step and has to be cheap, `run` does the work and returns how many movers it has flagged in
the column `events`; only where one has does the step look for them.

To add a phase: write its class beside its kernels, with what it needs given to its constructor
(mostly the table `Movers` and the threads `Workers`), and enter it in `Stepper.__init__` where it
belongs. A phase takes its arrays from `movers.columns` at every run, since they are replaced when
the table grows, and shares its rows out by `Workers.run`: it may read any row of what earlier
phases have left but writes only rows of the range it is called for. What one row reads of others it
must not write in the same pass: then the result does not depend on the threads.
"""

from __future__ import annotations

import time
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from navserver.movers.contact import Parting
from navserver.movers.events import NO_EVENTS, Events, collect_events
from navserver.movers.following import Walking
from navserver.movers.movers import Movers
from navserver.movers.orca import Avoidance, Avoiding
from navserver.movers.orders import Orders
from navserver.movers.passages import Passages
from navserver.movers.preferences import Preferring
from navserver.movers.settling import Settling
from navserver.movers.walls import Moving
from navserver.movers.workers import Workers
from navserver.search.validation import checked_number
from navserver.status import InputError

__all__ = ["Phase", "Stepper"]

LONGEST_STEP = 3600.0
"""Most seconds that one step may span."""

LOOSE = 0.3
"""Gap between the places of those that avoid each other, in parts of their radii."""


class Phase(Protocol):
    """One part of a step."""

    name: str
    """How reports call it."""

    def is_used(self) -> bool:
        """Return whether there is something to do.

        Returns
        -------
        bool
            If False, it is not run in this step.
        """

    def run(self, dt: float) -> int:
        """Do it.

        Parameters
        ----------
        dt : float
            Seconds that the step spans, 0 or more.

        Returns
        -------
        int
            0 if no mover was flagged in the column `events`.
        """


class Stepper:
    """Moves a table of movers.

    Parameters
    ----------
    movers : Movers
        Whom. A table has one stepper at a time.
    threads : int, optional
        Default: one a core. Small tables are moved by the caller's thread alone. The result is the
        same, bit for bit, for any number.
    budget : int
        Expansions of searches a step, 1 or more; 10,000 take about a millisecond. Movers wait for
        their ways as long as there is more to search.
    repath_interval : float
        Least seconds between two plans for one mover, >= 0.
    goal_tolerance : float
        A goal that moves by less, in cells, is gone to without a new plan, >= 0.
    avoidance : Avoidance or bool
        How movers avoid each other, True for the usual way; by default they do not, and keep
        exactly to their ways.

    Raises
    ------
    InputError
        If an option is out of its bounds.

    Examples
    --------
    >>> from navserver.search.grid import Grid
    >>> movers = Movers(Grid.filled(8, 8))
    >>> unit = movers.add([(0, 0)], radius=0.4, max_speed=4.0)
    >>> movers.set_paths(unit, [(3, 0), (3, 1)], [0, 2])
    >>> stepper = Stepper(movers)
    >>> stepper.step(0.5).arrived.tolist(), movers.of("position", unit).tolist()
    ([], [[2.0, 0.0]])
    >>> stepper.step(0.5).arrived.tolist() == unit.tolist()
    True
    """

    def __init__(
        self,
        movers: Movers,
        *,
        threads: int | None = None,
        budget: int = 8192,
        repath_interval: float = 0.5,
        goal_tolerance: float = 0.5,
        avoidance: Avoidance | bool = False,
    ) -> None:
        if not isinstance(movers, Movers):
            raise InputError("movers", movers, "is not a table of movers", "give Movers(grid)")
        if not isinstance(avoidance, (Avoidance, bool, np.bool_)):
            raise InputError(
                "avoidance", avoidance, "is no way to avoid each other",
                "give an Avoidance, True or False",
            )  # fmt: skip
        self.movers = movers
        """Who is moved."""
        self.workers = Workers(threads)
        """The threads."""
        self.orders = Orders(
            movers,
            budget=budget,
            repath_interval=repath_interval,
            goal_tolerance=goal_tolerance,
        )
        """What sends movers, and keeps them on their way."""
        self.phases: list[Phase] = [self.orders]
        if not avoidance:
            self.phases.append(Walking(movers, self.workers))
        else:
            how = avoidance if isinstance(avoidance, Avoidance) else Avoidance()
            # Lanes of about a body's width.
            self.orders.planner.keep_right = 1.0
            # Packed more tightly, a crowd jams before its last ones are at their places.
            self.orders.gap = LOOSE
            passages = Passages(movers)
            self.phases += [
                Preferring(movers, self.workers),
                passages,
                Avoiding(movers, self.workers, how, passages),
                Moving(movers, self.workers),
                Parting(movers, self.workers),
                Settling(movers, self.orders),
            ]
        """What a step does, in this order."""

    def order(self, handles: ArrayLike, goal: ArrayLike, *, spread: bool = True) -> None:
        """Send movers to a goal, each to a place of its own beside it, or each to its own goal.

        Places are packed around the goal, nearest first, on the island of each mover; ways are
        found within the budget of the steps to come. A mover that cannot get there rests and is
        named in `Events.stuck`.

        Parameters
        ----------
        handles : array-like of int, shape (n,)
            Movers, each once.
        goal : array-like of float, shape (2,) or (n, 2)
            A point of the map in cell space for all, or one a mover. In a wall it stands for the
            nearest cell that the mover can reach. A goal in a cell that is nobody else's goal is
            gone to exactly; movers that are given goals in one cell are sent there together.
        spread : bool
            Whether those that share a goal get places of their own; if not, all go to the very
            point.

        Raises
        ------
        InputError
            If a goal is not on the map, or a handle is not that of a mover; nothing has changed
            then.

        Examples
        --------
        >>> from navserver.search.grid import Grid
        >>> movers = Movers(Grid.filled(64, 64))
        >>> units = movers.add([(1, 1), (2, 1), (3, 1)], radius=0.4, max_speed=4.0)
        >>> stepper = Stepper(movers)
        >>> stepper.order(units, (50, 20))
        >>> arrived = 0
        >>> while arrived < 3:
        ...     arrived += stepper.step(1 / 60).arrived.size

        A goal for each:

        >>> stepper.order(units, [(40, 20), (42, 20), (44, 20)])
        >>> movers.of("goal", units).tolist()
        [[40.0, 20.0], [42.0, 20.0], [44.0, 20.0]]
        """
        self.orders.order(handles, goal, spread=spread)

    def step(self, dt: float) -> Events:
        """Move everybody for a span of time.

        Parameters
        ----------
        dt : float
            Seconds, 0 to 3600. With 0 nobody moves.

        Returns
        -------
        Events
            What happened, and what was flagged between steps.

        Raises
        ------
        InputError
            If it is no such number; nothing has changed then.
        """
        seconds = _checked_seconds(dt)
        flagged = self.movers.take_flagged()
        for phase in self.phases:
            if phase.is_used():
                flagged += phase.run(seconds)
        return self._collect(flagged)

    def step_timed(self, dt: float) -> tuple[Events, dict[str, float]]:
        """Move everybody, and tell what each phase took.

        Parameters
        ----------
        dt : float
            As for `step`.

        Returns
        -------
        Events
            As from `step`.
        dict of str to float
            Seconds by the name of each phase that was run, and ``events``.
        """
        seconds = _checked_seconds(dt)
        times = {}
        flagged = self.movers.take_flagged()
        for phase in self.phases:
            if phase.is_used():
                begin = time.perf_counter()
                flagged += phase.run(seconds)
                times[phase.name] = time.perf_counter() - begin
        begin = time.perf_counter()
        events = self._collect(flagged)
        times["events"] = time.perf_counter() - begin
        return events, times

    def close(self) -> None:
        """End the threads; the stepper can still be used, and starts new ones then."""
        self.workers.close()

    def _collect(self, flagged: int) -> Events:
        if not flagged:
            return NO_EVENTS
        events = collect_events(self.movers.columns, self.movers.slots)
        if events.repath_wanted.size:
            self.orders.take_up_the_lost()
        return events


def _checked_seconds(dt: float) -> float:
    remedy = f"give seconds from 0 to {LONGEST_STEP:g}"
    seconds = checked_number("dt", dt, 0.0, remedy)
    if seconds > LONGEST_STEP:
        raise InputError("dt", dt, "is out of bounds", remedy)
    return seconds
