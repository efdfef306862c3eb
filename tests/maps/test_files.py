from __future__ import annotations

import os
from pathlib import Path

import pytest

from navserver.maps.files import check_size, read_file, read_start, shown_bytes
from navserver.status import MapFileError


def test_reads_a_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"abc")
    assert read_file(file) == b"abc"
    assert read_start(file, 2) == b"ab"


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MapFileError, match=r"none\.map: no such file; check the path"):
        read_file(tmp_path / "none.map")


def test_folder(tmp_path: Path) -> None:
    with pytest.raises(MapFileError, match="is a folder; name a file in it"):
        read_file(tmp_path)


def test_empty_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(MapFileError, match="the file is empty"):
        read_file(tmp_path / "a")


def test_name_that_no_file_can_have() -> None:
    with pytest.raises(MapFileError, match="cannot be read"):
        read_file("a\0b")


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="needs a plain user")
def test_forbidden_file(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"a")
    file.chmod(0)
    with pytest.raises(MapFileError, match=r"cannot be read .*permission"):
        read_file(file)


def test_longest_file_is_not_read_beyond(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"12345")
    assert read_file(file, longest=5) == b"12345"
    with pytest.raises(MapFileError, match="longer than 4 bytes"):
        read_file(file, longest=4)


@pytest.mark.parametrize("size", [(0, 3), (3, 0), (8193, 1), (1, 8193)])
def test_sizes_that_no_grid_has(size: tuple[int, int]) -> None:
    with pytest.raises(MapFileError, match=rf"a\.map:7: .*\({size[0]} x {size[1]}\)"):
        check_size("a.map", 7, *size)


def test_largest_and_smallest_size_pass() -> None:
    check_size("a.map", 7, 8192, 8192)
    check_size("a.map", 7, 1, 1)


def test_bytes_in_an_error_are_short_and_printable() -> None:
    assert shown_bytes(b"a\xff\n") == r"'a\xff\n'"
    assert len(shown_bytes(b"x" * 1000)) < 40


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_devices_are_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "a.map"
    os.mkfifo(pipe)
    for file in (pipe, Path(os.devnull)):
        with pytest.raises(MapFileError, match="is a pipe or a device; save what it gives to a"):
            read_file(file)
