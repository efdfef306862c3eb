from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import navserver
from navserver.search.grid import Grid
from navserver.search.nodes import SearchTrace
from navserver.wire.client_session import Answer
from navserver.wire.errors import WireError
from navserver.wire.question import Question
from navserver.wire.questions import (
    connected,
    cost_matrix,
    create_world,
    describe_cells,
    explore,
    flow_field,
    line_of_sight,
    map_layer,
    nearest,
    raycast,
    reachable,
    what_opens,
)
from tests.sidecar.direct import Direct

RANDOM = np.random.default_rng(7)
CLASSES = np.where(RANDOM.random((9, 11)) < 0.35, 255, 0).astype(np.uint8)
GRID = Grid(CLASSES, region_position=(4, -2), transform=[[10, 0, 0], [0, 10, 0]])
OPEN = np.argwhere(CLASSES == 0)[:, ::-1] + (4, -2)
STARTS, GOALS = OPEN[:8], OPEN[-8:]


@pytest.fixture
def city(direct: Direct) -> Direct:
    transform = [[10, 0, 0], [0, 10, 0]]
    direct.ask(create_world("w", CLASSES, position=(4, -2), transform=transform))
    return direct


def test_nearest(city: Direct) -> None:
    for cell in [(0, 0), (4, -2), (9, 3), (30, 30)]:
        assert city.ask(nearest("w", cell)) == navserver.nearest_walkable(GRID, cell)
        start = tuple(STARTS[0].tolist())
        wanted = navserver.nearest_reachable(GRID, start, cell)
        assert city.ask(nearest("w", cell, start=start)) == wanted
    assert city.ask(nearest("w", (99, 99), max_distance=1.0)) is None


def test_reachable(city: Direct) -> None:
    start = tuple(STARTS[0].tolist())
    cells, costs = city.ask(reachable("w", start, 4.5))
    wanted = navserver.reachable(GRID, start, 4.5)
    assert cells.tolist() == wanted.cells.tolist()
    assert costs.tolist() == wanted.costs.tolist()
    taken = [tuple(cell) for cell in cells.tolist() if tuple(cell) != start][::3]
    assert taken
    cells, costs = city.ask(reachable("w", start, 4.5, blocked_cells=taken))
    wanted = navserver.reachable(GRID, start, 4.5, blocked_cells=taken)
    assert cells.tolist() == wanted.cells.tolist()
    assert costs.tolist() == wanted.costs.tolist()
    assert not {tuple(cell) for cell in cells.tolist()} & set(taken)


def test_line_of_sight_and_connected(city: Direct) -> None:
    seen = city.ask(line_of_sight("w", STARTS, GOALS))
    assert seen.tolist() == navserver.line_of_sight(GRID, STARTS, GOALS).tolist()  # type: ignore[union-attr]
    joined = city.ask(connected("w", STARTS, GOALS, diagonal_mode=0))
    mode = navserver.DiagonalMode.ALWAYS
    wanted = navserver.connected(GRID, STARTS, GOALS, diagonal_mode=mode)
    assert joined.tolist() == wanted.tolist()  # type: ignore[union-attr]
    assert city.ask(connected("w", STARTS[:1], GOALS[:1])).shape == (1,)


def test_raycast_is_in_world_positions(city: Direct) -> None:
    starts, ends = STARTS * 10.0 + 1.5, GOALS * 10.0 - 2.5
    told = city.ask(raycast("w", starts, ends))
    wanted = navserver.raycasts(GRID, starts, ends, world=True)
    assert told["reached"].tolist() == wanted.reached.tolist()
    assert told["points"].tolist() == wanted.points.astype(np.float32).tolist()
    assert told["cells"].tolist() == wanted.cells.tolist()
    assert told["normals"].tolist() == wanted.normals.tolist()


def test_cost_matrix(city: Direct) -> None:
    costs = city.ask(cost_matrix("w", STARTS, GOALS[:3]))
    assert costs.tolist() == navserver.cost_matrix(GRID, STARTS, GOALS[:3]).tolist()
    assert city.ask(cost_matrix("w", STARTS, np.zeros((0, 2), int))).shape == (8, 0)


def test_flow_field(city: Direct) -> None:
    wanted = navserver.FlowField(GRID, GOALS[:2])
    both = city.ask(flow_field("w", GOALS[:2], costs=True))
    assert both["directions"].tolist() == wanted.directions.tolist()
    assert both["costs"].tolist() == wanted.costs.tolist()
    assert set(city.ask(flow_field("w", GOALS[:2]))) == {"directions"}


def test_what_opens(city: Direct) -> None:
    start, goal = tuple(STARTS[0].tolist()), tuple(GOALS[-1].tolist())
    wanted = navserver.what_opens(GRID, start, goal)
    assert city.ask(what_opens("w", start, goal)).tolist() == wanted.tolist()


def test_what_the_core_refuses_is_named(city: Direct) -> None:
    blocked = (np.argwhere(CLASSES == 255)[:1, ::-1] + (4, -2)).tolist()
    for question, field in (
        (flow_field("w", blocked), "goals"),
        (reachable("w", tuple(blocked[0]), 3.0), "start"),
        (raycast("w", [(np.nan, 0)], [(0, 0)]), "starts[0]"),
        (line_of_sight("w", [(99, 99)], [(0, 0)]), "start"),
        (what_opens("w", (0, 0), (99, 99)), "start"),
        (nearest("w", (2**30, 2**30)), "cell"),
    ):
        with pytest.raises(WireError) as caught:
            city.ask(question)
        assert caught.value.code == "bad_field"
        assert caught.value.field.startswith(field)
    assert not city.office._waiting


def test_questions_may_be_cancelled_and_removed(city: Direct) -> None:
    city.is_searching = False
    number = city.submit(flow_field("w", GOALS[:1]))
    city.scheduler.cancel(next(iter(city.sessions)), number, city.now)
    (answer,) = city.wait(number)
    assert (answer.status, answer.arrays) == ("cancelled", {})  # type: ignore[union-attr]


def test_explore_is_the_path_and_the_order_of_its_search(city: Direct) -> None:
    for start, goal in zip(STARTS.tolist(), GOALS.tolist(), strict=True):
        seen = city.ask(explore("w", start, goal, algorithm="dijkstra"))
        trace = SearchTrace(1000)
        wanted = navserver.find_path(GRID, start, goal, algorithm="dijkstra", trace=trace)
        assert seen.status == wanted.status.name.lower()
        assert seen.path.tolist() == wanted.cells.tolist()
        assert seen.cost == wanted.cost
        assert seen.expanded == trace.count
        shown = {
            (x + seen.position[0], y + seen.position[1]): seen.order[y, x]
            for y, x in zip(*np.nonzero(seen.order), strict=True)
        }
        assert sorted(shown, key=lambda cell: shown[cell]) == [tuple(c) for c in trace.cells]
        for cell, g in zip(trace.cells, trace.g, strict=True):
            at = cell - seen.position
            assert seen.costs[at[1], at[0]] == np.float32(g)
        assert np.isinf(seen.costs[seen.order == 0]).all()


def test_explore_without_record_and_with_options(city: Direct) -> None:
    start, goal = STARTS[0].tolist(), GOALS[0].tolist()
    seen = city.ask(explore("w", start, goal, capacity=0))
    assert seen.order.size == 0
    straight = navserver.pull_string(GRID, seen.path)
    assert seen.smoothed.tolist() == straight.tolist()
    few = city.ask(explore("w", start, goal, max_expansions=3, allow_partial=True))
    assert few.status == "partial"
    assert few.expanded == 3
    short = city.ask(explore("w", start, goal, capacity=2))
    assert short.truncated
    assert short.order.max() == 2
    with pytest.raises(WireError, match="overestimate"):
        city.ask(explore("w", start, goal, heuristic="manhattan"))
    loose = city.ask(explore("w", start, goal, heuristic="manhattan", inexact=True))
    assert loose.cost >= seen.cost


def test_explore_sends_what_is_asked_for(city: Direct) -> None:
    start, goal = STARTS[0].tolist(), GOALS[0].tolist()
    whole = city.ask(explore("w", start, goal))
    for wanted in ([], ["smoothed"], ["order"], ["costs"], ["order", "smoothed"]):
        seen = city.ask(explore("w", start, goal, arrays=wanted))
        assert (seen.cost, seen.path.tolist()) == (whole.cost, whole.path.tolist())
        for name in ("smoothed", "order", "costs"):
            array = getattr(seen, name)
            assert array.tolist() == (getattr(whole, name).tolist() if name in wanted else [])
        if "order" in wanted or "costs" in wanted:
            assert seen.position == whole.position


def test_large_maps_are_told_in_squares(city: Direct) -> None:
    start, goal = STARTS[0].tolist(), GOALS[0].tolist()
    whole = city.ask(explore("w", start, goal, algorithm="dijkstra"))
    seen = city.ask(explore("w", start, goal, algorithm="dijkstra", step=3))
    assert seen.position == whole.position
    height, width = whole.order.shape
    assert seen.order.shape == seen.costs.shape == (-(-height // 3), -(-width // 3))
    for y, x in np.ndindex(seen.order.shape):
        square = np.s_[3 * y : 3 * y + 3, 3 * x : 3 * x + 3]
        order = whole.order[square]
        assert seen.order[y, x] == min(order[order > 0], default=0)
        assert seen.costs[y, x] == whole.costs[square].min()
    layer = city.ask(map_layer("w", "clearance", step=4))
    assert layer.tolist() == city.ask(map_layer("w", "clearance"))[::4, ::4].tolist()
    with pytest.raises(WireError, match="step"):
        city.ask(map_layer("w", "clearance", step=0))


@pytest.mark.parametrize(
    "question",
    [
        map_layer("w", "clearance"),
        map_layer("w", "costs"),
        explore("w", STARTS[0].tolist(), GOALS[0].tolist()),
    ],
)
def test_the_greatest_number_is_told_with_them(city: Direct, question: Question[Any]) -> None:
    (answer,) = city.wait(city.submit(question))
    assert isinstance(answer, Answer)
    numbers = answer.arrays[question.fields.get("layer", "costs")]
    assert answer.fields["greatest"] == numbers[np.isfinite(numbers)].max()


def test_map_layers_and_cells_tell_the_same(city: Direct) -> None:
    layers = {
        name: city.ask(map_layer("w", name))
        for name in ("classes", "costs", "islands", "clearance")
    }
    assert layers["classes"].tolist() == CLASSES.tolist()
    assert layers["islands"].tolist() == navserver.island_labels(GRID).tolist()
    clearance = np.asarray(navserver.distance_to_wall(GRID))
    assert layers["clearance"].tolist() == clearance.astype(np.float32).tolist()
    every = np.argwhere(CLASSES >= 0)[:, ::-1] + (4, -2)
    told = city.ask(describe_cells("w", every))
    for name, layer in layers.items():
        assert told[name].astype(layer.dtype).tolist() == layer.reshape(-1).tolist()
    assert told["fits"].tolist() == (CLASSES.reshape(-1) == 0).tolist()
    assert told["costs"].tolist() == [GRID.cost_at(cell) for cell in every.tolist()]
    with pytest.raises(WireError, match="give x in"):
        city.ask(describe_cells("w", [(0, 0)]))
