"""The server's side of all sessions: who asked what, and what goes where; no sockets, no clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

from navserver.status import InputError
from navserver.wire.codec import decode_message
from navserver.wire.errors import WireError
from navserver.wire.limits import (
    MAX_BATCH,
    MAX_FRAME_BYTES,
    MAX_FRAMES,
    MAX_HEADER_BYTES,
    MAX_KEPT_BYTES,
    MAX_KEPT_REPLIES,
    MAX_REQUESTS,
    OLDEST_PROTOCOL,
    PROTOCOL,
)
from navserver.wire.message import Body, Event, Message, Reply, Request
from navserver.wire.messages import (
    EVENTS,
    encode_event,
    encode_failure,
    encode_reply,
    read_request,
    request_id,
)
from navserver.wire.session import SERVER_TRANSITIONS, ServerCause, ServerState, next_state

__all__ = ["Asked", "Began", "Ended", "ServerSessions", "Session", "SessionEvent"]

_PROBE_AFTER = 30.0
_EXPIRE_AFTER = 60.0

Connection = Hashable


class Session:
    """One client's session.

    Parameters
    ----------
    name : str
        As the client said it.
    client : str
        The client's program.
    connection : hashable
        Where it is now.
    now : float
        The time.
    """

    __slots__ = (
        "_kept_ids", "client", "connection", "done", "kept", "kept_bytes", "name", "open", "state",
        "touched",
    )  # fmt: skip

    def __init__(self, name: str, client: str, connection: Connection, now: float) -> None:
        self.name = name
        self.client = client
        self.connection: Connection | None = connection
        self.state = ServerState.OPEN
        self.open: dict[int, Message] = {}
        """Requests that are being carried out."""
        self.kept: dict[int, list[Any]] = {}
        """Replies to changes, by id, until the client has told that it has them."""
        self.kept_bytes = 0
        """Bytes of those replies."""
        self.done = 0
        """All requests up to this id have been answered."""
        self.touched = now
        """When the client last sent something, or was asked whether it is there."""
        self._kept_ids: list[int] = []

    def __repr__(self) -> str:
        """Return name, program and state."""
        return f"<Session {self.name} of {self.client or 'a client'}: {self.state.value}>"

    def keep(self, number: int, frames: list[Any]) -> None:
        """Keep the reply to a change.

        Parameters
        ----------
        number : int
            The request's id.
        frames : list of bytes-like
            The reply.
        """
        self.kept[number] = frames
        self.kept_bytes += sum(map(len, frames))
        heappush(self._kept_ids, number)

    @property
    def is_full(self) -> bool:
        """Whether as many replies are kept as may be."""
        return len(self.kept) >= MAX_KEPT_REPLIES or self.kept_bytes >= MAX_KEPT_BYTES

    def drop_up_to(self, done: int) -> None:
        """Drop the replies that the client has.

        Parameters
        ----------
        done : int
            All requests up to this id have been answered.
        """
        self.done = max(self.done, done)
        while self._kept_ids and self._kept_ids[0] <= done:
            frames = self.kept.pop(heappop(self._kept_ids))
            self.kept_bytes -= sum(map(len, frames))


class Began(NamedTuple):
    """A session has begun, or has another connection."""

    session: Session
    resumed: bool


class Asked(NamedTuple):
    """A request is to be carried out; it must be answered once."""

    session: Session
    request: Request


class Ended(NamedTuple):
    """A session has ended: what is open is to be stopped, what it owns to be dropped."""

    session: Session
    cause: ServerCause


SessionEvent = Began | Asked | Ended


class ServerSessions:
    """All sessions of one server.

    Parameters
    ----------
    instance : str
        Names the server process.
    server : str
        The program's name and version.
    capabilities : sequence of str
        Types of the messages that are taken.

    Notes
    -----
    Give it what happens (`receive_message`, `connection_lost`, `not_reading`, `tick`), carry out
    what `next_event` returns, call `reply` for each request, and send what `messages_to_send`
    yields. `now` is in seconds of any clock that never goes back.
    """

    def __init__(self, instance: str, server: str, capabilities: Sequence[str]) -> None:
        self.instance = instance
        """Names the server process."""
        self.warm_up = (0, 0)
        """Groups of kernels that are compiled, and in all."""
        self._server = server
        self._capabilities = sorted(capabilities)
        self._offered = frozenset(capabilities)
        self._sessions: dict[str, Session] = {}
        self._by_connection: dict[Connection, Session] = {}
        self._outbox: deque[tuple[Connection, list[Any]]] = deque()
        self._events: deque[SessionEvent] = deque()
        self._is_ending = False

    def __len__(self) -> int:
        """Return the number of sessions."""
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
        """Yield the sessions there are now."""
        return iter(list(self._sessions.values()))

    @property
    def open_requests(self) -> int:
        """Number of requests that are being carried out."""
        return sum(len(session.open) for session in self._sessions.values())

    # What happens

    def receive_message(self, connection: Connection, frames: Sequence[Any], now: float) -> None:
        """Take in a message.

        Parameters
        ----------
        connection : hashable
            Where it came from.
        frames : sequence of bytes-like
            All of it.
        now : float
            The time.
        """
        kind: object = None
        number = 0
        try:
            header, arrays = decode_message(frames)
            kind = header.get("type")
            number = request_id(header)
            session = self._by_connection.get(connection)
            if session is None and kind != "hello":
                raise WireError(
                    "no_session", "type", kind, "came before hello",
                    "send hello first on every connection",
                )  # fmt: skip
            request = read_request(header, arrays)
            if kind == "hello":
                self._greet(connection, request, now)
            elif session is not None:
                session.touched = now
                self._receive_request(session, request)
        except WireError as error:
            self._outbox.append((connection, encode_failure(kind, number, error)))

    def connection_lost(self, connection: Connection, now: float) -> None:
        """Take in that a connection is gone.

        Parameters
        ----------
        connection : hashable
            Which; one without a session is passed over.
        now : float
            The time.
        """
        session = self._by_connection.pop(connection, None)
        if session is not None:
            session.state = next_state(SERVER_TRANSITIONS, session.state, ServerCause.LOST)
            session.connection = None
            session.touched = now

    def not_reading(self, connection: Connection) -> bool:
        """End the session of a client that has not taken what was sent to it for too long.

        Parameters
        ----------
        connection : hashable
            Which; one without a session is passed over.

        Returns
        -------
        bool
            Whether it had one: the goodbye that tells of its end is to be sent then.
        """
        session = self._by_connection.get(connection)
        if session is None:
            return False
        fields = {"reason": "not_reading", "remedy": "read what comes, and begin a new session"}
        self.push(session, "goodbye", fields)
        self._end(session, ServerCause.NOT_READING)
        return True

    def tick(self, now: float) -> None:
        """Notice what has not happened: call it about once a second.

        Parameters
        ----------
        now : float
            The time.
        """
        for session in self:
            silence = now - session.touched
            if session.state is ServerState.AWAY:
                if silence >= _EXPIRE_AFTER:
                    self._end(session, ServerCause.EXPIRED)
            elif silence >= _PROBE_AFTER:
                # Sending is how a ROUTER learns that a peer is gone.
                self.push(session, "alive", {})
                session.touched = now

    def begin_ending(self) -> None:
        """Refuse new work from now on."""
        self._is_ending = True

    def end_all(self, remedy: str) -> None:
        """Tell all clients that the server ends.

        Parameters
        ----------
        remedy : str
            What they are advised to do.
        """
        for session in self:
            self.push(session, "goodbye", {"reason": "shutdown", "remedy": remedy})
            self._end(session, ServerCause.SHUTDOWN)

    # What the server answers

    def reply(self, session: Session, number: int, reply: Reply | InputError) -> None:
        """Answer a request, or one part of a batch.

        Parameters
        ----------
        session : Session
            Whose.
        number : int
            The request's id; one that has been answered is passed over.
        reply : Reply or InputError
            The answer, or why there is none.
        """
        message = session.open.get(number)
        if message is None:
            return
        frames = _frames_of(message, number, reply)
        if isinstance(reply, InputError) or not reply.fields.get("more"):
            del session.open[number]
            if message.changes:
                session.keep(number, frames)
        self._send(session, frames)

    def push(
        self, session: Session, event: str, fields: dict[str, Any], arrays: Any = None
    ) -> None:
        """Tell one session an event; one without connection does not get it.

        Parameters
        ----------
        session : Session
            Whom.
        event : str
            A key of `EVENTS`.
        fields : dict of str to object
            Its fields.
        arrays : dict of str to array, optional
            Its arrays.
        """
        declared: Event = EVENTS[event]
        self._send(session, encode_event(declared, Body(fields, arrays or {})))

    # What comes of it

    def messages_to_send(self) -> deque[tuple[Connection, list[Any]]]:
        """Return where to send which frames, in order; the caller takes them out.

        Returns
        -------
        deque of (hashable, list of bytes-like)
            The connection and the message.
        """
        return self._outbox

    def next_event(self) -> SessionEvent | None:
        """Return what has happened next.

        Returns
        -------
        SessionEvent or None
            None if there is nothing more to do.
        """
        return self._events.popleft() if self._events else None

    # Inside

    def _send(self, session: Session, frames: list[Any]) -> None:
        if session.connection is not None:
            self._outbox.append((session.connection, frames))

    def _greet(self, connection: Connection, request: Request, now: float) -> None:
        fields = request.fields
        if fields["oldest_protocol"] > PROTOCOL or fields["protocol"] < OLDEST_PROTOCOL:
            raise _no_common_version(fields["protocol"])
        if self._is_ending:
            raise _ending()
        former = self._by_connection.get(connection)
        if former is not None and former.name != fields["session"]:
            self.connection_lost(connection, now)
        session = self._sessions.get(fields["session"])
        resumed = session is not None
        if session is None:
            session = Session(fields["session"], fields["client"], connection, now)
            self._sessions[session.name] = session
        elif session.connection != connection:
            self._move(session, connection)
        session.state = next_state(SERVER_TRANSITIONS, session.state, ServerCause.HELLO)
        session.touched = now
        self._by_connection[connection] = session
        answer = self._welcome(min(fields["protocol"], PROTOCOL), resumed=resumed)
        self._send(session, encode_reply(request.message, request.id, answer))
        self._events.append(Began(session, resumed))

    def _move(self, session: Session, connection: Connection) -> None:
        """Give a session another connection."""
        if session.connection is not None:
            fields = {"reason": "replaced", "remedy": "use one session name a client"}
            self.push(session, "goodbye", fields)
            del self._by_connection[session.connection]
        session.connection = connection

    def _welcome(self, protocol: int, *, resumed: bool) -> Reply:
        return Reply(
            "ok",
            {
                "protocol": protocol,
                "server": self._server,
                "instance": self.instance,
                "resumed": resumed,
                "capabilities": self._capabilities,
                "max_header_bytes": MAX_HEADER_BYTES,
                "max_frame_bytes": MAX_FRAME_BYTES,
                "max_frames": MAX_FRAMES,
                "max_requests": MAX_REQUESTS,
                "max_batch": MAX_BATCH,
                "warm_up_done": self.warm_up[0],
                "warm_up_total": self.warm_up[1],
            },
            {},
        )

    def _receive_request(self, session: Session, request: Request) -> None:
        number, message = request.id, request.message
        session.drop_up_to(request.done)
        if number in session.open:
            return  # It was sent again; its reply goes to the newest connection.
        kept = session.kept.get(number)
        if kept is not None:
            self._send(session, kept)
        elif self._is_ending:
            raise _ending()
        elif message.name not in self._offered:
            raise WireError(
                "unavailable", "type", message.name, "is not offered by this server",
                f"it offers {', '.join(self._capabilities)}",
            )  # fmt: skip
        elif len(session.open) >= MAX_REQUESTS or (message.changes and session.is_full):
            self._send(session, encode_reply(message, number, Reply("overloaded", {}, {})))
        else:
            session.open[number] = message
            self._events.append(Asked(session, request))

    def _end(self, session: Session, cause: ServerCause) -> None:
        session.state = next_state(SERVER_TRANSITIONS, session.state, cause)
        del self._sessions[session.name]
        if session.connection is not None:
            del self._by_connection[session.connection]
            session.connection = None
        self._events.append(Ended(session, cause))


def _frames_of(message: Message, number: int, reply: Reply | InputError) -> list[Any]:
    if isinstance(reply, InputError):
        return encode_failure(message.name, number, reply)
    try:
        return encode_reply(message, number, reply)
    except WireError as error:
        return encode_failure(message.name, number, error)


def _no_common_version(spoken: int) -> WireError:
    older = "client" if spoken < OLDEST_PROTOCOL else "server"
    return WireError(
        "protocol", "protocol", spoken,
        f"is not spoken here: the server speaks {OLDEST_PROTOCOL} to {PROTOCOL}",
        f"update the {older}",
    )  # fmt: skip


def _ending() -> WireError:
    return WireError(
        "shutting_down", "type", "", "came too late: the server is ending",
        "connect again when it has started anew",
    )  # fmt: skip
