from __future__ import annotations

import math
from typing import Any

import msgpack
import numpy as np
import pytest

from navserver.status import CellError
from navserver.wire.codec import decode_message
from navserver.wire.errors import WireError
from navserver.wire.limits import MAX_ID
from navserver.wire.message import read_head
from navserver.wire.messages import (
    MESSAGES,
    encode_failure,
    encode_request,
    read_request,
)


def refusal(header: dict[str, Any], arrays: dict[str, Any] | None = None) -> WireError:
    with pytest.raises(WireError) as caught:
        read_request(header, arrays or {})
    return caught.value


PATH = {"type": "path", "id": 7, "world": "w", "start": [0, 0], "goal": [1, 1]}


def test_defaults_are_filled_in() -> None:
    request = read_request(PATH, {})
    assert request.message is MESSAGES["path"]
    assert (request.id, request.done) == (7, 0)
    assert request.fields["start"] == (0, 0)
    assert request.fields["diagonal_mode"] == 3
    assert request.fields["deadline_ms"] is None
    assert set(request.fields) == {field.name for field in MESSAGES["path"].request.fields}


def test_requests_do_not_share_their_fields() -> None:
    read_request(PATH, {}).fields["size"] = 9
    assert read_request(PATH, {}).fields["size"] == 1


@pytest.mark.parametrize("field", ["world", "start", "goal"])
def test_missing_fields_are_named(field: str) -> None:
    error = refusal({key: value for key, value in PATH.items() if key != field})
    assert (error.code, error.field, error.problem) == ("bad_field", field, "is missing")


@pytest.mark.parametrize("field", ["dead_line", "status", "version", "more", ""])
def test_unknown_fields_are_named(field: str) -> None:
    error = refusal({**PATH, field: 1})
    assert (error.code, error.field) == ("bad_field", field)
    assert "deadline_ms" in error.remedy


@pytest.mark.parametrize(
    "given", [None, 0, -1, MAX_ID + 1, 2**64 - 1, 1.0, True, "7", math.nan, [7]], ids=repr
)
def test_bad_ids_are_refused(given: object) -> None:
    assert refusal({**PATH, "id": given}).field == "id"
    done = None if given == 0 and type(given) is int else refusal({**PATH, "done": given})
    assert done is None or done.field == "done"


@pytest.mark.parametrize("kind", [None, "", "paths", "PATH", 1, ["path"], {"path": 1}], ids=repr)
def test_unknown_types_are_refused(kind: object) -> None:
    error = refusal({**PATH, "type": kind})
    assert (error.code, error.field) == ("unknown_message", "type")
    assert "path" in error.remedy


def test_arrays_are_checked() -> None:
    cells = np.zeros((2, 2), np.int32)
    request = read_request({**PATH, "bulk": []}, {"blocked_cells": cells})
    assert request.arrays["blocked_cells"] is cells
    assert refusal(PATH, {"blocked_cells": cells.astype(np.int64)}).field == "blocked_cells"
    assert refusal(PATH, {"cells": cells}).field == "cells"
    missing = refusal({"type": "unwatch", "id": 1})
    assert (missing.field, missing.problem) == ("watches", "is missing")


def test_lengths_of_different_arrays_agree() -> None:
    header = {"type": "line_of_sight", "id": 1, "world": "w"}
    starts = np.zeros((2, 2), np.int32)
    assert refusal(header, {"starts": starts, "goals": starts[:1]}).field == "goals"


def test_fields_that_are_none_are_left_out() -> None:
    header, _ = decode_message(encode_request("path", 1, {"world": "w", "agent": None}))
    assert header == {"type": "path", "id": 1, "world": "w"}


@pytest.mark.parametrize(
    ("kind", "told"), [("path", "path"), ("nonsense", "error"), (None, "error"), ([], "error")]
)
def test_errors_of_the_core_become_bad_fields(kind: object, told: str) -> None:
    error = CellError("goals[3]", (9, 9), "lies outside the map", "give x in 0..8")
    header, arrays = decode_message(encode_failure(kind, 7, error))
    assert not arrays
    assert header == {
        "type": told,
        "id": 7,
        "status": "error",
        "version": 0,
        "wait_us": 0.0,
        "search_us": 0.0,
        "code": "bad_field",
        "field": "goals[3]",
        "value": "(9, 9)",
        "problem": "lies outside the map",
        "remedy": "give x in 0..8",
    }


def test_an_error_fits_into_a_header_whatever_was_sent() -> None:
    error = refusal({**PATH, "x" * 60000: 1})
    (frame,) = encode_failure("path", 1, error)
    assert len(frame) < 4096
    assert len(msgpack.unpackb(frame)["field"]) <= 120


@pytest.mark.parametrize("kind", sorted(MESSAGES))
def test_every_request_field_is_refused_out_of_bounds(kind: str) -> None:
    bad = [math.nan, -math.inf, "\x00", [math.nan], {"a": math.nan}, None]
    beyond_integers = [2**63, 2**64 - 1, -(2**63)]
    for field in MESSAGES[kind].request.fields:
        for value in bad + (beyond_integers if field.kind != "number" else []):
            if field.kind != "text" or value != "\x00":
                with pytest.raises(WireError) as caught:
                    field.check(value)
                assert caught.value.field == field.name


HEAD = {"id": 7, "status": "ok", "version": 3, "wait_us": 1.5, "search_us": 2.0}


@pytest.mark.parametrize("status", ["ok", "found", "overloaded"])
def test_what_replies_begin_with_is_read(status: str) -> None:
    head = read_head({**HEAD, "status": status, "cost": 1.0})
    assert head == (7, status, 3, 1.5, 2.0)
    # Engines whose numbers are all floats may send whole ones, and msgpack whole floats as such.
    assert read_head({**HEAD, "id": 7.0, "wait_us": 1}) == (7, "ok", 3, 1.0, 2.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", -1),
        ("id", 1 << 63),
        ("id", True),
        ("status", ""),
        ("status", ["ok"]),
        ("version", 0.5),
        ("wait_us", -1.0),
        ("wait_us", math.nan),
        ("search_us", math.inf),
        ("search_us", None),
    ],
)
def test_what_replies_cannot_begin_with_is_named(field: str, value: object) -> None:
    with pytest.raises(WireError, match=field):
        read_head({**HEAD, field: value})
