from __future__ import annotations

import doctest
import json
import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from navserver.cli import main
from navserver.sim.report import summary_of
from navserver.sim.runner import RunResult
from tests.serving import serving

CONTRACT = {
    "bots",
    "ticks",
    "arrived",
    "en_route",
    "stuck",
    "no_path",
    "in_wall",
    "state_hash",
    "bot_ticks_per_s",
    "latency_us",
}


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["bots", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


SHORT = ["builtin:rooms", "--bots", "12", "--ticks", "5"]


def test_json_keeps_its_contract(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, *SHORT)
    assert found.keys() >= CONTRACT
    assert (found["bots"], found["ticks"], found["in_wall"], found["latency_us"]) == (
        12,
        5,
        0,
        None,
    )
    assert found["arrived"] + found["en_route"] + found["stuck"] + found["no_path"] == 12


@pytest.mark.slow
def test_workers_and_repetitions_change_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    hashes = {
        answer(capsys, *SHORT, "--seed", "7", "--workers", workers)["state_hash"]
        for workers in ("1", "2", "1")
    }
    assert len(hashes) == 1
    assert answer(capsys, *SHORT, "--seed", "8")["state_hash"] not in hashes


def test_a_scenario_file_and_what_wins_over_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "few.toml"
    file.write_text('map = "town.txt"\nticks = 4\n[[bots]]\ncount = 3\nspeed = 2\n')
    (tmp_path / "town.txt").write_text("......\n..##..\n......\n")
    assert answer(capsys, "--scenario", str(file))["bots"] == 3
    found = answer(capsys, "--scenario", str(file), "--ticks", "2", "--bots", "5")
    assert (found["bots"], found["ticks"]) == (5, 2)
    assert answer(capsys, "builtin:rooms", "--scenario", str(file), "--bots", "40")["bots"] == 40


def test_files_that_are_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, record, junit = tmp_path / "out", tmp_path / "run.npz", tmp_path / "bots.xml"
    files = ["--out", str(out), "--record", str(record), "--junit", str(junit)]
    assert main(["bots", *SHORT, *files]) == 0
    told = capsys.readouterr().out
    assert f"report      {out / 'report.html'}" in told
    assert (out / "report.json").is_file()
    suite = ET.parse(junit).getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == (
        "4",
        "0",
        "0",
    )
    assert main(["replay", str(record)]) == 0
    assert capsys.readouterr().out == "the same at all 5 ticks\n"


def test_a_behavior_that_fails_is_an_exit_code_and_a_junit_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, junit = tmp_path / "own.py", tmp_path / "bots.xml"
    own.write_text(
        "class Own:\n"
        "    def __init__(self, kind): pass\n"
        "    def decide(self, bots): return [0], [(float('nan'), 0)]\n"
    )
    code = main(["bots", *SHORT, "--behavior", str(own), "--junit", str(junit)])
    assert code == 1
    told = capsys.readouterr()
    assert f"ended early: behavior of bots at tick 0 ({own}:3): its goals are not" in told.err
    assert "arrived     12" in told.out
    assert ET.parse(junit).getroot().attrib["errors"] == "1"


def test_ctrl_c_ends_the_run_with_all_that_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, out, record = tmp_path / "own.py", tmp_path / "out", tmp_path / "run.npz"
    own.write_text(
        "import os, signal\n"
        "class Own:\n"
        "    def __init__(self, kind): self.kind = kind\n"
        "    def decide(self, bots):\n"
        "        if bots.tick == 5: os.kill(os.getpid(), signal.SIGINT)\n"
        "        if bots.tick == 0: return range(12), self.kind.draw_goals(range(12))\n"
    )
    given = ["builtin:rooms", "--bots", "12", "--ticks", "1000000", "--behavior", str(own)]
    assert main(["bots", *given, "--out", str(out), "--record", str(record), "--json"]) == 1
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert found["error"] == "stopped by the user"
    assert 6 <= found["ticks"] < 1_000_000
    assert found["arrived"] + found["en_route"] + found["stuck"] + found["no_path"] == 12
    assert "Ctrl-C again ends at once" in told.err
    assert json.loads((out / "report.json").read_text())["state_hash"] == found["state_hash"]
    assert main(["replay", str(record)]) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_costs_what_was_to_lie_there_and_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit, out = tmp_path / "bots.xml", tmp_path / "out"
    files = ["--record", "/dev/full", "--junit", str(junit), "--out", str(out)]
    assert main(["bots", *SHORT, *files]) == 2
    told = capsys.readouterr()
    assert "state hash  " in told.out
    assert f"report      {out / 'report.html'}" in told.out
    assert "--record: '/dev/full' cannot be written (No space left on device)" in told.err
    assert ET.parse(junit).getroot().attrib["failures"] == "0"
    assert Path("/dev/full").is_char_device()
    assert main(["bots", *SHORT, "--junit", "/dev/full"]) == 2
    assert "--junit: '/dev/full' cannot be written" in capsys.readouterr().err


def test_a_map_of_one_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.txt").write_text(".\n")
    given = [str(tmp_path / "one.txt"), "--ticks", "4", "--out", str(tmp_path / "out")]
    for behavior in ("wander", "commute", "chase"):
        found = answer(capsys, *given, "--bots", "1", "--behavior", behavior)
        assert (found["arrived"] + found["en_route"], found["in_wall"]) == (1, 0)
        assert found["arrivals"] > 0
    assert main(["bots", *given, "--bots", "2"]) == 2
    assert "--bots: 2 are more bots of bots than the 1 free cells" in capsys.readouterr().err


def test_what_went_wrong_is_a_junit_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stuck(result: RunResult) -> dict[str, Any]:
        return {**summary_of(result), "stuck": 3, "stuck_reasons": {"wall": 3}}

    monkeypatch.setattr("navserver.commands.bots.summary_of", stuck)
    junit = tmp_path / "bots.xml"
    assert main(["bots", *SHORT, "--junit", str(junit)]) == 0
    failures = ET.parse(junit).getroot().findall(".//failure")
    assert [failure.attrib["message"] for failure in failures] == ["3 bots are stuck: {'wall': 3}"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "MAP is missing"),
        (["none.map"], "none.map"),
        (["builtin:rooms", "--bots", "0"], "--bots"),
        (["builtin:rooms", "--bots", "2000000"], "--bots: 2000000 is out of bounds"),
        (["builtin:rooms", "--bots", "900000"], "are more bots of bots than the"),
        (["builtin:rooms", "--speed", "0"], "--speed: 0.0 is out of bounds"),
        (["builtin:rooms", "--speed", "nan"], "--speed"),
        (["builtin:rooms", "--radius", "0.7"], "--radius: 0.7 is out of bounds"),
        (["builtin:rooms", "--dt", "0"], "--dt: 0.0 is no step"),
        (["builtin:rooms", "--ticks", "-1"], "--ticks"),
        (["builtin:rooms", "--behavior", "swim"], "'swim' is unknown; use wander, commute, chase"),
        (["builtin:rooms", "--scenario", "none.toml"], "none.toml"),
        (["builtin:rooms", "--record", "no/such/run.npz"], "--record: 'no/such/run.npz' lies in"),
        (["builtin:rooms", "--junit", "no/such/x.xml"], "--junit"),
    ],
)
def test_bad_input_is_told_before_the_run(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bots", *arguments]) == 2
    told = capsys.readouterr()
    assert words in told.err
    assert told.out == ""


def test_options_of_a_kind_do_not_go_with_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "two.toml"
    file.write_text("[[bots]]\ncount = 3\n[[bots]]\ncount = 2\n")
    assert main(["bots", "builtin:rooms", "--scenario", str(file), "--bots", "9"]) == 2
    assert "--bots does not say which of the scenario's 2 kinds" in capsys.readouterr().err


def test_a_map_without_a_free_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "full.txt").write_text("###\n###\n")
    assert main(["bots", str(tmp_path / "full.txt"), "--bots", "1"]) == 2
    assert "1 are more bots of bots than the 0 free cells on the map" in capsys.readouterr().err


GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "bots.md").read_text(encoding="utf-8")


def block_of_guide(language: str) -> str:
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    return str(block)


def test_the_command_of_the_guide(capsys: pytest.CaptureFixture[str]) -> None:
    command, _, output = block_of_guide("console").partition("\n")
    program, *arguments = shlex.split(command.removeprefix("$ "))
    assert program == "navserver"
    assert main(arguments) == 0
    told = capsys.readouterr().out
    assert doctest.OutputChecker().check_output(output, told, doctest.ELLIPSIS), told


def test_the_scenario_and_the_behavior_of_the_guide(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "town.toml").write_text(block_of_guide("toml"))
    (tmp_path / "guards.py").write_text(block_of_guide("python"))
    (tmp_path / "town.txt").write_text(
        ("." * 12 + "#" + "." * 11 + "\n") * 4 + ("." * 24 + "\n") * 6
    )
    found = answer(capsys, "--scenario", str(tmp_path / "town.toml"))
    assert (found["bots"], found["ticks"], found["in_wall"]) == (23, 600, 0)
    assert found["arrivals"] > 23


@pytest.mark.slow
def test_bots_of_a_sidecar(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "connection.json"
    with serving(workers=1) as running:
        running.info.write(file)
        here = answer(capsys, *SHORT, "--in-process")
        lockstep = answer(capsys, *SHORT, "--connect", str(file), "--lockstep")
        clients = answer(capsys, *SHORT, "--connect", str(file))
    assert here["requests"] is None
    assert lockstep["state_hash"] == here["state_hash"]
    assert lockstep["requests"]["answered"] == 5
    assert clients["requests"]["answered"] >= 12
    assert clients["latency_us"].keys() == {"p50", "p95", "p99", "max"}
    assert clients.keys() == here.keys() >= CONTRACT


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--lockstep"], "--lockstep needs a sidecar; add --connect FILE"),
        (["--connect", "none.json"], "none.json"),
        (["--connect", "c.json", "--in-process"], "not allowed with"),
        (["--connect", "c.json", "--lockstep", "--workers", "2"], "--workers: the sidecar moves"),
    ],
)
def test_sidecars_that_are_not_there(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bots", *SHORT, *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("spawn = [0, 0, 99, 9]", "few.toml:5: bots[0].spawn[1]: (98, 8) lies outside the map"),
        ("goals = [2, 1, 2, 1]", "few.toml:5: bots[0].goals: [(2, 1, 2, 1)] have no free cell"),
        ("behavior = 'swim'", "few.toml:5: bots[0].behavior: 'swim' is unknown"),
        ("options = { pause = -1 }", "few.toml:5: bots[0].options.pause: -1 is not 0 or more"),
        ("options = { speed = 1 }", "few.toml:5: bots[0].options.speed: 1 is an unknown option"),
        ("class_costs = { 0 = inf }", "few.toml:4: bots[0].count: 3 are more bots"),
        ("[[edits]]\narea=[9,9,1,1]\ntick=1\nclass=1", "few.toml:6: edits[0].area[0]: (9, 9)"),
    ],
)
def test_faults_of_a_scenario_are_told_by_its_lines(
    lines: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "few.toml"
    file.write_text(f'map = "town.txt"\nticks = 4\n[[bots]]\ncount = 3\n{lines}\n')
    (tmp_path / "town.txt").write_text("......\n..##..\n......\n")
    assert main(["bots", "--scenario", str(file)]) == 2
    assert words in capsys.readouterr().err


def test_faults_of_options_that_win_over_a_scenario_are_told_by_the_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "few.toml"
    file.write_text("[[bots]]\ncount = 3\n")
    given = ["bots", "builtin:rooms", "--scenario", str(file)]
    assert main([*given, "--bots", "900000"]) == 2
    assert "navserver: --bots: 900000 are more" in capsys.readouterr().err
    assert main([*given, "--behavior", "swim"]) == 2
    assert "navserver: --behavior: 'swim' is unknown" in capsys.readouterr().err


@pytest.mark.parametrize("code", ["return None", "return None if bots.tick < 3 else 1 / 0"])
def test_a_terminal_is_left_as_it_was_however_the_run_ends(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.progress import Progress

    calls: list[str] = []
    for name in ("start", "stop"):
        monkeypatch.setattr(Progress, name, lambda _self, name=name: calls.append(name))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("navserver.sim.runner.time.monotonic", iter(range(10**6)).__next__)
    own = tmp_path / "own.py"
    own.write_text(
        f"class Own:\n    def __init__(self, kind): pass\n    def decide(self, bots): {code}\n"
    )
    main(["bots", *SHORT, "--behavior", str(own)])
    # of the bar for kernels, and of the one for ticks
    assert calls == ["start", "stop"] * 2
    assert "bots        12, " in capsys.readouterr().out
