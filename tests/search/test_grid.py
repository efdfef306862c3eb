from __future__ import annotations

import copy
import gc
import math
import pickle
import re
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.grid import (
    DEFAULT_PROFILE,
    SOLID,
    CostModel,
    DiagonalMode,
    Grid,
    Profile,
)
from navserver.search.movement import Movement
from navserver.status import CellError, InputError
from tests import reference as ref
from tests import strategies as sts
from tests.reference import Model

INF, NAN = math.inf, math.nan
MODES = list(DiagonalMode)
WALLS = np.array([[0, 255, 0, 0], [0, 255, 1, 2], [0, 0, 0, 255]], np.uint8)
HUGE = 10**30


def full_grid() -> Grid:
    """A small map that has everything, away from (0, 0)."""
    return Grid(
        WALLS,
        cell_scale=np.full(WALLS.shape, 2.0, np.float32),
        layers={"mud": np.ones(WALLS.shape, np.float32)},
        region_position=(-5, 3),
    )


def state(grid: Grid) -> tuple[object, ...]:
    """All that an edit could change."""
    return (
        grid.version,
        grid.map_hash(),
        grid.classes.tobytes(),
        None if grid.cell_scale is None else grid.cell_scale.tobytes(),
        {name: layer.tobytes() for name, layer in grid.layers.items()},
        [grid.move_masks(DEFAULT_PROFILE, mode).tobytes() for mode in MODES],
    )


# --- numbers that the wire and Godot share --------------------------------------------------------


def test_numbers_are_fixed() -> None:
    assert {mode.name: int(mode) for mode in DiagonalMode} == {
        "ALWAYS": 0,
        "NEVER": 1,
        "AT_LEAST_ONE_WALKABLE": 2,
        "ONLY_IF_NO_OBSTACLES": 3,
    }
    assert {model.name: int(model) for model in CostModel} == {
        "ENTERED": 0,
        "MEAN": 1,
        "PRODUCT": 2,
    }
    assert SOLID == 255


# --- building -------------------------------------------------------------------------------------


def test_a_grid_says_what_it_was_built_from() -> None:
    grid = full_grid()
    assert (grid.width, grid.height) == (4, 3)
    assert grid.region_position == (-5, 3)
    assert grid.version == 1
    np.testing.assert_array_equal(grid.classes, WALLS)
    assert grid.classes.dtype == np.uint8
    assert grid.cell_scale is not None
    assert grid.cell_scale.dtype == np.float32
    assert list(grid.layers) == ["mud"]
    assert grid.layers["mud"].dtype == np.float32
    np.testing.assert_array_equal(grid.transform, [[1, 0, 0], [0, 1, 0]])
    assert grid.transform.dtype == np.float64


def test_a_plain_grid_has_no_extras() -> None:
    grid = Grid(WALLS)
    assert grid.cell_scale is None
    assert dict(grid.layers) == {}
    assert grid.region_position == (0, 0)


def test_ways_to_build_agree() -> None:
    blocked = WALLS == 255
    built = Grid.from_blocked(blocked, region_position=(2, -3))
    np.testing.assert_array_equal(built.classes, np.where(blocked, 255, 0))
    assert built.region_position == (2, -3)
    filled = Grid.filled(4, 3, 7, layers={"mud": np.ones((3, 4), np.float32)})
    np.testing.assert_array_equal(filled.classes, np.full((3, 4), 7))
    assert list(filled.layers) == ["mud"]
    np.testing.assert_array_equal(Grid(WALLS.tolist()).classes, WALLS)
    np.testing.assert_array_equal(Grid(np.asfortranarray(WALLS)).classes, WALLS)
    np.testing.assert_array_equal(Grid(WALLS[::-1, ::-1]).classes, WALLS[::-1, ::-1])


def test_what_was_given_is_copied() -> None:
    classes, scale = WALLS.copy(), np.ones(WALLS.shape, np.float32)
    mud, transform = np.zeros(WALLS.shape, np.float32), np.array([[1.0, 0, 0], [0, 1, 0]])
    grid = Grid(classes, cell_scale=scale, layers={"mud": mud}, transform=transform)
    before = grid.map_hash()
    classes[:], scale[:], mud[:], transform[:] = 9, 9, 9, 9
    assert grid.map_hash() == before
    assert grid.class_at((0, 0)) == 0


def test_what_is_shown_cannot_be_written() -> None:
    grid = full_grid()
    assert grid.cell_scale is not None
    for array in (
        grid.classes,
        grid.cell_scale,
        grid.layers["mud"],
        grid.transform,
        grid.move_masks(DEFAULT_PROFILE, DiagonalMode.ALWAYS),
    ):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1
    with pytest.raises(TypeError):
        grid.layers["mud"] = grid.layers["mud"]  # type: ignore[index]
    blocked = grid.blocked(DEFAULT_PROFILE)
    blocked[:] = True
    assert grid.blocked(DEFAULT_PROFILE).sum() == 3


@pytest.mark.parametrize(
    "build",
    [
        lambda: Grid(np.zeros((0, 4), np.uint8)),
        lambda: Grid(np.zeros((4, 0), np.uint8)),
        lambda: Grid([]),
        lambda: Grid(np.zeros(4, np.uint8)),
        lambda: Grid(np.zeros((2, 2, 2), np.uint8)),
        lambda: Grid(np.zeros((1, 8193), np.uint8)),
        lambda: Grid(np.zeros((8193, 1), np.uint8)),
        lambda: Grid.from_blocked(np.zeros((8193, 1), bool)),
        lambda: Grid.from_blocked(np.zeros((0, 1), bool)),
        lambda: Grid.filled(8193, 1),
        lambda: Grid.filled(1, 8193),
        lambda: Grid.filled(0, 1),
        lambda: Grid.filled(1, -1),
        lambda: Grid.filled(HUGE, 1),
        lambda: Grid.filled(2.5, 1),  # type: ignore[arg-type]
        lambda: Grid.filled("two", 1),  # type: ignore[arg-type]
        lambda: Grid.filled(2, 2, 256),
        lambda: Grid.filled(2, 2, -1),
        lambda: Grid.filled(2, 2, 0.5),  # type: ignore[arg-type]
        lambda: Grid("a map"),
        lambda: Grid(None),  # type: ignore[arg-type]
        lambda: Grid([["a", "b"]]),
        lambda: Grid([[0, 1], [2]]),
        lambda: Grid(np.array([[0.5, 1.0]])),
        lambda: Grid(np.array([[1j, 1.0]])),
        lambda: Grid(WALLS, region_position=(0,)),  # type: ignore[arg-type]
        lambda: Grid(WALLS, region_position=(0.5, 1)),  # type: ignore[arg-type]
        lambda: Grid(WALLS, region_position=(HUGE, 1)),
        lambda: Grid(WALLS, region_position=(2**31 - 2, 1)),
        lambda: Grid(WALLS, region_position="ab"),  # type: ignore[arg-type]
        lambda: Grid(WALLS, cell_scale=np.ones((4, 3), np.float32)),
        lambda: Grid(WALLS, cell_scale=np.ones((1, 4), np.float32)),
        lambda: Grid(WALLS, cell_scale="ab"),
        lambda: Grid(WALLS, layers={"mud": np.ones((4, 3), np.float32)}),
        lambda: Grid(WALLS, layers={"mud": np.ones(4, np.float32)}),
        lambda: Grid(WALLS, layers={3: np.ones(WALLS.shape)}),  # type: ignore[dict-item]
        lambda: Grid(WALLS, layers=[np.ones(WALLS.shape)]),  # type: ignore[arg-type]
        lambda: Grid(WALLS, transform=np.eye(3)),
        lambda: Grid(WALLS, transform=[[1, 0, NAN], [0, 1, 0]]),
        lambda: Grid(WALLS, transform=[[1, 0, INF], [0, 1, 0]]),
        lambda: Grid(WALLS, transform=[[1e200, 0, 0], [0, 1e200, 0]]),
        lambda: Grid(WALLS, transform=[[1, 2, 0], [2, 4, 0]]),
        lambda: Grid(WALLS, transform="ab"),
    ],
)
def test_unfit_maps_are_refused(build: Callable[[], Grid]) -> None:
    with pytest.raises(InputError):
        build()


@pytest.mark.parametrize("size", [(8192, 1), (1, 8192), (1, 1)])
def test_the_largest_and_the_smallest_sides_are_taken(size: tuple[int, int]) -> None:
    grid = Grid.filled(*size)
    assert (grid.width, grid.height) == size


@pytest.mark.parametrize("value", [NAN, -1.0, -INF, INF, -1e-30, 1e39])
def test_a_bad_scale_or_layer_names_the_cell(value: float) -> None:
    array = np.ones((3, 4))
    array[1, 2] = value
    cell = re.escape("(-3, 4)")
    with pytest.raises(InputError, match=cell) as caught:
        Grid(WALLS, cell_scale=array, region_position=(-5, 3))
    assert "cell_scale" in str(caught.value)
    with pytest.raises(InputError, match=cell) as caught:
        Grid(WALLS, layers={"mud": array}, region_position=(-5, 3))
    assert "mud" in str(caught.value)
    grid = full_grid()
    before = state(grid)
    for edit in (
        lambda: grid.set_all(cell_scale=array),
        lambda: grid.set_all(layers={"mud": array}),
        lambda: grid.set_all(layers={"new": array}),
        lambda: grid.set_all(0, layers={"mud": np.zeros((3, 4)), "new": array}),
        lambda: grid.set_rectangle((-4, 3), (3, 2), cell_scale=array[:2, 1:]),
        lambda: grid.set_rectangle((-4, 3), (3, 2), 1, layers={"new": array[:2, 1:]}),
        lambda: grid.set_cell((-3, 4), 1, cell_scale=value),
        lambda: grid.set_cell((-3, 4), 1, layers={"mud": value}),
        lambda: grid.set_cells([(-5, 3), (-3, 4)], 1, cell_scale=[1.0, value]),
        lambda: grid.set_cells([(-5, 3), (-3, 4)], [1, 2], layers={"mud": [1.0, value]}),
    ):
        with pytest.raises(InputError, match=cell):
            edit()
        assert state(grid) == before


@pytest.mark.parametrize("value", [256, -1, 300, HUGE])
def test_a_bad_class_names_the_cell(value: int) -> None:
    rows: list[list[Any]] = WALLS.tolist()
    rows[1][2] = value
    grid = full_grid()
    before = state(grid)
    for edit in (
        lambda: Grid(rows, region_position=(-5, 3)),
        lambda: grid.set_all(rows),
        lambda: grid.set_cells([(-5, 3), (-3, 4)], [0, value]),
        lambda: grid.set_rectangle((-4, 3), (2, 2), [[0, 0], [0, value]]),
    ):
        with pytest.raises(InputError) as caught:
            edit()
        assert value == HUGE or "(-3, 4)" in str(caught.value)
    assert state(grid) == before


# --- costs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "overlays",
    [{"none": 1.0}, {"mud": -1.0}, {"mud": NAN}, {"mud": INF}, {"mud": "x"}, {3: 1.0}, ["mud"]],
)
def test_unfit_overlays_are_refused(overlays: Any) -> None:
    with pytest.raises(InputError):
        full_grid().cost_at((-5, 3), DEFAULT_PROFILE, overlays)


# --- cells and world ------------------------------------------------------------------------------

NO_CELLS: list[Any] = [
    (0.5, 0),
    (NAN, 0),
    (INF, 0),
    (1,),
    (1, 2, 3),
    (),
    "ab",
    "a",
    None,
    5,
    ("1", "2"),
    (None, None),
    ((1, 2), (3, 4)),
    {1: 2},
    (1j, 0),
]
OUTSIDE: list[Any] = [
    (-6, 3),
    (-1, 3),
    (-5, 2),
    (-5, 6),
    (0, 0),
    (HUGE, 3),
    (-HUGE, 3),
    (2**31, 3),
    (2**32 - 5, 3),
    (2**64 - 5, 3),
]


@pytest.mark.parametrize("cell", OUTSIDE)
def test_cells_outside_are_refused(cell: Any) -> None:
    grid = full_grid()
    before = state(grid)
    assert grid.contains(cell) is False
    for call in (
        lambda: grid.class_at(cell),
        lambda: grid.cost_at(cell),
        lambda: grid.set_cell(cell, 1),
        lambda: grid.set_cells([(-5, 3), cell], 1),
    ):
        with pytest.raises(CellError):
            call()
    with pytest.raises(InputError):
        grid.set_rectangle(cell, (1, 1), 1)
    assert state(grid) == before


@pytest.mark.parametrize("cell", NO_CELLS)
def test_what_is_no_cell_is_refused(cell: Any) -> None:
    grid = full_grid()
    before = state(grid)
    for call in (
        lambda: grid.class_at(cell),
        lambda: grid.cost_at(cell),
        lambda: grid.set_cell(cell, 1),
        lambda: grid.set_rectangle(cell, (1, 1), 1),
    ):
        with pytest.raises(InputError):
            call()
    assert state(grid) == before


def test_contains() -> None:
    grid = full_grid()
    inside = [(x, y) for y in range(10) for x in range(-9, 5) if grid.contains((x, y))]
    assert inside == [(x, y) for y in range(3, 6) for x in range(-5, -1)]
    assert grid.contains(np.array([-5, 3])) is True  # type: ignore[arg-type]


def test_the_identity_puts_world_points_at_centres() -> None:
    grid = full_grid()
    np.testing.assert_array_equal(grid.cell_to_world((2, -3)), [2.0, -3.0])
    points = [(0.0, 0.0), (0.49, -0.49), (0.51, -0.51), (-7.2, 100.4)]
    cells = grid.world_to_cell(points)
    assert cells.dtype == np.int32
    np.testing.assert_array_equal(cells, [(0, 0), (0, 0), (1, -1), (-7, 100)])


@pytest.mark.parametrize(
    "transform",
    [
        [[32.0, 0, 16], [0, 32, 16]],
        [[32.0, -32, 5], [16, 16, -7]],
        [[-2.0, 0.5, 0], [0.25, 3, 1000]],
    ],
)
@given(cells=st.lists(st.tuples(st.integers(-9999, 9999), st.integers(-9999, 9999)), min_size=1))
def test_world_and_cells_are_inverse(transform: list[list[float]], cells: list[ref.Cell]) -> None:
    grid = Grid(WALLS, transform=transform)
    matrix = np.array(transform)
    world = grid.cell_to_world(cells)
    assert world.dtype == np.float64
    for (x, y), point in zip(cells, world, strict=True):
        np.testing.assert_allclose(point, matrix @ (x, y, 1), rtol=1e-12)
    np.testing.assert_array_equal(grid.world_to_cell(world), cells)
    # Anything within less than half a cell of the centre belongs to the cell.
    nudged = world + matrix[:, :2] @ (0.49, -0.49)
    np.testing.assert_array_equal(grid.world_to_cell(nudged), cells)


def test_world_keeps_the_shape() -> None:
    grid = full_grid()
    assert grid.cell_to_world((1, 2)).shape == (2,)
    assert grid.cell_to_world(np.zeros((3, 5, 2), np.int32)).shape == (3, 5, 2)
    assert grid.world_to_cell((1.0, 2.0)).shape == (2,)
    assert grid.world_to_cell(np.zeros((0, 2))).shape == (0, 2)
    for bad in (np.zeros((2, 3)), 5.0, "ab"):
        with pytest.raises(InputError):
            grid.cell_to_world(bad)  # type: ignore[arg-type]
        with pytest.raises(InputError):
            grid.world_to_cell(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("point", [(NAN, 0.0), (0.0, INF), (1e300, 0.0), (3e9, 0.0)])
def test_points_that_no_cell_can_hold_are_refused(point: tuple[float, float]) -> None:
    with pytest.raises(InputError):
        full_grid().world_to_cell(point)


# --- edits ----------------------------------------------------------------------------------------


@given(
    sts.models(),
    st.lists(sts.cost_mappings(), min_size=1, max_size=3),
    st.lists(st.sampled_from(MODES), min_size=1, max_size=4, unique=True),
    st.data(),
)
def test_edits_leave_the_grid_as_if_built_anew(
    model: Model,
    mappings: list[dict[int, float]],
    modes: list[DiagonalMode],
    data: st.DataObject,
) -> None:
    grid = sts.grid_of(model)
    profiles = [Profile(mapping) for mapping in mappings]
    alive = [(profile, mode) for profile in profiles for mode in modes]
    for profile, mode in alive:
        grid.move_masks(profile, mode)
    for number in range(data.draw(st.integers(1, 5))):
        edit = data.draw(sts.edits(model))
        edit.apply_to_model(model)
        assert edit.apply_to_grid(grid) == number + 2
        assert grid.version == number + 2
        fresh = sts.grid_of(model)
        for profile, mode in alive:
            np.testing.assert_array_equal(
                grid.move_masks(profile, mode), fresh.move_masks(profile, mode)
            )
            np.testing.assert_array_equal(grid.blocked(profile), fresh.blocked(profile))
        assert grid.map_hash() == fresh.map_hash()
        np.testing.assert_array_equal(grid.classes, model.classes)
        assert (grid.cell_scale is None) == (model.cell_scale is None)
        if grid.cell_scale is not None:
            np.testing.assert_array_equal(grid.cell_scale, model.cell_scale)
        assert sorted(grid.layers) == sorted(model.layers)
        for name, layer in model.layers.items():
            np.testing.assert_array_equal(grid.layers[name], layer)
    profile, mode = data.draw(st.sampled_from(alive))
    table = np.asarray(profile.costs)
    np.testing.assert_array_equal(
        grid.move_masks(profile, mode), ref.move_masks(model, table, mode)
    )


def test_each_edit_makes_one_version() -> None:
    grid = full_grid()
    assert grid.set_cell((-5, 3), 9) == 2
    assert grid.set_cells([(-4, 3), (-3, 3)], 8) == 3
    assert grid.set_rectangle((-5, 4), (2, 2), [[1, 2], [3, 4]]) == 4
    assert grid.set_all(layers={"mud": 0.5}) == 5
    assert grid.remove_layer("mud") == 6
    assert grid.set_all(np.full((3, 4), 6)) == 7
    assert grid.version == 7


def test_a_version_comes_with_an_edit_that_changes_nothing() -> None:
    grid = full_grid()
    assert grid.set_cell((-5, 3), 0) == 2


def test_edits_write_where_they_say() -> None:
    grid = Grid.filled(5, 4, region_position=(-2, -1))
    grid.set_cell((2, 2), 255)
    assert grid.classes[3, 4] == 255
    grid.set_cells(np.array([(-2, -1), (0, 1)]), [7, 8], layers={"mud": [0.5, 1.5]})
    assert (grid.classes[0, 0], grid.classes[2, 2]) == (7, 8)
    assert (grid.layers["mud"][0, 0], grid.layers["mud"][2, 2]) == (0.5, 1.5)
    assert grid.layers["mud"].sum() == 2.0
    grid.set_rectangle((-1, 0), (3, 2), cell_scale=[[1, 2, 3], [4, 5, 6]])
    assert grid.cell_scale is not None
    np.testing.assert_array_equal(
        grid.cell_scale, [[1, 1, 1, 1, 1], [1, 1, 2, 3, 1], [1, 4, 5, 6, 1], [1, 1, 1, 1, 1]]
    )


def test_of_two_values_for_a_cell_the_later_stays() -> None:
    grid = Grid.filled(3, 3)
    grid.set_cells([(1, 1), (2, 2), (1, 1)], [255, 255, 4], cell_scale=[1.0, 2.0, 3.0])
    assert grid.class_at((1, 1)) == 4
    assert grid.cost_at((1, 1)) == 3.0
    fresh = Grid(grid.classes)
    for mode in MODES:
        np.testing.assert_array_equal(
            grid.move_masks(DEFAULT_PROFILE, mode), fresh.move_masks(DEFAULT_PROFILE, mode)
        )


def test_removing_a_layer_that_is_not_there_is_refused() -> None:
    grid = full_grid()
    before = state(grid)
    for name in ("none", None, 3):
        with pytest.raises(InputError):
            grid.remove_layer(name)  # type: ignore[arg-type]
    assert state(grid) == before


@pytest.mark.parametrize(
    "edit",
    [
        lambda g: g.set_cell((-5, 3), 256),
        lambda g: g.set_cell((-5, 3), -1),
        lambda g: g.set_cell((-5, 3), 1.5),
        lambda g: g.set_cell((-5, 3), "1"),
        lambda g: g.set_cell((-5, 3), HUGE),
        lambda g: g.set_cell((-5, 3), 1, cell_scale="2"),
        lambda g: g.set_cell((-5, 3), 1, cell_scale=[1, 2]),
        lambda g: g.set_cell((-5, 3), 1, cell_scale=10**400),
        lambda g: g.set_cell((-5, 3), 1, layers={"mud": None}),
        lambda g: g.set_cell((-5, 3), 1, layers={3: 1.0}),
        lambda g: g.set_cell((-5, 3), 1, layers=["mud"]),
        lambda g: g.set_cells([(-5, 3), (-4, 3)], [1]),
        lambda g: g.set_cells([(-5, 3), (-4, 3)], [1, 2, 3]),
        lambda g: g.set_cells([(-5, 3), (-4, 3)], [[1, 2]]),
        lambda g: g.set_cells([(-5, 3), (-4, 3)], [1, 2.5]),
        lambda g: g.set_cells([(-5, 3), (-4, 3)], [1, 2], cell_scale=[1]),
        lambda g: g.set_cells([(-5, 3), (-4, 3)], [1, 2], layers={"mud": [1, 2, 3]}),
        lambda g: g.set_cells([(-5, 3), (-4, 3)], [1, 2], layers={"mud": [1, 2], "a": [-1, 0]}),
        lambda g: g.set_cells([(-5.5, 3), (-4, 3)], 1),
        lambda g: g.set_cells([-5, 3], 1),
        lambda g: g.set_cells([(1, 2, 3)], 1),
        lambda g: g.set_cells("ab", 1),
        lambda g: g.set_cells(None, 1),
        lambda g: g.set_rectangle((-5, 3), (5, 1), 1),
        lambda g: g.set_rectangle((-5, 3), (1, 4), 1),
        lambda g: g.set_rectangle((-6, 3), (2, 1), 1),
        lambda g: g.set_rectangle((-5, 3), (HUGE, 1), 1),
        lambda g: g.set_rectangle((-5, 3), (2**32 + 1, 1), 1),
        lambda g: g.set_rectangle((-5, 3), (-1, 1), 1),
        lambda g: g.set_rectangle((-5, 3), (1.5, 1), 1),
        lambda g: g.set_rectangle((-5, 3), "ab", 1),
        lambda g: g.set_rectangle((-5, 3), (2, 1), [1, 2, 3]),
        lambda g: g.set_rectangle((-5, 3), (2, 1), [[1], [2]]),
        lambda g: g.set_rectangle((-5, 3), (2, 1), 300),
        lambda g: g.set_rectangle((-5, 3), (2, 1), 1, layers={"mud": [[1, NAN]]}),
        lambda g: g.set_all(np.zeros((4, 3), np.uint8)),
        lambda g: g.set_all(np.zeros((3, 4)) + 0.5),
        lambda g: g.set_all(-1),
        lambda g: g.set_all(0, cell_scale=-1.0),
        lambda g: g.set_all(0, cell_scale=np.ones((4, 3))),
        lambda g: g.set_all("abc"),
    ],
)
def test_a_bad_edit_changes_nothing(edit: Callable[[Any], object]) -> None:
    grid = full_grid()
    before = state(grid)
    with pytest.raises(InputError):
        edit(grid)
    assert state(grid) == before
    assert grid.set_cell((-5, 3), 1) == 2


# --- copies, hashes, memory -----------------------------------------------------------------------


def test_a_copy_goes_its_own_way() -> None:
    grid = full_grid()
    twin = grid.copy()
    assert twin.map_hash() == grid.map_hash()
    assert twin.region_position == (-5, 3)
    before = state(grid)
    twin.set_all(255, cell_scale=5.0, layers={"mud": 3.0, "new": 1.0})
    assert state(grid) == before
    mine = state(twin)
    grid.set_cell((-5, 3), 9)
    assert state(twin) == mine


def test_the_hash_tells_maps_apart() -> None:
    ones = np.ones(WALLS.shape, np.float32)
    grids = [
        Grid(WALLS),
        Grid(WALLS.reshape(4, 3)),
        Grid(WALLS.reshape(2, 6)),
        Grid(WALLS[::-1]),
        Grid(WALLS, region_position=(1, 0)),
        Grid(WALLS, region_position=(0, 1)),
        Grid(WALLS, cell_scale=ones * 2),
        Grid(WALLS, layers={"a": ones * 2}),
        Grid(WALLS, layers={"b": ones * 2}),
        Grid(WALLS, layers={"a": ones}),
        Grid(WALLS, layers={"a": ones, "b": ones * 2}),
        Grid(WALLS, layers={"a": ones * 2, "b": ones}),
        Grid(WALLS, transform=[[2, 0, 0], [0, 1, 0]]),
    ]
    hashes = [grid.map_hash() for grid in grids]
    assert len(set(hashes)) == len(grids)
    assert all(re.fullmatch("[0-9a-f]{64}", text) for text in hashes)


def test_the_hash_depends_on_the_content_alone() -> None:
    ones, twos = np.ones(WALLS.shape, np.float32), np.full(WALLS.shape, 2, np.float32)
    one = Grid(WALLS, layers={"a": ones, "b": twos})
    other = Grid(np.zeros_like(WALLS), layers={"b": twos})
    other.set_all(layers={"a": 1.0})
    other.set_all(WALLS)
    assert one.map_hash() == other.map_hash()
    before = one.map_hash()
    one.set_cell((0, 0), 5)
    assert one.map_hash() != before
    one.set_cell((0, 0), 0)
    assert one.map_hash() == before


def test_memory_is_counted_by_what_is_held() -> None:
    plain, rich = Grid.filled(64, 32), Grid.filled(64, 32)
    cells = 64 * 32
    before = sum(plain.memory_bytes().values())
    assert cells <= before < 3 * cells
    for profile in (DEFAULT_PROFILE, Profile({0: INF})):
        for mode in MODES:
            rich.move_masks(profile, mode)
    rich.set_all(cell_scale=2.0, layers={"mud": 1.0})
    held = sum(rich.memory_bytes().values())
    assert held >= before + 8 * cells + 8 * cells
    for name, size in rich.memory_bytes().items():
        assert isinstance(name, str)
        assert isinstance(size, int)
        assert size >= 0


@pytest.mark.parametrize(
    "copy_of", [copy.copy, copy.deepcopy, lambda grid: pickle.loads(pickle.dumps(grid))]
)
def test_copied_and_pickled_grids_share_nothing(copy_of: Callable[[Grid], Grid]) -> None:
    grid = full_grid()
    other = copy_of(grid)
    before = grid.map_hash()
    assert (other.map_hash(), other.version) == (before, 1)
    other.set_all(SOLID, cell_scale=3.0, layers={"mud": 4.0})
    assert grid.map_hash() == before


@pytest.mark.parametrize("cell", [None, 3, (1,), (1, 2, 3), "ab", (0.5, 4), (NAN, 4)])
def test_contains_refuses_what_is_no_cell(cell: Any) -> None:
    with pytest.raises(CellError, match=r"cell: .* is not a cell"):
        full_grid().contains(cell)


def test_unfit_arguments_are_refused_by_name() -> None:
    ragged: Any = [[True], [True, False]]
    with pytest.raises(InputError, match="blocked"):
        Grid.from_blocked(ragged)
    unhashable: Any = ["mud"]
    with pytest.raises(InputError, match="name"):
        full_grid().remove_layer(unhashable)
    costs: Any = {1: 2.0}
    with pytest.raises(InputError, match="profile"):
        full_grid().blocked(costs)


def test_names_of_layers_are_texts_that_can_be_written() -> None:
    for name in ("", "\udcff", 3, None):
        with pytest.raises(InputError, match=r"^layers: .* is not a layer's name"):
            Grid(WALLS, layers={name: np.zeros(WALLS.shape)})  # type: ignore[dict-item]
    assert Grid(WALLS, layers={"Gefahr \u26a0": np.zeros(WALLS.shape)}).map_hash()


def test_terrain_is_kept_until_its_arrays_are_others() -> None:
    grid = full_grid()
    movement = Movement(overlays={"mud": 2.0})
    terrain = grid.terrain(movement)
    grid.set_cell((-5, 3), 255, cell_scale=3.0, layers={"mud": 7.0})
    assert grid.terrain(movement) is terrain, "edits write into the arrays that it shows"
    assert terrain.layers[terrain.layer_rows[0], 0] == 7.0
    grid.set_cell((-5, 3), layers={"danger": 1.0})
    assert grid.terrain(movement) is not terrain
    terrain = grid.terrain(movement)
    grid.remove_layer("danger")
    assert grid.terrain(movement).layers.shape == (1, grid.size)
    grid.remove_layer("mud")
    with pytest.raises(InputError, match="is not a layer of the grid"):
        grid.terrain(movement)
    plain = Grid(WALLS)
    assert plain.terrain(Movement()).cell_scale.size == 0
    plain.set_all(cell_scale=2.0)
    assert plain.terrain(Movement()).cell_scale.size == plain.size


def test_few_terrains_are_kept() -> None:
    grid = Grid(WALLS)
    movements = [Movement(Profile({1: 1.0 + i})) for i in range(40)]
    first = grid.terrain(movements[0])
    last = [grid.terrain(movement) for movement in movements][-1]
    assert grid.terrain(movements[-1]) is last
    assert grid.terrain(movements[0]) is not first
    for i, movement in enumerate(movements):
        assert grid.terrain(movement).class_costs[1] == 1.0 + i


def test_terrain_goes_with_its_masks() -> None:
    grid = Grid(WALLS)
    terrain = grid.terrain(Movement())
    masks = weakref.ref(terrain.masks.base)
    grid.derived.max_bytes = 1
    del terrain
    grid.move_masks(DEFAULT_PROFILE, DiagonalMode.NEVER)
    gc.collect()
    assert masks() is None
