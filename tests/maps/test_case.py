from __future__ import annotations

import base64
import json
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.maps.case import load_case
from navserver.maps.case_writing import save_case
from navserver.search.astar import find_path
from navserver.search.grid import SOLID, CostModel, DiagonalMode, Grid, Profile
from navserver.search.heuristics import Heuristic
from navserver.status import MapFileError, Status
from tests.maps.damage import damaged

OPTIONS: dict[str, Any] = {
    "algorithm": "astar",
    "profile": Profile({3: 2.1, 2: 0.3, 4: math.inf, SOLID: 9.0}, default=1.5),
    "diagonal_mode": DiagonalMode.AT_LEAST_ONE_WALKABLE,
    "heuristic": Heuristic.MANHATTAN,
    "weight": 1.25,
    "cost_model": CostModel.MEAN,
    "overlays": {"mud": 0.5},
    "inexact": True,
    "size": 1,
    "radius": 0.5,
    "max_expansions": 1000,
    "max_cost": 1e6,
    "allow_partial": True,
}


def some_grid() -> Grid:
    return Grid(
        [[0, SOLID, 3], [4, 0, 2]],
        cell_scale=[[1, 2, 0.1], [1, 1, 3]],
        layers={"mud": [[0, 1, 2], [3, 4, 5]], "näss": np.ones((2, 3))},
        region_position=(-5, 7),
        transform=[[16, 0, 8], [0, 16, 8]],
    )


def saved(tmp_path: Path, **keywords: Any) -> Path:
    file = tmp_path / "a.json"
    grid = some_grid()
    result = find_path(grid, (-5, 7), (-3, 8), blocked_cells=[(-3, 7)], **OPTIONS)
    save_case(
        file,
        grid,
        (-5, 7),
        (-3, 8),
        blocked_cells=[(-3, 7)],
        ignored_cells=np.array([[-4, 7], [-5, 8]]),
        options=OPTIONS,
        result=result,
        **keywords,
    )
    return file


def test_everything_comes_back(tmp_path: Path) -> None:
    case = load_case(saved(tmp_path))
    grid = case.resolve_map()
    assert grid.map_hash() == some_grid().map_hash() == case.map_hash
    assert grid.region_position == (-5, 7)
    assert (case.start, case.goal) == ((-5, 7), (-3, 8))
    assert case.blocked_cells.tolist() == [[-3, 7]]
    assert case.ignored_cells.tolist() == [[-4, 7], [-5, 8]]
    assert case.options == OPTIONS
    assert case.status == Status.FOUND


def test_defaults_come_back(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    save_case(file, Grid.filled(2, 2), (0, 0), (1, 1))
    case = load_case(file)
    assert case.status is None
    assert case.difference(Status.LIMIT, math.inf) is None
    assert case.blocked_cells.shape == case.ignored_cells.shape == (0, 2)
    result = find_path(case.resolve_map(), case.start, case.goal, **case.options)
    assert result.cost == pytest.approx(math.sqrt(2))


def test_difference_from_the_record(tmp_path: Path) -> None:
    case = load_case(saved(tmp_path))
    cost = case.cost
    assert cost is not None
    assert case.difference(Status.FOUND, cost) is None
    assert case.difference(Status.FOUND, cost * (1 + 1e-12)) is None
    assert case.difference(Status.FOUND, cost * (1 + 1e-6)) == (
        f"cost {cost * (1 + 1e-6)!r}, recorded {cost!r}"
    )
    assert case.difference(Status.LIMIT, math.inf) == "status limit, recorded found"


def test_result_without_a_path(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    grid = Grid([[0, SOLID, 0]])
    result = find_path(grid, (0, 0), (2, 0))
    save_case(file, grid, (0, 0), (2, 0), result=result)
    case = load_case(file)
    assert (case.status, case.cost) == (Status.UNREACHABLE, math.inf)
    assert case.difference(Status.UNREACHABLE, math.inf) is None


def by_name(tmp_path: Path) -> Path:
    """A case that only names its map, which is beside it."""
    (tmp_path / "field.txt").write_text("..#\n...\n")
    grid = Grid([[0, 0, SOLID], [0, 0, 0]], region_position=(4, 4))
    file = tmp_path / "a.json"
    save_case(file, grid, (4, 4), (6, 5), map_file="/some/where/field.txt", inline=False)
    return file


def test_map_by_name_is_looked_up_beside_the_case(tmp_path: Path) -> None:
    case = load_case(by_name(tmp_path))
    assert case.grid is None
    assert case.map_file == "field.txt"
    assert case.resolve_map().region_position == (4, 4)
    moved = (tmp_path / "field.txt").rename(tmp_path / "other.txt")
    assert case.resolve_map(moved).map_hash() == case.map_hash
    with pytest.raises(MapFileError, match=r"'field\.txt' is not beside the case file; name"):
        case.resolve_map()


def test_another_map_is_told_by_its_hash(tmp_path: Path) -> None:
    case = load_case(by_name(tmp_path))
    (tmp_path / "field.txt").write_text("..#\n..2\n")
    with pytest.raises(MapFileError, match=r"field\.txt: not the map of .*a\.json: its hash is"):
        case.resolve_map()


def test_map_known_by_hash_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    save_case(file, Grid.filled(2, 2), (0, 0), (1, 1), inline=False)
    with pytest.raises(MapFileError, match="holds no map, only its hash; name the map's file"):
        load_case(file).resolve_map()


def pack(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode()


def test_layout_is_the_one_documented(tmp_path: Path) -> None:
    """Another program that follows the documentation writes what is read here."""
    grid = Grid([[0, 3], [SOLID, 0]], cell_scale=[[1, 2], [3, 4]])
    content = {
        "format": "navserver case",
        "version": 1,
        "map": {
            "hash": grid.map_hash(),
            "width": 2,
            "height": 2,
            "classes": pack(bytes([0, 3, SOLID, 0])),
            "cell_scale": pack(np.array([1, 2, 3, 4], "<f4").tobytes()),
        },
        "query": {"start": [0, 0], "goal": [1, 1]},
        "options": {"profile": {"costs": {"3": "inf"}}},
    }
    file = tmp_path / "a.json"
    file.write_text(json.dumps(content))
    case = load_case(file)
    assert case.resolve_map().map_hash() == grid.map_hash()
    assert math.isinf(case.options["profile"].costs[3])


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("format", "other", "format: 'other' is not a case file's; use 'navserver case'"),
        ("version", 2, "version: 2 is unknown; use version 1"),
        ("version", True, "version: True is unknown"),
        ("map", None, "the file: 'map' is missing; add the field"),
        ("map", [], r"map: \[\] is not an object"),
        ("extra", 1, "the file: 'extra' is no field of it"),
        ("map.hash", "12", "map.hash: '12' is not a hash; give 64 hex digits"),
        ("map.hash", "0" * 64, "map.hash: '0{49}.* is not the hash of the map in the file"),
        ("map.width", 0, r"the map has no cells \(0 x 2\)"),
        ("map.width", 8193, r"the map is too large \(8193 x 2\)"),
        ("map.width", 2.0, "map.width: 2.0 is out of bounds; give an integer"),
        ("map.width", True, "map.width: True is out of bounds"),
        ("map.width", 4, "map.classes: .* does not unpack to 8 bytes"),
        ("map.classes", "!!", "map.classes: '!!' is not base64 of zlib"),
        ("map.classes", "é", "map.classes: 'é' is not base64 of zlib"),
        ("map.classes", "AAAA", "map.classes: 'AAAA' is not base64 of zlib"),
        ("map.classes", pack(b"12345"), "map.classes: .* does not unpack to 6 bytes"),
        ("map.classes", pack(b"1234567"), "map.classes: .* does not unpack to 6 bytes"),
        ("map.classes", pack(bytes(10**6)), "map.classes: .* does not unpack to 6 bytes"),
        ("map.classes", 5, "map.classes: 5 is not text"),
        ("map.classes", None, "map: 'cell_scale' stands without classes"),
        (
            "map.cell_scale",
            pack(np.full(6, -1, "<f4").tobytes()),
            r"map.cell_scale of cell \(-5, 7",
        ),
        (
            "map.cell_scale",
            pack(np.full(6, np.nan, "<f4").tobytes()),
            "map.cell_scale .*nan is out",
        ),
        ("map.layers", {"": pack(bytes(24))}, "map.layers"),
        ("map.layers", {"a": 5}, "map.layers.a: 5 is not text"),
        ("map.region_position", [1], r"map.region_position: \[1\] is not a cell; give \[x, y\]"),
        ("map.region_position", [2**31 - 1, 0], "map.region_position: .* is too far out"),
        ("map.transform", [[1, 0, 0]], "map.transform: .* is not 2 x 3"),
        ("map.transform", [[1, 0, 0], [1, 0, 0]], "map.transform: .* cannot be inverted"),
        ("map.transform", [[1, 0, "x"], [0, 1, 0]], "map.transform: 'x' is out of bounds"),
        ("map.file", "../up.txt", "map.file: '../up.txt' is not a file's name; give a name, no"),
        ("map.file", "..", "map.file: '..' is not a file's name"),
        ("map.file", 3, "map.file: 3 is not a file's name"),
        ("query.start", [0], r"query.start: \[0\] is not a cell"),
        ("query.start", [0, 2**31], "query.start: 2147483648 is out of bounds"),
        ("query.goal", None, "query: 'goal' is missing"),
        ("query.goal", [0.5, 0], "query.goal: 0.5 is out of bounds"),
        ("query.blocked_cells", 5, "query.blocked_cells: 5 is not a list of cells"),
        ("query.blocked_cells", [[0, 0], [0]], r"query.blocked_cells\[1\]: \[0\] is not a cell"),
        ("query.ignored_cells", [[0, 0]] * 4097, "query.ignored_cells: 4097 cells are too many"),
        ("query.via", [], "query: 'via' is no field of it"),
        ("options.algorithm", "jump", "options.algorithm: 'jump' is unknown; use astar, dijkstra"),
        ("options.algorithm", [], r"options.algorithm: \[\] is unknown"),
        ("options.diagonal_mode", "some", "options.diagonal_mode: 'some' is unknown; use one of"),
        ("options.diagonal_mode", 3, "options.diagonal_mode: 3 is unknown"),
        ("options.heuristic", "guess", "options.heuristic: 'guess' is unknown"),
        ("options.cost_model", "sum", "options.cost_model: 'sum' is unknown; use one of entered"),
        ("options.weight", 0.5, "options.weight: 0.5 is out of bounds; give a finite number >= 1"),
        ("options.weight", "inf", "options.weight: 'inf' is out of bounds"),
        ("options.weight", True, "options.weight: True is out of bounds"),
        ("options.weight", 10**400, "options.weight: 10+.* is out of bounds"),
        ("options.overlays", [], r"options.overlays: \[\] is not an object"),
        ("options.overlays", {"mud": -1}, "options.overlays.mud: -1 is out of bounds"),
        ("options.size", 0, "options.size: 0 is out of bounds; give an integer 1 to 32"),
        ("options.radius", -1, "options.radius: -1 is out of bounds"),
        ("options.size", 2, "options.radius: 0.5 does not go with a size; leave out one"),
        ("options.max_expansions", 0, "options.max_expansions: 0 is out of bounds"),
        ("options.max_cost", -1, "options.max_cost: -1 is out of bounds"),
        ("options.inexact", 1, "options.inexact: 1 is not a truth value; give true or false"),
        ("options.allow_partial", "no", "options.allow_partial: 'no' is not a truth value"),
        ("options.speed", 1, "options: 'speed' is no field of it; use algorithm"),
        ("options.profile.default", -1, "options.profile.default: -1 is out of bounds"),
        ("options.profile.costs", {"256": 1}, "options.profile.costs: '256' is not a cell class"),
        ("options.profile.costs", {"01": 1}, "options.profile.costs: '01' is not a cell class"),
        ("options.profile.costs", {"1": -1}, "options.profile.costs.1: -1 is out of bounds"),
        (
            "options.profile.costs",
            {"1": 1e39},
            r"options.profile.costs\[1\]: 1e\+39 exceeds float32",
        ),
        ("result.status", "lost", "result.status: 'lost' is unknown; use one of found"),
        ("result.cost", "much", "result.cost: 'much' is out of bounds"),
        ("result.cost", None, "result: 'cost' is missing"),
    ],
)
def test_bad_field_is_named_with_its_value(
    tmp_path: Path, place: str, value: object, message: str
) -> None:
    file = saved(tmp_path)
    content = json.loads(file.read_text())
    *parents, last = place.split(".")
    part = content
    for name in parents:
        part = part[name]
    if value is None:
        del part[last]
    else:
        part[last] = value
    file.write_text(json.dumps(content))
    with pytest.raises(MapFileError, match=rf"a\.json: {message}"):
        load_case(file)


def test_a_byte_order_mark_is_read_over(tmp_path: Path) -> None:
    file = saved(tmp_path)
    expected = load_case(file).goal
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert load_case(file).goal == expected


def test_dijkstra_with_a_weight_is_refused(tmp_path: Path) -> None:
    file = saved(tmp_path)
    content = json.loads(file.read_text())
    content["options"].update(algorithm="dijkstra", weight=2.0)
    file.write_text(json.dumps(content))
    with pytest.raises(MapFileError, match=r"options.weight: 2.0 does not go with dijkstra; leave"):
        load_case(file)


def test_layers_that_unpack_to_too_much_are_refused_by_their_number(tmp_path: Path) -> None:
    file = saved(tmp_path)
    content = json.loads(file.read_text())
    content["map"].update(width=8192, height=8192, layers={str(i): "" for i in range(5)})
    file.write_text(json.dumps(content))
    with pytest.raises(MapFileError, match="map: 1677721600 bytes are too large"):
        load_case(file)


def test_damaged_case_is_read_or_refused_by_map_file_error(tmp_path: Path) -> None:
    """Whatever the bytes are, only MapFileError escapes."""
    file = saved(tmp_path)

    @given(data=damaged(file.read_bytes()))
    def check(data: bytes) -> None:
        file.write_bytes(data)
        try:
            load_case(file)
        except MapFileError as error:
            assert str(error).startswith(str(file))

    check()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def test_any_json_in_any_field_is_read_or_refused_by_map_file_error(tmp_path: Path) -> None:
    """Whatever a field holds, only MapFileError escapes."""
    file = saved(tmp_path)
    good = json.loads(file.read_text())
    places = [(name, None) for name in good]
    places += [
        (name, inner) for name in good if isinstance(good[name], dict) for inner in good[name]
    ]

    @given(place=st.sampled_from(places), value=JSON)
    def check(place: tuple[str, str | None], value: object) -> None:
        content = json.loads(json.dumps(good))
        if place[1] is None:
            content[place[0]] = value
        else:
            content[place[0]][place[1]] = value
        file.write_text(json.dumps(content))
        try:
            load_case(file)
        except MapFileError as error:
            assert str(error).startswith(str(file))

    check()
