"""The velocity nearest to a wish among those that half-planes and a top speed allow.

A half-plane is a row ``(nx, ny, c, weight)``: the velocities v with ``n . v >= c``, n of unit
length. Those that come first are hard, and together they always allow standing still: ``c <= 0``.
Where the others leave nothing, the velocity is taken that violates them least, the greatest of
``weight * (c - n . v)`` being what counts.

The solver adds half-planes one by one and moves the optimum only where the next one is violated:
then it lies on that one's border, which leaves a problem of one dimension less. Source: de Berg,
Cheong, van Kreveld and Overmars, "Computational Geometry" (2008), chapter 4; for velocities, van
den Berg, Guy, Lin and Manocha, "Reciprocal n-body Collision Avoidance" (2011), section 5.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver._jit import inlined, kernel, register_warm_up, subkernel
from navserver.search.validation import checked_number
from navserver.status import InputError

__all__ = ["PLANE", "descend_", "nearest_velocity", "solve_"]

PLANE = 4
"""Numbers a half-plane."""

# Part of the top speed by which a half-plane may be missed; unit vectors whose cross product is
# less count as parallel.
TOLERANCE = 1e-9


@inlined
def on_border_(
    planes: NDArray[np.float64],
    i: int,
    speed: float,
    aim_x: float,
    aim_y: float,
    outward: bool,
    out_x: float,
    out_y: float,
) -> tuple[bool, float, float]:
    """Return whether the border of half-plane i meets those before it, and the best point there.

    Points of the border are ``c n + t (-ny, nx)``; invariant: t may be within `low`..`high`.
    """
    nx = planes[i, 0]
    ny = planes[i, 1]
    c = planes[i, 2]
    rest = speed * speed - c * c
    if rest < 0.0:
        return False, 0.0, 0.0
    high = math.sqrt(rest)
    low = -high
    for j in range(i):
        slope = planes[j, 1] * nx - planes[j, 0] * ny
        gap = planes[j, 2] - c * (planes[j, 0] * nx + planes[j, 1] * ny)
        if slope > TOLERANCE:
            low = max(low, gap / slope)
        elif slope < -TOLERANCE:
            high = min(high, gap / slope)
        elif gap > TOLERANCE * speed:
            return False, 0.0, 0.0
        if low > high:
            return False, 0.0, 0.0
    t = aim_y * nx - aim_x * ny
    slope = out_y * nx - out_x * ny
    if outward and abs(slope) > TOLERANCE:
        t = high if slope > 0.0 else low
    else:
        t = min(max(t, low), high)
    return True, c * nx - t * ny, c * ny + t * nx


@subkernel
def descend_(
    planes: NDArray[np.float64],
    n_planes: int,
    speed: float,
    aim_x: float,
    aim_y: float,
    outward: bool,
    out_x: float,
    out_y: float,
) -> tuple[int, float, float]:
    """Return how many half-planes leave a velocity, and the best within those.

    The best is nearest to the aim; if `outward`, farthest along the unit vector `out`, and nearest
    to the aim where several are. Invariant: (x, y) is the best within the half-planes before i.
    """
    x = aim_x
    y = aim_y
    square = aim_x * aim_x + aim_y * aim_y
    if outward:
        x = out_x * speed
        y = out_y * speed
    elif square > speed * speed:
        x *= speed / math.sqrt(square)
        y *= speed / math.sqrt(square)
    slack = TOLERANCE * speed
    for i in range(n_planes):
        if planes[i, 0] * x + planes[i, 1] * y < planes[i, 2] - slack:
            found, new_x, new_y = on_border_(planes, i, speed, aim_x, aim_y, outward, out_x, out_y)
            if not found:
                return i, x, y
            x = new_x
            y = new_y
    return n_planes, x, y


@subkernel
def violate_least_(
    planes: NDArray[np.float64],
    n_hard: int,
    n_planes: int,
    first: int,
    speed: float,
    x: float,
    y: float,
    aim_x: float,
    aim_y: float,
    between: NDArray[np.float64],
) -> tuple[float, float]:
    """Return the velocity within the hard half-planes that violates the others least.

    Invariant: (x, y) is the best for the half-planes before i, the worst of which it violates by
    `worst`. `between` is scratch for as many half-planes.
    """
    worst = 0.0
    slack = TOLERANCE * speed
    for i in range(n_hard):
        for k in range(PLANE):
            between[i, k] = planes[i, k]
    for i in range(first, n_planes):
        nx = planes[i, 0]
        ny = planes[i, 1]
        weight = planes[i, 3]
        if weight * (planes[i, 2] - (nx * x + ny * y)) <= worst + slack:
            continue
        # Half-plane i is violated most at the new optimum, so j no more than i: a half-plane too.
        n_between = n_hard
        for j in range(n_hard, i):
            dx = planes[j, 3] * planes[j, 0] - weight * nx
            dy = planes[j, 3] * planes[j, 1] - weight * ny
            length = math.sqrt(dx * dx + dy * dy)
            if length > TOLERANCE:
                between[n_between, 0] = dx / length
                between[n_between, 1] = dy / length
                between[n_between, 2] = (
                    planes[j, 3] * planes[j, 2] - weight * planes[i, 2]
                ) / length
                n_between += 1
        n_met, new_x, new_y = descend_(between, n_between, speed, aim_x, aim_y, True, nx, ny)
        if n_met == n_between:
            x = new_x
            y = new_y
        worst = max(worst, weight * (planes[i, 2] - (nx * x + ny * y)))
    return x, y


@inlined
def solve_(
    planes: NDArray[np.float64],
    n_hard: int,
    n_planes: int,
    speed: float,
    aim_x: float,
    aim_y: float,
    between: NDArray[np.float64],
) -> tuple[float, float]:
    """Return the allowed velocity nearest to the aim, or the one that violates least."""
    n_met, x, y = descend_(planes, n_planes, speed, aim_x, aim_y, False, 0.0, 0.0)
    if n_met < n_planes:
        x, y = violate_least_(
            planes, n_hard, n_planes, max(n_met, n_hard), speed, x, y, aim_x, aim_y, between
        )
    return x, y


@kernel
def nearest_velocity_(
    planes: NDArray[np.float64],
    n_hard: int,
    speed: float,
    aim_x: float,
    aim_y: float,
    between: NDArray[np.float64],
) -> tuple[float, float]:
    """Solve one problem."""
    return solve_(planes, n_hard, planes.shape[0], speed, aim_x, aim_y, between)


def nearest_velocity(
    half_planes: ArrayLike, aim: tuple[float, float], max_speed: float, *, n_hard: int = 0
) -> tuple[float, float]:
    """Return the velocity nearest to an aim within half-planes and a top speed.

    Parameters
    ----------
    half_planes : array-like of float, shape (n, 3) or (n, 4)
        Rows ``nx, ny, c`` and perhaps a weight above 0, otherwise 1: velocities v with
        ``n . v >= c``. n is brought to unit length, and c with it.
    aim : (float, float)
        The velocity wished for.
    max_speed : float
        0 or more.
    n_hard : int
        How many rows, from the first, must hold whatever the others say; their c is 0 or less.

    Returns
    -------
    (float, float)
        The velocity; where there is none, the one whose greatest ``weight * (c - n . v)`` over the
        rows that are not hard is least, and of several such on one border that nearest to the
        aim.

    Raises
    ------
    InputError
        If a value is not finite or out of its bounds.

    Notes
    -----
    O(n^2), O(n^3) where not all can hold.

    Examples
    --------
    >>> nearest_velocity([(1, 0, 0.5)], (0.0, 1.0), 2.0)
    (0.5, 1.0)
    >>> nearest_velocity([(1, 0, 1), (-1, 0, 0)], (0.0, 0.0), 2.0)
    (0.5, 0.0)
    """
    planes = _checked_half_planes(half_planes)
    speed = checked_number("max_speed", max_speed, 0.0, "give a finite number >= 0")
    aim_x, aim_y = (
        checked_number("aim", value, -1e100, "give two numbers within 1e100") for value in aim
    )
    if not (isinstance(n_hard, (int, np.integer)) and 0 <= n_hard <= len(planes)):
        raise InputError("n_hard", n_hard, "is not a count of rows", f"give 0 to {len(planes)}")
    if (planes[:n_hard, 2] > 0.0).any():
        i = int(np.argmax(planes[:n_hard, 2] > 0.0))
        raise InputError(
            f"half_planes[{i}]", tuple(planes[i].tolist()), "is hard and forbids to stand still",
            "give it a c of 0 or less, or count it as not hard",
        )  # fmt: skip
    x, y = nearest_velocity_(planes, int(n_hard), speed, aim_x, aim_y, np.empty_like(planes))
    return float(x), float(y)


def _checked_half_planes(half_planes: ArrayLike) -> NDArray[np.float64]:
    try:
        rows = np.asarray(half_planes, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            "half_planes", half_planes, "are not numbers", "give the shape (n, 3) or (n, 4)"
        ) from None
    if rows.size == 0:
        return np.empty((0, PLANE))
    if rows.ndim != 2 or rows.shape[1] not in (3, PLANE):
        raise InputError(
            "half_planes", rows.shape, "is not their shape", "give the shape (n, 3) or (n, 4)"
        )
    planes = np.ones((len(rows), PLANE))
    planes[:, : rows.shape[1]] = rows
    lengths = np.hypot(planes[:, 0], planes[:, 1])
    good = (np.abs(planes) <= 1e100).all(axis=1) & (lengths >= 1e-100) & (planes[:, 3] > 0.0)
    if not good.all():
        i = int(np.argmin(good))
        raise InputError(
            f"half_planes[{i}]", tuple(rows[i].tolist()), "is not a half-plane",
            "give numbers within 1e100, a normal that is not 0 and a weight above 0",
        )  # fmt: skip
    planes[:, :3] /= lengths[:, None]
    return planes


def _warm_up() -> None:
    nearest_velocity([(1.0, 0.0, 1.0), (-1.0, 0.0, 1.0)], (0.0, 0.0), 1.0)


register_warm_up("half-planes", _warm_up)
