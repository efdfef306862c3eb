"""The examples of the protocol, read by the addon."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.godot_addon.conftest import CHECKOUT

if TYPE_CHECKING:
    from tests.godot_addon.conftest import Project

VECTORS = CHECKOUT / "tests" / "vectors"


@pytest.mark.godot
def test_every_vector_six_ways(addon_project: Project) -> None:
    count = sum(len(json.loads(path.read_bytes())) for path in VECTORS.glob("*.json"))
    assert count > 50
    assert addon_project.run_tests("test_vectors", f"vectors={VECTORS}", f"count={count}") == 6
