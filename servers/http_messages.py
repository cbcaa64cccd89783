"""HTTP/1.1 over asyncio, as thin as it gets: bytes to requests, replies to bytes.

No MCP here and no tools: an :class:`Application` turns a :class:`Request` into a :class:`Reply`.
Requests of one connection are answered one after the other, also when they come in one piece.

Where the marks are: RECEIVED in the parser's callback for a message that is complete, before
anything looks at its body; REPLY when the answer is bytes and its write starts.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import NamedTuple, Protocol, cast

import httptools

from bench.marks import RECEIVED, REPLY, mark

MAX_BODY_BYTES = 4 * 1024 * 1024

_LINGER_S = 1.0

_STATUS_LINES = {
    int(status): f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
# Proxies that gather a whole body before they pass it on would hold the event back.
_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
    b"X-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n"
)
_LAST_CHUNK = b"0\r\n\r\n"


class Request(NamedTuple):
    """One whole request. Names of headers are in lower case; repeated ones are joined by commas."""

    method: bytes
    path: bytes
    headers: dict[bytes, bytes]
    body: bytes


class Reply(NamedTuple):
    """One answer: a body of JSON, or none."""

    status: int
    body: bytes = b""
    headers: bytes = b""
    """Further header lines, each with its line end."""
    stream: bool = False
    """Send the body as the only event of a stream."""


class Application(Protocol):
    """What a connection asks for its answers."""

    def answer(self, request: Request) -> Reply:
        """Answer a whole request; raises nothing."""

    def refuse(self, request: Request, status: int, sentence: str) -> Reply:
        """Word the refusal of a request, whose body is not there."""


class Connection(asyncio.Protocol):
    """One connection; httptools calls the methods that begin with ``on_``."""

    def __init__(self, application: Application, close_each: bool = False) -> None:
        self._application = application
        self._close_each = close_each
        self._closing = False  # whatever still comes is thrown away
        self._parser = httptools.HttpRequestParser(self)
        self.on_message_begin()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport. asyncio itself has set TCP_NODELAY on every TCP socket."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Parse what has come; answers are written on the way."""
        if self._closing:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # refused when its headers were complete
        except httptools.HttpParserError:
            self._refuse(400, "The request is not HTTP/1.1")

    def on_message_begin(self) -> None:
        """Forget the request before."""
        self._url = b""
        self._fields: dict[bytes, bytes] = {}
        self._headers: dict[bytes, bytes] = {}
        self._pieces: list[bytes] = []
        self._size = 0

    def on_url(self, url: bytes) -> None:
        """Collect the target, which may come in parts."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep one header."""
        name, value, fields = name.lower(), value.rstrip(b" \t"), self._fields
        fields[name] = b"%b, %b" % (fields[name], value) if name in fields else value

    def on_headers_complete(self) -> None:
        """Refuse what needs no body to be refused."""
        # What still comes as a header is a trailer, and must not change what has been looked at.
        self._headers, self._fields = self._fields, {}
        if int(self._headers.get(b"content-length", b"0")) > MAX_BODY_BYTES:
            self._refuse_size()
        elif self._parser.should_upgrade():
            self._refuse(400, "This server speaks HTTP/1.1 and upgrades to nothing")
        elif self._headers.get(b"expect", b"").lower() == b"100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, piece: bytes) -> None:
        """Collect the body."""
        self._size += len(piece)
        if self._size <= MAX_BODY_BYTES:
            self._pieces.append(piece)
        else:
            self._refuse_size()

    def on_message_complete(self) -> None:
        """Answer the request."""
        if self._closing:
            return
        mark(RECEIVED)
        reply = self._application.answer(self._request(b"".join(self._pieces)))
        keep_alive = self._parser.should_keep_alive() and not self._close_each
        end = b"\r\n" if keep_alive else b"Connection: close\r\n\r\n"
        # HTTP/1.0 has no chunks; its client, too, has said that it takes plain JSON.
        if reply.stream and self._parser.get_http_version() != "1.0":
            data = _event(reply, end)
            mark(REPLY)
            self._transport.write(data)
            self._transport.write(_LAST_CHUNK)
        else:
            data = _message(reply, end)
            mark(REPLY)
            self._transport.write(data)
        if not keep_alive:
            self._closing = True
            self._transport.close()

    def _request(self, body: bytes) -> Request:
        path = self._url.partition(b"?")[0]
        return Request(self._parser.get_method(), path, self._headers, body)

    def _refuse_size(self) -> None:
        self._refuse(413, f"The body is larger than {MAX_BODY_BYTES} bytes")

    def _refuse(self, status: int, sentence: str) -> None:
        if self._closing:
            return
        self._closing = True
        reply = self._application.refuse(self._request(b""), status, sentence)
        self._transport.write(_message(reply, b"Connection: close\r\n\r\n"))
        # Closed at once, with bytes of the client unread, TCP would take the answer back; so only
        # this direction is, until the client closes the other or the time is over.
        if self._transport.can_write_eof():
            self._transport.write_eof()
        asyncio.get_running_loop().call_later(_LINGER_S, self._transport.close)


def _message(reply: Reply, end: bytes) -> bytes:
    kind = b"Content-Type: application/json\r\n" if reply.body else b""
    length = b"Content-Length: %d\r\n" % len(reply.body)
    return b"".join((_STATUS_LINES[reply.status], kind, length, reply.headers, end, reply.body))


def _event(reply: Reply, end: bytes) -> bytes:
    # The body has no line breaks: it is JSON on one line.
    event = b"event: message\ndata: %b\n\n" % reply.body
    return b"%b%b%b%x\r\n%b\r\n" % (_STREAM_HEAD, reply.headers, end, len(event), event)
