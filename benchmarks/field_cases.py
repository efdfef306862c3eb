"""The case `flow_field` of bench_search: distances from all cells of a map to one goal.

A fifth of the cells is blocked at random; the goal is in the middle. navserver builds a whole flow
field: distances, directions and lines of sight; the others give distances alone. scipy's Dijkstra
runs on the very graph that the default rule makes; tcod's cuts corners and counts in integers, so
it is compared under ALWAYS. Each checks its distances against navserver's, untimed.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.rows import Row, say
from navserver import DiagonalMode, FlowField, Grid

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

CASE = "flow_field"
SMALL, LARGE = 512, 4096
# Bytes that a cell's edges and heap nodes take in scipy, generously.
SCIPY_BYTES_A_CELL = 500


def random_map(side: int) -> tuple[NDArray[np.bool_], tuple[int, int]]:
    """Return the map (side, side) and its goal."""
    blocked = np.random.Generator(np.random.PCG64(1)).random((side, side)) < 0.2
    goal = (side // 2, side // 2)
    blocked[goal[1], goal[0]] = False
    return blocked, goal


def field_of(blocked: NDArray[np.bool_], goal: tuple[int, int], *, always: bool) -> FlowField:
    mode = DiagonalMode.ALWAYS if always else DiagonalMode.ONLY_IF_NO_OBSTACLES
    return FlowField(Grid.from_blocked(blocked), [goal], diagonal_mode=mode)


def median_ns(build: Callable[[], object], cells: int, runs: int) -> float:
    """Return the median of so many runs, in nanoseconds a cell."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter_ns()
        build()
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times) / cells


def row(contender: str, side: int, always: bool, ns: float) -> Row:
    return Row(CASE, contender, f"ns_per_cell_{side}" + "_always" * always, ns, "ns")


def check(
    found: NDArray[np.float64], blocked: NDArray[np.bool_], always: bool, rtol: float
) -> None:
    """Raise if distances are not those of navserver's field."""
    side = len(blocked)
    expected = field_of(blocked, (side // 2, side // 2), always=always).costs
    if not np.allclose(found, expected, rtol=rtol, atol=0.0):
        raise RuntimeError(f"{CASE}: the distances on {side} x {side} are not the same")


def navserver_fields(quick: bool, sides: tuple[int, ...] = (SMALL, LARGE)) -> list[Row]:
    rows = []
    for side in sides:
        blocked, goal = random_map(side)
        grid = Grid.from_blocked(blocked)
        for always in (False, True):
            mode = DiagonalMode.ALWAYS if always else DiagonalMode.ONLY_IF_NO_OBSTACLES

            def build(grid: Grid = grid, mode: DiagonalMode = mode) -> object:
                return FlowField(grid, [goal], diagonal_mode=mode)  # noqa: B023

            runs = 7 if side <= SMALL else 1 if quick else 3
            # The first one builds the move masks as well.
            build()
            rows.append(row("navserver", side, always, median_ns(build, side * side, runs)))
    return rows


def tcod_distances(quick: bool, sides: tuple[int, ...] = (SMALL, LARGE)) -> list[Row]:
    import tcod.path  # noqa: PLC0415

    rows = []
    for side in sides:
        if quick and side > SMALL:
            say(f"{CASE}: quick, tcod on {SMALL} x {SMALL} alone")
            continue
        blocked, goal = random_map(side)
        cost = (~blocked).astype(np.int8)
        distances = np.empty((side, side), np.int32)
        farthest = np.iinfo(np.int32).max

        def build() -> object:
            distances.fill(farthest)  # noqa: B023
            distances[goal[1], goal[0]] = 0  # noqa: B023
            # 99 / 70 is sqrt 2 to 5e-5.
            return tcod.path.dijkstra2d(distances, cost, 70, 99, out=distances)  # noqa: B023

        rows.append(row("tcod", side, True, median_ns(build, side * side, 5 if quick else 3)))
        reached = (distances < farthest) & ~blocked
        check(np.where(reached, distances / 70.0, np.inf), blocked, always=True, rtol=1e-4)
    return rows


def graph_of(blocked: NDArray[np.bool_]) -> csr_array:
    """Return the steps of the default rule as a sparse matrix, built directly to save memory."""
    from scipy.sparse import csr_array  # noqa: PLC0415

    height, width = blocked.shape
    free = np.zeros((height + 2, width + 2), np.bool_)
    free[1:-1, 1:-1] = ~blocked

    def shifted(dx: int, dy: int) -> NDArray[np.bool_]:
        return free[1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width]

    steps = {}
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            if dx or dy:
                sides = shifted(dx, 0) & shifted(0, dy)
                steps[dx, dy] = (shifted(0, 0) & shifted(dx, dy) & sides).ravel()
    degrees = np.sum(list(steps.values()), axis=0, dtype=np.int32)
    starts = np.zeros(blocked.size + 1, np.int32)
    np.cumsum(degrees, out=starts[1:])
    columns = np.empty(starts[-1], np.int32)
    lengths = np.empty(starts[-1], np.float64)
    places = starts[:-1].copy()
    for (dx, dy), legal in steps.items():
        cells = np.flatnonzero(legal)
        columns[places[cells]] = cells + dy * width + dx
        lengths[places[cells]] = math.hypot(dx, dy)
        places[cells] += 1
    return csr_array((lengths, columns, starts), shape=(blocked.size, blocked.size))


def scipy_distances(quick: bool, sides: tuple[int, ...] = (SMALL, LARGE)) -> list[Row]:
    from scipy.sparse.csgraph import dijkstra  # noqa: PLC0415

    rows = []
    for side in sides:
        if quick and side > SMALL:
            say(f"{CASE}: quick, scipy on {SMALL} x {SMALL} alone")
            continue
        if side > SMALL and free_bytes() < SCIPY_BYTES_A_CELL * side * side:
            say(f"{CASE}: scipy is left out at {side} x {side}: the memory would not do")
            continue
        blocked, goal = random_map(side)
        graph = graph_of(blocked)
        source = goal[1] * side + goal[0]
        found = [np.empty(0)]

        def build() -> object:
            # Every step may be walked both ways at one cost.
            found[0] = dijkstra(graph, indices=source)  # noqa: B023
            return found[0]  # noqa: B023

        runs = 1 if side > SMALL else 3
        rows.append(row("scipy", side, False, median_ns(build, side * side, runs)))
        check(found[0].reshape(side, side), blocked, always=False, rtol=1e-6)
    return rows


def free_bytes() -> int:
    """Return the memory that is free, 0 where the system does not tell."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0
