from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress

import pytest

from navserver.commands import progress as progress_module
from navserver.commands.progress import Progress, StopRequest


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(progress_module.time, "monotonic", lambda: self.now)


def test_lines_come_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    with Progress(line_seconds=10.0) as progress:
        for clock.now in (1.0, 9.0, 11.0, 12.0, 22.0):
            progress.show(int(clock.now), 1000, "ticks")
    assert capsys.readouterr().err == "11 of 1,000: ticks\n22 of 1,000: ticks\n"


def test_nothing_is_shown_without_a_terminal_unless_lines_are_wanted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    with Progress() as progress:
        for clock.now in (1.0, 1e6):
            progress.show(1, 2, "maps")
    assert capsys.readouterr().err == ""


def test_a_bar_comes_at_once_and_goes_however_the_work_ends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with suppress(ZeroDivisionError), Progress() as progress:
        progress.show(0, 100_000, "bots walk")
        assert progress._bar.live.is_started
        raise ZeroDivisionError
    assert not progress._bar.live.is_started
    assert "bots walk" in capsys.readouterr().err


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_one_ends(
    first: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with StopRequest() as stop:
        assert not stop.is_made
        os.kill(os.getpid(), first)
        assert stop.is_made
        assert "Ctrl-C again ends at once" in capsys.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_other_threads_leave_the_signal_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work() -> None:
        with StopRequest() as stop:
            seen.append((signal.getsignal(signal.SIGINT), stop.is_made))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(before, False)]
