"""Who asks for paths: of each agent only the newest request counts."""

from __future__ import annotations

from collections.abc import Callable

from navserver.wire.server_session import Session

__all__ = ["Agents"]


class Agents:
    """The newest request of each agent of each session that still waits."""

    def __init__(self) -> None:
        self._newest: dict[tuple[Session, int], Callable[[], None]] = {}

    def __len__(self) -> int:
        """Return how many agents wait."""
        return len(self._newest)

    def ask(self, session: Session, agent: int, withdraw: Callable[[], None]) -> None:
        """Let a request take the place of the one that waits for the same agent.

        Parameters
        ----------
        session : Session
            Whose agent.
        agent : int
            Its number.
        withdraw : callable
            Ends the request as superseded; called if a newer one comes.
        """
        self.supersede(session, agent)
        self._newest[session, agent] = withdraw

    def supersede(self, session: Session, agent: int) -> None:
        """End the request that waits for an agent, if there is one: there is a newer one.

        Parameters
        ----------
        session : Session
            Whose agent.
        agent : int
            Its number.
        """
        older = self._newest.pop((session, agent), None)
        if older is not None:
            older()

    def leave(self, session: Session, agent: int, withdraw: Callable[[], None]) -> None:
        """Take note that a request has been answered.

        Parameters
        ----------
        session : Session
            Whose agent.
        agent : int
            Its number.
        withdraw : callable
            As `ask` was told; if a newer request has come since, that one stays.
        """
        if self._newest.get((session, agent)) is withdraw:
            del self._newest[session, agent]
