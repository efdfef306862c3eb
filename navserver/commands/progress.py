"""What a long command shows of how far it is, and how the user stops it."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from navserver._jit import warm_up

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Progress", "StopRequest", "compile_visibly"]

# A bar is drawn anew at most so often: searches take microseconds, it must not take more.
_BAR_SECONDS = 0.05


class Progress:
    """A bar on a terminal, else a line now and then; all on standard error.

    Parameters
    ----------
    line_seconds : float
        Where there is no terminal: seconds between two lines; infinite for none.
    """

    def __init__(self, line_seconds: float = math.inf) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._interval = _BAR_SECONDS if self._on_terminal else line_seconds
        # A terminal shows at once that something goes on.
        self._shown = 0.0 if self._on_terminal else time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the terminal as it was, however the work has ended."""
        if self._bar is not None:
            self._bar.stop()

    def show(self, done: int, total: int, text: str) -> None:
        """Tell how far it is, unless that was told just now.

        Parameters
        ----------
        done, total : int
            Parts of the work.
        text : str
            What is at work, or what has come of it.
        """
        now = time.monotonic()
        if now - self._shown < self._interval and done < total:
            return
        self._shown = now
        if self._on_terminal:
            self._draw(done, total, text)
        elif done < total:
            print(f"{done:,} of {total:,}: {text}", file=sys.stderr, flush=True)

    def _draw(self, done: int, total: int, text: str) -> None:
        from rich.console import Console  # noqa: PLC0415 - slow to import, only for terminals
        from rich.progress import Progress as Bar  # noqa: PLC0415
        from rich.progress import SpinnerColumn, TimeElapsedColumn  # noqa: PLC0415

        if self._bar is None:
            self._bar = Bar(
                SpinnerColumn(),
                *Bar.get_default_columns(),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(text)
            self._bar.start()
        self._bar.update(self._task, completed=done, total=total, description=text)
        # Now, not when its own thread gets its turn beside kernels.
        self._bar.refresh()


def compile_visibly(line_seconds: float = math.inf) -> None:
    """Compile all kernels, and show how far that is.

    Parameters
    ----------
    line_seconds : float
        As for `Progress`.
    """
    with Progress(line_seconds) as progress:
        warm_up(lambda done, total, name: progress.show(done, total, f"compiling {name}"))


class StopRequest:
    """Lets the first Ctrl-C, or the first signal to end, ask for an end, and the second one end it.

    As a context; it changes nothing outside the main thread, where no signal arrives.
    """

    def __init__(self) -> None:
        self.is_made = False
        """Whether the user has asked for an end."""
        self._former: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        """Wait for a signal."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._former[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let signals do what they did before."""
        for number, former in self._former.items():
            signal.signal(number, former)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.is_made:
            signal.default_int_handler(number, frame)
        self.is_made = True
        print(
            "\nnavserver: ending with what there is; Ctrl-C again ends at once",
            file=sys.stderr,
            flush=True,
        )
