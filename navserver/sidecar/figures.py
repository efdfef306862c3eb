"""Figures of a server: requests by kind, and what it holds, as one flat map."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from navserver.service.metrics import KindMetrics
from navserver.service.scheduler import Scheduler

__all__ = ["RequestFigures", "flat_figures", "held_figures"]


class RequestFigures:
    """Counts and times of requests by their type.

    Examples
    --------
    >>> figures = RequestFigures()
    >>> figures.note("path", "found", 10.0, 30.0)
    >>> figures.summary()["path"]["count"], figures.summary()["path"]["p50_us"]
    (1, 40.0)
    """

    def __init__(self) -> None:
        self._kinds: dict[str, KindMetrics] = {}
        self._errors: dict[str, int] = {}

    def note(self, kind: str, status: str, wait_us: float, search_us: float) -> None:
        """Take in that a request has been answered.

        Parameters
        ----------
        kind : str
            Its type.
        status : str
            How it ended.
        wait_us, search_us : float
            What it took.
        """
        metrics = self._kinds.get(kind)
        if metrics is None:
            metrics = self._kinds[kind] = KindMetrics()
        metrics.note(status, wait_us * 1e-6, search_us * 1e-6)
        if status == "error":
            self._errors[kind] = self._errors.get(kind, 0) + 1

    def summary(self) -> dict[str, dict[str, float]]:
        """Return the figures of each type.

        Returns
        -------
        dict of str to dict of str to float
            ``count``, ``errors``, ``p50_us`` and ``p99_us`` in all, ``wait_p99_us``.
        """
        summary = {}
        for kind, metrics in self._kinds.items():
            told: Mapping[str, Any] = metrics.summary()
            summary[kind] = {
                "count": told["count"],
                "errors": self._errors.get(kind, 0),
                "p50_us": told["total_p50_us"],
                "p99_us": told["total_p99_us"],
                "wait_p99_us": told["waiting_p99_us"],
            }
        return summary


def held_figures(scheduler: Scheduler) -> dict[str, Any]:
    """Return what waits and what is held.

    Parameters
    ----------
    scheduler : Scheduler
        Whose worlds and queue.

    Returns
    -------
    dict of str to object
        ``queue``, ``cache``, ``memory`` and ``worlds``.
    """
    told = scheduler.statistics()
    caches = [world.cache for world in scheduler.worlds]
    hits = sum(cache.hits for cache in caches)
    asked = hits + sum(cache.misses + cache.stale for cache in caches)
    return {
        "queue": {
            "rows": told["pending_rows"],
            "requests": told["waiting"],
            "at_work": told["at_work"],
        },
        "cache": {
            "paths": sum(map(len, caches)),
            "hits": hits,
            "asked": asked,
            "hit_rate": hits / max(asked, 1),
        },
        "memory": {
            "worlds_bytes": sum(
                world["memory_bytes"]["total"] for world in told["worlds"].values()
            ),
            "search_scratch_bytes": told["search_scratch_bytes"],
        },
        "worlds": {
            name: {
                "version": world["version"],
                "memory_bytes": world["memory_bytes"]["total"],
                "cache_hit_rate": world["cache_hit_rate"],
            }
            for name, world in told["worlds"].items()
        },
    }


def flat_figures(statistics: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Return nested figures as one map.

    Parameters
    ----------
    statistics : mapping of str to object
        Numbers, and mappings of them; all else is left out.
    prefix : str
        What stands before each name.

    Returns
    -------
    dict of str to float
        By names joined with dots; finite.

    Examples
    --------
    >>> flat_figures({"queue": {"rows": 3, "name": "x"}, "hits": 0.5})
    {'queue.rows': 3, 'hits': 0.5}
    """
    flat: dict[str, float] = {}
    for name, value in statistics.items():
        if isinstance(value, Mapping):
            flat.update(flat_figures(value, f"{prefix}{name}."))
        elif isinstance(value, (int, float)) and math.isfinite(value):
            flat[f"{prefix}{name}"] = value
    return flat
