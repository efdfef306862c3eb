from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from navserver import __version__
from navserver.cli import main
from navserver.commands import path_query

COMMANDS = ("path", "query", "check", "warmup", "demo")


def navserver(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the program as a user does."""
    checkout = Path(__file__).resolve().parent.parent
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, "-m", "navserver", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_exit_codes_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("..#.\n")
    found = navserver("path", "a.txt", "--from", "0,0", "--to", "1,0", cwd=tmp_path)
    assert (found.returncode, found.stderr) == (0, "")
    none = navserver("path", "a.txt", "--from", "0,0", "--to", "3,0", cwd=tmp_path)
    assert (none.returncode, none.stderr) == (1, "")
    bad = navserver("path", "a.txt", "--from", "-1,0", "--to", "3,0", cwd=tmp_path)
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (2, "", 1)


def test_program_imports_nothing_slow_that_it_does_not_need(tmp_path: Path) -> None:
    """Numba itself imports scipy.linalg and what that needs; nothing else of scipy may come."""
    (tmp_path / "a.txt").write_text("..#.\n")
    code = (
        "import sys; from navserver.cli import main; "
        "main(['path', 'a.txt', '--from', '0,0', '--to', '1,0']); "
        "slow = {'PIL', 'rich', 'scipy.ndimage'}; "
        "print(sorted(slow & set(sys.modules)), file=sys.stderr)"
    )
    checkout = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "[]\n"


@pytest.mark.skipif(os.name == "nt", reason="a closed pipe is reported otherwise on Windows")
def test_reader_that_leaves_early(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "navserver", "path", "builtin:rooms"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait() == 141
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [sys.executable, "-m", "navserver", "query", "builtin:rooms", "connected"],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)},
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (process.returncode, process.stderr.count("\n")) == (2, 1)
    assert "output: " in process.stderr


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"navserver {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: navserver {command}")


def test_main_help_names_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    assert all(f"\n    {command} " in out for command in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["fly"], "argument COMMAND: invalid choice: 'fly'"),
        (["check", "--maps"], "argument --maps: expected one argument; see navserver check --help"),
    ],
)
def test_wrong_command_lines(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_interrupt(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(path_query, "find_path", interrupt)
    assert main(["path", "builtin:rooms"]) == 130
    assert capsys.readouterr().err == ""
