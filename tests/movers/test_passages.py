"""Passages: gone through in turns where two cannot pass each other, else in lanes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from navserver.movers.movers import Movers
from navserver.movers.passages import AFTERWARDS, PATIENCE, PRECEDENCE, Passages
from navserver.search.grid import Grid


def door(
    positions: list[tuple[float, float]], width: int = 1, **keywords: object
) -> tuple[Movers, Passages]:
    """A wall with a door at (5, 3) and below; everybody wants to the other side."""
    blocked = np.zeros((7, 11), bool)
    blocked[:, 5] = True
    blocked[3 : 3 + width, 5] = False
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
    movers, passages = door([(4.2, 3.0), (10.4, 3.0), (6.2, 3.0)])
    movers.stop(movers.handles()[2:])
    one, other, _ = ask(movers, passages)
    assert goes(one)
    assert goes(other)


def precedence(movers: Movers) -> list[float]:
    return [float(value) for value in movers.columns.precedence[: movers.slots]]


def test_who_is_nearer_need_not_give_way_to_those_behind() -> None:
    movers, passages = door([(4.2, 3.0), (3.2, 2.1), (1.5, 3.0), (4.9, 3.0), (0.0, 6.0)])
    ask(movers, passages)
    near, beside, behind, inside, far = precedence(movers)
    assert inside > near > beside > behind > far == 0.0
    assert inside <= 3.0 * PRECEDENCE


def test_who_has_come_out_goes_before_those_who_wait_for_a_while() -> None:
    movers, passages = door([(4.9, 3.0), (6.6, 3.0)])
    ask(movers, passages)
    movers.columns.position[0] = (6.0, 3.6)
    movers.columns.path_next[0] += 1
    ticks = 0
    while ask(movers, passages) is not None and precedence(movers)[0] > 0.0:
        assert precedence(movers)[0] > precedence(movers)[1]
        ticks += 1
    assert abs(ticks - AFTERWARDS / 0.1) <= 1


def test_where_two_can_pass_each_keeps_right() -> None:
    # The middle line is at 3.5; right is down for those who go right.
    movers, passages = door([(3.0, 3.5), (7.0, 3.5), (4.0, 4.0)], width=2)
    right, left, in_lane = ask(movers, passages)
    assert right[0] > 0.0
    assert right[1] > 0.5
    assert left[0] < 0.0
    assert left[1] < -0.5
    assert goes(in_lane)
    np.testing.assert_allclose(
        passages.lanes[:3], [[0, 1, -0.4], [0, -1, -0.4], [0, 1, 0.1]], atol=1e-6
    )
    np.testing.assert_allclose(np.hypot(*np.stack([right, left]).T), 2.0, rtol=1e-6)


def test_a_stream_alone_may_use_all_of_a_wide_door() -> None:
    movers, passages = door([(3.0, 3.0), (4.0, 4.0), (4.0, 3.0)], width=2)
    assert all(goes(velocity) for velocity in ask(movers, passages))
    assert not passages.lanes[:3].any()


def test_bodies_too_wide_for_two_lanes_take_turns() -> None:
    movers, passages = door([(4.0, 3.5), (7.0, 3.5)], width=2, radius=0.6)
    one, other = ask(movers, passages)
    assert goes(one)
    assert not goes(other)


def test_small_bodies_need_no_lanes_in_a_wide_door() -> None:
    movers, passages = door([(4.0, 3.5), (7.0, 3.5)], width=3, radius=0.3)
    assert all(goes(velocity) for velocity in ask(movers, passages))


def test_what_is_known_of_cells_is_forgotten_when_the_map_is_edited() -> None:
    movers, passages = door([(4.2, 3.0), (6.4, 3.0)])
    assert not goes(ask(movers, passages)[1])
    # Without its wall the door is none, so nobody needs to wait; and then it is one again.
    wall = [(5, y) for y in range(7) if y != 3]
    movers.grid.set_cells(wall, 0)
    assert all(goes(velocity) for velocity in ask(movers, passages))
    movers.grid.set_cells(wall, 255)
    assert not goes(ask(movers, passages)[1])
