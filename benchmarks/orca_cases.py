"""Avoidance in RVO2's scenes: the cases of bench_movers whose peer is the ORCA library in C++."""

from __future__ import annotations

import importlib
import math
import statistics
import time
from typing import TYPE_CHECKING, Protocol

import numpy as np

from benchmarks.rows import Row
from navserver import Grid, Movers
from navserver.movers.contact import Parting
from navserver.movers.orca import Avoidance, Avoiding
from navserver.movers.walls import Moving
from navserver.movers.workers import Workers

if TYPE_CHECKING:
    from numpy.typing import NDArray

# RVO2's own example.
DT = 0.25
RADIUS = 1.5
MAX_SPEED = 2.0
PREFERRED_SPEED = 1.0
HORIZON = 10.0
NEIGHBORS = 10
NEIGHBOR_DIST = 15.0

# RVO2's units a cell: a disc is as wide as a cell.
UNITS = 2.0 * RADIUS

# Steps before the clock runs.
LEAD_IN = 4


def circle(n: int) -> NDArray[np.float64]:
    """Return places on a circle; everybody goes to the opposite one."""
    angles = np.arange(n) * 2.0 * math.pi / n
    return 200.0 * n / 250.0 * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def dense(n: int) -> NDArray[np.float64]:
    """Return places on a lattice of pitch 6; everybody goes to the opposite one."""
    side = math.isqrt(n)
    assert side * side == n
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    return (np.stack([x, y], axis=-1).reshape(-1, 2) - (side - 1) / 2.0) * 6.0


class Contestant(Protocol):
    """Somebody who steps a scene; positions and goals are in RVO2's units."""

    def prefer(self, velocities: NDArray[np.float64]) -> None: ...

    def step(self) -> None: ...

    def positions(self) -> NDArray[np.float64]: ...


class ByNavserver:
    """Avoidance, motion with walls, and perhaps contact."""

    def __init__(self, starts: NDArray[np.float64], threads: int = 1, contact: bool = False):
        half = math.ceil(np.abs(starts).max() / UNITS) + 1
        grid = Grid.filled(2 * half + 1, 2 * half + 1, region_position=(-half, -half))
        self.movers = Movers(grid)
        self.movers.add(starts / UNITS, radius=RADIUS / UNITS, max_speed=MAX_SPEED / UNITS)
        self.workers = Workers(threads)
        avoidance = Avoidance(
            neighbor_dist=NEIGHBOR_DIST / UNITS, max_neighbors=NEIGHBORS, time_horizon=HORIZON
        )
        self.phases = [
            Avoiding(self.movers, self.workers, avoidance),
            Moving(self.movers, self.workers),
        ]
        if contact:
            self.phases.append(Parting(self.movers, self.workers))

    def prefer(self, velocities: NDArray[np.float64]) -> None:
        self.movers.columns.preferred_velocity[: self.movers.slots] = velocities / UNITS

    def step(self) -> None:
        for phase in self.phases:
            phase.run(DT)

    def positions(self) -> NDArray[np.float64]:
        return self.movers.position.astype(np.float64) * UNITS


class ByPyrvo:
    """The library's own step."""

    def __init__(self, starts: NDArray[np.float64]):
        pyrvo = importlib.import_module("pyrvo")
        self.n = len(starts)
        self.simulator = pyrvo.RVOSimulator(
            DT, NEIGHBOR_DIST, NEIGHBORS, HORIZON, HORIZON, RADIUS, MAX_SPEED
        )
        for x, y in starts.tolist():
            self.simulator.add_agent((x, y))

    def prefer(self, velocities: NDArray[np.float64]) -> None:
        for i, (x, y) in enumerate(velocities.tolist()):
            self.simulator.set_agent_pref_velocity(i, (x, y))

    def step(self) -> None:
        self.simulator.do_step()

    def positions(self) -> NDArray[np.float64]:
        places = [self.simulator.get_agent_position(i).to_tuple() for i in range(self.n)]
        return np.array(places, np.float64)


def advance(contestant: Contestant, goals: NDArray[np.float64]) -> float:
    """Take a step, and return the seconds of the step alone."""
    way = goals - contestant.positions()
    length = np.linalg.norm(way, axis=1, keepdims=True)
    contestant.prefer(way * (PREFERRED_SPEED / np.maximum(length, PREFERRED_SPEED)))
    begin = time.perf_counter()
    contestant.step()
    return time.perf_counter() - begin


def race(case: str, contender: str, starts: NDArray[np.float64], quick: bool) -> list[Row]:
    contestants: dict[str, Contestant] = {"": ByPyrvo(starts)}
    if contender == "navserver":
        contestants = {
            "": ByNavserver(starts),
            "_2_threads": ByNavserver(starts, 2),
            "_with_contact": ByNavserver(starts, contact=True),
        }
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for step in range(LEAD_IN + (10 if quick else 40)):
        for name, contestant in contestants.items():
            seconds = advance(contestant, -starts)
            if step >= LEAD_IN:
                times[name].append(seconds)
    rows = []
    for name, each in times.items():
        median = statistics.median(each)
        rows.append(Row(case, contender, f"ns_per_mover{name}", median * 1e9 / len(starts), "ns"))
        rows.append(Row(case, contender, f"ms_per_step{name}", median * 1e3, "ms"))
    if contender == "navserver":
        serial, threaded = contestants[""].positions(), contestants["_2_threads"].positions()
        assert serial.tobytes() == threaded.tobytes(), "threads have changed a result"
    return rows


def orca_dense_10000(contender: str, quick: bool) -> list[Row]:
    """10,000 movers on a lattice, 10 neighbours each."""
    return race("orca_dense_10000", contender, dense(10_000), quick)


def orca_circle_10000(contender: str, quick: bool) -> list[Row]:
    """10,000 movers on a circle, 4 to 6 neighbours each."""
    return race("orca_circle_10000", contender, circle(10_000), quick)


def overlap(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how deep each pair of discs overlaps, as a part of the radius."""
    i, j = np.triu_indices(len(positions), 1)
    gaps = np.linalg.norm(positions[i] - positions[j], axis=1)
    found: NDArray[np.float64] = np.maximum(2.0 * RADIUS - gaps, 0.0) / RADIUS
    return found


def orca_scenes(contender: str, quick: bool) -> list[Row]:
    """Small scenes to their ends: steps until all have arrived, and how deep discs overlap."""
    case = "orca_scenes"
    rows = []
    scenes = {"circle_100": circle(100), "dense_100": dense(100)}
    if not quick:
        scenes |= {"circle_250": circle(250), "dense_400": dense(400)}
    for scene, starts in scenes.items():
        contestants: dict[str, Contestant] = {"": ByPyrvo(starts)}
        if contender == "navserver":
            contestants = {
                "": ByNavserver(starts),
                "_with_contact": ByNavserver(starts, contact=True),
            }
        for name, contestant in contestants.items():
            worst = total = 0.0
            steps = 0
            while np.linalg.norm(contestant.positions() + starts, axis=1).max() > RADIUS:
                steps += 1
                assert steps <= 6000, f"{scene}: somebody does not arrive"
                advance(contestant, -starts)
                found = overlap(contestant.positions())
                worst = max(worst, float(found.max()))
                total += float(found.sum())
            mean = total / steps / len(starts)
            metrics = {
                "steps": (float(steps), "steps"),
                "worst_overlap": (worst, "radii"),
                "mean_overlap": (mean, "radii a mover and step"),
            }
            rows += [
                Row(case, contender, f"{metric}_{scene}{name}", value, unit)
                for metric, (value, unit) in metrics.items()
            ]
    return rows


ORCA_CASES = {
    "orca_dense_10000": {"navserver": orca_dense_10000, "pyrvo": orca_dense_10000},
    "orca_circle_10000": {"navserver": orca_circle_10000, "pyrvo": orca_circle_10000},
    "orca_scenes": {"navserver": orca_scenes, "pyrvo": orca_scenes},
}
