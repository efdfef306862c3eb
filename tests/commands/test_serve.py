from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from navserver.cli import main
from navserver.client import Client
from navserver.search.grid import Grid
from navserver.server import Server
from navserver.service.snapshot import save_worlds
from navserver.service.world import World
from navserver.sidecar.address import Address
from navserver.wire.questions import (
    add_movers,
    create_world,
    edit_world,
    list_worlds,
    mover_info,
    order_movers,
    restore,
    save_snapshot,
    snapshot,
    step_movers,
    view_movers,
    world_hash,
    world_info,
)
from tests.serving import CHECKOUT, PATIENCE, process


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--host", "0.0.0.0"], "host"),
        (["--host", "::1"], "host"),
        (["--host", "example.org"], "host"),
        (["--port", "70000"], "port"),
        (["--port", "-1"], "port"),
        (["--workers", "0"], "workers"),
        (["--workers", "100000"], "workers"),
        (["--idle-timeout", "0"], "idle-timeout"),
        (["--idle-timeout", "inf"], "idle-timeout"),
        (["--idle-timeout", "nan"], "idle-timeout"),
        (["--map", "none.map"], "none.map"),
        (["--map", "builtin:rooms", "--map", "rooms.txt"], "second world"),
    ],
)
def test_mistakes_end_with_one_line_and_2(
    arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert word in captured.err


def test_a_parent_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--parent-pid", "2147483000"]) == 2
    captured = capsys.readouterr()
    assert "parent-pid" in captured.err
    # Who waits for the ready line must not take it for a server.
    assert captured.out == ""


def test_a_folder_that_cannot_be_written_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["serve", "--connection-file", str(tmp_path / "file" / "c.json")]) == 2
    assert "connection-file" in capsys.readouterr().err


def run_shortly(server: Server, on_ready: Callable[[], object]) -> int:
    on_ready()
    server.close()
    return 0


def test_localhost_is_this_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.json"
    seen: list[Any] = []

    def run(server: Server, on_ready: Callable[[], object]) -> int:
        on_ready()
        seen.append(file.read_text())
        server.close()
        return 0

    monkeypatch.setattr(Server, "run", run)
    assert main(["serve", "--host", "localhost", "--connection-file", str(file)]) == 0
    assert seen == [capsys.readouterr().out]
    assert not file.exists()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no such signal")
def test_a_server_that_is_ended_once_it_is_ready_leaves_nothing(tmp_path: Path) -> None:
    file, socket = tmp_path / "c.json", tmp_path / "socket"
    with process("--connection-file", str(file), "--ipc", str(socket)) as (running, ready):
        running.send_signal(signal.SIGHUP)
        assert running.wait(PATIENCE) == 0
    assert ready["ipc"] == str(socket)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_a_server_without_stdin_stdout_and_stderr_ends_at_once(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    command = [sys.executable, "-m", "navserver", "serve", "--stdin-eof", "--connection-file", file]
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *map(str, command)],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 0
    assert not file.exists()


def saved(path: Path) -> bytes:
    """A snapshot of a world with a mover, in a file."""
    world = World("yard", Grid.filled(8, 8))
    world.movers.add([(1, 1)], radius=0.3, max_speed=4.0)
    save_worlds(path, [world])
    return path.read_bytes()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda whole: whole[:60] + bytes([whole[60] ^ 1]) + whole[61:], "checksum"),
        (lambda whole: whole[:-100], "checksum"),
        (lambda _: b"", "does not begin"),
        (lambda _: b"navserver snapshot 2", "does not begin"),
    ],
)
def test_a_damaged_snapshot_is_told_with_its_file(
    damage: Callable[[bytes], bytes],
    reason: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "worlds.nav"
    file.write_bytes(damage(saved(file)))
    kept = file.read_bytes()
    assert main(["serve", "--restore", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    for word in ("--restore", str(file), reason, "move this one away"):
        assert word in captured.err
    assert file.read_bytes() == kept


def test_a_snapshot_that_cannot_be_read_or_saved_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file, remedy in ((tmp_path, "name the file"), (tmp_path / "no" / "w", "make the folder")):
        assert main(["serve", "--restore", str(file)]) == 2
        told = capsys.readouterr().err
        assert f"--restore: '{file}'" in told
        assert remedy in told


def test_without_a_first_snapshot_a_server_begins_without_worlds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Server, "run", run_shortly)
    file = tmp_path / "worlds.nav"
    told = []
    for _ in range(2):
        assert main(["serve", "--restore", str(file), "--log-json"]) == 0
        told.append(json.loads(capsys.readouterr().err))
        saved(file)
    events = [(entry["event"], entry["file"], entry["worlds"]) for entry in told]
    assert events == [("no_snapshot_yet", str(file), 0), ("snapshot_restored", str(file), 1)]


@pytest.mark.slow
def test_a_server_begins_with_the_worlds_and_movers_of_its_snapshot(tmp_path: Path) -> None:
    file = tmp_path / "worlds.nav"
    arguments = ("--restore", str(file), "--workers", "1")
    walls = np.zeros((8, 32), np.uint8)
    walls[:-1, 12] = 255
    with process(*arguments) as (running, ready):
        client = Client.connect(ready["port"], ready["token"], timeout=PATIENCE)
        client.ask(create_world("w", walls))
        units = client.ask(add_movers("w", [(1, 1), (2, 3)], radius=0.3, max_speed=4.0))
        client.ask(order_movers("w", units, (28, 1)))
        client.ask(step_movers("w", 0.1, 20))
        digest = client.ask(world_hash("w"))
        stood, before = client.ask(view_movers("w")), client.ask(mover_info("w", hash=True))
        state = client.ask(snapshot())
        assert client.ask(save_snapshot()) == len(state)
        # The rest of the way, which the snapshot does not know.
        after = client.ask(step_movers("w", 0.1, 150, hash=True))
        running.kill()
        running.wait(PATIENCE)
        client.close()
    assert file.read_bytes() == state
    with (
        process(*arguments) as (running, ready),
        Client.connect(ready["port"], ready["token"], timeout=PATIENCE) as client,
    ):
        # It is told of at once, and whoever asks for it waits until it is made.
        assert client.ask(list_worlds()) == ["w"]
        assert client.ask(world_hash("w")) == digest
        stands, info = client.ask(view_movers("w")), client.ask(mover_info("w", hash=True))
        assert info.hash == before.hash
        assert (info.movers, info.tick) == (2, 0)
        for column in ("handles", "positions", "velocities", "states"):
            assert np.array_equal(getattr(stands, column), getattr(stood, column)), column
        assert not np.allclose(stood.positions, [(1, 1), (2, 3)])
        # They go on as those have gone on that were not restored, up to the last bit.
        ended = client.ask(step_movers("w", 0.1, 150, hash=True))
        assert ended.hash == after.hash
        assert set(ended.view.events.of("arrived").tolist()) == set(units.tolist())
        client.ask(edit_world("w", class_ids=0))
        assert client.ask(restore(state)) == ["w"]
        assert client.ask(world_hash("w")) == digest
        assert client.ask(mover_info("w", hash=True)).hash == before.hash


def test_a_connection_file_without_a_name_is_where_clients_look(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "state"
    monkeypatch.setattr("platformdirs.user_state_dir", lambda *_, **__: str(folder))
    found: list[Any] = []

    def run(server: Server, on_ready: Callable[[], object]) -> int:
        on_ready()
        found.append(Address.of(None, None, None, None).resolve())
        server.close()
        return 0

    monkeypatch.setattr(Server, "run", run)
    assert main(["serve", "--connection-file", "--log-json"]) == 0
    ready = json.loads(capsys.readouterr().out)
    assert found == [(f"tcp://127.0.0.1:{ready['port']}", ready["token"])]
    assert list(folder.iterdir()) == []
    # A token is written nowhere unless that is asked for.
    monkeypatch.setattr(Server, "run", run_shortly)
    assert main(["serve"]) == 0
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_maps_are_worlds_from_the_beginning(tmp_path: Path) -> None:
    (tmp_path / "yard.txt").write_text("..#\n...\n")
    arguments = ("--map", str(tmp_path / "yard.txt"), "--map", "builtin:rooms", "--workers", "1")
    with (
        process(*arguments) as (_, ready),
        Client.connect(ready["port"], ready["token"], timeout=PATIENCE) as client,
    ):
        assert client.ask(world_info("yard"))["width"] == 3
        assert client.ask(world_info("rooms"))["width"] > 3
