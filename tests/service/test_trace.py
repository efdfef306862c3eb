from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.astar import find_path
from navserver.search.grid import Grid
from navserver.search.nodes import SearchTrace
from navserver.service.trace import Playback
from navserver.status import InputError
from tests.service.driving import winding
from tests.strategies import models


def recorded(grid: Grid, start: tuple[int, int], goal: tuple[int, int], capacity: int) -> Playback:
    trace = SearchTrace(capacity)
    find_path(grid, start, goal, trace=trace)
    return Playback(trace)


def test_the_last_step_has_the_path_that_was_found() -> None:
    grid = winding(17)
    playback = recorded(grid, (0, 0), (16, 16), 10_000)
    result = find_path(grid, (0, 0), (16, 16))
    last = playback.step(len(playback))
    assert last.current == (16, 16)
    assert last.path.tolist() == result.cells.tolist()
    assert len(last.frontier) == 0
    assert not playback.truncated


def test_what_was_not_recorded_is_not_played() -> None:
    playback = recorded(winding(17), (0, 0), (16, 16), 10)
    assert (len(playback), playback.truncated) == (10, True)
    with pytest.raises(InputError, match="count"):
        playback.step(11)
    with pytest.raises(InputError, match="count"):
        playback.step(0)
    with pytest.raises(InputError, match="trace"):
        Playback(SearchTrace(5))


def test_a_cell_expanded_again_is_no_frontier_and_has_its_newer_parent() -> None:
    trace = SearchTrace(10)
    trace.arrays.cells[:4] = [0, 1, 2, 1]
    trace.arrays.parents[:4] = [0, 0, 0, 2]
    trace.close(4, width=3, origin=(0, 0))
    playback = Playback(trace)
    assert playback.step(3).frontier.tolist() == []
    assert playback.step(3).closed.tolist() == [[0, 0], [1, 0], [2, 0]]
    assert playback.step(4).path.tolist() == [[0, 0], [2, 0], [1, 0]]


@pytest.mark.parametrize(("count", "expected"), [(1, [7]), (3, [2, 4, 7]), (50, list(range(1, 8)))])
def test_frames_share_the_search_out(count: int, expected: list[int]) -> None:
    playback = recorded(Grid.filled(7, 1), (0, 0), (6, 0), 100)
    assert playback.frames(count) == expected


@given(models(max_side=8), st.data())
def test_every_step_is_consistent(model: object, data: st.DataObject) -> None:
    grid = Grid(model.classes, **model.keywords())  # type: ignore[attr-defined]
    cells = st.sampled_from(model.cells())  # type: ignore[attr-defined]
    start, goal = data.draw(cells), data.draw(cells)
    trace = SearchTrace(1000)
    if find_path(grid, start, goal, trace=trace).metrics.expanded == 0:
        return
    playback = Playback(trace)
    everything = {tuple(cell) for cell in trace.cells.tolist()}
    before: set[tuple[int, ...]] = set()
    for count in range(1, len(playback) + 1):
        step = playback.step(count)
        closed = {tuple(cell) for cell in step.closed.tolist()}
        frontier = {tuple(cell) for cell in step.frontier.tolist()}
        assert closed == before | {step.current}
        assert not closed & frontier
        assert closed | frontier <= everything
        assert step.path[0].tolist() == list(start)
        assert step.path[-1].tolist() == list(step.current)
        assert {tuple(cell) for cell in step.path.tolist()} <= closed
        if count < len(playback):
            following = tuple(trace.cells[count].tolist())
            assert following in closed | frontier
        before = closed
