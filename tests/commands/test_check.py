from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from navserver.cli import main
from navserver.maps.builtin import load_builtin
from navserver.search.astar import find_path
from navserver.search.grid import SOLID
from navserver.search.results import PathResult

Run = Any


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """A call of the command: exit code, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = main(["check", *(str(argument) for argument in arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def write_set(folder: Path, name: str, n: int = 5) -> Path:
    """Write maps/NAME.map and scens/NAME.map.scen with n scenarios; return the scenario file."""
    scene = load_builtin(name, width=24, height=20)
    rows = ["".join("@" if c == SOLID else "." for c in row) for row in scene.grid.classes.tolist()]
    for part in ("maps", "scens"):
        (folder / part).mkdir(exist_ok=True)
    header = f"type octile\nheight {scene.grid.height}\nwidth {scene.grid.width}\nmap\n"
    (folder / "maps" / f"{name}.map").write_text(header + "\n".join(rows) + "\n")
    free = [
        (x, y) for y, row in enumerate(rows) for x, character in enumerate(row) if character == "."
    ]
    lines = ["version 1"]
    for i in range(len(free)):
        start, goal = free[i * 7 % len(free)], free[-1 - i * 3 % len(free)]
        if len(lines) > n:
            break
        result = find_path(scene.grid, start, goal)
        if result.found:
            fields = (
                i, f"maps/{name}.map", 24, 20, *start, *goal, f"{result.cost:.5f}",
            )  # fmt: skip
            lines.append("\t".join(map(str, fields)))
    assert len(lines) == n + 1
    file = folder / "scens" / f"{name}.map.scen"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_no_mismatch(run: Run, tmp_path: Path) -> None:
    code, out, err = run(write_set(tmp_path, "rooms"))
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "5 scenarios, 0 mismatches"
    assert out.splitlines()[0].startswith("search ")


def test_json_contract(run: Run, tmp_path: Path) -> None:
    file = write_set(tmp_path, "rooms")
    for algorithm in ("astar", "dijkstra"):
        code, out, err = run(file, "--json", "--algorithm", algorithm.upper())
        assert (code, err, out.count("\n")) == (0, "", 1)
        content = json.loads(out)
        assert content["algorithm"] == algorithm
        assert content["scenarios"] == 5
        assert content["mismatches"] == 0
        assert content["first_mismatches"] == []
        assert 0 < content["search_us_mean"] < 1e9
        assert content["expanded_mean"] >= 1


def test_dijkstra_expands_more(run: Run, tmp_path: Path) -> None:
    file = write_set(tmp_path, "rooms")
    mean = [
        json.loads(run(file, "--json", "--algorithm", algorithm)[1])["expanded_mean"]
        for algorithm in ("astar", "dijkstra")
    ]
    assert mean[0] < mean[1]


def test_folders_are_searched_and_files_taken_once(run: Run, tmp_path: Path) -> None:
    first, _ = write_set(tmp_path, "rooms"), write_set(tmp_path, "caves")
    deeper = tmp_path / "scens" / "more"
    deeper.mkdir()
    (deeper / "rooms.map.scen").write_text(first.read_text())
    (deeper / "notes.txt").write_text("not a scenario file")
    code, out, _ = run(tmp_path / "scens", first, "--maps", tmp_path / "maps")
    assert code == 0
    assert out.endswith("15 scenarios, 0 mismatches\n")


@pytest.mark.parametrize(("every", "taken"), [(1, 5), (2, 3), (4, 2), (5, 1), (100, 1)])
def test_every(run: Run, tmp_path: Path, every: int, taken: int) -> None:
    _, out, _ = run(write_set(tmp_path, "rooms"), "--every", every)
    assert out.endswith(f"{taken} scenarios, 0 mismatches\n")


def test_map_beside_the_file_comes_before_the_folder_maps(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_set(tmp_path, "rooms")
    monkeypatch.chdir(file.parent)
    assert run(file.name)[0] == 0
    (tmp_path / "maps" / "rooms.map").rename(file.parent / "rooms.map")
    assert run(file.name)[0] == 0
    monkeypatch.chdir(tmp_path)
    assert run(Path("scens") / file.name)[0] == 0
    code, _, err = run(file, "--maps", tmp_path / "maps")
    assert code == 2
    assert f"{file}:2: no map rooms.map in " in err
    assert "name its folder with --maps DIR" in err


def test_wrong_length_is_a_mismatch(run: Run, tmp_path: Path) -> None:
    file = write_set(tmp_path, "rooms")
    lines = file.read_text().splitlines()
    fields = lines[3].split("\t")
    fields[8] = "1.00000"
    lines[3] = "\t".join(fields)
    file.write_text("\n".join(lines))
    code, out, err = run(file)
    assert (code, err) == (1, "")
    assert out.splitlines()[0].startswith(f"{file}:4: ({fields[4]}, {fields[5]}) to (")
    assert "the file says 1" in out.splitlines()[0]
    assert out.splitlines()[-1] == "5 scenarios, 1 mismatches"
    code, out, _ = run(file, "--json")
    assert (code, json.loads(out)["mismatches"]) == (1, 1)
    assert len(json.loads(out)["first_mismatches"]) == 1


def test_many_mismatches_are_cut(run: Run, tmp_path: Path) -> None:
    file = write_set(tmp_path, "rooms", n=30)
    lines = [
        line.rsplit("\t", maxsplit=1)[0] + "\t999" for line in file.read_text().splitlines()[1:]
    ]
    file.write_text("\n".join(lines))
    code, out, _ = run(file)
    assert code == 1
    assert out.splitlines()[20] == "... and 10 more"
    assert out.splitlines()[-1] == "30 scenarios, 30 mismatches"


def test_bad_path_is_named_by_its_segment(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that lies about its path is caught, even if the length is right."""
    file = write_set(tmp_path, "rooms")

    honest = PathResult.cells

    def ends(result: PathResult) -> Any:
        cells = honest.__get__(result)
        return cells[:: max(1, len(cells) - 1)]

    monkeypatch.setattr(PathResult, "cells", property(ends))
    code, out, _ = run(file)
    assert code == 1
    assert "segment 1 from (" in out.splitlines()[0]
    assert out.splitlines()[0].endswith("is not a step to a neighbour")


def test_bad_input(run: Run, tmp_path: Path) -> None:
    file = write_set(tmp_path, "rooms")
    (tmp_path / "empty").mkdir()
    for arguments, message in (
        ([], "the following arguments are required: SCEN"),
        ([tmp_path / "none.scen"], "none.scen: no such file"),
        ([tmp_path / "empty"], "has no *.scen in it; name another folder"),
        ([file, "--maps", tmp_path / "none"], "--maps: "),
        ([file, "--every", "0"], "argument --every: '0' is not a whole number of 1 or more"),
        ([file, "--algorithm", "jps"], "argument --algorithm: 'jps' is unknown"),
        ([tmp_path / "maps" / "rooms.map"], "rooms.map:1: 2 columns instead of 9"),
    ):
        code, out, err = run(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert message in err


def test_scenarios_of_another_map(run: Run, tmp_path: Path) -> None:
    file = write_set(tmp_path, "rooms")
    file.write_text(file.read_text().replace("\t24\t20\t", "\t25\t20\t"))
    code, _, err = run(file)
    assert code == 2
    assert f"{file}:2: the scenario is for a map of 25 x 20, rooms.map has 24 x 20" in err


def test_progress_on_a_terminal_only(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_set(tmp_path, "rooms")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    code, out, err = run(file)
    assert code == 0
    assert out.endswith("5 scenarios, 0 mismatches\n")
    assert "%" in err


@pytest.mark.slow
def test_public_scenarios(run: Run, movingai: Path, every: int) -> None:
    code, out, _ = run(movingai / "scens", "--every", every)
    assert (code, out.splitlines()[-1].split(", ")[1]) == (0, "0 mismatches")
