from __future__ import annotations

import numpy as np
import pytest

from navserver.search.grid import Grid
from navserver.search.movement import Movement
from navserver.sim.bots import BotState
from navserver.sim.scenarios import Area
from navserver.sim.statistics import Tally, cells_of, choke_points, reachability, state_counts

NOBODY = np.zeros(0, np.int64)
NO_REASONS = np.zeros(0, np.uint8)
ROWS = np.arange(2)


def points(*pairs: tuple[float, float]) -> np.ndarray:
    return np.array(pairs, np.float32)


def test_cells_reach_half_a_cell_to_each_side() -> None:
    assert cells_of(points((0.49, -0.5), (-0.51, 1.5))).tolist() == [[0, 0], [-1, 2]]


def test_visits_entries_and_stuck_are_counted_by_cell() -> None:
    tally = Tally(Grid.filled(4, 2), 2)
    tally.begin(points((0, 0), (3, 1)))
    tally.note_tick(points((0.4, 0), (3, 1)), NOBODY, NOBODY, NO_REASONS, 0.1)
    tally.note_tick(points((0.6, 0), (3, 1)), NOBODY, np.array([1]), np.array([2], np.uint8), 0.2)
    assert tally.visits.tolist() == [1, 1, 0, 0, 0, 0, 0, 2]
    assert tally.entries.tolist() == [0, 1, 0, 0, 0, 0, 0, 0]
    assert tally.stuck.tolist() == [0, 0, 0, 0, 0, 0, 0, 1]
    assert tally.stuck_reasons == {(2, 7): 1}


def test_two_bots_in_one_cell_count_twice() -> None:
    tally = Tally(Grid.filled(4, 1), 2)
    tally.begin(points((0, 0), (2, 0)))
    tally.note_tick(points((1, 0), (1, 0)), NOBODY, ROWS, np.array([1, 1], np.uint8), 0.1)
    assert tally.visits.tolist() == tally.entries.tolist() == tally.stuck.tolist() == [0, 2, 0, 0]
    assert tally.stuck_reasons == {(1, 1): 2}


def test_a_trip_has_its_way_and_time() -> None:
    tally = Tally(Grid.filled(9, 9), 2)
    tally.begin(points((0, 0), (8, 8)))
    tally.note_tick(points((0, 1), (8, 8)), NOBODY, NOBODY, NO_REASONS, 1.0)
    tally.note_orders(np.array([0]), 1.0)
    tally.note_tick(points((0, 5), (8, 8)), NOBODY, NOBODY, NO_REASONS, 2.0)
    tally.note_tick(points((3, 5), (8, 8)), np.array([0]), NOBODY, NO_REASONS, 3.0)
    trips = tally.trips
    assert trips.bot.tolist() == [0]
    assert trips.walked.tolist() == [7.0]
    assert trips.straight.tolist() == [5.0]
    assert trips.seconds.tolist() == [2.0]
    assert (tally.orders, tally.arrivals) == (1, 1)


def test_kept_trips_are_bounded_and_a_fair_sample() -> None:
    tally = Tally(Grid.filled(2, 1), 2, most_trips=2000)
    tally.begin(points((0, 0), (1, 0)))
    for tick in range(20_000):
        tally._keep_trips(np.array([0]), float(tick))
    assert tally.arrivals == 20_000
    seconds = tally.trips.seconds
    assert len(seconds) == 2000
    # the mean of a fair sample of 0..19999; 5 standard errors
    assert abs(seconds.mean() - 10_000) < 5 * 5774 / 2000**0.5


def test_progress_is_any_move_away() -> None:
    tally = Tally(Grid.filled(9, 1), 3)
    tally.begin(points((0, 0), (4, 0), (8, 0)))
    for tick in range(1, 121):
        time = tick * 0.1
        creeping = min(time * 0.05, 8)
        trembling = 4 + 0.2 * (tick % 2)
        tally.note_tick(
            points((creeping, 0), (trembling, 0), (8, 0)), NOBODY, NOBODY, NO_REASONS, time
        )
    assert tally.has_progressed(12.0).tolist() == [True, False, False]


def test_choke_points_are_narrow_busy_and_apart() -> None:
    blocked = np.zeros((11, 21), np.bool_)
    blocked[:, 10] = True
    blocked[[2, 8], 10] = False
    grid = Grid.from_blocked(blocked, region_position=(100, 50))
    entries = np.zeros((11, 21), np.int64)
    entries[2, 10], entries[2, 9], entries[8, 10], entries[5, 5] = 70, 70, 30, 500
    found = choke_points(grid, entries.reshape(-1))
    assert [(point.cell, point.entries) for point in found] == [((110, 52), 70), ((110, 58), 30)]
    assert found[0].width == 1.0
    assert choke_points(grid, entries.reshape(-1), most=1) == found[:1]
    assert choke_points(grid, np.zeros(grid.size, np.int64)) == []


def test_reachability_counts_pairs_of_cells() -> None:
    grid = Grid.from_blocked(np.array([[False, False, True, False, True]]))
    areas = {
        "left": Area(0, 0, 2, 1),
        "both": Area(1, 0, 3, 1),
        "wall": Area(2, 0, 1, 1),
        "anywhere": None,
    }
    found = reachability(grid, Movement(), areas, areas)
    assert found.spawns == found.goals == ["left", "both", "wall", "anywhere"]
    assert found.shares[0, :2].tolist() == [1.0, 0.5]
    assert np.isnan(found.shares[2]).all()
    assert np.isnan(found.shares[:, 2]).all()
    assert found.shares[3, 3] == pytest.approx((2 * 2 + 1) / 9)


def test_states_sum_to_the_bots() -> None:
    states = np.array([*BotState, BotState.EN_ROUTE], np.uint8)
    progressed = np.array([False, True, False, True, False, False])
    counts = state_counts(states, progressed)
    assert counts == {"arrived": 2, "en_route": 1, "stuck": 2, "no_path": 1}
    assert sum(counts.values()) == len(states)
