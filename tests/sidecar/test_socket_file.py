from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from navserver.sidecar.socket_file import SocketFile
from navserver.status import InputError

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no local sockets here")


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        yield listener


def is_heard(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as caller:
        return caller.connect_ex(path) == 0


def bind(path: Path, listener: socket.socket) -> SocketFile:
    file = SocketFile(str(path), is_heard)
    with file.making():
        listener.bind(str(path))
    listener.listen()
    return file


def test_it_is_its_owners_alone_and_gone_afterwards(
    tmp_path: Path, listening: socket.socket
) -> None:
    path = tmp_path / "socket"
    before = os.umask(0)
    try:
        file = bind(path, listening)
        assert os.umask(0) == 0
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    file.remove()
    file.remove()
    assert not path.exists()


@pytest.mark.parametrize("make", [lambda path: path.write_text("map"), Path.mkdir])
def test_what_is_no_socket_is_kept(make: object, tmp_path: Path) -> None:
    path = tmp_path / "town.map"
    make(path)  # type: ignore[operator]
    with pytest.raises(InputError, match=r"ipc: .*is there already"):
        SocketFile(str(path), is_heard)
    assert path.exists()


def test_the_socket_of_a_server_that_runs_is_kept(tmp_path: Path, listening: socket.socket) -> None:
    path = tmp_path / "socket"
    bind(path, listening)
    with pytest.raises(InputError, match="a server that runs"):
        SocketFile(str(path), is_heard)
    listening.close()
    SocketFile(str(path), is_heard)


def test_another_servers_socket_is_not_removed(tmp_path: Path, listening: socket.socket) -> None:
    path = tmp_path / "socket"
    file = bind(path, listening)
    # Kept beside it, so that its number is not given again.
    path.rename(tmp_path / "former")
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        file.remove()
        assert path.exists()


def test_a_path_where_nothing_was_made_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="none"),
        SocketFile(str(tmp_path / "none"), is_heard).making(),
    ):
        pass
