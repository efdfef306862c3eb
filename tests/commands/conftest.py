"""Commands called as from a shell."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from navserver.cli import main
from tests.commands.asking import FIELD, SMALL_FIELD, Ask, Find


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """A question about the map `field.txt`: exit code, standard output, standard error."""
    (tmp_path / "field.txt").write_text(FIELD)
    monkeypatch.chdir(tmp_path)

    def call(text: str, map_name: str = "field.txt") -> tuple[int, str, str]:
        code = main(["query", map_name, *shlex.split(text)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def field(tmp_path: Path) -> str:
    """The name of a small map."""
    file = tmp_path / "field.txt"
    file.write_text(SMALL_FIELD)
    return str(file)


@pytest.fixture
def find(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Find:
    """A call of `navserver path` in a usual terminal: exit code, standard output and error."""
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_: os.terminal_size((80, 24)))

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["path", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
