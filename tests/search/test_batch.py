from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.astar import AStar
from navserver.search.batch import BatchSearch, PathBatch, find_paths
from navserver.search.grid import CostModel, DiagonalMode, Grid
from navserver.search.nodes import CancelFlag
from navserver.status import CellError, GridChangedError, InputError, Status
from tests import strategies as sts


def random_grid(side: int, seed: int, **keywords: Any) -> Grid:
    return Grid.from_blocked(np.random.default_rng(seed).random((side, side)) < 0.35, **keywords)


def random_pairs(side: int, count: int, seed: int) -> tuple[Any, Any]:
    pairs = np.random.default_rng(seed).integers(0, side, (2, count, 2))
    return pairs[0], pairs[1]


def assert_equal_batches(one: PathBatch, other: PathBatch) -> None:
    for mine, others in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, others)


@given(sts.queries(), st.data())
def test_each_row_is_what_a_single_search_returns(query: sts.Query, data: st.DataObject) -> None:
    grid = sts.grid_of(query.model)
    spots = sts.cells(query.model)
    starts, goals = (
        data.draw(st.lists(spots, min_size=5, max_size=5)),
        data.draw(st.lists(spots, min_size=5, max_size=5)),
    )
    options = {
        **query.options(),
        "allow_partial": data.draw(st.booleans()),
        "max_expansions": data.draw(st.none() | st.integers(1, 60)),
    }
    search = AStar(grid, **options)
    with BatchSearch(grid, threads=2, **options) as many:
        batch = many.find_paths(starts, goals)
    assert batch.map_version == grid.version
    assert batch.offsets[-1] == len(batch.cells)
    for i, (start, goal) in enumerate(zip(starts, goals, strict=True)):
        single, row = search.find_path(start, goal), batch.result(i)
        for name in ("status", "detail", "start", "goal", "cost", "length", "metrics"):
            assert getattr(row, name) == getattr(single, name), name
        assert row.suboptimality == single.suboptimality
        np.testing.assert_array_equal(row.cells, single.cells)


@pytest.mark.slow
@pytest.mark.parametrize("costs", [None, (1, 5), (0, 3)], ids=["uniform", "costs", "zeros"])
def test_threads_change_no_byte(costs: tuple[int, int] | None) -> None:
    scale = None
    if costs is not None:
        scale = np.random.default_rng(3).integers(*costs, (60, 60)).astype(np.float32)
    grid = random_grid(60, 2, cell_scale=scale)
    starts, goals = random_pairs(60, 700, 4)
    batches = [find_paths(grid, starts, goals, threads=threads) for threads in (1, 2, 5)]
    assert_equal_batches(batches[0], batches[1])
    assert_equal_batches(batches[0], batches[2])
    assert set(batches[0].status) >= {Status.FOUND, Status.START_BLOCKED, Status.GOAL_BLOCKED}


@pytest.mark.slow
@pytest.mark.parametrize("mode", DiagonalMode)
def test_islands_answer_what_searches_would(mode: DiagonalMode) -> None:
    grid = random_grid(50, 5)
    starts, goals = random_pairs(50, 500, 6)
    with BatchSearch(grid, threads=2, islands=True, diagonal_mode=mode) as asking:
        for edit in range(3):
            plain = find_paths(grid, starts, goals, diagonal_mode=mode)
            asked = asking.find_paths(starts, goals)
            assert Status.UNREACHABLE in plain.status
            for name in ("status", "detail", "cells", "offsets", "cost", "length"):
                np.testing.assert_array_equal(getattr(asked, name), getattr(plain, name))
            reached = plain.status != Status.UNREACHABLE
            np.testing.assert_array_equal(asked.metrics[reached], plain.metrics[reached])
            assert not asked.metrics[~reached].any(), "a goal out of reach was searched for"
            grid.set_rectangle((5 * edit, 10), (20, 2), 255 if edit % 2 == 0 else 0)


@pytest.mark.slow
def test_a_searcher_that_asks_islands_finds_what_another_does() -> None:
    grid = random_grid(40, 8)
    asking, plain = AStar(grid, islands=True), AStar(grid)
    random = np.random.default_rng(9)
    for _ in range(300):
        if random.random() < 0.2:
            grid.set_cell(tuple(random.integers(0, 40, 2)), int(random.choice([0, 255])))
        start, goal = (tuple(cell) for cell in random.integers(0, 40, (2, 2)))
        one, other = asking.find_path(start, goal), plain.find_path(start, goal)
        assert (one.status, one.detail, one.cost) == (other.status, other.detail, other.cost)
        np.testing.assert_array_equal(one.cells, other.cells)


@pytest.mark.slow
def test_islands_spare_the_search_for_a_goal_out_of_reach() -> None:
    grid = Grid.filled(200, 200)
    grid.set_rectangle((100, 0), (1, 200), 255)
    assert AStar(grid).find_path((0, 0), (199, 0)).metrics.expanded == 100 * 200
    result = AStar(grid, islands=True).find_path((0, 0), (199, 0))
    assert (result.status, result.metrics.expanded) == (Status.UNREACHABLE, 0)
    opened = AStar(grid, islands=True).find_path((0, 0), (199, 0), ignored_cells=[(100, 50)])
    assert opened.found


def test_one_cell_goes_with_all_rows() -> None:
    grid = Grid.filled(5, 5, region_position=(-2, -2))
    batch = find_paths(grid, (-2, -2), [(2, 2), (-2, 2), (-2, -2)])
    assert batch.goals.tolist() == [[2, 2], [-2, 2], [-2, -2]]
    assert batch.starts.tolist() == [[-2, -2]] * 3
    assert batch.cost.tolist() == pytest.approx([4 * 2**0.5, 4, 0])
    assert batch.path(1).tolist() == [[-2, y] for y in range(-2, 3)]
    assert find_paths(grid, [(0, 0), (1, 1)], (2, 2)).cost.tolist() == pytest.approx(
        [2 * 2**0.5, 2**0.5]
    )


def test_an_empty_batch() -> None:
    seen: list[tuple[int, int]] = []
    with BatchSearch(Grid.filled(3, 3)) as search:
        batch = search.find_paths(
            np.empty((0, 2), int), np.empty((0, 2), int), progress=lambda *n: seen.append(n)
        )
    assert batch.cells.shape == (0, 2)
    assert batch.offsets.tolist() == [0]
    assert seen == [(0, 0)]


@pytest.mark.slow
def test_progress_reaches_the_end() -> None:
    seen: list[tuple[int, int]] = []
    starts, goals = random_pairs(20, 333, 1)
    with BatchSearch(random_grid(20, 1), threads=3) as search:
        search.find_paths(starts, goals, progress=lambda *n: seen.append(n))
    assert seen[-1] == (333, 333)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.slow
def test_a_progress_that_raises_leaves_the_pool_usable() -> None:
    def fail(*_: int) -> None:
        raise RuntimeError("enough")

    starts, goals = random_pairs(20, 100, 1)
    with BatchSearch(random_grid(20, 1), threads=2) as search:
        with pytest.raises(RuntimeError, match="enough"):
            search.find_paths(starts, goals, progress=fail)
        assert len(search.find_paths(starts, goals).cost) == 100


@pytest.mark.slow
def test_a_progress_that_raises_ends_the_batch_before_it_is_seen() -> None:
    def fail(done: int, total: int) -> None:
        raise RuntimeError(f"{done} of {total}")

    grid = random_grid(60, 1)
    starts, goals = random_pairs(60, 200, 1)
    with BatchSearch(grid, threads=3) as search:
        whole = search.find_paths(starts, goals)
        for _ in range(20):
            with pytest.raises(RuntimeError, match="of 200"):
                search.find_paths(starts, goals, progress=fail)
            assert search._pool._work_queue.empty()
            assert_equal_batches(search.find_paths(starts, goals), whole)


def test_a_batch_in_use_refuses_another() -> None:
    starts, goals = random_pairs(20, 50, 1)
    with BatchSearch(random_grid(20, 1), threads=2) as search:
        whole = search.find_paths(starts, goals)
        with pytest.raises(InputError, match=r"BatchSearch.* still at work.*of its own"):
            search.find_paths(starts, goals, progress=lambda *_: search.find_paths(starts, goals))
        assert_equal_batches(search.find_paths(starts, goals), whole)


def test_a_flag_stops_all_that_is_left() -> None:
    cancel = CancelFlag()
    cancel.set()
    batch = find_paths(Grid.filled(20, 20), (0, 0), [(19, 19)] * 10)
    assert (batch.status == Status.FOUND).all()
    with BatchSearch(Grid.filled(20, 20), threads=2) as search:
        batch = search.find_paths([(0, 0)] * 10, [(19, 19)] * 10, cancel=cancel)
        assert (batch.status == Status.CANCELLED).all()
        cancel.clear()
        assert (search.find_paths((0, 0), (19, 19), cancel=cancel).status == Status.FOUND).all()


@pytest.mark.slow
def test_a_flag_from_another_thread_stops_a_long_batch() -> None:
    cancel = CancelFlag()
    grid = Grid.filled(2000, 2000)
    grid.set_rectangle((1990, 1990), (10, 1), 255)
    grid.set_rectangle((1990, 1990), (1, 10), 255)
    timer = threading.Timer(0.3, cancel.set)
    timer.start()
    with BatchSearch(grid, threads=2) as search:
        batch = search.find_paths([(0, 0)] * 2000, [(1995, 1995)] * 2000, cancel=cancel)
    assert Status.CANCELLED in batch.status
    assert not (batch.status == Status.FOUND).any()


@pytest.mark.parametrize(
    ("starts", "goals", "says"),
    [
        ([(0, 0), (9, 0)], [(1, 1), (1, 1)], r"starts\[1\]: \(9, 0\) lies outside"),
        ([(0, 0)], [(0, -1)], r"goals\[0\]: \(0, -1\) lies outside"),
        ([(0, 0), (1, 1)], [(0, 0)] * 3, "goals: 3 cells do not go with the starts; give 2"),
        ([(0.5, 0.0)], [(0, 0)], "starts: .*float64.* is not an array of cells"),
        ([(0, 0, 0)], [(0, 0, 0)], "starts: .* is not an array of cells"),
    ],
)
def test_bad_cells_are_named(starts: Any, goals: Any, says: str) -> None:
    with pytest.raises(CellError, match=says):
        find_paths(Grid.filled(4, 4), starts, goals)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two"])
def test_bad_thread_counts_are_refused(threads: Any) -> None:
    with pytest.raises(InputError, match="threads"):
        BatchSearch(Grid.filled(2, 2), threads=threads)


def test_edits_between_batches_are_seen() -> None:
    grid = Grid.filled(9, 9)
    with BatchSearch(grid, threads=2, cost_model=CostModel.MEAN) as search:
        assert search.find_paths((0, 0), (8, 0)).cost.tolist() == [8.0]
        grid.set_rectangle((4, 0), (1, 9), 255)
        batch = search.find_paths((0, 0), (8, 0))
        assert (batch.status.tolist(), batch.map_version) == ([Status.UNREACHABLE], 2)
        grid.set_all(0, cell_scale=2.0)
        assert search.find_paths((0, 0), (8, 0)).cost.tolist() == [16.0]


@pytest.mark.slow
def test_paths_longer_than_the_room_made_for_them() -> None:
    # A single corridor: every path is far longer than the cells that a query gets at first.
    blocked = np.zeros((101, 101), bool)
    blocked[1::4, :-1] = blocked[3::4, 1:] = True
    grid = Grid.from_blocked(blocked)
    batch = find_paths(grid, [(0, 0)] * 20, [(100, 100)] * 20, threads=2)
    assert (batch.status == Status.FOUND).all()
    assert np.diff(batch.offsets).min() > 5000
    for i in range(20):
        np.testing.assert_array_equal(batch.path(i), batch.path(0))


@pytest.mark.parametrize("i", [-1, 2, 1.0, "0", None])
def test_a_batch_refuses_what_is_no_query_of_it(i: Any) -> None:
    batch = find_paths(Grid.filled(4, 4), (0, 0), [(3, 3), (1, 1)])
    with pytest.raises(InputError, match=r"i: .* is not a query of the batch"):
        batch.path(i)
    with pytest.raises(InputError, match=r"i: .* is not a query of the batch"):
        batch.result(i)


def test_a_closed_search_says_so() -> None:
    search = BatchSearch(Grid.filled(4, 4), threads=1)
    search.close()
    search.close()
    with pytest.raises(InputError, match="has been closed"):
        search.find_paths((0, 0), [(1, 1)])


@pytest.mark.parametrize("cells", [None, 3, [[1, 1], [2]]])
def test_what_is_no_list_of_cells_is_refused(cells: Any) -> None:
    with pytest.raises(CellError, match="starts"):
        find_paths(Grid.filled(4, 4), cells, [(1, 1)])
    with pytest.raises(CellError, match="goals"):
        find_paths(Grid.filled(4, 4), [(1, 1)], cells)


def test_an_edit_during_a_batch_is_told() -> None:
    grid = Grid.filled(9, 9)

    def edit(*_: int) -> None:
        grid.set_cell((4, 4), 255)

    with BatchSearch(grid, threads=1) as search, pytest.raises(GridChangedError, match="version 1"):
        search.find_paths([(0, 0)] * 5, [(8, 8)] * 5, progress=edit)


def test_what_is_no_flag_and_no_function_is_refused() -> None:
    grid = Grid.filled(3, 3)
    for value in ("yes", np.array([True, False])):
        with pytest.raises(InputError, match=r"^islands: "):
            BatchSearch(grid, threads=1, islands=value)  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"^allow_partial: "):
            BatchSearch(grid, threads=1, allow_partial=value)
    with BatchSearch(grid, threads=1) as search:
        with pytest.raises(InputError, match=r"^progress: 5 cannot be called"):
            search.find_paths([(0, 0)], [(1, 1)], progress=5)  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"^cancel: "):
            search.find_paths([(0, 0)], [(1, 1)], cancel=True)  # type: ignore[arg-type]
        assert search.find_paths((0, 0), (1, 1)).starts.tolist() == [[0, 0]]
