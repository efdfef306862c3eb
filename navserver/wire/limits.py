"""What the protocol allows, in numbers; `PROTOCOL.md` and the hello reply tell them."""

from __future__ import annotations

__all__ = [
    "ERROR_CODES",
    "MAX_BATCH",
    "MAX_DIMENSIONS",
    "MAX_FRAMES",
    "MAX_FRAME_BYTES",
    "MAX_HEADER_BYTES",
    "MAX_ID",
    "MAX_ITEMS",
    "MAX_KEPT_BYTES",
    "MAX_KEPT_REPLIES",
    "MAX_MOVERS",
    "MAX_RATE",
    "MAX_REQUESTS",
    "MAX_STEPS",
    "MAX_TEXT",
    "MAX_WORLD_NAME",
    "OLDEST_PROTOCOL",
    "PROTOCOL",
    "USERNAME",
]

PROTOCOL = 1
"""The protocol's version, apart from the package's."""
OLDEST_PROTOCOL = 1
"""The oldest version that is still spoken."""
USERNAME = "navserver"
"""PLAIN's user name; its password is the token of the launch."""

MAX_HEADER_BYTES = 64 << 10
"""Most bytes of a header frame."""
MAX_FRAME_BYTES = 64 << 20
"""Most bytes of a bulk frame: the classes of a map of 8192 x 8192 cells."""
MAX_FRAMES = 17
"""Most frames of a message: the header and 16 of bulk data."""
MAX_DIMENSIONS = 2
"""Most dimensions of an array."""
MAX_ITEMS = 1024
"""Most entries of an array or a map inside a header."""
MAX_TEXT = 1024
"""Most characters of a text, unless its field says less."""
MAX_WORLD_NAME = 64
"""Most characters of a world's, layer's or profile's name."""
MAX_ID = (1 << 63) - 1
"""Largest request id."""
MAX_REQUESTS = 1024
"""Most requests of one session that may wait for their replies."""
MAX_KEPT_REPLIES = 65536
"""Most replies to changes that are kept for a session, beyond those it says it has."""
MAX_KEPT_BYTES = 64 << 20
"""Most bytes of such replies."""
MAX_BATCH = 65536
"""Most rows of a batch."""
MAX_MOVERS = 1 << 18
"""Most movers of all worlds."""
MAX_STEPS = 10_000
"""Most steps of movers that one request may ask for."""
MAX_RATE = 1000.0
"""Most steps a second."""

ERROR_CODES = {
    "malformed": "the frames or the header cannot be read",
    "bad_field": "a field is missing, unknown, of the wrong type or out of its bounds",
    "unknown_message": "there is no message of this type",
    "no_session": "`hello` has not come first, or the session has ended",
    "protocol": "client and server speak no common version",
    "unknown_world": "there is no world of this name",
    "world_exists": "there is a world of this name already",
    "stale": "the world is not at the version that the edit was made for",
    "movers_exist": "the world has movers, which would be dropped",
    "too_large": "an answer or a world would exceed a limit",
    "unavailable": "this server does not offer the message; see `capabilities`",
    "shutting_down": "the server is ending and takes no new work",
    "internal": "a defect of the server; its log has the details",
}
"""Every error code and what it means."""
