from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from navserver import diagnosis
from navserver.cli import main
from navserver.diagnosis import Finding


def found(monkeypatch: pytest.MonkeyPatch, *findings: Finding) -> list[Any]:
    """Let the diagnosis find this; return what it is called with."""
    called: list[Any] = []

    def diagnose(*arguments: Any) -> Any:
        called.append(arguments)
        return iter(findings)

    monkeypatch.setattr(diagnosis, "diagnose", diagnose)
    return called


WELL = Finding("python", "ok", "3.11")
ODD = Finding("cache", "warning", "cold", "run navserver warmup")
BAD = Finding("port", "error", "none", "ask the firewall")


def test_each_finding_is_a_line_and_its_remedy_another(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called = found(monkeypatch, WELL, ODD)
    assert main(["doctor", "project"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines == ["ok python 3.11", "warning cache cold", "run navserver warmup"]
    assert called[0][0] == Path("project")


def test_an_error_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found(monkeypatch, WELL, BAD)
    assert main(["doctor", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is False
    assert told["findings"][1] == {
        "name": "port", "level": "error", "text": "none", "remedy": "ask the firewall"
    }  # fmt: skip
