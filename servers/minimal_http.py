"""MCP over streamable HTTP with the standard library and the parser that uvicorn uses.

The question: what do HTTP and its headers cost on top of the protocol, before any framework? The
same protocol and tools as :mod:`servers.minimal`; and what does the protocol cost on top of HTTP?
``POST /rest/NAME`` is the same tool as plain JSON: the arguments in, ``{"text": …}`` out.

``/mcp`` speaks both eras, decided for every request by itself: a version header that is none of
the handshake era, or the envelope of 2026-07-28 in the body, opens the stateless era. In the
handshake era each session has a :class:`~servers.minimal.Server` of its own, unless ``--stateless``
says that there are no sessions; then any request is served, with or without ``initialize``.

Tools run on the event loop: with one call at a time nobody else waits for them.

Where the marks are: RECEIVED when the whole HTTP message is there and nothing of its body is
parsed (the parser has read the headers by then); HANDLER_START and HANDLER_END around the tool's
function, also behind ``/rest``; REPLY when head and body are bytes and their write starts.
"""

from __future__ import annotations

import argparse
import asyncio
import binascii
import errno
import os
import re
import signal
import ssl
import sys
from contextlib import suppress
from typing import Any

from servers.errors import BadArguments, ToolError
from servers.http_messages import Connection, Reply, Request
from servers.minimal import (
    HANDSHAKE_REVISIONS,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    Handshake,
    RpcError,
    Server,
    Stateless,
    Tools,
    decode,
    encode,
    error_answer,
    is_enveloped,
    run,
)
from servers.tools import TOOLS

HOST = "127.0.0.1"
HEADER_MISMATCH = -32020

_MCP_PATH = b"/mcp"
_REST_PREFIX = b"/rest/"

# JSON-RPC error -> HTTP status; what is not here is an answer like any other, with 200.
_HANDSHAKE_STATUSES = {PARSE_ERROR: 400, INVALID_REQUEST: 400}
_STATELESS_STATUSES = {
    **_HANDSHAKE_STATUSES,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}

_HANDSHAKE_HEADERS = {revision.encode(): revision for revision in HANDSHAKE_REVISIONS}
_REVISION_WITHOUT_HEADER = "2025-03-26"  # the last one in which the header did not exist

# A page that a browser has loaded from elsewhere comes with its own origin; one that has bound its
# name to this address comes with its own host.
_LOCAL_HOST = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?", re.IGNORECASE)
_LOCAL_ORIGIN = re.compile(rb"https?://" + _LOCAL_HOST.pattern, re.IGNORECASE)

_BASE64_VALUE = re.compile(rb"=\?base64\?(.*)\?=")


class StatelessOverHttp(Stateless):
    """The stateless era, where headers repeat what the body says, and have to agree with it."""

    headers: dict[bytes, bytes]
    """Those of the request in hand; set before each, for there is only one at a time."""

    def request(self, method: str, params: dict[str, Any], enveloped: bool) -> dict[str, Any]:
        """See :class:`~servers.minimal.Era`."""
        if enveloped:  # without an envelope there is nothing to agree with, and that is the error
            self._expect("MCP-Protocol-Version", params["_meta"][VERSION_KEY])
            self._expect("Mcp-Method", method)
            if method == "tools/call":
                self._expect("Mcp-Name", params.get("name"))
        return super().request(method, params, enveloped)

    def _expect(self, name: str, expected: Any) -> None:
        if not isinstance(expected, str):
            return  # an error with a better name, found where the value is used
        value = self.headers.get(name.lower().encode())
        if value is None:
            raise RpcError(HEADER_MISMATCH, f"{name} is missing from the headers")
        if _header_text(value) != expected:
            raise RpcError(HEADER_MISMATCH, f"{name} is not what the body says")


def _header_text(value: bytes) -> str | None:
    """Return what a header says, which is in Base64 where it would not be safe; None if broken."""
    wrapped = _BASE64_VALUE.fullmatch(value)
    try:
        if wrapped is None:
            return value.decode("ascii")
        return binascii.a2b_base64(wrapped[1], strict_mode=True).decode()
    except ValueError:
        return None


class Endpoint:
    """Every path of the server: a request in, a reply out; opens nothing."""

    def __init__(
        self,
        tools: Tools,
        sessions: bool = True,
        stream: bool = False,
        check_host: bool = True,
    ) -> None:
        self._tools = tools
        self._stream = stream
        self._check_host = check_host
        self._sessions: dict[bytes, Server] | None = {} if sessions else None
        # Without sessions a request finds the revision of its header agreed.
        self._agreed = {
            revision: Server(tools=tools, era=Handshake(tools, agreed=revision))
            for revision in HANDSHAKE_REVISIONS
        }
        self._stateless_era = StatelessOverHttp(tools)
        self._stateless_server = Server(tools=tools, era=self._stateless_era)

    def answer(self, request: Request) -> Reply:
        """See :class:`~servers.http_messages.Application`."""
        headers, path = request.headers, request.path
        if self._check_host and not _LOCAL_HOST.fullmatch(headers.get(b"host", b"")):
            return self.refuse(request, 403, "Host is not this machine")
        if b"origin" in headers and not _LOCAL_ORIGIN.fullmatch(headers[b"origin"]):
            return self.refuse(request, 403, "Origin is not this machine")
        if path == _MCP_PATH:
            return self._message(request) if request.method == b"POST" else self._other(request)
        if path.startswith(_REST_PREFIX):
            return self._rest(request)
        return self.refuse(request, 404, "There is nothing at this path")

    def refuse(
        self, request: Request, status: int, sentence: str, code: int = INVALID_REQUEST
    ) -> Reply:
        """See :class:`~servers.http_messages.Application`."""
        if request.method == b"HEAD":  # an answer to it must not have a body
            return Reply(status)
        if request.path == _MCP_PATH:
            return Reply(status, encode(error_answer(None, code, sentence)))
        return Reply(status, encode({"error": sentence}))

    # -- /mcp ------------------------------------------------------------------------------------

    def _message(self, request: Request) -> Reply:
        headers = request.headers
        if not _is_json(headers):
            return self.refuse(request, 415, "Content-Type must be application/json")
        accepted = headers.get(b"accept", b"").lower()
        if b"application/json" not in accepted or b"text/event-stream" not in accepted:
            sentence = "Accept must name application/json and text/event-stream"
            return self.refuse(request, 406, sentence)
        try:
            message = decode(request.body)
        except ValueError:
            return self.refuse(request, 400, "The body is not JSON in UTF-8", PARSE_ERROR)
        if _is_stateless(headers) or _opens_stateless(message):
            return self._stateless(request, message)
        return self._handshake(request, message)

    def _stateless(self, request: Request, message: Any) -> Reply:
        self._stateless_era.headers = request.headers
        answer = self._stateless_server.answer(message)
        if answer is None and "method" not in message:
            return self.refuse(request, 400, "In this era a client answers nothing")
        return self._reply(answer, _STATELESS_STATUSES)

    def _handshake(self, request: Request, message: Any) -> Reply:
        opens = isinstance(message, dict) and message.get("method") == "initialize"
        session = request.headers.get(b"mcp-session-id")
        if opens and (session is None or self._sessions is None):
            return self._open(message)
        if self._sessions is None:
            version = request.headers.get(b"mcp-protocol-version", b"")
            revision = _HANDSHAKE_HEADERS.get(version, _REVISION_WITHOUT_HEADER)
            return self._reply(self._agreed[revision].answer(message), _HANDSHAKE_STATUSES)
        if session is None:
            return self.refuse(request, 400, "Mcp-Session-Id is missing from the headers")
        server = self._sessions.get(session)
        if server is None:
            return self.refuse(request, 404, "There is no such session")
        return self._reply(server.answer(message), _HANDSHAKE_STATUSES)

    def _open(self, message: Any) -> Reply:
        server = Server(tools=self._tools, era=Handshake(self._tools))
        answer = server.answer(message)
        reply = self._reply(answer, _HANDSHAKE_STATUSES)
        if self._sessions is None or answer is None or "result" not in answer:
            return reply
        session = os.urandom(16).hex().encode()
        self._sessions[session] = server
        return reply._replace(headers=b"Mcp-Session-Id: %b\r\n" % session)

    def _reply(self, answer: Any, statuses: dict[int, int]) -> Reply:
        if answer is None:
            return Reply(202)
        status = 200
        if isinstance(answer, dict) and "error" in answer:
            status = statuses.get(answer["error"]["code"], 200)
        return Reply(status, encode(answer), stream=self._stream and status == 200)

    def _other(self, request: Request) -> Reply:
        """Answer what is no POST: the end of a session, or a stream that is not offered."""
        headers = request.headers
        if self._sessions is None or _is_stateless(headers):
            return self._refuse_method(request, b"POST")
        if request.method != b"DELETE":
            return self._refuse_method(request, b"POST, DELETE")
        session = headers.get(b"mcp-session-id")
        if session is None:
            return self.refuse(request, 400, "Mcp-Session-Id is missing from the headers")
        if self._sessions.pop(session, None) is None:
            return self.refuse(request, 404, "There is no such session")
        return Reply(200)

    def _refuse_method(self, request: Request, allowed: bytes) -> Reply:
        reply = self.refuse(request, 405, f"The methods of this path: {allowed.decode()}")
        return reply._replace(headers=b"Allow: %b\r\n" % allowed)

    # -- /rest -----------------------------------------------------------------------------------

    def _rest(self, request: Request) -> Reply:
        name = request.path[len(_REST_PREFIX) :].decode("latin-1")
        tool = TOOLS.get(name)
        if tool is None:
            return self.refuse(request, 404, f"Unknown tool: {name}")
        if request.method != b"POST":
            return self._refuse_method(request, b"POST")
        if not _is_json(request.headers):
            return self.refuse(request, 415, "Content-Type must be application/json")
        try:
            arguments = decode(request.body)
        except ValueError:
            return self.refuse(request, 400, "The body is not JSON in UTF-8")
        try:
            text = run(tool, arguments)
        except BadArguments as error:
            return self.refuse(request, 400, f"Invalid arguments for {name}: {error}")
        except ToolError as error:
            return self.refuse(request, 422, str(error))
        except Exception as error:
            # As in the protocol: one broken handler costs its own call, not the connection.
            return self.refuse(request, 500, f"Internal error: {type(error).__name__}")
        return Reply(200, encode({"text": text}))


def _is_json(headers: dict[bytes, bytes]) -> bool:
    kind = headers.get(b"content-type", b"").partition(b";")[0]
    return kind.strip().lower() == b"application/json"


def _is_stateless(headers: dict[bytes, bytes]) -> bool:
    """Tell whether the version header names no revision of the handshake era."""
    version = headers.get(b"mcp-protocol-version")
    return version is not None and version not in _HANDSHAKE_HEADERS


def _opens_stateless(message: Any) -> bool:
    """Tell whether the body is a request of the stateless era, whatever the headers say."""
    if not isinstance(message, dict) or message.get("method") == "initialize":
        return False
    params = message.get("params")
    return isinstance(params, dict) and is_enveloped(params)


# -- the process ---------------------------------------------------------------------------------


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="servers.minimal_http", description="MCP over HTTP.")
    address = parser.add_mutually_exclusive_group(required=True)
    address.add_argument("--port", type=int, metavar="N", help=f"TCP port on {HOST}")
    address.add_argument("--socket", metavar="PATH", help="Unix socket, made anew")
    parser.add_argument("--cert", metavar="FILE", help="certificate chain; switches TLS on")
    parser.add_argument("--key", metavar="FILE", help="private key of the certificate")
    parser.add_argument("--sse", action="store_true", help="answer with streams of one event")
    parser.add_argument("--stateless", action="store_true", help="no sessions in any era")
    parser.add_argument("--page-size", type=int, metavar="N", help="tools on a page of tools/list")
    parser.add_argument("--close-each", action="store_true", help="one request per connection")
    options = parser.parse_args(arguments)
    if options.port is not None and not 0 < options.port < 65536:
        parser.error("--port must be between 1 and 65535")
    if (options.cert is None) != (options.key is None):
        parser.error("--cert and --key go together")
    if options.page_size is not None and options.page_size < 1:
        parser.error("--page-size must be at least 1")
    return options


def _end_on_signals(path: str | None = None) -> None:
    """Let SIGTERM and SIGINT end the process at once, and its socket's file with it."""

    def end(number: int, frame: object) -> None:
        if path is not None:
            with suppress(OSError):
                os.unlink(path)
        # Not by an exception: a tool may be running, called by the parser, which would catch it.
        # Not by the event loop: it would wait for the tool. Nothing here needs to be flushed.
        os._exit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


def _tls(options: argparse.Namespace) -> ssl.SSLContext | None:
    if options.cert is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.cert, options.key)
    return context


async def _serve(options: argparse.Namespace, tls: ssl.SSLContext | None) -> None:
    endpoint = Endpoint(
        Tools(options.page_size),
        sessions=not options.stateless,
        stream=options.sse,
        check_host=options.socket is None,  # no browser reaches a Unix socket
    )

    def connection() -> Connection:
        return Connection(endpoint, options.close_each)

    loop = asyncio.get_running_loop()
    if options.socket is None:
        server = await loop.create_server(connection, HOST, options.port, ssl=tls)
    else:
        server = await loop.create_unix_server(connection, options.socket, ssl=tls)
        _end_on_signals(options.socket)
    await server.serve_forever()


def _reason(error: OSError, options: argparse.Namespace) -> str:
    address = options.socket or f"port {options.port} of {HOST}"
    if error.errno == errno.EADDRINUSE:
        return f"{address} is in use; choose another or end what serves there."
    return f"{address} cannot be served: {error.strerror or error}."


def main() -> None:
    """Serve until a signal ends the process."""
    _end_on_signals()
    options = _options(sys.argv[1:])
    try:
        tls = _tls(options)
    except OSError as error:  # ssl.SSLError is one
        sys.exit(f"{options.cert}, {options.key}: no certificate with its key: {error.strerror}.")
    try:
        asyncio.run(_serve(options, tls))
    except OSError as error:
        sys.exit(_reason(error, options))


if __name__ == "__main__":
    main()
