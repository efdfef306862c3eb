"""Bots timed, in process and as clients: ``python -m benchmarks.bench_bots [--quick] [--json]``.

``--case`` and ``--sizes`` run a part of it, where a machine is quiet only for a while.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.bench_wire import PATIENCE, connect, server_process
from benchmarks.rows import Row, print_rows, say
from navserver.fleet import Fleet
from navserver.maps.builtin import load_builtin
from navserver.search.grid import Grid
from navserver.sim.runner import Run
from navserver.sim.scenarios import BotKind, Scenario
from navserver.sim.setup import place_bots
from navserver.sim.worlds import LocalWorld
from navserver.wire.questions import Question, create_world, find_path

CASES = ("crowd", "clients_500")
STROLLERS = str(Path(__file__).with_name("strollers.py"))

CELLS_A_BOT = 26
"""The density of 10,000 bots on 512 x 512 cells."""
TICK = 0.1
# All crowds take turns of so many ticks: a disturbance then hits them all.
TURN = 5
# Until then all have had their first way and are spread over their trips.
UNTIMED = 60


class Crowd(NamedTuple):
    """A run, and what its ticks have taken."""

    bots: int
    avoids: bool
    run: Run
    seconds: list[float]

    def advance(self, ticks: int) -> None:
        for _ in range(ticks):
            began = time.perf_counter()
            self.run.advance()
            self.seconds.append(time.perf_counter() - began)

    @property
    def ns_per_bot_tick(self) -> float:
        return float(np.median(self.seconds)) / self.bots * 1e9


def make_crowd(bots: int, avoids: bool, threads: int | None = None) -> Crowd:
    side = round((CELLS_A_BOT * bots) ** 0.5)
    grid = load_builtin("obstacles", width=side, height=side).grid
    scenario = Scenario((BotKind("strollers", bots, STROLLERS),), dt=TICK, avoidance=avoids)
    setup = place_bots(scenario, grid)
    return Crowd(bots, avoids, Run(scenario, setup, LocalWorld(setup, threads)), [])


def time_crowds(sizes: list[int], turns: int, untimed: int = UNTIMED) -> list[Row]:
    crowds = [make_crowd(bots, avoids) for bots in sizes for avoids in (True, False)]
    for crowd in crowds:
        say(f"crowd: {crowd.bots:,} bots, {'with' if crowd.avoids else 'without'} avoidance")
        crowd.advance(untimed)
        crowd.seconds.clear()
    for _ in range(turns):
        for crowd in crowds:
            crowd.advance(TURN)
    rows = []
    for crowd in crowds:
        name = f"{crowd.bots}" if crowd.avoids else f"{crowd.bots}_no_avoidance"
        cost = crowd.ns_per_bot_tick
        rows += [
            Row("crowd", "navserver", f"bot_ticks_per_s_{name}", 1e9 / cost, "1/s"),
            Row("crowd", "navserver", f"ns_per_bot_tick_{name}", cost, "ns"),
        ]
        first = next(c for c in crowds if c.avoids == crowd.avoids)
        if crowd is not first:
            growth = cost / first.ns_per_bot_tick
            name = f"growth_{first.bots}_to_{name}"
            rows.append(Row("crowd", "navserver", name, growth, "x"))
        result = crowd.run.result()
        crowd.run.world.close()
        if result.in_wall or sum(result.counts.values()) != crowd.bots:
            raise RuntimeError(f"{result.in_wall} bots in walls, counts {result.counts}")
    return rows


# --- clients over the wire ------------------------------------------------------------------------

WORLD, SIDE = "town", 512
# Ways of up to about so many cells along each axis: a unit that is sent across the screen.
REACH = 48


class Asker:
    """Clients that each ask for random ways on one map."""

    def __init__(self, fleet: Fleet, grid: Grid) -> None:
        self.fleet = fleet
        self._random = np.random.default_rng(7)
        self._free = np.argwhere(~grid.blocked())[:, ::-1]

    def question(self) -> Question[object]:
        start = self._free[self._random.integers(len(self._free))]
        near = start + self._random.integers(-REACH, REACH + 1, 2)
        goal = np.clip(near, 0, SIDE - 1).tolist()
        return find_path(WORLD, start.tolist(), goal)  # type: ignore[return-value]

    def flood(self, seconds: float) -> tuple[list[float], float]:
        """All ask again as soon as they are answered; return latencies and answers a second."""
        for client in range(len(self.fleet)):
            self.fleet.ask(client, self.question())
        latencies = []
        began = time.perf_counter()
        while (now := time.perf_counter()) - began < seconds:
            for reply in self.fleet.collect(0.1):
                latencies.append(reply.seconds)
                self.fleet.ask(reply.client, self.question())
        self._drain()
        return latencies, len(latencies) / (now - began)

    def pace(self, seconds: float, interval: float) -> list[float]:
        """Each asks once an interval, all evenly spread; return latencies."""
        latencies: list[float] = []
        count, asked = len(self.fleet), 0
        began = time.perf_counter()
        while (passed := time.perf_counter() - began) < seconds:
            while asked < passed / interval * count:
                self.fleet.ask(asked % count, self.question())
                asked += 1
            latencies += [reply.seconds for reply in self.fleet.collect(0.001)]
        return latencies + self._drain()

    def _drain(self) -> list[float]:
        latencies: list[float] = []
        while self.fleet.waiting:
            latencies += [reply.seconds for reply in self.fleet.collect(1.0)]
        return latencies


def time_clients(count: int, seconds: float) -> list[Row]:
    case = f"clients_{count}"
    grid = load_builtin("obstacles", width=SIDE, height=SIDE).grid
    with server_process() as (_, ready):
        with connect(ready) as client:
            client.ask(create_world(WORLD, grid.classes))
        with Fleet(count, port=ready["port"], token=ready["token"], timeout=PATIENCE) as fleet:
            asker = Asker(fleet, grid)
            asker.flood(seconds / 4)
            flooded, rate = asker.flood(seconds)
            paced = asker.pace(seconds, interval=count / (rate / 4))
    figures = {
        "requests_per_s": (rate, "1/s"),
        "p50_us": (quantile(flooded, 50), "us"),
        "p99_us": (quantile(flooded, 99), "us"),
        "paced_requests_per_s": (rate / 4, "1/s"),
        "paced_p50_us": (quantile(paced, 50), "us"),
        "paced_p99_us": (quantile(paced, 99), "us"),
    }
    return [Row(case, "navserver", name, value, unit) for name, (value, unit) in figures.items()]


def quantile(latencies: list[float], share: float) -> float:
    return float(np.percentile(latencies, share)) * 1e6


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench_bots", description="Time bots, in process and as clients."
    )
    parser.add_argument("--quick", action="store_true", help="no 100,000 bots, fewer ticks")
    parser.add_argument("--json", action="store_true", help="an array of rows on stdout")
    parser.add_argument(
        "--case", action="append", choices=CASES, help="may be given again; default: all"
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", metavar="BOTS",
        help="crowds of these sizes alone; growth is told from the first one",
    )  # fmt: skip
    parser.add_argument(
        "--turns", type=int, metavar="N", help=f"timed turns of {TURN} ticks; default 12, quick 4"
    )
    options = parser.parse_args(arguments)
    rows = []
    if options.quick:
        say("quick: fewer ticks, so the figures are rough")
    cases = options.case or CASES
    if "crowd" in cases:
        sizes = options.sizes or ([1_000, 10_000] if options.quick else [1_000, 10_000, 100_000])
        rows += time_crowds(sizes, turns=options.turns or (4 if options.quick else 12))
    if "clients_500" in cases:
        rows += time_clients(500, 3.0 if options.quick else 10.0)
    print_rows("Bots" + ", quick" * options.quick, rows, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
