"""The solver against enumeration of all candidates, and against scipy's linear programmes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from navserver.movers.half_planes import nearest_velocity
from navserver.status import InputError

Plane = tuple[float, float, float]

angles = st.one_of(
    st.floats(0.0, 2.0 * math.pi), st.sampled_from([i * math.pi / 4 for i in range(8)])
)
aims = st.tuples(st.floats(-3.0, 3.0), st.floats(-3.0, 3.0))


@st.composite
def half_planes(draw: st.DrawFn, most_c: float = 1.5, max_size: int = 8) -> list[Plane]:
    count = draw(st.integers(0, max_size))
    planes = []
    for _ in range(count):
        angle = draw(angles)
        planes.append((math.cos(angle), math.sin(angle), draw(st.floats(-2.0, most_c))))
    return planes


def violation(planes: list[Plane], v: tuple[float, float]) -> float:
    return max((c - nx * v[0] - ny * v[1] for nx, ny, c in planes), default=0.0)


def candidates(planes: list[Plane], aim: tuple[float, float], speed: float) -> list[np.ndarray]:
    """All points that can be nearest to the aim: of faces, borders, and where two borders meet."""
    goal = np.array(aim)
    length = np.linalg.norm(goal)
    points = [goal, goal * (speed / length) if length > 0 else goal]
    for nx, ny, c in planes:
        n = np.array([nx, ny])
        points.append(goal + (c - n @ goal) * n)
        rest = speed * speed - c * c
        if rest >= 0:
            along = np.array([-ny, nx]) * math.sqrt(rest)
            points += [c * n + along, c * n - along]
    for (ax, ay, ac), (bx, by, bc) in itertools.combinations(planes, 2):
        determinant = ax * by - ay * bx
        if abs(determinant) > 1e-12:
            points.append(np.array([ac * by - bc * ay, ax * bc - bx * ac]) / determinant)
    return points


@given(half_planes(), aims, st.floats(0.1, 2.0))
def test_an_allowed_velocity_is_the_nearest_of_all_candidates(
    planes: list[Plane], aim: tuple[float, float], speed: float
) -> None:
    within = [
        point
        for point in candidates(planes, aim, speed)
        if violation(planes, (point[0], point[1])) <= 1e-9 and np.linalg.norm(point) <= speed + 1e-9
    ]
    found = nearest_velocity(planes, aim, speed)
    assert math.hypot(*found) <= speed * (1 + 1e-9)
    if within:
        best = min(float(np.linalg.norm(point - aim)) for point in within)
        assert violation(planes, found) <= 1e-6
        assert math.dist(found, aim) == pytest.approx(best, abs=1e-6)


def least_violation(
    planes: list[Plane], weights: list[float], hard: list[Plane], speed: float, scale: float
) -> float:
    """The least of the greatest weighted violation, the disc of speeds taken as a polygon."""
    sides = 720
    rows, bounds = [], []
    for (nx, ny, c), weight in zip(planes, weights, strict=True):
        rows.append([-weight * nx, -weight * ny, -1.0])
        bounds.append(-weight * c)
    for nx, ny, c in hard:
        rows.append([-nx, -ny, 0.0])
        bounds.append(-c)
    for side in range(sides):
        angle = 2 * math.pi * side / sides
        rows.append([math.cos(angle), math.sin(angle), 0.0])
        bounds.append(speed * scale)
    free = (None, None)
    found = linprog([0, 0, 1], rows, bounds, bounds=[free, free, (0, None)], method="highs")
    assert found.success, found.message
    return float(found.fun)


@given(
    half_planes(most_c=2.0),
    half_planes(most_c=0.0, max_size=3),
    aims,
    st.floats(0.1, 2.0),
    st.data(),
)
def test_where_not_all_hold_the_worst_violation_is_least(
    planes: list[Plane],
    hard: list[Plane],
    aim: tuple[float, float],
    speed: float,
    data: st.DataObject,
) -> None:
    weights = [data.draw(st.sampled_from([1.0, 1.0, 3.0, 10.0])) for _ in planes]
    rows = [(*plane, 1.0) for plane in hard]
    rows += [(*plane, weight) for plane, weight in zip(planes, weights, strict=True)]
    found = nearest_velocity(rows, aim, speed, n_hard=len(hard))
    assert math.hypot(*found) <= speed * (1 + 1e-9)
    assert violation(hard, found) <= 1e-7
    worst = max(
        (w * violation([plane], found) for w, plane in zip(weights, planes, strict=True)),
        default=0.0,
    )
    inscribed = math.cos(math.pi / 720)
    # A circumscribed polygon allows more than the disc, an inscribed one less.
    assert least_violation(planes, weights, hard, speed, 1.0) - 1e-6 <= max(worst, 0.0)
    assert max(worst, 0.0) <= least_violation(planes, weights, hard, speed, inscribed) + 1e-6


def test_without_half_planes_only_the_top_speed_counts() -> None:
    assert nearest_velocity([], (3.0, 4.0), 2.5) == pytest.approx((1.5, 2.0))
    assert nearest_velocity([], (0.3, 0.4), 2.5) == (0.3, 0.4)
    assert nearest_velocity([], (3.0, 4.0), 0.0) == (0.0, 0.0)


def test_parallel_borders_that_face_each_other() -> None:
    assert nearest_velocity([(1, 0, 0.5), (-1, 0, -0.5)], (2, 1), 3.0) == pytest.approx((0.5, 1.0))


def test_the_order_of_rows_does_not_change_the_velocity() -> None:
    planes = [(1.0, 0.2, 0.1), (-0.3, 1.0, 0.2), (0.5, -1.0, -0.6), (-1.0, -0.1, -0.9)]
    found = [nearest_velocity(order, (-1.0, -1.0), 2.0) for order in itertools.permutations(planes)]
    np.testing.assert_allclose(found, np.broadcast_to(found[0], (24, 2)), atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (([(1, 0)], (0, 0), 1.0), "half_planes"),
        (([(0, 0, 1)], (0, 0), 1.0), r"half_planes\[0\]"),
        (([(1, 0, 0), (1, math.nan, 1)], (0, 0), 1.0), r"half_planes\[1\]"),
        (([(1, 0, 1, -1)], (0, 0), 1.0), r"half_planes\[0\]"),
        (("no", (0, 0), 1.0), "half_planes"),
        (([], (math.inf, 0), 1.0), "aim"),
        (([], (0, 0), -1.0), "max_speed"),
        (([], (0, 0), math.nan), "max_speed"),
    ],
)
def test_what_cannot_be_solved_is_named(arguments: tuple[object, ...], field: str) -> None:
    with pytest.raises(InputError, match=field):
        nearest_velocity(*arguments)  # type: ignore[arg-type]


def test_hard_rows_have_to_let_a_mover_stand() -> None:
    with pytest.raises(InputError, match=r"half_planes\[1\]"):
        nearest_velocity([(1, 0, 0), (0, 1, 1)], (0, 0), 1.0, n_hard=2)
    with pytest.raises(InputError, match="n_hard"):
        nearest_velocity([(1, 0, 0)], (0, 0), 1.0, n_hard=2)
