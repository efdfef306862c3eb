"""Carries out the messages about the session and the server itself."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Any

import psutil

from navserver.sidecar.figures import flat_figures, held_figures
from navserver.sidecar.logbook import LEVELS, Entry
from navserver.sidecar.office import Call, Handler, Office
from navserver.wire.limits import MAX_ITEMS
from navserver.wire.message import Reply
from navserver.wire.server_session import Session

__all__ = ["SERVER_HANDLERS", "LogListeners"]

_MOST_ENTRIES = 1024


def _ping(office: Office, call: Call) -> Reply:  # noqa: ARG001 - all handlers are called alike
    return Reply("ok", {"time": office.clock() - office.started}, {})


def _cancel(office: Office, call: Call) -> Reply:
    is_open = office.cancel(call.session, call.fields["target"], call.arrays.get("rows"))
    return Reply("ok", {"running": is_open}, {})


def _stats(office: Office, call: Call) -> Reply:  # noqa: ARG001
    figures: dict[str, float] = {
        "uptime_s": office.clock() - office.started,
        "sessions": len(office.sessions),
        "requests_open": office.sessions.open_requests,
        "warm_up.done": office.sessions.warm_up[0],
        "warm_up.total": office.sessions.warm_up[1],
        "memory.process_bytes": psutil.Process().memory_info().rss,
        **flat_figures(office.requests.summary()),
    }
    for prefix, figures_of in office.figures.items():
        figures.update(flat_figures(figures_of(), f"{prefix}."))
    # The worlds' come last: of what one message cannot tell, theirs is left out.
    figures.update(flat_figures(held_figures(office.scheduler)))
    return Reply("ok", {"stats": dict(islice(figures.items(), MAX_ITEMS))}, {})


class LogListeners:
    """Hands the log on to the sessions that have asked for it.

    Parameters
    ----------
    office : Office
        Whose log.
    """

    def __init__(self, office: Office) -> None:
        self._office = office
        self._levels: dict[Session, int] = {}
        self._entries: deque[Entry] = deque(maxlen=_MOST_ENTRIES)
        office.logbook.listeners.append(self._entries.append)

    def listen(self, office: Office, call: Call) -> Reply:  # noqa: ARG002
        """Carry out ``log``.

        Parameters
        ----------
        office : Office
            Where.
        call : Call
            What is asked.

        Returns
        -------
        Reply
            That it is done.
        """
        level = call.fields["level"]
        if level == "off":
            self._levels.pop(call.session, None)
        else:
            self._levels[call.session] = LEVELS.index(level)
        return Reply("ok", {}, {})

    def forget(self, session: Session) -> None:
        """Hand nothing on to a session that has ended.

        Parameters
        ----------
        session : Session
            Any.
        """
        self._levels.pop(session, None)

    def hand_on(self) -> None:
        """Tell what was noted since the last call; in the thread that owns the sockets."""
        while self._entries:
            entry = self._entries.popleft()
            for session, least in self._levels.items():
                if LEVELS.index(entry.level) >= least:
                    self._office.sessions.push(session, "logged", _fields_of(entry))


def _fields_of(entry: Entry) -> dict[str, Any]:
    return {
        "time": entry.time,
        "level": entry.level,
        "event": entry.event[:64],
        "text": entry.text[:1024],
    }


def _shutdown(office: Office, call: Call) -> Reply:
    office.logbook.note("info", "shutdown_asked", session=call.session.name)
    office.is_asked_to_end = True
    return Reply("ok", {}, {})


SERVER_HANDLERS: dict[str, Handler] = {
    "ping": _ping,
    "cancel": _cancel,
    "stats": _stats,
    "shutdown": _shutdown,
}
"""Who carries out which message."""
