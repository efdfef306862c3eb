from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.maps.movingai import TERRAIN_CLASSES, load_movingai, load_scenarios
from navserver.search.grid import DEFAULT_PROFILE, SOLID, Grid
from navserver.status import InputError, MapFileError
from tests.maps.damage import damaged

GOOD = b"type octile\nheight 2\nwidth 7\nmap\n.GS@OTW\n.......\n"
LINE = b"0\tmaps/dao/arena.map\t49\t40\t1\t11\t2\t12\t1.41421\n"


def load(tmp_path: Path, data: bytes) -> Grid:
    file = tmp_path / "a.map"
    file.write_bytes(data)
    return load_movingai(file)


def test_terrain_under_the_default_profile(tmp_path: Path) -> None:
    grid = load(tmp_path, GOOD)
    assert (grid.width, grid.height) == (7, 2)
    assert grid.classes[0].tolist() == [0, 0, 1, SOLID, SOLID, SOLID, SOLID]
    costs = [grid.cost_at((x, 0), DEFAULT_PROFILE) for x in range(7)]
    assert costs == [1.0, 1.0, 1.0] + [np.inf] * 4


def test_terrain_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "a.map"
    file.write_bytes(GOOD)
    grid = load_movingai(file, terrain={"W": 7, "S": 8, "T": np.uint8(9)})
    assert grid.classes[0].tolist() == [0, 0, 8, SOLID, SOLID, 9, 7]


@pytest.mark.parametrize(
    ("terrain", "message"),
    [({"x": 1}, "terrain: 'x' is not a map character"), ({"W": 256}, r"terrain\['W'\]: 256 is")],
)
def test_terrain_that_is_none(tmp_path: Path, terrain: dict[str, int], message: str) -> None:
    file = tmp_path / "a.map"
    file.write_bytes(GOOD)
    with pytest.raises(InputError, match=message):
        load_movingai(file, terrain=terrain)


@pytest.mark.parametrize(
    "data",
    [
        GOOD.replace(b"\n", b"\r\n"),
        GOOD.replace(b"\n", b"\r"),
        GOOD.replace(b"height 2\nwidth 7", b"width 7\nheight 2"),
        GOOD.replace(b"\n", b" \t\n"),
        GOOD.rstrip(b"\n"),
        GOOD + b"\n  \n\r\n",
        b"\xef\xbb\xbf" + GOOD,
        GOOD.replace(b"height 2", b"Height\t2"),
    ],
    ids=["crlf", "cr", "order", "blanks", "no last end", "blank lines", "bom", "tab and case"],
)
def test_forms_of_the_same_map(tmp_path: Path, data: bytes) -> None:
    assert np.array_equal(load(tmp_path, data).classes, load(tmp_path, GOOD).classes)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"type octile", b"type tile", r":1: not a MovingAI map: .*'type tile'"),
        (b"type octile\n", b"", r":1: not a MovingAI map"),
        (b"height 2\n", b"", r":3: the header states no height"),
        (b"width 7\n", b"", r":3: the header states no width"),
        (b"width 7", b"height 2", r":3: a second height"),
        (b"width 7", b"width seven", r":3: width 'seven' is not a whole number"),
        (b"width 7", b"width -7", r":3: width '-7' is not a whole number"),
        (b"width 7", b"width 7 8", r":3: 'width 7 8' is not a header line"),
        (b"width 7", b"depth 7", r":3: 'depth 7' is not a header line"),
        (b"width 7", b"", r":3: blank line in the header"),
        (b"width 7", b"width 0", r":4: the map has no cells"),
        (b"width 7", b"width 8193", r":4: the map is too large \(8193 x 2\)"),
        (b"width 7", b"width 999999999", r":4: the map is too large"),
        (b"width 7", b"width 6", r":5: row 0 has 7 cells, the header says width 6"),
        (b"\n.......", b"\n......", r":6: row 1 has 6 cells, the header says width 7"),
        (b"\n.......", b"\n\n.......", r":6: row 1 has 0 cells"),
        (b"\n.......", b"\n", r":6: row 1 has 0 cells"),
        (b".......\n", b"", r":5: the map ends after 1 rows, the header says height 2"),
        (b".......\n", b".......\n.......\n", r":7: there is more after the 2 rows"),
        (b"@OT", b"@xT", r":5: column 5: 'x' is not a map character; use one of"),
        (b"\n.......", b"\n...\x00...", r":6: column 4: '\\x00' is not a map character"),
        (b"map\n.GS@OTW\n.......\n", b"", r":3: the file ends in the header"),
    ],
)
def test_bad_map_names_line_and_reason(
    tmp_path: Path, old: bytes, new: bytes, message: str
) -> None:
    assert old in GOOD
    with pytest.raises(MapFileError, match=rf"a\.map{message}"):
        load(tmp_path, GOOD.replace(old, new, 1))


@given(data=damaged(GOOD))
def test_damaged_map_is_read_or_refused_by_map_file_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    """Whatever the bytes are, only MapFileError escapes."""
    file = tmp_path_factory.mktemp("map") / "a.map"
    file.write_bytes(data)
    try:
        grid = load_movingai(file)
    except MapFileError as error:
        assert str(error).startswith(str(file))
    else:
        assert set(np.unique(grid.classes)) <= set(TERRAIN_CLASSES.values())


@given(
    rows=st.integers(1, 9).flatmap(
        lambda width: st.lists(st.text(".GS@OTW", min_size=width, max_size=width), min_size=1)
    )
)
def test_every_good_map_is_read_cell_by_cell(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str]
) -> None:
    file = tmp_path_factory.mktemp("map") / "a.map"
    body = "\n".join(rows)
    file.write_text(f"type octile\nheight {len(rows)}\nwidth {len(rows[0])}\nmap\n{body}\n")
    expected = [[TERRAIN_CLASSES[character] for character in row] for row in rows]
    assert load_movingai(file).classes.tolist() == expected


def scenarios(tmp_path: Path, data: bytes) -> list[tuple[object, ...]]:
    file = tmp_path / "a.scen"
    file.write_bytes(data)
    return [tuple(scenario) for scenario in load_scenarios(file)]


def test_scenario_fields(tmp_path: Path) -> None:
    expected = (0, "maps/dao/arena.map", 49, 40, (1, 11), (2, 12), 1.41421, 5, 2)
    assert scenarios(tmp_path, b"version 1\n" + LINE) == [expected]


@pytest.mark.parametrize(
    "data",
    [LINE, b"version 1.0\n" + LINE, b"version\t1\r\n" + LINE.replace(b"\n", b"\r\n"),
     LINE.replace(b"\t", b" "), LINE.replace(b"\t", b"   "), b"\xef\xbb\xbf" + LINE,
     LINE + b"\n\n", LINE.rstrip(b"\n")],
)  # fmt: skip
def test_forms_of_the_same_scenario(tmp_path: Path, data: bytes) -> None:
    assert scenarios(tmp_path, data)[0][:-1] == scenarios(tmp_path, LINE)[0][:-1]


@pytest.mark.parametrize(
    ("text", "decimals"),
    [(b"1", 0), (b"2.83", 2), (b"4.41421", 5), (b"1.00000000", 8), (b"1e2", 0), (b"7.", 0)],
)
def test_decimals_of_the_optimal_length(tmp_path: Path, text: bytes, decimals: int) -> None:
    scenario = scenarios(tmp_path, LINE.replace(b"1.41421", text))[0]
    assert scenario[6] == float(text)
    assert scenario[7] == decimals


def test_map_names_with_blanks_need_tabs(tmp_path: Path) -> None:
    data = LINE.replace(b"arena.map", b"the arena.map")
    assert scenarios(tmp_path, data)[0][1] == "maps/dao/the arena.map"
    with pytest.raises(MapFileError, match=r"a\.scen:1: 10 columns instead of 9"):
        scenarios(tmp_path, data.replace(b"\t", b" "))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"version 1", b"version 2", r":1: 'version 2' is not a known version"),
        (b"\t49\t", b"\t", r":2: 8 columns instead of 9"),
        (b"\t49\t", b"\tx\t", r":2: width 'x' is not a whole number"),
        (b"\t49\t", b"\t-1\t", r":2: width '-1' is not a whole number"),
        (b"\t49\t", b"\t\t", r":2: width '' is not a whole number"),
        (b"\t49\t", b"\t9999\t", r":2: the map is too large \(9999 x 40\)"),
        (b"\t49\t", b"\t0\t", r":2: the map has no cells"),
        (b"\t1\t11", b"\t49\t11", r":2: start 49,11 lies outside the map of 49 x 40"),
        (b"\t2\t12", b"\t2\t40", r":2: goal 2,40 lies outside the map of 49 x 40"),
        (b"0\tmaps", b"1.5\tmaps", r":2: bucket '1.5' is not a whole number"),
        (b"maps/dao/arena.map", b" ", r":2: map name is empty"),
        (b"arena", b"\xff\xfe", r":2: the line is not UTF-8 text"),
        (b"1.41421", b"nan", r":2: optimal length 'nan' is not a length"),
        (b"1.41421", b"-1", r":2: optimal length '-1' is not a length"),
        (b"1.41421", b"1e999", r":2: optimal length '1e999' is not a length"),
        (b"1.41421", b"1,5", r":2: optimal length '1,5' is not a length"),
    ],
)
def test_bad_scenario_names_line_and_reason(
    tmp_path: Path, old: bytes, new: bytes, message: str
) -> None:
    good = b"version 1\n" + LINE
    assert old in good
    with pytest.raises(MapFileError, match=rf"a\.scen{message}"):
        scenarios(tmp_path, good.replace(old, new, 1))


def test_file_without_scenarios(tmp_path: Path) -> None:
    with pytest.raises(MapFileError, match="the file has no scenarios"):
        scenarios(tmp_path, b"version 1\n\n")


@given(data=damaged(b"version 1\n" + LINE + LINE))
def test_damaged_scenarios_are_read_or_refused_by_map_file_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    """Whatever the bytes are, only MapFileError escapes."""
    file = tmp_path_factory.mktemp("scen") / "a.scen"
    file.write_bytes(data)
    try:
        for scenario in load_scenarios(file):
            assert 0 <= scenario.start[0] < scenario.width
            assert scenario.optimal_length >= 0.0
    except MapFileError as error:
        assert str(error).startswith(str(file))


def test_all_public_files_are_read(movingai: Path) -> None:
    sizes = {}
    for file in sorted((movingai / "maps").glob("*.map")):
        grid = load_movingai(file)
        sizes[file.name] = (grid.width, grid.height)
    for file in sorted((movingai / "scens").glob("*.scen")):
        for scenario in load_scenarios(file):
            assert sizes[scenario.map_name.rsplit("/", maxsplit=1)[-1]] == (
                scenario.width,
                scenario.height,
            )
    assert len(sizes) > 20
