from __future__ import annotations

import pytest

from navserver.sidecar.open_files import allow_open_files

resource = pytest.importorskip("resource", reason="only POSIX systems limit open files")


def test_the_limit_is_raised_as_far_as_the_system_lets_it() -> None:
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        low = min(before, 300) if before > 0 else 300
        resource.setrlimit(resource.RLIMIT_NOFILE, (low, hard))
        assert allow_open_files(low - 40) == low
        assert allow_open_files(low + 50) == low + 50
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == low + 50
        assert allow_open_files(low) == low + 50
        if hard != resource.RLIM_INFINITY:
            assert allow_open_files(hard + 1) == hard
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))
