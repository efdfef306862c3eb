"""Drives a scheduler in one thread, with a clock that tests set."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.search.grid import Grid
from navserver.service.path_queue import Lane
from navserver.service.requests import PathRequest, Reply
from navserver.service.scheduler import Scheduler
from navserver.service.worlds import Worlds


class Stage:
    """One world called ``map``, a scheduler, and a clock."""

    def __init__(self, grid: Grid, **options: Any) -> None:
        self.worlds = Worlds()
        self.world = self.worlds.add("map", grid)
        self.scheduler = Scheduler(self.worlds, **options)
        self.now = 100.0
        self._ids = 0

    def ask(self, start: Any, goal: Any, client: str = "me", **options: Any) -> int:
        self._ids += 1
        request = PathRequest(client, self._ids, "map", start=start, goal=goal, **options)
        self.scheduler.submit(request, self.now)
        return self._ids

    def work(self, lanes: Lane = Lane.ALL, seconds: float = 0.0) -> bool:
        """Do one unit that takes so long; return whether there was one."""
        unit = self.scheduler.take_work(self.now, lanes)
        if unit is None:
            return False
        unit.run()
        self.now += seconds
        self.scheduler.complete(unit, self.now)
        return True

    def replies(self) -> list[Reply]:
        return self.scheduler.take_replies()

    def finish(self) -> list[Reply]:
        return self.scheduler.tick(self.now)


def winding(side: int) -> Grid:
    """A map of 4 n + 1 rows whose only way from corner to corner winds through every second row."""
    blocked: NDArray[np.bool_] = np.zeros((side, side), np.bool_)
    blocked[1::4, :-1] = True
    blocked[3::4, 1:] = True
    return Grid.from_blocked(blocked)
