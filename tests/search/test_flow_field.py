from __future__ import annotations

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.distance_map import distance_map
from navserver.search.flow_field import FlowField, FlowFieldBuild, FlowFields
from navserver.search.grid import CostModel, DiagonalMode, Grid, Profile
from navserver.search.nodes import CancelFlag
from navserver.status import CellError, GridChangedError, InputError
from tests import reference as ref
from tests import strategies as sts
from tests.reference import Cell
from tests.reference_fields import ends_of_ray, field_costs

MODES = list(DiagonalMode)
SINGLE = 1e-6


def goals_of(costs: ref.Costs, data: st.DataObject) -> list[Cell]:
    return data.draw(st.lists(st.sampled_from(sorted(costs)), min_size=1, max_size=4), "goals")


# --- the field ------------------------------------------------------------------------------------


@given(sts.queries(), st.data())
def test_costs_and_paths_against_dijkstra(query: sts.Query, data: st.DataObject) -> None:
    costs = query.costs()
    if not costs:
        return
    goals = goals_of(costs, data)
    field = FlowField(sts.grid_of(query.model), goals, **query.options())
    expected = field_costs(
        costs, dict.fromkeys(goals, 0.0), query.diagonal_mode, query.cost_model, towards=True
    )
    ox, oy = query.model.region
    assert field.costs.dtype == np.float32
    assert field.goals.tolist() == [list(goal) for goal in goals]
    for cell in query.model.cells():
        at = (cell[1] - oy, cell[0] - ox)
        cost = expected.get(cell, math.inf)
        assert field.cost_at(cell) == field.costs[at]
        assert field.costs[at] == pytest.approx(cost, rel=SINGLE)
        assert (field.directions[at] == 255) == (cell in goals or math.isinf(cost))
        path = ref.as_cells(field.path_from(cell))
        if math.isinf(cost):
            assert path == []
            continue
        assert path[-1] in goals
        walked, _ = ref.check_path(
            costs, path, cell, path[-1], query.diagonal_mode, query.cost_model
        )
        assert walked == pytest.approx(cost, rel=1e-9, abs=1e-12)


@given(sts.queries(), st.data())
def test_directions_are_those_of_the_distance_map(query: sts.Query, data: st.DataObject) -> None:
    costs = query.costs()
    if not costs:
        return
    goals = goals_of(costs, data)
    grid = sts.grid_of(query.model)
    field = FlowField(grid, goals, **query.options())
    exact = distance_map(grid, goals, reverse=True, **query.options())
    np.testing.assert_array_equal(field.directions, exact.directions)
    np.testing.assert_array_equal(field.costs, exact.costs.astype(np.float32))


# --- line of sight --------------------------------------------------------------------------------


@given(sts.queries(14), st.integers(0, 12), st.data())
def test_sight_is_flagged_where_straight_is_best(
    query: sts.Query, radius: int, data: st.DataObject
) -> None:
    costs = query.costs()
    if not costs:
        return
    goals = goals_of(costs, data)
    field = FlowField(sts.grid_of(query.model), goals, sight_radius=radius, **query.options())
    ox, oy = query.model.region

    def reach(goal: Cell) -> int:
        """As far as every open cell costs what the goal does."""
        other = [
            max(abs(cell[0] - goal[0]), abs(cell[1] - goal[1])) - 1
            for cell, cost in costs.items()
            if cost != costs[goal]
        ]
        return min([radius, *other])

    reaches = {goal: reach(goal) for goal in goals}
    for cell in costs:
        expected = False
        doubtful = False
        least = float(field.cost_at(cell))
        for goal in goals:
            dx, dy = goal[0] - cell[0], goal[1] - cell[1]
            if (dx, dy) == (0, 0) or max(abs(dx), abs(dy)) > reaches[goal]:
                continue
            unit = costs[goal] ** 2 if query.cost_model == ref.PRODUCT else costs[goal]
            straight = math.hypot(dx, dy) * unit
            if ref.line_of_sight(costs, cell, goal, query.diagonal_mode):
                if straight <= least * (1 + 0.9e-6):
                    expected = True
                elif straight <= least * (1 + 1.1e-6):
                    doubtful = True
        if not doubtful:
            flagged = bool(field.line_of_sight[cell[1] - oy, cell[0] - ox])
            assert flagged == expected, f"{cell} of goals {goals}"


def test_no_straight_walk_through_a_swamp() -> None:
    """A goal behind dear cells is seen, but the way round them is cheaper."""
    classes = np.zeros((9, 9), np.uint8)
    classes[1:8, 4] = 1
    field = FlowField(Grid(classes), [(8, 4)], profile=Profile({1: 50.0}))
    assert field.line_of_sight[4, 6]
    assert not field.line_of_sight[4, 0]


# --- samples --------------------------------------------------------------------------------------


@given(sts.queries(12), st.data())
def test_samples_never_point_into_a_wall_and_lead_to_a_goal(
    query: sts.Query, data: st.DataObject
) -> None:
    costs = query.costs()
    if not costs:
        return
    goals = goals_of(costs, data)
    field = FlowField(
        sts.grid_of(query.model), goals, sight_radius=data.draw(st.sampled_from([0, 16])),
        **query.options(),
    )  # fmt: skip
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    for start in data.draw(st.lists(st.sampled_from(sorted(costs)), max_size=3)):
        if math.isinf(field.cost_at(start)):
            assert field.sample([start]).tolist() == [[0.0, 0.0]]
            continue
        x, y = np.array(start) + random.uniform(-0.499, 0.499, 2)
        cell = start
        for _ in range(8 * len(costs) + 8):
            vx, vy = map(float, field.sample([(x, y)])[0])
            if cell in goals:
                assert (vx, vy) == (0.0, 0.0)
                break
            assert math.hypot(vx, vy) == pytest.approx(1.0, rel=1e-6)
            ends, (x, y) = ends_of_ray((x, y), (vx, vy))
            legal = {to for to in ends if ref.move_allowed(costs, cell, to, query.diagonal_mode)}
            if len(ends) == 1:
                assert legal == ends, f"from {(x, y)} in {cell} along {(vx, vy)}"
            else:
                # Through a corner: by the step itself, or by both cells beside it.
                beside = {to for to in ends if to[0] == cell[0] or to[1] == cell[1]}
                assert legal - beside or legal == beside
            # Whichever of the legal cells: stand just inside of it.
            cell = data.draw(st.sampled_from(sorted(legal))) if len(legal) > 1 else legal.pop()
            x = min(max(x, cell[0] - 0.4999), cell[0] + 0.4999)
            y = min(max(y, cell[1] - 0.4999), cell[1] + 0.4999)
        else:
            pytest.fail(f"from {start} no goal of {goals} is reached")


def test_samples_of_each_kind() -> None:
    grid = Grid.from_blocked(
        np.array([list("...##"), list("...##"), list(".....")]) == "#", region_position=(10, -5)
    )
    field = FlowField(grid, [(10, -5)])
    vectors = field.sample(
        [
            (12.0, -5.0),  # sees the goal
            (14.0, -3.0),  # does not
            (10.0, -5.0),  # the goal
            (14.0, -4.0),  # a wall
            (9.4, -5.0),  # outside
            (math.nan, -5.0),
            (math.inf, math.inf),
        ]
    )
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors[0], [-1.0, 0.0])
    np.testing.assert_allclose(vectors[1], [-1.0, 0.0])
    assert not vectors[2:].any()


def test_a_diagonal_step_beside_a_wall_is_aimed_at_the_corner() -> None:
    grid = Grid.from_blocked([[False, True], [True, False]])
    field = FlowField(grid, [(1, 1)], diagonal_mode=DiagonalMode.ALWAYS, sight_radius=0)
    half = math.sqrt(0.5)
    far = math.hypot(0.1, 0.5)
    positions = [(0.0, 0.0), (0.4, 0.0), (0.5 - 1e-7, 0.5 - 1e-7), (-0.5, 0.5 - 1e-9)]
    np.testing.assert_allclose(
        field.sample(positions),
        [[half, half], [0.1 / far, 0.5 / far], [half, half], [1, 0]],
        atol=1e-6,
    )  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_samples_leave_no_one_between_two_cells_that_send_him_to_each_other(
    mode: DiagonalMode,
) -> None:
    # By product the dear cells beside the diagonal step lead back to its cheap start.
    grid = Grid([[0, 2], [2, 1]])
    field = FlowField(
        grid,
        [(1, 1)],
        profile=Profile({1: 2.0, 2: 10.0}),
        cost_model=CostModel.PRODUCT,
        diagonal_mode=mode,
    )
    at = np.array(
        [(x, y) for x in np.linspace(-0.45, 0.45, 7) for y in np.linspace(-0.45, 0.45, 7)]
    )
    for _ in range(80):
        at = at + 0.05 * field.sample(at)
    assert (np.floor(at + 0.5) == 1).all()


# Interpreted kernels warn where compiled ones go on with infinity.
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_costs_beyond_single_precision_are_still_in_reach() -> None:
    grid = Grid([[0, 0, 0, 255, 0]])
    for more in ({}, {"overlays": {"slow": 1.0}}):
        if more:
            grid.set_cell((1, 0), layers={"slow": 1.0})
        field = FlowField(grid, [(0, 0)], profile=Profile({0: 3e38}), **more)
        assert field.costs[0, 2] == np.finfo(np.float32).max
        assert field.path_from((2, 0)).tolist() == [[2, 0], [1, 0], [0, 0]]
        assert math.isinf(field.costs[0, 4])
        assert len(field.path_from((4, 0))) == 0


def test_samples_take_arrays_as_they_come() -> None:
    field = FlowField(Grid.filled(20, 20), [(0, 0), (19, 7)])
    positions = np.random.default_rng(2).uniform(-1, 20, (50, 2))
    expected = field.sample(positions)
    read_only = positions.copy()
    read_only.flags.writeable = False
    for given_positions in (
        read_only,
        np.asfortranarray(positions),
        np.repeat(positions, 2, axis=0)[::2],
        positions.tolist(),
    ):
        np.testing.assert_array_equal(field.sample(given_positions), expected)
    out = np.empty((50, 2), np.float32)
    assert field.sample(positions, out) is out
    np.testing.assert_array_equal(out, expected)
    assert field.sample(np.empty((0, 2))).shape == (0, 2)


@pytest.mark.parametrize(
    ("positions", "out", "named"),
    [
        ([1.0, 2.0], None, "positions"),
        ([[1.0, 2.0, 3.0]], None, "positions"),
        ([["a", "b"]], None, "positions"),
        ([[1.0, 2.0]], np.empty((1, 2)), "out"),
        ([[1.0, 2.0]], np.empty((2, 2), np.float32), "out"),
        ([[1.0, 2.0]], np.empty((1, 4), np.float32)[:, ::2], "out"),
    ],
)
def test_bad_positions_are_named(positions: Any, out: Any, named: str) -> None:
    field = FlowField(Grid.filled(4, 4), [(0, 0)])
    with pytest.raises(InputError, match=named):
        field.sample(positions, out)


# --- building -------------------------------------------------------------------------------------


@pytest.mark.parametrize("costs", [{}, {0: 1.0, 1: 2.5}])
def test_slices_change_nothing(costs: dict[int, float]) -> None:
    classes = np.random.default_rng(3).integers(0, 3, (60, 70)).astype(np.uint8)
    classes[0, 0] = 0
    grid = Grid(classes)
    profile = Profile({2: math.inf, **costs})
    whole = FlowField(grid, [(0, 0)], profile=profile)
    build = FlowFieldBuild(grid, [(0, 0)], profile=profile)
    slices = 1
    while not build.advance(100):
        slices += 1
    assert slices > 3
    sliced = build.finish()
    for name in ("costs", "directions", "line_of_sight", "goals"):
        assert getattr(whole, name).tobytes() == getattr(sliced, name).tobytes(), name
    assert whole.metrics == sliced.metrics


def test_a_build_is_not_finished_early() -> None:
    build = FlowFieldBuild(Grid.filled(40, 40), [(0, 0)])
    with pytest.raises(InputError, match="advance"):
        build.finish()
    build.advance(10)
    with pytest.raises(InputError, match="advance"):
        build.finish()
    with pytest.raises(InputError, match="budget"):
        build.advance(0)


def test_a_build_in_use_refuses_another_slice() -> None:
    build = FlowFieldBuild(Grid.filled(8, 8), [(0, 0)])
    with (
        build._in_use,
        pytest.raises(InputError, match=r"FlowFieldBuild.* still at work.*of its own"),
    ):
        build.advance(1)
    assert build.advance(1000)
    with (
        build._in_use,
        pytest.raises(InputError, match=r"FlowFieldBuild.* still at work.*of its own"),
    ):
        build.finish()
    assert build.finish().cost_at((5, 0)) == 5.0


def test_an_edit_ends_a_build() -> None:
    grid = Grid.filled(40, 40)
    build = FlowFieldBuild(grid, [(0, 0)])
    build.advance(10)
    grid.set_cell((5, 5), sts.SOLID)
    with pytest.raises(GridChangedError):
        build.advance(10)
    late = FlowFieldBuild(grid, [(0, 0)])
    while not late.advance(1000):
        pass
    grid.set_cell((6, 6), sts.SOLID)
    with pytest.raises(GridChangedError):
        late.finish()


def test_a_cancelled_build_makes_no_field() -> None:
    flag = CancelFlag()
    flag.set()
    with pytest.raises(InputError, match="cancel"):
        FlowField(Grid.filled(40, 40), [(0, 0)], cancel=flag)
    build = FlowFieldBuild(Grid.filled(40, 40), [(0, 0)])
    assert build.advance(1000, flag)
    with pytest.raises(InputError, match="cancel"):
        build.finish()


@pytest.mark.slow
def test_another_thread_stops_a_long_build() -> None:
    flag = CancelFlag()
    grid = Grid(np.random.default_rng(0).integers(0, 2, (3000, 3000)).astype(np.uint8))
    timer = threading.Timer(0.05, flag.set)
    timer.start()
    with pytest.raises(InputError, match="cancel"):
        FlowField(grid, [(0, 0)], profile=Profile({1: 2.0}), cancel=flag)
    timer.join()


def test_a_field_tells_when_it_is_out_of_date() -> None:
    grid = Grid.filled(5, 5)
    field = FlowField(grid, [(0, 0)])
    assert field.is_current
    grid.set_cell((1, 0), sts.SOLID)
    assert not field.is_current
    assert field.cost_at((2, 0)) == 2.0
    with pytest.raises(GridChangedError, match="version 1 to 2"):
        field.sample([(2.0, 0.0)])


@pytest.mark.parametrize(
    ("goals", "keywords", "named"),
    [
        ([], {}, "goals"),
        ([(1, 0)], {}, r"goals\[0\].*blocked"),
        ([(0, 0), (7, 0)], {}, r"goals\[1\].*outside"),
        ([(0, 0)], {"sight_radius": 128}, "sight_radius"),
        ([(0, 0)], {"sight_radius": -1}, "sight_radius"),
        ([(0, 0)], {"sight_radius": 1.5}, "sight_radius"),
        ([(0, 0)], {"size": 40}, "size"),
    ],
)
def test_bad_arguments_are_named(goals: Any, keywords: dict[str, Any], named: str) -> None:
    grid = Grid.from_blocked([[False, True, False]])
    for make in (FlowField, FlowFieldBuild, FlowFields(grid).get):
        arguments = (goals,) if make not in (FlowField, FlowFieldBuild) else (grid, goals)
        with pytest.raises(InputError, match=named):
            make(*arguments, **keywords)  # type: ignore[operator]


def test_a_cell_outside_is_refused() -> None:
    field = FlowField(Grid.filled(2, 2), [(0, 0)])
    for ask in (field.cost_at, field.path_from):
        with pytest.raises(CellError):
            ask((2, 0))


# --- the cache ------------------------------------------------------------------------------------


def test_fields_are_kept_for_goals_movement_and_version() -> None:
    grid = Grid.filled(20, 20)
    fields = FlowFields(grid)
    assert fields.hit_rate == 0.0
    first = fields.get([(0, 0), (5, 5)])
    assert fields.get([(5, 5), (0, 0), (0, 0)]) is first
    assert fields.get([(0, 0)]) is not first
    assert fields.get([(0, 0), (5, 5)], size=2) is not first
    assert fields.get([(0, 0), (5, 5)], sight_radius=3) is not first
    assert fields.get([(0, 0), (5, 5)], diagonal_mode=DiagonalMode.NEVER) is not first
    assert fields.get([(0, 0), (5, 5)]) is first
    assert (fields.hits, fields.misses, len(fields)) == (2, 5, 5)
    assert fields.hit_rate == pytest.approx(2 / 7)
    grid.set_cell((3, 3), sts.SOLID)
    second = fields.get([(0, 0), (5, 5)])
    assert second is not first
    assert second.is_current
    assert math.isinf(second.cost_at((3, 3)))
    assert len(fields) == 1, "fields of an earlier version are dropped"


def test_the_least_recently_used_field_goes_first() -> None:
    grid = Grid.filled(10, 10)
    size = FlowField(grid, [(0, 0)]).nbytes
    fields = FlowFields(grid, max_bytes=2 * size)
    a, b = fields.get([(0, 0)]), fields.get([(1, 0)])
    assert fields.nbytes == 2 * size
    assert fields.get([(0, 0)]) is a
    fields.get([(2, 0)])
    assert fields.get([(0, 0)]) is a
    assert fields.get([(1, 0)]) is not b
    assert len(fields) == 2
    tiny = FlowFields(grid, max_bytes=0)
    assert tiny.get([(0, 0)]) is tiny.get([(0, 0)])


def test_threads_build_a_field_once() -> None:
    fields = FlowFields(Grid.filled(200, 200))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: fields.get([(7, 7)]), range(8)))
    assert all(field is found[0] for field in found)
    assert (fields.hits, fields.misses) == (7, 1)


@pytest.mark.parametrize("max_bytes", [-1, 1.5, "1"])
def test_bad_sizes_are_named(max_bytes: Any) -> None:
    with pytest.raises(InputError, match="max_bytes"):
        FlowFields(Grid.filled(2, 2), max_bytes)


@given(sts.queries(12), st.data())
def test_fields_follow_edits(query: sts.Query, data: st.DataObject) -> None:
    grid = sts.grid_of(query.model)
    fields = FlowFields(grid)
    for _ in range(3):
        costs = query.costs()
        if costs:
            goals = goals_of(costs, data)
            kept = fields.get(goals, **query.options())
            fresh = FlowField(sts.grid_of(query.model), goals, **query.options())
            assert kept.costs.tobytes() == fresh.costs.tobytes()
            assert kept.line_of_sight.tobytes() == fresh.line_of_sight.tobytes()
        edit = data.draw(sts.edits(query.model))
        edit.apply_to_model(query.model)
        edit.apply_to_grid(grid)
        layers = query.model.layers
        query.overlays = {n: w for n, w in (query.overlays or {}).items() if n in layers} or None


def test_what_cannot_receive_vectors_is_refused() -> None:
    field = FlowField(Grid.filled(4, 4), [(0, 0)])
    sealed = np.empty((1, 2), np.float32)
    sealed.flags.writeable = False
    unfit: list[Any] = [
        sealed,
        [[0.0, 0.0]],
        np.empty((1, 2)),
        np.empty((1, 4), np.float32)[:, ::2],
    ]
    for out in unfit:
        with pytest.raises(InputError, match=r"out: .* cannot receive the vectors"):
            field.sample([(3.0, 3.0)], out)


def test_fields_cannot_be_written_from_outside() -> None:
    # Two cells that point at each other would be followed for ever.
    grid = Grid.filled(4, 4)
    field, distances = FlowField(grid, [(0, 0)]), distance_map(grid, [(0, 0)])
    for array in (field.costs, field.directions, distances.costs, distances.directions):
        assert not array.flags.writeable
