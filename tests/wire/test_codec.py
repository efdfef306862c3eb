from __future__ import annotations

import math
import struct
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from navserver.status import InputError
from navserver.wire.codec import DTYPES, decode_message, encode_message
from navserver.wire.errors import WireError
from navserver.wire.limits import MAX_FRAMES, MAX_HEADER_BYTES, MAX_ITEMS
from navserver.wire.messages import encode_request

scalars = (
    st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
)
names = st.text(min_size=1, max_size=10).filter(lambda key: key != "bulk")
headers = st.dictionaries(
    names,
    scalars
    | st.lists(scalars, max_size=5)
    | st.dictionaries(st.text(max_size=5), scalars, max_size=4),
    max_size=20,
)
array_names = st.from_regex(r"[a-z][a-z_]{0,31}", fullmatch=True)
arrays = st.sampled_from(sorted(DTYPES)).flatmap(
    lambda name: hnp.arrays(
        DTYPES[name], hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=5)
    )
)


def refusal(*frames: Any) -> WireError:
    with pytest.raises(WireError) as caught:
        decode_message(frames)
    assert caught.value.code == "malformed"
    return caught.value


@given(headers, st.dictionaries(array_names, arrays, max_size=MAX_FRAMES - 1))
def test_what_is_encoded_is_decoded(header: dict[str, Any], bulk: dict[str, Any]) -> None:
    frames = [bytes(frame) for frame in encode_message(header, bulk)]
    found, found_bulk = decode_message(frames)
    described = found.pop("bulk", [])
    assert found == header
    assert [type(value) for value in found.values()] == [type(v) for v in header.values()]
    assert [text.split(":")[0] for text in described] == list(bulk) == list(found_bulk)
    for name, array in bulk.items():
        assert found_bulk[name].dtype == array.dtype
        assert found_bulk[name].shape == array.shape
        assert found_bulk[name].tobytes() == array.tobytes()


def test_arrays_are_little_endian_and_dense() -> None:
    array = np.arange(12, dtype=">i4").reshape(3, 4).astype("<i4")[:, ::2]
    _, frame = encode_message({}, {"a": array})
    assert bytes(frame) == struct.pack("<6i", 0, 2, 4, 6, 8, 10)


def test_decoded_arrays_cannot_be_written() -> None:
    _, bulk = decode_message([bytes(f) for f in encode_message({}, {"a": np.zeros(3)})])
    with pytest.raises(ValueError, match="read-only"):
        bulk["a"][0] = 1.0


@pytest.mark.parametrize("count", [0, MAX_FRAMES + 1])
def test_numbers_of_frames_are_bounded(count: int) -> None:
    assert refusal(*[b"\x80"] * count).field == "frames"


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\xc1",
        b"\x81",
        b"\x80\x80",
        b"\x01",
        b"\xc0",
        b"\x93\x01\x02\x03",
        b"\x81\x01\x02",
        b"\x81\xc4\x01a\x02",
        b"\x81\xa1a\xc7\x00\x05",
        b"\x81\xa1\xff\x01",
        b"\x91" * 5000,
        b"\x81\xa1a" * 3000,
        b"\xdf\xff\xff\xff\xff",
        b"\x81\xa1a\xdd\xff\xff\xff\xff",
        b"\x81\xa1a\xdb\xff\xff\xff\xff",
    ],
    ids=lambda packed: packed[:6].hex(),
)
def test_what_is_no_header_is_refused(packed: bytes) -> None:
    assert refusal(packed).field == "header"


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"bin",
        msgpack.Timestamp(0),
        [[1]],
        [{"b": 1}],
        {"b": [1]},
        {"b": {"c": 1}},
        [None],
        {"b": b""},
    ],
    ids=repr,
)
def test_headers_are_flat(value: object) -> None:
    assert refusal(msgpack.packb({"a": 1, "deep": value})).field == "deep"


@pytest.mark.parametrize(
    ("packed", "field"),
    [
        (b"\x82\xa1a\x01\xa1a\x02", "a"),
        (b"\x83\xa1a\x01\xa1b\x02\xa1b\x02", "b"),
        (b"\xde\x00\x02\xa1a\x01\xa1a\x01", "a"),
        (b"\xdf\x00\x00\x00\x02\xa1a\x01\xa1a\x01", "a"),
        (b"\x81\xa1a\x82\xa1x\x01\xa1x\x01", "x"),
    ],
    ids=lambda given: given.hex() if isinstance(given, bytes) else given,
)
def test_no_field_stands_twice(packed: bytes, field: str) -> None:
    error = refusal(packed)
    assert (error.field, error.problem) == (field, "stands twice")


def test_headers_are_bounded() -> None:
    decode_message([msgpack.packb({"a": "x" * (MAX_HEADER_BYTES - 6)})])
    assert refusal(msgpack.packb({"a": "x" * MAX_HEADER_BYTES})).field == "header"
    assert refusal(msgpack.packb({"a": [1] * (MAX_ITEMS + 1)})).field == "header"
    assert refusal(msgpack.packb({str(i): 1 for i in range(MAX_ITEMS + 1)})).field == "header"
    with pytest.raises(WireError, match="exceed a frame"):
        encode_message({"a": "x" * MAX_HEADER_BYTES})
    with pytest.raises(WireError, match="exceed a frame"):
        encode_message({"a": "x" * MAX_HEADER_BYTES}, {"b": np.zeros(1)})


def test_arrays_are_bounded() -> None:
    with pytest.raises(WireError, match="exceed a frame") as caught:
        encode_message({}, {"big": np.broadcast_to(np.uint8(0), (8193, 8192))})
    assert (caught.value.code, caught.value.field) == ("too_large", "big")


@pytest.mark.parametrize(
    ("descriptor", "size"),
    [
        ("a:i32:2x2", 15),
        ("a:i32:2x2", 17),
        ("a:i32:2x2", 0),
        ("a:u8:1x1x1", 1),
        ("a:u8:99999999999", 0),
        ("a:u8:9999999999x9999999999", 8),
        ("a:f16:2", 4),
        ("a:u8:-1", 1),
        ("a:u8:", 0),
        ("a:u8:1x", 1),
        ("a:u8:x1", 1),
        ("A:u8:1", 1),
        (":u8:1", 1),
        ("a:u8:1\n", 1),
        ("a:u8:\u0661", 1),
        ("a" * 33 + ":u8:1", 1),
        (7, 1),
        (True, 1),
    ],
)
def test_arrays_are_as_described(descriptor: object, size: int) -> None:
    error = refusal(msgpack.packb({"bulk": [descriptor]}), bytes(size))
    assert error.field in ("a", "bulk")


@pytest.mark.parametrize(
    "described", [None, [], ["a:u8:1", "b:u8:1"], "a:u8:1", {"a:u8:1": 1}, 1], ids=repr
)
def test_every_frame_is_described(described: object) -> None:
    header = {} if described is None else {"bulk": described}
    assert refusal(msgpack.packb(header), b"x").field == "bulk"


def test_no_array_stands_twice() -> None:
    assert refusal(msgpack.packb({"bulk": ["a:u8:1", "a:u8:1"]}), b"x", b"x").field == "bulk"


def test_infinities_pass_and_are_for_the_fields_to_judge() -> None:
    assert decode_message([msgpack.packb({"a": math.inf})])[0] == {"a": math.inf}


@given(st.binary(max_size=200), st.lists(st.binary(max_size=20), max_size=3))
def test_any_bytes_are_decoded_or_refused(header: bytes, bulk: list[bytes]) -> None:
    try:
        found, arrays = decode_message([header, *bulk])
    except WireError as error:
        assert error.code == "malformed"
        assert error.remedy
    else:
        assert type(found) is dict
        assert len(arrays) == len(bulk)


@pytest.mark.parametrize(
    "value",
    [b"x", [b"x"], [["x"]], {"a": {"b": 1}}, {1: 2}, 1 + 2j, [None], {3}, object(), np.complex64(1),
     np.zeros(2), 2**64, -(2**63) - 1, "\udc00"],
)  # fmt: skip
def test_what_no_header_may_hold_is_named_before_it_is_sent(value: object) -> None:
    with pytest.raises(InputError, match="cannot be sent") as caught:
        encode_request("path", 1, {"world": "w", "profile": value})
    assert caught.value.field == "profile"


@pytest.mark.parametrize(
    "value", ["x", 2**64 - 1, -(2**63), 1.5, True, [1, "x"], (1, 2), {"a": 1.5}, np.int64(3),
              np.float32(1.5), np.bool_(1), np.str_("x"), [np.int32(1)]],
)  # fmt: skip
def test_what_a_header_may_hold_is_sent(value: Any) -> None:
    header, _ = decode_message(encode_request("path", 1, {"profile": value}))
    assert header["profile"] == (list(value) if isinstance(value, tuple) else value)
