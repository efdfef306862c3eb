"""Messages to connections that have room for a number of them, under a clock that tests set."""

from __future__ import annotations

import io
import math
from typing import Any

import pytest

from navserver.sidecar.logbook import Logbook
from navserver.sidecar.post import FIRST_RETRY_SECONDS, Post
from navserver.wire.codec import decode_message
from navserver.wire.message import Reply
from navserver.wire.messages import encode_request
from navserver.wire.server_session import Asked, Ended, ServerSessions


class Counter:
    """Sessions of which each connection takes as many messages as it has room for."""

    def __init__(self) -> None:
        self.now = 0.0
        self.room: dict[Any, float] = {}
        self.taken: dict[Any, list[dict[str, Any]]] = {}
        self.log = io.StringIO()
        self.sessions = ServerSessions("instance", "test", ("hello", "ping"))
        logbook = Logbook(self.log, as_json=True)
        self.post = Post(self._take, self.sessions, logbook, lambda: self.now)

    def _take(self, connection: Any, frames: list[Any]) -> bool:
        if self.room.get(connection, math.inf) < 1:
            return False
        self.room[connection] = self.room.get(connection, math.inf) - 1
        self.taken.setdefault(connection, []).append(decode_message(frames)[0])
        return True

    def hello(self, connection: int) -> None:
        fields = {"session": f"s{connection}", "protocol": 1}
        self.sessions.receive_message(connection, encode_request("hello", 1, fields), self.now)
        self.post.send()
        self.events()

    def events(self) -> list[Any]:
        found = []
        while (event := self.sessions.next_event()) is not None:
            found.append(event)
        return found

    def ping(self, connection: int, number: int) -> None:
        """Ask and have the answer sent, if there is room for it."""
        self.sessions.receive_message(connection, encode_request("ping", number, {}), self.now)
        for event in self.events():
            assert isinstance(event, Asked)
            reply = Reply("ok", {"time": self.now}, {})
            self.sessions.reply(event.session, event.request.id, reply)
        self.post.send()

    def told(self, connection: int) -> list[Any]:
        headers = self.taken.get(connection, [])
        return [header.get("id", header.get("reason")) for header in headers]


def test_what_a_client_has_no_room_for_comes_later_and_in_its_order() -> None:
    counter = Counter()
    counter.hello(1)
    counter.hello(2)
    counter.room[1] = 1
    for number in (2, 3, 4):
        counter.ping(1, number)
        counter.ping(2, number)
    assert counter.told(1) == [1, 2]
    assert counter.told(2) == [1, 2, 3, 4]
    assert counter.post.is_holding
    # There is room again, but nobody looks before it is time.
    assert counter.post.retry_at > counter.now
    counter.room[1] = 1
    counter.post.send()
    assert counter.told(1) == [1, 2]
    counter.now = counter.post.retry_at
    counter.post.send()
    assert counter.told(1) == [1, 2, 3]
    counter.room[1] = math.inf
    counter.ping(1, 5)
    counter.now = counter.post.retry_at
    counter.post.send()
    assert counter.told(1) == [1, 2, 3, 4, 5]
    assert not counter.post.is_holding
    assert counter.post.retry_at == math.inf


def test_who_takes_nothing_is_asked_less_and_less_often() -> None:
    counter = Counter()
    counter.hello(1)
    counter.room[1] = 0
    counter.ping(1, 2)
    waits = []
    for _ in range(8):
        waits.append(counter.post.retry_at - counter.now)
        counter.now = counter.post.retry_at
        counter.post.send()
    assert waits == sorted(waits)
    assert waits[0] == pytest.approx(FIRST_RETRY_SECONDS)
    assert waits[-1] == pytest.approx(0.02)


def test_a_session_ends_that_takes_nothing_for_too_long_and_hears_it_later() -> None:
    counter = Counter()
    counter.hello(1)
    counter.hello(2)
    counter.room[1] = 0
    counter.ping(1, 2)
    counter.now = 9.0
    counter.room[1] = 1
    counter.post.send()
    counter.ping(1, 3)
    counter.now = 18.9
    counter.post.send()
    assert len(counter.sessions) == 2
    counter.now = 19.1
    counter.post.send()
    assert [type(event) for event in counter.events()] == [Ended]
    assert "client_not_reading" in counter.log.getvalue()
    # The goodbye waits for as long as the connection lasts, and holds up no end of the server.
    assert not counter.post.is_holding
    counter.now = 1000.0
    counter.room[1] = math.inf
    counter.post.send()
    assert counter.told(1) == [1, 2, "not_reading"]
    counter.ping(2, 2)
    assert counter.told(2) == [1, 2]


def test_a_session_ends_that_has_too_much_held_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("navserver.sidecar.post._MOST_BYTES_HELD", 200)
    counter = Counter()
    counter.hello(1)
    counter.room[1] = 0
    for number in range(2, 20):
        counter.now += 0.1
        counter.ping(1, number)
        if not len(counter.sessions):
            break
    assert not len(counter.sessions)
    assert counter.now < 2.0
