"""Goal slots: apart, clear of walls, reachable, as many and as near as there is room for."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from navserver.movers.slots import LEAST_RADIUS, SlotPlanner, match_slots
from navserver.search.grid import Grid, Profile
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from navserver.status import CellError, InputError
from tests import reference as ref
from tests import strategies as my
from tests.reference import Cell

SPACING = 1.05
ROUNDING = 1.5e-3


def owner(point: NDArray[Any]) -> Cell:
    return math.floor(point[0] + 0.5), math.floor(point[1] + 0.5)


def wall_gap(walkable: set[Cell], point: NDArray[Any], reach: int = 3) -> float:
    """Distance from a point to the nearest square that is not walkable, if it is that near."""
    x, y = owner(point)
    gaps = [
        math.hypot(max(abs(point[0] - wx) - 0.5, 0.0), max(abs(point[1] - wy) - 0.5, 0.0))
        for wx in range(x - reach, x + reach + 1)
        for wy in range(y - reach, y + reach + 1)
        if (wx, wy) not in walkable
    ]
    return min(gaps, default=math.inf)


@pytest.mark.slow
@given(st.data())
def test_slots_are_apart_clear_of_walls_and_reachable_and_none_is_left_out(
    data: st.DataObject,
) -> None:
    model = data.draw(my.models(12))
    costs = data.draw(my.cost_mappings())
    mode = data.draw(st.sampled_from(DiagonalMode))
    walkable = set(ref.cell_costs(model, my.table(costs)))
    assume(walkable)
    cell = data.draw(st.sampled_from(sorted(walkable)))
    radius = data.draw(st.sampled_from((0.0, 0.2, 0.3, 0.4, 0.5, 0.7, 1.3)))
    n = data.draw(st.integers(1, 40))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    goal = (cell[0] + data.draw(st.sampled_from((0.0, 0.25, -0.5))), float(cell[1]))
    planner = SlotPlanner(my.grid_of(model), Movement(Profile(costs), mode))
    positions = random.uniform(-20, 20, (n, 2))
    slots, placed = planner.plan(goal, positions, np.full(n, radius))
    assert slots.shape == (n, 2)
    assert slots.dtype == np.float32
    np.testing.assert_array_equal(slots[~placed], np.full((int((~placed).sum()), 2), goal))
    taken = slots[placed].astype(np.float64)
    radius = max(radius, LEAST_RADIUS)
    for one, other in combinations(taken, 2):
        assert math.dist(one, other) >= 2.0 * radius * SPACING - ROUNDING
    uniform = dict.fromkeys(walkable, 1.0)
    lengths = ref.distances(uniform, cell, mode, ref.ENTERED)
    for slot in taken:
        assert owner(slot) in lengths
        assert wall_gap(walkable, slot) >= radius - 1e-5

    # Nobody is left without a place while the centre of a reachable cell has room for one more.
    for centre in np.array(sorted(lengths), np.float64):
        is_free = all(math.dist(centre, slot) >= 2.0 * radius * SPACING for slot in taken)
        if is_free and wall_gap(walkable, centre) >= radius:
            assert placed.all()


def test_in_the_open_slots_are_as_dense_as_can_be() -> None:
    planner = SlotPlanner(Grid.filled(80, 80))
    random = np.random.default_rng(3)
    for n in (1, 7, 37, 400):
        slots, placed = planner.plan((40.3, 39.8), random.uniform(0, 9, (n, 2)), np.full(n, 0.4))
        assert placed.all()
        pitch = 0.8 * SPACING
        ideal = math.sqrt(n * pitch**2 * math.sqrt(0.75) / math.pi)
        assert np.hypot(*(slots - np.float32([40.3, 39.8])).T).max() <= ideal + pitch


def test_a_corridor_one_cell_wide_is_lined_up_around_its_corner() -> None:
    blocked = np.ones((12, 12), bool)
    blocked[2, 2:10] = False
    blocked[2:10, 9] = False
    planner = SlotPlanner(Grid.from_blocked(blocked))
    slots, placed = planner.plan((2.0, 2.0), np.zeros((20, 2)), np.full(20, 0.45))
    assert placed.sum() >= 14
    on_row = slots[placed][:, 1] < 2.2
    assert np.abs(slots[placed][on_row][:, 1] - 2.0).max() <= 0.05 + 1e-5
    assert np.abs(slots[placed][~on_row][:, 0] - 9.0).max() <= 0.05 + 1e-5


def test_nobody_is_sent_to_the_far_side_of_a_wall() -> None:
    blocked = np.zeros((41, 41), bool)
    blocked[20, :40] = True
    planner = SlotPlanner(Grid.from_blocked(blocked))
    slots, _ = planner.plan((10.0, 19.0), np.zeros((60, 2)), np.full(60, 0.4))
    assert (slots[:, 1] < 20).all()


def test_large_bodies_stand_in_the_middle_and_small_ones_around_them() -> None:
    radii = np.array([0.3] * 30 + [1.4, 1.4] + [0.8] * 5)
    planner = SlotPlanner(Grid.filled(60, 60))
    slots, placed = planner.plan((30.0, 30.0), np.zeros((37, 2)), radii)
    assert placed.all()
    for i, j in combinations(range(37), 2):
        assert math.dist(slots[i], slots[j]) >= (radii[i] + radii[j]) * SPACING - ROUNDING
    distances = np.hypot(*(slots - 30.0).T)
    assert distances[30:32].max() < distances[32:].max() < distances[:30].max()


def test_many_different_radii_are_rounded_up_to_a_few() -> None:
    radii = np.linspace(0.2, 0.9, 60)
    slots, placed = SlotPlanner(Grid.filled(60, 60)).plan((30, 30), np.zeros((60, 2)), radii)
    assert placed.all()
    for i, j in combinations(range(60), 2):
        assert math.dist(slots[i], slots[j]) >= (radii[i] + radii[j]) * SPACING - ROUNDING


@given(st.integers(0, 60), st.integers(1, 30), st.integers(0, 1000))
def test_what_others_hold_stays_free(n_taken: int, n: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    taken = random.uniform(10, 20, (n_taken, 2))
    radii = random.choice([0.2, 0.5, 2.0], n_taken)
    slots, placed = SlotPlanner(Grid.filled(32, 32)).plan(
        (15, 15), np.zeros((n, 2)), np.full(n, 0.4), taken=taken, taken_radii=radii
    )
    assert placed.all()
    for slot in slots:
        for point, radius in zip(taken, radii, strict=True):
            assert math.dist(slot, point) >= (0.4 + radius) * SPACING - ROUNDING


def test_a_full_island_places_the_nearest_bodies() -> None:
    grid = Grid.filled(3, 1)
    positions = [(2.0, 0.0), (40.0, 0.0), (1.0, 0.0), (50.0, 0.0), (0.0, 0.0)]
    slots, placed = SlotPlanner(grid).plan((1.0, 0.0), positions, [0.5] * 5)
    # With a gap between them only one of three cells' bodies is lost to it.
    assert placed.tolist() == [False, False, True, False, False] or placed.sum() == 2
    slots, placed = SlotPlanner(grid, gap=0.0).plan((1.0, 0.0), positions, [0.5] * 5)
    assert placed.tolist() == [True, False, True, False, True]
    assert slots[placed].tolist() == [[2.0, 0.0], [1.0, 0.0], [0.0, 0.0]]


def test_a_body_larger_than_a_cell_stands_where_its_movement_lets_it() -> None:
    blocked = np.zeros((20, 20), bool)
    blocked[:, 10] = True
    grid = Grid.from_blocked(blocked)
    slots, placed = SlotPlanner(grid, Movement(radius=1.5)).plan(
        (5.0, 9.0), np.zeros((6, 2)), [1.5] * 6
    )
    assert placed.all()
    space = grid.blocked()
    assert all(wall_gap({(x, y) for y, x in np.argwhere(~space)}, slot) > 0.5 for slot in slots)


def test_the_walk_ignores_what_the_ground_costs() -> None:
    plain, rough = Grid.filled(20, 20), Grid.filled(20, 20, cell_scale=np.zeros((20, 20)))
    plans = [
        SlotPlanner(grid).plan((9, 9), np.zeros((50, 2)), np.full(50, 0.4))[0]
        for grid in (plain, rough)
    ]
    np.testing.assert_array_equal(*plans)


def test_a_plan_sees_the_grid_as_it_is_now() -> None:
    grid = Grid.filled(9, 9)
    planner = SlotPlanner(grid)
    assert planner.plan((4, 4), np.zeros((9, 2)), np.full(9, 0.4))[1].all()
    grid.set_rectangle((0, 0), (9, 9), 255)
    grid.set_cell((4, 4), 0)
    assert planner.plan((4, 4), np.zeros((9, 2)), np.full(9, 0.4))[1].sum() == 1
    grid.set_cell((4, 4), 255)
    with pytest.raises(CellError, match="goal"):
        planner.plan((4, 4), np.zeros((9, 2)), np.full(9, 0.4))


def test_nobody_needs_nothing() -> None:
    slots, placed = SlotPlanner(Grid.filled(3, 3)).plan((1, 1), [], [])
    assert slots.shape == (0, 2)
    assert placed.shape == (0,)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"goal": (np.nan, 1)}, "goal"),
        ({"goal": (np.inf, 1)}, "goal"),
        ({"goal": (9, 9)}, "goal"),
        ({"goal": "x"}, "goal"),
        ({"goal": (1e300, 0)}, "goal"),
        ({"positions": [(0, 0), (np.nan, 0)]}, r"positions\[1\]"),
        ({"positions": [(0, 0, 0)]}, "positions"),
        ({"positions": [(0, 0)]}, "radii"),
        ({"radii": [0.4, -1]}, r"radii\[1\]"),
        ({"radii": [0.4, np.nan]}, r"radii\[1\]"),
        ({"radii": [33, 1]}, r"radii\[0\]"),
        ({"radii": ["x", 1]}, "radii"),
        ({"taken": [(0, 0)]}, "taken_radii"),
        ({"taken": [(0, np.inf)], "taken_radii": [1]}, r"taken\[0\]"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], field: str) -> None:
    given_ = {"goal": (1, 1), "positions": [(0, 0), (1, 1)], "radii": [0.4, 0.4]} | change
    with pytest.raises(InputError, match=field):
        SlotPlanner(Grid.filled(3, 3)).plan(**given_)


@pytest.mark.parametrize("gap", [-0.1, np.nan, np.inf, "x", 4.1])
def test_a_bad_gap_is_named(gap: Any) -> None:
    with pytest.raises(InputError, match="gap"):
        SlotPlanner(Grid.filled(3, 3), gap=gap)


@given(st.integers(0, 200), st.integers(0, 1000))
def test_matching_is_one_to_one_and_hardly_longer_than_the_best(n: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    bodies, slots = random.normal(0, 5, (n, 2)), random.normal((60, 20), 5, (n, 2))
    matched = match_slots(bodies, slots)
    assert sorted(matched) == list(range(n))
    if n:
        squares = ((bodies[:, np.newaxis] - slots[np.newaxis]) ** 2).sum(axis=2)
        best = squares[linear_sum_assignment(squares)].sum()
        assert squares[np.arange(n), matched].sum() <= 1.01 * best
    if 0 < n <= 40:
        # No two would gain by a swap.
        kept = squares[np.arange(n), matched]
        swapped = squares[:, matched]
        assert (swapped + swapped.T >= kept + kept[:, np.newaxis] - 1e-4).all()


def test_who_is_in_front_goes_to_the_far_side() -> None:
    bodies = np.array([(x, y) for x in range(6) for y in range(6)], np.float64)
    ahead = bodies + np.array([30.0, 0.0])
    slots = ahead[::-1]
    np.testing.assert_array_equal(slots[match_slots(bodies, slots)], ahead)


@pytest.mark.parametrize(
    ("positions", "slots", "field"),
    [
        ([(0, 0)], [], "slots"),
        ([(0, np.nan)], [(0, 0)], "positions"),
        ([(0, 0)], [(np.inf, 0)], "slots"),
        ([0.0, 1.0], [(0, 0)], "positions"),
    ],
)
def test_unfit_pairs_are_named(positions: Any, slots: Any, field: str) -> None:
    with pytest.raises(InputError, match=field):
        match_slots(positions, slots)
