"""dev.py answers every unsuitable machine with one line, and makes a working environment."""

from __future__ import annotations

import ast
import functools
import hashlib
import http.server
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

import dev

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = dev.CHECKOUT / "dev.py"
# Nothing listens on the discard port; a connection there is refused at once.
UNREACHABLE = "http://127.0.0.1:9/simple"
# As in systems that ship Python without it.
NO_ENSUREPIP = 'raise ImportError("No module named ensurepip")\n'

Checkout = tuple[Path, dict[str, str]]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A copy of what dev.py needs, and the variables of a Python without ensurepip."""
    folder = tmp_path / "checkout"
    (folder / "navserver").mkdir(parents=True)
    for name in ["dev.py", "pyproject.toml", "README.md", "LICENSE", "navserver/__init__.py"]:
        shutil.copy(dev.CHECKOUT / name, folder / name)
    (tmp_path / "ensurepip.py").write_text(NO_ENSUREPIP)
    environment = {
        name: value
        for name, value in os.environ.items()
        if not re.match(r"PIP_|PYTHON|CI$|.*_proxy$", name, re.IGNORECASE)
    }
    environment.update(PYTHONPATH=str(tmp_path), PIP_CONFIG_FILE=os.devnull, PIP_RETRIES="0")
    return folder, environment


def dev_py(
    checkout: Checkout, *arguments: str, python: str = sys.executable, **variables: str
) -> subprocess.CompletedProcess[str]:
    folder, environment = checkout
    return subprocess.run(
        [python, str(folder / "dev.py"), *arguments],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that a failed command ends with; what stands before is progress."""
    assert done.returncode == 1, done
    assert done.stdout == ""
    *progress, line = done.stderr.splitlines()
    assert line.startswith("dev.py: ")
    assert all(re.match(r"dev\.py: (making|installing|cpython)\b", step) for step in progress), done
    return line


def test_parses_on_python_3_8() -> None:
    ast.parse(SOURCE.read_text(encoding="utf-8"), feature_version=(3, 8))


def test_uses_the_standard_library_only() -> None:
    imported = set()
    for node in ast.walk(ast.parse(SOURCE.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            imported.add(node.module.partition(".")[0])
    assert imported <= sys.stdlib_module_names


@pytest.mark.parametrize(
    ("implementation", "version", "suitable"),
    [
        ("cpython", (3, 9), False),
        ("cpython", (3, 10), True),
        ("cpython", (4, 0), True),
        ("pypy", (3, 11), False),
    ],
)
def test_which_python_is_suitable(
    implementation: str, version: tuple[int, int], suitable: bool
) -> None:
    assert dev.is_suitable(implementation, version) is suitable


def old_python() -> str:
    for minor in ["8", "9"]:
        program = shutil.which(f"python3.{minor}")
        if program and dev.run([program, "-c", "import sys"]).returncode == 0:
            question = "import sys; print(sys.executable)"
            return dev.run([program, "-c", question]).stdout.strip()
    pytest.skip("no Python 3.8 or 3.9 on PATH to start dev.py with")


def test_old_python_alone_is_told_what_to_install(checkout: Checkout, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    line = complaint(dev_py(checkout, "test", python=old_python(), PATH=str(empty)))
    assert "CPython 3.10 or newer" in line
    assert "install one" in line


def test_old_python_goes_on_in_a_suitable_one(checkout: Checkout, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python3.12").symlink_to(sys.executable)
    done = dev_py(
        checkout, "test", python=old_python(), PATH=str(folder), PIP_INDEX_URL=UNREACHABLE
    )
    assert "going on with" in done.stderr
    assert f"making .venv with Python {dev.running_python()}" in done.stderr


def test_unsuitable_python_without_another(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dev, "OLDEST_PYTHON", (99, 0))
    assert dev.main(["test"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "unsuitable" in error


def test_no_network(checkout: Checkout) -> None:
    line = complaint(dev_py(checkout, "test", PIP_INDEX_URL=UNREACHABLE))
    assert f"{UNREACHABLE}/pip/ cannot be read" in line
    assert "PIP_INDEX_URL" in line


def test_missing_certificates(checkout: Checkout) -> None:
    bundle = "/nonexistent/certificates.pem"
    line = complaint(dev_py(checkout, "test", PIP_INDEX_URL=UNREACHABLE, PIP_CERT=bundle))
    assert "certificate bundle cannot be read" in line
    assert "PIP_CERT" in line


def test_index_without_a_scheme(checkout: Checkout) -> None:
    line = complaint(dev_py(checkout, "test", PIP_INDEX_URL="somewhere"))
    assert "somewhere/pip/" in line


def test_folder_in_the_environments_place_is_kept(checkout: Checkout) -> None:
    folder = checkout[0] / ".venv"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    line = complaint(dev_py(checkout, "test"))
    assert "no Python environment" in line
    assert (folder / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tset"], "no command tset: give one of demo, test"),
        (["lint", "--fix"], "lint takes no arguments, not --fix"),
        (["godot", "--fetch"], "not --fetch"),
        (["bench", "nothing"], "no benchmark is called nothing"),
        (["pictures", "nothing"], "no pictures are called nothing"),
    ],
)
def test_misuse(checkout: Checkout, arguments: list[str], says: str) -> None:
    assert says in complaint(dev_py(checkout, *arguments))


def test_usage_names_every_command(checkout: Checkout) -> None:
    done = dev_py(checkout, "--help")
    assert done.returncode == 0
    for command in ["demo", "test", "lint", "bench", "pictures", "godot"]:
        assert f"\n  {command} " in done.stdout


@pytest.mark.parametrize(
    ("log", "cause", "remedy"),
    [
        (
            (
                "WARNING: Retrying (Retry(total=0)) after connection broken by "
                "'NewConnectionError('Connection refused')': /simple/numba/\n"
                "ERROR: No matching distribution found for numba>=0.61\n"
            ),
            "cannot be reached",
            "PIP_INDEX_URL",
        ),
        (
            (
                "Could not fetch URL: There was a problem confirming the ssl certificate: "
                "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed - skipping\n"
                "ERROR: No matching distribution found for numba>=0.61\n"
            ),
            "certificate cannot be verified",
            "PIP_CERT",
        ),
        (
            (
                "ERROR: Could not find a version that satisfies the requirement numba>=0.61\n"
                "ERROR: No matching distribution found for numba>=0.61\n"
            ),
            "No matching distribution found for numba>=0.61",
            "another Python",
        ),
        ("ERROR: [Errno 28] No space left on device\n", "disk is full", "free some room"),
        (
            "error: subprocess-exited-with-error\n\nnote: This is an issue with the package.\n",
            "subprocess-exited-with-error",
            "log:",
        ),
        ("", "it printed nothing", "log:"),
    ],
)
def test_failed_installation_in_one_line(log: str, cause: str, remedy: str) -> None:
    line = dev.explain_pip(log)
    assert "\n" not in line
    assert cause in line
    assert remedy in line


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def package_index(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A package index on this machine that offers the pip that Python itself carries."""
    bundled = pytest.importorskip("ensurepip", reason="this Python carries no pip wheel to serve")
    wheels = list((Path(bundled.__file__).parent / "_bundled").glob("pip-*.whl"))
    if not wheels:
        pytest.skip("this Python carries no pip wheel to serve")
    folder = tmp_path / "index" / "simple" / "pip"
    folder.mkdir(parents=True)
    shutil.copy(wheels[0], folder)
    digest = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
    (folder / "index.html").write_text(
        f'<a href="{wheels[0].name}#sha256={digest}" data-requires-python="&gt;=3.7">pip</a>\n'
        '<a href="pip-99.0-py3-none-any.whl" data-requires-python="&gt;=3.99">too new</a>\n'
        '<a href="pip-98.0-py3-none-any.whl" data-yanked="">yanked</a>\n'
        '<a href="pip-97.0.tar.gz">no wheel</a>\n'
    )
    handler = functools.partial(QuietHandler, directory=str(tmp_path / "index"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/simple", folder
        server.shutdown()
        thread.join()


MAKE_ENVIRONMENT = "import dev; dev.make_environment()"


def test_pip_comes_by_its_wheel_without_ensurepip(
    checkout: Checkout, package_index: tuple[str, Path]
) -> None:
    folder, environment = checkout
    environment["PIP_INDEX_URL"] = package_index[0]
    subprocess.run(
        [sys.executable, "-c", MAKE_ENVIRONMENT], cwd=folder, env=environment, check=True
    )
    python = folder / dev.VENV_PYTHON.relative_to(dev.CHECKOUT)
    asked = dev.run([python, "-m", "pip", "--version"])
    assert str(folder / ".venv") in asked.stdout


def test_no_pip_no_ensurepip_and_no_index(checkout: Checkout) -> None:
    line = complaint(dev_py(checkout, "test", PIP_INDEX_URL=""))
    assert "python3-venv" in line
    assert "PIP_INDEX_URL" in line


def test_wheel_that_is_not_what_the_index_promised(
    checkout: Checkout, package_index: tuple[str, Path]
) -> None:
    address, folder = package_index
    wheel = next(folder.glob("pip-*.whl"))
    wheel.write_bytes(wheel.read_bytes()[:-1])
    line = complaint(dev_py(checkout, "test", PIP_INDEX_URL=address))
    assert "not what the index promised" in line


def test_index_without_a_suitable_pip(checkout: Checkout, package_index: tuple[str, Path]) -> None:
    address, folder = package_index
    (folder / "index.html").write_text('<a href="pip-97.0.tar.gz">no wheel</a>')
    line = complaint(dev_py(checkout, "test", PIP_INDEX_URL=address))
    assert "lists no pip for Python" in line


@pytest.fixture
def installs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What is made and installed, recorded and not done, in a checkout of its own."""
    done: list[str] = []
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    (tmp_path / "pyproject.toml").write_text("one")
    monkeypatch.setattr(dev, "CHECKOUT", tmp_path)
    monkeypatch.setattr(dev, "VENV_PYTHON", tmp_path / "bin" / "python")
    monkeypatch.setattr(dev, "VENV_STAMP", tmp_path / "installed.json")
    monkeypatch.setattr(dev, "make_environment", lambda: done.append("make"))
    monkeypatch.setattr(dev, "install", lambda command: done.append(str(command[-1])))
    return done


def test_installs_only_what_is_missing(installs: list[str], tmp_path: Path) -> None:
    dev.ready_environment("test")
    assert installs == ["make", ".[test]"]
    dev.ready_environment("test")
    dev.ready_environment()
    assert installs == ["make", ".[test]"]
    dev.ready_environment("lint")
    assert installs[2:] == [".[lint,test]"]
    (tmp_path / "pyproject.toml").write_text("two")
    dev.ready_environment("test")
    assert installs[3:] == [".[lint,test]"]


@pytest.mark.parametrize("stamp", ["", "[]", "{}", '{"python": "2.7", "extras": ["test"]}'])
def test_environment_of_another_python_is_made_anew(
    installs: list[str], tmp_path: Path, stamp: str
) -> None:
    (tmp_path / "installed.json").write_text(stamp)
    dev.ready_environment("test")
    assert installs == ["make", ".[test]"]


def test_failed_installation_is_tried_again(
    installs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(command: list[object]) -> NoReturn:
        raise dev.Stop(f"cannot install {command[-1]}: mend it")

    with monkeypatch.context() as patch:
        patch.setattr(dev, "install", fail)
        with pytest.raises(dev.Stop, match="cannot install"):
            dev.ready_environment("test")
    dev.ready_environment("test")
    assert installs[-1] == ".[test]"


def program(path: Path, prints: str, code: int = 0) -> Path:
    path.write_text(f"#!/bin/sh\necho '{prints}'\nexit {code}\n")
    path.chmod(0o755)
    return path


needs_sh = pytest.mark.skipif(os.name == "nt", reason="the pretended programs are sh scripts")


@needs_sh
@pytest.mark.parametrize(
    ("prints", "code", "version"),
    [
        ("4.6.3.stable.official", 0, "4.6.3.stable.official"),
        ("4.6.stable", 0, "4.6.stable"),
        ("4.10.1.stable", 0, "4.10.1.stable"),
        ("4.5.1.stable", 0, None),
        ("3.6.stable", 0, None),
        ("4.6.3.stable", 1, None),
        ("a text editor", 0, None),
    ],
)
def test_what_counts_as_a_godot(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, prints: str, code: int, version: str | None
) -> None:
    path = program(tmp_path / "godot", prints, code)
    monkeypatch.setenv("GODOT", str(path))
    found = dev.find_godot()
    if version is None:
        assert found.path is None
        assert len(found.looked) == 1
        assert found.looked[0].startswith(f"GODOT={path} (")
    else:
        assert found == dev.GodotSearch(path, version, [])


def test_godot_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GODOT", str(tmp_path / "nothing"))
    monkeypatch.delenv("CI", raising=False)
    assert dev.main(["godot"]) == 1
    printed = capsys.readouterr()
    assert printed.out == f"looked at GODOT={tmp_path / 'nothing'} (not there)\n"
    assert printed.err.count("\n") == 1
    assert "set GODOT" in printed.err


@needs_sh
def test_godot_on_path_comes_before_the_usual_places(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = program(tmp_path / "godot4", "4.6.3.stable")
    monkeypatch.delenv("GODOT", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    monkeypatch.setattr(dev, "CHECKOUT", tmp_path)
    assert dev.find_godot().path == path


@pytest.fixture
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(dev, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(dev, "GODOT_ROOT", tmp_path / "cache" / "godot-root")
    return tmp_path / "cache"


def test_fetching_a_godot_without_apt(monkeypatch: pytest.MonkeyPatch, empty_cache: Path) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(dev.Stop, match=r"^fetching a Godot works on Debian only: .+ set GODOT"):
        dev.install_godot()
    assert not empty_cache.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="looks at the user's rights on Linux")
def test_fetching_a_godot_without_root(monkeypatch: pytest.MonkeyPatch, empty_cache: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(dev.Stop, match=r"^fetching a Godot needs root: run this as root"):
        dev.install_godot()
    assert not empty_cache.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="fetches on Linux")
def test_fetched_godot_is_made_once_and_anew_when_its_contents_change(
    monkeypatch: pytest.MonkeyPatch, empty_cache: Path
) -> None:
    made = []

    def make(folder: Path) -> None:
        folder.mkdir()
        made.append(folder)

    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(dev, "make_godot_root", make)
    dev.install_godot()
    dev.install_godot()
    assert len(made) == 1
    assert sorted(path.name for path in empty_cache.iterdir()) == ["enter", "godot", "godot-root"]
    monkeypatch.setattr(dev, "GODOT_PACKAGES", [*dev.GODOT_PACKAGES, "xdotool"])
    dev.install_godot()
    assert len(made) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="fetches on Linux")
def test_fetch_that_fails_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, empty_cache: Path
) -> None:
    def fail(folder: Path) -> NoReturn:
        folder.mkdir()
        raise dev.Stop("mmdebstrap could not fetch Godot: check the network")

    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(dev, "make_godot_root", fail)
    with pytest.raises(dev.Stop, match="check the network"):
        dev.install_godot()
    assert list(empty_cache.iterdir()) == []


# The rest drives a real Godot, also to prove that the fetched one behaves as an installed one.

PROJECT = 'config_version=5\n[application]\nconfig/name="probe"\n'
ANSWER = """\
extends SceneTree
func _init() -> void:
	var file := FileAccess.open(OS.get_cmdline_user_args()[0], FileAccess.WRITE)
	file.store_string("written by Godot")
	file.close()
	print("project ", ProjectSettings.globalize_path("res://"))
	quit(7)
"""
ENDLESS = """\
extends SceneTree
func _init() -> void:
	print("running")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project.godot").write_text(PROJECT)
    (tmp_path / "answer.gd").write_text(ANSWER)
    (tmp_path / "endless.gd").write_text(ENDLESS)
    return tmp_path


@pytest.mark.godot
def test_godot_sees_files_and_hands_back_output_and_exit_code(godot: Path, project: Path) -> None:
    answer = project / "an answer.txt"
    command = [godot, "--headless", "--path", project, "-s", "answer.gd", "--", answer]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 7, done
    assert f"project {project}" in done.stdout
    assert answer.read_text() == "written by Godot"


@pytest.mark.godot
def test_godot_sees_the_checkout_and_the_working_folder(godot: Path, tmp_path: Path) -> None:
    folder = dev.OUT / f"probe-{os.getpid()}"
    folder.mkdir(parents=True)
    try:
        (folder / "project.godot").write_text(PROJECT)
        (folder / "answer.gd").write_text(ANSWER)
        command = [godot, "--headless", "-s", "answer.gd", "--", tmp_path / "answer.txt"]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=60, check=False
        )
    finally:
        shutil.rmtree(folder)
    assert done.returncode == 7, done
    assert f"project {folder}" in done.stdout


@pytest.mark.godot
@pytest.mark.skipif(os.name == "nt", reason="looks at signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killing_the_started_process_ends_godot(
    godot: Path, project: Path, number: signal.Signals
) -> None:
    command = [godot, "--headless", "--path", project, "-s", "endless.gd"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while "running" not in process.stdout.readline():
            assert process.poll() is None, "Godot ended before its script ran"
        process.send_signal(number)
        # The end of its output says that no process that held it is left.
        rest = process.stdout.read()
        assert process.wait(timeout=30) == -number, rest
