"""What the blocking client and the one for asyncio have in common."""

from __future__ import annotations

from numbers import Real
from typing import Any

from navserver.link import Link
from navserver.sidecar.address import Address
from navserver.status import InputError
from navserver.wire.client_errors import ServerUnavailableError

__all__ = ["LOOK_MS", "Linked", "as_seconds", "no_server"]

LOOK_MS = 50
"""How often the connection itself is looked at while nothing comes."""


class Linked:
    """What a client of either kind knows of its server.

    Parameters
    ----------
    address : Address
        Where the server is.
    timeout : float
        Seconds that a question waits for its answer.
    name : str or None
        The session; a random one if there is none.
    """

    def __init__(self, address: Address, timeout: float, name: str | None) -> None:
        self.timeout = as_seconds("timeout", timeout)
        """Seconds that a question waits for its answer."""
        self._link = Link(address, name)

    @property
    def server(self) -> dict[str, Any]:
        """What the server told of itself: protocol, capabilities, limits, how warm it is."""
        return dict(self._link.capabilities)

    @property
    def lost_worlds(self) -> list[str]:
        """Worlds that lack changes which had been acknowledged, since a server was restarted."""
        return list(self._link.lost_worlds)


def as_seconds(field: str, seconds: Any) -> float:
    """Return a time to wait, or refuse what is none.

    Parameters
    ----------
    field : str
        How an error names it.
    seconds : float
        At least 0; infinite waits for ever.

    Returns
    -------
    float
        The same.

    Raises
    ------
    InputError
        If that is no time.

    Examples
    --------
    >>> as_seconds("timeout", 2)
    2.0
    """
    number = float(seconds) if isinstance(seconds, Real) else -1.0
    if not number >= 0.0:
        raise InputError(field, seconds, "is no time to wait", "give seconds, 0 or more")
    return number


def no_server(trouble: str) -> ServerUnavailableError:
    """Return the error of a client that finds no server.

    Parameters
    ----------
    trouble : str
        Why, perhaps with a remedy behind a semicolon.

    Returns
    -------
    ServerUnavailableError
        To be raised.

    Examples
    --------
    >>> str(no_server("nothing answers"))
    'no server: nothing answers; start one'
    """
    remedy = "" if ";" in trouble else "; start one"
    return ServerUnavailableError(f"no server: {trouble}{remedy}")
