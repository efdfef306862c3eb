"""The states of a session on both sides, and what leads from one to another.

`ClientSession` and `ServerSessions` follow these tables; PROTOCOL.md tells them in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

from navserver.status import NavserverError

__all__ = [
    "CLIENT_TRANSITIONS",
    "SERVER_TRANSITIONS",
    "ClientCause",
    "ClientState",
    "ServerCause",
    "ServerState",
    "SessionError",
    "next_state",
]


class SessionError(NavserverError, RuntimeError):
    """The program used a session in a way that its state does not allow."""


class ClientState(Enum):
    """Where a client's session stands."""

    DOWN = "down"
    """No connection."""
    GREETING = "greeting"
    """``hello`` is on its way."""
    SYNCING = "syncing"
    """The worlds of a server that does not know the session are brought up to date."""
    OPEN = "open"
    """Requests are sent as they come."""
    CLOSED = "closed"
    """Nothing is sent any more."""


class ClientCause(Enum):
    """What changes a client's state."""

    CONNECTED = "connected"
    WELCOMED = "welcomed"
    """The server knows the session, or there is nothing to bring up to date."""
    FORGOTTEN = "forgotten"
    """The server does not know the session, and there are worlds to bring up to date."""
    SYNCED = "synced"
    REFUSED = "refused"
    NO_SESSION = "no_session"
    LOST = "lost"
    REPLACED = "replaced"
    CLOSE = "close"


class ServerState(Enum):
    """Where a session stands on the server."""

    OPEN = "open"
    """It has a connection."""
    AWAY = "away"
    """Its connection is lost; it waits for another one."""
    GONE = "gone"
    """It has ended."""


class ServerCause(Enum):
    """What changes a session's state on the server."""

    HELLO = "hello"
    LOST = "lost"
    NOT_READING = "not_reading"
    EXPIRED = "expired"
    SHUTDOWN = "shutdown"


_C, _CC = ClientState, ClientCause

CLIENT_TRANSITIONS: Mapping[tuple[ClientState, ClientCause], ClientState] = {
    (_C.DOWN, _CC.CONNECTED): _C.GREETING,
    (_C.DOWN, _CC.LOST): _C.DOWN,
    (_C.GREETING, _CC.WELCOMED): _C.OPEN,
    (_C.GREETING, _CC.FORGOTTEN): _C.SYNCING,
    (_C.GREETING, _CC.REFUSED): _C.CLOSED,
    (_C.GREETING, _CC.NO_SESSION): _C.GREETING,
    (_C.GREETING, _CC.LOST): _C.DOWN,
    (_C.GREETING, _CC.REPLACED): _C.CLOSED,
    (_C.SYNCING, _CC.SYNCED): _C.OPEN,
    (_C.SYNCING, _CC.NO_SESSION): _C.GREETING,
    (_C.SYNCING, _CC.LOST): _C.DOWN,
    (_C.SYNCING, _CC.REPLACED): _C.CLOSED,
    (_C.OPEN, _CC.NO_SESSION): _C.GREETING,
    (_C.OPEN, _CC.LOST): _C.DOWN,
    (_C.OPEN, _CC.REPLACED): _C.CLOSED,
    (_C.DOWN, _CC.CLOSE): _C.CLOSED,
    (_C.GREETING, _CC.CLOSE): _C.CLOSED,
    (_C.SYNCING, _CC.CLOSE): _C.CLOSED,
    (_C.OPEN, _CC.CLOSE): _C.CLOSED,
    (_C.CLOSED, _CC.LOST): _C.CLOSED,
    (_C.CLOSED, _CC.CLOSE): _C.CLOSED,
}
"""A client's states; what is not listed cannot happen."""

_S, _SC = ServerState, ServerCause

SERVER_TRANSITIONS: Mapping[tuple[ServerState, ServerCause], ServerState] = {
    (_S.OPEN, _SC.HELLO): _S.OPEN,
    (_S.OPEN, _SC.LOST): _S.AWAY,
    (_S.OPEN, _SC.NOT_READING): _S.GONE,
    (_S.OPEN, _SC.SHUTDOWN): _S.GONE,
    (_S.AWAY, _SC.HELLO): _S.OPEN,
    (_S.AWAY, _SC.LOST): _S.AWAY,
    (_S.AWAY, _SC.EXPIRED): _S.GONE,
    (_S.AWAY, _SC.SHUTDOWN): _S.GONE,
}
"""A session's states on the server; what is not listed cannot happen."""

S = TypeVar("S", bound=Enum)
C = TypeVar("C", bound=Enum)


def next_state(transitions: Mapping[tuple[S, C], S], state: S, cause: C) -> S:
    """Return the state that follows.

    Parameters
    ----------
    transitions : mapping
        One of the tables.
    state, cause : Enum
        Where the session stands, and what happens.

    Returns
    -------
    Enum
        The next state.

    Raises
    ------
    SessionError
        If that cannot happen in this state.

    Examples
    --------
    >>> next_state(CLIENT_TRANSITIONS, ClientState.DOWN, ClientCause.CONNECTED)
    <ClientState.GREETING: 'greeting'>
    """
    try:
        return transitions[state, cause]
    except KeyError:
        raise SessionError(
            f"a session that is {state.value} cannot go on after '{cause.value}'; make another one"
        ) from None
