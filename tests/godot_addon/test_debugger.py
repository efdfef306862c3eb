"""The debugger's tab in a real editor: what it shows of two games that run at once, and again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.godot_addon.test_editor import editor, make_project

if TYPE_CHECKING:
    from pathlib import Path

# The games run by the clock.
pytestmark = [pytest.mark.godot, pytest.mark.slow]

# As the editor keeps what its dialog of instances was set to.
TWO_INSTANCES = (
    "[debug_options]\n\nmultiple_instances_enabled=true\nrun_instance_count=2\n"
    "run_instances_config=[{}, {}]\n"
)


@pytest.fixture(scope="module")
def shown(godot: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What the tab showed after each step, by the step's name."""
    folder = tmp_path_factory.mktemp("debugger") / "game"
    project = make_project(godot, folder, "navserver", "probe", autostart=False)
    metadata = project.folder / ".godot" / "editor" / "project_metadata.cfg"
    metadata.parent.mkdir(parents=True, exist_ok=True)
    metadata.write_text(TWO_INSTANCES, encoding="utf-8")
    with editor(project, "debugger") as running:
        running.process.wait(300)
        running.reader.join(10.0)
        lines = running.lines
    assert not [line for line in lines if "ERROR" in line or "in vain" in line], lines
    told = [json.loads(line[6:]) for line in lines if line.startswith("PROBE {")]
    return {step["step"]: step for step in told}


def ended(step: dict[str, Any], said: str) -> list[dict[str, Any]]:
    """The rows that have an answer and name a node or a script."""
    return [row for row in step["rows"] if row["status"] and said in row["node"] + row["place"]]


def test_failures_are_told_with_who_asked_and_why(shown: dict[str, dict[str, Any]]) -> None:
    told = shown["playing"]
    lost = ended(told, "/Lost/")[0]
    assert lost["node"].split("/")[2:] == ["Main", "Lost", "NavServerAgent2D"]
    assert lost["failed"]
    assert (lost["status"], lost["reason"]) == ("unreachable", "no way leads to the target")
    assert (lost["from"], lost["to"]) == ("(24.0, 24.0)", "(120.0, 72.0)")
    assert lost["msec"] > 0.0
    # What is asked in _ready() as well.
    assert "(24.0, 72.0)" in [row["to"] for row in ended(told, "/Lost/")]
    asked = ended(told, "debugged.gd:")[0]
    assert asked["node"].endswith("/Main/Map")
    assert asked["status"] == "goal_blocked"
    walker = ended(told, "/Walker/")[0]
    assert (walker["status"], walker["failed"]) == ("found", False)


def test_figures_maps_and_state(shown: dict[str, dict[str, Any]]) -> None:
    told = shown["playing"]
    assert "failed" in told["figures"]
    assert "answers p50" in told["figures"]
    assert [row[:2] for row in told["maps"]] == [["Map", "9 x 6"]]
    assert told["maps"][0][3] == "ready"
    assert told["crowds"] == []


def test_filter_pause_and_clear(shown: dict[str, dict[str, Any]]) -> None:
    rows = shown["filtered"]["rows"]
    assert rows
    assert all(row["failed"] and "/Lost/" in row["node"] for row in rows)
    before, after = shown["paused"]["newest"]
    assert before == after > 0
    assert shown["cleared"]["rows"] == [row for row in shown["paused"]["rows"] if not row["status"]]


def test_it_leads_to_the_node_and_the_line(shown: dict[str, dict[str, Any]]) -> None:
    assert shown["jumped"]["selected"] == "Lost/NavServerAgent2D"
    assert shown["jumped"]["remote"] == "(120.0, 72.0)"
    assert shown["script"]["script"] == "res://addons/probe/debugged.gd"


def test_two_games_at_once_and_again(shown: dict[str, dict[str, Any]]) -> None:
    assert shown["playing"]["sessions"] == shown["again"]["sessions"] == 2
    stopped = shown["stopped"]
    assert stopped["maps"] == []
    # What failed can still be read; nothing is on its way.
    assert ended(stopped, "/Lost/")
    assert all(row["status"] for row in stopped["rows"])
    numbers = [row["number"] for row in shown["again"]["rows"]]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[-1] < 4
