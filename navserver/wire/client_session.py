"""The client's side of a session: what to send and what has come, without sockets or a clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgpack
from numpy.typing import NDArray

from navserver.wire.codec import decode_message
from navserver.wire.errors import WireError
from navserver.wire.journal import Change, Journal
from navserver.wire.limits import MAX_REQUESTS, OLDEST_PROTOCOL, PROTOCOL
from navserver.wire.message import Message, ReplyHead, read_head
from navserver.wire.messages import EVENTS, MESSAGES, encode_request
from navserver.wire.session import (
    CLIENT_TRANSITIONS,
    ClientCause,
    ClientState,
    SessionError,
    next_state,
)

__all__ = [
    "Answer",
    "ClientSession",
    "Closed",
    "Failure",
    "Lost",
    "Notice",
    "Opened",
    "SessionEvent",
    "Synced",
]

_FIRST_DELAY, _LAST_DELAY = 0.1, 2.0
# A server that says nothing for so long while requests wait is asked, and then given up.
_PING_AFTER, _LOST_AFTER = 5.0, 10.0
# Changes on their way at once while worlds are brought up to date.
_SYNC_WINDOW = 256


class Answer(NamedTuple):
    """A request has been answered, or one part of a batch."""

    id: int
    message: Message
    status: str
    version: int
    wait_us: float
    search_us: float
    fields: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    more: bool = False


class Failure(NamedTuple):
    """A request has failed."""

    id: int
    error: WireError


class Notice(NamedTuple):
    """The server has told an event."""

    name: str
    fields: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


class Opened(NamedTuple):
    """The session is open; requests that waited are on their way."""

    fields: dict[str, Any]
    """Of the reply to ``hello``."""


class Synced(NamedTuple):
    """The worlds of a server that did not know the session have been brought up to date."""

    worlds: list[str]
    """All that this client has changed."""
    lost: list[str]
    """Those of them that lack changes which had been acknowledged."""


class Lost(NamedTuple):
    """The connection is lost; make another one not before `retry_at`."""

    retry_at: float


class Closed(NamedTuple):
    """The session has ended."""

    error: WireError


SessionEvent = Answer | Failure | Notice | Opened | Synced | Lost | Closed


class _Pending(NamedTuple):
    message: Message
    frames: list[Any]


class ClientSession:
    """One client's session over any number of connections.

    Parameters
    ----------
    name : str
        The session; no other client's.
    client : str
        The program's name and version.
    journal : Journal, optional
        Where acknowledged changes are kept for a server that was restarted.

    Notes
    -----
    Give it what happens (`connected`, `receive_message`, `connection_lost`, `tick`), then send
    what `messages_to_send` returns and take `next_event` until it is None. `now` is in seconds
    of any clock that never goes back.

    Examples
    --------
    >>> session = ClientSession("5d41402a")
    >>> session.connected(now=0.0)
    >>> [frames] = session.messages_to_send()
    >>> decode_message(frames)[0]["type"]
    'hello'
    """

    def __init__(self, name: str, client: str = "", journal: Journal | None = None) -> None:
        self.name = name
        """The session's name."""
        self.state = ClientState.DOWN
        """Where it stands."""
        self.journal = Journal() if journal is None else journal
        """Changes that the server acknowledged."""
        self.instance = ""
        """The server process that was talked to last."""
        self.retry_at = 0.0
        """When to connect again."""
        self._client = client
        self._delay = _FIRST_DELAY
        self._last_id = 0
        self._pending: dict[int, _Pending] = {}
        self._hello_id = 0
        # The world and the journal's key of each request that brings a world up to date.
        self._syncing: dict[int, tuple[str, int | None]] = {}
        self._to_sync: deque[tuple[str, int, Change]] = deque()
        self._lost_worlds: set[str] = set()
        self._outbox: deque[list[Any]] = deque()
        self._events: deque[SessionEvent] = deque()
        self._heard = 0.0
        self._asked_at: float | None = None
        """When a server that says nothing was asked whether it is there."""

    @property
    def pending(self) -> int:
        """Number of requests without a reply."""
        return len(self._pending)

    def is_pending(self, number: int) -> bool:
        """Return whether a request has no reply yet.

        Parameters
        ----------
        number : int
            Its id.

        Returns
        -------
        bool
            False for one that was answered or forgotten.
        """
        return number in self._pending

    # What the program wants

    def request(
        self,
        message: str,
        fields: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]] | None = None,
    ) -> int:
        """Queue a request; it is sent as soon as the session is open.

        Parameters
        ----------
        message : str
            A key of `MESSAGES`.
        fields : mapping of str to object
            Its fields; those that are None are left out.
        arrays : mapping of str to array, optional
            Its arrays; what must be kept of them is copied.

        Returns
        -------
        int
            Its id, which the answer will bear.

        Raises
        ------
        SessionError
            If the session is closed, or too many requests wait.
        WireError
            ``too_large``.
        """
        if self.state is ClientState.CLOSED:
            raise SessionError("the session is closed; make another one")
        if len(self._pending) >= MAX_REQUESTS:
            raise SessionError(
                f"{MAX_REQUESTS} requests wait for their replies; take some before asking more"
            )
        number = self._last_id + 1
        frames = encode_request(message, number, fields, arrays, self._done())
        for i in range(1, len(frames)):
            # It may have to be sent again, when the caller's array holds something else.
            frames[i] = bytes(frames[i])
        self._last_id = number
        self._pending[number] = _Pending(MESSAGES[message], frames)
        if self.state is ClientState.OPEN:
            self._outbox.append(frames)
        return number

    def forget(self, number: int) -> None:
        """Give a request up: its reply, should it come, is dropped.

        Parameters
        ----------
        number : int
            Its id.
        """
        self._pending.pop(number, None)

    def close(self) -> None:
        """End the session; nothing is sent or told any more."""
        self._go(ClientCause.CLOSE)
        self._pending.clear()
        self._outbox.clear()

    # What happens to the connection

    def connected(self, now: float) -> None:
        """Take in that there is a new connection.

        Parameters
        ----------
        now : float
            The time.

        Raises
        ------
        SessionError
            If there was one already, or the session is closed.
        """
        self._go(ClientCause.CONNECTED)
        self._heard = now
        self._asked_at = None
        self._outbox.clear()
        self._send_hello()

    def connection_lost(self, now: float) -> None:
        """Take in that the connection is lost, or could not be made.

        Parameters
        ----------
        now : float
            The time.
        """
        self._lose(now)

    def receive_message(self, frames: Sequence[Any], now: float) -> None:
        """Take in a message.

        Parameters
        ----------
        frames : sequence of bytes-like
            All of it.
        now : float
            The time.

        Raises
        ------
        WireError
            If it is none that a server may send; the session is as it was.
        """
        header, arrays = decode_message(frames)
        self._heard = now
        self._asked_at = None
        if "id" in header:
            self._receive_reply(header, arrays)
        else:
            self._receive_event(header, arrays, now)

    def tick(self, now: float) -> None:
        """Notice what has not happened: call it about once a second.

        Parameters
        ----------
        now : float
            The time.
        """
        if self.state in (ClientState.DOWN, ClientState.CLOSED):
            return
        waits = self._pending or self._syncing or self.state is ClientState.GREETING
        if not waits or now - self._heard < _PING_AFTER:
            return
        # That nothing was heard while nothing was awaited, or nobody looked, says nothing.
        if self._asked_at is None:
            self._asked_at = now
            if self.state is ClientState.OPEN:
                self._last_id += 1
                self._outbox.append(encode_request("ping", self._last_id, {}))
        elif now - self._asked_at >= _LOST_AFTER:
            self._lose(now)

    # What comes of it

    def messages_to_send(self) -> list[list[Any]]:
        """Return the messages to be sent now, in this order.

        Returns
        -------
        list of list of bytes-like
            The frames of each; none is returned twice.
        """
        messages = list(self._outbox)
        self._outbox.clear()
        return messages

    def next_event(self) -> SessionEvent | None:
        """Return what has happened next.

        Returns
        -------
        SessionEvent or None
            None if there is nothing more to tell.
        """
        return self._events.popleft() if self._events else None

    # Inside

    def _go(self, cause: ClientCause) -> None:
        self.state = next_state(CLIENT_TRANSITIONS, self.state, cause)

    def _done(self) -> int:
        """Return the id up to which everything has been answered."""
        return next(iter(self._pending)) - 1 if self._pending else self._last_id

    def _drop_outgoing(self) -> None:
        self._outbox.clear()
        self._syncing.clear()
        self._to_sync.clear()

    def _send_hello(self) -> None:
        self._last_id += 1
        self._hello_id = self._last_id
        fields = {
            "session": self.name,
            "protocol": PROTOCOL,
            "oldest_protocol": OLDEST_PROTOCOL,
            "client": self._client,
        }
        self._outbox.append(encode_request("hello", self._hello_id, fields))

    def _lose(self, now: float) -> None:
        if self.state is ClientState.CLOSED:
            return
        self._go(ClientCause.LOST)
        self._drop_outgoing()
        self.retry_at = now + self._delay
        self._delay = min(2.0 * self._delay, _LAST_DELAY)
        self._events.append(Lost(self.retry_at))

    def _end(self, cause: ClientCause, error: WireError) -> None:
        self._go(cause)
        for number in self._pending:
            self._events.append(Failure(number, error))
        self._pending.clear()
        self._outbox.clear()
        self._events.append(Closed(error))

    def _receive_event(
        self, header: dict[str, Any], arrays: dict[str, NDArray[Any]], now: float
    ) -> None:
        event = EVENTS.get(header.get("type", ""))
        if event is None:
            return  # One of a later version.
        body = event.read(header, arrays)
        if event.name != "goodbye":
            self._events.append(Notice(event.name, body.fields, body.arrays))
        elif body.fields["reason"] == "replaced":
            error = WireError(
                "no_session", "session", self.name, "has been taken over by another connection",
                body.fields["remedy"],
            )  # fmt: skip
            self._end(ClientCause.REPLACED, error)
        else:
            self._lose(now)

    def _receive_reply(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        head = read_head(header)
        if head.status != "error" and head.id in self._pending:
            self._receive_answer(head, header, arrays)
            return
        error = _error_of(header) if head.status == "error" else None
        if error is not None and error.code == "no_session" and head.id != self._hello_id:
            self._greet_again(error)
        elif head.id == self._hello_id and self.state is ClientState.GREETING:
            self._receive_welcome(header, arrays, error)
        elif head.id in self._syncing:
            self._receive_synced(head, header, arrays, error)
        elif head.id in self._pending and error is not None:
            # A server that is ending has not begun it: the next one will.
            if error.code != "shutting_down":
                del self._pending[head.id]
                self._events.append(Failure(head.id, error))
        elif head.id == 0 and error is not None:
            self._events.append(Failure(0, error))

    def _greet_again(self, error: WireError) -> None:
        if self.state in (ClientState.OPEN, ClientState.SYNCING):
            self._go(ClientCause.NO_SESSION)
            self._drop_outgoing()
            self._send_hello()
        elif self.state is not ClientState.GREETING:
            raise error

    def _receive_welcome(
        self, header: dict[str, Any], arrays: dict[str, NDArray[Any]], error: WireError | None
    ) -> None:
        if error is not None:
            self._end(ClientCause.REFUSED, error)
            return
        fields = MESSAGES["hello"].read_reply(header, arrays).fields
        self.instance = fields["instance"]
        self._delay = _FIRST_DELAY
        self._events.append(Opened(fields))
        if fields["resumed"] or not self.journal.worlds:
            self._go(ClientCause.WELCOMED)
            self._outbox.extend(pending.frames for pending in self._pending.values())
            return
        self._go(ClientCause.FORGOTTEN)
        self._lost_worlds.clear()
        for world in self.journal.worlds:
            self._last_id += 1
            self._syncing[self._last_id] = (world, None)
            self._outbox.append(encode_request("world_info", self._last_id, {"world": world}))

    def _receive_synced(
        self,
        head: ReplyHead,
        header: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        error: WireError | None,
    ) -> None:
        world, key = self._syncing.pop(head.id)
        if key is None:
            lineage = None
            if error is None:
                lineage = MESSAGES["world_info"].read_reply(header, arrays).fields["lineage"]
            plan = self.journal.plan(world, lineage, head.version)
            if plan.is_lossy:
                self._lost_worlds.add(world)
            self._to_sync.extend((world, key, change) for key, change in plan.changes)
        elif head.status != "ok":
            self._lost_worlds.add(world)
        else:
            message = MESSAGES[str(header.get("type"))]
            fields = message.read_reply(header, arrays).fields
            self.journal.renumber(world, key, head.version, fields)
        self._make_again()
        if not self._syncing:
            self._go(ClientCause.SYNCED)
            self._events.append(Synced(self.journal.worlds, sorted(self._lost_worlds)))
            self._outbox.extend(pending.frames for pending in self._pending.values())

    def _make_again(self) -> None:
        """Send the next changes that the server's worlds lack."""
        while self._to_sync and len(self._syncing) < _SYNC_WINDOW:
            world, key, change = self._to_sync.popleft()
            self._last_id += 1
            self._syncing[self._last_id] = (world, key)
            again = {**change.header, "id": self._last_id}
            # They were said of the server that is gone.
            again.pop("done", None)
            again.pop("base_version", None)
            self._outbox.append([msgpack.packb(again), *change.bulk])

    def _receive_answer(
        self, head: ReplyHead, header: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> None:
        message, frames = self._pending[head.id]
        fields: dict[str, Any] = {}
        if head.status in message.statuses:
            fields, arrays = message.read_reply(header, arrays)
        more = bool(fields.get("more", False))
        if not more:
            del self._pending[head.id]
        if message.changes and head.status == "ok":
            sent, _ = decode_message(frames)
            self.journal.note(Change(message, sent, tuple(frames[1:])), head.version, fields)
        self._events.append(
            Answer(
                head.id, message, head.status, head.version, head.wait_us, head.search_us,
                fields, arrays, more,
            )
        )  # fmt: skip


def _error_of(header: Mapping[str, Any]) -> WireError:
    """Return the error that a reply tells; its code may be one of a later version."""
    return WireError(
        str(header.get("code", "internal")),
        str(header.get("field", "")),
        header.get("value", ""),
        str(header.get("problem", "")),
        str(header.get("remedy", "")),
    )
