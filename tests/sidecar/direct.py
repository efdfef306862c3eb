"""A whole server without sockets and threads of search: messages in, messages out."""

from __future__ import annotations

import io
import threading
from typing import Any

from navserver.service.scheduler import Scheduler
from navserver.service.worlds import Worlds
from navserver.sidecar.dispatch import CAPABILITIES, Dispatch
from navserver.sidecar.logbook import Logbook
from navserver.sidecar.office import Office
from navserver.wire.client_session import Answer, ClientSession, Failure, Notice
from navserver.wire.errors import WireError
from navserver.wire.questions import Question
from navserver.wire.server_session import ServerSessions

PATIENCE = 600.0
"""Seconds after which something is certainly not going to happen."""


class Direct:
    """A server, and clients of it that are numbered from 1."""

    def __init__(self, **scheduler: Any) -> None:
        self.now = 0.0
        self._woken = threading.Event()
        self.log = io.StringIO()
        self.sessions = ServerSessions("instance", "test", CAPABILITIES)
        self.scheduler = Scheduler(Worlds(), **scheduler)
        self.office = Office(
            self.sessions,
            self.scheduler,
            Logbook(self.log, as_json=True, level="debug"),
            clock=lambda: self.now,
            wake=self._woken.set,
        )
        self.dispatch = Dispatch(self.office)
        self.clients: dict[int, ClientSession] = {}
        self.answers: dict[tuple[int, int], list[Answer | WireError]] = {}
        self.notices: list[Notice] = []
        self.is_searching = True

    @property
    def is_searching(self) -> bool:
        """Whether searches run, at once or in steps."""
        return self.office.is_warm

    @is_searching.setter
    def is_searching(self, value: bool) -> None:
        self.office.is_warm = value

    def client(self, number: int = 1) -> ClientSession:
        if number not in self.clients:
            self.clients[number] = ClientSession(f"client {number}", "test")
            self.clients[number].connected(self.now)
            self.step()
        return self.clients[number]

    def step(self) -> None:
        """Carry out what there is to do, but for work aside that has not ended."""
        for connection, client in self.clients.items():
            for frames in client.messages_to_send():
                self.sessions.receive_message(connection, [bytes(f) for f in frames], self.now)
        self.dispatch.take_events(self.now)
        self.dispatch.advance(self.now)
        if self.is_searching:
            self._search()
        self.dispatch.take_results()
        if self.is_searching:
            self._search()
            self.dispatch.take_results()
        self.sessions.tick(self.now)
        out = self.sessions.messages_to_send()
        while out:
            connection, frames = out.popleft()
            self.clients[connection].receive_message(  # type: ignore[index]
                [bytes(f) for f in frames], self.now
            )
        for connection, client in self.clients.items():
            while (event := client.next_event()) is not None:
                if isinstance(event, Answer):
                    self.answers.setdefault((connection, event.id), []).append(event)
                elif isinstance(event, Failure):
                    self.answers.setdefault((connection, event.id), []).append(event.error)
                elif isinstance(event, Notice):
                    self.notices.append(event)

    def _search(self) -> None:
        while (unit := self.scheduler.take_work(self.now)) is not None:
            unit.run()
            self.scheduler.complete(unit, self.now)

    def submit(self, question: Question[Any], connection: int = 1) -> int:
        """Send a question and take one step."""
        client = self.client(connection)
        number = client.request(question.message, question.fields, question.arrays)
        self.step()
        return number

    def wait(self, number: int, connection: int = 1) -> list[Answer | WireError]:
        """Step until a request has its last answer."""
        for _ in range(int(PATIENCE / 0.1)):
            self.step()
            if not self.clients[connection].is_pending(number):
                return self.answers.pop((connection, number))
            self._woken.wait(0.1)
            self._woken.clear()
        raise AssertionError("no answer")

    def ask(self, question: Question[Any], connection: int = 1) -> Any:
        """Return what a question's answer is, or raise its error."""
        (answer,) = self.wait(self.submit(question, connection), connection)
        if isinstance(answer, WireError):
            raise answer
        return question.read(answer)

    def close(self) -> None:
        self.office.close()
