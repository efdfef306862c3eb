"""Frames to a header and arrays, and back.

A message is one header frame, a msgpack map, and one frame for each array that the header's
``bulk`` describes: ``"name:dtype:shape"``, raw, little-endian, C order. Nothing here knows what
a message means; it refuses what no message can be.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

import msgpack
import numpy as np
from numpy.typing import NDArray

from navserver.status import InputError
from navserver.wire.errors import WireError
from navserver.wire.limits import (
    MAX_DIMENSIONS,
    MAX_FRAME_BYTES,
    MAX_FRAMES,
    MAX_HEADER_BYTES,
    MAX_ITEMS,
)

__all__ = ["DTYPES", "check_flat", "decode_message", "encode_message"]

DTYPES: Mapping[str, np.dtype[Any]] = {
    "u8": np.dtype("u1"),
    "i8": np.dtype("i1"),
    "u16": np.dtype("<u2"),
    "i16": np.dtype("<i2"),
    "u32": np.dtype("<u4"),
    "i32": np.dtype("<i4"),
    "u64": np.dtype("<u8"),
    "i64": np.dtype("<i8"),
    "f32": np.dtype("<f4"),
    "f64": np.dtype("<f8"),
}
"""Element types of bulk frames."""

_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_DESCRIPTOR = re.compile(r"([a-z][a-z_]{0,31}):([a-z]\d{1,2}):(\d{1,10}(?:x\d{1,10})*)", re.ASCII)
_LONGEST_DESCRIPTOR = 128
_SCALARS = frozenset({str, int, float, bool})
_NAMES_ALONE = frozenset({str})

# To make a packer takes longer than to pack a header. It calls nothing of Python's, so no other
# thread comes in between; what it does not know it refuses.
_pack = msgpack.Packer(autoreset=True).pack
# A copy of fewer bytes takes less time than a view that ZeroMQ asks about.
_COPIED_BYTES = 1 << 12


def encode_message(
    header: Mapping[str, object], bulk: Mapping[str, NDArray[Any]] | None = None
) -> list[Any]:
    """Return the frames of a message.

    Parameters
    ----------
    header : mapping of str to object
        Scalars, and flat lists and maps of them; ``bulk`` is added.
    bulk : mapping of str to array, optional
        Arrays of one or two dimensions, of a dtype in `DTYPES`.

    Returns
    -------
    list of bytes-like
        The header frame, then one frame an array; arrays that fit are not copied.

    Raises
    ------
    WireError
        ``too_large`` if the header or an array exceeds its limit.

    Examples
    --------
    >>> import numpy as np
    >>> header, cells = encode_message({"id": 1}, {"cells": np.zeros((2, 2), np.int32)})
    >>> decode_message([header, cells])[0]["bulk"]
    ['cells:i32:2x2']
    """
    if not bulk:
        return [_packed(header)]
    frames: list[Any] = [b""]
    described = []
    for name, array in bulk.items():
        dtype = array.dtype.newbyteorder("<") if sys.byteorder == "big" else array.dtype
        nbytes = array.nbytes
        if nbytes > MAX_FRAME_BYTES:
            _refuse_size(name, nbytes, MAX_FRAME_BYTES)
        described.append(f"{name}:{_NAMES[dtype]}:{'x'.join(map(str, array.shape))}")
        if nbytes <= _COPIED_BYTES:
            frames.append(array.astype(dtype, copy=False).tobytes())
        else:
            frames.append(np.ascontiguousarray(array, dtype).data.cast("B"))
    frames[0] = _packed({**header, "bulk": described})
    return frames


def check_flat(header: Mapping[str, object]) -> None:
    """Refuse what the other side could not read; it could not even say of which message it was.

    Parameters
    ----------
    header : mapping of str to object
        What is to be sent.

    Raises
    ------
    InputError
        Names the field.

    Examples
    --------
    >>> check_flat({"world": "town", "goal": [1, 2]})
    >>> check_flat({"world": b"town"})
    Traceback (most recent call last):
    ...
    navserver.status.InputError: world: b'town' cannot be sent; give text, numbers or flat lists
    """
    for name, value in header.items():
        kind = type(value)
        # Nearly all fields are of these.
        is_flat = kind in _SCALARS or (kind is list and _SCALARS.issuperset(map(type, value)))  # type: ignore[call-overload]
        if not is_flat and not _is_flat(value):
            raise InputError(name, value, "cannot be sent", "give text, numbers or flat lists")


def _is_flat(value: object) -> bool:
    """Return whether msgpack makes of a value what a header may hold."""
    items: Iterable[object] = (value,)
    if isinstance(value, dict):
        if not _NAMES_ALONE.issuperset(map(type, value)):
            return False
        items = value.values()
    elif isinstance(value, list | tuple):
        items = value
    return all(
        isinstance(item, str | float | int)
        or (isinstance(item, np.generic) and item.dtype.kind in "biufU")
        for item in items
    )


def _packed(header: Mapping[str, object]) -> bytes:
    try:
        packed: bytes = _pack(header)
    except TypeError:
        packed = msgpack.packb(header, default=_plain)
    except (OverflowError, UnicodeEncodeError) as error:
        name = next(name for name, value in header.items() if not _can_be_packed(value))
        raise InputError(
            name, header[name], f"cannot be sent: {error}",
            "give integers below 2^64 and text without surrogates",
        ) from None  # fmt: skip
    if len(packed) > MAX_HEADER_BYTES:
        _refuse_size("header", len(packed), MAX_HEADER_BYTES)
    return packed


def _can_be_packed(value: object) -> bool:
    try:
        msgpack.packb(value)
    except (OverflowError, UnicodeEncodeError):
        return False
    return True


def _plain(value: object) -> object:
    """Return a number of numpy as one of Python."""
    if isinstance(value, np.generic):
        return value.item()
    raise InputError("header", value, "cannot be sent", "give strings, numbers and booleans")


def _refuse_size(field: str, size: int, most: int) -> NoReturn:
    raise WireError(
        "too_large", field, f"{size} bytes", "exceed a frame", f"stay within {most} bytes"
    )


def decode_message(frames: Sequence[Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a message.

    Parameters
    ----------
    frames : sequence of bytes-like
        What came as one message.

    Returns
    -------
    header : dict of str to object
        Strings, integers, finite or infinite floats, booleans, and flat lists and maps of them.
    bulk : dict of str to array
        Read-only views into the frames.

    Raises
    ------
    WireError
        ``malformed``: names the header, the field in it, or ``frames``.
    """
    if not 1 <= len(frames) <= MAX_FRAMES:
        raise WireError(
            "malformed", "frames", len(frames), "is not a number of frames",
            f"send a header and at most {MAX_FRAMES - 1} arrays",
        )  # fmt: skip
    header = _decode_header(frames[0])
    described = header.get("bulk")
    if described is None and len(frames) == 1:
        return header, {}
    if not isinstance(described, list) or len(described) != len(frames) - 1:
        raise WireError(
            "malformed", "bulk", described, f"does not describe the {len(frames) - 1} bulk frames",
            'give "name:dtype:shape" for each frame after the header, and no `bulk` without any',
        )  # fmt: skip
    bulk: dict[str, NDArray[Any]] = {}
    for descriptor, frame in zip(described, frames[1:], strict=True):
        name, array = _decode_array(descriptor, frame)
        if name in bulk:
            raise WireError(
                "malformed", "bulk", descriptor, "names an array twice", "send each array once"
            )
        bulk[name] = array
    return header, bulk


def _decode_header(frame: Any) -> dict[str, Any]:
    if len(frame) > MAX_HEADER_BYTES:
        raise WireError(
            "malformed", "header", f"{len(frame)} bytes", "is too large",
            f"stay within {MAX_HEADER_BYTES} bytes; large data goes in bulk frames",
        )  # fmt: skip
    header = _unpack(frame)
    if type(header) is not dict:
        raise WireError("malformed", "header", header, "is not a map", "send one msgpack map")
    if not _NAMES_ALONE.issuperset(map(type, header)):
        raise _not_a_name(next(name for name in header if type(name) is not str))
    is_nested = False
    if not _SCALARS.issuperset(map(type, header.values())):
        for name, value in header.items():
            kind = type(value)
            if kind is list:
                is_flat = _SCALARS.issuperset(map(type, value))
            elif kind is dict:
                is_flat = is_nested = _SCALARS.issuperset(map(type, value.values()))
            else:
                is_flat = kind in _SCALARS
            if not is_flat:
                raise WireError(
                    "malformed", name, value, "is not flat",
                    "send strings, numbers, booleans, or flat arrays and maps of them",
                )  # fmt: skip
    # Which fields stand twice is only worth finding out where some do.
    if is_nested or len(header) != _announced(frame):
        _unpack(frame, _as_map)
    return header


def _unpack(frame: Any, as_map: Callable[[list[tuple[Any, Any]]], object] | None = None) -> Any:
    try:
        return msgpack.unpackb(
            frame,
            object_pairs_hook=as_map,
            ext_hook=_refuse_extension,
            max_str_len=MAX_HEADER_BYTES,
            max_array_len=MAX_ITEMS,
            max_map_len=MAX_ITEMS,
        )
    except WireError:
        raise
    except (ValueError, RecursionError, msgpack.UnpackException) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise WireError(
            "malformed", "header", bytes(frame[:16]).hex(" "), f"is not msgpack: {reason}",
            "send one msgpack map",
        ) from None  # fmt: skip


def _announced(frame: Any) -> int:
    """Return how many entries a packed map says it has."""
    if frame[0] & 0xF0 == 0x80:
        return int(frame[0] & 0x0F)
    return int.from_bytes(frame[1 : 3 if frame[0] == 0xDE else 5], "big")


def _as_map(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    for key in found:
        if type(key) is not str:
            raise _not_a_name(key)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise WireError("malformed", twice, twice, "stands twice", "send each field once")
    return found


def _not_a_name(key: object) -> WireError:
    return WireError("malformed", "header", key, "is not a name", "use strings as keys")


def _refuse_extension(code: int, data: bytes) -> NoReturn:
    raise WireError("malformed", "header", data, f"is an extension of type {code}", "send none")


class _Described(NamedTuple):
    """What a descriptor says; None as dtype if it says nothing."""

    name: str
    dtype: np.dtype[Any] | None
    shape: tuple[int, ...]
    nbytes: int


# Most paths are short, and those of one length are described alike.
@lru_cache(maxsize=1024)
def _described(descriptor: str) -> _Described:
    match = _DESCRIPTOR.fullmatch(descriptor)
    dtype = DTYPES.get(match[2]) if match else None
    if match is None or dtype is None:
        return _Described("", None, (), 0)
    shape = tuple(map(int, match[3].split("x")))
    return _Described(match[1], dtype, shape, math.prod(shape) * dtype.itemsize)


def _decode_array(descriptor: object, frame: Any) -> tuple[str, NDArray[Any]]:
    is_text = type(descriptor) is str and len(descriptor) <= _LONGEST_DESCRIPTOR
    name, dtype, shape, nbytes = _described(descriptor if is_text else "")
    if dtype is None:
        raise WireError(
            "malformed", "bulk", descriptor, "is not name:dtype:shape",
            f"give such as cells:i32:9x2; dtypes are {', '.join(DTYPES)}",
        )  # fmt: skip
    if len(shape) > MAX_DIMENSIONS or nbytes != len(frame):
        raise WireError(
            "malformed", name, f"{descriptor} in {len(frame)} bytes",
            "is not the shape of its frame",
            f"send as many bytes as the shape says, in at most {MAX_DIMENSIONS} dimensions",
        )  # fmt: skip
    # numpy makes no view of nothing.
    flat = np.frombuffer(frame, dtype) if nbytes else np.empty(0, dtype)
    return name, flat.reshape(shape)
