"""A sidecar in a process of its own, for as long as it is needed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from navserver.sidecar.connection_file import ConnectionInfo
from navserver.status import NavserverError

__all__ = ["launched_sidecar"]

_END_SECONDS = 10.0


@contextmanager
def launched_sidecar(*arguments: str) -> Iterator[tuple[Path, ConnectionInfo]]:
    """Run ``navserver serve`` while a block runs.

    Parameters
    ----------
    *arguments : str
        Further ones of ``serve``.

    Yields
    ------
    file : Path
        The connection file.
    info : ConnectionInfo
        What it says.

    Raises
    ------
    NavserverError
        If it does not start; with the last line that it has said.
    """
    with tempfile.TemporaryDirectory(prefix="navserver-") as folder:
        file, log = Path(folder) / "connection.json", Path(folder) / "log"
        command = [
            sys.executable, "-m", "navserver", "serve", "--stdin-eof",
            "--parent-pid", str(os.getpid()), "--connection-file", str(file), *arguments,
        ]  # fmt: skip
        # What it logs must not fill a pipe that nobody reads.
        with (
            log.open("wb") as said,
            subprocess.Popen(  # noqa: S603 - this program
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said
            ) as process,
        ):
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                ready = process.stdout.readline().decode()
                if not ready:
                    process.wait(_END_SECONDS)
                    raise NavserverError(f"the sidecar does not start: {_last_line(log)}")
                yield file, ConnectionInfo.parse(ready, "the sidecar's first line")
            finally:
                # Its lifeline: it answers what waits, and ends.
                process.stdin.close()
                try:
                    process.wait(_END_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    told = [line.strip() for line in lines if line.strip()]
    return told[-1] if told else "it said nothing; try `navserver serve`"
