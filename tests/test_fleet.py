from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from navserver import fleet as fleet_module
from navserver.client import RequestTimeoutError, ServerUnavailableError
from navserver.fleet import Fleet, Reply
from navserver.search.grid import Grid
from navserver.service.world import World
from navserver.status import InputError
from navserver.wire.errors import WireError
from navserver.wire.questions import find_path, ping, stats
from tests.serving import PATIENCE, Serving, serving

# A server that has to compile its kernels first does not answer in time without them.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared() -> Iterator[Serving]:
    with serving(workers=1, worlds=[World("plain", Grid.filled(20, 10))]) as running:
        yield running


def fleet_of(count: int, running: Serving, **keywords: Any) -> Fleet:
    options = {"port": running.info.port, "token": running.info.token, "timeout": PATIENCE}
    return Fleet(count, **{**options, **keywords})


def all_replies(fleet: Fleet) -> list[Reply]:
    replies: list[Reply] = []
    while fleet.waiting:
        replies += fleet.collect(PATIENCE)
    return replies


def test_each_client_has_a_session_and_gets_its_own_answers(shared: Serving) -> None:
    with fleet_of(30, shared) as fleet:
        assert len(fleet) == 30
        for client in range(30):
            for goal in range(3):
                question = find_path("plain", (0, 0), (client % 20, goal), result="cells")
                fleet.ask(client, question, key=(client, goal))
        assert fleet.waiting == 90
        replies = all_replies(fleet)
        assert sorted(reply.key for reply in replies) == [
            (c, g) for c in range(30) for g in (0, 1, 2)
        ]
        for reply in replies:
            client, goal = reply.key
            assert reply.client == client
            assert reply.answer.path[-1].tolist() == [client % 20, goal]
            assert 0 < reply.seconds < PATIENCE
        fleet.ask(7, stats())
        (reply,) = all_replies(fleet)
        assert reply.answer["sessions"] >= 30
    assert fleet.waiting == 0


def test_errors_are_replies(shared: Serving) -> None:
    with fleet_of(2, shared) as fleet:
        fleet.ask(1, find_path("none", (0, 0), (1, 1)), key="lost")
        (reply,) = all_replies(fleet)
        assert (reply.client, reply.key) == (1, "lost")
        assert isinstance(reply.answer, WireError)
        assert "none" in str(reply.answer)


def test_what_is_not_answered_in_time_is_given_up(shared: Serving) -> None:
    with fleet_of(2, shared) as fleet:
        link = fleet._links[0]
        sent = link.send
        link.send = lambda: None  # type: ignore[method-assign]
        fleet.ask(0, ping())
        fleet.ask(1, ping())
        fleet.timeout = 0.3
        replies = {reply.client: reply.answer for reply in all_replies(fleet)}
        assert isinstance(replies[0], RequestTimeoutError)
        assert isinstance(replies[1], float)
        link.send = sent  # type: ignore[method-assign]


def test_nothing_to_take_is_no_reply(shared: Serving) -> None:
    with fleet_of(1, shared) as fleet:
        assert fleet.collect() == []
        assert fleet.collect(0.01) == []


def test_who_is_not_let_in_is_told(shared: Serving) -> None:
    with pytest.raises(ServerUnavailableError, match="token"):
        fleet_of(3, shared, token="wrong")


def test_no_server() -> None:
    with pytest.raises(ServerUnavailableError, match="start one"):
        Fleet(2, port=1, token="any", timeout=0.2)


@pytest.mark.parametrize("count", [0, -1, 10**6])
def test_counts_that_are_none(count: int) -> None:
    with pytest.raises(InputError, match="count"):
        Fleet(count, port=1, token="any")


def test_too_few_open_files_are_told_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_module, "allow_open_files", lambda _wanted: 1024)
    with pytest.raises(InputError, match="use at most 179 clients, or raise the limit"):
        Fleet(1000, port=1, token="any")
