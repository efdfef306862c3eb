"""The options of requests as the core takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from navserver.search.costs import CostModel
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from navserver.search.profile import Profile
from navserver.service.requests import SearchOptions
from navserver.service.world import World

__all__ = ["movement_of", "search_options_of"]

_MOST_KEPT = 1024
_DIAGONAL_MODES = tuple(DiagonalMode)
_COST_MODELS = tuple(CostModel)

# A key has the profile's id, since to hash a profile takes longer; the value holds the profile.
_movements: dict[tuple[Any, ...], Movement] = {}
_options: dict[tuple[Any, ...], SearchOptions] = {}


def movement_of(world: World, fields: Mapping[str, Any]) -> Movement:
    """Return the movement that a request states.

    Parameters
    ----------
    world : World
        Whose profiles are meant.
    fields : mapping of str to object
        Of a request with the movement's fields.

    Returns
    -------
    Movement
        The same object for equal fields, as long as it is remembered.

    Raises
    ------
    InputError
        If the world has no such profile, or an option is out of its bounds.
    """
    profile = world.profile(fields["profile"])
    key = _movement_key(profile, fields)
    found = _movements.get(key)
    if found is None:
        found = _movement(profile, fields)
        _remember(_movements, key, found)
    return found


def _movement_key(profile: Profile, fields: Mapping[str, Any]) -> tuple[Any, ...]:
    overlays = fields.get("overlays")
    return (
        id(profile),
        fields["diagonal_mode"],
        fields.get("cost_model", 0),
        fields["size"],
        fields["radius"],
        tuple(overlays.items()) if overlays else (),
    )


def _movement(profile: Profile, fields: Mapping[str, Any]) -> Movement:
    return Movement(
        profile=profile,
        diagonal_mode=_DIAGONAL_MODES[fields["diagonal_mode"]],
        cost_model=_COST_MODELS[fields.get("cost_model", 0)],
        overlays=fields.get("overlays"),
        size=fields["size"],
        radius=fields["radius"],
    )


def search_options_of(world: World, fields: Mapping[str, Any]) -> SearchOptions:
    """Return the search options that a request states.

    Parameters
    ----------
    world : World
        Whose profiles are meant.
    fields : mapping of str to object
        Of a request with the fields of movement and search.

    Returns
    -------
    SearchOptions
        The same object for equal fields, as long as it is remembered.

    Raises
    ------
    InputError
        As for `movement_of`.
    """
    profile = world.profile(fields["profile"])
    key = (
        *_movement_key(profile, fields),
        fields["weight"],
        fields["max_expansions"],
        fields["max_cost"],
        fields["allow_partial"],
    )
    found = _options.get(key)
    if found is None:
        found = SearchOptions(
            _movement(profile, fields),
            weight=fields["weight"],
            max_expansions=fields["max_expansions"],
            max_cost=fields["max_cost"],
            allow_partial=fields["allow_partial"],
        )
        _remember(_options, key, found)
    return found


def _remember(kept: dict[Any, Any], key: Any, value: Any) -> None:
    if len(kept) >= _MOST_KEPT:
        kept.clear()
    kept[key] = value
