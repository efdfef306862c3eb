"""Worker threads, an editor and clients at once: what single-threaded tests cannot see."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.service.path_queue import Lane
from navserver.service.path_validity import find_breaks, path_cost
from navserver.service.requests import BatchRequest, Outcome, PathRequest, SearchOptions
from navserver.service.scheduler import Scheduler
from navserver.service.world import World
from navserver.service.worlds import Worlds
from navserver.status import Status

SIDE = 48
OPTIONS = SearchOptions(islands=False)
clock = time.perf_counter


class Workers:
    """Threads that do what a scheduler has to do, until they are told to stop."""

    def __init__(self, scheduler: Scheduler, count: int) -> None:
        self.scheduler = scheduler
        self.errors: list[BaseException] = []
        self._stop = threading.Event()
        lanes = [Lane.SLICED] * count + [Lane.WHOLE]
        self._threads = [threading.Thread(target=self._work, args=(lane,)) for lane in lanes]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
        assert not self.errors

    def _work(self, lanes: Lane) -> None:
        try:
            while not self._stop.is_set():
                if not self.scheduler.wait_for_work(lanes, 0.01):
                    continue
                unit = self.scheduler.take_work(clock(), lanes)
                if unit is not None:
                    unit.run()
                    self.scheduler.complete(unit, clock())
        except BaseException as error:
            self.errors.append(error)
            raise


class History:
    """Every version of a map, as edits made them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.versions = {1: world.replicas.grid.classes.copy()}
        self._random = np.random.default_rng(5)

    def edit(self) -> None:
        cells = self._random.integers(0, SIDE, (int(self._random.integers(1, 5)), 2))
        values = self._random.choice([0, 0, 255], len(cells))
        version = self.world.set_cells(cells, values).version
        classes = self.versions[version - 1].copy()
        for (x, y), value in zip(cells.tolist(), values.tolist(), strict=True):
            classes[y, x] = value
        self.versions[version] = classes

    def check(
        self, version: int, start: Any, goal: Any, status: int, cells: Any, cost: float
    ) -> None:
        """Check an answer against the map of its version."""
        grid = Grid(self.versions[version])
        if status == Status.FOUND:
            flat = grid.flat_indices(cells)
            assert cells[0].tolist() == list(start)
            assert cells[-1].tolist() == list(goal)
            assert find_breaks(grid, Movement(), flat, np.array([0, flat.size])) == {}
            assert path_cost(grid, Movement(), flat) == pytest.approx(cost, rel=1e-9)
        elif status == Status.START_BLOCKED:
            assert grid.class_at(start) == 255
        elif status == Status.GOAL_BLOCKED:
            assert grid.class_at(goal) == 255
        else:
            assert status == Status.UNREACHABLE
            assert grid.class_at(start) == grid.class_at(goal) == 0


def wait_until(is_true: Callable[[], bool]) -> None:
    limit = clock() + 120
    while not is_true():
        assert clock() < limit, "it takes too long"
        time.sleep(1e-3)


def run_searches(total: int) -> None:
    worlds = Worlds()
    random = np.random.default_rng(11)
    world = worlds.add("map", Grid.from_blocked(random.random((SIDE, SIDE)) < 0.25))
    scheduler = Scheduler(worlds, slice_seconds=50e-6)
    history = History(world)
    asked: dict[int, tuple[Any, Any]] = {}
    answered = set()
    replies: list[Any] = []
    stop = threading.Event()

    def edit_on() -> None:
        while not stop.is_set():
            history.edit()
            time.sleep(1e-3)

    editor = threading.Thread(target=edit_on)
    with Workers(scheduler, 2):
        editor.start()
        try:
            while len(asked) < total:
                # Paths are tried at once only where nothing waits: the queue runs dry now and then.
                most = 500 if len(asked) % 800 else 0
                if scheduler.statistics()["pending_rows"] > most:
                    time.sleep(1e-3)
                else:
                    starts, goals = random.integers(0, SIDE, (2, 40, 2))
                    number = len(asked) + 1
                    for i, pair in enumerate(zip(starts.tolist(), goals.tolist(), strict=True)):
                        asked[number + i] = pair
                    replies += ask(scheduler, number, starts, goals, in_batch=number % 80 == 41)
                replies += scheduler.take_replies()
            wait_until(lambda: scheduler.statistics()["pending_rows"] == 0)
            replies += scheduler.take_replies()
        finally:
            stop.set()
            editor.join()
    versions = set()
    for reply in replies:
        assert reply.outcome in {Outcome.DONE, *map(int, Status)}
        rows = len(reply.status) if hasattr(reply, "status") else 1
        for i in range(rows):
            number = reply.request_id + i
            assert number not in answered
            answered.add(number)
            versions.add(reply.map_version)
            status, cells, cost = answer_of(reply, i)
            if number % max(total // 4000, 1) == 0:
                history.check(reply.map_version, *asked[number], status, cells, cost)
    assert answered == set(asked)
    assert any(isinstance(reply, SimpleNamespace) for reply in replies)
    assert len(versions) > 20
    assert world.replicas.count <= 3
    assert world.replicas.pin().pins == 1


def ask(scheduler: Scheduler, number: int, starts: Any, goals: Any, *, in_batch: bool) -> list[Any]:
    """Submit requests, but for those that are found at once; return these."""
    if in_batch:
        request = BatchRequest("b", number, "map", starts=starts, goals=goals, options=OPTIONS)
        scheduler.submit(request, clock())
        return []
    found = []
    for i, (start, goal) in enumerate(zip(starts.tolist(), goals.tolist(), strict=True)):
        ends = tuple(start), tuple(goal)
        trial = scheduler.try_path(scheduler.worlds["map"], OPTIONS, *ends) if i % 2 == 0 else None
        if trial is not None and trial.result is not None:
            result = trial.result
            found.append(SimpleNamespace(
                request_id=number + i, outcome=Outcome(result.status), result=result,
                map_version=result.map_version,
            ))  # fmt: skip
            continue
        one = PathRequest(i % 3, number + i, "map", start=start, goal=goal, options=OPTIONS)
        scheduler.submit(one, clock(), is_tried=trial is not None)
    return found


def answer_of(reply: Any, i: int) -> tuple[int, Any, float]:
    if hasattr(reply, "status"):
        return int(reply.status[i]), reply.path(i), float(reply.cost[i])
    return int(reply.outcome), reply.result.cells, reply.result.cost


@pytest.mark.slow
def test_every_path_is_valid_at_its_version() -> None:
    run_searches(10_000)


@pytest.mark.soak
def test_every_path_is_valid_at_its_version_a_hundred_thousand_times() -> None:
    run_searches(100_000)
