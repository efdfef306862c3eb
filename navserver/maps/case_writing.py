"""Case files written; `navserver.maps.case` has their layout."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.maps.case import DEFAULT_OPTIONS, FORMAT, LONGEST_INLINE, VERSION
from navserver.search.grid import SOLID, CostModel, DiagonalMode, Grid, Profile
from navserver.search.heuristics import Heuristic
from navserver.search.results import PathResult
from navserver.status import InputError, MapFileError

__all__ = ["save_case"]


def save_case(
    path: str | PathLike[str],
    grid: Grid,
    start: tuple[int, int],
    goal: tuple[int, int],
    *,
    blocked_cells: ArrayLike | None = None,
    ignored_cells: ArrayLike | None = None,
    options: Mapping[str, Any] | None = None,
    result: PathResult | None = None,
    map_file: str | None = None,
    inline: bool | None = None,
) -> None:
    """Write a query to a case file.

    Parameters
    ----------
    path : path-like
        The file, replaced if it exists.
    grid : Grid
        The map.
    start, goal : (int, int)
        Cells (x, y).
    blocked_cells, ignored_cells : array-like of int, shape (n, 2), optional
        Cells that the query treats otherwise than the map.
    options : mapping, optional
        Keyword arguments of the search, as for `navserver.search.astar.find_path`.
    result : PathResult, optional
        The result seen, compared on replay.
    map_file : str, optional
        The map's file; only its name is kept.
    inline : bool, optional
        Whether the map itself is kept; if not, it is known by `map_file` and its hash. Left out:
        kept if it takes at most `LONGEST_INLINE` bytes.

    Raises
    ------
    InputError
        If an option is unknown, or the map is too large to be kept and must be.
    MapFileError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile, os
    >>> from navserver.maps.case import load_case
    >>> name = os.path.join(tempfile.mkdtemp(), "corner.json")
    >>> save_case(name, Grid([[0, 255], [0, 0]]), (0, 0), (1, 1))
    >>> load_case(name).goal
    (1, 1)
    """
    chosen = dict(DEFAULT_OPTIONS)
    for name, value in (options or {}).items():
        if name not in chosen:
            raise InputError("options", name, "is no option", f"use {', '.join(chosen)}")
        chosen[name] = value
    map_part: dict[str, Any] = {
        "hash": grid.map_hash(),
        "width": grid.width,
        "height": grid.height,
        "region_position": list(grid.region_position),
        "transform": grid.transform.tolist(),
    }
    if map_file is not None:
        map_part["file"] = Path(map_file).name
    if inline is not False:
        map_part.update(_packed_map(grid, may_leave_out=inline is None and map_file is not None))
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "map": map_part,
        "query": {
            "start": [int(i) for i in start],
            "goal": [int(i) for i in goal],
            "blocked_cells": _cell_lists(blocked_cells),
            "ignored_cells": _cell_lists(ignored_cells),
        },
        "options": _option_values(chosen),
    }
    if result is not None:
        content["result"] = {
            "status": result.status.name.lower(),
            "cost": _number(float(result.cost)),
        }
    text = json.dumps(content, indent=1, allow_nan=False) + "\n"
    try:
        Path(fspath(path)).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MapFileError(
            path, None, f"cannot be written ({reason})", "check the path and its permissions"
        ) from None


def _packed_map(grid: Grid, *, may_leave_out: bool) -> dict[str, Any]:
    packed: dict[str, Any] = {"classes": _pack(grid.classes)}
    total = len(packed["classes"])
    if grid.cell_scale is not None:
        packed["cell_scale"] = _pack(grid.cell_scale.astype("<f4"))
        total += len(packed["cell_scale"])
    if grid.layers:
        packed["layers"] = {name: _pack(a.astype("<f4")) for name, a in grid.layers.items()}
        total += sum(map(len, packed["layers"].values()))
    if total > LONGEST_INLINE and may_leave_out:
        return {}
    if total > LONGEST_INLINE:
        raise InputError(
            "grid",
            total,
            f"bytes are more than the {LONGEST_INLINE} that a map may take in a case file",
            "pass map_file=... to keep its name and hash",
        )
    return packed


def _pack(array: NDArray[Any]) -> str:
    return base64.b64encode(zlib.compress(array.tobytes(), 6)).decode("ascii")


def _cell_lists(cells: ArrayLike | None) -> list[list[int]]:
    if cells is None:
        return []
    lists: list[list[int]] = np.asarray(cells, np.int64).reshape(-1, 2).tolist()
    return lists


def _number(value: float) -> float | str:
    return "inf" if math.isinf(value) else value


def _option_values(options: Mapping[str, Any]) -> dict[str, Any]:
    profile: Profile = options["profile"]
    # The shortest decimals that give the same float32 again.
    costs = [float(str(cost)) for cost in profile.costs]
    values, counts = np.unique(costs[:SOLID], return_counts=True)
    default = float(values[counts.argmax()])
    named = {str(i): _number(c) for i, c in enumerate(costs[:SOLID]) if c != default}
    if not math.isinf(costs[SOLID]):
        named[str(SOLID)] = costs[SOLID]
    heuristic = options["heuristic"]
    return {
        **options,
        "profile": {"default": _number(default), "costs": named},
        "diagonal_mode": DiagonalMode(options["diagonal_mode"]).name.lower(),
        "heuristic": None if heuristic is None else Heuristic(heuristic).name.lower(),
        "weight": float(options["weight"]),
        "cost_model": CostModel(options["cost_model"]).name.lower(),
        "overlays": {name: float(weight) for name, weight in (options["overlays"] or {}).items()},
        "size": int(options["size"]),
        "radius": float(options["radius"]),
        "inexact": bool(options["inexact"]),
        "allow_partial": bool(options["allow_partial"]),
    }
