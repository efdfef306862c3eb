"""The map and the movement that the commands ask about: their arguments, and what these mean."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, TypeVar

from navserver.commands.arguments import (
    UsageError,
    as_class_cost,
    as_name,
    as_number,
    as_overlay,
    as_positive,
    choices_of,
    shown_name,
)
from navserver.maps.array import load_layer
from navserver.maps.builtin import BUILTIN_MAPS, load_builtin
from navserver.maps.loading import BUILTIN_PREFIX, load_map
from navserver.search.grid import CostModel, DiagonalMode, Grid, Profile
from navserver.search.movement import MovementOptions
from navserver.status import MapFileError

__all__ = [
    "MAPS_HELP",
    "MOVEMENT_ARGUMENTS",
    "Scene",
    "add_enum",
    "add_movement",
    "body_offset",
    "chosen_cell",
    "read_scene",
    "wants_color",
]

K = TypeVar("K", int, str)

MAPS_HELP = f"""\
maps: MovingAI .map, text .txt (. free, 1-9 classes, # wall), pictures (dark is a wall, grey
costs more than white), NumPy .npy (bool, uint8 or float), and generated ones that come with a
start, a goal and class costs: {", ".join(f"builtin:{name}" for name in BUILTIN_MAPS)}."""
"""What a help says about MAP."""

MOVEMENT_ARGUMENTS: Mapping[str, str] = {
    "diagonal_mode": "--diagonal-mode",
    "cost_model": "--cost-model",
    "class_costs": "--class-cost",
    "overlays": "--overlay",
    "size": "--size",
    "radius": "--radius",
}
"""Where the parsed arguments keep the movement, and the options that state it."""


class Scene(NamedTuple):
    """A map, and who moves on it."""

    grid: Grid
    start: tuple[int, int] | None
    """Where a generated map suggests to start."""
    goal: tuple[int, int] | None
    """Where a generated map suggests to go."""
    movement: MovementOptions
    """Keywords of `Movement`, the profile always among them."""


def add_enum(group: Any, option: str, kind: type[IntEnum], text: str) -> None:
    """State an option whose values are the members of an enum.

    Parameters
    ----------
    group : argparse group
        Where the option is added.
    option : str
        With its hyphens.
    kind : type of IntEnum
        The enum.
    text : str
        What the help says.
    """
    names = [shown_name(member) for member in kind]
    group.add_argument(option, type=as_name(names), metavar=choices_of(names), help=text)


def add_movement(parser: Any, *, body: bool = True, costs: bool = True) -> None:
    """State the options of the body, its steps and its costs.

    Parameters
    ----------
    parser : argparse parser
        Where they are added.
    body, costs : bool
        Whether the command asks for the body and its steps, and for what steps cost. What
        blocks can always be said.
    """
    parser.set_defaults(**dict.fromkeys(MOVEMENT_ARGUMENTS))
    group = parser.add_argument_group("movement")
    group.add_argument(
        "--class-cost",
        dest="class_costs",
        type=as_class_cost,
        action="extend",
        nargs="+",
        metavar="CLASS=COST",
        help="cost of the cells of a class, >= 0, or inf to block; others cost 1",
    )
    if body:
        add_enum(
            group,
            "--diagonal-mode",
            DiagonalMode,
            "when diagonal steps are allowed; default only-if-no-obstacles",
        )
        group.add_argument(
            "--size",
            type=as_positive,
            metavar="N",
            help="side of a square body in cells, anchored at its top left cell; default 1",
        )
        group.add_argument(
            "--radius",
            type=as_number,
            metavar="R",
            help="radius of a round body in cells, instead of --size",
        )
    if costs:
        add_enum(
            group,
            "--cost-model",
            CostModel,
            "a step costs its length times the cost of the cell entered (default), or times the "
            "mean or the product of both cells' costs",
        )
        group.add_argument(
            "--overlay",
            dest="overlays",
            type=as_overlay,
            action="extend",
            nargs="+",
            metavar="FILE=WEIGHT",
            help="add WEIGHT times the values of a .npy array of floats to the cells' costs",
        )


def read_scene(arguments: argparse.Namespace) -> Scene:
    """Load the map and put the movement together.

    Parameters
    ----------
    arguments : Namespace
        With `map`, and as `add_movement` states them.

    Returns
    -------
    Scene
        Bounds are left for the search to check.

    Raises
    ------
    MapFileError
        If the map or an overlay cannot be read, or they differ in size.
    UsageError
        If a class or an overlay is named twice.
    """
    start, goal = None, None
    class_costs: dict[int, float] = {}
    if arguments.map.startswith(BUILTIN_PREFIX):
        builtin = load_builtin(arguments.map.removeprefix(BUILTIN_PREFIX))
        grid, start, goal = builtin.grid, builtin.start, builtin.goal
        class_costs.update(builtin.class_costs)
    else:
        grid = load_map(arguments.map)
    class_costs.update(_each_once("--class-cost", arguments.class_costs))
    movement: MovementOptions = {"profile": Profile(class_costs)}
    if arguments.diagonal_mode is not None:
        movement["diagonal_mode"] = DiagonalMode[_member(arguments.diagonal_mode)]
    if arguments.cost_model is not None:
        movement["cost_model"] = CostModel[_member(arguments.cost_model)]
    if arguments.size is not None:
        movement["size"] = arguments.size
    if arguments.radius is not None:
        movement["radius"] = arguments.radius
    overlays = _each_once("--overlay", arguments.overlays)
    if overlays:
        for file in overlays:
            _add_layer(grid, file)
        movement["overlays"] = {_layer_name(file): weight for file, weight in overlays.items()}
    return Scene(grid, start, goal, movement)


def _each_once(option: str, pairs: Sequence[tuple[K, float]] | None) -> dict[K, float]:
    """Return what an option states, unless it states something twice."""
    stated: dict[K, float] = {}
    for name, value in pairs or []:
        if name in stated:
            raise UsageError(
                f"{option} {name} is given as {stated[name]:g} and as {value:g}; leave out one"
            )
        stated[name] = value
    return stated


def _member(name: str) -> str:
    return name.replace("-", "_").upper()


def _layer_name(file: str) -> str:
    """Return a file's name as text, whatever its bytes are."""
    return os.fsencode(file).decode("utf-8", "backslashreplace")


def _add_layer(grid: Grid, file: str) -> None:
    values = load_layer(file)
    height, width = values.shape
    if (width, height) != (grid.width, grid.height):
        raise MapFileError(
            file,
            None,
            f"{width} x {height} values for a map of {grid.width} x {grid.height} cells",
            "save an array of the map's size, indexed [y, x]",
        )
    grid.set_all(layers={_layer_name(file): values})


def body_offset(movement: Mapping[str, Any]) -> float:
    """Return how far a body's centre lies from its anchor's, in cells, along x and y.

    Parameters
    ----------
    movement : mapping
        Keywords of `Movement`.

    Returns
    -------
    float
        0 but for square bodies of more than one cell.
    """
    return 0.5 * (int(movement.get("size", 1)) - 1)


def wants_color() -> bool:
    """Return whether standard output shows ANSI colors.

    Returns
    -------
    bool
        False into files and where the environment asks for none.
    """
    return (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "") != "dumb"
        and os.name != "nt"
    )


def chosen_cell(
    given: tuple[int, int] | None, suggested: tuple[int, int] | None, option: str
) -> tuple[int, int]:
    """Return the cell that the command line gives, or else the map suggests.

    Parameters
    ----------
    given, suggested : (int, int) or None
        Either may be left out.
    option : str
        That gives the cell, with its hyphens.

    Returns
    -------
    (int, int)
        The cell.

    Raises
    ------
    UsageError
        If there is neither.
    """
    cell = suggested if given is None else given
    if cell is None:
        raise UsageError(f"{option} is missing; give a cell X,Y")
    return cell
