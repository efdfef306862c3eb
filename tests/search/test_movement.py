"""Movements are values in one form; what is unfit is refused."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from navserver.search.costs import CostModel
from navserver.search.movement import MAX_BODY, Movement, check_keywords, movement_of
from navserver.search.moves import DiagonalMode
from navserver.search.profile import DEFAULT_PROFILE, Profile
from navserver.status import InputError, KeywordError


def test_defaults() -> None:
    movement = Movement()
    assert movement.profile == DEFAULT_PROFILE
    assert movement.diagonal_mode is DiagonalMode.ONLY_IF_NO_OBSTACLES
    assert movement.cost_model is CostModel.ENTERED
    assert movement.overlays == ()
    assert (movement.size, movement.radius) == (1, 0.0)


def test_equal_options_make_equal_movements() -> None:
    one = Movement(Profile({3: 2.0}), DiagonalMode(1), CostModel(2), {"b": 1, "a": 2.0, "off": 0})
    other = Movement(
        Profile({3: 2.0}),
        1,  # type: ignore[arg-type]
        np.int64(2),  # type: ignore[arg-type]
        {"a": 2, "b": np.float32(1.0)},
    )
    assert one == other
    assert hash(one) == hash(other)
    assert one.overlays == (("a", 2.0), ("b", 1.0))
    assert one != Movement(Profile({3: 2.0}), DiagonalMode(1), CostModel(2), {"a": 2.0})


def test_a_movement_made_of_its_own_parts_is_the_same() -> None:
    movement = Movement(overlays={"mud": 3.0}, radius=1.5)
    assert Movement(overlays=movement.overlays, radius=movement.radius) == movement


def test_the_space_depends_on_what_blocks_alone() -> None:
    walker = Movement(Profile({1: 2.0}), cost_model=CostModel.MEAN, overlays={"mud": 1.0})
    assert walker.space_key == Movement().space_key
    keys = {
        movement.space_key
        for movement in [
            Movement(),
            Movement(Profile({1: math.inf})),
            Movement(size=2),
            Movement(size=3),
            Movement(radius=2.0),
        ]
    }
    assert len(keys) == 5


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("profile", {"profile": {1: 2.0}}),
        ("profile", {"profile": None}),
        ("diagonal_mode", {"diagonal_mode": 4}),
        ("diagonal_mode", {"diagonal_mode": "NEVER"}),
        ("cost_model", {"cost_model": -1}),
        ("overlays", {"overlays": ["mud"]}),
        ("overlays", {"overlays": {3: 1.0}}),
        ("overlays['mud']", {"overlays": {"mud": -1.0}}),
        ("overlays['mud']", {"overlays": {"mud": math.nan}}),
        ("overlays['mud']", {"overlays": {"mud": math.inf}}),
        ("overlays['mud']", {"overlays": {"mud": "x"}}),
        ("size", {"size": 0}),
        ("size", {"size": 1.5}),
        ("size", {"size": MAX_BODY + 1}),
        ("radius", {"radius": -0.5}),
        ("radius", {"radius": math.nan}),
        ("radius", {"radius": math.inf}),
        ("radius", {"size": 2, "radius": 1.0}),
    ],
)
def test_unfit_options_are_refused(field: str, options: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        Movement(**options)
    assert caught.value.field == field


def query(start: int, weight: float = 1.0, **movement: Any) -> None:
    """A function that has taken the keywords."""


def test_equal_keywords_bring_the_same_movement() -> None:
    profile = Profile({3: 2.0})
    options: Any = {"profile": profile, "size": 2, "overlays": {"mud": 1.0}}
    movement = movement_of(options, query)
    assert movement == Movement(**options)
    assert movement_of({**options, "overlays": {"mud": 1.0}}, query) is movement
    assert movement_of({**options, "overlays": {"mud": 2.0}}, query) != movement
    assert movement_of({}, query) is movement_of({}, query)
    # What cannot be looked up is made all the same.
    assert movement_of({"overlays": MappingProxyType({"mud": 1.0})}, query).overlays


@pytest.mark.parametrize("size", [1.0, True, "1", [1]])
def test_what_equals_an_option_asked_for_before_is_checked_all_the_same(size: Any) -> None:
    movement_of({"size": 1}, query)
    if size is True:
        assert movement_of({"size": size}, query).size == 1
        return
    with pytest.raises(InputError, match="size"):
        movement_of({"size": size}, query)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("wieght", "did you mean weight?"),
        ("diagonal", "did you mean diagonal_mode?"),
        ("profil", "did you mean profile?"),
        (
            "zzz",
            "use start, weight, profile, diagonal_mode, cost_model, overlays, size, radius",
        ),
    ],
)
def test_unknown_keywords_are_told_the_nearest_one(name: str, remedy: str) -> None:
    options: Any = {"size": 2, name: [3]}
    for check in (check_keywords, movement_of):
        with pytest.raises(KeywordError) as caught:
            check(options, query)
        assert isinstance(caught.value, (InputError, TypeError))
        assert str(caught.value) == (
            f"{name}: [3] is for a keyword that query does not have; {remedy}"
        )
    check_keywords({"size": 2}, query)
