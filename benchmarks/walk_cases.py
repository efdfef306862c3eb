"""Walking along waypoints without avoidance: the cases of bench_movers that step `Movers` alone."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.rows import Row
from navserver import Grid, Movers, Stepper

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

DT = 1 / 60
SPEED = 4.0
LEGS = 32
# Steps before the clock runs: everybody is under way, and scattered along its first leg.
LEAD_IN = 60
# Steps in a row, and how many of them come first and untimed: they find the cache full of others.
ROUND = 30
WARM = 5


class Walk(NamedTuple):
    """Who walks where."""

    side: int
    starts: NDArray[np.float32]
    waypoints: NDArray[np.float32]


def walk(n: int, side: int, seed: int = 1) -> Walk:
    """Return so many paths of 32 legs, each 2 to 14 cells long and up to 60 degrees off the last.

    A path that would leave the map comes back in as if its border were a mirror.
    """
    random = np.random.default_rng(seed)
    starts = random.uniform(0, side - 1, (n, 2))
    turns = np.cumsum(random.uniform(-np.pi / 3, np.pi / 3, (n, LEGS)), axis=1)
    angles = random.uniform(0, 2 * np.pi, (n, 1)) + turns
    lengths = random.uniform(2, 14, (n, LEGS))
    legs = np.stack([np.cos(angles), np.sin(angles)], axis=-1) * lengths[..., None]
    points = np.abs(starts[:, None] + np.cumsum(legs, axis=1)) % (2 * (side - 1))
    points = np.minimum(points, 2 * (side - 1) - points)
    return Walk(side, starts.astype(np.float32), points.astype(np.float32))


class ByNavserver:
    """The public step, events and all."""

    def __init__(self, walk: Walk, threads: int = 1, **limits: float) -> None:
        n = len(walk.starts)
        self.movers = Movers(Grid.filled(walk.side, walk.side))
        units = self.movers.add(walk.starts, radius=0.4, max_speed=SPEED, **limits)
        self.movers.set_paths(units, walk.waypoints.reshape(-1, 2), np.arange(n + 1) * LEGS)
        self.stepper = Stepper(self.movers, threads=threads)

    def step(self) -> object:
        return self.stepper.step(DT)

    @property
    def position(self) -> NDArray[np.float32]:
        return self.movers.position


class ByNumpy:
    """Whole arrays: everybody is moved, then those who have passed a waypoint are looked at."""

    def __init__(self, walk: Walk) -> None:
        self.position = walk.starts.copy()
        self.waypoints = walk.waypoints
        self.next = np.zeros(len(self.position), np.int64)
        self.velocity = np.zeros_like(self.position)
        self.left = np.zeros(len(self.position), np.float32)
        self._aim(np.arange(len(self.position)))

    def _aim(self, rows: NDArray[np.int64]) -> None:
        way = self.waypoints[rows, self.next[rows]] - self.position[rows]
        length = np.hypot(way[:, 0], way[:, 1])
        self.left[rows] = length
        self.velocity[rows] = way * (SPEED / np.maximum(length, 1e-9))[:, None]

    def step(self) -> NDArray[np.int64]:
        self.position += self.velocity * np.float32(DT)
        self.left -= np.float32(SPEED * DT)
        passed = np.flatnonzero(self.left <= 0)
        arrived = []
        while passed.size:
            beyond = -self.left[passed]
            self.position[passed] = self.waypoints[passed, self.next[passed]]
            self.next[passed] += 1
            is_last = self.next[passed] == LEGS
            ended = passed[is_last]
            arrived.append(ended)
            self.velocity[ended] = 0.0
            self.left[ended] = np.inf
            passed, beyond = passed[~is_last], beyond[~is_last]
            self._aim(passed)
            self.position[passed] += self.velocity[passed] * (beyond / SPEED)[:, None]
            self.left[passed] -= beyond
            passed = passed[self.left[passed] <= 0]
        return np.concatenate(arrived) if arrived else np.empty(0, np.int64)


def medians(steps: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median seconds of each, in turns so that disturbances hit all."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for step in steps.values():
        for _ in range(LEAD_IN):
            step()
    for _ in range(rounds):
        for name, step in steps.items():
            for run in range(ROUND):
                begin = time.perf_counter()
                step()
                if run >= WARM:
                    times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(each) for name, each in times.items()}


def by_navserver(case: str, n: int, side: int, rounds: int) -> list[Row]:
    problem = walk(n, side)
    limits: dict[str, Any] = {"acceleration": 20.0, "turn_rate": 2 * np.pi}
    contestants = {
        "serial": ByNavserver(problem),
        "2_threads": ByNavserver(problem, 2),
        "accelerating": ByNavserver(problem, acceleration=20.0),
        "limited": ByNavserver(problem, **limits),
        "fixed": ByNavserver(walk(1, side)),
    }
    found = medians({name: each.step for name, each in contestants.items()}, rounds)
    serial, threaded = contestants["serial"], contestants["2_threads"]
    assert serial.position.tobytes() == threaded.position.tobytes(), "threads have changed a result"
    rows = [
        Row(case, "navserver", "ns_per_mover", found["serial"] * 1e9 / n, "ns"),
        Row(case, "navserver", "ms_per_step", found["serial"] * 1e3, "ms"),
    ]
    rows += [
        Row(case, "navserver", f"ns_per_mover_{name}", found[name] * 1e9 / n, "ns")
        for name in ("2_threads", "accelerating", "limited")
    ]
    rows.append(Row(case, "navserver", "us_per_step_fixed", found["fixed"] * 1e6, "us"))
    for each in contestants.values():
        each.stepper.close()
    return rows


def by_numpy(case: str, n: int, side: int, rounds: int) -> list[Row]:
    problem = walk(n, side)
    theirs, ours = ByNumpy(problem), ByNavserver(problem)
    found = medians({"numpy": theirs.step}, rounds)
    steps = LEAD_IN + rounds * ROUND
    for _ in range(steps):
        ours.step()
    apart = np.abs(theirs.position - ours.position).max()
    # It adds up rounding, a millionth of the coordinate a step.
    assert apart < 1e-6 * side * steps, f"they are {apart} cells apart"
    return [
        Row(case, "numpy", "ns_per_mover", found["numpy"] * 1e9 / n, "ns"),
        Row(case, "numpy", "ms_per_step", found["numpy"] * 1e3, "ms"),
    ]


def walk_10000(contender: str, quick: bool) -> list[Row]:
    """10,000 movers on 512 x 512, serial and on two threads, with and without limits."""
    of = by_navserver if contender == "navserver" else by_numpy
    return of("walk_10000", 10_000, 512, 10 if quick else 50)


def walk_1000000(contender: str, quick: bool) -> list[Row]:
    """1,000,000 movers on 2048 x 2048, and 100,000 to compare."""
    case, rounds = "walk_1000000", 1 if quick else 3
    if contender == "numpy":
        return by_numpy(case, 1_000_000, 2048, rounds)
    rows = []
    for n in (100_000, 1_000_000):
        problem = walk(n, 2048)
        one, two = ByNavserver(problem), ByNavserver(problem, 2)
        found = medians({"serial": one.step, "2_threads": two.step}, rounds)
        assert one.position.tobytes() == two.position.tobytes(), "threads have changed a result"
        at = "" if n == 1_000_000 else "_100000"
        rows.append(Row(case, contender, f"ns_per_mover{at}", found["serial"] * 1e9 / n, "ns"))
        if not at:
            rows.append(Row(case, contender, "ms_per_step", found["serial"] * 1e3, "ms"))
        ns = found["2_threads"] * 1e9 / n
        rows.append(Row(case, contender, f"ns_per_mover{at}_2_threads", ns, "ns"))
        two.stepper.close()
    values = {row.metric: row.value for row in rows}
    growth = values["ns_per_mover"] / values["ns_per_mover_100000"]
    return [*rows, Row(case, contender, "growth_from_100000", growth, "times a mover")]


WALK_CASES = {
    "walk_10000": {"navserver": walk_10000, "numpy": walk_10000},
    "walk_1000000": {"navserver": walk_1000000, "numpy": walk_1000000},
}
