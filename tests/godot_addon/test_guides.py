"""The pages about the addon: their examples run, and the names in their tables are there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.godot_addon.conftest import (
    ADDON_PROJECT,
    CHECKOUT,
    count_tests,
    kept_running,
    make_sidecar_program,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.godot_addon.conftest import Project

GUIDES = CHECKOUT / "docs" / "godot"
TABLE = re.compile(r"^\| `\w+` \| `(NavServer\w+)` \|\n\|---\|---\|\n((?:\|.*\|\n)+)", re.MULTILINE)


@pytest.mark.godot
@pytest.mark.slow
@pytest.mark.usefixtures("compiled")
def test_examples_run(addon_project: Project, tmp_path: Path) -> None:
    file = tmp_path / "connection.json"
    shipped = make_sidecar_program(tmp_path).parent
    arguments = [f"guides={GUIDES}", f"file={file}", f"shipped={shipped}"]
    with kept_running(file):
        passed = addon_project.run_tests("test_guides", *arguments, timeout=600.0)
    assert passed == count_tests(ADDON_PROJECT / "tests" / "live" / "test_guides.gd")


def members_of(name: str) -> set[str]:
    """What a class of the addon offers."""
    words = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|\d\w", name)
    file = "_".join(word.lower() for word in words) + ".gd"
    text = (ADDON_PROJECT / "addons" / "navserver" / file).read_text(encoding="utf-8")
    declared = re.findall(
        r"^(?:@export\S* |@export_\w+\([^)]*\) )?(?:func|var|signal) (\w+)", text, re.MULTILINE
    )
    return set(declared)


@pytest.mark.parametrize(
    ("page", "classes"),
    [
        ("migrating", ["NavServerAgent2D", "NavServerMap2D"]),
        ("avoidance", ["NavServerAgent2D"]),
    ],
)
def test_names_in_the_tables_of_a_page_are_there(page: str, classes: list[str]) -> None:
    tables = TABLE.findall((GUIDES / f"{page}.md").read_text(encoding="utf-8"))
    assert [name for name, _ in tables] == classes
    for name, rows in tables:
        named = set()
        for row in rows.splitlines():
            here = row.split(" | ")[1]
            named |= {
                word for word in re.findall(r"`(\w+)`", here) if not word.startswith("NavServer")
            }
        assert len(named) >= 8
        assert named <= members_of(name), named - members_of(name)
