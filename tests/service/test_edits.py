from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.search.profile import Profile
from navserver.service.edits import CellsEdit, LayerRemoval, RectangleEdit, apply_edit
from navserver.status import InputError


def test_an_edit_keeps_what_it_was_given() -> None:
    cells = np.array([[1, 1]])
    values = np.array([255])
    edit = CellsEdit.of(cells, values)
    cells[:] = 0
    values[:] = 0
    grid = Grid.filled(3, 3)
    edit.apply(grid)
    assert grid.class_at((1, 1)) == 255
    assert edit.nbytes >= 24


def test_ragged_or_nameless_values_are_refused() -> None:
    with pytest.raises(InputError, match="cells"):
        CellsEdit.of([(1, 1), (2,)])
    with pytest.raises(InputError, match="layers"):
        CellsEdit.of([(1, 1)], layers=[1.0])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("edit", "rectangle"),
    [
        (CellsEdit.of([(1, 2), (3, 2)], 7), (1, 2, 4, 3)),
        (CellsEdit.of(np.empty((0, 2), int), 7), (0, 0, 0, 0)),
        (RectangleEdit.of((1, 2), (2, 1), 7), (1, 2, 3, 3)),
        (RectangleEdit.of(None, None, 7), (0, 0, 5, 4)),
    ],
)
def test_the_rectangle_bounds_what_was_written(edit: Any, rectangle: Any) -> None:
    grid = Grid.filled(5, 4)
    assert apply_edit(grid, edit).rectangle == rectangle
    x0, y0, x1, y1 = rectangle
    outside = np.ones((4, 5), bool)
    outside[y0:y1, x0:x1] = False
    assert not grid.classes[outside].any()


def test_rectangles_are_in_the_arrays_of_a_region() -> None:
    grid = Grid.filled(5, 4, region_position=(-10, 20))
    assert apply_edit(grid, CellsEdit.of([(-9, 22)], 7)).rectangle == (1, 2, 2, 3)
    assert apply_edit(grid, RectangleEdit.of((-9, 22), (2, 1), 7)).rectangle == (1, 2, 3, 3)


COSTS = {0: 1.0, 1: 2.0, 2: 0.5, 3: float("inf")}


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=4),
    st.sampled_from([None, 0.5, 1.0, 2.0]),
    st.sampled_from([None, 0.0, 3.0]),
)
def test_an_effect_tells_what_may_have_changed(
    turns: list[tuple[int, int]], scale: float | None, fog: float | None
) -> None:
    before, after = (np.array(side, np.uint8)[None] for side in zip(*turns, strict=True))
    grid = Grid(before, layers={"fog": np.ones(before.shape)})
    movement = Movement(Profile(COSTS), overlays={"fog": 1.0})
    layers = None if fog is None else {"fog": fog}
    effect = apply_edit(grid, RectangleEdit.of(None, None, after, scale, layers))
    old = np.array([COSTS[c] for c in before[0]])
    new = np.array([COSTS[c] for c in after[0]])
    assert effect.opens(movement) == bool((np.isinf(old) & np.isfinite(new)).any())
    falls = (new < old).any() or scale == 0.5 or fog == 0.0
    assert effect.improves(movement) == bool(falls)
    rises = (new > old).any() or scale == 2.0 or fog == 3.0
    assert effect.touches(movement) == bool(falls or rises)
    assert effect.version == grid.version == 2


def test_removing_a_layer_concerns_those_who_count_it() -> None:
    grid = Grid.filled(2, 2, layers={"fog": np.ones((2, 2))})
    effect = apply_edit(grid, LayerRemoval("fog"))
    assert effect.touches(Movement(overlays={"fog": 1.0}))
    assert not effect.touches(Movement())
