"""Estimates of the cost that remains, and when they are exact enough.

An estimate is the heuristic's distance in cells times the least possible cost a unit length, so
it never exceeds the true cost under any cost model as long as the heuristic never exceeds the
shortest way in steps.
"""

from __future__ import annotations

import math
from enum import IntEnum

from navserver._jit import inlined
from navserver.search.costs import CostModel
from navserver.search.moves import DiagonalMode
from navserver.status import InputError

__all__ = ["Heuristic", "best_heuristic", "check_heuristic", "distance_", "least_unit_cost"]

SQRT2_MINUS_1 = math.sqrt(2.0) - 1.0
EUCLIDEAN, MANHATTAN, OCTILE, CHEBYSHEV, ZERO = range(5)


class Heuristic(IntEnum):
    """Distances between cells; Godot's names and numbers, and ZERO."""

    EUCLIDEAN = 0
    MANHATTAN = 1
    OCTILE = 2
    CHEBYSHEV = 3
    ZERO = 4


@inlined
def distance_(heuristic: int, dx: int, dy: int) -> float:
    """Return the distance of two cells dx columns and dy rows apart."""
    dx = abs(dx)
    dy = abs(dy)
    if heuristic == OCTILE:
        return max(dx, dy) + SQRT2_MINUS_1 * min(dx, dy)
    if heuristic == MANHATTAN:
        return float(dx + dy)
    if heuristic == EUCLIDEAN:
        return math.sqrt(float(dx * dx + dy * dy))
    if heuristic == CHEBYSHEV:
        return float(max(dx, dy))
    return 0.0


def best_heuristic(diagonal_mode: DiagonalMode) -> Heuristic:
    """Return the largest heuristic that never overestimates.

    Parameters
    ----------
    diagonal_mode : DiagonalMode
        Decides whether there are 4 or 8 neighbours.

    Returns
    -------
    Heuristic
        MANHATTAN under NEVER, else OCTILE.
    """
    if diagonal_mode == DiagonalMode.NEVER:
        return Heuristic.MANHATTAN
    return Heuristic.OCTILE


def check_heuristic(heuristic: Heuristic, diagonal_mode: DiagonalMode) -> None:
    """Refuse a heuristic that would overestimate.

    Parameters
    ----------
    heuristic : Heuristic
        The choice.
    diagonal_mode : DiagonalMode
        The diagonal rule.

    Raises
    ------
    InputError
        For MANHATTAN where diagonal steps are allowed.
    """
    if heuristic == Heuristic.MANHATTAN and diagonal_mode != DiagonalMode.NEVER:
        raise InputError(
            "heuristic",
            heuristic.name,
            f"overestimates under diagonal mode {diagonal_mode.name}",
            "choose OCTILE, or pass inexact=True to accept paths that are not the cheapest",
        )


def least_unit_cost(least_cost: float, cost_model: CostModel) -> float:
    """Return the least cost of a step of length 1.

    Parameters
    ----------
    least_cost : float
        Lower bound of the cost of every cell that may be entered.
    cost_model : CostModel
        How a step's cost follows from its cells.

    Returns
    -------
    float
        The bound, squared under PRODUCT.
    """
    return least_cost * least_cost if cost_model == CostModel.PRODUCT else least_cost
