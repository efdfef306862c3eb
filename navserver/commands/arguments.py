"""What the commands' arguments have in common: cells, names, numbers, one-line errors."""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from enum import IntEnum
from typing import Any, NoReturn

from navserver.status import InputError, NavserverError

__all__ = [
    "Parser",
    "UsageError",
    "as_cell",
    "as_class_cost",
    "as_name",
    "as_number",
    "as_overlay",
    "as_point",
    "as_positive",
    "as_seed",
    "choices_of",
    "finite",
    "in_options",
    "protect_cells",
    "shown_name",
]

_LARGEST = 10**18 - 1
_CELL_OPTIONS = ("--from", "--to", "--at")


class UsageError(NavserverError):
    """The command line itself is wrong."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, raised as `UsageError`.

    Parameters
    ----------
    **keywords
        As for `argparse.ArgumentParser`; no abbreviations unless asked for.
    """

    def __init__(self, **keywords: Any) -> None:
        keywords.setdefault("allow_abbrev", False)
        keywords.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        if sys.version_info >= (3, 14):
            keywords.setdefault("color", False)
        super().__init__(**keywords)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and keep which option states what.

        Parameters
        ----------
        args, namespace
            As for `argparse.ArgumentParser`.

        Returns
        -------
        (Namespace, list of str)
            The former with `options`, from names of attributes to the options of the command
            that was chosen.

        Raises
        ------
        UsageError
            If that command does not know an argument.
        """
        parsed, rest = super().parse_known_args(args, namespace)
        if not hasattr(parsed, "options"):
            if rest:
                # Here, since the parser of all commands could only point at its own help.
                self.error(f"unrecognized arguments: {' '.join(rest)}{self._meant(rest[0])}")
            parsed.options = {
                action.dest: action.option_strings[0]
                for action in self._actions
                if action.option_strings
            }
        return parsed, rest

    def _meant(self, argument: str) -> str:
        """Return a hint at the option that an unknown one is most like."""
        known = [name for action in self._actions for name in action.option_strings]
        # Without the dashes, which make any two options alike.
        bare = {name.lstrip("-"): name for name in known if argument.startswith("-")}
        alike = get_close_matches(argument.partition("=")[0].lstrip("-"), bare, 1)
        return f"; did you mean {bare[alike[0]]}?" if alike else ""

    def error(self, message: str) -> NoReturn:
        """Raise the error instead of printing the usage.

        Parameters
        ----------
        message : str
            What is wrong.
        """
        raise UsageError(f"{message}; see {self.prog} --help")


# What the library calls that which the command line keeps under another name.
_OTHER_NAMES = {
    "cell": "goal",
    "cells": "at",
    "costs": "class_costs",
    "goal": "goals",
    "goals": "goal",
    "sources": "starts",
    "start": "starts",
    "starts": "start",
    "target": "goal",
}


def in_options(error: InputError, options: Mapping[str, str]) -> str:
    """Return the text of an error in the words of the command line.

    Parameters
    ----------
    error : InputError
        It names arguments of the library.
    options : mapping of str to str
        Which option states what, see `Parser.parse_known_args`.

    Returns
    -------
    str
        With the options' names.
    """
    name = re.split(r"[^a-z_]", error.field)[0]
    option = options.get(name) or options.get(_OTHER_NAMES.get(name, ""))
    text = str(error)
    if option is not None:
        text = option + text.removeprefix(error.field)
    return re.sub(
        r"\bpass ([a-z_]+)=True\b",
        lambda found: f"give {options[found[1]]}" if found[1] in options else found[0],
        text,
    )


def protect_cells(arguments: Sequence[str]) -> list[str]:
    """Put a space before the cell in ``--from -3,4``, which argparse would take for an option.

    Parameters
    ----------
    arguments : sequence of str
        The command line.

    Returns
    -------
    list of str
        The same, with spaces that the readers of cells and points leave out.
    """
    protected: list[str] = []
    option = ""
    for argument in arguments:
        if argument.startswith("--"):
            option = argument.partition("=")[0]
        elif option in _CELL_OPTIONS and re.match(r"-[\d.]+\s*,", argument):
            argument = f" {argument}"
        protected.append(argument)
    return protected


def as_cell(text: str) -> tuple[int, int]:
    """Read ``X,Y``.

    Parameters
    ----------
    text : str
        Two integers and a comma.

    Returns
    -------
    (int, int)
        The cell.
    """
    match = re.fullmatch(r"\s*([+-]?\d+)\s*,\s*([+-]?\d+)\s*", text, re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a cell; give X,Y such as 3,4 or -3,4")
    if max(len(number.lstrip("+-")) for number in match.groups()) > 10:
        raise argparse.ArgumentTypeError(f"{text!r} is too far out; stay within 2**30 cells")
    return int(match[1]), int(match[2])


def as_point(text: str) -> tuple[float, float]:
    """Read ``X,Y`` with decimals.

    Parameters
    ----------
    text : str
        Two decimal numbers and a comma.

    Returns
    -------
    (float, float)
        The point.
    """
    x, comma, y = text.partition(",")
    try:
        point = float(x), float(y)
    except ValueError:
        comma = ""
    if not comma:
        raise argparse.ArgumentTypeError(f"{text!r} is not a point; give X,Y such as 3.5,-4")
    return point


def as_overlay(text: str) -> tuple[str, float]:
    """Read ``FILE=WEIGHT``.

    Parameters
    ----------
    text : str
        A file's name and what its values are multiplied by.

    Returns
    -------
    (str, float)
        File and weight.
    """
    file, _, weight = text.rpartition("=")
    problem = f"{text!r} is not FILE=WEIGHT; give a file and a weight >= 0: danger.npy=2.5"
    if not file:
        raise argparse.ArgumentTypeError(problem)
    try:
        return file, float(weight)
    except ValueError:
        raise argparse.ArgumentTypeError(problem) from None


def as_class_cost(text: str) -> tuple[int, float]:
    """Read ``CLASS=COST``.

    Parameters
    ----------
    text : str
        A class from 0 to 255 and its cost, >= 0 or ``inf``.

    Returns
    -------
    (int, float)
        Class and cost.
    """
    match = re.fullmatch(r"(\d{1,3})=(\S+)", text, re.ASCII)
    problem = f"{text!r} is not CLASS=COST; give a class 0 to 255 and a cost >= 0 or inf: 1=2.5"
    if match is None or int(match[1]) > 255:
        raise argparse.ArgumentTypeError(problem)
    try:
        cost = float(match[2])
    except ValueError:
        raise argparse.ArgumentTypeError(problem) from None
    return int(match[1]), cost


def as_number(text: str) -> float:
    """Read a number.

    Parameters
    ----------
    text : str
        A decimal number.

    Returns
    -------
    float
        Its value; bounds are for the search to check.
    """
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def as_positive(text: str) -> int:
    """Read an integer of at least 1.

    Parameters
    ----------
    text : str
        Digits.

    Returns
    -------
    int
        Its value.
    """
    return _as_whole(text, 1)


def as_seed(text: str) -> int:
    """Read an integer of at least 0.

    Parameters
    ----------
    text : str
        Digits.

    Returns
    -------
    int
        Its value.
    """
    return _as_whole(text, 0)


def _as_whole(text: str, least: int) -> int:
    digits = re.fullmatch(r"0*(\d+)", text, re.ASCII)
    if digits is not None and len(digits[1]) > len(str(_LARGEST)):
        raise argparse.ArgumentTypeError(f"{text!r} is too large; give at most {_LARGEST}")
    if digits is None or int(digits[1]) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of {least} or more")
    return int(digits[1])


def shown_name(member: IntEnum) -> str:
    """Return an enum member's name as the command line writes it.

    Parameters
    ----------
    member : IntEnum
        Such as ``DiagonalMode.NEVER``.

    Returns
    -------
    str
        Lower case with hyphens.
    """
    return member.name.lower().replace("_", "-")


def choices_of(names: Sequence[str]) -> str:
    """Return names as the help shows a choice.

    Parameters
    ----------
    names : sequence of str
        All names.

    Returns
    -------
    str
        ``{a,b}``.
    """
    return "{" + ",".join(names) + "}"


def as_name(names: Sequence[str]) -> Callable[[str], str]:
    """Return a reader of one of the names, in any case, with hyphens or underscores.

    Parameters
    ----------
    names : sequence of str
        In lower case with hyphens.

    Returns
    -------
    callable
        From a text to the name.
    """

    def read(text: str) -> str:
        name = text.strip().lower().replace("_", "-")
        if name not in names:
            raise argparse.ArgumentTypeError(f"{text!r} is unknown; use {', '.join(names)}")
        return name

    return read


def finite(value: float) -> float | None:
    """Return a number as JSON can hold it.

    Parameters
    ----------
    value : float
        Perhaps infinite.

    Returns
    -------
    float or None
        None for what is infinite.
    """
    return value if math.isfinite(value) else None
