"""Behaviours: small classes that decide for all bots of one kind at once.

A behaviour sees arrays with a row a bot and answers with the rows that get a new goal::

    from navserver.sim.bots import Orders

    class Sentries:
        def __init__(self, kind):
            self.kind = kind                      # map, free goal cells, seeded random numbers

        def decide(self, bots):
            idle = numpy.flatnonzero(bots.is_free)
            return Orders(idle, self.kind.draw_goals(idle))
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.sim.areas import IslandCells
from navserver.sim.scenarios import BotKind
from navserver.status import InputError, NavserverError

__all__ = ["Behavior", "BehaviorError", "BotState", "Kind", "Observation", "Orders"]


class BehaviorError(NavserverError, RuntimeError):
    """A user's behaviour raised, or gave orders that nobody can follow; names file and line."""


class BotState(IntEnum):
    """How a bot fares; the report's words are these in lower case."""

    IDLE = 0
    EN_ROUTE = 1
    ARRIVED = 2
    STUCK = 3
    NO_PATH = 4


class Observation(NamedTuple):
    """What the bots of one kind see when a tick begins; arrays of n rows, read-only."""

    tick: int
    """Ticks done."""
    time: float
    """Seconds of world time."""
    position: NDArray[np.float32]
    """float32 array (n, 2): in cell space, the centre of cell (x, y) is the point (x, y)."""
    velocity: NDArray[np.float32]
    """float32 array (n, 2): cells a second."""
    cell: NDArray[np.int32]
    """int32 array (n, 2): the cell that each bot is in."""
    goal: NDArray[np.int32]
    """int32 array (n, 2): its last goal, its spawn cell before the first."""
    state: NDArray[np.uint8]
    """uint8 array (n,): a `BotState` each."""
    everyone: NDArray[np.float32]
    """float32 array (m, 2): positions of the bots of all kinds."""

    @property
    def is_free(self) -> NDArray[np.bool_]:
        """Which bots do not walk: idle, arrived, stuck or without a path."""
        return self.state != BotState.EN_ROUTE


class Orders(NamedTuple):
    """New goals for some bots of a kind."""

    rows: ArrayLike
    """Rows of the observation, each at most once; int array (k,)."""
    goals: ArrayLike
    """Cells, int array (k, 2)."""


class Behavior(Protocol):
    """What a behaviour's class must offer; it is made as ``CLASS(kind, **options)``."""

    def decide(self, bots: Observation) -> Orders | None:
        """Decide for all bots of the kind, once a tick.

        Parameters
        ----------
        bots : Observation
            What they see.

        Returns
        -------
        Orders or None
            New goals; None leaves everyone as they are.
        """


class Kind:
    """What a behaviour knows of its bots and of the map.

    Parameters
    ----------
    grid : Grid
        The map; it changes as the scenario edits it.
    movement : Movement
        How these bots move.
    kind : BotKind
        As the scenario has it.
    spawns : int32 array (n, 2)
        Where the bots start.
    random : numpy.random.Generator
        Seeded; all that is random must come from it, or runs cannot be repeated.
    """

    def __init__(
        self,
        grid: Grid,
        movement: Movement,
        kind: BotKind,
        spawns: NDArray[np.int32],
        random: np.random.Generator,
    ) -> None:
        self.grid = grid
        self.movement = movement
        self.name = kind.name
        self.spawns = spawns
        self.random = random
        self._areas = kind.goals
        self._islands = IslandCells(grid, movement, kind.goals)
        if not len(self.goal_cells):
            raise InputError(
                "goals", list(map(tuple, kind.goals)), "have no free cell", "move the areas"
            )

    @property
    def goal_cells(self) -> NDArray[np.int32]:
        """int32 array (k, 2): the cells of the goal areas that are open now."""
        return self._current_islands().cells

    def _current_islands(self) -> IslandCells:
        if self._islands.version != self.grid.version:
            self._islands = IslandCells(self.grid, self.movement, self._areas)
        return self._islands

    def draw_goals(self, rows: ArrayLike, cells: ArrayLike | None = None) -> NDArray[np.int32]:
        """Draw a random goal cell for each bot, on its own island where there is one.

        Parameters
        ----------
        rows : array-like of int, shape (k,)
            Which bots.
        cells : array-like of int, shape (k, 2), optional
            Where they are; by default where they started.

        Returns
        -------
        int32 array (k, 2)
            Goals; for bots whose island has no goal cell one that they cannot reach, or where
            all goal cells have been closed the cell they are in.
        """
        here = self.spawns[np.asarray(rows, np.int64)] if cells is None else np.asarray(cells)
        return self._current_islands().draw(here, self.random)
