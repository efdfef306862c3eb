"""What people look at when they draw a map: a search with what it saw, layers, and cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.search.astar import find_path
from navserver.search.clearance import distance_to_wall, fits
from navserver.search.grid import Grid
from navserver.search.heuristics import Heuristic
from navserver.search.islands import island_labels
from navserver.search.movement import Movement, MovementOptions
from navserver.search.nodes import CancelFlag, SearchTrace
from navserver.search.results import PathResult
from navserver.search.smoothing import pull_string
from navserver.status import InputError

if TYPE_CHECKING:
    from collections.abc import Collection

    from typing_extensions import Unpack

__all__ = [
    "ARRAYS",
    "LAYERS",
    "MOST_CELLS",
    "CellReport",
    "Exploration",
    "MapLayer",
    "describe_cells",
    "explore",
    "map_layer",
]

LAYERS = ("classes", "costs", "islands", "clearance")
"""What `map_layer` knows of each cell."""


ARRAYS = ("smoothed", "order", "costs")
"""What `explore` tells beside the path."""


MOST_CELLS = 4096
"""Cells that `describe_cells` describes at once."""


class Exploration(NamedTuple):
    """A path, and the rectangle of the map that its search has looked at."""

    result: PathResult
    """Path, cost and status."""
    smoothed: NDArray[np.int32]
    """int32 array (n, 2): the corners that are left of the path when it is pulled straight; empty
    if not asked for, as are the arrays below."""
    truncated: bool
    """Whether expansions went unrecorded."""
    position: tuple[int, int]
    """Top left cell of the rectangle."""
    order: NDArray[np.int32]
    """int32 array (height, width): when each cell was first expanded, from 1; 0 is never."""
    costs: NDArray[np.float32]
    """float32 array (height, width): cost from the start, ``inf`` where not expanded."""


def explore(
    grid: Grid,
    start: tuple[int, int],
    goal: tuple[int, int],
    *,
    algorithm: str = "astar",
    heuristic: Heuristic | None = None,
    weight: float = 1.0,
    inexact: bool = False,
    max_expansions: int | None = None,
    max_cost: float | None = None,
    allow_partial: bool = False,
    cancel: CancelFlag | None = None,
    capacity: int = 0,
    arrays: Collection[str] = ARRAYS,
    step: int = 1,
    **movement: Unpack[MovementOptions],
) -> Exploration:
    """Find one path and lay out what the search did, cell by cell.

    Parameters
    ----------
    grid : Grid
        The map.
    start, goal : (int, int)
        Cells.
    algorithm, heuristic, weight, inexact, max_expansions, max_cost, allow_partial, cancel
        As `navserver.search.astar.find_path` takes them.
    capacity : int
        Most expansions to record; 0 records none, and the rectangle is empty.
    arrays : collection of str
        Those of `ARRAYS` that are wanted; what is not wanted takes no time.
    step : int
        Order and costs have one number for each square of so many cells a side: its first
        expansion and its least cost.
    **movement
        Keywords of `Movement`.

    Returns
    -------
    Exploration
        O(search) and O(cells of the rectangle around what it expanded).

    Raises
    ------
    InputError
        If an array is asked for that there is not, or the step is below 1.

    Examples
    --------
    >>> seen = explore(Grid.filled(3, 2), (0, 0), (2, 0), capacity=10)
    >>> seen.order.tolist(), seen.costs.tolist()
    ([[1, 2, 3]], [[0.0, 1.0, 2.0]])
    """
    for array in arrays:
        if array not in ARRAYS:
            raise InputError("arrays", array, "is not known", f"give some of {', '.join(ARRAYS)}")
    _check_step(step)
    is_recorded = capacity > 0 and ("order" in arrays or "costs" in arrays)
    trace = SearchTrace(min(capacity, 2 * grid.size)) if is_recorded else None
    result = find_path(
        grid,
        start,
        goal,
        algorithm=algorithm,
        heuristic=heuristic,
        weight=weight,
        inexact=inexact,
        max_expansions=max_expansions,
        max_cost=max_cost,
        allow_partial=allow_partial,
        cancel=cancel,
        trace=trace,
        **movement,
    )
    smoothed = result.cells if "smoothed" in arrays else result.cells[:0]
    if len(smoothed) > 1:
        smoothed = pull_string(grid, smoothed, **movement)
    order, costs = np.zeros((0, 0), np.int32), np.zeros((0, 0), np.float32)
    if trace is None or trace.count == 0:
        return Exploration(result, smoothed, False, start, order, costs)
    position, shape, flat = _placed(trace, step)
    if "order" in arrays:
        order = np.zeros(shape, np.int32)
        # Backwards, so that the first expansion of a cell stays.
        order.reshape(-1)[flat[::-1]] = np.arange(len(flat), 0, -1)
    if "costs" in arrays:
        costs = np.full(shape, np.inf, np.float32)
        np.minimum.at(costs.reshape(-1), flat, trace.g.astype(np.float32))
    return Exploration(result, smoothed, trace.truncated, position, order, costs)


def _check_step(step: int) -> None:
    if step < 1:
        raise InputError("step", step, "is too small", "use 1 for every cell, or more")


def _placed(
    trace: SearchTrace, step: int
) -> tuple[tuple[int, int], tuple[int, int], NDArray[np.int64]]:
    """Return position and shape of the arrays around all expansions, and where each lies."""
    cells = trace.cells
    x0, y0 = cells.min(axis=0).tolist()
    width, height = ((cells.max(axis=0) - (x0, y0)) // step + 1).tolist()
    flat = (cells[:, 1] - y0).astype(np.int64) // step * width + (cells[:, 0] - x0) // step
    return (x0, y0), (height, width), flat


def _cell_costs(grid: Grid, movement: Movement) -> NDArray[np.float32]:
    """Return what each cell costs: `Grid.cost_at` for all."""
    costs = movement.profile.costs[grid.classes].astype(np.float64)
    walls = np.isinf(costs)
    if grid.cell_scale is not None:
        with np.errstate(invalid="ignore"):
            costs *= grid.cell_scale
    for name, weight in movement.overlays:
        costs += weight * grid.layers[name].astype(np.float64)
    costs[walls] = np.inf
    return costs.astype(np.float32)


class MapLayer(NamedTuple):
    """One number for each cell of a map."""

    position: tuple[int, int]
    """The map's top left cell."""
    values: NDArray[np.uint8] | NDArray[np.int32] | NDArray[np.float32]
    """Array (height, width)."""


def map_layer(
    grid: Grid, layer: str, *, step: int = 1, **movement: Unpack[MovementOptions]
) -> MapLayer:
    """Return what is known of every cell of a map.

    Parameters
    ----------
    grid : Grid
        The map.
    layer : str
        One of `LAYERS`: the cells' classes, what entering them costs, the number of the island
        that they lie on, or how far the nearest wall is.
    step : int
        Tell only of every so many-th cell of every so many-th row.
    **movement
        Keywords of `Movement`.

    Returns
    -------
    MapLayer
        uint8 classes; float32 costs, ``inf`` where blocked; int32 islands, 0 where blocked;
        float32 clearance as `distance_to_wall` tells it. O(cells).

    Raises
    ------
    InputError
        If there is no such layer, or the step is below 1.

    Examples
    --------
    >>> map_layer(Grid([[0, 255, 0]]), "islands").values.tolist()
    [[1, 0, 2]]
    """
    if layer not in LAYERS:
        raise InputError("layer", layer, "is not known", f"use one of {', '.join(LAYERS)}")
    _check_step(step)
    values: NDArray[np.uint8] | NDArray[np.int32] | NDArray[np.float32]
    if layer == "classes":
        values = grid.classes
    elif layer == "costs":
        values = _cell_costs(grid, Movement(**movement))
    elif layer == "islands":
        values = island_labels(grid, **movement)
    else:
        values = np.asarray(distance_to_wall(grid, **movement), np.float32)
    x, y = grid.region_position
    sampled: NDArray[Any] = np.ascontiguousarray(values[::step, ::step])
    return MapLayer((int(x), int(y)), sampled)


class CellReport(NamedTuple):
    """What is known of some cells; one entry a cell in each array."""

    classes: NDArray[np.uint8]
    """Their classes."""
    scales: NDArray[np.float32]
    """Factors of their costs."""
    costs: NDArray[np.float64]
    """What entering them costs with scale and overlays, ``inf`` where the class is blocked."""
    islands: NDArray[np.int32]
    """Numbers of their islands, 0 where the body may not stand."""
    clearance: NDArray[np.float64]
    """Distances to the nearest wall, in world units."""
    fits: NDArray[np.uint8]
    """1 where the body may stand."""


def describe_cells(grid: Grid, cells: ArrayLike, **movement: Unpack[MovementOptions]) -> CellReport:
    """Return all that decides about some cells.

    Parameters
    ----------
    grid : Grid
        The map.
    cells : array-like of int, shape (n, 2)
        Cells x and y, at most `MOST_CELLS`.
    **movement
        Keywords of `Movement`.

    Returns
    -------
    CellReport
        O(n) once the islands are there, but for the clearance's O(distance) each.

    Raises
    ------
    CellError
        If a cell lies outside the map.
    InputError
        If there are too many cells.

    Examples
    --------
    >>> report = describe_cells(Grid([[0, 255, 0]]), [(1, 0), (2, 0)])
    >>> report.costs.tolist(), report.islands.tolist(), report.fits.tolist()
    ([inf, 1.0], [0, 2], [0, 1])
    """
    options = Movement(**movement)
    where = np.asarray(cells)
    flat = grid.flat_indices(where)
    if len(flat) > MOST_CELLS:
        raise InputError("cells", len(flat), "cells are too many", f"give at most {MOST_CELLS}")
    scale = grid.cell_scale
    costs = [
        grid.cost_at((int(x), int(y)), options.profile, dict(options.overlays)) for x, y in where
    ]
    return CellReport(
        grid.classes.reshape(-1)[flat],
        np.ones(len(flat), np.float32) if scale is None else scale.reshape(-1)[flat],
        np.array(costs, np.float64),
        island_labels(grid, **movement).reshape(-1)[flat],
        np.asarray(distance_to_wall(grid, where, **movement)),
        np.asarray(fits(grid, where, **movement)).astype(np.uint8),
    )
