"""How tests choose the engine of A*, and the maps on which they compare engines."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from navserver.search import astar
from navserver.search.astar import AStar
from navserver.search.bucket_engine import N_BUCKETS
from navserver.search.costs import SQRT2
from navserver.search.engine import BUCKETS, CANONICAL, HEAP, MULTIPLES, Request, Scratch
from navserver.search.grid import Grid
from navserver.search.heuristics import least_unit_cost
from navserver.search.moves import DiagonalMode
from navserver.search.nodes import CancelFlag, OpenList, SearchTrace
from navserver.search.packed_nodes import N_STACKS
from navserver.search.path_kernels import Outputs
from navserver.search.results import PathResult
from navserver.status import Detail, Status
from tests import reference as ref
from tests import strategies as sts

ENGINE_NAMES = {
    HEAP: "heap",
    BUCKETS: "buckets",
    CANONICAL: "canonical",
    MULTIPLES: "multiples",
}
ENGINES = tuple(ENGINE_NAMES)
# Those that serve even cost.
EVEN_ENGINES = (HEAP, BUCKETS, CANONICAL)
# An expansion may add eight entries; stacks tell that they are full ten before they are.
LEAST_CAPACITY = 16


@contextmanager
def forced(engine: int, **changes: Any) -> Iterator[None]:
    """Searches made inside use an engine, and may have other fields of the request changed.

    CANONICAL is never forced: the caller's map must be one that it serves, and stays with it
    until a path is too long. Nor is MULTIPLES: other maps get what serves them. BUCKETS get the
    finest rate that keeps the open list in one turn; costs too far apart for that stay with the
    heap, since wide buckets would reopen without end.
    """
    made = AStar._make_request

    def make(self: AStar, **keywords: bool) -> Request:
        request = made(self, **keywords)
        if engine == CANONICAL:
            if keywords.get("is_long"):
                return request
            assert request.engine == CANONICAL, "not a map for this engine"
        elif engine == MULTIPLES:
            if request.engine != MULTIPLES:
                return request
        elif engine == BUCKETS and request.engine != BUCKETS:
            overriding = bool(keywords.get("overriding"))
            _, greatest = self._grid.cost_range(self._movement, ignoring=overriding)
            step = SQRT2 * least_unit_cost(greatest, self._movement.cost_model)
            width = (step + 2.0 * request.weight * request.unit_cost) / (N_BUCKETS - 4)
            if not 0.0 < width <= request.unit_cost:
                return request
            request = request._replace(bucket_rate=1.0 / width)
        return request._replace(engine=engine, **changes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AStar, "_make_request", make)
        yield


@contextmanager
def tiny_open_lists() -> Iterator[None]:
    """Open lists of searches made inside begin with room for one expansion."""
    made = astar.scratch_with

    def make(scratch: Scratch, engine: int, size: int) -> Scratch:
        had = scratch
        scratch = made(scratch, engine, size)
        if not had.stacks.size and scratch.stacks.size:
            scratch = scratch._replace(stacks=np.empty(N_STACKS * LEAST_CAPACITY, np.int64))
        if not had.heap.f.size and scratch.heap.f.size:
            scratch = scratch._replace(heap=OpenList.of(LEAST_CAPACITY))
        if not had.entry_cell.size and scratch.entry_cell.size:
            scratch = scratch._replace(
                entry_cell=np.empty(LEAST_CAPACITY, np.int32),
                entry_next=np.empty(LEAST_CAPACITY, np.int32),
            )
        return scratch

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(astar, "scratch_with", make)
        yield


def searcher(
    grid: Grid, engine: int, changes: dict[str, Any] | None = None, **options: Any
) -> AStar:
    """A searcher that has chosen its engine; edits make it choose anew, without force."""
    with forced(engine, **(changes or {})):
        search = AStar(grid, **options)
        search.prepare()
    return search


def engine_of(search: AStar) -> int:
    """The engine that the last query without changes of its own has used."""
    return int(search._request.engine)


def find(grid: Grid, engine: int, start: Any, goal: Any, **options: Any) -> PathResult:
    """One query by an engine; keywords of a query go to the query."""
    query = {
        name: options.pop(name)
        for name in ("blocked_cells", "ignored_cells", "cancel", "trace")
        if name in options
    }
    with forced(engine):
        return AStar(grid, **options).find_path(start, goal, **query)


def many_costs(
    search: AStar, starts: NDArray[np.int64], goals: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The costs of many pairs of flat cells; inf where no path leads."""
    outputs = search.run(starts, goals, Outputs.of(starts.size, 1 << 16), CancelFlag())
    return outputs.totals[:, 0]


def slices_of(
    search: AStar, budgets: Iterator[int], start: Any, goal: Any, **query: Any
) -> PathResult:
    """The result of a search in slices."""
    search.begin(start, goal, **query)
    while not search.advance(next(budgets)):
        pass
    return search.finish()


# --- maps ----------------------------------------------------------------------------------------


def noise_map(random: np.random.Generator, height: int, width: int, density: float) -> NDArray[Any]:
    return random.random((height, width)) < density


def rooms_map(random: np.random.Generator, height: int, width: int, side: int) -> NDArray[Any]:
    """Square rooms, a door or two in each wall."""
    blocked = np.zeros((height, width), np.bool_)
    blocked[side::side] = True
    blocked[:, side::side] = True
    for y in range(0, height, side):
        for x in range(0, width, side):
            for _ in range(int(random.integers(1, 3))):
                row, column = random.integers(1, side, 2)
                if y + row < height and x + side < width:
                    blocked[y + row, x + side] = False
                if x + column < width and y + side < height:
                    blocked[y + side, x + column] = False
    return blocked


def maze_map(random: np.random.Generator, height: int, width: int) -> NDArray[Any]:
    """A tree of corridors one cell wide, by a random walk with backtracking; some walls fall."""
    blocked = np.ones((height, width), np.bool_)
    stack = [(0, 0)]
    blocked[0, 0] = False
    while stack:
        y, x = stack[-1]
        ways = [
            (dy, dx)
            for dy, dx in ((0, 2), (2, 0), (0, -2), (-2, 0))
            if 0 <= y + dy < height and 0 <= x + dx < width and blocked[y + dy, x + dx]
        ]
        if not ways:
            stack.pop()
            continue
        dy, dx = ways[int(random.integers(len(ways)))]
        blocked[y + dy // 2, x + dx // 2] = blocked[y + dy, x + dx] = False
        stack.append((y + dy, x + dx))
    blocked &= random.random((height, width)) > 0.02
    return blocked


def blobs_map(random: np.random.Generator, height: int, width: int) -> NDArray[Any]:
    """Rectangles over each other, with long straight edges."""
    blocked = np.zeros((height, width), np.bool_)
    for _ in range(height * width // 150):
        y, x = int(random.integers(height)), int(random.integers(width))
        h, w = random.integers(1, 14, 2)
        blocked[y : y + h, x : x + w] = True
    return blocked


def serpentine_map(side: int) -> NDArray[Any]:
    """One corridor that fills a square: rows joined at alternating ends."""
    blocked = np.zeros((side, side), np.bool_)
    blocked[1::4, :-1] = True
    blocked[3::4, 1:] = True
    return blocked


def tiled(patterns: NDArray[Any], wall: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Small maps (n, h, w) side by side with walls between; and the flat cells (n, h * w)."""
    n, h, w = patterns.shape
    columns = math.isqrt(n - 1) + 1
    rows = -(-n // columns)
    full = np.full((rows * columns, h + 1, w + 1), wall, patterns.dtype)
    full[:n, :h, :w] = patterns
    width = columns * (w + 1)
    map_ = full.reshape(rows, columns, h + 1, w + 1).swapaxes(1, 2).reshape(-1, width)
    tile = np.arange(n)
    top_left = tile // columns * (h + 1) * width + tile % columns * (w + 1)
    inside = (np.arange(h)[:, None] * width + np.arange(w)).reshape(-1)
    return np.ascontiguousarray(map_), top_left[:, None] + inside


def open_list_size(search: AStar) -> int:
    """Entries that the open list of the chosen engine has room for, or each of its stacks."""
    scratch = search._scratch
    if engine_of(search) >= CANONICAL:
        return scratch.stacks.size // N_STACKS
    return scratch.heap.f.size if engine_of(search) == HEAP else scratch.entry_cell.size


MODES = list(DiagonalMode)


each_engine = pytest.mark.parametrize("engine", ENGINES, ids=ENGINE_NAMES.get)


each_mode = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)


def assert_same(one: PathResult, other: PathResult) -> None:
    assert (one.status, one.detail) == (other.status, other.detail)
    np.testing.assert_array_equal(one.cells, other.cells)
    assert (one.cost, one.length, one.metrics) == (other.cost, other.length, other.metrics)


def assert_same_trace(one: SearchTrace, other: SearchTrace) -> None:
    for name in ("cells", "parents", "g", "h"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


EVEN_COSTS = (1.0, 0.1, 7.3, 1e-3, 1e-30, 1e30)


RELATIVE = 1e-9


def close(value: float) -> Any:
    return pytest.approx(value, rel=RELATIVE, abs=0)


def check(result: PathResult, query: sts.Query, weight: float = 1.0) -> None:
    """Hold a result against the oracle."""
    costs = query.costs()
    best = ref.distances(costs, query.start, query.diagonal_mode, query.cost_model)
    if query.start not in costs:
        assert result.status == Status.START_BLOCKED
    elif query.goal not in costs:
        assert result.status == Status.GOAL_BLOCKED
    elif query.goal not in best:
        assert (result.status, result.detail) == (Status.UNREACHABLE, Detail.UNREACHABLE)
        assert result.metrics.expanded - result.metrics.reopened == len(best)
    else:
        assert result.status == Status.FOUND
        cells = ref.as_cells(result.cells)
        cost, length = ref.check_path(
            costs, cells, query.start, query.goal, query.diagonal_mode, query.cost_model
        )
        assert (result.cost, result.length) == (close(cost), close(length))
        least = best[query.goal]
        if weight == 1.0:
            assert result.cost == close(least)
        assert least * (1 - RELATIVE) <= result.cost <= weight * least * (1 + RELATIVE)
        assert result.metrics.reopened <= result.metrics.generated
        assert 1 <= result.metrics.open_peak <= result.metrics.generated


def chosen(grid: Grid, **options: Any) -> int:
    search = AStar(grid, **options)
    search.prepare()
    return engine_of(search)


@st.composite
def queries_for(
    draw: st.DrawFn, engine: int, max_side: int = sts.MAX_SIDE, *, changes: bool = True
) -> sts.Query:
    """A query that the engine can serve: even costs for CANONICAL, classes for MULTIPLES."""
    query = draw(sts.queries(max_side, changes=changes and engine < CANONICAL))
    if engine == MULTIPLES:
        base = draw(st.sampled_from(EVEN_COSTS))
        multiples = draw(st.sampled_from(((1, 2, 5, 3), (2, 3, 4, 7), (1, 20, 1, 2), (4, 5, 6, 1))))
        query.costs_of_classes = {i: base * 0.25 * n for i, n in enumerate(multiples)}
        query.cost_model, query.model.layers, query.overlays = 0, {}, None
        query.model.cell_scale = None
    if engine == CANONICAL:
        cost = draw(st.sampled_from(EVEN_COSTS))
        query.costs_of_classes = dict.fromkeys(range(4), cost)
        query.model.layers, query.overlays = {}, None
        if query.model.cell_scale is not None:
            query.model.cell_scale[:] = draw(st.sampled_from((0.75, 1.1, 3.0)))
        free = list(query.costs())
        if len(free) > 1:
            pick = st.sampled_from(free)
            query.start, query.goal = draw(pick), draw(pick)
    return query
