"""Derived arrays stay right under edits, in little room and with many readers."""

from __future__ import annotations

import math
import sys
import threading
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.grid import (
    DiagonalMode,
    Grid,
    Profile,
)
from tests import reference as ref
from tests import strategies as sts
from tests.reference import Model

INF = math.inf
MODES = list(DiagonalMode)


def test_masks_keep_up_for_many_profiles_at_once() -> None:
    random = np.random.default_rng(7)
    model = Model(random.integers(0, 12, (17, 23)).astype(np.uint8))
    profiles = [Profile({i: INF, (5 * i + 1) % 12: INF}) for i in range(12)]
    grid = sts.grid_of(model)
    for profile in profiles:
        for mode in MODES:
            grid.move_masks(profile, mode)
    for _ in range(10):
        cell = (int(random.integers(23)), int(random.integers(17)))
        class_id = int(random.integers(12))
        model.put([cell], [class_id])
        grid.set_cell(cell, class_id)
        fresh = sts.grid_of(model)
        for profile in profiles:
            for mode in MODES:
                np.testing.assert_array_equal(
                    grid.move_masks(profile, mode), fresh.move_masks(profile, mode)
                )


@given(sts.models(12, plain=True), st.integers(1, 4), st.data())
def test_masks_are_right_when_few_are_kept(model: Model, kept: int, data: st.DataObject) -> None:
    grid = sts.grid_of(model)
    grid.derived.max_bytes = kept * model.classes.size
    profiles = [Profile({i: INF}) for i in range(4)]
    for _ in range(data.draw(st.integers(1, 6))):
        for profile in data.draw(st.lists(st.sampled_from(profiles), max_size=6)):
            mode = data.draw(st.sampled_from(MODES))
            np.testing.assert_array_equal(
                grid.move_masks(profile, mode),
                ref.move_masks(model, np.asarray(profile.costs), mode),
            )
            assert grid.memory_bytes()["derived"] <= grid.derived.max_bytes
        edit = data.draw(sts.edits(model))
        edit.apply_to_model(model)
        edit.apply_to_grid(grid)


def test_many_threads_may_read() -> None:
    classes = np.random.default_rng(0).integers(0, 200, (16, 16)).astype(np.uint8)
    model = Model(classes)
    rounds = 60
    failures: list[Exception] = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(3):
            grid = Grid(classes)
            # Little room, so that the threads drop what others build.
            grid.derived.max_bytes = 20 * classes.size
            together = threading.Barrier(4)

            def read(thread: int, grid: Grid = grid, together: Any = together) -> None:
                together.wait()
                try:
                    for i in range(rounds):
                        class_id, mode = (7 * i + thread) % 200, MODES[i % 4]
                        masks = grid.move_masks(Profile({class_id: INF}), mode)
                        grid.memory_bytes()
                        if i == rounds - 1:
                            expected = ref.move_masks(model, sts.table({class_id: INF}), mode)
                            np.testing.assert_array_equal(masks, expected)
                except Exception as failure:  # noqa: BLE001 - shown by the main thread
                    failures.append(failure)

            threads = [threading.Thread(target=read, args=(i,)) for i in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert failures == []
