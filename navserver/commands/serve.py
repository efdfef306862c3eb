"""``navserver serve``: run the server that games and editors talk to."""

from __future__ import annotations

import argparse
import ipaddress
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from navserver.commands.arguments import as_number, as_positive
from navserver.status import InputError

if TYPE_CHECKING:
    from navserver.service.world import World

__all__ = ["add_to", "run"]

# Each client is one; a load generator may bring thousands.
_OPEN_FILES = 32_768
# More than machines have cores; each is two threads.
_MOST_WORKERS = 256


def add_to(commands: Any) -> None:
    """State the command's arguments.

    Parameters
    ----------
    commands : argparse subparsers
        Where the command is added.
    """
    parser = commands.add_parser(
        "serve",
        help="run the server that games and editors talk to",
        description="Run the server. The first line on stdout is JSON with port, token, pid and\n"
        "protocol; the log goes to stderr. It listens on this machine only and ends on SIGTERM\n"
        "or Ctrl-C after all requests have been answered.",
    )
    parser.add_argument(
        "--port", type=_as_port, default=0, metavar="N", help="TCP port; default: one that is free"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="only 127.0.0.1 and localhost"
    )
    parser.add_argument("--ipc", metavar="PATH", help="listen on a local socket as well")
    parser.add_argument(
        "--connection-file",
        nargs="?",
        const=True,
        type=Path,
        metavar="F",
        help="write what clients must know to F; without F, to where they look by themselves",
    )
    parser.add_argument(
        "--map",
        dest="maps",
        action="append",
        default=[],
        metavar="FILE",
        help="a world to begin with, named by the file; may be given again",
    )
    parser.add_argument(
        "--workers", type=_as_workers, metavar="N", help="threads that search; default: all cores "
        "but two"
    )  # fmt: skip
    parser.add_argument(
        "--restore",
        type=Path,
        metavar="FILE",
        help="begin with the worlds of this snapshot, if there is one; snapshots are saved to it",
    )
    parser.add_argument("--log-json", action="store_true", help="log as JSON, one object a line")
    parser.add_argument(
        "--parent-pid", type=as_positive, metavar="PID", help="end when this process has ended"
    )
    parser.add_argument(
        "--idle-timeout", type=as_number, metavar="S", help="end after S seconds without a client"
    )
    parser.add_argument("--stdin-eof", action="store_true", help="end when stdin is closed")
    parser.set_defaults(run=run)


def _as_port(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 6 and int(text) < 65536:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no port; give 0 to 65535")


def _as_workers(text: str) -> int:
    number = as_positive(text)
    if number > _MOST_WORKERS:
        raise argparse.ArgumentTypeError(f"{text!r} are too many; give at most {_MOST_WORKERS}")
    return number


def run(arguments: argparse.Namespace) -> int:
    """Serve until told to end.

    Parameters
    ----------
    arguments : Namespace
        As `add_to` states them.

    Returns
    -------
    int
        0.
    """
    _check_host(arguments.host)
    if arguments.idle_timeout is not None and not 0 < arguments.idle_timeout < float("inf"):
        raise InputError(
            "idle-timeout", arguments.idle_timeout, "is no time", "give seconds above 0"
        )
    # Slow to import, and not needed to find a mistake in the arguments.
    from navserver.server import Server, ServerSettings  # noqa: PLC0415
    from navserver.sidecar.connection_file import (  # noqa: PLC0415
        ConnectionInfo,
        default_connection_file,
    )
    from navserver.sidecar.logbook import Logbook  # noqa: PLC0415
    from navserver.sidecar.open_files import allow_open_files  # noqa: PLC0415
    from navserver.sidecar.promptness import be_prompt, stay_prompt  # noqa: PLC0415

    allow_open_files(_OPEN_FILES)
    be_prompt()
    restored = None if arguments.restore is None else _restored(arguments.restore)
    worlds = _worlds_of(restored or (), arguments.maps)
    settings = ServerSettings(
        port=arguments.port,
        ipc=arguments.ipc,
        workers=arguments.workers,
        worlds=worlds,
        snapshot_file=arguments.restore,
        parent_pid=arguments.parent_pid,
        stdin_eof=arguments.stdin_eof,
        idle_timeout=arguments.idle_timeout,
    )
    logbook = Logbook(as_json=arguments.log_json)
    if arguments.restore is not None:
        event = "no_snapshot_yet" if restored is None else "snapshot_restored"
        logbook.note("info", event, file=str(arguments.restore), worlds=len(restored or ()))
    server = Server(settings, logbook, on_warm=stay_prompt)
    named: Path | Literal[True] | None = arguments.connection_file
    file = default_connection_file() if named is True else named

    def tell() -> None:
        if file is not None:
            info.write(file)
        print(info.ready_line(), flush=True)

    try:
        info = server.bind()
        return server.run(on_ready=tell)
    finally:
        server.close()
        if file is not None:
            ConnectionInfo.remove(file, server.instance)


def _restored(file: Path) -> list[World] | None:
    """Return the worlds of a snapshot; None where the first one is yet to be saved."""
    from navserver.service.snapshot import load_worlds  # noqa: PLC0415

    try:
        return load_worlds(file)
    except FileNotFoundError:
        if file.parent.is_dir():
            return None
        raise InputError(
            "restore", str(file), "is in a folder that does not exist",
            "make the folder, or name a file elsewhere",
        ) from None  # fmt: skip
    except OSError as error:
        raise InputError(
            "restore", str(file), f"cannot be read: {error.strerror}",
            "name the file of a snapshot that you may read",
        ) from None  # fmt: skip
    except InputError as error:
        remedy = "name another snapshot, or move this one away to begin without worlds"
        raise InputError("restore", str(file), error.problem, remedy) from None


def _worlds_of(restored: Iterable[World], files: Iterable[str]) -> list[World]:
    from navserver.maps.loading import load_map  # noqa: PLC0415
    from navserver.service.world import World  # noqa: PLC0415

    worlds = {world.name: world for world in restored}
    for file in files:
        name = file.removeprefix("builtin:") if file.startswith("builtin:") else Path(file).stem
        if name in worlds:
            raise InputError("map", file, f"is a second world named {name}", "rename the file")
        worlds[name] = World(name, load_map(file))
    return list(worlds.values())


def _check_host(host: str) -> None:
    try:
        is_local = host == "localhost" or ipaddress.ip_address(host) == ipaddress.ip_address(
            "127.0.0.1"
        )
    except ValueError:
        is_local = False
    if not is_local:
        raise InputError(
            "host", host, "is not this machine alone",
            "leave it out, and let others in through a tunnel",
        )  # fmt: skip
