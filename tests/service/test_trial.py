from __future__ import annotations

import numpy as np
import pytest

from navserver.search.grid import Grid
from navserver.service.path_queue import Lane
from navserver.service.path_tickets import TRIAL_EXPANSIONS
from navserver.service.requests import BatchRequest, Outcome, PathRequest, SearchOptions, Used
from navserver.service.scheduler import Scheduler
from navserver.service.trial import try_path
from navserver.service.world import World
from navserver.service.worlds import Worlds
from navserver.status import CellError, Status

OPTIONS = SearchOptions()
# A wall that a search has to go around.
FAR = ((0, 0), (199, 0))


def walled() -> Grid:
    grid = Grid.filled(200, 200)
    grid.set_rectangle((100, 0), (1, 199), 255)
    return grid


@pytest.fixture
def scheduler() -> Scheduler:
    worlds = Worlds()
    worlds.add("map", walled())
    return Scheduler(worlds)


def test_a_short_path_is_found_on_the_newest_version() -> None:
    world = World("map", walled())
    version = world.set_cells([(1, 0)], 255).version
    trial = try_path(world, OPTIONS, (0, 0), (2, 0))
    assert trial.result is not None
    assert (trial.result.status, trial.result.map_version) == (Status.FOUND, version)
    assert trial.result.cells.tolist() == [[0, 0], [0, 1], [1, 1], [2, 1], [2, 0]]
    assert world.replicas.pin().pins == 1


def test_a_long_one_is_given_up() -> None:
    world = World("map", walled())
    assert try_path(world, OPTIONS, *FAR).result is None
    assert len(world.cache) == 0
    assert world.replicas.pin().pins == 1


@pytest.mark.parametrize("most", [1, TRIAL_EXPANSIONS])
def test_a_limit_that_was_asked_for_is_a_result(most: int) -> None:
    world = World("map", walled())
    trial = try_path(world, SearchOptions(max_expansions=most), *FAR)
    assert trial.result is not None
    assert trial.result.status == Status.LIMIT


def test_a_cell_outside_is_refused_and_holds_nothing() -> None:
    world = World("map", walled())
    with pytest.raises(CellError, match="goal"):
        try_path(world, OPTIONS, (0, 0), (200, 0))
    assert world.replicas.pin().pins == 1


def test_nothing_is_tried_while_others_wait(scheduler: Scheduler) -> None:
    world = scheduler.worlds["map"]
    ends = ((0, 0), (2, 0))
    scheduler.submit(PathRequest("other", 1, "map", start=(5, 5), goal=(9, 9)), now=0.0)
    assert scheduler.try_path(world, OPTIONS, *ends) is None
    scheduler.tick(now=0.0)
    assert scheduler.try_path(world, OPTIONS, *ends) is not None


def test_what_is_known_or_under_way_is_not_tried(scheduler: Scheduler) -> None:
    world = scheduler.worlds["map"]
    assert scheduler.try_path(world, OPTIONS, *FAR) is not None
    scheduler.submit(PathRequest("a", 1, "map", start=FAR[0], goal=FAR[1]), 0.0, is_tried=True)
    unit = scheduler.take_work(0.0, Lane.BEGIN)
    assert scheduler.try_path(world, OPTIONS, *FAR) is None
    assert unit is not None
    unit.run()
    scheduler.complete(unit, 0.0)
    (reply,) = scheduler.tick(0.0)
    assert (reply.outcome, reply.used) == (Outcome.FOUND, Used.SEARCH)
    assert scheduler.try_path(world, OPTIONS, *FAR) is None
    scheduler.submit(PathRequest("a", 2, "map", start=FAR[0], goal=FAR[1]), 0.0)
    (reply,) = scheduler.take_replies()
    assert reply.used == Used.CACHE


def test_what_takes_long_to_build_is_left_to_other_threads() -> None:
    worlds = Worlds()
    world = worlds.add("large", Grid.filled(512, 512))
    scheduler = Scheduler(worlds)
    ends = ((0, 0), (2, 0))
    trial = scheduler.try_path(world, OPTIONS, *ends)
    assert trial is not None
    assert trial.result is None
    scheduler.submit(PathRequest("a", 1, "large", start=ends[0], goal=ends[1]), 0.0)
    both = [ends[0]] * 2, [ends[1]] * 2
    scheduler.submit(BatchRequest("a", 2, "large", starts=both[0], goals=both[1]), 0.0)
    assert scheduler.take_work(0.0, Lane.SHORT) is None
    assert [reply.outcome for reply in scheduler.tick(0.0)] == [Outcome.FOUND, Outcome.DONE]
    trial = scheduler.try_path(world, OPTIONS, *ends)
    assert trial is not None
    assert trial.result is not None
    # An edit of many cells is one of a copy, for which nothing is known to be built.
    world.set_all(np.full((512, 512), 1, np.uint8))
    assert not world.replicas.is_quick(OPTIONS)


def test_a_path_that_was_tried_is_not_tried_again(scheduler: Scheduler) -> None:
    scheduler.submit(PathRequest("a", 1, "map", start=FAR[0], goal=FAR[1]), 0.0, is_tried=True)
    assert scheduler.take_work(0.0, Lane.SHORT) is None
    assert scheduler.take_work(0.0, Lane.BEGIN) is not None


def test_paths_found_at_once_are_counted(scheduler: Scheduler) -> None:
    scheduler.note_path("found", 0.0, 0.002)
    counted = scheduler.statistics()["requests"]["path"]
    assert (counted["count"], counted["outcomes"]) == (1, {"found": 1})
    assert counted["searching_p50_us"] == 2000.0
