"""The protocol as a whole: its document, its declarations and its vectors agree."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from navserver.movers.columns import MoverState, StuckReason
from navserver.movers.events import Events
from navserver.movers.properties import PROPERTIES
from navserver.service.path_validity import BreakReason
from navserver.sidecar.mover_streams import MOST_EVENTS
from navserver.wire import limits
from navserver.wire.codec import DTYPES, decode_message
from navserver.wire.errors import WireError
from navserver.wire.fields import OPTIONAL, REQUIRED, Field
from navserver.wire.limits import ERROR_CODES
from navserver.wire.message import COMMON_FIELDS, FAILURE_FIELDS, Body
from navserver.wire.messages import EVENTS, MESSAGES, read_request
from navserver.wire.mover_messages import (
    EVENT_KINDS,
    MOVER_PROPERTIES,
    MOVER_STATES,
    STUCK_REASONS,
)
from navserver.wire.path_messages import PATH_STATUSES, REASONS, SOURCES
from tests.wire import document

DOCUMENT = document.PROTOCOL.read_text(encoding="utf-8")
TO_RENEW = "run `python -m tests.wire.document`"
VECTORS = [
    pytest.param(vector, id=f"{vector['name']}-{vector['part']}")
    for path in sorted(document.VECTORS.glob("*.json"))
    for vector in json.loads(path.read_text(encoding="utf-8"))
]


def test_the_document_is_up_to_date() -> None:
    assert document.with_sections(DOCUMENT) == DOCUMENT, TO_RENEW


def test_the_vectors_are_up_to_date() -> None:
    found = {path.name: path.read_text(encoding="utf-8") for path in document.VECTORS.iterdir()}
    assert found == document.vector_files(), TO_RENEW


def sections() -> dict[str, str]:
    """Return the document's section of each message and event."""
    parts = re.split(r"^### `(\w+)`$", DOCUMENT, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_the_document_lists_exactly_the_messages() -> None:
    assert list(sections()) == [*MESSAGES, *EVENTS]


@pytest.mark.parametrize("name", [*MESSAGES, *EVENTS])
def test_the_document_lists_exactly_the_fields(name: str) -> None:
    text = sections()[name].partition("\n## ")[0]
    rows: dict[str, list[str]] = {}
    kind = ""
    for line in text.splitlines():
        heading = re.match(r"\| (request|reply|event) (field|array) \|", line)
        row = re.match(r"\| `(\w+)` \|", line)
        kind = f"{heading[1]} {heading[2]}" if heading else kind
        if row:
            rows.setdefault(kind, []).append(row[1])
    parts = (
        {"request": MESSAGES[name].request, "reply": MESSAGES[name].reply}
        if name in MESSAGES
        else {"event": EVENTS[name].part}
    )
    wanted = {}
    for direction, part in parts.items():
        wanted[f"{direction} field"] = [field.name for field in part.fields]
        wanted[f"{direction} array"] = [array.name for array in part.arrays]
    assert rows == {key: names for key, names in wanted.items() if names}


def test_the_document_shows_the_vectors() -> None:
    shown = re.findall(r"```hex\n(.*?)```", DOCUMENT, flags=re.DOTALL)
    whole = [
        [frame.replace("-", "") for frame in text.split("\n\n") if frame]
        for text in shown
        if "..." not in text
    ]
    hexes = [["".join(frame.split()) for frame in frames] for frames in whole]
    vectors = [param.values[0]["frames"] for param in VECTORS]
    assert len(shown) == len(vectors)
    assert len(hexes) > 0.9 * len(shown)
    assert all(frames in vectors for frames in hexes)


def test_numbers_in_the_text_are_those_of_the_code() -> None:
    text = " ".join(DOCUMENT.split())
    for index, status in enumerate(PATH_STATUSES):
        assert f"{index} `{status}`" in text
    for index, source in enumerate(SOURCES):
        assert f"{index} `{source}`" in text
    assert tuple(reason.word for reason in BreakReason) == REASONS
    for words in (MOVER_STATES, EVENT_KINDS, STUCK_REASONS):
        for index, word in enumerate(words):
            assert f"{index} `{word}`" in text
    assert tuple(state.name.lower() for state in MoverState) == MOVER_STATES
    assert tuple(reason.name.lower() for reason in StuckReason) == STUCK_REASONS
    assert Events._fields == (*EVENT_KINDS, "stuck_reason")
    assert set(MOVER_PROPERTIES) == set(PROPERTIES)
    for code in ERROR_CODES:
        assert f"| `{code}` |" in DOCUMENT
    assert (limits.MAX_HEADER_BYTES, limits.MAX_FRAME_BYTES) == (64 << 10, 64 << 20)
    for said in (
        f"version {limits.PROTOCOL}",
        f"{limits.MAX_FRAMES} frames",
        f"{limits.MAX_REQUESTS:,} requests",
        f"{limits.MAX_BATCH:,} rows",
        f"{limits.MAX_MOVERS:,} movers",
        f"{limits.MAX_STEPS:,} steps of a",
        f"{limits.MAX_RATE:,.0f} steps a second",
        f"{MOST_EVENTS:,} of them",
        f"{limits.MAX_KEPT_BYTES >> 20} MiB are kept",
        f"{limits.MAX_ITEMS:,} entries",
        f"{limits.MAX_WORLD_NAME} characters of a name",
        f"username `{limits.USERNAME}`",
        " ".join(DTYPES),
    ):
        assert said in text, said


def test_the_document_lists_the_common_fields() -> None:
    table = DOCUMENT[: DOCUMENT.index("**Coordinates.**")]
    for common in COMMON_FIELDS.values():
        assert all(f"`{field.name}`" in table for field in common)
    errors = DOCUMENT[DOCUMENT.index("## Errors") : DOCUMENT.index("## Sessions")]
    assert all(f"| `{field.name}` |" in errors for field in FAILURE_FIELDS)


# --- declarations ---------------------------------------------------------------------------------


def all_fields() -> list[tuple[str, Field]]:
    parts = [(name, part) for name, m in MESSAGES.items() for part in (m.request, m.reply)]
    parts += [(name, event.part) for name, event in EVENTS.items()]
    return [(name, field) for name, part in parts for field in part.fields]


def test_names_are_used_once() -> None:
    assert not set(MESSAGES) & set(EVENTS)
    for common, part in [
        *(("request", message.request) for message in MESSAGES.values()),
        *(("reply", message.reply) for message in MESSAGES.values()),
        *(("event", event.part) for event in EVENTS.values()),
    ]:
        names = [field.name for field in (*COMMON_FIELDS[common], *part.fields)]
        names += ["bulk"]
        assert len(set(names)) == len(names)
        arrays = [array.name for array in part.arrays]
        assert len(set(arrays)) == len(arrays)
        assert all(array.dtype in DTYPES for array in part.arrays)


def test_defaults_pass_their_own_checks() -> None:
    for name, field in all_fields():
        if field.default not in (REQUIRED, OPTIONAL):
            given = list(field.default) if isinstance(field.default, tuple) else field.default
            assert field.check(given) == field.default, (name, field.name)


def test_everything_is_explained() -> None:
    for _, field in all_fields():
        assert field.doc
    for message in MESSAGES.values():
        assert message.doc.endswith(".")
        assert set(message.errors) <= set(ERROR_CODES)


# --- vectors --------------------------------------------------------------------------------------


def frames_of(vector: dict[str, Any]) -> list[bytes]:
    return [bytes.fromhex(frame) for frame in vector["frames"]]


def read(vector: dict[str, Any], frames: list[bytes]) -> Body | None:
    """Return what a vector's frames hold, read as what they claim to be."""
    header, arrays = decode_message(frames)
    part = vector["part"]
    if part == "request":
        request = read_request(header, arrays)
        return Body(request.fields, request.arrays)
    if part == "reply":
        return MESSAGES[vector["name"]].read_reply(header, arrays, strict=True)
    if part == "event":
        return EVENTS[vector["name"]].read(header, arrays, strict=True)
    return None


@pytest.mark.parametrize("vector", VECTORS)
def test_vectors_are_decoded(vector: dict[str, Any]) -> None:
    header, arrays = decode_message(frames_of(vector))
    assert header == vector["header"]
    assert list(arrays) == list(vector["arrays"])
    for name, wanted in vector["arrays"].items():
        values = np.array([float(value) for value in wanted["values"]])
        assert arrays[name].dtype == DTYPES[wanted["dtype"]]
        assert arrays[name].shape == tuple(wanted["shape"])
        assert np.array_equal(arrays[name].reshape(-1).astype(float), values)
    read(vector, frames_of(vector))


@pytest.mark.parametrize("vector", VECTORS)
def test_vectors_are_encoded(vector: dict[str, Any]) -> None:
    assert document.frames_of(vector["name"], vector["part"]) == frames_of(vector)


@pytest.mark.parametrize("vector", VECTORS)
def test_vectors_cut_at_each_length_are_refused(vector: dict[str, Any]) -> None:
    frames = frames_of(vector)
    for i, frame in enumerate(frames):
        for length in range(0, len(frame), 1 if i == 0 else max(1, len(frame) // 64)):
            with pytest.raises(WireError):
                read(vector, [*frames[:i], frame[:length], *frames[i + 1 :]])
    for count in range(len(frames)):
        with pytest.raises(WireError):
            read(vector, frames[:count])


@pytest.mark.parametrize("vector", VECTORS)
def test_vectors_with_trailing_bytes_are_refused(vector: dict[str, Any]) -> None:
    frames = frames_of(vector)
    for extra in (b"\x00", b"\x80", b"\xff" * 100):
        for i, frame in enumerate(frames):
            with pytest.raises(WireError):
                read(vector, [*frames[:i], frame + extra, *frames[i + 1 :]])
        with pytest.raises(WireError):
            read(vector, [*frames, extra])


@pytest.mark.parametrize("vector", VECTORS)
def test_vectors_with_a_byte_flipped_are_read_or_refused(vector: dict[str, Any]) -> None:
    frames = frames_of(vector)
    refused = 0
    for i, byte in enumerate(frames[0]):
        for bit in range(8):
            flipped = bytearray(frames[0])
            flipped[i] = byte ^ (1 << bit)
            try:
                read(vector, [bytes(flipped), *frames[1:]])
            except WireError as error:
                assert error.field
                assert error.remedy
                refused += 1
    assert refused > 4 * len(frames[0]) or vector["part"] in ("reply", "error", "event")


def test_there_is_a_vector_of_everything() -> None:
    found = {(param.values[0]["name"], param.values[0]["part"]) for param in VECTORS}
    assert found == set(document.parts())
    assert Path(document.VECTORS).name == "vectors"
