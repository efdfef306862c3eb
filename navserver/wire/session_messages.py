"""Messages about the session and the server itself."""

from __future__ import annotations

from navserver.wire.fields import (
    OPTIONAL,
    Array,
    choice,
    flag,
    integer,
    name,
    number,
    text,
    texts,
    weights,
)
from navserver.wire.limits import MAX_ID
from navserver.wire.message import Event, Message, Part

__all__ = ["SESSION_EVENTS", "SESSION_MESSAGES"]

_ANY = 1 << 53

HELLO = Message(
    "hello",
    "Begins a session, or takes it up again on a new connection: requests that were sent before "
    "and not answered are sent again after it, under their ids. It must come first on every "
    "connection. The server answers in the newest version that both sides speak.",
    Part(
        (
            name("session", "the session, a name that no other client has, such as 128 random "
                 "bits in hex"),
            integer("protocol", 1, 65535, "newest version of the protocol that the client speaks"),
            integer("oldest_protocol", 1, 65535, "oldest one", default=1),
            text("client", "the client's name and version, for the log", most=128, default=""),
        ),
        (),
    ),
    Part(
        (
            integer("protocol", 1, 65535, "the version that holds from now on"),
            text("server", "the server's name and version"),
            name("instance", "the server process; another one remembers nothing of this session"),
            flag("resumed", "whether the server knows the session: replies to changes are kept, "
                 "watches hold", default=False),
            texts("capabilities", "types of the messages that this server takes"),
            integer("max_header_bytes", 1, _ANY, "most bytes of a header frame", unit="B"),
            integer("max_frame_bytes", 1, _ANY, "most bytes of a bulk frame", unit="B"),
            integer("max_frames", 1, _ANY, "most frames of a message"),
            integer("max_requests", 1, _ANY, "most requests of the session without a reply"),
            integer("max_batch", 1, _ANY, "most rows of a batch"),
            integer("warm_up_done", 0, _ANY, "groups of kernels that are compiled"),
            integer("warm_up_total", 0, _ANY, "groups of kernels; requests that come before all "
                    "are compiled may wait for the compiler"),
        ),
        (),
    ),
    errors=("protocol",),
)  # fmt: skip

PING = Message(
    "ping",
    "Asks whether the server answers. ZMTP heartbeats keep the connection; this asks the program.",
    Part((), ()),
    Part((number("time", 0.0, float(_ANY), "the server's clock since it started", unit="s"),), ()),
)

CANCEL = Message(
    "cancel",
    "Stops a request of this session. The request is still answered, once: with ``cancelled``, or "
    "with what it had come to.",
    Part(
        (integer("target", 1, MAX_ID, "id of the request"),),
        (Array("rows", "u32", ("n",), "rows of a batch to stop; left out: all", required=False),),
    ),
    Part((flag("running", "whether it had not been answered yet"),), ()),
)

STATS = Message(
    "stats",
    "Returns figures of the server: by kind of request ``<type>.count``, ``<type>.errors``, "
    "``<type>.p50_us``, ``<type>.p99_us`` and ``<type>.wait_p99_us``, the times of the last 4,096; "
    "``queue.*``, ``cache.*``, ``memory.*``, ``movers.*``, ``worlds.<name>.*``, ``sessions``, "
    "``warm_up.*``, ``requests_open`` (this one among them), ``uptime_s``. Others may be added.",
    Part((), ()),
    Part((weights("stats", "the figures by name", default={}),), ()),
)

LOG = Message(
    "log",
    "Asks for the events of the server's log, which then come as ``logged``, or ends that.",
    Part((choice("level", ("off", "warning", "info", "debug"), "the least level to be told"),), ()),
    Part((), ()),
)

SNAPSHOT = Message(
    "snapshot",
    "Returns the worlds with their movers as bytes that ``restore`` or ``serve --restore`` take, "
    "or has the server write them to the file it was started with.",
    Part(
        (
            name("world", "the world; left out: all", default=OPTIONAL),
            flag("save", "write the file named by ``--restore`` instead; it is replaced whole"),
        ),
        (),
    ),
    Part(
        (integer("bytes", 0, _ANY, "size of the snapshot", unit="B"),),
        (Array("state", "u8", ("n",), "the snapshot, unless it was saved", required=False),),
    ),
    errors=("unknown_world", "too_large"),
)

RESTORE = Message(
    "restore",
    "Makes the worlds of a snapshot; those of the same names are replaced. Its movers keep their "
    "handles and belong to no session. A snapshot that is damaged changes nothing.",
    Part((), (Array("state", "u8", ("n",), "what ``snapshot`` returned"),)),
    Part((texts("worlds", "names of the worlds made"),), ()),
    changes=True,
)

SHUTDOWN = Message(
    "shutdown",
    "Ends the server after all requests that wait have been answered.",
    Part((), ()),
    Part((), ()),
)

GOODBYE = Event(
    "goodbye",
    "The server ends the session on this connection: it is shutting down, another connection has "
    "taken the session over, or the client has read nothing for 10 s and its session is gone. "
    "Nothing comes after it.",
    Part(
        (
            choice("reason", ("shutdown", "replaced", "not_reading"), "why"),
            text("remedy", "what to do"),
        ),
        (),
    ),
)

ALIVE = Event(
    "alive",
    "Comes where nothing went either way for 30 s: sending is how the server finds out whether the "
    "client is still there. To be ignored.",
    Part((), ()),
)

PROGRESS = Event(
    "progress",
    "Kernels are being compiled. Comes for each group, after ``hello``, until all are done.",
    Part(
        (
            integer("done", 0, _ANY, "groups that are compiled"),
            integer("total", 0, _ANY, "groups in all"),
            text("doing", "what is being compiled now"),
        ),
        (),
    ),
)

LOGGED = Event(
    "logged",
    "One event of the server's log.",
    Part(
        (
            number("time", 0.0, float(_ANY), "seconds since 1970, UTC", unit="s"),
            choice("level", ("debug", "info", "warning", "error"), "how grave it is"),
            name("event", "what happened, in one word"),
            text("text", "the same for people"),
        ),
        (),
    ),
)

SESSION_MESSAGES = (HELLO, PING, CANCEL, STATS, LOG, SNAPSHOT, RESTORE, SHUTDOWN)
"""Messages about the session and the server."""
SESSION_EVENTS = (GOODBYE, ALIVE, PROGRESS, LOGGED)
"""Events about them."""
