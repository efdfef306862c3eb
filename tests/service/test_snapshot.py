from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.grid import Grid
from navserver.search.profile import Profile
from navserver.service.snapshot import (
    DIGEST_SIZE,
    MAGIC,
    load_worlds,
    pack_worlds,
    restore_worlds,
    save_worlds,
    unpack_worlds,
)
from navserver.service.world import World, Worlds
from navserver.status import InputError
from tests.strategies import models


def cave() -> World:
    world = World(
        "cave", Grid.filled(7, 5, region_position=(-3, 2), transform=[[2, 0, 1], [0, 3, 4]])
    )
    world.set_cells([(0, 3)], 255, cell_scale=0.5, layers={"fog": 2.0})
    world.set_profile("boat", Profile({3: 0.1}, default=float("inf")))
    return world


@given(models())
def test_a_world_comes_back_as_it_was(model: Any) -> None:
    world = World("map", Grid(model.classes, **model.keywords()))
    world.set_cells([world.replicas.grid.region_position], 3)
    [restored] = unpack_worlds(pack_worlds([world]))
    assert restored.name == "map"
    assert restored.map_hash() == world.map_hash()
    assert restored.profiles == world.profiles


def test_profiles_regions_and_transforms_come_back() -> None:
    world = cave()
    [restored] = unpack_worlds(pack_worlds([world]))
    assert restored.profiles == world.profiles
    for name in ("version", "region_position", "transform", "layers", "has_cell_scale"):
        assert restored.info()[name] == world.info()[name]
    assert restored.lineage == world.lineage
    assert restored.set_cells([(0, 3)], 0).version == 3


def test_every_flipped_byte_and_every_cut_is_noticed() -> None:
    packed = pack_worlds([cave()])
    for i in range(len(packed)):
        broken = bytearray(packed)
        broken[i] ^= 0x10
        with pytest.raises(InputError, match="snapshot"):
            unpack_worlds(bytes(broken))
        with pytest.raises(InputError, match="snapshot"):
            unpack_worlds(packed[:i])
    with pytest.raises(InputError, match="snapshot"):
        unpack_worlds(packed + b"x")


def signed(header: Any, blobs: bytes) -> bytes:
    body = MAGIC + json.dumps(header).encode() + b"\n" + blobs
    return body + hashlib.blake2b(body, digest_size=DIGEST_SIZE).digest()


BLOB = zlib.compress(bytes(6))


def header(**changes: Any) -> Any:
    world = {
        "name": "map", "lineage": "5f", "version": 4, "width": 3, "height": 2,
        "region_position": [0, 0],
        "transform": [[1, 0, 0], [0, 1, 0]], "profiles": {},
        "arrays": [{"name": "classes", "bytes": len(BLOB)}],
    }  # fmt: skip
    return {"worlds": [{**world, **changes}]}


def test_a_header_by_hand_is_accepted() -> None:
    [world] = unpack_worlds(signed(header(), BLOB))
    assert (world.name, world.lineage, world.version) == ("map", "5f", 4)
    assert world.info()["width"] == 3


@pytest.mark.parametrize(
    ("described", "blobs"),
    [
        ([], BLOB),
        ({"worlds": 5}, BLOB),
        (header(width=0), BLOB),
        (header(width=3.0), BLOB),
        (header(width=9000, height=9000), BLOB),
        (header(width=8192, height=8192), zlib.compress(bytes(1 << 20))),
        (header(width=2), BLOB),
        (header(arrays=[]), b""),
        (header(arrays=[{"name": "classes", "bytes": 10**9}]), BLOB),
        (header(arrays=[{"name": "classes", "bytes": -1}]), BLOB),
        (header(arrays=[{"name": "classes", "bytes": len(BLOB)}] * 2), BLOB),
        (header(name=""), BLOB),
        (header(region_position=[0, "x"]), BLOB),
        (header(transform=[[0, 0, 0], [0, 0, 0]]), BLOB),
        (header(profiles={"boat": [1.0]}), BLOB),
        (header(profiles={"boat": [-1.0] * 256}), BLOB),
        (header(version="x"), BLOB),
        (header(lineage=""), BLOB),
        (header(lineage="5" * 65), BLOB),
        (header(lineage=5), BLOB),
        (header(version=0), BLOB),
        (header(), b"no deflate"[: len(BLOB)].ljust(len(BLOB))),
        (header(), BLOB + b"more"),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(described: Any, blobs: bytes) -> None:
    with pytest.raises(InputError):
        unpack_worlds(signed(described, blobs))


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_by_name(noise: bytes) -> None:
    for packed in (noise, MAGIC + noise, MAGIC + b"{}\n" + noise):
        with pytest.raises(InputError, match="snapshot"):
            unpack_worlds(packed)


def test_a_file_is_replaced_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "worlds.snapshot"
    size = save_worlds(path, [cave()])
    before = path.read_bytes()
    assert size == len(before)
    assert [world.name for world in load_worlds(path)] == ["cave"]

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save_worlds(path, [World("other", Grid.filled(2, 2))])
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_restoring_replaces_worlds_of_the_same_names_all_or_none() -> None:
    packed = pack_worlds([cave(), World("new", Grid.filled(4, 4))])
    worlds = Worlds(max_worlds=3)
    old = worlds.add("cave", Grid.filled(9, 9))
    worlds.add("other", Grid.filled(9, 9))
    restored, replaced = restore_worlds(worlds, packed)
    assert [world.name for world in restored] == ["cave", "new"]
    assert replaced == [old]
    assert worlds["cave"].map_hash() == cave().map_hash()
    assert sorted(world.name for world in worlds) == ["cave", "new", "other"]
    tight = Worlds(max_worlds=2)
    kept = tight.add("other", Grid.filled(9, 9))
    with pytest.raises(InputError, match="too many"):
        restore_worlds(tight, packed)
    assert list(tight) == [kept]
    with pytest.raises(InputError, match="twice"):
        restore_worlds(Worlds(), pack_worlds([cave(), cave()]))
    with pytest.raises(InputError, match="bytes"):
        restore_worlds(Worlds(max_bytes=10), packed)
    assert np.array_equal(kept.replicas.grid.classes, np.zeros((9, 9)))
