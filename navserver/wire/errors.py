"""What is wrong with a message, as it is raised here and told on the wire."""

from __future__ import annotations

from typing import Any

from navserver.status import InputError

__all__ = ["WireError", "clipped"]

_MOST_SHOWN = 120


class WireError(InputError):
    """A message cannot be accepted.

    Parameters
    ----------
    code : str
        A key of `ERROR_CODES`.
    field : str
        The field's name, ``header`` for the header as a whole, or ``frames``.
    value : object
        What was given.
    problem : str
        What is wrong with it, as the rest of a sentence.
    remedy : str
        What to do, as a clause.
    """

    def __init__(self, code: str, field: str, value: object, problem: str, remedy: str) -> None:
        super().__init__(field, value, problem, remedy)
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what rebuilds it."""
        return type(self), (self.code, self.field, self.value, self.problem, self.remedy)


def clipped(value: object) -> str:
    """Return a value as text short enough for an error.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    str
        At most 120 characters on one line.

    Examples
    --------
    >>> clipped([1, 2]), len(clipped("x" * 1000))
    ('[1, 2]', 120)
    """
    # Long values are cut before they are written out whole.
    if isinstance(value, (str, bytes, list, tuple)) and len(value) > _MOST_SHOWN:
        value = value[:_MOST_SHOWN]
    shown = " ".join((value if isinstance(value, str) else repr(value)).split())
    return shown if len(shown) <= _MOST_SHOWN else shown[: _MOST_SHOWN - 3] + "..."
