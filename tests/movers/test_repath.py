"""Ways within a budget: the same for any budget, free, as short as a search finds them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from navserver.movers.closures import Closures
from navserver.movers.columns import MoverState
from navserver.movers.movers import Movers
from navserver.movers.repath import MEND_EXPANSIONS, NO_ANCHOR, Planner
from navserver.search.astar import find_path
from navserver.search.grid import Grid
from navserver.search.islands import connected
from navserver.search.line_of_sight import raycast
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from navserver.status import InputError

MOST_A_ROUTE = 700
"""Work that one route may take beyond the budget: its cells and what a mend expands."""


def random_scene(
    seed: int, side: int, n: int, movement: Movement, density: float = 0.25
) -> tuple[Movers, NDArray[np.int64]]:
    random = np.random.default_rng(seed)
    blocked = random.random((side, side)) < density
    blocked[0, 0] = False
    grid = Grid.from_blocked(blocked, region_position=(-7, 3))
    movers = Movers(grid, movement)
    cells = np.argwhere(~blocked)[:, ::-1] + (-7, 3)
    spots = cells[random.integers(0, len(cells), n)] + random.uniform(-0.4, 0.4, (n, 2))
    return movers, movers.add(spots, radius=random.choice([0.2, 0.4], n), max_speed=1.0)


def cell(point: NDArray[np.float32]) -> tuple[int, int]:
    x, y = np.floor(point + 0.5).astype(int).tolist()
    return x, y


def run_out(planner: Planner, limit: int = 10_000) -> tuple[list[int], list[int], int]:
    """Run until nobody waits; return who was found, who was lost, and how many steps it took."""
    found: list[int] = []
    lost: list[int] = []
    for steps in range(1, limit):
        plans = planner.run()
        found += plans.found.tolist()
        lost += plans.lost.tolist()
        if planner.is_idle:
            return found, lost, steps
    raise AssertionError("never done")


def route(movers: Movers, row: int) -> NDArray[np.float32]:
    return np.vstack([movers.columns.position[row], movers.routes.remaining(row)])


def check_route(movers: Movers, row: int, mode: DiagonalMode) -> float:
    """Return the length of a route that is free and leads to the goal."""
    points = route(movers, row)
    assert points[-1].tolist() == movers.columns.goal[row].tolist()
    assert movers.columns.state[row] == MoverState.PATH
    for one, other in pairwise(points):
        assert raycast(movers.grid, tuple(one), tuple(other), diagonal_mode=mode).reached
    return float(np.hypot(*np.diff(points.astype(np.float64), axis=0).T).sum())


@pytest.mark.slow
@settings(max_examples=40)
@given(st.data())
def test_all_get_a_way_if_there_is_one_and_the_same_for_any_budget(data: st.DataObject) -> None:
    mode = data.draw(st.sampled_from(DiagonalMode))
    seed, n = data.draw(st.integers(0, 999)), data.draw(st.integers(1, 9))
    shared = data.draw(st.booleans())
    movement = Movement(diagonal_mode=mode)
    outcomes = []
    for budget in (9, 60, None):
        movers, units = random_scene(seed, 14, n, movement)
        random = np.random.default_rng(seed + 1)
        free = np.argwhere(~movers.grid.blocked())[:, ::-1] + (-7, 3)
        anchor = free[random.integers(0, len(free))]
        goals = free[random.integers(0, len(free), n)] if not shared else np.tile(anchor, (n, 1))
        rows = movers.rows_of(units)
        movers.columns.goal[rows] = goals + np.float32([0.25, -0.25])
        flat = int(movers.grid.flat_indices([anchor])[0]) if shared else NO_ANCHOR
        planner = Planner(movers, 1 << 40 if budget is None else budget)
        planner.ask(rows, np.full(n, flat))
        assert planner.are_asking(rows).all()
        found, lost, steps = run_out(planner)
        assert sorted(found + lost) == rows.tolist()
        assert not planner.are_asking(rows).any()
        if budget is None:
            assert steps == 1
        for row in rows.tolist():
            start, goal = cell(movers.columns.position[row]), cell(movers.columns.goal[row])
            assert (row in found) == connected(movers.grid, start, goal, diagonal_mode=mode)
            if row in found:
                best = find_path(movers.grid, start, goal, diagonal_mode=mode).length
                # The ends are not in the middle of their cells.
                assert check_route(movers, row, mode) <= best + 1.5
        outcomes.append([route(movers, row).tolist() for row in rows.tolist()])
    assert outcomes[0] == outcomes[1] == outcomes[2]


@pytest.mark.slow
@settings(max_examples=20)
@given(st.integers(0, 999), st.sampled_from((50, 400, 3000)))
def test_no_step_does_much_more_than_the_budget(seed: int, budget: int) -> None:
    movers, units = random_scene(seed, 40, 30, Movement(), 0.1)
    rows = movers.rows_of(units)
    movers.columns.goal[rows] = (-7, 3)
    planner = Planner(movers, budget)
    planner.ask(rows[:15], np.full(15, NO_ANCHOR))
    planner.ask(rows[15:], np.zeros(15, np.int64))
    steps = 0
    while not planner.is_idle:
        planner.run()
        # A wavefront works off whole runs of cells.
        assert planner.work_done <= budget + MOST_A_ROUTE
        steps += 1
    assert steps >= 15 * 64 / (budget + MOST_A_ROUTE)


def test_movers_that_share_a_goal_but_not_its_cell_walk_to_their_own() -> None:
    movers, units = random_scene(3, 30, 12, Movement(), 0.1)
    rows = movers.rows_of(units)
    near = find_path(movers.grid, (-7, 3), (10, 20)).cells[:12]
    movers.columns.goal[rows] = near
    planner = Planner(movers)
    planner.ask(rows, np.zeros(12, np.int64))
    found, lost, _ = run_out(planner)
    for row in found:
        start, goal = cell(movers.columns.position[row]), cell(movers.columns.goal[row])
        best = find_path(movers.grid, start, goal).length
        # Through the tree of the search from the anchor, so not always the shortest.
        assert check_route(movers, row, DiagonalMode.ONLY_IF_NO_OBSTACLES) <= 2 * best + 25
    assert found
    assert all(not connected(movers.grid, (-7, 3), cell(movers.columns.position[i])) for i in lost)


@pytest.mark.parametrize("anchor", [NO_ANCHOR, 0])
def test_edits_in_every_step_do_not_keep_anybody_waiting(anchor: int) -> None:
    movers, units = random_scene(5, 40, 20, Movement(), 0.05)
    rows = movers.rows_of(units)
    movers.columns.goal[rows] = (-7, 3)
    planner = Planner(movers, 10)
    planner.ask(rows, np.full(20, anchor))
    for step in range(400):
        movers.grid.set_cell((32, 42), 255 * (step % 2))
        planner.run()
        if planner.is_idle:
            break
    assert planner.is_idle
    assert (movers.columns.state[rows] == MoverState.PATH).all()


@pytest.mark.parametrize("anchor", [NO_ANCHOR, 0])
def test_an_edit_between_two_slices_is_seen(anchor: int) -> None:
    grid = Grid.filled(30, 9)
    movers = Movers(grid)
    units = movers.add([(29, y) for y in range(5)], radius=0.4, max_speed=1.0)
    rows = movers.rows_of(units)
    movers.columns.goal[rows] = (0, 0)
    planner = Planner(movers, 5)
    planner.ask(rows, np.full(5, anchor))
    planner.run()
    grid.set_rectangle((15, 0), (1, 8), 255)
    run_out(planner)
    for row in rows.tolist():
        check_route(movers, row, DiagonalMode.ONLY_IF_NO_OBSTACLES)


@pytest.mark.parametrize("anchor", [NO_ANCHOR, 0])
def test_who_is_removed_or_sent_elsewhere_meanwhile_is_left_alone(anchor: int) -> None:
    grid = Grid.filled(30, 9)
    movers = Movers(grid)
    units = movers.add([(29, y) for y in range(8)], radius=0.4, max_speed=1.0)
    rows = movers.rows_of(units)
    movers.columns.goal[rows] = (0, 0)
    planner = Planner(movers, 3)
    planner.ask(rows, np.full(8, anchor))
    planner.run()
    planner.withdraw(rows[:1])
    movers.remove(units[1:2])
    again = movers.add([(5, 5)], radius=0.4, max_speed=1.0)
    assert movers.rows_of(again)[0] == rows[1]
    movers.columns.goal[rows[2]] = (3, 3)
    planner.ask(rows[2:3], np.array([NO_ANCHOR]))
    found, lost, _ = run_out(planner)
    assert lost == []
    assert sorted(found) == rows[2:].tolist()
    assert route(movers, int(rows[2]))[-1].tolist() == [3, 3]
    assert movers.columns.state[rows[:2]].tolist() == [MoverState.IDLE] * 2


@pytest.mark.parametrize("anchor", [NO_ANCHOR, 0])
@pytest.mark.parametrize("closed", [(0, 0), (29, 0)])
def test_a_closed_end_is_lost(anchor: int, closed: tuple[int, int]) -> None:
    grid = Grid.filled(30, 9)
    movers = Movers(grid)
    units = movers.add([(29, 0)] * 5, radius=0.4, max_speed=1.0)
    rows = movers.rows_of(units)
    movers.columns.goal[rows] = (0, 0)
    grid.set_cell(closed, 255)
    planner = Planner(movers)
    planner.ask(rows, np.full(5, anchor))
    found, lost, _ = run_out(planner)
    assert found == []
    assert lost == rows.tolist()


def cut_scene(blocked_row: slice, side: int = 60) -> tuple[Movers, Planner, int]:
    """A mover on a straight way, and a wall of one column across it."""
    grid = Grid.filled(side, side)
    movers = Movers(grid)
    units = movers.add([(2, 30)], radius=0.4, max_speed=1.0)
    planner = Planner(movers)
    row = int(movers.rows_of(units)[0])
    movers.set_paths(units, [(8, 30), (50, 30), (58, 30)], [0, 3])
    closures = Closures(grid)
    closures.watch(movers.movements)
    grid.set_cells([(20, y) for y in range(side)[blocked_row]], 255)
    _, cuts = closures.find(0, movers.movements[0], movers.columns, 1, movers.routes.pool)
    movers.columns.state[row] = MoverState.WAITING
    planner.mend(cuts)
    return movers, planner, row


def test_a_cut_is_mended_around_it_and_the_old_route_joined() -> None:
    movers, planner, row = cut_scene(slice(25, 36))
    plans = planner.run()
    assert plans.found.tolist() == [row]
    assert planner.work_done <= MEND_EXPANSIONS + 64
    points = route(movers, row)
    check_route(movers, row, DiagonalMode.ONLY_IF_NO_OBSTACLES)
    assert points[-2:].tolist() == [[50, 30], [58, 30]] or points[-1].tolist() == [58, 30]


def test_a_long_wall_is_planned_around() -> None:
    movers, planner, row = cut_scene(slice(0, 59))
    found, _, _ = run_out(planner)
    assert found == [row]
    check_route(movers, row, DiagonalMode.ONLY_IF_NO_OBSTACLES)


def test_a_wall_without_end_loses_the_mover() -> None:
    _, planner, row = cut_scene(slice(0, 60))
    assert run_out(planner)[:2] == ([], [row])


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(0, 9999), st.integers(1, 12))
def test_mended_routes_are_free_and_lead_on(seed: int, n_closed: int) -> None:
    movers, units = random_scene(seed, 24, 10, Movement(), 0.15)
    rows = movers.rows_of(units)
    random = np.random.default_rng(seed)
    free = np.argwhere(~movers.grid.blocked())[:, ::-1] + (-7, 3)
    movers.columns.goal[rows] = free[random.integers(0, len(free), 10)]
    planner = Planner(movers, 1 << 40)
    planner.ask(rows, np.full(10, NO_ANCHOR))
    planner.run()
    closures = Closures(movers.grid)
    closures.watch(movers.movements)
    movers.grid.set_cells(free[random.integers(0, len(free), n_closed)], 255)
    _, cuts = closures.find(0, movers.movements[0], movers.columns, 10, movers.routes.pool)
    planner.mend(cuts)
    plans = planner.run()
    assert sorted([*plans.found.tolist(), *plans.lost.tolist()]) == cuts.rows.tolist()
    for row in range(10):
        if row in plans.lost:
            ends = cell(movers.columns.position[row]), cell(movers.columns.goal[row])
            assert not connected(movers.grid, *ends)
        elif movers.columns.state[row] == MoverState.PATH:
            check_route(movers, row, DiagonalMode.ONLY_IF_NO_OBSTACLES)


@pytest.mark.parametrize("budget", [0, -1, 1.5, "x"])
def test_a_bad_budget_is_named(budget: int) -> None:
    with pytest.raises(InputError, match="budget"):
        Planner(Movers(Grid.filled(2, 2)), budget)
