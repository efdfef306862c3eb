"""A behaviour for bench_bots: trips that are as long on a large map as on a small one."""

from __future__ import annotations

import numpy as np

from navserver.sim.bots import Kind, Observation, Orders

REACH = 16
"""Cells to a new goal, at most, along each axis."""


class Stroller:
    """Whoever does not walk is sent to a random cell nearby."""

    def __init__(self, kind: Kind) -> None:
        self._random = kind.random
        grid = kind.grid
        self._first = np.array(grid.region_position)
        self._last = self._first + np.array([grid.width - 1, grid.height - 1])

    def decide(self, bots: Observation) -> Orders | None:
        rows = np.flatnonzero(bots.is_free)
        if not rows.size:
            return None
        steps = self._random.integers(-REACH, REACH + 1, (rows.size, 2))
        return Orders(rows, np.clip(bots.cell[rows] + steps, self._first, self._last))
