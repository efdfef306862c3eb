from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from navserver import render
from tests.commands.asking import Ask, Colors, check_answer, check_picture


@pytest.mark.parametrize(
    ("question", "code", "content"),
    [
        ("matrix --from 0,0 4,0 --to 0,2 4,2", 0,
         {"from": [[0, 0], [4, 0]], "to": [[0, 2], [4, 2]], "costs": [[2, 6], [6, 2]]}),
        ("matrix --from 0,0 --to 0,2 6,2", 1,
         {"from": [[0, 0]], "to": [[0, 2], [6, 2]], "costs": [[2, None]]}),
        ("nearest-goal --from 0,0 --to 4,2 6,0 2,2", 0, {
            "from": [0, 0], "to": [[4, 2], [6, 0], [2, 2]], "index": 2, "status": "found",
            "cost": 4, "length": 4, "path": [[0, 0], [0, 1], [0, 2], [1, 2], [2, 2]]}),
        ("nearest-goal --from 0,0 --to 6,0", 1, {
            "from": [0, 0], "to": [[6, 0]], "index": -1, "status": "unreachable",
            "cost": None, "length": None, "path": []}),
        ("field --to 6,2", 0, {"to": [[6, 2]], "reached": 3, "bytes": 147}),
        ("field --to 0,0 6,2 --from 6,0 2,0 4,2", 0, {
            "to": [[0, 0], [6, 2]], "reached": 15, "bytes": 147, "from": [
                {"cell": [6, 0], "cost": 2, "direction": [0, 1]},
                {"cell": [2, 0], "cost": 2, "direction": [-1, 0]},
                {"cell": [4, 2], "cost": 6, "direction": [-1, 0]}]}),
        ("field --to 6,2 --from 0,0", 1, {
            "to": [[6, 2]], "reached": 3, "bytes": 147,
            "from": [{"cell": [0, 0], "cost": None, "direction": [0, 0]}]}),
        ("distance-map --from 0,0", 0, {
            "from": [[0, 0]], "reached": 12, "farthest": {"cell": [4, 2], "cost": 6}}),
        ("distance-map --from 0,0 --max-cost 3", 0, {
            "from": [[0, 0]], "reached": 7, "farthest": {"cell": [3, 0], "cost": 3}}),
        ("distance-map --from 0,0 4,2 --start-values 5 0 --to 1,0 6,0", 1, {
            "from": [[0, 0], [4, 2]], "reached": 12, "farthest": {"cell": [0, 0], "cost": 5},
            "to": [{"cell": [1, 0], "cost": 5, "source": 1},
                   {"cell": [6, 0], "cost": None, "source": -1}]}),
    ],
)  # fmt: skip
def test_answers(ask: Ask, question: str, code: int, content: dict[str, Any]) -> None:
    check_answer(ask, question, code, content)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("matrix --from 0,0 --to 0,2 6,2", "     0,2   6,2\n0,0    2  none\n"),
        ("nearest-goal --from 0,0 --to 6,0", "nearest     none (unreachable)\n"),
        ("distance-map --from 0,0 --to 4,2 6,0",
         ("reached     12 cells\nfarthest    4,2, cost 6\n"
          "4,2         cost 6, source 0,0\n6,0         none\n")),
    ],
)  # fmt: skip
def test_text(ask: Ask, question: str, text: str) -> None:
    assert ask(question)[1] == text


@pytest.mark.parametrize(
    ("question", "colors"),
    [
        ("nearest-goal --from 0,0 --to 0,2 6,0", {
            (0, 1): render.PATH_COLOR, (0, 2): render.GOAL_COLOR, (6, 0): render.LINE_COLOR}),
        ("field --to 6,2", {(6, 1): render.ARROW_COLOR, (6, 2): render.LINE_COLOR}),
        ("distance-map --from 6,2", {(6, 1): render.EXPLORED_RAMP[1], (0, 0): render.PAPER}),
    ],
)  # fmt: skip
def test_pictures(ask: Ask, tmp_path: Path, question: str, colors: Colors) -> None:
    check_picture(ask, tmp_path, question, colors)
