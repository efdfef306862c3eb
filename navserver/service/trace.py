"""A recorded search, to be played back step by step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.search.nodes import SearchTrace
from navserver.search.validation import checked_count
from navserver.status import InputError

__all__ = ["Playback", "PlaybackStep"]


class PlaybackStep(NamedTuple):
    """What a search had done after some of its expansions."""

    current: tuple[int, int]
    """The cell expanded last."""
    closed: NDArray[np.int32]
    """int32 array (n, 2): the cells expanded so far, each once, in order."""
    frontier: NDArray[np.int32]
    """int32 array (m, 2): cells reached but not expanded yet, of those that will be."""
    path: NDArray[np.int32]
    """int32 array (k, 2): how the last cell was reached, from the start."""


class Playback:
    """The recorded expansions of a search, at any step.

    Parameters
    ----------
    trace : SearchTrace
        What a search has recorded; its capacity bounds the playback.

    Raises
    ------
    InputError
        If nothing was recorded.

    Examples
    --------
    >>> from navserver.search.astar import find_path
    >>> from navserver.search.grid import Grid
    >>> trace = SearchTrace(100)
    >>> _ = find_path(Grid.filled(3, 1), (0, 0), (2, 0), trace=trace)
    >>> playback = Playback(trace)
    >>> len(playback), playback.step(2).path.tolist()
    (3, [[0, 0], [1, 0]])
    """

    def __init__(self, trace: SearchTrace) -> None:
        if trace.count == 0:
            raise InputError("trace", trace, "holds no expansion", "search with it first")
        self.truncated = trace.truncated
        """Whether the search went on beyond what was recorded."""
        self._cells = trace.cells
        self._parents = trace.parents
        # Cells by number, so that what follows is array work.
        both = np.concatenate([self._cells, self._parents])
        _, numbers = np.unique(both, axis=0, return_inverse=True)
        self._numbers, self._parent_numbers = np.split(numbers.reshape(-1), 2)
        self._n_numbers = int(numbers.max()) + 1

    def __len__(self) -> int:
        """Return the number of steps: expansions recorded."""
        return len(self._cells)

    def step(self, count: int) -> PlaybackStep:
        """Return what the search had done after so many expansions.

        Parameters
        ----------
        count : int
            1 to ``len(self)``.

        Returns
        -------
        PlaybackStep
            O(expansions recorded).

        Raises
        ------
        InputError
            If there are not so many.
        """
        if not 1 <= checked_count("count", count) <= len(self):
            raise InputError("count", count, "is no step of the playback", f"give 1..{len(self)}")
        done, parents = self._numbers[:count], self._parent_numbers[:count]
        _, first = np.unique(done, return_index=True)
        is_closed = np.zeros(self._n_numbers, np.bool_)
        is_closed[done] = True
        later, came_from = self._numbers[count:], self._parent_numbers[count:]
        is_reached = ~is_closed[later] & is_closed[came_from]
        waiting, waits_at = np.unique(later[is_reached], return_index=True)
        frontier = self._cells[count:][is_reached][np.sort(waits_at)]
        assert len(frontier) == len(waiting)
        return PlaybackStep(
            (int(self._cells[count - 1, 0]), int(self._cells[count - 1, 1])),
            self._cells[np.sort(first)],
            frontier,
            self._path_to(done, parents),
        )

    def _path_to(self, done: NDArray[np.int64], parents: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the way to the cell expanded last; a cell expanded again has its newer parent."""
        row_of = np.full(self._n_numbers, -1, np.int64)
        row_of[done] = np.arange(done.size)
        rows = [done.size - 1]
        while parents[rows[-1]] != done[rows[-1]]:
            rows.append(int(row_of[parents[rows[-1]]]))
        return self._cells[rows[::-1]]

    def frames(self, count: int) -> list[int]:
        """Return steps that share the search out evenly.

        Parameters
        ----------
        count : int
            How many frames there shall be, 1 or more.

        Returns
        -------
        list of int
            Arguments of `step`, ascending; the last is the last step. Fewer if there are not so
            many steps.
        """
        frames = min(checked_count("count", count), len(self))
        return [len(self) * (i + 1) // frames for i in range(frames)]
