"""The waypoints of all movers, packed in one array.

A route is the range ``path_begin <= i < path_end`` of the pool, of which those from ``path_next``
on are still to be passed. Routes that were dropped or are ended are garbage; when half of a full
pool is, it is packed anew, else it doubles.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from navserver.movers.columns import Columns
from navserver.status import InputError

__all__ = ["MOST_WAYPOINTS", "Routes"]

MOST_WAYPOINTS = 2**31 - 1
"""How many waypoints one table of movers can hold."""

_LEAST_CAPACITY = 256


class Routes:
    """The pool of waypoints of a table of movers.

    Parameters
    ----------
    columns : Columns
        The movers; their `path_begin`, `path_next` and `path_end` are kept here.
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.pool = np.empty((_LEAST_CAPACITY, 2), np.float32)
        """float32 array (capacity, 2): waypoints in cell space."""
        self.used = 0
        """How much of the pool was given out; what is in it may be garbage."""

    def assign(
        self, rows: NDArray[np.int64], points: NDArray[np.float32], offsets: NDArray[np.int64]
    ) -> None:
        """Give movers routes of their own in place of those they had.

        Parameters
        ----------
        rows : int64 array (n,)
            Their slots, each once.
        points : float32 array (m, 2)
            The waypoints of all routes, one route after the other; finite.
        offsets : int64 array (n + 1,)
            Route i is ``points[offsets[i]:offsets[i + 1]]``.

        Raises
        ------
        InputError
            If that were more than `MOST_WAYPOINTS`.
        """
        self.drop(rows)
        self._make_room(len(points))
        begin = self.used
        self.pool[begin : begin + len(points)] = points
        self.used += len(points)
        columns = self._columns
        columns.path_begin[rows] = columns.path_next[rows] = begin + offsets[:-1]
        columns.path_end[rows] = begin + offsets[1:]

    def drop(self, rows: NDArray[np.int64]) -> None:
        """Take the routes of movers away.

        Parameters
        ----------
        rows : int64 array (n,)
            Their slots.
        """
        columns = self._columns
        columns.path_begin[rows] = columns.path_next[rows] = columns.path_end[rows] = 0

    def remaining(self, row: int) -> NDArray[np.float32]:
        """Return the waypoints that a mover has still to pass.

        Parameters
        ----------
        row : int
            Its slot.

        Returns
        -------
        float32 array (k, 2)
            A copy.
        """
        columns = self._columns
        return self.pool[columns.path_next[row] : columns.path_end[row]].copy()

    def _make_room(self, wanted: int) -> None:
        if self.used + wanted <= len(self.pool):
            return
        columns = self._columns
        # Waypoints that are passed are kept as well: who is pushed back behind them looks for them,
        # and when the pool is packed must not make a difference.
        first = columns.path_begin
        counts = np.where(columns.path_next < columns.path_end, columns.path_end - first, 0)
        needed = int(counts.sum(dtype=np.int64)) + wanted
        capacity = len(self.pool)
        while capacity < 2 * needed:
            capacity *= 2
        if needed > MOST_WAYPOINTS:
            raise InputError(
                "paths", needed, "waypoints are too many", f"keep to {MOST_WAYPOINTS} at a time"
            )
        rows = np.flatnonzero(counts)
        begins = np.zeros(rows.size + 1, np.int64)
        np.cumsum(counts[rows], out=begins[1:])
        # Entry k of the packed pool comes from the k-th waypoint that is still of use.
        sources = np.arange(begins[-1]) + np.repeat(first[rows] - begins[:-1], counts[rows])
        packed = np.empty((min(capacity, MOST_WAYPOINTS), 2), np.float32)
        packed[: sources.size] = self.pool[sources]
        passed = columns.path_next[rows] - first[rows]
        self.pool = packed
        self.used = int(begins[-1])
        columns.path_begin[:] = columns.path_next[:] = columns.path_end[:] = 0
        columns.path_begin[rows] = begins[:-1]
        columns.path_next[rows] = begins[:-1] + passed
        columns.path_end[rows] = begins[1:]
