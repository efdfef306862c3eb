"""How a question may fail other than by being refused."""

from __future__ import annotations

from navserver.status import NavserverError

__all__ = ["RequestTimeoutError", "ServerUnavailableError", "UnansweredError"]


class ServerUnavailableError(NavserverError, ConnectionError):
    """There is no server, or it does not let this client in."""


class RequestTimeoutError(NavserverError, TimeoutError):
    """No reply has come in time; the request is given up."""


class UnansweredError(NavserverError, RuntimeError):
    """The server has not carried a request out, without fault of the request.

    Parameters
    ----------
    message : str
        The request's type.
    status : str
        Such as ``overloaded``.
    """

    def __init__(self, message: str, status: str) -> None:
        super().__init__(f"{message}: {status}; ask again later, or less often")
        self.status = status
