"""``navserver warmup``: compile every kernel before it is needed."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from navserver._jit import KERNELS, cache_folder, warm_up

__all__ = ["add_to", "run"]


def add_to(commands: Any) -> None:
    """State the command's arguments.

    Parameters
    ----------
    commands : argparse subparsers
        Where the command is added.
    """
    parser = commands.add_parser(
        "warmup",
        help="compile every kernel now, so that no search has to wait for it",
        description="Compile every kernel into the cache. Later starts load them in well "
        "under a\nsecond, until the package or numba changes.",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:  # noqa: ARG001 - all commands are called alike
    """Compile, with a bar on a terminal.

    Parameters
    ----------
    arguments : Namespace
        None are needed.

    Returns
    -------
    int
        0.
    """
    began = time.perf_counter()
    if sys.stderr.isatty():
        _warm_up_visibly()
    else:
        warm_up()
    folder = cache_folder()
    where = "not kept: no writable cache folder" if folder is None else f"kept in {folder}"
    print(f"{len(KERNELS)} kernels ready in {time.perf_counter() - began:.1f} s, {where}")
    return 0


def _warm_up_visibly() -> None:
    from rich.console import Console  # noqa: PLC0415 - slow to import, only for terminals
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("compiling", total=None)

        def show(done: int, total: int, name: str) -> None:
            progress.update(task, completed=done, total=total, description=name)
            progress.refresh()

        warm_up(show)
