"""One pool of threads that calls serial kernels on ranges of rows.

A kernel reads the state before it and writes rows of its own range, so how rows are shared out
changes nothing in the result.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from navserver.search.validation import checked_count

__all__ = ["Workers"]

MOST_THREADS = 256

# Ranges begin at multiples of this many rows, so that two threads share few cache lines.
GRAIN = 1024


class Workers:
    """Runs a call over ranges of rows, on several threads where that pays.

    Parameters
    ----------
    threads : int, optional
        Default: one a core. With 1 no thread is started.

    Raises
    ------
    InputError
        If it is not a count.

    Examples
    --------
    >>> Workers(1).run(lambda first, last: last - first, 10)
    10
    """

    def __init__(self, threads: int | None = None) -> None:
        wanted = (os.cpu_count() or 1) if threads is None else checked_count("threads", threads)
        self.threads = min(wanted, MOST_THREADS)
        """How many threads work, the caller's among them."""
        self._pool: ThreadPoolExecutor | None = None

    def run(self, call: Callable[[int, int], int], rows: int, worthwhile: int = 1 << 15) -> int:
        """Call for all rows, and add up what the calls return.

        Parameters
        ----------
        call : callable
            ``call(first, last) -> int`` for the rows ``first <= row < last``.
        rows : int
            How many there are.
        worthwhile : int
            Least rows a thread; fewer stay with the caller's thread.

        Returns
        -------
        int
            The sum.
        """
        parts = min(self.threads, rows // worthwhile)
        if parts <= 1:
            return call(0, rows)
        size = -(-rows // parts)
        size += -size % GRAIN
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="navserver-movers")
        pending = [
            self._pool.submit(call, first, min(first + size, rows))
            for first in range(size, rows, size)
        ]
        total = call(0, min(size, rows))
        return total + sum(future.result() for future in pending)

    def close(self) -> None:
        """End the threads; the next large run starts new ones."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
