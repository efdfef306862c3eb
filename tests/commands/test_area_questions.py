from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from navserver import render
from tests.commands.asking import Ask, Colors, check_answer, check_picture, parse, pixel


@pytest.mark.parametrize(
    ("question", "code", "content"),
    [
        (
            "islands", 0,
            {"count": 2, "islands": [
                {"label": 1, "cells": 12, "first": [0, 0]},
                {"label": 2, "cells": 3, "first": [6, 0]},
            ]},
        ),
        ("islands --size 2", 1, {"count": 0, "islands": []}),
        ("islands --class-cost 255=1", 0, {"count": 1, "islands": [
            {"label": 1, "cells": 21, "first": [0, 0]}]}),
        ("connected --from 0,0 --to 4,2 6,0", 1,
         {"from": [0, 0], "to": [[4, 2], [6, 0]], "connected": [True, False]}),
        ("connected --from 0,0 --to 4,2", 0,
         {"from": [0, 0], "to": [[4, 2]], "connected": [True]}),
        ("nearest --to -3,-4", 0, {"from": None, "to": [-3, -4], "cell": [0, 0], "distance": 5}),
        ("nearest --from 6,0 --to 2,1", 0,
         {"from": [6, 0], "to": [2, 1], "cell": [6, 1], "distance": 4}),
        ("nearest --to 2,1 --max-distance 0.5", 1,
         {"from": None, "to": [2, 1], "cell": None, "distance": None}),
        ("reachable --from 6,0 --budget 1", 0, {
            "from": [6, 0], "budget": 1, "count": 2, "cells": [[6, 0], [6, 1]], "costs": [0, 1]}),
        ("reachable --from 6,0 --budget 1 --cost-model product --class-cost 0=2", 0, {
            "from": [6, 0], "budget": 1, "count": 1, "cells": [[6, 0]], "costs": [0]}),
        ("reachable --from 0,0 --budget 2 --to 0,2", 0, {
            "from": [0, 0], "budget": 2, "count": 5, "to": [0, 2], "cost": 2,
            "path": [[0, 0], [0, 1], [0, 2]]}),
        ("reachable --from 0,0 --budget 2 --to 6,2", 1, {
            "from": [0, 0], "budget": 2, "count": 5, "to": [6, 2], "cost": None, "path": []}),
        ("random --from 5,0", 1, {"from": [5, 0], "seed": 0, "cells": []}),
        ("opens --from 0,0 --to 6,0", 0, {"from": [0, 0], "to": [6, 0], "cells": [[5, 2]]}),
        ("opens --from 0,0 --to 4,2", 0, {"from": [0, 0], "to": [4, 2], "cells": []}),
    ],
)  # fmt: skip
def test_answers(ask: Ask, question: str, code: int, content: dict[str, Any]) -> None:
    check_answer(ask, question, code, content)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("islands", ("islands     2\n1           12 cells, the first 0,0\n"
                     "2           3 cells, the first 6,0\n")),
        ("islands --at 6,1 5,0", "islands     2\n6,1         island 2\n5,0         blocked\n"),
        ("connected --from 0,0 --to 4,2 6,0", "4,2         yes\n6,0         no\n"),
        ("nearest --to 2,1 --max-distance 0.5", "nearest     none\n"),
        ("reachable --from 0,0 --budget 2 --to 0,2",
         "reachable   5 cells for 2\n0,2         cost 2, 3 cells\n"),
        ("random --from 5,0", "none: the start is blocked\n"),
        ("opens --from 0,0 --to 6,0", "to open     1\n5,2\n"),
        ("opens --from 0,0 --to 4,2", "connected as it is\n"),
    ],
)  # fmt: skip
def test_text(ask: Ask, question: str, text: str) -> None:
    assert ask(question)[1] == text


@pytest.mark.parametrize(
    ("question", "colors"),
    [
        ("nearest --to 2,1", {(2, 1): render.GOAL_COLOR, (2, 0): render.LINE_COLOR}),
        ("reachable --from 6,0 --budget 2", {
            (6, 0): render.START_COLOR, (6, 1): render.EXPLORED_RAMP[1],
            (6, 2): render.EXPLORED_RAMP[2], (0, 0): render.PAPER}),
        ("reachable --from 0,0 --budget 2 --to 0,2",
         {(0, 1): render.PATH_COLOR, (0, 2): render.GOAL_COLOR}),
        ("random --from 6,0 --count 99", {(6, 1): render.LINE_COLOR, (0, 0): render.PAPER}),
        ("opens --from 0,0 --to 6,0", {(5, 2): render.LINE_COLOR, (5, 1): render.STONE}),
    ],
)  # fmt: skip
def test_pictures(ask: Ask, tmp_path: Path, question: str, colors: Colors) -> None:
    check_picture(ask, tmp_path, question, colors)


def test_long_lists_are_cut_in_text_alone(ask: Ask) -> None:
    _, out, _ = ask("islands --size 2", "builtin:obstacles")
    _, content = parse(ask("islands --size 2 --json", "builtin:obstacles"))
    count = content["count"]
    assert len(content["islands"]) == count > 21
    assert len(out.splitlines()) == 22
    assert out.splitlines()[-1] == f"... and {count - 20} more"


def test_random_cells_depend_on_the_seed(ask: Ask) -> None:
    question = "random --from 0,0 --count 30 --json --seed"
    first, again, other = (parse(ask(f"{question} {seed}"))[1]["cells"] for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == 30


def test_picture_of_islands(ask: Ask, tmp_path: Path) -> None:
    ask("islands --png a.png")
    one, two, wall = (pixel(tmp_path / "a.png", x, 0) for x in (0, 6, 5))
    assert pixel(tmp_path / "a.png", 4, 2) == one
    assert len({one, two, wall, render.PAPER}) == 4
    assert wall == render.STONE
