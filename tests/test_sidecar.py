"""The parts of the server's process that are only worth something together."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.service.world import World
from navserver.sidecar import batch_handlers
from navserver.sidecar.address import Address
from navserver.sidecar.agents import Agents
from navserver.sidecar.connection_file import default_connection_file
from navserver.sidecar.dispatch import CAPABILITIES
from navserver.sidecar.movement_fields import movement_of, search_options_of
from navserver.sidecar.office import Call
from navserver.sidecar.path_results import as_asked, smoothed
from navserver.status import InputError
from navserver.wire.errors import WireError
from navserver.wire.messages import MESSAGES, read_request
from navserver.wire.questions import (
    create_world,
    find_path,
    find_paths,
    list_worlds,
    world_info,
)
from tests.sidecar.direct import Direct


def test_what_is_offered_is_declared() -> None:
    assert set(CAPABILITIES) <= set(MESSAGES)
    assert sorted(set(CAPABILITIES)) == CAPABILITIES


# --- agents ---------------------------------------------------------------------------------------


def test_of_each_agent_the_newest_request_counts() -> None:
    agents = Agents()
    withdrawn: list[str] = []
    one: Any = lambda: withdrawn.append("one")  # noqa: E731
    two: Any = lambda: withdrawn.append("two")  # noqa: E731
    session: Any = object()
    other: Any = object()
    agents.ask(session, 1, one)
    agents.ask(other, 1, two)
    agents.ask(session, 2, two)
    assert withdrawn == []
    agents.ask(session, 1, two)
    assert withdrawn == ["one"]
    agents.leave(session, 1, one)
    assert len(agents) == 3
    agents.leave(session, 1, two)
    agents.leave(session, 1, two)
    assert len(agents) == 2


# --- options --------------------------------------------------------------------------------------


def fields(**options: Any) -> dict[str, Any]:
    header = {
        "type": "path", "id": 1, "world": "w", "start": [0, 0], "goal": [0, 0], **options
    }  # fmt: skip
    return read_request(header, {}).fields


def test_equal_options_are_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("navserver.sidecar.movement_fields._MOST_KEPT", 4)
    world = World("w", Grid.filled(2, 2))
    options = search_options_of(world, fields(size=3, weight=2.0))
    assert options is search_options_of(world, fields(size=3, weight=2))
    assert options.movement == Movement(size=3)
    assert (options.weight, options.movement.size) == (2.0, 3)
    for size in range(4, 12):
        assert movement_of(world, fields(size=size)).size == size
    assert search_options_of(world, fields(size=3, weight=2.0)) == options


def test_overlays_are_part_of_the_options() -> None:
    world = World("w", Grid.filled(2, 2, layers={"a": np.ones((2, 2)), "b": np.ones((2, 2))}))
    one = movement_of(world, fields(overlays={"a": 1.0, "b": 2.0}))
    other = movement_of(world, fields(overlays={"a": 2.0, "b": 1.0}))
    assert one != other
    assert dict(one.overlays) == {"a": 1.0, "b": 2.0}


# --- results --------------------------------------------------------------------------------------

CELLS = np.array([(0, 0), (1, 0), (2, 0), (2, 1)], np.int32)


def test_paths_are_smoothed_on_their_own_version_only() -> None:
    world = World("w", Grid.filled(3, 2))
    offsets = np.array([0, 4])
    pulled, _ = smoothed(world, Movement(), "pull_string", CELLS, offsets, 1)
    assert pulled.tolist() == [[0, 0], [2, 1]]
    older, _ = smoothed(world, Movement(), "pull_string", CELLS, offsets, 7)
    assert older.tolist() == [[0, 0], [2, 0], [2, 1]]
    assert world.replicas.pin().pins == 1, "nothing stays pinned"
    assert smoothed(world, Movement(), "none", CELLS, offsets, 1)[0] is CELLS


def test_points_follow_the_whole_transform() -> None:
    grid = Grid.filled(3, 2, transform=[[1, 2, 10], [3, 4, 20]])
    points = as_asked(World("w", grid), "points", CELLS)["points"]
    assert points.dtype == np.float32
    assert points.tolist() == grid.cell_to_world(CELLS).astype(np.float32).tolist()


# --- the office -----------------------------------------------------------------------------------


def test_until_kernels_are_compiled_edits_are_made_aside() -> None:
    direct = Direct()
    direct.ask(create_world("w", width=3, height=3))
    direct.office.is_warm = False
    threads: list[str] = []
    world = direct.office.worlds["w"]
    edit = world.edit

    def noted(change: Any) -> Any:
        threads.append(threading.current_thread().name)
        return edit(change)

    world.edit = noted  # type: ignore[method-assign]
    from navserver.wire.questions import edit_world

    direct.ask(edit_world("w", class_ids=1))
    direct.office.is_warm = True
    direct.ask(edit_world("w", class_ids=2))
    assert threads[0].startswith("navserver-aside")
    assert threads[1] == threading.current_thread().name
    direct.close()


def test_worlds_of_the_server_itself_are_waited_for() -> None:
    direct = Direct()
    direct.client()
    direct.office.add_world_aside(World("start", Grid.filled(4, 4)))
    assert direct.ask(world_info("start"))["width"] == 4
    assert direct.ask(find_path("start", (0, 0), (3, 3))).found
    direct.close()


@pytest.mark.parametrize("error", [MemoryError("no room"), KeyError("defect")])
def test_a_defect_aside_is_told_and_the_world_is_free_again(error: Exception) -> None:
    direct = Direct()
    direct.ask(create_world("w", width=3, height=3))

    def fail() -> None:
        raise error

    session = next(iter(direct.sessions))
    number = direct.client().request("world_hash", {"world": "w"})
    (frames,) = direct.client().messages_to_send()
    from navserver.wire.codec import decode_message

    request = read_request(*decode_message(frames))
    session.open[number] = request.message
    direct.office.run_aside(Call(session, request, 0.0), fail, lambda _: None)  # type: ignore[arg-type]
    (told,) = direct.wait(number)
    assert told.code == "internal"  # type: ignore[union-attr]
    assert repr(error) in str(told)
    assert "fail" in direct.log.getvalue()
    assert direct.ask(world_info("w"))["version"] == 1
    assert direct.ask(list_worlds()) == ["w"]
    direct.close()


def test_a_defect_of_a_handler_or_of_what_follows_a_search_ends_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    direct = Direct()
    direct.ask(create_world("w", width=9, height=9))

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("defect")

    for target, name in ((direct.office, "world_of"), (batch_handlers, "smoothed")):
        with monkeypatch.context() as patched:
            patched.setattr(target, name, fail)
            with pytest.raises(WireError, match="defect") as caught:
                direct.ask(find_paths("w", [(0, 0), (1, 1)], (8, 8)))
        assert caught.value.code == "internal"
    told = [json.loads(line) for line in direct.log.getvalue().splitlines()]
    failed = [entry for entry in told if entry["event"] == "request_failed"]
    assert [entry["at"].rpartition(" ")[2] for entry in failed] == ["fail", "fail"]
    assert direct.ask(find_paths("w", [(0, 0)], (8, 8))).status_of(0) == "found"
    direct.close()


# --- addresses ------------------------------------------------------------------------------------


def test_addresses_say_where_to_connect_and_with_what() -> None:
    assert Address.of(4000, "t", None, None).resolve() == ("tcp://127.0.0.1:4000", "t")
    assert Address.of(None, "t", "/run/nav", None).resolve() == ("ipc:///run/nav", "t")
    assert Address.of(None, None, None, "/some/file").connection_file == Path("/some/file")
    assert Address.of(None, None, None, None).connection_file == default_connection_file()


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ((0, "t", None, None), "port"),
        ((65536, "t", None, None), "port"),
        (("80", "t", None, None), "port"),
        ((80, None, None, None), "token"),
        ((80, "t", None, "file"), "connection_file"),
        ((None, "", "/run/nav", None), "token"),
    ],
)
def test_addresses_that_do_not_hold_together_are_refused(given: Any, field: str) -> None:
    with pytest.raises(InputError) as caught:
        Address.of(*given)
    assert caught.value.field == field
