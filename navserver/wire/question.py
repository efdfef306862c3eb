"""What a question is: a request of Python values, and what makes Python values of its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.status import InputError
from navserver.wire.client_session import Answer

__all__ = [
    "Question",
    "Times",
    "as_array",
    "as_cells",
    "as_pair",
    "read_nothing",
    "read_times",
    "read_version",
]

T = TypeVar("T")


@dataclass(frozen=True)
class Question(Generic[T]):  # numpydoc ignore=PR02
    """A request that is yet to be sent.

    Parameters
    ----------
    message : str
        Its type.
    fields : mapping of str to object
        Its fields; None is left out.
    read : callable
        What makes a value of the answer.
    arrays : mapping of str to array
        Its arrays.
    """

    message: str
    fields: Mapping[str, Any]
    read: Callable[[Answer], T]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


class Times(NamedTuple):
    """Where the server's time went."""

    wait_us: float
    search_us: float


def as_cells(name: str, cells: ArrayLike) -> NDArray[np.int32]:
    """Return cells as an array that can be sent.

    Parameters
    ----------
    name : str
        How an error names them.
    cells : array-like of int, shape (n, 2)
        What was given.

    Returns
    -------
    int32 array (n, 2)
        Of the same values.

    Raises
    ------
    InputError
        If they are no cells.
    """
    array: NDArray[np.int32] = as_array(name, cells, np.int32, (None, 2))
    return array


def as_array(name: str, values: ArrayLike, dtype: Any, shape: tuple[int | None, ...]) -> Any:
    """Return values as an array that can be sent, or refuse what would change on the way.

    Parameters
    ----------
    name : str
        How an error names them.
    values : array-like
        What was given.
    dtype : dtype
        What is sent.
    shape : tuple of int or None
        Lengths; None is any.

    Returns
    -------
    array
        Of that dtype and shape.

    Raises
    ------
    InputError
        If they are not such numbers.
    """
    try:
        given = np.asarray(values)
        if given.size == 0 and given.ndim < len(shape):
            given = given.reshape([0 if n is None else n for n in shape])
        # Of objects numpy makes numbers where it can; text and complex numbers are none of ours.
        if given.size and given.dtype.kind not in "iubfO":
            raise TypeError
        with np.errstate(all="ignore"):
            array = given.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        raise InputError(name, values, "are not numbers", f"give {np.dtype(dtype)}") from None
    if np.issubdtype(dtype, np.integer):
        is_kept = not given.size or (given.dtype.kind in "iub" and np.array_equal(array, given))
        remedy = "give whole numbers in its range"
    else:
        is_kept = given.dtype.kind == "O" or not (np.isinf(array) & ~np.isinf(given)).any()
        remedy = "give numbers in its range"
    if not is_kept:
        raise InputError(name, values, f"are not values of {np.dtype(dtype)}", remedy)
    if array.ndim != len(shape) or any(
        wanted not in (None, n) for wanted, n in zip(shape, array.shape, strict=True)
    ):
        shown = " x ".join("n" if n is None else str(n) for n in shape)
        raise InputError(name, array.shape, "is not the shape asked for", f"give {shown}")
    return array


def as_pair(name: str, cell: Any) -> list[int]:
    """Return a cell as a field that can be sent.

    Parameters
    ----------
    name : str
        How an error names it.
    cell : array-like of int, shape (2,)
        What was given.

    Returns
    -------
    list of int
        x and y.

    Raises
    ------
    InputError
        If that is no cell.
    """
    return [int(value) for value in as_array(name, cell, np.int64, (2,))]


def read_nothing(answer: Answer) -> None:
    """Return nothing: that there is an answer says all.

    Parameters
    ----------
    answer : Answer
        Any.
    """


def read_version(answer: Answer) -> int:
    """Return the version of the map that an answer names.

    Parameters
    ----------
    answer : Answer
        One about a world.

    Returns
    -------
    int
        The version.
    """
    return answer.version


def read_times(answer: Answer) -> Times:
    """Return where the server's time went.

    Parameters
    ----------
    answer : Answer
        Any.

    Returns
    -------
    Times
        Waiting and working.
    """
    return Times(answer.wait_us, answer.search_us)
