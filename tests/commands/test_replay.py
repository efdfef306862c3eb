from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from navserver.cli import main


@pytest.fixture
def recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    file = tmp_path / "run.npz"
    short = ["builtin:rooms", "--bots", "8", "--ticks", "6"]
    assert main(["bots", *short, "--record", str(file)]) == 0
    capsys.readouterr()
    return file


def test_the_same_run(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(recording), "--workers", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"bots": 8, "ticks": 6, "first_difference": None}


def test_the_first_tick_that_differs(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with np.load(recording) as read:
        arrays = {name: read[name] for name in read.files}
    arrays["hashes"][4] ^= 255
    np.savez(recording, **arrays)
    assert main(["replay", str(recording)]) == 1
    assert capsys.readouterr().out == "parts at tick 4 of 6\n"


def test_what_is_no_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.npz").write_bytes(b"PK nothing")
    assert main(["replay", str(tmp_path / "run.npz")]) == 2
    assert "is not a recording" in capsys.readouterr().err
    assert main(["replay", str(tmp_path / "none.npz")]) == 2


def test_pictures_of_the_run(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gif, frames = tmp_path / "run.gif", tmp_path / "frames"
    asked = ["--gif", str(gif), "--frames", str(frames), "--every", "4", "--side", "300"]
    assert main(["replay", str(recording), *asked]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "the same at all 6 ticks",
        f"gif         {gif}",
        f"frames      {frames} (3 PNGs)",
    ]
    # before the first tick, after the fourth, after the last
    drawn = sorted(frames.iterdir())
    assert [file.name for file in drawn] == [f"frame-0000{i}.png" for i in range(3)]
    with Image.open(gif) as film, Image.open(drawn[0]) as first, Image.open(drawn[2]) as last:
        assert (film.n_frames, film.size) == (3, (300, 150))  # type: ignore[attr-defined]
        assert first.size == (300, 150)
        assert first.tobytes() != last.tobytes()


def test_pictures_of_a_run_that_parts_end_there(recording: Path, tmp_path: Path) -> None:
    with np.load(recording) as read:
        arrays = {name: read[name] for name in read.files}
    arrays["hashes"][2] ^= 255
    np.savez(recording, **arrays)
    frames = tmp_path / "frames"
    assert main(["replay", str(recording), "--frames", str(frames), "--every", "1"]) == 1
    assert len(list(frames.iterdir())) == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--every", "3"], "--every: 3 is for pictures; add --gif or --frames"),
        (["--gif", "no/such/run.gif"], "--gif: 'no/such/run.gif' lies in no folder"),
        (["--gif", "x.gif", "--side", "9999"], "--side: 9999 is out of bounds"),
        (["--frames", "run.npz"], "--frames: 'run.npz' cannot be made"),
    ],
)
def test_pictures_that_cannot_be_drawn_are_refused_first(
    recording: Path,
    arguments: list[str],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(recording.parent)
    assert main(["replay", str(recording), *arguments]) == 2
    assert words in capsys.readouterr().err
