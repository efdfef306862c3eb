"""How the tests of questions and of paths ask, and what they compare."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image

from navserver import render

FIELD = ".....#.\n.###.#.\n.....#.\n"

SMALL_FIELD = "....\n.##.\n.2..\n"

Ask = Callable[..., tuple[int, str, str]]
Find = Callable[..., tuple[int, str, str]]
Colors = dict[tuple[int, int], render.Color]

SIDE = render.LARGEST_CELL


def parse(answer: tuple[int, str, str]) -> tuple[int, dict[str, Any]]:
    code, out, err = answer
    assert err == ""
    assert out.count("\n") == 1
    return code, json.loads(out)


def check_answer(ask: Ask, question: str, code: int, content: dict[str, Any]) -> None:
    code_of_json, answer = parse(ask(f"{question} --json"))
    assert answer == {"query": question.split(maxsplit=1)[0], "yes": code == 0, **content}
    assert code_of_json == code
    code_of_text, out, err = ask(question)
    assert (code_of_text, err) == (code, "")
    assert out


def check_picture(ask: Ask, folder: Path, question: str, colors: Colors) -> None:
    _, out, err = ask(f"{question} --png a.png")
    assert err == ""
    assert "picture     a.png (168 x 72 pixels)\n" in out
    assert {cell: pixel(folder / "a.png", *cell) for cell in colors} == colors


def pixel(file: Path, x: int, y: int) -> Any:
    with Image.open(file) as image:
        assert image.size == (7 * SIDE, 3 * SIDE)
        return image.getpixel((x * SIDE + SIDE // 2, y * SIDE + SIDE // 2))
