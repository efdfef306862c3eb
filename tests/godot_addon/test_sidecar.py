"""The addon against a real sidecar, which is started again whenever a test ends it."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from navserver.client import Client
from navserver.wire.questions import create_world, find_path, set_profile
from tests.godot_addon.conftest import ADDON_PROJECT, count_tests, kept_running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from tests.godot_addon.conftest import Project

# A game beside a sidecar of interpreted kernels would wait for it.
pytestmark = [pytest.mark.godot, pytest.mark.slow]


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    "name", ["test_sidecar", "test_moving_crowd", "test_figures", "test_avoidance"]
)
def test_live(addon_project: Project, tmp_path: Path, name: str) -> None:
    script = ADDON_PROJECT / "tests" / "live" / f"{name}.gd"
    file = tmp_path / "connection.json"
    with kept_running(file):
        passed = addon_project.run_tests(name, f"file={file}", timeout=600.0)
    assert passed == count_tests(script)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    "only",
    [
        "test_killed_under_load_every_request_is_answered_once",
        pytest.param("", marks=pytest.mark.soak),
    ],
)
def test_without_threads(addon_project: Project, tmp_path: Path, only: str) -> None:
    script = ADDON_PROJECT / "tests" / "live" / "test_sidecar.gd"
    count = 1 if only else script.read_text(encoding="utf-8").count("\nfunc test_")
    file = tmp_path / "connection.json"
    arguments = [f"file={file}", "threads=off", *([f"only={only}"] if only else [])]
    with kept_running(file):
        passed = addon_project.run_tests("test_sidecar", *arguments, timeout=600.0)
    assert passed == count


# What the tests' tiles are: ground, a wall, swamp, a fence beside the centre, water, a void; none.
CLASSES = {".": 0, "#": 255, "~": 1, "-": 0, "w": 2, "%": 255, " ": 255}


def random_case(chance: random.Random, diagonal_mode: int) -> dict[str, Any]:
    """A map with ground of three classes, and what to ask on it."""
    width, height = chance.randrange(8, 24), chance.randrange(8, 24)
    picture = [
        "".join(chance.choice("......~~-w#%# ") for _ in range(width)) for _ in range(height)
    ]
    # The region is what the tiles use.
    picture[0], picture[-1] = "." * width, "." * width
    queries = [
        [chance.randrange(size) for size in (width, height, width, height)] for _ in range(30)
    ]
    costs = {"1": chance.choice([0.5, 2.0, 7.25]), "2": 3.0}
    return {
        "picture": picture, "diagonal_mode": diagonal_mode, "costs": costs, "queries": queries,
    }  # fmt: skip


def ask_python(client: Client, name: str, case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What the Python client is told."""
    classes = np.array([[CLASSES[tile] for tile in row] for row in case["picture"]], np.uint8)
    height, width = classes.shape
    client.ask(create_world(name, width=width, height=height, classes=classes))
    costs = np.ones(256, np.float32)
    costs[255] = np.inf
    for number, cost in case["costs"].items():
        costs[int(number)] = cost
    client.ask(set_profile(name, "walker", costs))
    for x, y, goal_x, goal_y in case["queries"]:
        question = find_path(
            name, (x, y), (goal_x, goal_y), profile="walker", diagonal_mode=case["diagonal_mode"],
            result="cells",
        )  # fmt: skip
        answer = client.ask(question)
        yield {"status": answer.status, "cells": answer.path.tolist(), "cost": answer.cost}


@pytest.mark.usefixtures("compiled")
def test_paths_are_those_of_the_python_client(addon_project: Project, tmp_path: Path) -> None:
    chance = random.Random(6)
    cases = [random_case(chance, mode) for mode in (0, 1, 2, 3) for _ in range(2)]
    names = [tmp_path / name for name in ("connection.json", "cases.json", "results.json")]
    file, asked, told = names
    asked.write_text(json.dumps(cases), encoding="utf-8")
    with kept_running(file):
        arguments = [f"file={file}", f"cases={asked}", f"results={told}"]
        assert addon_project.run_tests("test_same_paths", *arguments) == 1
        answers = json.loads(told.read_bytes())
        with Client.connect(connection_file=file, timeout=60.0) as client:
            expected = [
                list(ask_python(client, f"python-{i}", case)) for i, case in enumerate(cases)
            ]
    found = 0
    for told_here, told_there in zip(expected, answers, strict=True):
        for here, there in zip(told_here * 2, told_there, strict=True):
            assert there["status"] == here["status"]
            assert there["cells"] == here["cells"]
            if here["cells"]:
                found += 1
                assert there["cost"] == pytest.approx(here["cost"], rel=1e-12)
    assert found > 100
