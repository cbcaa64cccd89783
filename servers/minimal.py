"""MCP over stdio with the standard library alone.

The question: what do the protocol and JSON themselves cost, before any library? One rung above the
floor and one below the SDK, with the same tools.

:class:`Server` turns one line into at most one answer and opens nothing; :func:`main` moves the
bytes. A connection speaks one of two eras, decided by its first request: a request that carries the
envelope of 2026-07-28 opens the stateless era, any other the handshake era.

Where the marks are: RECEIVED when a whole line is read and nothing of it is parsed; HANDLER_START
and HANDLER_END around the tool's function; REPLY when the answer is bytes and its write starts.

What is not stdio here, :mod:`servers.minimal_http` uses as well.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any, Protocol

from bench.marks import HANDLER_END, HANDLER_START, RECEIVED, REPLY, mark
from servers import VERSION
from servers.errors import BadArguments, ToolError
from servers.tools import TOOLS, Tool, validate

HANDSHAKE_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_REVISIONS = ("2026-07-28",)
_BATCH_REVISION = "2025-03-26"  # the only one in which a line may hold an array

SERVER_INFO = {"name": "mcp-latency-minimal", "version": VERSION}

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_VERSION = -32022

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
_SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"

# The answer to anything cacheable: stale at once, so that no client saves a round trip.
_CACHE_HINTS = {"ttlMs": 0, "cacheScope": "private"}

_CHUNK_BYTES = 65536


class RpcError(Exception):
    """A request that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


def run(tool: Tool, arguments: Any) -> str:
    """Check the arguments and run the tool, between the two marks of the handler."""
    validate(arguments, tool.input_schema)
    mark(HANDLER_START)
    try:
        return tool.function(**arguments)
    finally:
        mark(HANDLER_END)


class Tools:
    """``tools/list`` in pages and ``tools/call``: the same in both eras."""

    def __init__(self, page_size: int | None = None) -> None:
        listed = [
            {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
            for tool in TOOLS.values()
        ]
        size = page_size or len(listed)
        starts = range(0, len(listed), size)
        # The first page has no cursor; a cursor is opaque to clients, so it does not look like
        # a number that they could count up.
        cursors = [None, *(f"from {start}".encode().hex() for start in starts[1:])]
        self._pages: dict[str | None, dict[str, Any]] = {}
        for start, cursor, following in zip(starts, cursors, [*cursors[1:], None], strict=True):
            page: dict[str, Any] = {"tools": listed[start : start + size]}
            self._pages[cursor] = page if following is None else page | {"nextCursor": following}

    def list(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the page that the cursor names, the first one without a cursor."""
        cursor = params.get("cursor")
        if "cursor" in params and (not isinstance(cursor, str) or cursor not in self._pages):
            raise RpcError(INVALID_PARAMS, "Invalid cursor: it is not one of this server's")
        return self._pages[cursor]

    def call(self, params: dict[str, Any]) -> dict[str, Any]:
        """Run one tool; its own failures are results, everything before it an error."""
        name = params.get("name")
        tool = TOOLS.get(name) if isinstance(name, str) else None
        if tool is None:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {name}")
        arguments = params.get("arguments", {})
        try:
            text, failed = run(tool, arguments), False
        except BadArguments as error:
            raise RpcError(INVALID_PARAMS, f"Invalid arguments for {name}: {error}") from error
        except ToolError as error:
            text, failed = str(error), True
        return {"content": [{"type": "text", "text": text}], "isError": failed}


class Era(Protocol):
    """What follows from the first request for all others on the connection."""

    @property
    def batches(self) -> bool:
        """Whether a line may hold an array of messages."""

    def request(self, method: str, params: dict[str, Any], enveloped: bool) -> dict[str, Any]:
        """Return the result of one request or raise :class:`RpcError`."""


class Handshake:
    """2024-11-05 to 2025-11-25: ``initialize`` first, then everything else.

    ``notifications/initialized`` opens nothing: the revisions ask a client to wait for the answer
    to ``initialize``, and a server to hold back requests of its own, of which there are none here.

    ``agreed`` is a revision that needs no ``initialize``, for a server that keeps no sessions.
    """

    def __init__(self, tools: Tools, agreed: str | None = None) -> None:
        self._revision = agreed
        self._methods = {"tools/call": tools.call, "tools/list": tools.list}

    @property
    def batches(self) -> bool:
        """See :class:`Era`."""
        return self._revision == _BATCH_REVISION

    def request(self, method: str, params: dict[str, Any], enveloped: bool) -> dict[str, Any]:
        """See :class:`Era`."""
        if enveloped and method != "initialize":
            raise RpcError(INVALID_REQUEST, "This connection was opened without the envelope")
        if method == "ping":
            return {}
        if method == "initialize":
            return self._initialize(params)
        if self._revision is None:
            raise RpcError(INVALID_REQUEST, f"{method} before initialize was answered")
        answer = self._methods.get(method)
        if answer is None:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
        return answer(params)

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        if self._revision is not None:
            raise RpcError(INVALID_REQUEST, "initialize was answered before on this connection")
        requested = params.get("protocolVersion")
        client = params.get("clientInfo")
        if not isinstance(requested, str):
            raise RpcError(INVALID_PARAMS, "initialize needs protocolVersion, a string")
        if not isinstance(params.get("capabilities"), dict):
            raise RpcError(INVALID_PARAMS, "initialize needs capabilities, an object")
        if not (
            isinstance(client, dict)
            and isinstance(client.get("name"), str)
            and isinstance(client.get("version"), str)
        ):
            raise RpcError(INVALID_PARAMS, "initialize needs clientInfo with a name and a version")
        known = requested in HANDSHAKE_REVISIONS
        self._revision = requested if known else HANDSHAKE_REVISIONS[-1]
        return {
            "protocolVersion": self._revision,
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": SERVER_INFO,
        }


class Stateless:
    """2026-07-28: no handshake; every request says in its envelope what it speaks."""

    batches = False

    def __init__(self, tools: Tools) -> None:
        self._methods = {
            "tools/call": tools.call,
            "tools/list": lambda params: tools.list(params) | _CACHE_HINTS,
            "server/discover": self._discover,
        }

    def request(self, method: str, params: dict[str, Any], enveloped: bool) -> dict[str, Any]:
        """See :class:`Era`."""
        if method == "initialize":  # no envelope to check: its parameters are of the other era
            raise self._not_found(method)
        meta = params["_meta"] if enveloped else {}
        version = meta.get(VERSION_KEY)
        if not isinstance(version, str):
            raise RpcError(INVALID_PARAMS, f"_meta needs {VERSION_KEY}, a string")
        if version not in STATELESS_REVISIONS:
            data = {"supported": list(STATELESS_REVISIONS), "requested": version}
            raise RpcError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)
        if not isinstance(meta.get(_CAPABILITIES_KEY), dict):
            raise RpcError(INVALID_PARAMS, f"_meta needs {_CAPABILITIES_KEY}, an object")
        answer = self._methods.get(method)
        if answer is None:
            raise self._not_found(method)
        envelope = {"resultType": "complete", "_meta": {_SERVER_INFO_KEY: SERVER_INFO}}
        return answer(params) | envelope

    @staticmethod
    def _discover(params: dict[str, Any]) -> dict[str, Any]:
        supported = {"supportedVersions": list(STATELESS_REVISIONS), "capabilities": {"tools": {}}}
        return supported | _CACHE_HINTS

    @staticmethod
    def _not_found(method: str) -> RpcError:
        # Naming the versions tells a client of the handshake era why it has come in vain.
        data = {"supported": list(STATELESS_REVISIONS)}
        return RpcError(METHOD_NOT_FOUND, f"Method not found: {method}", data)


class Server:
    """The server's side of one connection or session: a line in, at most one line out.

    The first request decides the era, unless one is given.
    """

    def __init__(
        self, page_size: int | None = None, *, tools: Tools | None = None, era: Era | None = None
    ) -> None:
        self._tools = tools or Tools(page_size)
        self._era = era

    def receive(self, line: bytes) -> bytes | None:
        """Return the answer to one line, without a newline; None where none is due."""
        try:
            message = decode(line)
        except ValueError:
            if not line.strip():
                return None
            return encode(error_answer(None, PARSE_ERROR, "The line is not JSON in UTF-8"))
        answer = self.answer(message)
        return None if answer is None else encode(answer)

    def answer(self, message: Any) -> Any:
        """Return the answer to a message or a batch, both decoded; None where none is due."""
        return self._batch(message) if isinstance(message, list) else self._answer(message)

    def _batch(self, messages: list[Any]) -> Any:
        if self._era is None or not self._era.batches:
            return error_answer(
                None, INVALID_REQUEST, f"A batch is legal in {_BATCH_REVISION} only"
            )
        if not messages:
            return error_answer(None, INVALID_REQUEST, "A batch holds at least one message")
        answers = [self._answer(message) for message in messages]
        return [answer for answer in answers if answer is not None] or None

    def _answer(self, message: Any) -> dict[str, Any] | None:
        flaw = _flaw(message)
        if flaw is not None:
            request_id = message.get("id") if isinstance(message, dict) else None
            usable = type(request_id) in (int, str)
            return error_answer(request_id if usable else None, INVALID_REQUEST, flaw)
        # A response answers nothing that this server asked; a notification is never answered.
        if "method" not in message or "id" not in message:
            return None
        try:
            result = self._request(message["method"], message.get("params", {}))
        except RpcError as error:
            return error_answer(message["id"], error.code, str(error), error.data)
        except Exception as error:
            # One broken handler costs its own call, not the connection.
            return error_answer(
                message["id"], INTERNAL_ERROR, f"Internal error: {type(error).__name__}"
            )
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def _request(self, method: str, params: Any) -> dict[str, Any]:
        if not isinstance(params, dict):
            raise RpcError(INVALID_PARAMS, "params must be an object")
        enveloped = is_enveloped(params)
        if self._era is None:
            stateless = enveloped and method != "initialize"
            self._era = Stateless(self._tools) if stateless else Handshake(self._tools)
        return self._era.request(method, params, enveloped)


def is_enveloped(params: dict[str, Any]) -> bool:
    """Tell whether these parameters carry the envelope of the stateless era."""
    meta = params.get("_meta")
    return isinstance(meta, dict) and VERSION_KEY in meta


def _flaw(message: Any) -> str | None:
    """Say why this is no message of JSON-RPC 2.0, or None where it is one."""
    if not isinstance(message, dict):
        return "A message is a JSON object"
    if message.get("jsonrpc") != "2.0":
        return 'A message has "jsonrpc": "2.0"'
    if "method" not in message:
        answered = "result" in message or "error" in message
        return None if answered else "A message has a method, a result or an error"
    if not isinstance(message["method"], str):
        return "method is a string"
    # By exact type, for True is an int to Python.
    if "id" in message and type(message["id"]) not in (int, str):
        return "id is a string or an integer"
    return None


def error_answer(
    request_id: int | str | None, code: int, message: str, data: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the answer that says what went wrong."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


# Built once: with options, json.loads and json.dumps would build a new one for every message.
_DECODE = json.JSONDecoder(parse_constant=_refuse_constant).decode
_ENCODE = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def decode(data: bytes) -> Any:
    """Return the value that the bytes hold; ValueError unless they are JSON in UTF-8."""
    try:
        return _DECODE(data.decode())
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def encode(answer: Any) -> bytes:
    """Return the answer as JSON on one line."""
    # ASCII only, which can also carry the lone surrogates that JSON allows and UTF-8 does not.
    return _ENCODE(answer).encode("ascii")


def _lines() -> Iterator[bytes]:
    """Yield the lines of stdin; a last one that ends without a newline counts too."""
    # Pieces of an unfinished line are joined once, so a line of many chunks costs linear time.
    pieces: list[bytes] = []
    while chunk := os.read(0, _CHUNK_BYTES):
        first, *others = chunk.split(b"\n")
        pieces.append(first)
        for piece in others:
            yield b"".join(pieces)
            pieces = [piece]
    if any(pieces):
        yield b"".join(pieces)


def _write(data: bytes) -> None:
    written = os.write(1, data)
    if written < len(data):  # rare: a blocking pipe takes everything
        rest = memoryview(data)[written:]
        while rest:
            rest = rest[os.write(1, rest) :]


def _page_size(arguments: list[str]) -> int | None:
    if not arguments:
        return None
    import argparse  # here, because it would double what this program imports

    parser = argparse.ArgumentParser(prog="servers.minimal", description="MCP over stdio.")
    parser.add_argument("--page-size", type=int, metavar="N", help="tools on a page of tools/list")
    size: int | None = parser.parse_args(arguments).page_size
    if size is not None and size < 1:
        parser.error("--page-size must be at least 1")
    return size


def main() -> None:
    """Serve stdin and stdout until stdin ends or the reader of stdout is gone."""
    server = Server(_page_size(sys.argv[1:]))
    try:
        for line in _lines():
            mark(RECEIVED)
            answer = server.receive(line)
            if answer is not None:
                answer += b"\n"
                mark(REPLY)
                _write(answer)
    except (BrokenPipeError, KeyboardInterrupt):
        pass


if __name__ == "__main__":
    main()
