from __future__ import annotations

import itertools
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from navserver import render
from navserver.cli import main
from navserver.commands import movement
from navserver.commands import path as path_command
from navserver.maps.case import load_case, save_case
from navserver.maps.loading import load_map
from navserver.search.grid import Grid

FIELD = "....\n.##.\n.2..\n"


@pytest.fixture
def field(tmp_path: Path) -> str:
    file = tmp_path / "field.txt"
    file.write_text(FIELD)
    return str(file)


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_: os.terminal_size((80, 24)))


Run = Any


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """A call of the command: exit code, standard output, standard error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["path", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_found(run: Run, field: str) -> None:
    code, out, err = run(field, "--from", "0,0", "--to", "3,2")
    assert (code, err) == (0, "")
    assert out.startswith("status      found\ncost        5\nlength      5, 6 cells\n")
    assert "expanded" in out
    drawing = out.split("\n\n")[1]
    assert drawing.splitlines()[0] == "S***"
    assert drawing.splitlines()[2].endswith("G")


def test_no_path_and_partial_exit_1(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("..#.\n")
    code, out, _ = run(str(file), "--from", "0,0", "--to", "3,0")
    assert code == 1
    assert out.startswith("status      unreachable\nsearch ")
    code, out, _ = run(str(file), "--from", "0,0", "--to", "3,0", "--allow-partial")
    assert code == 1
    assert out.startswith("status      partial (unreachable)\ncost        1\n")
    code, out, _ = run(str(file), "--from", "2,0", "--to", "3,0")
    assert (code, out.split()[1]) == (1, "start_blocked")


def test_json_has_all_there_is(run: Run, field: str) -> None:
    code, out, err = run(field, "--from", "0,0", "--to", "3,2", "--json", "--class-cost", "2=0.5")
    assert (code, err) == (0, "")
    content = json.loads(out)
    search_us = content.pop("search_us")
    assert search_us > 0
    assert content == {
        "status": "found",
        "detail": [],
        "found": True,
        "start": [0, 0],
        "goal": [3, 2],
        "cost": 4.5,
        "length": 5.0,
        "suboptimality": 1.0,
        "cells": [[0, 0], [0, 1], [0, 2], [1, 2], [2, 2], [3, 2]],
        "metrics": content["metrics"],
        "map": {"width": 4, "height": 3, "hash": load_map(field).map_hash()},
    }
    assert set(content["metrics"]) == {"expanded", "generated", "reopened", "open_peak"}
    assert all(isinstance(value, int) for value in content["metrics"].values())


def test_json_without_a_path_has_null_for_the_infinite(run: Run, field: str) -> None:
    code, out, _ = run(
        field, "--from", "0,0", "--to", "1,1", "--json", "--allow-partial", "--max-cost", "0"
    )
    content = json.loads(out)
    assert (code, content["status"], content["found"]) == (1, "partial", False)
    assert content["cost"] == 0.0
    _, out, _ = run(field, "--from", "1,1", "--to", "0,0", "--json")
    content = json.loads(out)
    assert content["status"] == "start_blocked"
    assert content["cells"] == []
    assert content["cost"] is None
    assert content["length"] is None


@pytest.mark.parametrize(
    ("options", "status", "cost"),
    [
        (["--diagonal-mode", "always"], "found", 3 + math.sqrt(2)),
        (["--diagonal-mode=At_Least_One-Walkable"], "found", 3 + math.sqrt(2)),
        (["--diagonal-mode", "never", "--heuristic", "manhattan"], "found", 5),
        (["--algorithm", "DIJKSTRA"], "found", 5),
        (["--algorithm", "dijkstra", "--heuristic", "zero"], "found", 5),
        (["--heuristic", "manhattan", "--inexact"], "found", 5),
        (["--cost-model", "product", "--class-cost", "0=2"], "found", 16),
        (["--cost-model", "mean", "--class-cost", "0=2", "2=4"], "found", 10),
        (["--class-cost", "2=inf", "--class-cost", "0=3"], "found", 15),
        (["--weight", "2"], "found", 5),
        (["--max-expansions", "2"], "limit", None),
        (["--max-cost", "4.5"], "limit", None),
    ],
)
def test_options_reach_the_search(
    run: Run, field: str, options: list[str], status: str, cost: float | None
) -> None:
    _, out, err = run(field, "--from", "0,0", "--to", "3,2", "--json", *options)
    content = json.loads(out)
    assert (content["status"], err) == (status, "")
    assert content["cost"] == (cost if cost is None else pytest.approx(cost))


def test_bounds_are_told(run: Run, field: str) -> None:
    _, out, _ = run(field, "--from", "0,0", "--to", "3,2", "--weight", "1.5")
    assert "cost        5 (at most 1.5 times the least)\n" in out
    options = ("--heuristic", "manhattan", "--inexact")
    _, out, _ = run(field, "--from", "0,0", "--to", "3,2", *options)
    assert "cost        5 (may not be the least)\n" in out


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
    run: Run, field: str, arguments: list[str], message: str
) -> None:
    code, out, err = run(*(argument.format(field=field) for argument in arguments))
    assert (code, out) == (2, "")
    assert err.startswith("navserver: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("form", ["--from=-4,7 --to=-1,9", "--from -4,7 --to -1,9"])
def test_negative_cells(run: Run, field: str, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    grid = Grid(load_map(field).classes, region_position=(-4, 7))
    monkeypatch.setattr(movement, "load_map", lambda _: grid)
    code, out, _ = run(field, *form.split(), "--json")
    assert code == 0
    assert json.loads(out)["cells"][0] == [-4, 7]


def test_builtin_maps_bring_ends_and_costs(run: Run) -> None:
    code, out, _ = run("builtin:countryside", "--json")
    content = json.loads(out)
    assert code == 0
    assert content["cost"] < content["length"]
    _, other, _ = run("builtin:countryside", "--json", "--class-cost", "1=1", "--to", "100,60")
    assert json.loads(other)["goal"] == [100, 60]
    assert json.loads(other)["cost"] >= json.loads(other)["length"] - 1e-9


def test_picture(run: Run, field: str, tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    code, out, _ = run(field, "--from", "0,0", "--to", "3,2", "--png", str(file))
    assert code == 0
    assert f"picture     {file} (96 x 72 pixels)\n" in out
    with Image.open(file) as image:
        assert image.getpixel((36, 12)) == render.PATH_COLOR


def test_map_that_does_not_fit_points_to_png(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.npy"
    np.save(file, np.zeros((4, 81), np.uint8))
    code, out, _ = run(str(file), "--from", "0,0", "--to", "3,2")
    assert code == 0
    assert out.endswith(
        "The map of 81 x 4 cells does not fit this terminal; --png FILE draws it.\n"
    )
    _, out, _ = run(str(file), "--from", "0,0", "--to", "3,2", "--png", str(tmp_path / "a.png"))
    assert "does not fit" not in out


def test_picture_of_a_search_that_is_too_long_says_so(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(path_command, "MOST_DRAWN", 10)
    _, out, _ = run("builtin:rooms", "--png", str(tmp_path / "a.png"))
    assert "pixels, the first 10 expansions)" in out


def test_colors_only_on_a_terminal(run: Run, field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    arguments = (field, "--from", "0,0", "--to", "3,2")
    assert "\x1b[" not in run(*arguments)[1]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert ("\x1b[" in run(*arguments)[1]) == (os.name != "nt")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run(*arguments)[1]


def test_saved_case_replays(run: Run, field: str, tmp_path: Path) -> None:
    case = tmp_path / "a.json"
    options = ("--weight", "1.5", "--class-cost", "2=3", "--diagonal-mode", "never")
    code, out, _ = run(field, "--from", "0,0", "--to", "3,2", "--save-case", str(case), *options)
    assert code == 0
    assert f"case        {case}\n" in out
    Path(field).unlink()
    code, again, err = run("--case", str(case))
    assert (code, err) == (0, "")
    assert "recorded    the same\n" in again
    without = [line for line in again.splitlines() if not line.startswith(("recorded", "search"))]
    before = [line for line in out.splitlines() if not line.startswith(("case", "search"))]
    assert without == before
    code, out, _ = run("--case", str(case), "--json")
    content = json.loads(out)
    assert content["recorded"] == {"status": "found", "cost": content["cost"], "matches": True}


def test_case_without_a_path_replays_with_exit_1(run: Run, field: str, tmp_path: Path) -> None:
    case = str(tmp_path / "a.json")
    run(field, "--from", "0,0", "--to", "1,1", "--save-case", case)
    code, out, err = run("--case", case)
    assert (code, err) == (1, "")
    assert out.startswith("status      goal_blocked\n")
    assert "recorded    the same\n" in out


def test_case_whose_result_differs(run: Run, field: str, tmp_path: Path) -> None:
    case = tmp_path / "a.json"
    run(field, "--from", "0,0", "--to", "3,2", "--save-case", str(case))
    content = json.loads(case.read_text())
    content["result"]["cost"] = 4.0
    case.write_text(json.dumps(content))
    code, out, err = run("--case", str(case))
    assert code == 1
    assert "recorded    differs: cost 5.0, recorded 4.0\n" in out
    assert err == f"navserver: {case}: cost 5.0, recorded 4.0\n"
    code, out, _ = run("--case", str(case), "--json")
    assert (code, json.loads(out)["recorded"]["matches"]) == (1, False)


def test_case_by_hash_takes_a_map(run: Run, field: str, tmp_path: Path) -> None:
    case = tmp_path / "a.json"
    run(field, "--from", "0,0", "--to", "3,2", "--save-case", str(case))
    content = json.loads(case.read_text())
    del content["map"]["classes"]
    del content["result"]
    content["map"].pop("file")
    case.write_text(json.dumps(content))
    code, out, _ = run(field, "--case", str(case))
    assert code == 0
    assert "recorded    nothing to compare with\n" in out
    code, _, err = run("--case", str(case))
    assert code == 2
    assert "the case holds no map, only its hash; name the map's file" in err
    Path(field).write_text(FIELD.replace("2", "."))
    code, _, err = run(field, "--case", str(case))
    assert code == 2
    assert "not the map of" in err


def test_case_refuses_options_of_its_own(run: Run, field: str, tmp_path: Path) -> None:
    case = str(tmp_path / "a.json")
    run(field, "--from", "0,0", "--to", "3,2", "--save-case", case)
    code, _, err = run("--case", case, "--weight", "2", "--from", "0,0", "--inexact")
    assert code == 2
    assert err.endswith("leave out --from, --inexact, --weight\n")


def test_saved_case_of_a_builtin_map_names_no_file(run: Run, tmp_path: Path) -> None:
    case = tmp_path / "a.json"
    run("builtin:rooms", "--save-case", str(case))
    assert load_case(case).map_file is None


def test_larger_bodies_keep_clear_of_walls(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(".....\n.....\n###..\n.....\n.....\n")
    ends = (str(file), "--from", "0,0", "--to", "0,3")
    for body, cells in (("--size=1", [2, 3]), ("--size=2", [3]), ("--radius=0.75", [])):
        code, out, _ = run(*ends, body, "--json", "--diagonal-mode", "never")
        content = json.loads(out)
        crossing = [x for x, y in content["cells"] if y == 2]
        assert code == (0 if cells else 1)
        assert crossing == [x for x in crossing if x >= 3]
        assert bool(crossing) == bool(cells)
    _, out, _ = run(*ends, "--size=2", "--json")
    assert [3, 2] in json.loads(out)["cells"]
    assert json.loads(run(*ends, "--radius=0.75", "--json")[1])["status"] == "start_blocked"


def test_square_bodies_are_drawn_by_their_centre(run: Run, tmp_path: Path) -> None:
    source, file = tmp_path / "a.txt", tmp_path / "a.png"
    source.write_text("....\n....\n")
    run(str(source), "--from", "0,0", "--to", "2,0", "--size", "2", "--png", str(file))
    with Image.open(file) as image:
        assert image.getpixel((48, 24)) == render.PATH_COLOR
        assert image.getpixel((48, 12)) != render.PATH_COLOR


def test_overlays_add_to_the_cost(run: Run, field: str, tmp_path: Path) -> None:
    danger = np.zeros((3, 4), np.float32)
    danger[1, 0] = 10.0
    np.save(tmp_path / "danger.npy", danger)
    overlay = ("--overlay", f"{tmp_path / 'danger.npy'}=0.5")
    _, out, _ = run(field, "--from", "0,0", "--to", "0,2", "--json", *overlay)
    assert json.loads(out)["cost"] == 7.0
    case = str(tmp_path / "case.json")
    run(field, "--from", "0,0", "--to", "0,2", "--save-case", case, "--size", "1", *overlay)
    code, out, _ = run("--case", case, "--json")
    assert (code, json.loads(out)["cost"]) == (0, 7.0)


OPEN = ".......\n.......\n.......\n"


@pytest.mark.parametrize(
    ("method", "points"),
    [
        ("simplify", [[0, 0], [2, 2], [6, 2]]),
        ("string", [[0, 0], [6, 2]]),
    ],
)
def test_smoothed_paths(run: Run, tmp_path: Path, method: str, points: list[list[int]]) -> None:
    file, picture = tmp_path / "a.txt", tmp_path / "a.png"
    file.write_text(OPEN)
    ends = (str(file), "--from", "0,0", "--to", "6,2", "--smooth", method)
    _, out, _ = run(*ends, "--json", "--png", str(picture))
    smoothed = json.loads(out)["smoothed"]
    straight = [math.dist(a, b) for a, b in itertools.pairwise(points)]
    assert smoothed == {"method": method, "length": pytest.approx(sum(straight)), "points": points}
    side = render.LARGEST_CELL
    with Image.open(picture) as image:
        x, y = (sum(point[i] for point in points[-2:]) / 2 for i in (0, 1))
        assert image.getpixel((int((x + 0.5) * side), int((y + 0.5) * side))) == render.LINE_COLOR
    _, out, _ = run(*ends)
    assert f"smoothed    {method}: length " in out
    drawing = out.split("\n\n")[1].splitlines()
    assert sum(row.count("o") for row in drawing) == len(points) - 2


def test_curves_go_through_the_turns(run: Run, field: str) -> None:
    ends = (field, "--from", "0,0", "--to", "3,2", "--json", "--smooth")
    turns = json.loads(run(*ends, "string")[1])["smoothed"]["points"]
    curve = json.loads(run(*ends, "curve")[1])["smoothed"]
    assert len(turns) >= 3
    assert len(curve["points"]) > len(turns)
    assert all([float(x), float(y)] in curve["points"] for x, y in turns)
    assert "smoothed" not in json.loads(run(*ends, "none")[1])


def test_no_path_is_not_smoothed(run: Run, field: str) -> None:
    code, out, _ = run(field, "--from", "0,0", "--to", "1,1", "--json", "--smooth", "curve")
    assert code == 1
    assert "smoothed" not in json.loads(out)


@pytest.mark.parametrize("map_name", ["builtin:countryside", "builtin:caves"])
@pytest.mark.parametrize("options", [(), ("--size", "2", "--from", "17,12")])
def test_flow_costs_what_astar_does(run: Run, map_name: str, options: tuple[str, ...]) -> None:
    code, out, _ = run(map_name, "--json", "--cost-model", "mean", *options)
    flow_code, flow_out, err = run(
        map_name, "--json", "--cost-model", "mean", "--algorithm", "flow", *options
    )
    exact, flow = json.loads(out), json.loads(flow_out)
    assert (flow_code, err) == (code, "")
    assert flow["status"] == exact["status"] == "found"
    assert flow["cost"] == pytest.approx(exact["cost"], rel=1e-9)
    assert flow["metrics"] is None
    assert flow["cells"][0] == exact["start"]
    assert flow["cells"][-1] == exact["goal"]
    assert flow["field"]["reached"] >= len(flow["cells"])


def test_flow_says_why_there_is_no_path(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("..#.\n")
    for start, goal in (("0,0", "3,0"), ("2,0", "3,0"), ("0,0", "2,0"), ("2,0", "2,0")):
        ends = (str(file), "--from", start, "--to", goal, "--json")
        code, out, _ = run(*ends)
        flow_code, flow_out, _ = run(*ends, "--algorithm", "flow")
        exact, flow = json.loads(out), json.loads(flow_out)
        assert (code, flow_code) == (1, 1)
        for name in ("status", "detail", "found", "cells", "cost", "length", "suboptimality"):
            assert flow[name] == exact[name]


def test_flow_is_drawn_with_arrows(run: Run, field: str, tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    code, out, _ = run(
        field, "--from", "3,0", "--to", "3,2", "--algorithm", "flow", "--png", str(file)
    )
    assert code == 0
    assert "field       10 cells reach the goal, built in " in out
    with Image.open(file) as image:
        assert image.getpixel((36, 12)) == render.ARROW_COLOR


@pytest.mark.parametrize("method", ["simplify", "string", "curve"])
def test_cells_of_one_query_count_for_smoothing(run: Run, tmp_path: Path, method: str) -> None:
    case = tmp_path / "a.json"
    save_case(case, Grid.filled(7, 5), (0, 2), (6, 2), blocked_cells=[(3, 2)])
    code, out, _ = run("--case", str(case), "--smooth", method, "--json")
    points = json.loads(out)["smoothed"]["points"]
    assert code == 0
    assert len(points) > 2, "the cell blocked is in the way"
    wall = Grid.from_blocked(np.array([[False, True, False, False]]))
    save_case(case, wall, (0, 0), (3, 0), ignored_cells=[(1, 0)])
    code, out, _ = run("--case", str(case), "--smooth", method, "--json")
    points = json.loads(out)["smoothed"]["points"]
    assert (code, points[0], points[-1]) == (0, [0, 0], [3, 0])
    assert method == "curve" or len(points) == 2
