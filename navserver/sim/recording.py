"""Recordings of runs: enough to step them again, and to tell at which tick they part.

A recording is a ``.npz`` file: numpy's format of arrays in a zip archive, without pickles.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.search.grid import Grid
from navserver.search.profile import Profile
from navserver.sim.scenarios import Area, BotKind, MapEdit
from navserver.sim.setup import Setup
from navserver.status import InputError, MapFileError

__all__ = ["Recorder", "Recording", "TickOrders", "load_recording"]

FORMAT = "navserver recording 1"

HASH_BYTES = 16
"""Bytes that are kept of each tick's state hash."""

LONGEST_RECORDING = 1 << 32
"""Bytes of the arrays of the largest recording that is read."""


class TickOrders(NamedTuple):
    """The goals given before a tick."""

    rows: NDArray[np.int64]
    goals: NDArray[np.int32]


@dataclass(frozen=True)
class Recording:  # numpydoc ignore=PR02
    """A run that has been recorded.

    Parameters
    ----------
    setup : Setup
        Map and bots.
    edits : tuple of MapEdit
        By tick.
    order_ticks : int64 array (k,)
        The tick of each order, ascending.
    order_rows : int64 array (k,)
        The bot of each.
    order_goals : int32 array (k, 2)
        The goal of each.
    hashes : uint8 array (ticks, 16)
        The start of the state hash after each tick.
    """

    setup: Setup
    edits: tuple[MapEdit, ...]
    order_ticks: NDArray[np.int64]
    order_rows: NDArray[np.int64]
    order_goals: NDArray[np.int32]
    hashes: NDArray[np.uint8]

    @property
    def ticks(self) -> int:
        """Ticks of the run."""
        return len(self.hashes)

    def orders_at(self, tick: int) -> TickOrders:
        """Return what was ordered before a tick.

        Parameters
        ----------
        tick : int
            0 is the first.

        Returns
        -------
        TickOrders
            In the order given.
        """
        first, last = np.searchsorted(self.order_ticks, [tick, tick + 1])
        return TickOrders(self.order_rows[first:last], self.order_goals[first:last])


class Recorder:
    """Collects a run while it goes on: 24 bytes an order, 16 a tick.

    Parameters
    ----------
    setup : Setup
        Map and bots.
    edits : tuple of MapEdit
        By tick.
    """

    def __init__(self, setup: Setup, edits: tuple[MapEdit, ...]) -> None:
        self._setup = setup
        self._edits = edits
        self._orders: list[tuple[int, NDArray[np.int64], NDArray[np.int32]]] = []
        self._hashes = bytearray()

    def note_orders(self, tick: int, rows: NDArray[np.int64], goals: NDArray[np.int32]) -> None:
        """Keep what is ordered before a tick.

        Parameters
        ----------
        tick : int
            0 is the first.
        rows : int64 array (k,)
            Bots.
        goals : int32 array (k, 2)
            Cells.
        """
        self._orders.append((tick, rows.copy(), goals.copy()))

    def note_hash(self, state_hash: str) -> None:
        """Keep the state hash after a tick.

        Parameters
        ----------
        state_hash : str
            In hex.
        """
        self._hashes += bytes.fromhex(state_hash)[:HASH_BYTES]

    def recording(self) -> Recording:
        """Return what has been collected.

        Returns
        -------
        Recording
            Of new arrays.
        """
        counts = [rows.size for _, rows, _ in self._orders]
        ticks = np.repeat(np.array([t for t, _, _ in self._orders], np.int64), counts)
        empty = (np.zeros(0, np.int64), np.zeros((0, 2), np.int32))
        return Recording(
            self._setup,
            self._edits,
            ticks,
            np.concatenate([empty[0], *(rows for _, rows, _ in self._orders)]),
            np.concatenate([empty[1], *(goals for _, _, goals in self._orders)]),
            np.frombuffer(bytes(self._hashes), np.uint8).reshape(-1, HASH_BYTES),
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the recording; the file is whole or as it was before, unless it is a device.

        Parameters
        ----------
        path : path-like
            Replaced if it exists.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        arrays = _arrays_of(self.recording())
        target = Path(path)
        try:
            if target.exists() and not target.is_file():
                # A device or a pipe is written to: nothing may take its place.
                with target.open("wb") as stream:
                    np.savez_compressed(stream, **arrays)
                return
            with tempfile.TemporaryDirectory(dir=target.parent) as folder:
                whole = Path(folder) / "recording.npz"
                np.savez_compressed(whole, **arrays)
                whole.replace(target)
        except OSError as error:
            raise InputError(
                "--record", fspath(path), f"cannot be written ({error.strerror or error})",
                "name another file, or make room",
            ) from None  # fmt: skip


def _arrays_of(recording: Recording) -> dict[str, Any]:
    setup, grid = recording.setup, recording.setup.grid
    meta = {
        "format": FORMAT,
        "dt": setup.dt,
        "avoidance": setup.avoidance,
        "region_position": list(grid.region_position),
        "kinds": [
            {"name": kind.name, "count": kind.count, "speed": kind.speed, "radius": kind.radius}
            for kind in setup.kinds
        ],
    }
    arrays: dict[str, Any] = {
        "meta": np.frombuffer(json.dumps(meta).encode(), np.uint8),
        "classes": grid.classes,
        "transform": grid.transform,
        "costs": np.array([kind.profile.costs for kind in setup.kinds]),
        "spawns": setup.spawns,
        "edits": np.array(
            [(e.tick, *e.area, e.class_id) for e in recording.edits], np.int64
        ).reshape(-1, 6),
        "order_ticks": recording.order_ticks,
        "order_rows": recording.order_rows,
        "order_goals": recording.order_goals,
        "hashes": recording.hashes,
    }
    if grid.cell_scale is not None:
        arrays["cell_scale"] = grid.cell_scale
    return arrays


def load_recording(path: str | PathLike[str]) -> Recording:
    """Read a recording.

    Parameters
    ----------
    path : path-like
        As `Recorder.save` writes it.

    Returns
    -------
    Recording
        Checked: it can be stepped.

    Raises
    ------
    MapFileError
        If it cannot be read as one.
    """
    try:
        arrays = _read_arrays(path)
        return _checked_recording(arrays)
    except OSError as error:
        raise MapFileError(
            path, None, f"cannot be read ({error.strerror or error})", "name a recording"
        ) from None
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        EOFError,
        OverflowError,
        RuntimeError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        told = str(error) or type(error).__name__
        raise MapFileError(
            path, None, f"is not a recording ({told})", "record it again with --record"
        ) from None


def _read_arrays(path: str | PathLike[str]) -> Mapping[str, NDArray[Any]]:
    with zipfile.ZipFile(path) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > LONGEST_RECORDING:
            raise ValueError("it would take more than 4 GiB")
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _checked_recording(arrays: Mapping[str, NDArray[Any]]) -> Recording:
    meta = json.loads(arrays["meta"].tobytes())
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ValueError("of another format")
    costs = arrays["costs"]
    kinds = tuple(
        BotKind(
            str(kind["name"]),
            int(kind["count"]),
            speed=float(kind["speed"]),
            radius=float(kind["radius"]),
            profile=Profile(costs[i]),
        )
        for i, kind in enumerate(meta["kinds"])
    )
    x, y = meta["region_position"]
    grid = Grid(
        arrays["classes"],
        cell_scale=arrays.get("cell_scale"),
        region_position=(x, y),
        transform=arrays["transform"],
    )
    counts = [kind.count for kind in kinds]
    bots = sum(counts)
    setup = Setup(
        grid,
        kinds,
        np.repeat(np.arange(len(counts)), counts),
        _checked(arrays, "spawns", np.int32, (bots, 2)),
        float(meta["dt"]),
        bool(meta["avoidance"]),
    )
    ticks = _checked(arrays, "order_ticks", np.int64, (-1,))
    edits = _checked(arrays, "edits", np.int64, (-1, 6))
    recording = Recording(
        setup,
        tuple(MapEdit(int(e[0]), Area(*e[1:5].tolist()), int(e[5])) for e in edits),
        ticks,
        _checked(arrays, "order_rows", np.int64, (ticks.size,)),
        _checked(arrays, "order_goals", np.int32, (ticks.size, 2)),
        _checked(arrays, "hashes", np.uint8, (-1, HASH_BYTES)),
    )
    rows = recording.order_rows
    if rows.size and not 0 <= rows.min() <= rows.max() < bots:
        raise ValueError("an order is for no bot")
    if (np.diff(ticks) < 0).any():
        raise ValueError("its orders are not in the order of the ticks")
    grid.flat_indices(setup.spawns, "spawns")
    grid.flat_indices(recording.order_goals, "order_goals")
    return recording


def _checked(
    arrays: Mapping[str, NDArray[Any]], name: str, dtype: type[np.generic], shape: tuple[int, ...]
) -> NDArray[Any]:
    array = arrays[name]
    fits = array.ndim == len(shape) and all(
        wanted in (-1, side) for wanted, side in zip(shape, array.shape, strict=True)
    )
    if array.dtype != dtype or not fits:
        raise ValueError(f"{name} has dtype {array.dtype} and shape {array.shape}")
    return np.ascontiguousarray(array)
