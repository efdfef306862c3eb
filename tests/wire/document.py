"""Writes what PROTOCOL.md and the test vectors take from the declarations of the messages.

``python -m tests.wire.document`` brings both up to date; tests fail while they are not.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import navserver.wire
from navserver.wire.codec import decode_message
from navserver.wire.errors import WireError
from navserver.wire.fields import OPTIONAL, REQUIRED, Array, Field
from navserver.wire.limits import ERROR_CODES
from navserver.wire.message import Event, Message, Part
from navserver.wire.messages import (
    EVENTS,
    MESSAGES,
    encode_event,
    encode_failure,
    encode_reply,
    encode_request,
)
from tests.wire.examples import ERROR_EXAMPLE, EVENT_EXAMPLES, MESSAGE_EXAMPLES

PROTOCOL = Path(navserver.wire.__file__).parent / "PROTOCOL.md"
VECTORS = Path(__file__).resolve().parent.parent / "vectors"
CODES_BEGIN, MESSAGES_BEGIN = "<!-- error codes -->", "<!-- messages -->"
CODES_END, MESSAGES_END = "<!-- end of error codes -->", "<!-- end of messages -->"


def frames_of(name: str, part: str) -> list[bytes]:
    """Return the frames of an example: its `request`, `reply` or `event`."""
    if part == "event":
        frames = encode_event(EVENTS[name], EVENT_EXAMPLES[name])
    elif part == "error":
        kind, number, problem = ERROR_EXAMPLE
        frames = encode_failure(kind, number, WireError(*problem))
    elif part == "request":
        example = MESSAGE_EXAMPLES[name]
        frames = encode_request(name, 7, example.fields, example.arrays)
    else:
        frames = encode_reply(MESSAGES[name], 7, MESSAGE_EXAMPLES[name].reply)
    return [bytes(frame) for frame in frames]


def parts() -> Iterator[tuple[str, str]]:
    """Yield the name of each example and which part of it."""
    for name in MESSAGES:
        yield name, "request"
        yield name, "reply"
    for name in EVENTS:
        yield name, "event"
    yield "error", "error"


def vector_of(name: str, part: str) -> dict[str, Any]:
    """Return what a vector file says of one part of an example."""
    frames = frames_of(name, part)
    header, arrays = decode_message(frames)
    described = {
        key: {
            "dtype": descriptor.split(":")[1],
            "shape": list(array.shape),
            "values": [_json_number(value) for value in array.reshape(-1).tolist()],
        }
        for descriptor, (key, array) in zip(header.get("bulk", ()), arrays.items(), strict=True)
    }
    return {
        "name": name,
        "part": part,
        "frames": [frame.hex() for frame in frames],
        "header": header,
        "arrays": described,
    }


def _json_number(value: float) -> float | str:
    # JSON has no infinity.
    return "inf" if value == math.inf else value


def vector_files() -> dict[str, str]:
    """Return the content of each vector file by its name."""
    files: dict[str, list[dict[str, Any]]] = {}
    for name, part in parts():
        files.setdefault(f"{name}.json", []).append(vector_of(name, part))
    return {
        name: "[\n" + ",\n".join(json.dumps(vector) for vector in vectors) + "\n]\n"
        for name, vectors in files.items()
    }


def _default(field: Field) -> str:
    if field.default is REQUIRED:
        return "required"
    if field.default is OPTIONAL:
        return "optional"
    value = list(field.default) if isinstance(field.default, tuple) else field.default
    return f"`{json.dumps(value)}`"


def _plain(doc: str) -> str:
    return doc.replace("``", "`")


def _table(part: Part, kind: str) -> Iterator[str]:
    if part.fields:
        yield f"| {kind} field | type | bounds | unit | default | |"
        yield "|---|---|---|---|---|---|"
        for field in part.fields:
            cells = [f"`{field.name}`", field.kind, field.bounds, field.unit, _default(field)]
            yield f"| {' | '.join(cells)} | {_plain(field.doc)} |"
        yield ""
    if part.arrays:
        yield f"| {kind} array | dtype | shape | unit | | |"
        yield "|---|---|---|---|---|---|"
        for array in part.arrays:
            yield _array_row(array)
        yield ""
    if not part.fields and not part.arrays:
        yield f"The {kind} has no fields of its own."
        yield ""


def _array_row(array: Array) -> str:
    presence = "required" if array.required else "optional"
    cells = [f"`{array.name}`", array.dtype, array.described(), array.unit, presence]
    return f"| {' | '.join(cells)} | {_plain(array.doc)} |"


def _example(name: str, part: str) -> Iterator[str]:
    frames = frames_of(name, part)
    header, _ = decode_message(frames)
    yield f"{part.capitalize()} `{json.dumps(header)}`:"
    yield ""
    yield "```hex"
    for frame in frames:
        text = frame.hex(" ")
        # 32 bytes a line; an empty line of a frame without bytes is written as a dash
        lines = [text[i : i + 96].strip() for i in range(0, len(text), 96)] or ["-"]
        yield from lines[:8]
        if len(lines) > 8:
            yield f"... {len(frame)} bytes in all, see tests/vectors/{name}.json"
        yield ""
    yield "```"
    yield ""


def _message_section(message: Message) -> Iterator[str]:
    yield f"### `{message.name}`"
    yield ""
    yield _plain(message.doc)
    yield ""
    yield from _table(message.request, "request")
    yield from _table(message.reply, "reply")
    statuses = ", ".join(f"`{status}`" for status in message.statuses)
    yield f"Status: {statuses}, `error`."
    codes = ", ".join(f"`{code}`" for code in message.errors)
    yield f"Errors besides those that every message may meet: {codes or 'none'}."
    yield "It is a change." if message.changes else "It changes nothing that outlives it."
    yield ""
    yield from _example(message.name, "request")
    yield from _example(message.name, "reply")


def _event_section(event: Event) -> Iterator[str]:
    yield f"### `{event.name}`"
    yield ""
    yield _plain(event.doc)
    yield ""
    yield from _table(event.part, "event")
    yield from _example(event.name, "event")


def _message_sections() -> Iterator[str]:
    yield ""
    yield "## Requests and replies"
    yield ""
    for message in MESSAGES.values():
        yield from _message_section(message)
    yield "### An error"
    yield ""
    yield from _example("error", "error")
    yield "## Events"
    yield ""
    for event in EVENTS.values():
        yield from _event_section(event)


def _error_codes() -> Iterator[str]:
    yield ""
    yield "| code | when |"
    yield "|---|---|"
    for code, meaning in ERROR_CODES.items():
        yield f"| `{code}` | {_plain(meaning)} |"
    yield ""


def with_sections(document: str) -> str:
    """Return the document with its written parts as they are and the others made anew."""
    for begin, end, lines in (
        (CODES_BEGIN, CODES_END, _error_codes()),
        (MESSAGES_BEGIN, MESSAGES_END, _message_sections()),
    ):
        before, _, rest = document.partition(begin)
        after = rest.partition(end)[2] if end in rest else rest
        document = "\n".join([before + begin, *lines, end]) + after
    return document


def main() -> None:
    PROTOCOL.write_text(with_sections(PROTOCOL.read_text(encoding="utf-8")), encoding="utf-8")
    VECTORS.mkdir(exist_ok=True)
    for name, content in vector_files().items():
        (VECTORS / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
