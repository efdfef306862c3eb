"""Runs: behaviours decide, the world steps, and what happens is added up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from navserver.movers.columns import StuckReason
from navserver.search.clearance import distance_to_wall
from navserver.search.grid import Grid, read_only
from navserver.sim.bots import Behavior, BotState, Kind, Observation
from navserver.sim.decisions import ask_behavior, make_behavior
from navserver.sim.recording import Recorder, Recording
from navserver.sim.scenarios import Scenario
from navserver.sim.setup import Setup, place_bots
from navserver.sim.statistics import Tally, cells_of, state_counts
from navserver.sim.worlds import NO_REASON, BotWorld, Tick, Traffic
from navserver.status import InputError, NavserverError

__all__ = ["Run", "RunResult", "replay", "run_scenario"]

_PROGRESS_SECONDS = 0.1
# A wall farther than that from a body, in cells, holds it no more.
_WALL_REACH = 1.0
_STOPPED = "stopped by the user"


@dataclass
class RunResult:  # numpydoc ignore=PR02
    """What a run has come to.

    Parameters
    ----------
    scenario : Scenario
        What was run.
    setup : Setup
        Map and bots as they were at first.
    grid : Grid
        The map as it is now.
    tally : Tally
        The sums.
    tick : Tick
        The bots at the end.
    ticks : int
        Ticks done.
    in_wall : int
        How often a bot was seen in a cell closed to it, over all ticks.
    repaths : int
        How often a bot asked for another way.
    tick_seconds : float64 array (ticks,)
        What each step took.
    decide_seconds : float
        What the behaviours took in all.
    traffic : Traffic or None
        What went over the wire; None in process.
    state_hash : str
        Of the end.
    error : str or None
        Why it ended before its time.
    """

    scenario: Scenario
    setup: Setup
    grid: Grid
    tally: Tally
    tick: Tick
    ticks: int
    in_wall: int
    repaths: int
    tick_seconds: NDArray[np.float64]
    decide_seconds: float
    traffic: Traffic | None
    state_hash: str
    error: str | None = None

    @property
    def counts(self) -> dict[str, int]:
        """How many bots have arrived, are en route, stuck, or without a path: all of them."""
        time_now = self.ticks * self.setup.dt
        return state_counts(self.tick.state, self.tally.has_progressed(time_now))

    @property
    def bot_ticks_per_s(self) -> float:
        """Bots times ticks a second of stepping; 0 without a tick."""
        seconds = float(self.tick_seconds.sum())
        return len(self.tick.state) * self.ticks / seconds if seconds else 0.0


@dataclass
class Run:  # numpydoc ignore=PR02
    """A run in progress.

    Parameters
    ----------
    scenario : Scenario
        What is run.
    setup : Setup
        Map and bots.
    world : BotWorld
        Where they live.
    recorder : Recorder, optional
        Keeps orders and hashes.
    """

    scenario: Scenario
    setup: Setup
    world: BotWorld
    recorder: Recorder | None = None
    grid: Grid = field(init=False)
    """The map as behaviours see it; `world` has one of its own."""
    ticks: int = field(init=False, default=0)
    """Ticks done."""
    waiting: int = field(init=False, default=0)
    """How many bots wait for a way, as far as the step at work has told."""
    is_stopped: bool = field(init=False, default=False)
    """Whether the user has ended it, maybe within a step."""

    def __post_init__(self) -> None:
        """Make the behaviours, and look at the bots once."""
        self.grid = self.setup.grid.copy()
        self._behaviors = [self._behavior_of(number) for number in range(len(self.setup.kinds))]
        self._edits = list(self.scenario.edits)
        self._open = _OpenCells(self.grid, self.setup)
        self._walls = _Walls(self.grid, self.setup)
        count = len(self.setup.spawns)
        position = self.setup.spawns.astype(np.float32)
        self.tally = Tally(self.grid, count)
        self.tally.begin(position)
        self._goals = self.setup.spawns.copy()
        still = np.zeros_like(position)
        nobody = np.zeros(0, np.int64)
        states = np.full(count, BotState.IDLE, np.uint8)
        reasons = np.full(count, NO_REASON, np.uint8)
        self._tick = Tick(position, still, states, reasons, nobody, nobody, 0)
        self._in_wall = self._repaths = 0
        self._tick_seconds: list[float] = []
        self._decide_seconds = 0.0

    def _behavior_of(self, number: int) -> Behavior:
        bots = self.setup.kinds[number]
        random = np.random.default_rng([self.scenario.seed, 1 + number])
        spawns = self.setup.spawns[self.setup.rows_of(number)]
        try:
            kind = Kind(self.grid, self.setup.movements[number], bots, spawns, random)
            return make_behavior(bots.behavior, kind, bots.options)
        except InputError as error:
            raise InputError(
                f"bots[{number}].{error.field}", error.value, error.problem, error.remedy
            ) from None

    @property
    def time(self) -> float:
        """Seconds of world time."""
        return self.ticks * self.setup.dt

    def advance(self) -> None:
        """Do one tick: edits, orders, step.

        A step that was cut short is counted, but not recorded: it could not be repeated.

        Raises
        ------
        BehaviorError
            If a behaviour fails; the tick has not begun then.
        """
        began = time.perf_counter()
        self._apply_edits()
        rows, goals = self._decide()
        self._decide_seconds += time.perf_counter() - began
        if rows.size:
            self._goals[rows] = goals
            self.tally.note_orders(rows, self.time)
            if self.recorder is not None:
                self.recorder.note_orders(self.ticks, rows, goals)
        began = time.perf_counter()
        if rows.size:
            self.world.order(rows, goals)
        self._tick = self._walls.judge(self.world.step())
        self._tick_seconds.append(time.perf_counter() - began)
        self.ticks += 1
        self._look()

    def _apply_edits(self) -> None:
        while self._edits and self._edits[0].tick <= self.ticks:
            edit = self._edits.pop(0)
            edit.apply_to(self.grid)
            self.world.edit(edit)

    def _decide(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        rows, goals = [], []
        cells = cells_of(self._tick.position).astype(np.int32)
        for number, behavior in enumerate(self._behaviors):
            own = self.setup.rows_of(number)
            seen = Observation(
                self.ticks,
                self.time,
                read_only(self._tick.position[own]),
                read_only(self._tick.velocity[own]),
                read_only(cells[own]),
                read_only(self._goals[own]),
                read_only(self._tick.state[own]),
                read_only(self._tick.position),
            )
            chosen, to = ask_behavior(behavior, self.setup.kinds[number].name, seen, self.grid)
            rows.append(chosen + own.start)
            goals.append(to)
        return np.concatenate(rows), np.concatenate(goals)

    def _look(self) -> None:
        tick = self._tick
        reasons = tick.reason[tick.stuck]
        self.tally.note_tick(tick.position, tick.arrived, tick.stuck, reasons, self.time)
        self._in_wall += self._open.count_in_walls(tick.position)
        self._repaths += tick.repaths
        if self.recorder is not None and not self.is_stopped:
            self.recorder.note_hash(self.world.state_hash())

    def result(self, error: str | None = None) -> RunResult:
        """Return what the run has come to so far.

        Parameters
        ----------
        error : str, optional
            Why it goes no further.

        Returns
        -------
        RunResult
            Of the present.
        """
        return RunResult(
            self.scenario,
            self.setup,
            self.grid,
            self.tally,
            self._tick,
            self.ticks,
            self._in_wall,
            self._repaths,
            np.array(self._tick_seconds),
            self._decide_seconds,
            self.world.traffic(),
            self.world.state_hash(),
            error,
        )


class _OpenCells:
    """Tells which bots are in cells closed to their kind."""

    def __init__(self, grid: Grid, setup: Setup) -> None:
        self._grid = grid
        self._setup = setup

    def count_in_walls(self, position: NDArray[np.float32]) -> int:
        flat = self._grid.flat_indices(cells_of(position))
        closed = 0
        for number, movement in enumerate(self._setup.movements):
            space = self._grid.space(movement)
            own = flat[self._setup.rows_of(number)]
            closed += int((space.open_table[space.cells.reshape(-1)[own]] == 0).sum())
        return closed


class _Walls:
    """Tells whom a wall holds from whom only others can.

    A mover that makes no headway and touches nobody is said to be held by a wall; but in a stream
    of others it gives way to those whom it does not touch yet.
    """

    def __init__(self, grid: Grid, setup: Setup) -> None:
        self._grid = grid
        self._setup = setup

    def judge(self, tick: Tick) -> Tick:
        held = np.flatnonzero(tick.reason == StuckReason.WALL)
        if not held.size:
            return tick
        reason = tick.reason.copy()
        cells = cells_of(tick.position[held])
        for number in np.unique(self._setup.kind_of[held]).tolist():
            own = self._setup.kind_of[held] == number
            kind = self._setup.kinds[number]
            away = distance_to_wall(self._grid, cells[own], profile=kind.profile)
            # A body is up to half a cell from the centre of its cell.
            far = np.asarray(away) > kind.radius + _WALL_REACH
            reason[held[own][far]] = StuckReason.CROWD
        return tick._replace(reason=read_only(reason))


def run_scenario(
    scenario: Scenario,
    grid: Grid,
    make_world: Callable[[Setup], BotWorld],
    *,
    record: bool = False,
    progress: Callable[[int, int, Run], bool] | None = None,
) -> tuple[RunResult, Recorder | None]:
    """Run a scenario to its end, or as far as its behaviours allow.

    Parameters
    ----------
    scenario : Scenario
        Bots, edits, ticks.
    grid : Grid
        The map; it is copied.
    make_world : callable
        Called with the `Setup`; the world is closed at the end.
    record : bool
        Whether to keep orders and hashes.
    progress : callable, optional
        Called as ``progress(done, ticks, run)`` about ten times a second, within steps that take
        long as well; the run ends when it returns False.

    Returns
    -------
    RunResult
        With an `error` if the run ended early.
    Recorder or None
        With `record`.

    Raises
    ------
    InputError
        If the scenario does not go with the map, or names no behaviour.
    BehaviorError
        If a behaviour cannot be made.
    """
    setup = place_bots(scenario, grid)
    recorder = Recorder(setup, scenario.edits) if record else None
    world = make_world(setup)
    try:
        run = Run(scenario, setup, world, recorder)
        error = _run_to_end(run, progress)
        return run.result(error), recorder
    finally:
        world.close()


def _run_to_end(run: Run, progress: Callable[[int, int, Run], bool] | None) -> str | None:
    shown = 0.0
    ticks = run.scenario.ticks

    def may_go_on(waiting: int) -> bool:
        nonlocal shown
        if progress is None or run.is_stopped or time.monotonic() - shown <= _PROGRESS_SECONDS:
            return not run.is_stopped
        shown = time.monotonic()
        run.waiting = waiting
        run.is_stopped = not progress(run.ticks, ticks, run)
        return not run.is_stopped

    run.world.watch(may_go_on)
    try:
        while run.ticks < ticks and may_go_on(0):
            run.advance()
    except NavserverError as error:
        return str(error)
    except KeyboardInterrupt:
        return _STOPPED
    if progress is not None:
        progress(run.ticks, ticks, run)
    return _STOPPED if run.is_stopped else None


def replay(
    recording: Recording,
    make_world: Callable[[Setup], BotWorld],
    look: Callable[[int, Tick, Grid], None] | None = None,
) -> int | None:
    """Step a recorded run again.

    Parameters
    ----------
    recording : Recording
        The run.
    make_world : callable
        Called with the `Setup`.
    look : callable, optional
        Called as ``look(tick, bots, map)`` after every tick.

    Returns
    -------
    int or None
        The first tick whose state hash differs; None if none does.
    """
    world = make_world(recording.setup)
    grid = recording.setup.grid.copy()
    edits = list(recording.edits)
    try:
        for tick in range(recording.ticks):
            while edits and edits[0].tick <= tick:
                edit = edits.pop(0)
                world.edit(edit)
                edit.apply_to(grid)
            orders = recording.orders_at(tick)
            if orders.rows.size:
                world.order(orders.rows, orders.goals)
            after = world.step()
            if look is not None:
                look(tick, after, grid)
            kept = recording.hashes[tick].tobytes().hex()
            if not world.state_hash().startswith(kept):
                return tick
        return None
    finally:
        world.close()
