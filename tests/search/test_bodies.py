"""Bodies of many cells: where they fit, before and after edits, and the paths they find."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from navserver.search import bodies
from navserver.search.astar import find_path
from navserver.search.clearance import distance_to_wall, fits
from navserver.search.grid import Grid, Profile
from navserver.search.line_of_sight import line_of_sight
from navserver.search.movement import MAX_BODY, Movement
from navserver.search.moves import DiagonalMode
from navserver.status import InputError
from tests import reference as ref
from tests import strategies as my
from tests.bodies import check_result, space_cells
from tests.reference import Cell, Model
from tests.reference_bodies import body_cells, disc_cells, square_cells

#: A size and a radius in cells; one of them says nothing.
BODIES: list[tuple[int, float]] = [
    *[(1, 0.0), (2, 0.0), (3, 0.0), (5, 0.0), (MAX_BODY, 0.0)],
    *[(1, 0.5), (1, 1.0), (1, 1.5), (1, 2.0), (1, 2.5), (1, 4.0), (1, float(MAX_BODY))],
]
bodies_of = st.sampled_from(BODIES)


def open_cells(model: Model, mapping: dict[int, float]) -> set[Cell]:
    return set(ref.cell_costs(model, my.table(mapping)))


@pytest.mark.parametrize(("size", "radius"), BODIES)
@given(model=my.models(12, plain=True), costs=my.cost_mappings())
def test_a_body_fits_where_the_definition_says(
    size: int, radius: float, model: Model, costs: dict[int, float]
) -> None:
    grid = my.grid_of(model)
    options: dict[str, Any] = {"profile": Profile(costs), "size": size, "radius": radius}
    expected = body_cells(model, open_cells(model, costs), size, radius)
    assert space_cells(grid, **options) == expected
    cells = model.cells()
    assert fits(grid, cells, **options).tolist() == [cell in expected for cell in cells]
    assert fits(grid, cells[-1], **options) is (cells[-1] in expected)


@given(st.data())
def test_a_body_fits_after_edits_as_if_built_anew(data: st.DataObject) -> None:
    model = data.draw(my.models(14))
    grid = my.grid_of(model)
    chosen = data.draw(st.lists(bodies_of, min_size=1, max_size=4))
    costs = data.draw(my.cost_mappings())
    modes = data.draw(st.lists(st.sampled_from(DiagonalMode), min_size=1, max_size=2))
    movements = [
        Movement(Profile(costs), mode, size=size, radius=radius)
        for size, radius in chosen
        for mode in modes
    ]
    for movement in movements:
        grid.terrain(movement)
    for _ in range(data.draw(st.integers(1, 6))):
        edit = data.draw(my.edits(model))
        edit.apply_to_model(model)
        edit.apply_to_grid(grid)
        anew = my.grid_of(model)
        for movement in movements:
            kept, built = grid.space(movement), anew.space(movement)
            np.testing.assert_array_equal(kept.cells, built.cells)
            np.testing.assert_array_equal(
                grid.terrain(movement).masks, anew.terrain(movement).masks
            )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cells", "rectangle"])
@pytest.mark.parametrize(
    ("size", "radius"), [(2, 0.0), (7, 0.0), (32, 0.0), (1, 1.0), (1, 6.5), (1, 32.0)]
)
def test_edits_of_a_large_map_reach_as_far_as_the_body(size: int, radius: float, kind: str) -> None:
    """Edits that are small against the map take the way of windows, not of building anew."""
    random = np.random.default_rng([size, int(2 * radius), kind == "cells"])
    blocked = np.kron(random.random((19, 23)) < 0.1, np.ones((16, 16), np.bool_))
    grid = Grid.from_blocked(blocked, region_position=(-50, 7))
    movement = Movement(size=size, radius=radius)
    kept = grid.terrain(movement)
    for _ in range(12):
        if kind == "cells":
            n_cells = int(random.integers(1, 60))
            spread = int(random.choice([5, 40, 300]))
            corner = random.integers(0, [grid.width, grid.height])
            cells = (corner + random.integers(0, spread, (n_cells, 2))) % [
                grid.width,
                grid.height,
            ]
            grid.set_cells(cells + np.array([-50, 7]), random.choice([0, 255], n_cells))
        else:
            extent = random.integers(1, 20, 2)
            corner = random.integers(0, [grid.width, grid.height] - extent)
            grid.set_rectangle(
                tuple(corner + np.array([-50, 7])), tuple(extent), int(random.choice([0, 255]))
            )
        anew = grid.copy().terrain(movement)
        np.testing.assert_array_equal(kept.space, anew.space)
        np.testing.assert_array_equal(kept.masks, anew.masks)


def test_what_is_held_is_bounded() -> None:
    grid = Grid.filled(50, 50)
    grid.derived.max_bytes = 5 * grid.size
    for radius in np.linspace(0.6, 20.0, 60):
        fits(grid, (3, 3), radius=float(radius))
        assert grid.memory_bytes()["derived"] <= grid.derived.max_bytes
    for size in range(1, 20):
        grid.terrain(Movement(size=size))
        assert grid.memory_bytes()["derived"] <= grid.derived.max_bytes


# World units


def rotation(angle: float) -> NDArray[np.float64]:
    return np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])


@pytest.mark.parametrize("scale", [16.0, 0.1, 0.2, 64.0, 3.7])
@pytest.mark.parametrize("angle", [0.0, 0.3, math.pi / 2, 2.0])
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_similarity_scales_the_radius(scale: float, angle: float, mirrored: bool) -> None:
    linear = scale * rotation(angle) @ np.diag([1.0, -1.0 if mirrored else 1.0])
    transform = np.column_stack([linear, [100.0, -7.0]])
    blocked = np.random.default_rng(3).random((30, 31)) < 0.06
    plain, scaled = Grid.from_blocked(blocked), Grid.from_blocked(blocked, transform=transform)
    for radius in (0.5, 1.0, 1.5, 2.5, math.sqrt(0.5), 3.2):
        assert space_cells(scaled, radius=radius * scale) == space_cells(plain, radius=radius)
    np.testing.assert_allclose(
        distance_to_wall(scaled), scale * np.asarray(distance_to_wall(plain))
    )


@pytest.mark.parametrize(
    "transform",
    [
        [[32.0, -32.0, 0.0], [16.0, 16.0, 0.0]],
        [[10.0, 0.0, 5.0], [0.0, 2.5, 5.0]],
        [[1.0, 0.9, 0.0], [0.0, 1.0, 0.0]],
    ],
)
def test_under_other_transforms_a_body_never_touches_a_wall(transform: Any) -> None:
    random = np.random.default_rng(4)
    blocked = random.random((20, 20)) < 0.08
    grid = Grid.from_blocked(blocked, transform=transform)
    linear = np.array(transform)[:, :2]
    smallest = float(np.linalg.svd(linear, compute_uv=False)[-1])
    assert bodies.cell_scale_of(grid.transform) == pytest.approx(smallest, rel=1e-12)
    # The ring around the map comes first in the padded array.
    walls = np.argwhere(np.pad(blocked, 1, constant_values=True))[:, ::-1] - 1.0
    along = np.linspace(-0.5, 0.5, 9)
    edge = np.array([(a, b) for a in along for b in along if 0.5 in (abs(a), abs(b))])
    points = (walls[:, None] + edge).reshape(-1, 2)
    for radius_in_cells in (0.6, 1.0, 1.6):
        radius = radius_in_cells * smallest
        cells = space_cells(grid, radius=radius)
        assert cells
        for cell in cells:
            away = np.linalg.norm((points - cell) @ linear.T, axis=1)
            assert away.min() >= radius * (1 - 1e-9)


def test_rounding_of_the_transform_is_forgiven() -> None:
    grid = Grid.filled(5, 5, transform=[[0.2, 0.0, 0.0], [0.0, 0.2, 0.0]])
    assert 0.3 / 0.2 != 1.5
    assert fits(grid, (1, 1), radius=0.3) is True
    for scale in (0.1, 0.7, 1.1, 1 / 3):
        grid = Grid.filled(5, 5, transform=[[scale, 0.0, 0.0], [0.0, scale, 0.0]])
        assert fits(grid, (1, 1), radius=1.5 * scale * (1 + 2e-16)) is True
        assert fits(grid, (1, 1), radius=1.5 * scale * (1 + 1e-9)) is False


# Errors


@pytest.mark.parametrize(
    ("options", "field", "remedy"),
    [
        ({"size": 0}, "size", "1 to 32"),
        ({"size": -3}, "size", "1 to 32"),
        ({"size": MAX_BODY + 1}, "size", "1 to 32"),
        ({"size": 1.5}, "size", "1 to 32"),
        ({"size": "2"}, "size", "1 to 32"),
        ({"size": None}, "size", "1 to 32"),
        ({"radius": -0.1}, "radius", ">= 0"),
        ({"radius": math.nan}, "radius", ">= 0"),
        ({"radius": math.inf}, "radius", ">= 0"),
        ({"radius": "1"}, "radius", ">= 0"),
        ({"size": 2, "radius": 1.0}, "radius", "leave out one"),
    ],
)
def test_unfit_bodies_are_refused(options: dict[str, Any], field: str, remedy: str) -> None:
    with pytest.raises(InputError, match=remedy) as caught:
        Movement(**options)
    assert caught.value.field == field


def test_a_disc_larger_than_the_cap_is_refused_with_the_largest_one() -> None:
    grid = Grid.filled(9, 9, transform=[[16.0, 0.0, 0.0], [0.0, 16.0, 0.0]])
    assert fits(grid, (4, 4), radius=32.0 * 16.0) is False
    with pytest.raises(InputError, match=r"radius: 512\.5 is 32\.03.* cells .* at most 512 world"):
        fits(grid, (4, 4), radius=512.5)
    with pytest.raises(InputError, match="radius"):
        find_path(grid, (0, 0), (1, 1), radius=1e300)


# Searches of bodies


@pytest.mark.parametrize(("size", "radius"), [(2, 0.0), (3, 0.0), (1, 1.0), (1, 1.5)])
@given(query=my.queries(14))
def test_paths_of_bodies_are_optimal(size: int, radius: float, query: my.Query) -> None:
    grid = my.grid_of(query.model)
    options: dict[str, Any] = query.options()
    costs = query.costs()
    room = body_cells(query.model, set(costs), size, radius)
    costs = {cell: cost for cell, cost in costs.items() if cell in room}
    result = find_path(grid, query.start, query.goal, size=size, radius=radius, **options)
    check_result(result, costs, query)


def test_a_wide_body_takes_the_wide_way() -> None:
    rows = [
        "......#......",
        "......#......",
        "......#......",
        ".............",
        "......#......",
        "......#......",
        "......#......",
        ".............",
        ".............",
    ]
    grid = Grid.from_blocked(np.array([[c == "#" for c in row] for row in rows]))
    assert find_path(grid, (0, 3), (12, 3)).cost == 12.0
    wide = find_path(grid, (0, 3), (11, 3), size=2)
    assert wide.found
    assert wide.cost > 12.0
    assert not find_path(grid, (0, 3), (11, 3), size=3).found
    assert not line_of_sight(grid, (0, 3), (11, 3), size=2)
    round_one = find_path(grid, (1, 1), (11, 1), radius=0.6)
    assert not round_one.found
    assert find_path(grid, (1, 1), (11, 1), radius=0.5).found


def test_oracles_agree_on_small_bodies() -> None:
    """A disc of half a cell is a cell, and a square of one."""
    model = Model((np.random.default_rng(1).random((7, 8)) < 0.3).astype(np.uint8) * 255)
    walkable = open_cells(model, {})
    assert disc_cells(model, walkable, 0.5) == walkable == square_cells(walkable, 1)
