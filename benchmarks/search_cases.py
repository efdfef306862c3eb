"""The cases of bench_search that are no race over paths; each returns its rows."""

from __future__ import annotations

import gc
import math
import statistics
import sys
import time
import tracemalloc
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np

from benchmarks.contenders.navserver import grid_of
from benchmarks.problems import MAPS, SMALL_MAPS, movingai_folder, scenario_map, w1
from benchmarks.rows import Row, say
from navserver import (
    SOLID,
    AStar,
    Grid,
    line_of_sight,
    pull_string,
    pull_strings,
    raycasts,
    round_paths,
)
from navserver.search import astar
from navserver.search.batch import BatchSearch

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

NAVSERVER = "navserver"
WEIGHTS = (1.0, 1.1, 1.2, 1.3, 1.4, 1.5)


def median_us(call: Callable[[], object], runs: int, warm_up: int = 1) -> float:
    """Return the median of so many runs, in microseconds."""
    for _ in range(warm_up):
        call()
    times = []
    for _ in range(runs):
        begin = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times) / 1e3


def random_pairs(blocked: NDArray[np.bool_], n: int, seed: int) -> NDArray[np.int32]:
    """Return n pairs of free cells as rows (x, y, x, y)."""
    free = np.argwhere(~blocked)[:, ::-1]
    random = np.random.Generator(np.random.PCG64(seed))
    return free[random.integers(0, len(free), (n, 2))].reshape(n, 4).astype(np.int32)


def lines_of_sight(quick: bool) -> list[Row]:
    """Random pairs on an empty map, where every line is followed to its end, and on W1."""
    case, n = "line_of_sight", 2000 if quick else 20000
    runs = 5 if quick else 15
    empty = np.zeros((512, 512), np.bool_)
    rows = []
    for name, blocked in (("empty", empty), ("w1", w1().blocked)):
        grid = Grid.from_blocked(blocked)
        pairs = random_pairs(blocked, n, 3)
        starts, goals = pairs[:, :2], pairs[:, 2:]
        us = median_us(lambda g=grid, a=starts, b=goals: line_of_sight(g, a, b), runs)
        rows.append(Row(case, NAVSERVER, f"ns_per_line_{name}", us * 1e3 / n, "ns"))
        if name == "empty":
            steps = int(np.abs(goals - starts).sum())
            rows.append(Row(case, NAVSERVER, "ns_per_step", us * 1e3 / steps, "ns"))
        us = median_us(lambda g=grid, a=starts, b=goals: raycasts(g, a + 0.25, b), runs)
        rows.append(Row(case, NAVSERVER, f"ns_per_ray_{name}", us * 1e3 / n, "ns"))
    grid = Grid.from_blocked(empty)
    us = median_us(lambda: line_of_sight(grid, (3, 4), (13, 9)), 200 if quick else 2000)
    rows.append(Row(case, NAVSERVER, "us_per_query", us, "us"))
    return rows


def after_search(quick: bool) -> list[Row]:
    """The path of W1, pulled straight and rounded; alone, and many times over in one call."""
    case, copies = "after_search", 100 if quick else 1000
    runs = 5 if quick else 15
    problem = w1()
    grid = Grid.from_blocked(problem.blocked)
    path = AStar(grid).find_path((0, 0), (199, 199)).cells
    pulled = pull_string(grid, path)
    length = float(np.hypot(*np.diff(pulled, axis=0).T).sum())
    many = np.tile(path, (copies, 1))
    offsets = np.arange(copies + 1) * len(path)
    straight = np.tile(pulled, (copies, 1))
    straight_offsets = np.arange(copies + 1) * len(pulled)
    alone = median_us(lambda: pull_string(grid, path), 20 * runs)
    packed = median_us(lambda: pull_strings(grid, many, offsets), runs)
    rounded = median_us(lambda: round_paths(grid, straight, straight_offsets), runs)
    return [
        Row(case, NAVSERVER, "us_per_pull_alone", alone, "us"),
        Row(case, NAVSERVER, "us_per_pull_packed", packed / copies, "us"),
        Row(case, NAVSERVER, "us_per_rounding_packed", rounded / copies, "us"),
        Row(case, NAVSERVER, "cells_kept", len(pulled) / len(path), "of the path's"),
        Row(case, NAVSERVER, "length", length / float(problem.optima[0]), "of the path's"),
    ]


def weight_sweep(quick: bool) -> list[Row]:
    """Weighted A* on random pairs of the MovingAI maps: how much faster, how much longer."""
    case = "weight_sweep"
    folder = movingai_folder()
    assert folder is not None
    names = SMALL_MAPS if quick else MAPS
    times: dict[float, list[float]] = {weight: [] for weight in WEIGHTS}
    mean_ratio: dict[float, list[float]] = {weight: [] for weight in WEIGHTS}
    worst = dict.fromkeys(WEIGHTS, 1.0)
    for number, name in enumerate(names):
        problem = scenario_map(folder, name)
        grid, _ = grid_of(problem.blocked)
        exact = AStar(grid)
        wanted = 20 if quick else 100
        pairs = random_pairs(problem.blocked, 20 * wanted, number)
        known = []
        for x, y, goal_x, goal_y in pairs.tolist():
            result = exact.find_path((x, y), (goal_x, goal_y))
            if result.found and result.cost > 0:
                known.append(((x, y), (goal_x, goal_y), result.cost))
            if len(known) == wanted:
                break
        for weight in WEIGHTS:
            search = AStar(grid, weight=weight)
            runs, ratios = [], []
            for repeat in range(2 if quick else 3):
                begin = time.perf_counter_ns()
                results = [search.find_path(start, goal) for start, goal, _ in known]
                runs.append((time.perf_counter_ns() - begin) / 1e3 / len(known))
                if repeat == 0:
                    ratios = [
                        result.cost / cost
                        for result, (_, _, cost) in zip(results, known, strict=True)
                    ]
            times[weight].append(statistics.median(runs))
            mean_ratio[weight].append(statistics.fmean(ratios))
            worst[weight] = max(worst[weight], *ratios)
    if quick:
        say(f"weight_sweep: quick, on {len(names)} of {len(MAPS)} maps and 20 pairs each")
    rows = []
    for weight in WEIGHTS:
        at = f"w{weight:.1f}"
        us = statistics.geometric_mean(times[weight])
        mean = statistics.geometric_mean(mean_ratio[weight])
        rows.append(Row(case, NAVSERVER, f"us_per_query_{at}", us, "us"))
        rows.append(Row(case, NAVSERVER, f"mean_length_{at}", mean, "of the least"))
        rows.append(Row(case, NAVSERVER, f"worst_length_{at}", worst[weight], "of the least"))
    return rows


def memory(quick: bool) -> list[Row]:
    """What one search on W1 takes: what Python and numpy ask for, and the scratch it reuses."""
    del quick
    case = "memory"
    grid = Grid.from_blocked(w1().blocked)
    ends = ((0, 0), (199, 199))
    AStar(grid).find_path(*ends)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        search = AStar(grid)
        for _ in range(3):
            search.find_path(*ends)
        gc.collect()
        scratch = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.reset_peak()
        start = tracemalloc.get_traced_memory()[0]
        result = search.find_path(*ends)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del result
    blocks = []
    for _ in range(11):
        gc.collect()
        gc.disable()
        first = sys.getallocatedblocks()
        held_result = search.find_path(*ends)
        blocks.append(sys.getallocatedblocks() - first)
        del held_result
        gc.enable()
    return [
        Row(case, NAVSERVER, "scratch_bytes", scratch, "bytes, reused"),
        Row(case, NAVSERVER, "peak_bytes_per_search", peak - start, "bytes"),
        Row(case, NAVSERVER, "result_bytes", held - start, "bytes"),
        Row(case, NAVSERVER, "result_blocks", statistics.median(blocks), "Python objects"),
    ]


def batch(quick: bool, side: int = 512) -> list[Row]:
    """Random pairs on a map, a fifth blocked: one by one, and in one call on 1 and 2 threads."""
    case, n = "batch", 400 if quick else 4000
    blocked = np.random.Generator(np.random.PCG64(11)).random((side, side)) < 0.2
    pairs = random_pairs(blocked, n, 12)
    starts, goals = pairs[:, :2], pairs[:, 2:]
    grid = Grid.from_blocked(blocked)
    single = AStar(grid)
    ends = [((a, b), (c, d)) for a, b, c, d in pairs.tolist()]
    times: dict[str, list[float]] = {"alone": [], "1_thread": [], "2_threads": []}
    with BatchSearch(grid, threads=1) as one, BatchSearch(grid, threads=2) as two:
        calls = {
            "alone": lambda: [single.find_path(start, goal) for start, goal in ends],
            "1_thread": lambda: one.find_paths(starts, goals),
            "2_threads": lambda: two.find_paths(starts, goals),
        }
        first, second = calls["1_thread"](), calls["2_threads"]()
        for mine, other in zip(first, second, strict=True):
            assert np.array_equal(mine, other), "the number of threads has changed a result"
        for _ in range(5):
            # Turn by turn, so that a disturbance hits all three.
            for name, call in calls.items():
                begin = time.perf_counter_ns()
                call()
                times[name].append((time.perf_counter_ns() - begin) / 1e3 / n)
    medians = {name: statistics.median(each) for name, each in times.items()}
    rows = [Row(case, NAVSERVER, f"us_per_query_{name}", us, "us") for name, us in medians.items()]
    faster = medians["1_thread"] / medians["2_threads"]
    return [*rows, Row(case, NAVSERVER, "speedup_2_threads", faster, "times as fast")]


def query_overhead(quick: bool) -> list[Row]:
    """One query from Python against its compiled kernel called with the same arguments."""
    case, runs = "query_overhead", 2000 if quick else 20000
    grid = Grid.from_blocked(np.zeros((64, 64), np.bool_))
    rows = []
    for name, goal in (("1_step", (31, 30)), ("30_steps", (60, 45))):
        start = (30, 30)
        search = AStar(grid)
        search.find_path(start, goal)
        kernel, clock = astar.find_paths_, time.perf_counter_ns
        with patch.object(astar, "find_paths_", wraps=kernel) as spy:
            result = search.find_path(start, goal)
        arguments = spy.call_args.args
        outputs = search._outputs
        timer, alone, whole = [], [], []
        for _ in range(runs):
            # Turn by turn, so that a disturbance hits all three.
            begin = clock()
            timer.append(clock() - begin)
            # As every query does before it calls the kernel.
            outputs.state[:] = 0
            begin = clock()
            kernel(*arguments)
            alone.append(clock() - begin)
            begin = clock()
            search.find_path(start, goal)
            whole.append(clock() - begin)
        assert outputs.totals[0, 0] == result.cost
        nothing = statistics.median(timer)
        kernel_us = (statistics.median(alone) - nothing) / 1e3
        query_us = (statistics.median(whole) - nothing) / 1e3
        rows += [
            Row(case, NAVSERVER, f"us_per_query_{name}", query_us, "us"),
            Row(case, NAVSERVER, f"us_per_kernel_{name}", kernel_us, "us"),
            Row(case, NAVSERVER, f"us_overhead_{name}", query_us - kernel_us, "us"),
        ]
    return rows


def edit_4096(quick: bool, side: int = 4096) -> list[Row]:
    """100 cells of a 4096 x 4096 map edited, then a short path asked again."""
    case = "edit_4096"
    random = np.random.Generator(np.random.PCG64(7))
    blocked = random.random((side, side)) < 0.1
    start, goal = (2000, 2000), (2030, 2020)
    # Far from the path, so that it is the same every time.
    blocked[1900:2200, 1900:2200] = False
    grid = Grid.from_blocked(blocked)
    search = AStar(grid)
    cost = search.find_path(start, goal).cost
    edits, searches, wholes = [], [], []
    for _ in range(20 if quick else 100):
        cells = random.integers(0, 1900, (100, 2))
        classes = np.where(random.random(100) < 0.5, SOLID, 0)
        begin = time.perf_counter_ns()
        grid.set_cells(cells, classes)
        edited = time.perf_counter_ns()
        result = search.find_path(start, goal)
        end = time.perf_counter_ns()
        assert math.isclose(result.cost, cost)
        edits.append(edited - begin)
        searches.append(end - edited)
        wholes.append(end - begin)
    return [
        Row(case, NAVSERVER, "ms", statistics.median(wholes) / 1e6, "ms"),
        Row(case, NAVSERVER, "worst_ms", max(wholes) / 1e6, "ms"),
        Row(case, NAVSERVER, "us_per_edit", statistics.median(edits) / 1e3, "us"),
        Row(case, NAVSERVER, "us_per_query", statistics.median(searches) / 1e3, "us"),
    ]
