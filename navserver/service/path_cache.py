"""Paths that were found, kept as long as every promise of theirs still holds.

Which entries an edit leaves valid, and why. The cells that an edit may change for a body are those
written, and those within the body's reach of them. Of them the edit *improves* those that open or
become cheaper.

- FOUND stays valid if its own cells and steps are as they were, and no way through a cell that was
  improved can be cheaper than the path: the cheapest imaginable way from start to goal through a
  cell costs the least cost of the whole map times the distance from the start to the cell and on
  to the goal. Any way that is cheaper now must use a cell that was improved, or it would have been
  cheaper before.
- UNREACHABLE stays valid if start and goal are as they were, and nothing opened, or else if the
  islands tell that the two are still apart.
- START_BLOCKED stays valid if the start is as it was; GOAL_BLOCKED if both ends are.
- PARTIAL and LIMIT depend on all that was searched, so any edit that matters to the body ends them.

Entries are judged when they are asked for, on the map as it is then: an edit costs nothing here.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.search.grid import Grid
from navserver.search.heuristics import least_unit_cost
from navserver.search.islands import Reach, islands_if_built
from navserver.search.movement import Movement
from navserver.search.moves import DiagonalMode
from navserver.search.results import PathResult
from navserver.search.validation import checked_count
from navserver.service.edits import Effect
from navserver.service.path_validity import find_breaks, path_cost, reach_of
from navserver.service.requests import SearchOptions
from navserver.status import Detail, Status

__all__ = ["PathCache"]

MAX_EDITS = 4096
"""Edits that an entry may be behind; with more it is searched anew."""

LEAST_EXPANDED = 256
"""Searches that expanded less take no longer than to keep their results."""

_MAX_MOVEMENTS = 64
_ENTRY_BYTES = 512

# Two sums of the same steps may differ by so much, and a way that saves less is none.
_ROUNDING = 1e-9

_Key = tuple[SearchOptions, tuple[int, int], tuple[int, int]]


class _Entry:
    """A result, and the newest version for which it is known to hold."""

    __slots__ = ("result", "version")

    def __init__(self, result: PathResult) -> None:
        self.result = result
        self.version = result.map_version

    @property
    def nbytes(self) -> int:
        return _ENTRY_BYTES + self.result.cells.nbytes


class _Changes(NamedTuple):
    """What some edits mean to a movement, a row an edit that may matter to it."""

    rectangles: NDArray[np.int64]
    """Columns x0, y0, x1, y1 (inclusive) of all cells that may have changed for the body."""
    improves: NDArray[np.bool_]
    opens: NDArray[np.bool_]


class _Digest:
    """What the edits so far mean to one movement, in the order of their versions."""

    def __init__(self, reach: int) -> None:
        self._reach = reach
        self._versions: list[int] = []
        self._rows: list[tuple[tuple[int, int, int, int], bool, bool]] = []
        self.until = 0
        """Version of the last edit that was taken in."""

    def take_in(self, effects: Iterable[Effect], movement: Movement) -> None:
        reach = self._reach
        for effect in effects:
            self.until = effect.version
            if effect.touches(movement):
                x0, y0, x1, y1 = effect.rectangle
                rectangle = (x0 - reach, y0 - reach, x1 - 1 + reach, y1 - 1 + reach)
                self._versions.append(effect.version)
                self._rows.append((rectangle, effect.improves(movement), effect.opens(movement)))

    def since(self, version: int, until: int) -> _Changes | None:
        """Return the changes after a version up to another; None if there are none."""
        first, last = bisect_right(self._versions, version), bisect_right(self._versions, until)
        if first == last:
            return None
        rectangles, improves, opens = zip(*self._rows[first:last], strict=True)
        return _Changes(np.array(rectangles, np.int64), np.array(improves), np.array(opens))


class PathCache:
    """Results by options and ends, least recently used out first.

    Parameters
    ----------
    version : int
        Version of the map; later edits have to be noted.
    max_bytes : int
        What may be held.

    Raises
    ------
    InputError
        If the bound is not a positive integer.

    Notes
    -----
    Safe for threads. A question costs O(edits since the entry was last asked for), and O(path)
    if one of them came near it.
    """

    def __init__(self, version: int = 1, max_bytes: int = 1 << 25) -> None:
        self.max_bytes = checked_count("max_bytes", max_bytes)
        self.hits = 0
        """Questions answered."""
        self.misses = 0
        """Questions for what was not there."""
        self.stale = 0
        """Questions for what an edit had ended."""
        self.nbytes = 0
        """Bytes held now."""
        self._entries: OrderedDict[_Key, _Entry] = OrderedDict()
        self._effects: list[Effect] = []
        self._early: dict[int, Effect] = {}
        self._version = version
        self._digests: OrderedDict[Movement, _Digest] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    @property
    def hit_rate(self) -> float:
        """Share of questions that were answered; 0 before the first."""
        return self.hits / max(self.hits + self.misses + self.stale, 1)

    def put(self, options: SearchOptions, result: PathResult) -> None:
        """Keep a result.

        Parameters
        ----------
        options : SearchOptions
            How it was searched.
        result : PathResult
            One that was cancelled, with a partial path or none, or that took no time, is not kept.
        """
        # In this order: most are short, and flags are slow.
        if result.metrics.expanded < LEAST_EXPANDED or result.detail & Detail.CANCELLED:
            return
        entry = _Entry(result)
        key = (options, result.start, result.goal)
        with self._lock:
            self._discard(key)
            self._entries[key] = entry
            self.nbytes += entry.nbytes
            while self.nbytes > self.max_bytes:
                self.nbytes -= self._entries.popitem(last=False)[1].nbytes

    def _discard(self, key: _Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.nbytes -= entry.nbytes

    def note(self, effect: Effect) -> None:
        """Take note of an edit.

        Parameters
        ----------
        effect : Effect
            What it may have changed; those of several editors may come out of turn.
        """
        with self._lock:
            self._early[effect.version] = effect
            while (following := self._early.pop(self._version + 1, None)) is not None:
                self._effects.append(following)
                self._version += 1
            if len(self._effects) > MAX_EDITS:
                del self._effects[: MAX_EDITS // 2]
                self._digests.clear()

    def has(self, options: SearchOptions, start: tuple[int, int], goal: tuple[int, int]) -> bool:
        """Return whether `find` is worth a call; a question that it would miss counts as such.

        Parameters
        ----------
        options : SearchOptions
            How to search.
        start, goal : (int, int)
            Cells.

        Returns
        -------
        bool
            False if there is no such entry.
        """
        if (options, start, goal) in self._entries:
            return True
        self.misses += 1
        return False

    def find(
        self, grid: Grid, options: SearchOptions, start: tuple[int, int], goal: tuple[int, int]
    ) -> PathResult | None:
        """Return a result that holds on a map.

        Parameters
        ----------
        grid : Grid
            The map, which nobody edits meanwhile.
        options : SearchOptions
            How to search.
        start, goal : (int, int)
            Cells.

        Returns
        -------
        PathResult or None
            Its `map_version` is that of the search, which may be older than the map.
        """
        key = (options, start, goal)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                self.misses += 1
                return None
            if self._holds(entry, grid, options):
                self._entries.move_to_end(key)
                self.hits += 1
                return entry.result
            self.stale += 1
            # One that is newer than the map may still serve others.
            if entry.version < grid.version:
                self._discard(key)
            return None

    def _holds(self, entry: _Entry, grid: Grid, options: SearchOptions) -> bool:
        """Return whether an entry holds on a map; note so if it does."""
        if entry.version == grid.version:
            return True
        if entry.version > grid.version or not self._knows(entry.version, grid.version):
            return False
        layers = grid.layers
        if any(name not in layers for name, _ in options.movement.overlays):
            return False
        changes = self._digest(grid, options.movement).since(entry.version, grid.version)
        if changes is not None and not _is_left_valid(entry.result, grid, options, changes):
            return False
        entry.version = grid.version
        return True

    def _knows(self, version: int, until: int) -> bool:
        """Return whether every edit after a version is known up to another."""
        return self._version - len(self._effects) <= version and until <= self._version

    def _digest(self, grid: Grid, movement: Movement) -> _Digest:
        """Return what all known edits mean to a movement."""
        digest = self._digests.get(movement)
        if digest is None:
            digest = self._digests[movement] = _Digest(reach_of(grid, movement))
            if len(self._digests) > _MAX_MOVEMENTS:
                self._digests.popitem(last=False)
        else:
            self._digests.move_to_end(movement)
        n_new = min(self._version - digest.until, len(self._effects))
        digest.take_in(self._effects[len(self._effects) - n_new :], movement)
        return digest


def _is_left_valid(
    result: PathResult, grid: Grid, options: SearchOptions, changes: _Changes
) -> bool:
    if result.status == Status.FOUND:
        return _is_path_as_it_was(result, grid, options.movement, changes) and _is_still_cheapest(
            result, grid, options, changes
        )
    start_changed = _any_holds(changes, grid, result.start)
    if result.status == Status.START_BLOCKED:
        return not start_changed
    if start_changed or _any_holds(changes, grid, result.goal):
        return False
    if result.status == Status.GOAL_BLOCKED:
        return True
    if result.status != Status.UNREACHABLE:
        return False
    if not changes.opens.any():
        return True
    islands = islands_if_built(grid, options.movement)
    if islands is None:
        return False
    start, goal = grid.flat_index(result.start), grid.flat_index(result.goal)
    return islands.may_reach(start, goal) is Reach.SEPARATE


def _any_holds(changes: _Changes, grid: Grid, cell: tuple[int, int]) -> bool:
    """Return whether a cell lies in any of the rectangles."""
    x, y = _in_arrays(grid, cell)
    x0, y0, x1, y1 = changes.rectangles.T
    return bool(((x0 <= x) & (x <= x1) & (y0 <= y) & (y <= y1)).any())


def _is_path_as_it_was(
    result: PathResult, grid: Grid, movement: Movement, changes: _Changes
) -> bool:
    """Return whether every step of a path is allowed, and all cost what they did."""
    flat = grid.flat_indices(result.cells)
    rows, columns = np.divmod(flat, grid.width)
    x0, y0, x1, y1 = changes.rectangles.T
    is_near = (x0 <= columns.max()) & (columns.min() <= x1)
    is_near &= (y0 <= rows.max()) & (rows.min() <= y1)
    if not is_near.any():
        return True
    if find_breaks(grid, movement, flat, np.array([0, flat.size])):
        return False
    cost = path_cost(grid, movement, flat)
    return abs(cost - result.cost) <= _ROUNDING * cost


def _is_still_cheapest(
    result: PathResult, grid: Grid, options: SearchOptions, changes: _Changes
) -> bool:
    """Return whether no way through an improved cell is cheap enough to break the promise."""
    rectangles = changes.rectangles[changes.improves]
    if len(rectangles) == 0:
        return True
    if math.isinf(result.suboptimality):
        # Nothing was promised of its cost.
        return True
    least, _ = grid.cost_range(options.movement)
    unit = least_unit_cost(least, options.movement.cost_model)
    is_straight = options.movement.diagonal_mode == DiagonalMode.NEVER
    start, goal = (_in_arrays(grid, cell) for cell in (result.start, result.goal))
    away = _least_distance(start, rectangles, is_straight=is_straight)
    away += _least_distance(goal, rectangles, is_straight=is_straight)
    # A rectangle is passed no faster than without a detour.
    direct = _least_distance(start, np.array([[*goal, *goal]]), is_straight=is_straight)
    away = np.maximum(away, direct)
    bounds = result.suboptimality * unit * away
    return bool(np.all(bounds >= result.cost * (1.0 - _ROUNDING)))


def _in_arrays(grid: Grid, cell: tuple[int, int]) -> tuple[int, int]:
    """Return column and row of a cell."""
    return cell[0] - grid.region_position[0], cell[1] - grid.region_position[1]


def _least_distance(
    point: tuple[int, int], rectangles: NDArray[np.int64], *, is_straight: bool
) -> NDArray[np.float64]:
    """Return the length of the shortest way to each rectangle on a map without walls."""
    x, y = point
    x0, y0, x1, y1 = rectangles.T
    dx = np.maximum(np.maximum(x0 - x, x - x1), 0).astype(np.float64)
    dy = np.maximum(np.maximum(y0 - y, y - y1), 0).astype(np.float64)
    if is_straight:
        return dx + dy
    return np.maximum(dx, dy) + (math.sqrt(2.0) - 1.0) * np.minimum(dx, dy)
