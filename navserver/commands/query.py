"""``navserver query``: the questions a game asks of a map besides the path."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.commands.arguments import (
    Parser,
    as_cell,
    as_number,
    as_point,
    as_positive,
    as_seed,
    finite,
)
from navserver.commands.movement import (
    MAPS_HELP,
    Scene,
    add_movement,
    body_offset,
    chosen_cell,
    read_scene,
)
from navserver.render import save_picture
from navserver.search.clearance import distance_to_wall, fits
from navserver.search.distance_map import distance_map
from navserver.search.flow_field import FlowField
from navserver.search.islands import connected, island_labels
from navserver.search.line_of_sight import line_of_sight, raycast
from navserver.search.many import cost_matrix, nearest_goal, reachable
from navserver.search.nearest import nearest_reachable, nearest_walkable, random_reachable
from navserver.search.openings import what_opens
from navserver.status import InputError

__all__ = ["add_to", "run"]

Cell = tuple[int, int]

NO = 1
MOST_LISTED = 20
"""Lines of a list in text; JSON has all."""

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


@dataclass(frozen=True)
class _Answer:
    """What a question came to."""

    yes: bool
    lines: list[str]
    content: dict[str, Any]
    drawing: dict[str, Any] = field(default_factory=dict)
    """Keywords of `draw_picture` besides the map and its costs."""
    array: NDArray[Any] | None = None


class _Question(NamedTuple):
    """One subcommand."""

    ask: Callable[[Any], None]
    """States its own arguments."""
    answer: Callable[[argparse.Namespace, Scene], _Answer]
    help: str
    description: str
    example: str
    body: bool = True
    costs: bool = False
    picture: str = ""
    array: str = ""


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


def _add_question(questions: Any, name: str, question: _Question) -> None:
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


def _shown(cell: Any) -> str:
    x, y = cell
    return f"{int(x)},{int(y)}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _cost(value: float) -> str:
    return "none" if math.isinf(value) else f"{value:.9g}"


def _listed(lines: list[str]) -> list[str]:
    """Return the first lines, and how many are left out."""
    left_out = len(lines) - MOST_LISTED
    return lines if left_out <= 0 else [*lines[:MOST_LISTED], f"... and {left_out} more"]


def _ends(arguments: argparse.Namespace, scene: Scene) -> tuple[Cell, list[Cell]]:
    """Return the start and the goals."""
    goals = arguments.goals or [chosen_cell(None, scene.goal, "--to")]
    return chosen_cell(arguments.start, scene.start, "--from"), goals


def _islands(arguments: argparse.Namespace, scene: Scene) -> _Answer:
    labels = island_labels(scene.grid, **scene.movement)
    sizes = np.bincount(labels.ravel())[1:]
    # Labels rise in the order of the first cells.
    highest = np.maximum.accumulate(labels.ravel())
    firsts = np.flatnonzero(np.diff(highest, prepend=0))
    ox, oy = scene.grid.region_position
    islands: list[dict[str, Any]] = [
        {"label": i + 1, "cells": int(size), "first": [ox + int(x), oy + int(y)]}
        for i, (size, x, y) in enumerate(
            zip(sizes, firsts % scene.grid.width, firsts // scene.grid.width, strict=True)
        )
    ]
    lines = [f"islands     {len(islands)}"]
    content: dict[str, Any] = {"count": len(islands), "islands": islands}
    if arguments.at:
        flat = scene.grid.flat_indices(arguments.at, "--at")
        content["at"] = labels.ravel()[flat].tolist()
        lines += [
            f"{_shown(cell):<12}{f'island {label}' if label else 'blocked'}"
            for cell, label in zip(arguments.at, content["at"], strict=True)
        ]
    else:
        by_size = sorted(islands, key=lambda island: -island["cells"])
        lines += _listed(
            [
                f"{island['label']:<12}{island['cells']} cells, the first {_shown(island['first'])}"
                for island in by_size
            ]
        )
    yes = bool(all(content["at"])) if arguments.at else bool(islands)
    return _Answer(yes, lines, content, {"labels": labels, "marks": arguments.at}, labels)


def _connected(arguments: argparse.Namespace, scene: Scene) -> _Answer:
    start, goals = _ends(arguments, scene)
    answers = np.atleast_1d(connected(scene.grid, start, goals, **scene.movement)).tolist()
    lines = [f"{_shown(goal):<12}{_yes(yes)}" for goal, yes in zip(goals, answers, strict=True)]
    return _Answer(all(answers), lines, {"from": start, "to": goals, "connected": answers})


def _nearest(arguments: argparse.Namespace, scene: Scene) -> _Answer:
    target = chosen_cell(arguments.goal, scene.goal, "--to")
    limit = arguments.max_distance
    if arguments.start is None:
        cell = nearest_walkable(scene.grid, target, max_distance=limit, **scene.movement)
    else:
        cell = nearest_reachable(
            scene.grid, arguments.start, target, max_distance=limit, **scene.movement
        )
    distance = math.inf if cell is None else math.dist(cell, target)
    lines = ["nearest     none"]
    if cell is not None:
        lines = [f"nearest     {_shown(cell)}", f"distance    {distance:.9g}"]
    drawing = {
        "marks": None if cell is None else [cell],
        "start": arguments.start,
        "goal": target if scene.grid.contains(target) else None,
        "offset": body_offset(scene.movement),
    }
    content = {"from": arguments.start, "to": target, "cell": cell, "distance": finite(distance)}
    return _Answer(cell is not None, lines, content, drawing)


def _reachable(arguments: argparse.Namespace, scene: Scene) -> _Answer:
    start = chosen_cell(arguments.start, scene.start, "--from")
    area = reachable(scene.grid, start, arguments.budget, **scene.movement)
    costs = np.full((scene.grid.height, scene.grid.width), np.nan)
    costs.ravel()[scene.grid.flat_indices(area.cells)] = area.costs
    lines = [f"reachable   {len(area)} cells for {arguments.budget:g}"]
    content: dict[str, Any] = {"from": start, "budget": arguments.budget, "count": len(area)}
    drawing: dict[str, Any] = {
        "shades": costs,
        "start": start,
        "offset": body_offset(scene.movement),
    }
    yes = True
    if arguments.goal is None:
        content |= {"cells": area.cells.tolist(), "costs": area.costs.tolist()}
    else:
        path, cost = area.path_to(arguments.goal), area.cost_at(arguments.goal)
        yes = bool(len(path))
        content |= {"to": arguments.goal, "cost": finite(cost), "path": path.tolist()}
        drawing |= {"path": path, "goal": arguments.goal}
        lines.append(f"{_shown(arguments.goal):<12}cost {_cost(cost)}, {len(path)} cells")
    return _Answer(yes, lines, content, drawing, np.where(np.isnan(costs), np.inf, costs))


def _random(arguments: argparse.Namespace, scene: Scene) -> _Answer:
    start = chosen_cell(arguments.start, scene.start, "--from")
    cells = random_reachable(
        scene.grid, start, seed=arguments.seed, count=arguments.count, **scene.movement
    )
    content = {"from": start, "seed": arguments.seed, "cells": cells.tolist()}
    lines = [_shown(cell) for cell in cells] or ["none: the start is blocked"]
    drawing = {"marks": cells, "start": start, "offset": body_offset(scene.movement)}
    return _Answer(bool(len(cells)), lines, content, drawing)


def _opens(arguments: argparse.Namespace, scene: Scene) -> _Answer:
    start = chosen_cell(arguments.start, scene.start, "--from")
    goal = chosen_cell(arguments.goal, scene.goal, "--to")
    cells = what_opens(scene.grid, start, goal, **scene.movement)
    lines = [f"to open     {len(cells)}"] if len(cells) else ["connected as it is"]
    lines += _listed([_shown(cell) for cell in cells])
    content = {"from": start, "to": goal, "cells": cells.tolist()}
    return _Answer(True, lines, content, {"marks": cells, "start": start, "goal": goal})


def _fits(arguments: argparse.Namespace, scene: Scene) -> _Answer:
    answers = np.atleast_1d(fits(scene.grid, arguments.at, **scene.movement)).tolist()
    lines = [
        f"{_shown(cell):<12}{_yes(yes)}" for cell, yes in zip(arguments.at, answers, strict=True)
    ]
    drawing: dict[str, Any] = {"marks": arguments.at}
    if arguments.png is not None:
        # The cells of islands are those where it fits.
        space = island_labels(scene.grid, **scene.movement) > 0
        drawing["shades"] = np.where(space, 0.0, np.nan)
    return _Answer(all(answers), lines, {"at": arguments.at, "fits": answers}, drawing)


def _distance_to_wall(arguments: argparse.Namespace, scene: Scene) -> _Answer:
    profile = scene.movement["profile"]
    if arguments.at and arguments.png is None and arguments.npy is None:
        whole = None
        distances = np.atleast_1d(distance_to_wall(scene.grid, arguments.at, profile=profile))
    else:
        whole = np.asarray(distance_to_wall(scene.grid, profile=profile))
        flat = scene.grid.flat_indices(arguments.at or [], "--at")
        distances = whole.ravel()[flat]
    content: dict[str, Any] = {}
    drawing: dict[str, Any] = {}
    if whole is not None:
        drawing = {"shades": np.where(whole > 0.0, whole, np.nan), "marks": arguments.at}
    if arguments.at:
        content = {"at": arguments.at, "distances": [finite(d) for d in distances.tolist()]}
        lines = [
            f"{_shown(cell):<12}{_far(distance)}"
            for cell, distance in zip(arguments.at, distances.tolist(), strict=True)
        ]
        return _Answer(True, lines, content, drawing, whole)
    assert whole is not None
    y, x = np.unravel_index(int(whole.argmax()), whole.shape)
    ox, oy = scene.grid.region_position
    cell, most = (ox + int(x), oy + int(y)), float(whole.max())
    content = {"widest": cell, "distance": finite(most)}
    lines = [f"widest      {_shown(cell)}", f"distance    {_far(most)}"]
    return _Answer(most > 0.0, lines, content, drawing, whole)


def _far(distance: float) -> str:
    return "beyond what is measured" if math.isinf(distance) else f"{distance:.9g}"


def _line_of_sight(arguments: argparse.Namespace, scene: Scene) -> _Answer:
    start, goals = _ends(arguments, scene)
    seen = np.atleast_1d(
        line_of_sight(scene.grid, [start] * len(goals), goals, **scene.movement)
    ).tolist()
    lines = [f"{_shown(goal):<12}{_yes(yes)}" for goal, yes in zip(goals, seen, strict=True)]
    drawing: dict[str, Any] = {"start": start, "offset": body_offset(scene.movement)}
    if len(goals) == 1:
        drawing |= {"line": [start, goals[0]], "goal": goals[0]}
    else:
        drawing |= {"marks": [goal for goal, yes in zip(goals, seen, strict=True) if yes]}
    return _Answer(all(seen), lines, {"from": start, "to": goals, "visible": seen}, drawing)


def _raycast(arguments: argparse.Namespace, scene: Scene) -> _Answer:
    hit = raycast(scene.grid, arguments.start, arguments.end, **scene.movement)
    x, y = hit.point
    lines = [f"reached     {_yes(hit.reached)}", f"last point  {x:.9g},{y:.9g}"]
    if not hit.reached:
        lines.append(f"stopped by  {_shown(hit.cell)}, normal {_shown(hit.normal)}")
    content = {
        "from": arguments.start,
        "to": arguments.end,
        "reached": hit.reached,
        "point": hit.point,
        "cell": hit.cell,
        "normal": hit.normal,
    }
    drawing = {
        "path": [hit.cell] if scene.grid.contains(hit.cell) else None,
        "line": [arguments.start, hit.point],
        "offset": body_offset(scene.movement),
    }
    return _Answer(hit.reached, lines, content, drawing)


def _matrix(arguments: argparse.Namespace, scene: Scene) -> _Answer:
    costs = cost_matrix(scene.grid, arguments.starts, arguments.goals, **scene.movement)
    shown = [["", *map(_shown, arguments.goals)]]
    shown += [
        [_shown(start), *(_cost(cost) for cost in row)]
        for start, row in zip(arguments.starts, costs.tolist(), strict=True)
    ]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = [
        "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        for row in shown
    ]
    content = {
        "from": arguments.starts,
        "to": arguments.goals,
        "costs": [[finite(cost) for cost in row] for row in costs.tolist()],
    }
    return _Answer(bool(np.isfinite(costs).all()), lines, content)


def _nearest_goal(arguments: argparse.Namespace, scene: Scene) -> _Answer:
    start, goals = _ends(arguments, scene)
    nearest = nearest_goal(scene.grid, start, goals, **scene.movement)
    path = nearest.path
    status = path.status.name.lower()
    lines = [f"nearest     none ({status})"]
    if path.found:
        lines = [
            f"nearest     {_shown(path.goal)}",
            f"cost        {path.cost:.9g}",
            f"length      {path.length:.9g}, {len(path.cells)} cells",
        ]
    content = {
        "from": start,
        "to": goals,
        "index": nearest.index,
        "status": status,
        "cost": finite(path.cost),
        "length": finite(path.length),
        "path": path.cells.tolist(),
    }
    drawing = {
        "path": path.cells,
        "marks": goals,
        "start": start,
        "goal": path.goal if path.found else None,
        "offset": body_offset(scene.movement),
    }
    return _Answer(path.found, lines, content, drawing)


def _field(arguments: argparse.Namespace, scene: Scene) -> _Answer:
    goals = arguments.goals or [chosen_cell(None, scene.goal, "--to")]
    built = FlowField(scene.grid, goals, sight_radius=arguments.sight_radius, **scene.movement)
    reached = int(np.isfinite(built.costs).sum())
    lines = [
        f"reached     {reached} cells",
        f"sight       {int(built.line_of_sight.sum())} cells walk straight to a goal",
        f"memory      at most {built.nbytes} bytes",
    ]
    content: dict[str, Any] = {"to": goals, "reached": reached, "bytes": built.nbytes}
    yes = True
    if arguments.starts:
        costs = [built.cost_at(start) for start in arguments.starts]
        vectors = built.sample(arguments.starts)
        content["from"] = [
            {"cell": start, "cost": finite(cost), "direction": [float(x), float(y)]}
            for start, cost, (x, y) in zip(arguments.starts, costs, vectors.tolist(), strict=True)
        ]
        lines += [
            f"{_shown(start):<12}cost {_cost(cost)}, direction {x:.4g},{y:.4g}"
            for start, cost, (x, y) in zip(arguments.starts, costs, vectors.tolist(), strict=True)
        ]
        yes = not any(map(math.isinf, costs))
    drawing = {
        "shades": built.costs,
        "directions": built.directions,
        "marks": goals,
        "offset": body_offset(scene.movement),
    }
    return _Answer(yes, lines, content, drawing, built.costs)


def _distance_map(arguments: argparse.Namespace, scene: Scene) -> _Answer:
    sources = arguments.starts or [chosen_cell(None, scene.start, "--from")]
    built = distance_map(
        scene.grid,
        sources,
        start_values=arguments.start_values,
        max_cost=arguments.max_cost,
        reverse=arguments.reverse,
        **scene.movement,
    )
    known = np.isfinite(built.costs)
    costs = np.where(known, built.costs, -1.0)
    y, x = np.unravel_index(int(costs.argmax()), costs.shape)
    ox, oy = scene.grid.region_position
    farthest = (ox + int(x), oy + int(y))
    most = built.cost_at(farthest)
    lines = [
        f"reached     {int(known.sum())} cells",
        f"farthest    {_shown(farthest)}, cost {_cost(most)}",
    ]
    content: dict[str, Any] = {
        "from": sources,
        "reached": int(known.sum()),
        "farthest": {"cell": farthest, "cost": most},
    }
    yes = True
    if arguments.goals:
        flat = scene.grid.flat_indices(arguments.goals, "--to")
        answers = [
            {
                "cell": goal,
                "cost": finite(float(built.costs.ravel()[cell])),
                "source": int(built.sources.ravel()[cell]),
            }
            for goal, cell in zip(arguments.goals, flat.tolist(), strict=True)
        ]
        content["to"] = answers
        for answer in answers:
            text = "none"
            if answer["source"] >= 0:
                text = f"cost {answer['cost']:.9g}, source {_shown(sources[answer['source']])}"
            lines.append(f"{_shown(answer['cell']):<12}{text}")
        yes = all(answer["source"] >= 0 for answer in answers)
    drawing = {
        "shades": built.costs,
        "marks": sources,
        "offset": body_offset(scene.movement),
    }
    return _Answer(yes, lines, content, drawing, built.costs)


def _cells(parser: Any, option: str, name: str, text: str, *, required: bool = False) -> None:
    parser.add_argument(
        option,
        dest=name,
        type=as_cell,
        action="extend",
        nargs="+",
        metavar="X,Y",
        required=required,
        help=text,
    )


def _cell(parser: Any, option: str, name: str, text: str) -> None:
    parser.add_argument(option, dest=name, type=as_cell, metavar="X,Y", help=text)


def _ask_islands(parser: Any) -> None:
    _cells(parser, "--at", "at", "tell the islands of these cells instead of all")


def _ask_ends(parser: Any) -> None:
    _cell(parser, "--from", "start", "start cell")
    _cells(parser, "--to", "goals", "goal cells")


def _ask_pair(parser: Any) -> None:
    _cell(parser, "--from", "start", "start cell")
    _cell(parser, "--to", "goal", "goal cell")


def _ask_nearest(parser: Any) -> None:
    _cell(parser, "--to", "goal", "cell to look around; may be blocked or outside the map")
    _cell(parser, "--from", "start", "only cells that can be reached from here")
    parser.add_argument(
        "--max-distance", type=as_number, metavar="D", help="look no farther than D cells"
    )


def _ask_reachable(parser: Any) -> None:
    _cell(parser, "--from", "start", "start cell")
    parser.add_argument(
        "--budget", type=as_number, metavar="B", required=True, help="cost that may be spent"
    )
    _cell(parser, "--to", "goal", "tell the path to this cell instead of all cells")


def _ask_random(parser: Any) -> None:
    _cell(parser, "--from", "start", "start cell")
    parser.add_argument(
        "--count", type=as_positive, default=1, metavar="N", help="cells wanted; default 1"
    )
    parser.add_argument(
        "--seed",
        type=as_seed,
        default=0,
        metavar="S",
        help="equal seeds give equal cells; default 0",
    )


def _ask_fits(parser: Any) -> None:
    _cells(parser, "--at", "at", "cells to stand on", required=True)


def _ask_distance_to_wall(parser: Any) -> None:
    _cells(parser, "--at", "at", "tell the distances of these cells instead of the greatest")


def _ask_raycast(parser: Any) -> None:
    for option, name, text in (
        ("--from", "start", "point to start from; a cell's centre is at its whole numbers"),
        ("--to", "end", "point to walk to; may lie outside the map"),
    ):
        parser.add_argument(
            option, dest=name, type=as_point, metavar="X,Y", required=True, help=text
        )


def _ask_matrix(parser: Any) -> None:
    _cells(parser, "--from", "starts", "start cells", required=True)
    _cells(parser, "--to", "goals", "goal cells", required=True)


def _ask_field(parser: Any) -> None:
    _cells(parser, "--to", "goals", "goal cells")
    _cells(parser, "--from", "starts", "tell cost and direction of these cells")
    parser.add_argument(
        "--sight-radius",
        type=as_seed,
        default=16,
        metavar="N",
        help="how far around goals, 0 to 127 cells, to walk straight to them; default 16",
    )


def _ask_distance_map(parser: Any) -> None:
    _cells(parser, "--from", "starts", "source cells")
    _cells(parser, "--to", "goals", "tell cost and source of these cells")
    parser.add_argument(
        "--start-values",
        type=as_number,
        nargs="+",
        metavar="V",
        help="what each source costs to start from; default 0",
    )
    parser.add_argument(
        "--max-cost", type=as_number, metavar="C", help="look no further than cost C"
    )
    parser.add_argument(
        "--reverse",
        action="store_true",
        help="costs of going to a source instead of coming from it",
    )


QUESTIONS: Mapping[str, _Question] = {
    "islands": _Question(
        _ask_islands,
        _islands,
        "the parts of the map between which there is no way",
        "Count the islands: the parts of the map between which there is no way.",
        "builtin:obstacles islands --size 2 --png islands.png",
        picture="the islands in colors",
        array="the island of each cell, 0 where blocked",
    ),
    "connected": _Question(
        _ask_ends,
        _connected,
        "whether ways lead from a cell to others, without a search",
        "Tell whether ways lead from a cell to others, without a search.",
        "builtin:rooms connected --from 1,1 --to 70,34 0,0",
    ),
    "nearest": _Question(
        _ask_nearest,
        _nearest,
        "the walkable or reachable cell nearest to a cell",
        "Find the walkable cell nearest to a cell, with --from the nearest one reachable from\n"
        "there.",
        "builtin:rooms nearest --to 0,0 --size 2",
        picture="the cell found",
    ),
    "reachable": _Question(
        _ask_reachable,
        _reachable,
        "all cells within a cost budget",
        "Find all cells that can be reached for a cost, and the path to each.",
        "builtin:countryside reachable --budget 20 --png area.png",
        costs=True,
        picture="the cells, shaded by their costs",
        array="the cost of each cell, inf out of reach",
    ),
    "random": _Question(
        _ask_random,
        _random,
        "random cells that can be reached",
        "Draw random cells that can be reached, each with equal chance.",
        "builtin:rooms random --from 1,1 --count 5 --seed 7",
        picture="the cells",
    ),
    "opens": _Question(
        _ask_pair,
        _opens,
        "the fewest blocked cells whose opening would connect two cells",
        "Find the fewest blocked cells whose opening would connect two cells.",
        "builtin:rooms opens --from 1,1 --to 0,35 --png door.png",
        picture="the cells to open",
    ),
    "fits": _Question(
        _ask_fits,
        _fits,
        "whether a body may stand on cells",
        "Tell whether a body may stand on cells.",
        "builtin:rooms fits --at 1,1 12,12 --radius 1.5",
        picture="where the body fits",
    ),
    "distance-to-wall": _Question(
        _ask_distance_to_wall,
        _distance_to_wall,
        "how far cells are from the nearest wall",
        "Measure how far cells' centres are from the nearest blocked cell or the border.",
        "builtin:caves distance-to-wall --png clearance.png",
        body=False,
        picture="the distances as shades",
        array="the distance of each cell",
    ),
    "line-of-sight": _Question(
        _ask_ends,
        _line_of_sight,
        "whether straight lines between cells are free",
        "Tell whether the straight lines from a cell to others are free.",
        "builtin:rooms line-of-sight --from 1,1 --to 12,8 14,10",
        picture="the line, or the cells that are seen",
    ),
    "raycast": _Question(
        _ask_raycast,
        _raycast,
        "how far one may walk straight",
        "Walk straight from one point towards another and stop before the first wall.",
        "builtin:rooms raycast --from 1.5,1 --to 20,12.25",
        picture="the way and the cell that stopped it",
    ),
    "matrix": _Question(
        _ask_matrix,
        _matrix,
        "path costs from some cells to others",
        "Compute the path costs from each of some cells to each of others.",
        "builtin:rooms matrix --from 1,1 70,1 --to 70,34 1,34",
        costs=True,
    ),
    "nearest-goal": _Question(
        _ask_ends,
        _nearest_goal,
        "which of several goals is the cheapest to reach",
        "Find which of several goals is the cheapest to reach, and the path, in one search.",
        "builtin:rooms nearest-goal --from 1,1 --to 70,34 30,20",
        costs=True,
        picture="the path and all goals",
    ),
    "field": _Question(
        _ask_field,
        _field,
        "flow field: which way every cell goes to the nearest goal",
        "Build a flow field: which way to go from every cell to the nearest goal.",
        "builtin:countryside field --to 150,90 --from 4,8 --png field.png",
        costs=True,
        picture="directions as arrows, costs as shades",
        array="the cost of each cell (float32), inf out of reach",
    ),
    "distance-map": _Question(
        _ask_distance_map,
        _distance_map,
        "least cost of every cell from the nearest of some sources",
        "Compute the least cost of every cell from the nearest of some sources.",
        "builtin:countryside distance-map --from 4,8 155,91 --png costs.png",
        costs=True,
        picture="costs as shades",
        array="the cost of each cell, inf out of reach",
    ),
}
