from __future__ import annotations

import pytest

from navserver.wire.client_errors import UnansweredError
from navserver.wire.client_session import Answer, Notice
from navserver.wire.codec import decode_message
from navserver.wire.errors import WireError
from navserver.wire.inbox import Inbox, read_answer
from navserver.wire.limits import MAX_REQUESTS
from navserver.wire.message import Reply
from navserver.wire.messages import MESSAGES, encode_reply, read_request
from navserver.wire.questions import ping
from navserver.wire.server_session import Asked, ServerSessions


class Pair:
    """An inbox and a server that answers what it is told to."""

    def __init__(self) -> None:
        self.inbox = Inbox("test", "one")
        self.sessions = ServerSessions("server", "test", list(MESSAGES))
        self.inbox.session.connected(0.0)
        self.exchange()
        self.inbox.take_events()

    def exchange(self) -> list[str]:
        """Pass all messages on; return the types of the requests that are to be carried out."""
        for frames in self.inbox.session.messages_to_send():
            self.sessions.receive_message(1, frames, 0.0)
        asked = []
        while (event := self.sessions.next_event()) is not None:
            if isinstance(event, Asked):
                asked.append(event.request.message.name)
        out = self.sessions.messages_to_send()
        while out:
            self.inbox.session.receive_message(out.popleft()[1], 0.0)
        return asked


def state(world: str, tick: int) -> Notice:
    return Notice("movers_state", {"world": world, "tick": tick}, {})


def test_the_newest_state_of_each_world_is_confirmed() -> None:
    pair = Pair()
    pair.inbox.confirm([state("a", 1), Notice("alive", {}, {}), state("b", 5), state("a", 2)])
    frames = pair.inbox.session.messages_to_send()
    sent = [read_request(*decode_message(message)).fields for message in frames]
    assert sent == [{"world": "a", "tick": 2}, {"world": "b", "tick": 5}]
    # Nobody waits for the replies.
    assert pair.inbox.session.pending == 0


def test_nothing_is_confirmed_where_it_would_not_be_heard() -> None:
    pair = Pair()
    pair.inbox.session.connection_lost(0.0)
    assert pair.inbox.take_events()
    pair.inbox.confirm([state("a", 1)])
    assert pair.inbox.session.pending == 0
    full = Pair()
    for _ in range(MAX_REQUESTS):
        full.inbox.ask(ping())
    full.inbox.confirm([state("a", 1)])
    assert full.exchange() == ["ping"] * MAX_REQUESTS


def test_what_is_given_up_is_cancelled_and_never_told() -> None:
    pair = Pair()
    number = pair.inbox.ask(ping())
    pair.inbox.give_up(number)
    assert pair.exchange() == ["ping", "cancel"]
    pair.inbox.session.receive_message(
        encode_reply(MESSAGES["ping"], number, Reply("ok", {"time": 1.0}, {})), 0.0
    )
    assert not pair.inbox.take_events()
    assert not pair.inbox.answers


def test_what_was_told_on_opening_is_kept_and_the_end_is_an_error() -> None:
    pair = Pair()
    assert pair.inbox.capabilities["instance"] == "server"
    pair.sessions.receive_message(2, greeting("one"), 0.0)
    pair.exchange()
    assert pair.inbox.take_events()
    with pytest.raises(WireError, match="taken over"):
        pair.inbox.ask(ping())


def greeting(name: str) -> list[bytes]:
    inbox = Inbox("test", name)
    inbox.session.connected(0.0)
    [frames] = inbox.session.messages_to_send()
    return [bytes(frame) for frame in frames]


def test_answers_are_read_or_raised() -> None:
    question, message = ping(), MESSAGES["ping"]
    assert read_answer(question, Answer(1, message, "ok", 0, 0, 0, {"time": 2.0}, {})) == 2.0
    with pytest.raises(UnansweredError, match="again later"):
        read_answer(question, Answer(1, message, "overloaded", 0, 0, 0, {}, {}))
    with pytest.raises(WireError, match="no"):
        read_answer(question, WireError("bad_field", "x", 1, "is no", "give y"))
