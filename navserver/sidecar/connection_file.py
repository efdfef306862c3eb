"""How a client finds the server: the ready line and the connection file, one JSON object each."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import platformdirs

from navserver.status import InputError

__all__ = ["ConnectionInfo", "default_connection_file", "new_token"]


@dataclass(frozen=True)
class ConnectionInfo:  # numpydoc ignore=PR02
    """Where a server listens, and what it must be told.

    Parameters
    ----------
    port : int
        TCP port on 127.0.0.1.
    token : str
        The password of this launch.
    pid : int
        The server's process.
    protocol : int
        Newest version of the protocol that it speaks.
    version : str
        Of the package.
    instance : str
        Names the process.
    ipc : str or None
        Path of its other socket, where the system has such.
    """

    port: int
    token: str
    pid: int
    protocol: int
    version: str
    instance: str
    ipc: str | None = None

    def ready_line(self) -> str:
        """Return what the server prints first.

        Returns
        -------
        str
            JSON on one line.
        """
        return json.dumps({"event": "ready", **asdict(self)})

    def write(self, path: Path) -> None:
        """Write the connection file, whole or not at all, readable by its owner only.

        Parameters
        ----------
        path : Path
            Its folder is made where it is missing.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # mkstemp makes the file for its owner only.
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(self.ready_line() + "\n")
                Path(name).replace(path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise InputError(
                "connection-file", str(path), f"cannot be written: {error.strerror}",
                "name a file in a folder of yours",
            ) from None  # fmt: skip

    @staticmethod
    def remove(path: Path, instance: str) -> None:
        """Remove a connection file, unless it is another server's by now.

        Parameters
        ----------
        path : Path
            Where it was written.
        instance : str
            The server that has written it.
        """
        try:
            if ConnectionInfo.read(path).instance == instance:
                path.unlink()
        except (InputError, OSError):
            pass

    @staticmethod
    def read(path: str | os.PathLike[str]) -> ConnectionInfo:
        """Read a connection file.

        Parameters
        ----------
        path : path-like
            Written by a server.

        Returns
        -------
        ConnectionInfo
            What it says; entries that are not known are passed over.

        Raises
        ------
        InputError
            If there is none, or it cannot be understood.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise InputError(
                "connection-file", os.fspath(path), f"cannot be read: {reason}",
                "start a server with --connection-file, or name the file of a running one",
            ) from None  # fmt: skip
        return ConnectionInfo.parse(text, os.fspath(path))

    @staticmethod
    def parse(text: str, origin: str) -> ConnectionInfo:
        """Understand a ready line.

        Parameters
        ----------
        text : str
            JSON.
        origin : str
            Where it is from, for the error.

        Returns
        -------
        ConnectionInfo
            What it says.

        Raises
        ------
        InputError
            If it is no ready line.
        """
        try:
            content: Any = json.loads(text)
            return ConnectionInfo(
                port=int(content["port"]),
                token=str(content["token"]),
                pid=int(content["pid"]),
                protocol=int(content["protocol"]),
                version=str(content.get("version", "")),
                instance=str(content.get("instance", "")),
                ipc=content.get("ipc"),
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            raise InputError(
                "connection-file", origin, "does not say where a server listens",
                "name a file that `navserver serve` has written",
            ) from None  # fmt: skip


def default_connection_file() -> Path:
    """Return where clients look by themselves for a connection file that a server was asked for.

    Returns
    -------
    Path
        In the user's folder for such.
    """
    folder = platformdirs.user_state_dir("navserver", appauthor=False)
    return Path(folder) / "connection.json"


def new_token() -> str:
    """Return the password of a launch.

    Returns
    -------
    str
        256 random bits.
    """
    return secrets.token_urlsafe(32)
