from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from navserver.link import Link
from navserver.sidecar.address import Address
from navserver.sidecar.connection_file import ConnectionInfo
from navserver.wire.client_session import Answer
from navserver.wire.questions import (
    create_world,
    ping,
    set_up_movers,
    shut_down,
    step_movers,
    stream_movers,
)
from navserver.wire.session import ClientState
from tests.serving import PATIENCE, Serving, serving

# A server's warm-up takes long with interpreted kernels.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared() -> Iterator[Serving]:
    with serving(workers=1) as running:
        yield running


@pytest.fixture
def link(shared: Serving) -> Iterator[Link]:
    made = Link(Address.of(shared.info.port, shared.info.token, None, None), None)
    yield made
    made.destroy()


def until(link: Link, is_so: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        link.keep(time.monotonic())
        if link.socket is None:
            time.sleep(0.001)
        else:
            link.take(10)


def test_questions_that_are_asked_before_there_is_a_connection_are_answered(link: Link) -> None:
    assert link.socket is None
    number = link.ask(ping())
    until(link, lambda: number in link.answers)
    assert link.socket is not None
    assert link.session.state is ClientState.OPEN


def test_a_connection_that_is_lost_is_made_again(link: Link) -> None:
    until(link, lambda: link.session.state is ClientState.OPEN)
    link.session.connection_lost(time.monotonic())
    number = link.ask(ping())
    until(link, lambda: number in link.answers)
    assert link.capabilities["resumed"]


def test_who_has_not_looked_for_long_has_heard_of_the_server(link: Link) -> None:
    until(link, lambda: link.session.state is ClientState.OPEN)
    socket, number = link.socket, link.ask(ping())
    assert socket is not None
    while not socket.poll(1000):
        pass
    later = time.monotonic() + 1000.0
    link.keep(later)
    link.keep(later + 20.0)
    assert link.socket is socket
    assert isinstance(link.answers[number], Answer)


def test_waiting_lets_the_loop_go_on(link: Link) -> None:
    async def body() -> list[bool]:
        ready = [await link.wait_async(1)]
        number = link.ask(ping())
        while number not in link.answers:
            link.keep(time.monotonic())
            if await link.wait_async(10):
                ready.append(True)
                link.receive()
        return ready

    assert asyncio.run(body())[:2] == [False, True]


def test_a_connection_file_is_read_for_every_connection(shared: Serving, tmp_path: Path) -> None:
    file = tmp_path / "connection.json"
    link = Link(Address.of(None, None, None, file), None)
    link.keep(time.monotonic())
    assert link.socket is None
    assert str(file) in link.trouble
    shared.info.write(file)
    assert json.loads(file.read_text())["port"] == shared.info.port
    until(link, lambda: link.session.state is ClientState.OPEN)
    link.destroy()
    assert isinstance(ConnectionInfo.read(file), ConnectionInfo)


def test_states_are_confirmed_once_they_are_taken(link: Link) -> None:
    def ask(question: Any) -> None:
        number = link.ask(question)
        until(link, lambda: number in link.answers)

    ask(create_world("w", width=8, height=8, replace=True))
    ask(set_up_movers("w"))
    ask(stream_movers("w", window=1, columns=["handles"]))
    for tick in range(1, 4):
        ask(step_movers("w", 0.1))
        until(link, lambda: link.notices)
        taken = [notice for notice in link.notices if notice.name == "movers_state"]
        link.notices.clear()
        assert [notice.fields["tick"] for notice in taken] == [tick]
        link.confirm(taken)
        ask(ping())


def test_what_a_server_said_before_it_ended_is_heard() -> None:
    with serving(workers=1) as running:
        link = Link(Address.of(running.info.port, running.info.token, None, None), None)
        until(link, lambda: link.session.state is ClientState.OPEN)
        number = link.ask(shut_down())
        running._thread.join(PATIENCE)
        # The answer and the end have both come by the time that anything is looked at.
        time.sleep(0.2)
        link.keep(time.monotonic())
        assert number in link.answers
        link.destroy()
