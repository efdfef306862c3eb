"""The demos, played by scripted input in game time against a real sidecar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.godot_addon.conftest import ADDON_PROJECT, count_tests, kept_running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.godot_addon.conftest import Project

# A game beside a sidecar of interpreted kernels would wait for it.
pytestmark = [pytest.mark.godot, pytest.mark.slow]

PLAYED = sorted((ADDON_PROJECT / "tests" / "live").glob("test_demo_*.gd"))


@pytest.fixture(scope="module")
def connection_file(
    compiled: None,  # noqa: ARG001  # it has to be there first
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Path]:
    """The connection file of a sidecar that all demos share."""
    file = tmp_path_factory.mktemp("demos") / "connection.json"
    with kept_running(file):
        yield file


@pytest.mark.parametrize("script", PLAYED, ids=lambda script: script.stem[len("test_demo_") :])
def test_demo(addon_project: Project, connection_file: Path, script: Path) -> None:
    arguments = [script.stem, f"file={connection_file}"]
    passed = addon_project.run_tests(*arguments, options=("--fixed-fps", "60"), timeout=600.0)
    assert passed == count_tests(script)
