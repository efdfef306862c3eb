"""The addon's msgpack against Python's library: what both make of the same bytes."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING, Any

import msgpack
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.godot_addon.conftest import Project

pytestmark = pytest.mark.godot

DEPTH = 32
REFUSED = 0xC1
CORNERS = [0, 1, 31, 32, 127, 128, 255, 256, 2**15, 2**16, 2**31, 2**32, 2**63 - 1]


class RefusedError(ValueError):
    """The addon documents that it refuses what the library reads."""


class Values:
    """Random values of every type that both sides know, and damage to their bytes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def value(self, depth: int = 0) -> Any:
        kind = self.random.randrange(11 if depth < 4 else 8)
        if kind < 2:
            return self.random.choice([None, True, False])
        if kind == 2:
            return self.random.choice([1, -1]) * self.random.choice(CORNERS)
        if kind == 3:
            return self.random.choice([0.0, -0.0, 1.5, float("inf"), self.random.gauss(0, 1e9)])
        if kind < 6:
            return self.text()
        if kind == 6:
            return self.random.randbytes(self.length())
        if kind == 7:
            return msgpack.ExtType(self.random.randrange(128), self.random.randbytes(self.length()))
        if kind == 8:
            return [self.value(depth + 1) for _ in range(self.random.randrange(20))]
        return {self.text(): self.value(depth + 1) for _ in range(self.random.randrange(20))}

    def text(self) -> str:
        letters = ["a", "Z", "\x7f", "\x01", "ß", "€", "\ufeff", "\U0001d54f", "\U0010ffff"]
        return "".join(self.random.choices(letters, k=self.length()))

    def length(self) -> int:
        return self.random.choice([0, 1, 2, 4, 8, 16, self.random.randrange(300)])

    def damaged(self, data: bytes) -> bytes:
        kind = self.random.randrange(10)
        at = self.random.randrange(len(data))
        if kind == 0:
            return data[:at]
        if kind == 1:
            return data + self.random.randbytes(1)
        if kind == 2:
            return self.random.randbytes(self.random.randrange(1, 40))
        if kind == 3:
            keys = [msgpack.packb(self.random.choice("ab")) for _ in range(2)]
            return b"\x82" + keys[0] + data + keys[1] + data
        if kind == 4:
            return b"\x92" + data + msgpack.packb(2**63 + self.random.randrange(-2, 2))
        if kind == 5:
            return b"\x91" * self.random.randrange(20, 40) + data
        return data[:at] + self.random.randbytes(1) + data[at + 1 :]


def unpack(data: bytes) -> Any:
    """What the addon ought to make of the bytes, by Python's library and the stated rules."""
    value = msgpack.unpackb(
        data,
        object_pairs_hook=unique,
        strict_map_key=False,
        ext_hook=extension,
        timestamp=0,
    )
    refuse(value, 0)
    return value


def judge(data: bytes) -> tuple[str, bytes]:
    """Who refuses the bytes, or the value in its shortest form."""
    try:
        return "value", msgpack.packb(unpack(data))
    except UndecidedError:
        return "undecided", b""
    except RefusedError:
        return "rule", b""
    except (ValueError, msgpack.UnpackException) as error:
        timestamp = "imestamp" in str(error) or "nanoseconds" in str(error)
        return "undecided" if timestamp else "library", b""


def unique(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    # Godot tells 1, 1.0 and true apart; Python does not.
    keys = [(type(key), key) for key, _ in pairs]
    if any(isinstance(key, float) or not isinstance(key, (str, bytes)) for _, key in keys):
        raise UndecidedError
    if len(set(keys)) < len(keys):
        raise RefusedError
    return dict(pairs)


class UndecidedError(Exception):
    """The library knows no ExtType below 0, and the languages differ in what is the same key."""


def extension(code: int, data: bytes) -> msgpack.ExtType:
    if code < 0:
        raise UndecidedError
    return msgpack.ExtType(code, data)


def refuse(value: Any, depth: int) -> None:
    if isinstance(value, (list, dict)) and depth >= DEPTH:
        raise RefusedError
    if isinstance(value, dict):
        for key, item in value.items():
            refuse(key, depth + 1)
            refuse(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            refuse(item, depth + 1)
    elif isinstance(value, msgpack.Timestamp):
        raise UndecidedError
    elif (isinstance(value, str) and "\0" in value) or (isinstance(value, int) and value >= 2**63):
        raise RefusedError


def exchange(project: Project, folder: Path, inputs: list[bytes]) -> Iterator[bytes]:
    """What the addon answers to each of the inputs."""
    framed = b"".join(struct.pack("<I", len(data)) + data for data in inputs)
    (folder / "inputs").write_bytes(framed)
    arguments = [f"inputs={folder / 'inputs'}", f"results={folder / 'results'}"]
    assert project.run_tests("test_msgpack_exchange", *arguments, timeout=1800.0) == 1
    results = (folder / "results").read_bytes()
    at = 0
    while at < len(results):
        (length,) = struct.unpack_from("<I", results, at)
        yield results[at + 4 : at + 4 + length]
        at += 4 + length


def test_values_come_back_byte_by_byte(addon_project: Project, tmp_path: Path) -> None:
    values = Values(1)
    inputs = [msgpack.packb(values.value()) for _ in range(1500)]
    nested: Any = []
    for _ in range(DEPTH - 1):
        nested = [nested]
    inputs += [msgpack.packb(nested), msgpack.packb({"\0": 1}), msgpack.packb("x" * 70_000)]
    answers = list(exchange(addon_project, tmp_path, inputs))
    assert len(answers) == len(inputs)
    for data, answer in zip(inputs, answers, strict=True):
        expected = data if b"\xa1\0" not in data[:3] else answer
        assert answer == expected
    assert answers[-2][0] == REFUSED


@pytest.mark.parametrize(
    "count", [pytest.param(20_000), pytest.param(500_000, marks=pytest.mark.soak)]
)
def test_damaged_bytes_are_judged_alike(addon_project: Project, tmp_path: Path, count: int) -> None:
    # Invariant: no script error, and refused exactly what the library or a stated rule refuses.
    values = Values(count)
    inputs = [values.damaged(msgpack.packb(values.value(3))) for _ in range(count)]
    answers = list(exchange(addon_project, tmp_path, inputs))
    assert len(answers) == count
    judged = {"value": 0, "library": 0, "rule": 0, "undecided": 0}
    for data, answer in zip(inputs, answers, strict=True):
        verdict, expected = judge(data)
        judged[verdict] += 1
        if verdict == "value":
            assert answer == expected, data
        elif verdict != "undecided":
            assert answer[0] == REFUSED, data
    assert min(judged["value"], judged["library"], judged["rule"]) > count / 20, judged
