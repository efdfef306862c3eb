"""What keeps the server's process from holding its answers up; for a process of its own only."""

from __future__ import annotations

import ctypes
import gc
import sys

__all__ = ["be_prompt", "stay_prompt"]

# How long a thread that wants to run Python waits at most for one that does.
_SWITCH_SECONDS = 5e-4
# Requests make no cycles: what there is to be collected comes from worlds and sessions.
_GARBAGE_THRESHOLD = 20_000
_PR_SET_THP_DISABLE = 41


def be_prompt() -> None:
    """Let threads take turns often, and memory come in small pages; before worlds are made.

    A search on a large map touches cells far apart. In huge pages its first milliseconds go into
    clearing all that lies between them, and nothing can stop it meanwhile; later it is no faster.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    if sys.platform == "linux":
        # Where the kernel does not know it, nothing happens.
        ctypes.CDLL(None).prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0)


def stay_prompt() -> None:
    """Leave what there is by now out of garbage collection; once every kernel is compiled.

    Modules and kernels stay to the end, and to look through them takes some 50 ms.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE_THRESHOLD)
