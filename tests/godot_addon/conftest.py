"""The addon's project, copied and imported once, with its GDScript tests to run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKOUT = Path(__file__).resolve().parent.parent.parent
ADDON_PROJECT = CHECKOUT / "godot_addon"


@dataclass(frozen=True)
class Project:
    """A Godot project in a folder that Godot may write to."""

    godot: Path
    folder: Path

    def run(self, *arguments: str, timeout: float = 300.0) -> subprocess.CompletedProcess[str]:
        """Run Godot over it without a window."""
        return subprocess.run(
            [str(self.godot), "--headless", "--path", str(self.folder), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )

    def run_tests(
        self, *arguments: str, options: tuple[str, ...] = (), timeout: float = 240.0
    ) -> int:
        """Run GDScript tests, all of which have to pass; how many did.

        `options` are the engine's.
        """
        script = "res://tests/run_tests.gd"
        done = self.run(*options, "-s", script, "--", *arguments, timeout=timeout)
        ended = re.search(r"^(\d+) passed, (\d+) failed$", done.stdout, re.MULTILINE)
        assert ended is not None, done.stdout
        assert ended[2] == "0", done.stdout
        assert done.returncode == 0, done.stdout
        return int(ended[1])


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


def count_tests(script: Path) -> int:
    """How many tests a file of GDScript tests has."""
    return script.read_text(encoding="utf-8").count("\nfunc test_")


def import_project(godot: Path, folder: Path) -> Project:
    """Let Godot import a project; anything red on the way is a failure."""
    project = Project(godot, folder)
    done = project.run("--import")
    assert done.returncode == 0, done.stdout
    assert "ERROR" not in done.stdout, done.stdout
    assert "WARNING" not in done.stdout, done.stdout
    return project


def make_sidecar_program(folder: Path) -> Path:
    """Write the program `navserver` of this checkout where the addon looks for it in a project."""
    program = folder / ".venv" / "bin" / "navserver"
    program.parent.mkdir(parents=True)
    leaves = ""
    python = Path(sys.executable).resolve()
    is_of_the_system = python.is_relative_to("/usr") and not python.is_relative_to("/usr/local")
    if sys.platform == "linux" and is_of_the_system and os.geteuid() == 0:
        # A Godot in a system folder of its own has that one's /usr, without this Python.
        process = f"/proc/{os.getpid()}"
        leaves = f"nsenter --mount={process}/ns/mnt --root={process}/root "
    program.write_text(
        f'#!/bin/sh\nexport PYTHONPATH="{CHECKOUT}"\n'
        f'exec {leaves}"{sys.executable}" -m navserver "$@"\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    return program


@pytest.fixture(scope="session")
def compiled() -> None:
    """Everything a sidecar compiles is in the cache, so that it answers at once."""
    pytest.importorskip("navserver.server")
    subprocess.run([sys.executable, "-m", "navserver", "warmup"], cwd=CHECKOUT, check=True)


@pytest.fixture(scope="session")
def addon_project(godot: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The whole project `godot_addon`."""
    folder = tmp_path_factory.mktemp("godot") / "navserver"
    shutil.copytree(ADDON_PROJECT, folder, ignore=shutil.ignore_patterns(".godot"))
    return import_project(godot, folder)
