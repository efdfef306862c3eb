from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from navserver.commands import movement
from navserver.commands.query import QUESTIONS
from navserver.search.distance_map import distance_map
from navserver.search.grid import Grid
from navserver.search.islands import island_labels
from tests.commands.asking import FIELD, Ask, parse


@pytest.mark.parametrize("name", QUESTIONS)
def test_help(name: str, ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        ask(f"{name} --help")
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    assert out.startswith(f"usage: navserver query MAP {name}")
    assert ("--png" in out) == bool(QUESTIONS[name].picture)
    assert ("--npy" in out) == bool(QUESTIONS[name].array)


@pytest.mark.parametrize("name", QUESTIONS)
def test_examples_of_the_help_run(name: str, ask: Ask) -> None:
    map_name, _, question = QUESTIONS[name].example.partition(" ")
    assert question.split()[0] == name
    code, out, err = ask(question, map_name)
    assert code in (0, 1)
    assert (err, bool(out)) == ("", True)
    code_of_json, content = parse(ask(f"{question} --json", map_name))
    assert (code_of_json, content["query"]) == (code, name)
    assert content["yes"] == (code == 0)


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
def test_bad_input_is_one_line_and_exit_2(ask: Ask, question: str, message: str) -> None:
    code, out, err = ask(question)
    assert (code, out) == (2, "")
    assert err.startswith("navserver: ")
    assert message in err
    assert err.count("\n") == 1


def test_map_that_is_not_there(ask: Ask) -> None:
    code, _, err = ask("islands", "none.map")
    assert (code, err.count("\n")) == (2, 1)
    assert "none.map: no such file" in err


def test_regions_with_negative_cells(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [[255 if c == "#" else 0 for c in row] for row in FIELD.split()]
    monkeypatch.setattr(movement, "load_map", lambda _: Grid(rows, region_position=(-10, -20)))
    _, content = parse(ask("islands --json"))
    assert [island["first"] for island in content["islands"]] == [[-10, -20], [-4, -20]]
    _, content = parse(ask("connected --from -10,-20 --to -6,-18 -4,-20 --json"))
    assert content["connected"] == [True, False]
    _, content = parse(ask("field --to -4,-18 --from -4,-20 --json"))
    assert content["from"] == [{"cell": [-4, -20], "cost": 2.0, "direction": [0.0, 1.0]}]
    _, content = parse(ask("distance-map --from -10,-20 --json"))
    assert content["farthest"] == {"cell": [-6, -18], "cost": 6.0}
    _, content = parse(ask("distance-to-wall --json"))
    assert content["widest"] == [-10, -20]
    _, content = parse(ask("reachable --from -4,-20 --budget 1 --json"))
    assert content["cells"] == [[-4, -20], [-4, -19]]


def test_arrays(ask: Ask, tmp_path: Path) -> None:
    grid = Grid([[255 if c == "#" else 0 for c in row] for row in FIELD.split()])
    costs = distance_map(grid, [(0, 0)]).costs
    for question, expected in (
        ("islands", island_labels(grid)),
        ("distance-map --from 0,0", costs),
        ("field --to 0,0", costs.astype(np.float32)),
        ("reachable --from 0,0 --budget 2", np.where(costs <= 2, costs, math.inf)),
        ("distance-to-wall --at 0,0", np.where(grid.blocked(), 0.0, 0.5)),
    ):
        _, out, err = ask(f"{question} --npy array")
        assert err == ""
        saved = np.load(tmp_path / "array")
        assert f"array       array ({expected.dtype})\n" in out
        assert saved.dtype == expected.dtype
        np.testing.assert_array_equal(saved, expected)
