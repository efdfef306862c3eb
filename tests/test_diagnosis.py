from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from navserver import diagnosis
from navserver.diagnosis import Finding, diagnose
from navserver.sidecar.connection_file import ConnectionInfo
from tests.serving import PATIENCE, serving


def only(findings: Iterator[Finding], name: str) -> Finding:
    found = [finding for finding in findings if finding.name == name]
    assert len(found) == 1, found
    return found[0]


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(diagnosis, "default_connection_file", lambda: tmp_path / "a" / "c.json")
    (tmp_path / "a").mkdir()
    return tmp_path / "a" / "c.json"


@pytest.mark.slow
def test_this_installation_works(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "_START_SECONDS", PATIENCE)
    assert not file.exists()
    findings = list(diagnose())
    assert [f for f in findings if f.level == "error"] == []
    names = [finding.name for finding in findings]
    assert names == [
        "python", "navserver", "packages", "machine", "cache", "kernels", "port", "connection",
        "sidecar",
    ]  # fmt: skip
    assert all(bool(finding.remedy) == (finding.level != "ok") for finding in findings)


def test_an_old_python_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "_OLDEST_PYTHON", (9, 9))
    assert only(diagnosis._check_python(), "python").level == "error"


def test_packages_that_are_missing_or_old_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "_PACKAGES", ("numpy", "no-such-package"))
    monkeypatch.setattr(diagnosis, "_oldest_versions", lambda: {"numpy": "999.1"})
    errors = [f for f in diagnosis._check_packages() if f.level == "error"]
    assert ["numpy" in errors[0].text, "no-such-package" in errors[1].text] == [True, True]
    assert errors[1].remedy == "pip install no-such-package"


def test_a_cache_that_is_cold_missing_or_switched_off_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setattr(diagnosis, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(diagnosis, "_count_kept", lambda: 0)
    cold = only(diagnosis._check_cache(), "cache")
    assert (cold.level, "warmup" in cold.remedy) == ("warning", True)
    monkeypatch.setattr(diagnosis, "cache_folder", lambda: None)
    assert "NAVSERVER_CACHE_DIR" in only(diagnosis._check_cache(), "cache").remedy
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert "interpreted" in only(diagnosis._check_cache(), "cache").text


def raising(error: BaseException) -> Any:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_a_compiler_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "find_path", raising(RuntimeError("no LLVM")))
    finding = only(diagnosis._check_kernels(), "kernels")
    assert finding.level == "error"
    assert "no LLVM" in finding.text


def test_a_port_that_cannot_be_taken_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "take_any_port", raising(PermissionError(1, "not allowed")))
    assert "not allowed" in only(diagnosis._check_port(), "port").text


def test_a_file_that_a_dead_server_left_is_a_warning(file: Path) -> None:
    assert only(diagnosis._check_connection_file(), "connection").level == "ok"
    file.write_text("nonsense")
    assert only(diagnosis._check_connection_file(), "connection").level == "warning"
    file.unlink()
    info = ConnectionInfo(1, "t" * 32, (1 << 31) - 10, 1, "0", "x", None)
    info.write(file)
    assert "ended" in only(diagnosis._check_connection_file(), "connection").text


@pytest.mark.slow
def test_a_server_that_runs_is_asked(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "_RUNNING_SECONDS", PATIENCE)
    with serving(workers=1) as running:
        running.info.write(file)
        assert "a server runs" in only(diagnosis._check_connection_file(), "connection").text


def test_a_server_that_does_not_start_is_an_error_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho 'it is broken' >&2\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    finding = only(diagnosis._check_sidecar(), "sidecar")
    assert finding.level == "error"
    assert "it is broken" in finding.text


PLUGIN = '[plugin]\nname="navserver"\nversion="0.0.9"\n'


def test_a_project_is_looked_at(tmp_path: Path) -> None:
    def look() -> list[tuple[str, bool]]:
        findings = diagnosis._check_project(tmp_path, "0.1.0")
        return [(finding.level, "install-addon" in finding.remedy) for finding in findings]

    assert look() == [("error", False)]
    (tmp_path / "project.godot").write_text("")
    assert look() == [("error", True)]
    place = tmp_path / "addons" / "navserver"
    place.mkdir(parents=True)
    (place / "plugin.cfg").write_text("nonsense")
    assert look() == [("error", True)]
    (place / "plugin.cfg").write_text(PLUGIN)
    assert look() == [("warning", True), ("warning", False)]
    (place / "plugin.cfg").write_text(PLUGIN.replace("0.0.9", "0.1.0"))
    (tmp_path / "project.godot").write_text(
        '[editor_plugins]\nenabled=PackedStringArray("res://addons/navserver/plugin.cfg")\n'
    )
    assert look() == [("ok", False)]
