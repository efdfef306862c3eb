"""Worlds as bytes: written whole or not at all, and checked before anything is restored.

Layout: the line ``navserver snapshot 2``, a line of JSON that describes the worlds and how long
each of their arrays is when compressed, the arrays, and 32 bytes of BLAKE2b over all before. The
movers of a world, if it has any, follow its arrays, compressed as well. Snapshots of version 1 had
none.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.movers.orca import Avoidance
from navserver.search.grid import Grid
from navserver.search.profile import Profile
from navserver.search.validation import MAX_SIDE
from navserver.service.world import World
from navserver.service.worlds import Worlds
from navserver.status import InputError

__all__ = ["load_worlds", "pack_worlds", "restore_worlds", "save_worlds", "unpack_worlds"]

MAGIC = b"navserver snapshot 2\n"
FORMER_MAGIC = b"navserver snapshot 1\n"
DIGEST_SIZE = 32
MAX_HEADER = 1 << 24
MAX_LAYERS = 256
MAX_LINEAGE = 64
MAX_VERSION = 1 << 53
MAX_MOVER_BYTES = 1 << 30


_MOVER_OPTIONS = ("budget", "repath_interval", "goal_tolerance")


class _Array(NamedTuple):
    name: str
    values: NDArray[Any]


def pack_worlds(worlds: Iterable[World]) -> bytes:
    """Return worlds as bytes; each in one version, while it may be searched and edited.

    Parameters
    ----------
    worlds : iterable of World
        Which.

    Returns
    -------
    bytes
        For `unpack_worlds`.
    """
    described, blobs = [], []
    for world in worlds:
        with world.pinned() as grid:
            parts = []
            for name, values in _arrays(grid):
                blob = zlib.compress(values.tobytes(), 1)
                parts.append({"name": name, "bytes": len(blob)})
                blobs.append(blob)
            # Whoever is still on an older version of the map takes the edits in as it goes on.
            movers, packed = _describe_movers(world)
            blobs += packed
            described.append(
                {
                    **movers,
                    "name": world.name,
                    "lineage": world.lineage,
                    "version": grid.version,
                    "width": grid.width,
                    "height": grid.height,
                    "region_position": list(grid.region_position),
                    "transform": grid.transform.tolist(),
                    "profiles": {
                        name: [None if np.isinf(cost) else cost for cost in profile.costs.tolist()]
                        for name, profile in world.profiles.items()
                    },
                    "arrays": parts,
                }
            )
    header = json.dumps({"worlds": described}).encode() + b"\n"
    body = b"".join([MAGIC, header, *blobs])
    return body + hashlib.blake2b(body, digest_size=DIGEST_SIZE).digest()


def _describe_movers(world: World) -> tuple[dict[str, Any], list[bytes]]:
    """Return what the header says of a world's movers, and their bytes; nothing if it has none."""
    if not world.has_movers:
        return {}, []
    state = world.movers.save()
    packed = zlib.compress(state, 1)
    told = {"options": _told_options(world.movers.options), "size": len(state)}
    return {"movers": {**told, "bytes": len(packed)}}, [packed]


def _told_options(options: Mapping[str, Any]) -> dict[str, Any]:
    avoidance = options.get("avoidance", False)
    if isinstance(avoidance, Avoidance):
        avoidance = asdict(avoidance)
    return {**options, "avoidance": avoidance}


def _options_of(told: Mapping[str, Any]) -> dict[str, Any]:
    avoidance = told["avoidance"]
    options = {name: told[name] for name in _MOVER_OPTIONS if name in told}
    if set(told) - {*options, "avoidance"}:
        raise ValueError(f"movers have the options {', '.join(told)}")
    return {
        **options,
        "avoidance": avoidance if isinstance(avoidance, bool) else Avoidance(**avoidance),
    }


def _arrays(grid: Grid) -> list[_Array]:
    arrays = [_Array("classes", grid.classes)]
    if grid.cell_scale is not None:
        arrays.append(_Array("cell_scale", grid.cell_scale.astype("<f4")))
    arrays += [
        _Array(f"layer {name}", values.astype("<f4")) for name, values in grid.layers.items()
    ]
    return arrays


def unpack_worlds(packed: bytes) -> list[World]:
    """Return the worlds that `pack_worlds` has packed.

    Parameters
    ----------
    packed : bytes
        Trusted no further than their digest, which tells damage, not malice: sizes are checked.

    Returns
    -------
    list of World
        Of no registry yet; their versions are those they had.

    Raises
    ------
    InputError
        If the bytes are no snapshot, or damaged.
    """
    if not packed.startswith((MAGIC, FORMER_MAGIC)):
        raise _damaged("does not begin as a snapshot does", "give what one has written")
    body, digest = packed[:-DIGEST_SIZE], packed[-DIGEST_SIZE:]
    if hashlib.blake2b(body, digest_size=DIGEST_SIZE).digest() != digest:
        raise _damaged("is damaged: its checksum is wrong", "use another snapshot")
    end = body.find(b"\n", len(MAGIC), len(MAGIC) + MAX_HEADER)
    try:
        described = json.loads(body[len(MAGIC) : end])["worlds"]
        reader = _Reader(body, end + 1)
        worlds = [_unpack_world(world, reader) for world in described]
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError, zlib.error) as error:
        raise _damaged(f"has a header that makes no sense ({error})", "use another one") from None
    if reader.offset != len(body):
        raise _damaged("has more bytes than its header says", "use another snapshot")
    return worlds


class _Reader:
    """Takes compressed arrays from bytes, one after the other."""

    def __init__(self, body: bytes, offset: int) -> None:
        self._body = memoryview(body)
        self.offset = offset

    def take(self, length: int, shape: tuple[int, int], dtype: str) -> NDArray[Any]:
        expected = shape[0] * shape[1] * np.dtype(dtype).itemsize
        return np.frombuffer(self.take_bytes(length, expected), dtype).reshape(shape)

    def take_bytes(self, length: int, expected: int) -> bytes:
        if not 0 <= length <= len(self._body) - self.offset:
            raise ValueError(f"{length} bytes of an array are not there")
        blob = self._body[self.offset : self.offset + length]
        self.offset += length
        inflater = zlib.decompressobj()
        # One byte more would show that there is too much, without inflating it all.
        values = inflater.decompress(blob, expected + 1)
        if len(values) != expected or not inflater.eof:
            raise ValueError(f"an array is not {expected} bytes long")
        return values


def _unpack_world(described: dict[str, Any], reader: _Reader) -> World:
    width, height = described["width"], described["height"]
    if not (isinstance(width, int) and isinstance(height, int)):
        raise ValueError("a size is no integer")
    if not (1 <= width <= MAX_SIDE and 1 <= height <= MAX_SIDE):
        raise ValueError(f"{width} x {height} is no size of a map")
    parts = described["arrays"]
    if len(parts) > MAX_LAYERS + 2:
        raise ValueError(f"{len(parts)} arrays are too many")
    arrays = {}
    for part in parts:
        dtype = "u1" if part["name"] == "classes" else "<f4"
        arrays[part["name"]] = reader.take(int(part["bytes"]), (height, width), dtype)
    grid = Grid(
        arrays.pop("classes"),
        cell_scale=arrays.pop("cell_scale", None),
        layers={name.removeprefix("layer "): values for name, values in arrays.items()},
        region_position=tuple(described["region_position"]),
        transform=described["transform"],
    )
    grid.version = described["version"]
    if not (isinstance(grid.version, int) and 1 <= grid.version <= MAX_VERSION):
        raise ValueError(f"{grid.version!r} is no version")
    lineage = described["lineage"]
    if not (isinstance(lineage, str) and 0 < len(lineage) <= MAX_LINEAGE):
        raise ValueError(f"{lineage!r} is no lineage")
    world = World(described["name"], grid, lineage)
    for name, costs in described["profiles"].items():
        world.set_profile(name, Profile([np.inf if cost is None else cost for cost in costs]))
    if "movers" in described:
        told = described["movers"]
        size = int(told["size"])
        if not 0 <= size <= MAX_MOVER_BYTES:
            raise ValueError(f"{size} bytes of movers are too many")
        state = reader.take_bytes(int(told["bytes"]), size)
        world.make_movers(**_options_of(told["options"])).load(state)
    return world


def restore_worlds(
    worlds: Worlds, packed: bytes, most_movers: int | None = None
) -> tuple[list[World], list[World]]:
    """Make the worlds of a snapshot; those of the same names are replaced.

    Parameters
    ----------
    worlds : Worlds
        Where.
    packed : bytes
        As `pack_worlds` has returned.
    most_movers : int, optional
        How many movers there may be in all worlds afterwards.

    Returns
    -------
    restored : list of World
        The new ones.
    replaced : list of World
        Those that were there before, see `Worlds.replace`.

    Raises
    ------
    InputError
        If the snapshot is damaged or too large; then nothing has changed.
    """
    restored = unpack_worlds(packed)
    if most_movers is not None:
        names = {world.name for world in restored}
        count = sum(
            len(world.movers)
            for world in [*restored, *(world for world in worlds if world.name not in names)]
            if world.has_movers
        )
        if count > most_movers:
            raise InputError(
                "snapshot", count, "movers would be in all worlds", f"keep to {most_movers}"
            )
    return restored, worlds.replace(restored)


def save_worlds(path: str | os.PathLike[str], worlds: Iterable[World]) -> int:
    """Write a snapshot to a file, in place of an older one; it is never seen half written.

    Parameters
    ----------
    path : path-like
        The file.
    worlds : iterable of World
        Which.

    Returns
    -------
    int
        Bytes written.

    Raises
    ------
    OSError
        If it cannot be written; an older file is still there then.
    """
    packed = pack_worlds(worlds)
    target = Path(path)
    with tempfile.NamedTemporaryFile(
        dir=target.parent, prefix=f".{target.name}.", delete=False
    ) as file:
        try:
            file.write(packed)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(target)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    _sync_folder(target.parent)
    return len(packed)


def _sync_folder(folder: Path) -> None:
    """Make a new name in a folder outlive a crash, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def load_worlds(path: str | os.PathLike[str]) -> list[World]:
    """Read a snapshot from a file.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    list of World
        As `unpack_worlds`.

    Raises
    ------
    InputError
        If the file is no snapshot, or damaged.
    OSError
        If it cannot be read.
    """
    return unpack_worlds(Path(path).read_bytes())


def _damaged(problem: str, remedy: str) -> InputError:
    return InputError("snapshot", "bytes", problem, remedy)
