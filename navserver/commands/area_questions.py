"""Questions about places: islands, reachable cells, what would open a way."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from navserver.commands.arguments import as_number, as_positive, as_seed, finite
from navserver.commands.movement import Scene, body_offset, chosen_cell
from navserver.commands.questions import (
    Answer,
    Question,
    add_cell,
    add_cells,
    add_ends,
    cost_shown,
    ends_of,
    listed,
    shown,
    yes_or_no,
)
from navserver.search.islands import connected, island_labels
from navserver.search.many import reachable
from navserver.search.nearest import nearest_reachable, nearest_walkable, random_reachable
from navserver.search.openings import what_opens

__all__ = ["QUESTIONS"]


def _islands(arguments: argparse.Namespace, scene: Scene) -> Answer:
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
            f"{shown(cell):<12}{f'island {label}' if label else 'blocked'}"
            for cell, label in zip(arguments.at, content["at"], strict=True)
        ]
    else:
        by_size = sorted(islands, key=lambda island: -island["cells"])
        lines += listed(
            [
                f"{island['label']:<12}{island['cells']} cells, the first {shown(island['first'])}"
                for island in by_size
            ]
        )
    yes = bool(all(content["at"])) if arguments.at else bool(islands)
    return Answer(yes, lines, content, {"labels": labels, "marks": arguments.at}, labels)


def _connected(arguments: argparse.Namespace, scene: Scene) -> Answer:
    start, goals = ends_of(arguments, scene)
    answers = np.atleast_1d(connected(scene.grid, start, goals, **scene.movement)).tolist()
    lines = [f"{shown(goal):<12}{yes_or_no(yes)}" for goal, yes in zip(goals, answers, strict=True)]
    return Answer(all(answers), lines, {"from": start, "to": goals, "connected": answers})


def _nearest(arguments: argparse.Namespace, scene: Scene) -> Answer:
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
        lines = [f"nearest     {shown(cell)}", f"distance    {distance:.9g}"]
    drawing = {
        "marks": None if cell is None else [cell],
        "start": arguments.start,
        "goal": target if scene.grid.contains(target) else None,
        "offset": body_offset(scene.movement),
    }
    content = {"from": arguments.start, "to": target, "cell": cell, "distance": finite(distance)}
    return Answer(cell is not None, lines, content, drawing)


def _reachable(arguments: argparse.Namespace, scene: Scene) -> Answer:
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
        lines.append(f"{shown(arguments.goal):<12}cost {cost_shown(cost)}, {len(path)} cells")
    return Answer(yes, lines, content, drawing, np.where(np.isnan(costs), np.inf, costs))


def _random(arguments: argparse.Namespace, scene: Scene) -> Answer:
    start = chosen_cell(arguments.start, scene.start, "--from")
    cells = random_reachable(
        scene.grid, start, seed=arguments.seed, count=arguments.count, **scene.movement
    )
    content = {"from": start, "seed": arguments.seed, "cells": cells.tolist()}
    lines = [shown(cell) for cell in cells] or ["none: the start is blocked"]
    drawing = {"marks": cells, "start": start, "offset": body_offset(scene.movement)}
    return Answer(bool(len(cells)), lines, content, drawing)


def _opens(arguments: argparse.Namespace, scene: Scene) -> Answer:
    start = chosen_cell(arguments.start, scene.start, "--from")
    goal = chosen_cell(arguments.goal, scene.goal, "--to")
    cells = what_opens(scene.grid, start, goal, **scene.movement)
    lines = [f"to open     {len(cells)}"] if len(cells) else ["connected as it is"]
    lines += listed([shown(cell) for cell in cells])
    content = {"from": start, "to": goal, "cells": cells.tolist()}
    return Answer(True, lines, content, {"marks": cells, "start": start, "goal": goal})


def _ask_islands(parser: Any) -> None:
    add_cells(parser, "--at", "at", "tell the islands of these cells instead of all")


def _ask_pair(parser: Any) -> None:
    add_cell(parser, "--from", "start", "start cell")
    add_cell(parser, "--to", "goal", "goal cell")


def _ask_nearest(parser: Any) -> None:
    add_cell(parser, "--to", "goal", "cell to look around; may be blocked or outside the map")
    add_cell(parser, "--from", "start", "only cells that can be reached from here")
    parser.add_argument(
        "--max-distance", type=as_number, metavar="D", help="look no farther than D cells"
    )


def _ask_reachable(parser: Any) -> None:
    add_cell(parser, "--from", "start", "start cell")
    parser.add_argument(
        "--budget", type=as_number, metavar="B", required=True, help="cost that may be spent"
    )
    add_cell(parser, "--to", "goal", "tell the path to this cell instead of all cells")


def _ask_random(parser: Any) -> None:
    add_cell(parser, "--from", "start", "start cell")
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


QUESTIONS: Mapping[str, Question] = {
    "islands": Question(
        _ask_islands,
        _islands,
        "the parts of the map between which there is no way",
        "Count the islands: the parts of the map between which there is no way.",
        "builtin:obstacles islands --size 2 --png islands.png",
        picture="the islands in colors",
        array="the island of each cell, 0 where blocked",
    ),
    "connected": Question(
        add_ends,
        _connected,
        "whether ways lead from a cell to others, without a search",
        "Tell whether ways lead from a cell to others, without a search.",
        "builtin:rooms connected --from 1,1 --to 70,34 0,0",
    ),
    "nearest": Question(
        _ask_nearest,
        _nearest,
        "the walkable or reachable cell nearest to a cell",
        "Find the walkable cell nearest to a cell, with --from the nearest one reachable from\n"
        "there.",
        "builtin:rooms nearest --to 0,0 --size 2",
        picture="the cell found",
    ),
    "reachable": Question(
        _ask_reachable,
        _reachable,
        "all cells within a cost budget",
        "Find all cells that can be reached for a cost, and the path to each.",
        "builtin:countryside reachable --budget 20 --png area.png",
        costs=True,
        picture="the cells, shaded by their costs",
        array="the cost of each cell, inf out of reach",
    ),
    "random": Question(
        _ask_random,
        _random,
        "random cells that can be reached",
        "Draw random cells that can be reached, each with equal chance.",
        "builtin:rooms random --from 1,1 --count 5 --seed 7",
        picture="the cells",
    ),
    "opens": Question(
        _ask_pair,
        _opens,
        "the fewest blocked cells whose opening would connect two cells",
        "Find the fewest blocked cells whose opening would connect two cells.",
        "builtin:rooms opens --from 1,1 --to 0,35 --png door.png",
        picture="the cells to open",
    ),
}
