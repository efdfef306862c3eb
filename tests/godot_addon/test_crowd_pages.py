"""The pages on crowds and servers: what they quote stands in the demos, pictures are there."""

from __future__ import annotations

import re

import pytest

from tests.godot_addon.conftest import CHECKOUT

# "From [file](path):" above a block says where the block is from.
QUOTED = re.compile(r"From \[\S+\]\((\S+)\):\n\n```gdscript\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)\)")


@pytest.mark.parametrize("name", ["crowds", "dedicated_server"])
def test_code_is_quoted_as_it_stands(name: str) -> None:
    page = CHECKOUT / "docs" / "godot" / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    quotes = QUOTED.findall(text)
    assert len(quotes) == text.count("```gdscript\n") > 0
    for source, code in quotes:
        assert code in (page.parent / source).read_text(encoding="utf-8"), f"{source}:\n{code}"
    for target in LINK.findall(text):
        assert (page.parent / target).exists(), target
