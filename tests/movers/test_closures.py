"""Cut routes: those that an edit made impossible, all of them and no others."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from navserver.movers.closures import ClosedCells, Closures, Cuts
from navserver.movers.movers import Movers
from navserver.search.batch import find_paths
from navserver.search.grid import Grid
from navserver.search.line_of_sight import raycast
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode


def random_scene(seed: int, side: int, n: int, mode: DiagonalMode) -> tuple[Movers, Movement]:
    """Movers on random paths, some pulled straight by leaving waypoints out where that is free."""
    random = np.random.default_rng(seed)
    blocked = random.random((side, side)) < 0.2
    blocked[0, 0] = False
    grid = Grid.from_blocked(blocked, region_position=(-3, 5))
    movement = Movement(diagonal_mode=mode)
    movers = Movers(grid, movement)
    cells = np.argwhere(~blocked)[:, ::-1] + (-3, 5)
    starts, goals = (cells[random.integers(0, len(cells), n)] for _ in range(2))
    units = movers.add(starts, radius=0.3, max_speed=1.0)
    movers.set_path_batch(units, find_paths(grid, starts, goals, diagonal_mode=mode))
    return movers, movement


def segments(movers: Movers, row: int) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    points = [movers.columns.position[row], *movers.routes.remaining(row)]
    return list(pairwise(points))


def expected_cuts(movers: Movers, movement: Movement) -> list[tuple[int, int, int]]:
    """Every segment of every route followed by a ray, which never leaves a wall."""
    found = []
    for row in range(movers.slots):
        legs = segments(movers, row)
        bad = [
            len(legs) - k
            for k, (one, other) in enumerate(legs)
            if not raycast(
                movers.grid, tuple(one), tuple(other), diagonal_mode=movement.diagonal_mode
            ).reached
        ]
        if bad:
            found.append((row, bad[0], bad[-1]))
    return found


def as_list(cuts: Cuts) -> list[tuple[int, int, int]]:
    return list(zip(cuts.rows.tolist(), cuts.first.tolist(), cuts.last.tolist(), strict=True))


def ask(closures: Closures, movers: Movers, movement: Movement) -> Cuts:
    return closures.find(0, movement, movers.columns, movers.slots, movers.routes.pool)[1]


@given(st.data())
def test_an_edit_cuts_just_the_routes_that_rays_say(data: st.DataObject) -> None:
    mode = data.draw(st.sampled_from(DiagonalMode))
    side = data.draw(st.sampled_from((1, 3, 12, 20)))
    movers, movement = random_scene(data.draw(st.integers(0, 99)), side, 6, mode)
    closures = Closures(movers.grid)
    closures.watch(movers.movements)
    assert as_list(ask(closures, movers, movement)) == []
    for _ in range(data.draw(st.integers(1, 3))):
        cell = st.tuples(st.integers(-3, side - 4), st.integers(5, side + 4))
        cells = np.array(data.draw(st.lists(cell, max_size=5)), np.int64).reshape(-1, 2)
        movers.grid.set_cells(cells, data.draw(st.sampled_from((0, 255))))
    assert as_list(ask(closures, movers, movement)) == expected_cuts(movers, movement)
    # Asked once more, nothing has closed since.
    assert as_list(ask(closures, movers, movement)) == []


def test_only_the_rest_of_a_route_counts() -> None:
    grid = Grid.filled(20, 1)
    movers = Movers(grid)
    units = movers.add([(0, 0), (0, 0)], radius=0.3, max_speed=1.0)
    movers.set_paths(units, [(5, 0), (10, 0), (15, 0)] * 2, [0, 3, 6])
    movers.columns.position[0] = (7, 0)
    movers.columns.path_next[0] += 1
    closures = Closures(grid)
    closures.watch(movers.movements)
    grid.set_cell((4, 0), 255)
    assert as_list(ask(closures, movers, Movement())) == [(1, 3, 3)]
    grid.set_cell((12, 0), 255)
    assert as_list(ask(closures, movers, Movement())) == [(0, 1, 1), (1, 1, 1)]


def test_movers_of_another_movement_and_at_rest_are_left_out() -> None:
    grid = Grid.filled(20, 1)
    movers = Movers(grid)
    units = movers.add([(0, 0), (0, 0)], radius=0.3, max_speed=1.0)
    other = movers.add([(0, 0)], radius=0.3, max_speed=1.0, movement=Movement(size=1, radius=0.4))
    movers.set_paths(units[:1], [(15, 0)], [0, 1])
    movers.set_paths(other, [(15, 0)], [0, 1])
    closures = Closures(grid)
    closures.watch(movers.movements)
    grid.set_cell((4, 0), 255)
    assert as_list(ask(closures, movers, movers.movements[0])) == [(0, 1, 1)]
    cuts = closures.find(1, movers.movements[1], movers.columns, movers.slots, movers.routes.pool)
    assert as_list(cuts[1]) == [(2, 1, 1)]


def test_a_journal_that_was_lost_means_that_everything_is_looked_at() -> None:
    grid = Grid.filled(40, 40)
    movers = Movers(grid)
    units = movers.add([(0, 0)], radius=0.3, max_speed=1.0)
    movers.set_paths(units, [(39, 0)], [0, 1])
    closures = Closures(grid)
    closures.watch(movers.movements)
    # So large an edit drops what is derived from the map.
    grid.set_rectangle((10, 0), (10, 40), 255)
    closed, cuts = closures.find(0, Movement(), movers.columns, 1, movers.routes.pool)
    assert closed is None
    assert as_list(cuts) == [(0, 1, 1)]
    grid.set_rectangle((10, 0), (1, 1), 0)
    closed, cuts = closures.find(0, Movement(), movers.columns, 1, movers.routes.pool)
    assert closed is not None
    assert closed.size == 0


def test_the_journal_remembers_so_many_edits() -> None:
    grid = Grid.filled(4, 4)
    journal = ClosedCells()
    space = grid.space(Movement())
    assert journal.since(0) is not None
    closures = Closures(grid)
    closures.watch([Movement()])
    for turn in range(300):
        grid.set_cell((1, 1), 255 if turn % 2 == 0 else 0)
    assert space is grid.space(Movement())
    closed = closures.closed_cells(0, Movement())
    assert closed is not None
    assert closed.tolist() == [5] * 150
    for _ in range(300):
        grid.set_cell((1, 1), 255)
        grid.set_cell((1, 1), 0)
    assert closures.closed_cells(0, Movement()) is None
    assert closures.closed_cells(0, Movement()) is not None


def test_whether_the_map_has_changed_is_told_without_a_look_at_routes() -> None:
    grid = Grid.filled(4, 4)
    closures = Closures(grid)
    # Routes may be older than it is.
    assert not closures.is_current
    closures.mark_current()
    assert closures.is_current
    grid.set_cell((0, 0), 1)
    assert not closures.is_current
    closures.mark_current()
    assert closures.is_current
