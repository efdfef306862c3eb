from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from navserver.wire import limits
from navserver.wire.client_session import (
    Answer,
    ClientSession,
    Closed,
    Failure,
    Lost,
    Opened,
    Synced,
)
from navserver.wire.codec import decode_message, encode_message
from navserver.wire.errors import WireError
from navserver.wire.message import Reply
from navserver.wire.messages import MESSAGES
from navserver.wire.server_session import Asked, ServerSessions
from navserver.wire.session import ClientState, SessionError

WELCOME = {
    "protocol": 1, "server": "s", "instance": "i", "resumed": False, "capabilities": [],
    "max_header_bytes": 1, "max_frame_bytes": 1, "max_frames": 1, "max_requests": 1,
    "max_batch": 1, "warm_up_done": 0, "warm_up_total": 0,
}  # fmt: skip


def sent(session: ClientSession) -> list[dict[str, Any]]:
    return [decode_message(frames)[0] for frames in session.messages_to_send()]


def events(session: ClientSession) -> list[Any]:
    found = []
    while (event := session.next_event()) is not None:
        found.append(event)
    return found


def answer(
    session: ClientSession, kind: str, number: int, status: str = "ok", now: float = 0.0,
    version: int = 0, **fields: Any,
) -> None:  # fmt: skip
    header = {
        "type": kind, "id": number, "status": status, "version": version, "wait_us": 1.0,
        "search_us": 2.0, **fields,
    }  # fmt: skip
    session.receive_message(encode_message(header), now)


def failure(session: ClientSession, number: int, code: str) -> None:
    answer(session, "path", number, "error", code=code, problem="is so", remedy="do so")


def tell(session: ClientSession, kind: str, **fields: Any) -> None:
    session.receive_message(encode_message({"type": kind, **fields}), 0.0)


def opened(**welcome: Any) -> ClientSession:
    session = ClientSession("name", "test")
    session.connected(0.0)
    (hello,) = sent(session)
    answer(session, "hello", hello["id"], **{**WELCOME, **welcome})
    assert session.state is ClientState.OPEN
    events(session)
    return session


PATH = {"world": "w", "start": [0, 0], "goal": [1, 1]}


def test_hello_names_session_and_versions() -> None:
    session = ClientSession("name", "test")
    session.connected(0.0)
    (hello,) = sent(session)
    assert hello == {
        "type": "hello", "id": 1, "session": "name", "protocol": 1, "oldest_protocol": 1,
        "client": "test",
    }  # fmt: skip
    assert session.state is ClientState.GREETING
    answer(session, "hello", 1, **WELCOME)
    (told,) = events(session)
    assert isinstance(told, Opened)
    assert (session.state, session.instance) == (ClientState.OPEN, "i")


def test_requests_wait_for_the_session() -> None:
    session = ClientSession("name")
    first = session.request("path", PATH)
    session.connected(0.0)
    second = session.request("path", PATH)
    assert [header["type"] for header in sent(session)] == ["hello"]
    answer(session, "hello", 2, **WELCOME)
    assert [header["id"] for header in sent(session)] == [first, second]
    assert not sent(session)


def test_an_answer_ends_its_request() -> None:
    session = opened()
    number = session.request("path", PATH)
    assert session.is_pending(number)
    answer(session, "path", number, "found", version=3, expanded=5, cost=2.0, later=1)
    (told,) = events(session)
    assert isinstance(told, Answer)
    assert told[:6] == (number, MESSAGES["path"], "found", 3, 1.0, 2.0)
    assert told.fields["cost"] == 2.0
    assert "later" not in told.fields
    assert not session.pending
    answer(session, "path", number, "found", expanded=5)
    assert not events(session)


def test_any_request_may_be_overloaded() -> None:
    session = opened()
    number = session.request("world_hash", {"world": "w"})
    answer(session, "world_hash", number, "overloaded")
    (told,) = events(session)
    assert (told.status, told.fields) == ("overloaded", {})


def test_parts_come_under_one_id() -> None:
    session = opened()
    cells = np.zeros((1, 2), np.int32)
    number = session.request(
        "batch", {"world": "w", "parts": True}, {"starts": cells, "goals": cells}
    )
    arrays = {
        "statuses": np.zeros(1, np.uint8), "sources": np.zeros(1, np.uint8),
        "versions": np.zeros(1, np.uint32), "costs": np.zeros(1), "lengths": np.zeros(1),
        "offsets": np.zeros(2, np.uint32),
    }  # fmt: skip
    header = {
        "type": "batch", "id": number, "status": "ok", "version": 1, "wait_us": 0.0,
        "search_us": 0.0,
    }  # fmt: skip
    for more in (True, False):
        session.receive_message(encode_message({**header, "more": more}, arrays), 0.0)
        assert session.is_pending(number) is more
    assert [told.more for told in events(session)] == [True, False]


def test_a_failure_ends_its_request() -> None:
    session = opened()
    number = session.request("path", PATH)
    failure(session, number, "unknown_world")
    (told,) = events(session)
    assert isinstance(told, Failure)
    assert (told.id, told.error.code, told.error.remedy) == (number, "unknown_world", "do so")
    assert not session.pending


def test_failures_of_later_versions_are_told() -> None:
    session = opened()
    number = session.request("path", PATH)
    failure(session, number, "code_of_tomorrow")
    (told,) = events(session)
    assert told.error.code == "code_of_tomorrow"


def test_what_could_not_be_read_is_told() -> None:
    session = opened()
    failure(session, 0, "malformed")
    (told,) = events(session)
    assert told.id == 0


def test_a_server_that_is_ending_leaves_requests_to_the_next() -> None:
    session = opened()
    number = session.request("path", PATH)
    sent(session)
    failure(session, number, "shutting_down")
    assert session.is_pending(number)
    assert not events(session)
    tell(session, "goodbye", reason="shutdown", remedy="")
    (lost,) = events(session)
    assert isinstance(lost, Lost)
    session.connected(1.0)
    (hello,) = sent(session)
    answer(session, "hello", hello["id"], **WELCOME)
    assert [header["id"] for header in sent(session)] == [number]


def test_requests_are_sent_again_in_their_order() -> None:
    session = opened()
    numbers = [session.request("path", PATH) for _ in range(3)]
    sent(session)
    answer(session, "path", numbers[1], "found", expanded=1)
    session.connection_lost(5.0)
    assert session.state is ClientState.DOWN
    session.request("ping", {})
    assert not sent(session)
    session.connected(6.0)
    (hello,) = sent(session)
    answer(session, "hello", hello["id"], **{**WELCOME, "resumed": True})
    again = sent(session)
    assert [header["id"] for header in again] == [numbers[0], numbers[2], numbers[2] + 1]


def test_arrays_are_kept_as_they_were() -> None:
    session = ClientSession("name")
    cells = np.array([[1, 2]], np.int32)
    session.request("path", PATH, {"blocked_cells": cells})
    cells[:] = 9
    session.connected(0.0)
    answer(session, "hello", 2, **WELCOME)
    _, frames = session.messages_to_send()
    assert decode_message(frames)[1]["blocked_cells"].tolist() == [[1, 2]]


def test_done_tells_what_has_been_answered() -> None:
    session = opened()
    first = session.request("path", PATH)
    second = session.request("path", PATH)
    answer(session, "path", second, "found", expanded=1)
    session.request("ping", {})
    answer(session, "path", first, "found", expanded=1)
    session.request("ping", {})
    assert [header["done"] for header in sent(session)] == [1, first - 1, first - 1, second]


def test_forgotten_requests_are_not_told() -> None:
    session = opened()
    number = session.request("path", PATH)
    session.forget(number)
    answer(session, "path", number, "found", expanded=1)
    assert not events(session)


def test_a_refusal_ends_the_session() -> None:
    session = ClientSession("name")
    number = session.request("path", PATH)
    session.connected(0.0)
    answer(session, "hello", 2, "error", code="protocol", problem="is old", remedy="update")
    failed, closed = events(session)
    assert (failed.id, failed.error.code) == (number, "protocol")
    assert isinstance(closed, Closed)
    assert session.state is ClientState.CLOSED
    with pytest.raises(SessionError, match="make another"):
        session.request("path", PATH)
    with pytest.raises(SessionError):
        session.connected(1.0)
    session.connection_lost(2.0)
    assert not events(session)


def test_a_session_that_was_taken_over_is_closed() -> None:
    session = opened()
    number = session.request("path", PATH)
    tell(session, "goodbye", reason="replaced", remedy="one name a client")
    failed, closed = events(session)
    assert failed.id == number
    assert closed.error.remedy == "one name a client"


def test_a_forgotten_session_greets_again() -> None:
    session = opened()
    number = session.request("path", PATH)
    sent(session)
    failure(session, number, "no_session")
    failure(session, number, "no_session")
    assert session.state is ClientState.GREETING
    (hello,) = sent(session)
    answer(session, "hello", hello["id"], **WELCOME)
    assert [header["id"] for header in sent(session)] == [number]


def test_events_are_told_and_those_of_later_versions_are_not() -> None:
    session = opened()
    tell(session, "progress", done=1, total=2, doing="x", later=True)
    tell(session, "of_tomorrow", done=1)
    tell(session, "alive")
    assert [told.name for told in events(session)] == ["progress", "alive"]


@pytest.mark.parametrize(
    "header",
    [
        {"id": 2, "status": "ok"},
        {"id": "2", "status": "ok", "version": 0, "wait_us": 0.0, "search_us": 0.0},
        {"id": 2, "status": "ok", "version": -1, "wait_us": 0.0, "search_us": 0.0},
        {"id": 2, "version": 0, "wait_us": 0.0, "search_us": 0.0},
        {"id": 2, "status": "found", "version": 0, "wait_us": 0.0, "search_us": 0.0},
        {"type": "progress"},
    ],
)
def test_what_no_server_may_send_is_refused(header: dict[str, Any]) -> None:
    session = opened()
    number = session.request("path", PATH)
    assert number == 2
    with pytest.raises(WireError):
        session.receive_message(encode_message(header), 0.0)
    assert session.is_pending(number)


def test_too_many_requests_are_refused_here() -> None:
    session = opened()
    for _ in range(limits.MAX_REQUESTS):
        session.request("ping", {})
    with pytest.raises(SessionError, match="take some"):
        session.request("ping", {})


def test_waiting_doubles_until_it_is_open() -> None:
    session = ClientSession("name")
    delays = []
    for now in range(0, 70, 10):
        session.connection_lost(float(now))
        delays.append(round(session.retry_at - now, 6))
    assert delays == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    session.connected(80.0)
    (hello,) = sent(session)
    answer(session, "hello", hello["id"], **WELCOME)
    session.connection_lost(90.0)
    assert session.retry_at == pytest.approx(90.1)


def test_a_silent_server_is_asked_and_then_given_up() -> None:
    session = opened()
    session.tick(100.0)
    assert not sent(session)
    session.request("path", PATH)
    answer(session, "path", 999, "found", now=100.0, expanded=1)
    sent(session)
    session.tick(104.0)
    assert not sent(session)
    session.tick(106.0)
    session.tick(107.0)
    assert [header["type"] for header in sent(session)] == ["ping"]
    session.tick(115.9)
    assert session.state is ClientState.OPEN
    session.tick(116.0)
    assert session.state is ClientState.DOWN
    assert [type(told) for told in events(session)] == [Lost]
    session.tick(1000.0)
    assert not events(session)


def test_silence_while_nothing_was_awaited_is_no_sign() -> None:
    session = opened()
    session.tick(100.0)
    number = session.request("path", PATH)
    sent(session)
    session.tick(1000.0)
    assert [header["type"] for header in sent(session)] == ["ping"]
    answer(session, "path", number, "found", now=1009.9, expanded=1)
    session.tick(1010.1)
    session.request("path", PATH)
    session.tick(1014.0)
    assert session.state is ClientState.OPEN


def test_a_silent_server_is_not_waited_for_at_hello() -> None:
    session = ClientSession("name")
    session.connected(0.0)
    session.tick(5.0)
    assert session.state is ClientState.GREETING
    session.tick(15.0)
    assert session.state is ClientState.DOWN


def test_closing_drops_everything() -> None:
    session = opened()
    session.request("path", PATH)
    session.close()
    session.close()
    assert not sent(session)
    assert not session.pending
    assert session.state is ClientState.CLOSED


# --- a server that was restarted -----------------------------------------------------------------


def changed() -> ClientSession:
    """A session that made a world of three versions, and has lost its connection."""
    session = opened()
    classes = np.zeros((1, 2), np.uint8)
    number = session.request(
        "world_create", {"world": "w", "width": 2, "height": 1}, {"classes": classes}
    )
    answer(session, "world_create", number, version=1, lineage="a")
    for version in (2, 3):
        fields = {"world": "w", "class_id": version, "base_version": version - 1}
        number = session.request("world_edit", fields)
        answer(session, "world_edit", number, version=version)
    session.connection_lost(0.0)
    events(session)
    session.messages_to_send()
    return session


def info(session: ClientSession, number: int, lineage: str, version: int) -> None:
    answer(
        session, "world_info", number, version=version, lineage=lineage, width=2, height=1,
        position=[0, 0], transform=[1, 0, 0, 0, 1, 0], layers=[], profiles=[], memory_bytes=1,
    )  # fmt: skip


def reconnect(session: ClientSession) -> int:
    """Connect to a server that knows nothing; return the id of the question for the world."""
    session.connected(1.0)
    (hello,) = sent(session)
    answer(session, "hello", hello["id"], **{**WELCOME, "instance": "other"})
    (question,) = sent(session)
    assert (question["type"], question["world"]) == ("world_info", "w")
    assert session.state is ClientState.SYNCING
    assert [type(told) for told in events(session)] == [Opened]
    return int(question["id"])


def test_a_world_that_is_gone_is_made_again_before_requests() -> None:
    session = changed()
    waiting = session.request("path", PATH)
    failure(session, reconnect(session), "unknown_world")
    create, first, second = session.messages_to_send()
    header, arrays = decode_message(create)
    assert header["replace"] is True
    assert arrays["classes"].shape == (1, 2)
    numbers = [decode_message(frames)[0]["id"] for frames in (create, first, second)]
    edit, _ = decode_message(first)
    assert (edit["class_id"], edit.get("base_version"), edit.get("done")) == (2, None, None)
    for version, number in enumerate(numbers, 1):
        assert not sent(session)
        kind = "world_create" if version == 1 else "world_edit"
        answer(session, kind, number, version=version, **({"lineage": "b"} if version == 1 else {}))
    assert events(session) == [Synced(["w"], [])]
    assert [header["id"] for header in sent(session)] == [waiting]
    assert session.state is ClientState.OPEN


def test_a_world_that_was_restored_gets_what_it_lacks() -> None:
    session = changed()
    info(session, reconnect(session), "a", 2)
    (edit,) = sent(session)
    assert (edit["type"], edit["class_id"]) == ("world_edit", 3)
    answer(session, "world_edit", edit["id"], version=3)
    assert events(session) == [Synced(["w"], [])]


def test_a_world_that_is_current_is_left_alone() -> None:
    session = changed()
    info(session, reconnect(session), "a", 3)
    assert not sent(session)
    assert events(session) == [Synced(["w"], [])]


def test_changes_that_fail_are_told_as_lost() -> None:
    session = changed()
    failure(session, reconnect(session), "unknown_world")
    for header in sent(session):
        failure(session, header["id"], "too_large")
    assert events(session) == [Synced(["w"], ["w"])]


def test_a_connection_lost_while_syncing_begins_anew() -> None:
    session = changed()
    failure(session, reconnect(session), "unknown_world")
    create, *_ = sent(session)
    answer(session, "world_create", create["id"], version=1, lineage="b")
    session.connection_lost(2.0)
    events(session)
    info(session, reconnect(session), "b", 1)
    assert [header["class_id"] for header in sent(session)] == [2, 3]


def test_a_session_that_is_known_is_not_synced() -> None:
    session = changed()
    session.connected(1.0)
    (hello,) = sent(session)
    answer(session, "hello", hello["id"], **{**WELCOME, "resumed": True})
    assert session.state is ClientState.OPEN
    assert not sent(session)


def test_many_changes_are_made_again_in_windows() -> None:
    session = opened()
    number = session.request("world_create", {"world": "w", "width": 2, "height": 1})
    answer(session, "world_create", number, version=1, lineage="a")
    for version in range(2, 2002):
        number = session.request("world_edit", {"world": "w", "class_id": 1})
        answer(session, "world_edit", number, version=version)
    session.connection_lost(0.0)
    session.messages_to_send()
    events(session)
    failure(session, reconnect(session), "unknown_world")
    made = 0
    while batch := sent(session):
        assert len(batch) <= 256
        for header in batch:
            made += 1
            fields = {"lineage": "b"} if made == 1 else {}
            answer(session, header["type"], header["id"], version=made, **fields)
    assert made == 2001
    assert session.state is ClientState.OPEN


# --- both sides together --------------------------------------------------------------------------


class Exchange(RuleBasedStateMachine):
    """Each request is answered exactly once, each change made at most once by each server.

    Messages are lost with their connection at any point, and servers are killed at any point.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.client = ClientSession("name")
        self.connections = 0
        self.restart()
        self.to_server: list[list[Any]] = []
        self.to_client: list[list[Any]] = []
        self.asked: list[Asked] = []
        self.wanted: dict[int, int] = {}
        self.answered: dict[int, list[int]] = {}
        self.made = 0

    def restart(self) -> None:
        self.server = ServerSessions("instance", "server", sorted(MESSAGES))
        self.asked = []
        self.values: list[int] = []
        self.exists = False

    def move(self) -> None:
        self.to_server += [[bytes(f) for f in m] for m in self.client.messages_to_send()]
        out = self.server.messages_to_send()
        while out:
            connection, frames = out.popleft()
            if connection == self.connections:
                self.to_client.append([bytes(f) for f in frames])
        while (event := self.server.next_event()) is not None:
            if isinstance(event, Asked):
                self.asked.append(event)
        while (told := self.client.next_event()) is not None:
            if isinstance(told, Answer):
                self.answered.setdefault(told.id, []).append(told.version)
            assert not isinstance(told, (Failure, Closed)), told
            assert not isinstance(told, Synced) or not told.lost

    @rule()
    def connect(self) -> None:
        if self.client.state is ClientState.DOWN:
            self.connections += 1
            self.client.connected(self.now)
            self.move()

    @rule()
    def lose_connection(self) -> None:
        self.to_server.clear()
        self.to_client.clear()
        self.server.connection_lost(self.connections, self.now)
        self.client.connection_lost(self.now)
        self.move()

    @rule()
    def kill_server(self) -> None:
        self.to_server.clear()
        self.to_client.clear()
        self.restart()
        self.client.connection_lost(self.now)
        self.move()

    @rule(change=st.booleans())
    def ask(self, change: bool) -> None:
        if not self.made:
            number = self.client.request("world_create", {"world": "w", "width": 1, "height": 1})
        elif change:
            fields = {"world": "w", "class_id": self.made % 256}
            number = self.client.request("world_edit", fields)
        else:
            number = self.client.request("world_hash", {"world": "w"})
        if change or not self.made:
            self.made += 1
        self.wanted[number] = self.made
        self.move()

    @rule(count=st.integers(1, 5))
    def deliver_to_server(self, count: int) -> None:
        for frames in self.to_server[:count]:
            self.server.receive_message(self.connections, frames, self.now)
        del self.to_server[:count]
        self.move()

    @rule(count=st.integers(1, 5))
    def deliver_to_client(self, count: int) -> None:
        for frames in self.to_client[:count]:
            if self.client.state not in (ClientState.DOWN, ClientState.CLOSED):
                self.client.receive_message(frames, self.now)
        del self.to_client[:count]
        self.move()

    @rule(count=st.integers(1, 3))
    def carry_out(self, count: int) -> None:
        for asked in self.asked[:count]:
            request = asked.request
            kind = request.message.name
            reply: Reply | WireError = Reply("ok", {}, {})
            if kind == "world_create":
                assert not self.values or request.fields["replace"]
                self.exists = True
                self.values = [-1]
                reply = Reply("ok", {"lineage": "a"}, {}, 1)
            elif not self.exists:
                reply = WireError("unknown_world", "world", "w", "is not there", "create it")
                assert kind == "world_info", "requests come after their world"
            elif kind == "world_edit":
                value = request.fields["class_id"]
                assert value not in self.values, "a change was made twice"
                self.values.append(value)
                reply = Reply("ok", {}, {}, len(self.values))
            elif kind == "world_info":
                fields = {
                    "lineage": "a", "width": 1, "height": 1, "position": [0, 0],
                    "transform": [1, 0, 0, 0, 1, 0], "layers": [], "profiles": [],
                    "memory_bytes": 0,
                }  # fmt: skip
                reply = Reply("ok", fields, {}, len(self.values))
            elif kind == "world_hash":
                reply = Reply("ok", {"hash": "x"}, {}, len(self.values))
            self.server.reply(asked.session, request.id, reply)
        del self.asked[:count]
        self.move()

    @invariant()
    def nothing_is_answered_twice(self) -> None:
        for number, answers in self.answered.items():
            assert len(answers) == 1
            assert number in self.wanted
        assert len(self.answered) + self.client.pending == len(self.wanted)

    def teardown(self) -> None:
        for _ in range(400):
            if not self.client.pending:
                break
            self.connect()
            self.deliver_to_server(5)
            self.carry_out(3)
            self.deliver_to_client(5)
        assert not self.client.pending, "a request was lost"
        assert set(self.answered) == set(self.wanted)
        if self.made:
            assert len(self.values) == self.made, "a change was lost"
            assert self.values == [-1, *(value % 256 for value in range(1, self.made))]


Exchange.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestExchange = Exchange.TestCase
