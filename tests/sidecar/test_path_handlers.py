from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import navserver
from navserver.search.grid import Grid
from navserver.search.moves import DiagonalMode
from navserver.search.profile import Profile
from navserver.wire.codec import decode_message
from navserver.wire.errors import WireError
from navserver.wire.messages import encode_request
from navserver.wire.questions import (
    create_world,
    edit_world,
    find_path,
    set_profile,
    trace,
)
from tests.sidecar.direct import Direct

RANDOM = np.random.default_rng(5)
CLASSES = np.where(RANDOM.random((12, 16)) < 0.25, 255, RANDOM.integers(0, 3, (12, 16))).astype(
    np.uint8
)
COSTS = np.ones(256, np.float32)
COSTS[[1, 2, 255]] = 2.0, 3.5, np.inf


@pytest.fixture
def city(direct: Direct) -> Direct:
    transform = [[16.0, 0.0, 8.0], [0.0, 16.0, 8.0]]
    direct.ask(create_world("city", CLASSES, position=(-3, 2), transform=transform))
    direct.ask(set_profile("city", "walker", COSTS))
    return direct


def grid() -> Grid:
    return Grid(CLASSES, region_position=(-3, 2), transform=[[16, 0, 8], [0, 16, 8]])


cells = st.tuples(st.integers(-3, 12), st.integers(2, 13))


@given(
    start=cells,
    goal=cells,
    mode=st.sampled_from(list(DiagonalMode)),
    size=st.sampled_from([1, 2]),
)
def test_paths_are_those_of_the_core(
    lasting: Direct, start: tuple[int, int], goal: tuple[int, int], mode: DiagonalMode, size: int
) -> None:
    if "city" not in lasting.office.worlds:
        lasting.ask(create_world("city", CLASSES, position=(-3, 2)))
        lasting.ask(set_profile("city", "walker", COSTS))
    options = {"profile": "walker", "diagonal_mode": int(mode), "size": size}
    path = lasting.ask(find_path("city", start, goal, result="cells", **options))
    wanted = navserver.find_path(
        grid(), start, goal, profile=Profile(COSTS), diagonal_mode=mode, size=size
    )
    assert path.status == wanted.status.name.lower()
    assert path.cost == wanted.cost
    assert path.length == wanted.length
    assert path.path.tolist() == wanted.cells.tolist()
    assert path.version == 1


START, GOAL = (-3, 2), (12, 13)


def open_ends(direct: Direct) -> None:
    direct.ask(edit_world("city", cells=[START, GOAL], class_ids=0))


def test_points_are_the_centres_of_the_cells(city: Direct) -> None:
    open_ends(city)
    as_cells = city.ask(find_path("city", START, GOAL, result="cells"))
    points = city.ask(find_path("city", START, GOAL))
    assert as_cells.found
    assert points.path.dtype == np.float32
    assert points.path.tolist() == (as_cells.path * 16.0 + 8.0).tolist()


def test_smoothing_leaves_cells_out(city: Direct) -> None:
    open_ends(city)
    whole = city.ask(find_path("city", START, GOAL, result="cells"))
    simple = city.ask(find_path("city", START, GOAL, result="cells", smoothing="simplify"))
    pulled = city.ask(find_path("city", START, GOAL, result="cells", smoothing="pull_string"))
    board = grid()
    board.set_cells([START, GOAL], 0)
    assert simple.path.tolist() == navserver.simplify_path(whole.path).tolist()
    assert pulled.path.tolist() == navserver.pull_string(board, whole.path).tolist()
    assert len(pulled.path) < len(simple.path) < len(whole.path)
    assert whole.cost == simple.cost == pulled.cost
    alone = city.ask(find_path("city", START, START, result="cells", smoothing="pull_string"))
    assert alone.path.tolist() == [list(START)]


def test_strings_are_not_pulled_over_a_map_that_has_changed(city: Direct) -> None:
    open_ends(city)
    city.is_searching = False
    question = find_path("city", START, GOAL, result="cells", smoothing="pull_string")
    number = city.submit(question)
    while (unit := city.scheduler.take_work(city.now)) is not None:
        unit.run()
        city.scheduler.complete(unit, city.now)
    city.office.worlds["city"].set_cells([(0, 5)], 255)
    (answer,) = city.wait(number)
    assert answer.version == 2  # type: ignore[union-attr]
    found = question.read(answer)  # type: ignore[arg-type]
    whole = navserver.find_path(_before(), START, GOAL).cells
    assert found.path.tolist() == navserver.simplify_path(whole).tolist()


def _before() -> Grid:
    board = grid()
    board.set_cells([START, GOAL], 0)
    return board


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"max_expansions": 3}, "limit"),
        ({"max_cost": 2.0}, "limit"),
        ({"max_cost": 2.0, "allow_partial": True}, "partial"),
    ],
)
def test_limits_hold(city: Direct, options: dict[str, Any], status: str) -> None:
    open_ends(city)
    path = city.ask(find_path("city", START, GOAL, **options))
    assert path.status == status
    assert (len(path.path) > 0) is (status == "partial")


def test_costs_of_layers_count_by_their_weights(city: Direct) -> None:
    city.ask(create_world("plain", width=3, height=1))
    city.ask(edit_world("plain", layer="danger", values=[0.0, 4.0, 0.0]))
    assert city.ask(find_path("plain", (0, 0), (2, 0))).cost == 2.0
    weighed = find_path("plain", (0, 0), (2, 0), overlays={"danger": 0.5})
    assert city.ask(weighed).cost == 4.0
    with pytest.raises(WireError, match="overlays"):
        city.ask(find_path("plain", (0, 0), (2, 0), overlays={"fear": 1.0}))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"goal": (99, 0)}, "goal"),
        ({"start": (-4, 2)}, "start"),
        ({"size": 2, "radius": 1.0}, ""),
    ],
)
def test_what_cannot_be_is_named(city: Direct, change: dict[str, Any], field: str) -> None:
    arguments = {"start": START, "goal": GOAL, **change}
    with pytest.raises(WireError) as caught:
        city.ask(find_path("city", **arguments))
    assert caught.value.code == "bad_field"
    assert caught.value.field.startswith(field)
    assert not city.office._waiting


def test_cells_of_its_own_hold_for_one_path(city: Direct) -> None:
    city.ask(create_world("hall", [[0, 0, 0], [0, 255, 0]]))
    around = find_path("hall", (0, 0), (2, 0), blocked_cells=[(1, 0)])
    assert city.ask(around).status == "unreachable"
    through = find_path(
        "hall", (0, 1), (2, 1), ignored_cells=[(1, 1)], result="cells", diagonal_mode=1
    )
    assert city.ask(through).path.tolist() == [[0, 1], [1, 1], [2, 1]]
    assert city.ask(find_path("hall", (0, 0), (2, 0))).cost == 2.0
    with pytest.raises(WireError, match="blocked_cells"):
        city.ask(find_path("hall", (0, 0), (2, 0), blocked_cells=[(9, 9)]))


def test_an_unknown_world_is_named(city: Direct) -> None:
    with pytest.raises(WireError, match="city") as caught:
        city.ask(find_path("town", START, GOAL))
    assert caught.value.code == "unknown_world"


def test_a_newer_request_of_an_agent_takes_the_place_of_one_that_waits(city: Direct) -> None:
    open_ends(city)
    city.is_searching = False
    older = city.submit(find_path("city", START, GOAL, agent=7))
    other = city.submit(find_path("city", START, GOAL, agent=8))
    theirs = city.submit(find_path("city", START, GOAL, agent=7), 2)
    newer = city.submit(find_path("city", START, GOAL, agent=7))
    (answer,) = city.wait(older)
    assert answer.status == "superseded"  # type: ignore[union-attr]
    city.is_searching = True
    assert city.wait(newer)[0].status == "found"  # type: ignore[union-attr]
    assert city.wait(other)[0].status == "found"  # type: ignore[union-attr]
    assert city.wait(theirs, 2)[0].status == "found"  # type: ignore[union-attr]
    assert len(city.office.agents) == 0
    again = find_path("city", START, GOAL, agent=7)
    assert city.ask(again).found


def test_one_that_is_answered_at_once_takes_that_place_as_well(city: Direct) -> None:
    open_ends(city)
    city.is_searching = False
    # Cells of its own make it one that is begun as a long search.
    older = city.submit(find_path("city", START, GOAL, agent=7, blocked_cells=[(12, 13)]))
    city.office.is_warm = True
    city.sessions.receive_message(
        1, encode_request("path", 99, {"world": "city", "start": START, "goal": GOAL, "agent": 7}),
        city.now,
    )  # fmt: skip
    city.dispatch.take_events(city.now)
    # Nothing has been searched but in the thread that owns the sockets.
    connection, frames = city.sessions.messages_to_send().popleft()
    header, _ = decode_message(frames)
    assert (connection, header["id"], header["status"]) == (1, 99, "found")
    assert header["source"] == "search"
    assert city.wait(older)[0].status == "superseded"  # type: ignore[union-attr]
    assert len(city.office.agents) == 0


def test_a_round_that_has_lasted_too_long_leaves_the_rest_to_the_queue(city: Direct) -> None:
    open_ends(city)
    frames = encode_request("path", 99, {"world": "city", "start": START, "goal": GOAL})
    city.sessions.receive_message(1, frames, city.now)
    # The clock is looked at when a round begins, and by whom it is to be done.
    times = iter([0.0, 0.1])
    city.office.clock = lambda: next(times, 0.1)
    city.dispatch.take_events(city.now)
    assert not city.sessions.messages_to_send()
    assert city.scheduler.pending_rows == 1


def test_deadlines_pass(city: Direct) -> None:
    city.is_searching = False
    number = city.submit(find_path("city", START, GOAL, deadline_ms=5.0))
    city.now = 0.006
    city.scheduler.expire(city.now)
    (answer,) = city.wait(number)
    assert answer.status == "deadline"  # type: ignore[union-attr]


def test_a_full_queue_is_told() -> None:
    direct = Direct(max_rows=2)
    try:
        direct.ask(create_world("w", width=4, height=4))
        direct.is_searching = False
        numbers = [direct.submit(find_path("w", (0, 0), (3, 3), agent=i)) for i in range(3)]
        (answer,) = direct.wait(numbers[2])
        assert answer.status == "overloaded"  # type: ignore[union-attr]
        direct.is_searching = True
        assert direct.wait(numbers[0])[0].status == "found"  # type: ignore[union-attr]
    finally:
        direct.close()


def test_a_trace_tells_what_a_search_does(city: Direct) -> None:
    open_ends(city)
    record = city.ask(trace("city", START, GOAL))
    wanted = navserver.SearchTrace(65536)
    path = navserver.AStar(_before()).find_path(START, GOAL, trace=wanted)
    assert record.status == "found"
    assert record.path.tolist() == path.cells.tolist()
    assert record.expanded_cells.tolist() == wanted.cells.tolist()
    assert record.parents.tolist() == wanted.parents.tolist()
    assert record.g.tolist() == wanted.g.tolist()
    assert not record.truncated
    short = city.ask(trace("city", START, GOAL, capacity=3))
    assert short.truncated
    assert len(short.expanded_cells) == 3
    none = city.ask(trace("city", START, GOAL, max_cost=1.0))
    assert (none.status, len(none.path)) == ("limit", 0)
