from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from navserver.commands.outputs import Outputs, check_file, make_folder
from navserver.status import InputError, NavserverError

needs_plain_user = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="needs a plain user"
)


def test_files_that_can_be_written(tmp_path: Path) -> None:
    check_file("--record", None)
    check_file("--record", str(tmp_path / "new.npz"))
    (tmp_path / "old.npz").write_text("")
    check_file("--record", str(tmp_path / "old.npz"))
    assert (tmp_path / "old.npz").read_text() == ""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "--record: '' is no name of a file; name a file"),
        (".", "is no name of a file"),
        ("no/such/a.npz", "lies in no folder; make its folder first"),
        ("file/a.npz", "lies in no folder"),
    ],
)
def test_files_that_cannot(
    name: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as caught:
        check_file("--record", name)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "--out: '' is no name of a folder"),
        ("file", "--out: 'file' cannot be made (File exists); name another folder"),
        ("file/new", "cannot be made"),
        ("nul\0", "cannot be made"),
    ],
)
def test_folders_that_cannot_be_made(
    name: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as caught:
        make_folder("--out", name)
    assert words in str(caught.value)


def test_folders_are_made_with_those_above(tmp_path: Path) -> None:
    make_folder("--out", None)
    for _ in range(2):
        make_folder("--out", str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").is_dir()


@needs_plain_user
@pytest.mark.parametrize(
    "check",
    [
        lambda place: check_file("--junit", str(place / "x.xml")),
        lambda place: make_folder("--out", str(place)),
    ],
)
def test_places_of_others(check: Callable[[Path], None], tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="may not be written"):
        check(tmp_path)


def test_what_can_be_written_is_and_the_first_failure_is_told() -> None:
    done: list[str] = []

    def fail(name: str) -> None:
        raise NavserverError(name)

    outputs = Outputs()
    assert not outputs.write(lambda: fail("first"))
    assert outputs.write(lambda: done.append("report"))
    assert not outputs.write(lambda: fail("second"))
    assert done == ["report"]
    with pytest.raises(NavserverError, match="first"):
        outputs.end()
    Outputs().end()
