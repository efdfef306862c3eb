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

from navserver.movers.orca import Avoidance
from navserver.search.grid import Grid
from navserver.search.profile import Profile
from navserver.service.snapshot import (
    DIGEST_SIZE,
    FORMER_MAGIC,
    MAGIC,
    load_worlds,
    pack_worlds,
    restore_worlds,
    save_worlds,
    unpack_worlds,
)
from navserver.service.world import World
from navserver.service.worlds import Worlds
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


def populated() -> World:
    world = cave()
    movers = world.make_movers(avoidance=Avoidance(max_neighbors=3), budget=5077)
    units = movers.add([(-3, 2), (-2, 2)], radius=0.4, max_speed=2.0)
    movers.order(units, (3, 6))
    movers.step(0.25)
    world.set_cells([(2, 2)], 255)
    return world


def test_movers_come_back_with_their_options_and_go_on() -> None:
    world = populated()
    [restored] = unpack_worlds(pack_worlds([world]))
    assert restored.movers.options == world.movers.options
    assert restored.movers.options["avoidance"] == Avoidance(max_neighbors=3)
    assert restored.movers.state_hash() == world.movers.state_hash()
    assert restored.movers.view().handles.tolist() == world.movers.view().handles.tolist()
    arrived = 0
    for _ in range(400):
        events = restored.movers.step(0.05).events
        arrived += events.arrived.size + events.arrived_crowd_full.size
    assert arrived == 2
    # A world whose movers were never asked for has none afterwards.
    assert not unpack_worlds(pack_worlds([cave()]))[0].has_movers


def test_snapshots_of_before_there_were_movers_are_read() -> None:
    packed = pack_worlds([cave()])
    body = FORMER_MAGIC + packed[len(MAGIC) : -DIGEST_SIZE]
    [restored] = unpack_worlds(body + hashlib.blake2b(body, digest_size=DIGEST_SIZE).digest())
    assert restored.map_hash() == cave().map_hash()
    assert not restored.has_movers


def test_more_movers_than_there_may_be_are_not_restored() -> None:
    packed = pack_worlds([populated()])
    worlds = Worlds()
    other = worlds.add("other", Grid.filled(4, 4))
    other.movers.add([(0, 0)], radius=0.4, max_speed=1.0)
    with pytest.raises(InputError, match="movers"):
        restore_worlds(worlds, packed, 2)
    assert list(worlds) == [other]
    restore_worlds(worlds, packed, 3)
    # Those that are replaced count no more.
    restore_worlds(worlds, packed, 3)


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


def movers(blob: bytes, **changes: Any) -> dict[str, Any]:
    return {"options": {"avoidance": False}, "size": 6, "bytes": len(blob), **changes}


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
        (header(movers=5), BLOB),
        (header(movers=movers(b"")), BLOB),
        (header(movers=movers(BLOB, size=-1)), BLOB + BLOB),
        (header(movers=movers(BLOB, size=1 << 40)), BLOB + BLOB),
        (header(movers=movers(BLOB, size=7)), BLOB + BLOB),
        (header(movers=movers(BLOB)), BLOB + BLOB),
        (header(movers=movers(BLOB, options={})), BLOB + BLOB),
        (header(movers=movers(BLOB, options={"avoidance": 1})), BLOB + BLOB),
        (header(movers=movers(BLOB, options={"avoidance": {"x": 1}})), BLOB + BLOB),
        (header(movers=movers(BLOB, options={"avoidance": True, "threads": 9})), BLOB + BLOB),
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
