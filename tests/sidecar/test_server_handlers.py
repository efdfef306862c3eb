from __future__ import annotations

from typing import Any

from navserver.sidecar.server_handlers import flat_figures
from navserver.wire.questions import Question, create_world, find_path, ping, shut_down, stats
from tests.sidecar.direct import Direct


def listen(level: str) -> Question[None]:
    return Question("log", {"level": level}, lambda _: None)


def test_ping_tells_the_time(direct: Direct) -> None:
    direct.client()
    direct.now = 2.5
    assert direct.ask(ping()) == 2.5


def test_stats_are_flat_numbers(direct: Direct) -> None:
    direct.ask(create_world("w", width=4, height=4))
    direct.ask(find_path("w", (0, 0), (3, 3)))
    figures = direct.ask(stats())
    assert figures["requests.path.count"] == 1
    assert figures["sessions"] == 1
    assert figures["memory.process_bytes"] > 1e6
    assert figures["worlds.w.version"] == 1
    assert all(isinstance(value, (int, float)) for value in figures.values())


def test_nested_figures_are_flattened() -> None:
    nested: dict[str, Any] = {"a": {"b": {"c": 1}, "d": True}, "e": float("inf"), "f": "text"}
    assert flat_figures(nested) == {"a.b.c": 1, "a.d": True}


def test_the_log_is_told_to_who_asks(direct: Direct) -> None:
    direct.client(2)
    direct.ask(listen("info"))
    direct.ask(create_world("w", width=4, height=4), 2)
    direct.step()
    told = [notice for notice in direct.notices if notice.name == "logged"]
    assert [notice.fields["event"] for notice in told] == ["world_created"]
    assert "w" in told[0].fields["text"]
    direct.ask(listen("off"))
    direct.notices.clear()
    direct.ask(create_world("v", width=4, height=4), 2)
    direct.step()
    assert not direct.notices


def test_less_grave_entries_are_not_told(direct: Direct) -> None:
    direct.ask(listen("warning"))
    direct.office.logbook.note("info", "small")
    direct.office.logbook.note("error", "large", text="x" * 5000)
    direct.step()
    (notice,) = direct.notices
    assert notice.fields["event"] == "large"
    assert len(notice.fields["text"]) == 1024


def test_who_has_gone_is_told_nothing(direct: Direct) -> None:
    direct.ask(listen("debug"))
    direct.sessions.connection_lost(1, 0.0)
    direct.now = 100.0
    direct.sessions.tick(direct.now)
    direct.dispatch.take_events(direct.now)
    direct.office.logbook.note("error", "late")
    direct.dispatch.take_results()
    assert not direct.sessions.messages_to_send()


def test_shutdown_is_asked_for(direct: Direct) -> None:
    direct.ask(shut_down())
    assert direct.office.is_asked_to_end
