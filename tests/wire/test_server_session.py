from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from navserver.status import InputError
from navserver.wire import limits
from navserver.wire.codec import decode_message
from navserver.wire.errors import WireError
from navserver.wire.message import Reply
from navserver.wire.messages import encode_request
from navserver.wire.server_session import Asked, Began, Ended, ServerSessions, Session
from navserver.wire.session import ServerCause, ServerState

OFFERED = ("hello", "ping", "path", "world_edit", "batch")


class Peer:
    """Talks to the sessions of a server over connections that are numbers."""

    def __init__(self) -> None:
        self.sessions = ServerSessions("instance", "navserver test", OFFERED)
        self.now = 0.0

    def send(self, connection: int, kind: str, number: int, done: int = 0, **fields: Any) -> None:
        frames = encode_request(kind, number, fields, done=done)
        self.sessions.receive_message(connection, frames, self.now)

    def hello(self, connection: int, name: str = "s", number: int = 1, **fields: Any) -> None:
        self.send(connection, "hello", number, session=name, **{"protocol": 1, **fields})

    def events(self) -> list[Any]:
        found = []
        while (event := self.sessions.next_event()) is not None:
            found.append(event)
        return found

    def sent(self) -> list[tuple[int, dict[str, Any]]]:
        out = self.sessions.messages_to_send()
        messages = [(connection, decode_message(frames)[0]) for connection, frames in out]
        out.clear()
        return messages  # type: ignore[return-value]

    def opened(self, connection: int = 1, name: str = "s") -> Session:
        self.hello(connection, name)
        self.sent()
        (began,) = self.events()
        assert isinstance(began, Began)
        return began.session

    def asked(self) -> Asked:
        (event,) = self.events()
        assert isinstance(event, Asked)
        return event


@pytest.fixture
def peer() -> Peer:
    return Peer()


def path(peer: Peer, number: int, connection: int = 1, done: int = 0) -> None:
    peer.send(connection, "path", number, done, world="w", start=[0, 0], goal=[1, 1])


FOUND = Reply("found", {"expanded": 1}, {}, version=3)


def test_hello_opens_a_session(peer: Peer) -> None:
    peer.hello(1)
    ((connection, header),) = peer.sent()
    assert connection == 1
    assert header["status"] == "ok"
    assert header["protocol"] == 1
    assert header["resumed"] is False
    assert header["capabilities"] == sorted(OFFERED)
    assert header["max_requests"] == limits.MAX_REQUESTS
    (began,) = peer.events()
    assert (began.session.name, began.resumed) == ("s", False)


@pytest.mark.parametrize(
    ("fields", "side"),
    [
        ({"protocol": 7, "oldest_protocol": 2}, "update the server"),
        ({"protocol": 65535, "oldest_protocol": 65535}, "update the server"),
    ],
)
def test_without_a_common_version_there_is_no_session(
    peer: Peer, fields: dict[str, int], side: str
) -> None:
    peer.hello(1, **fields)
    ((_, header),) = peer.sent()
    assert (header["code"], header["field"], header["remedy"]) == ("protocol", "protocol", side)
    assert not peer.events()
    assert len(peer.sessions) == 0


def test_a_later_client_is_answered_in_our_version(peer: Peer) -> None:
    peer.hello(1, protocol=9, oldest_protocol=1)
    ((_, header),) = peer.sent()
    assert (header["status"], header["protocol"]) == ("ok", 1)


def test_nothing_comes_before_hello(peer: Peer) -> None:
    path(peer, 5)
    ((_, header),) = peer.sent()
    assert (header["id"], header["type"], header["code"]) == (5, "path", "no_session")
    assert not peer.events()


def test_a_request_is_answered_once(peer: Peer) -> None:
    session = peer.opened()
    path(peer, 2)
    asked = peer.asked()
    assert asked.session is session
    assert asked.request.fields["goal"] == (1, 1)
    peer.sessions.reply(session, 2, FOUND)
    peer.sessions.reply(session, 2, FOUND)
    ((connection, header),) = peer.sent()
    assert connection == 1
    assert (header["id"], header["status"], header["version"]) == (2, "found", 3)
    assert not session.open


def test_an_error_is_an_answer(peer: Peer) -> None:
    session = peer.opened()
    path(peer, 2)
    peer.asked()
    peer.sessions.reply(session, 2, InputError("goal", (9, 9), "is outside", "move it"))
    ((_, header),) = peer.sent()
    assert (header["type"], header["id"], header["code"]) == ("path", 2, "bad_field")
    assert not session.open


def test_parts_of_a_batch_leave_it_open(peer: Peer) -> None:
    session = peer.opened()
    frames = encode_request(
        "batch", 2, {"world": "w", "parts": True},
        {"starts": np.zeros((1, 2), np.int32), "goals": np.zeros((1, 2), np.int32)},
    )  # fmt: skip
    peer.sessions.receive_message(1, frames, 0.0)
    peer.asked()
    peer.sessions.reply(session, 2, Reply("ok", {"more": True}, {}))
    assert 2 in session.open
    peer.sessions.reply(session, 2, Reply("ok", {"more": False}, {}))
    assert [header["more"] for _, header in peer.sent()] == [True, False]
    assert not session.open


def test_an_answer_that_does_not_fit_is_an_error(peer: Peer) -> None:
    session = peer.opened()
    path(peer, 2)
    peer.asked()
    huge = {"points": np.broadcast_to(np.float32(0), (9 << 20, 2))}
    peer.sessions.reply(session, 2, FOUND._replace(arrays=huge))
    ((_, header),) = peer.sent()
    assert (header["status"], header["code"], header["field"]) == ("error", "too_large", "points")


def test_a_request_that_is_at_work_is_not_begun_again(peer: Peer) -> None:
    session = peer.opened()
    path(peer, 2)
    peer.asked()
    path(peer, 2)
    assert not peer.events()
    assert not peer.sent()
    peer.sessions.reply(session, 2, FOUND)
    assert len(peer.sent()) == 1


def test_a_change_is_never_carried_out_twice(peer: Peer) -> None:
    session = peer.opened()
    peer.send(1, "world_edit", 2, world="w")
    peer.asked()
    peer.sessions.reply(session, 2, Reply("ok", {}, {}, version=9))
    first = peer.sent()
    peer.send(1, "world_edit", 2, world="w")
    assert not peer.events()
    assert peer.sent() == first
    path(peer, 3, done=2)
    peer.asked()
    assert not session.kept


def test_a_question_is_asked_again(peer: Peer) -> None:
    session = peer.opened()
    path(peer, 2)
    peer.asked()
    peer.sessions.reply(session, 2, FOUND)
    path(peer, 2)
    peer.asked()


def test_kept_replies_are_dropped_in_any_order(peer: Peer) -> None:
    session = peer.opened()
    for number in (5, 3, 9, 4):
        peer.send(1, "world_edit", number, world="w")
        peer.asked()
        peer.sessions.reply(session, number, Reply("ok", {}, {}))
    path(peer, 10, done=4)
    assert sorted(session.kept) == [5, 9]
    path(peer, 11, done=3)
    assert (session.done, sorted(session.kept)) == (4, [5, 9])


def test_too_many_kept_replies_are_an_overload(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("navserver.wire.server_session.MAX_KEPT_REPLIES", 2)
    session = peer.opened()
    for number in (2, 3):
        peer.send(1, "world_edit", number, world="w")
        peer.asked()
        peer.sessions.reply(session, number, Reply("ok", {}, {}))
    peer.sent()
    peer.send(1, "world_edit", 4, world="w")
    ((_, header),) = peer.sent()
    assert header["status"] == "overloaded"
    assert not peer.events()
    peer.send(1, "world_edit", 5, done=4, world="w")
    peer.asked()


def test_replies_that_are_kept_are_bounded_in_bytes(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("navserver.wire.server_session.MAX_KEPT_BYTES", 50)
    session = peer.opened()
    peer.send(1, "world_edit", 2, world="w")
    peer.asked()
    peer.sessions.reply(session, 2, Reply("ok", {}, {}))
    assert session.kept_bytes > 50
    peer.sent()
    peer.send(1, "world_edit", 3, world="w")
    ((_, header),) = peer.sent()
    assert header["status"] == "overloaded"
    peer.send(1, "world_edit", 4, done=3, world="w")
    peer.asked()
    assert session.kept_bytes == 0


def test_too_many_requests_are_an_overload(peer: Peer) -> None:
    peer.opened()
    for number in range(2, limits.MAX_REQUESTS + 2):
        path(peer, number)
    assert len(peer.events()) == limits.MAX_REQUESTS
    path(peer, 5000)
    ((_, header),) = peer.sent()
    assert (header["id"], header["status"]) == (5000, "overloaded")
    assert not peer.events()


def test_what_is_not_offered_is_told(peer: Peer) -> None:
    peer.opened()
    peer.send(1, "world_list", 2)
    ((_, header),) = peer.sent()
    assert header["code"] == "unavailable"
    assert "world_edit" in header["remedy"]


@pytest.mark.parametrize(
    ("frames", "number", "code"),
    [
        ([b"\xc1"], 0, "malformed"),
        ([], 0, "malformed"),
        ([b"\x80"], 0, "bad_field"),
        ([b"\x81\xa2id\x07"], 7, "unknown_message"),
        ([b"\x82\xa2id\x07\xa4type\xa4path"], 7, "bad_field"),
    ],
)
def test_what_cannot_be_read_is_answered(
    peer: Peer, frames: list[bytes], number: int, code: str
) -> None:
    peer.opened()
    peer.sessions.receive_message(1, frames, 0.0)
    ((connection, header),) = peer.sent()
    assert (connection, header["id"], header["code"]) == (1, number, code)
    assert not peer.events()


# --- connections ----------------------------------------------------------------------------------


def test_a_session_outlives_its_connection(peer: Peer) -> None:
    session = peer.opened()
    path(peer, 2)
    peer.asked()
    peer.sessions.connection_lost(1, 5.0)
    assert session.state is ServerState.AWAY
    peer.now = 10.0
    peer.hello(2, number=3)
    ((connection, header),) = peer.sent()
    assert (connection, header["resumed"]) == (2, True)
    assert peer.events() == [Began(session, True)]
    peer.sessions.reply(session, 2, FOUND)
    assert [connection for connection, _ in peer.sent()] == [2]


def test_replies_without_a_connection_are_dropped_but_those_to_changes_kept(peer: Peer) -> None:
    session = peer.opened()
    path(peer, 2)
    peer.send(1, "world_edit", 3, world="w")
    peer.events()
    peer.sessions.connection_lost(1, 5.0)
    peer.sessions.reply(session, 2, FOUND)
    peer.sessions.reply(session, 3, Reply("ok", {}, {}, version=4))
    assert not peer.sent()
    peer.hello(2, number=4)
    path(peer, 2, connection=2)
    peer.send(2, "world_edit", 3, world="w")
    (_, welcome), (_, edit) = peer.sent()
    assert (welcome["type"], edit["id"], edit["version"]) == ("hello", 3, 4)
    _, asked = peer.events()
    assert asked.request.id == 2


def test_another_connection_takes_the_session_over(peer: Peer) -> None:
    session = peer.opened()
    peer.hello(2, number=2)
    (first, goodbye), (second, welcome) = peer.sent()
    assert (first, goodbye["type"], goodbye["reason"]) == (1, "goodbye", "replaced")
    assert (second, welcome["resumed"]) == (2, True)
    path(peer, 3, connection=1)
    ((_, header),) = peer.sent()
    assert header["code"] == "no_session"
    assert session.connection == 2


def test_a_connection_may_change_its_session(peer: Peer) -> None:
    first = peer.opened(1, "one")
    second = peer.opened(1, "two")
    assert first.state is ServerState.AWAY
    assert first.connection is None
    path(peer, 2)
    assert peer.asked().session is second


def test_a_second_hello_changes_nothing(peer: Peer) -> None:
    session = peer.opened()
    peer.hello(1, number=2)
    ((_, header),) = peer.sent()
    assert header["resumed"] is True
    assert session.state is ServerState.OPEN
    assert len(peer.sessions) == 1


def test_a_session_away_expires(peer: Peer) -> None:
    session = peer.opened()
    peer.sessions.connection_lost(1, 100.0)
    peer.sessions.tick(159.0)
    assert not peer.events()
    peer.sessions.tick(161.0)
    assert peer.events() == [Ended(session, ServerCause.EXPIRED)]
    assert len(peer.sessions) == 0
    peer.sessions.connection_lost(1, 200.0)
    peer.hello(1)
    assert peer.events()[0].resumed is False


def test_a_silent_client_is_probed(peer: Peer) -> None:
    peer.opened()
    peer.sessions.tick(29.0)
    assert not peer.sent()
    peer.sessions.tick(31.0)
    assert [header["type"] for _, header in peer.sent()] == ["alive"]
    peer.sessions.tick(59.0)
    assert not peer.sent()
    peer.now = 60.0
    path(peer, 2)
    peer.sessions.tick(89.0)
    assert not peer.sent()
    peer.sessions.tick(91.0)
    assert len(peer.sent()) == 1


def test_a_client_that_does_not_read_is_ended(peer: Peer) -> None:
    session = peer.opened()
    path(peer, 2)
    peer.asked()
    assert peer.sessions.not_reading(1)
    ((connection, goodbye),) = peer.sent()
    assert (connection, goodbye["type"], goodbye["reason"]) == (1, "goodbye", "not_reading")
    assert peer.events() == [Ended(session, ServerCause.NOT_READING)]
    peer.sessions.reply(session, 2, FOUND)
    assert not peer.sent()
    path(peer, 3)
    ((_, header),) = peer.sent()
    assert header["code"] == "no_session"
    assert not peer.sessions.not_reading(1)
    assert not peer.sent()


def test_the_end_is_told(peer: Peer) -> None:
    session = peer.opened()
    away = peer.opened(2, "away")
    peer.sessions.connection_lost(2, 0.0)
    path(peer, 2)
    peer.asked()
    peer.sessions.begin_ending()
    path(peer, 3)
    peer.hello(3, "late")
    refused = peer.sent()
    assert [header["code"] for _, header in refused] == ["shutting_down"] * 2
    assert peer.sessions.open_requests == 1
    peer.sessions.reply(session, 2, FOUND)
    peer.sessions.end_all("start it again")
    (_, answer), (connection, goodbye) = peer.sent()
    assert answer["status"] == "found"
    assert (connection, goodbye["reason"], goodbye["remedy"]) == (1, "shutdown", "start it again")
    ended = peer.events()
    assert {event.session for event in ended} == {session, away}
    assert len(peer.sessions) == 0


def test_events_go_where_the_session_is(peer: Peer) -> None:
    session = peer.opened()
    peer.sessions.push(session, "path_invalid", {"world": "w", "version": 2}, {
        "watches": np.array([1], np.uint32),
        "indices": np.array([0], np.uint32),
        "reasons": np.array([0], np.uint8),
    })  # fmt: skip
    ((connection, header),) = peer.sent()
    assert (connection, header["type"]) == (1, "path_invalid")
    assert "id" not in header
    peer.sessions.connection_lost(1, 0.0)
    peer.sessions.push(session, "alive", {})
    assert not peer.sent()


def test_a_session_is_shown_with_its_state(peer: Peer) -> None:
    assert repr(peer.opened()) == "<Session s of a client: open>"


def test_errors_leave_the_session_as_it_was(peer: Peer) -> None:
    session = peer.opened()
    with pytest.raises(WireError):
        decode_message([b"\xc1"])
    for frames in ([b"\xc1"], [b"\x80", b"x"]):
        peer.sessions.receive_message(1, frames, 0.0)
    assert session.state is ServerState.OPEN
    path(peer, 2)
    peer.asked()
