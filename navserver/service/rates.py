"""How long expansions take, measured outside the kernels, and how long searches are."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from navserver.service.requests import SearchOptions

__all__ = ["Rates"]

_FIRST_SECONDS = 60e-9
_FIRST_EXPANDED = 500.0
# No more than the smallest slice: a rate that is far too high has to come down again.
_FEWEST_EXPANSIONS = 256
# A slice that had to wait for memory, or for its thread, says little of the next one.
_MOST_GROWTH = 4.0
_KEPT = 256

_BUNDLE_SECONDS = 250e-6
_MAX_BUNDLE = 64
_SECONDS_A_ROW = 1e-6
_RANGE_SECONDS = 1200e-6
_MAX_RANGE = 1024

# Measured on random and on MovingAI maps: a search that is not short expands 0.1 to 0.3 times the
# square of the distance; a wavefront labels a cell in half the time of an expansion, and hands
# out a path in some ten microseconds.
EXPANDED_SHARE = 0.15
_FIELD_SHARE = 0.5
_SECONDS_A_FIELD_ROW = 15e-6
OCTAGON = 8.0 * (2.0**0.5 - 1.0)
DETOUR = 1.2


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
        self._field_seconds: OrderedDict[SearchOptions, float] = OrderedDict()
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
            known = self.of(options)
            seen = min(seconds / expanded, _MOST_GROWTH * known)
            _take_in(self._seconds, options, seen, known)

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
        seconds = self._seconds_a_row(self._expanded.get(client, _FIRST_EXPANDED), options)
        return min(max(int(_BUNDLE_SECONDS / seconds), 1), _MAX_BUNDLE)

    def range(self, expanded: float, options: SearchOptions) -> int:
        """Return how many first tries of a batch a unit may hold.

        Parameters
        ----------
        expanded : float
            Expansions a row, as far as the batch knows.
        options : SearchOptions
            How it is searched.

        Returns
        -------
        int
            1 to 1024.
        """
        seconds = self._seconds_a_row(expanded, options)
        return min(max(int(_RANGE_SECONDS / seconds), 1), _MAX_RANGE)

    def _seconds_a_row(self, expanded: float, options: SearchOptions) -> float:
        return expanded * self.of(options) + _SECONDS_A_ROW

    # Fields

    def of_field(self, options: SearchOptions) -> float:
        """Return the seconds that a search from a goal takes a cell.

        Parameters
        ----------
        options : SearchOptions
            How it is searched.

        Returns
        -------
        float
            A share of `of` before the first slice.
        """
        return self._field_seconds.get(options, _FIELD_SHARE * self.of(options))

    def note_field(self, options: SearchOptions, cells: int, seconds: float) -> None:
        """Take in a slice of a search from a goal; one that says little is left out.

        Parameters
        ----------
        options : SearchOptions
            How it was searched.
        cells : int
            Cells labelled.
        seconds : float
            What they took; 0 where the caller has no clock.
        """
        if cells >= _FEWEST_EXPANSIONS and seconds > 0.0:
            known = self.of_field(options)
            seen = min(seconds / cells, _MOST_GROWTH * known)
            _take_in(self._field_seconds, options, seen, known)

    @staticmethod
    def likely_expanded(distance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the expansions to be expected of searches that were not short.

        Parameters
        ----------
        distance : float64 array (n,)
            Cells between start and goal, as the crow flies.

        Returns
        -------
        float64 array (n,)
            A share of the square around the way.
        """
        return EXPANDED_SHARE * distance**2

    def prefers_field(
        self, options: SearchOptions, rows: int, expanded: float, farthest: float, size: int
    ) -> bool:
        """Return whether one search from a goal takes less time than one for each start.

        Parameters
        ----------
        options : SearchOptions
            How it is searched.
        rows : int
            Starts.
        expanded : float
            Expansions a row to be expected.
        farthest : float
            Octile distance in cells of the start that is farthest from the goal.
        size : int
            Cells of the map.

        Returns
        -------
        bool
            True if the field is cheaper.
        """
        searches = rows * self._seconds_a_row(expanded, options)
        # Of the octagon around the goal that holds all starts, with something for detours.
        cells = min(OCTAGON * (DETOUR * farthest) ** 2, float(size))
        return cells * self.of_field(options) + rows * _SECONDS_A_FIELD_ROW < searches


K = TypeVar("K", bound=Hashable)


def _take_in(averages: OrderedDict[K, float], key: K, new: float, first: float) -> None:
    averages[key] = averages.get(key, first) * 0.875 + new * 0.125
    averages.move_to_end(key)
    if len(averages) > _KEPT:
        averages.popitem(last=False)
