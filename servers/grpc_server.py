"""The same tools behind gRPC, without generated code.

The question: what does a call cost over binary framing and HTTP/2, with a library in C under it?
One method, ``/tickets.Tools/Call``: the request is the JSON object ``{"name": …, "arguments": …}``,
the answer the bare text. What goes wrong is a status: ``NOT_FOUND`` for an unknown tool,
``INVALID_ARGUMENT`` for a call that does not fit it, ``FAILED_PRECONDITION`` where the tool itself
could not do its work.

Where the marks are:

- RECEIVED: the library calls the request deserialiser with the whole message. It does so in the
  thread that serves the connection, so the hop to the pool's thread belongs to *dispatch*, as does
  parsing the JSON.
- HANDLER_START, HANDLER_END: around the tool's function, in the pool's thread.
- REPLY: at the end of the response serialiser, in the same thread; what the library does to write
  belongs to *response*.
"""

from __future__ import annotations

import argparse
import json
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

from bench.marks import HANDLER_END, HANDLER_START, RECEIVED, REPLY, mark
from servers.errors import BadArguments, ToolError
from servers.tools import TOOLS, validate

SERVICE, METHOD = "tickets.Tools", "Call"
THREADS = 10
_OPTIONS = (
    ("grpc.so_reuseport", 0),  # a port that is taken is an error, not shared
    ("grpc.max_receive_message_length", -1),
)


class UnknownTool(Exception):
    """No tool has this name."""


def answer(data: bytes) -> str:
    """Return the text that a request is answered with.

    Raises :class:`BadArguments`, :class:`UnknownTool` or :class:`ToolError`.
    """
    try:
        request = json.loads(data)
    except (ValueError, RecursionError):
        raise BadArguments("the request is not JSON in UTF-8") from None
    if not isinstance(request, dict) or not isinstance(request.get("name"), str):
        raise BadArguments("the request must be an object with a name")
    tool = TOOLS.get(request["name"])
    if tool is None:
        raise UnknownTool(f"Unknown tool: {request['name']!r}")
    arguments = request.get("arguments", {})
    validate(arguments, tool.input_schema)
    mark(HANDLER_START)
    try:
        return tool.function(**arguments)
    finally:
        mark(HANDLER_END)


def _call(data: bytes, context: Any) -> str:
    try:
        return answer(data)
    except BadArguments as error:
        code, text = grpc.StatusCode.INVALID_ARGUMENT, str(error)
    except UnknownTool as error:
        code, text = grpc.StatusCode.NOT_FOUND, str(error)
    except ToolError as error:
        code, text = grpc.StatusCode.FAILED_PRECONDITION, str(error)
    context.abort(code, text)  # raises, which ends the call
    raise AssertionError(text)


def _deserialise(data: bytes) -> bytes:
    mark(RECEIVED)
    return data


def _serialise(text: str) -> bytes:
    data = text.encode()
    mark(REPLY)
    return data


def build(port: int) -> Any:
    """Return the server, bound to a port of the loopback. Raises RuntimeError if it is taken."""
    method = grpc.unary_unary_rpc_method_handler(_call, _deserialise, _serialise)
    server = grpc.server(ThreadPoolExecutor(THREADS), options=_OPTIONS)
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(SERVICE, {METHOD: method}),)
    )
    server.add_insecure_port(f"127.0.0.1:{port}")
    return server


def main() -> None:
    """Serve a port of the loopback until TERM or INT."""
    parser = argparse.ArgumentParser(prog="servers.grpc_server", description="Tools over gRPC.")
    parser.add_argument("--port", type=int, required=True, metavar="N")
    port: int = parser.parse_args().port
    # Blocked before there is a thread, so that every thread leaves them to sigwait.
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    try:
        server = build(port)
    except RuntimeError as error:
        raise SystemExit(f"port {port} cannot be used: {error}") from None
    server.start()
    signal.sigwait(ends)
    server.stop(None).wait()


if __name__ == "__main__":
    main()
