"""What the commands' arguments have in common: cells, names, numbers, one-line errors."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, NoReturn, TypeVar

from navserver.status import NavserverError

__all__ = [
    "Parser",
    "UsageError",
    "as_cell",
    "as_class_cost",
    "as_name",
    "as_number",
    "as_positive",
    "choices_of",
    "join_cells",
    "shown_name",
]

E = TypeVar("E", bound=IntEnum)


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

    def error(self, message: str) -> NoReturn:
        """Raise the error instead of printing the usage.

        Parameters
        ----------
        message : str
            What is wrong.
        """
        raise UsageError(f"{message}; see {self.prog} --help")


def join_cells(arguments: Sequence[str]) -> list[str]:
    """Join ``--from -3,4`` to ``--from=-3,4``, which argparse would take for an option.

    Parameters
    ----------
    arguments : sequence of str
        The command line.

    Returns
    -------
    list of str
        The same, joined where needed.
    """
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] in ("--from", "--to") and re.match(r"-\d+\s*,", argument):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


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
    match = re.fullmatch(r"\s*([+-]?\d{1,10})\s*,\s*([+-]?\d{1,10})\s*", text, re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a cell; give X,Y such as 3,4 or -3,4")
    return int(match[1]), int(match[2])


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
    if re.fullmatch(r"\d{1,18}", text, re.ASCII) is None or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


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
