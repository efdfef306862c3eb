from __future__ import annotations

import json
from pathlib import Path

import pytest

from navserver.commands import path as path_command
from navserver.maps.case import load_case
from tests.commands.asking import SMALL_FIELD, Find


def test_found(find: Find, field: str) -> None:
    code, out, err = find(field, "--from", "0,0", "--to", "3,2")
    assert (code, err) == (0, "")
    assert out.startswith("status      found\ncost        5\nlength      5, 6 cells\n")
    assert "expanded" in out
    drawing = out.split("\n\n")[1]
    assert drawing.splitlines()[0] == "S***"
    assert drawing.splitlines()[2].endswith("G")


def test_no_path_and_partial_exit_1(find: Find, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("..#.\n")
    code, out, _ = find(str(file), "--from", "0,0", "--to", "3,0")
    assert code == 1
    assert out.startswith("status      unreachable\nsearch ")
    code, out, _ = find(str(file), "--from", "0,0", "--to", "3,0", "--allow-partial")
    assert code == 1
    assert out.startswith("status      partial (unreachable)\ncost        1\n")
    code, out, _ = find(str(file), "--from", "2,0", "--to", "3,0")
    assert (code, out.split()[1]) == (1, "start_blocked")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "MAP is missing; name a map file"),
        (["{field}", "--to", "0,0"], "--from is missing; give a cell X,Y"),
        (["{field}", "--from", "0,0"], "--to is missing; give a cell X,Y"),
        (["{field}", "--from", "0", "--to", "0,0"], "argument --from: '0' is not a cell"),
        (["{field}", "--from", "-1,0", "--to", "0,0"], "--from: (-1, 0) lies outside the map"),
        (["{field}", "--from=0,0", "--to=0,3"], "--to: (0, 3) lies outside the map"),
        (["none.map", "--from", "0,0", "--to", "0,0"], "none.map: no such file"),
        (["a.xyz", "--from", "0,0", "--to", "0,0"], "a.xyz: unknown ending '.xyz'; use one of"),
        (["builtin:moon"], "'moon' is no builtin map; use one of rooms"),
        (["builtin:rooms", "--weight", "0.5"], "weight: 0.5 is out of bounds"),
        (["builtin:rooms", "--weight", "nan"], "weight: nan is out of bounds"),
        (["builtin:rooms", "--max-cost", "x"], "argument --max-cost: 'x' is not a number"),
        (["builtin:rooms", "--max-expansions", "0"], "'0' is not a whole number of 1 or more"),
        (["builtin:rooms", "--class-cost", "1=-2"], "--class-cost: -2.0 is not a cost"),
        (["builtin:rooms", "--class-cost", "1"], "'1' is not CLASS=COST"),
        (["builtin:rooms", "--diagonal-mode", "some"], "'some' is unknown; use always, never"),
        (["builtin:rooms", "--heuristic", "manhattan"], "heuristic: 'MANHATTAN' overestimates"),
        (["builtin:rooms", "--algorithm", "jps"], "'jps' is unknown; use astar, dijkstra, flow"),
        (["builtin:rooms", "--size", "33"], "size: 33 is not the side of a body; give a whole"),
        (["builtin:rooms", "--radius", "-1"], "radius: -1.0 is out of bounds"),
        (["builtin:rooms", "--size=2", "--radius=1"], "radius: 1.0 does not go with size 2"),
        (["builtin:rooms", "--smooth", "wavy"], "'wavy' is unknown; use none, simplify, string"),
        (["builtin:rooms", "--overlay", "a"], "'a' is not FILE=WEIGHT"),
        (["builtin:rooms", "--algorithm=flow", "--weight=2"], "--weight does not go with --alg"),
        (["builtin:rooms", "--algorithm=dijkstra", "--weight=2"], "--weight does not go with --a"),
        (["builtin:rooms", "--heuristic=manhattan"], "or give --inexact to accept paths that"),
        (["builtin:rooms", "--from=999,0"], "--from: (999, 0) lies outside the map; give x in"),
        (
            ["builtin:rooms", "--max-expansions", "9" * 20],
            f"too large; give at most {'9' * 18};",
        ),
        (["builtin:rooms", "--algorithm=flow", "--save-case=a"], "--save-case keeps queries of"),
        (["builtin:rooms", "--algorithm=flow", "--to=99,99"], "--to: (99, 99) lies outside the"),
        (
            ["builtin:rooms", "--algorithm=dijkstra", "--heuristic=octile"],
            "does not go with dijkstra",
        ),
        (["builtin:rooms", "--png", "/no/such/a.png"], "png: '/no/such/a.png' cannot be written"),
        (["builtin:rooms", "--save-case", "/no/such/a"], "/no/such/a: cannot be written"),
        (["--case", "none.json"], "none.json: no such file"),
        (["builtin:rooms", "--speed"], "unrecognized arguments: --speed"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    find: Find, field: str, arguments: list[str], message: str
) -> None:
    code, out, err = find(*(argument.format(field=field) for argument in arguments))
    assert (code, out) == (2, "")
    assert err.startswith("navserver: ")
    assert message in err
    assert err.count("\n") == 1


def test_picture_of_a_search_that_is_too_long_says_so(
    find: Find, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(path_command, "MOST_DRAWN", 10)
    _, out, _ = find("builtin:rooms", "--png", str(tmp_path / "a.png"))
    assert "pixels, the first 10 expansions)" in out


def test_saved_case_replays(find: Find, field: str, tmp_path: Path) -> None:
    case = tmp_path / "a.json"
    options = ("--weight", "1.5", "--class-cost", "2=3", "--diagonal-mode", "never")
    code, out, _ = find(field, "--from", "0,0", "--to", "3,2", "--save-case", str(case), *options)
    assert code == 0
    assert f"case        {case}\n" in out
    Path(field).unlink()
    code, again, err = find("--case", str(case))
    assert (code, err) == (0, "")
    assert "recorded    the same\n" in again
    without = [line for line in again.splitlines() if not line.startswith(("recorded", "search"))]
    before = [line for line in out.splitlines() if not line.startswith(("case", "search"))]
    assert without == before
    code, out, _ = find("--case", str(case), "--json")
    content = json.loads(out)
    assert content["recorded"] == {"status": "found", "cost": content["cost"], "matches": True}


def test_case_without_a_path_replays_with_exit_1(find: Find, field: str, tmp_path: Path) -> None:
    case = str(tmp_path / "a.json")
    find(field, "--from", "0,0", "--to", "1,1", "--save-case", case)
    code, out, err = find("--case", case)
    assert (code, err) == (1, "")
    assert out.startswith("status      goal_blocked\n")
    assert "recorded    the same\n" in out


def test_case_whose_result_differs(find: Find, field: str, tmp_path: Path) -> None:
    case = tmp_path / "a.json"
    find(field, "--from", "0,0", "--to", "3,2", "--save-case", str(case))
    content = json.loads(case.read_text())
    content["result"]["cost"] = 4.0
    case.write_text(json.dumps(content))
    code, out, err = find("--case", str(case))
    assert code == 1
    assert "recorded    differs: cost 5.0, recorded 4.0\n" in out
    assert err == f"navserver: {case}: cost 5.0, recorded 4.0\n"
    code, out, _ = find("--case", str(case), "--json")
    assert (code, json.loads(out)["recorded"]["matches"]) == (1, False)


def test_case_by_hash_takes_a_map(find: Find, field: str, tmp_path: Path) -> None:
    case = tmp_path / "a.json"
    find(field, "--from", "0,0", "--to", "3,2", "--save-case", str(case))
    content = json.loads(case.read_text())
    del content["map"]["classes"]
    del content["result"]
    content["map"].pop("file")
    case.write_text(json.dumps(content))
    code, out, _ = find(field, "--case", str(case))
    assert code == 0
    assert "recorded    nothing to compare with\n" in out
    code, _, err = find("--case", str(case))
    assert code == 2
    assert "the case holds no map, only its hash; name the map's file" in err
    Path(field).write_text(SMALL_FIELD.replace("2", "."))
    code, _, err = find(field, "--case", str(case))
    assert code == 2
    assert "not the map of" in err


def test_saved_case_of_a_builtin_map_names_no_file(find: Find, tmp_path: Path) -> None:
    case = tmp_path / "a.json"
    find("builtin:rooms", "--save-case", str(case))
    assert load_case(case).map_file is None
