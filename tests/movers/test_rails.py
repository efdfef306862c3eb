"""Rails: the formula that places everybody, and what it does at its ends."""

from __future__ import annotations

import numpy as np
import pytest

from navserver.movers.columns import REST, MoverState
from navserver.movers.movers import Movers
from navserver.movers.stepper import Stepper
from navserver.search.grid import Grid


def test_between_waypoints_position_follows_from_target_and_time() -> None:
    random = np.random.default_rng(3)
    n = 1500  # more than a block, and no multiple of eight
    movers = Movers(Grid.filled(100, 100))
    units = movers.add(random.uniform(0, 99, (n, 2)), radius=0.4, max_speed=random.uniform(1, 9, n))
    movers.set_paths(units, random.uniform(0, 99, (3 * n, 2)), np.arange(n + 1) * 3)
    stepper = Stepper(movers, threads=1)
    passed = np.zeros(n, np.int64)
    for _ in range(60):
        before = movers.columns.path_next[:n].copy()
        stepper.step(0.61)
        columns = movers.columns
        expected = columns.target - columns.velocity * columns.time_left[:, None]
        assert np.abs(columns.position - expected)[:n].max() < 5e-5
        passed += columns.path_next[:n] - before
    # Not a single mover was overlooked.
    assert passed.min() >= 0
    assert np.median(passed) >= 1


@pytest.mark.parametrize("n", [1, 7, 8, 9, 511, 512, 513, 1031])
def test_each_of_any_number_of_movers_is_moved(n: int) -> None:
    movers = Movers(Grid.filled(16, 4))
    units = movers.add(np.zeros((n, 2)), radius=0.4, max_speed=1 + np.arange(n) % 5)
    movers.set_paths(units, np.tile([(3.0, 0.0), (3.0, 3.0)], (n, 1)), np.arange(n + 1) * 2)
    stepper = Stepper(movers, threads=1)
    seconds = np.full(n, np.inf)
    for step in range(1, 14):
        seconds[movers.rows_of(stepper.step(0.5).arrived)] = step * 0.5
    assert seconds.tolist() == np.ceil(12 / (1 + np.arange(n) % 5)).__truediv__(2).tolist()


def test_who_rests_stays_whatever_time_passes() -> None:
    movers = Movers(Grid.filled(4, 4))
    movers.add([(1.25, 2.5), (0, 0)], radius=0.4, max_speed=3.0)
    stepper = Stepper(movers, threads=1)
    for _ in range(100):
        assert not stepper.step(3600.0)
    assert movers.position.tolist() == [[1.25, 2.5], [0, 0]]
    assert movers.columns.time_left[:2].tolist() == [np.float32(REST)] * 2
    assert (movers.state == MoverState.IDLE).all()
