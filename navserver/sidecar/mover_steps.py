"""Steps of movers: in lockstep, when a client asks for them, and at a fixed rate."""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from numpy.typing import NDArray

from navserver.service.metrics import KindMetrics
from navserver.service.world import World
from navserver.service.world_movers import Step, WorldMovers
from navserver.sidecar.mover_fields import (
    event_arrays,
    movers_of,
    refusals,
    view_arrays,
    view_for,
)
from navserver.sidecar.mover_streams import MoverStreams
from navserver.sidecar.office import Call, Office
from navserver.status import InputError
from navserver.wire.message import Reply
from navserver.wire.server_session import Session

__all__ = ["MoverSteps"]

# So many movers take some tenths of a millisecond: no more than to hand them to another thread.
_INLINE_MOVERS = 256
# After so long a step under way looks whether it has been cancelled.
_SLICE_SECONDS = 0.02


@dataclass
class _Lockstep:
    """One ``movers_step`` on its way."""

    call: Call
    world: World
    left: int
    steps: list[Step] = field(default_factory=list)
    is_cancelled: bool = False

    def advance(self, seconds: float, office: Office) -> bool:
        """Step for about so long; return whether everything is done."""
        movers, dt = self.world.movers, self.call.fields["dt"]
        end = office.clock() + seconds
        with refusals(self.call):
            while self.left and not self.is_cancelled:
                step = movers.step(dt)
                self.left -= 1
                if step.events:
                    self.steps.append(step)
                if office.clock() >= end:
                    break
        movers.take_events()
        return self.is_cancelled or not self.left

    def reply(self) -> Reply:
        """Return what has come of it."""
        fields, movers = self.call.fields, self.world.movers
        view = view_for(movers, fields)
        arrays: dict[str, NDArray[Any]] = view_arrays(self.world.replicas.grid, view, fields)
        watched = self.call.arrays.get("watched")
        if watched is not None:
            velocities = movers.velocities_of(watched, in_world=fields["space"] == "world")
            arrays["watched_velocities"] = velocities
        if fields["events"]:
            arrays.update(event_arrays(self.steps))
        told = {
            "tick": view.tick,
            "steps": fields["count"] - self.left,
            "hash": movers.state_hash() if fields["hash"] else None,
            "truncated": view.truncated,
        }
        status = "cancelled" if self.is_cancelled and self.left else "ok"
        return Reply(status, told, arrays, view.version)


class _Ran(NamedTuple):
    """What a slice of a lockstep has come to."""

    steps: list[Step]
    reply: Reply | None
    """None if there is more to do."""


@dataclass
class _Run:
    """Movers that step at a fixed rate, for as long as a session lasts."""

    session: Session
    world: World


class MoverSteps:
    """Moves the movers of all worlds; in the thread that owns the sockets, or aside.

    While movers step aside, changes of their world and whatever else concerns movers wait.

    Parameters
    ----------
    office : Office
        Where.
    streams : MoverStreams
        Who is told.
    """

    def __init__(self, office: Office, streams: MoverStreams) -> None:
        self._office = office
        self._streams = streams
        self._locksteps: list[_Lockstep] = []
        self._runs: dict[str, _Run] = {}
        self._metrics = KindMetrics()

    # Lockstep

    def step(self, office: Office, call: Call) -> Reply | None:
        """Carry out ``movers_step``.

        Parameters
        ----------
        office : Office
            Where.
        call : Call
            What is asked.

        Returns
        -------
        Reply or None
            None where it is done aside.
        """
        world = office.world_of(call)
        movers, count = movers_of(world), call.fields["count"]
        with refusals(call):
            view_for(movers, {**call.fields, "limit": 0})
        lockstep = _Lockstep(call, world, count)
        if office.is_warm and len(movers) * count <= _INLINE_MOVERS:
            began = office.clock()
            lockstep.advance(math.inf, office)
            self._note(world, lockstep.steps, began)
            return lockstep.reply()
        self._locksteps.append(lockstep)
        office.on_cancel(call, lambda _: self._cancel(lockstep))
        office.holds.begin(world.name, lets_questions=True)
        self._go_on(lockstep)
        return None

    def _cancel(self, lockstep: _Lockstep) -> None:
        lockstep.is_cancelled = True

    def _go_on(self, lockstep: _Lockstep) -> None:
        office = self._office
        n_told = len(lockstep.steps)
        began = office.clock()

        def work() -> _Ran:
            is_done = lockstep.advance(_SLICE_SECONDS, office)
            return _Ran(lockstep.steps[n_told:], lockstep.reply() if is_done else None)

        def done(outcome: Future[_Ran]) -> Iterable[Call]:
            try:
                ran = outcome.result()
            except InputError as error:
                return self._end(lockstep, error)
            except Exception as error:  # noqa: BLE001 - other worlds and clients go on
                return self._end(lockstep, office.defect(lockstep.call, error))
            if not self._is_current(lockstep.world):
                return self._end(lockstep, Reply("world_removed", {}, {}))
            self._note(lockstep.world, ran.steps, began)
            if ran.reply is not None:
                return self._end(lockstep, ran.reply)
            self._go_on(lockstep)
            return ()

        office.aside.do(work, done)

    def _end(self, lockstep: _Lockstep, result: Reply | InputError) -> Iterable[Call]:
        office, call = self._office, lockstep.call
        self._locksteps.remove(lockstep)
        office.answer(call, result)
        return office.holds.end(lockstep.world.name, lets_questions=True)

    # At a fixed rate

    def run(self, office: Office, call: Call) -> Reply:
        """Carry out ``movers_run``.

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
        rate = call.fields["rate"]
        movers_of(world).run(rate, office.clock())
        self._runs.pop(world.name, None)
        if rate > 0.0:
            self._runs[world.name] = _Run(call.session, world)
        return Reply("ok", {"tick": world.movers.tick}, {}, world.version)

    def next_due(self) -> float:
        """Return when `advance` has to be called.

        Returns
        -------
        float
            Seconds of the office's clock; ``inf`` if nothing runs.
        """
        holds = self._office.holds
        return min(
            (run.world.movers.due for name, run in self._runs.items() if name not in holds),
            default=math.inf,
        )

    def advance(self, now: float) -> None:
        """Begin the steps that are due.

        Parameters
        ----------
        now : float
            The time.
        """
        for name, run in list(self._runs.items()):
            movers = run.world.movers
            if movers.due > now or name in self._office.holds:
                continue
            if self._office.is_warm and len(movers) <= _INLINE_MOVERS:
                began = self._office.clock()
                try:
                    movers.advance(now)
                except Exception as error:  # noqa: BLE001 - other worlds and clients go on
                    self._give_up(run.world, error)
                else:
                    self._note(run.world, movers.take_events()[0], began)
            else:
                self._advance_aside(run.world, movers, now)

    def _advance_aside(self, world: World, movers: WorldMovers, now: float) -> None:
        office = self._office
        office.holds.begin(world.name, lets_questions=True)
        began = office.clock()

        def work() -> list[Step]:
            movers.advance(now)
            return movers.take_events()[0]

        def done(outcome: Future[list[Step]]) -> Iterable[Call]:
            error = outcome.exception()
            if error is not None:
                self._give_up(world, error)
            elif self._is_current(world):
                self._note(world, outcome.result(), began)
            return office.holds.end(world.name, lets_questions=True)

        office.aside.do(work, done)

    def _give_up(self, world: World, error: BaseException) -> None:
        """Let movers that cannot be stepped stand: the next step would fail as well."""
        self._runs.pop(world.name, None)
        world.movers.run(0.0, 0.0)
        self._office.logbook.defect("movers_failed", error, world=world.name)

    # Those who have gone

    def forget(self, session: Session) -> None:
        """Stop what a session has asked for.

        Parameters
        ----------
        session : Session
            One that has ended.
        """
        for lockstep in self._locksteps:
            if lockstep.call.session is session:
                self._cancel(lockstep)
        for name in [name for name, run in self._runs.items() if run.session is session]:
            world = self._runs.pop(name).world
            self._office.holds.when_free(name, partial(world.movers.run, 0.0, 0.0))

    def leave(self, world: World) -> None:
        """Take note that a world has been removed or replaced.

        Parameters
        ----------
        world : World
            Which.
        """
        run = self._runs.get(world.name)
        if run is not None and run.world is world:
            del self._runs[world.name]
        for lockstep in self._locksteps:
            if lockstep.world is world:
                self._cancel(lockstep)

    # Inside

    def _is_current(self, world: World) -> bool:
        worlds = self._office.worlds
        return world.name in worlds and worlds[world.name] is world

    def _note(self, world: World, steps: list[Step], began: float) -> None:
        self._metrics.note("ok", 0.0, self._office.clock() - began)
        self._streams.note(world, steps)

    def figures(self) -> dict[str, Any]:
        """Return counts and times of the movers of all worlds.

        Returns
        -------
        dict of str to object
            ``count`` of movers, ``running`` worlds, ``ticks`` and ``skipped`` steps in all, and
            ``stepping``: how often movers were stepped, once or more, and how long that took.
        """
        there = [world.movers for world in self._office.worlds if world.has_movers]
        summary = self._metrics.summary()
        return {
            "count": sum(map(len, there)),
            "running": len(self._runs),
            "ticks": sum(movers.tick for movers in there),
            "skipped": sum(movers.skipped for movers in there),
            "stepping": {
                "count": summary["count"],
                "p50_us": summary["searching_p50_us"],
                "p99_us": summary["searching_p99_us"],
            },
        }
