from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from navserver.search.astar import find_path
from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from navserver.service.path_validity import BreakReason, find_breaks
from navserver.service.requests import movement_keywords
from navserver.service.watches import PathInvalid, Watches
from navserver.service.world import World
from navserver.service.worlds import Worlds
from navserver.status import InputError

PATH = [(x, 40) for x in range(90)]


def watch(world: World, owner: str, names: list[int], movement: Movement, *paths: Any) -> None:
    cells = paths[0] if len(paths) == 1 else np.concatenate([np.empty((0, 2), np.int32), *paths])
    offsets = np.cumsum([0, *map(len, paths)])
    with world.watches.lock, world.pinned() as grid:
        world.watches.add_all(grid, owner, names, movement, cells, offsets)


def watching(*paths: Any) -> World:
    world = World("map", Grid.filled(100, 100))
    for i, path in enumerate(paths):
        watch(world, "me", [i], Movement(), path)
    return world


def test_an_edit_that_breaks_a_path_is_told_once() -> None:
    world = watching(PATH)
    world.set_cells([(50, 41), (3, 3)], 255)
    assert world.watches.take() == []
    world.set_cells([(50, 40), (60, 40)], 255)
    assert world.watches.take() == [PathInvalid("me", 0, 3, 50, BreakReason.BLOCKED)]
    world.set_cells([(20, 40)], 255)
    assert world.watches.take() == []
    assert (len(world.watches), world.watches.n_cells) == (0, 0)


def test_a_corner_breaks_a_diagonal_step() -> None:
    world = watching([(31, 31), (32, 32)])
    world.set_cells([(32, 31)], 255)
    assert world.watches.take() == [PathInvalid("me", 0, 2, 1, BreakReason.CORNER)]


def test_dearer_cells_break_nothing() -> None:
    world = watching(PATH)
    world.set_cells([(50, 40)], 3, cell_scale=9.0)
    world.set_rectangle((0, 0), (100, 100), layers={"fog": 9.0})
    assert world.watches.take() == []


def test_a_layer_that_went_makes_no_difference() -> None:
    world = World("map", Grid.filled(100, 100, layers={"fog": np.ones((100, 100))}))
    watch(world, "me", [0], Movement(overlays={"fog": 1.0}), PATH)
    world.remove_layer("fog")
    world.set_cells([(50, 40)], 255)
    assert world.watches.take() == [PathInvalid("me", 0, 3, 50, BreakReason.BLOCKED)]


def test_a_path_that_is_broken_by_now_is_told_at_once() -> None:
    world = World("map", Grid.filled(100, 100))
    world.set_cells([(50, 40)], 255)
    watch(world, "me", [7], Movement(), PATH)
    assert world.watches.take() == [PathInvalid("me", 7, 2, 50, BreakReason.BLOCKED)]
    assert len(world.watches) == 0


def test_only_who_watches_is_told() -> None:
    world = watching(PATH, PATH[:20], PATH[60:])
    watch(world, "other", [0], Movement(), PATH)
    world.watches.remove("me", [0, 99])
    world.set_cells([(10, 40)], 255)
    told = {(invalid.owner, invalid.watch) for invalid in world.watches.take()}
    assert told == {("me", 1), ("other", 0)}
    world.set_cells([(70, 40)], 255)
    world.watches.remove_owner("me")
    assert world.watches.take() == []
    assert len(world.watches) == 0


def test_a_new_watch_of_a_name_ends_the_older_one() -> None:
    world = watching(PATH)
    watch(world, "me", [0], Movement(), PATH[:5])
    world.set_cells([(50, 40)], 255)
    assert world.watches.take() == []
    assert world.watches.n_cells == 5


def test_a_removed_world_ends_its_watches() -> None:
    worlds = Worlds()
    watch(worlds.add("map", Grid.filled(100, 100)), "me", [0], Movement(), PATH)
    world = worlds.remove("map")
    assert world.watches.take() == [PathInvalid("me", 0, 1, 0, BreakReason.WORLD_REMOVED)]


@pytest.mark.parametrize("cells", [[], [(0, 0), (2, 0)], [(0, 0), (0, 100)], [(0.5, 0)]])
def test_what_is_no_path_is_refused(cells: Any) -> None:
    with pytest.raises(InputError, match="cells"):
        watching(cells)


def test_watched_cells_are_bounded() -> None:
    grid = Grid.filled(100, 100)
    watches = Watches(grid, max_cells=100)
    watches.add_all(grid, "me", [0], Movement(), PATH, np.array([0, len(PATH)]))
    with pytest.raises(InputError, match="may be watched"):
        watches.add_all(grid, "me", [1], Movement(), PATH, np.array([0, len(PATH)]))
    # In place of itself it fits.
    watches.add_all(grid, "me", [0], Movement(), PATH, np.array([0, len(PATH)]))


def test_many_are_watched_at_once() -> None:
    world = World("map", Grid.filled(100, 100))
    world.set_cells([(99, 99)], 255)
    paths = [PATH, [(5, 5)], [(98, 99), (99, 99)], PATH[::-1]]
    watch(world, "me", [4, 3, 2, 1], Movement(), *paths)
    assert world.watches.take() == [PathInvalid("me", 2, 2, 1, BreakReason.BLOCKED)]
    world.set_cells([(80, 40)], 255)
    told = {(invalid.watch, invalid.cell_index) for invalid in world.watches.take()}
    assert told == {(4, 80), (1, 9)}
    assert (len(world.watches), world.watches.n_cells) == (1, 1)


@pytest.mark.parametrize("last", [[(0, 0), (2, 0)], [], PATH])
def test_of_many_all_are_watched_or_none(last: Any) -> None:
    grid = Grid.filled(100, 100)
    watches = Watches(grid, max_cells=100)
    cells = np.array([*PATH, *last])
    with pytest.raises(InputError, match="cells"):
        watches.add_all(grid, "me", [0, 1], Movement(), cells, np.array([0, 90, len(cells)]))
    assert (len(watches), watches.n_cells) == (0, 0)


SIDE = 70
CELLS = st.tuples(st.integers(0, SIDE - 1), st.integers(0, SIDE - 1))
MOVEMENTS = [
    Movement(),
    Movement(diagonal_mode=DiagonalMode.ALWAYS),
    Movement(size=3),
    Movement(radius=2.0),
]


class Watching(RuleBasedStateMachine):
    """What is told is what a look at every watched path would find."""

    @initialize(seed=st.integers(0, 99))
    def begin(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.world = World("map", Grid.from_blocked(random.random((SIDE, SIDE)) < 0.05))
        self.watched: dict[int, Any] = {}
        self.count = 0

    @rule(start=CELLS, goal=CELLS, movement=st.sampled_from(MOVEMENTS))
    def watch(self, start: Any, goal: Any, movement: Movement) -> None:
        grid = self.world.replicas.grid
        result = find_path(grid, start, goal, **movement_keywords(movement))
        if result.found:
            self.count += 1
            watch(self.world, "me", [self.count], movement, result.cells)
            self.watched[self.count] = (movement, grid.flat_indices(result.cells))

    @rule(ends=st.lists(st.tuples(CELLS, CELLS), max_size=6), movement=st.sampled_from(MOVEMENTS))
    def watch_all(self, ends: Any, movement: Movement) -> None:
        grid, options = self.world.replicas.grid, movement_keywords(movement)
        paths = [find_path(grid, start, goal, **options).cells for start, goal in ends]
        paths = [path for path in paths if len(path)]
        names = [self.count + 1 + i for i in range(len(paths))]
        self.count += len(paths)
        watch(self.world, "me", names, movement, *paths)
        for name, path in zip(names, paths, strict=True):
            self.watched[name] = (movement, grid.flat_indices(path))

    @rule(data=st.data(), n=st.integers(1, 3), value=st.sampled_from([0, 1, 255]))
    def edit_near(self, data: st.DataObject, n: int, value: int) -> None:
        """Edit cells of a watched path or close to one."""
        paths = [flat for _, flat in self.watched.values()] or [np.array([0])]
        path = data.draw(st.sampled_from(paths))
        cells = []
        for _ in range(n):
            y, x = divmod(int(data.draw(st.sampled_from(path.tolist()))), SIDE)
            dx, dy = data.draw(st.tuples(st.integers(-3, 3), st.integers(-3, 3)))
            cells.append((min(max(x + dx, 0), SIDE - 1), min(max(y + dy, 0), SIDE - 1)))
        self.world.set_cells(cells, value)

    @rule(position=CELLS, value=st.sampled_from([0, 255]))
    def edit_rectangle(self, position: Any, value: int) -> None:
        x, y = position
        self.world.set_rectangle((x, y), (min(40, SIDE - x), min(2, SIDE - y)), value)

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "world"):
            return
        expected = {}
        for watch, (movement, flat) in self.watched.items():
            grid = self.world.replicas.grid
            breaks = find_breaks(grid, movement, flat, np.array([0, flat.size]))
            if breaks:
                expected[watch] = breaks[0]
        told = {t.watch: (t.cell_index, t.reason) for t in self.world.watches.take()}
        assert told == expected
        for watch in told:
            del self.watched[watch]
        assert len(self.world.watches) == len(self.watched)


TestWatching = Watching.TestCase
TestWatching.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=20)
