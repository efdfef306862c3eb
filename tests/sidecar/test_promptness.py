from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from navserver.sidecar.promptness import step_back

CHECKOUT = Path(__file__).resolve().parent.parent.parent


def run(program: str) -> list[str]:
    """Run a program in a process of its own: what is set there stays to its end."""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_threads_take_turns_and_what_is_there_is_not_looked_through() -> None:
    program = (
        "import gc, sys\n"
        "from navserver.sidecar.promptness import be_prompt, stay_prompt\n"
        "be_prompt()\n"
        "kept = [[] for _ in range(100)]\n"
        "stay_prompt()\n"
        "print(sys.getswitchinterval() < 1e-3, gc.get_freeze_count() > 100)\n"
        "print(any(each is kept for each in gc.get_objects()), gc.isenabled())\n"
    )
    assert run(program) == ["True", "True", "False", "True"]


@pytest.mark.skipif(sys.platform != "linux", reason="pages of other systems are as they are")
def test_memory_comes_in_small_pages() -> None:
    program = (
        "from navserver.sidecar.promptness import be_prompt\n"
        "be_prompt()\n"
        "print(*[line for line in open('/proc/self/status') if line.startswith('THP_enabled')])\n"
    )
    assert run(program) in (["THP_enabled:", "0"], [])


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="others have no such threads")
def test_a_thread_that_steps_back_leaves_the_core_to_who_runs_there() -> None:
    found: list[tuple[int, int]] = []

    def work() -> None:
        step_back()
        found.append(
            (os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        )

    before = os.sched_getscheduler(0)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found[0][0] == os.SCHED_BATCH
    assert found[0][1] > os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    assert os.sched_getscheduler(0) == before
