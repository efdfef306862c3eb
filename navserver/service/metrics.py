"""Counts and recent times of requests by kind."""

from __future__ import annotations

import numpy as np

__all__ = ["KindMetrics"]

_KEPT = 4096


class KindMetrics:
    """What became of the requests of one kind.

    Quantiles are those of the last 4,096 answers.

    Examples
    --------
    >>> metrics = KindMetrics()
    >>> for milliseconds in (1, 2, 3):
    ...     metrics.note("found", 0.0, milliseconds / 1000)
    >>> summary = metrics.summary()
    >>> summary["count"], summary["total_p50_us"], summary["outcomes"]
    (3, 2000.0, {'found': 3})
    """

    def __init__(self) -> None:
        self.count = 0
        """Answers so far."""
        self._outcomes: dict[str, int] = {}
        self._waiting = [0.0] * _KEPT
        self._searching = [0.0] * _KEPT

    def note(self, outcome: str, waiting: float, searching: float) -> None:
        """Take in an answer.

        Parameters
        ----------
        outcome : str
            Its word.
        waiting, searching : float
            Seconds.
        """
        row = self.count % _KEPT
        self._waiting[row] = waiting
        self._searching[row] = searching
        self.count += 1
        self._outcomes[outcome] = self._outcomes.get(outcome, 0) + 1

    def copy(self) -> KindMetrics:
        """Return metrics that count no further: quantiles take longer than a lock may be held.

        Returns
        -------
        KindMetrics
            As they are now.
        """
        copied = KindMetrics()
        copied.count = self.count
        copied._outcomes = dict(self._outcomes)
        copied._waiting = self._waiting.copy()
        copied._searching = self._searching.copy()
        return copied

    def summary(self) -> dict[str, object]:
        """Return the count, the outcomes, and quantiles in microseconds.

        Returns
        -------
        dict of str to object
            ``count``, ``outcomes``, and ``p50_us`` and ``p99_us`` of ``waiting``, ``searching``
            and ``total``; 0.0 before the first answer.
        """
        n = min(self.count, _KEPT)
        seen = np.array([self._waiting[:n], self._searching[:n]])
        summary: dict[str, object] = {"count": self.count, "outcomes": dict(self._outcomes)}
        times = {"waiting": seen[0], "searching": seen[1], "total": seen.sum(axis=0)}
        for name, seconds in times.items():
            for quantile in (50, 99):
                value = float(np.percentile(seconds, quantile)) * 1e6 if n else 0.0
                summary[f"{name}_p{quantile}_us"] = round(value, 1)
        return summary
