"""What questions of a map are made of: their arguments, and answers in text, JSON and pictures."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import NDArray

from navserver.commands.arguments import as_cell
from navserver.commands.movement import Scene, chosen_cell

__all__ = [
    "Answer",
    "Cell",
    "Question",
    "add_cell",
    "add_cells",
    "add_ends",
    "cost_shown",
    "ends_of",
    "listed",
    "shown",
    "yes_or_no",
]

Cell = tuple[int, int]

MOST_LISTED = 20
"""Lines of a list in text; JSON has all."""


@dataclass(frozen=True)
class Answer:  # numpydoc ignore=PR01
    """What a question came to."""

    yes: bool
    """Whether the exit code is 0."""
    lines: list[str]
    """In text."""
    content: dict[str, Any]
    """In JSON."""
    drawing: dict[str, Any] = field(default_factory=dict)
    """Keywords of `save_picture` besides the map and its costs."""
    array: NDArray[Any] | None = None
    """What ``--npy`` writes, by [y, x]."""


class Question(NamedTuple):
    """One subcommand."""

    ask: Callable[[Any], None]
    """States its own arguments."""
    answer: Callable[[argparse.Namespace, Scene], Answer]
    help: str
    description: str
    example: str
    body: bool = True
    costs: bool = False
    picture: str = ""
    array: str = ""


def shown(cell: Any) -> str:
    """Return a cell as it is written on the command line.

    Parameters
    ----------
    cell : pair of int
        The cell (x, y).

    Returns
    -------
    str
        Such as ``3,4``.
    """
    x, y = cell
    return f"{int(x)},{int(y)}"


def yes_or_no(value: bool) -> str:
    """Return a truth value in words.

    Parameters
    ----------
    value : bool
        The value.

    Returns
    -------
    str
        ``yes`` or ``no``.
    """
    return "yes" if value else "no"


def cost_shown(value: float) -> str:
    """Return a cost in words.

    Parameters
    ----------
    value : float
        The cost, infinite without a way.

    Returns
    -------
    str
        ``none`` without a way.
    """
    return "none" if math.isinf(value) else f"{value:.9g}"


def listed(lines: list[str]) -> list[str]:
    """Return the first lines, and how many are left out.

    Parameters
    ----------
    lines : list of str
        All of them.

    Returns
    -------
    list of str
        At most `MOST_LISTED` of them and one more.
    """
    left_out = len(lines) - MOST_LISTED
    return lines if left_out <= 0 else [*lines[:MOST_LISTED], f"... and {left_out} more"]


def ends_of(arguments: argparse.Namespace, scene: Scene) -> tuple[Cell, list[Cell]]:
    """Return the start and the goals that were stated, or those of the map.

    Parameters
    ----------
    arguments : Namespace
        With those of `add_ends`.
    scene : Scene
        The map; a built-in one has a query of its own.

    Returns
    -------
    start : (int, int)
        A cell.
    goals : list of (int, int)
        At least one cell.
    """
    goals = arguments.goals or [chosen_cell(None, scene.goal, "--to")]
    return chosen_cell(arguments.start, scene.start, "--from"), goals


def add_cells(parser: Any, option: str, name: str, text: str, *, required: bool = False) -> None:
    """State an option that takes one or more cells.

    Parameters
    ----------
    parser : argparse parser
        Where it is added.
    option, name, text : str
        The option, where its cells are kept, its help.
    required : bool
        Whether it must be given.
    """
    parser.add_argument(
        option,
        dest=name,
        type=as_cell,
        action="extend",
        nargs="+",
        metavar="X,Y",
        required=required,
        help=text,
    )


def add_cell(parser: Any, option: str, name: str, text: str) -> None:
    """State an option that takes one cell.

    Parameters
    ----------
    parser : argparse parser
        Where it is added.
    option, name, text : str
        The option, where its cell is kept, its help.
    """
    parser.add_argument(option, dest=name, type=as_cell, metavar="X,Y", help=text)


def add_ends(parser: Any) -> None:
    """State the options for a start and goals.

    Parameters
    ----------
    parser : argparse parser
        Where they are added.
    """
    add_cell(parser, "--from", "start", "start cell")
    add_cells(parser, "--to", "goals", "goal cells")
