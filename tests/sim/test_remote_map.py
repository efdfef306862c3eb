from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.search.profile import Profile
from navserver.sim.remote_map import RemoteMap
from navserver.sim.scenarios import Area, BotKind, MapEdit, Scenario
from navserver.sim.setup import place_bots
from navserver.wire.questions import find_path, list_worlds, world_hash
from tests.serving import serving

pytestmark = pytest.mark.slow


def test_a_map_is_there_as_it_is_here_until_it_is_closed(tmp_path: Path) -> None:
    scale = np.linspace(1, 2, 60, dtype=np.float32).reshape(6, 10)
    transform = [[16, 0, 8], [0, 16, 8]]
    grid = Grid(
        np.zeros((6, 10), np.uint8),
        cell_scale=scale,
        region_position=(-3, 7),
        transform=transform,
    )
    setup = place_bots(Scenario((BotKind("a", 1),)), grid)
    with serving(workers=1) as running:
        file = tmp_path / "connection.json"
        running.info.write(file)
        here = RemoteMap(setup, file)
        other = RemoteMap(setup, file)
        ask = other.client.ask
        assert sorted(ask(list_worlds())) == sorted([here.name, other.name])
        assert ask(world_hash(here.name)) == ask(world_hash(other.name))
        here.define("boat", Movement(Profile({0: 5.0})))
        way = here.client.ask(find_path(here.name, (-3, 7), (-2, 7), profile="boat"))
        assert way.cost == pytest.approx(5.0 * scale[0, 1])
        assert way.path[0].tolist() == [16 * -3 + 8, 16 * 7 + 8]
        here.edit(MapEdit(0, Area(-3, 7, 1, 6), 255))
        assert here.client.ask(find_path(here.name, (-3, 8), (2, 7))).status == "start_blocked"
        here.close()
        assert ask(list_worlds()) == [other.name]
        other.close()
