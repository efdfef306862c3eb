"""How long expansions take, measured outside the kernels, and how long searches are."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import TypeVar

from navserver.service.requests import SearchOptions

__all__ = ["Rates"]

_FIRST_SECONDS = 60e-9
_FIRST_EXPANDED = 500.0
_FEWEST_EXPANSIONS = 1000
_KEPT = 256

_BUNDLE_SECONDS = 250e-6
_MAX_BUNDLE = 64
_SECONDS_A_ROW = 1e-6


class Rates:
    """Moving averages for one world.

    Notes
    -----
    An average takes in an eighth of what is new. Not safe for threads: the scheduler's lock
    guards it.

    Examples
    --------
    >>> rates = Rates()
    >>> options = SearchOptions()
    >>> for _ in range(99):
    ...     rates.note_slice(options, 10_000, 1e-3)
    >>> round(rates.of(options) * 1e9)
    100
    """

    def __init__(self) -> None:
        self._seconds: OrderedDict[SearchOptions, float] = OrderedDict()
        self._expanded: OrderedDict[Hashable, float] = OrderedDict()

    def of(self, options: SearchOptions) -> float:
        """Return the seconds that an expansion takes.

        Parameters
        ----------
        options : SearchOptions
            How it is searched.

        Returns
        -------
        float
            A guess before the first slice.
        """
        return self._seconds.get(options, _FIRST_SECONDS)

    def note_slice(self, options: SearchOptions, expanded: int, seconds: float) -> None:
        """Take in a slice; one that says little is left out.

        Parameters
        ----------
        options : SearchOptions
            How it was searched.
        expanded : int
            Expansions.
        seconds : float
            What they took; 0 where the caller has no clock.
        """
        if expanded >= _FEWEST_EXPANSIONS and seconds > 0.0:
            _take_in(self._seconds, options, seconds / expanded, _FIRST_SECONDS)

    def note_trial(self, client: Hashable, expanded: float) -> None:
        """Take in first tries of a client.

        Parameters
        ----------
        client : hashable
            Who asked.
        expanded : float
            Expansions a search.
        """
        _take_in(self._expanded, client, expanded, _FIRST_EXPANDED)

    def bundle(self, client: Hashable, options: SearchOptions) -> int:
        """Return how many first tries of a client a unit may hold to be short.

        Parameters
        ----------
        client : hashable
            Who asks.
        options : SearchOptions
            How it is searched.

        Returns
        -------
        int
            1 to 64.
        """
        expanded = self._expanded.get(client, _FIRST_EXPANDED)
        seconds = expanded * self.of(options) + _SECONDS_A_ROW
        return min(max(int(_BUNDLE_SECONDS / seconds), 1), _MAX_BUNDLE)


K = TypeVar("K", bound=Hashable)


def _take_in(averages: OrderedDict[K, float], key: K, new: float, first: float) -> None:
    averages[key] = averages.get(key, first) * 0.875 + new * 0.125
    averages.move_to_end(key)
    if len(averages) > _KEPT:
        averages.popitem(last=False)
