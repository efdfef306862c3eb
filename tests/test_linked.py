from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from navserver.linked import as_seconds, no_server
from navserver.status import InputError


@pytest.mark.parametrize("seconds", [0, 0.5, 3, math.inf, np.float32(0.5), np.int64(3)])
def test_a_time_to_wait_is_no_less_than_nothing(seconds: Any) -> None:
    assert as_seconds("timeout", seconds) == seconds


@pytest.mark.parametrize("seconds", [-1, -1e-9, math.nan, "1", None, 1j, [1.0]])
def test_what_is_no_time_is_named(seconds: Any) -> None:
    with pytest.raises(InputError, match=r"timeout: .* is no time to wait"):
        as_seconds("timeout", seconds)


def test_a_remedy_is_told_once() -> None:
    assert str(no_server("nothing answers")).endswith("; start one")
    assert str(no_server("the file is gone; name another")) == (
        "no server: the file is gone; name another"
    )
