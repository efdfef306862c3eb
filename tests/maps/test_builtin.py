from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from navserver.maps.builtin import BUILTIN_MAPS, ROAD, load_builtin
from navserver.search.astar import find_path
from navserver.search.grid import SOLID, DiagonalMode, Profile
from navserver.status import InputError
from tests.strategies import settings  # noqa: F401 - importing it loads the suite's profile

DIGESTS = {
    "rooms": "d7d2667345cfdb0c",
    "maze": "f44d32989c8f53da",
    "obstacles": "d6755b8968cc252e",
    "caves": "8ce5a744085c2062",
    "countryside": "75c1a47ee6cd1a29",
}


@pytest.mark.parametrize("name", BUILTIN_MAPS)
def test_same_cells_on_every_machine(name: str) -> None:
    classes = load_builtin(name).grid.classes
    assert hashlib.sha256(classes.tobytes()).hexdigest()[:16] == DIGESTS[name]


@pytest.mark.parametrize("name", BUILTIN_MAPS)
def test_another_seed_is_another_map(name: str) -> None:
    assert load_builtin(name, seed=5).grid.map_hash() != load_builtin(name, seed=6).grid.map_hash()
    assert load_builtin(name, seed=5).grid.map_hash() == load_builtin(name, seed=5).grid.map_hash()


@given(
    name=st.sampled_from(sorted(BUILTIN_MAPS)),
    width=st.integers(16, 70),
    height=st.integers(16, 70),
    seed=st.integers(0, 2**32 - 1),
)
def test_start_and_goal_are_joined_in_every_mode(
    name: str, width: int, height: int, seed: int
) -> None:
    scene = load_builtin(name, width=width, height=height, seed=seed)
    assert scene.grid.classes.shape == (height, width)
    profile = Profile(scene.class_costs)
    result = find_path(
        scene.grid,
        scene.start,
        scene.goal,
        profile=profile,
        diagonal_mode=DiagonalMode.NEVER,
    )
    assert result.found


@pytest.mark.parametrize("name", ["rooms", "maze", "caves"])
def test_every_free_cell_can_be_reached(name: str) -> None:
    _, regions = ndimage.label(load_builtin(name).grid.classes != SOLID)
    assert regions == 1


def test_a_maze_has_one_way_between_any_two_cells() -> None:
    free = load_builtin("maze").grid.classes != SOLID
    edges = (free[1:] & free[:-1]).sum() + (free[:, 1:] & free[:, :-1]).sum()
    assert edges == free.sum() - 1


def test_countryside_has_all_terrain_and_costs_for_it() -> None:
    scene = load_builtin("countryside")
    assert set(np.unique(scene.grid.classes)) == {0, 1, 2, 3, 4, SOLID}
    assert scene.class_costs[ROAD] < scene.class_costs[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "moon"}, "name: 'moon' is no builtin map"),
        ({"name": "maze", "width": 15}, "width: 15 is out of bounds; give 16 to 8192 cells"),
        ({"name": "maze", "height": 8193}, "height: 8193 is out of bounds"),
        ({"name": "maze", "seed": -1}, "seed: -1 is out of bounds"),
    ],
)
def test_bad_arguments(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_builtin(**arguments)  # type: ignore[arg-type]
