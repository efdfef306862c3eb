"""Clients of the server, blocking and for asyncio.

>>> from navserver.wire.questions import create_world, find_path
>>> def walk(port: int, token: str) -> None:
...     with Client.connect(port=port, token=token) as client:
...         client.ask(create_world("city", [[0, 0], [0, 255]]))
...         print(client.ask(find_path("city", (0, 0), (1, 0))).path)
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from navserver.async_client import AsyncClient
from navserver.linked import LOOK_MS, Linked, as_seconds, no_server
from navserver.sidecar.address import Address
from navserver.status import NavserverError
from navserver.wire import questions
from navserver.wire.client_errors import (
    RequestTimeoutError,
    ServerUnavailableError,
    UnansweredError,
)
from navserver.wire.client_session import Answer, Notice
from navserver.wire.errors import WireError
from navserver.wire.inbox import read_answer
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

_GIVEN_UP = "given up"


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
        self._outcome: Answer | WireError | UnansweredError | None = None
        self._client = client
        self._question = question
        self.number = number
        """The request's id."""

    def __del__(self) -> None:
        """Let the answer go when it comes: nobody can take it any more."""
        if self._outcome is None:
            self._client._link.let_go(self.number)

    def result(self, timeout: float | None = None) -> T:
        """Wait for the answer; asked again, it returns the same.

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
        UnansweredError
            If the server was overloaded, the world was removed, or the request was given up.
        """
        if self._outcome is None:
            try:
                self._outcome = self._client._wait(self.number, timeout)
            except RequestTimeoutError:
                self._outcome = UnansweredError(self._question.message, _GIVEN_UP)
                raise
        if isinstance(self._outcome, UnansweredError):
            raise self._outcome
        return read_answer(self._question, self._outcome)

    def is_ready(self) -> bool:
        """Return whether the answer is there, or will never be."""
        return self._outcome is not None or self._client._has(self.number)

    def cancel(self) -> None:
        """Give the request up; an answer that has been taken stays."""
        if self._outcome is None:
            self._client._check_owner()
            self._outcome = UnansweredError(self._question.message, _GIVEN_UP)
            self._client._link.give_up(self.number)


class Client(Linked):
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

    def __init__(self, address: Address, timeout: float, name: str | None) -> None:
        super().__init__(address, timeout, name)
        self._owner = threading.current_thread()
        self._thread, self._process = threading.get_ident(), os.getpid()
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
            What it has written; by default what ``serve --connection-file`` without a name
            writes. Read again for every new connection, so that a server may be started anew.
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
        client = cls(Address.of(port, token, ipc, connection_file), timeout, name)
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
        """End session and connection; what waits is given up.

        Raises
        ------
        NavserverError
            If the thread that it belongs to still runs.
        """
        if os.getpid() != self._process:
            # The connection is the parent's.
            return
        if self._owner.is_alive():
            self._check_owner()
        self._link.destroy()

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
        try:
            answer = self._wait(number, timeout)
        except KeyboardInterrupt:
            self._link.give_up(number)
            raise
        return read_answer(question, answer)

    def submit(self, question: Question[T]) -> Pending[T]:
        """Ask without waiting; many questions may be on their way.

        What is asked is done also where nobody keeps what this returns.

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

        Raises
        ------
        NavserverError
            If the session has ended and there are no more.
        """
        link, end = self._link, time.monotonic() + as_seconds("timeout", timeout)
        self._take_all()
        while not link.notices and link.error is None and (left := end - time.monotonic()) > 0.0:
            self._take(left)
            self._take_all()
        if not link.notices and link.error is not None:
            raise link.error
        notices = list(link.notices)
        self._link.notices.clear()
        self._link.confirm(notices)
        return notices

    # Inside

    def _open(self, timeout: float) -> None:
        link, end = self._link, time.monotonic() + timeout
        while link.session.state is not ClientState.OPEN:
            if link.error is not None:
                raise link.error
            if time.monotonic() > end:
                raise no_server(link.trouble)
            self._take(max(end - time.monotonic(), 0.0))

    def _ask(self, question: Question[Any]) -> int:
        self._check_owner()
        return self._link.ask(question)

    def _check_owner(self) -> None:
        """Refuse other threads and children of the process: sockets belong to their maker."""
        if threading.get_ident() != self._thread:
            raise NavserverError(
                "a client belongs to the thread that made it; make one for each thread"
            )
        if os.getpid() != self._process:
            raise NavserverError(
                "a client belongs to the process that made it; make another one after a fork"
            )

    def _has(self, number: int) -> bool:
        self._take_all()
        return number in self._link.answers

    def _wait(self, number: int, timeout: float | None) -> Answer | WireError:
        link = self._link
        if number in link.answers:
            return link.answers.pop(number)
        wanted = self.timeout if timeout is None else as_seconds("timeout", timeout)
        end = time.monotonic() + wanted
        while link.error is None:
            has_come = self._take(max(end - time.monotonic(), 0.0))
            found = link.answers.pop(number, None)
            if found is not None:
                return found
            if link.error is None and not has_come and time.monotonic() >= end:
                link.give_up(number)
                why = f" ({link.trouble})" if link.session.state is not ClientState.OPEN else ""
                raise RequestTimeoutError(
                    f"no answer within {wanted:g} s{why}; wait longer, or look at the server's log"
                )
        raise link.error

    def _take_all(self) -> None:
        """Take in all that has come."""
        while self._take(0.0):
            pass

    def _take(self, timeout: float) -> bool:
        """Take in a message, waiting for it for at most one look; return whether there was one."""
        self._check_owner()
        link, now = self._link, time.monotonic()
        if now >= self._next_look or link.socket is None:
            has_come = link.keep(now)
            self._next_look = now + LOOK_MS / 1e3
            if has_come:
                # Perhaps all that was waited for.
                return True
        wait_ms = LOOK_MS if timeout >= 1.0 else min(int(timeout * 1e3 + 0.999), LOOK_MS)
        if link.socket is None:
            time.sleep(wait_ms / 1e3)
            return False
        return link.take(wait_ms)
