"""Spaces of bodies larger than one cell, and the arrays that they are cut from.

A square body of n x n cells is anchored at its top left cell, a round one stands at its cell's
centre. All sizes of squares share one array of the largest square that fits at each anchor; all
radii share one of the distance to the nearest wall within each column. What lies outside the map
is wall to both.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from navserver._jit import register_warm_up
from navserver.search.derived import ClassSpace, DerivedArrays, Edit, Space
from navserver.search.discs import DiscSpace, WallColumns, wall_distances_
from navserver.search.movement import MAX_BODY, Movement
from navserver.search.profile import DEFAULT_PROFILE, Profile
from navserver.search.squares import SquareClearance, SquareSpace
from navserver.status import InputError

__all__ = ["body_space", "cell_scale_of", "disc_limit", "wall_columns"]

# Rounding of a transform shall not tell 0.3 / 0.2 from 1.5.
_FORGIVEN = Fraction(1, 1 << 40)


def cell_scale_of(transform: NDArray[np.float64]) -> float:
    """Return how many world units a cell measures in the direction where it measures least.

    Parameters
    ----------
    transform : float64 array (2, 3)
        From cells to the world.

    Returns
    -------
    float
        The least singular value of its linear part: for a similarity simply its scale.
    """
    (a, b), (c, d) = (map(float, row) for row in transform[:, :2])
    # Sums before differences: exact for turned and mirrored squares.
    squares = a * a + b * b + c * c + d * d
    determinant = abs(a * d - b * c)
    shear = max(squares * squares - 4.0 * determinant * determinant, 0.0) ** 0.5
    return float(determinant / ((squares + shear) / 2.0) ** 0.5)


def disc_limit(radius: float, transform: NDArray[np.float64]) -> int:
    """Return 4 times the squared radius in cells, rounded up.

    Parameters
    ----------
    radius : float
        World units, > 0.
    transform : float64 array (2, 3)
        From cells to the world.

    Returns
    -------
    int
        1 or more.

    Raises
    ------
    InputError
        If it is larger than `MAX_BODY` cells.
    """
    scale = cell_scale_of(transform)
    cells = Fraction(radius) / Fraction(scale) * (1 - _FORGIVEN)
    if cells > MAX_BODY:
        raise InputError(
            "radius",
            radius,
            f"is {float(cells):.6g} cells on this map, more than {MAX_BODY}",
            f"give at most {MAX_BODY * scale:.6g} world units, or a map of larger cells",
        )
    return max(1, -((-4 * cells * cells) // 1))


def body_space(
    derived: DerivedArrays,
    classes: NDArray[np.uint8],
    transform: NDArray[np.float64],
    movement: Movement,
) -> Space:
    """Build the space of a body.

    Parameters
    ----------
    derived : DerivedArrays
        Holds what spaces share.
    classes : uint8 array (height, width)
        The grid's own array.
    transform : float64 array (2, 3)
        From cells to the world.
    movement : Movement
        The body.

    Returns
    -------
    Space
        Of the body's size.

    Raises
    ------
    InputError
        If the body is too large.
    """
    profile = movement.profile
    if movement.radius > 0.0:
        limit = disc_limit(movement.radius, transform)
        return DiscSpace(wall_columns(derived, classes, profile), limit)
    if movement.size > 1:
        clearance = derived.source(
            ("squares", profile.blocked_key), lambda: SquareClearance(classes, profile)
        )
        return SquareSpace(clearance, movement.size)
    return ClassSpace(classes, profile)


def wall_columns(
    derived: DerivedArrays, classes: NDArray[np.uint8], profile: Profile
) -> WallColumns:
    """Return the distances within columns that all discs of a blocked set share.

    Parameters
    ----------
    derived : DerivedArrays
        Holds what spaces share.
    classes : uint8 array (height, width)
        The grid's own array.
    profile : Profile
        Says which classes block.

    Returns
    -------
    WallColumns
        Built if no space holds it.
    """
    return derived.source(("columns", profile.blocked_key), lambda: WallColumns(classes, profile))


def _warm_up() -> None:
    classes = np.zeros((2, 2), np.uint8)
    edit = Edit(None, np.zeros(1, np.int64), np.full(1, 255, np.uint8), np.zeros(1, np.uint8))
    nothing = np.empty(0, np.int64)
    squares = SquareClearance(classes, DEFAULT_PROFILE)
    walls = WallColumns(classes, DEFAULT_PROFILE)
    square, disc = SquareSpace(squares, 2), DiscSpace(walls, 4)
    squares.update(edit)
    walls.update(edit)
    for space in (square, disc):
        space.update(edit)
        space.anchors(edit.cells, nothing)
    wall_distances_(walls.columns, edit.cells, np.empty(1, np.int64))


register_warm_up("bodies", _warm_up)
