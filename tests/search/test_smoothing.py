from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.astar import find_path
from navserver.search.costs import CostModel
from navserver.search.grid import DiagonalMode, Grid, Profile
from navserver.search.line_of_sight import line_of_sight, raycast
from navserver.search.smoothing import (
    pull_string,
    pull_strings,
    round_path,
    round_paths,
    simplify_path,
    simplify_paths,
)
from navserver.status import CellError, InputError
from tests import reference as ref
from tests import reference_lines as lines
from tests import strategies as sts
from tests.reference_bodies import body_cells

MODES = list(DiagonalMode)


def grid_of_text(text: str) -> Grid:
    return Grid.from_blocked(np.array([[c == "#" for c in row] for row in text.split()]))


def found(grid: Grid, query: sts.Query) -> list[ref.Cell]:
    result = find_path(grid, query.start, query.goal, allow_partial=True, **query.options())
    return ref.as_cells(result.cells)


def length(cells: list[ref.Cell]) -> float:
    return math.fsum(math.dist(a, b) for a, b in pairwise(cells))


def is_part_of(part: list[ref.Cell], whole: list[ref.Cell]) -> bool:
    rest = iter(whole)
    return all(cell in rest for cell in part)


# --- string pulling -------------------------------------------------------------------------------


@given(sts.queries(16), st.booleans())
def test_pulling_follows_its_rule(query: sts.Query, keep_costs: bool) -> None:
    grid, costs = sts.grid_of(query.model), query.costs()
    cells = found(grid, query)
    pulled = pull_string(grid, cells, keep_costs=keep_costs, **query.options())
    assert pulled.dtype == np.int32
    ours = ref.as_cells(pulled)
    if not cells:
        assert ours == []
        return
    mode, model = query.diagonal_mode, query.cost_model
    assert ours == lines.pull(costs, cells, mode, model, keep_costs=keep_costs)
    assert is_part_of(ours, cells)
    assert (ours[0], ours[-1]) == (cells[0], cells[-1])
    assert length(ours) <= length(cells) * (1 + 1e-12)
    for a, b in pairwise(ours):
        assert ref.line_of_sight(costs, a, b, mode)
    if keep_costs:
        before = math.fsum(lines.line_cost(costs, a, b, model) for a, b in pairwise(cells))
        after = math.fsum(lines.line_cost(costs, a, b, model) for a, b in pairwise(ours))
        assert after <= before * (1 + 1e-9)


BODIES = st.sampled_from([{"size": 2}, {"size": 3}, {"radius": 0.6}, {"radius": 1.0}])


@given(sts.models(16, plain=True), BODIES, st.sampled_from(MODES), st.data())
def test_larger_bodies_keep_off_the_walls(
    model: ref.Model, body: dict[str, Any], mode: DiagonalMode, data: st.DataObject
) -> None:
    costs = ref.cell_costs(model, sts.table())
    room = body_cells(model, set(costs), body.get("size", 1), body.get("radius", 0.0))
    free = {cell: costs[cell] for cell in costs if cell in room}
    if not free:
        return
    grid, options = sts.grid_of(model), {"diagonal_mode": mode, **body}
    start, goal = data.draw(st.tuples(*[st.sampled_from(sorted(free))] * 2))
    cells = ref.as_cells(find_path(grid, start, goal, allow_partial=True, **options).cells)
    pulled = ref.as_cells(pull_string(grid, cells, **options))
    assert pulled == lines.pull(free, cells, mode, ref.ENTERED, keep_costs=False)
    points = round_path(grid, pulled, samples=4, **options)
    exact = [(Fraction(x), Fraction(y)) for x, y in points.tolist()]
    check_curve(free, pulled, exact, mode, 4)
    hit = raycast(grid, start, goal, **options)
    assert hit.reached is ref.line_of_sight(free, start, goal, mode)
    last = (Fraction(hit.point[0]), Fraction(hit.point[1]))
    assert lines.walk(free, _centre(start), last, mode).reached


@given(sts.queries(20), st.sampled_from(MODES), st.data())
def test_pulling_follows_edits(query: sts.Query, mode: DiagonalMode, data: st.DataObject) -> None:
    grid, model = sts.grid_of(query.model), query.model.copy()
    options: dict[str, Any] = {"profile": query.profile, "diagonal_mode": mode}
    for _ in range(3):
        edit = data.draw(sts.edits(model))
        edit.apply_to_model(model)
        edit.apply_to_grid(grid)
        cells = find_path(grid, query.start, query.goal, allow_partial=True, **options).cells
        fresh = Grid(model.classes, **model.keywords())
        assert (
            pull_string(grid, cells, **options).tolist()
            == pull_string(fresh, cells, **options).tolist()
        )
        assert (
            round_path(grid, cells, **options).tolist()
            == round_path(fresh, cells, **options).tolist()
        )


def test_a_straight_line_stays_cheap_where_the_path_went_around_mud() -> None:
    classes = np.zeros((7, 9), np.uint8)
    classes[0:6, 4] = 1
    grid, profile = Grid(classes), Profile({1: 50.0})
    cells = find_path(grid, (0, 0), (8, 0), profile=profile).cells
    assert (4, 6) in ref.as_cells(cells)
    kept = ref.as_cells(pull_string(grid, cells, profile=profile))
    for a, b in pairwise(kept):
        crossed = [cell for cell, _, _ in lines.visited(_centre(a), _centre(b))]
        assert all(y == 6 for x, y in crossed if x == 4)
    assert len(kept) < len(cells)
    across = pull_string(grid, cells, profile=profile, keep_costs=False)
    assert across.tolist() == [[0, 0], [8, 0]]


def _centre(cell: ref.Cell) -> lines.Point:
    return Fraction(cell[0]), Fraction(cell[1])


@pytest.mark.parametrize("cost_model", list(CostModel))
def test_straight_stretches_over_changing_costs_are_pulled(cost_model: CostModel) -> None:
    scale = np.array([[7.0, 1.0, 0.1, 3.0, 0.0, 9.0, 2.5]], np.float32)
    grid = Grid(np.zeros(scale.shape, np.uint8), cell_scale=scale)
    cells = [(x, 0) for x in range(7)]
    pulled = pull_string(grid, cells, cost_model=cost_model)
    assert pulled.tolist() == [[0, 0], [6, 0]]


def test_a_path_through_walls_keeps_its_steps_there() -> None:
    grid = grid_of_text("...#...")
    cells = [(x, 0) for x in range(7)]
    assert pull_string(grid, cells).tolist() == [[0, 0], [2, 0], [3, 0], [4, 0], [6, 0]]
    points = round_path(grid, cells, samples=2).tolist()
    assert points == [[x, 0] for x in (0, 0.5, 1, 1.5, 2, 3, 4, 4.5, 5, 5.5, 6)]


def test_a_path_of_turns_alone_may_be_pulled() -> None:
    grid = grid_of_text("..... .###. .....")
    assert pull_string(grid, [(0, 0), (0, 2), (4, 2), (4, 0)]).tolist() == [
        [0, 0],
        [0, 2],
        [4, 2],
        [4, 0],
    ]
    assert pull_string(grid, [(0, 0), (2, 0), (4, 0), (4, 2)]).tolist() == [[0, 0], [4, 0], [4, 2]]


@pytest.mark.slow
def test_long_paths_on_an_open_map_become_one_segment() -> None:
    grid = Grid.filled(4000, 3)
    cells = np.array([(x, 0 if x < 3000 else 1) for x in range(4000)])
    assert pull_string(grid, cells).tolist() == [[0, 0], [3999, 1]]
    straight = Grid.filled(8192, 1, region_position=(-(2**30), 2**30))
    cells = np.array([(x - 2**30, 2**30) for x in range(8192)])
    assert pull_string(straight, cells).tolist() == [[-(2**30), 2**30], [8191 - 2**30, 2**30]]


# --- collinear points -----------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), max_size=40))
def test_simplified_paths_are_the_same_line(steps: list[ref.Cell]) -> None:
    cells = [(5, -3)]
    for dx, dy in steps:
        cells.append((cells[-1][0] + dx, cells[-1][1] + dy))
    kept = simplify_path(np.array(cells))
    assert kept.dtype == np.int32
    ours = ref.as_cells(kept)
    assert (ours[0], ours[-1]) == (cells[0], cells[-1])
    assert is_part_of(ours, cells)
    assert length(ours) == pytest.approx(length(cells), rel=1e-12)

    def turns(path: list[ref.Cell]) -> list[ref.Cell]:
        moves = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(path) if a != b]
        ways = [(dx // (g := math.gcd(dx, dy)), dy // g) for dx, dy in moves]
        return [way for i, way in enumerate(ways) if i == 0 or way != ways[i - 1]]

    assert turns(ours) == turns(cells)
    assert len(ours) <= len(turns(cells)) + 2
    if cells[0] != cells[-1]:
        assert len(ours) == len(turns(cells)) + 1
    assert simplify_path(ours).tolist() == kept.tolist()


def test_turning_back_is_a_turn() -> None:
    assert simplify_path([(0, 0), (2, 0), (1, 0)]).tolist() == [[0, 0], [2, 0], [1, 0]]
    assert simplify_path([(0, 0), (0, 0), (1, 0)]).tolist() == [[0, 0], [1, 0]]
    assert simplify_path([(3, 3), (3, 3), (3, 3)]).tolist() == [[3, 3], [3, 3]]


def test_far_cells_are_simplified_exactly() -> None:
    far = 2**30
    nearly = [(-far, -far), (0, 1), (far, far)]
    assert simplify_path(nearly).tolist() == [list(cell) for cell in nearly]
    assert simplify_path([(-far, -far), (0, 0), (far, far)]).tolist() == [[-far, -far], [far, far]]
    with pytest.raises(CellError, match="too far"):
        simplify_path([(0, 0), (far + 1, 0)])


@pytest.mark.parametrize("bad", [[(0.5, 0.5)], [0, 1], [(0, 1, 2)], [(0, 0), (1,)], 7, None])
def test_what_is_no_path_is_refused(bad: Any) -> None:
    with pytest.raises(CellError):
        simplify_path(bad)
    with pytest.raises(CellError):
        pull_string(Grid.filled(3, 3), bad)
    with pytest.raises(CellError):
        round_path(Grid.filled(3, 3), bad)


# --- rounding -------------------------------------------------------------------------------------


def check_curve(
    free: ref.Costs, cells: list[ref.Cell], points: list[lines.Point], mode: int, samples: int
) -> list[bool]:
    """Whether each piece between two cells is curved, after everything was found free."""
    curved = []
    at = 0
    assert points[0] == _centre(cells[0])
    for a, b in pairwise(cells):
        piece = points[at : at + samples + 1]
        whole = len(piece) == samples + 1 and piece[-1] == _centre(b) and samples > 1
        if whole and points[at + 1] != _centre(b):
            for p, q in pairwise(piece):
                assert lines.walk(free, p, q, mode).reached
            at += samples
        else:
            assert points[at + 1] == _centre(b)
            assert a == b or ref.line_of_sight(free, a, b, mode)
            at += 1
            whole = False
        curved.append(whole)
    assert at == len(points) - 1
    return curved


@given(sts.queries(12), st.integers(1, 6), st.booleans())
def test_curves_touch_no_wall(query: sts.Query, samples: int, pull: bool) -> None:
    grid, costs = sts.grid_of(query.model), query.costs()
    options = query.options()
    cells = found(grid, query)
    if pull:
        cells = ref.as_cells(pull_string(grid, cells, **options))
    points = round_path(grid, cells, samples=samples, **options)
    assert points.dtype == np.float64
    if not cells:
        assert points.shape == (0, 2)
        return
    exact = [(Fraction(x), Fraction(y)) for x, y in points.tolist()]
    curved = check_curve(costs, cells, exact, query.diagonal_mode, samples)
    # A piece is straight only if its curve, give or take the rounding of its points, is not free.
    ends = [
        (2 * cells[0][0] - cells[min(1, len(cells) - 1)][0],
         2 * cells[0][1] - cells[min(1, len(cells) - 1)][1]),
        *cells,
        (2 * cells[-1][0] - cells[-min(2, len(cells))][0],
         2 * cells[-1][1] - cells[-min(2, len(cells))][1]),
    ]  # fmt: skip
    for i, is_curved in enumerate(curved):
        if is_curved or samples == 1:
            continue
        shares = [k / samples for k in range(samples + 1)]
        exact_curve = [lines.catmull_rom(*ends[i : i + 4], share) for share in shares]
        margin = Fraction(1, 2**14)
        assert any(
            not lines.walk(
                costs, _moved(p, x, y, margin), _moved(q, x, y, margin), query.diagonal_mode
            ).reached
            for p, q in pairwise(exact_curve)
            for x in (-1, 0, 1)
            for y in (-1, 0, 1)
        )


def _moved(point: tuple[float, float], x: int, y: int, margin: Fraction) -> lines.Point:
    return Fraction(point[0]) + x * margin, Fraction(point[1]) + y * margin


@given(
    st.lists(st.tuples(st.integers(10, 30), st.integers(10, 30)), min_size=2, max_size=8),
    st.integers(2, 9),
)
def test_the_curve_is_the_centripetal_one(cells: list[ref.Cell], samples: int) -> None:
    cells = [cell for i, cell in enumerate(cells) if i == 0 or cell != cells[i - 1]]
    grid = Grid.filled(80, 80, region_position=(-20, -20))
    points = round_path(grid, cells, samples=samples)
    assert len(points) == (len(cells) - 1) * samples + 1
    if len(cells) < 2:
        return
    ends = [
        (2 * cells[0][0] - cells[1][0], 2 * cells[0][1] - cells[1][1]),
        *cells,
        (2 * cells[-1][0] - cells[-2][0], 2 * cells[-1][1] - cells[-2][1]),
    ]
    for i in range(len(cells) - 1):
        for k in range(samples):
            expected = lines.catmull_rom(*ends[i : i + 4], k / samples)
            x, y = points[i * samples + k].tolist()
            assert expected[0] - 2**-15 <= x <= expected[0] + 1e-9
            assert expected[1] - 2**-15 <= y <= expected[1] + 1e-9
    assert (points * 65536 == np.round(points * 65536)).all()


def test_a_curve_that_would_touch_a_wall_stays_straight() -> None:
    open_map = grid_of_text("...... " * 6)
    cells = [(1, 1), (4, 1), (4, 4)]
    curve = round_path(open_map, cells, samples=4)
    assert len(curve) == 9
    assert curve[:, 1].min() < 1.0
    assert curve[:, 0].max() > 4.0
    # The first piece bulges upward, but only within its cells; a wall right of the second stops it.
    walled = grid_of_text("...... ...... ...... ...... ...... ......")
    walled.set_cells([(5, y) for y in range(6)], 255)
    assert (round_path(walled, cells, samples=4) == curve).all()
    wide = grid_of_text("............ " * 12)
    far = [(1, 2), (9, 2), (9, 10)]
    assert round_path(wide, far, samples=8)[:, 0].max() > 9.5
    wide.set_cells([(10, y) for y in range(12)], 255)
    points = round_path(wide, far, samples=8)
    assert points[-1].tolist() == [9.0, 10.0]
    assert points[-2].tolist() == [9.0, 2.0]
    assert len(points) == 1 + 8 + 1


def test_cells_that_repeat_are_no_pieces() -> None:
    grid = Grid.filled(9, 9)
    once = round_path(grid, [(1, 1), (5, 1), (5, 5)], samples=3)
    twice = round_path(grid, [(1, 1), (1, 1), (5, 1), (5, 5), (5, 5)], samples=3)
    assert twice.tolist() == [[1.0, 1.0], *once.tolist(), [5.0, 5.0]]
    assert np.isfinite(round_path(grid, [(1, 1), (5, 1), (5, 1), (5, 5)], samples=3)).all()


@pytest.mark.parametrize("samples", [0, -1, 1025, 2.5, "8", None])
def test_samples_out_of_bounds_are_refused(samples: Any) -> None:
    with pytest.raises(InputError, match="samples"):
        round_path(Grid.filled(3, 3), [(0, 0)], samples=samples)


# --- all three ------------------------------------------------------------------------------------


@given(st.lists(sts.queries(12), min_size=1, max_size=1), st.data())
def test_many_paths_are_as_one_by_one(queries: list[sts.Query], data: st.DataObject) -> None:
    query = queries[0]
    grid, options = sts.grid_of(query.model), query.options()
    ends = data.draw(
        st.lists(st.tuples(sts.cells(query.model), sts.cells(query.model)), max_size=5)
    )
    paths = [find_path(grid, a, b, **options).cells for a, b in ends]
    cells = np.concatenate([*paths, np.empty((0, 2), np.int32)])
    offsets = np.cumsum([0, *map(len, paths)])
    for many, one in [
        (pull_strings(grid, cells, offsets, **options), lambda p: pull_string(grid, p, **options)),
        (simplify_paths(cells, offsets), simplify_path),
        (round_paths(grid, cells, offsets, **options), lambda p: round_path(grid, p, **options)),
    ]:
        packed, bounds = many
        assert bounds.dtype == np.int64
        assert (bounds[0], bounds[-1]) == (0, len(packed))
        assert len(bounds) == len(paths) + 1
        for i, path in enumerate(paths):
            assert packed[bounds[i] : bounds[i + 1]].tolist() == one(path).tolist()


@pytest.mark.parametrize(
    "offsets", [[], [0], [0, 1], [1, 2], [0, 2, 1, 2], [0.0, 2.0], [[0, 2]], [0, 3], [-1, 2]]
)
def test_offsets_that_do_not_fit_are_refused(offsets: Any) -> None:
    grid, cells = Grid.filled(3, 3), [(0, 0), (1, 0)]
    with pytest.raises(InputError, match="offsets"):
        pull_strings(grid, cells, offsets)
    with pytest.raises(InputError, match="offsets"):
        simplify_paths(cells, offsets)
    with pytest.raises(InputError, match="offsets"):
        round_paths(grid, cells, offsets)


def test_paths_outside_the_map_are_refused() -> None:
    grid = Grid.filled(3, 3)
    for function in (pull_string, round_path):
        with pytest.raises(CellError, match=r"cells\[1\]"):
            function(grid, [(0, 0), (3, 0)])


def test_short_paths_stay_as_they_are() -> None:
    grid = Grid.filled(3, 3)
    for cells in ([], [(1, 1)], [(1, 1), (2, 2)]):
        expected = [list(cell) for cell in cells]
        assert pull_string(grid, cells).tolist() == expected
        assert simplify_path(cells).tolist() == expected
        assert round_path(grid, cells, samples=1).tolist() == expected


def test_pulled_segments_have_line_of_sight_on_a_large_random_map() -> None:
    random = np.random.default_rng(3)
    blocked = random.random((200, 200)) < 0.25
    blocked[[0, -1], [0, -1]] = False
    grid = Grid.from_blocked(blocked)
    for mode in MODES:
        path = find_path(grid, (0, 0), (199, 199), diagonal_mode=mode, allow_partial=True).cells
        pulled = pull_string(grid, path, diagonal_mode=mode)
        seen = line_of_sight(grid, pulled[:-1], pulled[1:], diagonal_mode=mode)
        assert isinstance(seen, np.ndarray)
        assert seen.all()
        assert 1 < len(pulled) < len(path)


@given(query=sts.queries(14, changes=True), samples=st.integers(1, 6))
def test_cells_of_a_query_count_as_on_an_edited_map(query: sts.Query, samples: int) -> None:
    grid = sts.grid_of(query.model)
    options = query.options()
    changes = {name: options.pop(name, None) for name in ("blocked_cells", "ignored_cells")}
    cells = find_path(grid, query.start, query.goal, allow_partial=True, **changes, **options).cells
    pulled = pull_string(grid, cells, keep_costs=False, **changes, **options)
    curve = round_path(grid, pulled, samples=samples, **changes, **options)
    # A class of its own for each kind, as long as the map and the profile leave two.
    costs = options["profile"].costs.copy()
    free = [i for i in range(256) if i not in query.model.classes][:2]
    costs[free] = math.inf, 1.0
    for class_id, name in zip(free, changes, strict=True):
        if changes[name] is not None:
            grid.set_cells(changes[name], class_id)
    options["profile"] = Profile(costs)
    expected = pull_string(grid, cells, keep_costs=False, **options)
    np.testing.assert_array_equal(pulled, expected)
    np.testing.assert_array_equal(curve, round_path(grid, expected, samples=samples, **options))


def test_a_body_in_the_way_is_not_pulled_through() -> None:
    grid = Grid.filled(7, 5)
    way = find_path(grid, (0, 2), (6, 2), blocked_cells=[(3, 2)]).cells
    assert len(pull_string(grid, way)) == 2
    assert len(pull_string(grid, way, blocked_cells=[(3, 2)])) > 2
    wall = Grid.from_blocked(np.array([[False, True, False]]))
    through = [(0, 0), (1, 0), (2, 0)]
    assert len(pull_string(wall, through)) == 3
    assert len(pull_string(wall, through, ignored_cells=[(1, 0)])) == 2
    with pytest.raises(CellError, match=r"^blocked_cells"):
        pull_string(grid, way, blocked_cells=[(9, 9)])
    with pytest.raises(InputError, match=r"^keep_costs"):
        pull_string(grid, way, keep_costs="no")  # type: ignore[arg-type]
