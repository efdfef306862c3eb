from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from navserver.service.path_queue import Lane
from navserver.service.requests import Outcome, SearchOptions
from navserver.status import CellError, InputError
from tests.service.batches import batch, check_against_search, only
from tests.service.driving import Stage
from tests.strategies import models


@given(models(), st.data())
def test_a_batch_is_what_searches_find(model: Any, data: st.DataObject) -> None:
    grid = Grid(model.classes, **model.keywords())
    cells = st.sampled_from(model.cells())
    few = data.draw(st.lists(cells, min_size=1, max_size=3))
    n = data.draw(st.integers(1, 40))
    starts = [data.draw(cells) for _ in range(n)]
    goals = [data.draw(st.sampled_from(few)) for _ in range(n)]
    mode = data.draw(st.sampled_from(list(DiagonalMode)))
    partial = data.draw(st.booleans())
    stage = Stage(grid.copy())
    options = SearchOptions(Movement(diagonal_mode=mode), allow_partial=partial)
    batch(stage, starts, goals, options=options)
    reply = only(stage.finish())
    check_against_search(reply, grid, starts, goals, diagonal_mode=mode, allow_partial=partial)


def test_all_rows_see_the_version_of_the_first() -> None:
    grid = Grid.filled(64, 1)
    stage = Stage(grid)
    batch(stage, [(x % 60, 0) for x in range(200)], [(63, 0)] * 200, share_fields=False)
    assert stage.work()
    stage.world.set_cells([(62, 0)], 255)
    reply = only(stage.finish())
    assert reply.map_version == 1
    assert set(reply.status) == {Outcome.FOUND}
    batch(stage, [(0, 0)], [(63, 0)])
    assert only(stage.finish()).map_version == 2


def test_an_empty_batch_is_done() -> None:
    stage = Stage(Grid.filled(4, 4))
    batch(stage, np.empty((0, 2), int), np.empty((0, 2), int))
    reply = only(stage.finish())
    assert (reply.outcome, reply.offsets.tolist(), reply.cells.shape) == (Outcome.DONE, [0], (0, 2))
    assert stage.scheduler.statistics()["pending_rows"] == 0


def test_rows_count_in_the_bound() -> None:
    stage = Stage(Grid.filled(4, 4), max_rows_a_client=5)
    batch(stage, [(0, 0)] * 4, (1, 1), number=1)
    batch(stage, [(0, 0)] * 2, (1, 1), number=2)
    outcomes = {reply.request_id: reply.outcome for reply in stage.finish()}
    assert outcomes == {1: Outcome.DONE, 2: Outcome.OVERLOADED}


def test_bad_cells_are_refused_by_row() -> None:
    stage = Stage(Grid.filled(4, 4))
    with pytest.raises(CellError, match=r"goals\[1\]"):
        batch(stage, [(0, 0)] * 2, [(1, 1), (4, 1)])
    with pytest.raises(CellError, match="do not go with"):
        batch(stage, [(0, 0)] * 2, [(1, 1)] * 3)
    with pytest.raises(InputError):
        batch(stage, [(0.5, 0.0)], [(1, 1)])
    assert stage.finish() == []


def test_a_batch_that_cannot_be_searched_fails_as_a_whole() -> None:
    stage = Stage(Grid.filled(4, 4))
    options = SearchOptions(Movement(overlays={"fog": 1.0}))
    batch(stage, [(0, 0)] * 40, (1, 1), options=options)
    reply = only(stage.finish())
    assert reply.outcome == Outcome.FAILED
    assert set(reply.status) == {Outcome.FAILED}
    assert "fog" in str(reply.error)


def test_ranges_of_a_batch_go_to_several_threads_at_once() -> None:
    stage = Stage(Grid.filled(64, 64))
    batch(stage, [(0, 0)] * 100, [(x % 64, 9) for x in range(100)], share_fields=False)
    units = []
    while (unit := stage.scheduler.take_work(stage.now, Lane.SHORT)) is not None:
        units.append(unit)
    assert len(units) == 4
    for unit in reversed(units):
        unit.run()
        stage.scheduler.complete(unit, stage.now)
    reply = only(stage.replies())
    goals = [(x % 64, 9) for x in range(100)]
    check_against_search(reply, Grid.filled(64, 64), [(0, 0)] * 100, goals)
