from __future__ import annotations

import pytest

from navserver._jit import KERNELS
from navserver.cli import main


def test_warmup_says_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f"{len(KERNELS)} kernels ready in ")
    assert captured.out.count("\n") == 1
    assert captured.err == ""


def test_progress_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["warmup"]) == 0
    captured = capsys.readouterr()
    assert " kernels ready in " in captured.out
    assert "move masks" in captured.err
    assert "100%" in captured.err


def test_without_a_cache_folder_it_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("navserver.commands.warmup.cache_folder", lambda: None)
    assert main(["warmup"]) == 0
    assert capsys.readouterr().out.endswith(", not kept: no writable cache folder\n")
