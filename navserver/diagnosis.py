"""What is wrong with an installation, in plain words: one finding a check."""

from __future__ import annotations

import configparser
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from navserver import __version__
from navserver._jit import KERNELS, cache_folder
from navserver.client import Client
from navserver.search.astar import find_path
from navserver.search.grid import Grid
from navserver.server import take_any_port
from navserver.sidecar.connection_file import ConnectionInfo, default_connection_file
from navserver.status import InputError, NavserverError
from navserver.wire import questions

__all__ = ["Finding", "diagnose"]

_OLDEST_PYTHON = (3, 10)
_PACKAGES = ("numpy", "numba", "llvmlite", "msgpack", "pyzmq", "psutil", "platformdirs", "rich")
_START_SECONDS, _ANSWER_SECONDS, _RUNNING_SECONDS = 60.0, 300.0, 5.0
_LITTLE_MEMORY = 512 << 20
_SLOW_SECONDS = 1.0


class Finding(NamedTuple):
    """What one check has found."""

    name: str
    """What was looked at, in one word."""
    level: str
    """``ok``, ``warning`` or ``error``."""
    text: str
    """What was found."""
    remedy: str = ""
    """What to do about it; empty if nothing is to be done."""


def diagnose(project: Path | None = None, addon_version: str | None = None) -> Iterator[Finding]:
    """Look at everything that has to work, one thing after the other.

    Parameters
    ----------
    project : Path, optional
        A Godot project that uses the addon.
    addon_version : str, optional
        Of the addon that comes with this installation.

    Yields
    ------
    Finding
        As soon as each is known; a server that cannot be started takes a minute.
    """
    checks: list[Callable[[], Iterator[Finding]]] = [
        _check_python,
        _check_packages,
        _check_machine,
        _check_cache,
        _check_kernels,
        _check_port,
        _check_connection_file,
        _check_sidecar,
    ]
    if project is not None:
        checks.append(lambda: _check_project(project, addon_version))
    for check in checks:
        yield from check()


def _check_python() -> Iterator[Finding]:
    version = platform.python_version()
    told = f"{version} on {platform.system()} {platform.machine()}, {sys.executable}"
    if sys.version_info[:2] < _OLDEST_PYTHON:
        yield Finding("python", "error", told, "install Python 3.10 or newer")
    elif sys.maxsize < 1 << 32:
        yield Finding("python", "error", f"{told}, 32 bit", "install a Python of 64 bit")
    else:
        yield Finding("python", "ok", told)
    yield Finding("navserver", "ok", f"{__version__} in {Path(__file__).resolve().parent}")


def _check_packages() -> Iterator[Finding]:
    oldest = _oldest_versions()
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield Finding("packages", "error", f"{name} is missing", f"pip install {name}")
            continue
        least = oldest.get(name, "0")
        if _as_numbers(versions[name]) < _as_numbers(least):
            yield Finding(
                "packages", "error", f"{name} {versions[name]} is older than {least}",
                f"pip install --upgrade {name}",
            )  # fmt: skip
    yield Finding("packages", "ok", ", ".join(f"{name} {v}" for name, v in versions.items()))


def _oldest_versions() -> dict[str, str]:
    """Return the oldest versions that this installation states; none in a bare checkout."""
    try:
        stated = importlib.metadata.requires("navserver") or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    found = (re.match(r"([A-Za-z0-9_.-]+)>=([0-9.]+)$", line) for line in stated)
    return {match[1]: match[2] for match in found if match}


def _as_numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


def _check_machine() -> Iterator[Finding]:
    cores, free = os.cpu_count() or 1, psutil.virtual_memory().available
    told = f"{cores} cores, {free / 1e9:.1f} GB of memory free"
    if free < _LITTLE_MEMORY:
        yield Finding("machine", "warning", told, "end other programs, or use smaller maps")
    elif cores < 2:
        yield Finding("machine", "warning", told, "searches share the one core with the game")
    else:
        yield Finding("machine", "ok", told)


def _check_cache() -> Iterator[Finding]:
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        yield Finding(
            "cache", "warning", "NUMBA_DISABLE_JIT is set: kernels are interpreted, a hundred "
            "times as slow", "unset NUMBA_DISABLE_JIT",
        )  # fmt: skip
        return
    folder = cache_folder()
    if folder is None:
        yield Finding(
            "cache", "warning", "no folder for compiled kernels can be written, so that every "
            "start compiles them", "set NAVSERVER_CACHE_DIR to a folder of yours",
        )  # fmt: skip
        return
    kept, total = _count_kept(), len(KERNELS)
    told = f"{min(kept, total)} of {total} kernels are compiled in {folder}"
    if kept < total:
        yield Finding("cache", "warning", told, "run navserver warmup once, some two minutes")
    else:
        yield Finding("cache", "ok", told)


def _count_kept() -> int:
    """Return how many kernels have an entry in their cache."""
    folders = {str(kernel.stats.cache_path) for kernel in KERNELS.values()}
    return sum(len(list(Path(folder).glob("*.nbi"))) for folder in folders)


def _check_kernels() -> Iterator[Finding]:
    grid = Grid.filled(16, 16)
    grid.set_rectangle((8, 0), (1, 15), 255)
    began = time.perf_counter()
    try:
        path = find_path(grid, (0, 0), (15, 0))
    except Exception as error:  # noqa: BLE001 - whatever a compiler may raise is to be told
        yield Finding(
            "kernels", "error", f"a search cannot be compiled: {error!r}",
            "reinstall numba and llvmlite: pip install --force-reinstall numba",
        )  # fmt: skip
        return
    first = time.perf_counter() - began
    began = time.perf_counter()
    find_path(grid, (0, 0), (15, 0))
    again = (time.perf_counter() - began) * 1e6
    if len(path.cells) < 2:
        yield Finding(
            "kernels", "error", "a search has not found the way around a wall",
            "run navserver warmup after deleting the cache folder; if that is no help, report it",
        )  # fmt: skip
        return
    yield Finding("kernels", "ok", f"a search runs: {first:.2f} s at first, {again:.0f} us now")


def _check_port() -> Iterator[Finding]:
    try:
        port = take_any_port()
    except OSError as error:
        yield Finding(
            "port", "error", f"no port of 127.0.0.1 can be taken: {error.strerror}",
            "let the firewall or the sandbox allow local connections",
        )  # fmt: skip
    else:
        yield Finding("port", "ok", f"ports of 127.0.0.1 can be taken, such as {port}")


def _check_connection_file() -> Iterator[Finding]:
    file = default_connection_file()
    folder = next(parent for parent in file.parents if parent.exists())
    if not os.access(folder, os.W_OK):
        yield Finding(
            "connection", "error", f"{file} cannot be written", "start servers with "
            "--connection-file and a path of yours",
        )  # fmt: skip
    elif not file.exists():
        yield Finding("connection", "ok", f"no server has written {file}")
    else:
        yield _look_at_running(file)


def _look_at_running(file: Path) -> Finding:
    try:
        info = ConnectionInfo.read(file)
    except InputError as error:
        return Finding("connection", "warning", str(error), f"delete {file}")
    if not psutil.pid_exists(info.pid):
        return Finding(
            "connection", "warning", f"{file} is of a server that has ended without removing it",
            "delete it, or start a server, which replaces it",
        )  # fmt: skip
    try:
        with Client.connect(connection_file=file, timeout=_RUNNING_SECONDS) as client:
            seconds = client.ask(questions.ping())
    except NavserverError as error:
        return Finding(
            "connection", "warning", f"the server of {file} does not answer: {error}",
            f"end process {info.pid} and start another",
        )  # fmt: skip
    return Finding("connection", "ok", f"a server runs there since {seconds:.0f} s, pid {info.pid}")


def _check_sidecar() -> Iterator[Finding]:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        with log.open("wb") as errors:
            running = subprocess.Popen(
                [sys.executable, "-m", "navserver", "serve", "--stdin-eof", "--workers", "1"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        try:
            yield from _try_sidecar(running, began)
        except (NavserverError, ValueError) as error:
            last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            told = f"a server does not work: {error}"
            yield Finding(
                "sidecar", "error", " | ".join([told, *last]),
                "run navserver serve in a terminal and read what it says",
            )  # fmt: skip
        finally:
            running.kill()
            running.communicate()


def _try_sidecar(running: subprocess.Popen[bytes], began: float) -> Iterator[Finding]:
    ready = _first_line(running)
    seconds = time.perf_counter() - began
    with Client.connect(ready["port"], ready["token"], timeout=_START_SECONDS) as client:
        client.ask(questions.create_world("check", width=64, height=64), _ANSWER_SECONDS)
        path = client.ask(questions.find_path("check", (0, 0), (63, 63)), _ANSWER_SECONDS)
        asked = time.perf_counter()
        again = client.ask(questions.find_path("check", (0, 1), (63, 62)), _ANSWER_SECONDS)
        answer_ms = (time.perf_counter() - asked) * 1e3
        client.ask(questions.shut_down())
    if not (path.found and again.found):
        yield Finding(
            "sidecar", "error", f"the path asked for is {path.status}", "report it: it is a defect"
        )
        return
    told = f"a server is ready after {seconds:.1f} s and answers a path in {answer_ms:.2f} ms"
    if answer_ms > _SLOW_SECONDS * 1e3:
        yield Finding("sidecar", "warning", told, "run navserver warmup, and end other programs")
    else:
        yield Finding("sidecar", "ok", told)


def _first_line(running: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Return the ready line; what does not come in time is empty, and no JSON."""
    assert running.stdout is not None
    timer = threading.Timer(_START_SECONDS, running.kill)
    timer.start()
    try:
        line = running.stdout.readline()
    finally:
        timer.cancel()
    if not line:
        raise NavserverError(f"it has ended or said nothing for {_START_SECONDS:.0f} s")
    told: dict[str, Any] = json.loads(line)
    return told


def _check_project(project: Path, addon_version: str | None) -> Iterator[Finding]:
    settings = project / "project.godot"
    if not settings.is_file():
        yield Finding(
            "addon", "error", f"there is no project.godot in {project}",
            "give the folder of a Godot project",
        )  # fmt: skip
        return
    install = f"run navserver install-addon {project}"
    found = _addon_version(project / "addons" / "navserver" / "plugin.cfg")
    if found is None:
        yield Finding("addon", "error", f"{project} has no navserver addon", install)
        return
    if addon_version is not None and found != addon_version:
        yield Finding(
            "addon", "warning", f"the addon is {found}, this installation brings {addon_version}",
            install,
        )  # fmt: skip
    else:
        yield Finding("addon", "ok", f"version {found} in {project}")
    text = settings.read_text(encoding="utf-8", errors="replace")
    if "res://addons/navserver/plugin.cfg" not in text:
        yield Finding(
            "addon", "warning", "the addon is not enabled",
            "in Godot: Project, Project Settings, Plugins, navserver",
        )  # fmt: skip


def _addon_version(file: Path) -> str | None:
    config = configparser.ConfigParser()
    try:
        config.read(file, encoding="utf-8")
        return config["plugin"]["version"].strip('"')
    except (configparser.Error, KeyError, UnicodeDecodeError):
        return None
