from __future__ import annotations

import numpy as np
import pytest

import navserver
from navserver.search.grid import Grid
from navserver.wire.errors import WireError
from navserver.wire.questions import (
    connected,
    cost_matrix,
    create_world,
    flow_field,
    line_of_sight,
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
