from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from navserver.commands.arguments import Parser, UsageError
from navserver.commands.movement import (
    MOVEMENT_ARGUMENTS,
    add_movement,
    body_offset,
    chosen_cell,
    read_scene,
)
from navserver.maps.builtin import load_builtin
from navserver.search.grid import CostModel, DiagonalMode, Profile
from navserver.search.movement import Movement
from navserver.status import MapFileError


def parsed(map_name: str, *options: str, **parts: bool) -> argparse.Namespace:
    parser = Parser(prog="p")
    parser.add_argument("map")
    add_movement(parser, **parts)
    return parser.parse_args([map_name, *options])


@pytest.fixture
def field(tmp_path: Path) -> str:
    file = tmp_path / "field.txt"
    file.write_text("..\n.2\n..\n")
    return str(file)


def test_options_become_a_movement(field: str) -> None:
    scene = read_scene(
        parsed(
            field, "--diagonal-mode", "never", "--cost-model", "mean", "--size", "2",
            "--class-cost", "2=4", "1=inf",
        )
    )  # fmt: skip
    assert Movement(**scene.movement) == Movement(
        profile=Profile({2: 4, 1: math.inf}),
        diagonal_mode=DiagonalMode.NEVER,
        cost_model=CostModel.MEAN,
        size=2,
    )
    assert (scene.start, scene.goal) == (None, None)
    assert read_scene(parsed(field, "--radius", "1.5")).movement["radius"] == 1.5


def test_nothing_given_is_the_default(field: str) -> None:
    arguments = parsed(field)
    assert all(getattr(arguments, name) is None for name in MOVEMENT_ARGUMENTS)
    assert Movement(**read_scene(arguments).movement) == Movement()


def test_builtin_maps_suggest_ends_and_costs() -> None:
    builtin = load_builtin("countryside")
    scene = read_scene(parsed("builtin:countryside", "--class-cost", "1=9"))
    assert (scene.start, scene.goal) == (builtin.start, builtin.goal)
    assert scene.movement["profile"] == Profile({**builtin.class_costs, 1: 9})


def test_overlays_become_layers(field: str, tmp_path: Path) -> None:
    file = tmp_path / "danger.npy"
    np.save(file, np.array([[0, 1], [2, 3], [4, 5.5]]))
    scene = read_scene(parsed(field, "--overlay", f"{file}=2"))
    assert scene.movement["overlays"] == {str(file): 2.0}
    assert scene.grid.cost_at((1, 2), overlays={str(file): 2.0}) == 12.0


def test_overlay_of_another_size(field: str, tmp_path: Path) -> None:
    file = tmp_path / "danger.npy"
    np.save(file, np.zeros((2, 3)))
    with pytest.raises(
        MapFileError, match=r"danger.npy: 3 x 2 values for a map of 2 x 3 cells; save an array"
    ):
        read_scene(parsed(field, "--overlay", f"{file}=2"))


def test_commands_ask_only_for_what_counts(field: str) -> None:
    for option, parts in (
        (("--size", "2"), {"body": False}),
        (("--diagonal-mode", "never"), {"body": False}),
        (("--cost-model", "mean"), {"costs": False}),
        (("--overlay", "a=1"), {"costs": False}),
    ):
        with pytest.raises(UsageError, match="unrecognized arguments"):
            parsed(field, *option, **parts)
    bare = read_scene(parsed(field, "--class-cost", "2=inf", body=False, costs=False))
    assert bare.movement == {"profile": Profile({2: math.inf})}


def test_centre_of_a_square_body() -> None:
    assert body_offset({"radius": 3.0}) == 0.0
    assert body_offset({"size": 1}) == 0.0
    assert body_offset({"size": 4}) == 1.5


def test_given_cells_come_before_suggested_ones() -> None:
    assert chosen_cell((1, 2), (3, 4), "--from") == (1, 2)
    assert chosen_cell(None, (3, 4), "--from") == (3, 4)
    with pytest.raises(UsageError, match=r"^--from is missing; give a cell X,Y$"):
        chosen_cell(None, None, "--from")


def test_what_is_stated_twice_is_refused(field: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--class-cost 2 is given as 3 and as 4; leave out one$"):
        read_scene(parsed(field, "--class-cost", "2=3", "1=5", "--class-cost", "2=4"))
    file = tmp_path / "danger.npy"
    np.save(file, np.zeros((3, 2)))
    with pytest.raises(UsageError, match=r"^--overlay .* is given as 1 and as inf; leave out one$"):
        read_scene(parsed(field, "--overlay", f"{file}=1", f"{file}=inf"))


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux alone")
def test_overlays_of_files_whose_names_are_no_text(field: str, tmp_path: Path) -> None:
    file = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.npy")
    with Path(file).open("wb") as stream:
        np.save(stream, np.ones((3, 2)))
    scene = read_scene(parsed(field, "--overlay", f"{file}=2"))
    (name,) = scene.grid.layers
    assert name.endswith("\\xff.npy")
    assert scene.movement["overlays"] == {name: 2.0}
    assert scene.grid.map_hash()
