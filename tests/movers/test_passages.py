"""Passages one body wide: found as the definition says, and gone through in turns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from navserver.movers.movers import Movers
from navserver.movers.passages import PATIENCE, Passages, is_passage_, trace_passage_
from navserver.movers.sight import ground_of
from navserver.search.grid import Grid
from navserver.search.movement import Movement

Cell = tuple[int, int]
STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))


def passage_cells(free: set[Cell]) -> set[Cell]:
    """Open cells in no open square of four, with at most two open straight neighbours."""
    found = set()
    for x, y in free:
        squares = [
            {(x + i, y + j) for i in (0, dx) for j in (0, dy)} for dx in (-1, 1) for dy in (-1, 1)
        ]
        ways = sum((x + dx, y + dy) in free for dx, dy in STEPS)
        if not any(square <= free for square in squares) and ways <= 2:
            found.add((x, y))
    return found


@given(st.integers(0, 10_000), st.integers(1, 9), st.integers(1, 9), st.sampled_from((0.3, 0.5)))
def test_passages_are_chains_and_all_of_one_tell_the_same_course(
    seed: int, width: int, height: int, density: float
) -> None:
    blocked = np.random.default_rng(seed).random((height, width)) < density
    free = {(int(x), int(y)) for y, x in np.argwhere(~blocked)}
    assume(free)
    ground = ground_of(Grid.from_blocked(blocked), Movement())
    expected = passage_cells(free)
    assert {cell for cell in free if is_passage_(ground, cell[1] * width + cell[0])} == expected
    for x, y in expected:
        passage, dx, dy = trace_passage_(ground, y * width + x)
        ahead = [(x + i, y + j) for i, j in STEPS if (x + i, y + j) in free]
        assert (dx, dy) != (0, 0) or not ahead
        chain = {(x, y)}
        while True:
            more = {(a + i, b + j) for a, b in chain for i, j in STEPS} & expected
            if more <= chain:
                break
            chain |= more
        ends = [c for c in chain if sum((c[0] + i, c[1] + j) in chain for i, j in STEPS) < 2]
        if ends:
            assert passage == min(b * width + a for a, b in ends)


def door(positions: list[tuple[float, float]], **keywords: object) -> tuple[Movers, Passages]:
    """A wall with a door of one cell at (5, 3); everybody wants to the other side."""
    blocked = np.zeros((7, 11), bool)
    blocked[:, 5] = True
    blocked[3, 5] = False
    movers = Movers(Grid.from_blocked(blocked))
    units = movers.add(positions, **({"radius": 0.4, "max_speed": 2.0} | keywords))  # type: ignore[arg-type]
    goals = [(10, 3) if x < 5 else (0, 3) for x, _ in positions]
    points = np.array([[(5, 3), goal] for goal in goals], float).reshape(-1, 2)
    movers.set_paths(units, points, np.arange(len(units) + 1) * 2)
    return movers, Passages(movers)


def ask(movers: Movers, passages: Passages, dt: float = 0.1) -> NDArray[np.float32]:
    """Return what is left of a preferred velocity along x."""
    n = movers.slots
    towards = movers.routes.pool[movers.columns.path_end[:n] - 1, 0]
    movers.columns.preferred_velocity[:n] = 0.0
    movers.columns.preferred_velocity[:n, 0] = 2.0 * np.sign(towards - 5.0)
    passages.run(dt)
    return movers.columns.preferred_velocity[:n].copy()


def goes(velocity: NDArray[np.float32]) -> bool:
    return bool(abs(velocity[0]) == 2.0 and velocity[1] == 0.0)


def test_the_nearer_goes_first_and_the_other_steps_aside() -> None:
    movers, passages = door([(4.2, 3.0), (6.4, 3.0)])
    for _ in range(5):
        one, other = ask(movers, passages)
        assert goes(one)
        assert abs(other[1]) > 0.5
        assert other[0] >= 0.0


def test_priority_comes_before_nearness() -> None:
    movers, passages = door([(4.2, 3.0), (6.4, 3.0)], priority=[0.5, 1.0])
    one, other = ask(movers, passages)
    assert not goes(one)
    assert goes(other)


def test_who_is_inside_goes_on_even_before_a_higher_priority() -> None:
    movers, passages = door([(4.7, 3.0), (6.2, 3.0)], priority=[0.5, 1.0])
    one, other = ask(movers, passages)
    assert goes(one)
    assert not goes(other)


def test_of_two_inside_the_lower_backs_out() -> None:
    movers, passages = door([(4.8, 3.0), (5.3, 3.0)], priority=[1.0, 0.5])
    one, other = ask(movers, passages)
    assert goes(one)
    assert other.tolist() == [2.0, 0.0]


def test_others_follow_until_the_other_side_has_waited_long() -> None:
    movers, passages = door([(4.9, 3.0), (4.0, 3.0), (6.6, 3.0)])
    inside, follower, waiting = ask(movers, passages)
    assert goes(inside)
    assert goes(follower)
    assert not goes(waiting)
    for _ in range(int(PATIENCE / 0.1) + 2):
        inside, follower, waiting = ask(movers, passages)
    assert goes(inside)
    assert not goes(follower)
    # When the one inside has come out it is the other side's turn, though it is farther away.
    movers.columns.position[0] = (7.5, 4.0)
    movers.columns.path_next[0] += 1
    _, follower, waiting = ask(movers, passages)
    assert not goes(follower)
    assert goes(waiting)


def test_one_side_alone_is_never_held_up() -> None:
    movers, passages = door([(4.2, 3.0), (3.2, 3.0), (3.2, 2.1)])
    for _ in range(50):
        assert all(goes(velocity) for velocity in ask(movers, passages))


def test_small_bodies_pass_each_other_and_need_not_wait() -> None:
    movers, passages = door([(4.2, 3.0), (6.4, 3.0)], radius=0.25)
    assert all(goes(velocity) for velocity in ask(movers, passages))


def test_who_is_far_away_or_at_rest_counts_for_nothing() -> None:
    movers, passages = door([(4.2, 3.0), (9.0, 3.0), (6.2, 3.0)])
    movers.stop(movers.handles()[2:])
    one, other, _ = ask(movers, passages)
    assert goes(one)
    assert goes(other)


@pytest.mark.parametrize("width", [1, 2])
def test_a_door_two_cells_wide_is_no_passage(width: int) -> None:
    blocked = np.zeros((7, 11), bool)
    blocked[:, 5] = True
    blocked[3 : 3 + width, 5] = False
    ground = ground_of(Grid.from_blocked(blocked), Movement())
    assert is_passage_(ground, 3 * 11 + 5) == (width == 1)
