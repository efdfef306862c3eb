"""Whose request is next: fair between clients, by priority within one, bounded in all.

Between clients the queue shares work, not requests: deficit round robin (Shreedhar and Varghese,
"Efficient Fair Queueing Using Deficit Round Robin", 1995, section 3). What a request costs is
known only afterwards, so a client is charged then, and is passed over until its deficit is paid.
Who comes with nothing pending is served before the round, with one quantum to spend: a client that
asks now and then does not feel one that floods. Those who come so are served in the order in which
they came: of hundreds that each ask again once they are answered nobody is overtaken for ever.

Within one client greater priority comes first; at equal priority short and long requests take
turns, and each kind is in the order of deadlines, then of arrival.
"""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from enum import IntFlag
from itertools import chain
from typing import Generic, Protocol, TypeVar

from navserver.search.validation import checked_count

__all__ = ["Entry", "Lane", "PathQueue"]


class Lane(IntFlag):
    """What kind of work a request waits for."""

    SHORT = 1
    """A first try that ends soon by itself: fit for a thread that must not be held up."""
    BEGIN = 2
    """A long search that needs scratch of its own from now on."""
    GO_ON = 4
    """A slice of a search that has begun."""
    WHOLE = 8
    """Work that cannot be sliced, on a thread that nobody waits for."""
    SLICED = SHORT | BEGIN | GO_ON
    ALL = SHORT | BEGIN | GO_ON | WHOLE


# Plain integers: operations of enumerations take longer than all else in here.
_SHORT, _BEGIN = int(Lane.SHORT), int(Lane.BEGIN)
_MEMBERS = {int(lane): lane for lane in (Lane.SHORT, Lane.BEGIN, Lane.GO_ON, Lane.WHOLE)}
_LANES = (_SHORT, int(Lane.GO_ON), _BEGIN, int(Lane.WHOLE))


class Entry(Protocol):
    """What the queue must know of a request."""

    client: Hashable
    priority: int
    deadline: float
    """In seconds, ``inf`` for none."""
    order: tuple[int, int]
    """When it arrived; no two are equal."""
    is_gone: bool
    """Answered; the queue drops it when it comes upon it."""
    is_waiting: bool
    """Whether it is in a lane; kept by the queue."""


E = TypeVar("E", bound=Entry)

_Key = tuple[int, float, tuple[int, int]]


class _Client(Generic[E]):
    __slots__ = ("deficit", "is_turn_of_long", "lanes", "n_gone", "n_rows", "scratch")

    def __init__(self, deficit: float) -> None:
        self.lanes: dict[int, list[tuple[_Key, E]]] = {lane: [] for lane in _LANES}
        self.deficit = deficit
        self.n_rows = 0
        self.n_gone = 0
        self.scratch = 0
        self.is_turn_of_long = False

    def head(self, lane: int) -> tuple[_Key, E] | None:
        """Return the first entry of a lane, without those that are gone."""
        heap = self.lanes[lane]
        while heap and heap[0][1].is_gone:
            heapq.heappop(heap)[1].is_waiting = False
            self.n_gone -= 1
        return heap[0] if heap else None

    def best_lane(self, lanes: int) -> int:
        """Return the lane whose head comes first, 0 if nothing waits there."""
        best = 0
        best_rank: tuple[int, bool] = (0, False)
        for lane in _LANES:
            if not lane & lanes:
                continue
            head = self.head(lane) if self.lanes[lane] else None
            if head is None:
                continue
            rank = (head[0][0], (lane == _SHORT) == self.is_turn_of_long)
            if not best or rank < best_rank:
                best, best_rank = lane, rank
        return best


class PathQueue(Generic[E]):
    """Requests that wait, of many clients.

    Parameters
    ----------
    max_rows : int
        Most rows (paths asked for) that may be pending, over all clients.
    max_rows_a_client : int
        Most of one client.
    quantum : float
        Work that a client may do before the next one's turn.
    max_scratch : int
        Bytes that long searches may hold: one client half of it, and beyond it only a client
        that holds none, up to twice as much in all.

    Raises
    ------
    InputError
        If a bound is not a positive integer.

    Notes
    -----
    Not safe for threads: the scheduler's lock guards it. Taking the next entry is O(clients) at
    worst, O(log n) in the entries of one client.
    """

    def __init__(
        self, max_rows: int, max_rows_a_client: int, quantum: float, max_scratch: int
    ) -> None:
        self.max_rows = checked_count("max_rows", max_rows)
        self.max_rows_a_client = checked_count("max_rows_a_client", max_rows_a_client)
        self.max_scratch = checked_count("max_scratch", max_scratch)
        self.quantum = quantum
        self._n_waiting = 0
        self.scratch = 0
        """Bytes that searches hold."""
        self.n_rows = 0
        """Rows pending, waiting or at work."""
        self._clients: dict[Hashable, _Client[E]] = {}
        # Everybody is in one of these: who has come and not spent the first quantum, and the round.
        self._newcomers: OrderedDict[Hashable, _Client[E]] = OrderedDict()
        self._round: OrderedDict[Hashable, _Client[E]] = OrderedDict()

    def __len__(self) -> int:
        """Return how many entries wait, without those that are gone."""
        return self._n_waiting

    def __iter__(self) -> Iterator[E]:
        """Yield the entries that wait, in no order."""
        for client in self._clients.values():
            for heap in client.lanes.values():
                yield from (entry for _, entry in heap if not entry.is_gone)

    def rows_of(self, client: Hashable) -> int:
        """Return how many rows of a client are pending.

        Parameters
        ----------
        client : hashable
            Who.

        Returns
        -------
        int
            0 for one who is not known.
        """
        known = self._clients.get(client)
        return 0 if known is None else known.n_rows

    def admit(self, client: Hashable, rows: int) -> bool:
        """Count rows of a new request as pending, if the bounds leave room.

        Parameters
        ----------
        client : hashable
            Whose.
        rows : int
            How many.

        Returns
        -------
        bool
            False if the request has to be refused; then nothing has changed.
        """
        if self.rows_of(client) + rows > self.max_rows_a_client:
            return False
        if self.n_rows + rows > self.max_rows:
            return False
        if client not in self._clients:
            self._clients[client] = self._newcomers[client] = _Client(self.quantum)
        self._clients[client].n_rows += rows
        self.n_rows += rows
        return True

    def release(self, client: Hashable, rows: int) -> None:
        """Count rows as answered.

        Parameters
        ----------
        client : hashable
            Whose.
        rows : int
            How many.
        """
        known = self._clients[client]
        known.n_rows -= rows
        self.n_rows -= rows
        assert known.n_rows >= 0
        self._forget_idle(client, known)

    def put(self, entry: E, lane: Lane) -> None:
        """Let an entry wait in a lane, at the place of its arrival.

        Parameters
        ----------
        entry : Entry
            Of a client with rows pending.
        lane : Lane
            One lane.
        """
        key = (-entry.priority, entry.deadline, entry.order)
        entry.is_waiting = True
        self._n_waiting += 1
        heapq.heappush(self._clients[entry.client].lanes[lane], (key, entry))

    def note_gone(self, entry: E) -> None:
        """Take note that an entry that waits is gone, and clean up where many are.

        Parameters
        ----------
        entry : Entry
            Its `is_gone` is set.
        """
        self._n_waiting -= 1
        client = self._clients.get(entry.client)
        if client is None:
            return
        client.n_gone += 1
        if client.n_gone > 64 and 2 * client.n_gone > sum(map(len, client.lanes.values())):
            for lane, heap in client.lanes.items():
                client.lanes[lane] = [item for item in heap if not item[1].is_gone]
                heapq.heapify(client.lanes[lane])
            client.n_gone = 0
        self._forget_idle(entry.client, client)

    def take(self, lanes: Lane) -> tuple[E, Lane] | None:
        """Return the entry whose turn it is, which waits no longer.

        Parameters
        ----------
        lanes : Lane
            What the caller can work on.

        Returns
        -------
        (Entry, Lane) or None
            None if nothing waits there.
        """
        chosen = self._next_client(int(lanes))
        if chosen is None:
            return None
        client, lane = chosen
        _, entry = heapq.heappop(client.lanes[lane])
        entry.is_waiting = False
        self._n_waiting -= 1
        client.is_turn_of_long = lane == _SHORT
        return entry, _MEMBERS[lane]

    def take_also(self, client: Hashable, lane: Lane, priority: int) -> E | None:
        """Return one more entry of the client that was served, if it is of the same priority.

        Parameters
        ----------
        client : hashable
            Who was served.
        lane : Lane
            Where from.
        priority : int
            Of the entry that was taken.

        Returns
        -------
        Entry or None
            What would come next in the lane; the caller puts back what does not fit.
        """
        known = self._clients.get(client)
        if known is None:
            return None
        head = known.head(lane)
        if head is None or head[0][0] != -priority:
            return None
        entry = heapq.heappop(known.lanes[lane])[1]
        entry.is_waiting = False
        self._n_waiting -= 1
        return entry

    def has(self, lanes: Lane) -> bool:
        """Return whether anything waits.

        Parameters
        ----------
        lanes : Lane
            Where.

        Returns
        -------
        bool
            True if `take` would return an entry.
        """
        wanted = int(lanes)
        return any(
            client.best_lane(self._open_lanes(client, wanted)) for client in self._clients.values()
        )

    def lend(self, client: Hashable, nbytes: int) -> None:
        """Count the scratch of a search that begins; paid back by as much less than nothing.

        Parameters
        ----------
        client : hashable
            Whose search.
        nbytes : int
            Bytes, negative when it ends.
        """
        self.scratch += nbytes
        known = self._clients.get(client)
        if known is not None:
            known.scratch = max(known.scratch + nbytes, 0)

    def _open_lanes(self, client: _Client[E], lanes: int) -> int:
        """Return the lanes without BEGIN where there is no scratch for the client."""
        if not lanes & _BEGIN:
            return lanes
        if self.scratch < self.max_scratch:
            has_room = self.scratch == 0 or 2 * client.scratch < self.max_scratch
        else:
            has_room = client.scratch == 0 and self.scratch < 2 * self.max_scratch
        return lanes if has_room else lanes & ~_BEGIN

    def charge(self, client: Hashable, work: float) -> None:
        """Charge a client for work that was done for it.

        Parameters
        ----------
        client : hashable
            Who; unknown if its last row has just been answered.
        work : float
            In the unit of the quantum.
        """
        known = self._clients.get(client)
        if known is not None:
            known.deficit -= work
            if known.deficit <= 0.0 and client in self._newcomers:
                self._round[client] = self._newcomers.pop(client)

    def _next_client(self, lanes: int) -> tuple[_Client[E], int] | None:
        """Return the first client with something to do and no deficit, newcomers first."""
        waiting: list[tuple[Hashable, _Client[E], int]] = []
        for name, client in chain(self._newcomers.items(), self._round.items()):
            lane = client.best_lane(self._open_lanes(client, lanes))
            if not lane:
                continue
            if client.deficit > 0.0:
                self._clear_way_to(name, waiting)
                return client, lane
            waiting.append((name, client, lane))
        if not waiting:
            return None
        # As many rounds as the first of them needs to get out of its deficit.
        rounds = min(math.floor(-c.deficit / self.quantum) + 1 for _, c, _ in waiting)
        for _, client, _ in waiting:
            client.deficit += rounds * self.quantum
        for place, (name, client, lane) in enumerate(waiting):
            if client.deficit > 0.0:
                self._clear_way_to(name, waiting[:place])
                return client, lane
        raise AssertionError("a round has to leave one client without deficit")

    def _clear_way_to(self, name: Hashable, passed: list[tuple[Hashable, _Client[E], int]]) -> None:
        """Move those passed over to the end of the round."""
        for other, _, _ in passed:
            if other != name:
                self._round.move_to_end(other)

    def _forget_idle(self, name: Hashable, client: _Client[E]) -> None:
        if client.n_rows == 0:
            del self._clients[name]
            self._newcomers.pop(name, None)
            self._round.pop(name, None)
