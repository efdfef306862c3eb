"""How many files and sockets the process may have open at once."""

from __future__ import annotations

import sys

__all__ = ["allow_open_files"]


def allow_open_files(wanted: int) -> int | None:
    """Let the process have more files open, as far as the system lets it.

    Parameters
    ----------
    wanted : int
        How many at once; fewer than are allowed already change nothing.

    Returns
    -------
    int or None
        How many it may have now; None where the system has no such limit.

    Examples
    --------
    >>> allowed = allow_open_files(64)
    >>> allowed is None or allowed >= 64
    True
    """
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 - POSIX only

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return None
    if soft >= wanted:
        return soft
    target = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
    except (OSError, ValueError):
        # macOS names an infinite hard limit and refuses more than the kernel has.
        return soft
    return target
