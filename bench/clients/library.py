"""Client libraries under test: the same calls, made by somebody else's client.

A library encodes and decodes out of sight, so a call is one phase, ``server``, that holds the
library's own work too; marks inside the server still split what lies between. Its imports are done
before anything is timed, its caches are off, and its tool list is read before the first call, or a
hidden request would be in it.

Everything async runs in one task on one event loop, since the libraries' scopes want that. The
stamps are taken inside that task: the way in and out of the loop is not in the figures.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any

from bench.clients.base import Context, explained
from bench.clock import IDLE, now_ns
from bench.errors import PeerClosed, SessionError, TimedOut
from bench.exchange import Exchange, Kind, Outcome
from bench.notices import plain
from bench.phases import Phase, Timeline
from bench.transports.base import Ending
from bench.transports.process import children
from bench.transports.served import Served

LEAVE_S = 0.3
"""The same on the way out of a failed or interrupted session."""
CLOSE_LIMIT_S = 15.0
"""For a library to leave: its own grace, TERM and KILL."""


class Library(ABC):
    """One client library, as far as a session needs it."""

    @abstractmethod
    def client(self) -> Any:
        """Return the async context manager that is the open client."""

    @abstractmethod
    async def list_tools(self, client: Any) -> int:
        """Read the whole tool list; return how many tools there are."""

    @abstractmethod
    async def call(self, client: Any, tool: str, arguments: dict[str, Any]) -> object:
        """Call a tool; return whatever the library returns. Raises what the library raises."""

    @abstractmethod
    def judge(self, result: object) -> Outcome:
        """Return what a result stands for; outside the clock."""

    @abstractmethod
    def refused(self, error: Exception) -> bool:
        """Whether an exception is the server's JSON-RPC error."""


class LibraryPeer:
    """A session held by a library. ``served`` is the listening target, if the target listens."""

    def __init__(self, context: Context, library: Library, served: Served | None) -> None:
        self.facts: dict[str, int | str] = {}
        self._context = context
        self._library = library
        self._served = served
        self._group = 0
        self._loop = asyncio.new_event_loop()
        self._orders: asyncio.Queue[_Order | None] = asyncio.Queue()
        self._main: asyncio.Task[None] | None = None

    def open(self) -> Timeline:
        """Start the target where it listens, let the library connect, read the tool list."""
        context = self._context
        timeline = self._served.start(context.step) if self._served else Timeline(now_ns())
        context.step(Phase.INITIALIZE)
        opened: asyncio.Future[None] = self._loop.create_future()
        self._main = self._loop.create_task(self._hold(opened))
        self._run(opened)
        timeline.end(Phase.INITIALIZE, now_ns())
        if context.spec.transport == "stdio":
            # The library has spawned it into a session of its own.
            self._group = next(iter(children()), 0)
            context.notices.add("boot_not_seen", phase=Phase.INITIALIZE.value)
        context.step(Phase.TOOLS_LIST)
        self.facts["tools"] = self._ask(self._library.list_tools)
        timeline.end(Phase.TOOLS_LIST, now_ns())
        return timeline

    def exchange(self, kind: Kind) -> Exchange:
        """Return one call as the library's user sees it."""
        watch, spec, library = self._context.watch, self._context.spec, self._library

        async def call(client: Any) -> Exchange:
            watch.started_ns = start_ns = now_ns()
            try:
                result = await library.call(client, spec.tool, spec.arguments)
                end_ns = now_ns()
                outcome = library.judge(result)
            except Exception as error:
                end_ns = now_ns()
                if not library.refused(error):
                    raise
                outcome = Outcome.RPC_ERROR
            watch.started_ns = IDLE
            return Exchange(kind, start_ns, start_ns, 0, end_ns, end_ns, outcome=outcome)

        done: Exchange = self._ask(call)
        return done

    def pause(self, seconds: float) -> None:
        """Let time go by; what the library does in the background goes on meanwhile."""
        self._run(asyncio.sleep(seconds))

    def group(self) -> int:
        """Return the process group of the server."""
        return self._served.group() if self._served is not None else self._group

    def close(self) -> Ending:
        """Let the library leave, then end the target where it is ours."""
        start_ns = now_ns()
        self._leave()
        if self._served is not None:
            self.facts.update(self._served.facts)
            return self._served.end(start_ns)
        return Ending(start_ns, now_ns())

    def destroy(self) -> None:
        """End what is left; processes that the library has forgotten fall to the runner."""
        if self._main is not None and not self._main.done():
            self._main.cancel()
            # A library that does not leave at once is left behind: whoever interrupts is waiting.
            with contextlib.suppress(Exception):
                self._loop.run_until_complete(asyncio.wait({self._main}, timeout=LEAVE_S))
        if not self._loop.is_closed():
            self._loop.close()
        if self._served is not None:
            self._served.destroy()

    def explain(self, error: Exception, phase: str, done: int) -> SessionError:
        """Name what ended the session."""
        limit_s = self._context.spec.timeout_s

        def closed(said: str) -> SessionError:
            if self._served is not None:
                return self._served.why_closed(said, phase, done)
            return SessionError(phase, "client_failed", said)

        silent = f"no answer within {limit_s:g} s (--timeout)"
        return explained(error, phase, closed=closed, silent=lambda: silent)

    async def _hold(self, opened: asyncio.Future[None]) -> None:
        """Keep the client open and work off the orders, all in this one task."""
        try:
            async with self._library.client() as client:
                opened.set_result(None)
                while (order := await self._orders.get()) is not None:
                    await order.fulfil(client)
        except Exception as error:
            if opened.done():
                raise
            opened.set_exception(error)

    def _ask(self, action: Callable[[Any], Awaitable[Any]]) -> Any:
        order = _Order(action, self._loop.create_future())
        self._orders.put_nowait(order)
        return self._run(order.result)

    def _run(self, future: Awaitable[Any]) -> Any:
        try:
            return self._loop.run_until_complete(future)
        except (TimedOut, SessionError):
            raise
        except Exception as error:
            raise PeerClosed(f"the client gave up: {_sentence(error)}") from None

    def _leave(self) -> None:
        self._orders.put_nowait(None)
        if self._main is None:
            return
        try:
            self._loop.run_until_complete(asyncio.wait_for(self._main, CLOSE_LIMIT_S))
        except Exception as error:
            raise SessionError(Phase.CLOSE, "client_failed", _sentence(error)) from None


class _Order:
    """One thing to do with the open client."""

    def __init__(
        self, action: Callable[[Any], Awaitable[Any]], result: asyncio.Future[Any]
    ) -> None:
        self._action = action
        self.result = result

    async def fulfil(self, client: Any) -> None:
        try:
            self.result.set_result(await self._action(client))
        except Exception as error:
            self.result.set_exception(error)


def _sentence(error: BaseException) -> str:
    """Return the innermost message of nested groups of exceptions."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return plain(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
