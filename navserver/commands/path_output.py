"""What ``navserver path`` shows: lines of text or one JSON object, a picture, a drawing in text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from navserver.commands.arguments import finite
from navserver.commands.movement import body_offset, wants_color
from navserver.commands.path_query import PathOutcome
from navserver.maps.case import Case
from navserver.render import draw_text, save_picture
from navserver.search.nodes import SearchTrace
from navserver.status import Detail

__all__ = ["as_object", "draw_answer", "print_answer", "save_answer"]


def save_answer(file: str, answer: PathOutcome, trace: SearchTrace | None) -> str:
    """Draw map, search and path as a picture.

    Parameters
    ----------
    file : str
        Where to.
    answer : PathOutcome
        What was found.
    trace : SearchTrace or None
        What the search expanded.

    Returns
    -------
    str
        What was drawn, for the user.
    """
    query, result, field, smoothed = answer.query, answer.result, answer.field, answer.smoothed
    width, height = save_picture(
        file,
        query.grid,
        path=result.cells,
        line=None if smoothed is None else smoothed.points,
        explored=None if trace is None else trace.cells,
        shades=None if field is None else field.costs,
        directions=None if field is None else field.directions,
        start=result.start,
        goal=result.goal,
        profile=query.options["profile"],
        overlays=query.options.get("overlays"),
        offset=body_offset(query.options),
    )
    part = ""
    if trace is not None and trace.truncated:
        part = f", the first {trace.count} expansions"
    return f"{file} ({width} x {height} pixels{part})"


def draw_answer(answer: PathOutcome, trace: SearchTrace | None) -> str:
    """Draw map, search and path in characters.

    Parameters
    ----------
    answer : PathOutcome
        What was found.
    trace : SearchTrace or None
        What the search expanded.

    Returns
    -------
    str
        Lines.
    """
    result, smoothed = answer.result, answer.smoothed
    return draw_text(
        answer.query.grid,
        path=result.cells,
        explored=None if trace is None else trace.cells,
        marks=None if smoothed is None else smoothed.turns,
        start=result.start,
        goal=result.goal,
        profile=answer.query.options["profile"],
        color=wants_color(),
    )


def as_object(answer: PathOutcome, case: Case | None, difference: str | None) -> dict[str, Any]:
    """Return the result for JSON; what is infinite there is null.

    Parameters
    ----------
    answer : PathOutcome
        What was found.
    case : Case or None
        What was replayed.
    difference : str or None
        How the result differs from the recorded one.

    Returns
    -------
    dict
        Of what JSON can hold.
    """
    query, result, smoothed = answer.query, answer.result, answer.smoothed
    metrics = {name: int(value) for name, value in result.metrics._asdict().items()}
    content: dict[str, Any] = {
        "status": result.status.name.lower(),
        "detail": _detail_names(result.detail),
        "found": result.found,
        "start": list(result.start),
        "goal": list(result.goal),
        "cost": finite(result.cost),
        "length": finite(result.length),
        "suboptimality": finite(result.suboptimality),
        "cells": np.asarray(result.cells).tolist(),
        "metrics": None if query.flows else metrics,
        "search_us": round(answer.search_us, 1),
        "map": {
            "width": query.grid.width,
            "height": query.grid.height,
            "hash": query.grid.map_hash(),
        },
    }
    if answer.field is not None:
        content["field"] = {
            "reached": int(np.isfinite(answer.field.costs).sum()),
            "bytes": answer.field.nbytes,
        }
    if smoothed is not None:
        content["smoothed"] = {
            "method": smoothed.method,
            "length": smoothed.length,
            "points": smoothed.points.tolist(),
        }
    if case is not None and case.status is not None:
        content["recorded"] = {
            "status": case.status.name.lower(),
            "cost": finite(math.inf if case.cost is None else case.cost),
            "matches": difference is None,
        }
    return content


def print_answer(answer: PathOutcome, case: Case | None, difference: str | None) -> None:
    """Print the result in lines.

    Parameters
    ----------
    answer : PathOutcome
        What was found.
    case : Case or None
        What was replayed.
    difference : str or None
        How the result differs from the recorded one.
    """
    _print_result(answer)
    smoothed = answer.smoothed
    if smoothed is not None:
        print(
            f"smoothed    {smoothed.method}: length {smoothed.length:.9g}, "
            f"{len(smoothed.points)} points"
        )
    if case is not None:
        _print_comparison(case, difference)


def _detail_names(detail: Detail) -> list[str]:
    return [bit.name.lower() for bit in Detail if bit and bit in detail and bit.name]


def _print_result(answer: PathOutcome) -> None:
    query, result, search_us, field, _ = answer
    status = result.status.name.lower()
    details = [name for name in _detail_names(result.detail) if name != status]
    why = f" ({', '.join(details)})" if details else ""
    print(f"status      {status}{why}")
    if len(result.cells):
        bound = ""
        if result.found and math.isinf(result.suboptimality):
            bound = " (may not be the least)"
        elif result.found and result.suboptimality > 1.0:
            bound = f" (at most {result.suboptimality:g} times the least)"
        print(f"cost        {result.cost:.9g}{bound}")
        print(f"length      {result.length:.9g}, {len(result.cells)} cells")
    metrics = result.metrics
    if field is not None:
        reached = int(np.isfinite(field.costs).sum())
        print(f"field       {reached} cells reach the goal, built in {search_us / 1000.0:.3g} ms")
    elif not query.flows:
        print(
            f"search      {metrics.expanded} expanded, {metrics.generated} generated, "
            f"{metrics.reopened} reopened, open list at most {metrics.open_peak}, "
            f"{search_us / 1000.0:.3g} ms"
        )


def _print_comparison(case: Case, difference: str | None) -> None:
    if case.status is None:
        print("recorded    nothing to compare with")
    elif difference is None:
        print("recorded    the same")
    else:
        print(f"recorded    differs: {difference}")
