"""Behaviours found by name, made and asked; what they answer is checked."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from navserver.search.grid import Grid
from navserver.sim.behaviors import BEHAVIORS
from navserver.sim.bots import Behavior, BehaviorError, Kind, Observation
from navserver.status import InputError

__all__ = ["ask_behavior", "load_behavior", "make_behavior"]

_GIVEN_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)

# No map has cells beyond it.
_FARTHEST = 2.0**31


def load_behavior(name: str) -> Callable[..., Behavior]:
    """Return a behaviour's class.

    Parameters
    ----------
    name : str
        A built-in one, or ``FILE.py``, or ``FILE.py:CLASS``. A file is run; one that holds a
        single class with a method ``decide`` needs no class named.

    Returns
    -------
    callable
        The class.

    Raises
    ------
    InputError
        If there is none.
    BehaviorError
        If the file raises.
    """
    if name in BEHAVIORS:
        return BEHAVIORS[name]
    file, _, chosen = name.rpartition(":") if not name.endswith(".py") else (name, "", "")
    if not file.endswith(".py"):
        raise InputError(
            "behavior", name, "is unknown", f"use {', '.join(BEHAVIORS)}, FILE.py or FILE.py:CLASS"
        )
    module = _run_file(Path(file))
    own = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and callable(getattr(value, "decide", None))
    }
    if not chosen and len(own) == 1:
        (chosen,) = own
    if chosen not in own:
        found = ", ".join(own) or "no class that has a method decide"
        raise InputError("behavior", name, "names no behaviour", f"the file has {found}")
    return own[chosen]


def _run_file(file: Path) -> Any:
    if not file.is_file():
        raise InputError("behavior", str(file), "is not a file", "name one that exists")
    spec = importlib.util.spec_from_file_location(f"navserver_behavior_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # dataclasses look their module up by name
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise BehaviorError(_told(error, f"{file} cannot be run")) from error
    return module


def _told(error: BaseException, what: str) -> str:
    """Return the error in one line, with the place in the user's file."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{what}: {error.filename}:{error.lineno}: {error.msg}; correct it there"
    frames = traceback.extract_tb(error.__traceback__)
    ours = str(Path(__file__).parent)
    theirs = [f for f in frames if not f.filename.startswith((ours, "<frozen"))]
    place = f"{theirs[0].filename}:{theirs[0].lineno}: " if theirs else ""
    text = " ".join(str(error).split())
    return f"{what}: {place}{type(error).__name__}: {text}; correct it there"


def make_behavior(name: str, kind: Kind, options: Mapping[str, Any]) -> Behavior:
    """Make a behaviour for the bots of a kind.

    Parameters
    ----------
    name : str
        See `load_behavior`.
    kind : Kind
        The bots.
    options : mapping of str to object
        Keywords of its class.

    Returns
    -------
    Behavior
        Ready to decide.

    Raises
    ------
    InputError
        If there is no such behaviour, or an option is refused.
    BehaviorError
        If its class raises.
    """
    made = load_behavior(name)
    _check_options(made, options)
    try:
        return made(kind, **options)
    except InputError as error:
        raise InputError(
            f"options.{error.field}", error.value, error.problem, error.remedy
        ) from None
    except (Exception, SystemExit) as error:
        raise BehaviorError(_told(error, f"behavior {name} of {kind.name}")) from error


def _check_options(made: Callable[..., Behavior], options: Mapping[str, Any]) -> None:
    """Refuse options that a class does not take."""
    try:
        parameters = [*inspect.signature(made).parameters.values()][1:]
    except (TypeError, ValueError):
        return
    kinds = {parameter.kind for parameter in parameters}
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return
    known = [p.name for p in parameters if p.kind in _GIVEN_BY_NAME]
    for option, value in options.items():
        if option not in known:
            remedy = f"use {', '.join(known)}" if known else "this behaviour takes none"
            raise InputError(f"options.{option}", value, "is an unknown option", remedy)


def ask_behavior(
    behavior: Behavior, name: str, bots: Observation, grid: Grid
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Let a behaviour decide, and check what it says.

    Parameters
    ----------
    behavior : Behavior
        Whom to ask.
    name : str
        Of the kind, for errors.
    bots : Observation
        What its bots see.
    grid : Grid
        The map.

    Returns
    -------
    rows : int64 array (k,)
        Bots with a new goal.
    goals : int32 array (k, 2)
        Cells on the map.

    Raises
    ------
    BehaviorError
        If it raises, or its orders cannot be followed.
    """
    where = f"behavior of {name} at tick {bots.tick}"
    try:
        orders = behavior.decide(bots)
    except (Exception, SystemExit) as error:
        raise BehaviorError(_told(error, where)) from error
    if orders is None:
        return np.zeros(0, np.int64), np.zeros((0, 2), np.int32)
    where += _place_of(behavior)
    try:
        rows, goals = np.asarray(orders[0]), np.asarray(orders[1])
    except Exception as error:
        raise BehaviorError(
            f"{where}: it returned {orders!r:.100}; give rows and goals, or None"
        ) from error
    if rows.ndim != 1 or goals.shape != (rows.size, 2):
        raise BehaviorError(
            f"{where}: its orders have shapes {rows.shape} and {goals.shape}; "
            "give rows of shape (k,) and goals of shape (k, 2)"
        )
    if rows.size == 0:
        return np.zeros(0, np.int64), np.zeros((0, 2), np.int32)
    count = len(bots.state)
    if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= count:
        raise BehaviorError(f"{where}: its rows {rows[:8]} are not whole numbers below {count}")
    if np.unique(rows).size != rows.size:
        raise BehaviorError(f"{where}: its rows name a bot twice; give each at most one goal")
    bad = _are_no_cells(goals)
    if bad.any():
        first = int(bad.argmax())
        raise BehaviorError(
            f"{where}: its goals are not cells, as {goals[first]} of row {rows[first]}; "
            "give whole numbers"
        )
    try:
        grid.flat_indices(goals.astype(np.int64), "goals")
    except InputError as error:
        raise BehaviorError(f"{where}: {error}") from None
    return rows.astype(np.int64), goals.astype(np.int32)


def _place_of(behavior: Behavior) -> str:
    """Return file and line of what decides, where it was written in Python."""
    code = getattr(getattr(behavior.decide, "__func__", behavior.decide), "__code__", None)
    return f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""


def _are_no_cells(goals: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows hold something else than two whole numbers that a map could have."""
    if goals.dtype.kind not in "iuf":
        return np.ones(len(goals), np.bool_)
    with np.errstate(invalid="ignore"):
        numbers = goals.astype(np.float64)
        are_cells = (numbers == np.floor(numbers)) & (np.abs(numbers) < _FARTHEST)
    return ~are_cells.all(axis=1)
