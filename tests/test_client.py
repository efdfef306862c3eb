from __future__ import annotations

import _thread
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zmq

from navserver.client import (
    Client,
    RequestTimeoutError,
    ServerUnavailableError,
    UnansweredError,
)
from navserver.status import InputError, NavserverError
from navserver.wire.errors import WireError
from navserver.wire.questions import (
    MoverView,
    add_movers,
    create_world,
    edit_world,
    find_path,
    find_paths,
    flow_field,
    listen_to_log,
    mover_info,
    order_movers,
    ping,
    read_state,
    run_movers,
    save_snapshot,
    stream_movers,
    trace,
    world_hash,
    world_info,
)
from tests.serving import CHECKOUT, PATIENCE, Serving, process, serving

# Searches that keep a server busy are compiled ones.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared() -> Iterator[Serving]:
    with serving(workers=1) as running:
        with running.client() as client:
            client.ask(create_world("city", width=32, height=32))
        yield running


@pytest.fixture
def client(shared: Serving) -> Iterator[Client]:
    with shared.client() as connected:
        yield connected


def test_numpy_goes_in_and_comes_out(client: Client) -> None:
    path = client.ask(find_path("city", np.array([0, 0]), np.int64([3, 3]), result="cells"))
    assert path.path.dtype == np.int32
    assert path.path.tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]
    starts = np.zeros((1000, 2), np.int64)
    paths = client.ask(find_paths("city", starts, np.arange(2000).reshape(-1, 2) % 32))
    assert paths.paths.dtype == np.float32
    assert len(paths.offsets) == 1001
    assert paths.status_of(1) == "found"
    assert paths.source_of(1) in ("search", "field", "cache")


def test_what_the_server_tells_of_itself(client: Client) -> None:
    assert client.server["protocol"] == 1
    assert "path" in client.server["capabilities"]
    figures = client.stats()
    assert isinstance(figures, dict)
    assert figures["sessions"] >= 1


def test_many_questions_may_be_on_their_way(client: Client) -> None:
    pending = [client.submit(find_path("city", (0, 0), (i, 9))) for i in range(30)]
    answers = [one.result() for one in reversed(pending)][::-1]
    assert [answer.path[-1].tolist() for answer in answers] == [[i, 9] for i in range(30)]


def test_errors_name_the_field(client: Client) -> None:
    with pytest.raises(WireError) as caught:
        client.ask(find_path("city", (0, 0), (99, 9)))
    assert (caught.value.code, caught.value.field) == ("bad_field", "goal")
    with pytest.raises(WireError, match="diagonal"):
        client.ask(find_path("city", (0, 0), (9, 9), diagonal="NEVER"))


def test_an_overload_is_no_answer(client: Client, shared: Serving) -> None:
    queue = shared.server._scheduler._ledger._queue
    before = queue.max_rows
    queue.max_rows = 0
    try:
        assert client.ask(find_paths("city", [(0, 0)], (9, 9))).status_of(0) == "overloaded"
        with pytest.raises(UnansweredError, match="again later"):
            client.ask(flow_field("city", [(0, 0)]))
    finally:
        queue.max_rows = before


BODY = {"radius": 0.4, "max_speed": 4.0}
WALL = np.zeros((2048, 2048), np.uint8)
WALL[:, 1024] = 255
# Half the map is searched: for a partial path the islands are not asked.
ENDLESS = trace("wall", (0, 0), (2047, 0), capacity=1, allow_partial=True)


def test_a_timeout_gives_the_request_up(client: Client) -> None:
    client.ask(create_world("wall", WALL, replace=True))
    with pytest.raises(RequestTimeoutError, match=r"0\.001 s"):
        client.ask(ENDLESS, timeout=0.001)
    assert client.ask(find_path("city", (0, 0), (9, 9))).found
    waiting = client.submit(ENDLESS)
    with pytest.raises(RequestTimeoutError):
        waiting.result(timeout=0.001)
    with pytest.raises(UnansweredError, match="given up"):
        waiting.result()
    waiting = client.submit(ENDLESS)
    waiting.cancel()
    assert waiting.is_ready()
    with pytest.raises(UnansweredError, match="given up"):
        waiting.result()
    assert client.ask(ping()) > 0.0


def test_an_answer_can_be_asked_for_twice(client: Client) -> None:
    pending = client.submit(find_path("city", (0, 0), (9, 9)))
    first = pending.result()
    pending.cancel()
    assert pending.is_ready()
    assert pending.result(timeout=0.0).path.tolist() == first.path.tolist()
    refused = client.submit(find_path("nowhere", (0, 0), (9, 9)))
    for _ in range(2):
        with pytest.raises(WireError, match="nowhere"):
            refused.result()


def in_thread(work: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(work).result(PATIENCE)


def test_a_client_belongs_to_its_thread(client: Client) -> None:
    pending = client.submit(ping())
    for use in (lambda: client.ask(ping()), client.poll, pending.result, client.close):
        with pytest.raises(NavserverError, match="each thread"):
            in_thread(use)
    assert pending.result() > 0.0


def test_a_client_whose_thread_has_ended_can_be_closed(shared: Serving) -> None:
    client = in_thread(shared.client)
    with pytest.raises(NavserverError, match="each thread"):
        client.ask(ping())
    client.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_client_belongs_to_its_process(shared: Serving) -> None:
    # By a process of one thread: others may hold locks that a child waits for.
    program = """
import os, sys
from navserver.client import Client
from navserver.wire.questions import ping
with Client.connect(int(sys.argv[1]), sys.stdin.read(), timeout=600) as client:
    client.ask(ping())
    if not os.fork():
        try:
            client.ask(ping())
        except Exception as error:
            sys.exit("the child: %s" % error)
        sys.exit(3)
    ended = os.waitstatus_to_exitcode(os.wait()[1])
    print(ended, client.ask(ping()) > 0.0)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(shared.info.port)],
        input=shared.info.token,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert done.stdout.split() == ["1", "True"]
    assert "the child: a client belongs to the process that made it" in done.stderr


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Interrupts that reach this process, also where it was started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_question_that_is_interrupted_is_given_up(client: Client) -> None:
    client.ask(create_world("wall", WALL, replace=True))
    threading.Timer(0.1, _thread.interrupt_main).start()

    def ask_on() -> None:
        while True:
            client.ask(ENDLESS)

    with pytest.raises(KeyboardInterrupt):
        ask_on()
    assert client._link.session.pending == 0
    assert client.ask(ping()) > 0.0
    assert client._link.answers == {}


def test_a_question_that_is_interrupted_between_its_frames_spoils_no_other(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send_half(link: zmq.Socket[bytes], frames: list[bytes], *_: object) -> None:
        link.send(frames[0], zmq.SNDMORE)
        raise KeyboardInterrupt

    waiting = client.submit(find_path("city", (0, 0), (9, 9)))
    with monkeypatch.context() as patched:
        patched.setattr(zmq.Socket, "send_multipart", send_half)
        with pytest.raises(KeyboardInterrupt):
            client.ask(create_world("half", [[0, 0]], replace=True))
    assert client.ask(world_info("city"))["width"] == 32
    assert waiting.result().found
    assert client._link.session.pending == 0
    assert client._link.answers == {}


def test_what_is_asked_and_let_go_is_done_and_its_answer_not_kept(client: Client) -> None:
    client.submit(create_world("dropped", width=2, height=2, replace=True))
    for _ in range(10):
        client.submit(ping())
        client.submit(find_path("nowhere", (0, 0), (1, 1)))
    kept = client.submit(ping())
    assert client.ask(world_info("dropped"))["width"] == 2
    while client._link.session.pending:
        client.poll()
    assert list(client._link.answers) == [kept.number]
    assert client._link._let_go == set()
    assert kept.result() > 0.0


def test_a_client_that_is_closed_says_so(shared: Serving) -> None:
    client = shared.client()
    answered = client.submit(ping())
    while not answered.is_ready():
        pass
    waiting = client.submit(ping())
    client.close()
    client.close()
    assert answered.result() > 0.0
    for use in (waiting.result, lambda: client.ask(ping()), lambda: client.poll(PATIENCE)):
        with pytest.raises(NavserverError, match="the client is closed; make another one"):
            use()


@pytest.mark.parametrize("timeout", [float("nan"), -1.0, "soon"])
def test_a_time_that_is_none_is_refused(client: Client, timeout: Any) -> None:
    pending = client.submit(ping())
    for use in (lambda: client.ask(ping(), timeout), lambda: pending.result(timeout)):
        with pytest.raises(InputError, match="timeout"):
            use()
    with pytest.raises(InputError, match="timeout"):
        client.poll(timeout)
    assert client.ask(ping(), timeout=float("inf")) > 0.0


def test_what_is_no_question_is_refused(client: Client) -> None:
    with pytest.raises(InputError, match="question"):
        client.ask("ping")  # type: ignore[arg-type]


def test_events_are_kept_until_they_are_taken(client: Client) -> None:
    client.ask(listen_to_log("info"))
    client.ask(create_world("loud", width=2, height=2, replace=True))
    (notice,) = client.poll(PATIENCE)
    assert notice.fields["event"] == "world_created"
    assert client.poll() == []


def states(client: Client) -> list[MoverView]:
    """Return the states of movers that have come, and at least one."""
    while True:
        found = [read_state(n) for n in client.poll(PATIENCE) if n.name == "movers_state"]
        if found:
            return found


def test_movers_run_and_are_told_to_who_reads(client: Client, shared: Serving) -> None:
    client.ask(create_world("crowd", width=64, height=64, replace=True))
    units = client.ask(add_movers("crowd", np.argwhere(np.ones((20, 20))), **BODY))
    client.ask(stream_movers("crowd", columns=["handles", "positions", "transforms"]))
    client.ask(order_movers("crowd", units, (50, 50)))
    client.ask(run_movers("crowd", 100.0))
    with shared.client() as slow:
        slow.ask(stream_movers("crowd", columns=["states"], window=1))
        ticks: list[int] = []
        while len(ticks) < 30:
            for state in states(client):
                ticks.append(state.tick)
                assert state.handles.tolist() == units.tolist()  # type: ignore[union-attr]
                assert state.transforms.shape == (400, 8)  # type: ignore[union-attr]
        assert ticks == sorted(set(ticks))
        (first,) = states(slow)
        (second,) = states(slow)
        assert second.skipped > 0
        assert second.tick > first.tick + second.skipped
    info = client.ask(mover_info("crowd"))
    assert (info.movers, info.rate) == (400, 100.0)
    client.ask(run_movers("crowd", 0.0))


def test_two_clients_of_one_name_do_not_both_live(shared: Serving) -> None:
    with shared.client(name="one") as first, shared.client(name="one") as second:
        assert second.server["resumed"]
        with pytest.raises(WireError, match="taken over"):
            first.ask(ping())
        assert second.ask(ping()) > 0.0


# --- no server, or another one --------------------------------------------------------------------


def test_without_a_server_it_says_so(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ServerUnavailableError, match=str(port)):
        Client.connect(port, "token", timeout=0.3)
    with pytest.raises(ServerUnavailableError, match="connection-file"):
        Client.connect(connection_file=tmp_path / "none", timeout=0.3)
    with pytest.raises(ServerUnavailableError, match="no address"):
        Client.connect(ipc="x" * 300, token="t", timeout=0.3)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"port": 1}, "token"),
        ({"port": 0, "token": "x"}, "port"),
        ({"port": "x", "token": "x"}, "port"),
        ({"port": 70000, "token": "x"}, "port"),
        ({"port": 1, "token": "x", "connection_file": "f"}, "connection_file"),
        ({"port": 1, "token": "x", "ipc": "f"}, "ipc"),
        ({"ipc": "", "token": "x"}, "ipc"),
        ({"port": 1, "token": b"x"}, "token"),
        ({"port": 1, "token": "\udc00"}, "token"),
        ({"port": 1, "token": "x" * 256}, "token"),
        ({"port": 1, "token": "x", "timeout": float("nan")}, "timeout"),
    ],
)
def test_bad_addresses_are_named(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        Client.connect(**arguments)
    assert caught.value.field == field


def test_a_server_that_comes_back_is_found_and_brought_up_to_date(tmp_path: Path) -> None:
    file = tmp_path / "connection.json"
    classes = np.zeros((4, 5), np.uint8)
    classes[1, 1] = 255
    with serving(workers=1) as running:
        running.info.write(file)
        client = Client.connect(connection_file=file, timeout=PATIENCE)
        client.ask(create_world("w", classes))
        client.ask(edit_world("w", cells=[(0, 3)], class_ids=7))
        digest = client.ask(world_hash("w"))
    with serving(workers=1) as running:
        running.info.write(file)
        assert client.ask(world_hash("w")) == digest
        assert client.ask(world_info("w"))["version"] == 2
        assert client.lost_worlds == []
        assert client.ask(find_path("w", (0, 0), (4, 3))).found
        client.close()


class Relay:
    """Passes bytes on until it is told to break every connection."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                self._open += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(4096):
                sink.sendall(data)
        self._shut(source, sink)

    @staticmethod
    def _shut(*sockets: socket.socket) -> None:
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def break_all(self) -> None:
        broken, self._open = self._open, []
        self._shut(*broken)

    def close(self) -> None:
        self._listener.close()
        self.break_all()


def test_what_comes_while_the_connection_is_looked_at_is_not_waited_for(client: Client) -> None:
    client.ask(create_world("quick", width=8, height=8, replace=True))
    waits: list[int] = []
    take = client._link.take

    def note(wait_ms: int) -> bool:
        waits.append(wait_ms)
        return take(wait_ms)

    client._link.take = note  # type: ignore[method-assign]
    pending = client.submit(find_path("quick", (0, 0), (7, 7)))
    while not client._link.socket or not client._link.socket.poll(10):
        pass
    client._next_look = 0.0
    assert pending.result().found
    assert waits == []


def test_broken_connections_lose_and_repeat_nothing(shared: Serving) -> None:
    relay = Relay(shared.info.port)
    with Client.connect(relay.port, shared.info.token, timeout=PATIENCE) as client:
        client.ask(create_world("counted", width=8, height=8, replace=True))
        for turn in range(5):
            edits = [client.submit(edit_world("counted", class_ids=turn)) for _ in range(20)]
            paths = [client.submit(find_path("counted", (0, 0), (7, 7))) for _ in range(20)]
            if turn:
                time.sleep(0.002 * turn)
            relay.break_all()
            assert all(path.result().status == "found" for path in paths)
            versions = [edit.result() for edit in edits]
            assert versions == list(range(versions[0], versions[0] + 20))
        assert client.ask(world_info("counted"))["version"] == 101
    relay.close()


def test_what_has_come_before_a_connection_breaks_can_be_read_whole(shared: Serving) -> None:
    relay = Relay(shared.info.port)
    with Client.connect(relay.port, shared.info.token, timeout=PATIENCE) as client:
        client.ask(create_world("broken", width=8, height=8, replace=True))
        batch = find_paths("broken", [(0, 0)] * 4, [(5, 5)] * 4)
        pending = [client.submit(batch) for _ in range(100)]
        link = client._link
        link.send()
        assert link.socket is not None
        # All answers have come, none is read; then the connection breaks.
        with shared.client() as other:
            other.ask(batch)
        time.sleep(0.2)
        relay.break_all()
        time.sleep(0.1)
        counts = []
        with contextlib.suppress(zmq.Again):
            while True:
                counts.append(len(link.socket.recv_multipart(zmq.NOBLOCK)))
        assert counts.count(8) == 100
        assert all(len(one.result().offsets) == 5 for one in pending)
    relay.close()


@pytest.mark.slow
def test_a_killed_server_answers_every_request_once(tmp_path: Path) -> None:
    file = tmp_path / "connection.json"
    arguments = ("--workers", "1", "--connection-file", str(file))
    with process(*arguments) as (first, _):
        client = Client.connect(connection_file=file, timeout=PATIENCE)
        client.ask(create_world("w", width=64, height=64))
        client.ask(edit_world("w", cells=[(5, 5)], class_ids=255))
        digest = client.ask(world_hash("w"))
        pending = [client.submit(find_path("w", (0, 0), (63, i % 64))) for i in range(500)]
        client.ask(ping())
        first.send_signal(signal.SIGKILL)
        first.wait(PATIENCE)
    with process(*arguments):
        answers = [one.result() for one in pending]
        assert [answer.path[-1].tolist() for answer in answers] == [
            [63.0, float(i % 64)] for i in range(500)
        ]
        assert client.ask(world_hash("w")) == digest
        client.close()


def test_acknowledged_edits_since_the_snapshot_are_made_again_or_reported_lost(
    tmp_path: Path,
) -> None:
    file, worlds = tmp_path / "connection.json", tmp_path / "worlds.nav"
    arguments = (
        "--workers", "1", "--connection-file", str(file), "--restore", str(worlds)
    )  # fmt: skip
    with process(*arguments) as (first, _):
        client = Client.connect(connection_file=file, timeout=PATIENCE)
        other = Client.connect(connection_file=file, timeout=PATIENCE)
        client.ask(create_world("w", width=64, height=64))
        other.ask(create_world("gone", width=8, height=8))
        other.ask(edit_world("w", cells=[(1, 1)], class_ids=255))
        assert client.ask(save_snapshot("w")) == worlds.stat().st_size
        for x in range(20):
            client.ask(edit_world("w", cells=[(x, 5)], class_ids=255))
        # Of this one the journal forgets the edits.
        other._link.session.journal.max_bytes = 0
        other.ask(edit_world("gone", cells=[(2, 2)], class_ids=255))
        digest = client.ask(world_hash("w"))
        pending = client.submit(find_path("w", (0, 0), (63, 63)))
        first.send_signal(signal.SIGKILL)
        first.wait(PATIENCE)
    with process(*arguments):
        assert pending.result().found
        assert client.ask(world_hash("w")) == digest
        assert client.lost_worlds == []
        other.ask(ping())
        assert other.lost_worlds == ["gone"]
        client.close()
        other.close()
