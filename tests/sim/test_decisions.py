from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from navserver.sim.bots import BehaviorError
from navserver.sim.decisions import ask_behavior, load_behavior, make_behavior
from navserver.status import InputError
from tests.sim.crowds import GRID, LEFT, kind_of, seen


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("wander", {"pause": -1}, "options.pause: -1"),
        ("wander", {"pause": float("nan")}, "options.pause: nan"),
        ("chase", {"prey": 0}, "options.prey: 0"),
        ("chase", {"interval": 0}, "options.interval: 0"),
        ("wander", {"pause": "x"}, "options.pause: 'x' is not a number"),
        ("commute", {"pause": True}, "options.pause: True is not a number"),
        ("chase", {"prey": []}, "options.prey: [] is not a number"),
        ("swim", {}, "behavior: 'swim' is unknown; use wander"),
        ("none.py", {}, "is not a file"),
    ],
)
def test_bad_options(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        make_behavior(name, kind_of([LEFT]), options)
    assert words in str(caught.value)


def test_unknown_options_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"options\.speed: 1 is an unknown option; use pause"):
        make_behavior("wander", kind_of([LEFT]), {"speed": 1})
    own = of_user(tmp_path, "return None")
    with pytest.raises(InputError, match="this behaviour takes none"):
        make_behavior(own, kind_of([LEFT]), {"speed": 1})
    any_ = of_user(
        tmp_path,
        "return None",
        more="class Any:\n    def __init__(self, kind, **rest): self.rest = rest\n"
        "    def decide(self, bots): return None\n",
    )
    made = make_behavior(f"{any_}:Any", kind_of([LEFT]), {"speed": 1})
    assert made.rest == {"speed": 1}  # type: ignore[attr-defined]


def of_user(tmp_path: Path, decide: str, *, more: str = "") -> str:
    file = tmp_path / "own.py"
    file.write_text(
        "import numpy as np\n"
        "class Own:\n"
        "    def __init__(self, kind): self.kind = kind\n"
        f"    def decide(self, bots):\n        {decide}\n{more}"
    )
    return str(file)


def ask(tmp_path: Path, decide: str) -> tuple[list[int], list[list[int]]]:
    behavior = make_behavior(of_user(tmp_path, decide), kind_of([LEFT] * 3), {})
    rows, goals = ask_behavior(behavior, "bots", seen([LEFT] * 3, 0, tick=7), GRID)
    return rows.tolist(), goals.tolist()


@pytest.mark.parametrize(
    ("decide", "answer"),
    [
        ("return None", ([], [])),
        ("return [], np.zeros((0, 2))", ([], [])),
        ("return [2], [(0, 5)]", ([2], [[0, 5]])),
        ("return [2, 0], np.array([(0.0, 5.0), (-2.0, 6.0)])", ([2, 0], [[0, 5], [-2, 6]])),
    ],
)
def test_what_users_may_answer(tmp_path: Path, decide: str, answer: Any) -> None:
    assert ask(tmp_path, decide) == answer


@pytest.mark.parametrize(
    ("decide", "words"),
    [
        ("return 1 / 0", "own.py:5: ZeroDivisionError: division by zero"),
        ("return 3", "it returned 3; give rows and goals, or None"),
        ("return {1: 2}", "it returned {1: 2}; give rows and goals, or None"),
        ("return [0], [(np.inf, 5)]", "its goals are not cells"),
        ("return [0], [(np.nan, 5)]", "its goals are not cells, as [nan  5.] of row 0"),
        ("return [0, 1], [(0, 5), (0.5, 5)]", "of row 1; give whole numbers"),
        ("return [0], [(99, 5)]", "goals[0]: (99, 5) lies outside the map"),
        ("return [0], [('a', 'b')]", "its goals are not cells"),
        ("return [0], [(1e30, 5)]", "its goals are not cells, as [1.e+30 5.e+00] of row 0"),
        ("return [0], [(2**63, 5)]", "its goals are not cells"),
        ("return [0], [(10**40, 5)]", "its goals are not cells"),
        ("return [0], [(True, False)]", "its goals are not cells"),
        ("return [0, 1], [(0, 5), (0,)]", "give rows and goals, or None"),
        ("return [10**40], [(0, 5)]", "are not whole numbers below 3"),
        ("return 0, (0, 5)", "have shapes () and (2,)"),
        ("yield [0], [(0, 5)]", "give rows and goals, or None"),
        ("return self.decide(bots)", "own.py:5: RecursionError"),
        ("raise MemoryError", "own.py:5: MemoryError"),
        ("raise ValueError('two\\nlines')", "own.py:5: ValueError: two lines; correct it there"),
        ("return [3], [(0, 5)]", "are not whole numbers below 3"),
        ("return [-1], [(0, 5)]", "are not whole numbers below 3"),
        ("return [0.5], [(0, 5)]", "are not whole numbers below 3"),
        ("return [0, 0], [(0, 5), (0, 5)]", "name a bot twice"),
        ("return [0, 1], [(0, 5)]", "have shapes (2,) and (1, 2)"),
        ("bots.state[0] = 3", "ValueError: assignment destination is read-only"),
    ],
)
def test_bad_orders_are_told_by_kind_and_tick(tmp_path: Path, decide: str, words: str) -> None:
    with pytest.raises(BehaviorError) as caught:
        ask(tmp_path, decide)
    assert str(caught.value).startswith("behavior of bots at tick 7")
    assert f"{tmp_path / 'own.py'}:" in str(caught.value)
    assert words in str(caught.value)


def test_a_file_of_two_classes_needs_a_name(tmp_path: Path) -> None:
    two = of_user(tmp_path, "return None", more="class Other(Own): pass\n")
    with pytest.raises(InputError, match="names no behaviour; the file has Own, Other"):
        load_behavior(two)
    assert load_behavior(f"{two}:Other").__name__ == "Other"
    with pytest.raises(InputError):
        load_behavior(f"{two}:Third")


def test_files_that_cannot_be_run(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("def decide(:\n")
    with pytest.raises(BehaviorError, match=r"broken\.py:1: invalid syntax"):
        load_behavior(str(file))
    file.write_text("import math\n\nmath.sqrt(-1)\n")
    with pytest.raises(BehaviorError, match=r"broken\.py:3: ValueError"):
        load_behavior(str(file))
    file.write_bytes(b"\0")
    with pytest.raises(BehaviorError, match=r"broken\.py cannot be run: \w+: .* null bytes"):
        load_behavior(str(file))
    file.write_text("Own = 3\n")
    with pytest.raises(InputError, match="the file has no class that has a method decide"):
        load_behavior(str(file))
