"""Nearest walkable and reachable cells by exhaustion, random ones by counting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.grid import Grid, Profile
from navserver.search.moves import DiagonalMode
from navserver.search.nearest import nearest_reachable, nearest_walkable, random_reachable
from navserver.status import CellError, InputError
from tests import reference as ref
from tests import strategies as my
from tests.reference import Cell, Model
from tests.reference_bodies import body_cells

BODIES: list[tuple[int, float]] = [(1, 0.0), (1, 0.0), (2, 0.0), (1, 1.0)]


def nearest(
    model: Model, cells: set[Cell], target: Cell, max_distance: float | None
) -> Cell | None:
    """Least squared distance, then smaller flat index."""
    found = [
        ((x - target[0]) ** 2 + (y - target[1]) ** 2, model.index((x, y)), (x, y)) for x, y in cells
    ]
    if max_distance is not None:
        found = [entry for entry in found if entry[0] <= max_distance * max_distance]
    return min(found)[2] if found else None


def around(model: Model) -> st.SearchStrategy[Cell]:
    """Cells on the map and outside of it."""
    ox, oy = model.region
    return my.cells(model) | st.tuples(
        st.integers(ox - 30, ox + model.width + 30), st.integers(oy - 30, oy + model.height + 30)
    )


@given(st.data())
def test_the_nearest_cell_is_found_by_exhaustion(data: st.DataObject) -> None:
    model = data.draw(my.models(16))
    costs = data.draw(my.cost_mappings())
    grid = my.grid_of(model)
    size, radius = data.draw(st.sampled_from(BODIES))
    mode = data.draw(st.sampled_from(DiagonalMode))
    options: dict[str, Any] = {
        "profile": Profile(costs), "diagonal_mode": mode, "size": size, "radius": radius,
    }  # fmt: skip
    limits = st.none() | st.sampled_from([0.0, 1.0, 1.5, math.sqrt(8.0), 5.0, 20.0])
    for _ in range(3):
        walkable = set(ref.cell_costs(model, my.table(costs)))
        room = body_cells(model, walkable, size, radius)
        labels = ref.components(room, mode)
        for _ in range(4):
            target, start = data.draw(around(model)), data.draw(my.cells(model))
            limit = data.draw(limits)
            assert nearest_walkable(grid, target, max_distance=limit, **options) == nearest(
                model, room, target, limit
            )
            island = {cell for cell in room if labels[cell] == labels.get(start)}
            assert nearest_reachable(grid, start, target, max_distance=limit, **options) == nearest(
                model, island, target, limit
            )
        edit = data.draw(my.edits(model))
        edit.apply_to_model(model)
        edit.apply_to_grid(grid)


def test_ties_go_to_the_smaller_flat_index() -> None:
    blocked = np.ones((9, 9), np.bool_)
    for x, y in [(4, 1), (1, 4), (7, 4), (4, 7)]:
        blocked[y, x] = False
    grid = Grid.from_blocked(blocked, region_position=(-4, -4))
    assert nearest_walkable(grid, (0, 0)) == (0, -3)
    grid.set_cell((0, -3), 255)
    assert nearest_walkable(grid, (0, 0)) == (-3, 0)


def test_a_corner_of_a_near_ring_is_farther_than_the_side_of_the_next() -> None:
    blocked = np.ones((21, 21), np.bool_)
    blocked[10 + 5, 10 + 5] = False
    blocked[10, 10 + 7] = False
    grid = Grid.from_blocked(blocked)
    assert nearest_walkable(grid, (10, 10)) == (17, 10)


def test_far_outside_the_map() -> None:
    grid = Grid.filled(8, 5, region_position=(10, -3))
    assert nearest_walkable(grid, (-(2**29), 2**29)) == (10, 1)
    assert nearest_walkable(grid, (2**30, -3)) == (17, -3)
    assert nearest_walkable(grid, (1000, 0), max_distance=500.0) is None
    assert nearest_reachable(grid, (12, 0), (2**30 - 9, 2**30 - 9)) == (17, 1)
    far = Grid.filled(3, 3, region_position=(-(2**30), 0))
    with pytest.raises(CellError, match="too far"):
        nearest_walkable(far, (2**30, 0))


def test_nowhere_to_stand() -> None:
    grid = Grid.filled(7, 7, 255)
    assert nearest_walkable(grid, (3, 3)) is None
    assert nearest_reachable(grid, (3, 3), (0, 0)) is None
    assert random_reachable(grid, (3, 3), seed=1, count=5).shape == (0, 2)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, "3"])
def test_unfit_distances_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match="max_distance"):
        nearest_walkable(Grid.filled(2, 2), (0, 0), max_distance=value)


def test_unfit_cells_are_refused() -> None:
    grid = Grid.filled(3, 3)
    with pytest.raises(CellError, match="start"):
        nearest_reachable(grid, (3, 0), (0, 0))
    with pytest.raises(InputError, match="target"):
        nearest_reachable(grid, (0, 0), (0.5, 1))  # type: ignore[arg-type]
    with pytest.raises(CellError, match="start"):
        random_reachable(grid, (0, -1), seed=1)
    with pytest.raises(InputError, match="seed"):
        random_reachable(grid, (0, 0), seed=0.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="count"):
        random_reachable(grid, (0, 0), seed=0, count=0)


# Random cells


@given(model=my.models(12, plain=True), data=st.data())
def test_random_cells_lie_on_the_island(model: Model, data: st.DataObject) -> None:
    grid = my.grid_of(model)
    mode = data.draw(st.sampled_from(DiagonalMode))
    start = data.draw(my.cells(model))
    seed = data.draw(st.integers(-(2**70), 2**70))
    count = data.draw(st.integers(1, 40))
    labels = ref.components(set(ref.cell_costs(model, my.table())), mode)
    cells = random_reachable(grid, start, seed=seed, count=count, diagonal_mode=mode)
    assert cells.dtype == np.int32
    if start not in labels:
        assert cells.shape == (0, 2)
        return
    assert cells.shape == (count, 2)
    assert {labels[cell] for cell in ref.as_cells(cells)} == {labels[start]}
    again = random_reachable(grid, start, seed=seed, count=count, diagonal_mode=mode)
    np.testing.assert_array_equal(again, cells)


def closets() -> Grid:
    """A large room of 50 x 61 cells, one of 2 x 3, and a single cell."""
    blocked = np.ones((70, 70), np.bool_)
    blocked[1:51, 1:62] = False
    blocked[60:62, 60:63] = False
    blocked[66, 66] = False
    return Grid.from_blocked(blocked, region_position=(-5, 9))


@pytest.mark.parametrize(("start", "n_cells"), [((1, 1), 50 * 61), ((60, 60), 6), ((66, 66), 1)])
def test_every_cell_has_the_same_chance(start: Cell, n_cells: int) -> None:
    grid = closets()
    count = 200 * n_cells if n_cells < 100 else 40 * n_cells
    cells = random_reachable(grid, (start[0] - 5, start[1] + 9), seed=11, count=count)
    found, times = np.unique(cells, axis=0, return_counts=True)
    assert len(found) == n_cells
    mean = count / n_cells
    # Chi squared of a fair draw has mean n - 1 and variance 2 (n - 1).
    chi_squared = float(((times - mean) ** 2 / mean).sum())
    assert abs(chi_squared - (n_cells - 1)) <= 5 * math.sqrt(2 * max(n_cells - 1, 1))


def test_random_cells_depend_on_the_map_and_the_seed_alone() -> None:
    grid = closets()
    first = random_reachable(grid, (-4, 10), seed=5, count=20)
    grid.set_cell((3, 20), 255)
    grid.set_cell((3, 20), 0)
    np.testing.assert_array_equal(random_reachable(grid, (-4, 10), seed=5, count=20), first)
    np.testing.assert_array_equal(random_reachable(closets(), (40, 40), seed=5, count=20), first)
    assert (random_reachable(grid, (-4, 10), seed=6, count=20) != first).any()
    np.testing.assert_array_equal(random_reachable(grid, (-4, 10), seed=5 + 2**64, count=20), first)


def test_random_cells_are_these() -> None:
    """Written down, so that a change of the sequence is seen: replays depend on it."""
    grid = Grid.filled(1000, 1000)
    assert random_reachable(grid, (0, 0), seed=42, count=3).tolist() == expected_of_seed_42()


def expected_of_seed_42() -> list[list[int]]:
    """The sequence in plain integers."""
    cells = []
    for i in range(3):
        word = (42 + (i + 1) * 0x9E3779B97F4A7C15) % 2**64
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
        word ^= word >> 31
        flat = int((word >> 11) / 2**53 * 10**6)
        cells.append([flat % 1000, flat // 1000])
    return cells


def test_more_cells_than_memory_holds_are_refused() -> None:
    with pytest.raises(InputError, match=r"count: .* is too many cells"):
        random_reachable(Grid.filled(3, 3), (0, 0), seed=1, count=10**12)
