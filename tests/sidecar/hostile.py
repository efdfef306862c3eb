"""Messages that nobody ought to send: made of the protocol's own examples, or of nothing at all."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import count
from typing import Any

import msgpack
import numpy as np

from navserver.wire.codec import DTYPES
from navserver.wire.messages import MESSAGES, encode_request
from tests.wire.examples import MESSAGE_EXAMPLES

Frames = list[bytes]

VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 255, 256, 2**31, 2**31 - 1, -(2**31), 2**32, 2**53 + 1,
    2**63 - 1, 2**63, 2**64 - 1, -(2**63), 0.0, -0.0, 0.5, 1e-300, 1e300, math.nan, math.inf,
    -math.inf, "", "w", "city", "\x00", "\ud7ff", "x" * 65, "x" * 1025, b"", b"\xff", [], [0],
    [0, 0], [1, 2, 3], [math.nan, 0], [2**63, 0], [[0, 0]], [None], ["a"] * 1025, {}, {"a": 1},
    {"a": math.inf}, {"a": {"b": 1}}, {1: 2}, [0.0] * 6, "default", "cells", "stuck", 3, 1000,
]  # fmt: skip
PLAUSIBLE: list[Any] = [
    0, 1, 2, 3, 9, 0.5, 1.5, 60.0, True, False, [0, 0], [-1, 0], [1, 1], [5, 5], "city", "default",
    "cells", "points", "cell", "world", "none", "pull_string", "off", ["handles"], ["transforms"],
    [0.0, 0.0, 9.0, 9.0], {"danger": 1.0},
]  # fmt: skip
DESCRIPTORS = [
    "", "cells", "cells:i32", "cells:i32:", "cells:i32:1x2", "cells:i32:2", "cells:u8:8",
    "cells:f64:1", "cells:i32:0x2", "cells:i32:99999999999x2", "cells:i32:4294967296x4294967296",
    "cells:i32:-1x2", "cells:i32:1x2x1", "CELLS:i32:1x2", "cells:i33:1x2", "bulk:u8:8",
    "handles:i64:1", "goals:f32:1x2", "state:u8:8", "x" * 300 + ":u8:1", 5, None, ["a"], b"a",
]  # fmt: skip


def examples() -> dict[str, Frames]:
    """Return the frames of an example request of each message."""
    return {
        name: [bytes(frame) for frame in encode_request(name, 7, example.fields, example.arrays)]
        for name, example in MESSAGE_EXAMPLES.items()
    }


EXAMPLES = examples()
NAMES = sorted(EXAMPLES)
FIELDS = sorted({field.name for message in MESSAGES.values() for field in message.request.fields})


def spoiled_examples() -> Iterator[Frames]:
    """Yield every example with each byte of its header flipped, and cut at each length."""
    for frames in EXAMPLES.values():
        header = frames[0]
        for at in range(len(header)):
            yield [header[:at], *frames[1:]]
            yield [header[:at] + bytes([header[at] ^ 0xFF]) + header[at + 1 :], *frames[1:]]
            yield [header[:at] + bytes([header[at] ^ 1]) + header[at + 1 :], *frames[1:]]


_ODD_BITS = {
    np.dtype("f4"): [0x7F800001, 0xFFA00000, 0x7FC00000, 0x7F800000, 0xFF800000, 1, 0x7F7FFFFF],
    np.dtype("f8"): [0x7FF << 52 | 1, 0xFFF8 << 48, 0x7FF << 52, 0xFFF << 52, 1, 0x7FE << 52],
}
"""Numbers that are none, signalling and quiet ones, without end, tiny and huge."""


def odd_numbers() -> Iterator[Frames]:
    """Yield every example with odd numbers at both ends of each of its arrays of floats."""
    numbers = count(100)
    for name, example in MESSAGE_EXAMPLES.items():
        for key, array in example.arrays.items():
            for bits in _ODD_BITS.get(array.dtype, ()):
                for at in {0, array.size - 1} if array.size else ():
                    odd = array.copy()
                    odd.view(f"u{odd.itemsize}").reshape(-1)[at] = bits
                    arrays = {**example.arrays, key: odd}
                    frames = encode_request(name, next(numbers), example.fields, arrays)
                    yield [bytes(frame) for frame in frames]


def bombs() -> Iterator[Frames]:
    """Yield headers that promise more than they hold, or hold themselves too often."""
    for first in (b"\xdf\xff\xff\xff\xff", b"\xdd\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff",
                  b"\xdb\xff\xff\xff\xff", b"\xc9\xff\xff\xff\xff\x01"):  # fmt: skip
        yield [first]
        yield [b"\x81\xa2id" + first]
    for depth in (32, 600, 60_000):
        yield [b"\x91" * depth]
        yield [b"\x81\xa1a" * min(depth, 20_000)]
        yield [b"\x81\xa2id" + b"\x91" * depth + b"\x01"]
    yield [b"\xdc\xff\xff" + b"\x90" * 65_000]
    yield [b"\x82\xa2id\x01\xa2id\x02"]
    yield [b"\x82\xa4type\xa4ping\xa2id\x01\xa2id\x01"]
    yield [bytes(70_000)]
    yield []
    yield [b""] * 17
    yield [b"\x80"] * 18


def numbered(name: str, number: int, done: int = 0) -> Frames:
    """Return an example under an id of its own."""
    header, *arrays = EXAMPLES[name]
    return [msgpack.packb({**msgpack.unpackb(header), "id": number, "done": done}), *arrays]


class Maker:
    """Makes hostile messages, the same for the same seed; ids rise, so that each is a new one."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._bytes = np.random.default_rng(seed)
        self._last_id = 10

    def make(self) -> Frames:
        choice = self._random.random()
        if choice < 0.35:
            return self._plausible()
        if choice < 0.55:
            return self._of_fields()
        if choice < 0.75:
            return self._of_arrays()
        if choice < 0.95:
            return self._of_bytes()
        return [self._noise(60) for _ in range(self._random.randrange(4))]

    def _noise(self, most: int) -> bytes:
        return self._bytes.bytes(self._random.randrange(most))

    def _plausible(self) -> Frames:
        """Change one field of an example to what may well be meant."""
        name = self._random.choice(NAMES)
        header = self._header(name)
        fields = MESSAGES[name].request.fields
        if fields:
            header[self._random.choice(fields).name] = self._random.choice(PLAUSIBLE)
        return [msgpack.packb(header), *EXAMPLES[name][1:]]

    def _header(self, name: str) -> dict[str, Any]:
        header: dict[str, Any] = msgpack.unpackb(EXAMPLES[name][0])
        self._last_id += 1
        header["id"] = self._last_id
        return header

    def _of_fields(self) -> Frames:
        """Put odd values into the fields of an example, add some, and leave some out."""
        name = self._random.choice(NAMES)
        header: dict[Any, Any] = self._header(name)
        for _ in range(self._random.choice((1, 1, 1, 2, 3))):
            action = self._random.random()
            known = [field.name for field in MESSAGES[name].request.fields] or ["type"]
            field = self._random.choice([*known, *known, "type", "id", "done", "bulk"])
            if action < 0.75:
                header[field] = self._random.choice(VALUES)
            elif action < 0.85:
                header.pop(field, None)
            else:
                header[self._random.choice([*FIELDS, "", "x", 5])] = self._random.choice(VALUES)
        return [msgpack.packb(header, unicode_errors="surrogatepass"), *EXAMPLES[name][1:]]

    def _of_arrays(self) -> Frames:
        """Put odd contents into the arrays of an example, or describe them wrongly."""
        name = self._random.choice([name for name in NAMES if len(EXAMPLES[name]) > 1])
        header = self._header(name)
        arrays = list(EXAMPLES[name][1:])
        at = self._random.randrange(len(arrays))
        action = self._random.random()
        if action < 0.3:
            header["bulk"][at] = self._random.choice(DESCRIPTORS)
        elif action < 0.4:
            del arrays[at]
        elif action < 0.5:
            arrays.insert(at, self._noise(40))
        elif action < 0.6:
            array, _, shape = header["bulk"][at].split(":")
            header["bulk"][at] = f"{array}:{self._random.choice(list(DTYPES))}:{shape}"
        else:
            arrays[at] = self._odd_numbers(header["bulk"][at].split(":")[1], len(arrays[at]))
        return [msgpack.packb(header), *arrays]

    def _odd_numbers(self, dtype: str, size: int) -> bytes:
        kind = DTYPES[dtype]
        n = size // kind.itemsize
        if kind.kind == "f":
            pool = np.array([math.nan, math.inf, -math.inf, 0, -1, 1e38, 1e-40, 2.5], kind)
        else:
            info = np.iinfo(kind)
            odd = {info.min, info.max, 0, 1, 2, 5, info.max // 2, max(info.min, -1)}
            pool = np.array(sorted(odd), kind)
        return pool[self._bytes.integers(0, pool.size, n)].tobytes()

    def _of_bytes(self) -> Frames:
        """Change, cut, repeat and swap the bytes and frames of an example."""
        name = self._random.choice(NAMES)
        frames = [msgpack.packb(self._header(name)), *EXAMPLES[name][1:]]
        for _ in range(self._random.choice((1, 1, 2, 4))):
            at = self._random.randrange(len(frames))
            frame = bytearray(frames[at])
            action = self._random.random()
            if action < 0.6 and frame:
                frame[self._random.randrange(len(frame))] = self._random.randrange(256)
            elif action < 0.7:
                del frame[self._random.randrange(len(frame) + 1) :]
            elif action < 0.8:
                frame += self._noise(20)
            elif action < 0.9:
                frames.append(frames[self._random.randrange(len(frames))])
            else:
                other = EXAMPLES[self._random.choice(NAMES)]
                frame = bytearray(self._random.choice(other))
            frames[at] = bytes(frame)
        return frames
