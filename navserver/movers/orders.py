"""Orders: movers sent to a goal, each to a place of its own beside it, and kept on their way.

An order gives places at once; ways are found within a budget a step, see `repath`. From then on
edits of the map are watched: a way that is cut is mended or found anew, a place that is closed is
given up for another, and who is shut in by a new wall is put beside it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver._jit import kernel, register_warm_up
from navserver.movers.closures import Closures, Cuts
from navserver.movers.columns import EventFlag, MoverState, StuckReason
from navserver.movers.movers import Movers
from navserver.movers.properties import checked_positions
from navserver.movers.repath import LEAST_SHARED, NO_ANCHOR, Planner
from navserver.movers.sight import options_of
from navserver.movers.slots import SlotPlanner
from navserver.search.grid import Grid
from navserver.search.island_labeling import IslandArrays, find_island_
from navserver.search.islands import islands_of
from navserver.search.line_of_sight import raycasts
from navserver.search.nearest import islands_at_, nearest_, nearest_reachable, nearest_walkable
from navserver.search.validation import checked_array, checked_number
from navserver.status import InputError

__all__ = ["Orders"]

TIGHT = 0.05
"""Gap between places, in parts of the bodies' radii, where walls leave no more room."""

WITHOUT_GOAL = (MoverState.IDLE, MoverState.STEERED)

_NOBODY = np.empty(0, np.int64)

# Numbers of orders begin again beyond this; by then nobody carries out the first any more.
_LAST_GROUP = 2**31 - 1
_ANYWHERE = 1 << 62


class _Party(NamedTuple):
    """Movers of one movement that go to one goal."""

    rows: NDArray[np.int64]
    anchor: tuple[int, int]
    """The cell of the goal, as all of them can reach it."""
    goal: tuple[float, float]


@kernel
def reach_each_(
    space: NDArray[np.uint8],
    open_table: NDArray[np.uint8],
    islands: IslandArrays,
    starts: NDArray[np.int64],
    cells: NDArray[np.int64],
    reached: NDArray[np.int64],
) -> None:
    """Write for each flat start the cell it is to go to for a flat cell, -1 if it cannot.

    That is the cell itself where it is open, else the nearest one on the start's island.
    """
    width = space.shape[1]
    # Of the types that all callers of `nearest_` give it, else it is compiled once more.
    farthest = np.int64(_ANYWHERE)
    for i in range(starts.size):
        island = np.int64(find_island_(islands, starts[i]))
        there = find_island_(islands, cells[i])
        reached[i] = cells[i] if island == there else -1
        if island == 0:
            reached[i] = -1
        elif there == 0:
            y = cells[i] // width
            x = cells[i] - y * width
            reached[i] = nearest_(space, open_table, islands, island, x, y, farthest)


class Orders:
    """The phase that plans: carries orders out, and keeps to them when the map is edited.

    Parameters
    ----------
    movers : Movers
        Who is sent.
    budget : int
        Expansions of searches a step.
    repath_interval : float
        Least seconds between two plans for one mover, >= 0.
    goal_tolerance : float
        A goal that moves by less, in cells, is gone to without a new plan, >= 0.

    Raises
    ------
    InputError
        If an option is out of its bounds.
    """

    name = "plan"

    def __init__(
        self,
        movers: Movers,
        *,
        budget: int = 8192,
        repath_interval: float = 0.5,
        goal_tolerance: float = 0.5,
    ) -> None:
        remedy = "give a finite number >= 0"
        self.planner = Planner(movers, budget)
        """What finds the ways."""
        self.repath_interval = checked_number("repath_interval", repath_interval, 0.0, remedy)
        """Least seconds between two plans for one mover."""
        self.goal_tolerance = checked_number("goal_tolerance", goal_tolerance, 0.0, remedy)
        """Cells that a goal may move without a new plan."""
        self.gap = TIGHT
        """Gap between the places of a group, in parts of the bodies' radii, where there is room."""
        self._movers = movers
        self._closures = Closures(movers.grid)
        self._slot_planners: dict[tuple[int, float], SlotPlanner] = {}
        self._last_group = int(movers.columns.group.max(initial=-1))
        self._cooling = 0.0
        # The velocities of those that were sent elsewhere since the last step: who has a way at
        # once does not stop for it.
        self._momentum = np.zeros((0, 2), np.float32)
        # A table that was loaded has movers that wait for a plan nobody is at work on.
        columns = movers.columns
        waiting = (columns.state == MoverState.WAITING) & (columns.group >= 0)
        columns.wants_way[waiting] = 1
        self._some_are_lost = False
        self._n_wanting = int(np.count_nonzero(columns.wants_way))

    # Giving orders

    def order(self, handles: ArrayLike, goal: ArrayLike, *, spread: bool = True) -> None:
        """Send movers to a goal, each to a place beside it, or each to a goal of its own.

        Parameters
        ----------
        handles : array-like of int, shape (n,)
            Movers, each once.
        goal : array-like of float, shape (2,) or (n, 2)
            A point of the map in cell space for all, or one a mover. In a wall it stands for the
            nearest cell that the mover can reach.
        spread : bool
            Whether those that share a goal get places of their own; if not, all go to the very
            point.

        Raises
        ------
        InputError
            If a goal is not on the map, or a handle is not that of a mover; nothing has changed
            then.

        Notes
        -----
        Of goals that are given a mover, those in one cell are one goal, that of the lowest slot,
        and a mover whose goal is in nobody else's cell goes to the very point. Orders between two
        steps that give such movers their goals can be split and merged as one likes. Goals that
        are shared cannot: those sent first have the nearest places.

        O(n) for goals that are not shared; each that is costs a plan of its places.
        """
        movers = self._movers
        rows = movers.checked_rows(handles)
        points = _checked_goals(movers.grid, goal, rows.size)
        if not rows.size:
            return
        which = movers.columns.movement[rows]
        if points.ndim == 1:
            self._begin_group(rows)
            for number in np.unique(which).tolist():
                self._send(number, rows[which == number], _as_point(points), spread)
            return
        by_slot = np.argsort(rows)
        rows, points, which = rows[by_slot], points[by_slot], which[by_slot]
        cells = _flat_cells(movers.grid, points)
        _, goal_of, sizes = np.unique(cells, return_inverse=True, return_counts=True)
        alone = (sizes[goal_of] == 1) | (not spread)
        self._begin_group(rows[alone])
        for number in np.unique(which[alone]).tolist():
            chosen = alone & (which == number)
            self._send_each(number, rows[chosen], points[chosen], cells[chosen])
        for members in _members(np.where(alone, -1, goal_of)):
            self._begin_group(rows[members])
            for number in np.unique(which[members]).tolist():
                party = rows[members[which[members] == number]]
                self._send(number, party, _as_point(points[members[0]]), spread)

    def _begin_group(self, rows: NDArray[np.int64]) -> None:
        """Give movers the number of a new order."""
        self._last_group = self._last_group + 1 if self._last_group < _LAST_GROUP else 0
        self._movers.columns.group[rows] = self._last_group

    def _send_each(
        self,
        which: int,
        rows: NDArray[np.int64],
        points: NDArray[np.float32],
        cells: NDArray[np.int64],
    ) -> None:
        """Send movers of one movement each to a point of its own, in a flat cell."""
        movers = self._movers
        columns = movers.columns
        grid, movement = movers.grid, movers.movements[which]
        reached = np.empty_like(cells)
        space = grid.space(movement)
        with islands_of(grid, movement).settled() as arrays:
            starts = _flat_cells(grid, columns.position[rows])
            reach_each_(space.cells, space.open_table, arrays, starts, cells, reached)
        ways = reached >= 0
        self._give_up(rows[~ways], StuckReason.UNREACHABLE)
        rows, cells, reached, points = rows[ways], cells[ways], reached[ways], points[ways]
        centres = np.stack([reached % grid.width, reached // grid.width], axis=1)
        centres += grid.region_position
        moved = reached != cells
        points[moved] = centres[moved]
        columns.crowd_radius[rows] = columns.radius[rows]
        columns.anchor[rows] = NO_ANCHOR
        self._go(which, rows, points)

    def _send(
        self, which: int, rows: NDArray[np.int64], goal: tuple[float, float], spread: bool
    ) -> None:
        """Send movers of one movement."""
        parties, lost = self._parties(which, rows, goal)
        for party in parties:
            self._send_party(which, party, spread)
        self._give_up(lost, StuckReason.UNREACHABLE)

    def _send_party(self, which: int, party: _Party, spread: bool) -> None:
        movers = self._movers
        columns = movers.columns
        rows = party.rows
        if spread:
            goals, placed = self._places(which, party)
            self._give_up(rows[~placed], StuckReason.GOAL_TAKEN)
            rows, goals = rows[placed], goals[placed]
            if not rows.size:
                return
        else:
            goals = np.full((rows.size, 2), party.goal, np.float32)
        away = np.hypot(*(goals - np.array(party.anchor, np.float32)).T)
        columns.crowd_radius[rows] = float(away.max()) + columns.radius[rows]
        columns.anchor[rows] = movers.grid.flat_index(party.anchor) if rows.size > 1 else NO_ANCHOR
        self._go(which, rows, goals)

    def _go(self, which: int, rows: NDArray[np.int64], goals: NDArray[np.float32]) -> None:
        """Give movers new goals; ways to goals nearby are bent, the others found anew."""
        columns = self._movers.columns
        moved = np.hypot(*(goals - columns.goal[rows]).T)
        is_near = (moved <= self.goal_tolerance) & (columns.state[rows] == MoverState.PATH)
        columns.goal[rows] = goals
        self._movers.begin_anew(rows)
        is_bent = np.zeros(rows.size, np.bool_)
        is_bent[is_near] = self._bend(which, rows[is_near])
        self._want(rows[~is_bent])

    def _bend(self, which: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Let ways end at the movers' goals; return which a new last leg does for."""
        movers = self._movers
        columns = movers.columns
        ends = columns.path_end[rows]
        before = np.where(
            (ends - columns.path_next[rows] > 1)[:, np.newaxis],
            movers.routes.pool[ends - 2],
            columns.position[rows],
        )
        goals = columns.goal[rows]
        movement = movers.movements[which]
        is_free = raycasts(movers.grid, before, goals, **options_of(movement)).reached
        movers.routes.pool[ends[is_free] - 1] = goals[is_free]
        movers.leave_rails(rows[is_free])
        return is_free

    def want_again(self, rows: NDArray[np.int64]) -> None:
        """Let movers ask for another way to their goals, as soon as they may.

        Parameters
        ----------
        rows : int64 array (n,)
            Slots; who was sent by no order is left alone.
        """
        self._want(rows[self._movers.columns.group[rows] >= 0])

    def _want(self, rows: NDArray[np.int64]) -> None:
        """Let movers stand and ask for a way as soon as they may."""
        columns = self._movers.columns
        self._grow()
        self._momentum[rows] = columns.velocity[rows]
        self._movers.halt(rows, MoverState.WAITING)
        columns.wants_way[rows] = 1
        self.planner.withdraw(rows)
        self._n_wanting += rows.size

    def _grow(self) -> None:
        capacity = len(self._movers.columns.state)
        if len(self._momentum) < capacity:
            momentum = np.zeros((capacity, 2), np.float32)
            momentum[: len(self._momentum)] = self._momentum
            self._momentum = momentum

    def _give_up(self, rows: NDArray[np.int64], reason: StuckReason) -> None:
        """Let movers rest that cannot get to their goals."""
        movers = self._movers
        movers.halt(rows, MoverState.IDLE)
        self.planner.withdraw(rows)
        columns = movers.columns
        columns.wants_way[rows] = 0
        columns.goal[rows] = columns.position[rows]
        columns.stuck_reason[rows] = reason
        movers.flag(rows, EventFlag.STUCK)

    # Goals and places

    def _parties(
        self, which: int, rows: NDArray[np.int64], goal: tuple[float, float]
    ) -> tuple[list[_Party], NDArray[np.int64]]:
        """Return who goes where: by islands where the goal is in a wall; and who cannot go."""
        movers = self._movers
        grid, movement = movers.grid, movers.movements[which]
        cell = _cell_of(goal)
        roots, goal_root = self._islands_at(which, rows, cell)
        if goal_root:
            there = roots == goal_root
            parties = [_Party(rows[there], cell, goal)] if there.any() else []
            return parties, rows[~there]
        parties = []
        for root in np.unique(roots[roots > 0]).tolist():
            members = rows[roots == root]
            start = _cell_of(movers.columns.position[members[0]].tolist())
            nearest = nearest_reachable(grid, start, cell, **options_of(movement))
            if nearest is not None:
                parties.append(_Party(members, nearest, (float(nearest[0]), float(nearest[1]))))
        return parties, rows[roots == 0]

    def _islands_at(
        self, which: int, rows: NDArray[np.int64], cell: tuple[int, int]
    ) -> tuple[NDArray[np.int64], int]:
        """Return the islands that movers are on, and that of a cell; 0 where closed."""
        grid = self._movers.grid
        cells = _flat_cells(grid, self._movers.columns.position[rows])
        cells = np.append(cells, grid.flat_index(cell))
        roots = np.empty(cells.size, np.int64)
        with islands_of(grid, self._movers.movements[which]).settled() as arrays:
            islands_at_(arrays, cells, roots)
        return roots[:-1], int(roots[-1])

    def _places(self, which: int, party: _Party) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return a place for each mover, beside those of all others, and who has got one."""
        movers = self._movers
        columns = movers.columns
        others = columns.state[: movers.slots] != MoverState.FREE
        others[party.rows] = False
        taken = np.flatnonzero(others)
        stays = np.isin(columns.state[taken], WITHOUT_GOAL)
        points = np.where(stays[:, np.newaxis], columns.position[taken], columns.goal[taken])
        for gap in (self.gap, TIGHT):
            slots, placed = self._slot_planner(which, gap).plan(
                party.goal,
                columns.position[party.rows],
                columns.radius[party.rows],
                taken=points,
                taken_radii=columns.radius[taken],
            )
            if placed.all():
                break
        return slots, placed

    def _slot_planner(self, which: int, gap: float) -> SlotPlanner:
        planner = self._slot_planners.get((which, gap))
        if planner is None:
            movers = self._movers
            planner = SlotPlanner(movers.grid, movers.movements[which], gap=gap)
            self._slot_planners[which, gap] = planner
        return planner

    # The phase

    def is_used(self) -> bool:
        """Return whether there is something to do.

        Returns
        -------
        bool
            True while somebody waits for a way or may not ask yet, and after an edit.
        """
        return (
            self._n_wanting > 0
            or self._cooling > 0.0
            or not self.planner.is_idle
            or not self._closures.is_current
            or self._some_are_lost
        )

    def take_up_the_lost(self) -> None:
        """Let those ask for a way in the next step who were on one and have lost it."""
        self._some_are_lost = True

    def run(self, dt: float) -> int:
        """Look at edits, then plan.

        Parameters
        ----------
        dt : float
            Seconds.

        Returns
        -------
        int
            How many movers have events.
        """
        movers = self._movers
        columns = movers.columns
        if not self._closures.is_current:
            self._take_edits()
        if self._some_are_lost:
            self._let_the_lost_ask()
        waits = columns.replan_wait[: movers.slots]
        np.maximum(waits - np.float32(dt), np.float32(0.0), out=waits)
        self._cooling = max(self._cooling - dt, 0.0)
        if self._n_wanting:
            wanting = columns.wants_way[: movers.slots] != 0
            due = np.flatnonzero(wanting & (waits <= 0.0))
            columns.wants_way[due] = 0
            self._n_wanting = int(np.count_nonzero(wanting)) - due.size
            due = due[columns.state[due] == MoverState.WAITING]
            self.planner.ask(due, columns.anchor[due].astype(np.int64))
        if not self.planner.is_idle:
            # Who was given something else to do waits for no way any more.
            self.planner.withdraw(
                np.flatnonzero(columns.state[: movers.slots] != MoverState.WAITING)
            )
            plans = self.planner.run()
            if plans.found.size:
                self._grow()
                columns.velocity[plans.found] = self._momentum[plans.found]
                columns.replan_wait[plans.found] = self.repath_interval
                self._cooling = self.repath_interval
            self._give_up(plans.lost, StuckReason.UNREACHABLE)
        self._momentum[:] = 0.0
        return movers.take_flagged()

    def _let_the_lost_ask(self) -> None:
        self._some_are_lost = False
        columns = self._movers.columns
        slots = self._movers.slots
        lost = (columns.state[:slots] == MoverState.WAITING) & (columns.group[:slots] >= 0)
        rows = np.flatnonzero(lost & (columns.wants_way[:slots] == 0))
        self._want(rows[~self.planner.are_asking(rows)])

    # Edits

    def _take_edits(self) -> None:
        movers = self._movers
        for which, movement in enumerate(movers.movements):
            closed, cuts = self._closures.find(
                which, movement, movers.columns, movers.slots, movers.routes.pool
            )
            if closed is None or closed.size:
                self._free_the_shut_in(which)
                self._mend(cuts)
                self._replace_closed_goals(which)
        self._closures.mark_current()

    def _free_the_shut_in(self, which: int) -> None:
        """Put movers whose cell has closed into the nearest one that is open."""
        movers = self._movers
        columns = movers.columns
        rows = self._where_closed(which, columns.position)
        if not rows.size:
            return
        sent = ~np.isin(columns.state[rows], WITHOUT_GOAL)
        for row in rows.tolist():
            cell = _cell_of(columns.position[row].tolist())
            found = nearest_walkable(movers.grid, cell, **options_of(movers.movements[which]))
            if found is not None:
                columns.position[row] = found
        # It has no route any more, nor a velocity.
        steered = columns.state[rows] == MoverState.STEERED
        movers.leave_rails(rows[steered])
        movers.halt(rows[~sent & ~steered], MoverState.IDLE)
        movers.halt(rows[sent], MoverState.WAITING)
        movers.flag(rows, EventFlag.PATH_BLOCKED)
        self._send_on(rows[sent | (columns.group[rows] >= 0)])

    def _mend(self, cuts: Cuts) -> None:
        """Let movers whose ways are cut wait for others."""
        movers = self._movers
        columns = movers.columns
        # Those that were shut in have no way any more.
        walking = columns.state[cuts.rows] == MoverState.PATH
        cuts = Cuts(*(column[walking] for column in cuts))
        movers.flag(cuts.rows, EventFlag.PATH_BLOCKED)
        anchors = columns.anchor[cuts.rows]
        _, group_of, sizes = np.unique(anchors, return_inverse=True, return_counts=True)
        alone = (anchors == NO_ANCHOR) | (sizes[group_of] < LEAST_SHARED)
        mendable = alone & (columns.group[cuts.rows] >= 0) & (columns.wants_way[cuts.rows] == 0)
        self.planner.mend(Cuts(*(column[mendable] for column in cuts)))
        movers.halt(cuts.rows, MoverState.WAITING)
        self._send_on(cuts.rows[~mendable])

    def _send_on(self, rows: NDArray[np.int64]) -> None:
        """Let movers that wait ask for a way, if it was an order that sent them."""
        movers = self._movers
        columns = movers.columns
        ordered = columns.group[rows] >= 0
        columns.replan_wait[rows[ordered]] = 0.0
        self._want(rows[ordered])
        movers.flag(rows[~ordered], EventFlag.REPATH_WANTED)

    def _replace_closed_goals(self, which: int) -> None:
        """Give movers other places whose own are closed now."""
        movers = self._movers
        columns = movers.columns
        rows = self._where_closed(which, columns.goal)
        rows = rows[(columns.group[rows] >= 0) & (columns.state[rows] != MoverState.IDLE)]
        anchors = columns.anchor[rows]
        for anchor in np.unique(anchors[anchors != NO_ANCHOR]).tolist():
            y, x = divmod(anchor, movers.grid.width)
            ox, oy = movers.grid.region_position
            self._send(which, rows[anchors == anchor], (float(x + ox), float(y + oy)), True)
        for row in rows[anchors == NO_ANCHOR].tolist():
            x, y = columns.goal[row].tolist()
            self._send(which, np.array([row]), (x, y), True)

    def _where_closed(self, which: int, points: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the movers of a movement for whom the cell of a point is closed."""
        movers = self._movers
        columns = movers.columns
        alive = columns.state[: movers.slots] != MoverState.FREE
        rows = np.flatnonzero(alive & (columns.movement[: movers.slots] == which))
        ground = movers.ground(which)
        cells = _flat_cells(movers.grid, points[rows])
        return rows[ground.open_table[ground.space[cells]] == 0]


def _checked_goals(grid: Grid, goal: ArrayLike, n: int) -> NDArray[np.float32]:
    """Return a point of the map, or one for each of n movers; a copy."""
    array = checked_array("goal", goal)
    if array.shape == (2,):
        point = checked_positions("goal", array[np.newaxis])[0]
        grid.flat_index(_cell_of(point.tolist()), "goal")
        return point.copy()
    if array.shape != (n, 2):
        raise InputError(
            "goal", goal if array.size < 9 else array.shape, "is neither a point nor one a mover",
            f"give x and y, in cells, or the shape ({n}, 2)",
        )  # fmt: skip
    points = checked_positions("goal", array)
    first = np.array(grid.region_position)
    cells = np.floor(points.astype(np.float64) + 0.5).astype(np.int64) - first
    inside = ((cells >= 0) & (cells < (grid.width, grid.height))).all(axis=1)
    if not inside.all():
        i = int(np.argmin(inside))
        grid.flat_index(_cell_of(points[i].tolist()), f"goal[{i}]")
    return points.copy()


def _as_point(point: NDArray[np.float32]) -> tuple[float, float]:
    return float(point[0]), float(point[1])


def _members(group_of: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the indices of each group, ascending; those of -1 are in none."""
    order = np.argsort(group_of, kind="stable")
    order = order[np.searchsorted(group_of[order], 0) :]
    if not order.size:
        return []
    return np.split(order, np.flatnonzero(np.diff(group_of[order])) + 1)


def _cell_of(point: tuple[float, float] | list[float]) -> tuple[int, int]:
    return math.floor(point[0] + 0.5), math.floor(point[1] + 0.5)


def _flat_cells(grid: Grid, points: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the flat cells of points, which lie on the map."""
    ox, oy = grid.region_position
    x, y = np.floor(points.astype(np.float64) + 0.5).astype(np.int64).T
    return (y - oy) * grid.width + (x - ox)


def _warm_up() -> None:
    movers = Movers(Grid.filled(2, 1))
    Orders(movers).order(movers.add([(0, 0)], radius=0.4, max_speed=1.0), [(1.0, 0.0)])


register_warm_up("orders", _warm_up)
