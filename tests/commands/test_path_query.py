from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from navserver import render
from navserver.commands import movement
from navserver.maps.case_writing import save_case
from navserver.maps.loading import load_map
from navserver.search.grid import Grid
from tests.commands.asking import Find

OPEN = ".......\n.......\n.......\n"


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
    find: Find, field: str, options: list[str], status: str, cost: float | None
) -> None:
    _, out, err = find(field, "--from", "0,0", "--to", "3,2", "--json", *options)
    content = json.loads(out)
    assert (content["status"], err) == (status, "")
    assert content["cost"] == (cost if cost is None else pytest.approx(cost))


@pytest.mark.parametrize("form", ["--from=-4,7 --to=-1,9", "--from -4,7 --to -1,9"])
def test_negative_cells(find: Find, field: str, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    grid = Grid(load_map(field).classes, region_position=(-4, 7))
    monkeypatch.setattr(movement, "load_map", lambda _: grid)
    code, out, _ = find(field, *form.split(), "--json")
    assert code == 0
    assert json.loads(out)["cells"][0] == [-4, 7]


def test_builtin_maps_bring_ends_and_costs(find: Find) -> None:
    code, out, _ = find("builtin:countryside", "--json")
    content = json.loads(out)
    assert code == 0
    assert content["cost"] < content["length"]
    _, other, _ = find("builtin:countryside", "--json", "--class-cost", "1=1", "--to", "100,60")
    assert json.loads(other)["goal"] == [100, 60]
    assert json.loads(other)["cost"] >= json.loads(other)["length"] - 1e-9


def test_case_refuses_options_of_its_own(find: Find, field: str, tmp_path: Path) -> None:
    case = str(tmp_path / "a.json")
    find(field, "--from", "0,0", "--to", "3,2", "--save-case", case)
    code, _, err = find("--case", case, "--weight", "2", "--from", "0,0", "--inexact")
    assert code == 2
    assert err.endswith("leave out --from, --inexact, --weight\n")


def test_larger_bodies_keep_clear_of_walls(find: Find, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(".....\n.....\n###..\n.....\n.....\n")
    ends = (str(file), "--from", "0,0", "--to", "0,3")
    for body, cells in (("--size=1", [2, 3]), ("--size=2", [3]), ("--radius=0.75", [])):
        code, out, _ = find(*ends, body, "--json", "--diagonal-mode", "never")
        content = json.loads(out)
        crossing = [x for x, y in content["cells"] if y == 2]
        assert code == (0 if cells else 1)
        assert crossing == [x for x in crossing if x >= 3]
        assert bool(crossing) == bool(cells)
    _, out, _ = find(*ends, "--size=2", "--json")
    assert [3, 2] in json.loads(out)["cells"]
    assert json.loads(find(*ends, "--radius=0.75", "--json")[1])["status"] == "start_blocked"


def test_overlays_add_to_the_cost(find: Find, field: str, tmp_path: Path) -> None:
    danger = np.zeros((3, 4), np.float32)
    danger[1, 0] = 10.0
    np.save(tmp_path / "danger.npy", danger)
    overlay = ("--overlay", f"{tmp_path / 'danger.npy'}=0.5")
    _, out, _ = find(field, "--from", "0,0", "--to", "0,2", "--json", *overlay)
    assert json.loads(out)["cost"] == 7.0
    case = str(tmp_path / "case.json")
    find(field, "--from", "0,0", "--to", "0,2", "--save-case", case, "--size", "1", *overlay)
    code, out, _ = find("--case", case, "--json")
    assert (code, json.loads(out)["cost"]) == (0, 7.0)


@pytest.mark.parametrize(
    ("method", "points"),
    [
        ("simplify", [[0, 0], [2, 2], [6, 2]]),
        ("string", [[0, 0], [6, 2]]),
    ],
)
def test_smoothed_paths(find: Find, tmp_path: Path, method: str, points: list[list[int]]) -> None:
    file, picture = tmp_path / "a.txt", tmp_path / "a.png"
    file.write_text(OPEN)
    ends = (str(file), "--from", "0,0", "--to", "6,2", "--smooth", method)
    _, out, _ = find(*ends, "--json", "--png", str(picture))
    smoothed = json.loads(out)["smoothed"]
    straight = [math.dist(a, b) for a, b in itertools.pairwise(points)]
    assert smoothed == {"method": method, "length": pytest.approx(sum(straight)), "points": points}
    side = render.LARGEST_CELL
    with Image.open(picture) as image:
        x, y = (sum(point[i] for point in points[-2:]) / 2 for i in (0, 1))
        assert image.getpixel((int((x + 0.5) * side), int((y + 0.5) * side))) == render.LINE_COLOR
    _, out, _ = find(*ends)
    assert f"smoothed    {method}: length " in out
    drawing = out.split("\n\n")[1].splitlines()
    assert sum(row.count("o") for row in drawing) == len(points) - 2


def test_curves_go_through_the_turns(find: Find, field: str) -> None:
    ends = (field, "--from", "0,0", "--to", "3,2", "--json", "--smooth")
    turns = json.loads(find(*ends, "string")[1])["smoothed"]["points"]
    curve = json.loads(find(*ends, "curve")[1])["smoothed"]
    assert len(turns) >= 3
    assert len(curve["points"]) > len(turns)
    assert all([float(x), float(y)] in curve["points"] for x, y in turns)
    assert "smoothed" not in json.loads(find(*ends, "none")[1])


def test_no_path_is_not_smoothed(find: Find, field: str) -> None:
    code, out, _ = find(field, "--from", "0,0", "--to", "1,1", "--json", "--smooth", "curve")
    assert code == 1
    assert "smoothed" not in json.loads(out)


@pytest.mark.parametrize("map_name", ["builtin:countryside", "builtin:caves"])
@pytest.mark.parametrize("options", [(), ("--size", "2", "--from", "17,12")])
def test_flow_costs_what_astar_does(find: Find, map_name: str, options: tuple[str, ...]) -> None:
    code, out, _ = find(map_name, "--json", "--cost-model", "mean", *options)
    flow_code, flow_out, err = find(
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


def test_flow_says_why_there_is_no_path(find: Find, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("..#.\n")
    for start, goal in (("0,0", "3,0"), ("2,0", "3,0"), ("0,0", "2,0"), ("2,0", "2,0")):
        ends = (str(file), "--from", start, "--to", goal, "--json")
        code, out, _ = find(*ends)
        flow_code, flow_out, _ = find(*ends, "--algorithm", "flow")
        exact, flow = json.loads(out), json.loads(flow_out)
        assert (code, flow_code) == (1, 1)
        for name in ("status", "detail", "found", "cells", "cost", "length", "suboptimality"):
            assert flow[name] == exact[name]


@pytest.mark.parametrize("method", ["simplify", "string", "curve"])
def test_cells_of_one_query_count_for_smoothing(find: Find, tmp_path: Path, method: str) -> None:
    case = tmp_path / "a.json"
    save_case(case, Grid.filled(7, 5), (0, 2), (6, 2), blocked_cells=[(3, 2)])
    code, out, _ = find("--case", str(case), "--smooth", method, "--json")
    points = json.loads(out)["smoothed"]["points"]
    assert code == 0
    assert len(points) > 2, "the cell blocked is in the way"
    wall = Grid.from_blocked(np.array([[False, True, False, False]]))
    save_case(case, wall, (0, 0), (3, 0), ignored_cells=[(1, 0)])
    code, out, _ = find("--case", str(case), "--smooth", method, "--json")
    points = json.loads(out)["smoothed"]["points"]
    assert (code, points[0], points[-1]) == (0, [0, 0], [3, 0])
    assert method == "curve" or len(points) == 2
