from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from navserver.movers.movers import Movers
from navserver.movers.saving import hash_movers
from navserver.movers.stepper import Stepper
from navserver.search.grid import Grid
from navserver.sidecar import mover_handlers
from navserver.sidecar.mover_owners import MoverOwners
from navserver.wire.errors import WireError
from navserver.wire.mover_messages import MOVER_STATES
from navserver.wire.questions import (
    add_movers,
    create_world,
    delete_world,
    edit_world,
    load_movers,
    mover_info,
    order_movers,
    place_movers,
    remove_movers,
    save_movers,
    send_movers_along,
    set_movers,
    set_profile,
    set_up_movers,
    steer_movers,
    step_movers,
    stop_movers,
    view_movers,
    view_routes,
)
from tests.sidecar.direct import Direct

UNIT = 1 << 32
"""The handle of the first mover of a table."""
BODY = {"radius": 0.4, "max_speed": 4.0}


@pytest.fixture
def yard(direct: Direct) -> Direct:
    direct.ask(create_world("w", width=32, height=16, transform=[[16, 0, 8], [0, 16, 8]]))
    return direct


def add(yard: Direct, *cells: Any, connection: int = 1, **options: Any) -> Any:
    return yard.ask(add_movers("w", cells, **{**BODY, **options}), connection)


def refused(yard: Direct, question: Any) -> WireError:
    with pytest.raises(WireError) as caught:
        yard.ask(question)
    return caught.value


def expire(yard: Direct, connection: int) -> None:
    """Let a client die, and its session end."""
    yard.sessions.connection_lost(connection, yard.now)
    yard.now += 100.0
    yard.step()
    yard.step()


def test_movers_are_added_sent_and_seen(yard: Direct) -> None:
    units = add(yard, (1, 1), (1, 3))
    assert units.dtype == np.int64
    yard.ask(order_movers("w", units, (20, 8)))
    arrived: set[int] = set()
    for _ in range(100):
        arrived.update(yard.ask(step_movers("w", 0.1)).view.events.of("arrived").tolist())
    assert arrived == set(units.tolist())
    view = yard.ask(view_movers("w"))
    assert view.handles.tolist() == units.tolist()
    assert np.all(np.abs(view.positions - (20, 8)) < 2)
    assert (view.tick, view.version) == (100, 1)
    info = yard.ask(mover_info("w"))
    assert (info.movers, info.tick, info.rate, info.skipped, info.hash) == (2, 100, 0.0, 0, None)


def test_the_space_of_positions_is_chosen(yard: Direct) -> None:
    [unit] = add(yard, (40, 24), space="world")
    assert yard.ask(view_movers("w")).positions.tolist() == [[2.0, 1.0]]
    yard.ask(place_movers("w", [unit], [(56, 24)], space="world"))
    yard.ask(send_movers_along("w", [unit], [(104, 24)], [0, 1], space="world"))
    seen = yard.ask(step_movers("w", 0.25, space="world", columns=["positions", "velocities"])).view
    assert seen.positions.tolist() == [[72.0, 24.0]]
    assert seen.velocities.tolist() == [[64.0, 0.0]]
    assert seen.handles is seen.states is seen.transforms is None
    inside = view_movers("w", area=(71, 23, 73, 25), space="world", columns=["transforms"])
    assert yard.ask(inside).transforms.tolist() == [[1, 0, 0, 72, 0, 1, 0, 24]]
    before = step_movers("w", 0.25, columns=["transforms", "transforms_before"])
    seen = yard.ask(before).view
    assert seen.transforms.tolist() == [[1, 0, 0, 88, 0, 1, 0, 24]]
    assert seen.transforms_before.tolist() == [[1, 0, 0, 72, 0, 1, 0, 24]]
    assert len(yard.ask(view_movers("w", area=(71, 23, 73, 25))).handles) == 0


def test_orders_find_ways_for_the_profile_and_size_of_each(yard: Direct) -> None:
    # A wall with a ford of one cell, a gate of one, and a gate of two.
    yard.ask(edit_world("w", position=(12, 0), size=(1, 16), class_ids=255))
    yard.ask(edit_world("w", cells=[(12, 8)], class_ids=7))
    yard.ask(edit_world("w", cells=[(12, 3), (12, 13), (12, 14)], class_ids=0))
    dry = np.ones(256)
    dry[[7, 255]] = np.inf
    yard.ask(set_profile("w", "dry", dry))
    swimmer = add(yard, (6, 8))
    walker = add(yard, (6, 7), movement={"profile": "dry"})
    wide = add(yard, (6, 9), movement={"profile": "dry", "size": 2})
    units = np.concatenate([swimmer, walker, wide])
    yard.ask(order_movers("w", units, (20, 8)))
    crossed: dict[int, float] = {}
    for _ in range(200):
        view = yard.ask(step_movers("w", 0.05, columns=["handles", "positions"])).view
        for handle, (x, y) in zip(view.handles.tolist(), view.positions.tolist(), strict=True):
            if 11.5 <= x < 12.5:
                crossed[handle] = round(y)
        if len(crossed) == 3:
            break
    assert [crossed[unit] for unit in units.tolist()] == [8, 3, 13]


def test_steered_movers_tell_their_velocities_in_the_same_batch(yard: Direct) -> None:
    units = add(yard, (1, 1), (1, 5))
    yard.ask(remove_movers("w", units[1:]))
    steer = steer_movers("w", units[:1], [(32, -16)], positions=[(56, 40)], space="world")
    sent = yard.submit(steer)
    step = step_movers("w", 0.25, space="world", columns=["positions"], watched=units[::-1])
    done = yard.ask(step)
    (answer,) = yard.wait(sent)
    assert answer.status == "ok"  # type: ignore[union-attr]
    assert done.watched_velocities.dtype == np.float32
    assert done.watched_velocities == pytest.approx(np.array([[0, 0], [32, -16]]), rel=1e-6)
    assert done.view.positions == pytest.approx(np.array([[64, 36]]), rel=1e-6)
    # It goes on until it is told otherwise; in cells there is another number.
    seen = yard.ask(step_movers("w", 0.25, watched=units[:1], area=(30, 15, 31, 15)))
    assert seen.watched_velocities == pytest.approx(np.array([[2, -1]]), rel=1e-6)
    assert yard.ask(view_movers("w")).states.tolist() == [MOVER_STATES.index("steered")]
    assert yard.ask(step_movers("w", 0.25)).watched_velocities is None


def test_movers_are_changed_stopped_and_removed(yard: Direct) -> None:
    units = add(yard, (1, 1), (1, 3), (1, 5), max_speed=[1.0, 2.0, 3.0], acceleration=np.inf)
    paths = send_movers_along("w", units, [(9, 1), (9, 3), (9, 5)], [0, 1, 2, 3])
    yard.ask(paths)
    yard.ask(set_movers("w", units[:2], max_speed=[4.0, 3.0], mask=0))
    yard.ask(stop_movers("w", units[2:]))
    yard.ask(step_movers("w", 1.0))
    assert yard.ask(view_movers("w")).positions.tolist() == [[5, 1], [4, 3], [1, 5]]
    yard.ask(remove_movers("w", units[1:]))
    view = yard.ask(view_movers("w"))
    assert view.handles.tolist() == units[:1].tolist()
    assert refused(yard, paths).field == "handles[1]"


def test_the_ways_that_are_left_are_told(yard: Direct) -> None:
    units = add(yard, (1, 1), (1, 3), (1, 5))
    yard.ask(send_movers_along("w", units[:2], [(5, 1), (5, 9), (9, 3)], [0, 2, 3]))
    routes = yard.ask(view_routes("w", units[::-1]))
    assert [route.tolist() for route in routes] == [[], [[9, 3]], [[5, 1], [5, 9]]]
    assert routes[0].dtype == np.float32
    for _ in range(100):
        yard.ask(step_movers("w", 0.25))
        [left] = yard.ask(view_routes("w", units[:1], space="world"))
        if len(left) < 2:
            break
    assert left.tolist() == [[5 * 16 + 8, 9 * 16 + 8]]
    assert yard.ask(view_routes("w", [])) == []
    assert refused(yard, view_routes("w", [9])).field == "handles[0]"


def test_bodies_that_do_not_fit_are_refused_and_named(yard: Direct) -> None:
    yard.ask(edit_world("w", cells=[(5, 5)], class_ids=255))
    yard.ask(edit_world("w", cells=[(9, 9)], class_ids=7))
    boat = np.full(256, np.inf)
    boat[7] = 1.0
    yard.ask(set_profile("w", "boat", boat))
    assert refused(yard, add_movers("w", [(1, 1), (5, 5)], **BODY)).field == "positions[1]"
    assert refused(yard, add_movers("w", [(1, 1)], movement={"profile": "boat"}, **BODY)).field == (
        "positions[0]"
    )
    assert refused(yard, add_movers("w", [(4, 4)], movement={"size": 2}, **BODY)).field == (
        "positions[0]"
    )
    add(yard, (9, 9), movement={"profile": "boat"})


@pytest.mark.parametrize(
    ("question", "field"),
    [
        (add_movers("w", [(1, 1)], radius=-1.0, max_speed=1.0), "body_radius"),
        (add_movers("w", [(1, 1)], radius=[33.0], max_speed=1.0), "body_radii[0]"),
        (add_movers("w", [(1, 1)], acceleration=0.0, **BODY), "acceleration"),
        (add_movers("w", [(1, 1)], layers=2**32, **BODY), "layers"),
        (add_movers("w", [(np.nan, 1)], **BODY), "positions[0]"),
        (add_movers("w", [(1e30, 1)], **BODY), "positions[0]"),
        (add_movers("w", [(np.inf, 1)], space="world", **BODY), "positions[0]"),
        (add_movers("w", [(1, 1)], space="moon", **BODY), "space"),
        (add_movers("w", [(1, 1)], movement={"profile": "x"}, **BODY), "profile"),
        (add_movers("w", [], movement={"radius": 1e9}, **BODY), "radius"),
        (add_movers("w", [], movement={"overlays": {"mud": 1.0}}, **BODY), "overlays"),
        (set_movers("w", [9], max_speed=1.0), "handles[0]"),
        (set_movers("w", [UNIT, UNIT], max_speed=1.0), "handles[1]"),
        (set_movers("w", [UNIT]), "positions"),
        (place_movers("w", [UNIT], [(99, 1)]), "positions[0]"),
        (order_movers("w", [UNIT], [(1, 1), (2, 2)]), "goals"),
        (order_movers("w", [UNIT], (99, 1)), "goals"),
        (order_movers("w", [UNIT], (np.nan, 1)), "goals"),
        (send_movers_along("w", [UNIT], [(1, 1)], [0, 2]), "offsets"),
        (stop_movers("w", [-1]), "handles[0]"),
        (steer_movers("w", [9], [(1, 0)]), "handles[0]"),
        (steer_movers("w", [UNIT], [(np.nan, 0)]), "velocities[0]"),
        (steer_movers("w", [UNIT], [(np.inf, 0)], space="world"), "velocities[0]"),
        (steer_movers("w", [UNIT], [(1, 0)], positions=[(np.nan, 1)]), "positions[0]"),
        (steer_movers("w", [UNIT], [(1, 0)], current_velocities=[(2e6, 1)]), "current_velocities"),
        (step_movers("w", -1.0), "dt"),
        (step_movers("w", 1.0, 10_001), "count"),
        (step_movers("w", 1.0, area=(1, 1, 0, 0)), "area"),
        (step_movers("w", 1.0, columns=["goal"]), "columns"),
        (step_movers("w", 1.0, columns=["states", "states"]), "columns"),
        (view_movers("w", area=(1, 1, 0, 0)), "area"),
        (view_movers("nowhere"), "world"),
        (load_movers("w", b"NAVARRAY"), "state"),
        (set_up_movers("w"), "replace"),
        (set_up_movers("w", replace=True, keep_right=2.0), "keep_right"),
    ],
)
def test_what_cannot_be_done_is_named_and_changes_nothing(
    yard: Direct, question: Any, field: str
) -> None:
    assert add(yard, (3, 3)).tolist() == [UNIT]
    before = yard.ask(mover_info("w", hash=True))
    assert refused(yard, question).field.startswith(field)
    assert yard.ask(mover_info("w", hash=True)) == before


def test_a_property_is_said_once_and_two_must_be(yard: Direct) -> None:
    question = add_movers("w", [(1, 1)], **BODY)
    twice = {**question.arrays, "body_radii": np.ones(1, np.float32)}
    number = yard.client().request("movers_add", question.fields, twice)
    (error,) = yard.wait(number)
    assert isinstance(error, WireError)
    assert error.field == "body_radius"
    fields = {k: v for k, v in question.fields.items() if k != "max_speed"}
    (error,) = yard.wait(yard.client().request("movers_add", fields, question.arrays))
    assert isinstance(error, WireError)
    assert (error.field, error.problem) == ("max_speed", "is missing")


def test_there_is_a_limit_of_movers(yard: Direct, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mover_handlers, "MAX_MOVERS", 3)
    units = add(yard, (1, 1), (1, 3))
    saved = yard.ask(save_movers("w"))
    yard.ask(create_world("v", width=32, height=16))
    error = refused(yard, add_movers("v", [(1, 1), (2, 2)], **BODY))
    assert (error.code, error.value) == ("too_large", "2")
    assert refused(yard, load_movers("v", saved)).field == "state"
    yard.ask(remove_movers("w", units[:1]))
    assert len(yard.ask(add_movers("v", [(1, 1), (2, 2)], **BODY))) == 2


def in_process(avoidance: bool, orders: list[Any]) -> list[str]:
    grid = Grid.filled(32, 16)
    movers = Movers(grid)
    units = movers.add([(1, y) for y in range(1, 14)], **BODY)
    stepper = Stepper(movers, threads=1, budget=5000, avoidance=avoidance)
    hashes = []
    for tick in range(30):
        if tick == 10:
            grid.set_rectangle((12, 0), (1, 12), 255)
        if tick in (0, 15):
            stepper.order(units, orders[tick // 15])
        stepper.step(0.1)
        hashes.append(hash_movers(movers))
    return hashes


@pytest.mark.parametrize("avoidance", [True, False])
def test_lockstep_comes_to_the_state_that_it_comes_to_in_process(
    yard: Direct, avoidance: bool
) -> None:
    orders: list[Any] = [(25, 8), [(20 + y % 5, y + 0.5) for y in range(1, 14)]]
    yard.ask(set_up_movers("w", budget=5000, avoidance=avoidance))
    units = add(yard, *[(1, y) for y in range(1, 14)])
    hashes = []
    for tick in range(30):
        if tick == 10:
            yard.submit(edit_world("w", position=(12, 0), size=(1, 12), class_ids=255))
        if tick in (0, 15):
            yard.submit(order_movers("w", units, orders[tick // 15]))
        hashes.append(yard.ask(step_movers("w", 0.1, hash=True)).hash)
    assert hashes == in_process(avoidance, orders)


def test_saved_movers_are_loaded_under_their_handles(yard: Direct) -> None:
    units = add(yard, (1, 1), (1, 3))
    yard.ask(order_movers("w", units, (20, 8)))
    yard.ask(step_movers("w", 0.1, 5))
    saved, before = yard.ask(save_movers("w")), yard.ask(mover_info("w", hash=True)).hash
    yard.ask(create_world("v", width=32, height=16))
    assert yard.ask(load_movers("v", saved)).tolist() == units.tolist()
    assert yard.ask(mover_info("v", hash=True)).hash == before
    yard.ask(create_world("small", width=8, height=8))
    assert "is not the map" in refused(yard, load_movers("small", saved)).problem


# --- owners ---------------------------------------------------------------------------------------


def test_movers_end_with_their_session_unless_nobody_owns_them(yard: Direct) -> None:
    yard.client(2)
    mine = add(yard, (1, 1), connection=1)
    theirs = add(yard, (1, 3), (1, 5), connection=2)
    free = add(yard, (1, 7), connection=2, owned=False)
    yard.ask(remove_movers("w", theirs[:1]), 1)
    expire(yard, 2)
    assert yard.ask(view_movers("w")).handles.tolist() == [*mine.tolist(), *free.tolist()]


def test_loaded_movers_have_the_owner_who_loaded_them(yard: Direct) -> None:
    add(yard, (1, 1), connection=2)
    saved = yard.ask(save_movers("w"), 1)
    yard.ask(load_movers("w", saved, owned=False), 1)
    expire(yard, 2)
    assert yard.ask(mover_info("w")).movers == 1
    add(yard, (1, 3), connection=3)
    yard.ask(load_movers("w", saved), 3)
    expire(yard, 3)
    assert yard.ask(mover_info("w")).movers == 0


def test_a_world_takes_its_movers_with_it(yard: Direct) -> None:
    add(yard, (1, 1))
    yard.ask(create_world("w", width=4, height=4, replace=True))
    assert yard.ask(mover_info("w")).movers == 0
    add(yard, (1, 1))
    yard.ask(delete_world("w"))
    expire(yard, 1)


def test_handles_of_those_who_have_gone_are_not_kept_for_ever(yard: Direct) -> None:
    session: Any = object()
    world = yard.office.worlds["w"]
    owners = MoverOwners()
    for _ in range(5):
        handles = world.movers.add(np.ones((1000, 2)), **BODY)
        owners.add(session, world, handles)
        world.movers.remove(handles[1:])
    assert owners._owned[session, world].size < 2500
    assert owners.take(session, world).size == 5
    assert owners.take(session, world).size == 0


def test_steps_leave_two_cores_to_the_game(yard: Direct, monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, threads in ((8, 6), (2, 1), (1, 1)):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        yard.ask(set_up_movers("w", replace=True))
        assert yard.office.worlds["w"].movers.threads == threads
