from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.maps.text import load_text
from navserver.render import draw_text
from navserver.search.grid import SOLID, Grid
from navserver.status import MapFileError
from tests.maps.damage import damaged

GOOD = b". 019\n##@@.\n"


def load(tmp_path: Path, data: bytes) -> Grid:
    file = tmp_path / "a.txt"
    file.write_bytes(data)
    return load_text(file)


@pytest.mark.parametrize(
    "data",
    [
        GOOD,
        GOOD.replace(b"\n", b"\r\n"),
        GOOD.rstrip(b"\n"),
        GOOD + b"\n\n",
        b"\xef\xbb\xbf" + GOOD,
    ],
)
def test_characters_and_forms(tmp_path: Path, data: bytes) -> None:
    grid = load(tmp_path, data)
    assert grid.classes.tolist() == [[0, 0, 0, 1, 9], [SOLID] * 4 + [0]]
    assert grid.cell_scale is None


def test_a_row_of_blanks_is_a_row(tmp_path: Path) -> None:
    assert load(tmp_path, b"..\n  \n").classes.shape == (2, 2)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"...\n..\n", r":2: the row has 2 cells, the first one 3; make all rows"),
        (b"...\n\n...\n", r":2: the row has 0 cells"),
        (b"...\n... \n", r":2: the row has 4 cells"),
        (b"\n...\n", r":1: the map has no cells"),
        (b"\n\n", r":1: the map has no cells"),
        (b"...\n.x.\n", r":2: column 2: 'x' is not a map character"),
        (b"..\xff\n", r":1: column 3: '\\xff' is not a map character"),
        (b"." * 8193, r":1: the map is too large \(8193 x 1\)"),
        (b".\n" * 8193, r":1: the map is too large \(1 x 8193\)"),
    ],
)
def test_bad_map_names_line_and_reason(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(MapFileError, match=rf"a\.txt{message}"):
        load(tmp_path, data)


@given(data=damaged(GOOD))
def test_damaged_map_is_read_or_refused_by_map_file_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    """Whatever the bytes are, only MapFileError escapes."""
    file = tmp_path_factory.mktemp("text") / "a.txt"
    file.write_bytes(data)
    try:
        grid = load_text(file)
    except MapFileError as error:
        assert str(error).startswith(str(file))
    else:
        assert set(np.unique(grid.classes)) <= {*range(10), SOLID}


@given(
    rows=st.integers(1, 9).flatmap(
        lambda width: st.lists(st.text(".123456789#", min_size=width, max_size=width), min_size=1)
    )
)
def test_a_drawing_reads_back_as_its_map(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str]
) -> None:
    file = tmp_path_factory.mktemp("text") / "a.txt"
    file.write_text("\n".join(rows))
    assert draw_text(load_text(file)) == "\n".join(rows)
