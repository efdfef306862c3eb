"""Carries out batches: rows of like options are one request to the scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from navserver.service.requests import (
    BatchReply,
    BatchRequest,
    Outcome,
    RowPaths,
    SearchOptions,
)
from navserver.service.requests import Reply as ServiceReply
from navserver.sidecar.movement_fields import search_options_of
from navserver.sidecar.office import Call, Handler, Office
from navserver.sidecar.path_handlers import failure_of, times_of
from navserver.sidecar.path_results import as_asked, smoothed
from navserver.status import InputError
from navserver.wire.errors import WireError
from navserver.wire.limits import MAX_BATCH
from navserver.wire.message import Reply

__all__ = ["BATCH_HANDLERS"]

# Rows that are told together where parts are wanted, unless one field serves more.
_ROWS_A_PART = 16
_FIELD_ROWS = 8

_WAITING = 255

Rows = NDArray[np.int64]


class _Group(NamedTuple):
    """Rows of one request to the scheduler."""

    rows: Rows
    options: SearchOptions
    priority: int
    deadline_ms: float | None


class _BatchCall:
    """One ``batch`` on its way.

    Rows end one by one, each once: by the scheduler, or because the row was superseded or
    cancelled while it waited.
    """

    def __init__(self, office: Office, call: Call) -> None:
        self._office = office
        self._call = call
        self._world = office.world_of(call)
        self._starts, self._goals = _ends_of(call)
        n = len(self._starts)
        self._status = np.full(n, _WAITING, np.uint8)
        self._source = np.zeros(n, np.uint8)
        self._version = np.zeros(n, np.int64)
        self._cost = np.full(n, np.inf)
        self._length = np.full(n, np.inf)
        self._counts = np.zeros(n, np.int64)
        self._watch = np.zeros(n, np.uint32)
        self._parts: list[tuple[Rows, NDArray[np.int32]]] = []
        self._wait_us = self._search_us = 0.0
        self._untold: list[Rows] = []
        self._agents: NDArray[np.int64] | None = call.arrays.get("agents")
        self._withdrawals: dict[int, Callable[[], None]] = {}
        self._requests: dict[int, _Group] = {}
        self._submit()
        self._ask_for_agents()
        office.on_cancel(call, self._cancel)
        self._answer_if_done()

    # Rows out

    def _submit(self) -> None:
        office, call = self._office, self._call
        groups = list(_groups_of(self._world, call))
        if call.fields["parts"]:
            groups = [part for group in groups for part in _parted(group, self._goals)]
        for group in groups:
            if group.rows.size == 0:
                continue
            number = office.next_number()
            request = BatchRequest(
                call.session,
                number,
                self._world.name,
                group.priority,
                group.deadline_ms,
                *self._ends_of(group.rows),
                group.options,
            )
            self._requests[number] = group
            try:
                office.submit(call, request, self._deliver)
            except InputError:
                self._withdraw_all()
                raise

    def _ends_of(self, rows: Rows) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        if rows.size == len(self._starts):
            return self._starts, self._goals
        return self._starts[rows], self._goals[rows]

    def _withdraw_all(self) -> None:
        """Let nothing wait for a batch that is refused."""
        numbers = list(self._requests)
        self._requests.clear()
        for number in numbers:
            self._office.scheduler.cancel(self._call.session, number, self._office.clock())

    def _ask_for_agents(self) -> None:
        if self._agents is None:
            return
        session, agents = self._call.session, self._office.agents
        for row, agent in enumerate(self._agents.tolist()):
            if agent >= 0:
                self._withdrawals[row] = partial(self._end, np.array([row]), Outcome.SUPERSEDED)
                agents.ask(session, agent, self._withdrawals[row])

    # Rows back

    def _cancel(self, rows: NDArray[Any] | None) -> None:
        count = self._status.size
        chosen = np.arange(count) if rows is None else rows[rows < count].astype(np.int64)
        self._end(np.unique(chosen), Outcome.CANCELLED)

    def _end(self, rows: Rows, outcome: Outcome) -> None:
        """End those of some rows that still wait."""
        rows = rows[self._status[rows] == _WAITING]
        self._status[rows] = outcome
        self._note(rows)
        now = self._office.clock()
        for number, group in self._requests.items():
            if not (self._status[group.rows] == _WAITING).any():
                self._office.scheduler.cancel(self._call.session, number, now)
        self._answer_if_done()

    def _deliver(self, reply: ServiceReply) -> None:
        assert isinstance(reply, BatchReply)
        group = self._requests.pop(reply.request_id, None)
        if group is None:
            return
        if reply.outcome is Outcome.FAILED:
            self._withdraw_all()
            self._leave_agents(np.arange(self._status.size))
            self._office.answer(self._call, failure_of(reply))
            return
        self._take_in(group, reply)
        self._answer_if_done()

    def _take_in(self, group: _Group, reply: BatchReply) -> None:
        wait_us, search_us = times_of(reply)
        self._wait_us = max(self._wait_us, wait_us)
        self._search_us += search_us
        is_new = self._status[group.rows] == _WAITING
        if group.rows.size == self._status.size and is_new.all():
            rows = group.rows
            self._status, self._source = reply.status, reply.used
            self._cost, self._length = reply.cost, reply.length
            self._version.fill(reply.map_version)
        else:
            rows = group.rows[is_new]
            self._version[group.rows] = reply.map_version
            self._status[rows] = reply.status[is_new]
            self._source[rows] = reply.used[is_new]
            self._cost[rows] = reply.cost[is_new]
            self._length[rows] = reply.length[is_new]
        if self._call.fields["watch"]:
            self._watch_paths(group, reply, is_new)
        cells, offsets = smoothed(
            self._world, group.options.movement, self._call.fields["smoothing"], reply.cells,
            reply.offsets, reply.map_version,
        )  # fmt: skip
        counts = np.diff(offsets)
        if not is_new.all():
            cells = cells[np.repeat(is_new, counts)]
            counts = counts[is_new]
        self._counts[rows] = counts
        self._parts.append((rows, cells))
        self._note(rows)

    def _watch_paths(self, group: _Group, reply: BatchReply, is_new: NDArray[np.bool_]) -> None:
        counts = np.diff(reply.offsets)
        places = np.flatnonzero(is_new & (counts > 0))
        cells = reply.cells if is_new.all() else reply.cells[np.repeat(is_new, counts)]
        offsets = np.concatenate([[0], np.cumsum(counts[places])])
        self._watch[group.rows[places]] = self._office.watchers.watch_all(
            self._call.session, self._world, group.options.movement, cells, offsets
        )

    def _note(self, rows: Rows) -> None:
        """Take note that rows have ended."""
        self._untold.append(rows)
        self._leave_agents(rows)

    def _leave_agents(self, rows: Rows) -> None:
        if self._agents is not None:
            for row in rows.tolist():
                withdrawal = self._withdrawals.pop(row, None)
                if withdrawal is not None:
                    agent = int(self._agents[row])
                    self._office.agents.leave(self._call.session, agent, withdrawal)

    # The answer

    def _answer_if_done(self) -> None:
        is_done = not (self._status == _WAITING).any()
        if not is_done and not (self._call.fields["parts"] and self._untold):
            return
        rows = np.concatenate([*self._untold, np.empty(0, np.int64)])
        self._untold.clear()
        arrays = self._arrays_of(rows) if self._call.fields["parts"] else self._all_arrays()
        versions = self._version[self._version > 0]
        self._office.answer(
            self._call,
            Reply(
                "ok",
                {"more": not is_done},
                arrays,
                int(versions.max()) if versions.size else self._world.version,
                self._wait_us,
                self._search_us,
            ),
        )

    def _all_arrays(self) -> dict[str, NDArray[Any]]:
        paths = RowPaths(self._counts, self._parts)
        return self._arrays(slice(None), paths.offsets, paths.cells)

    def _arrays_of(self, rows: Rows) -> dict[str, NDArray[Any]]:
        """Return the arrays of rows whose paths are the parts not told yet."""
        places = np.full(self._status.size, -1)
        places[rows] = np.arange(rows.size)
        parts = [(places[part], cells) for part, cells in self._parts]
        self._parts.clear()
        paths = RowPaths(self._counts[rows], parts)
        told = self._arrays(rows, paths.offsets, paths.cells)
        return {"rows": rows.astype(np.uint32), **told}

    def _arrays(
        self, rows: Any, offsets: NDArray[np.int64], cells: NDArray[np.int32]
    ) -> dict[str, NDArray[Any]]:
        watches = {"watches": self._watch[rows]} if self._call.fields["watch"] else {}
        return {
            **watches,
            "statuses": self._status[rows],
            "sources": self._source[rows],
            "versions": self._version[rows].astype(np.uint32),
            "costs": self._cost[rows],
            "lengths": self._length[rows],
            "offsets": offsets.astype(np.uint32),
            **as_asked(self._world, self._call.fields["result"], cells),
        }


def _ends_of(call: Call) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    starts, goals = call.arrays["starts"], call.arrays["goals"]
    if len(starts) > MAX_BATCH:
        raise WireError(
            "too_large", "starts", len(starts), "are too many rows",
            f"send at most {MAX_BATCH} in one batch",
        )  # fmt: skip
    if len(goals) == 1:
        goals = np.broadcast_to(goals, starts.shape)
    if len(goals) != len(starts):
        raise WireError(
            "bad_field", "goals", len(goals), "do not go with the starts",
            f"give {len(starts)}, or one",
        )  # fmt: skip
    return starts, goals


def _groups_of(world: Any, call: Call) -> Iterator[_Group]:
    """Yield rows of like options together."""
    fields, arrays = call.fields, call.arrays
    n = len(arrays["starts"])
    own = [name for name in ("profiles", "sizes", "priorities", "deadlines") if name in arrays]
    if not own:
        options = search_options_of(world, fields)
        yield _Group(np.arange(n), options, fields["priority"], fields["deadline_ms"])
        return
    keys = np.column_stack([arrays[name].astype(np.float64) for name in own])
    kinds, kind_of = np.unique(keys, axis=0, return_inverse=True)
    for i, kind in enumerate(kinds.tolist()):
        chosen = dict(zip(own, kind, strict=True))
        changed = dict(fields)
        if "profiles" in chosen:
            changed["profile"] = _profile_name(fields["profile_names"], int(chosen["profiles"]))
        if "sizes" in chosen:
            changed["size"] = int(chosen["sizes"])
        deadline = chosen.get("deadlines", fields["deadline_ms"])
        yield _Group(
            np.flatnonzero(kind_of.reshape(-1) == i),
            search_options_of(world, changed),
            int(chosen.get("priorities", fields["priority"])),
            deadline or None,
        )


def _profile_name(names: list[str] | None, index: int) -> str:
    if names is None or index >= len(names):
        raise WireError(
            "bad_field", "profiles", index, "is no index into profile_names",
            "name every profile there",
        )  # fmt: skip
    return names[index]


def _parted(group: _Group, goals: NDArray[np.int32]) -> Iterator[_Group]:
    """Yield the rows in parts that are told together: those of one goal, or a few."""
    _, goal_of, sizes = np.unique(
        goals[group.rows], axis=0, return_inverse=True, return_counts=True
    )
    goal_of = goal_of.reshape(-1)
    for goal in np.flatnonzero(sizes >= _FIELD_ROWS).tolist():
        yield group._replace(rows=group.rows[goal_of == goal])
    rest = group.rows[sizes[goal_of] < _FIELD_ROWS]
    for first in range(0, rest.size, _ROWS_A_PART):
        yield group._replace(rows=rest[first : first + _ROWS_A_PART])


def _ask(office: Office, call: Call) -> None:
    _BatchCall(office, call)


BATCH_HANDLERS: dict[str, Handler] = {"batch": _ask}
"""Who carries out which message."""
