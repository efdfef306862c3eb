"""Behaviours: small classes that decide for all bots of one kind at once.

A behaviour sees arrays with a row a bot and answers with the rows that get a new goal::

    from navserver.sim import Orders

    class Sentries:
        def __init__(self, kind):
            self.kind = kind                      # map, free goal cells, seeded random numbers

        def decide(self, bots):
            idle = numpy.flatnonzero(bots.is_free)
            return Orders(idle, self.kind.draw_goals(idle))
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.search.grid import Grid
from navserver.search.islands import islands_of
from navserver.search.movement import Movement
from navserver.sim.scenarios import Area, BotKind
from navserver.status import InputError, NavserverError

__all__ = [
    "BEHAVIORS",
    "Behavior",
    "BehaviorError",
    "BotState",
    "Chase",
    "Commute",
    "Kind",
    "Observation",
    "Orders",
    "Wander",
    "ask_behavior",
    "load_behavior",
]


class BehaviorError(NavserverError, RuntimeError):
    """A user's behaviour raised, or gave orders that nobody can follow; names file and line."""


class BotState(IntEnum):
    """How a bot fares; the report's words are these in lower case."""

    IDLE = 0
    EN_ROUTE = 1
    ARRIVED = 2
    STUCK = 3
    NO_PATH = 4


class Observation(NamedTuple):
    """What the bots of one kind see when a tick begins; arrays of n rows, read-only."""

    tick: int
    """Ticks done."""
    time: float
    """Seconds of world time."""
    position: NDArray[np.float32]
    """float32 array (n, 2): in cell space, the centre of cell (x, y) is the point (x, y)."""
    velocity: NDArray[np.float32]
    """float32 array (n, 2): cells a second."""
    cell: NDArray[np.int32]
    """int32 array (n, 2): the cell that each bot is in."""
    goal: NDArray[np.int32]
    """int32 array (n, 2): its last goal, its spawn cell before the first."""
    state: NDArray[np.uint8]
    """uint8 array (n,): a `BotState` each."""
    everyone: NDArray[np.float32]
    """float32 array (m, 2): positions of the bots of all kinds."""

    @property
    def is_free(self) -> NDArray[np.bool_]:
        """Which bots do not walk: idle, arrived, stuck or without a path."""
        return self.state != BotState.EN_ROUTE


class Orders(NamedTuple):
    """New goals for some bots of a kind."""

    rows: ArrayLike
    """Rows of the observation, each at most once; int array (k,)."""
    goals: ArrayLike
    """Cells, int array (k, 2)."""


class Behavior(Protocol):
    """What a behaviour's class must offer; it is made as ``CLASS(kind, **options)``."""

    def decide(self, bots: Observation) -> Orders | None:
        """Decide for all bots of the kind, once a tick.

        Parameters
        ----------
        bots : Observation
            What they see.

        Returns
        -------
        Orders or None
            New goals; None leaves everyone as they are.
        """


class Kind:
    """What a behaviour knows of its bots and of the map.

    Parameters
    ----------
    grid : Grid
        The map; it changes as the scenario edits it.
    movement : Movement
        How these bots move.
    kind : BotKind
        As the scenario has it.
    spawns : int32 array (n, 2)
        Where the bots start.
    random : numpy.random.Generator
        Seeded; all that is random must come from it, or runs cannot be repeated.
    """

    def __init__(
        self,
        grid: Grid,
        movement: Movement,
        kind: BotKind,
        spawns: NDArray[np.int32],
        random: np.random.Generator,
    ) -> None:
        self.grid = grid
        self.movement = movement
        self.name = kind.name
        self.spawns = spawns
        self.random = random
        self._areas = kind.goals
        self._islands = _Islands(grid, movement, kind.goals)
        if not len(self.goal_cells):
            raise InputError(
                "goals", list(map(tuple, kind.goals)), "have no free cell", "move the areas"
            )

    @property
    def goal_cells(self) -> NDArray[np.int32]:
        """int32 array (k, 2): the cells of the goal areas that are open now."""
        return self._current_islands().cells

    def _current_islands(self) -> _Islands:
        if self._islands.version != self.grid.version:
            self._islands = _Islands(self.grid, self.movement, self._areas)
        return self._islands

    def draw_goals(self, rows: ArrayLike, cells: ArrayLike | None = None) -> NDArray[np.int32]:
        """Draw a random goal cell for each bot, on its own island where there is one.

        Parameters
        ----------
        rows : array-like of int, shape (k,)
            Which bots.
        cells : array-like of int, shape (k, 2), optional
            Where they are; by default where they started.

        Returns
        -------
        int32 array (k, 2)
            Goals; for bots whose island has no goal cell one that they cannot reach, or where
            all goal cells have been closed the cell they are in.
        """
        here = self.spawns[np.asarray(rows, np.int64)] if cells is None else np.asarray(cells)
        return self._current_islands().draw(here, self.random)


def free_cells(grid: Grid, movement: Movement, areas: tuple[Area, ...]) -> NDArray[np.int32]:
    """Return the open cells of some areas, row by row, each once.

    Parameters
    ----------
    grid : Grid
        The map.
    movement : Movement
        Says which cells are open.
    areas : tuple of Area
        Empty means the whole map.

    Returns
    -------
    int32 array (k, 2)
        Cells.
    """
    space = grid.space(movement)
    is_open = space.open_table[space.cells] != 0
    ox, oy = grid.region_position
    if areas:
        inside = np.zeros_like(is_open)
        for x, y, width, height in areas:
            inside[y - oy : y - oy + height, x - ox : x - ox + width] = True
        is_open &= inside
    rows, columns = np.nonzero(is_open)
    return np.stack([columns + ox, rows + oy], axis=1).astype(np.int32)


class _Islands:
    """The open cells of some areas sorted by island, to draw from each in one go."""

    def __init__(self, grid: Grid, movement: Movement, areas: tuple[Area, ...]) -> None:
        self.version = grid.version
        self._grid = grid
        self._labels = islands_of(grid, movement).labels().reshape(-1)
        cells = free_cells(grid, movement, areas)
        labels = self._labels[grid.flat_indices(cells)]
        order = np.argsort(labels, kind="stable")
        self.cells = cells[order]
        self._names, self._firsts, self._counts = np.unique(
            labels[order], return_index=True, return_counts=True
        )

    def draw(self, here: NDArray[Any], random: np.random.Generator) -> NDArray[np.int32]:
        if not len(self.cells):
            return here.astype(np.int32)
        labels = self._labels[self._grid.flat_indices(here)]
        place = np.minimum(np.searchsorted(self._names, labels), len(self._names) - 1)
        is_there = self._names[place] == labels
        firsts = np.where(is_there, self._firsts[place], 0)
        counts = np.where(is_there, self._counts[place], len(self.cells))
        drawn: NDArray[np.int32] = self.cells[firsts + random.integers(0, counts)]
        return drawn


class Wander:
    """Each bot that does not walk goes to a random cell that it can reach.

    Parameters
    ----------
    kind : Kind
        The bots.
    pause : float
        Seconds that a bot rests after it arrived.
    """

    def __init__(self, kind: Kind, pause: float = 0.0) -> None:
        self._kind = kind
        self._rest = _Rest(len(kind.spawns), pause)

    def decide(self, bots: Observation) -> Orders | None:
        """Send the rested on.

        Parameters
        ----------
        bots : Observation
            What they see.

        Returns
        -------
        Orders or None
            Random goals.
        """
        rows = self._rest.over(bots)
        return Orders(rows, self._kind.draw_goals(rows, bots.cell[rows])) if rows.size else None


class Commute:
    """Each bot goes between where it started and one goal cell, for ever.

    Parameters
    ----------
    kind : Kind
        The bots.
    pause : float
        Seconds that a bot rests at either end.
    """

    def __init__(self, kind: Kind, pause: float = 0.0) -> None:
        self._homes = kind.spawns
        self._works = kind.draw_goals(np.arange(len(kind.spawns)))
        self._goes_home = np.ones(len(kind.spawns), np.bool_)
        self._rest = _Rest(len(kind.spawns), pause)

    def decide(self, bots: Observation) -> Orders | None:
        """Turn those round that have rested.

        Parameters
        ----------
        bots : Observation
            What they see.

        Returns
        -------
        Orders or None
            The other end.
        """
        rows = self._rest.over(bots)
        if not rows.size:
            return None
        self._goes_home[rows] ^= True
        goes_home = self._goes_home[rows, None]
        return Orders(rows, np.where(goes_home, self._homes[rows], self._works[rows]))


class Chase:
    """Some bots wander, the others run after the nearest of them.

    Parameters
    ----------
    kind : Kind
        The bots.
    prey : float
        The share of those that wander, above 0 and below 1.
    interval : float
        Seconds until a chaser looks again.
    """

    def __init__(self, kind: Kind, prey: float = 0.1, interval: float = 1.0) -> None:
        if not 0 < prey < 1:
            raise InputError("prey", prey, "is not a share", "give a number between 0 and 1")
        if not interval > 0:
            raise InputError("interval", interval, "is not above 0", "give seconds")
        self._kind = kind
        self._prey = max(int(len(kind.spawns) * prey), 1)
        self._interval = interval
        self._next_look = 0.0

    def decide(self, bots: Observation) -> Orders | None:
        """Send the prey on, and now and then the chasers after it.

        Parameters
        ----------
        bots : Observation
            What they see.

        Returns
        -------
        Orders or None
            Goals.
        """
        rows = np.flatnonzero(bots.is_free[: self._prey])
        goals = self._kind.draw_goals(rows, bots.cell[rows])
        if bots.time >= self._next_look and self._prey < len(bots.cell):
            self._next_look = bots.time + self._interval
            chasers = np.arange(self._prey, len(bots.cell))
            prey = bots.cell[: self._prey]
            nearest = _nearest(bots.cell[chasers], prey)
            rows = np.concatenate([rows, chasers])
            goals = np.concatenate([goals, prey[nearest]])
        return Orders(rows, goals) if rows.size else None


def _nearest(cells: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the row of the nearest other, block by block so that memory stays bounded."""
    nearest = np.empty(len(cells), np.int64)
    block = max((1 << 22) // len(others), 1)
    for first in range(0, len(cells), block):
        apart = cells[first : first + block, None].astype(np.int64) - others[None]
        nearest[first : first + block] = (apart**2).sum(axis=2).argmin(axis=1)
    return nearest


class _Rest:
    """Who has not walked for a while."""

    def __init__(self, count: int, pause: float) -> None:
        if not pause >= 0:
            raise InputError("pause", pause, "is not 0 or more", "give seconds")
        self._pause = pause
        self._since = np.full(count, -np.inf)
        self._walked = np.zeros(count, np.bool_)

    def over(self, bots: Observation) -> NDArray[np.int64]:
        stopped = bots.is_free & self._walked
        self._since[stopped] = bots.time
        self._walked = ~bots.is_free
        return np.flatnonzero(bots.is_free & (bots.time >= self._since + self._pause))


BEHAVIORS: Mapping[str, Callable[..., Behavior]] = {
    "wander": Wander,
    "commute": Commute,
    "chase": Chase,
}
"""The built-in behaviours by name."""


def load_behavior(name: str) -> Callable[..., Behavior]:
    """Return a behaviour's class.

    Parameters
    ----------
    name : str
        A built-in one, or ``FILE.py``, or ``FILE.py:CLASS``. A file is run; one that holds a
        single class with a method ``decide`` needs no class named.

    Returns
    -------
    callable
        The class.

    Raises
    ------
    InputError
        If there is none.
    BehaviorError
        If the file raises.
    """
    if name in BEHAVIORS:
        return BEHAVIORS[name]
    file, _, chosen = name.rpartition(":") if not name.endswith(".py") else (name, "", "")
    if not file.endswith(".py"):
        raise InputError(
            "behavior", name, "is unknown", f"use {', '.join(BEHAVIORS)}, FILE.py or FILE.py:CLASS"
        )
    module = _run_file(Path(file))
    own = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and callable(getattr(value, "decide", None))
    }
    if not chosen and len(own) == 1:
        (chosen,) = own
    if chosen not in own:
        found = ", ".join(own) or "no class that has a method decide"
        raise InputError("behavior", name, "names no behaviour", f"the file has {found}")
    return own[chosen]


def _run_file(file: Path) -> Any:
    if not file.is_file():
        raise InputError("behavior", str(file), "is not a file", "name one that exists")
    spec = importlib.util.spec_from_file_location(f"navserver_behavior_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # dataclasses look their module up by name
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise BehaviorError(_told(error, f"{file} cannot be run")) from error
    return module


def _told(error: BaseException, what: str) -> str:
    """Return the error in one line, with the place in the user's file."""
    if isinstance(error, SyntaxError):
        return f"{what}: {error.filename}:{error.lineno}: {error.msg}; correct it there"
    frames = traceback.extract_tb(error.__traceback__)
    ours = str(Path(__file__).parent)
    theirs = [f for f in frames if not f.filename.startswith((ours, "<frozen"))]
    place = f"{theirs[0].filename}:{theirs[0].lineno}: " if theirs else ""
    text = " ".join(str(error).split())
    return f"{what}: {place}{type(error).__name__}: {text}; correct it there"


def make_behavior(name: str, kind: Kind, options: Mapping[str, Any]) -> Behavior:
    """Make a behaviour for the bots of a kind.

    Parameters
    ----------
    name : str
        See `load_behavior`.
    kind : Kind
        The bots.
    options : mapping of str to object
        Keywords of its class.

    Returns
    -------
    Behavior
        Ready to decide.

    Raises
    ------
    InputError
        If there is no such behaviour, or an option is refused.
    BehaviorError
        If its class raises.
    """
    made = load_behavior(name)
    try:
        return made(kind, **options)
    except InputError as error:
        raise InputError(
            f"options.{error.field}", error.value, error.problem, error.remedy
        ) from None
    except (Exception, SystemExit) as error:
        raise BehaviorError(_told(error, f"behavior {name} of {kind.name}")) from error


def ask_behavior(
    behavior: Behavior, name: str, bots: Observation, grid: Grid
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Let a behaviour decide, and check what it says.

    Parameters
    ----------
    behavior : Behavior
        Whom to ask.
    name : str
        Of the kind, for errors.
    bots : Observation
        What its bots see.
    grid : Grid
        The map.

    Returns
    -------
    rows : int64 array (k,)
        Bots with a new goal.
    goals : int32 array (k, 2)
        Cells on the map.

    Raises
    ------
    BehaviorError
        If it raises, or its orders cannot be followed.
    """
    where = f"behavior of {name} at tick {bots.tick}"
    try:
        orders = behavior.decide(bots)
    except (Exception, SystemExit) as error:
        raise BehaviorError(_told(error, where)) from error
    if orders is None:
        return np.zeros(0, np.int64), np.zeros((0, 2), np.int32)
    where += _place_of(behavior)
    try:
        rows, goals = np.asarray(orders[0]), np.asarray(orders[1])
    except Exception as error:
        raise BehaviorError(
            f"{where}: it returned {orders!r:.100}; give rows and goals, or None"
        ) from error
    if rows.ndim != 1 or goals.shape != (rows.size, 2):
        raise BehaviorError(
            f"{where}: its orders have shapes {rows.shape} and {goals.shape}; "
            "give rows of shape (k,) and goals of shape (k, 2)"
        )
    if rows.size == 0:
        return np.zeros(0, np.int64), np.zeros((0, 2), np.int32)
    count = len(bots.state)
    if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= count:
        raise BehaviorError(f"{where}: its rows {rows[:8]} are not whole numbers below {count}")
    if np.unique(rows).size != rows.size:
        raise BehaviorError(f"{where}: its rows name a bot twice; give each at most one goal")
    whole = goals.dtype.kind in "iu" or (goals.dtype.kind == "f" and _all_whole(goals))
    if not whole:
        raise BehaviorError(
            f"{where}: its goals are not cells, as {goals[_first_bad(goals)]} of row "
            f"{rows[_first_bad(goals)]}; give whole numbers"
        )
    try:
        grid.flat_indices(goals.astype(np.int64), "goals")
    except InputError as error:
        raise BehaviorError(f"{where}: {error}") from None
    return rows.astype(np.int64), goals.astype(np.int32)


def _place_of(behavior: Behavior) -> str:
    """Return file and line of what decides, where it was written in Python."""
    code = getattr(getattr(behavior.decide, "__func__", behavior.decide), "__code__", None)
    return f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""


def _all_whole(goals: NDArray[Any]) -> bool:
    return bool(np.isfinite(goals).all() and (goals == np.floor(goals)).all())


def _first_bad(goals: NDArray[Any]) -> int:
    if goals.dtype.kind != "f":
        return 0
    with np.errstate(invalid="ignore"):
        return int((~(np.isfinite(goals) & (goals == np.floor(goals)))).any(axis=1).argmax())
