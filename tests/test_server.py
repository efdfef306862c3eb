from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
import zmq

import navserver.wire
from navserver.client import Client, ServerUnavailableError
from navserver.search.grid import Grid
from navserver.server import Server, ServerSettings
from navserver.service.work import RangeUnit
from navserver.service.world import World
from navserver.sidecar.logbook import Logbook
from navserver.status import InputError
from navserver.wire.codec import decode_message
from navserver.wire.errors import WireError
from navserver.wire.messages import encode_request
from navserver.wire.questions import (
    create_world,
    find_path,
    find_paths,
    flow_field,
    list_worlds,
    ping,
    shut_down,
    trace,
    world_info,
)
from tests.serving import PATIENCE, Serving, process, raw_dealer, serving

# Searches that keep a server busy are compiled ones.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared() -> Iterator[Serving]:
    with serving(workers=1) as running:
        yield running


# --- strangers ------------------------------------------------------------------------------------

GREETING_1 = bytes.fromhex("01 00")
GREETING_2 = bytes.fromhex("ff 00 00 00 00 00 00 00 01 7f 01 05 00 00")
GREETING_3_NULL = (
    bytes.fromhex("ff 00 00 00 00 00 00 00 01 7f 03 00") + b"NULL".ljust(20, b"\0") + bytes(32)
)
READY = bytes.fromhex("04 19") + b"\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"
STRANGERS = {
    "http": b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 6\r\n\r\n\x01\x00hello",
    "zmtp 1.0": GREETING_1 + b"\x05\x00ping",
    "zmtp 2.0": GREETING_2 + b"\x00\x04ping",
    "zmtp 3.0 null": GREETING_3_NULL + READY + b"\x00\x04ping",
    "tls hello": bytes.fromhex("16 03 01 00 2e 01 00 00 2a 03 03") + bytes(40),
    "random": np.random.default_rng(1).bytes(5000),
    "a length of 2^63": bytes.fromhex("ff 7f ff ff ff ff ff ff ff 7f"),
    "nothing": b"",
}


@pytest.mark.parametrize("said", STRANGERS.values(), ids=list(STRANGERS))
def test_strangers_reach_no_handler(
    shared: Serving, said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Any] = []
    sessions = shared.server._sessions
    receive = sessions.receive_message

    def note(connection: Any, frames: Any, now: float) -> None:
        heard.append(frames)
        receive(connection, frames, now)

    monkeypatch.setattr(sessions, "receive_message", note)
    with socket.create_connection(("127.0.0.1", shared.info.port), PATIENCE) as stranger:
        stranger.sendall(said)
        stranger.settimeout(PATIENCE)
        try:
            while stranger.recv(4096):  # until the server has had enough
                pass
        except ConnectionError:
            pass
    with shared.client() as client:
        client.ask(ping())
    assert [decode_message(frames)[0]["type"] for frames in heard] == ["hello", "ping"]


@pytest.mark.parametrize(
    ("user", "password"),
    [(b"navserver", b"guess"), (b"somebody", None), (b"n", b"n"), (b"navserver", b"\1" * 200)],
)
def test_who_does_not_know_the_token_is_refused(
    shared: Serving, user: bytes, password: bytes | None
) -> None:
    before = len(shared.logged("stranger_refused"))
    context = zmq.Context()
    dealer = context.socket(zmq.DEALER)
    dealer.plain_username = user
    dealer.plain_password = shared.info.token.encode() if password is None else password
    dealer.connect(f"tcp://127.0.0.1:{shared.info.port}")
    # Where it has been refused by now there is nobody to send to.
    with contextlib.suppress(zmq.Again):
        dealer.send(encode_request("hello", 1, {"session": "x", "protocol": 1})[0], zmq.DONTWAIT)
    shared.wait_for("stranger_refused", before + 1)
    assert not dealer.poll(100)
    context.destroy(linger=0)
    assert shared.info.token not in str(shared.log())


def test_a_client_with_a_wrong_token_is_told(shared: Serving) -> None:
    with pytest.raises(ServerUnavailableError, match="token"):
        Client.connect(shared.info.port, "wrong", timeout=PATIENCE)


# --- what the document shows ----------------------------------------------------------------------


def conversation() -> Iterator[tuple[str, dict[str, Any], list[bytes]]]:
    """Yield speaker, header and arrays of each message of the conversation in PROTOCOL.md."""
    text = (Path(navserver.wire.__file__).parent / "PROTOCOL.md").read_text(encoding="utf-8")
    block = (
        text.partition("## A first conversation")[2].partition("```text\n")[2].partition("```")[0]
    )
    for message in re.split(r"^(?=[CS] )", block, flags=re.MULTILINE)[1:]:
        header, *arrays = message[2:].splitlines()
        frames = [bytes.fromhex("".join(arrays))] if arrays else []
        yield message[0], json.loads(header.replace(", ...}", "}")), frames


def test_the_first_conversation_goes_as_the_document_shows(shared: Serving) -> None:
    heard: dict[int, list[bytes]] = {}
    asked = answered = 0
    with raw_dealer(shared.info.port, shared.info.token) as dealer:
        for speaker, header, arrays in conversation():
            if speaker == "C":
                dealer.send_multipart([msgpack.packb(header), *arrays])
                asked += 1
                continue
            while header["id"] not in heard:
                frames = dealer.recv_multipart()
                heard[msgpack.unpackb(frames[0]).get("id", 0)] = frames
            frames = heard[header["id"]]
            told = msgpack.unpackb(frames[0])
            assert {key: told.get(key) for key in header} == header
            assert frames[1:] == arrays
            answered += 1
    assert asked == answered == 4


# --- what authenticated clients may do wrong ------------------------------------------------------


def test_what_cannot_be_read_is_answered_and_nothing_else_happens(shared: Serving) -> None:
    with raw_dealer(shared.info.port, shared.info.token) as dealer:
        for frames in ([b"\xc1"], [b""], [b"\x80", b"x"], [b"\x81\xa2id\x01"], [b"x"] * 40):
            dealer.send_multipart(frames)
            header, _ = decode_message(dealer.recv_multipart())
            assert header["status"] == "error"
            assert header["remedy"]
        dealer.send_multipart(encode_request("hello", 1, {"session": "raw", "protocol": 1}))
        assert decode_message(dealer.recv_multipart())[0]["status"] == "ok"


def test_a_frame_beyond_the_limit_ends_the_connection(shared: Serving) -> None:
    with raw_dealer(shared.info.port, shared.info.token) as dealer:
        dealer.send(bytes((64 << 20) + 1))
        assert not dealer.poll(300)
    with shared.client() as client:
        assert client.ask(ping()) > 0.0


def test_a_client_that_does_not_read_is_cut_and_nobody_else_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("navserver.sidecar.post._NOT_READING_SECONDS", 0.5)
    with serving(workers=1) as running, running.client() as other:
        other.ask(create_world("w", width=512, height=512))
        # Where it is yet to be compiled, heartbeats would end the connection first.
        other.ask(flow_field("w", [(0, 0)]))
        with raw_dealer(running.info.port, running.info.token, RCVHWM=1, RCVBUF=4096) as dealer:
            dealer.send_multipart(encode_request("hello", 1, {"session": "deaf", "protocol": 1}))
            dealer.recv_multipart()
            gone = dealer.get_monitor_socket(zmq.EVENT_DISCONNECTED)
            question = flow_field("w", [(0, 0)], costs=True)
            for number in range(2, 300):
                dealer.send_multipart(
                    encode_request("flow_field", number, question.fields, question.arrays)
                )
            running.wait_for("client_not_reading")
            running.wait_for("session_ended")
            assert other.ask(find_path("w", (0, 0), (9, 9))).found
            # Once it reads again it hears why, unless it has missed so many heartbeats as well that
            # its connection has ended.
            told: list[Any] = []
            for _ in range(600):
                if "not_reading" in told or gone.poll(0):
                    break
                if dealer.poll(100):
                    told.append(decode_message(dealer.recv_multipart())[0].get("reason"))
            assert told[-1:] == ["not_reading"] or gone.poll(0)
            dealer.disable_monitor()
        (ended,) = running.logged("session_ended")
        assert (ended["session"], ended["cause"]) == ("deaf", "not_reading")
        assert other.ask(find_path("w", (0, 0), (9, 9))).found


def test_a_client_that_dies_while_much_of_it_is_unread_ends_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("navserver.server._HEARTBEAT_MS", 50)
    busy = threading.Event()
    receive = Server._receive

    def receive_late(server: Server, now: float, most: int) -> None:
        if busy.is_set():
            # Several heartbeats, with the client there and without.
            time.sleep(1.0)
            busy.clear()
        receive(server, now, most)

    monkeypatch.setattr(Server, "_receive", receive_late)
    with serving(workers=1) as running, running.client() as other:
        with raw_dealer(running.info.port, running.info.token, SNDHWM=0) as dealer:
            dealer.send_multipart(encode_request("hello", 1, {"session": "raw", "protocol": 1}))
            dealer.recv_multipart()
            busy.set()
            for number in range(2, 5000):
                dealer.send_multipart(encode_request("ping", number, {}))
            time.sleep(0.3)
        assert busy.is_set()
        assert other.ask(ping()) > 0.0


def test_a_session_ends_some_time_after_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("navserver.wire.server_session._PROBE_AFTER", 0.2)
    monkeypatch.setattr("navserver.wire.server_session._EXPIRE_AFTER", 0.2)
    with serving(workers=1) as running:
        with running.client() as client:
            client.ask(create_world("mine", width=2, height=2, owned=True))
            client.ask(create_world("ours", width=2, height=2))
        running.wait_for("session_ended")
        with running.client() as client:
            assert client.ask(list_worlds()) == ["ours"]


# --- the end --------------------------------------------------------------------------------------


def test_a_client_may_end_the_server() -> None:
    with serving(workers=1) as running, running.client() as client:
        client.ask(shut_down())
        running._thread.join(PATIENCE)
        assert running.exit_code == 0
        assert running.logged("ended")[0]["reason"] == "asked_by_client"


def test_an_idle_server_ends() -> None:
    with serving(workers=1, idle_timeout=0.1) as running:
        running._thread.join(PATIENCE)
        assert running.logged("ended")[0]["reason"] == "idle"


def test_a_server_ends_after_its_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with serving(workers=1, parent_pid=parent.pid) as running:
        with running.client() as client:
            client.ask(ping())
        parent.kill()
        running._thread.join(PATIENCE)
        assert running.logged("ended")[0]["reason"] == "parent_gone"
    parent.wait()
    assert parent.stdin is not None
    parent.stdin.close()


def test_what_waits_is_answered_or_told_at_the_end() -> None:
    with serving(workers=1) as running, running.client() as client:
        client.ask(create_world("w", width=64, height=64))
        pending = [client.submit(find_path("w", (0, 0), (63, 63))) for _ in range(1000)]
        client.ask(ping())
        running.server.end("test")
        answers = [one.result().status for one in pending]
        assert len(answers) == 1000
        assert set(answers) <= {"found", "cancelled"}


@pytest.mark.slow
def test_a_process_ends_on_sigterm_with_requests_in_flight() -> None:
    with process("--workers", "1") as (running, ready):
        with Client.connect(ready["port"], ready["token"], timeout=PATIENCE) as client:
            client.ask(create_world("w", width=64, height=64))
            pending = [client.submit(find_path("w", (0, 0), (63, 63))) for _ in range(1000)]
            client.ask(ping())
            running.send_signal(signal.SIGTERM)
            assert {one.result().status for one in pending} <= {"found", "cancelled"}
        assert running.wait(PATIENCE) == 0


@pytest.mark.slow
def test_a_process_says_where_it_is_and_ends_with_its_stdin(tmp_path: Path) -> None:
    file = tmp_path / "connection.json"
    arguments = ("--stdin-eof", "--connection-file", str(file), "--log-json")
    with process(*arguments, stdin=subprocess.PIPE) as (running, ready):
        assert {"port", "token", "pid", "protocol"} <= set(ready)
        assert ready["pid"] == running.pid
        assert ready["token"] not in " ".join(running.args)
        if os.name != "nt":
            assert file.stat().st_mode & 0o777 == 0o600
        with Client.connect(connection_file=file, timeout=PATIENCE) as client:
            assert client.ask(list_worlds()) == []
        assert running.stdin is not None
        running.stdin.close()
        assert running.wait(PATIENCE) == 0
        assert not file.exists()


@pytest.mark.slow
def test_a_process_ends_cleanly_after_its_parent_though_its_stdin_stays_open() -> None:
    # As that of an editor's sidecar does, which a running game has inherited.
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    arguments = ("--stdin-eof", "--parent-pid", str(parent.pid))
    with process(*arguments, stdin=subprocess.PIPE) as (running, ready):
        with Client.connect(ready["port"], ready["token"], timeout=PATIENCE) as client:
            client.ask(ping())
        parent.kill()
        parent.wait()
        assert running.wait(PATIENCE) == 0
    assert parent.stdin is not None
    parent.stdin.close()


def test_a_defect_of_a_search_ends_no_server(
    shared: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise ZeroDivisionError("defect")

    batch = find_paths("even", [(0, 0)] * 3, [(63, 63), (63, 0), (0, 63)])
    with shared.client() as client:
        # From then on short searches run on the thread that owns the sockets.
        while not shared.server._office.is_warm:
            threading.Event().wait(0.01)
        client.ask(create_world("even", width=64, height=64))
        with monkeypatch.context() as patched:
            patched.setattr(RangeUnit, "run", fail)
            with pytest.raises(WireError, match="defect"):
                client.ask(batch)
        assert client.ask(batch).status_of(2) == "found"
    assert "fail" in shared.logged("work_failed")[0]["at"]


# --- addresses ------------------------------------------------------------------------------------


def test_a_port_that_is_taken_is_told(shared: Serving) -> None:
    server = Server(ServerSettings(port=shared.info.port), Logbook())
    with pytest.raises(InputError, match=r"port: \d+ cannot be taken"):
        server.bind()
    server.close()


@pytest.mark.skipif(not zmq.has("ipc"), reason="this system has no local sockets of ZeroMQ")
def test_a_local_socket_serves_as_well(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    with serving(workers=1, ipc=path) as running:
        assert Path(path).stat().st_mode & 0o777 == 0o600
        with Client.connect(ipc=path, token=running.info.token, timeout=PATIENCE) as client:
            assert client.ask(ping()) > 0.0
        second = Server(ServerSettings(ipc=path), Logbook())
        with pytest.raises(InputError, match="a server that runs"):
            second.bind()
        second.close()
        assert Path(path).exists()
    assert not Path(path).exists()


def test_a_local_socket_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    server = Server(ServerSettings(ipc=str(tmp_path / "no" / "socket")), Logbook())
    with pytest.raises(InputError, match="ipc"):
        server.bind()
    server.close()


# --- work -----------------------------------------------------------------------------------------


def test_worlds_to_begin_with_are_there() -> None:
    world = World("start", Grid.filled(9, 9))
    with serving(workers=1, worlds=[world]) as running, running.client() as client:
        info = client.ask(world_info("start"))
        assert (info["width"], info["version"]) == (9, 1)
        assert client.ask(find_path("start", (0, 0), (8, 8))).found


def test_progress_of_the_compiler_is_told() -> None:
    with serving(workers=1) as running:
        running.wait_for("warm_up", 2)
        steps = [entry for entry in running.log() if entry["event"] == "warm_up"]
        with running.client() as client:
            while not running.server._office.is_warm:
                threading.Event().wait(0.01)
            client.ask(ping())
            assert [notice.name for notice in client.poll()].count("progress") <= 100
        assert steps[0]["done"] == 0
        totals = {step["total"] for step in steps}
        assert len(totals) == 1


def test_a_long_search_does_not_hold_others_up(shared: Serving) -> None:
    with shared.client() as slow, shared.client() as quick:
        classes = np.zeros((2048, 2048), np.uint8)
        classes[:, 1024] = 255
        slow.ask(create_world("wall", classes, replace=True))
        quick.ask(create_world("small", width=16, height=16, replace=True))
        # Partial paths are searched for even where the islands tell that there is no way.
        endless = trace("wall", (0, 0), (2047, 0), capacity=1, allow_partial=True)
        long = [slow.submit(endless) for _ in range(4)]
        assert quick.ask(find_path("small", (0, 0), (9, 9))).found
        assert not long[-1].is_ready()
        assert {one.result().status for one in long} == {"partial"}
