"""Movements are values in one form; what is unfit is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from navserver.search.costs import CostModel
from navserver.search.movement import MAX_BODY, Movement
from navserver.search.moves import DiagonalMode
from navserver.search.profile import DEFAULT_PROFILE, Profile
from navserver.status import InputError


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
