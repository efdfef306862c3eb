"""Where a server is, as a client is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from navserver.sidecar.connection_file import ConnectionInfo, default_connection_file
from navserver.status import InputError

__all__ = ["Address"]

_HOST = "127.0.0.1"
# What PLAIN can say.
_LONGEST_TOKEN = 255


class Address(NamedTuple):
    """Where the server is; a connection file is read anew for every connection."""

    port: int | None
    token: str | None
    ipc: str | None
    connection_file: Path | None

    @classmethod
    def of(
        cls, port: int | None, token: str | None, ipc: str | None, connection_file: Any
    ) -> Address:
        """Return the address that a client was given.

        Parameters
        ----------
        port : int or None
            TCP port.
        token : str or None
            The token that goes with a port or path.
        ipc : str or None
            Path of a local socket.
        connection_file : path-like or None
            What the server has written; without anything, `default_connection_file`.

        Returns
        -------
        Address
            Checked.

        Raises
        ------
        InputError
            If they do not go together.
        """
        if port is None and ipc is None:
            path = default_connection_file() if connection_file is None else Path(connection_file)
            return cls(None, None, None, path)
        if connection_file is not None:
            raise InputError(
                "connection_file", str(connection_file), "goes with no port", "give one of both"
            )
        if port is not None and (type(port) is not int or not 0 < port < 65536):
            raise InputError("port", port, "is no port", "give that of the server's ready line")
        if port is not None and ipc is not None:
            raise InputError("ipc", ipc, "goes with no port", "give one of both")
        if ipc is not None and (type(ipc) is not str or not ipc):
            raise InputError("ipc", ipc, "is no path", "give that of the server's ready line")
        if not token:
            raise InputError("token", token, "is missing", "give that of the server's ready line")
        if type(token) is not str or len(token) > _LONGEST_TOKEN or not token.isascii():
            raise InputError("token", token, "is none", "give that of the server's ready line")
        return cls(port, token, ipc, None)

    def resolve(self) -> tuple[str, str]:
        """Return the endpoint and the token.

        Returns
        -------
        (str, str)
            What ZeroMQ connects to, and the password.

        Raises
        ------
        InputError
            If the connection file cannot be read.
        """
        if self.connection_file is not None:
            info = ConnectionInfo.read(self.connection_file)
            return f"tcp://{_HOST}:{info.port}", info.token
        if self.ipc is not None:
            return f"ipc://{self.ipc}", self.token or ""
        return f"tcp://{_HOST}:{self.port}", self.token or ""
