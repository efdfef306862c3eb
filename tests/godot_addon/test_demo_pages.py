"""The pages about the addon: what they quote stands in the demos, what they link to is there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.godot_addon.conftest import ADDON_PROJECT, CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

PAGES = sorted((CHECKOUT / "docs" / "godot").glob("*.md"))
OF_DEMOS = ("move_a_unit", "costs", "doors", "tactics", "tower_defense")
# "From [file](path)...:" above a block says where the block is from.
QUOTED = re.compile(r"From\s+\[\S+\]\((\S+)\)[^:]*:[^`\n]*\n\n```\w+\n(.*?)```", re.DOTALL)
BLOCK = re.compile(r"^```\w+$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("name", OF_DEMOS)
def test_code_of_the_demos_is_quoted_as_it_stands(name: str) -> None:
    page = CHECKOUT / "docs" / "godot" / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    quotes = QUOTED.findall(text)
    assert len(quotes) == len(BLOCK.findall(text)) > 0, "a block without its source"
    for source, code in quotes:
        assert code in (page.parent / source).read_text(encoding="utf-8"), f"{source}:\n{code}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert "/" not in target or (page.parent / target).exists(), target


def test_the_index_names_all_pages_and_demos() -> None:
    text = (CHECKOUT / "docs" / "godot" / "README.md").read_text(encoding="utf-8")
    assert {page.name for page in PAGES} - {"README.md"} <= set(LINK.findall(text))
    scenes = re.findall(r"`(demo/\S+\.tscn)`", text)
    assert all((ADDON_PROJECT / scene).exists() for scene in scenes)
    assert {scene.split("/")[1] for scene in scenes} == {
        folder.name for folder in (ADDON_PROJECT / "demo").iterdir() if folder.is_dir()
    }
