"""Checks of arguments: what is taken comes in one form, the rest names field and remedy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search import validation
from navserver.search.moves import DiagonalMode
from navserver.status import InputError

INF, NAN = math.inf, math.nan


def refused(check: Any, *arguments: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        check("speed", *arguments)
    error = caught.value
    assert error.field.startswith("speed")
    assert error.problem
    assert error.remedy
    return error


@pytest.mark.parametrize("given_as", [(3, -4), [3, -4], np.array([3, -4], np.int16)])
def test_positions_come_as_ints(given_as: Any) -> None:
    position = validation.checked_position("speed", given_as)
    assert position == (3, -4)
    assert [type(number) for number in position] == [int, int]


@pytest.mark.parametrize(
    "position", [(1,), (1, 2, 3), (1.0, 2), "ab", 7, None, (2**30 + 1, 0), (0, -(10**30))]
)
def test_unfit_positions(position: Any) -> None:
    refused(validation.checked_position, position)


def test_the_farthest_positions_are_taken() -> None:
    assert validation.checked_position("speed", (2**30, -(2**30))) == (2**30, -(2**30))


@pytest.mark.parametrize("shape", [(2,), (0, 2), (3, 2), (4, 5, 2)])
def test_points_keep_their_shape(shape: tuple[int, ...]) -> None:
    points = validation.checked_points("speed", np.ones(shape, np.int8))
    assert points.dtype == np.float64
    assert points.shape == shape


@pytest.mark.parametrize("points", [3, [1, 2, 3], "ab", [[1, 2], [3]], [["a", "b"]], [10**400, 1]])
def test_unfit_points(points: Any) -> None:
    refused(validation.checked_points, points)


@given(st.floats(0, 1e38))
def test_weights_are_taken_as_they_are(weight: float) -> None:
    assert validation.checked_weight("speed", weight) == weight


@pytest.mark.parametrize("weight", [-1e-300, -1, NAN, INF, 1e39, "1", None, 1j])
def test_unfit_weights(weight: Any) -> None:
    assert refused(validation.checked_weight, weight).value is weight


def test_no_transform_is_the_identity() -> None:
    matrix = validation.checked_transform(None)
    np.testing.assert_array_equal(matrix, [[1, 0, 0], [0, 1, 0]])
    assert not matrix.flags.writeable


def test_a_transform_is_copied() -> None:
    given_as = np.array([[2.0, 1.0, -5.0], [0.0, 3.0, 7.0]])
    matrix = validation.checked_transform(given_as)
    given_as[:] = 0.0
    np.testing.assert_array_equal(matrix, [[2, 1, -5], [0, 3, 7]])


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_transforms_of_any_scale(scale: float) -> None:
    matrix = np.array([[scale, scale, 0.0], [-scale, scale, 0.0]])
    np.testing.assert_array_equal(validation.checked_transform(matrix), matrix)
    with pytest.raises(InputError, match="cannot be inverted"):
        validation.checked_transform([[scale, 2 * scale, 0], [2 * scale, 4 * scale, 0]])


@pytest.mark.parametrize("values", [5, [[1, 2], [3, 4]]])
def test_classes_come_as_bytes(values: Any) -> None:
    array = validation.checked_values("speed", values, np.uint8, (2, 2))
    assert array.dtype == np.uint8
    np.testing.assert_array_equal(array, values)


def test_numbers_come_as_float32() -> None:
    array = validation.checked_values("speed", [[1, 2], [3, 4]], np.float32, (2, 2))
    assert array.dtype == np.float32


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2], np.uint8),
        ([[1, 2], [3]], np.uint8),
        (1.0, np.uint8),
        ("a", np.uint8),
        (256, np.uint8),
        (-1, np.uint8),
        ([1.0, 2.0], np.float32),
        ("a", np.float32),
        (NAN, np.float32),
        (INF, np.float32),
        (1e39, np.float32),
        (-1e-30, np.float32),
    ],
)
def test_unfit_values(values: Any, dtype: Any) -> None:
    refused(validation.checked_values, values, dtype, (2, 2))


def test_a_bad_value_names_its_cell() -> None:
    error = refused(
        validation.checked_values,
        [[1.0, 2.0], [3.0, -4.0]],
        np.float32,
        (2, 2),
        lambda position: (position[1] + 10, position[0] + 20),
    )
    assert error.field == "speed of cell (11, 21)"
    assert error.value == -4.0


def test_walls_as_booleans_are_shown_the_way() -> None:
    with pytest.raises(InputError, match="from_blocked"):
        validation.checked_classes(np.zeros((2, 2), np.bool_))


@pytest.mark.parametrize("value", [1, DiagonalMode.NEVER, np.int64(1)])
def test_members_are_found_by_value(value: Any) -> None:
    assert validation.checked_enum("speed", value, DiagonalMode) is DiagonalMode.NEVER


@pytest.mark.parametrize("value", [4, "NEVER", None, [1]])
def test_unknown_members_are_told_the_choice(value: Any) -> None:
    error = refused(validation.checked_enum, value, DiagonalMode)
    for mode in DiagonalMode:
        assert mode.name in error.remedy


@pytest.mark.parametrize("value", [1, 1.0, np.float32(2.5), np.int8(3), 1e300])
def test_numbers_from_their_bound(value: Any) -> None:
    assert validation.checked_number("speed", value, 1.0, "give more") == value


@pytest.mark.parametrize("value", [0.999, NAN, INF, "1", None, 10**400])
def test_numbers_out_of_bounds(value: Any) -> None:
    assert refused(validation.checked_number, value, 1.0, "give more").remedy == "give more"


@pytest.mark.parametrize(
    ("value", "count"),
    [(1, 1), (np.uint8(200), 200), (None, validation.UNLIMITED), (10**40, validation.UNLIMITED)],
)
def test_counts(value: Any, count: int) -> None:
    assert validation.checked_count("speed", value) == count


@pytest.mark.parametrize("value", [0, -1, 1.0, NAN, "1"])
def test_unfit_counts(value: Any) -> None:
    refused(validation.checked_count, value)


@pytest.mark.parametrize(
    ("value", "flag"), [(True, True), (np.bool_(False), False), (1, True), (np.int8(0), False)]
)
def test_flags(value: Any, flag: bool) -> None:
    assert validation.checked_flag("speed", value) is flag


@pytest.mark.parametrize(
    "value", ["no", 2, -1, 1.0, None, [], np.array([True, False]), np.array(True)]
)
def test_what_is_no_flag(value: Any) -> None:
    refused(validation.checked_flag, value)


def test_callbacks() -> None:
    assert validation.checked_callback("speed", print) is print
    assert validation.checked_callback("speed", None) is None
    for value in (0, "print", [print]):
        refused(validation.checked_callback, value)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64])
def test_cells_come_as_int64(dtype: Any) -> None:
    cells = validation.checked_cells("speed", np.array([[1, 2]], dtype))
    assert (cells.dtype, cells.tolist()) == (np.int64, [[1, 2]])
    for none in ([], (), np.empty((0, 3)), [[]]):
        assert validation.checked_cells("speed", none).shape == (0, 2)


@pytest.mark.parametrize(
    "cells", [5, [1, 2], [[1]], [[1.0, 2.0]], [[1, 2], [3]], "ab", [[2**63, 0]], [[[1, 2]]]]
)
def test_unfit_cells(cells: Any) -> None:
    refused(validation.checked_cells, cells)
