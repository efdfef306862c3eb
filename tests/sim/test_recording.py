from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from navserver.search.grid import Grid
from navserver.search.profile import Profile
from navserver.sim.recording import Recorder, load_recording
from navserver.sim.scenarios import Area, BotKind, MapEdit, Scenario
from navserver.sim.setup import Setup, place_bots
from navserver.status import InputError, MapFileError

EDITS = (MapEdit(3, Area(1, 2, 2, 1), 255),)
HASH = "00112233445566778899aabbccddeeff" * 2


def a_setup() -> Setup:
    scale = np.linspace(1, 2, 20, dtype=np.float32).reshape(4, 5)
    grid = Grid(np.zeros((4, 5), np.uint8), cell_scale=scale, transform=[[2, 0, 1], [0, 2, 1]])
    kinds = (BotKind("a", 2, speed=1.5), BotKind("b", 1, radius=0.5, profile=Profile({2: np.inf})))
    return place_bots(Scenario(kinds, dt=0.25, avoidance=False), grid)


def recorded(path: Path) -> Setup:
    setup = a_setup()
    recorder = Recorder(setup, EDITS)
    recorder.note_orders(0, np.array([0, 2]), np.array([[1, 1], [2, 3]], np.int32))
    recorder.note_orders(4, np.array([1]), np.array([[4, 0]], np.int32))
    for _ in range(6):
        recorder.note_hash(HASH)
    recorder.save(path)
    return setup


def test_what_is_saved_is_read(tmp_path: Path) -> None:
    setup = recorded(tmp_path / "run.npz")
    recording = load_recording(tmp_path / "run.npz")
    read = recording.setup
    assert read.grid.map_hash() == setup.grid.map_hash()
    assert read.spawns.tolist() == setup.spawns.tolist()
    assert read.kind_of.tolist() == setup.kind_of.tolist()
    assert (read.dt, read.avoidance) == (0.25, False)
    for one, other in zip(read.kinds, setup.kinds, strict=True):
        assert (one.name, one.count, one.speed, one.radius) == (
            other.name,
            other.count,
            other.speed,
            other.radius,
        )
        assert one.profile == other.profile
    assert recording.edits == EDITS
    assert recording.ticks == 6
    assert recording.hashes[5].tobytes().hex() == HASH[:32]
    assert recording.orders_at(0).rows.tolist() == [0, 2]
    assert recording.orders_at(0).goals.tolist() == [[1, 1], [2, 3]]
    assert recording.orders_at(1).rows.tolist() == []
    assert recording.orders_at(4).goals.tolist() == [[4, 0]]


def test_a_run_without_orders_and_ticks(tmp_path: Path) -> None:
    Recorder(a_setup(), ()).save(tmp_path / "run.npz")
    recording = load_recording(tmp_path / "run.npz")
    assert (recording.ticks, recording.edits, recording.order_rows.size) == (0, (), 0)


def rewritten(path: Path, name: str, array: np.ndarray) -> None:
    with np.load(path) as read:
        arrays = {key: read[key] for key in read.files}
    arrays[name] = array
    np.savez(path, **arrays)


def meta(**changes: object) -> np.ndarray:
    fields = {
        "format": "navserver recording 1",
        "dt": 0.1,
        "avoidance": True,
        "region_position": [0, 0],
        "kinds": [
            {"name": "a", "count": 2, "speed": 1, "radius": 0.3},
            {"name": "b", "count": 1, "speed": 1, "radius": 0.3},
        ],
    }
    return np.frombuffer(json.dumps(fields | changes).encode(), np.uint8)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("meta", meta(format="other")),
        ("meta", meta(kinds=[])),
        ("meta", meta(kinds=3)),
        ("meta", meta(dt=None)),
        ("meta", np.frombuffer(b"[1]", np.uint8)),
        ("meta", np.frombuffer(b"\xff{", np.uint8)),
        ("spawns", np.full((3, 2), 99, np.int32)),
        ("spawns", np.zeros((2, 2), np.int32)),
        ("spawns", np.zeros((3, 2), np.float32)),
        ("order_rows", np.array([0, 1, 3])),
        ("order_rows", np.array([0, -1, 2])),
        ("order_goals", np.full((3, 2), -1, np.int32)),
        ("order_ticks", np.array([4, 0, 0])),
        ("hashes", np.zeros((6, 4), np.uint8)),
        ("costs", np.full((2, 256), np.nan, np.float32)),
        ("classes", np.zeros(3, np.uint8)),
        ("transform", np.zeros((2, 3))),
    ],
)
def test_broken_arrays_are_refused(tmp_path: Path, name: str, array: np.ndarray) -> None:
    path = tmp_path / "run.npz"
    recorded(path)
    rewritten(path, name, array)
    with pytest.raises(MapFileError, match="is not a recording"):
        load_recording(path)


def test_cut_and_flipped_files_are_refused_or_read_as_they_were(tmp_path: Path) -> None:
    # Invariant: nothing but a file error comes out of a damaged file.
    path = tmp_path / "run.npz"
    recorded(path)
    whole = path.read_bytes()
    random = np.random.default_rng(3)
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[random.integers(len(damaged))] ^= 1 << random.integers(8)
        path.write_bytes(damaged if random.random() < 0.7 else whole[: random.integers(len(whole))])
        try:
            load_recording(path)
        except MapFileError:
            continue


def test_pickles_are_never_read(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    recorded(path)
    rewritten(path, "spawns", np.array([print, None], object))
    with pytest.raises(MapFileError, match="is not a recording"):
        load_recording(path)


def test_a_bomb_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.npz"
    monkeypatch.setattr("navserver.sim.recording.LONGEST_RECORDING", 1000)
    data = io.BytesIO()
    np.save(data, np.zeros(2000, np.uint8))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("meta.npy", data.getvalue())
    with pytest.raises(MapFileError, match="more than 4 GiB"):
        load_recording(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(MapFileError, match="cannot be read"):
        load_recording(tmp_path / "none.npz")
    with pytest.raises(InputError, match="cannot be written"):
        Recorder(a_setup(), ()).save(tmp_path / "none" / "run.npz")
