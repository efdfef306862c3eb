"""Planning that can be watched, and ended, while a step is at it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from navserver.movers.movers import Movers
from navserver.movers.repath import Planner, Plans

__all__ = ["Pulse", "WatchedPlanner"]

Pulse = Callable[[int], bool]
"""Told now and then during a long step how many bots wait for a way; False ends the planning."""

SLICE = 1 << 21
"""Expansions between two looks: some tenths of a second."""


class WatchedPlanner(Planner):
    """A planner that works through its budget slice by slice.

    Parameters
    ----------
    movers : Movers
        Whose ways.
    budget : int
        Expansions a step.

    Notes
    -----
    Slices only cut the work: who gets which way in which step is as without them. What a step
    holds in memory is the paths of a slice, however many bots were sent off at once.
    """

    def __init__(self, movers: Movers, budget: int) -> None:
        super().__init__(movers, budget)
        self.pulse: Pulse | None = None
        """Called between two slices."""
        self.spare = 0
        """Expansions that the step has beyond the slice at work."""

    def close(self) -> None:
        """End what it has started."""

    @property
    def waiting(self) -> int:
        """How many movers wait for a way."""
        return int(np.count_nonzero(self._tickets))

    def run(self) -> Plans:
        """Work for one step, or until the pulse ends it.

        Returns
        -------
        Plans
            Who has got a way, and who never will on this map.
        """
        whole = left = self.budget
        found: list[NDArray[np.int64]] = []
        lost: list[NDArray[np.int64]] = []
        try:
            while True:
                self.budget = min(left, SLICE)
                self.spare = left - self.budget
                plans = super().run()
                found.append(plans.found)
                lost.append(plans.lost)
                # A last search may go a little beyond a slice; that counts as well.
                left -= self.work_done
                if left <= 0 or self.is_idle:
                    break
                if self.pulse is not None and not self.pulse(self.waiting):
                    break
        finally:
            self.budget = whole
        self.work_done = whole - left
        return Plans(np.concatenate(found), np.concatenate(lost))
