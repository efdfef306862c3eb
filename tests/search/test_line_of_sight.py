from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.grid import DiagonalMode, Grid, Profile
from navserver.search.line_of_sight import line_of_sight
from navserver.status import CellError, InputError
from tests import reference as ref
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
