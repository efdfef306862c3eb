"""Questions about the server itself."""

from __future__ import annotations

from navserver.wire.question import Question, read_nothing

__all__ = ["ping", "shut_down", "stats"]


def ping() -> Question[float]:
    """Ask whether the server answers.

    Returns
    -------
    Question of float
        Seconds since it started.
    """
    return Question("ping", {}, lambda answer: float(answer.fields["time"]))


def stats() -> Question[dict[str, float]]:
    """Ask for the server's figures.

    Returns
    -------
    Question of dict of str to float
        By name.
    """
    return Question("stats", {}, lambda answer: dict(answer.fields["stats"]))


def shut_down() -> Question[None]:
    """Ask the server to end.

    Returns
    -------
    Question of None
        Answered before it ends.
    """
    return Question("shutdown", {}, read_nothing)
