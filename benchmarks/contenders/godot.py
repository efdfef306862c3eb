"""Godot's AStarGrid2D as a contender: times measured inside one headless Godot process.

The case file that goes in is a sequence of little-endian words of 4 bytes::

    MAGIC  jumping (0 or 1)  runs  number of maps
    for each map:
        width  height  weighted (0 or 1)  number of queries
        width * height words, row by row: 1 for a wall, else 0
        if weighted, width * height float32, row by row: the weight_scale of each cell
        for each query: start x, start y, goal x, goal y

All words are int32 but the weights; cells count from (0, 0) at the top left. The result file that
comes out holds three float64 for each query, in order: the median over the runs in microseconds,
the path's cost (length times the weight of the cell entered; inf without a path), the number of
its cells, those between two jump points too (0 without a path).

The time is that of ``get_id_path`` alone, under DIAGONAL_MODE_ONLY_IF_NO_OBSTACLES and the octile
heuristic for both step and estimate; building the grid is not in it. The first queries of a map
run once untimed. A query of less than 200 us is repeated in one go until that much has passed.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

PROJECT = Path(__file__).resolve().parent.parent / "godot"
MAGIC = 0x5447414E


@dataclass(frozen=True)
class GodotCase:
    """A map and its queries."""

    name: str
    blocked: NDArray[np.bool_]
    """(h, w), True for a wall."""
    queries: NDArray[np.int32]
    """(n, 4): start x, start y, goal x, goal y."""
    weights: NDArray[np.float32] | None = None
    """(h, w) cost of entering each cell, >= 1 for exact paths; None for 1 everywhere."""


@dataclass(frozen=True)
class GodotTimes:
    """What one case took, by query."""

    name: str
    microseconds: NDArray[np.float64]
    costs: NDArray[np.float64]
    lengths: NDArray[np.int64]
    """Cells of each path."""


def run_godot(
    godot_path: str | Path,
    cases: Sequence[GodotCase],
    jumping: bool,
    *,
    runs: int = 5,
    timeout_seconds: float = 1800.0,
) -> list[GodotTimes]:
    """Time AStarGrid2D on every query of every case, all in one Godot process.

    Jumping ignores weights, so with it a weighted case would be another problem: ValueError.
    RuntimeError with Godot's output if the run fails, subprocess.TimeoutExpired if it hangs.
    """
    data = encode(cases, jumping, runs)
    with tempfile.TemporaryDirectory(prefix="navserver-godot-") as parent:
        # Godot writes into the folder of a project, so it gets a copy.
        folder = shutil.copytree(PROJECT, Path(parent) / "project")
        (folder / "cases.bin").write_bytes(data)
        command = [str(godot_path), "--headless", "--path", str(folder)]
        command += ["-s", "res://time_astar_grid_2d.gd"]
        run = subprocess.run(
            [*command, "--", "res://cases.bin", "res://results.bin"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout_seconds,
            check=False,
        )
        results = folder / "results.bin"
        if run.returncode != 0 or not results.exists():
            raise RuntimeError(f"Godot ended with exit code {run.returncode}:\n{run.stdout}")
        rows = np.fromfile(results, "<f8").reshape(-1, 3)
    counts = [len(case.queries) for case in cases]
    if len(rows) != sum(counts):
        raise RuntimeError(f"Godot answered {len(rows)} of {sum(counts)} queries:\n{run.stdout}")
    parts = np.split(rows, np.cumsum(counts)[:-1])
    return [
        GodotTimes(case.name, part[:, 0], part[:, 1], part[:, 2].astype(np.int64))
        for case, part in zip(cases, parts, strict=True)
    ]


def encode(cases: Sequence[GodotCase], jumping: bool, runs: int) -> bytes:
    """Return the case file; ValueError names the case that cannot be timed."""
    if not cases or runs < 1:
        raise ValueError(f"{len(cases)} cases and {runs} runs: give at least one of each")
    words = [_ints([MAGIC, jumping, runs, len(cases)])]
    for case in cases:
        height, width = case.blocked.shape
        weighted = case.weights is not None
        queries = np.asarray(case.queries)
        if queries.ndim != 2 or queries.shape[1] != 4:
            raise ValueError(f"{case.name}: queries of shape {queries.shape}, expected (n, 4)")
        if np.any(queries < 0) or np.any(queries >= [width, height, width, height]):
            raise ValueError(f"{case.name}: a query lies outside the {width} x {height} map")
        words.append(_ints([width, height, weighted, len(queries)]))
        words.append(_ints(case.blocked))
        if case.weights is not None:
            if jumping:
                raise ValueError(f"{case.name}: jumping ignores weights; time it without")
            if case.weights.shape != case.blocked.shape:
                raise ValueError(
                    f"{case.name}: weights of shape {case.weights.shape}, "
                    f"expected that of blocked, {case.blocked.shape}"
                )
            words.append(case.weights.astype("<f4").tobytes())
        words.append(_ints(queries))
    return b"".join(words)


def _ints(values: Sequence[int] | NDArray[np.generic]) -> bytes:
    return np.asarray(values).astype("<i4").tobytes()
