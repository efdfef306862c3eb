"""Saved tables whose checksums are right and whose contents were made up are refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from navserver.movers.archive import pack, unpack
from navserver.movers.columns import MoverState
from navserver.movers.movers import Movers
from navserver.movers.saving import hash_movers, load_movers, save_movers
from navserver.movers.stepper import Stepper
from navserver.search.grid import Grid
from navserver.status import InputError


def crowd(seed: int = 1) -> tuple[Movers, Stepper]:
    """Movers that avoid each other on a map with walls, of which some were removed."""
    random = np.random.default_rng(seed)
    walls = (random.random((24, 24)) < 0.15).astype(np.uint8) * 255
    movers = Movers(Grid(walls, region_position=(-3, 2)))
    free = np.argwhere(walls == 0)[:, ::-1] + (-3, 2)
    units = movers.add(random.permutation(free)[:40], radius=0.4, max_speed=3.0)
    stepper = Stepper(movers, threads=1, avoidance=True)
    stepper.order(units[:20], random.permutation(free)[0])
    stepper.order(units[20:], random.permutation(free)[:20])
    movers.remove(units[::9])
    return movers, stepper


CROWD, _STEPPER = crowd()
for _ in range(5):
    _STEPPER.step(0.1)
FACTS, ARRAYS = unpack("data", save_movers(CROWD))


@pytest.mark.parametrize("seed", range(2))
def test_whatever_a_crowd_comes_to_is_sound(seed: int) -> None:
    movers, stepper = crowd(seed)
    for _ in range(30):
        stepper.step(0.1)
        assert hash_movers(load_movers(movers.grid, save_movers(movers)))


def forged(name: str, change: Any) -> bytes:
    arrays = {key: array.copy() for key, array in ARRAYS.items()}
    arrays[name] = change(arrays[name])
    return pack(FACTS, arrays)


def put(value: float, row: int = -1) -> Any:
    def change(array: Any) -> Any:
        array[row] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("state", put(9)),
        ("state", put(MoverState.PATH, 0)),  # it was removed and has no route
        ("position", put(1e4)),
        ("target", put(np.nan)),
        ("goal", put(-50.0)),
        ("waypoints", put(np.inf)),
        ("waypoints", lambda array: array[:-1]),
        ("movement", put(1)),
        ("anchor", put(24 * 24)),
        ("seen_from", put(-2)),
        ("radius", put(1e9)),
        ("max_speed", put(np.nan)),
        ("velocity", put(np.inf)),
        ("route_counts", put(1 << 30)),
        ("route_passed", put(-1)),
        ("route_passed", put(1 << 30)),
        ("free_slots", put(1 << 40)),
        ("free_slots", put(1)),
        ("free_slots", lambda array: np.concatenate([array, array])),
        ("generation", lambda array: array[:-1]),
        ("position", lambda array: array.astype(np.float64)),
        ("position", lambda array: array.reshape(-1)),
        ("profile_costs", lambda array: array[:0]),
        ("profile_costs", lambda array: array[:, :5]),
    ],
)
def test_what_kernels_would_stumble_over_is_refused(name: str, change: Any) -> None:
    with pytest.raises(InputError):
        load_movers(CROWD.grid, forged(name, change))


@pytest.mark.parametrize(
    "facts",
    [
        None,
        [],
        {},
        {"kind": "movers"},
        {**FACTS, "movements": 5},
        {**FACTS, "movements": []},
        {**FACTS, "movements": [{}]},
        {**FACTS, "movements": [{**FACTS["movements"][0], "size": 99}]},
        {**FACTS, "movements": [{**FACTS["movements"][0], "overlays": [["a"]]}]},
        {**FACTS, "region": "here"},
    ],
)
def test_facts_that_were_made_up_are_refused(facts: Any) -> None:
    with pytest.raises(InputError):
        load_movers(CROWD.grid, pack(facts, ARRAYS))
    with pytest.raises(InputError):
        load_movers(CROWD.grid, pack(FACTS, {"state": ARRAYS["state"]}))


@pytest.mark.parametrize(
    "header",
    [
        "5",
        "[]",
        "{}",
        '{"version": 1}',
        '{"version": 1, "facts": {}, "arrays": [["a", "O", [1]]]}',
        '{"version": 1, "facts": {}, "arrays": [["a", "u1", [-5]]]}',
        '{"version": 1, "facts": {}, "arrays": [["a", "f8", [4000000000, 4000000000]]]}',
        "[" * 100_000,
    ],
)
def test_headers_that_were_made_up_are_refused(header: str) -> None:
    import hashlib

    whole = b"NAVARRAY" + len(header).to_bytes(4, "little") + header.encode()
    with pytest.raises(InputError):
        unpack("data", whole + hashlib.blake2b(whole, digest_size=16).digest())


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_table_with_any_bytes_changed_is_refused_or_steps(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(ARRAYS)))
    array = ARRAYS[name].copy()
    raw = array.reshape(-1).view(np.uint8)
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, raw.size - 1))] = data.draw(st.integers(0, 255))
    packed = pack(json.loads(json.dumps(FACTS)), {**ARRAYS, name: array})
    try:
        movers = load_movers(CROWD.grid, packed)
    except InputError:
        return
    stepper = Stepper(movers, threads=1, avoidance=True)
    for _ in range(3):
        stepper.step(0.1)
    assert np.isfinite(movers.position).all()
