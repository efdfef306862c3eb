from __future__ import annotations

import psutil
import pytest

from navserver.client import Client
from navserver.sidecar.launch import launched_sidecar
from navserver.status import NavserverError


@pytest.mark.slow
def test_a_sidecar_lives_as_long_as_the_block() -> None:
    with launched_sidecar("--map", "builtin:rooms", "--workers", "1") as (file, info):
        assert psutil.pid_exists(info.pid)
        with Client.connect(connection_file=file, timeout=60.0) as client:
            assert client.server["protocol"] == info.protocol
    assert not psutil.pid_exists(info.pid)
    assert not file.exists()
    assert not file.parent.exists()


def test_an_error_of_the_block_ends_it_too() -> None:
    with pytest.raises(ZeroDivisionError), launched_sidecar() as (_, info):
        raise ZeroDivisionError
    assert not psutil.pid_exists(info.pid)


def test_one_that_does_not_start_says_why() -> None:
    with (
        pytest.raises(NavserverError, match=r"does not start: .*none\.map"),
        launched_sidecar("--map", "none.map"),
    ):
        pytest.fail("it has started")
