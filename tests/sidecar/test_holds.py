from __future__ import annotations

from typing import Any

import pytest

from navserver.sidecar.holds import Holds
from navserver.sidecar.office import Call
from navserver.wire.message import Request
from navserver.wire.messages import MESSAGES

ONE: Any = object()
OTHER: Any = object()


def call(kind: str, session: Any = ONE, world: str | None = "w") -> Call:
    return Call(session, Request(MESSAGES[kind], 1, {"world": world}, {}), 0.0)


def test_nothing_waits_for_a_world_that_is_free() -> None:
    holds = Holds()
    assert not holds.takes(call("world_edit"))
    holds.begin("w")
    assert "w" in holds
    assert not holds.takes(call("world_edit", world="v"))
    assert not holds.takes(call("ping", world=None))


@pytest.mark.parametrize(
    ("kind", "waits"),
    [
        ("world_edit", True),
        ("world_delete", True),
        ("movers_view", True),
        ("movers_seen", True),
        ("path", False),
        ("world_hash", False),
    ],
)
def test_questions_pass_where_they_are_let(kind: str, waits: bool) -> None:
    holds = Holds()
    holds.begin("w", lets_questions=True)
    assert holds.takes(call(kind)) is waits
    # Of the session that waits nothing passes any more, of another one it does.
    assert holds.takes(call("path")) is waits
    assert not holds.takes(call("path", OTHER))


def test_what_waited_comes_back_in_its_order() -> None:
    holds = Holds()
    holds.begin("w")
    calls = [call("path"), call("world_edit"), call("path", OTHER)]
    assert all(holds.takes(each) for each in calls)
    assert list(holds.end("w")) == calls
    assert "w" not in holds
    assert not holds.takes(calls[0])


def test_of_two_things_that_are_done_both_must_end() -> None:
    holds = Holds()
    done: list[str] = []
    holds.begin("w", lets_questions=True)
    holds.begin("w")
    holds.when_free("w", lambda: done.append("free"))
    assert holds.takes(call("path"))
    assert [each.request.message.name for each in holds.end("w")] == ["path"]
    # What may pass now does, and what may not waits once more.
    assert not holds.takes(call("path"))
    assert holds.takes(call("world_edit"))
    assert done == []
    assert len(holds.end("w", lets_questions=True)) == 1
    assert done == ["free"]
    holds.when_free("w", lambda: done.append("at once"))
    assert done == ["free", "at once"]
