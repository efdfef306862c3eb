"""Servers for tests: one in a thread of the test, one in a process of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import zmq

from navserver.client import Client
from navserver.server import Server, ServerSettings
from navserver.sidecar.connection_file import ConnectionInfo
from navserver.sidecar.logbook import Logbook

CHECKOUT = Path(__file__).resolve().parent.parent
PATIENCE = 600.0
"""Seconds after which something is certainly not going to happen."""


class Serving:
    """A server that runs in a thread of this process."""

    def __init__(self, server: Server, info: ConnectionInfo, log: io.StringIO) -> None:
        self.server = server
        self.info = info
        self._log = log
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.exit_code: int | None = None
        self._thread.start()

    def _run(self) -> None:
        self.exit_code = self.server.run()

    def client(self, **keywords: Any) -> Client:
        return Client.connect(self.info.port, self.info.token, **{"timeout": PATIENCE, **keywords})

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.getvalue().splitlines()]

    def logged(self, event: str) -> list[dict[str, Any]]:
        return [entry for entry in self.log() if entry["event"] == event]

    def wait_for(self, event: str, count: int = 1) -> None:
        for _ in range(int(PATIENCE / 0.01)):
            if len(self.logged(event)) >= count:
                return
            threading.Event().wait(0.01)
        raise AssertionError(f"{event} was not logged: {self._log.getvalue()}")

    def stop(self) -> None:
        self.server.end("test_over")
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@contextmanager
def serving(**settings: Any) -> Iterator[Serving]:
    """Run a server in a thread."""
    log = io.StringIO()
    server = Server(ServerSettings(**settings), Logbook(log, as_json=True, level="debug"))
    running = Serving(server, server.bind(), log)
    try:
        yield running
    finally:
        running.stop()
    assert running.exit_code == 0


@contextmanager
def process(*arguments: str, **keywords: Any) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """Run a server in a process; yield it and its ready line."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "PYTHONIOENCODING": "utf-8"}
    running = subprocess.Popen(
        [sys.executable, "-m", "navserver", "serve", *arguments],
        env=environment,
        stdin=keywords.pop("stdin", subprocess.DEVNULL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        **keywords,
    )
    assert running.stdout is not None
    line = running.stdout.readline()
    drain = threading.Thread(target=running.stderr.read, daemon=True)  # type: ignore[union-attr]
    drain.start()
    try:
        yield running, json.loads(line)
    finally:
        running.kill()
        running.wait(PATIENCE)
        running.stdout.close()
        if running.stdin is not None:
            running.stdin.close()
        drain.join(PATIENCE)
        running.stderr.close()  # type: ignore[union-attr]


@contextmanager
def raw_dealer(port: int, token: str, **options: Any) -> Iterator[zmq.Socket[bytes]]:
    """Connect a socket that speaks no protocol."""
    context = zmq.Context()
    dealer = context.socket(zmq.DEALER)
    dealer.plain_username = b"navserver"
    dealer.plain_password = token.encode()
    dealer.setsockopt(zmq.RCVTIMEO, int(PATIENCE * 1000))
    for name, value in options.items():
        dealer.setsockopt(getattr(zmq, name), value)
    dealer.connect(f"tcp://127.0.0.1:{port}")
    try:
        yield dealer
    finally:
        context.destroy(linger=0)
