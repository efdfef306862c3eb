"""``navserver stats``: what a running server does."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from navserver.commands.arguments import as_number
from navserver.status import InputError, NavserverError

if TYPE_CHECKING:
    from navserver.client import Client

__all__ = ["add_to", "figures_as_text", "run"]

_NO_SERVER = 1
_CLEAR = "\x1b[H\x1b[J"
_TIMEOUT_SECONDS = 5.0


def add_to(commands: Any) -> None:
    """State the command's arguments.

    Parameters
    ----------
    commands : argparse subparsers
        Where the command is added.
    """
    parser = commands.add_parser(
        "stats",
        help="show what a running server does",
        description="Show the figures of a running server: requests by kind with their times,\n"
        "queue, cache, memory and movers. Exit code 1 if there is no server.",
    )
    parser.add_argument(
        "--connection-file", type=Path, metavar="F", help="what the server has written; default: "
        "what `serve --connection-file` without a name writes"
    )  # fmt: skip
    parser.add_argument(
        "--watch",
        nargs="?",
        type=as_number,
        const=1.0,
        metavar="S",
        help="show them anew every S seconds, 1 if left out, until Ctrl-C",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one object a line")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show the figures, once or until the server ends.

    Parameters
    ----------
    arguments : Namespace
        As `add_to` states them.

    Returns
    -------
    int
        0, or 1 if there is no server.
    """
    if arguments.watch is not None and not 0.05 <= arguments.watch <= 3600.0:
        raise InputError("watch", arguments.watch, "is no interval", "give 0.05 to 3600 seconds")
    # Slow to import, and not needed to find a mistake in the arguments.
    from navserver.client import Client  # noqa: PLC0415
    from navserver.wire.client_errors import (  # noqa: PLC0415
        RequestTimeoutError,
        ServerUnavailableError,
    )

    try:
        with Client.connect(
            connection_file=arguments.connection_file, timeout=_TIMEOUT_SECONDS
        ) as client:
            _show(client, arguments)
    except (ServerUnavailableError, RequestTimeoutError) as error:
        return _fail(error)
    except KeyboardInterrupt:
        if arguments.watch is None:
            raise
    return 0


def _fail(error: NavserverError) -> int:
    print(f"navserver: {error}", file=sys.stderr)
    return _NO_SERVER


def _show(client: Client, arguments: argparse.Namespace) -> None:
    before: dict[str, float] = {}
    while True:
        figures = client.stats()
        if arguments.json:
            print(json.dumps({"server": client.server["server"], **figures}), flush=True)
        else:
            if arguments.watch is not None and sys.stdout.isatty():
                print(end=_CLEAR)
            print(client.server["server"])
            print(figures_as_text(figures, before), flush=True)
        if arguments.watch is None:
            return
        before = figures
        time.sleep(arguments.watch)


def figures_as_text(figures: Mapping[str, float], before: Mapping[str, float] | None = None) -> str:
    """Return the figures of a server for people.

    Parameters
    ----------
    figures : mapping of str to float
        From `Client.stats`.
    before : mapping of str to float, optional
        Earlier ones of the same server: rates are those since then.

    Returns
    -------
    str
        Lines.

    Examples
    --------
    >>> print(figures_as_text({"uptime_s": 75, "sessions": 2, "path.count": 10,
    ...                        "path.p50_us": 85, "path.p99_us": 1250}))
    up           1 min 15 s, 2 sessions, 0 other requests open
    <BLANKLINE>
    request           count  errors      p50      p99
    path                 10       0    85 us   1.2 ms
    <BLANKLINE>
    queue        0 rows in 0 requests, 0 at work
    cache        0 paths, no path was looked for in it
    memory       0 MB, 0 MB of it worlds
    movers       none
    """

    def figure(name: str) -> float:
        return figures.get(name, 0.0)

    def line(name: str, text: str) -> str:
        return f"{name:<13}{text}"

    held = [
        line("queue", f"{figure('queue.rows'):,.0f} rows in {figure('queue.requests'):,.0f} "
             f"requests, {figure('queue.at_work'):,.0f} at work"),
        line("cache", f"{figure('cache.paths'):,.0f} paths, {_cache(figures)}"),
        line("memory", f"{figure('memory.process_bytes') / 1e6:,.0f} MB, "
             f"{figure('memory.worlds_bytes') / 1e6:,.0f} MB of it worlds"),
        line("movers", _movers(figures)),
    ]  # fmt: skip
    # The question for these figures is open as well.
    up = (
        f"{_duration(figure('uptime_s'))}, {figure('sessions'):,.0f} sessions, "
        f"{max(0.0, figure('requests_open') - 1.0):,.0f} other requests open"
    )
    if figure("warm_up.done") < figure("warm_up.total"):
        up += (
            f"\n{'':13}compiles its searches, {figure('warm_up.done'):.0f} of "
            f"{figure('warm_up.total'):.0f} groups done: requests wait or are slow"
        )
    return "\n".join([line("up", up), "", *_kinds(figures, before or {}), "", *held])


def _cache(figures: Mapping[str, float]) -> str:
    asked = figures.get("cache.asked", 0.0)
    if asked == 0.0:
        return "no path was looked for in it"
    return f"{100 * figures.get('cache.hit_rate', 0.0):.0f} % of {asked:,.0f} questions answered"


def _movers(figures: Mapping[str, float]) -> str:
    count = figures.get("movers.count", 0.0)
    if count == 0.0:
        return "none"
    return (
        f"{count:,.0f}, running in {figures.get('movers.running', 0.0):,.0f} worlds, "
        f"{figures.get('movers.skipped', 0.0):,.0f} steps left out; a turn "
        f"{_time(figures.get('movers.stepping.p50_us', 0.0))}, "
        f"{_time(figures.get('movers.stepping.p99_us', 0.0))} at p99"
    )


def _kinds(figures: Mapping[str, float], before: Mapping[str, float]) -> list[str]:
    """Return the table of requests by kind."""
    lines = ["request           count  errors      p50      p99" + "     a second" * bool(before)]
    seconds = figures.get("uptime_s", 0.0) - before.get("uptime_s", 0.0)
    kinds = (name[: -len(".p50_us")] for name in figures if name.endswith(".p50_us"))
    # In one order, whatever was asked first: rows keep their places while one watches.
    for kind in sorted(kind for kind in kinds if not kind.startswith(("movers.", "worlds."))):
        count = figures.get(f"{kind}.count", 0.0)
        row = (
            f"{kind:<14} {count:>8,.0f} {figures.get(f'{kind}.errors', 0.0):>7,.0f} "
            f"{_time(figures[f'{kind}.p50_us']):>8} {_time(figures.get(f'{kind}.p99_us', 0.0)):>8}"
        )
        if before and seconds > 0.0:
            row += f" {(count - before.get(f'{kind}.count', 0.0)) / seconds:>12,.1f}"
        lines.append(row)
    return lines


def _time(us: float) -> str:
    if us < 1000.0:
        return f"{us:.0f} us"
    return f"{us / 1e3:.1f} ms" if us < 1e6 else f"{us / 1e6:.1f} s"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
