from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

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
