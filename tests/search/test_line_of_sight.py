from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.grid import DiagonalMode, Grid, Profile
from navserver.search.line_of_sight import line_of_sight, raycast, raycasts
from navserver.status import CellError, InputError
from tests import reference as ref
from tests import reference_lines as lines
from tests import strategies as sts

MODES = list(DiagonalMode)


def grid_of_text(text: str) -> Grid:
    return Grid.from_blocked(np.array([[c == "#" for c in row] for row in text.split()]))


@given(sts.models(16, plain=True), sts.cost_mappings(), st.sampled_from(MODES), st.data())
def test_against_exact_geometry(
    model: ref.Model, mapping: dict[int, float], mode: DiagonalMode, data: st.DataObject
) -> None:
    free = ref.cell_costs(model, sts.table(mapping))
    grid, profile = sts.grid_of(model), Profile(mapping)
    pairs = data.draw(
        st.lists(st.tuples(sts.cells(model), sts.cells(model)), min_size=1, max_size=8)
    )
    starts = np.array([a for a, _ in pairs], np.int32)
    goals = np.array([b for _, b in pairs], np.int32)
    seen = line_of_sight(grid, starts, goals, profile=profile, diagonal_mode=mode)
    assert isinstance(seen, np.ndarray)
    assert seen.dtype == np.bool_
    expected = [ref.line_of_sight(free, a, b, mode) for a, b in pairs]
    assert seen.tolist() == expected
    back = line_of_sight(grid, goals, starts, profile=profile, diagonal_mode=mode)
    assert isinstance(back, np.ndarray)
    assert back.tolist() == expected
    single = line_of_sight(grid, *pairs[0], profile=profile, diagonal_mode=mode)
    assert single is expected[0]


@pytest.mark.parametrize("mode", MODES)
def test_every_segment_past_one_wall(mode: DiagonalMode) -> None:
    side = 6
    ends = np.array(list(itertools.product(range(side), repeat=4)), np.int32)
    for wall in [(2, 2), (3, 1), (0, 4)]:
        blocked = np.zeros((side, side), bool)
        blocked[wall[1], wall[0]] = True
        free = {cell for cell in itertools.product(range(side), repeat=2) if cell != wall}
        seen = line_of_sight(
            Grid.from_blocked(blocked), ends[:, :2], ends[:, 2:], diagonal_mode=mode
        )
        for (ax, ay, bx, by), answer in zip(ends.tolist(), seen, strict=True):
            assert answer == ref.line_of_sight(free, (ax, ay), (bx, by), mode), (
                f"{(ax, ay)} to {(bx, by)} past {wall}"
            )


@pytest.mark.parametrize(
    ("text", "goal", "seeing"),
    [
        ("..", (1, 0), set(MODES)),
        (".#.", (2, 0), set()),
        (".# ..", (1, 1), {DiagonalMode.ALWAYS, DiagonalMode.AT_LEAST_ONE_WALKABLE}),
        (".# #.", (1, 1), {DiagonalMode.ALWAYS}),
        (".. ..", (1, 1), set(MODES)),
        ("..## ##..", (3, 1), {DiagonalMode.ALWAYS}),
        (".## ...", (2, 1), set()),
    ],
)
def test_corners_obey_the_diagonal_mode(
    text: str, goal: ref.Cell, seeing: set[DiagonalMode]
) -> None:
    grid = grid_of_text(text)
    for mode in MODES:
        assert line_of_sight(grid, (0, 0), goal, diagonal_mode=mode) is (mode in seeing)
        assert line_of_sight(grid, goal, (0, 0), diagonal_mode=mode) is (mode in seeing)


def test_a_cell_sees_itself_unless_it_is_a_wall() -> None:
    grid = grid_of_text(".#")
    assert line_of_sight(grid, (0, 0), (0, 0)) is True
    assert line_of_sight(grid, (1, 0), (1, 0)) is False
    assert line_of_sight(grid, (0, 0), (1, 0)) is False
    assert line_of_sight(grid, (1, 0), (0, 0)) is False


def test_ends_outside_the_map_are_refused() -> None:
    grid = Grid.filled(4, 3, region_position=(-2, -1))
    assert line_of_sight(grid, (-2, -1), (1, 1)) is True
    for outside in [(2, 0), (-3, 0), (0, 2), (0, -2)]:
        with pytest.raises(CellError):
            line_of_sight(grid, outside, (0, 0))
        with pytest.raises(CellError):
            line_of_sight(grid, (0, 0), outside)
        with pytest.raises(CellError):
            line_of_sight(grid, np.array([(0, 0), outside]), np.array([(0, 0), (0, 0)]))


def test_arrays_of_unequal_length_are_refused() -> None:
    grid = Grid.filled(4, 3)
    with pytest.raises(InputError):
        line_of_sight(grid, np.zeros((2, 2), np.int32), np.zeros((3, 2), np.int32))


def test_no_segments_give_no_answers() -> None:
    none = np.zeros((0, 2), np.int32)
    seen = line_of_sight(Grid.filled(4, 3), none, none)
    assert isinstance(seen, np.ndarray)
    assert seen.shape == (0,)


def test_it_follows_edits() -> None:
    grid = Grid.filled(9, 3)
    assert line_of_sight(grid, (0, 0), (8, 2)) is True
    grid.set_cell((4, 1), 255)
    assert line_of_sight(grid, (0, 0), (8, 2)) is False
    grid.set_cell((4, 1), 0)
    assert line_of_sight(grid, (0, 0), (8, 2)) is True


@pytest.mark.slow
def test_the_longest_segments_are_exact() -> None:
    side = 8192
    grid = Grid.filled(side, 3)
    assert line_of_sight(grid, (0, 0), (side - 1, 2)) is True
    free = {(x, y) for x in range(side) for y in range(3)}
    for wall in [(2047, 0), (2048, 1), (2048, 0), (2047, 1), (6143, 1), (6143, 2), (6142, 2)]:
        grid.set_cell(wall, 255)
        free.remove(wall)
        for a, b in [((0, 0), (side - 1, 2)), ((side - 1, 2), (0, 0)), ((0, 1), (side - 1, 2))]:
            expected = ref.line_of_sight(free, a, b, DiagonalMode.ONLY_IF_NO_OBSTACLES)
            assert line_of_sight(grid, a, b) is expected, f"{a} to {b} past {wall}"
        free.add(wall)
        grid.set_cell(wall, 0)


# --- walking rays ---------------------------------------------------------------------------------

STEP = Fraction(1, 65536)
# Borders, corners and centres often, else somewhere on the lattice.
SHARES = st.one_of(
    st.sampled_from([Fraction(n, 4) for n in (-2, -1, 0, 1)]),
    st.integers(-32768, 32767).map(lambda n: n * STEP),
)


@st.composite
def points(draw: st.DrawFn, model: ref.Model) -> lines.Point:
    x, y = draw(sts.cells(model))
    return x + draw(SHARES), y + draw(SHARES)


def as_floats(point: lines.Point) -> tuple[float, float]:
    return float(point[0]), float(point[1])


def as_point(point: tuple[float, float]) -> lines.Point:
    return Fraction(point[0]), Fraction(point[1])


@given(sts.models(12, plain=True), sts.cost_mappings(), st.sampled_from(MODES), st.data())
def test_rays_against_exact_geometry(
    model: ref.Model, mapping: dict[int, float], mode: DiagonalMode, data: st.DataObject
) -> None:
    free = ref.cell_costs(model, sts.table(mapping))
    options: dict[str, Any] = {"profile": Profile(mapping), "diagonal_mode": mode}
    grid = sts.grid_of(model)
    pairs = data.draw(st.lists(st.tuples(points(model), points(model)), min_size=1, max_size=8))
    for a, b in pairs:
        expected = lines.walk(free, a, b, mode)
        hit = raycast(grid, as_floats(a), as_floats(b), **options)
        assert hit.reached is expected.reached
        assert hit.cell == expected.hit
        assert hit.normal == expected.normal
        last = as_point(hit.point)
        if hit.reached:
            assert last == b
            continue
        if lines.owner(a) not in free:
            assert last == a
            continue
        back = lines.walk(free, a, last, mode)
        assert back.reached
        assert raycast(grid, as_floats(a), hit.point, **options).reached
        # The point lies on the segment but for rounding, and not beyond where it was stopped.
        delta = (b[0] - a[0], b[1] - a[1])
        length = math.hypot(*delta)
        off = delta[0] * (last[1] - a[1]) - delta[1] * (last[0] - a[0])
        assert abs(off) / length <= 3 * STEP
        along = ((last[0] - a[0]) * delta[0] + (last[1] - a[1]) * delta[1]) / length
        assert along <= expected.time * length + 3 * STEP


@given(sts.models(12, plain=True), st.sampled_from(MODES), st.data())
def test_rays_between_centres_are_lines_of_sight(
    model: ref.Model, mode: DiagonalMode, data: st.DataObject
) -> None:
    grid = sts.grid_of(model)
    pairs = data.draw(
        st.lists(st.tuples(sts.cells(model), sts.cells(model)), min_size=1, max_size=8)
    )
    starts, goals = np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])
    hits = raycasts(grid, starts, goals, diagonal_mode=mode)
    seen = line_of_sight(grid, starts, goals, diagonal_mode=mode)
    assert isinstance(seen, np.ndarray)
    assert hits.reached.tolist() == seen.tolist()
    assert [column.dtype for column in hits] == [np.bool_, np.float64, np.int32, np.int8]
    for i, (a, b) in enumerate(pairs):
        hit = raycast(grid, a, b, diagonal_mode=mode)
        assert hit.reached is bool(hits.reached[i])
        assert hit.point == tuple(hits.points[i].tolist())
        assert hit.cell == tuple(hits.cells[i].tolist())
        assert hit.normal == tuple(hits.normals[i].tolist())


@pytest.mark.parametrize(
    ("end", "point", "cell", "normal"),
    [
        ((4.0, 1.0), (2.5 - 2**-16, 1.0), (3, 1), (-1, 0)),
        ((-3.0, 1.0), (-0.5, 1.0), (-1, 1), (1, 0)),
        ((1.0, -5.0), (1.0, -0.5), (1, -1), (0, 1)),
        ((1.0, 9.0), (1.0, 2.5 - 2**-16), (1, 3), (0, -1)),
        ((1.0, 1e300), (1.0, 2.5 - 2**-16), (1, 3), (0, -1)),
        ((-1e300, 1e300), (-0.5, 2.5 - 2**-16), (-1, 2), (1, 0)),
    ],
)
def test_the_wall_that_stops_a_ray(
    end: tuple[float, float], point: tuple[float, float], cell: ref.Cell, normal: ref.Cell
) -> None:
    grid = grid_of_text("...# ...# ...#")
    hit = raycast(grid, (1.0, 1.0), end)
    assert hit == (False, point, cell, normal)
    moved = Grid(grid.classes, region_position=(-7, 90))
    there = raycast(moved, (-6.0, 91.0), (end[0] - 7, end[1] + 90))
    assert there.point == (point[0] - 7, point[1] + 90)
    assert there.cell == (cell[0] - 7, cell[1] + 90)


@pytest.mark.parametrize("mode", MODES)
def test_a_ray_through_corners_ends_just_before_the_wall(mode: DiagonalMode) -> None:
    hits = []
    for text in [".#... ..... ..... ..... ....#", ".#... #.... ..... ..... ....#"]:
        hit = raycast(grid_of_text(text), (0.0, 0.0), (4.0, 4.0), diagonal_mode=mode)
        hits.append((hit.point[0], hit.cell, hit.normal))
        # On the diagonal: rounding may not carry the ray past the closed side of the corner.
        assert hit.point[0] == hit.point[1]
    at_corner = (0.5 - 2**-16, (1, 0), (-1, 0))
    at_wall = (3.5 - 2**-16, (4, 4), (-1, -1))
    assert hits[0] == (
        at_wall if mode in (DiagonalMode.ALWAYS, DiagonalMode.AT_LEAST_ONE_WALKABLE) else at_corner
    )
    assert hits[1] == (at_wall if mode == DiagonalMode.ALWAYS else at_corner)


def test_a_border_belongs_to_the_cell_right_of_it_or_below() -> None:
    grid = grid_of_text("... .#. ...")
    assert raycast(grid, (0.5, -0.5), (0.5, 2.4)).cell == (1, 1)
    assert raycast(grid, (1.5, -0.5), (1.5, 2.4)).reached
    assert raycast(grid, (-0.5, 0.5), (2.4, 0.5)).cell == (1, 1)
    assert raycast(grid, (-0.5, 1.5), (2.4, 1.5)).reached
    nearly = 0.5 - 2**-17
    assert raycast(grid, (nearly, -0.5), (nearly, 2.4)).reached


def test_rays_in_world_units() -> None:
    transform = [[16.0, 0.0, 8.0], [0.0, 16.0, 8.0]]
    grid = Grid(grid_of_text("...# ...#").classes, transform=transform)
    hit = raycast(grid, (8.0, 8.0), (100.0, 8.0), world=True)
    assert hit == (False, (48.0 - 2**-12, 8.0), (3, 0), (-1, 0))
    assert raycast(grid, (8.0, 8.0), (40.0, 8.0), world=True).reached


def test_rays_that_cannot_be_walked_are_refused() -> None:
    grid = Grid.filled(4, 3, region_position=(-2, -1))
    for outside in [(-2.6, 0.0), (1.5, 0.0), (0.0, 1.5), (0.0, -1.6), (1e300, 0.0)]:
        with pytest.raises(CellError, match=r"^start: .* is not a point of the map; start a ray"):
            raycast(grid, outside, (0.0, 0.0))
        with pytest.raises(CellError, match=r"^starts\[1\]: "):
            raycasts(grid, [(0.0, 0.0), outside], [(0.0, 0.0), (0.0, 0.0)])
    for bad in [(math.nan, 0.0), (0.0, math.inf)]:
        with pytest.raises(InputError, match=r"^end: .* is not finite; give finite numbers$"):
            raycast(grid, (0.0, 0.0), bad)
        with pytest.raises(InputError, match=r"^start: .* is not a point of the map"):
            raycast(grid, bad, (0.0, 0.0))
        with pytest.raises(InputError, match=r"ends\[1\]"):
            raycasts(grid, [(0, 0), (0, 0)], [(0, 0), bad], world=True)
    with pytest.raises(InputError):
        raycasts(grid, [(0.0, 0.0)], [(0.0, 0.0), (1.0, 0.0)])
    with pytest.raises(InputError):
        raycasts(grid, [[(0.0, 0.0)]], [[(0.0, 0.0)]])
    with pytest.raises(InputError, match=r"^end: "):
        raycast(grid, (0.0, 0.0), [(0.0, 0.0)])  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^world: "):
        raycast(grid, (0.0, 0.0), (0.0, 0.0), world="yes")  # type: ignore[arg-type]
    assert raycasts(grid, [], []).points.shape == (0, 2)
    # Just right of the last border as far as floats can tell.
    with pytest.raises(CellError):
        raycast(Grid.filled(1, 1), (0.49999999999999994, 0.0), (0.0, 0.0))


def test_rays_take_arrays_that_cannot_be_written() -> None:
    ends = np.array([[2.0, 0.0]])
    ends.flags.writeable = False
    assert raycasts(Grid.filled(3, 1), ends, ends).reached.tolist() == [True]


@pytest.mark.slow
def test_the_longest_rays_are_exact() -> None:
    side = 8192
    grid = Grid.filled(side, 2)
    end = (side - 0.5 - 2**-16, 0.5)
    assert raycast(grid, (-0.5, 0.5 - 2**-16), end).reached
    # The ray rises by one step of the lattice, right at the end.
    grid.set_cell((side - 1, 1), 255)
    hit = raycast(grid, (-0.5, 0.5 - 2**-16), end)
    assert hit == (False, (end[0], 0.5 - 2**-16), (side - 1, 1), (0, -1))
