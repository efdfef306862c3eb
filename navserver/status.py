"""Outcomes of a search, their details, and the exceptions of the package."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from os import PathLike, fspath
from typing import Any

__all__ = [
    "CellError",
    "Detail",
    "GridChangedError",
    "InputError",
    "KeywordError",
    "MapFileError",
    "NavserverError",
    "NoPathError",
    "Status",
]


class Status(IntEnum):
    """How a search ended. On the command line and the wire: the name in lower case."""

    FOUND = 0
    PARTIAL = 1
    UNREACHABLE = 2
    START_BLOCKED = 3
    GOAL_BLOCKED = 4
    LIMIT = 5
    CANCELLED = 6


class Detail(IntFlag):
    """Why a search ended as it did, where the status alone does not tell."""

    NONE = 0
    UNREACHABLE = 1
    GOAL_BLOCKED = 2
    EXPANSION_LIMIT = 4
    COST_LIMIT = 8
    CANCELLED = 16


class NavserverError(Exception):
    """Base of every exception that the package raises on purpose."""


class InputError(NavserverError, ValueError):
    """An argument is out of its bounds.

    Parameters
    ----------
    field : str
        The argument's name.
    value : object
        What was given.
    problem : str
        What is wrong with it, as the rest of a sentence.
    remedy : str
        What to do, as a clause.
    """

    def __init__(self, field: str, value: object, problem: str, remedy: str) -> None:
        # One line, whatever the value prints.
        shown = " ".join(repr(value).split())
        if len(shown) > 120:
            shown = f"{shown[:100]}... ({len(shown)} characters)"
        super().__init__(f"{field}: {shown} {problem}; {remedy}")
        self.field = field
        self.value = value
        self.problem = problem
        self.remedy = remedy

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what rebuilds it: it must come out of the processes of a pool."""
        return type(self), (self.field, self.value, self.problem, self.remedy)


class CellError(InputError):
    """A cell or rectangle lies outside the map."""


class KeywordError(InputError, TypeError):
    """A keyword that the function called does not have."""


class MapFileError(InputError):
    """A file cannot be read as what it claims to be.

    Parameters
    ----------
    path : path-like
        The file.
    line : int or None
        The line of the fault, counted from 1, where there is one.
    reason : str
        What is wrong.
    remedy : str
        What to do, as a clause.
    """

    def __init__(
        self, path: str | PathLike[str], line: int | None, reason: str, remedy: str
    ) -> None:
        where = fspath(path) if line is None else f"{fspath(path)}:{line}"
        NavserverError.__init__(self, f"{where}: {reason}; {remedy}")
        self.field = "path"
        self.value = fspath(path)
        self.problem = reason
        self.remedy = remedy
        self.line = line

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what rebuilds it."""
        return type(self), (self.value, self.line, self.problem, self.remedy)


class GridChangedError(NavserverError, RuntimeError):
    """The grid was edited between two slices of one search."""


class NoPathError(NavserverError, RuntimeError):
    """A path was required, and the search ended without a whole one."""
