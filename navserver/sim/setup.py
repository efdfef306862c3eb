"""Who stands where when a run begins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.sim.areas import free_cells
from navserver.sim.scenarios import BotKind, Scenario
from navserver.status import InputError

__all__ = ["Setup", "place_bots"]

_SPAWNS = 0
"""Random choices of each purpose have a stream of their own; behaviours have 1, 2, ..."""


@dataclass(frozen=True)
class Setup:  # numpydoc ignore=PR02
    """A map and the bots on it, numbered from 0 in the order of their kinds.

    Parameters
    ----------
    grid : Grid
        The map as it is at first; a run edits a copy.
    kinds : tuple of BotKind
        The kinds.
    kind_of : int64 array (n,)
        The kind of each bot.
    spawns : int32 array (n, 2)
        The cell of each bot.
    dt : float
        Seconds a tick.
    avoidance : bool
        Whether bots keep out of each other's way.
    """

    grid: Grid
    kinds: tuple[BotKind, ...]
    kind_of: NDArray[np.int64]
    spawns: NDArray[np.int32]
    dt: float
    avoidance: bool

    @property
    def movements(self) -> tuple[Movement, ...]:
        """How each kind moves."""
        return tuple(Movement(profile=kind.profile) for kind in self.kinds)

    def rows_of(self, kind: int) -> slice:
        """Return the bots of a kind.

        Parameters
        ----------
        kind : int
            Its number.

        Returns
        -------
        slice
            Of the arrays with a row a bot.
        """
        first = sum(k.count for k in self.kinds[:kind])
        return slice(first, first + self.kinds[kind].count)


def place_bots(scenario: Scenario, grid: Grid) -> Setup:
    """Put each bot on a random free cell of its spawn areas, at most one on each.

    Parameters
    ----------
    scenario : Scenario
        The kinds, and the seed.
    grid : Grid
        The map.

    Returns
    -------
    Setup
        The same for the same scenario and map.

    Raises
    ------
    CellError
        If an area does not lie on the map.
    InputError
        If there are more bots than free cells.
    """
    scenario.check_against(grid)
    random = np.random.default_rng([scenario.seed, _SPAWNS])
    is_taken = np.zeros(grid.size, np.bool_)
    spawns = []
    for number, kind in enumerate(scenario.kinds):
        cells = free_cells(grid, Movement(profile=kind.profile), kind.spawn)
        cells = cells[~is_taken[grid.flat_indices(cells)]]
        if len(cells) < kind.count:
            where = "in their spawn areas" if kind.spawn else "on the map"
            raise InputError(
                f"bots[{number}].count",
                kind.count,
                f"are more bots of {kind.name} than the {len(cells)} free cells {where}",
                "use fewer bots, or more room",
            )
        chosen = cells[random.permutation(len(cells))[: kind.count]]
        is_taken[grid.flat_indices(chosen)] = True
        spawns.append(chosen)
    counts = [kind.count for kind in scenario.kinds]
    return Setup(
        grid,
        scenario.kinds,
        np.repeat(np.arange(len(counts)), counts),
        np.concatenate(spawns),
        scenario.dt,
        scenario.avoidance,
    )
