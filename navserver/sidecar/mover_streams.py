"""Streams: who is told how the movers of which world move, and how far each has read."""

from __future__ import annotations

from collections import deque
from typing import Any

from navserver.service.world import World
from navserver.service.world_movers import Step
from navserver.sidecar.mover_fields import (
    count_events,
    event_arrays,
    movers_of,
    refusals,
    view_arrays,
    view_for,
)
from navserver.sidecar.office import Call, Office
from navserver.wire.message import Reply
from navserver.wire.server_session import Session

__all__ = ["MoverStreams"]

MOST_EVENTS = 1 << 16
"""Events kept for a client that does not read; older ones are lost, and counted."""


class _Stream:
    """What one session is told of one world."""

    def __init__(self, session: Session, world: World, fields: dict[str, Any]) -> None:
        self.session = session
        self.world = world
        self.fields = fields
        self.unread: deque[tuple[int, deque[Step]]] = deque()
        """The ticks of the states on their way, with the steps whose events they tell."""
        self.last_tick = -1
        """That of the last state told."""
        self.skipped = 0
        self.last_skipped = -1
        """The tick of the state skipped last; it may be told all the same once there is room."""
        self.lost = 0
        self.is_waiting = False
        """Whether there is something newer than what could be told."""
        self.steps: deque[Step] = deque()
        """Those whose events are yet to be told."""
        self.n_events = 0

    def note(self, steps: list[Step]) -> None:
        """Keep the events of steps."""
        if not self.fields["events"]:
            return
        self.steps.extend(steps)
        self.n_events += count_events(steps)
        while self.n_events > MOST_EVENTS:
            lost = count_events([self.steps.popleft()])
            self.n_events -= lost
            self.lost += lost

    def confirm(self, tick: int) -> None:
        """Take note that states have been read."""
        while self.unread and self.unread[0][0] <= tick:
            self.unread.popleft()

    def take_back(self) -> None:
        """Take what is on its way for lost: the newest state is due, and its events again."""
        if self.unread:
            self.last_tick -= self.fields["every"]
        while self.unread:
            _, steps = self.unread.pop()
            self.steps.extendleft(reversed(steps))
            self.n_events += count_events(steps)
            self.is_waiting = True

    def is_due(self, tick: int) -> bool:
        """Return whether there is something to tell at a tick."""
        if self.n_events or self.lost:
            return True
        return bool(self.fields["columns"]) and tick - self.last_tick >= self.fields["every"]

    @property
    def has_room(self) -> bool:
        """Whether the client takes another state now."""
        return self.session.connection is not None and len(self.unread) < self.fields["window"]


class MoverStreams:
    """All streams; a session has one a world.

    Parameters
    ----------
    office : Office
        Where.
    """

    def __init__(self, office: Office) -> None:
        self._office = office
        self._streams: dict[tuple[Session, str], _Stream] = {}

    def __len__(self) -> int:
        """Return the number of streams."""
        return len(self._streams)

    def open(self, office: Office, call: Call) -> Reply:
        """Carry out ``movers_stream``.

        Parameters
        ----------
        office : Office
            Where.
        call : Call
            What is asked.

        Returns
        -------
        Reply
            That it is done.
        """
        world = office.world_of(call)
        movers = movers_of(world)
        key = (call.session, world.name)
        if not call.fields["on"]:
            self._streams.pop(key, None)
            return Reply("ok", {"tick": movers.tick}, {}, world.version)
        with refusals(call):
            view_for(movers, {**call.fields, "limit": 0})
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = _Stream(call.session, world, call.fields)
        stream.fields = call.fields
        return Reply("ok", {"tick": movers.tick}, {}, world.version)

    def confirm(self, office: Office, call: Call) -> Reply:
        """Carry out ``movers_seen``.

        Parameters
        ----------
        office : Office
            Where.
        call : Call
            What is asked.

        Returns
        -------
        Reply
            That it is done, also where the stream has ended meanwhile.
        """
        world = office.world_of(call)
        stream = self._streams.get((call.session, world.name))
        if stream is not None:
            stream.confirm(call.fields["tick"])
            if stream.is_waiting:
                self._tell(stream)
        return Reply("ok", {}, {}, world.version)

    def note(self, world: World, steps: list[Step]) -> None:
        """Tell of a world whose movers have stepped.

        Parameters
        ----------
        world : World
            Which.
        steps : list of Step
            Those in which something happened.
        """
        for stream in self._of(world):
            stream.note(steps)
            self._tell(stream)

    def resume(self, session: Session) -> None:
        """Tell a session that is back: what was on its way to it is taken for lost.

        Parameters
        ----------
        session : Session
            Which.
        """
        for stream in self._streams.values():
            if stream.session is session:
                stream.take_back()
                if stream.is_waiting and stream.world.name not in self._office.holds:
                    self._tell(stream)

    def forget(self, session: Session) -> None:
        """End the streams of a session.

        Parameters
        ----------
        session : Session
            One that has ended.
        """
        for key in [key for key in self._streams if key[0] is session]:
            del self._streams[key]

    def end(self, world: World) -> None:
        """End the streams of a world whose movers are gone, and say so.

        Parameters
        ----------
        world : World
            Which.
        """
        for stream in self._of(world):
            del self._streams[stream.session, world.name]
            self._office.sessions.push(stream.session, "movers_gone", {"world": world.name})

    def _of(self, world: World) -> list[_Stream]:
        return [stream for stream in self._streams.values() if stream.world is world]

    def _tell(self, stream: _Stream) -> None:
        movers = stream.world.movers
        if not stream.is_due(movers.tick):
            return
        if not stream.has_room:
            if stream.fields["columns"]:
                stream.skipped += 1
                stream.last_skipped = movers.tick
            stream.is_waiting = True
            return
        view = view_for(movers, stream.fields)
        arrays = view_arrays(stream.world.replicas.grid, view, stream.fields)
        fields = {
            "world": stream.world.name,
            "tick": view.tick,
            "version": view.version,
            "skipped": stream.skipped - (stream.last_skipped == view.tick),
            "lost_events": stream.lost,
            "truncated": view.truncated,
        }
        self._office.sessions.push(
            stream.session, "movers_state", fields, {**arrays, **event_arrays(stream.steps)}
        )
        stream.unread.append((view.tick, stream.steps))
        stream.steps = deque()
        stream.last_tick = view.tick
        stream.skipped = stream.lost = stream.n_events = 0
        stream.last_skipped = -1
        stream.is_waiting = False
