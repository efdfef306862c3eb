"""Questions about a map other than for a path."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.wire.question import Question, as_array, as_cells, as_pair

__all__ = [
    "connected",
    "cost_matrix",
    "flow_field",
    "line_of_sight",
    "nearest",
    "raycast",
    "reachable",
    "what_opens",
]


def nearest(
    world: str,
    cell: tuple[int, int],
    *,
    start: tuple[int, int] | None = None,
    max_distance: float | None = None,
    **movement: Any,
) -> Question[tuple[int, int] | None]:
    """Ask for the cell nearest to a given one where the body may stand.

    Parameters
    ----------
    world : str
        Its name.
    cell : (int, int)
        Where to look around.
    start : (int, int), optional
        Only cells that can be reached from here.
    max_distance : float, optional
        Look no farther, in cells.
    **movement
        See `MovementFields`.

    Returns
    -------
    Question of (int, int) or None
        The cell.
    """
    fields = {
        "world": world,
        "cell": as_pair("cell", cell),
        "start": None if start is None else as_pair("start", start),
        "max_distance": max_distance,
        **movement,
    }
    return Question("nearest", fields, lambda answer: answer.fields.get("cell"))


def reachable(
    world: str,
    start: tuple[int, int],
    budget: float,
    *,
    blocked_cells: ArrayLike | None = None,
    **movement: Any,
) -> Question[tuple[NDArray[np.int32], NDArray[np.float64]]]:
    """Ask for all cells that can be reached for a cost.

    Parameters
    ----------
    world : str
        Its name.
    start : (int, int)
        An open cell.
    budget : float
        The cost.
    blocked_cells : array-like of int, shape (n, 2), optional
        Cells that count as walls.
    **movement
        See `MovementFields`.

    Returns
    -------
    Question of (int32 array (n, 2), float64 array (n,))
        Cells and costs.
    """
    fields = {"world": world, "start": as_pair("start", start), "budget": budget, **movement}
    arrays = {}
    if blocked_cells is not None:
        arrays["blocked_cells"] = as_cells("blocked_cells", blocked_cells)
    return Question(
        "reachable", fields, lambda answer: (answer.arrays["cells"], answer.arrays["costs"]), arrays
    )


def _of_pairs(
    message: str, name: str, world: str, starts: ArrayLike, goals: ArrayLike, movement: Any
) -> Question[NDArray[np.bool_]]:
    arrays = {"starts": as_cells("starts", starts), "goals": as_cells("goals", goals)}
    return Question(
        message, {"world": world, **movement}, lambda answer: answer.arrays[name] != 0, arrays
    )


def line_of_sight(
    world: str, starts: ArrayLike, goals: ArrayLike, **movement: Any
) -> Question[NDArray[np.bool_]]:
    """Ask whether straight lines are free.

    Parameters
    ----------
    world : str
        Its name.
    starts, goals : array-like of int, shape (n, 2)
        Cells.
    **movement
        See `MovementFields`.

    Returns
    -------
    Question of bool array (n,)
        Whether each is.
    """
    return _of_pairs("line_of_sight", "visible", world, starts, goals, movement)


def connected(
    world: str, starts: ArrayLike, goals: ArrayLike, **movement: Any
) -> Question[NDArray[np.bool_]]:
    """Ask whether ways lead from cells to others.

    Parameters
    ----------
    world : str
        Its name.
    starts, goals : array-like of int, shape (n, 2)
        Cells.
    **movement
        See `MovementFields`.

    Returns
    -------
    Question of bool array (n,)
        Whether one does.
    """
    return _of_pairs("connected", "connected", world, starts, goals, movement)


def raycast(
    world: str, starts: ArrayLike, ends: ArrayLike, **movement: Any
) -> Question[dict[str, NDArray[Any]]]:
    """Walk straight and stop before the first wall.

    Parameters
    ----------
    world : str
        Its name.
    starts, ends : array-like of float, shape (n, 2)
        World positions.
    **movement
        See `MovementFields`.

    Returns
    -------
    Question of dict of str to array
        ``reached``, ``points``, ``cells`` and ``normals``.
    """
    arrays = {
        "starts": as_array("starts", starts, np.float32, (None, 2)),
        "ends": as_array("ends", ends, np.float32, (None, 2)),
    }
    return Question(
        "raycast", {"world": world, **movement}, lambda answer: dict(answer.arrays), arrays
    )


def cost_matrix(
    world: str, starts: ArrayLike, goals: ArrayLike, **movement: Any
) -> Question[NDArray[np.float64]]:
    """Ask for the path costs from each of some cells to each of others.

    Parameters
    ----------
    world : str
        Its name.
    starts, goals : array-like of int, shape (n, 2) and (m, 2)
        Cells.
    **movement
        See `MovementFields`.

    Returns
    -------
    Question of float64 array (n, m)
        ``inf`` where there is no path.
    """
    arrays = {"starts": as_cells("starts", starts), "goals": as_cells("goals", goals)}
    return Question(
        "matrix", {"world": world, **movement}, lambda answer: answer.arrays["costs"], arrays
    )


def flow_field(
    world: str, goals: ArrayLike, *, costs: bool = False, **movement: Any
) -> Question[dict[str, NDArray[Any]]]:
    """Ask which way to go from every cell to the nearest goal.

    Parameters
    ----------
    world : str
        Its name.
    goals : array-like of int, shape (n, 2)
        Open cells.
    costs : bool
        Whether to return the costs as well.
    **movement
        See `MovementFields`.

    Returns
    -------
    Question of dict of str to array
        ``directions`` and perhaps ``costs``, arrays (height, width).
    """
    arrays = {"goals": as_cells("goals", goals)}
    fields = {"world": world, "costs": costs, **movement}
    return Question("flow_field", fields, lambda answer: dict(answer.arrays), arrays)


def what_opens(
    world: str, start: tuple[int, int], goal: tuple[int, int], **movement: Any
) -> Question[NDArray[np.int32]]:
    """Ask for the fewest blocked cells whose opening would connect two cells.

    Parameters
    ----------
    world : str
        Its name.
    start, goal : (int, int)
        Cells.
    **movement
        See `MovementFields`.

    Returns
    -------
    Question of int32 array (n, 2)
        The cells.
    """
    fields = {
        "world": world, "start": as_pair("start", start), "goal": as_pair("goal", goal), **movement
    }  # fmt: skip
    return Question("what_opens", fields, lambda answer: answer.arrays["cells"])
