"""Islands: the partition after any edits, and never a wrong answer before it is settled."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from navserver.search.grid import Grid, Profile
from navserver.search.island_labeling import CONNECTED, SEPARATE, UNSURE
from navserver.search.islands import (
    Islands,
    Reach,
    connected,
    island_labels,
    islands_if_built,
    islands_of,
)
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from navserver.status import CellError, InputError
from tests import reference as ref
from tests import strategies as my
from tests.reference import Cell, Model
from tests.reference_bodies import body_cells
from tests.reference_islands import EIGHT, FOUR, canonical, numbers_are, scipy_labels

BODIES: list[tuple[int, float]] = [(1, 0.0), (1, 0.0), (2, 0.0), (3, 0.0), (1, 1.0)]


def component_labels(model: Model, cells: set[Cell], mode: int) -> NDArray[np.int32]:
    """Numbers of the components in the order of their first cells, 0 elsewhere."""
    labels = ref.components(cells, mode)
    numbers: dict[int, int] = {}
    out = np.zeros(model.classes.size, np.int32)
    for cell in model.cells():
        if cell in cells:
            out[model.index(cell)] = numbers.setdefault(labels[cell], len(numbers) + 1)
    return out.reshape(model.classes.shape)


@given(model=my.models(plain=True), costs=my.cost_mappings())
def test_islands_are_the_components_of_every_mode(model: Model, costs: dict[int, float]) -> None:
    grid = my.grid_of(model)
    walkable = set(ref.cell_costs(model, my.table(costs)))
    for mode in DiagonalMode:
        options: dict[str, Any] = {"profile": Profile(costs), "diagonal_mode": mode}
        numbers_are(island_labels(grid, **options), component_labels(model, walkable, mode))
    four = component_labels(model, walkable, ref.NEVER)
    for mode in (ref.AT_LEAST_ONE_WALKABLE, ref.ONLY_IF_NO_OBSTACLES):
        np.testing.assert_array_equal(component_labels(model, walkable, mode), four)


# Edits


@given(st.data())
def test_after_edits_the_islands_are_those_built_anew(data: st.DataObject) -> None:
    model = data.draw(my.models(16))
    grid = my.grid_of(model)
    costs = data.draw(my.cost_mappings())
    size, radius = data.draw(st.sampled_from(BODIES))
    movements = [
        Movement(Profile(costs), mode, size=size, radius=radius)
        for mode in (DiagonalMode.ALWAYS, DiagonalMode.NEVER)
    ]
    for movement in movements:
        islands_of(grid, movement)
    for _ in range(data.draw(st.integers(1, 8))):
        edit = data.draw(my.edits(model))
        edit.apply_to_model(model)
        edit.apply_to_grid(grid)
        walkable = set(ref.cell_costs(model, my.table(costs)))
        room = body_cells(model, walkable, size, radius)
        budget = data.draw(st.sampled_from([0, 1, 2, 5, 30, 10_000]))
        settle = data.draw(st.booleans())
        pairs = data.draw(st.lists(st.tuples(my.cells(model), my.cells(model)), max_size=6))
        for movement in movements:
            labels = ref.components(room, movement.diagonal_mode)
            islands = islands_of(grid, movement)
            for start, goal in pairs:
                answer = islands.may_reach(model.index(start), model.index(goal), budget)
                if answer != UNSURE:
                    truth = start in room and labels[start] == labels.get(goal)
                    assert answer == (CONNECTED if truth else SEPARATE)
            if settle:
                expected = component_labels(model, room, movement.diagonal_mode)
                numbers_are(islands.labels(), expected)


def wall_with_gaps(gaps: tuple[int, ...], side: int = 41) -> Grid:
    blocked = np.zeros((side, side), np.bool_)
    blocked[side // 2] = True
    blocked[side // 2, list(gaps)] = False
    return Grid.from_blocked(blocked)


def test_a_door_that_closes_makes_unsure_until_somebody_asks() -> None:
    grid = wall_with_gaps((5,))
    islands = islands_of(grid, FOUR)
    above, below = 0, grid.size - 1
    assert islands.may_reach(above, below) is Reach.CONNECTED
    grid.set_cell((5, 20), 255)
    assert islands.may_reach(above, below, 0) is Reach.UNSURE
    assert islands.may_reach(above, below) is Reach.SEPARATE
    grid.set_cell((5, 20), 0)
    assert islands.may_reach(above, below, 0) is Reach.CONNECTED


def test_with_another_door_they_stay_connected() -> None:
    grid = wall_with_gaps((5, 30))
    islands = islands_of(grid, FOUR)
    grid.set_cell((5, 20), 255)
    assert islands.may_reach(0, grid.size - 1, 0) is Reach.UNSURE
    assert islands.may_reach(0, grid.size - 1) is Reach.CONNECTED


def test_other_islands_are_told_apart_while_one_is_unsure() -> None:
    grid = wall_with_gaps((5,))
    grid.set_rectangle((30, 0), (1, 20), 255)
    grid.set_rectangle((0, 10), (30, 1), 255)
    islands = islands_of(grid, FOUR)
    islands.settle()
    grid.set_cell((5, 20), 255)
    assert islands.may_reach(20 * 41 - 41, grid.size - 1, 0) is Reach.UNSURE
    assert islands.may_reach(0, grid.size - 1, 0) is Reach.SEPARATE
    assert islands.may_reach(20 * 41 + 7, grid.size - 1, 0) is Reach.SEPARATE, "a wall"
    assert islands.may_reach(20 * 41 + 7, 20 * 41 + 7, 0) is Reach.SEPARATE, "a wall and itself"


def test_a_closing_that_cannot_part_anything_leaves_all_sure() -> None:
    grid = Grid.filled(30, 30)
    islands = islands_of(grid, FOUR)
    # From the border inwards, so that no closed cell stands between two open sides.
    for x in range(12):
        grid.set_cell((x, 9), 255)
        assert islands.may_reach(0, grid.size - 1, 0) is Reach.CONNECTED
    grid.set_rectangle((20, 20), (5, 5), 255)
    islands.settle()
    grid.set_rectangle((20, 20), (5, 5), 0)
    assert islands.may_reach(0, grid.size - 1, 0) is Reach.CONNECTED


def test_a_flood_goes_on_with_the_next_question() -> None:
    """Many small budgets come to the end of what one would have taken."""
    grid = wall_with_gaps((5,), side=101)
    islands = islands_of(grid, FOUR)
    grid.set_cell((5, 50), 255)
    answers = [islands.may_reach(0, grid.size - 1, 100) for _ in range(200)]
    assert answers[0] is Reach.UNSURE
    assert answers[-1] is Reach.SEPARATE
    n_unsure = answers.count(Reach.UNSURE)
    # Both halves of 5,000 cells, by turns, in slices of 100.
    assert 60 <= n_unsure <= 110
    assert set(answers[n_unsure:]) == {Reach.SEPARATE}


def test_an_edit_during_a_flood_begins_it_again() -> None:
    grid = wall_with_gaps((5, 30), side=61)
    islands = islands_of(grid, FOUR)
    last = grid.size - 1
    grid.set_cell((5, 30), 255)
    assert islands.may_reach(0, last, 30) is Reach.UNSURE
    grid.set_cell((30, 30), 255)
    assert islands.may_reach(0, last, 30) is Reach.UNSURE
    grid.set_cell((31, 30), 0)
    grid.set_cell((31, 30), 255)
    assert islands.may_reach(0, last, 100_000) is Reach.SEPARATE
    numbers_are(islands.labels(), scipy_labels(~grid.blocked(), eight=False))


def test_a_settled_part_costs_the_smaller_side_only() -> None:
    """A closed closet on a large map is told from the rest within a few steps."""
    blocked = np.zeros((400, 400), np.bool_)
    blocked[100:105, 100:105] = True
    blocked[101:104, 101:104] = False
    blocked[102, 100] = False
    grid = Grid.from_blocked(blocked)
    islands = islands_of(grid, FOUR)
    grid.set_cell((100, 102), 255)
    inside, outside = 102 * 400 + 102, 0
    assert islands.may_reach(inside, outside, 40) is Reach.SEPARATE


def test_too_many_suspects_are_labeled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = wall_with_gaps((5, 30))
    islands = islands_of(grid, FOUR)
    monkeypatch.setattr(islands, "_max_suspects", 8)
    random = np.random.default_rng(1)
    for _ in range(30):
        cells = random.integers(0, 41, (4, 2))
        grid.set_cells(cells, random.choice([0, 255], 4))
    assert islands._stale
    assert islands.may_reach(0, grid.size - 1) is Reach.UNSURE
    grid.set_cell((3, 3), 255)
    truth = scipy_labels(~grid.blocked(), eight=False)
    with islands.reading() as arrays:
        numbers_are(canonical(arrays.labels), truth.reshape(-1))
    assert islands.may_reach(0, grid.size - 1) is not Reach.UNSURE
    numbers_are(islands.labels(), scipy_labels(~grid.blocked(), eight=False))
    assert islands is islands_of(grid, FOUR)


def test_long_floods_give_way_to_labeling_anew() -> None:
    """Two combs of 200 teeth, which a flood would follow to their ends all over the map."""
    blocked = np.zeros((400, 400), np.bool_)
    blocked[:, 1::2] = True
    blocked[[199, 201]] = False
    blocked[200] = True
    blocked[200, 10] = False
    grid = Grid.from_blocked(blocked)
    islands = islands_of(grid, FOUR)
    labels = islands._table.labels
    grid.set_cell((10, 200), 255)
    islands.settle()
    assert islands._table.labels is not labels
    truth = scipy_labels(~grid.blocked(), eight=False)
    assert truth.max() == 2
    numbers_are(islands.labels(), truth)


@pytest.mark.slow
def test_too_many_labels_are_numbered_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = wall_with_gaps((5,))
    islands = islands_of(grid, FOUR)
    for i in range(3000):
        if i % 500 == 0:
            monkeypatch.setattr(islands, "_max_labels", islands._table.parents.size + 100)
        grid.set_cell((5, 20), 255 if i % 2 == 0 else 0)
        expected = Reach.SEPARATE if i % 2 == 0 else Reach.CONNECTED
        assert islands.may_reach(0, grid.size - 1) in (expected, Reach.UNSURE)
        if i % 100 == 0:
            islands.settle()
            assert islands.may_reach(0, grid.size - 1) is expected
    assert islands._table.parents.size < 3000


def test_what_is_held_stays_bounded() -> None:
    grid = Grid.filled(64, 64)
    islands = islands_of(grid, FOUR)
    random = np.random.default_rng(2)
    for _ in range(400):
        cells = random.integers(0, 64, (60, 2))
        grid.set_cells(cells, random.choice([0, 255], 60))
        islands.may_reach(0, 4095, 50)
    assert islands.nbytes < 4 * 4096 + 4_000_000
    numbers_are(islands.labels(), scipy_labels(~grid.blocked(), eight=False))


def test_memory_is_reported() -> None:
    grid = Grid.filled(50, 40)
    before = grid.memory_bytes()["derived"]
    islands = islands_of(grid, FOUR)
    assert grid.memory_bytes()["derived"] == before + islands.nbytes
    assert islands.nbytes >= 4 * 50 * 40


# Threads


def test_lent_arrays_stay_as_they_are() -> None:
    grid = wall_with_gaps((5,))
    islands = islands_of(grid, FOUR)
    grid.set_cell((5, 20), 255)
    with islands.reading(0) as arrays:
        before = [array.copy() for array in arrays]
        assert islands.may_reach(0, grid.size - 1) is Reach.UNSURE, "a flood would write"
        assert connected(grid, (0, 0), (40, 40)) is False, "by labeling into other arrays"
        for array, copied in zip(arrays, before, strict=True):
            np.testing.assert_array_equal(array, copied)
    assert islands.may_reach(0, grid.size - 1) is Reach.SEPARATE


@pytest.mark.slow
def test_threads_that_ask_while_another_settles_are_never_told_wrong() -> None:
    grid = wall_with_gaps((5, 90), side=121)
    islands = islands_of(grid, FOUR)
    last = grid.size - 1
    wrong: list[object] = []
    for gap in range(40):
        closing = gap % 2 == 0
        grid.set_cell((5, 60), 255)
        grid.set_cell((90, 60), 255 if closing else 0)
        allowed = {Reach.UNSURE, Reach.SEPARATE if closing else Reach.CONNECTED}
        start = threading.Barrier(4)

        def ask(budget: int, allowed: set[Reach] = allowed, start: Any = start) -> None:
            start.wait()
            for _ in range(150):
                answer = islands.may_reach(0, last, budget)
                if answer not in allowed:
                    wrong.append(answer)

        threads = [threading.Thread(target=ask, args=(budget,)) for budget in (0, 0, 37, 400)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        grid.set_cell((5, 60), 0)
    assert not wrong


# The public question


@given(st.data())
def test_connected_equals_the_components(data: st.DataObject) -> None:
    model = data.draw(my.models(plain=True))
    costs = data.draw(my.cost_mappings())
    grid = my.grid_of(model)
    size, radius = data.draw(st.sampled_from(BODIES))
    mode = data.draw(st.sampled_from(DiagonalMode))
    options: dict[str, Any] = {
        "profile": Profile(costs), "diagonal_mode": mode, "size": size, "radius": radius,
    }  # fmt: skip
    for _ in range(3):
        walkable = set(ref.cell_costs(model, my.table(costs)))
        room = body_cells(model, walkable, size, radius)
        labels = ref.components(room, mode)
        starts = data.draw(st.lists(my.cells(model), min_size=1, max_size=8))
        goals = data.draw(st.lists(my.cells(model), min_size=len(starts), max_size=len(starts)))
        expected = [
            start in room and labels[start] == labels.get(goal)
            for start, goal in zip(starts, goals, strict=True)
        ]
        answers = connected(grid, starts, goals, **options)
        assert isinstance(answers, np.ndarray)
        assert answers.dtype == np.bool_
        assert answers.tolist() == expected
        assert connected(grid, starts[0], goals[0], **options) is expected[0]
        fan = connected(grid, starts[0], goals, **options)
        assert fan.tolist() == connected(grid, [starts[0]] * len(goals), goals, **options).tolist()
        assert connected(grid, goals, starts[0], **options).tolist() == fan.tolist()
        edit = data.draw(my.edits(model))
        edit.apply_to_model(model)
        edit.apply_to_grid(grid)


def test_unfit_questions_are_refused() -> None:
    grid = Grid.filled(4, 4)
    with pytest.raises(CellError, match="start"):
        connected(grid, (4, 0), (0, 0))
    with pytest.raises(CellError, match="goal"):
        connected(grid, (0, 0), (0, -1))
    with pytest.raises(CellError, match="give 2, or one"):
        connected(grid, [(0, 0), (1, 1)], [(0, 0)] * 3)
    with pytest.raises(InputError, match="diagonal_mode"):
        connected(grid, (0, 0), (1, 1), diagonal_mode=7)  # type: ignore[arg-type]
    assert connected(grid, np.empty((0, 2), np.int64), np.empty((0, 2), np.int64)).tolist() == []
    assert connected(grid, (0, 0), np.empty((0, 2), np.int64)).tolist() == []


def test_one_labeling_serves_three_modes() -> None:
    grid = Grid.filled(5, 5)
    four = {
        id(islands_of(grid, Movement(diagonal_mode=mode)))
        for mode in DiagonalMode
        if mode != DiagonalMode.ALWAYS
    }
    assert four == {id(islands_of(grid, FOUR))}
    assert islands_of(grid, EIGHT) is not islands_of(grid, FOUR)
    assert isinstance(islands_of(grid, EIGHT), Islands)


def test_islands_are_there_once_they_have_been_asked_for() -> None:
    grid = Grid.filled(9, 9)
    assert islands_if_built(grid, FOUR) is None
    islands = islands_of(grid, FOUR)
    assert islands_if_built(grid, FOUR) is islands
    assert islands_if_built(grid, EIGHT) is None
    assert islands_if_built(grid, Movement(size=2)) is None
    grid.set_all(255)
    assert islands_if_built(grid, FOUR) is None, "an edit of everything drops them"
    assert connected(grid, (0, 0), (1, 0)) is False


def test_no_goals_have_no_answers() -> None:
    grid = Grid.filled(3, 3)
    assert np.shape(connected(grid, (0, 0), [])) == (0,)
    assert np.shape(connected(grid, (0, 0), np.empty((0, 2), np.int64))) == (0,)
