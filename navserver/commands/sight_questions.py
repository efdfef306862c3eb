"""Questions about room: where bodies fit, how far walls are, what lies in a line."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from navserver.commands.arguments import as_point, finite
from navserver.commands.movement import Scene, body_offset
from navserver.commands.questions import (
    Answer,
    Question,
    add_cells,
    add_ends,
    ends_of,
    shown,
    yes_or_no,
)
from navserver.search.clearance import distance_to_wall, fits
from navserver.search.islands import island_labels
from navserver.search.line_of_sight import line_of_sight, raycast

__all__ = ["QUESTIONS"]


def _fits(arguments: argparse.Namespace, scene: Scene) -> Answer:
    answers = np.atleast_1d(fits(scene.grid, arguments.at, **scene.movement)).tolist()
    lines = [
        f"{shown(cell):<12}{yes_or_no(yes)}"
        for cell, yes in zip(arguments.at, answers, strict=True)
    ]
    drawing: dict[str, Any] = {"marks": arguments.at}
    if arguments.png is not None:
        # The cells of islands are those where it fits.
        space = island_labels(scene.grid, **scene.movement) > 0
        drawing["shades"] = np.where(space, 0.0, np.nan)
    return Answer(all(answers), lines, {"at": arguments.at, "fits": answers}, drawing)


def _distance_to_wall(arguments: argparse.Namespace, scene: Scene) -> Answer:
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
            f"{shown(cell):<12}{_far(distance)}"
            for cell, distance in zip(arguments.at, distances.tolist(), strict=True)
        ]
        return Answer(True, lines, content, drawing, whole)
    assert whole is not None
    y, x = np.unravel_index(int(whole.argmax()), whole.shape)
    ox, oy = scene.grid.region_position
    cell, most = (ox + int(x), oy + int(y)), float(whole.max())
    content = {"widest": cell, "distance": finite(most)}
    lines = [f"widest      {shown(cell)}", f"distance    {_far(most)}"]
    return Answer(most > 0.0, lines, content, drawing, whole)


def _far(distance: float) -> str:
    return "beyond what is measured" if math.isinf(distance) else f"{distance:.9g}"


def _line_of_sight(arguments: argparse.Namespace, scene: Scene) -> Answer:
    start, goals = ends_of(arguments, scene)
    seen = np.atleast_1d(
        line_of_sight(scene.grid, [start] * len(goals), goals, **scene.movement)
    ).tolist()
    lines = [f"{shown(goal):<12}{yes_or_no(yes)}" for goal, yes in zip(goals, seen, strict=True)]
    drawing: dict[str, Any] = {"start": start, "offset": body_offset(scene.movement)}
    if len(goals) == 1:
        drawing |= {"line": [start, goals[0]], "goal": goals[0]}
    else:
        drawing |= {"marks": [goal for goal, yes in zip(goals, seen, strict=True) if yes]}
    return Answer(all(seen), lines, {"from": start, "to": goals, "visible": seen}, drawing)


def _raycast(arguments: argparse.Namespace, scene: Scene) -> Answer:
    hit = raycast(scene.grid, arguments.start, arguments.end, **scene.movement)
    x, y = hit.point
    lines = [f"reached     {yes_or_no(hit.reached)}", f"last point  {x:.9g},{y:.9g}"]
    if not hit.reached:
        lines.append(f"stopped by  {shown(hit.cell)}, normal {shown(hit.normal)}")
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
    return Answer(hit.reached, lines, content, drawing)


def _ask_fits(parser: Any) -> None:
    add_cells(parser, "--at", "at", "cells to stand on", required=True)


def _ask_distance_to_wall(parser: Any) -> None:
    add_cells(parser, "--at", "at", "tell the distances of these cells instead of the greatest")


def _ask_raycast(parser: Any) -> None:
    for option, name, text in (
        ("--from", "start", "point to start from; a cell's centre is at its whole numbers"),
        ("--to", "end", "point to walk to; may lie outside the map"),
    ):
        parser.add_argument(
            option, dest=name, type=as_point, metavar="X,Y", required=True, help=text
        )


QUESTIONS: Mapping[str, Question] = {
    "fits": Question(
        _ask_fits,
        _fits,
        "whether a body may stand on cells",
        "Tell whether a body may stand on cells.",
        "builtin:rooms fits --at 1,1 12,12 --radius 1.5",
        picture="where the body fits",
    ),
    "distance-to-wall": Question(
        _ask_distance_to_wall,
        _distance_to_wall,
        "how far cells are from the nearest wall",
        "Measure how far cells' centres are from the nearest blocked cell or the border.",
        "builtin:caves distance-to-wall --png clearance.png",
        body=False,
        picture="the distances as shades",
        array="the distance of each cell",
    ),
    "line-of-sight": Question(
        add_ends,
        _line_of_sight,
        "whether straight lines between cells are free",
        "Tell whether the straight lines from a cell to others are free.",
        "builtin:rooms line-of-sight --from 1,1 --to 12,8 14,10",
        picture="the line, or the cells that are seen",
    ),
    "raycast": Question(
        _ask_raycast,
        _raycast,
        "how far one may walk straight",
        "Walk straight from one point towards another and stop before the first wall.",
        "builtin:rooms raycast --from 1.5,1 --to 20,12.25",
        picture="the way and the cell that stopped it",
    ),
}
