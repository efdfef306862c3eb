from __future__ import annotations

from typing import Any

from navserver.search.grid import Grid
from navserver.service.scheduler import Scheduler
from navserver.service.worlds import Worlds
from navserver.sidecar.figures import RequestFigures, flat_figures, held_figures


def test_nested_figures_are_flattened() -> None:
    nested: dict[str, Any] = {"a": {"b": {"c": 1}, "d": True}, "e": float("inf"), "f": "text"}
    assert flat_figures(nested) == {"a.b.c": 1, "a.d": True}


def test_requests_are_counted_by_kind_with_their_errors() -> None:
    figures = RequestFigures()
    for wait in range(1, 101):
        figures.note("path", "found", float(wait), 100.0)
    figures.note("world_edit", "error", 0.0, 5.0)
    summary = figures.summary()
    assert summary["world_edit"]["errors"] == summary["world_edit"]["count"] == 1
    path = summary["path"]
    assert (path["count"], path["errors"]) == (100, 0)
    assert path["p50_us"] == 150.5
    assert path["p50_us"] < path["p99_us"] < 200.1
    assert path["wait_p99_us"] < 100


def test_an_empty_server_holds_nothing() -> None:
    scheduler = Scheduler(Worlds())
    assert not any(flat_figures(held_figures(scheduler)).values())
    scheduler.worlds.add("w", Grid.filled(4, 4))
    told = held_figures(scheduler)
    assert told["worlds"]["w"]["version"] == 1
    assert told["memory"]["worlds_bytes"] == told["worlds"]["w"]["memory_bytes"] > 0
