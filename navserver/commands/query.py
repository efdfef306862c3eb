"""``navserver query``: the questions a game asks of a map besides the path."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.commands import area_questions, cost_questions, sight_questions
from navserver.commands.arguments import Parser
from navserver.commands.movement import MAPS_HELP, add_movement, read_scene
from navserver.commands.questions import Question
from navserver.render import save_picture
from navserver.status import InputError

__all__ = ["QUESTIONS", "add_to", "run"]

NO = 1

QUESTIONS: Mapping[str, Question] = {
    **area_questions.QUESTIONS,
    **sight_questions.QUESTIONS,
    **cost_questions.QUESTIONS,
}
"""All subcommands, in the order of the help."""

_EXAMPLES = f"""\
examples:
  navserver query arena.map islands --png islands.png
  navserver query arena.map connected --from 1,11 --to 47,46 --size 2
  navserver query builtin:countryside reachable --budget 20 --png area.png
  navserver query builtin:rooms nearest-goal --from 1,1 --to 70,34 30,20 --json
  navserver query arena.map distance-to-wall --npy clearance.npy

navserver query MAP QUESTION --help says more.

{MAPS_HELP}

exit codes: 0 yes or found, 1 no or none (of several: where it does not hold for all),
2 bad input."""


def add_to(commands: Any) -> None:
    """State the command's arguments.

    Parameters
    ----------
    commands : argparse subparsers
        Where the command is added.
    """
    parser = commands.add_parser(
        "query",
        help="ask a map: islands, reachable cells, flow fields, lines of sight ...",
        description="Ask a question about a map.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("map", metavar="MAP", help="map file, or builtin:NAME")
    questions = parser.add_subparsers(
        title="questions",
        dest="question",
        metavar="QUESTION",
        required=True,
        parser_class=Parser,
        prog="navserver query MAP",
    )
    for name, question in QUESTIONS.items():
        _add_question(questions, name, question)


def _add_question(questions: Any, name: str, question: Question) -> None:
    parser = questions.add_parser(
        name,
        help=question.help,
        description=question.description,
        epilog=f"example:\n  navserver query {question.example}",
    )
    parser.set_defaults(run=run)
    question.ask(parser)
    add_movement(parser, body=question.body, costs=question.costs)
    output = parser.add_argument_group("output")
    output.add_argument("--json", action="store_true", help="print one JSON object instead")
    if question.picture:
        output.add_argument("--png", metavar="FILE", help=f"draw {question.picture}")
    if question.array:
        output.add_argument("--npy", metavar="FILE", help=f"write {question.array}, by [y, x]")


def run(arguments: argparse.Namespace) -> int:
    """Ask, print, draw and write.

    Parameters
    ----------
    arguments : Namespace
        As `add_to` states them.

    Returns
    -------
    int
        0 for yes or found, else 1.
    """
    scene = read_scene(arguments)
    answer = QUESTIONS[arguments.question].answer(arguments, scene)
    lines = list(answer.lines)
    if getattr(arguments, "png", None) is not None:
        width, height = save_picture(
            arguments.png,
            scene.grid,
            profile=scene.movement["profile"],
            overlays=scene.movement.get("overlays"),
            **answer.drawing,
        )
        lines.append(f"picture     {arguments.png} ({width} x {height} pixels)")
    if getattr(arguments, "npy", None) is not None and answer.array is not None:
        _save_array(arguments.npy, answer.array)
        lines.append(f"array       {arguments.npy} ({answer.array.dtype})")
    if arguments.json:
        print(json.dumps({"query": arguments.question, "yes": answer.yes, **answer.content}))
    else:
        print("\n".join(lines))
    return 0 if answer.yes else NO


def _save_array(file: str, array: NDArray[Any]) -> None:
    try:
        # Into an open file: numpy would add an ending to a name without one.
        with Path(file).open("wb") as stream:
            np.save(stream, array)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            "npy", file, f"cannot be written ({reason})", "name another file"
        ) from None
