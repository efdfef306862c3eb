"""Many clients in one thread, each with a socket and a session of its own."""

from __future__ import annotations

import itertools
import math
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import zmq

from navserver.link import Link
from navserver.sidecar.address import Address
from navserver.sidecar.open_files import allow_open_files
from navserver.status import InputError, NavserverError
from navserver.wire.client_errors import RequestTimeoutError, ServerUnavailableError
from navserver.wire.inbox import read_answer
from navserver.wire.questions import Question
from navserver.wire.session import ClientState

if TYPE_CHECKING:
    from os import PathLike
    from types import TracebackType

    from typing_extensions import Self

__all__ = ["Fleet", "Reply"]

MOST_CLIENTS = 20_000
"""Clients of one fleet."""

# Each has its socket, what wakes it, and as much again to watch over the connection.
_FILES_A_CLIENT, _FILES_BESIDE = 5, 128
_SOCKETS_A_CLIENT = 3
# So many shake hands at once: a server gives up on those that it cannot serve in time.
_WAVE = 64
_LOOK_SECONDS = 0.25


class Reply(NamedTuple):
    """What has become of a question."""

    client: int
    """Who had asked it."""
    key: Any
    """What was given with it."""
    answer: Any
    """What the question's answer is, or the error."""
    seconds: float
    """From asking to this reply."""


class _Asked(NamedTuple):
    client: int
    number: int
    key: Any
    question: Question[Any]
    begin: float


class Fleet:
    """Clients of one server, numbered from 0, that ask without waiting.

    Parameters
    ----------
    count : int
        Clients, 1 to 20,000.
    port, token, connection_file
        Where the server is, as for `Client.connect`.
    timeout : float
        Seconds to wait for all connections, and for each answer.

    Raises
    ------
    InputError
        If there are too many clients for the system's limit of open files, which is raised as
        far as it can be.
    ServerUnavailableError
        If there is no server, or it refuses the token.

    Notes
    -----
    For one thread. Whoever has many bots to play needs no threads and no loop of asyncio: one
    call of `collect` takes in what has come for all of them.
    """

    def __init__(
        self,
        count: int,
        *,
        port: int | None = None,
        token: str | None = None,
        connection_file: str | PathLike[str] | None = None,
        timeout: float = 10.0,
    ) -> None:
        _check_room(count)
        address = Address.of(port, token, None, connection_file)
        self.timeout = timeout
        """Seconds that a question waits for its answer."""
        self._context: zmq.Context[Any] = zmq.Context()
        self._context.set(zmq.MAX_SOCKETS, _SOCKETS_A_CLIENT * count + _FILES_BESIDE)
        self._links = [Link(address, context=self._context) for _ in range(count)]
        self._numbers = {link: number for number, link in enumerate(self._links)}
        self._asked: dict[tuple[int, int], _Asked] = {}
        self._replies: deque[Reply] = deque()
        self._next_look = 0.0
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        """Return how many clients there are."""
        return len(self._links)

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
        """End all sessions; what waits is given up."""
        for link in self._links:
            link.close()
        self._context.destroy(linger=0)

    @property
    def waiting(self) -> int:
        """How many questions have no reply yet."""
        return len(self._asked)

    def ask(self, client: int, question: Question[Any], key: Any = None) -> None:
        """Send a question of one client.

        Parameters
        ----------
        client : int
            Who asks, from 0.
        question : Question
            What is asked; see `navserver.wire.questions`.
        key : object
            Comes back with the reply.

        Raises
        ------
        NavserverError
            If that client's session has ended.
        """
        number = self._links[client].ask(question)
        self._asked[client, number] = _Asked(client, number, key, question, time.perf_counter())

    def collect(self, timeout: float = 0.0) -> list[Reply]:
        """Take in what has come.

        Parameters
        ----------
        timeout : float
            Seconds to wait for a first reply; no longer than until one question gets too old.

        Returns
        -------
        list of Reply
            In the order in which they came; each question gets one.

        Raises
        ------
        NavserverError
            If a client's session has ended.
        """
        end = time.perf_counter() + timeout
        while True:
            self._take(max(end - time.perf_counter(), 0.0))
            if self._replies or time.perf_counter() >= end:
                replies = list(self._replies)
                self._replies.clear()
                return replies

    # Inside

    def _open(self) -> None:
        end = time.monotonic() + self.timeout
        for first in range(0, len(self._links), _WAVE):
            wave = self._links[first : first + _WAVE]
            while waits := [link for link in wave if link.session.state is not ClientState.OPEN]:
                if time.monotonic() > end:
                    raise ServerUnavailableError(f"no server: {waits[0].trouble}; start one")
                for link in waits:
                    link.keep(time.monotonic())
                    if link.error is not None:
                        raise link.error
                self._receive(waits, 0.05)

    def _take(self, timeout: float) -> None:
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _LOOK_SECONDS
            for link in self._links:
                link.keep(now)
                self._hand_on(link)
            self._give_up_the_old()
        if not self._replies:
            self._receive(self._links, min(timeout, max(self._next_look - now, 0.0)))

    def _receive(self, links: list[Link], timeout: float) -> None:
        """Take in the messages that are there for some clients, or that come in time."""
        of_socket: dict[zmq.Socket[Any], Link] = {
            link.socket: link for link in links if link.socket is not None
        }
        if not of_socket:
            time.sleep(min(timeout, 0.01))
            return
        ready = zmq.zmq_poll([(s, zmq.POLLIN) for s in of_socket], math.ceil(timeout * 1e3))
        for socket, _ in ready:
            link = of_socket[socket]
            link.receive()
            self._hand_on(link)

    def _hand_on(self, link: Link) -> None:
        """Make replies of the answers that have come for a client."""
        if link.error is not None:
            raise link.error
        link.notices.clear()
        if not link.answers:
            return
        client, now = self._numbers[link], time.perf_counter()
        for number, answer in link.answers.items():
            asked = self._asked.pop((client, number), None)
            if asked is not None:
                try:
                    told = read_answer(asked.question, answer)
                except NavserverError as error:
                    told = error
                self._replies.append(Reply(client, asked.key, told, now - asked.begin))
        link.answers.clear()

    def _give_up_the_old(self) -> None:
        now = time.perf_counter()
        # Questions are in the order in which they were asked.
        old = itertools.takewhile(
            lambda asked: now - asked.begin > self.timeout, self._asked.values()
        )
        for asked in list(old):
            link = self._links[asked.client]
            del self._asked[asked.client, asked.number]
            link.give_up(asked.number)
            trouble = f" ({link.trouble})" if link.session.state is not ClientState.OPEN else ""
            error = RequestTimeoutError(
                f"no answer within {self.timeout:g} s{trouble}; wait longer, or ask less"
            )
            self._replies.append(Reply(asked.client, asked.key, error, now - asked.begin))


def _check_room(count: int) -> None:
    if not 1 <= count <= MOST_CLIENTS:
        raise InputError("count", count, "is out of bounds", f"give 1 to {MOST_CLIENTS} clients")
    wanted = _FILES_A_CLIENT * count + _FILES_BESIDE
    allowed = allow_open_files(wanted)
    if allowed is not None and allowed < wanted:
        raise InputError(
            "count", count, f"clients need {wanted} open files, and the system allows {allowed}",
            f"use at most {(allowed - _FILES_BESIDE) // _FILES_A_CLIENT} clients, or raise the "
            "limit (ulimit -Hn)",
        )  # fmt: skip
