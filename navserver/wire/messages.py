"""All messages, and what turns frames into them and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from navserver.status import InputError
from navserver.wire.codec import check_flat, encode_message
from navserver.wire.errors import WireError, clipped
from navserver.wire.limits import MAX_ID
from navserver.wire.map_messages import MAP_MESSAGES
from navserver.wire.message import Body, Event, Message, Reply, Request
from navserver.wire.mover_messages import MOVER_EVENTS, MOVER_MESSAGES
from navserver.wire.path_messages import PATH_EVENTS, PATH_MESSAGES
from navserver.wire.query_messages import QUERY_MESSAGES
from navserver.wire.session_messages import SESSION_EVENTS, SESSION_MESSAGES
from navserver.wire.world_messages import WORLD_MESSAGES

__all__ = [
    "EVENTS",
    "MESSAGES",
    "encode_event",
    "encode_failure",
    "encode_reply",
    "encode_request",
    "read_request",
    "request_id",
]

MESSAGES: Mapping[str, Message] = {
    message.name: message
    for message in (
        *SESSION_MESSAGES,
        *WORLD_MESSAGES,
        *PATH_MESSAGES,
        *QUERY_MESSAGES,
        *MAP_MESSAGES,
        *MOVER_MESSAGES,
    )
}
"""Every message by its type."""

EVENTS: Mapping[str, Event] = {
    event.name: event for event in (*SESSION_EVENTS, *PATH_EVENTS, *MOVER_EVENTS)
}
"""Every event by its type."""


def encode_request(
    message: str,
    request_id: int,
    fields: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]] | None = None,
    done: int = 0,
) -> list[Any]:
    """Return the frames of a request.

    Parameters
    ----------
    message : str
        Its type.
    request_id : int
        Its number.
    fields : mapping of str to object
        Its fields; those that are None are left out.
    arrays : mapping of str to array, optional
        Its arrays.
    done : int
        All requests up to this id have been answered.

    Returns
    -------
    list of bytes-like
        The header frame and one frame an array.

    Raises
    ------
    InputError
        If a field cannot be sent.
    """
    header: dict[str, Any] = {"type": message, "id": request_id}
    if done:
        header["done"] = done
    header.update({key: value for key, value in fields.items() if value is not None})
    check_flat(header)
    return encode_message(header, arrays)


def request_id(header: Mapping[str, Any]) -> int:
    """Return the id of a request, to be told in the answer even if the rest is bad.

    Parameters
    ----------
    header : mapping of str to object
        The decoded header.

    Returns
    -------
    int
        Its id.

    Raises
    ------
    WireError
        ``bad_field`` if it has none.
    """
    given = header.get("id")
    if type(given) is int and 1 <= given <= MAX_ID:
        return given
    raise WireError("bad_field", "id", given, "is no request id", "give an integer in 1..2^63 - 1")


def read_request(header: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> Request:
    """Return a request that is fit to be carried out.

    Parameters
    ----------
    header : mapping of str to object
        The decoded header.
    arrays : dict of str to array
        The decoded arrays.

    Returns
    -------
    Request
        Checked, with defaults.

    Raises
    ------
    WireError
        ``bad_field`` or ``unknown_message``.

    Examples
    --------
    >>> from navserver.wire.codec import decode_message
    >>> frames = encode_request("world_hash", 7, {"world": "city"})
    >>> request = read_request(*decode_message(frames))
    >>> request.message.name, request.id, request.fields
    ('world_hash', 7, {'world': 'city'})
    """
    number = request_id(header)
    kind = header.get("type")
    message = MESSAGES.get(kind) if type(kind) is str else None
    if message is None:
        raise WireError(
            "unknown_message", "type", kind, "is no message", f"send one of {', '.join(MESSAGES)}"
        )
    done = header.get("done", 0)
    if type(done) is not int or not 0 <= done <= MAX_ID:
        raise WireError("bad_field", "done", done, "is no request id", "give an integer >= 0")
    body = message.read_request(header, arrays)
    return Request(message, number, body.fields, body.arrays, done)


def encode_reply(message: Message, number: int, reply: Reply) -> list[Any]:
    """Return the frames of a reply.

    Parameters
    ----------
    message : Message
        What was asked.
    number : int
        The request's id.
    reply : Reply
        The answer; fields that are None are left out.

    Returns
    -------
    list of bytes-like
        The header frame and one frame an array.
    """
    header: dict[str, Any] = {
        "type": message.name,
        "id": number,
        "status": reply.status,
        "version": reply.version,
        "wait_us": reply.wait_us,
        "search_us": reply.search_us,
    }
    header.update({key: value for key, value in reply.fields.items() if value is not None})
    return encode_message(header, reply.arrays)


def encode_failure(kind: object, number: int, error: InputError) -> list[Any]:
    """Return the frames of a reply of status ``error``.

    Parameters
    ----------
    kind : object
        The request's type, if it has one.
    number : int
        The request's id, 0 if it could not be read.
    error : InputError
        What was wrong; one of the core's is a bad field.

    Returns
    -------
    list of bytes-like
        One header frame.
    """
    return encode_message(
        {
            "type": kind if type(kind) is str and kind in MESSAGES else "error",
            "id": number,
            "status": "error",
            "version": 0,
            "wait_us": 0.0,
            "search_us": 0.0,
            "code": error.code if isinstance(error, WireError) else "bad_field",
            "field": clipped(error.field),
            "value": clipped(error.value),
            "problem": clipped(error.problem),
            "remedy": error.remedy,
        }
    )


def encode_event(event: Event, body: Body) -> list[Any]:
    """Return the frames of an event.

    Parameters
    ----------
    event : Event
        Which one.
    body : Body
        What it holds.

    Returns
    -------
    list of bytes-like
        The header frame and one frame an array.
    """
    return encode_message({"type": event.name, **body.fields}, body.arrays)
