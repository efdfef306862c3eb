"""Questions about what ways cost: to many cells, from many cells, from everywhere."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from navserver.commands.arguments import as_number, as_seed, finite
from navserver.commands.movement import Scene, body_offset, chosen_cell
from navserver.commands.questions import (
    Answer,
    Question,
    add_cells,
    add_ends,
    cost_shown,
    ends_of,
    shown,
)
from navserver.search.distance_map import distance_map
from navserver.search.flow_field import FlowField
from navserver.search.many import cost_matrix, nearest_goal

__all__ = ["QUESTIONS"]


def _matrix(arguments: argparse.Namespace, scene: Scene) -> Answer:
    costs = cost_matrix(scene.grid, arguments.starts, arguments.goals, **scene.movement)
    table = [["", *map(shown, arguments.goals)]]
    table += [
        [shown(start), *(cost_shown(cost) for cost in row)]
        for start, row in zip(arguments.starts, costs.tolist(), strict=True)
    ]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        for row in table
    ]
    content = {
        "from": arguments.starts,
        "to": arguments.goals,
        "costs": [[finite(cost) for cost in row] for row in costs.tolist()],
    }
    return Answer(bool(np.isfinite(costs).all()), lines, content)


def _nearest_goal(arguments: argparse.Namespace, scene: Scene) -> Answer:
    start, goals = ends_of(arguments, scene)
    nearest = nearest_goal(scene.grid, start, goals, **scene.movement)
    path = nearest.path
    status = path.status.name.lower()
    lines = [f"nearest     none ({status})"]
    if path.found:
        lines = [
            f"nearest     {shown(path.goal)}",
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
    return Answer(path.found, lines, content, drawing)


def _field(arguments: argparse.Namespace, scene: Scene) -> Answer:
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
            f"{shown(start):<12}cost {cost_shown(cost)}, direction {x:.4g},{y:.4g}"
            for start, cost, (x, y) in zip(arguments.starts, costs, vectors.tolist(), strict=True)
        ]
        yes = not any(map(math.isinf, costs))
    drawing = {
        "shades": built.costs,
        "directions": built.directions,
        "marks": goals,
        "offset": body_offset(scene.movement),
    }
    return Answer(yes, lines, content, drawing, built.costs)


def _distance_map(arguments: argparse.Namespace, scene: Scene) -> Answer:
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
        f"farthest    {shown(farthest)}, cost {cost_shown(most)}",
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
                text = f"cost {answer['cost']:.9g}, source {shown(sources[answer['source']])}"
            lines.append(f"{shown(answer['cell']):<12}{text}")
        yes = all(answer["source"] >= 0 for answer in answers)
    drawing = {
        "shades": built.costs,
        "marks": sources,
        "offset": body_offset(scene.movement),
    }
    return Answer(yes, lines, content, drawing, built.costs)


def _ask_matrix(parser: Any) -> None:
    add_cells(parser, "--from", "starts", "start cells", required=True)
    add_cells(parser, "--to", "goals", "goal cells", required=True)


def _ask_field(parser: Any) -> None:
    add_cells(parser, "--to", "goals", "goal cells")
    add_cells(parser, "--from", "starts", "tell cost and direction of these cells")
    parser.add_argument(
        "--sight-radius",
        type=as_seed,
        default=16,
        metavar="N",
        help="how far around goals, 0 to 127 cells, to walk straight to them; default 16",
    )


def _ask_distance_map(parser: Any) -> None:
    add_cells(parser, "--from", "starts", "source cells")
    add_cells(parser, "--to", "goals", "tell cost and source of these cells")
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


QUESTIONS: Mapping[str, Question] = {
    "matrix": Question(
        _ask_matrix,
        _matrix,
        "path costs from some cells to others",
        "Compute the path costs from each of some cells to each of others.",
        "builtin:rooms matrix --from 1,1 70,1 --to 70,34 1,34",
        costs=True,
    ),
    "nearest-goal": Question(
        add_ends,
        _nearest_goal,
        "which of several goals is the cheapest to reach",
        "Find which of several goals is the cheapest to reach, and the path, in one search.",
        "builtin:rooms nearest-goal --from 1,1 --to 70,34 30,20",
        costs=True,
        picture="the path and all goals",
    ),
    "field": Question(
        _ask_field,
        _field,
        "flow field: which way every cell goes to the nearest goal",
        "Build a flow field: which way to go from every cell to the nearest goal.",
        "builtin:countryside field --to 150,90 --from 4,8 --png field.png",
        costs=True,
        picture="directions as arrows, costs as shades",
        array="the cost of each cell (float32), inf out of reach",
    ),
    "distance-map": Question(
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
