"""The addon's own tests in GDScript, and what holds for all of its scripts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from navserver.wire.path_messages import PATH_STATUSES, SOURCES
from tests.godot_addon.conftest import ADDON_PROJECT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.godot_addon.conftest import Project

SCRIPTS = sorted(ADDON_PROJECT.rglob("*.gd"))


@pytest.mark.godot
def test_everything_that_needs_no_peer(addon_project: Project) -> None:
    files = sorted((ADDON_PROJECT / "tests").glob("test_*.gd"))
    methods = sum(path.read_text(encoding="utf-8").count("\nfunc test_") for path in files)
    assert addon_project.run_tests() == methods > 0


@pytest.mark.godot
def test_the_runner_counts_what_goes_wrong(addon_project: Project) -> None:
    broken = addon_project.folder / "tests" / "test_broken.gd"
    broken.write_text(
        'extends "test_case.gd"\n\n\n'
        "func test_check() -> void:\n\tcheck_equal(1, 2)\n\n\n"
        'func test_error() -> void:\n\tpush_error("on purpose")\n\n\n'
        'func test_warning() -> void:\n\tpush_warning("on purpose")\n\n\n'
        "func test_cut_off() -> void:\n\tawait tree.process_frame\n"
        "\tvar nothing: Node = null\n\tnothing.queue_free()\n\n\n"
        "func test_good() -> void:\n\tcheck(true)\n",
        encoding="utf-8",
    )
    try:
        done = addon_project.run("-s", "res://tests/run_tests.gd", "--", "test_broken")
        assert "1 passed, 4 failed" in done.stdout
        assert done.returncode == 1
        broken.write_text("extends Nothing\n", encoding="utf-8")
        done = addon_project.run("-s", "res://tests/run_tests.gd", "--", "test_broken")
        assert "0 passed, 1 failed" in done.stdout
        assert done.returncode == 1
    finally:
        broken.unlink()


@pytest.mark.godot
def test_the_editor_s_help_has_a_word_on_everything(addon_project: Project, tmp_path: Path) -> None:
    done = addon_project.run(
        "--doctool", str(tmp_path), "--gdscript-docs", "res://addons/navserver"
    )
    assert done.returncode == 0, done.stdout
    # Scripts without a class name are no business of the user's.
    files = [path for path in tmp_path.glob("*.xml") if path.name.startswith("NavServer")]
    assert len(files) >= 10
    silent = []
    for path in files:
        root = ET.parse(path).getroot()
        if "independent of [NavigationServer2D]" not in (root.findtext("description") or ""):
            silent.append(path.stem)
        for kind in ("methods/method", "members/member", "signals/signal", "constants/constant"):
            for part in root.findall(kind):
                text = part.findtext("description") or part.text or ""
                if not text.strip() and not part.attrib["name"].startswith("_"):
                    silent.append(f"{path.stem}.{part.attrib['name']}")
    assert not silent


def warning_free(path: Path) -> bool:
    return "@warning_ignore" not in path.read_text(encoding="utf-8")


def test_no_script_of_the_addon_silences_a_warning() -> None:
    assert all(warning_free(path) for path in SCRIPTS if "addons" in path.parts)


def test_only_the_transport_names_a_socket() -> None:
    named = {path.name for path in SCRIPTS if "StreamPeerTCP" in path.read_text(encoding="utf-8")}
    assert named == {"transport.gd"}


def test_statuses_and_sources_have_the_numbers_of_the_protocol() -> None:
    addon = ADDON_PROJECT / "addons" / "navserver"
    text = (addon / "nav_server_path_result.gd").read_text(encoding="utf-8")
    statuses, sources = (
        tuple(name.lower() for name in re.findall(r"^\t([A-Z_]+),$", body, re.MULTILINE))
        for body in re.findall(r"^enum \w+ \{(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    )
    # What the addon has no status for is its FAILED, and the sidecar knows no fallback.
    assert statuses[:-1] == PATH_STATUSES[:-1]
    assert statuses[-1] == "failed"
    assert sources == (*SOURCES, "fallback")
    text = (addon / "internal" / "sidecar_backend.gd").read_text(encoding="utf-8")
    lists = re.findall(r"^const _(?:STATUSES|SOURCES)\b[^\[]*\[([^\]]*)\]", text, re.MULTILINE)
    names = [tuple(re.findall(r'"(\w+)"', body)) for body in lists]
    assert names == [PATH_STATUSES, SOURCES]
