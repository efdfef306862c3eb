"""The sidecar's process: its sockets, its loop, and its end.

One thread owns the sockets and carries out what is short; searches that are not run on worker
threads without the GIL. Only this module and the client's know ZeroMQ.
"""

from __future__ import annotations

import hmac
import math
import os
import secrets
import socket
import time
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zmq

from navserver import __version__
from navserver.service.path_queue import Lane
from navserver.service.scheduler import Scheduler
from navserver.service.world import World
from navserver.service.worlds import Worlds
from navserver.sidecar.connection_file import ConnectionInfo, new_token
from navserver.sidecar.dispatch import CAPABILITIES, Dispatch
from navserver.sidecar.lifeline import IdleTimer, ParentWatch, ending_on_signals, watch_stdin
from navserver.sidecar.logbook import Logbook
from navserver.sidecar.office import Office
from navserver.sidecar.post import FIRST_RETRY_SECONDS, Post
from navserver.sidecar.socket_file import SocketFile
from navserver.sidecar.workers import Workers, default_workers
from navserver.status import InputError
from navserver.wire.limits import MAX_FRAME_BYTES, PROTOCOL, USERNAME
from navserver.wire.server_session import ServerSessions

__all__ = ["Server", "ServerSettings", "take_any_port"]

HOST = "127.0.0.1"

_HANDSHAKE_MS = 2000
_HEARTBEAT_MS, _HEARTBEAT_TIMEOUT_MS = 2000, 10_000
# Messages that ZeroMQ holds for one client: enough for bursts of small ones, and not too many
# large ones for a client that does not read.
_HIGH_WATER = 64
# What clients send is taken in without a limit: ZeroMQ ends the whole process where one dies whose
# messages it had stopped to read, by the next heartbeat (4.3.5, an assertion in its engine).
_RECEIVE_HIGH_WATER = 0
# Clients that connect in the same moment: those beyond try again a second later.
_BACKLOG = 1024
# What one turn of the loop spends at most before it looks at everything else.
_MOST_RECEIVED = 64
_INLINE_SECONDS = 0.002
# More than another thread needs to be awake.
_MANY_ROWS = 1000
_HOUSEKEEPING_SECONDS = 1.0
# The sidecar of an editor that was killed is to be gone soon, whatever else it has to end.
_PARENT_SECONDS = 0.25
_DRAIN_SECONDS, _FLUSH_SECONDS = 3.0, 1.0
_LINGER_MS = 500
_ZERO_COPY_BYTES = 1 << 16
# Plain integers: operations of enumerations are slow.
_MORE, _READABLE = int(zmq.NOBLOCK | zmq.SNDMORE), int(zmq.POLLIN)


@dataclass(frozen=True)
class ServerSettings:  # numpydoc ignore=PR02
    """What a server is told when it is started.

    Parameters
    ----------
    port : int
        TCP port on 127.0.0.1; 0 takes one that is free.
    ipc : str or None
        Path of a second socket, where the system has such.
    token : str
        What clients must know; empty makes one.
    workers : int or None
        Threads that search; None leaves two cores to the game.
    worlds : sequence of World
        Those to begin with.
    snapshot_file : Path or None
        Where snapshots are saved.
    parent_pid : int or None
        End when this process has ended.
    stdin_eof : bool
        End when stdin has ended.
    idle_timeout : float or None
        End when there has been no client for so many seconds.
    """

    port: int = 0
    ipc: str | None = None
    token: str = ""
    workers: int | None = None
    worlds: Sequence[World] = ()
    snapshot_file: Path | None = None
    parent_pid: int | None = None
    stdin_eof: bool = False
    idle_timeout: float | None = None


class Server:
    """One server; `bind` it, then `run` it in the thread that made it.

    Parameters
    ----------
    settings : ServerSettings
        What it is told.
    logbook : Logbook
        The log.
    on_warm : callable
        Called once, in another thread, when every kernel is compiled and before that is told.
    """

    def __init__(
        self,
        settings: ServerSettings,
        logbook: Logbook,
        on_warm: Callable[[], object] = lambda: None,
    ) -> None:
        self._settings = settings
        self._logbook = logbook
        self._on_warm = on_warm
        self._clock = time.monotonic
        self._token = settings.token or new_token()
        self.instance = secrets.token_hex(8)
        """Names the process."""
        self._waker, self._woken = socket.socketpair()
        self._waker.setblocking(False)
        self._woken.setblocking(False)
        self._is_waiting = False
        self._has_more = False
        self._end_reason = ""
        self._socket_file: SocketFile | None = None
        scheduler = Scheduler(Worlds(), on_reply=self._wake)
        self._scheduler = scheduler
        self._sessions = ServerSessions(self.instance, f"navserver {__version__}", CAPABILITIES)
        self._office = Office(
            self._sessions, scheduler, logbook, clock=self._clock, wake=self._wake
        )
        self._office.snapshot_file = settings.snapshot_file
        self._dispatch = Dispatch(self._office)
        self._workers = Workers(scheduler, self._clock, logbook)
        self._context = zmq.Context()
        self._router = self._context.socket(zmq.ROUTER)
        self._gate = _Gate(self._context, self._token, logbook)
        self._post = Post(self._send, self._sessions, logbook, self._clock)
        self._poller = zmq.Poller()
        for readable in (self._router, self._gate.socket, self._woken):
            self._poller.register(readable, zmq.POLLIN)

    # Beginning

    def bind(self) -> ConnectionInfo:
        """Take the addresses; clients may connect from now on.

        Returns
        -------
        ConnectionInfo
            What they must know.

        Raises
        ------
        InputError
            If an address cannot be taken.
        """
        router, settings = self._router, self._settings
        for option, value in (
            (zmq.PLAIN_SERVER, 1),
            (zmq.MAXMSGSIZE, MAX_FRAME_BYTES),
            (zmq.HANDSHAKE_IVL, _HANDSHAKE_MS),
            (zmq.HEARTBEAT_IVL, _HEARTBEAT_MS),
            (zmq.HEARTBEAT_TIMEOUT, _HEARTBEAT_TIMEOUT_MS),
            (zmq.HEARTBEAT_TTL, _HEARTBEAT_TIMEOUT_MS),
            (zmq.ROUTER_MANDATORY, 1),
            (zmq.ROUTER_HANDOVER, 1),
            (zmq.SNDHWM, _HIGH_WATER),
            (zmq.RCVHWM, _RECEIVE_HIGH_WATER),
            (zmq.BACKLOG, _BACKLOG),
            (zmq.LINGER, _LINGER_MS),
        ):
            router.setsockopt(option, value)
        try:
            router.bind(f"tcp://{HOST}:{settings.port or '*'}")
        except zmq.ZMQError as error:
            raise InputError(
                "port", settings.port, f"cannot be taken: {error.strerror}",
                "choose another one, or leave it out",
            ) from None  # fmt: skip
        port = int(router.getsockopt_string(zmq.LAST_ENDPOINT).rpartition(":")[2])
        if settings.ipc is not None:
            self._bind_ipc(settings.ipc)
        # Clients may have another working folder.
        ipc = None if settings.ipc is None else str(Path(settings.ipc).absolute())
        return ConnectionInfo(
            port, self._token, os.getpid(), PROTOCOL, __version__, self.instance, ipc
        )

    def _bind_ipc(self, path: str) -> None:
        if not zmq.has("ipc"):
            raise InputError("ipc", path, "is not for this system", "leave it out and use TCP")
        self._socket_file = SocketFile(path, _is_heard)
        try:
            with self._socket_file.making():
                self._router.bind(f"ipc://{path}")
        except (zmq.ZMQError, OSError) as error:
            raise InputError(
                "ipc", path, f"cannot be bound: {error.strerror}",
                "name a path in a folder of yours, of 100 characters at most",
            ) from None  # fmt: skip

    # The loop

    def run(self, on_ready: Callable[[], object] = lambda: None) -> int:
        """Serve until told to end.

        Parameters
        ----------
        on_ready : callable
            Called once nothing that was set can be wrong any more, and signals are heeded: whoever
            is told of the server from here on may end it at once.

        Returns
        -------
        int
            The exit code, 0.
        """
        settings = self._settings
        parent = None if settings.parent_pid is None else ParentWatch(settings.parent_pid)
        idle = IdleTimer(settings.idle_timeout, self._clock())
        next_look = self._clock()
        period = _HOUSEKEEPING_SECONDS if parent is None else _PARENT_SECONDS
        with ending_on_signals(self.end, self._waker.fileno()):
            on_ready()
            self._begin_work()
            while not self._end_reason:
                self._turn(next_look)
                now = self._clock()
                if now >= next_look:
                    next_look = now + period
                    self._keep_house(now, parent, idle)
            self._drain()
        self.close()
        self._logbook.note("info", "ended", reason=self._end_reason)
        return 0

    def _begin_work(self) -> None:
        settings = self._settings
        if settings.stdin_eof:
            watch_stdin(lambda: self.end("stdin_ended"))
        self._office.warm_up(self._on_warm)
        for world in settings.worlds:
            self._office.add_world_aside(world)
        self._workers.start(default_workers() if settings.workers is None else settings.workers)

    def end(self, reason: str) -> None:
        """Ask the server to end; from any thread.

        Parameters
        ----------
        reason : str
            Why, in one word, for the log.
        """
        self._end_reason = self._end_reason or reason
        self._send_wake()

    def _turn(self, until: float) -> None:
        """Wait until there is something to do, then do it, each thing for a bounded time."""
        ready = self._wait(until)
        now = self._clock()
        self._has_more = False
        if self._gate.socket in ready:
            self._gate.let_in()
        if self._router in ready:
            # One that comes alone is answered before anything else is looked at.
            self._receive(now, 1)
            self._dispatch.take_events(now)
            self._post.send()
            self._receive(now, _MOST_RECEIVED)
        self._dispatch.take_events(now)
        self._dispatch.advance(now)
        if self._office.is_warm:
            self._workers.leave_short_work()
            self._work_inline(now + _INLINE_SECONDS)
        if self._dispatch.take_results():
            self._has_more = True
        self._post.send()
        if self._office.is_asked_to_end:
            self.end("asked_by_client")

    def _wait(self, until: float) -> Container[Any]:
        """Return what can be read, at the latest when the time has come."""
        self._is_waiting = True
        # What came before the flag was set has woken nobody: it is looked for once more.
        if self._has_more or self._office.has_results:
            timeout = 0.0
        else:
            until = min(until, self._scheduler.next_deadline(), self._post.retry_at)
            timeout = max(min(until, self._dispatch.next_due()) - self._clock(), 0.0)
        ready = dict(self._poller.poll(math.ceil(timeout * 1e3)))
        self._is_waiting = False
        if self._woken.fileno() in ready:
            with suppress(BlockingIOError):
                while self._woken.recv(4096):
                    pass
        return ready

    def _receive(self, now: float, most: int) -> None:
        """Take in messages; what is left makes the next poll end at once."""
        router, sessions = self._router, self._sessions
        for i in range(most):
            # To ask takes less time than to be refused; that there is a first one is known.
            if (i or most > 1) and not router.getsockopt(zmq.EVENTS) & _READABLE:  # type: ignore[operator]
                return
            try:
                connection, *frames = router.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            sessions.receive_message(connection, frames, now)

    def _work_inline(self, until: float) -> None:
        """Do what is short right here: to hand it to another thread would take longer."""
        scheduler, clock = self._scheduler, self._clock
        if not scheduler.has_waiting:
            return
        now = clock()
        is_helped = False
        while now < until:
            unit = scheduler.take_work(now, Lane.SHORT)
            if unit is None:
                return
            if not is_helped and scheduler.pending_rows > _MANY_ROWS:
                self._workers.help()
                is_helped = True
            self._workers.do(unit)
            now = clock()
        self._has_more = True
        self._workers.help()

    def _keep_house(self, now: float, parent: ParentWatch | None, idle: IdleTimer) -> None:
        self._sessions.tick(now)
        self._scheduler.expire(now)
        if parent is not None and parent.is_gone():
            self.end("parent_gone")
        if idle.has_run_out(len(self._sessions), now):
            self.end("idle")

    def _wake(self) -> None:
        """Tell the thread that owns the sockets that there is something to take."""
        if self._is_waiting:
            self._send_wake()

    def _send_wake(self) -> None:
        # A full buffer wakes as well, and a closed one has nobody to wake.
        with suppress(OSError):
            self._waker.send(b"w")

    def _send(self, connection: Any, frames: list[Any]) -> bool:
        """Send a message; False if the client has no room for it."""
        router, last = self._router, len(frames) - 1
        try:
            router.send(connection, _MORE)
            # Once the client's name has been taken, the rest is taken as well.
            for i, frame in enumerate(frames):
                copy = len(frame) < _ZERO_COPY_BYTES
                router.send(frame, _MORE if i < last else zmq.NOBLOCK, copy=copy)
        except zmq.Again:
            return False
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
            self._sessions.connection_lost(connection, self._clock())
        return True

    # The end

    def _drain(self) -> None:
        """Answer all that waits, or tell that it will not be answered."""
        open_requests = self._sessions.open_requests
        self._logbook.note("info", "ending", reason=self._end_reason, open=open_requests)
        owed = sum(1 for session in self._sessions if session.open and session.connection)
        self._sessions.begin_ending()
        end = self._clock() + _DRAIN_SECONDS
        while self._sessions.open_requests and self._clock() < end:
            self._turn(min(end, self._clock() + _HOUSEKEEPING_SECONDS))
        for session in self._sessions:
            self._scheduler.drop_client(session, self._clock())
        self._turn(0.0)
        gone = self._router.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self._sessions.end_all("start it again, or wait until somebody does")
        end = self._clock() + _FLUSH_SECONDS
        self._post.send()
        while self._post.is_holding and self._clock() < end:
            time.sleep(FIRST_RETRY_SECONDS)
            self._post.send()
        # A client leaves when it has read the goodbye; a connection that ends before takes with it
        # what the client has not read.
        while owed and gone.poll(max(math.ceil((end - self._clock()) * 1e3), 0)):
            gone.recv_multipart()
            owed -= 1
        self._router.disable_monitor()
        gone.close()

    def close(self) -> None:
        """Give sockets and threads back; `run` does so at its end."""
        self._workers.stop(timeout=1.0)
        self._office.close()
        self._context.destroy(linger=_LINGER_MS)
        if self._socket_file is not None:
            self._socket_file.remove()
        self._waker.close()
        self._woken.close()


def take_any_port() -> int:
    """Take a port of this machine that is free, and give it back.

    Returns
    -------
    int
        The port.

    Raises
    ------
    OSError
        If none can be taken.
    """
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        return int(taken.getsockname()[1])


class _Gate:
    """Lets in who knows the token (ZeroMQ RFC 27, ZAP)."""

    def __init__(self, context: zmq.Context[Any], token: str, logbook: Logbook) -> None:
        self.socket = context.socket(zmq.REP)
        self.socket.bind("inproc://zeromq.zap.01")
        self._logbook = logbook
        self._credentials = [USERNAME.encode(), token.encode()]

    def let_in(self) -> None:
        """Answer all who ask."""
        while True:
            try:
                version, request_id, _, address, _, mechanism, *given = self.socket.recv_multipart(
                    zmq.NOBLOCK
                )
            except zmq.Again:
                return
            is_known = mechanism == b"PLAIN" and len(given) == 2
            for credential, wanted in zip(given, self._credentials, strict=False):
                is_known &= hmac.compare_digest(credential, wanted)
            code, text = (b"200", b"OK") if is_known else (b"400", b"wrong token")
            self.socket.send_multipart([version, request_id, code, text, b"", b""])
            if not is_known:
                self._logbook.note("warning", "stranger_refused", address=address.decode())


def _is_heard(path: str) -> bool:
    """Return whether somebody listens at a socket's path."""
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(path)
        except OSError:
            return False
    return True
