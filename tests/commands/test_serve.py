from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from navserver.cli import main
from navserver.client import Client
from navserver.server import Server
from navserver.wire.questions import world_info
from tests.serving import PATIENCE, process


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--host", "0.0.0.0"], "host"),
        (["--host", "::1"], "host"),
        (["--host", "example.org"], "host"),
        (["--port", "70000"], "port"),
        (["--port", "-1"], "port"),
        (["--workers", "0"], "workers"),
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
    assert "parent-pid" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["serve", "--connection-file", str(tmp_path / "file" / "c.json")]) == 2
    assert "connection-file" in capsys.readouterr().err


def test_localhost_is_this_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.json"
    seen: list[Any] = []

    def run(server: Server) -> int:
        seen.append(file.read_text())
        server.close()
        return 0

    monkeypatch.setattr(Server, "run", run)
    assert main(["serve", "--host", "localhost", "--connection-file", str(file)]) == 0
    assert seen == [capsys.readouterr().out]
    assert not file.exists()


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
