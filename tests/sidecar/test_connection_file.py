from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from navserver.sidecar.connection_file import ConnectionInfo, default_connection_file, new_token
from navserver.status import InputError

INFO = ConnectionInfo(4711, "secret", 12, 1, "0.1.0", "abc", None)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "new" / "connection.json"
    INFO.write(path)
    assert ConnectionInfo.read(path) == INFO
    assert list(path.parent.iterdir()) == [path]
    assert json.loads(path.read_text())["event"] == "ready"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_only_the_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "connection.json"
    path.write_text("old")
    path.chmod(0o644)
    INFO.write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_it_is_removed_unless_it_is_anothers(tmp_path: Path) -> None:
    path = tmp_path / "connection.json"
    INFO.write(path)
    ConnectionInfo.remove(path, "xyz")
    assert path.exists()
    ConnectionInfo.remove(path, INFO.instance)
    assert not path.exists()
    ConnectionInfo.remove(path, INFO.instance)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="connection-file"):
        INFO.write(tmp_path / "file" / "connection.json")


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"port": "x"}', '{"port": 1, "token": "t"}', "\x00"]
)
def test_what_is_no_ready_line_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "connection.json"
    path.write_text(text)
    with pytest.raises(InputError, match="connection-file"):
        ConnectionInfo.read(path)


def test_a_missing_file_has_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="start a server"):
        ConnectionInfo.read(tmp_path / "none.json")


def test_later_fields_are_passed_over() -> None:
    content = {**json.loads(INFO.ready_line()), "later": 1}
    assert ConnectionInfo.parse(json.dumps(content), "x") == INFO


def test_tokens_are_long_and_differ() -> None:
    assert len(new_token()) >= 43
    assert new_token() != new_token()
    assert default_connection_file().name == "connection.json"
