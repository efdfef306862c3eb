"""A client's connection: the session's socket, made again when it breaks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any

import zmq
import zmq.asyncio
from zmq.utils.monitor import recv_monitor_message

from navserver import __version__
from navserver.sidecar.address import Address
from navserver.status import InputError, NavserverError
from navserver.wire.client_errors import ServerUnavailableError
from navserver.wire.client_session import Notice
from navserver.wire.errors import WireError
from navserver.wire.inbox import Inbox
from navserver.wire.limits import MAX_FRAME_BYTES, MAX_REQUESTS, USERNAME
from navserver.wire.question import Question
from navserver.wire.session import ClientState, SessionError

__all__ = ["Link"]

# A plain integer: operations of enumerations are slow.
_READABLE = int(zmq.POLLIN)
_HANDSHAKE_MS = 2000
# The session connects anew. With -1, which says so, libzmq would end the whole process when the
# connection breaks while a message of several frames is read (`Assertion failed: !_more`).
_NEVER_MS = 86_400_000
_FATAL = zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
_BROKEN = zmq.EVENT_DISCONNECTED | zmq.EVENT_CLOSED | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | _FATAL


class Link(Inbox):  # numpydoc ignore=PR02
    """An inbox with its socket; what both clients have in common.

    Parameters
    ----------
    address : Address
        Where the server is.
    name : str, optional
        The session; a random one by default.
    context : zmq.Context, optional
        Where sockets are made, which many links may share; one of its own by default.
    """

    def __init__(
        self,
        address: Address,
        name: str | None = None,
        context: zmq.Context[Any] | None = None,
    ) -> None:
        super().__init__(f"navserver-py {__version__}", name)
        self.trouble = ""
        """Why there is no connection now."""
        self.socket: zmq.Socket[Any] | None = None
        """None while there is no connection and none is being made."""
        self._wait_ms = -1
        self._monitor: zmq.Socket[Any] | None = None
        self._owns_context = context is None
        self._context: zmq.Context[Any] = zmq.Context() if context is None else context
        self._address = address

    def keep(self, now: float) -> bool:
        """Do what time asks for: look at the connection, make it again.

        Parameters
        ----------
        now : float
            The time.

        Returns
        -------
        bool
            Whether messages have been taken in; what is waited for may be among them.
        """
        session = self.session
        has_come = self._look_at_connection(now)
        if self.socket is not None and self._is_readable(self.socket):
            # Whoever did not look for a while has heard of the server all the same.
            has_come = self._receive_all(now) or has_come
        session.tick(now)
        self._look_at_session()
        if session.state is ClientState.DOWN and now >= session.retry_at:
            self._open(now)
        self.send()
        return has_come

    def _open(self, now: float) -> None:
        self._close_socket()
        try:
            endpoint, token = self._address.resolve()
        except InputError as error:
            self.trouble = str(error)
            self._lose(now)
            return
        dealer = self._context.socket(zmq.DEALER)
        for option, value in (
            (zmq.LINGER, 0),
            (zmq.RECONNECT_IVL, _NEVER_MS),
            (zmq.HANDSHAKE_IVL, _HANDSHAKE_MS),
            (zmq.MAXMSGSIZE, MAX_FRAME_BYTES),
            (zmq.SNDHWM, 2 * MAX_REQUESTS),
            (zmq.RCVHWM, 2 * MAX_REQUESTS),
        ):
            dealer.setsockopt(option, value)
        self._monitor = dealer.get_monitor_socket(_BROKEN)
        self.socket = dealer
        self._wait_ms = -1
        try:
            dealer.plain_username = USERNAME.encode()
            dealer.plain_password = token.encode()
            dealer.connect(endpoint)
        except (zmq.ZMQError, UnicodeEncodeError) as error:
            self._close_socket()
            self.trouble = f"{endpoint} with its token is no address: {error}"
            self._lose(now)
            return
        self.trouble = f"nothing answers at {endpoint}"
        self.session.connected(now)

    def _lose(self, now: float) -> None:
        self.session.connection_lost(now)
        self._look_at_session()

    def send(self) -> None:
        """Send what the session has to send."""
        if self.socket is None:
            return
        try:
            for frames in self.session.messages_to_send():
                if len(frames) == 1:
                    self.socket.send(frames[0], zmq.DONTWAIT)
                else:
                    self.socket.send_multipart(frames, zmq.DONTWAIT)
        except zmq.Again:
            # There is room for more messages than requests may wait: the connection is gone.
            self._lose(time.monotonic())
        except BaseException:
            # Interrupted between two frames: what is sent next would be taken for the rest of that
            # message. All that waits is sent again on another connection.
            self._lose(time.monotonic())
            raise

    def take(self, wait_ms: int) -> bool:
        """Take in what has come, waiting for the first message.

        Parameters
        ----------
        wait_ms : int
            Milliseconds to wait at most.

        Returns
        -------
        bool
            Whether there was one.
        """
        dealer = self.socket
        assert dealer is not None
        try:
            if wait_ms != self._wait_ms:
                dealer.setsockopt(zmq.RCVTIMEO, wait_ms)
                self._wait_ms = wait_ms
            frames = dealer.recv_multipart()
            now = time.monotonic()
            self._receive_message(frames, now)
            # What comes is taken before anything is sent: many messages travel better together.
            # Where nothing is awaited, to ask for more takes longer than it helps.
            while self.session.pending and self._is_readable(dealer):
                self._receive_message(dealer.recv_multipart(zmq.NOBLOCK), now)
        except zmq.Again:
            return False
        self.send()
        return True

    def _is_readable(self, dealer: zmq.Socket[Any]) -> bool:
        return self.socket is dealer and bool(dealer.getsockopt(zmq.EVENTS) & _READABLE)  # type: ignore[operator]

    def _receive_message(self, frames: list[bytes], now: float) -> None:
        try:
            self.session.receive_message(frames, now)
        except WireError as error:
            self.trouble = f"the server has sent what cannot be read: {error}"
            self.session.connection_lost(now)
        self._look_at_session()

    async def wait_async(self, milliseconds: int) -> bool:
        """Wait until something can be read, while the loop goes on.

        Parameters
        ----------
        milliseconds : int
            At most so long.

        Returns
        -------
        bool
            Whether there is something.
        """
        if self.socket is None:
            await asyncio.sleep(milliseconds / 1e3)
            return False
        poller = zmq.asyncio.Poller()
        poller.register(self.socket, zmq.POLLIN)
        return bool(await poller.poll(milliseconds))

    def receive(self) -> None:
        """Take in all messages that have come, and send what comes of them."""
        self._receive_all(time.monotonic())
        self.send()

    def _receive_all(self, now: float) -> bool:
        """Take in all messages that have come; return whether there were any."""
        has_come = False
        dealer = self.socket
        while dealer is not None and self.socket is dealer:
            try:
                frames = dealer.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                break
            self._receive_message(frames, now)
            has_come = True
        return has_come

    def _look_at_connection(self, now: float) -> bool:
        """Take in what became of the connection; return whether messages came before that."""
        has_come = False
        monitor = self._monitor
        while monitor is not None and monitor.poll(0):
            event = recv_monitor_message(monitor, zmq.NOBLOCK)
            if event["event"] & _FATAL:
                self._fail(ServerUnavailableError(
                    "the server refuses this client: the token is not that of its launch; read "
                    "the connection file or the ready line again"
                ))  # fmt: skip
            else:
                # What came before the end counts: a server that ends answers and is gone at once.
                has_come = self._receive_all(now) or has_come
                if self.session.state not in (ClientState.DOWN, ClientState.CLOSED):
                    self.session.connection_lost(now)
            self._look_at_session()
            monitor = self._monitor
        return has_come

    def _look_at_session(self) -> None:
        """Take in what the session tells; without a session there is no connection."""
        if self.take_events():
            if self.error is not None:
                self.close()
            else:
                self._close_socket()

    def _fail(self, error: NavserverError) -> None:
        self.error = error
        self.close()

    def _close_socket(self) -> None:
        if self.socket is not None:
            self.socket.disable_monitor()
            self.socket.close()
        if self._monitor is not None:
            self._monitor.close()
        self.socket = self._monitor = None

    def close(self) -> None:
        """End session and connection."""
        self.session.close()
        self._close_socket()

    def destroy(self) -> None:
        """End everything; what waits is given up."""
        self.close()
        self.error = self.error or SessionError("the client is closed; make another one")
        if self._owns_context:
            self._context.destroy(linger=0)

    def ask(self, question: Question[Any]) -> int:
        """Send a question.

        Parameters
        ----------
        question : Question
            What is asked.

        Returns
        -------
        int
            The request's id.

        Raises
        ------
        NavserverError
            If there is no session any more, or too many requests wait.
        """
        number = super().ask(question)
        try:
            self.send()
        except BaseException:
            self.session.forget(number)
            raise
        return number

    def give_up(self, number: int) -> None:
        """Give a request up, and tell the server.

        Parameters
        ----------
        number : int
            Its id.
        """
        super().give_up(number)
        self.send()

    def confirm(self, notices: Iterable[Notice]) -> None:
        """Tell the server what has been read.

        Parameters
        ----------
        notices : iterable of Notice
            Events that the program has taken.
        """
        super().confirm(notices)
        self.send()
