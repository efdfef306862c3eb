"""Mixed load on a real process: every request is answered once, and nothing is kept."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from navserver.client import Client
from navserver.wire.path_messages import PATH_STATUSES
from navserver.wire.questions import (
    add_movers,
    create_world,
    delete_world,
    edit_world,
    find_path,
    find_paths,
    flow_field,
    nearest,
    order_movers,
    ping,
    reachable,
    remove_movers,
    run_movers,
    snapshot,
    step_movers,
    stream_movers,
    view_movers,
    watch_path,
    world_hash,
)
from tests.serving import PATIENCE, process

SIDE = 128
# What a process may hold beyond what it held after a third of the load.
ALLOWED_GROWTH = 48 << 20

Work = Callable[[Client, random.Random], None]


def cell(choice: random.Random) -> tuple[int, int]:
    return choice.randrange(SIDE), choice.randrange(SIDE)


def ask_for_paths(client: Client, choice: random.Random) -> None:
    asked = [
        client.submit(
            find_path(
                "city", cell(choice), cell(choice), watch=choice.random() < 0.2,
                deadline_ms=choice.choice([None, 5.0, 500.0]), agent=choice.choice([None, 1, 2]),
            )
        )
        for _ in range(16)
    ]  # fmt: skip
    asked[0].cancel()
    for pending in asked[1:]:
        assert pending.result().status in PATH_STATUSES


def ask_for_batches(client: Client, choice: random.Random) -> None:
    starts = [cell(choice) for _ in range(200)]
    answer = client.ask(find_paths("city", starts, cell(choice)))
    assert len(answer.statuses) == 200
    client.ask(flow_field("city", [cell(choice)]))
    client.ask(reachable("city", cell(choice), 9.0))
    client.ask(nearest("city", cell(choice)))


def edit(client: Client, choice: random.Random) -> None:
    x, y = cell(choice)
    size = (min(4, SIDE - x), min(4, SIDE - y))
    client.ask(edit_world("city", position=(x, y), size=size, class_ids=3))
    client.ask(edit_world("city", cells=[cell(choice)], layer="danger", values=2.0))
    client.ask(watch_path("city", [(0, 0), (1, 0)]))
    client.ask(world_hash("city"))


def come_and_go(client: Client, choice: random.Random) -> None:
    name = f"own {choice.randrange(8)}"
    client.ask(create_world(name, width=64, height=64, owned=True, replace=True))
    units = client.ask(add_movers(name, np.argwhere(np.ones((8, 8))), radius=0.4, max_speed=4.0))
    client.ask(order_movers(name, units, (50, 50)))
    assert client.ask(step_movers(name, 0.1, 20)).steps == 20
    client.ask(remove_movers(name, units[:9]))
    assert client.ask(snapshot(name))
    if choice.random() < 0.8:
        client.ask(delete_world(name))


def move(client: Client, choice: random.Random) -> None:
    units = client.ask(view_movers("crowd", columns=["handles"], limit=50)).handles
    assert units is not None
    client.ask(order_movers("crowd", units, cell(choice)))
    x, y = cell(choice)
    client.ask(stream_movers("crowd", area=(x, y, x + 40, y + 40), columns=["transforms"]))
    client.poll(0.05)


def load(work: Work, seed: int, connect: Callable[[], Client], end: float, done: list[int]) -> None:
    """Do a kind of work until the time is over, with a new session now and then."""
    choice = random.Random(seed)
    turns = 0
    while time.monotonic() < end:
        with connect() as client:
            for _ in range(choice.randrange(5, 40)):
                if time.monotonic() >= end:
                    break
                work(client, choice)
                turns += 1
    done.append(turns)


def settled_memory(client: Client) -> float:
    """Return what the process holds, without what a single answer adds."""
    return min(client.ask(ping()) and client.stats()["memory.process_bytes"] for _ in range(5))


def mixed_load(seconds: float) -> tuple[int, list[float], dict[str, float]]:
    """Load a server from all sides; return the turns, its memory meanwhile, its last figures."""
    with process("--workers", "1") as (running, ready):

        def connect() -> Client:
            return Client.connect(ready["port"], ready["token"], timeout=PATIENCE)

        with connect() as client:
            client.ask(create_world("city", width=SIDE, height=SIDE))
            client.ask(edit_world("city", cells=[(0, 0)], layer="danger", values=1.0))
            client.ask(create_world("crowd", width=SIDE, height=SIDE))
            spots = np.argwhere(np.ones((20, 20))) + 30
            client.ask(add_movers("crowd", spots, radius=0.4, max_speed=4.0, owned=False))
            client.ask(run_movers("crowd", 20.0))
            done: list[int] = []
            failures: list[BaseException] = []
            end = time.monotonic() + seconds
            threads = [
                threading.Thread(target=_guarded, args=(failures, work, seed, connect, end, done))
                for seed, work in enumerate(
                    (ask_for_paths, ask_for_paths, ask_for_batches, edit, come_and_go, move)
                )
            ]
            for thread in threads:
                thread.start()
            memory = []
            while time.monotonic() < end:
                time.sleep(seconds / 30)
                memory.append(settled_memory(client))
            for thread in threads:
                thread.join(PATIENCE)
            assert not failures, failures
            assert len(done) == len(threads)
            figures = client.stats()
        running.send_signal(signal.SIGTERM)
        assert running.wait(PATIENCE) == 0
    return sum(done), memory, figures


def _guarded(failures: list[BaseException], *arguments: Any) -> None:
    try:
        load(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever it is, the test has failed
        failures.append(error)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [60, pytest.param(600, marks=pytest.mark.soak)])
def test_a_server_under_mixed_load_answers_all_and_keeps_nothing(seconds: int) -> None:
    turns, memory, figures = mixed_load(seconds)
    assert turns > seconds
    third = len(memory) // 3
    assert min(memory[-third:]) - min(memory[third:-third]) < ALLOWED_GROWTH
    assert figures["requests_open"] <= 1
    assert figures["queue.rows"] == 0
    assert figures["movers.ticks"] > 0
