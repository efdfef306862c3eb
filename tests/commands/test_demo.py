from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from navserver.cli import main


def test_demo_leaves_a_picture_and_a_case(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "folder"
    assert main(["demo", "--out", str(folder)]) == 0
    out = capsys.readouterr().out
    assert f"picture: {folder / 'countryside.png'}\n" in out
    with Image.open(folder / "countryside.png") as image:
        image.load()
        assert image.size == (1120, 672)
    replay = out.splitlines()[-1].removeprefix("replay:  navserver ").split()
    assert main(replay) == 0
    assert "recorded    the same\n" in capsys.readouterr().out


def test_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file" / "out")]) == 2
    assert "--out: " in capsys.readouterr().err
