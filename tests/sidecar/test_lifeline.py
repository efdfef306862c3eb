from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from navserver.sidecar.lifeline import IdleTimer, ParentWatch, watch_stdin
from navserver.status import InputError


def test_a_process_is_there_until_it_ends() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    watch = ParentWatch(child.pid)
    assert not watch.is_gone()
    child.kill()
    assert child.stdin is not None
    # Not reaped yet: on Linux it is a zombie now.
    for _ in range(200):
        if watch.is_gone():
            break
        threading.Event().wait(0.02)
    assert watch.is_gone()
    child.wait()
    assert watch.is_gone()
    child.stdin.close()


@pytest.mark.parametrize("pid", [-1, 0x7FFFFFF0, 2**40])
def test_what_is_no_process_is_refused(pid: int) -> None:
    with pytest.raises(InputError, match="parent-pid"):
        ParentWatch(pid)


def test_the_end_of_a_stream_is_told_once() -> None:
    read, write = os.pipe()
    ended = threading.Event()
    with os.fdopen(read, "rb") as stream:
        thread = watch_stdin(ended.set, stream)
        os.write(write, b"something")
        assert not ended.wait(0.05)
        os.close(write)
        assert ended.wait(10)
        thread.join(10)


def test_a_stream_that_is_closed_has_ended() -> None:
    ended = threading.Event()
    read, write = os.pipe()
    stream = os.fdopen(read, "rb")
    stream.close()
    watch_stdin(ended.set, stream)
    assert ended.wait(10)
    os.close(write)


def test_without_a_timeout_idleness_does_not_count() -> None:
    assert not IdleTimer(None, 0.0).has_run_out(0, 1e9)


def test_the_time_counts_from_the_last_client() -> None:
    timer = IdleTimer(5.0, 0.0)
    assert not timer.has_run_out(0, 4.9)
    assert not timer.has_run_out(1, 100.0)
    assert not timer.has_run_out(0, 104.9)
    assert timer.has_run_out(0, 105.0)
