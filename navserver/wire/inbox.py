"""What a client has asked and been told, until it is taken; without sockets."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterable
from typing import Any, TypeVar

from navserver.status import InputError, NavserverError
from navserver.wire.client_errors import UnansweredError
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
from navserver.wire.limits import MAX_REQUESTS
from navserver.wire.question import Question
from navserver.wire.session import ClientState

__all__ = ["Inbox", "read_answer"]

T = TypeVar("T")

_NOTICES_KEPT = 10_000


class Inbox:
    """A session with what has come and has not been taken.

    Parameters
    ----------
    client : str
        The program's name and version.
    name : str, optional
        The session; a random one by default.

    Examples
    --------
    >>> from navserver.wire.server_questions import ping
    >>> inbox = Inbox("example")
    >>> number = inbox.ask(ping())
    >>> number in inbox.answers, inbox.session.pending
    (False, 1)
    """

    def __init__(self, client: str, name: str | None = None) -> None:
        self.session = ClientSession(name or secrets.token_hex(16), client)
        self.answers: dict[int, Answer | WireError] = {}
        """By the id of the request."""
        self.notices: deque[Notice] = deque(maxlen=_NOTICES_KEPT)
        """Events, the newest so many."""
        self.capabilities: dict[str, Any] = {}
        """What the server told of itself."""
        self.lost_worlds: list[str] = []
        """Worlds that lack changes, since a server was restarted."""
        self.error: NavserverError | None = None
        """Why there is no session any more."""
        self._let_go: set[int] = set()

    def take_events(self) -> bool:
        """Take in what the session tells.

        Returns
        -------
        bool
            Whether the connection is to be closed.
        """
        has_ended = False
        while (event := self.session.next_event()) is not None:
            if isinstance(event, Answer | Failure):
                self._take_answer(event)
            elif isinstance(event, Notice):
                self.notices.append(event)
            elif isinstance(event, Opened):
                self.capabilities = event.fields
            elif isinstance(event, Synced):
                self.lost_worlds = event.lost
            elif isinstance(event, Lost):
                has_ended = True
            elif isinstance(event, Closed):
                self.error = event.error
                has_ended = True
        return has_ended

    def _take_answer(self, event: Answer | Failure) -> None:
        if event.id not in self._let_go:
            self.answers[event.id] = event if isinstance(event, Answer) else event.error
        elif isinstance(event, Failure) or not event.more:
            self._let_go.discard(event.id)

    def let_go(self, number: int) -> None:
        """Drop a request's answer when it comes; what was asked is done all the same.

        Parameters
        ----------
        number : int
            Its id; from any thread.
        """
        if self.answers.pop(number, None) is None and self.session.is_pending(number):
            self._let_go.add(number)

    def ask(self, question: Question[Any]) -> int:
        """Queue a question.

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
        if self.error is not None:
            raise self.error
        if not isinstance(question, Question):
            raise InputError("question", question, "is none", "use navserver.wire.questions")
        return self.session.request(question.message, question.fields, question.arrays)

    def give_up(self, number: int) -> None:
        """Give a request up, and tell the server.

        Parameters
        ----------
        number : int
            Its id.
        """
        self.session.forget(number)
        self.answers.pop(number, None)
        self._tell("cancel", {"target": number})

    def confirm(self, notices: Iterable[Notice]) -> None:
        """Tell the server which states of movers have been read: it sends newer ones then.

        Parameters
        ----------
        notices : iterable of Notice
            Events that the program has taken, of any kind.
        """
        ticks = {
            notice.fields["world"]: notice.fields["tick"]
            for notice in notices
            if notice.name == "movers_state"
        }
        for world, tick in ticks.items():
            self._tell("movers_seen", {"world": world, "tick": tick})

    def _tell(self, message: str, fields: dict[str, Any]) -> None:
        """Send a request whose reply nobody waits for; of use on this connection only."""
        session = self.session
        if session.state is ClientState.OPEN and session.pending < MAX_REQUESTS:
            session.forget(session.request(message, fields))


def read_answer(question: Question[T], answer: Answer | WireError) -> T:
    """Return what a question's answer is.

    Parameters
    ----------
    question : Question
        What was asked.
    answer : Answer or WireError
        What has come.

    Returns
    -------
    object
        As the question says.

    Raises
    ------
    WireError
        If the request was refused.
    UnansweredError
        If it was not carried out.
    """
    if isinstance(answer, WireError):
        raise answer
    if answer.status not in answer.message.statuses:
        raise UnansweredError(question.message, answer.status)
    return question.read(answer)
