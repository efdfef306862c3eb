from __future__ import annotations

import numpy as np
import pytest

from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.service import replicas as replicas_module
from navserver.service.mover_table import MoverTable
from navserver.service.world import World
from navserver.status import InputError


def test_orders_see_the_newest_version_of_the_map() -> None:
    world = World("map", Grid.filled(8, 8))
    table = MoverTable(world.replicas, threads=1)
    units = table.add([(1, 1)], radius=0.4, max_speed=2.0)
    world.set_cells([(5, 5)], 255)
    for refused in (
        lambda: table.place(units, [(5, 5)]),
        lambda: table.add([(5, 5)], radius=0.4, max_speed=2.0),
    ):
        with pytest.raises(InputError, match="positions"):
            refused()
    with pytest.raises(InputError, match="fog"):
        table.check_movement(Movement(overlays={"fog": 1.0}))
    world.set_all(layers={"fog": np.ones((8, 8))})
    table.check_movement(Movement(overlays={"fog": 1.0}))
    assert len(table) == 1


def test_a_map_that_missed_too_many_edits_is_taken_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicas_module, "_LOG_FACTOR", -(1 << 20))
    world = World("map", Grid.filled(8, 8, layers={"fog": np.ones((8, 8))}))
    table = MoverTable(world.replicas, threads=1)
    units = table.add([(5, 5)], radius=0.4, max_speed=2.0)
    world.set_cells([(1, 1)], 255, cell_scale=2.0)
    world.set_cells([(2, 2)], 3, layers={"mud": 1.0})
    world.remove_layer("fog")
    table.order(units, (7, 7))
    assert table._grid.version == world.version == 4
    assert table._grid.map_hash() == world.map_hash()[1]


def test_routes_are_what_is_left_of_them() -> None:
    world = World("map", Grid.filled(32, 16))
    table = MoverTable(world.replicas, threads=1)
    units = table.add([(1, 1), (1, 5)], radius=0.4, max_speed=2.0)
    table.set_paths(units[:1], [(3, 1), (9, 1)], [0, 2])
    assert [route.tolist() for route in table.routes(units)] == [[[3, 1], [9, 1]], []]
    table.remove(units[:1])
    assert table.is_alive(units).tolist() == [False, True]
    with pytest.raises(InputError, match="handles"):
        table.routes(units[:1])
