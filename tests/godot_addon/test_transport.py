"""The addon's transport against libzmq and against peers of other kinds."""

from __future__ import annotations

import secrets
import socket
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest
import zmq
from zmq.auth.thread import ThreadAuthenticator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.godot_addon.conftest import Project

pytestmark = pytest.mark.godot


@contextmanager
def echoing_router(token: str) -> Iterator[int]:
    """Port of a ROUTER that wants the password and sends every message back."""
    context = zmq.Context()
    authenticator = ThreadAuthenticator(context)
    authenticator.start()
    authenticator.configure_plain(passwords={"navserver": token})
    router = context.socket(zmq.ROUTER)
    router.plain_server = True
    router.linger = 0
    router.sndhwm = router.rcvhwm = 0
    router.heartbeat_ivl = 100
    router.heartbeat_timeout = 500
    port = router.bind_to_random_port("tcp://127.0.0.1")
    ended = threading.Event()

    def echo() -> None:
        while not ended.is_set():
            if router.poll(50):
                router.send_multipart(router.recv_multipart(copy=False), copy=False)

    thread = threading.Thread(target=echo)
    thread.start()
    try:
        yield port
    finally:
        ended.set()
        thread.join()
        router.close()
        authenticator.stop()
        context.term()


@contextmanager
def listener(answer: bytes | None) -> Iterator[int]:
    """Port of a plain TCP server that says one thing to whoever connects, or nothing."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        peers: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                peers.append(peer)
                if answer is not None:
                    peer.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for peer in peers:
                peer.close()


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return int(server.getsockname()[1])


def test_transport(addon_project: Project) -> None:
    token = secrets.token_hex(16)
    http = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"
    with echoing_router(token) as router, listener(http) as web, listener(None) as silent:
        ports = {"router": router, "http": web, "silent": silent, "nobody": free_port()}
        arguments = [f"{name}={port}" for name, port in ports.items()]
        assert addon_project.run_tests("test_transport", f"token={token}", *arguments) == 9
        assert addon_project.run_tests("test_message_pipe", f"token={token}", *arguments) == 10


@pytest.mark.soak
def test_damaged_streams_at_length(addon_project: Project) -> None:
    arguments = ["only=test_damaged_streams_end_in_words_however_they_are_cut", "count=50000"]
    for seed in range(2, 12):
        passed = addon_project.run_tests(
            "test_zmtp_connection", *arguments, f"seed={seed}", timeout=1800.0
        )
        assert passed == 1
