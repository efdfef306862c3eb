from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from navserver.service.world_movers import WorldMovers
from navserver.sidecar import mover_steps
from navserver.status import NavserverError
from navserver.wire.errors import WireError
from navserver.wire.questions import (
    Question,
    add_movers,
    create_world,
    delete_world,
    edit_world,
    find_path,
    list_worlds,
    mover_info,
    order_movers,
    run_movers,
    stats,
    step_movers,
    view_movers,
    world_hash,
    world_info,
)
from tests.sidecar.direct import PATIENCE, Direct

BODY = {"radius": 0.4, "max_speed": 4.0}


@pytest.fixture
def yard(direct: Direct) -> Direct:
    direct.ask(create_world("w", width=32, height=16))
    direct.ask(add_movers("w", [(1, 1), (1, 3)], **BODY))
    return direct


@pytest.fixture
def aside(yard: Direct, monkeypatch: pytest.MonkeyPatch) -> Direct:
    """Nothing is stepped on the thread of the sockets."""
    monkeypatch.setattr(mover_steps, "_INLINE_MOVERS", 0)
    return yard


class Gate:
    """Holds the next steps back until it is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.reached = threading.Event()

    def wait(self) -> None:
        self.reached.set()
        assert self.opened.wait(PATIENCE)


@pytest.fixture
def gate(aside: Direct, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate()
    assert aside.office.is_warm
    step = WorldMovers.step

    def gated(movers: WorldMovers, dt: float) -> Any:
        made.wait()
        return step(movers, dt)

    monkeypatch.setattr(WorldMovers, "step", gated)
    yield made
    made.opened.set()


def running(yard: Direct, ticks: int) -> None:
    """Step until the movers have, at 10 steps a second."""
    while yard.office.worlds["w"].movers.tick < ticks:
        yard.now += 0.1
        yard.step()


def test_aside_and_inline_come_to_the_same(yard: Direct, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = []
    for limit in (1 << 30, 0):
        monkeypatch.setattr(mover_steps, "_INLINE_MOVERS", limit)
        yard.ask(create_world("w", width=32, height=16, replace=True))
        units = yard.ask(add_movers("w", [(1, 1), (1, 3)], **BODY))
        yard.ask(order_movers("w", units, (20, 8)))
        done = yard.ask(step_movers("w", 0.1, 100, hash=True, columns=["states"]))
        assert (done.steps, done.view.tick) == (100, 100)
        assert sorted(done.view.events.of("arrived").tolist()) == units.tolist()
        assert np.all(np.diff(done.view.events.ticks.astype(int)) >= 0)
        hashes.append(done.hash)
    assert hashes[0] == hashes[1]


def test_events_and_hash_are_told_only_where_wanted(yard: Direct) -> None:
    units = yard.ask(view_movers("w")).handles
    yard.ask(order_movers("w", units, (5, 5)))
    (answer,) = yard.wait(yard.submit(step_movers("w", 0.1, 100, events=False)))
    assert not answer.arrays  # type: ignore[union-attr]
    assert answer.fields["hash"] is None  # type: ignore[union-attr]


def test_what_is_stuck_says_why(yard: Direct) -> None:
    yard.ask(edit_world("w", position=(10, 0), size=(1, 16), class_ids=255))
    units = yard.ask(view_movers("w")).handles
    yard.ask(order_movers("w", units, (20, 8)))
    events = yard.ask(step_movers("w", 0.1, 20)).view.events
    assert events.stuck == dict.fromkeys(units.tolist(), "unreachable")


def test_questions_pass_a_step_and_changes_wait(aside: Direct, gate: Gate) -> None:
    stepping = aside.submit(step_movers("w", 0.1))
    assert gate.reached.wait(PATIENCE)
    # Another session's question is answered, and so is one of another world.
    assert aside.ask(find_path("w", (0, 0), (3, 3)), 2).found
    assert aside.ask(world_hash("w"), 2)
    edit = aside.submit(edit_world("w", class_ids=255), 2)
    info = aside.submit(world_info("w"), 2)
    other = aside.submit(mover_info("w"), 3)
    assert aside.ask(list_worlds(), 2) == ["w"]
    assert all(aside.clients[c].is_pending(n) for c, n in ((2, edit), (2, info), (3, other)))
    assert aside.ask(world_info("w"), 4)["version"] == 1
    gate.opened.set()
    (done,) = aside.wait(stepping)
    assert done.version == 1  # type: ignore[union-attr]
    # Requests of a session take effect in their order.
    (seen,) = aside.wait(info, 2)
    assert seen.version == 2  # type: ignore[union-attr]
    aside.wait(edit, 2)
    aside.wait(other, 3)


def test_steps_that_are_under_way_can_be_cancelled(aside: Direct, gate: Gate) -> None:
    stepping = aside.submit(step_movers("w", 0.1, 10_000))
    assert gate.reached.wait(PATIENCE)
    aside.submit(Question("cancel", {"target": stepping}, lambda _: None))
    gate.opened.set()
    (done,) = aside.wait(stepping)
    assert done.status == "cancelled"  # type: ignore[union-attr]
    assert 1 <= done.fields["steps"] < 10_000  # type: ignore[union-attr]
    assert aside.ask(mover_info("w")).tick == done.fields["steps"]  # type: ignore[union-attr]


def test_long_steps_are_done_in_slices(aside: Direct) -> None:
    # With a clock that stands still no slice would end: each look at it takes a second here.
    aside.office.clock = lambda: (setattr(aside, "now", aside.now + 1.0), aside.now)[1]  # type: ignore[func-returns-value]
    assert aside.ask(step_movers("w", 0.1, 7)).steps == 7


def test_who_has_gone_steps_no_further(aside: Direct, gate: Gate) -> None:
    aside.submit(step_movers("w", 0.1, 10_000), 2)
    assert gate.reached.wait(PATIENCE)
    aside.sessions.connection_lost(2, aside.now)
    aside.now += 100.0
    aside.step()
    aside.step()
    gate.opened.set()
    assert aside.ask(mover_info("w")).tick < 10_000


def test_a_world_may_be_restored_while_its_movers_step(aside: Direct, gate: Gate) -> None:
    (snapshot,) = aside.wait(aside.submit(Question("snapshot", {}, lambda _: None)))
    stepping = aside.submit(step_movers("w", 0.1, 10_000))
    assert gate.reached.wait(PATIENCE)
    aside.submit(
        Question("restore", {}, lambda _: None, {"state": snapshot.arrays["state"]}),
        2,  # type: ignore[union-attr]
    )
    former = aside.office.worlds["w"]
    while aside.office.worlds["w"] is former:
        aside.step()
    gate.opened.set()
    (done,) = aside.wait(stepping)
    assert done.status == "world_removed"  # type: ignore[union-attr]
    assert aside.ask(mover_info("w")).movers == 2
    assert aside.ask(mover_info("w")).tick == 0


def test_a_defect_of_a_step_is_told_and_the_world_goes_on(
    aside: Direct, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise NavserverError("broken")

    with monkeypatch.context() as patched:
        patched.setattr(WorldMovers, "step", fail)
        with pytest.raises(WireError, match="broken") as caught:
            aside.ask(step_movers("w", 0.1))
        assert caught.value.code == "internal"
        for limit in (0, 1 << 30):
            patched.setattr(mover_steps, "_INLINE_MOVERS", limit)
            aside.ask(run_movers("w", 10.0))
            while aside.ask(mover_info("w")).rate:
                aside.now += 0.1
                aside.step()
        assert aside.log.getvalue().count("movers_failed") == 2
    assert aside.ask(step_movers("w", 0.1)).steps == 1


@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_movers_run_at_their_rate(
    yard: Direct, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(mover_steps, "_INLINE_MOVERS", limit)
    assert yard.dispatch.next_due() == np.inf
    yard.ask(run_movers("w", 10.0))
    assert yard.dispatch.next_due() == yard.now + 0.1
    assert yard.ask(mover_info("w")).rate == 10.0
    running(yard, 5)
    yard.ask(run_movers("w", 0.0))
    assert yard.dispatch.next_due() == np.inf
    ticks = yard.ask(mover_info("w")).tick
    yard.now += 1.0
    yard.step()
    assert yard.ask(mover_info("w")).tick == ticks >= 5
    figures = yard.ask(stats())
    assert (figures["movers.count"], figures["movers.running"]) == (2, 0)
    assert figures["movers.ticks"] == ticks


def test_what_is_due_while_a_world_is_held_is_done_afterwards(aside: Direct, gate: Gate) -> None:
    aside.ask(run_movers("w", 10.0))
    aside.now += 0.1
    aside.step()
    assert gate.reached.wait(PATIENCE)
    # Nobody waits for a time that has come already.
    aside.now += 5.0
    assert aside.dispatch.next_due() == np.inf
    gate.opened.set()
    running(aside, 6)
    assert aside.office.worlds["w"].movers.skipped > 0


def test_a_run_ends_with_its_session_or_its_world(yard: Direct) -> None:
    yard.ask(run_movers("w", 10.0), 2)
    running(yard, 2)
    yard.sessions.connection_lost(2, yard.now)
    yard.now += 100.0
    yard.step()
    yard.step()
    assert yard.dispatch.next_due() == np.inf
    assert yard.ask(mover_info("w")).rate == 0.0
    yard.ask(run_movers("w", 10.0))
    yard.ask(delete_world("w"))
    assert yard.dispatch.next_due() == np.inf
