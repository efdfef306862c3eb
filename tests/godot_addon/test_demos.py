"""The demos, played by scripted input in game time against a real sidecar."""

from __future__ import annotations

import re
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
    passed = addon_project.run_tests(*arguments, options=("--fixed-fps", "60"), timeout=1200.0)
    assert passed == count_tests(script)


def test_the_dedicated_server_repeats_itself(addon_project: Project, connection_file: Path) -> None:
    def serve(seed: int) -> tuple[str, str]:
        """The last line of what it prints while it runs, and its digest."""
        done = addon_project.run(
            "--fixed-fps", "60", "res://demo/06_dedicated_server/server.tscn", "--",
            f"--navserver-connection-file={connection_file}", "ticks=300", f"seed={seed}",
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        assert "ERROR" not in done.stdout, done.stdout
        assert "WARNING" not in done.stdout, done.stdout
        lines = re.findall(r"^second (\d+): 200 bots, (\d+) arrivals", done.stdout, re.MULTILINE)
        assert [int(second) for second, _ in lines] == [1, 2, 3, 4, 5]
        digest = re.search(r"^300 ticks, digest ([0-9a-f]{16})$", done.stdout, re.MULTILINE)
        assert digest is not None, done.stdout
        return lines[-1][1], digest[1]

    first = serve(7)
    assert int(first[0]) > 20
    assert serve(7) == first
    assert serve(8)[1] != first[1]
