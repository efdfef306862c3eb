"""``navserver warmup``: compile every kernel before it is needed."""

from __future__ import annotations

import argparse
import time
from typing import Any

from navserver._jit import KERNELS, cache_folder
from navserver.commands.progress import compile_visibly

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
    compile_visibly()
    folder = cache_folder()
    where = "not kept: no writable cache folder" if folder is None else f"kept in {folder}"
    print(f"{len(KERNELS)} kernels ready in {time.perf_counter() - began:.1f} s, {where}")
    return 0
