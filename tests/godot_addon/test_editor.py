"""The plugin in a real editor: on and off, and how its sidecar ends."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.godot_addon.conftest import (
    ADDON_PROJECT,
    Project,
    import_project,
    make_sidecar_program,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.godot

PROBE = Path(__file__).parent / "probe"
# That it ends by itself; how soon hangs on what else the machine does.
SOON = 30.0
CONNECTIONS = ".godot/editor/navserver_connection*.json"


def make_project(godot: Path, folder: Path, *plugins: str, autostart: bool) -> Project:
    """A project that has the addon, and the probe to drive it."""
    shutil.copytree(ADDON_PROJECT / "addons", folder / "addons")
    shutil.copytree(PROBE, folder / "addons" / "probe")
    (folder / "main.tscn").write_text(
        '[gd_scene format=3]\n\n[ext_resource type="Script" path="res://addons/probe/report.gd" '
        'id="1"]\n\n[node name="Main" type="Node2D"]\nscript = ExtResource("1")\n',
        encoding="utf-8",
    )
    enabled = ", ".join(f'"res://addons/{name}/plugin.cfg"' for name in plugins)
    (folder / "project.godot").write_text(
        "config_version=5\n\n[application]\n\n"
        'config/name="probe"\nrun/main_scene="res://main.tscn"\n\n'
        f"[navserver]\n\nsidecar/autostart={str(autostart).lower()}\n\n"
        "[editor_plugins]\n\n"
        f"enabled=PackedStringArray({enabled})\n",
        encoding="utf-8",
    )
    return import_project(godot, folder)


class Editor:
    """A running editor and what it prints."""

    def __init__(self, project: Project, task: str) -> None:
        self.folder = project.folder
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [str(project.godot), "--headless", "-e", "--path", str(project.folder)],
            env={**os.environ, "PROBE": task},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def wait_for(self, pattern: str, seconds: float = 90.0) -> re.Match[str]:
        """The first line that the pattern is found in."""

        def found() -> re.Match[str] | None:
            matches = (re.search(pattern, line) for line in list(self.lines))
            return next((match for match in matches if match), None)

        # One that has ended will say no more.
        wait_until(lambda: found() or not self.reader.is_alive(), seconds)
        match = found()
        assert match, "\n".join([f"no {pattern} in:", *self.lines[-80:]])
        return match

    def list_connections(self) -> list[Path]:
        """The connection files of the sidecars of all editors of the project."""
        return sorted(self.folder.glob(CONNECTIONS))

    def sidecar_pid(self, seconds: float = 90.0) -> int:
        """Process id of the sidecar that the plugin started, once it is ready."""
        assert wait_until(self.list_connections, seconds), self.lines
        return int(json.loads(self.list_connections()[0].read_bytes())["pid"])


def wait_until(condition: Callable[[], object], seconds: float) -> object:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if result := condition():
            return result
        time.sleep(0.05)
    return condition()


def is_running(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False


@contextmanager
def editor(project: Project, task: str) -> Iterator[Editor]:
    running = Editor(project, task)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait()
        running.reader.join(10.0)
        if running.process.stdout is not None:
            running.process.stdout.close()


def test_a_project_that_has_the_addon_and_has_not_enabled_it(godot: Path, tmp_path: Path) -> None:
    project = make_project(godot, tmp_path / "game", autostart=False)
    settings = (project.folder / "project.godot").read_bytes()
    done = project.run("-e", "--quit-after", "100")
    assert "ERROR" not in done.stdout, done.stdout
    assert "WARNING" not in done.stdout, done.stdout
    done = project.run("--quit-after", "30")
    assert "GAME started" in done.stdout
    assert "ERROR" not in done.stdout, done.stdout
    assert (project.folder / "project.godot").read_bytes() == settings


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("has_sidecar", [False, True])
def test_first_contact(godot: Path, tmp_path: Path, has_sidecar: bool) -> None:
    # A game with collision-only tiles; the addon is copied, then enabled, then used in a scene.
    project = make_project(godot, tmp_path / "game", "probe", autostart=has_sidecar)
    if has_sidecar:
        make_sidecar_program(project.folder)
    scene = project.folder / "main.tscn"
    scene.write_text(scene.read_text(encoding="utf-8").replace("report.gd", "walk.gd"), "utf-8")
    outputs = [project.run("-e", "--quit-after", "100").stdout]
    with editor(project, "enable") as running:
        running.process.wait(90)
        running.reader.join(10.0)
    outputs.append("\n".join(running.lines))
    settings = (project.folder / "project.godot").read_text(encoding="utf-8")
    assert "res://addons/navserver/plugin.cfg" in settings
    arguments = ["--", "wait"] if has_sidecar else []
    outputs.append(project.run("--quit-after", "30000", *arguments, timeout=120.0).stdout)
    for output in outputs:
        assert "ERROR" not in output, output
        assert "WARNING" not in output, output
    arrived = re.search(r"GAME arrived at \((\d+).*\) by (\w+)", outputs[-1])
    assert arrived, outputs[-1]
    assert abs(int(arrived[1]) - 120) <= 4
    assert (arrived[2] == "FALLBACK") == (not has_sidecar)


def test_on_and_off_twenty_times(godot: Path, tmp_path: Path) -> None:
    project = make_project(godot, tmp_path / "game", "navserver", "probe", autostart=False)
    with editor(project, "toggle") as running:
        match = running.wait_for(r"PROBE objects (-?\d+) nodes (-?\d+)")
        running.process.wait(60)
        running.reader.join(10.0)
    assert int(match[2]) == 0
    assert int(match[1]) <= 5
    assert not [line for line in running.lines if "ERROR" in line or "leaked" in line]
    text = (project.folder / "project.godot").read_text(encoding="utf-8")
    assert "navserver/sidecar" not in text
    assert "sidecar/program" not in text


def name_in_editor(program: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Move it to where nobody looks; the editor's own setting names it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    places = os.environ["PATH"].split(os.pathsep)
    others = [place for place in places if not Path(place, "navserver").exists()]
    monkeypatch.setenv("PATH", os.pathsep.join(others))
    settings = folder / "config" / "godot" / "editor_settings-4.6.tres"
    settings.parent.mkdir(parents=True)
    program = program.rename(folder / "sidecar")
    settings.write_text(
        '[gd_resource type="EditorSettings" format=3]\n\n[resource]\n'
        f'navserver/sidecar/program = "{program}"\n',
        encoding="utf-8",
    )


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_sidecar_ends_with_the_editor(
    godot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    project = make_project(godot, tmp_path / "game", "navserver", "probe", autostart=True)
    program = make_sidecar_program(project.folder)
    if number == signal.SIGTERM:
        name_in_editor(program, tmp_path, monkeypatch)
    with editor(project, "stay") as running:
        pid = running.sidecar_pid()
        assert is_running(pid)
        running.process.send_signal(number)
        assert wait_until(lambda: not is_running(pid), SOON)


@pytest.mark.usefixtures("compiled")
def test_the_sidecar_ends_with_the_editor_while_a_game_runs(
    godot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project(godot, tmp_path / "game", "navserver", "probe", autostart=True)
    name_in_editor(make_sidecar_program(project.folder), tmp_path, monkeypatch)
    with editor(project, "play") as running:
        assert "Crowds need" not in running.wait_for(r"PROBE crowd: .*")[0]
        pid = running.sidecar_pid()
        game = int(running.wait_for(r"GAME started, pid (\d+)")[1])
        try:
            running.wait_for("GAME READY")
            running.process.send_signal(signal.SIGKILL)
            assert wait_until(lambda: not is_running(pid), SOON)
            # The game starts one of its own, by the editor's setting, which ends with the game.
            running.wait_for("GAME STARTING")
            assert is_running(game)
        finally:
            os.kill(game, signal.SIGKILL)


@pytest.mark.usefixtures("compiled")
def test_editors_of_one_project_leave_each_other_alone(godot: Path, tmp_path: Path) -> None:
    project = make_project(godot, tmp_path / "game", "navserver", "probe", autostart=True)
    make_sidecar_program(project.folder)
    with editor(project, "stay") as running:
        running.sidecar_pid()
        own = running.list_connections()
        # Nothing else is left of trying whether it can be written.
        assert list(own[0].parent.glob("navserver_connection*")) == own
        said = own[0].read_bytes()
        project.run("-e", "--quit")
        assert wait_until(lambda: running.list_connections() == own, SOON)
        with editor(project, "stay"):
            assert wait_until(lambda: len(running.list_connections()) == 2, 90.0)
        assert wait_until(lambda: running.list_connections() == own, SOON)
        assert own[0].read_bytes() == said
