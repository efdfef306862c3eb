"""Saving: a loaded table goes on as the one that was saved; digests tell tables apart."""

from __future__ import annotations

import numpy as np
import pytest

from navserver.movers.archive import pack
from navserver.movers.columns import MoverState
from navserver.movers.movers import Movers
from navserver.movers.saving import hash_movers, load_movers, save_movers
from navserver.movers.stepper import Stepper
from navserver.search.grid import Grid, Profile
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from navserver.status import InputError

LIGHT = Movement(
    Profile({3: 2.5, 4: float("inf")}), DiagonalMode.ALWAYS, overlays={"mud": 2.0}, radius=0.25
)


def busy(n: int = 60, seed: int = 5, extra: int = 0) -> Movers:
    """Movers of two kinds, some removed, some under way; `extra` of them came and went."""
    random = np.random.default_rng(seed)
    grid = Grid.filled(30, 30, region_position=(-5, 3), layers={"mud": np.ones((30, 30))})
    movers = Movers(grid)
    points = random.uniform(0, 20, (n, 5, 2)) + np.array([-4, 4])
    units = movers.add(points[: n // 2, 0], radius=0.3, max_speed=random.uniform(1, 5, n // 2))
    more = movers.add(
        points[n // 2 :, 0], radius=0.2, max_speed=3.0, turn_rate=4.0, acceleration=9.0,
        movement=LIGHT,
    )  # fmt: skip
    units = np.concatenate([units, more])
    movers.set_paths(units, points[:, 1:].reshape(-1, 2), np.arange(n + 1) * 4)
    for _ in range(extra):
        for _ in range(50):
            movers.set_paths(units[:1], points[0, 1:], [0, 4])
    movers.remove(units[::7])
    return movers


def test_a_loaded_table_goes_on_as_the_saved_one() -> None:
    movers = busy()
    stepper = Stepper(movers, threads=1)
    for _ in range(20):
        stepper.step(0.1)
    data = save_movers(movers)
    again = load_movers(movers.grid, data)
    assert save_movers(again) == data
    assert hash_movers(again) == hash_movers(movers)
    assert again.handles().tolist() == movers.handles().tolist()
    assert again.movements == movers.movements
    assert len(again) == len(movers)
    other = Stepper(again, threads=1)
    for _ in range(60):
        one, two = stepper.step(0.1), other.step(0.1)
        assert one.arrived.tolist() == two.arrived.tolist()
        assert hash_movers(again) == hash_movers(movers)
    for table in (movers, again):
        added = table.add([(0, 4)] * 12, radius=0.3, max_speed=1.0)
    assert added.tolist() == movers.handles_of(movers.rows_of(added)).tolist()
    assert hash_movers(again) == hash_movers(movers)


def test_capacity_and_the_pool_make_no_difference() -> None:
    movers, other = busy(), busy(extra=40)
    assert len(other.routes.pool) >= len(movers.routes.pool)
    assert other.routes.used != movers.routes.used
    assert hash_movers(other) == hash_movers(movers)
    other.columns.grow(4096)
    assert hash_movers(other) == hash_movers(movers)


def test_every_difference_shows() -> None:
    digests = {hash_movers(busy())}
    for name in ("position", "velocity", "state", "max_speed", "generation", "time_left"):
        movers = busy()
        array = getattr(movers.columns, name)
        array.reshape(-1)[3] += 1
        digests.add(hash_movers(movers))
    movers = busy()
    movers.routes.pool[movers.columns.path_end[3] - 1] += 1
    digests.add(hash_movers(movers))
    movers = busy()
    movers.columns.path_next[3] += 1
    digests.add(hash_movers(movers))
    movers = busy()
    movers.remove(movers.handles()[:1])
    digests.add(hash_movers(movers))
    assert len(digests) == 10


def test_nobody_can_be_saved_too() -> None:
    movers = Movers(Grid.filled(3, 3))
    again = load_movers(movers.grid, save_movers(movers))
    assert len(again) == again.slots == 0
    again.add([(0, 0)], radius=0.4, max_speed=1.0)


def test_who_waited_wants_a_way_again() -> None:
    movers = Movers(Grid.filled(3, 3))
    units = movers.add([(0, 0), (1, 1)], radius=0.4, max_speed=1.0)
    movers.set_paths(units, [(1, 0)], [0, 1, 1])
    again = load_movers(movers.grid, save_movers(movers))
    assert again.state.tolist() == [MoverState.PATH, MoverState.WAITING]
    assert again.take_flagged() == 1


def test_what_does_not_fit_is_refused() -> None:
    movers = Movers(Grid.filled(3, 3))
    data = save_movers(movers)
    for grid in (Grid.filled(3, 4), Grid.filled(3, 3, region_position=(1, 0))):
        with pytest.raises(InputError, match=r"^grid: .*same width, height"):
            load_movers(grid, data)
    with pytest.raises(InputError, match=r"^data: .*damaged"):
        load_movers(movers.grid, data[:-1])
    with pytest.raises(InputError, match=r"^data: .*not movers"):
        load_movers(movers.grid, pack({"kind": "grid"}, {}))


def test_what_are_no_movers_or_no_map_is_refused() -> None:
    for call in (save_movers, hash_movers):
        with pytest.raises(InputError, match=r"^movers: None is not a table of movers"):
            call(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^grid: None is not a map"):
        load_movers(None, save_movers(busy()))  # type: ignore[arg-type]
