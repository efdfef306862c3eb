"""Questions that let movers step, and that tell what has become of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from navserver.wire.client_session import Answer
from navserver.wire.mover_answers import MoverInfo, MoverStep, MoverView, read_view
from navserver.wire.mover_messages import COLUMNS
from navserver.wire.question import Question, as_array, read_nothing

__all__ = [
    "load_movers",
    "mover_info",
    "run_movers",
    "save_movers",
    "see_movers",
    "step_movers",
    "stream_movers",
    "view_movers",
    "view_routes",
]


def _view_fields(
    columns: Sequence[str],
    area: tuple[float, float, float, float] | None,
    limit: int | None,
    space: str,
) -> dict[str, Any]:
    return {
        "columns": list(columns),
        "area": None if area is None else [float(side) for side in area],
        "limit": limit,
        "space": space,
    }


# Time


def step_movers(
    world: str,
    dt: float,
    count: int = 1,
    *,
    columns: Sequence[str] = (),
    area: tuple[float, float, float, float] | None = None,
    limit: int | None = None,
    space: str = "cell",
    events: bool = True,
    hash: bool = False,  # noqa: A002 - as on the wire
    watched: ArrayLike | None = None,
) -> Question[MoverStep]:
    """Move everybody in lockstep.

    Parameters
    ----------
    world : str
        Its name.
    dt : float
        Seconds a step.
    count : int
        Steps.
    columns : sequence of str
        What to tell of each mover afterwards; see `COLUMNS`.
    area : (float, float, float, float), optional
        Tell only of movers inside x0, y0, x1, y1.
    limit : int, optional
        Tell of at most so many.
    space : str
        What positions and area are given in, ``cell`` or ``world``.
    events : bool
        Tell what happened.
    hash : bool
        Tell the digest of the state.
    watched : array-like of int, shape (w,), optional
        Movers whose velocities to tell, whatever area and columns are.

    Returns
    -------
    Question of MoverStep
        What has come of it.
    """
    fields = {"world": world, "dt": dt, "count": count, "events": events, "hash": hash}
    arrays = {} if watched is None else {"watched": as_array("watched", watched, np.int64, (None,))}

    def read(answer: Answer) -> MoverStep:
        told = answer.fields
        return MoverStep(
            read_view(answer),
            told["steps"],
            told.get("hash"),
            answer.arrays.get("watched_velocities"),
        )

    whole = {**fields, **_view_fields(columns, area, limit, space)}
    return Question("movers_step", whole, read, arrays)


def run_movers(world: str, rate: float) -> Question[int]:
    """Step at a fixed rate from now on.

    Parameters
    ----------
    world : str
        Its name.
    rate : float
        Steps a second; 0 ends it.

    Returns
    -------
    Question of int
        The tick.
    """
    return Question(
        "movers_run", {"world": world, "rate": rate}, lambda answer: int(answer.fields["tick"])
    )


# What can be seen


def mover_info(world: str, *, hash: bool = False) -> Question[MoverInfo]:  # noqa: A002
    """Ask how many movers there are and how they run.

    Parameters
    ----------
    world : str
        Its name.
    hash : bool
        Tell the digest of the state.

    Returns
    -------
    Question of MoverInfo
        As they are now.
    """

    def read(answer: Answer) -> MoverInfo:
        told = answer.fields
        return MoverInfo(
            told["count"], told["tick"], told["rate"], told["skipped"], told.get("hash")
        )

    return Question("movers_info", {"world": world, "hash": hash}, read)


def view_movers(
    world: str,
    *,
    columns: Sequence[str] = COLUMNS[:4],
    area: tuple[float, float, float, float] | None = None,
    limit: int | None = None,
    space: str = "cell",
) -> Question[MoverView]:
    """Ask where movers are.

    Parameters
    ----------
    world : str
        Its name.
    columns, area, limit, space
        As for `step_movers`.

    Returns
    -------
    Question of MoverView
        After the last step.
    """
    fields = {"world": world, **_view_fields(columns, area, limit, space)}
    return Question("movers_view", fields, read_view)


def view_routes(
    world: str, handles: ArrayLike, *, space: str = "cell"
) -> Question[list[NDArray[np.float32]]]:
    """Ask for the waypoints that movers have still to pass.

    Parameters
    ----------
    world : str
        Its name.
    handles : array-like of int64, shape (n,)
        Movers, each once.
    space : str
        ``cell`` or ``world``: how waypoints are told.

    Returns
    -------
    Question of list of float32 array (k, 2)
        The waypoints of each; none of who stands, waits for a way or follows a flow field.
    """
    movers = as_array("handles", handles, np.int64, (None,))

    def read(answer: Answer) -> list[NDArray[np.float32]]:
        points, offsets = answer.arrays["points"], answer.arrays["offsets"]
        return [points[begin:end] for begin, end in itertools.pairwise(offsets.tolist())]

    return Question("movers_routes", {"world": world, "space": space}, read, {"handles": movers})


def stream_movers(
    world: str,
    *,
    on: bool = True,
    columns: Sequence[str] = COLUMNS[:4],
    area: tuple[float, float, float, float] | None = None,
    limit: int | None = None,
    space: str = "cell",
    events: bool = True,
    every: int = 1,
    window: int = 2,
) -> Question[int]:
    """Have the movers' state told from now on, or change what is told.

    It comes as events; `read_state` reads them. Clients confirm each as it is taken.

    Parameters
    ----------
    world : str
        Its name.
    on : bool
        False ends it.
    columns, area, limit, space, events
        As for `step_movers`.
    every : int
        Tell each so many ticks.
    window : int
        How many may be on their way.

    Returns
    -------
    Question of int
        The tick.
    """
    fields = {"world": world, "on": on, "events": events, "every": every, "window": window}
    return Question(
        "movers_stream",
        {**fields, **_view_fields(columns, area, limit, space)},
        lambda answer: int(answer.fields["tick"]),
    )


def see_movers(world: str, tick: int) -> Question[None]:
    """Confirm that states of a stream have been read; clients do so themselves.

    Parameters
    ----------
    world : str
        Its name.
    tick : int
        The newest that was read.

    Returns
    -------
    Question of None
        Answered at once.
    """
    return Question("movers_seen", {"world": world, "tick": tick}, read_nothing)


# As bytes


def save_movers(world: str) -> Question[bytes]:
    """Ask for the movers as bytes.

    Parameters
    ----------
    world : str
        Its name.

    Returns
    -------
    Question of bytes
        For `load_movers`.
    """
    return Question(
        "movers_save", {"world": world}, lambda answer: answer.arrays["state"].tobytes()
    )


def load_movers(world: str, state: bytes, *, owned: bool = True) -> Question[NDArray[np.int64]]:
    """Take saved movers in the place of those there are.

    Parameters
    ----------
    world : str
        Its name.
    state : bytes
        From `save_movers`.
    owned : bool
        Remove them when the session ends.

    Returns
    -------
    Question of int64 array (n,)
        Their handles.
    """
    return Question(
        "movers_load",
        {"world": world, "owned": owned},
        lambda answer: answer.arrays["handles"],
        {"state": np.frombuffer(state, np.uint8)},
    )
