"""Columns: fresh rows, growth, and rows made fresh again."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from navserver.movers.columns import REST, Columns, EventFlag, MoverState


def test_fresh_rows_hold_the_defaults() -> None:
    columns = Columns.of(3)
    arrays = columns.arrays()
    assert list(arrays) == [spec.name for spec in fields(Columns)]
    for spec in fields(Columns):
        array = arrays[spec.name]
        assert array.dtype == spec.metadata["dtype"]
        assert array.shape == ((3,) if spec.metadata["width"] == 1 else (3, 2))
        assert (array == spec.metadata["default"]).all()
    assert (columns.state == MoverState.FREE).all()
    assert (columns.generation == 1).all()


def test_growth_keeps_rows_and_adds_fresh_ones() -> None:
    columns, longer = Columns.of(2), Columns.of(5)
    for array in columns.arrays().values():
        array[:] = 7
    columns.grow(5)
    for name, array in columns.arrays().items():
        assert (array[:2] == 7).all(), name
        assert (array[2:] == longer.arrays()[name][2:]).all(), name
        assert array.flags.c_contiguous


def test_reset_keeps_other_rows_and_the_generation() -> None:
    columns, fresh = Columns.of(4), Columns.of(4)
    for array in columns.arrays().values():
        array[:] = 7
    columns.reset(np.array([2, 0]))
    assert columns.generation.tolist() == [7, 7, 7, 7]
    for name, array in columns.arrays().items():
        assert (array[[1, 3]] == 7).all()
        if name != "generation":
            assert (array[[0, 2]] == fresh.arrays()[name][[0, 2]]).all(), name


def test_rest_outlasts_any_step() -> None:
    assert np.float32(REST) - np.float32(3600.0) == np.float32(REST)
    assert np.isfinite(np.float32(0.0) * np.float32(REST))


def test_event_flags_fit_their_column() -> None:
    assert sum(EventFlag) <= np.iinfo(np.uint8).max
    assert len({flag.value for flag in EventFlag}) == len(EventFlag)
