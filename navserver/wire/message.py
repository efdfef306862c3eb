"""What a message is: a declaration that checks what comes and that the document is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.wire.errors import WireError
from navserver.wire.fields import OPTIONAL, REQUIRED, Array, Field, integer, name, number
from navserver.wire.limits import MAX_ID

__all__ = [
    "COMMON_FIELDS",
    "FAILURE_FIELDS",
    "Body",
    "Event",
    "Message",
    "Part",
    "Reply",
    "ReplyHead",
    "Request",
    "read_head",
]

_VERSIONS = (1 << 63) - 1
_MICROSECONDS = float(1 << 53)

COMMON_FIELDS = {
    "request": (
        name("type", "which message this is"),
        integer("id", 1, MAX_ID, "the request's number, greater than all before in its session"),
        integer("done", 0, MAX_ID, "all requests up to this id have been answered", default=0),
    ),
    "reply": (
        name("type", "the request's"),
        integer("id", 0, MAX_ID, "the request's; 0 if it could not be read"),
        name("status", "how it ended; see the statuses"),
        integer("version", 0, _VERSIONS, "version of the map that was asked; 0 without one"),
        number("wait_us", 0.0, _MICROSECONDS, "time spent waiting", unit="us"),
        number("search_us", 0.0, _MICROSECONDS, "time spent working", unit="us"),
    ),
    "event": (name("type", "which event this is"),),
}
"""What stands in every header besides ``bulk``."""

FAILURE_FIELDS = (
    name("code", "see the error codes"),
    name("field", "the field at fault", default=OPTIONAL),
    name("value", "what it held, cut short", default=OPTIONAL),
    name("problem", "what is wrong with it, as the rest of a sentence"),
    name("remedy", "what to do, as a clause"),
)
"""What a reply of status ``error`` has instead of its message's own fields."""


class Body(NamedTuple):
    """What a header and its frames hold, checked, with defaults filled in."""

    fields: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


class Request(NamedTuple):
    """A request that has been checked."""

    message: Message
    id: int
    fields: dict[str, Any]
    """By name, with defaults; None for what was left out and has no default."""
    arrays: dict[str, NDArray[Any]]
    """By name; those left out are not in it."""
    done: int = 0
    """All requests of the session up to this id have been answered."""


class Reply(NamedTuple):
    """What answers a request."""

    status: str
    fields: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    version: int = 0
    wait_us: float = 0.0
    search_us: float = 0.0


@dataclass(frozen=True, slots=True)
class Part:
    """The fields and arrays of one direction of a message."""

    fields: tuple[Field, ...]
    arrays: tuple[Array, ...]
    _checks: dict[str, Any] = field(init=False, repr=False)
    _defaults: dict[str, Any] = field(init=False, repr=False)
    _required: tuple[str, ...] = field(init=False, repr=False)
    _arrays: dict[str, Array] = field(init=False, repr=False)
    _needs_arrays: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Make the tables that checks run on."""
        defaults = {f.name: f.default for f in self.fields if f.default is not REQUIRED}
        defaults.update((n, None) for n, value in defaults.items() if value is OPTIONAL)
        for attribute, value in (
            ("_checks", {f.name: f.check for f in self.fields}),
            ("_defaults", defaults),
            ("_required", tuple(f.name for f in self.fields if f.default is REQUIRED)),
            ("_arrays", {array.name: array for array in self.arrays}),
            ("_needs_arrays", any(array.required for array in self.arrays)),
        ):
            object.__setattr__(self, attribute, value)

    def check(
        self,
        header: Mapping[str, Any],
        arrays: dict[str, NDArray[Any]],
        common: frozenset[str],
        *,
        strict: bool,
    ) -> Body:
        """Return what a header and its arrays hold.

        Parameters
        ----------
        header : mapping of str to object
            The decoded header.
        arrays : dict of str to array
            The decoded arrays.
        common : frozenset of str
            Names in the header that are checked elsewhere.
        strict : bool
            Whether unknown names are refused or left out.

        Returns
        -------
        Body
            What was asked for.

        Raises
        ------
        WireError
            ``bad_field``, naming it.
        """
        checks = self._checks
        values = self._defaults.copy()
        for key, value in header.items():
            check = checks.get(key)
            if check is not None:
                values[key] = check(value)
            elif strict and key not in common:
                known = ", ".join(checks) or "none"
                raise WireError(
                    "bad_field", key, value, "is no field of the message", f"it has: {known}"
                )
        if len(values) < len(checks):
            for key in self._required:
                if key not in values:
                    raise WireError("bad_field", key, None, "is missing", "every request needs it")
        if arrays or self._needs_arrays:
            arrays = self._check_arrays(values, arrays, strict=strict)
        return Body(values, arrays)

    def _check_arrays(
        self, values: dict[str, Any], arrays: dict[str, NDArray[Any]], *, strict: bool
    ) -> dict[str, NDArray[Any]]:
        known = self._arrays
        lengths = {key: value for key, value in values.items() if type(value) is int}
        found = {}
        for key, array in arrays.items():
            if key in known:
                known[key].check(array, lengths)
                found[key] = _quieted(array) if array.dtype.kind == "f" else array
            elif strict:
                raise WireError(
                    "bad_field", key, f"{array.dtype} of shape {array.shape}",
                    "is no array of the message", f"it has: {', '.join(known) or 'none'}",
                )  # fmt: skip
        for key, declared in known.items():
            if declared.required and key not in found:
                raise WireError(
                    "bad_field", key, None, "is missing",
                    f"send {declared.dtype} of {declared.described()}",
                )  # fmt: skip
        return found


def _quieted(array: NDArray[Any]) -> NDArray[Any]:
    """Return floats with quiet NaNs: a signalling one would warn wherever it is converted."""
    is_nan = np.isnan(array)
    return np.where(is_nan, array.dtype.type(np.nan), array) if is_nan.any() else array


class ReplyHead(NamedTuple):
    """What every reply begins with."""

    id: int
    status: str
    version: int
    wait_us: float
    search_us: float


_USUAL_STATUSES = ("ok", "found")
_HEAD_CHECKS = tuple((f.name, f.check) for f in COMMON_FIELDS["reply"][1:])


def read_head(header: Mapping[str, Any]) -> ReplyHead:
    """Return what every reply begins with.

    Parameters
    ----------
    header : mapping of str to object
        The decoded header.

    Returns
    -------
    ReplyHead
        Checked.

    Raises
    ------
    WireError
        ``bad_field``.
    """
    found: Any = map(header.get, ReplyHead._fields)
    head = ReplyHead(*found)
    number, status, version, wait_us, search_us = head
    if (
        type(number) is type(version) is int
        and type(wait_us) is type(search_us) is float
        and status in _USUAL_STATUSES
        and 0 <= number <= MAX_ID
        and 0 <= version <= _VERSIONS
        and 0.0 <= wait_us <= _MICROSECONDS
        and 0.0 <= search_us <= _MICROSECONDS
    ):
        return head
    # One by one, to name what is wrong, or to take what is said in another form.
    return ReplyHead(*[check(header.get(field)) for field, check in _HEAD_CHECKS])


_REQUEST_COMMON = frozenset({"type", "id", "done", "bulk"})
_REPLY_COMMON = frozenset(f.name for f in COMMON_FIELDS["reply"]) | {"bulk"}
_EVENT_COMMON = frozenset({"type", "bulk"})


@dataclass(frozen=True, slots=True)
class Message:  # numpydoc ignore=PR02
    """A request and its reply.

    Parameters
    ----------
    name : str
        Its type on the wire.
    doc : str
        What it does, in sentences.
    request, reply : Part
        What they hold besides the common fields.
    statuses : tuple of str
        What a reply's status may be, besides ``error``.
    changes : bool
        Whether it changes what the server holds: such a request is never carried out twice, and
        is answered again from the reply that was kept if it comes again.
    errors : tuple of str
        Error codes it may meet, besides those every message may.
    """

    name: str
    doc: str
    request: Part
    reply: Part
    statuses: tuple[str, ...] = ("ok",)
    changes: bool = False
    errors: tuple[str, ...] = ()

    @property
    def waits_for_steps(self) -> bool:
        """Whether it must not be carried out while the world's movers step."""
        return self.changes or self.name.startswith("movers_")

    def read_request(self, header: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> Body:
        """Return what a request of this type holds.

        Parameters
        ----------
        header : mapping of str to object
            The decoded header.
        arrays : dict of str to array
            The decoded arrays.

        Returns
        -------
        Body
            Checked.

        Raises
        ------
        WireError
            ``bad_field``; unknown fields are refused.
        """
        return self.request.check(header, arrays, _REQUEST_COMMON, strict=True)

    def read_reply(
        self, header: Mapping[str, Any], arrays: dict[str, NDArray[Any]], *, strict: bool = False
    ) -> Body:
        """Return what a reply to this message holds.

        Parameters
        ----------
        header : mapping of str to object
            The decoded header, of any status but ``error``.
        arrays : dict of str to array
            The decoded arrays.
        strict : bool
            Whether unknown fields are refused; clients ignore them.

        Returns
        -------
        Body
            Checked.

        Raises
        ------
        WireError
            ``bad_field``.
        """
        return self.reply.check(header, arrays, _REPLY_COMMON, strict=strict)


@dataclass(frozen=True, slots=True)
class Event:  # numpydoc ignore=PR02
    """What the server tells without being asked.

    Parameters
    ----------
    name : str
        Its type on the wire.
    doc : str
        When it comes, in sentences.
    part : Part
        What it holds.
    """

    name: str
    doc: str
    part: Part

    def read(
        self, header: Mapping[str, Any], arrays: dict[str, NDArray[Any]], *, strict: bool = False
    ) -> Body:
        """Return what an event of this type holds.

        Parameters
        ----------
        header : mapping of str to object
            The decoded header.
        arrays : dict of str to array
            The decoded arrays.
        strict : bool
            Whether unknown fields are refused; clients ignore them.

        Returns
        -------
        Body
            Checked.

        Raises
        ------
        WireError
            ``bad_field``.
        """
        return self.part.check(header, arrays, _EVENT_COMMON, strict=strict)
