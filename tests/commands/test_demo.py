from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from navserver.cli import main
from navserver.render import ARROW_COLOR, GOAL_COLOR, LINE_COLOR, PATH_COLOR


def test_demo_leaves_pictures_and_a_case(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "folder"
    assert main(["demo", "--out", str(folder)]) == 0
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


def test_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file" / "out")]) == 2
    assert "--out: " in capsys.readouterr().err
