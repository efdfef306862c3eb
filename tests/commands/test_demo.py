from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from navserver.cli import main
from navserver.commands import demo
from navserver.render import ARROW_COLOR, GOAL_COLOR, LINE_COLOR, PATH_COLOR


def test_demo_leaves_pictures_and_a_case(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "folder"
    assert main(["demo", "--out", str(folder), "--no-bots"]) == 0
    out = capsys.readouterr().out
    assert f"path:    {folder / 'countryside.png'}\n" in out
    assert f"field:   {folder / 'flow-field.png'} (" in out
    colors = {"countryside.png": (PATH_COLOR, LINE_COLOR), "flow-field.png": (ARROW_COLOR,)}
    for name, used in colors.items():
        with Image.open(folder / name) as image:
            assert image.size == (1120, 672)
            seen = {color for _, color in image.getcolors(2**20) or []}
            assert seen.issuperset((*used, GOAL_COLOR))
    replay = out.splitlines()[-1].removeprefix("replay:  navserver ").split()
    assert main(replay) == 0
    assert "recorded    the same\n" in capsys.readouterr().out


@pytest.mark.slow
def test_demo_lets_bots_of_a_sidecar_walk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "TICKS", 60)
    assert main(["demo", "--out", str(tmp_path), "--bots", "12"]) == 0
    told = capsys.readouterr()
    assert "12 bots connect to it" in told.err
    assert "12 bots, each a client of a sidecar: " in told.out
    assert f"report:  {tmp_path / 'report.html'}\n" in told.out
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["bots"], report["ticks"], report["in_wall"]) == (12, 60, 0)
    assert report["requests"]["answered"] >= 12
    with Image.open(tmp_path / "bots.gif") as film:
        assert film.n_frames == 16  # type: ignore[attr-defined]


def test_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file" / "out")]) == 2
    assert "--out: " in capsys.readouterr().err
