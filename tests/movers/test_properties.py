"""Properties: bounds, and errors that name the row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from navserver.movers.properties import (
    FURTHEST,
    PROPERTIES,
    checked_handles,
    checked_offsets,
    checked_positions,
    checked_property,
)
from navserver.status import InputError

GOOD: dict[str, list[Any]] = {
    "radius": [0, 0.5, 32],
    "max_speed": [0, 4.5, 1e6],
    "acceleration": [1e-3, 7, math.inf],
    "turn_rate": [1e-3, 7, math.inf],
    "slowing_distance": [0, 3.5],
    "arrival_radius": [0, 3.5],
    "priority": [0, 0.25, 1],
    "layers": [0, 1, 2**32 - 1],
    "mask": [0, 1, 2**32 - 1],
}
BAD: dict[str, list[Any]] = {
    "radius": [-0.1, 32.1, math.nan, math.inf],
    "max_speed": [-1, 1e7, math.nan, math.inf],
    "acceleration": [0, -1, math.nan, -math.inf],
    "turn_rate": [0, -1, math.nan],
    "slowing_distance": [-1, math.inf, math.nan],
    "arrival_radius": [-1, math.inf, math.nan],
    "priority": [-0.1, 1.1, math.nan],
    "layers": [-1, 2**32],
    "mask": [-1, 2**32],
}


def test_every_property_is_tried() -> None:
    assert set(GOOD) == set(BAD) == set(PROPERTIES)


@pytest.mark.parametrize("name", PROPERTIES)
def test_values_within_bounds_pass(name: str) -> None:
    dtype = np.uint32 if name in ("layers", "mask") else np.float32
    for value in GOOD[name]:
        one = checked_property(name, value, 3)
        assert one.shape == ()
        assert one.dtype == dtype
        assert one == dtype(value)
    many = checked_property(name, GOOD[name], len(GOOD[name]))
    assert many.tolist() == [dtype(value) for value in GOOD[name]]


@pytest.mark.parametrize("name", PROPERTIES)
def test_values_out_of_bounds_are_named(name: str) -> None:
    for value in BAD[name]:
        with pytest.raises(InputError, match=f"^{name}: .*is out of bounds; give"):
            checked_property(name, value, 3)
        with pytest.raises(InputError, match=rf"^{name}\[1\]: .*is out of bounds; give"):
            checked_property(name, [GOOD[name][0] or 1, value], 2)


@pytest.mark.parametrize("name", PROPERTIES)
@pytest.mark.parametrize("value", ["4", None, [1, 2], [[1], [2, 3]], [[1, 1, 1]], True, 1j, {}])
def test_what_is_no_number_a_mover_is_refused(name: str, value: object) -> None:
    with pytest.raises(InputError, match=f"^{name}: "):
        checked_property(name, value, 3)  # type: ignore[arg-type]


def test_layers_are_whole() -> None:
    with pytest.raises(InputError, match="integers"):
        checked_property("layers", 1.0, 1)


def test_positions() -> None:
    points = checked_positions("points", [(1, 2), (-FURTHEST, FURTHEST)])
    assert points.dtype == np.float32
    assert points.flags.c_contiguous
    assert points.tolist() == [[1, 2], [-FURTHEST, FURTHEST]]
    assert checked_positions("points", []).shape == (0, 2)
    assert checked_positions("points", np.empty((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("bad", [(math.nan, 0), (0, math.inf), (FURTHEST + 1, 0), (0, -1e300)])
def test_a_position_far_out_is_named(bad: tuple[float, float]) -> None:
    with pytest.raises(InputError, match=r"^points\[1\]: "):
        checked_positions("points", [(0, 0), bad])


@pytest.mark.parametrize("bad", [3, (1, 2), [(1, 2, 3)], [(1, 2), (3,)], "ab", [[["1", "2"]]]])
def test_what_is_no_list_of_points_is_refused(bad: Any) -> None:
    with pytest.raises(InputError, match=r"^points: "):
        checked_positions("points", bad)


def test_handles() -> None:
    given = np.array([5, 6])
    assert checked_handles("units", given) is given
    assert checked_handles("units", []).dtype == np.int64
    # Beyond int64: negative here, and nobody's.
    assert checked_handles("units", np.array([2**64 - 1], np.uint64)).tolist() == [-1]
    for bad in (3, [[1]], [1.0], ["1"], [[1], [2, 3]], None, [True]):
        with pytest.raises(InputError, match=r"^units: "):
            checked_handles("units", bad)  # type: ignore[arg-type]


def test_offsets() -> None:
    assert checked_offsets([0, 2, 2, 5], 3, 5).tolist() == [0, 2, 2, 5]
    assert checked_offsets([0], 0, 0).tolist() == [0]
    for bad in (
        [0, 2],
        [0, 2, 1, 5],
        [1, 2, 2, 5],
        [0, 2, 2, 4],
        [0.0, 2, 2, 5],
        None,
        [[0], [1, 2]],
    ):
        with pytest.raises(InputError, match=r"^offsets: "):
            checked_offsets(bad, 3, 5)  # type: ignore[arg-type]
