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
        self._seconds = np.zeros((_KEPT, 2))

    def note(self, outcome: str, waiting: float, searching: float) -> None:
        """Take in an answer.

        Parameters
        ----------
        outcome : str
            Its word.
        waiting, searching : float
            Seconds.
        """
        row = self._seconds[self.count % _KEPT]
        row[0] = waiting
        row[1] = searching
        self.count += 1
        self._outcomes[outcome] = self._outcomes.get(outcome, 0) + 1

    def summary(self) -> dict[str, object]:
        """Return the count, the outcomes, and quantiles in microseconds.

        Returns
        -------
        dict of str to object
            ``count``, ``outcomes``, and ``p50_us`` and ``p99_us`` of ``waiting``, ``searching``
            and ``total``; 0.0 before the first answer.
        """
        seen = self._seconds[: min(self.count, _KEPT)]
        summary: dict[str, object] = {"count": self.count, "outcomes": dict(self._outcomes)}
        times = {"waiting": seen[:, 0], "searching": seen[:, 1], "total": seen.sum(axis=1)}
        for name, seconds in times.items():
            for quantile in (50, 99):
                value = float(np.percentile(seconds, quantile)) * 1e6 if len(seconds) else 0.0
                summary[f"{name}_p{quantile}_us"] = round(value, 1)
        return summary
