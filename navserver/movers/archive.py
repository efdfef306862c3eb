"""Arrays as bytes and back: versioned, checked, and the same on every machine.

An archive is a magic word, a 4-byte length, a header in JSON (version, facts, and name, dtype and
shape of each array), the arrays little-endian one after the other, and a BLAKE2b digest of all
that. Nothing in it is executed or unpickled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.status import InputError

__all__ = ["VERSION", "digest_of", "pack", "unpack"]

VERSION = 1
"""Of the format; another one is refused."""

_MAGIC = b"NAVARRAY"
_DIGEST_BYTES = 16


def _little_endian(array: NDArray[Any]) -> bytes:
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def digest_of(facts: object, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a digest of arrays and what goes with them.

    Parameters
    ----------
    facts : object
        What JSON can tell.
    arrays : mapping of str to array
        Named arrays, in their order.

    Returns
    -------
    str
        BLAKE2b in hex, 32 digits.
    """
    digest = hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=_DIGEST_BYTES)
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype.str[1:]} {array.shape}".encode())
        digest.update(_little_endian(array))
    return digest.hexdigest()


def pack(facts: object, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return arrays and what goes with them as bytes.

    Parameters
    ----------
    facts : object
        What JSON can tell.
    arrays : mapping of str to array
        Named arrays.

    Returns
    -------
    bytes
        For `unpack`.
    """
    specs = [[name, array.dtype.str[1:], array.shape] for name, array in arrays.items()]
    header = json.dumps({"version": VERSION, "facts": facts, "arrays": specs}).encode()
    body = b"".join(map(_little_endian, arrays.values()))
    whole = _MAGIC + len(header).to_bytes(4, "little") + header + body
    return whole + hashlib.blake2b(whole, digest_size=_DIGEST_BYTES).digest()


def unpack(field: str, data: object) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Return what was packed.

    Parameters
    ----------
    field : str
        How an error names the bytes.
    data : bytes
        As from `pack`.

    Returns
    -------
    object
        The facts.
    dict of str to array
        New arrays in the machine's byte order.

    Raises
    ------
    InputError
        If they are not bytes, are damaged, or are of another version.
    """
    remedy = "give the bytes that were saved, whole"
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise InputError(field, data, "are not bytes", remedy)
    whole = bytes(data)
    if not whole.startswith(_MAGIC):
        raise InputError(field, whole[:16], "are not an archive", remedy)
    content, digest = whole[:-_DIGEST_BYTES], whole[-_DIGEST_BYTES:]
    if hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest() != digest:
        raise InputError(field, f"{len(whole)} bytes", "are damaged", remedy)
    try:
        return _read(field, content)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        # Of a checksum that somebody has made.
        raise InputError(field, f"{len(whole)} bytes", "are no archive inside", remedy) from None


def _read(field: str, content: bytes) -> tuple[Any, dict[str, NDArray[Any]]]:
    start = len(_MAGIC) + 4
    end = start + int.from_bytes(content[len(_MAGIC) : start], "little")
    header = json.loads(content[start:end])
    if header["version"] != VERSION:
        raise InputError(
            field, header["version"], "is the version of another format",
            f"save again with this release, which reads version {VERSION}",
        )  # fmt: skip
    arrays = {}
    for name, code, shape in header["arrays"]:
        dtype = np.dtype("<" + code)
        count = int(np.prod(shape, dtype=np.int64))
        if count < 0:
            raise ValueError(shape)
        array = np.frombuffer(content, dtype, count, end).reshape(shape)
        arrays[name] = array.astype(dtype.newbyteorder("="))
        end += array.nbytes
    return header["facts"], arrays
