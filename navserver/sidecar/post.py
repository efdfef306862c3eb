"""What goes out to clients, and what is held for those that do not take it yet. No sockets."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any

from navserver.sidecar.logbook import Logbook
from navserver.wire.server_session import ServerSessions

__all__ = ["FIRST_RETRY_SECONDS", "Post"]

FIRST_RETRY_SECONDS = 0.001
"""When to try again at the earliest, after a client has had no room."""

_LAST_RETRY_SECONDS = 0.02
_NOT_READING_SECONDS = 10.0
_MOST_BYTES_HELD = 256 << 20


class _Held:
    """What a client has not taken yet."""

    def __init__(self, now: float) -> None:
        self.messages: deque[list[Any]] = deque()
        self.nbytes = 0
        self.since = now
        """When it last took something."""
        self.is_last = False
        """Whether there is nothing but a goodbye: it waits for as long as the connection lasts."""
        self.retry_at = now
        self.delay = FIRST_RETRY_SECONDS


class Post:
    """Sends what the sessions have to send, and holds back what a client does not take.

    A client that takes nothing for too long, or has too much held for it, loses its session; it is
    told so once it reads again.

    Parameters
    ----------
    send : callable
        Called with a connection and the frames of a message; False if there is no room for it.
    sessions : ServerSessions
        Whose messages.
    logbook : Logbook
        Where it is noted who does not read.
    clock : callable
        Seconds.
    """

    def __init__(
        self,
        send: Callable[[Any, list[Any]], bool],
        sessions: ServerSessions,
        logbook: Logbook,
        clock: Callable[[], float],
    ) -> None:
        self._send = send
        self._sessions = sessions
        self._logbook = logbook
        self._clock = clock
        self._held: dict[Any, _Held] = {}

    @property
    def is_holding(self) -> bool:
        """Whether some client has not taken everything, beside goodbyes."""
        return not all(held.is_last for held in self._held.values())

    @property
    def retry_at(self) -> float:
        """When to try again to send what is held back."""
        if not self._held:
            return math.inf
        return min(held.retry_at for held in self._held.values())

    def send(self) -> None:
        """Send everything that can be sent now."""
        outbox = self._sessions.messages_to_send()
        while outbox:
            connection, frames = outbox.popleft()
            held = self._held.get(connection)
            if held is None and not self._send(connection, frames):
                held = self._held[connection] = _Held(self._clock())
            if held is not None and not held.is_last:
                held.messages.append(frames)
                held.nbytes += sum(map(len, frames))
        if self._held:
            self._send_held()

    def _send_held(self) -> None:
        now = self._clock()
        for connection, held in list(self._held.items()):
            if now < held.retry_at:
                continue
            held.retry_at = now + held.delay
            held.delay = min(2.0 * held.delay, _LAST_RETRY_SECONDS)
            while held.messages and self._send(connection, held.messages[0]):
                held.nbytes -= sum(map(len, held.messages.popleft()))
                held.since = now
                held.delay = FIRST_RETRY_SECONDS
            if not held.messages:
                del self._held[connection]
            elif held.is_last:
                continue
            elif now - held.since > _NOT_READING_SECONDS or held.nbytes > _MOST_BYTES_HELD:
                self._logbook.note(
                    "warning", "client_not_reading", messages=len(held.messages), bytes=held.nbytes
                )
                self._give_up(connection)

    def _give_up(self, connection: Any) -> None:
        """Drop what a client does not take, but tell it so once it reads again."""
        del self._held[connection]
        if self._sessions.not_reading(connection):
            outbox = self._sessions.messages_to_send()
            _, goodbye = outbox.pop()
            if not self._send(connection, goodbye):
                last = self._held[connection] = _Held(self._clock())
                last.messages.append(goodbye)
                last.is_last = True
