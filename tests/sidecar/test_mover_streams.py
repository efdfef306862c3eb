from __future__ import annotations

from typing import Any

import pytest

from navserver.sidecar import mover_streams
from navserver.wire.questions import (
    MoverView,
    add_movers,
    create_world,
    delete_world,
    edit_world,
    order_movers,
    read_state,
    see_movers,
    set_up_movers,
    step_movers,
    stream_movers,
)
from tests.sidecar.direct import Direct

BODY = {"radius": 0.4, "max_speed": 4.0}


@pytest.fixture
def yard(direct: Direct) -> Direct:
    direct.client(1)
    direct.client(2)
    direct.ask(create_world("w", width=32, height=16))
    direct.ask(add_movers("w", [(1, 1), (9, 9)], **BODY))
    return direct


def told(yard: Direct) -> list[MoverView]:
    """Return the states that have come since the last call."""
    yard.step()
    notices = [notice for notice in yard.notices if notice.name != "alive"]
    yard.notices.clear()
    return [read_state(notice) for notice in notices]


def step(yard: Direct, count: int = 1) -> None:
    for _ in range(count):
        yard.ask(step_movers("w", 0.1))


def test_every_step_is_told_to_who_reads(yard: Direct) -> None:
    assert yard.ask(stream_movers("w"), 2) == 0
    for tick in (1, 2, 3, 4, 5):
        step(yard)
        (state,) = told(yard)
        assert (state.tick, state.version, state.skipped) == (tick, 1, 0)
        assert state.positions is not None
        assert state.positions.tolist() == [[1, 1], [9, 9]]
        assert state.transforms is None
        yard.ask(see_movers("w", tick), 2)
    yard.ask(stream_movers("w", on=False), 2)
    step(yard)
    assert told(yard) == []


def test_who_does_not_read_is_told_the_newest_only_and_how_many_were_left_out(yard: Direct) -> None:
    yard.ask(stream_movers("w", window=2), 2)
    step(yard, 10)
    assert [state.tick for state in told(yard)] == [1, 2]
    yard.ask(see_movers("w", 1), 2)
    (state,) = told(yard)
    assert (state.tick, state.skipped) == (10, 7)
    yard.ask(see_movers("w", 10), 2)
    assert told(yard) == []
    step(yard)
    (state,) = told(yard)
    assert (state.tick, state.skipped) == (11, 0)


def test_a_state_told_late_is_told_again_to_who_comes_back_and_not_counted_as_skipped(
    yard: Direct,
) -> None:
    yard.ask(stream_movers("w", window=1), 2)
    step(yard, 2)
    assert [state.tick for state in told(yard)] == [1]
    yard.ask(see_movers("w", 1), 2)
    (late,) = told(yard)
    assert (late.tick, late.skipped) == (2, 0)
    yard.sessions.connection_lost(2, yard.now)
    yard.clients[2].connection_lost(yard.now)
    yard.clients[2].connected(yard.now)
    (again,) = told(yard)
    assert (again.tick, again.skipped) == (2, 0)


def test_no_event_is_lost_to_who_is_slow(yard: Direct) -> None:
    yard.ask(stream_movers("w", window=1, columns=[]), 2)
    units = yard.ask(add_movers("w", [(1, 3), (1, 5)], **BODY))
    yard.ask(order_movers("w", units, [(3, 3), (5, 5)]))
    step(yard, 20)
    first = told(yard)
    assert len(first) == 1
    yard.ask(see_movers("w", first[0].tick), 2)
    (rest,) = told(yard)
    handles = [h for state in (first[0], rest) for h in state.events.of("arrived").tolist()]
    assert handles == units.tolist()
    assert rest.skipped == 0


def test_events_beyond_what_is_kept_are_counted(
    yard: Direct, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mover_streams, "MOST_EVENTS", 3)
    yard.ask(stream_movers("w", window=1), 2)
    step(yard)
    (state,) = told(yard)
    for x in range(5):
        units = yard.ask(add_movers("w", [(2 + x, 3)], **BODY))
        yard.ask(order_movers("w", units, (2 + x, 4)))
        step(yard, 10)
    yard.ask(see_movers("w", state.tick), 2)
    (state,) = told(yard)
    assert len(state.events.handles) == 3
    assert state.lost_events == 2


def test_the_area_can_be_changed_and_every_nth_tick_chosen(yard: Direct) -> None:
    yard.ask(stream_movers("w", area=(0, 0, 2, 2), every=3, columns=["positions"], window=9), 2)
    step(yard, 7)
    states = told(yard)
    assert [state.tick for state in states] == [2, 5]
    assert [s.positions.tolist() for s in states if s.positions is not None] == [[[1, 1]]] * 2
    yard.ask(stream_movers("w", area=(8, 8, 10, 10), columns=["positions", "handles"], window=9), 2)
    step(yard)
    (state,) = told(yard)
    assert state.positions is not None
    assert state.positions.tolist() == [[9, 9]]
    yard.ask(stream_movers("w", limit=1, window=9), 2)
    step(yard)
    assert told(yard)[0].truncated


def test_a_stream_survives_its_connection_and_tells_events_again(yard: Direct) -> None:
    yard.ask(stream_movers("w", window=1), 2)
    units = yard.ask(add_movers("w", [(1, 3)], **BODY))
    yard.ask(order_movers("w", units, (1.5, 3)))
    step(yard, 3)
    yard.sessions.connection_lost(2, yard.now)
    yard.notices.clear()
    step(yard, 3)
    yard.clients[2].connection_lost(yard.now)
    yard.clients[2].connected(yard.now)
    (state,) = told(yard)
    assert state.tick == 6
    assert state.events.of("arrived").tolist() == units.tolist()
    yard.ask(see_movers("w", 6), 2)
    step(yard)
    assert told(yard)[0].events.handles.tolist() == []


@pytest.mark.parametrize(
    "end",
    [
        lambda: delete_world("w"),
        lambda: create_world("w", width=2, height=2, replace=True),
        lambda: set_up_movers("w", replace=True),
    ],
)
def test_the_end_of_the_movers_is_told(yard: Direct, end: Any) -> None:
    yard.ask(stream_movers("w"), 2)
    yard.notices.clear()
    yard.ask(end())
    yard.step()
    assert [(n.name, n.fields) for n in yard.notices] == [("movers_gone", {"world": "w"})]
    assert len(yard.dispatch._movers._streams) == 0


def test_who_has_gone_is_told_nothing(yard: Direct) -> None:
    yard.ask(stream_movers("w"), 2)
    yard.sessions.connection_lost(2, yard.now)
    yard.now = 100.0
    yard.step()
    yard.step()
    assert len(yard.dispatch._movers._streams) == 0
    yard.ask(edit_world("w", cells=[(5, 5)], class_ids=1))
    step(yard)
