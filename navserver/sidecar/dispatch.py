"""From what the sessions tell to who carries it out."""

from __future__ import annotations

from collections.abc import Mapping

from navserver.sidecar.batch_handlers import BATCH_HANDLERS
from navserver.sidecar.mover_handlers import MOVER_TYPES, MoverDesk
from navserver.sidecar.office import Call, Handler, Office
from navserver.sidecar.path_handlers import PATH_HANDLERS
from navserver.sidecar.query_handlers import QUERY_HANDLERS
from navserver.sidecar.server_handlers import SERVER_HANDLERS, LogListeners
from navserver.sidecar.snapshot_handlers import SNAPSHOT_HANDLERS
from navserver.sidecar.watch_handlers import WATCH_HANDLERS
from navserver.sidecar.world_handlers import WORLD_HANDLERS
from navserver.wire.server_session import Asked, Began, Ended

__all__ = ["CAPABILITIES", "Dispatch"]

_HANDLERS: Mapping[str, Handler] = {
    **SERVER_HANDLERS,
    **SNAPSHOT_HANDLERS,
    **WORLD_HANDLERS,
    **WATCH_HANDLERS,
    **PATH_HANDLERS,
    **BATCH_HANDLERS,
    **QUERY_HANDLERS,
}

CAPABILITIES = sorted([*_HANDLERS, *MOVER_TYPES, "hello", "log"])
"""Types of the messages that the server takes."""


class Dispatch:
    """Carries out requests and answers them; all in the thread that owns the sockets.

    Parameters
    ----------
    office : Office
        Where.
    """

    def __init__(self, office: Office) -> None:
        self._office = office
        self._log = LogListeners(office)
        self._movers = MoverDesk(office)
        self._handlers = {**_HANDLERS, **self._movers.handlers, "log": self._log.listen}

    def take_events(self, now: float) -> None:
        """Carry out what the sessions tell.

        Parameters
        ----------
        now : float
            The time.
        """
        office = self._office
        office.begin_round()
        while (event := office.sessions.next_event()) is not None:
            if isinstance(event, Asked):
                self._carry_out(Call(event.session, event.request, now))
            elif isinstance(event, Began):
                self._begin(event)
            else:
                self._end(event, now)

    def next_due(self) -> float:
        """Return when `advance` has to be called.

        Returns
        -------
        float
            The time; ``inf`` if nothing is due.
        """
        return self._movers.steps.next_due()

    def advance(self, now: float) -> None:
        """Do what is due.

        Parameters
        ----------
        now : float
            The time.
        """
        self._movers.steps.advance(now)

    def take_results(self) -> bool:
        """Answer what has been done, and carry out what has waited for it.

        Returns
        -------
        bool
            Whether there was anything.
        """
        office = self._office
        held = office.aside.take()
        for call in held or ():
            self._carry_out(call)
        is_answered = office.deliver_replies()
        office.watchers.tell_all()
        self._log.hand_on()
        return is_answered or held is not None

    def _carry_out(self, call: Call) -> None:
        self._office.carry_out(call, self._handlers[call.request.message.name])

    def _begin(self, event: Began) -> None:
        session = event.session
        if event.resumed:
            self._movers.resume(session)
            self._office.watchers.resume(session)
        what = "session_resumed" if event.resumed else "session_opened"
        self._office.logbook.note("info", what, session=session.name, client=session.client)

    def _end(self, event: Ended, now: float) -> None:
        session = event.session
        level = "warning" if event.cause.value == "not_reading" else "info"
        self._office.logbook.note(
            level, "session_ended", session=session.name, cause=event.cause.value
        )
        self._log.forget(session)
        self._movers.forget(session)
        self._office.end_session(session, now)
