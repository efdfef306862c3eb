"""The client for asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from navserver.linked import LOOK_MS, Linked, as_seconds, no_server
from navserver.sidecar.address import Address
from navserver.status import NavserverError
from navserver.wire import questions
from navserver.wire.client_errors import RequestTimeoutError
from navserver.wire.client_session import Answer, Notice
from navserver.wire.errors import WireError
from navserver.wire.inbox import read_answer
from navserver.wire.questions import Question
from navserver.wire.session import ClientState, SessionError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["AsyncClient"]

T = TypeVar("T")


class AsyncClient(Linked):
    """A client for asyncio; ``async with AsyncClient(port=..., token=...) as client``.

    Parameters
    ----------
    port, token, ipc, connection_file, timeout, name
        As for `Client.connect`.
    """

    def __init__(
        self,
        port: int | None = None,
        token: str | None = None,
        *,
        ipc: str | None = None,
        connection_file: Any = None,
        timeout: float = 10.0,
        name: str | None = None,
    ) -> None:
        super().__init__(Address.of(port, token, ipc, connection_file), timeout, name)
        self._waiting: dict[int, asyncio.Future[Answer | WireError]] = {}
        self._task: asyncio.Task[None] | None = None
        self._opened: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.on_notice: Callable[[Notice], None] | None = None
        """Called with each event that the server tells; what it raises, the loop is told."""

    async def __aenter__(self) -> Self:
        """Connect.

        Raises
        ------
        ServerUnavailableError
            If there is no server, or it refuses the token.
        SessionError
            If it was entered before.
        """
        if self._loop is not None:
            raise SessionError("this client has been entered before; make another one")
        self._loop = loop = asyncio.get_running_loop()
        self._opened = loop.create_future()
        self._task = loop.create_task(self._run())
        try:
            await asyncio.wait_for(asyncio.shield(self._opened), self.timeout)
        except (asyncio.TimeoutError, TimeoutError):
            await self.close()
            raise no_server(self._link.trouble) from None
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Close it."""
        await self.close()

    async def close(self) -> None:
        """End session and connection; what waits is given up."""
        try:
            if self._task is not None:
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)
        finally:
            self._link.destroy()
            if self._opened is not None:
                self._opened.cancel()
            self._hand_on()

    async def ask(self, question: Question[T], timeout: float | None = None) -> T:
        """Ask and wait for the answer; any number of tasks may. One cancelled gives it up.

        Parameters
        ----------
        question : Question
            What is asked; see `navserver.wire.questions`.
        timeout : float, optional
            Seconds; the client's by default.

        Returns
        -------
        object
            What the question's answer is.

        Raises
        ------
        RequestTimeoutError
            If it has not come in time; the request is given up then.
        WireError
            If the request was refused.
        UnansweredError
            If the server was overloaded or the world was removed.
        SessionError
            If the client is closed, or was not entered in this loop.
        """
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            raise SessionError(
                "this client was not entered in this event loop; use `async with` in each that asks"
            )
        wanted = self.timeout if timeout is None else as_seconds("timeout", timeout)
        number = self._link.ask(question)
        future: asyncio.Future[Answer | WireError] = loop.create_future()
        self._waiting[number] = future
        # Sending may have taken in that something can be read, without anyone being told.
        self._receive()
        try:
            return read_answer(question, await asyncio.wait_for(future, wanted))
        except (asyncio.TimeoutError, TimeoutError):
            self._link.give_up(number)
            raise RequestTimeoutError(
                f"no answer within {wanted:g} s; wait longer, or look at the server's log"
            ) from None
        except asyncio.CancelledError:
            self._link.give_up(number)
            raise
        finally:
            self._waiting.pop(number, None)

    async def stats(self) -> dict[str, float]:
        """Return the server's figures.

        Returns
        -------
        dict of str to float
            By name.
        """
        return await self.ask(questions.stats())

    # Inside

    async def _run(self) -> None:
        link = self._link
        try:
            while link.error is None:
                link.keep(time.monotonic())
                self._hand_on()
                if await link.wait_async(LOOK_MS):
                    self._receive()
        except Exception as error:
            # Nobody waits for this task: without a word all questions would run out of time.
            link.error = NavserverError(f"the client has failed: {error!r}; make another one")
            self._hand_on()
            raise

    def _receive(self) -> None:
        self._link.receive()
        self._hand_on()

    def _hand_on(self) -> None:
        link = self._link
        for number in [number for number in link.answers if number in self._waiting]:
            future = self._waiting[number]
            if not future.done():
                future.set_result(link.answers.pop(number))
        link.answers.clear()
        notices = list(link.notices)
        link.notices.clear()
        if self.on_notice is not None:
            for notice in notices:
                self._tell(notice)
        link.confirm(notices)
        opened = self._opened
        if opened is not None and not opened.done():
            if link.error is not None:
                opened.set_exception(link.error)
            elif link.session.state is ClientState.OPEN:
                opened.set_result(None)
        if link.error is not None:
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(link.error)

    def _tell(self, notice: Notice) -> None:
        """Tell the program an event; that it fails must not end the connection."""
        assert self.on_notice is not None
        try:
            self.on_notice(notice)
        except Exception as error:  # noqa: BLE001 - the program's own, which its loop reports
            context = {"message": f"on_notice has failed at {notice.name}", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
