"""What a run tells about its map: traffic, choke points, stuck bots, trips."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.search.clearance import distance_to_wall
from navserver.search.grid import Grid
from navserver.search.islands import islands_of
from navserver.search.movement import Movement
from navserver.sim.areas import free_cells
from navserver.sim.bots import BotState
from navserver.sim.scenarios import Area

__all__ = ["ChokePoint", "Reachability", "Tally", "Trips", "choke_points", "reachability"]

PROGRESS_SECONDS = 10.0
"""A bot that walks must get on within this time, or it counts as stuck."""

PROGRESS_CELLS = 0.5
"""How far, in a straight line from any place it was at in that time."""


class Trips(NamedTuple):
    """Finished trips, a row each, in the order of arrival."""

    bot: NDArray[np.int64]
    """int64 array (n,)."""
    straight: NDArray[np.float32]
    """float32 array (n,): cells from where the order came to where it ended, as the crow flies."""
    walked: NDArray[np.float32]
    """float32 array (n,): cells walked."""
    seconds: NDArray[np.float32]
    """float32 array (n,): from the order to the arrival."""


class Tally:
    """Sums up a run tick by tick in memory that does not grow with the ticks.

    Parameters
    ----------
    grid : Grid
        The map.
    count : int
        Bots.
    most_trips : int
        Trips that are kept one by one; later ones are counted, and replace kept ones at random
        so that the kept stay a fair sample.
    """

    def __init__(self, grid: Grid, count: int, most_trips: int = 100_000) -> None:
        self.grid = grid
        self.visits = np.zeros(grid.size, np.int64)
        """int64 array (cells,): bots that were in each cell, summed over the ticks."""
        self.entries = np.zeros(grid.size, np.int64)
        """int64 array (cells,): how often a bot has entered each cell."""
        self.stuck = np.zeros(grid.size, np.int64)
        """int64 array (cells,): how often a bot got stuck in each cell."""
        self.stuck_reasons: Counter[tuple[int, int]] = Counter()
        """How often a bot got stuck for a reason, by the reason and the flat cell."""
        self.arrivals = 0
        """Trips that have ended at their goal."""
        self.orders = 0
        """Goals that were given."""
        self._cells: NDArray[np.int64] | None = None
        self._position: NDArray[np.float32] = np.zeros((count, 2), np.float32)
        self._origin = np.zeros((count, 2), np.float32)
        self._walked = np.zeros(count, np.float32)
        self._ordered_at = np.zeros(count)
        self._anchor = np.zeros((count, 2), np.float32)
        self._anchor_time = np.zeros(count)
        self._kept = np.zeros((min(most_trips, 1024), 4))
        self._most_trips = most_trips
        self._random = np.random.default_rng(0)

    def begin(self, position: NDArray[np.float32]) -> None:
        """Note where the bots are before the first tick.

        Parameters
        ----------
        position : float32 array (n, 2)
            In cell space.
        """
        self._position = position.copy()
        self._anchor = position.copy()
        self._cells = self._flat(position)

    def note_orders(self, rows: NDArray[np.int64], time: float) -> None:
        """Note that bots set out for a new goal.

        Parameters
        ----------
        rows : int64 array (k,)
            Who.
        time : float
            Seconds of world time.
        """
        self.orders += rows.size
        self._origin[rows] = self._position[rows]
        self._walked[rows] = 0
        self._ordered_at[rows] = time
        self._anchor[rows] = self._position[rows]
        self._anchor_time[rows] = time

    def note_tick(
        self,
        position: NDArray[np.float32],
        arrived: NDArray[np.int64],
        newly_stuck: NDArray[np.int64],
        reasons: NDArray[np.uint8],
        time: float,
    ) -> None:
        """Note where everybody is after a tick.

        Parameters
        ----------
        position : float32 array (n, 2)
            In cell space.
        arrived, newly_stuck : int64 arrays
            Rows of the bots that arrived, or got stuck, in this tick.
        reasons : uint8 array
            Why, one each of `newly_stuck`.
        time : float
            Seconds of world time at its end.
        """
        cells = self._flat(position)
        np.add.at(self.visits, cells, 1)
        np.add.at(self.entries, cells[cells != self._cells], 1)
        np.add.at(self.stuck, cells[newly_stuck], 1)
        self.stuck_reasons.update(zip(reasons.tolist(), cells[newly_stuck].tolist(), strict=True))
        self._walked += np.hypot(*(position - self._position).T)
        moved = np.hypot(*(position - self._anchor).T) >= PROGRESS_CELLS
        self._anchor[moved] = position[moved]
        self._anchor_time[moved] = time
        self._position = position.copy()
        self._cells = cells
        if arrived.size:
            self._keep_trips(arrived, time)

    def has_progressed(self, time: float) -> NDArray[np.bool_]:
        """Return which bots have got on lately.

        Parameters
        ----------
        time : float
            Seconds of world time now.

        Returns
        -------
        bool array (n,)
            Whether each has moved by half a cell within the last ten seconds.
        """
        return self._anchor_time >= time - PROGRESS_SECONDS

    @property
    def trips(self) -> Trips:
        """The finished trips, or a fair sample of them."""
        kept = self._kept[: min(self.arrivals, self._most_trips)]
        return Trips(
            kept[:, 0].astype(np.int64),
            kept[:, 1].astype(np.float32),
            kept[:, 2].astype(np.float32),
            kept[:, 3].astype(np.float32),
        )

    def _flat(self, position: NDArray[np.float32]) -> NDArray[np.int64]:
        return self.grid.flat_indices(cells_of(position))

    def _keep_trips(self, rows: NDArray[np.int64], time: float) -> None:
        ends = self._position[rows]
        trips = np.column_stack(
            [
                rows,
                np.hypot(*(ends - self._origin[rows]).T),
                self._walked[rows],
                time - self._ordered_at[rows],
            ]
        )
        numbers = np.arange(self.arrivals, self.arrivals + rows.size)
        self.arrivals += rows.size
        # Reservoir sampling (Vitter 1985, algorithm R): each trip is kept equally likely.
        late = numbers >= self._most_trips
        numbers[late] = self._random.integers(0, numbers[late] + 1)
        is_kept = numbers < self._most_trips
        needed = int(numbers[is_kept].max(initial=-1)) + 1
        if needed > len(self._kept):
            size = min(max(needed, 2 * len(self._kept)), self._most_trips)
            self._kept = np.concatenate([self._kept, np.zeros((size - len(self._kept), 4))])
        self._kept[numbers[is_kept]] = trips[is_kept]


def cells_of(position: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    """Return the cells that points of cell space lie in.

    Parameters
    ----------
    position : float array (n, 2)
        A cell's square reaches half a cell to each side of its centre.

    Returns
    -------
    int64 array (n, 2)
        Cells.
    """
    cells: NDArray[np.int64] = np.floor(position + 0.5).astype(np.int64)
    return cells


class ChokePoint(NamedTuple):
    """A narrow place that many bots pass."""

    cell: tuple[int, int]
    entries: int
    """How often a bot has entered the cell."""
    width: float
    """Free cells across it, about: twice the distance to the nearest wall."""


def choke_points(
    grid: Grid, entries: NDArray[np.int64], *, most: int = 10, apart: int = 4, width: float = 4.0
) -> list[ChokePoint]:
    """Return the busiest narrow places.

    Parameters
    ----------
    grid : Grid
        The map.
    entries : int64 array (cells,)
        How often a bot has entered each cell.
    most : int
        Places at most.
    apart : int
        Cells that lie between two of them at least, along an axis.
    width : float
        What counts as narrow.

    Returns
    -------
    list of ChokePoint
        The busiest first.
    """
    across = 2 * np.asarray(distance_to_wall(grid)).reshape(-1)
    candidates = np.flatnonzero((entries > 0) & (across <= width))
    # the narrower of two equally busy cells comes first, then the one of the smaller index
    order = candidates[np.lexsort((candidates, across[candidates], -entries[candidates]))]
    ox, oy = grid.region_position
    found: list[ChokePoint] = []
    taken = np.zeros((grid.height, grid.width), np.bool_)
    for flat in order.tolist():
        y, x = divmod(flat, grid.width)
        if not taken[y, x]:
            found.append(
                ChokePoint((x + ox, y + oy), int(entries[flat]), round(float(across[flat]), 2))
            )
            if len(found) == most:
                break
            taken[max(y - apart, 0) : y + apart + 1, max(x - apart, 0) : x + apart + 1] = True
    return found


class Reachability(NamedTuple):
    """From which spawn areas which goal areas can be reached."""

    spawns: list[str]
    goals: list[str]
    shares: NDArray[np.float64]
    """float64 array (spawns, goals): the share of pairs of free cells that are connected; NaN for
    areas without a free cell."""


def reachability(
    grid: Grid, movement: Movement, spawns: dict[str, Area | None], goals: dict[str, Area | None]
) -> Reachability:
    """Return from which areas which others can be reached, on the map as it is.

    Parameters
    ----------
    grid : Grid
        The map.
    movement : Movement
        How the bots move.
    spawns, goals : dict of str to Area or None
        Named areas; None is the whole map.

    Returns
    -------
    Reachability
        Exact: all pairs of cells count.
    """
    labels = islands_of(grid, movement).labels().reshape(-1)

    def shares_of(area: Area | None) -> NDArray[np.float64]:
        cells = free_cells(grid, movement, () if area is None else (area,))
        counts = np.bincount(labels[grid.flat_indices(cells)], minlength=int(labels.max()) + 1)
        with np.errstate(invalid="ignore"):
            return counts / counts.sum()

    one = np.array([shares_of(area) for area in spawns.values()])
    other = np.array([shares_of(area) for area in goals.values()])
    return Reachability(list(spawns), list(goals), one @ other.T)


def state_counts(state: NDArray[np.uint8], has_progressed: NDArray[np.bool_]) -> dict[str, int]:
    """Return how many bots are where; the counts sum to the bots.

    Parameters
    ----------
    state : uint8 array (n,)
        A `BotState` each.
    has_progressed : bool array (n,)
        See `Tally.has_progressed`.

    Returns
    -------
    dict of str to int
        ``arrived`` (and whoever was never sent), ``en_route``, ``stuck``, ``no_path``.
    """
    walks = state == BotState.EN_ROUTE
    return {
        "arrived": int(((state == BotState.ARRIVED) | (state == BotState.IDLE)).sum()),
        "en_route": int((walks & has_progressed).sum()),
        "stuck": int(((state == BotState.STUCK) | (walks & ~has_progressed)).sum()),
        "no_path": int((state == BotState.NO_PATH).sum()),
    }
