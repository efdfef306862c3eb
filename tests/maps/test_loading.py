from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from navserver.maps.builtin import load_builtin
from navserver.maps.loading import ENDINGS, FORMATS, load_map
from navserver.search.grid import SOLID
from navserver.status import InputError, MapFileError


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """The map of one wall and one free cell in every format."""
    (tmp_path / "a.map").write_text("type octile\nheight 1\nwidth 2\nmap\n@.\n")
    (tmp_path / "a.txt").write_text("#.\n")
    np.save(tmp_path / "a.npy", np.array([[True, False]]))
    Image.fromarray(np.array([[0, 255]], np.uint8)).save(tmp_path / "a.png")
    return {
        "movingai": tmp_path / "a.map",
        "text": tmp_path / "a.txt",
        "npy": tmp_path / "a.npy",
        "image": tmp_path / "a.png",
    }


@pytest.mark.parametrize("format_name", FORMATS)
def test_format_by_ending_by_name_and_in_capitals(files: dict[str, Path], format_name: str) -> None:
    file = files[format_name]
    assert load_map(file).classes.tolist() == [[SOLID, 0]]
    assert load_map(str(file)).map_hash() == load_map(file).map_hash()
    other = file.rename(file.with_suffix(".data"))
    assert load_map(other, format=format_name).classes.tolist() == [[SOLID, 0]]
    capital = other.rename(other.with_suffix(file.suffix.upper()))
    assert load_map(capital).classes.tolist() == [[SOLID, 0]]


def test_every_ending_has_a_format() -> None:
    assert set(ENDINGS.values()) == set(FORMATS)


def test_unknown_ending_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(
        MapFileError, match=r"a\.xyz: unknown ending '\.xyz'; use one of \.map \.txt"
    ):
        load_map(tmp_path / "a.xyz")
    with pytest.raises(MapFileError, match="the name has no ending"):
        load_map("map")


def test_unknown_format() -> None:
    with pytest.raises(InputError, match="format: 'tmx' is not a map format; use movingai, text"):
        load_map("a.map", format="tmx")


def test_builtin_by_name() -> None:
    assert load_map("builtin:maze").map_hash() == load_builtin("maze").grid.map_hash()
    with pytest.raises(InputError, match="name: 'moon' is no builtin map; use one of rooms"):
        load_map("builtin:moon")
