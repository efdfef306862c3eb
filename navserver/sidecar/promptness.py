"""What keeps the server's process from holding up its answers, and the game beside it."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
from contextlib import suppress

__all__ = ["be_prompt", "stay_prompt", "step_back"]

# How long a thread that wants to run Python waits at most for one that does.
_SWITCH_SECONDS = 5e-4
# Requests make no cycles: what there is to be collected comes from worlds and sessions.
_GARBAGE_THRESHOLD = 20_000
_PR_SET_THP_DISABLE = 41
# A game and its editor on the same machine come first.
_NICE = 5


def be_prompt() -> None:
    """Let threads take turns often, and memory come in small pages; before worlds are made.

    For a process of its own only.

    A search on a large map touches cells far apart. In huge pages its first milliseconds go into
    clearing all that lies between them, and nothing can stop it meanwhile; later it is no faster.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    if sys.platform == "linux":
        # Where the kernel does not know it, nothing happens.
        ctypes.CDLL(None).prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0)


def stay_prompt() -> None:
    """Leave what there is by now out of garbage collection; once every kernel is compiled.

    For a process of its own only.

    Modules and kernels stay to the end, and to look through them takes some 50 ms.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE_THRESHOLD)


def step_back() -> None:
    """Let the calling thread stand back behind a game's, where threads have their own priority."""
    if hasattr(os, "SCHED_BATCH"):
        # Else it takes the core of a game's frame when it wakes, and keeps it for milliseconds.
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    if hasattr(os, "setpriority"):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
