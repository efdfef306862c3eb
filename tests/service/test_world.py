from __future__ import annotations

from typing import Any

import pytest

from navserver.search.grid import Grid
from navserver.search.profile import Profile
from navserver.service.world import World
from navserver.status import InputError


def test_edits_reach_the_map_and_count_versions() -> None:
    world = World("cave", Grid.filled(4, 3))
    assert world.set_cells([(0, 0)], 1).version == 2
    assert world.set_rectangle((1, 1), (2, 2), 2, cell_scale=0.5).version == 3
    assert world.set_all(layers={"fog": 1.0}).version == 4
    assert world.remove_layer("fog").version == 5
    grid = world.replicas.grid
    assert grid.classes.tolist() == [[1, 0, 0, 0], [0, 2, 2, 0], [0, 2, 2, 0]]
    assert world.version == 5
    assert world.info()["layers"] == []


def test_the_hash_is_that_of_the_version() -> None:
    world = World("cave", Grid.filled(4, 3))
    first = world.map_hash()
    assert first == world.map_hash() == (1, Grid.filled(4, 3).map_hash())
    world.set_cells([(0, 0)], 1)
    assert world.map_hash() == (2, world.replicas.grid.map_hash())


def test_info_is_plain() -> None:
    info = World("cave", Grid.filled(4, 3, region_position=(-1, 2))).info()
    assert (info["width"], info["height"], info["region_position"]) == (4, 3, [-1, 2])
    assert info["transform"] == [1, 0, 0, 0, 1, 0]
    assert info["profiles"] == ["default"]


def test_profiles_have_names() -> None:
    world = World("cave", Grid.filled(4, 3))
    boat = Profile({3: 1.0}, default=float("inf"))
    world.set_profile("boat", boat)
    assert world.profile("boat") == boat
    with pytest.raises(InputError, match="boat, default"):
        world.profile("tank")
    with pytest.raises(InputError, match="name"):
        world.set_profile("", boat)
    with pytest.raises(InputError, match="profile"):
        world.set_profile("x", {3: 1.0})  # type: ignore[arg-type]
    for i in range(254):
        world.set_profile(str(i), boat)
    with pytest.raises(InputError, match="too many"):
        world.set_profile("one more", boat)
    world.set_profile("boat", Profile())
    with pytest.raises(InputError, match=r"use one of 0, 1, 10, .* and 248 others$"):
        world.profile("tank")


@pytest.mark.parametrize("name", ["", "x" * 201, 5, None, ["a"]])
def test_names_of_worlds_are_checked(name: Any) -> None:
    with pytest.raises(InputError, match="name"):
        World(name, Grid.filled(2, 2))


def test_a_new_table_of_movers_takes_the_place_of_the_former() -> None:
    world = World("map", Grid.filled(8, 8))
    former = world.make_movers(threads=1, budget=100)
    [unit] = former.add([(1, 1)], radius=0.4, max_speed=1.0)
    assert world.movers is former
    with pytest.raises(InputError, match="budget"):
        world.make_movers(budget=0)
    assert world.movers is former
    assert len(world.make_movers(threads=1)) == 0
    with pytest.raises(InputError, match="handle"):
        world.movers.remove([unit])
