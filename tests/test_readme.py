"""What README.md and the guides show is run: blocks of Python, commands, and their output."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import dev
import navserver
from navserver.cli import main
from navserver.commands.query import QUESTIONS

CHECKOUT = Path(__file__).resolve().parent.parent
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
GUIDES = sorted((CHECKOUT / "docs").glob("*.md"))
PROGRAMS = [guide for guide in GUIDES if "\n# -> " in guide.read_text(encoding="utf-8")]
FIRST_SCREEN = README.split("\n## ", maxsplit=1)[0]


def commands() -> list[tuple[str, str]]:
    """Each command of the console blocks and the output that stands below it."""
    found: list[tuple[str, str]] = []
    for language, block in BLOCKS:
        if language == "console":
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                found.append((command, output))
    return found


def test_languages_of_blocks() -> None:
    assert {language for language, _ in BLOCKS} == {"sh", "gdscript", "python", "console"}


def test_python_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = [block for language, block in BLOCKS if language == "python"]
    assert blocks
    for block in blocks:
        check_block(block, "README.md", {}, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("guide", PROGRAMS, ids=lambda guide: guide.name)
def test_guides_are_programs_from_top_to_bottom(
    guide: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```$", guide.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert blocks
    names: dict[str, Any] = {}
    for block in blocks:
        check_block(block, guide.name, names, capsys)


def check_block(
    block: str, file: str, names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Run a block, which prints what its comments say."""
    exec(compile(block, file, "exec"), names)
    printed = re.findall(r"^# -> (.*\n)", block, re.MULTILINE)
    assert capsys.readouterr().out == "".join(printed)


def test_the_script_is_that_of_the_addon() -> None:
    addon = (CHECKOUT / "godot_addon/addons/navserver/README.md").read_text(encoding="utf-8")
    scripts = [block for language, block in BLOCKS if language == "gdscript"]
    assert len(scripts) == 1
    assert f"```gdscript\n{scripts[0]}```" in addon
    assert len([line for line in scripts[0].splitlines() if line]) <= 12


@pytest.mark.parametrize(("command", "output"), commands(), ids=[c for c, _ in commands()])
def test_commands(
    command: str,
    output: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    program, *arguments = shlex.split(command)
    assert program == "navserver"
    code = main(arguments)
    captured = capsys.readouterr()
    assert captured.err == ""
    assert code == (1 if output.endswith(" no\n") else 0)
    checker = doctest.OutputChecker()
    # A map that fits no terminal is not drawn, so nothing depends on the terminal.
    assert checker.check_output(output, captured.out, doctest.ELLIPSIS), captured.out


def test_first_screen_has_both_commands_and_a_picture() -> None:
    for line in BLOCKS[0][1].splitlines():
        words = line.split()
        assert words[:2] == ["python3", "dev.py"]
        assert words[2] in dev.COMMANDS
    assert {line.split()[2] for line in BLOCKS[0][1].splitlines()} == {"demo", "test"}
    assert "](docs/images/" in FIRST_SCREEN


@pytest.mark.parametrize("page", [CHECKOUT / "README.md", *GUIDES], ids=lambda page: page.name)
def test_links_lead_somewhere_and_pictures_are_small(page: Path) -> None:
    targets = re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    assert targets or page in GUIDES
    for target in targets:
        if target.startswith("#"):
            continue
        file = page.parent / target
        assert file.is_file(), target
        assert file.stat().st_size < {".png": 300_000, ".gif": 400_000}.get(file.suffix, 1 << 20)


def test_pictures_are_those_of_the_demo(tmp_path: Path) -> None:
    from PIL import Image, ImageChops, ImageStat

    assert main(["demo", "--out", str(tmp_path), "--no-bots"]) == 0
    names = ["countryside.png", "flow-field.png"]
    assert sorted(file.name for file in tmp_path.glob("*.png")) == names
    for name in names:
        file = CHECKOUT / "docs" / "images" / name
        with Image.open(file) as shown, Image.open(tmp_path / name) as drawn:
            # Edges differ in their last bits from one version of Pillow to another.
            difference = ImageChops.difference(shown, drawn)
            assert max(ImageStat.Stat(difference).mean) < 0.1, file.name


def table(heading: str) -> list[list[str]]:
    """The cells of the table whose first column has this heading."""
    lines = README[README.index(f"| {heading} |") :].split("\n\n", maxsplit=1)[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_table_of_questions_names_what_exists() -> None:
    rows = table("Question")
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row[1])}
    assert named <= set(navserver.__all__)
    asked = set()
    for row in rows:
        for words in re.findall(r"`([a-z- ]+)`", row[2]):
            asked.update(set(words.split()) & set(QUESTIONS))
    assert asked == set(QUESTIONS)


def test_table_of_memory_is_true() -> None:
    cells = 64 * 64
    grid = navserver.Grid.filled(64, 64)
    assert grid.memory_bytes()["total"] == cells
    navserver.find_path(grid, (0, 0), (5, 5))
    assert grid.memory_bytes()["derived"] == cells
    assert navserver.FlowField(grid, [(0, 0)]).nbytes == 7 * cells
    field = navserver.distance_map(grid, [(0, 0)])
    assert field.nbytes == 9 * cells
    assert field.sources.shape == (64, 64)
    assert field.nbytes == 13 * cells
    grid.set_all(cell_scale=1.0, layers={"mud": 0.0})
    assert grid.memory_bytes()["total"] - grid.memory_bytes()["derived"] == 9 * cells
