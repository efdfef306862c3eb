"""The path preview in a real editor: what it shows is what a search finds, whatever happens."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import navserver
from navserver.cli import main
from navserver.search.grid import Grid
from tests.godot_addon.conftest import ADDON_PROJECT, make_sidecar_program
from tests.godot_addon.test_editor import editor, make_project

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.godot, pytest.mark.jit]

STEPS = ("shown", "dragged", "painted", "undone", "plain", "back", "restarted")
KEPT = [3, 3, 12, 6]
DEMO = ADDON_PROJECT / "demo" / "01_click_to_move"


@pytest.fixture(scope="module")
def shown(
    godot: Path,
    compiled: None,  # noqa: ARG001
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, dict[str, Any]]:
    """What the preview showed after each step, by the step's name."""
    folder = tmp_path_factory.mktemp("preview") / "game"
    shutil.copytree(DEMO, folder / "demo" / "01_click_to_move")
    scene = (DEMO / "click_to_move.tscn").read_text(encoding="utf-8")
    lines = scene.splitlines()
    first = next(
        i for i, line in enumerate(lines) if line.startswith('[node name="NavServerMap2D"')
    )
    # Nothing but the layer: a map that nobody has set up.
    (folder / "plain.tscn").write_text("\n".join(lines[:first]) + "\n", encoding="utf-8")
    # Kept with the scene, and where a small window shows it.
    root = next(i for i, line in enumerate(lines) if line.startswith('[node name="ClickToMove"'))
    lines.insert(root + 1, f"metadata/_navserver_preview = PackedInt32Array{tuple(KEPT)}")
    (folder / "level.tscn").write_text("\n".join(lines) + "\n", encoding="utf-8")
    project = make_project(godot, folder, "navserver", "probe", autostart=True)
    make_sidecar_program(project.folder)
    with editor(project, "preview") as running:
        running.wait_for("PROBE hidden true false", 300.0)
        running.process.wait(60)
        running.reader.join(10.0)
        lines = running.lines
    assert not [line for line in lines if "ERROR" in line or "leaked" in line], lines
    case = project.folder / "case.json"
    assert main(["path", "--case", str(case), "--json"]) == 0
    told = [json.loads(line[6:]) for line in lines if line.startswith("PROBE {")]
    return {step["step"]: step for step in told}


def find(step: dict[str, Any]) -> navserver.PathResult:
    """What a search on the same tiles finds between the same markers."""
    blocked = np.zeros((20, 36), np.bool_)
    for x, y in step["solid"]:
        blocked[y, x] = True
    sx, sy, gx, gy = step["pairs"][0]
    return navserver.find_path(Grid.from_blocked(blocked), (sx, sy), (gx, gy), allow_partial=True)


@pytest.mark.parametrize("step", STEPS)
def test_what_is_drawn_is_what_a_search_finds(shown: dict[str, dict[str, Any]], step: str) -> None:
    told = shown[step]
    wanted = find(told)
    assert told["status"] == wanted.status.name.lower()
    assert told["cells"] == wanted.cells.reshape(-1).tolist()
    assert told["cost"] == pytest.approx(wanted.cost)


def test_a_dragged_marker_stays_with_the_scene(shown: dict[str, dict[str, Any]]) -> None:
    assert shown["shown"]["kept"] == shown["shown"]["pairs"][0] == KEPT
    assert shown["dragged"]["pairs"][0] == [3, 3, 13, 3]
    assert shown["dragged"]["kept"] == shown["dragged"]["pairs"][0]
    assert shown["back"]["pairs"] == shown["dragged"]["pairs"]
    assert shown["restarted"]["pairs"][0] == [3, 3, 11, 5]
    assert shown["plain"]["kept"] == []


def test_where_a_wall_cuts_the_map_the_way_through_is_told(
    shown: dict[str, dict[str, Any]],
) -> None:
    told = shown["painted"]
    assert told["status"] == "partial"
    assert len(told["openings"]) == 2
    assert told["openings"] in told["solid"]
    assert told["nearest"].startswith("[(11,")
    assert shown["undone"]["cells"] == shown["dragged"]["cells"]
