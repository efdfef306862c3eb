"""The server timed: ``python -m benchmarks.bench_wire [--quick] [--json]``; see README.md."""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import msgpack
import numpy as np
import psutil
import zmq

import dev
from benchmarks.rows import Row, print_rows, say
from navserver.client import Client
from navserver.search.batch import BatchSearch
from navserver.search.grid import Grid
from navserver.wire.questions import (
    Question,
    create_world,
    find_path,
    find_paths,
    ping,
    trace,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CASES = (
    "trivial_path",
    "batch_10000",
    "in_flight_64",
    "flood",
    "deadline_5ms",
    "cancel",
    "idle",
)
# Contenders take turns so often that a disturbance hits all of them.
TURN = 50
IN_FLIGHT = 64
PATIENCE = 600.0


@contextmanager
def server_process(*arguments: str) -> Iterator[tuple[psutil.Process, dict[str, Any]]]:
    """Run a server in a process of its own; its ready line comes with it."""
    command = [sys.executable, "-m", "navserver", "serve", "--stdin-eof", *arguments]
    with subprocess.Popen(
        command,
        cwd=dev.CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield psutil.Process(process.pid), json.loads(process.stdout.readline())
        finally:
            process.stdin.close()


def connect(ready: dict[str, Any], *, warm: bool = True) -> Client:
    client = Client.connect(ready["port"], ready["token"], timeout=PATIENCE)
    while warm and client.server["warm_up_done"] < client.server["warm_up_total"]:
        if any(notice.fields.get("doing") == "done" for notice in client.poll(1.0)):
            break
    return client


# --- the yardstick: a ROUTER that sends back what it gets, through msgpack ------------------------


def echo() -> None:
    """Serve as the bare echo, in a process of its own, until stdin ends."""
    context: zmq.Context[Any] = zmq.Context()
    router = context.socket(zmq.ROUTER)
    port = router.bind_to_random_port("tcp://127.0.0.1")
    print(port, flush=True)

    def end() -> None:
        sys.stdin.read()
        context.destroy(linger=0)

    threading.Thread(target=end, daemon=True).start()
    poller = zmq.Poller()
    poller.register(router, zmq.POLLIN)
    try:
        while True:
            poller.poll()
            connection, frame = router.recv_multipart(zmq.NOBLOCK)
            router.send_multipart([connection, msgpack.packb(msgpack.unpackb(frame))])
    except zmq.ZMQError:
        pass


# As small as that of a path.
HEADER = {"type": "path", "id": 1, "world": "city", "start": [3, 3], "goal": [9, 5]}


@contextmanager
def bare_echo() -> Iterator[zmq.Socket[Any]]:
    """Yield a socket to the bare echo."""
    command = [sys.executable, "-c", "from benchmarks.bench_wire import echo; echo()"]
    with subprocess.Popen(
        command, cwd=dev.CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        context: zmq.Context[Any] = zmq.Context()
        dealer = context.socket(zmq.DEALER)
        dealer.connect(f"tcp://127.0.0.1:{int(process.stdout.readline())}")
        try:
            yield dealer
        finally:
            context.destroy(linger=0)
            process.stdin.close()


def round_trip(dealer: zmq.Socket[Any]) -> None:
    dealer.send(msgpack.packb(HEADER))
    dealer.poll()
    msgpack.unpackb(dealer.recv())


def pipelined_echo(dealer: zmq.Socket[Any], count: int) -> None:
    for _ in range(IN_FLIGHT):
        dealer.send(msgpack.packb(HEADER))
    for i in range(count):
        msgpack.unpackb(dealer.recv())
        if i < count - IN_FLIGHT:
            dealer.send(msgpack.packb(HEADER))


# --- cases ----------------------------------------------------------------------------------------


def microseconds(function: Callable[[], object]) -> float:
    begin = time.perf_counter_ns()
    function()
    return (time.perf_counter_ns() - begin) / 1e3


def quantiles(case: str, contender: str, times: list[float], unit: str = "us") -> list[Row]:
    return [
        Row(case, contender, f"p{q}_{unit}", float(np.percentile(times, q)), unit) for q in (50, 99)
    ]


def trivial_path(quick: bool) -> list[Row]:
    """Return the times of one short path, and of an echo, one in flight."""
    turns = 40 if quick else 400
    times: dict[str, list[float]] = {"navserver": [], "bare_echo": []}
    with (
        server_process("--workers", "1") as (_, ready),
        connect(ready) as client,
        bare_echo() as dealer,
    ):
        client.ask(create_world("city", width=64, height=64))
        question = find_path("city", (3, 3), (9, 5))
        contenders = {
            "navserver": lambda: client.ask(question),
            "bare_echo": partial(round_trip, dealer),
        }
        for turn in range(-2, turns):
            for name, function in contenders.items():
                taken = [microseconds(function) for _ in range(TURN)]
                if turn >= 0:
                    times[name] += taken
    return [row for name, taken in times.items() for row in quantiles("trivial_path", name, taken)]


def short_queries(grid: Grid, count: int, seed: int) -> tuple[Any, Any]:
    """Return starts and goals some ten cells apart."""
    random = np.random.default_rng(seed)
    starts = random.integers(10, (grid.width - 10, grid.height - 10), (count, 2))
    goals = starts + random.integers(-8, 9, (count, 2))
    return starts.astype(np.int32), goals.astype(np.int32)


def obstacles(side: int, share: float) -> Any:
    random = np.random.default_rng(3)
    return np.where(random.random((side, side)) < share, 255, 0).astype(np.uint8)


def batch_10000(quick: bool) -> list[Row]:
    """Return the rate of 10,000 short paths in one batch, by the wire and in process."""
    rounds = 5 if quick else 20
    classes = obstacles(512, 0.1)
    grid = Grid(classes)
    starts, goals = short_queries(grid, 10_000, 4)
    rates: dict[str, list[float]] = {"wire": [], "in_process": []}
    with server_process() as (_, ready), connect(ready) as client:
        client.ask(create_world("city", classes))
        with BatchSearch(grid, islands=True) as search:
            question = find_paths("city", starts, goals, result="cells")
            contenders = {
                "wire": lambda: client.ask(question),
                "in_process": lambda: search.find_paths(starts, goals),
            }
            for turn in range(-2, rounds):
                for name, function in contenders.items():
                    taken = microseconds(function)
                    if turn >= 0:
                        rates[name].append(1e6 * len(starts) / taken)
            answer = client.ask(question)
            wanted = search.find_paths(starts, goals)
            if not np.allclose(answer.cost, wanted.cost):
                raise SystemExit("VOID: the batch's costs are not those in process")
    return [
        Row("batch_10000", name, "paths_per_s", float(np.median(taken)), "1/s")
        for name, taken in rates.items()
    ]


def pipelined_paths(client: Client, questions: list[Question[Any]], count: int) -> None:
    n = len(questions)
    pending = deque(client.submit(questions[i % n]) for i in range(IN_FLIGHT))
    for i in range(count):
        pending.popleft().result()
        if i < count - IN_FLIGHT:
            pending.append(client.submit(questions[i % n]))


def in_flight_64(quick: bool) -> list[Row]:
    """Return the rate of single paths with 64 on their way from one client, and of echoes."""
    rounds, count = (3, 2_000) if quick else (9, 5_000)
    grid = Grid(obstacles(512, 0.1))
    starts, goals = short_queries(grid, 256, 5)
    questions = [
        find_path("city", start, goal)
        for start, goal in zip(starts.tolist(), goals.tolist(), strict=True)
    ]
    rates: dict[str, list[float]] = {"navserver": [], "bare_echo": []}
    with (
        server_process("--workers", "1") as (_, ready),
        connect(ready) as client,
        bare_echo() as dealer,
    ):
        client.ask(create_world("city", grid.classes))
        contenders = {
            "navserver": partial(pipelined_paths, client, questions, count),
            "bare_echo": partial(pipelined_echo, dealer, count),
        }
        for turn in range(-1, rounds):
            for name, function in contenders.items():
                taken = microseconds(function)
                if turn >= 0:
                    rates[name].append(1e6 * count / taken)
    return [
        Row("in_flight_64", name, "paths_per_s", float(np.median(taken)), "1/s")
        for name, taken in rates.items()
    ]


def wall(side: int) -> Any:
    """Return a map whose two halves are parted by a wall of the one class that counts."""
    classes = np.zeros((side, side), np.uint8)
    classes[:, side // 2] = 255
    return classes


def honest(ready: dict[str, Any], seconds: float, seed: int, times: list[float]) -> None:
    """Ask for 50 paths a second and note how long each takes."""
    with connect(ready, warm=False) as client:
        random = np.random.default_rng(seed)
        next_at = time.perf_counter() + 0.02 * random.random()
        end = next_at + seconds
        while next_at < end:
            time.sleep(max(next_at - time.perf_counter(), 0.0))
            next_at += 0.02
            start, goal = random.integers(1, 63, (2, 2)).tolist()
            question = find_path("small", start, goal)
            times.append(microseconds(partial(client.ask, question)) / 1e3)


def flood(quick: bool) -> list[Row]:
    """Return what 8 clients of 50 requests a second see, alone and beside one that floods."""
    seconds, rounds = (1.5, 2) if quick else (4.0, 4)
    times: dict[str, list[float]] = {"alone": [], "flooded": []}
    with server_process() as (_, ready), connect(ready) as client:
        client.ask(create_world("small", obstacles(64, 0.1)))
        client.ask(create_world("large", wall(2048)))
        with flooding(ready):
            time.sleep(0.5)
        for _ in range(rounds):
            ask_honestly(ready, seconds, times["alone"])
            with flooding(ready):
                ask_honestly(ready, seconds, times["flooded"])
    return [row for name, taken in times.items() for row in quantiles("flood", name, taken, "ms")]


def ask_honestly(ready: dict[str, Any], seconds: float, times: list[float]) -> None:
    threads = [
        threading.Thread(target=honest, args=(ready, seconds, seed, times)) for seed in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def flooding(ready: dict[str, Any]) -> Iterator[None]:
    """Let a client flood the server, in a process of its own, and begin when it does."""
    command = [sys.executable, "-c", "from benchmarks.bench_wire import flood_on; flood_on()"]
    with subprocess.Popen(
        command, cwd=dev.CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdin.write(json.dumps(ready) + "\n")
        process.stdin.flush()
        process.stdout.readline()
        try:
            yield
        finally:
            process.stdin.close()


def flood_on() -> None:
    """Keep a server's queue full of long searches until stdin ends."""
    ready = json.loads(sys.stdin.readline())
    is_over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), is_over.set()), daemon=True).start()
    with connect(ready, warm=False) as client:
        pending = deque(client.submit(endless(i)) for i in range(256))
        client.ask(ping())
        print("flooding", flush=True)
        for i in itertools.count(256):
            pending.popleft().result()
            if is_over.is_set():
                return
            pending.append(client.submit(endless(i)))


def endless(i: int, side: int = 2048) -> Question[Any]:
    """Return a search of half a map, whose islands are not asked."""
    ends = (0, i % side), (side - 1, i % side)
    return trace("large", *ends, capacity=1, allow_partial=True)


def deadline_5ms(quick: bool) -> list[Row]:
    """Return when an answer comes that has a deadline of 5 ms and an unreachable goal."""
    count = 50 if quick else 500
    rows = []
    with server_process() as (_, ready), connect(ready) as client:
        client.ask(create_world("large", wall(4096)))
        # For a partial path the islands are not asked.
        for contender, options in (("islands", {}), ("no_islands", {"allow_partial": True})):
            question = find_path("large", (0, 0), (4095, 4095), deadline_ms=5.0, **options)
            # The system gives memory for searches of this size page by page when it is touched.
            for _ in range(5):
                client.ask(question)
            times = [microseconds(partial(client.ask, question)) / 1e3 for _ in range(count)]
            rows += quantiles("deadline_5ms", contender, times, "ms")
    return rows


def cancel(quick: bool) -> list[Row]:
    """Return how long a search that runs goes on after it was cancelled."""
    count = 50 if quick else 500
    with server_process() as (_, ready), connect(ready) as client:
        client.ask(create_world("large", wall(4096)))
        times = []
        for i in range(count):
            running = client.submit(endless(i, 4096))
            client.ask(ping())
            time.sleep(0.003)
            begin = time.perf_counter()
            client.ask(Question("cancel", {"target": running.number}, lambda _: None))
            running.result()
            times.append((time.perf_counter() - begin) * 1e3)
    return quantiles("cancel", "navserver", times, "ms")


def idle(quick: bool) -> list[Row]:
    """Return the share of a core that a server takes which nobody asks anything."""
    seconds = 3.0 if quick else 20.0
    with server_process() as (process, ready), connect(ready) as client:
        client.ask(create_world("city", width=64, height=64))
        time.sleep(0.5)
        before = process.cpu_times()
        time.sleep(seconds)
        after = process.cpu_times()
    used = max(after.user + after.system - before.user - before.system, 0.0)
    return [Row("idle", "navserver", "cpu", 100.0 * used / seconds, "%")]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench_wire", description="Time the server over its socket."
    )
    parser.add_argument("--quick", action="store_true", help="fewer requests; rough figures")
    parser.add_argument("--json", action="store_true", help="an array of rows on stdout")
    parser.add_argument(
        "--case", action="append", choices=CASES, help="may be given again; default: all"
    )
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    # What this process holds of kernels takes long to be looked through.
    gc.collect()
    gc.freeze()
    for case in options.case or CASES:
        say(case)
        rows += globals()[case](options.quick)
    print_rows("The server" + ", quick" * options.quick, rows, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
