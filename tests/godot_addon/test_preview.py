"""The path preview in a real editor: what it shows is what a search finds, whatever happens."""

from __future__ import annotations

import base64
import json
import shutil
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import navserver
from navserver.cli import main
from navserver.search.grid import Grid
from navserver.search.heuristics import Heuristic
from navserver.search.moves import DiagonalMode
from navserver.search.profile import Profile
from tests.godot_addon.conftest import ADDON_PROJECT, make_sidecar_program
from tests.godot_addon.test_editor import editor, make_project

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.godot, pytest.mark.jit]

STEPS = (
    "shown", "dragged", "painted", "undone", "added", "not added", "added again", "reloaded",
    "removed", "not removed", "one pair", "plain", "diamonds", "diamonds dragged",
    "diamonds painted", "back", "resumed", "restarted", "scripts reloaded", "enabled again",
)  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "options": {},
    "never": {"diagonal_mode": DiagonalMode.NEVER},
    "always": {"diagonal_mode": DiagonalMode.ALWAYS},
    "at least one": {"diagonal_mode": DiagonalMode.AT_LEAST_ONE_WALKABLE},
    "as the map": {},
    "dijkstra": {"algorithm": "dijkstra"},
    "astar": {},
    "manhattan": {"heuristic": Heuristic.MANHATTAN},
    "weighted": {"heuristic": Heuristic.MANHATTAN, "weight": 4.0},
    "unweighted": {"heuristic": Heuristic.MANHATTAN},
    "best": {},
    "swamp": {"profile": Profile({1: 4.0})},
    "default": {},
    "large": {"size": 2},
    "small": {},
    "limited": {"max_expansions": 20},
    "unlimited": {},
}
KEPT = [3, 3, 12, 6]
DEMO = ADDON_PROJECT / "demo" / "01_click_to_move"


def with_pairs(scene: str, numbers: list[int]) -> str:
    """A scene's text whose root keeps pairs."""
    lines = scene.splitlines()
    root = next(i for i, line in enumerate(lines) if line.startswith("[node name="))
    lines.insert(root + 1, f"metadata/_navserver_preview = PackedInt32Array{tuple(numbers)}")
    return "\n".join(lines) + "\n"


def diamonds(tiles: str) -> str:
    """A scene with a stacked isometric layer of 6 x 20 cells and nothing else."""
    cells = [(x, y) for y in range(20) for x in range(6)]
    data = struct.pack("<H", 0)
    for x, y in cells:
        data += struct.pack("<hhHHHH", x, y, 0, int((x + y) % 5 == 2 and y % 4 == 1), 0, 0)
    shape = "[resource]\ntile_shape = 1\ntile_size = Vector2i(32, 16)"
    text = tiles.replace("[resource]\ntile_size = Vector2i(32, 32)", shape)
    assert text != tiles
    text = text.replace("[resource]", '[sub_resource type="TileSet" id="tiles"]')
    text = text.replace('[gd_resource type="TileSet" format=3]', "[gd_scene format=4]")
    return (
        f'{text}\n[node name="Diamonds" type="Node2D"]\n\n'
        '[node name="Ground" type="TileMapLayer" parent="."]\n'
        f'tile_map_data = PackedByteArray("{base64.b64encode(data).decode()}")\n'
        'tile_set = SubResource("tiles")\n'
    )


def make_scenes(folder: Path) -> None:
    """The demo's level with a swamp among its tiles; its layer alone; an isometric layer."""
    shutil.copytree(DEMO, folder / "demo" / "01_click_to_move")
    file = folder / "demo" / "01_click_to_move" / "tiles.tres"
    tiles = file.read_text(encoding="utf-8")
    tiles = tiles.replace("\n\n[resource]", "\n2:0/0 = 0\n2:0/0/custom_data_0 = 1\n\n[resource]")
    layer = 'custom_data_layer_0/name = "nav_class"\ncustom_data_layer_0/type = 2\n'
    tiles = tiles.replace("sources/0", f"{layer}sources/0")
    file.write_text(tiles, encoding="utf-8")
    scene = (DEMO / "click_to_move.tscn").read_text(encoding="utf-8")
    # Where a small window shows it.
    (folder / "level.tscn").write_text(with_pairs(scene, KEPT), encoding="utf-8")
    (folder / "plain.tscn").write_text(
        scene[: scene.index('[node name="NavServerMap2D"')], encoding="utf-8"
    )
    (folder / "diamonds.tscn").write_text(
        with_pairs(diamonds(tiles), [1, 2, 3, 9]), encoding="utf-8"
    )
    (folder / "large.tscn").write_text(with_pairs(LARGE, [5, 5, 190, 90]), encoding="utf-8")


LARGE = """[gd_scene format=4]

[ext_resource type="Script" path="res://addons/navserver/nav_server_map_2d.gd" id="1"]

[node name="Large" type="Node2D"]

[node name="NavServerMap2D" type="Node2D" parent="."]
script = ExtResource("1")
region = Rect2i(0, 0, 2100, 2100)
cell_size = Vector2(2, 2)
"""


@pytest.fixture(scope="module")
def shown(
    godot: Path,
    compiled: None,  # noqa: ARG001
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, dict[str, Any]]:
    """What the preview showed after each step, by the step's name."""
    folder = tmp_path_factory.mktemp("preview") / "game"
    make_scenes(folder)
    project = make_project(godot, folder, "navserver", "probe", autostart=True)
    make_sidecar_program(project.folder)
    with editor(project, "preview") as running:
        running.wait_for("PROBE hidden true false 0", 400.0)
        running.process.wait(60)
        running.reader.join(10.0)
        lines = running.lines
    assert not [line for line in lines if "ERROR" in line or "leaked" in line], lines
    assert "PROBE gone true" in lines
    assert "PROBE broken false" in lines
    case = project.folder / "case.json"
    assert main(["path", "--case", str(case), "--json"]) == 0
    told = [json.loads(line[6:]) for line in lines if line.startswith("PROBE {")]
    return {step["step"]: step for step in told}


def find(step: dict[str, Any], **options: Any) -> navserver.PathResult:
    """What a search on the same tiles finds between the markers of the first pair."""
    tiles = np.array(step["tiles"])
    low = tiles[:, :2].min(axis=0)
    width, height = tiles[:, :2].max(axis=0) - low + 1
    classes = np.full((height, width), 255, np.uint8)
    x, y = (tiles[:, :2] - low).T
    classes[y, x] = tiles[:, 2]
    start, goal = step["ends"][:2]
    grid = Grid(classes, region_position=low)
    return navserver.find_path(grid, start, goal, allow_partial=True, **options)


@pytest.mark.parametrize("step", STEPS)
def test_what_is_drawn_is_what_a_search_finds(shown: dict[str, dict[str, Any]], step: str) -> None:
    told = shown[step]
    if step == "added":
        # The new one is chosen.
        told = {**told, "ends": told["ends"][2:]}
    wanted = find(told)
    assert told["status"] == wanted.status.name.lower()
    assert told["cells"] == wanted.cells.reshape(-1).tolist()
    assert told["cost"] == pytest.approx(wanted.cost)


@pytest.mark.parametrize("step", OPTIONS)
def test_each_choice_searches_that_way(shown: dict[str, dict[str, Any]], step: str) -> None:
    told = shown[step]
    wanted = find(told, inexact=True, **OPTIONS[step])
    assert told["status"] == wanted.status.name.lower()
    assert told["cells"] == wanted.cells.reshape(-1).tolist()
    assert told["cost"] == pytest.approx(wanted.cost)
    assert told["expanded"] == wanted.metrics.expanded


def test_choices_differ(shown: dict[str, dict[str, Any]]) -> None:
    plain = shown["options"]
    for step in ("never", "dijkstra", "weighted", "swamp", "large", "limited"):
        assert any(shown[step][name] != plain[name] for name in ("cells", "cost", "expanded")), step


def test_a_dragged_marker_stays_with_the_scene(shown: dict[str, dict[str, Any]]) -> None:
    assert shown["shown"]["kept"] == shown["shown"]["pairs"][0] == KEPT
    assert shown["dragged"]["pairs"][0] == [3, 3, 13, 3]
    assert shown["dragged"]["kept"] == shown["dragged"]["pairs"][0]
    assert shown["back"]["pairs"] == shown["one pair"]["pairs"]
    assert shown["restarted"]["pairs"][0] == [3, 3, 11, 5]
    assert shown["plain"]["kept"] == []
    assert shown["diamonds dragged"]["pairs"][0] == [1, 2, 3, 12]


def test_pairs_are_added_and_removed_and_saved(shown: dict[str, dict[str, Any]]) -> None:
    first, both = shown["dragged"]["pairs"], shown["added"]["pairs"]
    assert len(both) == 2
    assert both[:1] == first
    assert shown["not added"]["pairs"] == first
    for step in ("added again", "reloaded", "not removed"):
        assert shown[step]["pairs"] == both
        assert shown[step]["kept"] == [*both[0], *both[1]]
    # The first was chosen after the scene had been opened anew.
    assert shown["removed"]["pairs"] == both[1:]


def test_where_a_wall_cuts_the_map_the_way_through_is_told(
    shown: dict[str, dict[str, Any]],
) -> None:
    told = shown["painted"]
    assert told["status"] == "partial"
    assert len(told["openings"]) == 2
    assert [*told["openings"], 255] in told["tiles"]
    assert told["nearest"].startswith("[(11,")
    assert shown["undone"]["cells"] == shown["dragged"]["cells"]


def test_a_far_search_is_cut_short_while_it_is_dragged_and_drawn_in_squares(
    shown: dict[str, dict[str, Any]],
) -> None:
    told = shown["far dragged"]
    assert told["pairs"] == [[5, 5, 210, 140]]
    assert told["was_coarse"]
    assert told["status"] == "found"
    assert told["cost"] == pytest.approx(205 + 135 * (2**0.5 - 1))
    # Two cells a side for each number, of a rectangle from the map's corner.
    (width, height) = json.loads(told["side"].replace("(", "[").replace(")", "]"))
    assert told["area"] == f"[P: (0, 0), S: ({2 * width}, {2 * height})]"
    assert width >= 103


def test_a_tile_painted_while_the_connection_was_broken_counts(
    shown: dict[str, dict[str, Any]],
) -> None:
    told = shown["resumed"]
    assert [8, 10, 255] in told["tiles"]
    assert told["cells"] != shown["back"]["cells"]


def test_isometric_maps_are_searched_as_they_lie(shown: dict[str, dict[str, Any]]) -> None:
    before, after = shown["diamonds dragged"], shown["diamonds painted"]
    assert before["ends"] != [before["pairs"][0][:2], before["pairs"][0][2:]]
    assert after["cost"] > before["cost"]


def test_what_is_drawn_of_a_map_goes_with_it(shown: dict[str, dict[str, Any]]) -> None:
    assert shown["looked"]["drawn"]
    assert shown["looked"]["cell"]
    for step in ("closed", "freed"):
        assert not shown[step]["drawn"]
        assert not shown[step]["cell"]
    # Nothing is told of a cell that lay under the mouse in another scene.
    assert shown["opened"]["drawn"]
    assert not shown["opened"]["cell"]


def test_a_case_that_a_lost_sidecar_does_not_answer_is_told(
    shown: dict[str, dict[str, Any]],
) -> None:
    assert shown["not saved"]["told"].startswith("res://lost.json was not saved")
