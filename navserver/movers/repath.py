"""Ways for movers, found within a budget of work a step.

Whoever needs a way is queued. Movers with one anchor, as a group sent to one goal, share a single
search outwards from it; others are searched for one by one. Either is done in slices, so that an
order to thousands costs no step more than the budget. A route that an edit has cut is first mended:
by a short search around the cut to the farthest part that is still valid.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.movers.closures import Cuts
from navserver.movers.movers import Movers
from navserver.movers.sight import first_blocked_path_, options_of
from navserver.movers.waypoints import lay_waypoints
from navserver.search.astar import AStar
from navserver.search.validation import UNLIMITED, checked_count
from navserver.search.wavefront import Wavefront

__all__ = ["NO_ANCHOR", "Planner", "Plans"]

NO_ANCHOR = -1
"""The anchor of movers that share their goal with nobody."""

LEAST_SHARED = 4
"""So many movers of one anchor are worth a search that they share."""

MEND_EXPANSIONS = 512
"""What a search around a cut may expand."""

MEND_REACH = (24.0, 12.0, 4.0, 0.0)
"""How far behind a cut a mended route joins the old one, in cells, in the order of trial."""

# Expansions that it takes as long as to make a route of a path that has been found.
_ROUTE_WORK = 64
# How often an edit may make a search in slices begin anew before it is done in one go.
_MOST_RESTARTS = 2


class Plans(NamedTuple):
    """What became of movers that asked for a way."""

    found: NDArray[np.int64]
    """int64 array (n,): slots of those that walk now."""
    lost: NDArray[np.int64]
    """int64 array (n,): slots of those to whose goals no way leads."""


_NOBODY = np.empty(0, np.int64)


class _Asking(NamedTuple):
    """Movers that ask, and which of their askings it is."""

    rows: NDArray[np.int64]
    tickets: NDArray[np.int64]


class _Job:
    """Movers of one movement that a search is made for."""

    def __init__(self, which: int, anchor: int, asking: _Asking) -> None:
        self.which = which
        self.anchor = anchor
        self.parts = [asking]
        self.restarts = 0

    @property
    def asking(self) -> _Asking:
        """All of them."""
        if len(self.parts) > 1:
            rows, tickets = (np.concatenate(column) for column in zip(*self.parts, strict=True))
            self.parts = [_Asking(rows, tickets)]
        return self.parts[0]


class _Paths:
    """Paths of flat cells for movers of one movement, one after the other."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.cells: list[NDArray[np.int64]] = []

    def add(self, row: int, cells: NDArray[np.int64]) -> None:
        """Add the path of a mover."""
        self.rows.append(row)
        self.cells.append(cells)


class Planner:
    """Finds ways for the movers of one table.

    Parameters
    ----------
    movers : Movers
        Whose ways; their column `goal` says where to.
    budget : int
        Expansions of searches a step, 1 or more; 10,000 take about a millisecond.

    Raises
    ------
    InputError
        If the budget is not a count.
    """

    def __init__(self, movers: Movers, budget: int = 8192) -> None:
        self._movers = movers
        self.budget = checked_count("budget", budget)
        """Expansions a step."""
        self.keep_right = 0.0
        """How far waypoints may lie to the right of the shortest way, see `lay_waypoints`."""
        self.work_done = 0
        """Expansions of the last step, and what the making of routes counts for."""
        self._jobs: deque[_Job] = deque()
        self._open_jobs: dict[tuple[int, int], _Job] = {}
        self._mends: deque[tuple[_Asking, NDArray[np.float32]]] = deque()
        self._search: _Search | None = None
        self._tickets = np.zeros(0, np.int64)
        self._generations = np.zeros(0, np.int32)
        self._last_ticket = 0
        self._walks: dict[int, Wavefront] = {}
        self._astars: dict[tuple[int, bool], AStar] = {}

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits."""
        return self._search is None and not self._jobs and not self._mends

    @property
    def coming(self) -> NDArray[np.int64]:
        """Slots of those who are searched for next, one by one, in this order."""
        search = self._search
        if not isinstance(search, _SingleSearches):
            return _NOBODY
        return search.job.asking.rows[search.done :]

    # Asking

    def ask(self, rows: NDArray[np.int64], anchors: NDArray[np.int64]) -> None:
        """Queue movers for a way from where they will be then to their goals.

        Parameters
        ----------
        rows : int64 array (n,)
            Slots, each once. What they have asked before is forgotten.
        anchors : int64 array (n,)
            Flat cell near the goals of many, or `NO_ANCHOR`.
        """
        tickets = self._give_tickets(rows)
        which = self._movers.columns.movement[rows]
        if not rows.size:
            return
        order = np.lexsort((anchors, which))
        changes = (np.diff(which[order]) != 0) | (np.diff(anchors[order]) != 0)
        for chosen in np.split(order, np.flatnonzero(changes) + 1):
            first = chosen[0]
            asking = _Asking(rows[chosen], tickets[chosen])
            self._enter(int(which[first]), int(anchors[first]), asking)

    def _enter(self, which: int, anchor: int, asking: _Asking) -> None:
        waiting = self._open_jobs.get((which, anchor))
        if waiting is not None:
            waiting.parts.append(asking)
            return
        job = _Job(which, anchor, asking)
        self._jobs.append(job)
        self._open_jobs[which, anchor] = job

    def mend(self, cuts: Cuts) -> None:
        """Queue movers whose routes are cut for a way around the cut.

        Parameters
        ----------
        cuts : Cuts
            Where; what lies behind is copied.
        """
        tickets = self._give_tickets(cuts.rows)
        routes = self._movers.routes
        for row, ticket, last in zip(cuts.rows, tickets, cuts.last.tolist(), strict=True):
            rest = routes.remaining(int(row))[-last:]
            self._mends.append((_Asking(row[np.newaxis], ticket[np.newaxis]), rest))

    def withdraw(self, rows: NDArray[np.int64]) -> None:
        """Forget what movers have asked.

        Parameters
        ----------
        rows : int64 array (n,)
            Slots.
        """
        self._grow()
        self._tickets[rows] = 0

    def are_asking(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which movers wait for a way.

        Parameters
        ----------
        rows : int64 array (n,)
            Slots.

        Returns
        -------
        bool array (n,)
            False for those that have it.
        """
        self._grow()
        generation = self._movers.columns.generation[rows]
        return (self._tickets[rows] != 0) & (self._generations[rows] == generation)

    def _give_tickets(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        self._grow()
        tickets = self._last_ticket + 1 + np.arange(rows.size)
        self._last_ticket += rows.size
        self._tickets[rows] = tickets
        self._generations[rows] = self._movers.columns.generation[rows]
        return tickets

    def _grow(self) -> None:
        capacity = len(self._movers.columns.state)
        if self._tickets.size < capacity:
            for name in ("_tickets", "_generations"):
                array = getattr(self, name)
                longer = np.zeros(capacity, array.dtype)
                longer[: array.size] = array
                setattr(self, name, longer)

    def _still(self, asking: _Asking) -> NDArray[np.int64]:
        """Return the slots of those that have not asked again, withdrawn, or been removed."""
        rows = asking.rows
        return rows[self.are_asking(rows) & (self._tickets[rows] == asking.tickets)]

    # Working

    def run(self) -> Plans:
        """Work for one step.

        Returns
        -------
        Plans
            Who has got a way, and who never will on this map.
        """
        found: list[NDArray[np.int64]] = []
        lost: list[NDArray[np.int64]] = []
        paths: dict[int, _Paths] = {}
        left = self.budget
        while left > 0 and self._mends:
            left -= self._mend_next(found)
        while left > 0:
            if self._search is None:
                if not self._jobs:
                    break
                job = self._jobs.popleft()
                self._open_jobs.pop((job.which, job.anchor), None)
                self._search = self._begin(job)
            search = self._search
            used, is_done = search.advance(left, paths.setdefault(search.job.which, _Paths()), lost)
            left -= used
            if is_done:
                self._search = None
        self.work_done = self.budget - left
        for which, those in paths.items():
            found.append(self._start(which, those))
        plans = Plans(_joined(found), _joined(lost))
        self._tickets[plans.found] = 0
        self._tickets[plans.lost] = 0
        return plans

    def _begin(self, job: _Job) -> _Search:
        is_shared = job.anchor != NO_ANCHOR and self._still(job.asking).size >= LEAST_SHARED
        return (_SharedSearch if is_shared else _SingleSearches)(self, job)

    def _start(self, which: int, paths: _Paths) -> NDArray[np.int64]:
        """Send movers along paths."""
        movers = self._movers
        columns = movers.columns
        rows = np.array(paths.rows, np.int64)
        offsets = np.zeros(rows.size + 1, np.int64)
        np.cumsum([cells.size for cells in paths.cells], out=offsets[1:])
        points, bounds = lay_waypoints(
            movers.grid,
            movers.movements[which],
            np.concatenate([_NOBODY, *paths.cells]),
            offsets,
            columns.position[rows],
            columns.goal[rows],
            columns.radius[rows],
            self.keep_right,
        )
        movers.start_routes(rows, points, bounds)
        return rows

    def _walk(self, which: int) -> Wavefront:
        walk = self._walks.get(which)
        if walk is None:
            movers = self._movers
            walk = Wavefront(movers.grid, movers.movements[which], record=True)
            self._walks[which] = walk
        return walk

    def _astar(self, which: int, *, is_short: bool) -> AStar:
        search = self._astars.get((which, is_short))
        if search is None:
            search = AStar(
                self._movers.grid,
                islands=not is_short,
                max_expansions=MEND_EXPANSIONS if is_short else None,
                **options_of(self._movers.movements[which]),
            )
            self._astars[which, is_short] = search
        return search

    # Mending

    def _mend_next(self, found: list[NDArray[np.int64]]) -> int:
        """Find a way around the next cut, else ask for a whole one; return the work."""
        asking, rest = self._mends.popleft()
        rows = self._still(asking)
        if not rows.size:
            return 1
        movers = self._movers
        row = int(rows[0])
        which = int(movers.columns.movement[row])
        grid, movement = movers.grid, movers.movements[which]
        search = self._astar(which, is_short=True)
        start = _cell_of(movers.columns.position[row])
        work = 0
        tried = set()
        for reach in MEND_REACH:
            joint, behind = _joint(rest, reach)
            cell = _cell_of(joint)
            if cell in tried or not (grid.contains(start) and grid.contains(cell)):
                continue
            tried.add(cell)
            result = search.find_path(start, cell)
            work += result.metrics.expanded + _ROUTE_WORK
            if not result.found:
                continue
            flat = grid.flat_indices(result.cells)
            points, _ = lay_waypoints(
                grid, movement, flat, np.array([0, flat.size]), movers.columns.position[rows],
                joint[np.newaxis], movers.columns.radius[rows], self.keep_right,
            )  # fmt: skip
            points = np.concatenate([points, behind])
            bounds = np.array([0, len(points)])
            if self._is_free(which, rows, points, bounds):
                movers.start_routes(rows, points, bounds)
                found.append(rows)
                return work
        self._enter(which, NO_ANCHOR, _Asking(rows, self._tickets[rows]))
        return work + 1

    def _is_free(
        self,
        which: int,
        rows: NDArray[np.int64],
        points: NDArray[np.float32],
        offsets: NDArray[np.int64],
    ) -> bool:
        movers = self._movers
        columns = movers.columns
        return bool(
            first_blocked_path_(
                *movers.ground(which), columns.movement, which, columns.position, rows, points,
                offsets,
            )[0] < 0
        )  # fmt: skip


class _Search(ABC):
    """A search at work; its movers' paths come out as they are found."""

    def __init__(self, planner: Planner, job: _Job) -> None:
        self.planner = planner
        self.job = job
        self.movers = planner._movers
        self.version = self.movers.grid.version
        self.begin()

    @abstractmethod
    def begin(self) -> None:
        """Begin, or begin anew on a map that has changed."""

    @abstractmethod
    def work(self, budget: int, paths: _Paths, lost: list[NDArray[np.int64]]) -> tuple[int, bool]:
        """Go on on a map that has not changed; return the work and whether all is done."""

    def advance(
        self, budget: int, paths: _Paths, lost: list[NDArray[np.int64]]
    ) -> tuple[int, bool]:
        """Go on for about so much work; return how much it was, and whether all is done."""
        if self.version != self.movers.grid.version:
            self.version = self.movers.grid.version
            self.job.restarts += 1
            self.begin()
        used, is_done = self.work(budget, paths, lost)
        # Edits in every step would never let it come to an end.
        while not is_done and self.job.restarts > _MOST_RESTARTS:
            more, is_done = self.work(UNLIMITED, paths, lost)
            used += more
        return used, is_done

    def ends(self, row: int) -> tuple[int, int]:
        """Return the flat cells of where a mover is and of its goal, -1 where closed."""
        columns = self.movers.columns
        return self.open_cell(columns.position[row]), self.open_cell(columns.goal[row])

    def open_cell(self, point: NDArray[np.float32]) -> int:
        """Return the flat cell of a point, -1 where closed."""
        grid = self.movers.grid
        cell = _cell_of(point)
        if not grid.contains(cell):
            return -1
        flat = grid.flat_index(cell)
        ground = self.movers.ground(self.job.which)
        return flat if ground.open_table[ground.space[flat]] else -1


class _SharedSearch(_Search):
    """One search from the anchor outwards, until it has met all movers and their goals."""

    def begin(self) -> None:
        """Begin, or begin anew on a map that has changed."""
        self._walk = self.planner._walk(self.job.which)
        self._walk.forget()
        self._next = 0
        self._walked = False
        rows = self.planner._still(self.job.asking).tolist()
        cells = [cell for row in rows for cell in self.ends(row) if cell >= 0]
        ground = self.movers.ground(self.job.which)
        self._is_open = bool(ground.open_table[ground.space[self.job.anchor]])
        if self._is_open:
            targets = np.unique(np.array(cells, np.int64))
            self._walk.begin(np.array([self.job.anchor]), reverse=True, targets=targets)

    def work(self, budget: int, paths: _Paths, lost: list[NDArray[np.int64]]) -> tuple[int, bool]:
        """Search; then take the movers' paths from what was found."""
        if not self._is_open:
            # Each for itself: the goal of one may be open where the anchor is not.
            self.planner._enter(self.job.which, NO_ANCHOR, self.job.asking)
            return 1, True
        if not self._walked:
            before = self._walk.metrics.expanded
            self._walked = self._walk.advance(budget)
            return max(self._walk.metrics.expanded - before, 1), False
        used = 0
        asking = self.job.asking
        while self._next < asking.rows.size and used < budget:
            one = slice(self._next, self._next + 1)
            used += self._take(_Asking(asking.rows[one], asking.tickets[one]), paths, lost)
            self._next += 1
        is_done = self._next == asking.rows.size
        if is_done:
            self._walk.forget()
        return max(used, 1), is_done

    def _take(self, asking: _Asking, paths: _Paths, lost: list[NDArray[np.int64]]) -> int:
        """Give one mover its path; return the work."""
        rows = self.planner._still(asking)
        if not rows.size:
            return 1
        start, goal = self.ends(int(rows[0]))
        ends = np.array([start, goal])
        if (ends < 0).any():
            lost.append(rows)
            return 1
        costs, _ = self._walk.read(ends)
        if np.isinf(costs[1]):
            lost.append(rows)
        elif np.isinf(costs[0]):
            # It has gone where the search has not been.
            self.planner._enter(self.job.which, NO_ANCHOR, asking)
        else:
            cells = _joined_at_fork(self._walk.path_to(start), self._walk.path_to(goal))
            paths.add(int(rows[0]), cells)
            return int(cells.size) + _ROUTE_WORK
        return 1


class _SingleSearches(_Search):
    """A search from each mover to its goal, one after the other."""

    done = 0
    """How many have been searched for."""

    def begin(self) -> None:
        """Begin the search at hand anew; those done before stay done."""
        self._search = self.planner._astar(self.job.which, is_short=False)
        self._is_at_work = False
        self._spent = 0

    def work(self, budget: int, paths: _Paths, lost: list[NDArray[np.int64]]) -> tuple[int, bool]:
        """Search for the mover at hand."""
        asking = self.job.asking
        if self.done == asking.rows.size:
            return 0, True
        one = slice(self.done, self.done + 1)
        rows = self.planner._still(_Asking(asking.rows[one], asking.tickets[one]))
        if rows.size and not self._is_at_work:
            self._is_at_work = self._begin_for(int(rows[0]))
            if not self._is_at_work:
                lost.append(rows)
        work = 1
        if self._is_at_work:
            if not self._search.advance(budget):
                self._spent += budget
                return budget, False
            result = self._search.finish()
            self._is_at_work = False
            work = max(result.metrics.expanded - self._spent, 0) + _ROUTE_WORK
            if rows.size and not result.found:
                lost.append(rows)
            elif rows.size and result.start == _cell_of(self.movers.columns.position[rows[0]]):
                paths.add(int(rows[0]), self.movers.grid.flat_indices(result.cells))
            elif rows.size:
                # It has been pushed into another cell since the search began.
                self.planner._enter(self.job.which, NO_ANCHOR, _Asking(rows, asking.tickets[one]))
        self.done += 1
        return work, self.done == asking.rows.size

    def _begin_for(self, row: int) -> bool:
        """Begin the search of one mover; return whether both of its ends are open."""
        if min(self.ends(row)) < 0:
            return False
        columns = self.movers.columns
        self._search.begin(_cell_of(columns.position[row]), _cell_of(columns.goal[row]))
        self._spent = 0
        return True


def _joined_at_fork(to_one: NDArray[np.int64], to_other: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the path between two cells of a tree, given those to them from its root."""
    shorter = min(to_one.size, to_other.size)
    apart = to_one[:shorter] != to_other[:shorter]
    fork = int(np.argmax(apart)) if apart.any() else shorter
    return np.concatenate([to_one[fork - 1 :][::-1], to_other[fork:]])


def _joint(
    rest: NDArray[np.float32], reach: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return a point so far along waypoints and the waypoints behind it.

    It is one of them, or the centre of a cell between two of them.
    """
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(rest, axis=0).T))])
    k = int(np.searchsorted(along, reach))
    if k == len(rest):
        return rest[-1], rest[k:]
    if along[k] == reach:
        return rest[k], rest[k + 1 :]
    share = (reach - along[k - 1]) / (along[k] - along[k - 1])
    point = rest[k - 1] + np.float32(share) * (rest[k] - rest[k - 1])
    return np.floor(point + np.float32(0.5)), rest[k:]


def _cell_of(point: NDArray[np.float32]) -> tuple[int, int]:
    return math.floor(float(point[0]) + 0.5), math.floor(float(point[1]) + 0.5)


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([_NOBODY, *parts])
