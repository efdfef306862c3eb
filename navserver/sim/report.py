"""The report of a run: one JSON object, pictures, and a page with both."""

from __future__ import annotations

import json
import tempfile
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.movers.columns import StuckReason
from navserver.render import save_picture
from navserver.search.profile import Profile
from navserver.sim.bots import BotState
from navserver.sim.page import Page, histogram, sparkline
from navserver.sim.runner import RunResult
from navserver.sim.scenarios import Area
from navserver.sim.statistics import ChokePoint, Reachability, cells_of, choke_points, reachability
from navserver.status import InputError

__all__ = ["REPORT", "summary_of", "write_report"]

REPORT = "report.html"
"""The name of the page."""

_PICTURES = ("traffic.png", "stuck.png")
_WORST_PLACES = 20

# A single cell of a map of such a side is plain to see.
_SIDE_OF_CLEAR_CELLS = 200


def summary_of(result: RunResult) -> dict[str, Any]:
    """Return the figures of a run.

    Parameters
    ----------
    result : RunResult
        The run.

    Returns
    -------
    dict
        Of what JSON can hold: what ``navserver bots --json`` prints.
    """
    tally = result.tally
    return {
        "bots": len(result.tick.state),
        "ticks": result.ticks,
        **result.counts,
        "in_wall": result.in_wall,
        "stuck_reasons": _stuck_reasons(result),
        "stuck_events": _stuck_events(result),
        "orders": tally.orders,
        "arrivals": tally.arrivals,
        "repaths": result.repaths,
        "path_over_straight": _quantiles(_detours(result)),
        "trip_seconds": _quantiles(tally.trips.seconds),
        "tick_us": _quantiles(result.tick_seconds * 1e6),
        **_traffic_of(result),
        "bot_ticks_per_s": round(result.bot_ticks_per_s),
        "peak_memory_bytes": _peak_memory(),
        "state_hash": result.state_hash,
        "error": result.error,
    }


def _traffic_of(result: RunResult) -> dict[str, Any]:
    """Return what requests have taken; null in process."""
    traffic = result.traffic
    if traffic is None:
        return {"latency_us": None, "requests": None}
    answered = traffic.latencies.size
    return {
        "latency_us": _quantiles(traffic.latencies * 1e6),
        "requests": {
            "answered": answered,
            "overloaded": traffic.overloaded,
            "per_s": round(answered / traffic.waited) if traffic.waited else 0,
        },
    }


def _quantiles(values: NDArray[Any]) -> dict[str, float] | None:
    if not values.size:
        return None
    p50, p95, p99, most = np.percentile(values, [50, 95, 99, 100]).tolist()
    return {"p50": round(p50, 3), "p95": round(p95, 3), "p99": round(p99, 3), "max": round(most, 3)}


def _detours(result: RunResult) -> NDArray[np.float64]:
    """Return how many times as long as a straight line each trip was."""
    trips = result.tally.trips
    far = trips.straight >= 1.0
    return (trips.walked[far] / trips.straight[far]).astype(np.float64)


def _stuck_rows(result: RunResult) -> NDArray[np.int64]:
    """Return the bots that count as stuck: told so, or on their way without progress."""
    state = result.tick.state
    idle = (state == BotState.EN_ROUTE) & ~result.tally.has_progressed(
        result.ticks * result.setup.dt
    )
    return np.flatnonzero((state == BotState.STUCK) | idle)


def _reason_of(reason: int) -> str:
    known = set(StuckReason) - {StuckReason.NONE}
    return StuckReason(reason).name.lower() if reason in known else "no_progress"


def _stuck_reasons(result: RunResult) -> dict[str, int]:
    reasons, counts = np.unique(result.tick.reason[_stuck_rows(result)], return_counts=True)
    found: dict[str, int] = {}
    for reason, count in zip(reasons.tolist(), counts.tolist(), strict=True):
        name = _reason_of(reason)
        found[name] = found.get(name, 0) + count
    return found


def _stuck_events(result: RunResult) -> dict[str, int]:
    """Return how often a bot got stuck over the whole run, by the reason."""
    events: dict[str, int] = {}
    for (reason, _), count in result.tally.stuck_reasons.items():
        name = _reason_of(reason)
        events[name] = events.get(name, 0) + count
    return dict(sorted(events.items(), key=lambda item: -item[1]))


def _peak_memory() -> int | None:
    """Return the most bytes that the process has held, where the system tells."""
    try:
        import resource  # noqa: PLC0415 - POSIX only
    except ImportError:
        import psutil  # noqa: PLC0415 - slow to import

        return int(getattr(psutil.Process().memory_info(), "peak_wset", 0)) or None
    import sys  # noqa: PLC0415

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def write_report(folder: str | PathLike[str], result: RunResult, title: str) -> Path:
    """Write ``report.html``, ``report.json`` and pictures.

    Parameters
    ----------
    folder : path-like
        Made if it is not there; files of the same names are replaced.
    result : RunResult
        The run.
    title : str
        What was run, in words.

    Returns
    -------
    Path
        Of the page, which needs none of the other files.

    Raises
    ------
    InputError
        If the folder cannot be written.
    NavserverError
        If Pillow is not installed.
    """
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place) as aside:
            _write(Path(aside), result, title)
            # The page comes last: where there is one, it is whole, and all that it tells is there.
            for name in (*_PICTURES, "report.json", REPORT):
                (Path(aside) / name).replace(place / name)
        return place / REPORT
    except OSError as error:
        raise InputError(
            "--out", fspath(folder), f"cannot be written ({error.strerror or error})",
            "name another folder, or make room",
        ) from None  # fmt: skip


def _write(place: Path, result: RunResult, title: str) -> None:
    summary = summary_of(result)
    chokes = choke_points(result.grid, result.tally.entries)
    reach = _reach_of(result)
    stuck = _stuck_places(result)
    worst = _worst_places(result)
    _draw(place / "traffic.png", result, result.tally.visits, [c.cell for c in chokes])
    spread = _spread(result.tally.stuck, result.grid.width, result.grid.height)
    spread[result.grid.blocked(_profile_of(result)).reshape(-1)] = 0
    _draw(place / "stuck.png", result, spread, [s["cell"] for s in stuck])
    details = {
        "choke_points": [{**c._asdict(), "cell": list(c.cell)} for c in chokes],
        "stuck_places": [{**s, "cell": list(s["cell"])} for s in stuck],
        "worst_places": [{**s, "cell": list(s["cell"])} for s in worst],
        "reachable_share": {
            "spawns": reach.spawns,
            "goals": reach.goals,
            "shares": [[None if np.isnan(v) else v for v in row] for row in reach.shares.tolist()],
        },
    }
    text = json.dumps({**summary, **details}, indent=1, allow_nan=False)
    (place / "report.json").write_text(text + "\n", encoding="utf-8")
    page = _page(place, result, title, summary, chokes, reach, stuck, worst)
    (place / REPORT).write_text(page.html(), encoding="utf-8")


def _spread(counts: NDArray[np.int64], width: int, height: int) -> NDArray[np.int64]:
    """Return counts that cells of a large map share with those beside them, to be seen at all."""
    reach = max(width, height) // _SIDE_OF_CLEAR_CELLS
    table = counts.reshape(height, width)
    for axis, side in ((0, height), (1, width)):
        wide = table.copy()
        for step in range(1, min(reach, side - 1) + 1):
            here = [slice(None), slice(None)]
            there = [slice(None), slice(None)]
            here[axis], there[axis] = slice(step, None), slice(None, -step)
            np.maximum(wide[tuple(here)], table[tuple(there)], out=wide[tuple(here)])
            np.maximum(wide[tuple(there)], table[tuple(here)], out=wide[tuple(there)])
        table = wide
    return table.reshape(-1).copy()


def _draw(file: Path, result: RunResult, counts: NDArray[np.int64], marks: list[Any]) -> None:
    with np.errstate(divide="ignore"):
        shades = np.where(counts > 0, np.log(np.maximum(counts, 1)), np.nan)
    grid = result.grid
    save_picture(
        file,
        grid,
        shades=shades.reshape(grid.height, grid.width),
        marks=marks or None,
        profile=_profile_of(result),
    )


def _profile_of(result: RunResult) -> Profile:
    return result.setup.kinds[0].profile


def _stuck_places(result: RunResult) -> list[dict[str, Any]]:
    """Return the cells where bots are stuck now, the fullest first, with the reasons."""
    rows = _stuck_rows(result)
    cells = cells_of(result.tick.position[rows])
    places: dict[tuple[int, int], dict[str, int]] = {}
    for (x, y), reason in zip(cells.tolist(), result.tick.reason[rows].tolist(), strict=True):
        reasons = places.setdefault((x, y), {})
        name = _reason_of(reason)
        reasons[name] = reasons.get(name, 0) + 1
    by_number = sorted(places.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    return [{"cell": cell, "reasons": reasons} for cell, reasons in by_number[:_WORST_PLACES]]


def _worst_places(result: RunResult) -> list[dict[str, Any]]:
    """Return the cells where bots got stuck most often over the whole run, with the reasons."""
    grid = result.grid
    ox, oy = grid.region_position
    places: dict[int, dict[str, int]] = {}
    for (reason, flat), count in result.tally.stuck_reasons.items():
        places.setdefault(flat, {})[_reason_of(reason)] = count
    by_number = sorted(places.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    return [
        {"cell": (flat % grid.width + ox, flat // grid.width + oy), "reasons": reasons}
        for flat, reasons in by_number[:_WORST_PLACES]
    ]


def _reach_of(result: RunResult) -> Reachability:
    """Return reachability between the areas of all kinds, on the map as it is now."""
    parts = []
    for number, kind in enumerate(result.setup.kinds):
        movement = result.setup.movements[number]
        spawns = _named(kind.name, "spawn", kind.spawn)
        goals = _named(kind.name, "goal", kind.goals)
        parts.append(reachability(result.grid, movement, spawns, goals))
    spawns_all = [name for part in parts for name in part.spawns]
    goals_all = [name for part in parts for name in part.goals]
    shares = np.full((len(spawns_all), len(goals_all)), np.nan)
    row = column = 0
    for part in parts:
        height, width = part.shares.shape
        shares[row : row + height, column : column + width] = part.shares
        row, column = row + height, column + width
    return Reachability(spawns_all, goals_all, shares)


def _named(kind: str, what: str, areas: tuple[Area, ...]) -> dict[str, Area | None]:
    if not areas:
        return {f"{kind}: anywhere": None}
    return {
        f"{kind}: {what} {i + 1} ({a.x}, {a.y}, {a.width} x {a.height})": a
        for i, a in enumerate(areas)
    }


def _page(
    place: Path,
    result: RunResult,
    title: str,
    summary: dict[str, Any],
    chokes: list[ChokePoint],
    reach: Reachability,
    stuck: list[dict[str, Any]],
    worst: list[dict[str, Any]],
) -> Page:
    grid, dt = result.grid, result.setup.dt
    page = Page(
        title,
        f"{summary['bots']:,} bots on {grid.width} x {grid.height} cells, "
        f"{result.ticks:,} ticks of {dt:g} s, seed {result.scenario.seed}",
    )
    if result.error is not None:
        page.paragraph(f"The run ended early: {result.error}", warns=True)
    if result.in_wall:
        page.paragraph(f"{result.in_wall:,} times a bot stood in a wall", warns=True)
    page.tiles((name, f"{summary[name]:,}") for name in ("arrived", "en_route", "stuck", "no_path"))
    _add_traffic(page, place, chokes)
    _add_stuck(page, place, summary, stuck, worst)
    _add_reach(page, reach)
    _add_trips(page, result, summary)
    _add_times(page, result, summary)
    return page


def _add_traffic(page: Page, place: Path, chokes: list[ChokePoint]) -> None:
    page.heading(
        "Traffic",
        "From green, where few bots were, to violet, where most were; dots mark the choke points.",
    )
    page.picture((place / "traffic.png").read_bytes(), "where the bots were")
    page.heading(
        "Choke points",
        "Narrow places, busiest first. Where bots queue here, a second way or a wider one helps.",
    )
    page.table(
        ["cell", "bots that entered", "cells wide"],
        [(f"{c.cell[0]}, {c.cell[1]}", c.entries, c.width) for c in chokes],
    )


def _add_stuck(
    page: Page,
    place: Path,
    summary: dict[str, Any],
    stuck: list[dict[str, Any]],
    worst: list[dict[str, Any]],
) -> None:
    page.heading("Stuck", "Where bots got stuck over the whole run; dots mark who is stuck now.")
    page.picture((place / "stuck.png").read_bytes(), "where bots got stuck")
    if worst:
        page.paragraph(f"Over the whole run: {_counted(summary['stuck_events'])} times.")
        page.table(["cell", "times, by the reason"], _rows_of(worst))
    reasons = summary["stuck_reasons"]
    if not reasons:
        page.paragraph("Nobody is stuck at the end.")
        return
    page.paragraph(f"At the end: {_counted(reasons)}.")
    page.table(["cell", "bots, by the reason"], _rows_of(stuck))


def _counted(reasons: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in reasons.items())


def _rows_of(places: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(f"{p['cell'][0]}, {p['cell'][1]}", _counted(p["reasons"])) for p in places]


def _add_reach(page: Page, reach: Reachability) -> None:
    page.heading(
        "Reachability",
        "Which share of pairs of cells is connected, from the spawn areas on the left to the goal "
        "areas above. 1 is all; under 1 some bots have no way.",
    )
    page.table(
        ["from", *reach.goals],
        [
            (name, *("" if np.isnan(v) else round(v, 4) for v in row))
            for name, row in zip(reach.spawns, reach.shares.tolist(), strict=True)
        ],
    )


def _add_trips(page: Page, result: RunResult, summary: dict[str, Any]) -> None:
    page.heading(
        "Trips",
        f"{summary['orders']:,} goals were given, {summary['arrivals']:,} reached; bots asked "
        f"{summary['repaths']:,} times for another way.",
    )
    detours = _detours(result)
    if detours.size:
        page.drawing(histogram(detours, "x"), "length of the way over that of a straight line")
    seconds = result.tally.trips.seconds
    if seconds.size:
        page.drawing(histogram(seconds, "s"), "time from the order to the arrival")


def _add_times(page: Page, result: RunResult, summary: dict[str, Any]) -> None:
    page.heading("Time and memory")
    rows = [(name, summary[key]) for name, key in _TIMES if summary[key] is not None]
    page.table(
        ["us", "p50", "p95", "p99", "max"],
        [(name, *(float(v) for v in quantiles.values())) for name, quantiles in rows],
    )
    if result.tick_seconds.size:
        page.drawing(sparkline(result.tick_seconds * 1e3, "ms"), "each tick's step")
    requests = summary["requests"]
    if requests is not None:
        page.paragraph(
            f"{requests['answered']:,} requests were answered over the wire, {requests['per_s']:,} "
            f"a second while answers were waited for; {requests['overloaded']:,} were put off."
        )
    memory = summary["peak_memory_bytes"]
    told = "" if memory is None else f", {memory / 2**20:,.0f} MiB of memory at most"
    page.paragraph(f"{summary['bot_ticks_per_s']:,} bot-ticks a second{told}.")
    page.paragraph(f"State hash at the end: {summary['state_hash']}")


_TIMES = (("a tick's step", "tick_us"), ("from request to answer", "latency_us"))
