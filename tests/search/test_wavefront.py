from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.cost_wavefront import LAST_EXACT_BUCKET
from navserver.search.grid import CostModel, DiagonalMode, Grid, Profile
from navserver.search.movement import Movement
from navserver.search.nodes import CancelFlag
from navserver.search.wavefront import Outcome, Wavefront
from navserver.status import GridChangedError, InputError
from tests import reference as ref
from tests import strategies as sts


def movement_of(query: sts.Query) -> Movement:
    return Movement(**query.options())  # type: ignore[arg-type]


def noisy_grid(side: int, seed: int, **keywords: Any) -> Grid:
    classes = np.random.default_rng(seed).integers(0, 4, (side, side)).astype(np.uint8)
    classes[0, 0] = 0
    return Grid(classes, **keywords)


UNIFORM = Movement(Profile({3: float("inf")}))
COSTLY = Movement(Profile({1: 2.0, 2: 3.5, 3: 5.0}))
UNEQUAL = Movement(Profile({0: 1e-4, 1: 1.0, 2: 300.0, 3: 0.0}))
MOVEMENTS = [UNIFORM, COSTLY, UNEQUAL]
CORNER = np.zeros(1, np.int64)


def labels(search: Wavefront) -> tuple[bytes, bytes]:
    known = search.field.state != 0
    return search.field.state.tobytes(), search.field.lengths[known].tobytes()


@given(sts.queries(), st.data())
def test_slices_change_nothing(query: sts.Query, data: st.DataObject) -> None:
    costs = query.costs()
    if not costs:
        return
    grid = sts.grid_of(query.model)
    source = np.array([query.model.index(data.draw(st.sampled_from(sorted(costs))))])
    whole, sliced = (Wavefront(grid, movement_of(query)) for _ in range(2))
    whole.begin(source)
    assert whole.advance()
    sliced.begin(source)
    slices = 1
    while not sliced.advance(data.draw(st.integers(1, 30))):
        slices += 1
    assert labels(whole) == labels(sliced)
    assert whole.metrics == sliced.metrics
    assert whole.outcome == sliced.outcome == Outcome.EXHAUSTED


@pytest.mark.parametrize("movement", MOVEMENTS)
@pytest.mark.parametrize("record", [False, True])
def test_lists_grow_and_lose_nothing(movement: Movement, record: bool) -> None:
    """Sources all over the map overflow what the lists hold at first."""
    side = 90
    grid = noisy_grid(side, 1)
    open_cells = np.flatnonzero(grid.move_masks(movement.profile).reshape(-1))
    search = Wavefront(grid, movement, record=record)
    search.begin(open_cells[:1])
    search.advance()
    one = labels(search)
    search.forget()
    assert not search.field.state.any()
    spread = open_cells[:: max(1, open_cells.size // 3000)]
    search.begin(spread)
    search.advance()
    fresh = Wavefront(grid, movement)
    fresh.begin(spread)
    fresh.advance()
    assert labels(search) == labels(fresh)
    search.forget()
    search.begin(open_cells[:1])
    search.advance()
    assert labels(search) == one


@pytest.mark.slow
@pytest.mark.parametrize("movement", [COSTLY, UNEQUAL])
def test_the_open_list_grows_during_a_search(movement: Movement) -> None:
    grid = noisy_grid(700, 2)
    search = Wavefront(grid, movement, record=True)
    search.begin(np.array([350 * 700 + 350]))
    search.advance()
    assert search.metrics.open_peak > 1040, "else nothing had to grow"
    assert search.touched.size == (search.field.state != 0).sum() == grid.size


@pytest.mark.parametrize("movement", MOVEMENTS)
def test_touched_cells_are_those_that_are_known(movement: Movement) -> None:
    grid = noisy_grid(60, 3)
    search = Wavefront(grid, movement, record=True)
    search.begin(CORNER, max_cost=9.0)
    search.advance()
    touched = np.sort(search.touched)
    np.testing.assert_array_equal(touched, np.flatnonzero(search.field.state))
    search.forget()
    assert not search.field.state.any()


@given(sts.queries(), st.data())
def test_targets_have_their_costs_when_the_search_stops(
    query: sts.Query, data: st.DataObject
) -> None:
    costs = query.costs()
    if not costs:
        return
    cells = st.sampled_from(sorted(costs))
    source = data.draw(cells)
    wanted = data.draw(st.lists(cells, min_size=1, max_size=5, unique=True))
    targets = np.array([query.model.index(cell) for cell in wanted])
    best = ref.distances(costs, source, query.diagonal_mode, query.cost_model)
    expected = np.array([best.get(cell, np.inf) for cell in wanted])
    search = Wavefront(sts.grid_of(query.model), movement_of(query))
    search.begin(np.array([query.model.index(source)]), targets=targets)
    search.advance()
    assert search.outcome == (Outcome.SETTLED if np.isfinite(expected).all() else Outcome.EXHAUSTED)
    np.testing.assert_allclose(search.read(targets)[0], expected, rtol=1e-9, atol=1e-12)
    search.forget()
    search.begin(np.array([query.model.index(source)]), targets=targets, stop_at_first=True)
    search.advance()
    np.testing.assert_allclose(search.read(targets)[0].min(), expected.min(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", list(CostModel))
@pytest.mark.parametrize("mode", list(DiagonalMode))
def test_costs_so_large_that_buckets_are_no_longer_exact(
    mode: DiagonalMode, model: CostModel
) -> None:
    """Beyond the last exact bucket a heap takes over, in the middle of a search."""
    random = np.random.default_rng(6)
    classes = random.integers(0, 3, (20, 20)).astype(np.uint8)
    grid = Grid(classes)
    costs = {0: 1.0, 1: 2.0, 2: 4.0}
    movement = Movement(Profile(costs), mode, model)
    values = np.array([LAST_EXACT_BUCKET * (1.0 - 2.0**-20) - 12.0])
    search = Wavefront(grid, movement)
    search.begin(CORNER, values)
    search.advance()
    expected = ref.distances(
        ref.cell_costs(ref.Model(classes), sts.table(costs)), (0, 0), mode, model
    )
    for (x, y), cost in expected.items():
        assert search.field.costs[20 * y + x] - values[0] == pytest.approx(cost, abs=1e-3)


def test_far_buckets_are_reached_in_one_jump() -> None:
    """Sources in three worlds of cost: the window of buckets must not be walked between them."""
    grid = Grid.filled(30, 1, cell_scale=np.full((1, 30), 0.5))
    search = Wavefront(grid, Movement())
    search.begin(np.array([0, 14, 29]), np.array([0.0, 1e9, 1e15]))
    search.advance()
    costs, _ = search.read(np.arange(30))
    np.testing.assert_allclose(costs, 0.5 * np.arange(30))


@pytest.mark.parametrize("movement", MOVEMENTS)
def test_a_flag_stops_a_search_that_can_be_begun_again(movement: Movement) -> None:
    grid = noisy_grid(80, 7)
    search = Wavefront(grid, movement)
    flag = CancelFlag()
    search.begin(CORNER)
    assert not search.advance(1)
    flag.set()
    while not search.advance(5000, flag):
        pass
    assert search.outcome in (Outcome.CANCELLED, Outcome.EXHAUSTED)
    search.forget()
    flag.set()
    search.begin(CORNER)
    assert search.advance(cancel=flag)
    assert search.outcome == Outcome.CANCELLED
    assert search.metrics.expanded == 0
    search.forget()
    search.begin(CORNER)
    assert search.advance()
    assert search.outcome == Outcome.EXHAUSTED


def test_an_edit_in_the_middle_is_refused() -> None:
    grid = Grid.filled(50, 50)
    search = Wavefront(grid, Movement())
    search.begin(CORNER)
    search.advance(10)
    grid.set_cell((3, 3), 1)
    with pytest.raises(GridChangedError, match="version 1 to 2"):
        search.advance(10)


@pytest.mark.parametrize("budget", [0, -1, 1.5, None])
def test_bad_budgets_are_named(budget: Any) -> None:
    search = Wavefront(Grid.filled(2, 2), Movement())
    search.begin(CORNER)
    with pytest.raises(InputError, match="budget"):
        search.advance(budget)


def test_a_kernel_for_each_kind_of_cost() -> None:
    grid = noisy_grid(10, 8)
    for movement, even in ((UNIFORM, True), (COSTLY, False), (UNEQUAL, False)):
        search = Wavefront(grid, movement)
        search.begin(CORNER)
        assert (search.unit > 0.0) == even
    free = Wavefront(Grid.filled(5, 5), Movement(Profile({0: 0.0})))
    free.begin(CORNER)
    free.advance()
    assert free.unit == 0.0
    assert free.read(np.arange(25))[0].tolist() == [0.0] * 25


def test_one_closed_room_among_costly_cells() -> None:
    """A map whose sampled cells are all blocked still has its costs."""
    classes = np.full((64, 64), sts.SOLID, np.uint8)
    classes[10, 10:14] = [0, 1, 2, 0]
    search = Wavefront(Grid(classes), Movement(Profile({1: 3.0, 2: 0.25})))
    search.begin(np.array([650]))
    search.advance()
    assert search.read(np.arange(650, 654))[0].tolist() == [0.0, 3.0, 3.25, 4.25]
