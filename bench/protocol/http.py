"""HTTP as MCP uses it, without input or output: requests to bytes, bytes to answers.

Specification, basic/transports, streamable HTTP. Parsing is httptools' (the parser of Node);
what a status and a content type mean for a message stands here.
"""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httptools

from bench.protocol.framing import DEFAULT_LIMIT_BYTES, Oversized, Refused
from bench.protocol.jsonrpc import Template
from bench.protocol.revisions import AUTO, STATELESS_REVISION, Era, era
from bench.protocol.sse import Event, EventFraming
from bench.protocol.tool_headers import Mirrored, mirrored, values

VERSION_HEADER_SINCE = "2025-06-18"
SHOWN_BYTES = 80
_HINTS = {
    401: "authorization is missing or refused; give it by --header",
    403: "the server forbids the request (Origin or Host, or authorization)",
    404: "there is no MCP endpoint at this path, or the session is not known",
    405: "this path does not take POST",
    406: "the server cannot answer in JSON or as an event stream",
    413: "the request is larger than the server takes",
}
Message = bytes | Oversized | Refused


@dataclass(frozen=True, slots=True)
class Url:
    """Where a server is reached."""

    scheme: str
    host: str
    port: int
    path: str

    @classmethod
    def parse(cls, text: str) -> Url:
        """Return the parts of a URL. Raises ValueError with a sentence."""
        wrong = f"{text!r} is no URL of a server; expected http://HOST:PORT/PATH"
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            raise ValueError(wrong) from None
        # Only what may stand in a request as it is: no spaces, no line ends, ASCII.
        plain = text.isascii() and text.isprintable() and " " not in text
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not plain:
            raise ValueError(wrong)
        if port is None:
            port = 443 if parts.scheme == "https" else 80
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(parts.scheme, parts.hostname, port, path)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = {"http": 80, "https": 443}[self.scheme]
        return host if self.port == default else f"{host}:{self.port}"


class HttpRequest:
    """A POST that is sent many times: only id and length are built at each call."""

    __slots__ = ("_head", "_template")

    def __init__(self, head: bytes, template: Template) -> None:
        self._head = head
        self._template = template

    def encode(self, id: int) -> bytes:  # noqa: A002
        """Return head and body in one piece."""
        body = self._template.encode(id)[:-1]
        return b"%b%d\r\n\r\n%b" % (self._head, len(body), body)


class HttpBinding:
    """Wraps the messages of one session; follows what the handshake agreed on.

    ``session`` is the id that the server gave in its answer to initialize, and ``opening`` says
    that this answer is still awaited.
    """

    def __init__(self, url: Url, headers: Mapping[str, str], revision: str) -> None:
        self.url = url
        self.session: bytes | None = None
        self._headers = headers
        self._mirrored: dict[str, Mirrored] = {}
        self.offer(revision)

    def request(self, template: Template) -> HttpRequest:
        """See :class:`~bench.protocol.binding.Binding`."""
        return HttpRequest(self._post_head(template), template)

    def message(self, line: bytes) -> bytes:
        """See :class:`~bench.protocol.binding.Binding`."""
        return self.post(line.rstrip(b"\n"))

    def listed(self, tool: dict[str, Any]) -> None:
        """See :class:`~bench.protocol.binding.Binding`."""
        if not self._stateless:
            return
        try:
            self._mirrored[tool["name"]] = mirrored(tool.get("inputSchema"))
        except ValueError as error:
            text = f"the tool {tool['name']} must not be called, for its schema is broken: {error}"
            raise ValueError(text) from None

    def agree(self, revision: str) -> None:
        """See :class:`~bench.protocol.binding.Binding`."""
        self.opening = False
        self._version = revision if revision >= VERSION_HEADER_SINCE else None

    def offer(self, revision: str) -> None:
        """See :class:`~bench.protocol.binding.Binding`; the session of before is forgotten."""
        self.session, self.opening = None, True
        self._stateless = era(revision) is Era.STATELESS
        asked = STATELESS_REVISION if revision == AUTO else revision
        self._version = asked if self._stateless else None

    def post(self, body: bytes, path: str | None = None) -> bytes:
        """Return a POST of one message."""
        return b"%b%d\r\n\r\n%b" % (self._post_head(None, path), len(body), body)

    def delete(self) -> bytes:
        """Return the request that ends the session."""
        return self._head("DELETE") + b"\r\n"

    def stream(self) -> bytes:
        """Return the GET that opens the event stream of the legacy transport."""
        return self._head("GET") + b"Accept: text/event-stream\r\nCache-Control: no-store\r\n\r\n"

    def _post_head(self, template: Template | None, path: str | None = None) -> bytes:
        lines = [
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
        ]
        if self._stateless and template is not None:
            lines.append(f"Mcp-Method: {template.method}")
            if template.name is not None:
                lines.append(f"Mcp-Name: {header_value(template.name)}")
                mirror = self._mirrored.get(template.name, {})
                arguments = template.params.get("arguments")
                lines += [f"{n}: {header_value(text)}" for n, text in values(mirror, arguments)]
        text = "".join(f"{line}\r\n" for line in lines)
        return self._head("POST", path) + text.encode("latin-1") + b"Content-Length: "

    def _head(self, method: str, path: str | None = None) -> bytes:
        lines = [f"{method} {path or self.url.path} HTTP/1.1", f"Host: {self.url.authority}"]
        lines += [f"{name}: {value}" for name, value in self._headers.items()]
        if self._version is not None:
            lines.append(f"MCP-Protocol-Version: {self._version}")
        text = "".join(f"{line}\r\n" for line in lines).encode("latin-1")
        return text if self.session is None else text + b"Mcp-Session-Id: %b\r\n" % self.session


def header_value(text: str) -> str:
    """Return a text as the value of a header, in base64 where it is not safe (2026-07-28)."""
    safe = text.isascii() and text.isprintable() and text == text.strip()
    if safe and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


@dataclass
class Response:
    """One response while it arrives."""

    status: int = 0
    content_type: bytes = b""
    location: bytes = b""
    session: bytes | None = None
    has_length: bool = False
    keep_alive: bool = True
    complete: bool = False
    body: list[bytes] = field(default_factory=list)
    size_bytes: int = 0
    messages: int = 0


@dataclass(frozen=True, slots=True)
class _Known:
    """The head of a response that came in one piece with its body, and has been parsed before.

    The same bytes have the same meaning, the length of the body among it, so that an answer behind
    the same head needs no parser. It is the parser's cost that the client must not add to a call.
    """

    head: bytes
    size_bytes: int
    response: Response

    def fits(self, chunk: bytes) -> bool:
        """Whether ``chunk`` is such a response, whole and alone. Blanks are no answer."""
        return len(chunk) == self.size_bytes and chunk.startswith(self.head) and chunk[-1:] == b"}"


class ResponseReader:
    """Turns the bytes of one connection into messages, response by response.

    Messages wait in ``ready``. ``response`` is the one that arrives or has arrived last; None
    before the first. ``ignored`` counts comments, empty events and events of other names. Raises
    ValueError from :meth:`feed` where the bytes are no HTTP.
    """

    def __init__(self, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self.ready: deque[Message] = deque()
        self.events: deque[Event] = deque()
        self.ignored = 0
        self.response: Response | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._framing: EventFraming | None = None
        self._known: _Known | None = None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the connection."""
        known, begins = self._known, self.response is None
        if begins and known and known.fits(chunk):
            self.response = known.response
            self.ready.append(chunk[len(known.head) :])
            return
        try:
            self._parser.feed_data(chunk)
        except httptools.HttpParserError as error:
            raise ValueError(f"what came back is no HTTP ({error})") from None
        if begins:
            self._known = self._learn(chunk)

    def _learn(self, chunk: bytes) -> _Known | None:
        """Return what tells a response like the one just read, if ``chunk`` was all of it."""
        response = self.response
        if response is None or not response.complete or not response.keep_alive:
            return None
        if response.status != 200 or len(self.ready) != 1:
            return None
        head, blank_line, body = chunk.partition(b"\r\n\r\n")
        # In a chunked body there is more than the answer, and it has another end.
        return _Known(head + blank_line, len(chunk), response) if body == self.ready[0] else None

    def end(self) -> None:
        """Take note that the connection has ended: a body without a length is complete now."""
        response = self.response
        if response is not None and not response.complete and response.status:
            if not response.has_length:
                self.on_message_complete()
            response.keep_alive = False

    def on_message_begin(self) -> None:
        """Start a response (called by the parser, like all that follow)."""
        self.response = Response()
        self._framing = None

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the headers that mean something here."""
        response = self.response
        assert response is not None
        match name.lower():
            case b"content-type":
                response.content_type = value.lower()
            case b"mcp-session-id":
                response.session = value
            case b"location":
                response.location = value
            case b"content-length" | b"transfer-encoding":
                response.has_length = True

    def on_headers_complete(self) -> None:
        """Know what kind of body follows."""
        response = self.response
        assert response is not None
        response.status = self._parser.get_status_code()
        response.keep_alive = self._parser.should_keep_alive()
        if response.status == 200 and response.content_type.startswith(b"text/event-stream"):
            self._framing = EventFraming(self.limit_bytes)
        elif not response.has_length and (response.status == 202 or _is_redirect(response.status)):
            # All is said in the head; a body could only be ended by the end of the connection.
            self.on_message_complete()

    def on_body(self, part: bytes) -> None:
        """Take a part of the body."""
        response = self.response
        assert response is not None
        if self._framing is None:
            response.size_bytes += len(part)
            if response.size_bytes <= self.limit_bytes:
                response.body.append(part)
            return
        comments = self._framing.comments
        for event in self._framing.feed(part):
            self.events.append(event)
            if event.data and event.name == "message":
                response.messages += 1
                self.ready.append(event.data)
            else:
                self.ignored += 1
        self.ignored += self._framing.comments - comments

    def on_message_complete(self) -> None:
        """Give the answer, if the body as a whole was one."""
        response = self.response
        assert response is not None
        if response.status < 200:
            self.response = None  # an interim response: the one that counts follows
            return
        response.complete = True
        if self._framing is not None or response.status in (202, 204):
            return
        response.messages += 1
        self.ready.append(_answer(response, self.limit_bytes))


def _answer(response: Response, limit_bytes: int) -> Message:
    if response.size_bytes > limit_bytes:
        return Oversized(response.size_bytes)
    body = b"".join(response.body)
    is_json = response.content_type.startswith(b"application/json")
    if is_json and (response.status == 200 or b'"jsonrpc"' in body):
        return body if body.strip() else Refused(200, "HTTP 200 with an empty body")
    return Refused(response.status, refusal(response, body))


def _is_redirect(status: int) -> bool:
    return 300 <= status < 400


def refusal(response: Response, body: bytes) -> str:
    """Say why a response is no answer."""
    status = response.status
    if _is_redirect(status):
        target = response.location.decode("latin-1") or "nowhere"
        return f"HTTP {status}, a redirect to {target}; give that URL instead"
    shown = body[:SHOWN_BYTES].decode("utf-8", "backslashreplace").strip()
    said = f": {shown!r}" if shown else ""
    if status == 200:
        kind = response.content_type.decode("latin-1") or "none"
        if not body:
            return f"HTTP 200 with an empty body (content type {kind})"
        what = "an HTML page" if b"<html" in body[:200].lower() else f"content type {kind}"
        return f"HTTP 200 with {what}, where JSON or an event stream was expected{said}"
    hint = _HINTS.get(status, "the server failed" if status >= 500 else "the request was refused")
    return f"HTTP {status}: {hint}{said}"
