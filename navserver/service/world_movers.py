"""The movers of a world in time: steps that each see one version of its map, and views of them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.movers.events import Events
from navserver.movers.saving import hash_movers, load_movers, save_movers
from navserver.movers.stepper import Stepper
from navserver.search.validation import checked_number
from navserver.service.mover_table import MoverTable
from navserver.service.mover_views import (
    Rectangle,
    Stance,
    View,
    instance_transforms,
    stance_of,
    velocities_of,
    view_of,
)
from navserver.service.replicas import Replicas
from navserver.status import InputError

__all__ = ["Step", "WorldMovers"]

MAX_RATE = 1000.0
"""Most steps a second."""

MAX_EVENTS = 4096
"""Steps whose events wait for `take_events`; older ones are dropped, and counted."""


class Step(NamedTuple):
    """What one step was, if something happened in it."""

    tick: int
    """Steps since the movers were made, this one included."""
    version: int
    """Version of the map that it saw."""
    events: Events


class WorldMovers(MoverTable):
    """The movers of one world, their steps, and their clock.

    Parameters
    ----------
    replicas : Replicas
        The world's map.
    **options
        Keywords of `Stepper`.

    Raises
    ------
    InputError
        If an option is out of its bounds.

    Notes
    -----
    Safe for threads, which wait for each other; `view` waits for a step at most.

    Examples
    --------
    >>> from navserver.movers.columns import MoverState
    >>> from navserver.search.grid import Grid
    >>> movers = WorldMovers(Replicas(Grid.filled(16, 16)), threads=1)
    >>> units = movers.add([(1, 1), (2, 1)], radius=0.4, max_speed=4.0)
    >>> movers.order(units, (9, 9))
    >>> while len(movers.view().handles[movers.view().states != MoverState.IDLE]):
    ...     _ = movers.step(0.1)
    >>> movers.take_events()[0][-1].events.arrived.size > 0
    True
    """

    def __init__(self, replicas: Replicas, **options: Any) -> None:
        super().__init__(replicas, **options)
        self._tick = 0
        self._before: Stance | None = None
        self._steps: list[Step] = []
        self._dropped = 0
        self._interval = math.inf
        self._due = math.inf
        self._skipped = 0

    @property
    def tick(self) -> int:
        """Steps so far."""
        return self._tick

    # Time

    def step(self, dt: float) -> Step:
        """Move everybody for a span of time, on the newest version of the map.

        Parameters
        ----------
        dt : float
            Seconds, 0 to 3600.

        Returns
        -------
        Step
            With what happened; `take_events` tells it too.

        Raises
        ------
        InputError
            If that is no such number; nothing has changed then.
        """
        with self._lock:
            self._take_edits()
            before = stance_of(self._movers)
            events = self._stepper.step(dt)
            self._before = before
            self._tick += 1
            step = Step(self._tick, self._grid.version, events)
            if events:
                self._steps.append(step)
                if len(self._steps) > MAX_EVENTS:
                    del self._steps[0]
                    self._dropped += 1
            return step

    def run(self, rate: float, now: float) -> None:
        """Step at a fixed rate from now on, whenever `advance` is called.

        Parameters
        ----------
        rate : float
            Steps a second, up to 1000; 0 ends it.
        now : float
            Seconds.

        Raises
        ------
        InputError
            If that is no rate.
        """
        remedy = f"give steps a second, 0 to {MAX_RATE:.0f}"
        checked = checked_number("rate", rate, 0.0, remedy)
        if checked > MAX_RATE:
            raise InputError("rate", rate, "is out of bounds", remedy)
        with self._lock:
            self._interval = 1.0 / checked if checked > 0.0 else math.inf
            self._due = now + self._interval

    @property
    def rate(self) -> float:
        """Steps a second; 0 if the movers do not run."""
        return 1.0 / self._interval

    @property
    def due(self) -> float:
        """When `advance` has to be called, in seconds; ``inf`` if the movers do not run."""
        return self._due

    @property
    def skipped(self) -> int:
        """Steps that were left out because whoever calls `advance` was late."""
        return self._skipped

    def advance(self, now: float, most: int = 4) -> int:
        """Do the steps that are due.

        Parameters
        ----------
        now : float
            Seconds.
        most : int
            Steps to do at most; what is due beyond is left out, so that a stall is not followed
            by a rush.

        Returns
        -------
        int
            Steps done.
        """
        with self._lock:
            done = 0
            while self._due <= now:
                if done == most:
                    late = math.floor((now - self._due) / self._interval) + 1
                    self._skipped += late
                    self._due += late * self._interval
                    break
                self.step(self._interval)
                self._due += self._interval
                done += 1
            return done

    # As bytes

    def state_hash(self) -> str:
        """Return a digest of the movers' state, to compare runs.

        Returns
        -------
        str
            That of `hash_movers`.
        """
        with self._lock:
            return hash_movers(self._movers)

    def save(self) -> bytes:
        """Return the movers as bytes.

        Returns
        -------
        bytes
            For `load`.
        """
        with self._lock:
            return save_movers(self._movers)

    def load(self, data: bytes, most: int | None = None) -> NDArray[np.int64]:
        """Take saved movers in the place of those there are; ticks are counted anew.

        Parameters
        ----------
        data : bytes
            From `save`.
        most : int, optional
            How many there may be.

        Returns
        -------
        int64 array (n,)
            Their handles, which are those they had.

        Raises
        ------
        InputError
            If the bytes are damaged, of a map of another shape, or of too many movers; then
            nothing has changed.
        """
        with self._lock:
            self._take_edits()
            movers = load_movers(self._grid, data)
            for movement in movers.movements:
                self._check_movement(movement)
            if most is not None and len(movers) > most:
                raise InputError("data", len(movers), "movers are too many", f"keep to {most}")
            stepper = Stepper(movers, **self._options)
            self._stepper.close()
            self._movers, self._stepper = movers, stepper
            self._tick = 0
            self._before = None
            self._steps.clear()
            return movers.handles()

    # What can be seen

    def take_events(self) -> tuple[list[Step], int]:
        """Return the steps in which something happened since the last call.

        Returns
        -------
        steps : list of Step
            In their order.
        dropped : int
            How many older ones had to be dropped.
        """
        with self._lock:
            steps, self._steps = self._steps, []
            dropped, self._dropped = self._dropped, 0
            return steps, dropped

    def view(
        self,
        rectangle: Rectangle | None = None,
        limit: int | None = None,
        *,
        in_world: bool = False,
    ) -> View:
        """Return the movers in an area, as they are after the last step.

        Parameters
        ----------
        rectangle : (float, float, float, float), optional
            x0, y0, x1, y1 in cell space, ends included; default: everywhere.
        limit : int, optional
            Most movers to return, 0 or more.
        in_world : bool
            Whether the rectangle is one of world positions.

        Returns
        -------
        View
            Copies. O(movers).

        Raises
        ------
        InputError
            If that is no rectangle, or no limit.
        """
        with self._lock:
            return view_of(
                self._movers, self._tick, rectangle, limit, in_world=in_world, before=self._before
            )

    def velocities_of(self, handles: ArrayLike, *, in_world: bool = False) -> NDArray[np.float32]:
        """Return how some movers have moved in the last step.

        Parameters
        ----------
        handles, in_world
            As for `velocities_of` of the views.

        Returns
        -------
        float32 array (n, 2)
            In the order of the handles; 0, 0 for one that is not that of a mover.
        """
        with self._lock:
            return velocities_of(self._movers, handles, in_world=in_world)

    def transforms(self, view: View) -> NDArray[np.float32]:
        """Return a view's movers as instances of a Godot MultiMesh.

        Parameters
        ----------
        view : View
            From `view`.

        Returns
        -------
        float32 array (n, 8)
            As `instance_transforms`.
        """
        return instance_transforms(self._grid, view)
