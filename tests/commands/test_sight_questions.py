from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from navserver import render
from tests.commands.asking import Ask, Colors, check_answer, check_picture, parse


@pytest.mark.parametrize(
    ("question", "code", "content"),
    [
        ("fits --at 0,0 1,1", 1, {"at": [[0, 0], [1, 1]], "fits": [True, False]}),
        ("fits --at 0,0 --radius 0.75", 1, {"at": [[0, 0]], "fits": [False]}),
        ("distance-to-wall --at 6,1 2,1", 0, {"at": [[6, 1], [2, 1]], "distances": [0.5, 0]}),
        ("distance-to-wall", 0, {"widest": [0, 0], "distance": 0.5}),
        ("distance-to-wall --class-cost 0=inf", 1, {"widest": [0, 0], "distance": 0}),
        ("line-of-sight --from 0,0 --to 4,0 0,2", 0,
         {"from": [0, 0], "to": [[4, 0], [0, 2]], "visible": [True, True]}),
        ("line-of-sight --from 0,0 --to 4,2 6,0", 1,
         {"from": [0, 0], "to": [[4, 2], [6, 0]], "visible": [False, False]}),
        ("raycast --from 0,0 --to 4,0.25", 0, {
            "from": [0, 0], "to": [4, 0.25], "reached": True, "point": [4, 0.25],
            "cell": [4, 0], "normal": [0, 0]}),
        ("raycast --from 1,1 --to -4,0.25", 1, {
            "from": [1, 1], "to": [-4, 0.25], "reached": False, "point": [1, 1],
            "cell": [1, 1], "normal": [0, 0]}),
    ],
)  # fmt: skip
def test_answers(ask: Ask, question: str, code: int, content: dict[str, Any]) -> None:
    check_answer(ask, question, code, content)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("raycast --from 0,0 --to 0,9",
         "reached     no\nlast point  0,2.49998474\nstopped by  0,3, normal 0,-1\n"),
    ],
)  # fmt: skip
def test_text(ask: Ask, question: str, text: str) -> None:
    assert ask(question)[1] == text


@pytest.mark.parametrize(
    ("question", "colors"),
    [
        ("fits --at 0,0", {(0, 0): render.LINE_COLOR, (4, 2): render.EXPLORED_RAMP[0],
                           (1, 1): render.STONE}),
        ("line-of-sight --from 0,0 --to 4,0", {(2, 0): render.LINE_COLOR, (2, 2): render.PAPER}),
        ("line-of-sight --from 0,0 --to 4,0 4,2",
         {(4, 0): render.LINE_COLOR, (4, 2): render.PAPER}),
        ("raycast --from 0,0 --to 6,0", {(2, 0): render.LINE_COLOR, (5, 0): render.PATH_COLOR}),
        ("distance-to-wall", {(0, 0): render.EXPLORED_RAMP[0], (1, 1): render.STONE}),
    ],
)  # fmt: skip
def test_pictures(ask: Ask, tmp_path: Path, question: str, colors: Colors) -> None:
    check_picture(ask, tmp_path, question, colors)


def test_distances_beyond_what_is_measured(ask: Ask, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((80, 80), np.uint8))
    code, out, _ = ask("distance-to-wall", "a.npy")
    assert (code, out.splitlines()[1]) == (0, "distance    beyond what is measured")
    assert parse(ask("distance-to-wall --json", "a.npy"))[1]["distance"] is None
