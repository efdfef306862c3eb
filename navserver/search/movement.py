"""How a body moves: the options that every query on a grid shares."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypedDict

import numpy as np

from navserver.search.costs import CostModel
from navserver.search.moves import DiagonalMode
from navserver.search.profile import DEFAULT_PROFILE, Profile
from navserver.search.validation import checked_enum, checked_number, checked_weight
from navserver.status import InputError, KeywordError

__all__ = ["MAX_BODY", "Movement", "MovementOptions", "check_keywords", "movement_of"]

MAX_BODY = 32
"""Most cells of a square body's side, and of a disc's radius."""


class MovementOptions(TypedDict, total=False):
    """Keywords of `Movement`, which queries take as their own."""

    profile: Profile
    diagonal_mode: DiagonalMode
    cost_model: CostModel
    overlays: Mapping[str, float] | None
    size: int
    radius: float


@dataclass(frozen=True, slots=True)
class Movement:  # numpydoc ignore=PR02
    """What a body pays and where it may step.

    Parameters
    ----------
    profile : Profile
        Cost of each cell class; default 1, `SOLID` blocks.
    diagonal_mode : DiagonalMode
        When diagonal steps are allowed; default ONLY_IF_NO_OBSTACLES.
    cost_model : CostModel
        How a step's cost follows from its two cells; default ENTERED.
    overlays : mapping of str to float, optional
        Weight, finite and >= 0, of each of the grid's layers that counts. Kept as a tuple of
        pairs in the order of the names, without weights of 0.
    size : int
        Side of a square body in cells, 1 to `MAX_BODY`. It is anchored at its top left cell:
        it fits where all its cells are walkable and on the map, and pays for the anchor's cell.
    radius : float
        Radius of a round body in world units, >= 0 and at most `MAX_BODY` cells. It fits where
        the distance from its cell's centre to the nearest blocked cell's square is no less; the
        border of the map counts as wall. Under a transform that stretches the axes unequally the
        radius counts as if the smallest stretch held in every direction, so that a body never
        touches a wall. Either `size` or `radius` may be given.

    Raises
    ------
    InputError
        If an option is out of its bounds.
    """

    profile: Profile = DEFAULT_PROFILE
    diagonal_mode: DiagonalMode = DiagonalMode.ONLY_IF_NO_OBSTACLES
    cost_model: CostModel = CostModel.ENTERED
    overlays: Any = ()
    size: int = 1
    radius: float = 0.0

    def __post_init__(self) -> None:
        """Check the options and bring them into one form."""
        if not isinstance(self.profile, Profile):
            raise InputError("profile", self.profile, "is not a Profile", "make one of class costs")
        checked = {
            "diagonal_mode": checked_enum("diagonal_mode", self.diagonal_mode, DiagonalMode),
            "cost_model": checked_enum("cost_model", self.cost_model, CostModel),
            "overlays": _checked_overlays(self.overlays),
            "size": _checked_size(self.size),
            "radius": checked_number("radius", self.radius, 0.0, "give a finite number >= 0"),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.size > 1 and self.radius > 0.0:
            raise InputError(
                "radius", self.radius, f"does not go with size {self.size}", "leave out one of them"
            )

    @property
    def space_key(self) -> tuple[object, ...]:
        """What decides where the body may stand: equal for movements that block alike."""
        if self.size > 1 or self.radius > 0.0:
            return (self.profile.blocked_key, self.size, self.radius)
        return (self.profile.blocked_key,)


def _checked_size(size: object) -> int:
    if isinstance(size, (int, np.integer)) and 1 <= size <= MAX_BODY:
        return int(size)
    raise InputError(
        "size", size, "is not the side of a body", f"give a whole number of cells, 1 to {MAX_BODY}"
    )


def _checked_overlays(overlays: object) -> tuple[tuple[str, float], ...]:
    if overlays is None:
        return ()
    try:
        pairs = dict(overlays)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise InputError("overlays", overlays, "is not a mapping", "give {layer: weight}") from None
    for name, weight in pairs.items():
        if not isinstance(name, str):
            raise InputError("overlays", name, "is not a layer's name", "give a string")
        pairs[name] = checked_weight(f"overlays[{name!r}]", weight)
    return tuple(sorted((name, weight) for name, weight in pairs.items() if weight > 0.0))


_KEYWORDS = MovementOptions.__annotations__.keys()


def check_keywords(options: Mapping[str, Any], function: Callable[..., Any]) -> None:
    """Refuse keywords that `Movement` does not have.

    Parameters
    ----------
    options : mapping
        What a function has taken as ``**movement``.
    function : callable
        The function or class, whose own keywords a slip may have meant.

    Raises
    ------
    KeywordError
        Names the first one, and the keyword most like it.
    """
    if options.keys() <= _KEYWORDS:
        return
    name = next(name for name in options if name not in _KEYWORDS)
    own = inspect.signature(function).parameters.values()
    known = [parameter.name for parameter in own if parameter.kind != parameter.VAR_KEYWORD]
    known += [keyword for keyword in _KEYWORDS if keyword not in known]
    alike = get_close_matches(name, known, 1)
    raise KeywordError(
        name,
        options[name],
        f"is for a keyword that {function.__name__} does not have",
        f"did you mean {alike[0]}?" if alike else f"use {', '.join(known)}",
    )


def movement_of(options: MovementOptions, function: Callable[..., Any]) -> Movement:
    """Return the movement that a query's keywords state.

    Parameters
    ----------
    options : MovementOptions
        Keywords of `Movement`.
    function : callable
        The function or class that has taken them; for errors.

    Returns
    -------
    Movement
        The same object for the same keywords, as long as they are among the last ones asked for:
        to make one takes longer than to answer many a query.

    Raises
    ------
    InputError
        If an option is out of its bounds.
    KeywordError
        If it is no option.
    """
    overlays = options.get("overlays")
    if type(overlays) is dict:
        options = {**options, "overlays": tuple(overlays.items())}  # type: ignore[typeddict-item]
    try:
        return _kept_movement(**options)
    except TypeError:
        # No option, or nothing that could be looked up.
        check_keywords(options, function)
        return Movement(**options)


@functools.lru_cache(maxsize=64, typed=True)
def _kept_movement(**options: Any) -> Movement:
    return Movement(**options)
