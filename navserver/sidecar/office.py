"""What all handlers share: the worlds, the scheduler, who waits for what, and work done aside."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from numpy.typing import NDArray

from navserver._jit import warm_up
from navserver.service.requests import Reply as ServiceReply
from navserver.service.requests import Request as ServiceRequest
from navserver.service.scheduler import Scheduler
from navserver.service.world import World
from navserver.service.worlds import Worlds
from navserver.sidecar.agents import Agents
from navserver.sidecar.aside import Aside
from navserver.sidecar.figures import RequestFigures
from navserver.sidecar.holds import Holds
from navserver.sidecar.logbook import Logbook
from navserver.sidecar.watchers import Watchers
from navserver.status import InputError
from navserver.wire.errors import WireError
from navserver.wire.message import Reply, Request
from navserver.wire.server_session import ServerSessions, Session

__all__ = ["Call", "Deliver", "Handler", "Office", "Result"]

_AT_ONCE_SECONDS = 1e-3

T = TypeVar("T")
_REPORT = "report it with the server's log: it is a defect"


class Call(NamedTuple):
    """A request that is being carried out."""

    session: Session
    request: Request
    now: float
    """When it came."""

    @property
    def id(self) -> int:
        """The request's id."""
        return self.request.id

    @property
    def fields(self) -> dict[str, Any]:
        """The request's fields."""
        return self.request.fields

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The request's arrays."""
        return self.request.arrays

    @property
    def world(self) -> str | None:
        """The world that is asked, if it is one."""
        return self.request.fields.get("world")


Result = Reply | InputError
"""How a call ends."""
R = TypeVar("R", Result, Result | None)
Handler = Callable[["Office", Call], Result | None]
"""Carries a call out; None if it will be answered later."""
Deliver = Callable[[ServiceReply], None]
"""Takes a reply of the scheduler."""


class Office:
    """Where calls are carried out; all its methods belong to the thread that owns the sockets.

    Parameters
    ----------
    sessions : ServerSessions
        Who asks.
    scheduler : Scheduler
        Who searches.
    logbook : Logbook
        The log.
    clock : callable
        Seconds of the clock that `now` is of.
    wake : callable
        Called from any thread when the office has something to do.
    """

    def __init__(
        self,
        sessions: ServerSessions,
        scheduler: Scheduler,
        logbook: Logbook,
        *,
        clock: Callable[[], float] = time.monotonic,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self.sessions = sessions
        self.scheduler = scheduler
        self.worlds: Worlds = scheduler.worlds
        self.logbook = logbook
        self.clock = clock
        self.started = clock()
        """When the server began."""
        self.is_warm = False
        """Whether every kernel is compiled: until then nothing may run on the sockets' thread."""
        self.is_asked_to_end = False
        """Whether a client has asked the server to end."""
        self.agents = Agents()
        """Whose requests are the newest of their agents."""
        self.aside = Aside(wake)
        """Where that is done which would hold the sockets up."""
        self.watchers = Watchers(self.worlds, sessions)
        """Who watches paths."""
        self.owned: dict[str, Session] = {}
        """The worlds that end with a session."""
        self.holds = Holds()
        """The worlds that something is being done to aside."""
        self.coming: set[str] = set()
        """Worlds that the server begins with and that are still being made: calls wait for them."""
        self.on_leave: list[Callable[[World], None]] = []
        """Called with each world that has been removed or replaced."""
        self.requests = RequestFigures()
        """What has been answered."""
        self.figures: dict[str, Callable[[], dict[str, Any]]] = {}
        """What ``stats`` tells besides the scheduler's figures, by their prefix."""
        self.snapshot_file: Path | None = None
        """Where snapshots are saved, if the server was told."""
        self._at_once_until = 0.0
        self._waiting: dict[tuple[Session, int], tuple[Call, Deliver]] = {}
        self._cancels: dict[tuple[Session, int], Callable[[NDArray[Any] | None], None]] = {}
        self._last_number = 0

    # Calls in, results out

    def carry_out(self, call: Call, handler: Handler) -> None:
        """Carry a call out, after those that its world is busy with.

        Parameters
        ----------
        call : Call
            What is asked.
        handler : callable
            Who does it.
        """
        if self.holds.takes(call):
            return
        result = self._result_of(call, lambda: handler(self, call))
        if result is not None:
            self.answer(call, result)

    def answer(self, call: Call, result: Result) -> None:
        """Answer a call.

        Parameters
        ----------
        call : Call
            What was asked.
        result : Reply or InputError
            The answer; one without times gets that since the call came as time searching.
        """
        if isinstance(result, Reply) and result.wait_us == result.search_us == 0.0:
            result = result._replace(search_us=(self.clock() - call.now) * 1e6)
        if self._cancels and (isinstance(result, InputError) or not result.fields.get("more")):
            self._cancels.pop((call.session, call.id), None)
        self._count(call, result)
        self.sessions.reply(call.session, call.id, result)

    def _count(self, call: Call, result: Result) -> None:
        kind = call.request.message.name
        if isinstance(result, InputError):
            self.requests.note(kind, "error", 0.0, (self.clock() - call.now) * 1e6)
        elif not result.fields.get("more"):
            self.requests.note(kind, result.status, result.wait_us, result.search_us)

    def _result_of(self, call: Call, work: Callable[[], R]) -> R | InputError:
        """Return what work for a call returns, or the error that it ends with."""
        try:
            return work()
        except InputError as error:
            return error
        except Exception as error:  # noqa: BLE001 - one request must not end all others
            return self.defect(call, error)

    def defect(self, call: Call, error: BaseException) -> WireError:
        """Note that a call has failed without fault of who asked.

        Parameters
        ----------
        call : Call
            What was asked.
        error : Exception
            What was raised.

        Returns
        -------
        WireError
            The answer, ``internal``.
        """
        kind = call.request.message.name
        self.logbook.defect("request_failed", error, type=kind)
        return WireError("internal", "type", kind, f"failed: {error!r}", _REPORT)

    # Searches

    def next_number(self) -> int:
        """Return a number for a request to the scheduler that is only part of a call.

        Returns
        -------
        int
            Negative, and never used before.
        """
        self._last_number -= 1
        return self._last_number

    def begin_round(self) -> None:
        """Let short searches run at once for a while."""
        self._at_once_until = self.clock() + _AT_ONCE_SECONDS

    def may_search(self) -> bool:
        """Return whether a short search may run right here, in the thread that owns the sockets.

        Returns
        -------
        bool
            False while kernels are compiled, or if the round has lasted too long: what else has
            come is shared out by the scheduler.
        """
        return self.is_warm and self.clock() < self._at_once_until

    def submit(
        self, call: Call, request: ServiceRequest, deliver: Deliver, *, is_tried: bool = False
    ) -> None:
        """Hand a request to the scheduler.

        Parameters
        ----------
        call : Call
            Whom it is for.
        request : service request
            Of the call's session.
        deliver : callable
            Takes the reply.
        is_tried : bool
            Whether it is a path that the scheduler has tried.

        Raises
        ------
        InputError
            If the scheduler refuses it; then nothing will be delivered.
        """
        key = (call.session, request.request_id)
        self._waiting[key] = (call, deliver)
        try:
            self.scheduler.submit(request, call.now, is_tried=is_tried)
        except InputError:
            del self._waiting[key]
            raise

    def on_cancel(self, call: Call, cancel: Callable[[NDArray[Any] | None], None]) -> None:
        """Say what cancels a call that is more than one request to the scheduler.

        Parameters
        ----------
        call : Call
            Which.
        cancel : callable
            Takes the rows that are meant, None for all.
        """
        self._cancels[call.session, call.id] = cancel

    def cancel(self, session: Session, number: int, rows: NDArray[Any] | None) -> bool:
        """Cancel a call; it is answered all the same.

        Parameters
        ----------
        session : Session
            Whose.
        number : int
            Its id.
        rows : array or None
            Rows of a batch; None for all.

        Returns
        -------
        bool
            Whether it had not been answered yet.
        """
        if number not in session.open:
            return False
        cancel = self._cancels.get((session, number))
        if cancel is not None:
            cancel(rows)
        else:
            self.scheduler.cancel(session, number, self.clock())
        return True

    @property
    def has_results(self) -> bool:
        """Whether there is anything to be delivered, or done aside."""
        return self.scheduler.has_replies or self.aside.has_events

    def deliver_replies(self) -> bool:
        """Hand on what the scheduler has answered.

        Returns
        -------
        bool
            Whether there was anything.
        """
        if not self.scheduler.has_replies:
            return False
        replies = self.scheduler.take_replies()
        for reply in replies:
            call, deliver = self._waiting.pop((reply.client, reply.request_id))  # type: ignore[arg-type]
            try:
                deliver(reply)
            except InputError as error:
                self.answer(call, error)
            except Exception as error:  # noqa: BLE001 - one request must not end all others
                self.answer(call, self.defect(call, error))
        return bool(replies)

    # Work aside

    def run_aside(self, call: Call, work: Callable[[], T], finish: Callable[[T], Result]) -> None:
        """Do what would hold the sockets up in another thread; its world is busy until then.

        Parameters
        ----------
        call : Call
            What is asked.
        work : callable
            What to do.
        finish : callable
            Takes what `work` has returned, in the thread that owns the sockets, and returns the
            answer.
        """
        if call.world is not None:
            self.holds.begin(call.world)

        def timed() -> tuple[T, float]:
            began = self.clock()
            return work(), self.clock() - began

        def then(outcome: Future[tuple[T, float]]) -> Iterable[Call]:
            self._finish(call, outcome, finish)
            return () if call.world is None else self.holds.end(call.world)

        self.aside.do(timed, then)

    def _finish(
        self, call: Call, outcome: Future[tuple[T, float]], finish: Callable[[T], Result]
    ) -> None:
        seconds = 0.0

        def finished() -> Result:
            nonlocal seconds
            done, seconds = outcome.result()
            return finish(done)

        result = self._result_of(call, finished)
        if isinstance(result, Reply):
            result = result._replace(
                wait_us=max(self.clock() - call.now - seconds, 0.0) * 1e6,
                search_us=seconds * 1e6,
            )
        self.answer(call, result)

    def add_world_aside(self, world: World) -> None:
        """Make a world without being asked by a client; calls for it wait until it is there.

        Parameters
        ----------
        world : World
            One that nobody knows yet.
        """

        def then(made: Future[list[World]]) -> Iterable[Call]:
            error = made.exception()
            if error is None:
                self.logbook.note("info", "world_created", world=world.name)
            else:
                self.logbook.note("error", "world_failed", world=world.name, error=str(error))
            self.coming.discard(world.name)
            return self.holds.end(world.name)

        self.coming.add(world.name)
        self.holds.begin(world.name)
        self.aside.do(lambda: self.worlds.replace([world]), then)

    def warm_up(self, on_warm: Callable[[], object] = lambda: None) -> None:
        """Compile every kernel in another thread, and tell all sessions how far it is.

        Parameters
        ----------
        on_warm : callable
            Called in that thread when all are compiled, before that is told.
        """

        def tell(done: int, total: int, name: str) -> None:
            if done == total:
                on_warm()
            self.aside.leave(lambda: self._take_progress(done, total, name))

        def compile_all() -> None:
            try:
                warm_up(tell)
            except Exception as error:  # noqa: BLE001 - what cannot be compiled fails when asked
                self.logbook.note("error", "warm_up_failed", error=repr(error))
                self.aside.leave(lambda: self._take_progress(1, 1, "failed"))

        threading.Thread(target=compile_all, name="navserver-warm-up", daemon=True).start()

    def _take_progress(self, done: int, total: int, doing: str) -> Iterable[Call]:
        self.sessions.warm_up = (done, total)
        self.is_warm = done == total
        told = {"done": done, "total": total, "doing": doing}
        self.logbook.note("info" if self.is_warm else "debug", "warm_up", **told)
        for session in self.sessions:
            self.sessions.push(session, "progress", told)
        return ()

    def close(self) -> None:
        """Let the threads end."""
        self.aside.close()
        for world in self.worlds:
            if world.has_movers:
                world.movers.close()

    # Worlds

    def world_of(self, call: Call) -> World:
        """Return the world that a call asks.

        Parameters
        ----------
        call : Call
            With a world.

        Returns
        -------
        World
            It.

        Raises
        ------
        WireError
            ``unknown_world``.
        """
        name = call.fields["world"]
        if name not in self.worlds:
            known = ", ".join(world.name for world in self.worlds) or "none yet"
            raise WireError(
                "unknown_world", "world", name, "does not exist",
                f"make it with world_create, or use one of: {known}",
            )  # fmt: skip
        return self.worlds[name]

    def remove_world(self, name: str, now: float) -> None:
        """End a world and what waits for it.

        Parameters
        ----------
        name : str
            One that there is.
        now : float
            The time.
        """
        self.leave_world(self.worlds.remove(name), now)

    def leave_world(self, world: World, now: float) -> None:
        """End what waits for a world that has been removed or replaced.

        Parameters
        ----------
        world : World
            Which.
        now : float
            The time.
        """
        self.owned.pop(world.name, None)
        self.scheduler.drop_world(world, now)
        self.watchers.tell(world)
        for leave in self.on_leave:
            leave(world)

    # Sessions

    def end_session(self, session: Session, now: float) -> None:
        """Stop what a session has asked for and remove what it owns.

        Parameters
        ----------
        session : Session
            One that has ended.
        now : float
            The time.
        """
        self.scheduler.drop_client(session, now)
        self.watchers.forget(session)
        for name in [name for name, owner in self.owned.items() if owner is session]:
            self.holds.when_free(name, partial(self._remove_owned, name, session))

    def _remove_owned(self, name: str, session: Session) -> None:
        if name in self.worlds and self.owned.get(name) is session:
            self.remove_world(name, self.clock())
