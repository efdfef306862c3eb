from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import Future

import pytest

from navserver.sidecar.aside import Aside


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities of their own there")
def test_what_is_done_aside_stands_back() -> None:
    woken = threading.Event()
    aside = Aside(woken.set)
    told: list[int] = []

    def niceness() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    def then(outcome: Future[int]) -> tuple[()]:
        told.append(outcome.result())
        return ()

    aside.do(niceness, then)
    assert woken.wait(60.0)
    assert aside.take() == []
    aside.close()
    assert told == [min(19, max(5, niceness()))]
