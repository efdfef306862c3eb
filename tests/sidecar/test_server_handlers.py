from __future__ import annotations

import pytest

from navserver.wire.errors import WireError
from navserver.wire.questions import (
    create_world,
    find_path,
    find_paths,
    listen_to_log,
    ping,
    shut_down,
    stats,
)
from tests.sidecar.direct import Direct


def test_ping_tells_the_time(direct: Direct) -> None:
    direct.client()
    direct.now = 2.5
    assert direct.ask(ping()) == 2.5


def test_stats_are_flat_numbers(direct: Direct) -> None:
    direct.ask(create_world("w", width=4, height=4))
    direct.ask(find_path("w", (0, 0), (3, 3)))
    figures = direct.ask(stats())
    assert (figures["path.count"], figures["path.errors"]) == (1, 0)
    assert figures["world_create.count"] == 1
    assert {"path.p50_us", "path.p99_us", "queue.rows", "cache.hit_rate"} <= set(figures)
    assert figures["sessions"] == 1
    assert figures["warm_up.done"] == figures["warm_up.total"]
    assert figures["memory.process_bytes"] > 1e6
    assert figures["worlds.w.version"] == 1
    assert all(isinstance(value, (int, float)) for value in figures.values())


def test_what_is_refused_counts_and_a_batch_in_parts_counts_once(direct: Direct) -> None:
    direct.ask(create_world("w", width=64, height=64))
    with pytest.raises(WireError):
        direct.ask(find_path("w", (0, 0), (99, 3)))
    starts = [(x, 0) for x in range(64)]
    direct.wait(
        direct.submit(find_paths("w", starts, [(63 - x, 63) for x in range(64)], parts=True))
    )
    figures = direct.ask(stats())
    assert (figures["path.count"], figures["path.errors"]) == (1, 1)
    assert figures["batch.count"] == 1


def test_no_number_of_worlds_is_too_large_to_tell(direct: Direct) -> None:
    for i in range(64):
        direct.ask(create_world(f"{i:03}" + "w" * 61, width=2, height=2))
    figures = direct.ask(stats())
    assert figures["world_create.count"] == 64
    assert sum(name.startswith("worlds.") for name in figures) == 3 * 64


def test_the_log_is_told_to_who_asks(direct: Direct) -> None:
    direct.client(2)
    direct.ask(listen_to_log("info"))
    direct.ask(create_world("w", width=4, height=4), 2)
    direct.step()
    told = [notice for notice in direct.notices if notice.name == "logged"]
    assert [notice.fields["event"] for notice in told] == ["world_created"]
    assert "w" in told[0].fields["text"]
    direct.ask(listen_to_log("off"))
    direct.notices.clear()
    direct.ask(create_world("v", width=4, height=4), 2)
    direct.step()
    assert not direct.notices


def test_less_grave_entries_are_not_told(direct: Direct) -> None:
    direct.ask(listen_to_log("warning"))
    direct.office.logbook.note("info", "small")
    direct.office.logbook.note("error", "large", text="x" * 5000)
    direct.step()
    (notice,) = direct.notices
    assert notice.fields["event"] == "large"
    assert len(notice.fields["text"]) == 1024


def test_who_has_gone_is_told_nothing(direct: Direct) -> None:
    direct.ask(listen_to_log("debug"))
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
