from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from navserver.cli import main
from navserver.commands import stats as command
from navserver.commands.stats import figures_as_text
from navserver.wire.questions import create_world, find_path
from tests.serving import PATIENCE, Serving, serving


@pytest.fixture(scope="module")
def shared() -> Iterator[Serving]:
    with serving(workers=1) as running:
        with running.client() as client:
            client.ask(create_world("w", width=8, height=8))
            client.ask(find_path("w", (0, 0), (7, 7)))
        yield running


@pytest.fixture
def file(shared: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(command, "_TIMEOUT_SECONDS", PATIENCE)
    shared.info.write(tmp_path / "c.json")
    return str(tmp_path / "c.json")


def test_figures_are_shown_once(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "--connection-file", file]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("navserver ")
    rows = {line.split()[0]: line.split() for line in shown.splitlines() if line}
    assert rows["path"][1:3] == ["1", "0"]
    assert {"up", "queue", "cache", "memory", "movers"} <= set(rows)


def test_figures_as_json(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "--connection-file", file, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["path.count"] == 1
    assert figures["server"].startswith("navserver ")


def test_watching_shows_them_anew_until_interrupted(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            raise KeyboardInterrupt

    # The command's clock alone: clients sleep as well while they connect.
    monkeypatch.setattr(command, "time", SimpleNamespace(sleep=sleep))
    assert main(["stats", "--connection-file", file, "--watch", "0.5", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert waited == [0.5] * 3
    assert [line["stats.count"] for line in lines[1:]] == [
        lines[0].get("stats.count", 0) + 1,
        lines[0].get("stats.count", 0) + 2,
    ]


def test_rates_are_those_since_the_last_look() -> None:
    before = {"uptime_s": 10.0, "path.count": 100.0}
    figures = {"uptime_s": 12.0, "path.count": 150.0, "path.p50_us": 2e6, "path.p99_us": 3e6}
    (row,) = [line for line in figures_as_text(figures, before).splitlines() if "path  " in line]
    assert row.split() == ["path", "150", "0", "2.0", "s", "3.0", "s", "25.0"]
    assert "1 h 1 min" in figures_as_text({"uptime_s": 3661.0})


def test_what_is_not_there_is_told_in_words() -> None:
    idle = figures_as_text({"requests_open": 1.0, "warm_up.done": 3.0, "warm_up.total": 26.0})
    assert "0 other requests open" in idle
    assert "compiles its searches, 3 of 26 groups done" in idle
    busy = figures_as_text(
        {"warm_up.done": 26.0, "warm_up.total": 26.0, "cache.asked": 8.0, "cache.hit_rate": 0.25,
         "movers.count": 1200.0, "movers.stepping.p50_us": 2500.0}
    )  # fmt: skip
    assert "compiles" not in busy
    assert "25 % of 8 questions answered" in busy
    assert "1,200, running in 0 worlds, 0 steps left out; a turn 2.5 ms" in busy


def test_rows_keep_their_places() -> None:
    names = ("stats", "batch", "path")
    shown = figures_as_text({f"{name}.p50_us": 1.0 for name in names}).splitlines()
    assert [line.split()[0] for line in shown if " us " in line] == sorted(names)


def test_without_a_server_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_TIMEOUT_SECONDS", 0.2)
    (tmp_path / "c.json").write_text("{}")
    for name in ("none.json", "c.json"):
        code = main(["stats", "--connection-file", str(tmp_path / name)])
        captured = capsys.readouterr()
        assert code == 1
        assert captured.out == ""
        assert name in captured.err


@pytest.mark.parametrize("interval", ["0", "-1", "inf", "nan"])
def test_intervals_are_checked(interval: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "--watch", interval]) == 2
    assert "watch" in capsys.readouterr().err
