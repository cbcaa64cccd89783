"""Marks in a server that a library runs: only its edges are wrapped, none of its code is changed.

Three edges, each for the servers that have it: the tool's function, the standard streams of the
SDK's ``stdio_server()``, and the ASGI application. Which points of a request lie there is said at
each. When nobody asked for marks, nothing is wrapped.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from functools import wraps
from io import TextIOWrapper
from typing import Any

import anyio
from mcp.server.stdio import stdio_server
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bench import marks


def tool_body(function: Callable[..., str], sync: bool) -> Callable[..., Any]:
    """Make a tool's function what a library is to call: async or not, with marks or without.

    HANDLER_START and HANDLER_END are around the function itself, inside the coroutine or inside
    the worker thread that a library takes for a plain function.
    """

    @wraps(function)
    def marked(**arguments: Any) -> str:
        marks.mark(marks.HANDLER_START)
        try:
            return function(**arguments)
        finally:
            marks.mark(marks.HANDLER_END)

    inner = marked if marks.active else function
    if sync:
        return inner

    @wraps(function)
    async def coroutine(**arguments: Any) -> str:
        return inner(**arguments)

    return coroutine


# -- the standard streams ------------------------------------------------------------------------


class _Text(TextIOWrapper):
    """The SDK's text layer over a standard stream, which stays open when the layer goes."""

    def close(self) -> None:
        with suppress(ValueError):  # closed before
            self.detach()


class _MarkedInput(_Text):
    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]  # as in typeshed
        line = super().readline(size)
        if line:
            marks.mark(marks.RECEIVED)
        return line


class _MarkedOutput(anyio.AsyncFile[str]):
    async def write(self, b: Any) -> int:
        marks.mark(marks.REPLY)
        return await super().write(b)


def stdio_streams() -> AbstractAsyncContextManager[Any]:
    """Return the SDK's ``stdio_server()``, over marked streams where marks are asked for.

    RECEIVED is taken in the worker thread that read the whole line, REPLY when the SDK calls
    ``write`` with the serialised answer, before its hop to the worker thread.
    """
    if not marks.active:
        return stdio_server()
    # Encoding and error handling as in stdio_server(), so that both paths do the same work.
    stdin = _MarkedInput(sys.stdin.buffer, encoding="utf-8", errors="replace")
    stdout = _Text(sys.stdout.buffer, encoding="utf-8")
    return stdio_server(anyio.wrap_file(stdin), _MarkedOutput(stdout))


# -- the ASGI application ------------------------------------------------------------------------

# The endpoint event of the old transport, the empty event that opens a stream, and the comments
# that keep one alive are no answers.
_ANSWER_EVENT = re.compile(rb"^event: message\r?\ndata: ?\S", re.MULTILINE)


def application(app: ASGIApp) -> ASGIApp:
    """Return the application, inside a thin one that takes marks where they are asked for.

    RECEIVED: the application is handed the last piece of a POST's body. REPLY, once for each POST:
    it sends the event that holds the answer, long after the head of the stream, or the head of a
    JSON answer, which the SDK sends when the body is serialised and the server writes at once.
    On the stream that a GET opened, each event that holds a message is a REPLY: this is where the
    old transport answers what it accepted with an empty 202.
    """
    if not marks.active:
        return app

    async def marked(scope: Scope, receive: Receive, send: Send) -> None:
        method = scope.get("method")  # the lifespan has none
        if method == "POST":
            await app(scope, _receiving(receive), _replying(send))
        elif method == "GET":
            await app(scope, receive, _streaming(send))
        else:
            await app(scope, receive, send)

    return marked


def _receiving(receive: Receive) -> Receive:
    async def received() -> Message:
        message = await receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            marks.mark(marks.RECEIVED)
        return message

    return received


def _replying(send: Send) -> Send:
    replied = False

    async def sending(message: Message) -> None:
        nonlocal replied
        if not replied and (_opens_json(message) or _holds_answer(message)):
            replied = True
            marks.mark(marks.REPLY)
        await send(message)

    return sending


def _streaming(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if _holds_answer(message):
            marks.mark(marks.REPLY)
        await send(message)

    return sending


def _opens_json(message: Message) -> bool:
    # A notification is accepted with 202 and no body, though the type may be that of JSON.
    return (
        message["type"] == "http.response.start"
        and message["status"] != 202
        and any(
            name == b"content-type" and value.startswith(b"application/json")
            for name, value in message["headers"]
        )
    )


def _holds_answer(message: Message) -> bool:
    return message["type"] == "http.response.body" and bool(
        _ANSWER_EVENT.search(message.get("body", b""))
    )
