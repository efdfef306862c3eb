"""The file of a local socket: made for its owner, removed at the end, nobody else's lost to it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from navserver.status import InputError

__all__ = ["SocketFile"]


class SocketFile:
    """A path that a socket is bound to.

    Parameters
    ----------
    path : str
        Where. What a server that was killed has left there is replaced.
    is_heard : callable
        Whether somebody listens at the path of a socket.

    Raises
    ------
    InputError
        If something else is there, or a server listens: to bind would remove it.
    """

    def __init__(self, path: str, is_heard: Callable[[str], bool]) -> None:
        self.path = path
        """As it was given."""
        self._made: os.stat_result | None = None
        try:
            mode = Path(path).lstat().st_mode
        except (OSError, ValueError):
            # Nothing is there, or to bind tells why not.
            return
        if not stat.S_ISSOCK(mode):
            what = "a folder" if stat.S_ISDIR(mode) else "no socket"
            raise InputError(
                "ipc", path, f"is there already, and is {what}", "name a path that is free"
            )
        if is_heard(path):
            raise InputError(
                "ipc", path, "is the socket of a server that runs",
                "end that one, or name another path",
            )  # fmt: skip

    @contextmanager
    def making(self) -> Iterator[None]:
        """Bind the socket meanwhile.

        Yields
        ------
        None
            What is made now, only its owner may use.

        Raises
        ------
        OSError
            If no file has been made.
        """
        before = os.umask(0o177)
        try:
            yield
        finally:
            os.umask(before)
        self._made = Path(self.path).stat()

    def remove(self) -> None:
        """Remove the file, unless it is another server's by now."""
        made, self._made = self._made, None
        if made is None:
            return
        with suppress(OSError):
            if os.path.samestat(made, Path(self.path).stat()):
                Path(self.path).unlink()
