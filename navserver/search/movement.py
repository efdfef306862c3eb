"""How a body moves: the options that every query on a grid shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from navserver.search.costs import CostModel
from navserver.search.moves import DiagonalMode
from navserver.search.profile import DEFAULT_PROFILE, Profile
from navserver.search.validation import checked_enum, checked_weight
from navserver.status import InputError

__all__ = ["Movement", "MovementOptions"]


class MovementOptions(TypedDict, total=False):
    """Keywords of `Movement`, which queries take as their own."""

    profile: Profile
    diagonal_mode: DiagonalMode
    cost_model: CostModel
    overlays: Mapping[str, float] | None


@dataclass(frozen=True, slots=True)
class Movement:
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

    Raises
    ------
    InputError
        If an option is out of its bounds.
    """

    profile: Profile = DEFAULT_PROFILE
    diagonal_mode: DiagonalMode = DiagonalMode.ONLY_IF_NO_OBSTACLES
    cost_model: CostModel = CostModel.ENTERED
    overlays: Any = ()

    def __post_init__(self) -> None:
        """Check the options and bring them into one form."""
        if not isinstance(self.profile, Profile):
            raise InputError("profile", self.profile, "is not a Profile", "make one of class costs")
        checked = {
            "diagonal_mode": checked_enum("diagonal_mode", self.diagonal_mode, DiagonalMode),
            "cost_model": checked_enum("cost_model", self.cost_model, CostModel),
            "overlays": _checked_overlays(self.overlays),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def space_key(self) -> tuple[object, ...]:
        """What decides where the body may stand: equal for movements that block alike."""
        return (self.profile.blocked_key,)


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
