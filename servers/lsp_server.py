"""The same tools as a language server on pygls.

The question: what does the older sibling of MCP cost? LSP is JSON-RPC over stdio too, with a head
of the length before each message in place of a line end. ``bench/NAME`` takes the arguments of a
tool and answers ``{"text": …}``; a tool that could not do its work is the error ``-32803`` (request
failed), arguments that do not fit are ``-32602``. Everything else is pygls as it comes: handlers
run on the event loop, parameters go through its converter, which makes an object of them.

Where the marks are (only when asked for; otherwise pygls gets the standard streams themselves):

- RECEIVED: ``read`` of the wrapped stdin has the whole body. It is taken in the worker thread that
  read it, so the hop back to the event loop belongs to *dispatch*, as do the head and parsing.
- HANDLER_START, HANDLER_END: around the tool's function, on the event loop.
- REPLY: pygls calls ``write`` of the wrapped stdout with head and body; no hop lies between that
  and the write itself.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from bench import marks
from servers import VERSION
from servers.errors import BadArguments, ToolError
from servers.tools import TOOLS, Tool, validate

REQUEST_FAILED = -32803


class _MarkedInput:
    """What pygls needs of stdin."""

    def __init__(self, stream: BinaryIO) -> None:
        self.readline = stream.readline
        self._read = stream.read

    def read(self, size: int) -> bytes:
        body = self._read(size)
        if body:
            marks.mark(marks.RECEIVED)
        return body


class _MarkedOutput:
    """What pygls needs of stdout."""

    def __init__(self, stream: BinaryIO) -> None:
        self.flush, self.close = stream.flush, stream.close
        self._write = stream.write

    def write(self, data: bytes) -> int:
        marks.mark(marks.REPLY)
        return self._write(data)


def _handler(tool: Tool) -> Callable[[Any], dict[str, str]]:
    """Return the feature that runs a tool."""

    def handle(params: Any) -> dict[str, str]:
        arguments = params._asdict() if hasattr(params, "_asdict") else params
        try:
            validate(arguments, tool.input_schema)
        except BadArguments as error:
            raise JsonRpcInvalidParams(f"Invalid arguments for {tool.name}: {error}") from error
        marks.mark(marks.HANDLER_START)
        try:
            return {"text": tool.function(**arguments)}
        except ToolError as error:
            raise JsonRpcException(str(error), REQUEST_FAILED) from error
        finally:
            marks.mark(marks.HANDLER_END)

    return handle


def build() -> LanguageServer:
    """Return the server with a feature for every tool of the table."""
    server = LanguageServer("mcp-latency-lsp", VERSION)
    for tool in TOOLS.values():
        server.feature(f"bench/{tool.name}")(_handler(tool))
    return server


def main() -> None:
    """Serve stdin and stdout until stdin ends."""
    # pygls logs a refused call with its stack, as if the server had failed.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    server = build()
    if marks.active:
        stdin = _MarkedInput(sys.stdin.buffer)
        stdout = _MarkedOutput(sys.stdout.buffer)
        server.start_io(cast("BinaryIO", stdin), cast("BinaryIO", stdout))
    else:
        server.start_io()


if __name__ == "__main__":
    main()
