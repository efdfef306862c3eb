from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navserver.search.grid import Grid
from navserver.sim.scenarios import Area, MapEdit, load_scenario
from navserver.status import CellError, MapFileError

WHOLE = """
map = "town.map"
seed = 7
ticks = 500
dt = 0.05
avoidance = false

[[bots]]
name = "citizens"
count = 30
behavior = "commute"
speed = 2.5
radius = 0.25
class_costs = { 2 = 4.0, 7 = inf }
spawn = [0, 0, 8, 8]
goals = [[20, 20, 4, 4], [30, 2, 1, 1]]

[[bots]]
count = 2
behavior = "guards.py:Guard"
options = { post = [3, 4] }

[[edits]]
tick = 100
area = [5, 5, 2, 1]
class = 0

[[edits]]
tick = 50
area = [5, 5, 2, 1]
class = 255
"""


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "scenario.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_whole_file(tmp_path: Path) -> None:
    scenario = load_scenario(written(tmp_path, WHOLE))
    assert scenario.map == str(tmp_path / "town.map")
    assert (scenario.seed, scenario.ticks, scenario.dt) == (7, 500, 0.05)
    assert not scenario.avoidance
    assert scenario.bots == 32
    citizens, guards = scenario.kinds
    assert (citizens.name, citizens.count, citizens.behavior) == ("citizens", 30, "commute")
    assert (citizens.speed, citizens.radius) == (2.5, 0.25)
    assert citizens.profile.costs[[0, 2, 7]].tolist() == [1.0, 4.0, math.inf]
    assert citizens.spawn == (Area(0, 0, 8, 8),)
    assert citizens.goals == (Area(20, 20, 4, 4), Area(30, 2, 1, 1))
    assert (guards.name, guards.behavior) == ("kind 2", f"{tmp_path / 'guards.py'}:Guard")
    assert dict(guards.options) == {"post": [3, 4]}
    assert scenario.edits == (
        MapEdit(50, Area(5, 5, 2, 1), 255),
        MapEdit(100, Area(5, 5, 2, 1), 0),
    )


def test_what_may_be_left_out(tmp_path: Path) -> None:
    scenario = load_scenario(written(tmp_path, "[[bots]]\ncount = 1\n"))
    assert (scenario.map, scenario.ticks, scenario.dt, scenario.avoidance) == (
        None,
        3000,
        0.1,
        True,
    )
    assert scenario.kinds[0].behavior == "wander"
    assert scenario.kinds[0].spawn == ()


BOTS = "[[bots]]\ncount = 1\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", None, "the file is empty"),
        ("seed = 1", None, "bots is missing"),
        ("bots = 3", 1, "bots is not a list of tables"),
        ("ticks = \n" + BOTS, 1, "is not TOML"),
        ("speed = 3\n" + BOTS, 1, "speed is unknown"),
        ("ticks = -1\n" + BOTS, 1, "ticks is -1"),
        ("ticks = true\n" + BOTS, 1, "ticks is True"),
        ("dt = 0\n" + BOTS, 1, "dt is 0"),
        ("dt = nan\n" + BOTS, 1, "dt is nan"),
        ("dt = 'fast'\n" + BOTS, 1, "dt is 'fast'"),
        ("map = 3\n" + BOTS, 1, "map is 3"),
        ("avoidance = 1\n" + BOTS, 1, "avoidance is 1"),
        ("[[bots]]\nname = 'a'\n", 1, "bots[0].count is missing"),
        (BOTS + "[[bots]]\ncount = 0\n", 4, "bots[1].count is 0"),
        (BOTS + "[[bots]]\nspeed = 1\ncount = 2.5\n", 5, "bots[1].count is 2.5"),
        (BOTS + "radius = 0.6", 3, "bots[0].radius is 0.6"),
        (BOTS + "speed = -inf", 3, "bots[0].speed is -inf"),
        (BOTS + "spawn = [1, 2, 3]", 3, "bots[0].spawn is [1, 2, 3]"),
        (BOTS + "goals = [[1, 2, 0, 3]]", 3, "bots[0].goals"),
        (BOTS + "options = 3", 3, "bots[0].options is 3"),
        (BOTS + "class_costs = { 300 = 1.0 }", 3, "bots[0].class_costs"),
        (BOTS + "class_costs = { grass = 1.0 }", 3, "bots[0].class_costs has grass"),
        (BOTS + "class_costs = { 2 = -1.0 }", 3, "bots[0].class_costs"),
        ("[[bots]]\ncount = 999999\n[[bots]]\ncount = 2\n", 1, "bots are too many"),
        (BOTS + "[[edits]]\ntick = 3\nclass = 0\n", 3, "edits[0].area is not one area"),
        (BOTS + "[[edits]]\ntick = 3\narea = [0, 0, 1, 1]\nclass = 256\n", 6, "edits[0].class"),
    ],
)
def test_bad_files_are_told_by_name_and_line(
    tmp_path: Path, text: str, line: int | None, words: str
) -> None:
    file = written(tmp_path, text)
    with pytest.raises(MapFileError) as caught:
        load_scenario(file)
    assert words in str(caught.value)
    assert caught.value.line == line
    assert str(file) in str(caught.value)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_bytes(b"map = '\xff'")
    with pytest.raises(MapFileError, match="is not UTF-8"):
        load_scenario(file)
    with pytest.raises(MapFileError):
        load_scenario(tmp_path / "none.toml")


@given(st.text(st.sampled_from("[]{}=\"'.\n bots1x-#,"), max_size=60))
def test_any_text_is_a_scenario_or_a_file_error(text: str) -> None:
    # Invariant: nothing but a file error comes out of a bad file.
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = written(Path(folder), text)
        try:
            scenario = load_scenario(file)
        except MapFileError:
            return
    assert scenario.bots >= 1


@pytest.mark.parametrize("key", ["spawn", "goals"])
def test_areas_must_lie_on_the_map(tmp_path: Path, key: str) -> None:
    scenario = load_scenario(written(tmp_path, BOTS + f"{key} = [5, 5, 4, 4]"))
    scenario.check_against(Grid.filled(9, 9))
    with pytest.raises(CellError, match=rf"bots\[0\]\.{key}\[1\]: \(8, 8\) lies outside"):
        scenario.check_against(Grid.filled(8, 9))
    with pytest.raises(CellError):
        scenario.check_against(Grid.filled(9, 8))


def test_edits_must_lie_on_the_map(tmp_path: Path) -> None:
    scenario = load_scenario(
        written(tmp_path, BOTS + "[[edits]]\ntick = 1\narea = [0, 0, 9, 1]\nclass = 1\n")
    )
    with pytest.raises(CellError, match=r"edits\[0\]\.area"):
        scenario.check_against(Grid.filled(8, 9))
