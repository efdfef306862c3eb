from __future__ import annotations

import numpy as np
import pytest

from navserver.search.grid import Grid
from navserver.search.profile import Profile
from navserver.sim.scenarios import Area, BotKind, Scenario
from navserver.sim.setup import place_bots
from navserver.status import CellError, InputError

ROOM = np.zeros((6, 9), np.bool_)
ROOM[:, 4] = True
GRID = Grid.from_blocked(ROOM, region_position=(10, -3))


def test_each_bot_has_a_free_cell_of_its_own() -> None:
    scenario = Scenario((BotKind("a", 20), BotKind("b", 28)))
    setup = place_bots(scenario, GRID)
    flat = GRID.flat_indices(setup.spawns)
    assert len(np.unique(flat)) == 48
    assert not ROOM.reshape(-1)[flat].any()
    assert setup.kind_of.tolist() == [0] * 20 + [1] * 28
    assert setup.rows_of(1) == slice(20, 48)


def test_bots_start_in_their_areas() -> None:
    kinds = (
        BotKind("a", 6, spawn=(Area(10, -3, 1, 6),)),
        BotKind("b", 4, spawn=(Area(14, 0, 3, 2),)),
    )
    setup = place_bots(Scenario(kinds), GRID)
    assert (setup.spawns[:6, 0] == 10).all()
    assert (setup.spawns[6:, 0] > 14).all()


def test_a_profile_says_where_a_kind_may_stand() -> None:
    water = Grid(np.array([[0, 0, 1, 1]], np.uint8))
    boats = BotKind("boats", 2, profile=Profile({1: 1.0}, default=np.inf))
    assert sorted(place_bots(Scenario((boats,)), water).spawns[:, 0].tolist()) == [2, 3]


def test_the_seed_decides() -> None:
    kinds = (BotKind("a", 10),)
    one, same, other = (
        place_bots(Scenario(kinds, seed=s), GRID).spawns.tolist() for s in (1, 1, 2)
    )
    assert one == same != other


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ((BotKind("a", 49),), "bots[0].count: 49 are more bots of a than the 48 free cells on"),
        ((BotKind("a", 30), BotKind("b", 19)), "bots[1].count: 19 are more bots of b than the 18"),
        ((BotKind("a", 1, spawn=(Area(14, 0, 1, 3),)),), "than the 0 free cells in their spawn"),
    ],
)
def test_more_bots_than_room(kinds: tuple[BotKind, ...], words: str) -> None:
    with pytest.raises(InputError) as caught:
        place_bots(Scenario(kinds), GRID)
    assert words in str(caught.value)


def test_areas_off_the_map() -> None:
    with pytest.raises(CellError):
        place_bots(Scenario((BotKind("a", 1, spawn=(Area(0, 0, 3, 3),)),)), GRID)
