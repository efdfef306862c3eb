from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from navserver.search.astar import find_path
from navserver.search.costs import CostModel
from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from navserver.search.profile import Profile
from navserver.search.results import PathResult
from navserver.service import path_cache as module
from navserver.service.edits import CellsEdit, Effect, LayerRemoval, RectangleEdit, apply_edit
from navserver.service.path_cache import PathCache
from navserver.service.path_validity import find_breaks, path_cost
from navserver.service.requests import SearchOptions
from navserver.service.world import World
from navserver.status import InputError, Status


@pytest.fixture(autouse=True)
def _keep_short_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_EXPANDED", 0)


def search(grid: Grid, start: Any, goal: Any, options: SearchOptions) -> PathResult:
    return find_path(grid, start, goal, max_expansions=options.max_expansions, **options.keywords())


class Kept:
    """A grid, its cache, and one result in it."""

    def __init__(self, grid: Grid, start: Any, goal: Any, **options: Any) -> None:
        self.grid = grid
        self.cache = PathCache(grid.version)
        self.options = SearchOptions(**options)
        self.ends = (start, goal)
        self.result = search(grid, start, goal, self.options)
        self.cache.put(self.options, self.result)

    def holds_after(self, *edits: Any) -> bool:
        for edit in edits:
            self.cache.note(apply_edit(self.grid, edit))
        found = self.cache.find(self.grid, self.options, *self.ends)
        assert found is None or found is self.result
        return found is not None


def corridor() -> Grid:
    """Two rows with a wall between, joined at both ends; the lower one costs twice as much."""
    return Grid([[0] * 12, [0] + [255] * 10 + [0], [1] * 12])


TWICE = Movement(Profile({1: 2.0}))


@pytest.mark.parametrize(
    ("edit", "holds"),
    [
        (CellsEdit.of([(5, 2)], 255), True),  # a wall far from the path
        (CellsEdit.of([(5, 0)], 255), False),  # on the path
        (CellsEdit.of([(5, 0)], 1), False),  # on the path, dearer
        (CellsEdit.of([(5, 0)], 7), True),  # on the path, another class of the same cost
        (CellsEdit.of([(5, 1)], 0), True),  # opens beside a straight path
        (CellsEdit.of([(5, 2)], 0), True),  # cheaper, but too far away to help
        (CellsEdit.of([(5, 2)], 1, 0.125), False),  # so cheap that the least cost falls
        (RectangleEdit.of(None, None, cell_scale=1.0), True),  # nothing changes
    ],
)
def test_which_edits_a_path_outlives(edit: Any, *, holds: bool) -> None:
    kept = Kept(corridor(), (0, 0), (11, 0), movement=TWICE)
    assert kept.holds_after(edit) == holds


def test_a_path_around_a_wall_ends_where_a_gap_could_shorten_it() -> None:
    classes = np.zeros((31, 31), np.uint8)
    classes[15, 5:26] = 255
    for gap, holds in (((15, 15), False), ((5, 15), False)):
        kept = Kept(Grid(classes), (15, 10), (15, 20))
        assert kept.holds_after(CellsEdit.of([gap], 0)) == holds
    classes[0, 0] = 255
    kept = Kept(Grid(classes), (15, 10), (15, 20))
    assert kept.holds_after(CellsEdit.of([(0, 0)], 0))  # any way through it is longer


def test_opening_ends_what_was_unreachable_unless_islands_know_better() -> None:
    classes = np.zeros((9, 9), np.uint8)
    classes[4] = 255
    classes[0, 0] = 255
    opens_elsewhere = CellsEdit.of([(0, 0)], 0)
    assert not Kept(Grid(classes), (6, 1), (1, 8)).holds_after(opens_elsewhere)
    kept = Kept(Grid(classes), (6, 1), (1, 8))
    World("map", kept.grid).prepare()
    assert kept.holds_after(opens_elsewhere)
    assert not kept.holds_after(CellsEdit.of([(4, 4)], 0))
    assert Kept(Grid(classes), (6, 1), (1, 8)).holds_after(CellsEdit.of([(5, 5)], 255))
    for end in ((6, 1), (1, 8)):
        assert not Kept(Grid(classes), (6, 1), (1, 8)).holds_after(CellsEdit.of([end], 255))


def test_blocked_ends_stay_blocked_until_they_change() -> None:
    for ends, edited in (((1, 1), (8, 8)), (1, 1)), (((8, 8), (1, 1)), (1, 1)):
        grid = Grid.filled(10, 10)
        grid.set_cell((1, 1), 255)
        kept = Kept(grid, *ends)
        assert kept.holds_after(CellsEdit.of([(5, 5)], 255))
        assert not kept.holds_after(CellsEdit.of([edited], 0))


def test_one_edit_among_many_is_enough() -> None:
    classes = np.zeros((31, 31), np.uint8)
    classes[15, 5:26] = 255
    classes[0, 0] = 255
    far, gap = CellsEdit.of([(0, 0)], 0), CellsEdit.of([(15, 15)], 0)
    assert not Kept(Grid(classes), (15, 10), (15, 20)).holds_after(far, gap)
    assert not Kept(Grid(classes), (15, 10), (15, 20)).holds_after(gap, far)


def test_a_promise_within_a_factor_ends_where_that_factor_is_passed() -> None:
    # The way around costs 37, through the gap it would be 10.
    classes = np.zeros((41, 41), np.uint8)
    classes[20, :36] = 255
    for weight, holds in ((1.0, False), (2.0, False), (4.0, True)):
        kept = Kept(Grid(classes), (20, 15), (20, 25), weight=weight)
        assert 37 < kept.result.cost < 38
        assert kept.holds_after(CellsEdit.of([(20, 20)], 0)) == holds


def test_a_path_that_promised_nothing_holds_as_long_as_it_can_be_walked() -> None:
    classes = np.zeros((41, 41), np.uint8)
    classes[20, :36] = 255
    kept = Kept(Grid(classes), (20, 15), (20, 25), weight=4.0, inexact=True)
    assert kept.holds_after(CellsEdit.of([(20, 20)], 0))
    on_path = kept.result.cells[5].tolist()
    assert not kept.holds_after(CellsEdit.of([on_path], 255))


def test_a_wall_beside_a_large_body_is_on_its_path() -> None:
    for cell, holds in (((5, 1), False), ((5, 2), True)):
        kept = Kept(Grid.filled(12, 4), (0, 0), (10, 0), movement=Movement(size=2))
        assert kept.result.cells[:, 1].max() == 0
        assert kept.holds_after(CellsEdit.of([cell], 255)) == holds


def test_a_wall_that_goes_lets_a_large_body_stand_where_it_did_not() -> None:
    classes = np.zeros((12, 4), np.uint8)
    classes[6, 1] = 255  # the body of two cells has to get past on the right
    kept = Kept(Grid(classes), (0, 0), (0, 10), movement=Movement(size=2))
    assert kept.result.cost > 10
    assert not kept.holds_after(CellsEdit.of([(1, 6)], 0))


@pytest.mark.parametrize("options", [{"max_cost": 3.0}, {"max_expansions": 3}])
def test_what_depends_on_all_that_was_searched_ends_with_any_edit(options: Any) -> None:
    kept = Kept(Grid.filled(20, 20), (0, 0), (9, 9), **options)
    assert kept.result.status == Status.LIMIT
    assert kept.holds_after()
    assert not kept.holds_after(CellsEdit.of([(19, 19)], 255))


def test_edits_of_other_bodies_costs_do_not_matter() -> None:
    kept = Kept(Grid.filled(20, 20), (0, 0), (9, 9))
    layers = {"fog": np.ones((20, 20))}
    assert kept.holds_after(RectangleEdit.of(None, None, layers=layers))
    assert kept.holds_after(RectangleEdit.of(None, None, 3))  # class 3 costs what class 0 does


def test_a_layer_that_went_ends_paths_that_counted_it() -> None:
    grid = Grid.filled(9, 9, layers={"fog": np.ones((9, 9))})
    kept = Kept(grid, (0, 0), (5, 5), movement=Movement(overlays={"fog": 1.0}))
    assert not kept.holds_after(LayerRemoval("fog"))


def test_an_edit_not_yet_noted_is_not_overlooked() -> None:
    kept = Kept(Grid.filled(9, 9), (0, 0), (5, 5))
    apply_edit(kept.grid, CellsEdit.of([(3, 3)], 255))
    assert kept.cache.find(kept.grid, kept.options, *kept.ends) is None


def test_edits_may_be_noted_out_of_turn() -> None:
    kept = Kept(Grid.filled(9, 9), (0, 0), (0, 5))
    first = apply_edit(kept.grid, CellsEdit.of([(0, 3)], 255))
    second = apply_edit(kept.grid, CellsEdit.of([(8, 8)], 255))
    kept.cache.note(second)
    assert not kept.cache._knows(1, 3)
    kept.cache.note(first)
    assert kept.cache.find(kept.grid, kept.options, *kept.ends) is None
    assert kept.cache.stale == 1


def test_an_entry_that_is_newer_than_the_map_asked_about_stays() -> None:
    grid = Grid.filled(9, 9)
    old = grid.copy()
    cache = PathCache(grid.version)
    cache.note(apply_edit(grid, CellsEdit.of([(0, 3)], 255)))
    cache.put(SearchOptions(), find_path(grid, (0, 0), (0, 5)))
    assert cache.find(old, SearchOptions(), (0, 0), (0, 5)) is None
    assert cache.find(grid, SearchOptions(), (0, 0), (0, 5)) is not None


def test_an_entry_too_many_edits_behind_is_searched_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_EDITS", 10)
    kept = Kept(Grid.filled(9, 9), (0, 0), (0, 5))
    far = [CellsEdit.of([(8, 8)], i % 2 * 255) for i in range(1, 16)]
    assert kept.holds_after(*far[:8])
    assert not kept.holds_after(*far)


def test_what_is_held_is_bounded_and_counted() -> None:
    grid = Grid.filled(64, 64)
    cache = PathCache(grid.version, max_bytes=20_000)
    for x in range(64):
        cache.put(SearchOptions(), find_path(grid, (0, 0), (x, 63)))
        cache.put(SearchOptions(), find_path(grid, (0, 0), (x, 63)))
    assert 10_000 < cache.nbytes <= 20_000
    assert 5 < len(cache) < 64
    assert cache.has(SearchOptions(), (0, 0), (63, 63))
    assert not cache.has(SearchOptions(), (0, 0), (0, 63))
    cache.find(grid, SearchOptions(), (0, 0), (63, 63))
    assert (cache.hits, cache.misses, cache.hit_rate) == (1, 1, 0.5)
    with pytest.raises(InputError, match="max_bytes"):
        PathCache(max_bytes=0)


SIDE = 9
OPTIONS = [
    SearchOptions(),
    SearchOptions(Movement(diagonal_mode=DiagonalMode.NEVER)),
    SearchOptions(Movement(diagonal_mode=DiagonalMode.ALWAYS, cost_model=CostModel.MEAN)),
    SearchOptions(Movement(Profile({1: 3.0, 2: 0.5}), cost_model=CostModel.PRODUCT)),
    SearchOptions(Movement(Profile({1: 3.0, 2: 0.5}), overlays={"fog": 0.5})),
    SearchOptions(Movement(size=2)),
    SearchOptions(Movement(radius=1.2)),
    SearchOptions(weight=1.5),
    SearchOptions(weight=3.0, inexact=True),
    SearchOptions(allow_partial=True),
    SearchOptions(max_cost=6.0),
    SearchOptions(Movement(Profile({0: 0.0, 1: 1.0}))),
]
CELLS = st.tuples(st.integers(0, SIDE - 1), st.integers(0, SIDE - 1))


class Caching(RuleBasedStateMachine):
    """What the cache returns is as good as what a search on the map as it is would find."""

    @initialize(seed=st.integers(0, 999), density=st.sampled_from([0.0, 0.2, 0.4]))
    def begin(self, seed: int, density: float) -> None:
        random = np.random.default_rng(seed)
        classes = random.choice(np.array([0, 0, 1, 2], np.uint8), (SIDE, SIDE))
        classes[random.random((SIDE, SIDE)) < density] = 255
        self.grid = Grid(classes, layers={"fog": random.choice([0.0, 1.0], (SIDE, SIDE))})
        self.cache = PathCache(self.grid.version)
        self.asked: list[Any] = []
        for options in OPTIONS:
            for _ in range(3):
                start, goal = (tuple(c) for c in random.integers(0, SIDE, (2, 2)).tolist())
                self.ask(options, start, goal)

    def ask(self, options: SearchOptions, start: Any, goal: Any) -> None:
        expected = search(self.grid, start, goal, options)
        found = self.cache.find(self.grid, options, start, goal)
        if found is None:
            self.cache.put(options, expected)
            self.asked.append((options, start, goal))
            return
        self.check(found, expected, options)

    def check(self, found: PathResult, expected: PathResult, options: SearchOptions) -> None:
        assert found.status == expected.status
        assert found.detail == expected.detail
        if found.found:
            flat = self.grid.flat_indices(found.cells)
            assert find_breaks(self.grid, options.movement, flat, np.array([0, flat.size])) == {}
            cost = path_cost(self.grid, options.movement, flat)
            assert cost == pytest.approx(found.cost, rel=1e-9)
            if options.suboptimality == 1.0:
                assert found.cost == pytest.approx(expected.cost, rel=1e-7)
            if math.isinf(options.suboptimality):
                return  # It promises nothing, and that times a cost of 0 is no number.
            exact = search(self.grid, found.start, found.goal, SearchOptions(options.movement))
            assert found.cost <= options.suboptimality * exact.cost * (1 + 1e-7)

    def note(self, effect: Effect) -> None:
        self.cache.note(effect)

    @rule(cells=st.lists(CELLS, min_size=1, max_size=3), value=st.sampled_from([0, 1, 2, 255]))
    def set_cells(self, cells: list[Any], value: int) -> None:
        self.note(apply_edit(self.grid, CellsEdit.of(cells, value)))

    @rule(data=st.data(), value=st.sampled_from([0, 1, 255]))
    def set_near(self, data: st.DataObject, value: int) -> None:
        """Edit cells at and beside the ends that were asked for, where it matters most."""
        _, start, goal = data.draw(st.sampled_from(self.asked))
        x, y = data.draw(st.sampled_from([start, goal]))
        dx, dy = data.draw(st.tuples(st.integers(-1, 1), st.integers(-1, 1)))
        cell = (min(max(x + dx, 0), SIDE - 1), min(max(y + dy, 0), SIDE - 1))
        self.note(apply_edit(self.grid, CellsEdit.of([cell], value)))

    @rule(cell=CELLS, value=st.sampled_from([0.25, 1.0, 4.0]))
    def set_scale(self, cell: Any, value: float) -> None:
        self.note(apply_edit(self.grid, CellsEdit.of([cell], cell_scale=value)))

    @rule(cell=CELLS, value=st.sampled_from([0.0, 3.0]))
    def set_fog(self, cell: Any, value: float) -> None:
        self.note(apply_edit(self.grid, CellsEdit.of([cell], layers={"fog": value})))

    @rule()
    def label_islands(self) -> None:
        World("map", self.grid).prepare()

    @rule(data=st.data())
    def ask_again(self, data: st.DataObject) -> None:
        # Not all of them: entries shall also fall behind by several edits.
        first = data.draw(st.integers(0, 2))
        for options, start, goal in self.asked[first : 36 : data.draw(st.integers(1, 3))]:
            self.ask(options, start, goal)


TestCaching = Caching.TestCase
TestCaching.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=20)
