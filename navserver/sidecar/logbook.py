"""The server's log: one line an event, for programs or for people."""

from __future__ import annotations

import json
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TextIO

__all__ = ["LEVELS", "Entry", "Logbook"]

LEVELS = ("debug", "info", "warning", "error")
"""From the least grave on."""
_FRAMES_TOLD = 4


class Entry(NamedTuple):
    """One event of the log."""

    time: float
    """Seconds since 1970, UTC."""
    level: str
    """One of `LEVELS`."""
    event: str
    """What happened, in one word with underscores."""
    fields: dict[str, Any]
    """Its particulars."""

    @property
    def text(self) -> str:
        """The entry for people, without time and level."""
        parts = [f"{name}={_shown(value)}" for name, value in self.fields.items()]
        return " ".join([self.event.replace("_", " "), *parts])


class Logbook:
    """Writes entries to a stream, and to whoever listens.

    Parameters
    ----------
    stream : text stream, optional
        Default: stderr.
    as_json : bool
        One JSON object a line, with ``time``, ``level``, ``event`` and the fields.
    level : str
        The least grave level to be written.

    Notes
    -----
    Any thread may call `note`. A stream that can no longer be written is given up: a server does
    not end because nobody reads its log.
    """

    def __init__(
        self, stream: TextIO | None = None, *, as_json: bool = False, level: str = "info"
    ) -> None:
        self._stream: TextIO | None = sys.stderr if stream is None else stream
        self._as_json = as_json
        self._least = LEVELS.index(level)
        self._lock = threading.Lock()
        self.listeners: list[Callable[[Entry], None]] = []
        """Called with every entry, in the thread that noted it."""

    def note(self, level: str, event: str, **fields: Any) -> None:
        """Write an entry.

        Parameters
        ----------
        level : str
            One of `LEVELS`.
        event : str
            What happened, in one word with underscores.
        **fields
            Its particulars: strings, numbers, booleans. Never the token.
        """
        entry = Entry(time.time(), level, event, fields)
        if LEVELS.index(level) >= self._least:
            self._write(entry)
        for listener in tuple(self.listeners):
            listener(entry)

    def defect(self, event: str, error: BaseException, **fields: Any) -> None:
        """Write an entry about what should not have happened, with where it did.

        Parameters
        ----------
        event : str
            What has failed, in one word with underscores.
        error : Exception
            What was raised.
        **fields
            Further particulars.
        """
        frames = traceback.extract_tb(error.__traceback__)[-_FRAMES_TOLD:]
        at = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
        self.note("error", event, error=repr(error), at=" > ".join(at), **fields)

    def _write(self, entry: Entry) -> None:
        line = _as_json(entry) if self._as_json else _as_text(entry)
        with self._lock:
            if self._stream is None:
                return
            try:
                self._stream.write(line + "\n")
                self._stream.flush()
            except (OSError, ValueError):
                self._stream = None


def _as_json(entry: Entry) -> str:
    content = {
        "time": round(entry.time, 6), "level": entry.level, "event": entry.event, **entry.fields
    }  # fmt: skip
    return json.dumps(content, default=str)


def _as_text(entry: Entry) -> str:
    clock = time.strftime("%H:%M:%S", time.localtime(entry.time))
    return f"{clock} {entry.level:<7} {entry.text}"


def _shown(value: object) -> str:
    text = str(value)
    return text if text.isprintable() and " " not in text and text else repr(text)
