"""Questions about the server itself."""

from __future__ import annotations

import numpy as np

from navserver.wire.question import Question, read_nothing

__all__ = ["listen_to_log", "ping", "restore", "save_snapshot", "shut_down", "snapshot", "stats"]


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


def listen_to_log(level: str) -> Question[None]:
    """Ask for the events of the server's log, which then come as ``logged``.

    Parameters
    ----------
    level : str
        The least to be told: ``debug``, ``info``, ``warning``, or ``off`` to end it.

    Returns
    -------
    Question of None
        Answered before the first comes.
    """
    return Question("log", {"level": level}, read_nothing)


def snapshot(world: str | None = None) -> Question[bytes]:
    """Ask for worlds as bytes.

    Parameters
    ----------
    world : str, optional
        One world; default: all.

    Returns
    -------
    Question of bytes
        For `restore`, or a file that ``serve --restore`` takes.
    """
    fields = {"world": world, "save": False}
    return Question("snapshot", fields, lambda answer: answer.arrays["state"].tobytes())


def save_snapshot(world: str | None = None) -> Question[int]:
    """Have the server write worlds to the file that it was started with.

    Parameters
    ----------
    world : str, optional
        One world; default: all.

    Returns
    -------
    Question of int
        Bytes written.
    """
    fields = {"world": world, "save": True}
    return Question("snapshot", fields, lambda answer: int(answer.fields["bytes"]))


def restore(state: bytes) -> Question[list[str]]:
    """Make the worlds of a snapshot; those of the same names are replaced.

    Parameters
    ----------
    state : bytes
        From `snapshot`.

    Returns
    -------
    Question of list of str
        Names of the worlds made.
    """
    arrays = {"state": np.frombuffer(state, np.uint8)}
    return Question("restore", {}, lambda answer: list(answer.fields["worlds"]), arrays)
