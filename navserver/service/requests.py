"""What may be asked of a world, and what is answered."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.search.heuristics import Heuristic, check_heuristic
from navserver.search.movement import Movement
from navserver.search.nodes import SearchTrace
from navserver.search.results import PathResult
from navserver.search.validation import checked_count, checked_enum, checked_number
from navserver.status import Detail, InputError

__all__ = [
    "BatchReply",
    "BatchRequest",
    "Outcome",
    "PathReply",
    "PathRequest",
    "QueryReply",
    "QueryRequest",
    "Reply",
    "Request",
    "RowPaths",
    "SearchOptions",
    "Timing",
    "Used",
    "detail_words",
    "movement_keywords",
]

MAX_PRIORITY = 100
MAX_DEADLINE_MS = 3_600_000.0
MAX_TRACE = 1 << 20


class Outcome(IntEnum):
    """How a request ended: the statuses of a search under their own numbers, then those here."""

    FOUND = 0
    PARTIAL = 1
    UNREACHABLE = 2
    START_BLOCKED = 3
    GOAL_BLOCKED = 4
    LIMIT = 5
    CANCELLED = 6
    DEADLINE = 7
    """Time ran out before there was anything to tell."""
    SUPERSEDED = 8
    """The same client asked anew for the same agent."""
    OVERLOADED = 9
    """The queue was full; ask again later, or less often."""
    WORLD_REMOVED = 10
    """The world went away while the request waited."""
    FAILED = 11
    """The request cannot be done; the reply's error says why."""
    DONE = 12
    """A query has its result."""

    @property
    def word(self) -> str:
        """The name in lower case, as replies and logs show it."""
        return _WORDS[self]


_WORDS = {outcome: outcome.name.lower() for outcome in Outcome}


class Used(IntEnum):
    """Where an answer came from."""

    NOTHING = 0
    """No answer was made."""
    SEARCH = 1
    FIELD = 2
    """One search from a goal that requests of a batch shared."""
    CACHE = 3
    COALESCED = 4
    """The search of an equal request that was already waiting or running."""
    ISLANDS = 5
    """The islands told that no way leads there."""

    @property
    def word(self) -> str:
        """The name in lower case."""
        return _USED_WORDS[self]


_USED_WORDS = {used: used.name.lower() for used in Used}


def detail_words(detail: int) -> tuple[str, ...]:
    """Return the details of a search in words.

    Parameters
    ----------
    detail : int
        Bits of `Detail`.

    Returns
    -------
    tuple of str
        Names in lower case; empty where the status alone tells.
    """
    return tuple(str(bit.name).lower() for bit in Detail if bit & detail)


def movement_keywords(movement: Movement) -> dict[str, Any]:
    """Return a movement as the keywords that queries take.

    Parameters
    ----------
    movement : Movement
        The body.

    Returns
    -------
    dict of str to object
        Keywords of `Movement`.
    """
    return {
        "profile": movement.profile,
        "diagonal_mode": movement.diagonal_mode,
        "cost_model": movement.cost_model,
        "overlays": dict(movement.overlays),
        "size": movement.size,
        "radius": movement.radius,
    }


@dataclass(frozen=True, slots=True, eq=False)
class SearchOptions:  # numpydoc ignore=PR02
    """How to search: equal options share searches, scratch and cached paths.

    Parameters
    ----------
    movement : Movement
        What the body is and pays.
    heuristic, weight, inexact, max_expansions, max_cost, allow_partial
        As for `AStar`.
    islands : bool
        Whether a search that is not short asks the islands before it begins.

    Raises
    ------
    InputError
        If an option is out of its bounds.
    """

    movement: Movement = field(default_factory=Movement)
    heuristic: Heuristic | None = None
    weight: float = 1.0
    inexact: bool = False
    max_expansions: int | None = None
    max_cost: float | None = None
    allow_partial: bool = False
    islands: bool = True
    _key: tuple[Any, ...] = field(init=False, repr=False)
    _hash: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the options and hash them once: each request looks them up several times."""
        if not isinstance(self.movement, Movement):
            raise InputError("movement", self.movement, "is not a Movement", "make one")
        weight = checked_number("weight", self.weight, 1.0, "give a finite number >= 1")
        object.__setattr__(self, "weight", weight)
        if self.heuristic is not None:
            heuristic = checked_enum("heuristic", self.heuristic, Heuristic)
            object.__setattr__(self, "heuristic", heuristic)
            if not self.inexact:
                check_heuristic(heuristic, self.movement.diagonal_mode)
        if self.max_expansions is not None:
            expansions = checked_count("max_expansions", self.max_expansions)
            object.__setattr__(self, "max_expansions", expansions)
        if self.max_cost is not None:
            cost = checked_number("max_cost", self.max_cost, 0.0, "give a number >= 0")
            object.__setattr__(self, "max_cost", cost)
        for name in ("inexact", "allow_partial", "islands"):
            object.__setattr__(self, name, bool(getattr(self, name)))
        key = (
            self.movement, self.heuristic, self.weight, self.inexact, self.max_expansions,
            self.max_cost, self.allow_partial, self.islands,
        )  # fmt: skip
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "_hash", hash(key))

    def __eq__(self, other: object) -> bool:
        """Return whether every option is equal."""
        return self is other or (
            isinstance(other, SearchOptions)
            and self._hash == other._hash
            and self._key == other._key
        )

    def __hash__(self) -> int:
        """Return the hash that equal options share."""
        return self._hash

    def keywords(self) -> dict[str, Any]:
        """Return the options as keywords of `AStar`, without `islands` and `max_expansions`."""
        return {
            "heuristic": self.heuristic,
            "weight": self.weight,
            "inexact": self.inexact,
            "max_cost": self.max_cost,
            "allow_partial": self.allow_partial,
            **movement_keywords(self.movement),
        }

    @property
    def suboptimality(self) -> float:
        """What every FOUND promises, see `PathResult.suboptimality`."""
        if self.inexact:
            return math.inf
        return 1.0 if self.heuristic == Heuristic.ZERO else self.weight


DEFAULT_OPTIONS = SearchOptions()


@dataclass(frozen=True, slots=True)
class _Header:
    """What all requests have in common.

    `client` names who asks, `request_id` is unique among the client's pending requests.
    `priority` orders the requests of one client, greater first; between clients time is shared
    alike. `deadline_ms` counts from the submission.
    """

    client: Hashable
    request_id: int
    world: str
    priority: int = 0
    deadline_ms: float | None = None

    def __post_init__(self) -> None:
        if (
            not isinstance(self.priority, (int, np.integer))
            or not -MAX_PRIORITY <= self.priority <= MAX_PRIORITY
        ):
            raise InputError(
                "priority", self.priority, "is out of bounds",
                f"give an integer from -{MAX_PRIORITY} to {MAX_PRIORITY}",
            )  # fmt: skip
        if self.deadline_ms is not None:
            remedy = f"give milliseconds from 0 to {MAX_DEADLINE_MS:.0f}, or None"
            limit = checked_number("deadline_ms", self.deadline_ms, 0.0, remedy)
            if limit > MAX_DEADLINE_MS:
                raise InputError("deadline_ms", self.deadline_ms, "is out of bounds", remedy)


@dataclass(frozen=True, slots=True, eq=False)
class PathRequest(_Header):  # numpydoc ignore=PR02
    """One path.

    Parameters
    ----------
    client, request_id, world, priority, deadline_ms
        Who asks for what, how urgently; `request_id` is unique among the client's pending ones.
    start, goal : (int, int)
        Cells x and y.
    options : SearchOptions
        How to search.
    agent : hashable, optional
        Whose path it is: a newer request of the same client for the same agent supersedes this.
    trace_capacity : int, optional
        Most expansions to record, 1 to 2**20.
    blocked_cells, ignored_cells : array-like of int, shape (n, 2), optional
        Up to 4,096 cells each that count as walls, or as walkable, for this path only.

    Notes
    -----
    With a trace, or with cells of its own, a search neither takes nor gives cached paths.
    """

    start: tuple[int, int] = (0, 0)
    goal: tuple[int, int] = (0, 0)
    options: SearchOptions = DEFAULT_OPTIONS
    agent: Hashable = None
    trace_capacity: int | None = None
    blocked_cells: ArrayLike | None = None
    ignored_cells: ArrayLike | None = None

    @property
    def is_alone(self) -> bool:
        """Whether no other request can have the same answer."""
        return not (
            self.trace_capacity is None
            and self.blocked_cells is None
            and self.ignored_cells is None
        )

    def __post_init__(self) -> None:
        """Check what can be checked without the world."""
        _Header.__post_init__(self)
        capacity = self.trace_capacity
        if capacity is not None and checked_count("trace_capacity", capacity) > MAX_TRACE:
            raise InputError(
                "trace_capacity", capacity, "is too many expansions", f"give at most {MAX_TRACE}"
            )


@dataclass(frozen=True, slots=True, eq=False)
class BatchRequest(_Header):  # numpydoc ignore=PR02
    """Many paths that see one version of the map and are answered together.

    Parameters
    ----------
    client, request_id, world, priority, deadline_ms
        As for `PathRequest`; at the deadline what is not done says DEADLINE.
    starts, goals : array-like of int, shape (n, 2)
        Cells, columns x and y; a single cell goes with all rows of the other.
    options : SearchOptions
        How to search.
    share_fields : bool
        Whether rows with the same goal may share one search from it where that is cheaper.
    """

    starts: ArrayLike = ()
    goals: ArrayLike = ()
    options: SearchOptions = DEFAULT_OPTIONS
    share_fields: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class QueryRequest(_Header):  # numpydoc ignore=PR02
    """A question about a map other than for a path.

    Parameters
    ----------
    client, request_id, world, priority, deadline_ms
        As for `PathRequest`.
    question : str
        A key of `navserver.service.queries.QUERIES`.
    arguments : mapping of str to object
        Keywords of the question.
    movement : Movement
        The body.
    """

    question: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    movement: Movement = field(default_factory=Movement)


Request = PathRequest | BatchRequest | QueryRequest


class Timing(NamedTuple):
    """Where the time went, in seconds."""

    waiting: float
    searching: float


@dataclass(slots=True)
class _ReplyHeader:
    client: Hashable
    request_id: int
    world: str
    outcome: Outcome
    map_version: int
    """Version of the map that the answer is true of; 0 where none was looked at."""
    timing: Timing
    error: Exception | None


@dataclass(slots=True)
class PathReply(_ReplyHeader):
    """Answer to a `PathRequest`."""

    used: Used
    result: PathResult | None
    """Cells, cost and metrics; None where no search was asked."""
    trace: SearchTrace | None = None


class RowPaths:
    """The paths of a batch's rows, as parts that came from different searches.

    They are put in the order of the rows when asked for, by whoever asks: in a large batch that
    takes longer than anything else that is done under the scheduler's lock.

    Parameters
    ----------
    counts : int64 array (n,)
        Cells of each row's path.
    parts : list of (int64 array (m,), int32 array (k, 2))
        Rows, and their paths one after the other; rows without a path may be missing.
    """

    def __init__(
        self, counts: NDArray[np.int64], parts: list[tuple[NDArray[np.int64], NDArray[np.int32]]]
    ) -> None:
        self.offsets = np.zeros(counts.size + 1, np.int64)
        np.cumsum(counts, out=self.offsets[1:])
        self._counts = counts
        self._parts = parts
        self._cells: NDArray[np.int32] | None = None

    @property
    def cells(self) -> NDArray[np.int32]:
        """int32 array (total, 2)."""
        if self._cells is None:
            self._cells = self._in_order()
            self._parts = []
        return self._cells

    def _in_order(self) -> NDArray[np.int32]:
        # Most parts are ranges of rows, from threads that were done out of turn.
        parts = [part for part in self._parts if part[0].size]
        parts.sort(key=lambda part: int(part[0][0]))
        rows = np.concatenate([rows for rows, _ in parts] or [np.empty(0, np.int64)])
        cells = np.concatenate([c for _, c in parts] or [np.empty((0, 2), np.int32)])
        counts = self._counts[rows]
        if (np.diff(rows) > 0).all():
            return cells
        # Where each part's cells begin in the whole, minus where they stand now.
        shifts = self.offsets[rows] - (np.cumsum(counts) - counts)
        ordered = np.empty_like(cells)
        ordered[np.arange(len(cells)) + np.repeat(shifts, counts)] = cells
        return ordered


@dataclass(slots=True)
class BatchReply(_ReplyHeader):
    """Answer to a `BatchRequest`: rows in the order asked.

    Its outcome is DONE, or why it ended before all rows were done.
    """

    status: NDArray[np.uint8]
    """uint8 array (n,): an `Outcome` a row."""
    detail: NDArray[np.uint8]
    """uint8 array (n,): a `Detail` a row."""
    used: NDArray[np.uint8]
    """uint8 array (n,): a `Used` a row."""
    cost: NDArray[np.float64]
    """float64 array (n,): ``inf`` without a path."""
    length: NDArray[np.float64]
    """float64 array (n,): in cells; ``inf`` without a path."""
    expanded: NDArray[np.int64]
    """int64 array (n,): expansions of the row's own search."""
    paths: RowPaths

    @property
    def offsets(self) -> NDArray[np.int64]:
        """int64 array (n + 1,): row i's path is ``cells[offsets[i]:offsets[i + 1]]``."""
        return self.paths.offsets

    @property
    def cells(self) -> NDArray[np.int32]:
        """int32 array (total, 2): the cells of all paths, one path after the other."""
        return self.paths.cells

    def path(self, i: int) -> NDArray[np.int32]:
        """Return the path of one row.

        Parameters
        ----------
        i : int
            The row, 0 to n - 1.

        Returns
        -------
        int32 array (m, 2)
            A view into `cells`; empty without a path.
        """
        return self.cells[self.offsets[i] : self.offsets[i + 1]]


@dataclass(slots=True)
class QueryReply(_ReplyHeader):
    """Answer to a `QueryRequest`."""

    result: Any


Reply = PathReply | BatchReply | QueryReply
