"""Who moves in a world and where to: a table of movers that keeps up with the edits of its map.

Movers keep much that hangs on one `Grid`, so they have a copy of the map of their own. It takes in
the edits of the world between steps, in their order.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.movers.movers import Movers
from navserver.movers.stepper import Stepper
from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.service.replicas import Replicas
from navserver.status import InputError

__all__ = ["MoverTable"]


class MoverTable:
    """The movers of one world, and the orders they are given.

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
    Safe for threads, which wait for each other.

    Examples
    --------
    >>> table = MoverTable(Replicas(Grid.filled(16, 16)), threads=1)
    >>> table.order(table.add([(1, 1), (2, 1)], radius=0.4, max_speed=4.0), (9, 9))
    >>> len(table)
    2
    """

    def __init__(self, replicas: Replicas, **options: Any) -> None:
        self._replicas = replicas
        replica = replicas.pin()
        try:
            self._grid = replica.grid.copy()
            self._grid.version = replica.version
        finally:
            replicas.unpin(replica)
        self._options = options
        self._movers = Movers(self._grid)
        self._stepper = Stepper(self._movers, **options)
        self._lock = threading.RLock()

    def __len__(self) -> int:
        """Return how many movers there are."""
        return len(self._movers)

    @property
    def options(self) -> dict[str, Any]:
        """How they step: keywords of `Stepper`, but for its threads."""
        return {name: value for name, value in self._options.items() if name != "threads"}

    @property
    def threads(self) -> int:
        """How many threads step them where there are many."""
        return self._stepper.workers.threads

    def close(self) -> None:
        """End the threads."""
        with self._lock:
            self._stepper.close()

    # Who is there, and where to go

    def add(self, positions: ArrayLike, **properties: Any) -> NDArray[np.int64]:
        """Add movers that stand still.

        Parameters
        ----------
        positions : array-like of float, shape (n, 2)
            In cell space, each in an open cell.
        **properties
            Keywords of `Movers.add`.

        Returns
        -------
        int64 array (n,)
            Their handles.

        Raises
        ------
        InputError
            If a value is out of its bounds; then nothing is added.
        """
        with self._lock:
            self._take_edits()
            movement = properties.get("movement")
            if movement is not None:
                self._check_movement(movement)
            return self._movers.add(positions, **properties)

    def check_movement(self, movement: Movement) -> None:
        """Refuse a movement that no search on the map could carry out.

        Parameters
        ----------
        movement : Movement
            What is to block movers; `add` looks at it as well.

        Raises
        ------
        InputError
            If the body is too large, or the map has no such layer.
        """
        with self._lock:
            self._take_edits()
            self._check_movement(movement)

    def remove(self, handles: ArrayLike) -> None:
        """Remove movers.

        Parameters
        ----------
        handles : array-like of int, shape (n,)
            Each once.

        Raises
        ------
        InputError
            If a handle is not that of a mover; then nothing is removed.
        """
        with self._lock:
            self._movers.remove(handles)

    def order(self, handles: ArrayLike, goal: ArrayLike, *, spread: bool = True) -> None:
        """Send movers to a goal, or each to its own.

        Parameters
        ----------
        handles, goal, spread
            As for `Stepper.order`.

        Raises
        ------
        InputError
            If a goal is not on the map, or a handle is not that of a mover.
        """
        with self._lock:
            self._take_edits()
            self._stepper.order(handles, goal, spread=spread)

    def set_paths(self, handles: ArrayLike, points: ArrayLike, offsets: ArrayLike) -> None:
        """Send movers along waypoints.

        Parameters
        ----------
        handles, points, offsets
            As for `Movers.set_paths`.

        Raises
        ------
        InputError
            If they do not go together, or a handle is not that of a mover.
        """
        with self._lock:
            self._take_edits()
            self._movers.set_paths(handles, points, offsets)

    def routes(self, handles: ArrayLike) -> list[NDArray[np.float32]]:
        """Return the waypoints that movers have still to pass.

        Parameters
        ----------
        handles : array-like of int, shape (n,)
            Movers.

        Returns
        -------
        list of float32 array (k, 2)
            Those of each, in cell space; none of who stands, waits or follows a flow field.

        Raises
        ------
        InputError
            If a handle is not that of a mover.
        """
        with self._lock:
            rows = self._movers.rows_of(handles)
            return [self._movers.routes.remaining(int(row)) for row in rows]

    def set(self, handles: ArrayLike, **properties: ArrayLike) -> None:
        """Change properties of movers.

        Parameters
        ----------
        handles, **properties
            As for `Movers.set`.

        Raises
        ------
        InputError
            If a value is out of its bounds.
        """
        with self._lock:
            self._movers.set(handles, **properties)

    def place(self, handles: ArrayLike, positions: ArrayLike) -> None:
        """Put movers somewhere else, standing still.

        Parameters
        ----------
        handles, positions
            As for `Movers.place`.

        Raises
        ------
        InputError
            If a position is not in an open cell, or a handle is not that of a mover.
        """
        with self._lock:
            self._take_edits()
            self._movers.place(handles, positions)

    def is_alive(self, handles: ArrayLike) -> NDArray[np.bool_]:
        """Return which handles are those of movers.

        Parameters
        ----------
        handles : array-like of int, shape (n,)
            Any integers.

        Returns
        -------
        bool array (n,)
            False for movers that were removed.
        """
        with self._lock:
            return self._movers.is_alive(handles)

    def stop(self, handles: ArrayLike) -> None:
        """Let movers stand where they are.

        Parameters
        ----------
        handles : array-like of int, shape (n,)
            Movers.

        Raises
        ------
        InputError
            If a handle is not that of a mover.
        """
        with self._lock:
            self._movers.stop(handles)

    def steer(
        self,
        handles: ArrayLike,
        velocities: ArrayLike,
        *,
        positions: ArrayLike | None = None,
        current_velocities: ArrayLike | None = None,
    ) -> None:
        """Let movers go by velocities of the caller's.

        Parameters
        ----------
        handles, velocities, positions, current_velocities
            As for `Movers.steer`.

        Raises
        ------
        InputError
            If a value is out of its bounds, or a handle is not that of a mover.
        """
        with self._lock:
            self._take_edits()
            self._movers.steer(
                handles, velocities, positions=positions, current_velocities=current_velocities
            )

    def _check_movement(self, movement: Movement) -> None:
        """Refuse a movement that no search could carry out, before steps rely on it."""
        # Raises for a body that is too large.
        self._grid.space(movement)
        for name, _ in movement.overlays:
            if name not in self._grid.layers:
                known = ", ".join(sorted(self._grid.layers)) or "none yet"
                raise InputError("overlays", name, "is no layer of the map", f"it has: {known}")

    def _take_edits(self) -> None:
        """Bring the movers' map up to date."""
        edits = self._replicas.edits_since(self._grid.version)
        if edits is None:
            replica = self._replicas.pin()
            try:
                _adopt(self._grid, replica.grid)
            finally:
                self._replicas.unpin(replica)
            return
        for edit in edits:
            edit.apply(self._grid)


def _adopt(grid: Grid, head: Grid) -> None:
    """Make a grid equal to another of its size, version included."""
    for name in set(grid.layers) - set(head.layers):
        grid.remove_layer(name)
    scale = head.cell_scale
    if scale is None and grid.cell_scale is not None:
        scale = np.ones((head.height, head.width), np.float32)
    grid.set_all(head.classes, cell_scale=scale, layers=dict(head.layers) or None)
    grid.version = head.version
