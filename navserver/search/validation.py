"""Checks of what callers pass; each names the field, the value and the remedy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from operator import index
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from navserver.search.profile import N_CLASSES
from navserver.status import CellError, InputError

__all__ = [
    "MAX_SIDE",
    "UNLIMITED",
    "checked_array",
    "checked_callback",
    "checked_cells",
    "checked_classes",
    "checked_count",
    "checked_enum",
    "checked_flag",
    "checked_number",
    "checked_points",
    "checked_position",
    "checked_transform",
    "checked_values",
    "checked_weight",
]

MAX_SIDE = 8192
"""Most cells a side."""

UNLIMITED = 1 << 62
"""What a count without limit is to a kernel."""

_LARGEST = sys.float_info.max

C = TypeVar("C", bound=Callable[..., object])
E = TypeVar("E", bound=Enum)


def checked_position(field: str, position: Any) -> tuple[int, int]:
    """Return a pair of integers within -2**30..2**30.

    Parameters
    ----------
    field : str
        How an error names it.
    position : object
        What was given.

    Returns
    -------
    (int, int)
        The pair.

    Raises
    ------
    InputError
        Otherwise.
    """
    try:
        x, y = position
        pair = (index(x), index(y))
    except (TypeError, ValueError):
        raise InputError(
            field, position, "is not a pair of integers", "give two integers"
        ) from None
    if max(abs(pair[0]), abs(pair[1])) > 2**30:
        raise InputError(field, position, "is too far out", "stay within -2**30..2**30")
    return pair


def checked_array(field: str, cells: ArrayLike) -> NDArray[Any]:
    """Return cells as an array that may still have any shape and dtype.

    Parameters
    ----------
    field : str
        How an error names them.
    cells : array-like
        What was given.

    Returns
    -------
    array
        Perhaps the one given.

    Raises
    ------
    CellError
        If rows differ in length, or there are none.
    """
    try:
        array = np.asarray(cells)
    except ValueError:
        raise CellError(field, cells, "is ragged", "give the shape (n, 2)") from None
    if array.ndim == 0:
        raise CellError(
            field, cells, "is not a list of cells", "give integers of shape (n, 2), or one (x, y)"
        )
    return array


def checked_cells(field: str, cells: ArrayLike) -> NDArray[np.int64]:
    """Return cells as an array of columns x and y, wherever they lie.

    Parameters
    ----------
    field : str
        How an error names them.
    cells : array-like
        What was given; an empty one is no cells, whatever its shape.

    Returns
    -------
    int64 array (n, 2)
        Perhaps the array given.

    Raises
    ------
    CellError
        If the shape or the dtype is another, or a number is beyond int64.
    """
    array = checked_array(field, cells)
    if array.size == 0:
        return np.empty((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise CellError(
            field,
            f"{array.dtype} array of shape {array.shape}",
            "is not an array of cells",
            "give integers of shape (n, 2), columns x and y",
        )
    if array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
        raise CellError(field, array.max().item(), "is too far out", "stay within -2**30..2**30")
    return array.astype(np.int64, copy=False)


def checked_points(field: str, points: ArrayLike) -> NDArray[np.float64]:
    """Return positions as floats.

    Parameters
    ----------
    field : str
        How an error names them.
    points : array-like
        What was given.

    Returns
    -------
    float64 array (..., 2)
        Finite or not.

    Raises
    ------
    InputError
        If they are not numbers in pairs.
    """
    try:
        array = np.asarray(points, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(field, points, "are not numbers", "give the shape (..., 2)") from None
    if array.ndim == 0 or array.shape[-1] != 2:
        raise InputError(field, array.shape, "is not a shape of pairs", "give the shape (..., 2)")
    return array


def checked_weight(field: str, weight: object) -> float:
    """Return a finite weight >= 0.

    Parameters
    ----------
    field : str
        How an error names it.
    weight : object
        What was given.

    Returns
    -------
    float
        The weight.

    Raises
    ------
    InputError
        Otherwise.
    """
    if isinstance(weight, (int, float, np.integer, np.floating)) and 0 <= weight <= 1e38:
        return float(weight)
    raise InputError(field, weight, "is not a weight", "give a finite number >= 0")


def checked_transform(transform: ArrayLike | None) -> NDArray[np.float64]:
    """Return an invertible affine transform.

    Parameters
    ----------
    transform : array-like or None
        What was given; None is the identity.

    Returns
    -------
    float64 array (2, 3)
        Read-only.

    Raises
    ------
    InputError
        Otherwise.
    """
    try:
        matrix: NDArray[np.float64] = np.array(
            np.eye(2, 3) if transform is None else transform, np.float64
        )
    except (TypeError, ValueError, OverflowError):
        matrix = np.empty(0)
    # Beyond 1e100 squares overflow.
    if matrix.shape != (2, 3) or not (np.abs(matrix) <= 1e100).all():
        raise InputError(
            "transform", transform, "is not a 2 x 3 matrix of numbers within 1e100",
            "give [[a, b, x], [c, d, y]]",
        )  # fmt: skip
    if abs(np.linalg.det(matrix[:, :2])) < 1e-12 * max(1e-30, np.abs(matrix[:, :2]).max() ** 2):
        raise InputError(
            "transform", transform, "cannot be inverted", "give axes that are not parallel"
        )
    matrix.flags.writeable = False
    return matrix


def checked_classes(
    classes: ArrayLike, region_position: tuple[int, int] = (0, 0)
) -> NDArray[np.uint8]:
    """Return the classes of a map of allowed size.

    Parameters
    ----------
    classes : array-like
        What was given.
    region_position : (int, int)
        The cell of the top left corner, to name a bad one.

    Returns
    -------
    uint8 array (height, width)
        C-contiguous, perhaps the array given.

    Raises
    ------
    InputError
        Otherwise.
    """
    try:
        array = np.asarray(classes)
    except ValueError:
        raise InputError("classes", classes, "is ragged", "give rows of equal length") from None
    if array.ndim != 2 or array.size == 0:
        raise InputError(
            "classes", array.shape, "is not a shape of a map", "give a 2-D array (height, width)"
        )
    if max(array.shape) > MAX_SIDE:
        raise InputError(
            "classes", array.shape, "is too large",
            f"give at most {MAX_SIDE} x {MAX_SIDE} cells",
        )  # fmt: skip
    if array.dtype == np.bool_:
        raise InputError(
            "classes", array.dtype, "is not a dtype of classes",
            "use Grid.from_blocked for walls and ground",
        )  # fmt: skip
    return np.ascontiguousarray(
        checked_values(
            "classes",
            array,
            np.uint8,
            array.shape,
            lambda position: (position[1] + region_position[0], position[0] + region_position[1]),
        )
    )


def checked_values(
    field: str,
    values: ArrayLike,
    dtype: DTypeLike,
    shape: tuple[int, ...],
    cell_of: Callable[[tuple[int, ...]], tuple[int, int] | None] | None = None,
) -> NDArray[Any]:
    """Return values for cells, as uint8 classes or as finite float32 >= 0.

    Parameters
    ----------
    field : str
        How an error names them.
    values : array-like
        What was given.
    dtype : dtype
        uint8 or float32.
    shape : tuple of int
        Shape of the cells; a scalar is accepted as well.
    cell_of : callable, optional
        The cell that has the value at a position, or None; to name it if the value is bad.

    Returns
    -------
    array of the dtype
        Of the shape given, or ().

    Raises
    ------
    InputError
        Otherwise.
    """
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(field, values, "is ragged", f"give the shape {shape}") from None
    if array.dtype == dtype == np.uint8 and array.shape in ((), shape):
        return array
    if array.shape not in ((), shape):
        raise InputError(
            field, array.shape, "is not the shape of the cells", f"give a scalar or {shape}"
        )
    if dtype == np.uint8:
        if array.dtype.kind not in "iu":
            raise InputError(
                field, array.dtype, "is not a dtype of classes", "give integers from 0 to 255"
            )
        good = (array >= 0) & (array < N_CLASSES)
        remedy = "give an integer from 0 to 255"
    else:
        if array.dtype.kind not in "iuf":
            raise InputError(field, array.dtype, "is not a dtype of numbers", "give floats")
        with np.errstate(over="ignore"):
            array = array.astype(np.float32)
        good = np.isfinite(array) & (array >= 0)
        remedy = "give a finite number >= 0 (to block a cell, set its class)"
    if not good.all():
        position = np.unravel_index(int(np.argmin(good)), array.shape)
        raise InputError(
            field + _place(position, cell_of), array[position].item(), "is out of bounds", remedy
        )
    return array.astype(dtype, copy=False)


def _place(
    position: tuple[Any, ...], cell_of: Callable[[tuple[int, ...]], tuple[int, int] | None] | None
) -> str:
    cell = None if cell_of is None else cell_of(tuple(int(i) for i in position))
    return "" if cell is None else f" of cell {cell}"


def checked_enum(field: str, value: object, kind: type[E]) -> E:
    """Return a member of an enumeration.

    Parameters
    ----------
    field : str
        How an error names it.
    value : object
        A member or its value.
    kind : type
        The enumeration.

    Returns
    -------
    Enum
        The member.

    Raises
    ------
    InputError
        Otherwise.
    """
    try:
        return kind(value)
    except ValueError:
        names = ", ".join(member.name for member in kind)
        raise InputError(
            field, value, f"is not a {kind.__name__}", f"choose one of {names}"
        ) from None


def checked_flag(field: str, value: object) -> bool:
    """Return a truth value.

    Parameters
    ----------
    field : str
        How an error names it.
    value : object
        What was given; 0 and 1 are taken as well.

    Returns
    -------
    bool
        The value.

    Raises
    ------
    InputError
        Otherwise: a text or an array is more likely a slip than a choice.
    """
    if isinstance(value, (bool, np.bool_)) or (
        isinstance(value, (int, np.integer)) and 0 <= value <= 1
    ):
        return bool(value)
    raise InputError(field, value, "is not a truth value", "give True or False")


def checked_callback(field: str, value: C | None) -> C | None:
    """Return a function to be called, or None.

    Parameters
    ----------
    field : str
        How an error names it.
    value : callable or None
        What was given.

    Returns
    -------
    callable or None
        The same.

    Raises
    ------
    InputError
        If it cannot be called.
    """
    if value is None or callable(value):
        return value
    raise InputError(field, value, "cannot be called", "give a function, or leave it out")


def checked_number(field: str, value: object, least: float, remedy: str) -> float:
    """Return a finite number.

    Parameters
    ----------
    field : str
        How an error names it.
    value : object
        What was given.
    least : float
        Its lower bound.
    remedy : str
        What an error advises.

    Returns
    -------
    float
        The number.

    Raises
    ------
    InputError
        Otherwise.
    """
    # Python's numbers compare without a cast, which a float32 would overflow in.
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, (int, float)) and least <= number <= _LARGEST:
        return float(number)
    raise InputError(field, value, "is out of bounds", remedy)


def checked_count(field: str, value: object) -> int:
    """Return a positive count.

    Parameters
    ----------
    field : str
        How an error names it.
    value : object
        What was given; None is `UNLIMITED`.

    Returns
    -------
    int
        The count, at most `UNLIMITED`.

    Raises
    ------
    InputError
        Otherwise.
    """
    if value is None:
        return UNLIMITED
    if isinstance(value, (int, np.integer)) and value >= 1:
        return min(int(value), UNLIMITED)
    raise InputError(field, value, "is not a count", "give an integer of 1 or more")
