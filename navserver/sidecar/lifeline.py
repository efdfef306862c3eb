"""When a server ends: it is told by a signal, its parent or its stdin is gone, nobody uses it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import psutil

from navserver.status import InputError

__all__ = ["IdleTimer", "ParentWatch", "ending_on_signals", "watch_stdin"]


class ParentWatch:
    """Tells whether a process is still there.

    Parameters
    ----------
    pid : int
        The process.

    Raises
    ------
    InputError
        If there is no such process.

    Examples
    --------
    >>> import os
    >>> ParentWatch(os.getpid()).is_gone()
    False
    """

    def __init__(self, pid: int) -> None:
        try:
            self._process = psutil.Process(pid)
        except (psutil.Error, ValueError, OverflowError, TypeError):
            raise InputError(
                "parent-pid", pid, "is no running process", "give the id of the one that starts it"
            ) from None

    def is_gone(self) -> bool:
        """Return whether the process has ended.

        Returns
        -------
        bool
            True as well where another process has its id by now, or it only waits to be reaped.
        """
        try:
            return not self._process.is_running() or self._process.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True
        except psutil.Error:
            return False


def watch_stdin(on_end: Callable[[], None], stream: BinaryIO | None = None) -> threading.Thread:
    """Call back once when a stream has ended; what is read from it is dropped.

    Parameters
    ----------
    on_end : callable
        Called in another thread.
    stream : binary stream, optional
        Default: stdin.

    Returns
    -------
    Thread
        A daemon that waits for the end.
    """
    source = sys.stdin.buffer if stream is None else stream

    def wait() -> None:
        try:
            # Not by the stream's own read: it would hold a lock that Python wants at its end.
            while os.read(source.fileno(), 4096):
                pass
        except (OSError, ValueError):
            pass
        on_end()

    thread = threading.Thread(target=wait, name="navserver-stdin", daemon=True)
    thread.start()
    return thread


class IdleTimer:
    """Tells when a server has been without clients for long enough.

    Parameters
    ----------
    timeout : float or None
        Seconds; None is never.
    now : float
        The time.

    Examples
    --------
    >>> timer = IdleTimer(10.0, now=0.0)
    >>> timer.has_run_out(1, 20.0), timer.has_run_out(0, 29.0), timer.has_run_out(0, 30.0)
    (False, False, True)
    """

    def __init__(self, timeout: float | None, now: float) -> None:
        self._timeout = timeout
        self._last_use = now

    def has_run_out(self, clients: int, now: float) -> bool:
        """Return whether nobody has been there for the time set.

        Parameters
        ----------
        clients : int
            How many there are.
        now : float
            The time.

        Returns
        -------
        bool
            True once it is enough.
        """
        if clients:
            self._last_use = now
        return self._timeout is not None and now - self._last_use >= self._timeout


@contextmanager
def ending_on_signals(end: Callable[[str], None], wake_fd: int) -> Iterator[None]:
    """End on SIGTERM, SIGINT and SIGHUP, where this thread is the one that gets them.

    A SIGHUP that is ignored stays so: whoever starts a program by ``nohup`` wants that.

    Parameters
    ----------
    end : callable
        Called with the signal's name in lower case.
    wake_fd : int
        What the thread polls: a descriptor that a signal is written to, which does not block.

    Yields
    ------
    None
        Afterwards signals do what they did before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGTERM, signal.SIGINT]
    # The terminal of a server that runs in one is closed; Windows knows no such signal.
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:
        numbers.append(hangup)
    before = {
        number: signal.signal(number, lambda got, _: end(signal.Signals(got).name.lower()))
        for number in numbers
    }
    # A poll that is under way ends when the signal's number arrives.
    wakeup = signal.set_wakeup_fd(wake_fd, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
