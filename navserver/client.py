"""Clients of the server, blocking and for asyncio.

>>> from navserver.wire.questions import create_world, find_path
>>> def walk(port: int, token: str) -> None:
...     with Client.connect(port=port, token=token) as client:
...         client.ask(create_world("city", [[0, 0], [0, 255]]))
...         print(client.ask(find_path("city", (0, 0), (1, 0))).path)
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import zmq
import zmq.asyncio
from zmq.utils.monitor import recv_monitor_message

from navserver import __version__
from navserver.sidecar.connection_file import ConnectionInfo, default_connection_file
from navserver.status import InputError, NavserverError
from navserver.wire import questions
from navserver.wire.client_session import (
    Answer,
    ClientSession,
    Closed,
    Failure,
    Lost,
    Notice,
    Opened,
    Synced,
)
from navserver.wire.errors import WireError
from navserver.wire.limits import MAX_FRAME_BYTES, MAX_REQUESTS, USERNAME
from navserver.wire.questions import Question
from navserver.wire.session import ClientState

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

__all__ = [
    "AsyncClient",
    "Client",
    "Pending",
    "RequestTimeoutError",
    "ServerUnavailableError",
    "UnansweredError",
]

T = TypeVar("T")

HOST = "127.0.0.1"

# How often the connection itself is looked at while nothing comes.
_LOOK_MS = 50
# A plain integer: operations of enumerations are slow.
_READABLE = int(zmq.POLLIN)
_HANDSHAKE_MS = 2000
_NOTICES_KEPT = 10_000
_FATAL = zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
_BROKEN = zmq.EVENT_DISCONNECTED | zmq.EVENT_CLOSED | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | _FATAL


class ServerUnavailableError(NavserverError, ConnectionError):
    """There is no server, or it does not let this client in."""


class RequestTimeoutError(NavserverError, TimeoutError):
    """No reply has come in time; the request is given up."""


class UnansweredError(NavserverError, RuntimeError):
    """The server has not carried a request out, without fault of the request.

    Parameters
    ----------
    message : str
        The request's type.
    status : str
        Such as ``overloaded``.
    """

    def __init__(self, message: str, status: str) -> None:
        super().__init__(f"{message}: {status}; ask again later, or less often")
        self.status = status


class _Address(NamedTuple):
    """Where the server is; a connection file is read anew for every connection."""

    port: int | None
    token: str | None
    ipc: str | None
    connection_file: Path | None

    def resolve(self) -> tuple[str, str]:
        """Return the endpoint and the token."""
        if self.connection_file is not None:
            info = ConnectionInfo.read(self.connection_file)
            return f"tcp://{HOST}:{info.port}", info.token
        if self.ipc is not None:
            return f"ipc://{self.ipc}", self.token or ""
        return f"tcp://{HOST}:{self.port}", self.token or ""


def _address(
    port: int | None, token: str | None, ipc: str | None, connection_file: Any
) -> _Address:
    if port is None and ipc is None:
        path = default_connection_file() if connection_file is None else Path(connection_file)
        return _Address(None, None, None, path)
    if connection_file is not None:
        raise InputError(
            "connection_file", str(connection_file), "goes with no port", "give one of both"
        )
    if port is not None and (type(port) is not int or not 0 < port < 65536):
        raise InputError("port", port, "is no port", "give that of the server's ready line")
    if not token:
        raise InputError("token", token, "is missing", "give that of the server's ready line")
    return _Address(port, token, ipc, None)


class _Link:
    """A session with its socket; never waits. What both clients have in common."""

    def __init__(self, context: zmq.Context[Any], address: _Address, name: str | None) -> None:
        self.session = ClientSession(name or secrets.token_hex(16), f"navserver-py {__version__}")
        self.answers: dict[int, Answer | WireError] = {}
        """What has come and has not been taken."""
        self.parts: dict[int, list[Answer]] = {}
        self.notices: deque[Notice] = deque(maxlen=_NOTICES_KEPT)
        self.capabilities: dict[str, Any] = {}
        self.lost_worlds: list[str] = []
        self.error: NavserverError | None = None
        """Why there is no session any more."""
        self.trouble = ""
        """Why there is no connection now."""
        self.socket: zmq.Socket[Any] | None = None
        self._wait_ms = -1
        self._monitor: zmq.Socket[Any] | None = None
        self._context = context
        self._address = address

    def keep(self, now: float) -> None:
        """Do what time asks for: look at the connection, make it again."""
        session = self.session
        if self._monitor is not None:
            self._look_at_connection(now)
        session.tick(now)
        self._take_events()
        if session.state is ClientState.DOWN and now >= session.retry_at:
            self._open(now)
        self.send()

    def _open(self, now: float) -> None:
        self._close_socket()
        try:
            endpoint, token = self._address.resolve()
        except InputError as error:
            self.trouble = str(error)
            self.session.connection_lost(now)
            self._take_events()
            return
        dealer = self._context.socket(zmq.DEALER)
        for option, value in (
            (zmq.LINGER, 0),
            (zmq.RECONNECT_IVL, -1),
            (zmq.HANDSHAKE_IVL, _HANDSHAKE_MS),
            (zmq.MAXMSGSIZE, MAX_FRAME_BYTES),
            (zmq.SNDHWM, 2 * MAX_REQUESTS),
            (zmq.RCVHWM, 2 * MAX_REQUESTS),
        ):
            dealer.setsockopt(option, value)
        dealer.plain_username = USERNAME.encode()
        dealer.plain_password = token.encode()
        self._monitor = dealer.get_monitor_socket(_BROKEN)
        self.socket = dealer
        self._wait_ms = -1
        dealer.connect(endpoint)
        self.trouble = f"nothing answers at {endpoint}"
        self.session.connected(now)

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
            self.session.connection_lost(time.monotonic())
            self._take_events()

    def take(self, wait_ms: int) -> bool:
        """Take in what has come, waiting for the first message; return whether there was one."""
        dealer = self.socket
        assert dealer is not None
        try:
            if wait_ms != self._wait_ms:
                dealer.setsockopt(zmq.RCVTIMEO, wait_ms)
                self._wait_ms = wait_ms
            frames = dealer.recv_multipart()
            now = time.monotonic()
            self.receive(frames, now)
            # What comes is taken before anything is sent: many messages travel better together.
            # Where nothing is awaited, to ask for more takes longer than it helps.
            while self.session.pending and self._is_readable(dealer):
                self.receive(dealer.recv_multipart(zmq.NOBLOCK), now)
        except zmq.Again:
            return False
        self.send()
        return True

    def _is_readable(self, dealer: zmq.Socket[Any]) -> bool:
        return self.socket is dealer and bool(dealer.getsockopt(zmq.EVENTS) & _READABLE)  # type: ignore[operator]

    def receive(self, frames: list[bytes], now: float) -> None:
        """Take in a message."""
        try:
            self.session.receive_message(frames, now)
        except WireError as error:
            self.trouble = f"the server has sent what cannot be read: {error}"
            self.session.connection_lost(now)
        self._take_events()

    def _look_at_connection(self, now: float) -> None:
        monitor = self._monitor
        while monitor is not None and monitor.poll(0):
            event = recv_monitor_message(monitor, zmq.NOBLOCK)
            if event["event"] & _FATAL:
                self._fail(ServerUnavailableError(
                    "the server refuses this client: the token is not that of its launch; read "
                    "the connection file or the ready line again"
                ))  # fmt: skip
            elif self.session.state is not ClientState.DOWN:
                self.session.connection_lost(now)
            self._take_events()
            monitor = self._monitor

    def _take_events(self) -> None:
        while (event := self.session.next_event()) is not None:
            if isinstance(event, Answer):
                self._take_answer(event)
            elif isinstance(event, Failure):
                self.answers[event.id] = event.error
            elif isinstance(event, Notice):
                self.notices.append(event)
            elif isinstance(event, Opened):
                self.capabilities = event.fields
            elif isinstance(event, Synced):
                self.lost_worlds = event.lost
            elif isinstance(event, Lost):
                self._close_socket()
            elif isinstance(event, Closed):
                self._fail(event.error)

    def _take_answer(self, answer: Answer) -> None:
        self.answers[answer.id] = answer

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

    def ask(self, question: Question[Any]) -> int:
        """Send a question and return its id."""
        if self.error is not None:
            raise self.error
        number = self.session.request(question.message, question.fields, question.arrays)
        self.send()
        return number

    def give_up(self, number: int) -> None:
        """Give a request up, and tell the server."""
        self.session.forget(number)
        self.answers.pop(number, None)
        if self.session.state is ClientState.OPEN and self.session.pending < MAX_REQUESTS:
            cancel = self.session.request("cancel", {"target": number})
            self.session.forget(cancel)
            self.send()


def _read(question: Question[T], answer: Answer | WireError) -> T:
    if isinstance(answer, WireError):
        raise answer
    if answer.status not in answer.message.statuses:
        raise UnansweredError(question.message, answer.status)
    return question.read(answer)


class Pending(Generic[T]):
    """A question that has been sent.

    Parameters
    ----------
    client : Client
        Who has sent it.
    question : Question
        What was asked.
    number : int
        Its id.
    """

    def __init__(self, client: Client, question: Question[T], number: int) -> None:
        self._client = client
        self._question = question
        self.number = number
        """The request's id."""

    def result(self, timeout: float | None = None) -> T:
        """Wait for the answer.

        Parameters
        ----------
        timeout : float, optional
            Seconds; the client's by default.

        Returns
        -------
        object
            What the question's answer is.

        Raises
        ------
        RequestTimeoutError
            If it has not come in time; the request is given up then.
        WireError
            If the request was refused.
        """
        return _read(self._question, self._client._wait(self.number, timeout))

    def is_ready(self) -> bool:
        """Return whether the answer is there."""
        return self._client._has(self.number)

    def cancel(self) -> None:
        """Give the request up."""
        self._client._link.give_up(self.number)


class Client:
    """A blocking client, for one thread; `connect` makes it.

    Parameters
    ----------
    address : object
        Where the server is, from `connect`.
    timeout : float
        Seconds that a question waits for its answer.
    name : str, optional
        The session; a random one by default.
    """

    def __init__(self, address: _Address, timeout: float, name: str | None) -> None:
        self.timeout = timeout
        """Seconds that a question waits for its answer."""
        self._context: zmq.Context[Any] = zmq.Context()
        self._link = _Link(self._context, address, name)
        self._thread = threading.get_ident()
        self._next_look = 0.0

    @classmethod
    def connect(
        cls,
        port: int | None = None,
        token: str | None = None,
        *,
        ipc: str | None = None,
        connection_file: Any = None,
        timeout: float = 10.0,
        name: str | None = None,
    ) -> Self:
        """Connect to a server on this machine.

        Parameters
        ----------
        port : int, optional
            Its port; without one a connection file says it.
        token : str, optional
            Its token, with a port or a path.
        ipc : str, optional
            Path of its other socket, instead of a port.
        connection_file : path-like, optional
            What it has written; by default where servers write it. Read again for every new
            connection, so that a server may be started anew.
        timeout : float
            Seconds to wait for the connection, and for each answer.
        name : str, optional
            The session, to take one up again; a random one by default.

        Returns
        -------
        Client
            A context manager that closes itself.

        Raises
        ------
        ServerUnavailableError
            If there is no server, or it refuses the token.
        WireError
            If client and server speak no common protocol.
        """
        client = cls(_address(port, token, ipc, connection_file), timeout, name)
        try:
            client._open(timeout)
        except BaseException:
            client.close()
            raise
        return client

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """End session and connection; what waits is given up."""
        self._link.close()
        self._context.destroy(linger=0)

    @property
    def server(self) -> dict[str, Any]:
        """What the server told of itself: protocol, capabilities, limits, how warm it is."""
        return dict(self._link.capabilities)

    @property
    def lost_worlds(self) -> list[str]:
        """Worlds that lack changes which had been acknowledged, since a server was restarted."""
        return list(self._link.lost_worlds)

    def ask(self, question: Question[T], timeout: float | None = None) -> T:
        """Ask and wait for the answer.

        Parameters
        ----------
        question : Question
            What is asked; see `navserver.wire.questions`.
        timeout : float, optional
            Seconds; the client's by default.

        Returns
        -------
        object
            What the question's answer is.

        Raises
        ------
        RequestTimeoutError
            If it has not come in time; the request is given up then.
        WireError
            If the request was refused.
        UnansweredError
            If the server was overloaded or the world was removed.
        """
        number = self._ask(question)
        return _read(question, self._wait(number, timeout))

    def submit(self, question: Question[T]) -> Pending[T]:
        """Ask without waiting; many questions may be on their way.

        Parameters
        ----------
        question : Question
            What is asked.

        Returns
        -------
        Pending
            Whose `Pending.result` waits.
        """
        return Pending(self, question, self._ask(question))

    def stats(self) -> dict[str, float]:
        """Return the server's figures.

        Returns
        -------
        dict of str to float
            By name.
        """
        return self.ask(questions.stats())

    def poll(self, timeout: float = 0.0) -> list[Notice]:
        """Return the events that the server has told.

        Parameters
        ----------
        timeout : float
            Seconds to wait for one where there is none.

        Returns
        -------
        list of Notice
            In order; each once. At most the newest 10,000 are kept.
        """
        end = time.monotonic() + timeout
        self._take_all()
        while not self._link.notices and (left := end - time.monotonic()) > 0.0:
            self._take(left)
            self._take_all()
        notices = list(self._link.notices)
        self._link.notices.clear()
        return notices

    # Inside

    def _open(self, timeout: float) -> None:
        link, end = self._link, time.monotonic() + timeout
        while link.session.state is not ClientState.OPEN:
            if link.error is not None:
                raise link.error
            if time.monotonic() > end:
                raise ServerUnavailableError(f"no server: {link.trouble}; start one")
            self._take(max(end - time.monotonic(), 0.0))

    def _ask(self, question: Question[Any]) -> int:
        if threading.get_ident() != self._thread:
            raise NavserverError(
                "a client belongs to the thread that made it; make one for each thread"
            )
        return self._link.ask(question)

    def _has(self, number: int) -> bool:
        self._take_all()
        return number in self._link.answers

    def _wait(self, number: int, timeout: float | None) -> Answer | WireError:
        link = self._link
        if number in link.answers:
            return link.answers.pop(number)
        wanted = self.timeout if timeout is None else timeout
        end = time.monotonic() + wanted
        while True:
            has_come = self._take(max(end - time.monotonic(), 0.0))
            found = link.answers.pop(number, None)
            if found is not None:
                return found
            if link.error is not None:
                raise link.error
            if not has_come and time.monotonic() >= end:
                link.give_up(number)
                why = f" ({link.trouble})" if link.session.state is not ClientState.OPEN else ""
                raise RequestTimeoutError(
                    f"no answer within {wanted:g} s{why}; wait longer, or look at the server's log"
                )

    def _take_all(self) -> None:
        """Take in all that has come."""
        while self._take(0.0):
            pass

    def _take(self, timeout: float) -> bool:
        """Take in a message, waiting for it for at most one look; return whether there was one."""
        link, now = self._link, time.monotonic()
        if now >= self._next_look or link.socket is None:
            link.keep(now)
            self._next_look = now + _LOOK_MS / 1e3
        wait_ms = min(int(timeout * 1e3 + 0.999), _LOOK_MS)
        if link.socket is None:
            time.sleep(wait_ms / 1e3)
            return False
        return link.take(wait_ms)


class AsyncClient:
    """A client for asyncio; ``async with AsyncClient(port=..., token=...) as client``.

    Parameters
    ----------
    port, token, ipc, connection_file, timeout, name
        As for `Client.connect`.
    """

    def __init__(
        self,
        port: int | None = None,
        token: str | None = None,
        *,
        ipc: str | None = None,
        connection_file: Any = None,
        timeout: float = 10.0,
        name: str | None = None,
    ) -> None:
        self.timeout = timeout
        """Seconds that a question waits for its answer."""
        self._context: zmq.Context[Any] = zmq.Context()
        self._link = _Link(self._context, _address(port, token, ipc, connection_file), name)
        self._waiting: dict[int, asyncio.Future[Answer | WireError]] = {}
        self._task: asyncio.Task[None] | None = None
        self._opened: asyncio.Future[None] | None = None
        self.on_notice: Callable[[Notice], None] | None = None
        """Called with each event that the server tells."""

    async def __aenter__(self) -> Self:
        """Connect.

        Raises
        ------
        ServerUnavailableError
            If there is no server, or it refuses the token.
        """
        loop = asyncio.get_running_loop()
        self._opened = loop.create_future()
        self._task = loop.create_task(self._run())
        try:
            await asyncio.wait_for(asyncio.shield(self._opened), self.timeout)
        except (asyncio.TimeoutError, TimeoutError):
            await self.close()
            raise ServerUnavailableError(f"no server: {self._link.trouble}; start one") from None
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Close it."""
        await self.close()

    async def close(self) -> None:
        """End session and connection; what waits is given up."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._link.close()
        self._context.destroy(linger=0)

    @property
    def server(self) -> dict[str, Any]:
        """What the server told of itself."""
        return dict(self._link.capabilities)

    async def ask(self, question: Question[T], timeout: float | None = None) -> T:
        """Ask and wait for the answer; any number of tasks may.

        Parameters
        ----------
        question : Question
            What is asked; see `navserver.wire.questions`.
        timeout : float, optional
            Seconds; the client's by default.

        Returns
        -------
        object
            What the question's answer is.

        Raises
        ------
        RequestTimeoutError
            If it has not come in time; the request is given up then.
        WireError
            If the request was refused.
        UnansweredError
            If the server was overloaded or the world was removed.
        """
        number = self._link.ask(question)
        future: asyncio.Future[Answer | WireError] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        # Sending may have taken in that something can be read, without anyone being told.
        self._receive()
        wanted = self.timeout if timeout is None else timeout
        try:
            return _read(question, await asyncio.wait_for(future, wanted))
        except (asyncio.TimeoutError, TimeoutError):
            self._link.give_up(number)
            raise RequestTimeoutError(
                f"no answer within {wanted:g} s; wait longer, or look at the server's log"
            ) from None
        finally:
            self._waiting.pop(number, None)

    async def stats(self) -> dict[str, float]:
        """Return the server's figures.

        Returns
        -------
        dict of str to float
            By name.
        """
        return await self.ask(questions.stats())

    # Inside

    async def _run(self) -> None:
        link = self._link
        while link.error is None:
            link.keep(time.monotonic())
            self._hand_on()
            if link.socket is None:
                await asyncio.sleep(_LOOK_MS / 1e3)
                continue
            poller = zmq.asyncio.Poller()
            poller.register(link.socket, zmq.POLLIN)
            if await poller.poll(_LOOK_MS):
                self._receive()

    def _receive(self) -> None:
        link = self._link
        dealer = link.socket
        while dealer is not None and link.socket is dealer:
            try:
                frames = dealer.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                break
            link.receive(frames, time.monotonic())
        link.send()
        self._hand_on()

    def _hand_on(self) -> None:
        link = self._link
        for number in [number for number in link.answers if number in self._waiting]:
            future = self._waiting[number]
            if not future.done():
                future.set_result(link.answers.pop(number))
        link.answers.clear()
        while link.notices:
            notice = link.notices.popleft()
            if self.on_notice is not None:
                self.on_notice(notice)
        opened = self._opened
        if opened is not None and not opened.done():
            if link.error is not None:
                opened.set_exception(link.error)
            elif link.session.state is ClientState.OPEN:
                opened.set_result(None)
        if link.error is not None:
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(link.error)
