from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from navserver.async_client import AsyncClient
from navserver.client import RequestTimeoutError, ServerUnavailableError
from navserver.sidecar.connection_file import ConnectionInfo
from navserver.status import NavserverError
from navserver.wire.client_session import Notice
from navserver.wire.errors import WireError
from navserver.wire.questions import (
    add_movers,
    create_world,
    find_path,
    list_worlds,
    listen_to_log,
    ping,
    read_state,
    step_movers,
    stream_movers,
    trace,
)
from navserver.wire.session import SessionError
from tests.serving import PATIENCE, Serving, serving

# Searches that keep a server busy are compiled ones.
pytestmark = pytest.mark.slow

BODY = {"radius": 0.4, "max_speed": 4.0}
WALL = np.zeros((2048, 2048), np.uint8)
WALL[:, 1024] = 255
# Half the map is searched: for a partial path the islands are not asked.
ENDLESS = trace("wall", (0, 0), (2047, 0), capacity=1, allow_partial=True)


@pytest.fixture(scope="module")
def shared() -> Iterator[Serving]:
    with serving(workers=1) as running:
        with running.client() as client:
            client.ask(create_world("city", width=32, height=32))
        yield running


def run_async(info: ConnectionInfo, body: Any) -> Any:
    async def main() -> Any:
        async with AsyncClient(info.port, info.token, timeout=PATIENCE) as client:
            return await body(client)

    return asyncio.run(main())


def test_tasks_share_a_client(shared: Serving) -> None:
    async def body(client: AsyncClient) -> list[Any]:
        asked = [client.ask(find_path("city", (0, 0), (i, 9))) for i in range(32)]
        return list(await asyncio.gather(*asked))

    answers = run_async(shared.info, body)
    assert [answer.path[-1].tolist() for answer in answers] == [[i, 9] for i in range(32)]


def test_the_loop_goes_on_meanwhile(shared: Serving) -> None:
    async def body(client: AsyncClient) -> tuple[int, dict[str, float], Any]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        figures = await client.stats()
        worlds = await client.ask(list_worlds())
        ticking.cancel()
        return ticks, figures, worlds

    ticks, figures, worlds = run_async(shared.info, body)
    assert ticks > 1
    assert figures["sessions"] >= 1
    assert "city" in worlds


def test_async_errors_and_timeouts(shared: Serving) -> None:
    async def body(client: AsyncClient) -> None:
        with pytest.raises(WireError, match="goal"):
            await client.ask(find_path("city", (0, 0), (99, 9)))
        await client.ask(create_world("wall", WALL, replace=True))
        with pytest.raises(RequestTimeoutError):
            await client.ask(ENDLESS, timeout=0.001)
        assert client.server["protocol"] == 1
        assert client.lost_worlds == []
        assert await client.ask(ping()) > 0.0

    run_async(shared.info, body)


def test_async_events_are_handed_on(shared: Serving) -> None:
    async def body(client: AsyncClient) -> list[str]:
        told: list[str] = []
        client.on_notice = lambda notice: told.append(notice.fields["event"])
        await client.ask(listen_to_log("info"))
        await client.ask(create_world("async", width=2, height=2, replace=True))
        for _ in range(1000):
            if told:
                break
            await asyncio.sleep(0.01)
        return told

    assert run_async(shared.info, body) == ["world_created"]


def test_async_states_of_movers_are_confirmed(shared: Serving) -> None:
    async def body(client: AsyncClient) -> list[int]:
        ticks: list[int] = []
        told = asyncio.Event()

        def take(notice: Notice) -> None:
            if notice.name == "movers_state":
                ticks.append(read_state(notice).tick)
                told.set()

        client.on_notice = take
        await client.ask(create_world("async", width=8, height=8, replace=True))
        await client.ask(add_movers("async", [(1, 1)], **BODY))
        await client.ask(stream_movers("async", window=1))
        for _ in range(5):
            await client.ask(step_movers("async", 0.1))
            await told.wait()
            told.clear()
        return ticks

    assert run_async(shared.info, body) == [1, 2, 3, 4, 5]


def test_async_without_a_server_it_says_so(shared: Serving) -> None:
    async def main(port: int, token: str) -> None:
        async with AsyncClient(port, token, timeout=0.5):
            pass

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ServerUnavailableError):
        asyncio.run(main(port, "token"))
    with pytest.raises(ServerUnavailableError, match="token"):
        asyncio.run(main(shared.info.port, "wrong"))


def test_a_task_that_is_cancelled_gives_its_question_up(shared: Serving) -> None:
    async def body(client: AsyncClient) -> float:
        await client.ask(create_world("wall", WALL, replace=True))
        before = (await client.stats()).get("cancel.count", 0.0)
        waiting = asyncio.create_task(client.ask(ENDLESS))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert client._link.session.pending == 0
        # The server stops searching: it has been told before this is asked.
        return (await client.stats())["cancel.count"] - before

    assert run_async(shared.info, body) == 1.0


def test_a_program_that_fails_at_an_event_is_answered_all_the_same(shared: Serving) -> None:
    async def body(client: AsyncClient) -> list[BaseException]:
        told: list[BaseException] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: told.append(context["exception"])
        )

        def fail(notice: Notice) -> None:
            raise KeyError(notice.fields["event"])

        client.on_notice = fail
        await client.ask(listen_to_log("info"))
        await client.ask(create_world("async", width=2, height=2, replace=True))
        # The server logs what other clients do as well.
        while ("world_created",) not in [error.args for error in told]:
            await client.ask(ping())
        return told

    assert all(isinstance(error, KeyError) for error in run_async(shared.info, body))


def test_what_waits_when_it_is_closed_is_told(shared: Serving) -> None:
    async def body(client: AsyncClient) -> None:
        await client.ask(create_world("wall", WALL, replace=True))
        waiting = asyncio.create_task(client.ask(ENDLESS))
        await asyncio.sleep(0)
        await client.close()
        for asked in (waiting, client.ask(ping())):
            with pytest.raises(SessionError, match="is closed; make another one"):
                await asked

    run_async(shared.info, body)


def test_it_is_asked_in_the_loop_that_it_was_entered_in_and_nowhere_else(shared: Serving) -> None:
    info = shared.info
    waiting = AsyncClient(info.port, info.token, timeout=PATIENCE)
    with pytest.raises(SessionError, match="not entered"):
        asyncio.run(waiting.ask(ping()))

    async def body(client: AsyncClient) -> AsyncClient:
        with pytest.raises(SessionError, match="entered before"):
            await client.__aenter__()
        with pytest.raises(SessionError, match="not entered"):
            await asyncio.to_thread(asyncio.run, client.ask(ping()))
        assert await client.ask(ping()) > 0.0
        return client

    client = run_async(info, body)
    with pytest.raises(SessionError, match="not entered"):
        asyncio.run(client.ask(ping()))
    asyncio.run(waiting.close())


def test_what_ends_its_task_is_told_to_who_waits(shared: Serving) -> None:
    async def body(client: AsyncClient) -> None:
        await client.ask(create_world("wall", WALL, replace=True))
        # Many, and no two alike: one may be answered before the client sees to its connection.
        endless = [
            trace("wall", (0, 0), (2047, y), capacity=1, allow_partial=True) for y in range(100)
        ]
        waiting = [asyncio.create_task(client.ask(question)) for question in endless]
        await asyncio.sleep(0)
        # As a defect of the client would.
        client._link.keep = None  # type: ignore[assignment,method-assign]
        *_, last = await asyncio.gather(*waiting, return_exceptions=True)
        assert isinstance(last, NavserverError)
        assert "has failed" in str(last)

    run_async(shared.info, body)
