"""The addon against a real sidecar, which is started again whenever a test ends it."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.godot_addon.conftest import ADDON_PROJECT, CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.godot_addon.conftest import Project

pytestmark = pytest.mark.godot


@contextmanager
def kept_running(connection_file: Path) -> Iterator[None]:
    """A sidecar that somebody starts again when it ends."""
    command = [sys.executable, "-m", "navserver", "serve", "--stdin-eof"]
    ended = threading.Event()
    running: list[subprocess.Popen[bytes]] = []

    def keep() -> None:
        while not ended.is_set():
            with subprocess.Popen(
                [*command, "--connection-file", str(connection_file)],
                cwd=CHECKOUT,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ) as server:
                running[:] = [server]
                server.wait()

    thread = threading.Thread(target=keep)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        for server in running:
            server.kill()
        thread.join()


@pytest.mark.usefixtures("compiled")
def test_sidecar(addon_project: Project, tmp_path: Path) -> None:
    script = ADDON_PROJECT / "tests" / "live" / "test_sidecar.gd"
    count = script.read_text(encoding="utf-8").count("\nfunc test_")
    file = tmp_path / "connection.json"
    with kept_running(file):
        passed = addon_project.run_tests("test_sidecar", f"file={file}", timeout=600.0)
    assert passed == count
