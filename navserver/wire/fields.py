"""What the fields and arrays of messages may hold, said once for checks and for the document."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from navserver.wire.codec import DTYPES
from navserver.wire.errors import WireError
from navserver.wire.limits import MAX_ITEMS, MAX_TEXT, MAX_WORLD_NAME

__all__ = [
    "OPTIONAL",
    "REQUIRED",
    "Array",
    "Field",
    "choice",
    "flag",
    "integer",
    "name",
    "number",
    "numbers",
    "pair",
    "text",
    "texts",
    "weights",
    "words",
]


class _Presence(Enum):
    REQUIRED = "required"
    OPTIONAL = "may be left out"


REQUIRED: Final = _Presence.REQUIRED
"""The default of a field that must be there."""
OPTIONAL: Final = _Presence.OPTIONAL
"""The default of a field that may be left out, and is None then."""


@dataclass(frozen=True, slots=True)
class Field:  # numpydoc ignore=PR02
    """One entry of a header.

    Parameters
    ----------
    name : str
        Its key.
    kind : str
        Its type in words.
    bounds : str
        Its bounds in words.
    unit : str
        Its unit, or nothing.
    default : object
        What holds where it is left out, or `REQUIRED`, or `OPTIONAL`.
    doc : str
        What it means, as a clause.
    check : callable
        Takes a value of any type and returns it in one form, or raises `WireError`.
    """

    name: str
    kind: str
    bounds: str
    unit: str
    default: Any
    doc: str
    check: Callable[[Any], Any]


def _refusal(field: str, value: object, problem: str, remedy: str) -> WireError:
    return WireError("bad_field", field, value, problem, remedy)


def integer(
    field: str, least: int, most: int, doc: str, *, default: object = REQUIRED, unit: str = ""
) -> Field:
    """Return a field that holds an integer.

    Parameters
    ----------
    field : str
        Its name.
    least, most : int
        Its bounds, both included.
    doc : str
        What it means.
    default : object
        See `Field`.
    unit : str
        Its unit.

    Returns
    -------
    Field
        The field.
    """
    bounds = f"{_shown(least)}..{_shown(most)}"

    def check(value: Any) -> int:
        if type(value) is int and least <= value <= most:
            return value
        # Engines whose numbers are all floats may send whole ones.
        if type(value) is float and value.is_integer() and least <= value <= most:
            return int(value)
        raise _refusal(field, value, "is out of bounds", f"give an integer in {bounds}")

    return Field(field, "integer", bounds, unit, default, doc, check)


def number(
    field: str,
    least: float,
    most: float,
    doc: str,
    *,
    default: object = REQUIRED,
    unit: str = "",
    infinite: bool = False,
) -> Field:
    """Return a field that holds a number.

    Parameters
    ----------
    field : str
        Its name.
    least, most : float
        Its bounds, both included.
    doc : str
        What it means.
    default : object
        See `Field`.
    unit : str
        Its unit.
    infinite : bool
        Whether infinity is allowed above `most`.

    Returns
    -------
    Field
        The field.
    """
    bounds = f"{_shown(least)}..{_shown(most)}" + (" or inf" if infinite else "")

    def check(value: Any) -> float:
        if type(value) in (float, int) and (
            least <= value <= most or (infinite and value == math.inf)
        ):
            return float(value)
        raise _refusal(field, value, "is out of bounds", f"give a number in {bounds}")

    return Field(field, "number", bounds, unit, default, doc, check)


def flag(field: str, doc: str, *, default: object = False) -> Field:
    """Return a field that is true or false.

    Parameters
    ----------
    field : str
        Its name.
    doc : str
        What it means when true.
    default : object
        See `Field`.

    Returns
    -------
    Field
        The field.
    """

    def check(value: Any) -> bool:
        if type(value) is bool:
            return value
        raise _refusal(field, value, "is no boolean", "give true or false")

    return Field(field, "boolean", "", "", default, doc, check)


def text(field: str, doc: str, *, most: int = MAX_TEXT, default: object = REQUIRED) -> Field:
    """Return a field that holds text, perhaps none.

    Parameters
    ----------
    field : str
        Its name.
    doc : str
        What it means.
    most : int
        Most characters.
    default : object
        See `Field`.

    Returns
    -------
    Field
        The field.
    """

    def check(value: Any) -> str:
        if type(value) is str and len(value) <= most:
            return value
        raise _refusal(field, value, "is no text of allowed length", f"give 0..{most} characters")

    return Field(field, "text", f"0..{most} characters", "", default, doc, check)


def name(field: str, doc: str, *, default: object = REQUIRED) -> Field:
    """Return a field that holds a name: printable, and not empty.

    Parameters
    ----------
    field : str
        Its name.
    doc : str
        What it names.
    default : object
        See `Field`.

    Returns
    -------
    Field
        The field.
    """

    def check(value: Any) -> str:
        if type(value) is str and 0 < len(value) <= MAX_WORLD_NAME and value.isprintable():
            return value
        raise _refusal(field, value, "is no name", f"give 1..{MAX_WORLD_NAME} printable characters")

    bounds = f"1..{MAX_WORLD_NAME} printable characters"
    return Field(field, "name", bounds, "", default, doc, check)


def choice(field: str, choices: tuple[str, ...], doc: str, *, default: object = REQUIRED) -> Field:
    """Return a field that holds one of some words.

    Parameters
    ----------
    field : str
        Its name.
    choices : tuple of str
        The words.
    doc : str
        What it means.
    default : object
        See `Field`.

    Returns
    -------
    Field
        The field.
    """
    words = ", ".join(choices)

    def check(value: Any) -> str:
        if type(value) is str and value in choices:
            return value
        raise _refusal(field, value, "is none of the choices", f"give one of {words}")

    return Field(field, "word", words, "", default, doc, check)


def pair(
    field: str, least: int, most: int, doc: str, *, default: object = REQUIRED, unit: str = ""
) -> Field:
    """Return a field that holds two integers, such as a cell.

    Parameters
    ----------
    field : str
        Its name.
    least, most : int
        Bounds of both.
    doc : str
        What it means.
    default : object
        See `Field`.
    unit : str
        Their unit.

    Returns
    -------
    Field
        The field.
    """
    bounds = f"{_shown(least)}..{_shown(most)}"

    def check(value: Any) -> tuple[int, int]:
        if type(value) is list and len(value) == 2:
            x, y = value
            if type(x) is int and type(y) is int:
                if least <= x <= most and least <= y <= most:
                    return x, y
            elif all(type(v) in (int, float) and v == v // 1 for v in value) and all(
                least <= v <= most for v in value
            ):
                return int(x), int(y)
        raise _refusal(field, value, "is no pair", f"give [x, y], integers in {bounds}")

    return Field(field, "[x, y], integers", bounds, unit, default, doc, check)


def numbers(
    field: str, count: int, least: float, most: float, doc: str, *, default: object = REQUIRED
) -> Field:
    """Return a field that holds so many finite numbers.

    Parameters
    ----------
    field : str
        Its name.
    count : int
        How many.
    least, most : float
        Bounds of each.
    doc : str
        What they mean.
    default : object
        See `Field`.

    Returns
    -------
    Field
        The field.
    """
    bounds = f"{_shown(least)}..{_shown(most)}"

    def check(value: Any) -> list[float]:
        if (
            type(value) is list
            and len(value) == count
            and all(type(v) in (int, float) and least <= v <= most for v in value)
        ):
            return [float(v) for v in value]
        raise _refusal(field, value, "are not the numbers", f"give {count} numbers in {bounds}")

    return Field(field, f"array of {count} numbers", bounds, "", default, doc, check)


def texts(field: str, doc: str, *, default: object = REQUIRED) -> Field:
    """Return a field that holds a list of texts.

    Parameters
    ----------
    field : str
        Its name.
    doc : str
        What they mean.
    default : object
        See `Field`.

    Returns
    -------
    Field
        The field.
    """

    def check(value: Any) -> list[str]:
        if (
            type(value) is list
            and len(value) <= MAX_ITEMS
            and all(type(v) is str and len(v) <= MAX_TEXT for v in value)
        ):
            return value
        raise _refusal(field, value, "is no list of texts", f"give at most {MAX_ITEMS} texts")

    return Field(field, "array of texts", f"at most {MAX_ITEMS}", "", default, doc, check)


def words(field: str, choices: tuple[str, ...], doc: str, *, default: object = REQUIRED) -> Field:
    """Return a field that holds a list of some words, each at most once.

    Parameters
    ----------
    field : str
        Its name.
    choices : tuple of str
        The words.
    doc : str
        What it means.
    default : object
        See `Field`.

    Returns
    -------
    Field
        The field.
    """
    bounds = ", ".join(choices)

    def check(value: Any) -> list[str]:
        if (
            type(value) is list
            and all(type(word) is str and word in choices for word in value)
            and len(set(value)) == len(value)
        ):
            return value
        raise _refusal(field, value, "is no list of the choices", f"give some of {bounds}")

    return Field(field, "array of words", bounds, "", default, doc, check)


def weights(field: str, doc: str, *, default: object = OPTIONAL) -> Field:
    """Return a field that holds a map from names to numbers.

    Parameters
    ----------
    field : str
        Its name.
    doc : str
        What they mean.
    default : object
        See `Field`.

    Returns
    -------
    Field
        The field.
    """

    def check(value: Any) -> dict[str, float]:
        if (
            type(value) is dict
            and len(value) <= MAX_ITEMS
            and all(type(v) in (int, float) and math.isfinite(v) for v in value.values())
        ):
            return value
        raise _refusal(field, value, "is no map of numbers", "give names and finite numbers")

    return Field(field, "map of name to number", "finite", "", default, doc, check)


def _shown(bound: float) -> str:
    """Return a bound as people write it."""
    for power in (30, 31, 32, 53, 63):
        if bound == 2**power:
            return f"2^{power}"
        if bound == 2**power - 1:
            return f"2^{power} - 1"
        if bound == -(2**power):
            return f"-2^{power}"
    return f"{bound:g}" if isinstance(bound, float) else str(bound)


@dataclass(frozen=True, slots=True)
class Array:  # numpydoc ignore=PR02
    """One array that travels in a frame of its own.

    Parameters
    ----------
    name : str
        Its name.
    dtype : str
        A key of `DTYPES`.
    shape : tuple of int or str
        Its lengths: numbers, names of integer fields of the message, or other words, which mean
        the same length in every array of the message; ``"k + 1"`` is one more than ``"k"``.
    doc : str
        What it holds.
    unit : str
        Its unit.
    required : bool
        Whether it must be there.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    doc: str
    unit: str = ""
    required: bool = True
    _dtype: np.dtype[Any] = field(init=False, repr=False)
    # Of each length its word, or nothing, and the number, or what is added to the word's.
    _lengths: tuple[tuple[str, int], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Take the words of the shape apart."""
        lengths = []
        for length in self.shape:
            if isinstance(length, int):
                lengths.append(("", length))
            else:
                word, plus, _ = length.partition(" + 1")
                lengths.append((word, 1 if plus else 0))
        object.__setattr__(self, "_dtype", DTYPES[self.dtype])
        object.__setattr__(self, "_lengths", tuple(lengths))

    def check(self, array: NDArray[Any], lengths: dict[str, int]) -> None:
        """Refuse an array of another type or shape.

        Parameters
        ----------
        array : array
            What came.
        lengths : dict of str to int
            Lengths that are known by name; those of this array are added.

        Raises
        ------
        WireError
            ``bad_field``, naming the array.
        """
        if array.dtype != self._dtype or array.ndim != len(self._lengths):
            raise self._refusal(array, lengths)
        for (word, number), given in zip(self._lengths, array.shape, strict=True):
            known = lengths.setdefault(word, given - number) + number if word else number
            if known != given:
                raise self._refusal(array, lengths)

    def described(self) -> str:
        """Return its shape as the document writes it, such as ``n x 2``."""
        return " x ".join(map(str, self.shape))

    def _refusal(self, array: NDArray[Any], lengths: dict[str, int]) -> WireError:
        known = " x ".join(str(lengths.get(str(each), each)) for each in self.shape)
        return _refusal(
            self.name,
            f"{array.dtype} of shape {array.shape}",
            "is not the array asked for",
            f"give {self.dtype} of {self.described()}"
            + f" ({known})" * (known != self.described()),
        )
