"""The addon in other people's projects: copied, brought up to date, refused; and in the wheel."""

from __future__ import annotations

import configparser
import errno
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from navserver import __version__
from navserver.cli import main
from navserver.commands.install_addon import addon_folder

CHECKOUT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "castle"
    folder.mkdir()
    (folder / "project.godot").write_text("config_version=5\n", encoding="utf-8")
    return folder


def files(folder: Path) -> dict[Path, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder): path.read_bytes() for path in found}


def test_it_is_copied_whole(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install-addon", str(project)]) == 0
    assert files(project / "addons" / "navserver") == files(addon_folder())
    assert (project / "project.godot").read_text(encoding="utf-8") == "config_version=5\n"
    assert [path.name for path in (project / "addons").iterdir()] == ["navserver"]
    printed = capsys.readouterr().out
    assert f"version {__version__}" in printed
    assert "enable it in Godot" in printed


def test_it_is_brought_up_to_date(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = project / "addons" / "other"
    other.mkdir(parents=True)
    (other / "kept.gd").touch()
    assert main(["install-addon", str(project)]) == 0
    installed = project / "addons" / "navserver"
    config = installed / "plugin.cfg"
    config.write_text(
        config.read_text(encoding="utf-8").replace(__version__, "0.0.9"), encoding="utf-8"
    )
    (installed / "gone.gd").touch()
    capsys.readouterr()
    assert main(["install-addon", str(project)]) == 0
    assert files(installed) == files(addon_folder())
    assert (other / "kept.gd").exists()
    printed = capsys.readouterr().out
    assert "before 0.0.9" in printed
    assert "enable" not in printed


def test_leftovers_of_a_copy_that_was_cut_off_do_no_harm(project: Path) -> None:
    for name in (".navserver-new", ".navserver-old"):
        (project / "addons" / name / "internal").mkdir(parents=True)
    assert main(["install-addon", str(project)]) == 0
    assert [path.name for path in (project / "addons").iterdir()] == ["navserver"]


@pytest.mark.parametrize("contents", [None, "", "[plugin]\n", '[plugin]\nname="x"\nversion="1"\n'])
def test_what_is_not_the_addon_stays(
    project: Path, contents: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    place = project / "addons" / "navserver"
    place.mkdir(parents=True)
    (place / "mine.gd").touch()
    if contents is not None:
        (place / "plugin.cfg").write_text(contents, encoding="utf-8")
    assert main(["install-addon", str(project)]) == 2
    assert "move it out of the way" in capsys.readouterr().err
    assert (place / "mine.gd").exists()


def test_a_project_that_cannot_be_written(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "addons").write_text("a file, where the folder would be")
    assert main(["install-addon", str(project)]) == 2
    said = capsys.readouterr().err
    assert f"{project / 'addons' / 'navserver'}: cannot be written (" in said
    assert f"{project / 'addons'} has to be a folder" in said


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EROFS, "its file system is read-only"),
        (errno.EACCES, "allow it, or close whatever has its files open"),
    ],
)
def test_a_copy_that_fails_leaves_nothing_and_says_what_to_do(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    advice: str,
) -> None:
    def cut_off(_source: Path, target: Path) -> None:
        (target / "internal").mkdir(parents=True)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(shutil, "copytree", cut_off)
    assert main(["install-addon", str(project)]) == 2
    assert advice in capsys.readouterr().err
    assert list((project / "addons").iterdir()) == []


def test_a_link_to_a_copy_elsewhere_stays(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = tmp_path / "shared"
    shutil.copytree(addon_folder(), shared)
    marked = shared / "marked"
    marked.touch()
    place = project / "addons" / "navserver"
    place.parent.mkdir()
    place.symlink_to(shared, target_is_directory=True)
    assert main(["install-addon", str(project)]) == 2
    assert f"{place}: is a link to {shared}" in capsys.readouterr().err
    assert place.is_symlink()
    assert marked.exists()
    # As an older version has left it.
    place.rename(place.with_name(".navserver-old"))
    assert main(["install-addon", str(project)]) == 0
    assert [path.name for path in place.parent.iterdir()] == ["navserver"]
    assert marked.exists()


def test_a_copy_that_fails_at_the_end_leaves_what_was_there(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["install-addon", str(project)]) == 0
    marked = project / "addons" / "navserver" / "marked"
    marked.write_text("of the copy before")
    rename = Path.rename

    def held(self: Path, target: Path) -> Path:
        if self.name == ".navserver-new":
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", held)
    assert main(["install-addon", str(project)]) == 2
    assert "cannot be written (Permission denied)" in capsys.readouterr().err
    assert marked.is_file()


def test_a_folder_without_a_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert main(["install-addon", str(folder)]) == 2
        assert "give the folder of a Godot project" in capsys.readouterr().err


def test_the_addon_states_the_packages_version() -> None:
    config = configparser.ConfigParser()
    config.read(addon_folder() / "plugin.cfg", encoding="utf-8")
    assert config["plugin"]["version"] == f'"{__version__}"'
    license_text = (CHECKOUT / "LICENSE").read_text(encoding="utf-8")
    assert (addon_folder() / "LICENSE").read_text(encoding="utf-8") == license_text


def test_the_wheel_has_the_addon(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    tree = tmp_path / "checkout"
    tree.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, tree)
    ignored = shutil.ignore_patterns("__pycache__", ".godot")
    for name in ("navserver", "godot_addon"):
        shutil.copytree(CHECKOUT / name, tree / name, ignore=ignored)
    built = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    assert files(tmp_path / "site" / "navserver" / "godot_addon") == files(addon_folder())
