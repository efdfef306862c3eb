"""What overlaps is pushed apart: pairs against arithmetic, crowds, walls, priorities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from navserver.movers.contact import Parting
from navserver.movers.movers import Movers
from navserver.movers.workers import Workers
from navserver.search.grid import Grid


def part(movers: Movers, steps: int = 1, threads: int = 1) -> NDArray[np.float64]:
    phase = Parting(movers, Workers(threads))
    for _ in range(steps):
        assert phase.run(0.1) == 0
    return movers.position.astype(np.float64)


def deepest(movers: Movers) -> float:
    """The deepest overlap of a pair as a part of the sum of its radii."""
    rows = np.flatnonzero(movers.state)
    places = movers.position[rows].astype(np.float64)
    radius = movers.radius[rows].astype(np.float64)
    return max(
        (
            1.0 - float(np.linalg.norm(places[i] - places[j])) / (radius[i] + radius[j])
            for i, j in itertools.combinations(range(len(rows)), 2)
            if radius[i] + radius[j] > 0
        ),
        default=0.0,
    )


def pair(**properties: object) -> Movers:
    movers = Movers(Grid.filled(9, 9))
    movers.add([(4.0, 4.0), (4.6, 4.0)], **{"radius": 0.4, "max_speed": 1.0} | properties)  # type: ignore[arg-type]
    return movers


def test_each_of_a_pair_moves_half() -> None:
    np.testing.assert_allclose(part(pair()), [(3.9, 4.0), (4.7, 4.0)], atol=1e-5)


def test_who_has_priority_stays() -> None:
    np.testing.assert_allclose(part(pair(priority=[0.2, 1.0])), [(3.8, 4.0), (4.6, 4.0)], atol=1e-5)


def test_who_does_not_see_the_other_stays() -> None:
    np.testing.assert_allclose(
        part(pair(layers=[1, 2], mask=[1, 1])), [(4.0, 4.0), (4.8, 4.0)], atol=1e-5
    )


def test_who_share_no_layer_may_overlap() -> None:
    np.testing.assert_allclose(part(pair(mask=2)), [(4.0, 4.0), (4.6, 4.0)], atol=1e-6)


def test_what_only_touches_stays() -> None:
    np.testing.assert_allclose(part(pair(radius=0.3)), [(4.0, 4.0), (4.6, 4.0)], atol=1e-6)


def test_a_mover_against_a_wall_stays_and_the_other_makes_room() -> None:
    movers = Movers(Grid.filled(9, 1))
    movers.add([(-0.1, 0.0), (0.5, 0.0)], radius=0.4, max_speed=1.0)
    places = part(movers)
    assert places[0] == pytest.approx((-0.1, 0.0), abs=1e-5)
    assert places[1] == pytest.approx((0.7, 0.0), abs=0.005)


def test_wide_and_narrow_bodies_find_each_other() -> None:
    movers = Movers(Grid.filled(40, 40))
    angles = np.arange(30) * 0.21
    ring = 20 + 3.05 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    movers.add(np.vstack([ring, [(20.0, 20.0)]]), radius=[0.3] * 30 + [3.0], max_speed=1.0)
    assert deepest(movers) > 0.05
    part(movers, steps=4)
    assert deepest(movers) < 0.01


@given(st.integers(0, 2**32), st.integers(2, 40), st.sampled_from([0.0, 0.5, 3.0]))
def test_a_clump_parts_and_stays_out_of_walls(seed: int, count: int, spread: float) -> None:
    random = np.random.default_rng(seed)
    blocked = np.zeros((24, 24), bool)
    blocked[random.integers(0, 24, 20), random.integers(0, 24, 20)] = True
    blocked[10:14, 10:14] = False
    movers = Movers(Grid.from_blocked(blocked))
    places = 11.5 + random.uniform(-0.5, 0.5, (count, 2)) * spread
    movers.add(places, radius=random.uniform(0.0, 0.5, count), max_speed=1.0)
    before = deepest(movers)
    places = part(movers, steps=30)
    assert np.isfinite(places).all()
    cells = np.floor(places + 0.5).astype(int)
    assert not blocked[cells[:, 1], cells[:, 0]].any()
    assert deepest(movers) <= max(0.02, 0.5 * before)


@pytest.mark.slow
def test_the_same_bytes_on_any_number_of_threads() -> None:
    tables = []
    for threads in (1, 2, 3):
        movers = Movers(Grid.filled(100, 100))
        random = np.random.default_rng(11)
        movers.add(random.uniform(0, 99, (12_000, 2)), radius=0.45, max_speed=1.0)
        tables.append(part(movers, steps=2, threads=threads).tobytes())
    assert tables[0] == tables[1] == tables[2]


def test_nobody_and_removed_movers_are_left_alone() -> None:
    movers = Movers(Grid.filled(9, 9))
    phase = Parting(movers, Workers(1))
    assert not phase.is_used()
    units = movers.add([(4, 4), (4, 4), (4.1, 4)], radius=0.4, max_speed=1.0)
    movers.remove(units[:1])
    removed = movers.position[0].tolist()
    part(movers)
    assert movers.position[0].tolist() == removed
    assert deepest(movers) < 0.01


def test_without_time_nothing_changes() -> None:
    movers = pair()
    Parting(movers, Workers(1)).run(0.0)
    np.testing.assert_array_equal(movers.position, np.float32([(4.0, 4.0), (4.6, 4.0)]))
