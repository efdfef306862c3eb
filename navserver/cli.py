"""The command line: ``navserver path``, ``query`` and the other commands."""

from __future__ import annotations

import io
import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from navserver import __version__
from navserver.commands import (
    bots,
    check,
    demo,
    doctor,
    install_addon,
    path,
    query,
    replay,
    serve,
    stats,
    warmup,
)
from navserver.commands.arguments import Parser, UsageError, in_options, protect_cells
from navserver.status import InputError, MapFileError, NavserverError

__all__ = ["main"]

BAD_INPUT = 2
# As shells report a program that a signal ended.
INTERRUPTED = 130
READER_LEFT = 141


def build_parser() -> Parser:
    """Return the parser of the whole command line.

    Returns
    -------
    Parser
        Each command sets ``run``, called with the parsed arguments.
    """
    parser = Parser(
        prog="navserver",
        description="Pathfinding over grid maps: search, ask, check, walk, draw.",
        epilog="navserver COMMAND --help says more. Exit codes: 0 done, 2 bad input, "
        "1 as the command says.",
    )
    parser.add_argument("--version", action="version", version=f"navserver {__version__}")
    commands = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=True, parser_class=Parser
    )
    for command in (
        path, query, check, bots, replay, serve, stats, doctor, warmup, demo, install_addon,
    ):  # fmt: skip
        command.add_to(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line without the program's name; the process's own if left out.

    Returns
    -------
    int
        The exit code.
    """
    _open_closed_streams()
    given = protect_cells(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        # Files may have names that the terminal's encoding cannot show.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = _run(build_parser().parse_args(given))
        sys.stdout.flush()
    except NavserverError as error:
        print(f"navserver: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        _drop_output()
        return READER_LEFT
    except OSError as error:
        _drop_output()
        print(f"navserver: output: {error}; make room, or write elsewhere", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _open_closed_streams() -> None:
    """Put the null device where the process was given no stdin, stdout or stderr.

    Python has None there, and the next socket would get the stream's number.
    """
    # In this order: each takes the least number that is free.
    nothing = Path(os.devnull)
    sys.stdin = sys.stdin or nothing.open(encoding="utf-8")
    sys.stdout = sys.stdout or nothing.open("w", encoding="utf-8")
    sys.stderr = sys.stderr or nothing.open("w", encoding="utf-8")


def _run(parsed: Namespace) -> int:
    """Run the command chosen; what it refuses is named by the options that stated it."""
    try:
        code: int = parsed.run(parsed)
    except MapFileError:
        raise
    except InputError as error:
        # What a case file states has been stated by no option.
        stated = {} if getattr(parsed, "case", None) else getattr(parsed, "options", {})
        raise UsageError(in_options(error, stated)) from None
    return code


def _drop_output() -> None:
    """Leave nothing that the interpreter would fail to flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
