"""Profiles: values, bounds, and what a mapping leaves unsaid."""

from __future__ import annotations

import copy
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.grid import (
    DEFAULT_PROFILE,
    SOLID,
    Profile,
)
from navserver.status import InputError
from tests import strategies as sts

INF, NAN = math.inf, math.nan
HUGE = 10**30


def test_the_default_profile_walks_on_all_but_walls() -> None:
    assert DEFAULT_PROFILE.costs.dtype == np.float32
    assert DEFAULT_PROFILE.costs.shape == (256,)
    np.testing.assert_array_equal(DEFAULT_PROFILE.costs[:255], np.ones(255))
    assert DEFAULT_PROFILE.costs[255] == INF
    assert Profile() == DEFAULT_PROFILE


@given(st.dictionaries(st.integers(0, 255), st.sampled_from(sts.CLASS_COSTS)))
def test_a_mapping_names_some_classes(mapping: dict[int, float]) -> None:
    np.testing.assert_array_equal(Profile(mapping).costs, sts.table(mapping))
    np.testing.assert_array_equal(
        Profile(mapping, default=2.5).costs, sts.table(mapping, default=2.5)
    )


def test_a_table_names_all_classes() -> None:
    costs = np.arange(256, dtype=np.float64)
    profile = Profile(costs)
    np.testing.assert_array_equal(profile.costs, costs)
    costs[3] = 99
    assert profile.costs[3] == 3
    assert Profile([1.0] * 256).costs[SOLID] == 1.0


def test_profiles_are_values() -> None:
    assert Profile({1: 2}) == Profile({1: 2.0})
    assert hash(Profile({1: 2})) == hash(Profile({1: 2.0}))
    assert Profile({1: 2}) != Profile({1: 3})
    assert Profile({1: 2}) != "Profile"
    assert Profile({255: INF}) == Profile()
    assert len({Profile(), Profile({4: 1}), Profile({4: 2})}) == 2
    with pytest.raises(ValueError, match="read-only"):
        Profile().costs[0] = 3


def test_equal_profiles_have_equal_hashes_with_a_negative_zero() -> None:
    minus, plus = Profile({0: -0.0}), Profile({0: 0.0})
    assert minus == plus
    assert hash(minus) == hash(plus)


@pytest.mark.parametrize(
    "cost",
    [NAN, -1.0, -INF, "much", None, -1e-30, 10**400, 1e39, [1]],
    ids=lambda cost: repr(cost)[:9],
)
def test_costs_that_are_none_are_refused(cost: Any) -> None:
    with pytest.raises(InputError, match="7"):
        Profile({7: cost})
    with pytest.raises(InputError, match="default"):
        Profile(default=cost)
    table: list[Any] = [1.0] * 256
    table[7] = cost
    with pytest.raises(InputError):
        Profile(table)


@pytest.mark.parametrize("class_id", [-1, 256, 1.5, "1", HUGE, None])
def test_classes_that_are_none_are_refused(class_id: Any) -> None:
    with pytest.raises(InputError):
        Profile({class_id: 1.0})


@pytest.mark.parametrize("shape", [(255,), (257,), (1, 256), ()])
def test_tables_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="256"):
        Profile(np.ones(shape))


@pytest.mark.parametrize(
    "copy_of", [copy.copy, copy.deepcopy, lambda profile: pickle.loads(pickle.dumps(profile))]
)
@pytest.mark.parametrize("profile", [Profile(), Profile({3: 2.5, 255: 1.0}, default=INF)])
def test_copies_are_equal_and_as_read_only(copy_of: Any, profile: Profile) -> None:
    other = copy_of(profile)
    assert other == profile
    assert hash(other) == hash(profile)
    assert other.blocked_key == profile.blocked_key
    with pytest.raises(ValueError, match="read-only"):
        other.costs[0] = 3


def test_profiles_of_other_processes_hash_alike() -> None:
    """Hashes of bytes differ from process to process; a set must find what came from another."""
    code = (
        "import pickle, sys; from navserver.search.profile import Profile; "
        "sys.stdout.buffer.write(pickle.dumps(Profile({3: 2.5})))"
    )
    checkout = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(checkout), "PYTHONHASHSEED": "17"},
        capture_output=True,
        check=True,
    )
    assert pickle.loads(done.stdout) in {Profile(), Profile({3: 2.5})}
