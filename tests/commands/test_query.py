from __future__ import annotations

import json
import math
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from navserver import render
from navserver.cli import main
from navserver.commands import movement
from navserver.commands.query import QUESTIONS
from navserver.search.distance_map import distance_map
from navserver.search.grid import Grid
from navserver.search.islands import island_labels

FIELD = ".....#.\n.###.#.\n.....#.\n"

Run = Any


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A question about the map `field.txt`: exit code, standard output, standard error."""
    (tmp_path / "field.txt").write_text(FIELD)
    monkeypatch.chdir(tmp_path)

    def call(text: str, map_name: str = "field.txt") -> tuple[int, str, str]:
        code = main(["query", map_name, *shlex.split(text)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def parse(answer: tuple[int, str, str]) -> tuple[int, dict[str, Any]]:
    code, out, err = answer
    assert err == ""
    assert out.count("\n") == 1
    return code, json.loads(out)


@pytest.mark.parametrize("name", QUESTIONS)
def test_help(name: str, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(f"{name} --help")
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    assert out.startswith(f"usage: navserver query MAP {name}")
    assert ("--png" in out) == bool(QUESTIONS[name].picture)
    assert ("--npy" in out) == bool(QUESTIONS[name].array)


@pytest.mark.parametrize("name", QUESTIONS)
def test_examples_of_the_help_run(name: str, run: Run) -> None:
    map_name, _, question = QUESTIONS[name].example.partition(" ")
    assert question.split()[0] == name
    code, out, err = run(question, map_name)
    assert code in (0, 1)
    assert (err, bool(out)) == ("", True)
    code_of_json, content = parse(run(f"{question} --json", map_name))
    assert (code_of_json, content["query"]) == (code, name)
    assert content["yes"] == (code == 0)


@pytest.mark.parametrize(
    ("question", "code", "content"),
    [
        (
            "islands", 0,
            {"count": 2, "islands": [
                {"label": 1, "cells": 12, "first": [0, 0]},
                {"label": 2, "cells": 3, "first": [6, 0]},
            ]},
        ),
        ("islands --size 2", 1, {"count": 0, "islands": []}),
        ("islands --class-cost 255=1", 0, {"count": 1, "islands": [
            {"label": 1, "cells": 21, "first": [0, 0]}]}),
        ("connected --from 0,0 --to 4,2 6,0", 1,
         {"from": [0, 0], "to": [[4, 2], [6, 0]], "connected": [True, False]}),
        ("connected --from 0,0 --to 4,2", 0,
         {"from": [0, 0], "to": [[4, 2]], "connected": [True]}),
        ("nearest --to -3,-4", 0, {"from": None, "to": [-3, -4], "cell": [0, 0], "distance": 5}),
        ("nearest --from 6,0 --to 2,1", 0,
         {"from": [6, 0], "to": [2, 1], "cell": [6, 1], "distance": 4}),
        ("nearest --to 2,1 --max-distance 0.5", 1,
         {"from": None, "to": [2, 1], "cell": None, "distance": None}),
        ("reachable --from 6,0 --budget 1", 0, {
            "from": [6, 0], "budget": 1, "count": 2, "cells": [[6, 0], [6, 1]], "costs": [0, 1]}),
        ("reachable --from 6,0 --budget 1 --cost-model product --class-cost 0=2", 0, {
            "from": [6, 0], "budget": 1, "count": 1, "cells": [[6, 0]], "costs": [0]}),
        ("reachable --from 0,0 --budget 2 --to 0,2", 0, {
            "from": [0, 0], "budget": 2, "count": 5, "to": [0, 2], "cost": 2,
            "path": [[0, 0], [0, 1], [0, 2]]}),
        ("reachable --from 0,0 --budget 2 --to 6,2", 1, {
            "from": [0, 0], "budget": 2, "count": 5, "to": [6, 2], "cost": None, "path": []}),
        ("random --from 5,0", 1, {"from": [5, 0], "seed": 0, "cells": []}),
        ("opens --from 0,0 --to 6,0", 0, {"from": [0, 0], "to": [6, 0], "cells": [[5, 2]]}),
        ("opens --from 0,0 --to 4,2", 0, {"from": [0, 0], "to": [4, 2], "cells": []}),
        ("fits --at 0,0 1,1", 1, {"at": [[0, 0], [1, 1]], "fits": [True, False]}),
        ("fits --at 0,0 --radius 0.75", 1, {"at": [[0, 0]], "fits": [False]}),
        ("distance-to-wall --at 6,1 2,1", 0, {"at": [[6, 1], [2, 1]], "distances": [0.5, 0]}),
        ("distance-to-wall", 0, {"widest": [0, 0], "distance": 0.5}),
        ("distance-to-wall --class-cost 0=inf", 1, {"widest": [0, 0], "distance": 0}),
        ("line-of-sight --from 0,0 --to 4,0 0,2", 0,
         {"from": [0, 0], "to": [[4, 0], [0, 2]], "visible": [True, True]}),
        ("line-of-sight --from 0,0 --to 4,2 6,0", 1,
         {"from": [0, 0], "to": [[4, 2], [6, 0]], "visible": [False, False]}),
        ("raycast --from 0,0 --to 4,0.25", 0, {
            "from": [0, 0], "to": [4, 0.25], "reached": True, "point": [4, 0.25],
            "cell": [4, 0], "normal": [0, 0]}),
        ("raycast --from 1,1 --to -4,0.25", 1, {
            "from": [1, 1], "to": [-4, 0.25], "reached": False, "point": [1, 1],
            "cell": [1, 1], "normal": [0, 0]}),
        ("matrix --from 0,0 4,0 --to 0,2 4,2", 0,
         {"from": [[0, 0], [4, 0]], "to": [[0, 2], [4, 2]], "costs": [[2, 6], [6, 2]]}),
        ("matrix --from 0,0 --to 0,2 6,2", 1,
         {"from": [[0, 0]], "to": [[0, 2], [6, 2]], "costs": [[2, None]]}),
        ("nearest-goal --from 0,0 --to 4,2 6,0 2,2", 0, {
            "from": [0, 0], "to": [[4, 2], [6, 0], [2, 2]], "index": 2, "status": "found",
            "cost": 4, "length": 4, "path": [[0, 0], [0, 1], [0, 2], [1, 2], [2, 2]]}),
        ("nearest-goal --from 0,0 --to 6,0", 1, {
            "from": [0, 0], "to": [[6, 0]], "index": -1, "status": "unreachable",
            "cost": None, "length": None, "path": []}),
        ("field --to 6,2", 0, {"to": [[6, 2]], "reached": 3, "bytes": 147}),
        ("field --to 0,0 6,2 --from 6,0 2,0 4,2", 0, {
            "to": [[0, 0], [6, 2]], "reached": 15, "bytes": 147, "from": [
                {"cell": [6, 0], "cost": 2, "direction": [0, 1]},
                {"cell": [2, 0], "cost": 2, "direction": [-1, 0]},
                {"cell": [4, 2], "cost": 6, "direction": [-1, 0]}]}),
        ("field --to 6,2 --from 0,0", 1, {
            "to": [[6, 2]], "reached": 3, "bytes": 147,
            "from": [{"cell": [0, 0], "cost": None, "direction": [0, 0]}]}),
        ("distance-map --from 0,0", 0, {
            "from": [[0, 0]], "reached": 12, "farthest": {"cell": [4, 2], "cost": 6}}),
        ("distance-map --from 0,0 --max-cost 3", 0, {
            "from": [[0, 0]], "reached": 7, "farthest": {"cell": [3, 0], "cost": 3}}),
        ("distance-map --from 0,0 4,2 --start-values 5 0 --to 1,0 6,0", 1, {
            "from": [[0, 0], [4, 2]], "reached": 12, "farthest": {"cell": [0, 0], "cost": 5},
            "to": [{"cell": [1, 0], "cost": 5, "source": 1},
                   {"cell": [6, 0], "cost": None, "source": -1}]}),
    ],
)  # fmt: skip
def test_answers(run: Run, question: str, code: int, content: dict[str, Any]) -> None:
    code_of_json, answer = parse(run(f"{question} --json"))
    assert answer == {"query": question.split(maxsplit=1)[0], "yes": code == 0, **content}
    assert code_of_json == code
    code_of_text, out, err = run(question)
    assert (code_of_text, err) == (code, "")
    assert out


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("islands", ("islands     2\n1           12 cells, the first 0,0\n"
                     "2           3 cells, the first 6,0\n")),
        ("islands --at 6,1 5,0", "islands     2\n6,1         island 2\n5,0         blocked\n"),
        ("connected --from 0,0 --to 4,2 6,0", "4,2         yes\n6,0         no\n"),
        ("nearest --to 2,1 --max-distance 0.5", "nearest     none\n"),
        ("reachable --from 0,0 --budget 2 --to 0,2",
         "reachable   5 cells for 2\n0,2         cost 2, 3 cells\n"),
        ("random --from 5,0", "none: the start is blocked\n"),
        ("opens --from 0,0 --to 6,0", "to open     1\n5,2\n"),
        ("opens --from 0,0 --to 4,2", "connected as it is\n"),
        ("raycast --from 0,0 --to 0,9",
         "reached     no\nlast point  0,2.49998474\nstopped by  0,3, normal 0,-1\n"),
        ("matrix --from 0,0 --to 0,2 6,2", "     0,2   6,2\n0,0    2  none\n"),
        ("nearest-goal --from 0,0 --to 6,0", "nearest     none (unreachable)\n"),
        ("distance-map --from 0,0 --to 4,2 6,0",
         ("reached     12 cells\nfarthest    4,2, cost 6\n"
          "4,2         cost 6, source 0,0\n6,0         none\n")),
    ],
)  # fmt: skip
def test_text(run: Run, question: str, text: str) -> None:
    assert run(question)[1] == text


def test_long_lists_are_cut_in_text_alone(run: Run) -> None:
    _, out, _ = run("islands --size 2", "builtin:obstacles")
    _, content = parse(run("islands --size 2 --json", "builtin:obstacles"))
    count = content["count"]
    assert len(content["islands"]) == count > 21
    assert len(out.splitlines()) == 22
    assert out.splitlines()[-1] == f"... and {count - 20} more"


def test_random_cells_depend_on_the_seed(run: Run) -> None:
    question = "random --from 0,0 --count 30 --json --seed"
    first, again, other = (parse(run(f"{question} {seed}"))[1]["cells"] for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == 30


def test_distances_beyond_what_is_measured(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((80, 80), np.uint8))
    code, out, _ = run("distance-to-wall", "a.npy")
    assert (code, out.splitlines()[1]) == (0, "distance    beyond what is measured")
    assert parse(run("distance-to-wall --json", "a.npy"))[1]["distance"] is None


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("", "the following arguments are required: QUESTION; see navserver query --help"),
        ("fly", "argument QUESTION: invalid choice: 'fly'"),
        ("connected --to 0,0", "--from is missing; give a cell X,Y"),
        ("connected --from 0,0", "--to is missing; give a cell X,Y"),
        ("connected --from 0,0 --to 0,9", ": (0, 9) lies outside the map"),
        ("islands --at 9,9", "--at[0]: (9, 9) lies outside the map"),
        ("reachable --from 0,0", "the following arguments are required: --budget"),
        ("reachable --from 0,0 --budget -1", "budget: -1.0 is out of bounds"),
        ("reachable --from 5,0 --budget 1", ": (5, 0) is blocked"),
        ("random --from 0,0 --count 0", "argument --count: '0' is not a whole number of 1 or"),
        ("random --from 0,0 --seed -1", "'-1' is not a whole number of 0 or more"),
        ("nearest --to 0,0 --max-distance nan", "--max-distance: nan is out of bounds"),
        ("opens --from 0,0 --to 4,2 --size 2", "size: 2"),
        ("fits --at 0,0 --size 99", "size: 99 is not the side of a body; give a whole number"),
        ("fits --at 0,0 --size 2 --radius 1", "radius: 1.0 does not go with size 2; leave out"),
        ("fits", "the following arguments are required: --at"),
        (
            "raycast --from 9,9 --to 0,0",
            "--from: (9.0, 9.0) is not a point of the map; start a ray on one of its cells",
        ),
        ("raycast --from 0,0 --to x,0", "argument --to: 'x,0' is not a point; give X,Y such as"),
        ("field --to 5,0", "--to: (5, 0) is blocked for this movement; give an open cell"),
        ("field --to 0,0 --sight-radius 128", "--sight-radius: 128 is out of bounds"),
        ("distance-map --from 0,0 --start-values 1 2", "--start-values: (2,) is not the shape"),
        ("distance-map --from 0,0 --overlay a=1", "a: no such file"),
        ("islands --overlay a=1", "unrecognized arguments: --overlay a=1"),
        ("islands --png /no/such/a.png", "--png: '/no/such/a.png' cannot be written"),
        ("islands --npy /no/such/a.npy", "--npy: '/no/such/a.npy' cannot be written"),
        ("connected --from 0,0 --to 0,0 --png a.png", "unrecognized arguments: --png"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(run: Run, question: str, message: str) -> None:
    code, out, err = run(question)
    assert (code, out) == (2, "")
    assert err.startswith("navserver: ")
    assert message in err
    assert err.count("\n") == 1


def test_map_that_is_not_there(run: Run) -> None:
    code, _, err = run("islands", "none.map")
    assert (code, err.count("\n")) == (2, 1)
    assert "none.map: no such file" in err


def test_regions_with_negative_cells(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [[255 if c == "#" else 0 for c in row] for row in FIELD.split()]
    monkeypatch.setattr(movement, "load_map", lambda _: Grid(rows, region_position=(-10, -20)))
    _, content = parse(run("islands --json"))
    assert [island["first"] for island in content["islands"]] == [[-10, -20], [-4, -20]]
    _, content = parse(run("connected --from -10,-20 --to -6,-18 -4,-20 --json"))
    assert content["connected"] == [True, False]
    _, content = parse(run("field --to -4,-18 --from -4,-20 --json"))
    assert content["from"] == [{"cell": [-4, -20], "cost": 2.0, "direction": [0.0, 1.0]}]
    _, content = parse(run("distance-map --from -10,-20 --json"))
    assert content["farthest"] == {"cell": [-6, -18], "cost": 6.0}
    _, content = parse(run("distance-to-wall --json"))
    assert content["widest"] == [-10, -20]
    _, content = parse(run("reachable --from -4,-20 --budget 1 --json"))
    assert content["cells"] == [[-4, -20], [-4, -19]]


SIDE = render.LARGEST_CELL


def pixel(file: Path, x: int, y: int) -> Any:
    with Image.open(file) as image:
        assert image.size == (7 * SIDE, 3 * SIDE)
        return image.getpixel((x * SIDE + SIDE // 2, y * SIDE + SIDE // 2))


@pytest.mark.parametrize(
    ("question", "colors"),
    [
        ("nearest --to 2,1", {(2, 1): render.GOAL_COLOR, (2, 0): render.LINE_COLOR}),
        ("reachable --from 6,0 --budget 2", {
            (6, 0): render.START_COLOR, (6, 1): render.EXPLORED_RAMP[1],
            (6, 2): render.EXPLORED_RAMP[2], (0, 0): render.PAPER}),
        ("reachable --from 0,0 --budget 2 --to 0,2",
         {(0, 1): render.PATH_COLOR, (0, 2): render.GOAL_COLOR}),
        ("random --from 6,0 --count 99", {(6, 1): render.LINE_COLOR, (0, 0): render.PAPER}),
        ("opens --from 0,0 --to 6,0", {(5, 2): render.LINE_COLOR, (5, 1): render.STONE}),
        ("fits --at 0,0", {(0, 0): render.LINE_COLOR, (4, 2): render.EXPLORED_RAMP[0],
                           (1, 1): render.STONE}),
        ("line-of-sight --from 0,0 --to 4,0", {(2, 0): render.LINE_COLOR, (2, 2): render.PAPER}),
        ("line-of-sight --from 0,0 --to 4,0 4,2",
         {(4, 0): render.LINE_COLOR, (4, 2): render.PAPER}),
        ("raycast --from 0,0 --to 6,0", {(2, 0): render.LINE_COLOR, (5, 0): render.PATH_COLOR}),
        ("nearest-goal --from 0,0 --to 0,2 6,0", {
            (0, 1): render.PATH_COLOR, (0, 2): render.GOAL_COLOR, (6, 0): render.LINE_COLOR}),
        ("field --to 6,2", {(6, 1): render.ARROW_COLOR, (6, 2): render.LINE_COLOR}),
        ("distance-map --from 6,2", {(6, 1): render.EXPLORED_RAMP[1], (0, 0): render.PAPER}),
        ("distance-to-wall", {(0, 0): render.EXPLORED_RAMP[0], (1, 1): render.STONE}),
    ],
)  # fmt: skip
def test_pictures(
    run: Run, tmp_path: Path, question: str, colors: dict[tuple[int, int], render.Color]
) -> None:
    _, out, err = run(f"{question} --png a.png")
    assert err == ""
    assert "picture     a.png (168 x 72 pixels)\n" in out
    assert {cell: pixel(tmp_path / "a.png", *cell) for cell in colors} == colors


def test_picture_of_islands(run: Run, tmp_path: Path) -> None:
    run("islands --png a.png")
    one, two, wall = (pixel(tmp_path / "a.png", x, 0) for x in (0, 6, 5))
    assert pixel(tmp_path / "a.png", 4, 2) == one
    assert len({one, two, wall, render.PAPER}) == 4
    assert wall == render.STONE


def test_arrays(run: Run, tmp_path: Path) -> None:
    grid = Grid([[255 if c == "#" else 0 for c in row] for row in FIELD.split()])
    costs = distance_map(grid, [(0, 0)]).costs
    for question, expected in (
        ("islands", island_labels(grid)),
        ("distance-map --from 0,0", costs),
        ("field --to 0,0", costs.astype(np.float32)),
        ("reachable --from 0,0 --budget 2", np.where(costs <= 2, costs, math.inf)),
        ("distance-to-wall --at 0,0", np.where(grid.blocked(), 0.0, 0.5)),
    ):
        _, out, err = run(f"{question} --npy array")
        assert err == ""
        saved = np.load(tmp_path / "array")
        assert f"array       array ({expected.dtype})\n" in out
        assert saved.dtype == expected.dtype
        np.testing.assert_array_equal(saved, expected)
