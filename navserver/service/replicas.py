"""One map in several copies, so that searches keep their version while the map is edited.

Invariant: a copy that is pinned is never written. An edit goes to the head in place if nobody has
pinned it, else to a spare copy, which is brought up to date from the log of edits and becomes the
head. Two copies that take turns serve any number of edits, and a third one while a long search
holds a version; there are more only while searches hold more, at most one for each at work.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Hashable
from itertools import islice
from typing import NamedTuple

from navserver.search.astar import AStar
from navserver.search.grid import Grid
from navserver.search.islands import islands_of
from navserver.search.movement import Movement
from navserver.service.edits import Effect, MapEdit, apply_edit
from navserver.service.requests import SearchOptions

__all__ = ["Replica", "Replicas", "Searcher"]

# To write so many cells takes less time than to bring another copy up to date.
_IN_PLACE_CELLS = 1 << 12

# To make a copy, and all that is derived from it, takes much longer than to bring one up to date.
_MAX_SPARES = 2

# A copy that missed edits of more bytes than this times the map's is cheaper made anew.
_LOG_FACTOR = 2

# On a smaller map whatever a search needs is built in a millisecond or two.
_SMALL_CELLS = 1 << 16

_MAX_READY = 8
_MAX_IDLE_BYTES = 1 << 28
_MAX_IDLE = 64
_SCRATCH_BYTES_A_CELL = 16


class Searcher:
    """An `AStar` that reads the grid again only if it has been edited.

    Parameters
    ----------
    grid : Grid
        The map.
    options : SearchOptions
        How to search.
    limit : int or None
        For a first try: where it gives up at the latest, without asking the islands.
    """

    __slots__ = ("key", "search", "version")

    def __init__(self, grid: Grid, options: SearchOptions, limit: int | None) -> None:
        self.key = (options, limit)
        most = options.max_expansions
        if limit is not None:
            most = limit if most is None else min(limit, most)
        self.search = AStar(
            grid,
            max_expansions=most,
            islands=options.islands and limit is None,
            **options.keywords(),
        )
        self.version = 0

    def prepare(self, grid: Grid) -> None:
        """Make the search see the grid as it is.

        Parameters
        ----------
        grid : Grid
            The one it was made for.
        """
        if self.version != grid.version:
            self.search.prepare()
            self.version = grid.version


class Replica:
    """A copy of the map, with the searches made for it.

    Parameters
    ----------
    grid : Grid
        The copy.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.pins = 0
        """How many hold it; changed under the lock of `Replicas`."""
        self._recent: Searcher | None = None
        """The one given back last: most often the next one wanted."""
        self._idle: OrderedDict[Hashable, list[Searcher]] = OrderedDict()
        self._n_idle = 0
        self._seen: OrderedDict[SearchOptions, None] = OrderedDict()
        self._lock = threading.Lock()

    def is_quick(self, options: SearchOptions) -> bool:
        """Return whether a search can begin at once, with all that it needs built.

        Parameters
        ----------
        options : SearchOptions
            How to search.

        Returns
        -------
        bool
            False on a large map before the first search of such options.
        """
        return options in self._seen or self.grid.size <= _SMALL_CELLS

    def forget(self) -> None:
        """Take note that a large edit may have ended what searches need."""
        with self._lock:
            self._seen.clear()

    @property
    def version(self) -> int:
        """Version of the map."""
        return self.grid.version

    @property
    def scratch_bytes(self) -> int:
        """Bytes that one search may touch."""
        return _SCRATCH_BYTES_A_CELL * self.grid.size

    @property
    def idle_bytes(self) -> int:
        """Bytes that searches at rest may have touched."""
        return self._n_idle * self.scratch_bytes

    def borrow(self, options: SearchOptions, limit: int | None = None) -> Searcher:
        """Return a search that nobody else uses, ready for the map as it is.

        Parameters
        ----------
        options : SearchOptions
            How to search.
        limit : int or None
            As for `Searcher`.

        Returns
        -------
        Searcher
            To be given back.

        Raises
        ------
        InputError
            If an overlay is not a layer of the map.
        """
        key = (options, limit)
        with self._lock:
            searcher = self._recent
            if searcher is not None and searcher.key == key:
                self._recent = None
                self._n_idle -= 1
            else:
                searcher = self._take_idle(key)
        if searcher is None:
            searcher = Searcher(self.grid, options, limit)
        searcher.prepare(self.grid)
        if options not in self._seen:
            with self._lock:
                self._seen[options] = None
                while len(self._seen) > _MAX_IDLE:
                    self._seen.popitem(last=False)
        return searcher

    def give_back(self, searcher: Searcher) -> None:
        """Keep a search for the next one of the same options.

        Parameters
        ----------
        searcher : Searcher
            From `borrow`.
        """
        with self._lock:
            older, self._recent = self._recent, searcher
            self._n_idle += 1
            if older is None:
                return
            self._idle.setdefault(older.key, []).append(older)
            self._idle.move_to_end(older.key)
            most = min(max(_MAX_IDLE_BYTES // self.scratch_bytes, 2), _MAX_IDLE)
            while self._n_idle > most:
                self._drop_oldest()

    def _take_idle(self, key: Hashable) -> Searcher | None:
        idle = self._idle.get(key)
        if not idle:
            return None
        self._n_idle -= 1
        self._idle.move_to_end(key)
        return idle.pop()

    def _drop_oldest(self) -> None:
        key, idle = next(iter(self._idle.items()))
        if idle:
            idle.pop()
            self._n_idle -= 1
        if not idle:
            del self._idle[key]


class _Logged(NamedTuple):
    version: int
    edit: MapEdit


class Replicas:
    """The head of a map, and copies of earlier versions that are still searched.

    Parameters
    ----------
    grid : Grid
        The map; from now on nobody else may edit it.
    """

    def __init__(self, grid: Grid) -> None:
        self._head = Replica(grid)
        self._spares: list[Replica] = []
        self._held: set[Replica] = set()
        self._log: deque[_Logged] = deque()
        self._log_bytes = 0
        self._ready: OrderedDict[Movement, bool] = OrderedDict()
        self._lock = threading.RLock()
        self._editing = threading.Lock()

    @property
    def version(self) -> int:
        """Version of the head."""
        return self._head.version

    @property
    def count(self) -> int:
        """Copies that exist."""
        with self._lock:
            return 1 + len(self._spares) + len(self._held)

    def is_quick(self, options: SearchOptions) -> bool:
        """Return whether a search of the newest version can begin at once.

        Parameters
        ----------
        options : SearchOptions
            How to search.

        Returns
        -------
        bool
            As `Replica.is_quick`.
        """
        return self._head.is_quick(options)

    @property
    def grid(self) -> Grid:
        """The head, for facts that no edit changes: size, region and transform."""
        return self._head.grid

    def pin(self) -> Replica:
        """Return the head, which stays as it is until it is unpinned as often as pinned.

        Returns
        -------
        Replica
            The newest version.
        """
        with self._lock:
            self._head.pins += 1
            return self._head

    def pin_again(self, replica: Replica) -> Replica:
        """Pin a copy that the caller has pinned already.

        Parameters
        ----------
        replica : Replica
            The copy.

        Returns
        -------
        Replica
            The same.
        """
        with self._lock:
            assert replica.pins > 0
            replica.pins += 1
            return replica

    def unpin(self, replica: Replica) -> None:
        """Give a copy back.

        Parameters
        ----------
        replica : Replica
            From `pin`.
        """
        with self._lock:
            replica.pins -= 1
            if replica.pins == 0 and replica in self._held:
                self._held.discard(replica)
                self._keep(replica)

    def _keep(self, replica: Replica) -> None:
        """Keep the newest spare copies, the newest last."""
        self._spares.append(replica)
        self._spares.sort(key=lambda spare: spare.version)
        del self._spares[:-_MAX_SPARES]

    def prepare(self, movement: Movement, *, islands: bool) -> None:
        """Build what searches need, now and after each edit from now on.

        Parameters
        ----------
        movement : Movement
            For whom; the last eight are kept ready.
        islands : bool
            Whether to label the islands.

        Raises
        ------
        InputError
            If an overlay is not a layer of the map.
        """
        replica = self.pin()
        try:
            _build(replica.grid, movement, islands)
        finally:
            self.unpin(replica)
        with self._lock:
            self._ready[movement] = islands or self._ready.get(movement, False)
            self._ready.move_to_end(movement)
            while len(self._ready) > _MAX_READY:
                self._ready.popitem(last=False)

    def edit(self, edit: MapEdit) -> Effect:
        """Edit the map; whoever pins from now on sees it.

        Parameters
        ----------
        edit : MapEdit
            What to change.

        Returns
        -------
        Effect
            With the new version.

        Raises
        ------
        InputError
            If anything is out of bounds; then nothing has changed.
        """
        with self._editing:
            with self._lock:
                if self._head.pins == 0 and edit.size(self._head.grid) <= _IN_PLACE_CELLS:
                    effect = apply_edit(self._head.grid, edit)
                    self._build_ready(self._head.grid)
                    self._remember(effect.version, edit)
                    return effect
                target = self._spares.pop() if self._spares else None
            return self._edit_copy(target, edit)

    def _edit_copy(self, target: Replica | None, edit: MapEdit) -> Effect:
        """Edit a copy that nobody else knows, and make it the head."""
        head = self._head
        if target is None or not self._catch_up(target):
            target = self._copied(head)
        try:
            effect = apply_edit(target.grid, edit)
        except BaseException:
            with self._lock:
                self._keep(target)
            raise
        target.forget()
        self._build_ready(target.grid)
        with self._lock:
            self._head = target
            if head.pins:
                self._held.add(head)
            else:
                self._keep(head)
            self._remember(effect.version, edit)
        return effect

    @staticmethod
    def _copied(replica: Replica) -> Replica:
        """Return a copy of a copy that nobody writes meanwhile."""
        grid = replica.grid.copy()
        grid.version = replica.version
        return Replica(grid)

    def make_spare(self) -> None:
        """Make a spare copy now, so that no edit has to wait for it."""
        with self._editing:
            if not self._spares:
                spare = self._copied(self._head)
                self._build_ready(spare.grid)
                with self._lock:
                    self._keep(spare)

    def edits_since(self, version: int) -> list[MapEdit] | None:
        """Return the edits that lead from a version to the newest.

        Parameters
        ----------
        version : int
            Of this map.

        Returns
        -------
        list of MapEdit or None
            In their order; None if they are no longer known.
        """
        with self._lock:
            count = self._head.version - version
            if count > len(self._log):
                return None
            return [logged.edit for logged in islice(self._log, len(self._log) - count, None)]

    def _catch_up(self, target: Replica) -> bool:
        """Apply what a copy has missed; return False if the log does not reach so far."""
        missed = self.edits_since(target.version)
        for edit in missed or []:
            edit.apply(target.grid)
        return missed is not None

    def _remember(self, version: int, edit: MapEdit) -> None:
        self._log.append(_Logged(version, edit))
        self._log_bytes += edit.nbytes + 256
        limit = _LOG_FACTOR * self._head.grid.size + (1 << 16)
        while self._log and self._log_bytes > limit:
            self._log_bytes -= self._log.popleft().edit.nbytes + 256
        oldest = self._log[0].version if self._log else version + 1
        self._spares = [spare for spare in self._spares if spare.version >= oldest - 1]

    def _build_ready(self, grid: Grid) -> None:
        """Build for the next search what a large edit or a new copy lacks."""
        layers = grid.layers
        with self._lock:
            for movement in list(self._ready):
                if any(name not in layers for name, _ in movement.overlays):
                    del self._ready[movement]
            ready = list(self._ready.items())
        for movement, islands in ready:
            _build(grid, movement, islands)

    def memory_bytes(self) -> dict[str, int]:
        """Return the bytes held, by part.

        Returns
        -------
        dict of str to int
            ``maps``, ``log``, ``idle_searches`` (at most), and ``total``.
        """
        with self._lock:
            copies = [self._head, *self._held, *self._spares]
            parts = {
                "maps": sum(copy.grid.memory_bytes()["total"] for copy in copies),
                "log": self._log_bytes,
                "idle_searches": sum(copy.idle_bytes for copy in copies),
            }
        return {**parts, "total": sum(parts.values())}


def _build(grid: Grid, movement: Movement, islands: bool) -> None:
    grid.terrain(movement)
    if islands:
        islands_of(grid, movement)
