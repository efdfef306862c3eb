"""The maps and queries that searches are timed on.

Rule everywhere: 8 neighbours, no corner cut (the cases that end in ``_always`` cut them), a step
costs 1 or sqrt 2 times the cost of the cell entered.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from navserver.maps.movingai import load_movingai, load_scenarios

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

VARIABLE = "NAVSERVER_MOVINGAI"
MAPS = (
    *("arena", "den312d", "brc202d", "den520d", "hrt201n", "orz100d", "lak303d", "ost100d"),
    *("AR0011SR", "Aftershock", "AcrosstheCape", "16room_000", "maze512-8-0", "maze512-1-0"),
    *("random512-20-0", "random512-40-0", "Berlin_1_256", "Boston_0_256", "NewYork_0_512"),
)
SMALL_MAPS = ("arena", "den312d", "lak303d", "hrt201n", "Berlin_1_256")
"""Some of them, for what is slow."""
QUERIES_A_MAP = 200
COST_SEED = 1
CASES = ("w1", "w2", "w2w", "w1_always", "w2_always")


@dataclass(frozen=True)
class Problem:
    """A map and its queries."""

    name: str
    blocked: NDArray[np.bool_]
    """(h, w)."""
    queries: NDArray[np.int32]
    """(n, 4): start x, start y, goal x, goal y."""
    optima: NDArray[np.float64]
    """(n,) least costs as published, nan where none is."""
    tolerance: float
    """By how much a published optimum may be rounded."""
    costs: NDArray[np.float64] | None = None
    """(h, w) cost of each cell, 1 or more; None for 1 everywhere."""
    cut_corners: bool = False


def movingai_folder() -> Path | None:
    """Return the folder with the MovingAI ``maps`` and ``scens``, None if it is not there."""
    given = os.environ.get(VARIABLE)
    checkout = Path(__file__).resolve().parent.parent
    folder = Path(given) if given else checkout.parent / "shared" / "movingai"
    return folder if all((folder / part).is_dir() for part in ("maps", "scens")) else None


def needs_movingai(case: str) -> bool:
    return case.startswith("w2")


def cell_costs(width: int, height: int, seed: int = COST_SEED) -> NDArray[np.float64]:
    """Return 1 + hash(x, y, seed) mod 5 of each cell, (h, w).

    The hash works on 32 bits: h = x + 65536 y, xor seed * 0x9E3779B9; then h ^= h >> 16,
    h *= 0x7FEB352D, h ^= h >> 15, h *= 0x846CA68B, h ^= h >> 16.
    """
    x = np.arange(width, dtype=np.uint32)[np.newaxis, :]
    y = np.arange(height, dtype=np.uint32)[:, np.newaxis]
    h = (x + (y << np.uint32(16))) ^ np.uint32(seed * 0x9E3779B9 & 0xFFFFFFFF)
    h = h ^ (h >> np.uint32(16))
    h = h * np.uint32(0x7FEB352D)
    h = h ^ (h >> np.uint32(15))
    h = h * np.uint32(0x846CA68B)
    h = h ^ (h >> np.uint32(16))
    return 1.0 + (h % np.uint32(5)).astype(np.float64)


def spread(n: int, wanted: int) -> NDArray[np.int64]:
    """Return the indices of up to so many of n things, evenly spread over them."""
    wanted = min(n, wanted)
    return (np.arange(wanted) * 2 + 1) * n // (2 * max(wanted, 1))


@cache
def w1() -> Problem:
    """200 x 200, 8,000 random picks blocked, from corner to corner."""
    random = np.random.RandomState(42)
    free = np.ones((200, 200), np.bool_)
    for _ in range(8000):
        free[random.randint(200), random.randint(200)] = False
    free[0, 0] = free[199, 199] = True
    query = np.array([[0, 0, 199, 199]], np.int32)
    return Problem("w1", ~free, query, np.array([315.98989873]), 1e-8)


@cache
def scenario_map(folder: Path, name: str) -> Problem:
    """One MovingAI map with every k-th of its scenarios, about 200."""
    grid = load_movingai(folder / "maps" / f"{name}.map")
    scenarios = load_scenarios(folder / "scens" / f"{name}.map.scen")
    scenarios = scenarios[:: math.ceil(len(scenarios) / QUERIES_A_MAP)]
    queries = [(*scenario.start, *scenario.goal) for scenario in scenarios]
    rounded = min(scenario.decimals for scenario in scenarios)
    return Problem(
        name,
        grid.blocked(),
        np.array(queries, np.int32),
        np.array([scenario.optimal_length for scenario in scenarios]),
        0.011 if rounded <= 2 else 1e-4,
    )


def problems(case: str, maps: Sequence[str] = MAPS) -> list[Problem]:
    """Return what a case consists of; w2 and its kin on some maps alone if so asked."""
    if case in ("w1", "w1_always"):
        made = [w1()]
    else:
        folder = movingai_folder()
        if folder is None:
            raise FileNotFoundError(f"no MovingAI maps; set {VARIABLE} to their folder")
        made = [scenario_map(folder, name) for name in maps]
    if case == "w2w":
        return [
            Problem(
                problem.name,
                problem.blocked,
                problem.queries,
                np.full(len(problem.queries), np.nan),
                0.0,
                cell_costs(*problem.blocked.shape[::-1]),
            )
            for problem in made
        ]
    if case.endswith("_always"):
        return [
            Problem(
                problem.name,
                problem.blocked,
                problem.queries,
                np.full(len(problem.queries), np.nan),
                0.0,
                cut_corners=True,
            )
            for problem in made
        ]
    return made
