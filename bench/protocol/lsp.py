"""LSP's base protocol, without input or output: JSON-RPC messages behind a head of their length.

A head is lines ``Name: value`` ended by CR LF, a blank line ends it, and ``Content-Length`` counts
the bytes of the body (LSP specification 3.17, base protocol). There is nothing to find the next
message by once a head is broken: that is a ValueError, and the end of the stream's use.
"""

from __future__ import annotations

from typing import Any

from bench.protocol.framing import DEFAULT_LIMIT_BYTES, Oversized, Refused
from bench.protocol.jsonrpc import Template

HEAD_END = b"\r\n\r\n"
HEAD_LIMIT_BYTES = 4096
"""Far more than the two headers that there are."""
REQUEST_FAILED = -32803
"""The request was fine and its work failed (LSP 3.17): what a tool error is in MCP."""
_SHOWN_BYTES = 80


class HeadFraming:
    """Cuts a byte stream into the bodies of messages, at the lengths that their heads tell.

    Feed any split of the same bytes and the same messages come out; what has come of an unfinished
    message stays in ``pending``. Raises ValueError where a head cannot be read.
    """

    def __init__(self, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self._head = b""
        self._length: int | None = None  # None while the head is incomplete
        self._parts: list[bytes] = []
        self._body_bytes = 0
        self._last_head_bytes = 0

    @property
    def pending_bytes(self) -> int:
        """How many bytes of an unfinished message have arrived."""
        return len(self._head) + self._body_bytes

    @property
    def pending(self) -> bytes:
        """The unfinished message so far, as far as it was kept."""
        return self._head + b"".join(self._parts)

    def feed(self, chunk: bytes) -> list[bytes | Oversized]:
        """Take the next bytes; return the messages they complete, without their heads."""
        messages: list[bytes | Oversized] = []
        while chunk:
            if self._length is None:
                chunk = self._feed_head(chunk)
            if self._length is not None:
                missing_bytes = self._length - self._body_bytes
                self._hold(chunk[:missing_bytes], self._length)
                chunk = chunk[missing_bytes:]
                if self._body_bytes == self._length:
                    messages.append(self._take())
        return messages

    def size_on_wire(self, message: bytes | Oversized | Refused) -> int:
        """Return how many bytes the message that was completed last took with its head."""
        if isinstance(message, Refused):
            return 0
        size_bytes = message.size_bytes if isinstance(message, Oversized) else len(message)
        return size_bytes + self._last_head_bytes

    def _feed_head(self, chunk: bytes) -> bytes:
        """Take what belongs to the head; return what follows it."""
        head, end, rest = (self._head + chunk).partition(HEAD_END)
        self._head = head + end
        if len(self._head) > HEAD_LIMIT_BYTES:
            raise _broken(head)
        if end:
            self._length = _content_length(head)
        return rest

    def _hold(self, part: bytes, length: int) -> None:
        self._body_bytes += len(part)
        if length <= self.limit_bytes:
            self._parts.append(part)

    def _take(self) -> bytes | Oversized:
        size_bytes = self._body_bytes
        dropped = size_bytes > self.limit_bytes
        message = Oversized(size_bytes) if dropped else b"".join(self._parts)
        self._last_head_bytes = len(self._head)
        self._head, self._length = b"", None
        self._parts.clear()
        self._body_bytes = 0
        return message


class HeadRequest:
    """A request that is sent many times: only its id and its length are built at each call."""

    __slots__ = ("_template",)

    def __init__(self, template: Template) -> None:
        self._template = template

    def encode(self, id: int) -> bytes:  # noqa: A002
        """Return head and body in one piece."""
        return frame(self._template.encode(id)[:-1])


class HeadBinding:
    """A message is its line without the line end, behind a head."""

    def request(self, template: Template) -> HeadRequest:
        """See :class:`~bench.protocol.binding.Binding`."""
        return HeadRequest(template)

    def message(self, line: bytes) -> bytes:
        """See :class:`~bench.protocol.binding.Binding`."""
        return frame(line.rstrip(b"\n"))

    def listed(self, tool: dict[str, Any]) -> None:
        """Nothing: a language server lists no tools."""

    def offer(self, revision: str) -> None:
        """Nothing: revisions are MCP's."""

    def agree(self, revision: str) -> None:
        """Nothing: revisions are MCP's."""


def frame(body: bytes) -> bytes:
    """Return a body behind its head."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def _content_length(head: bytes) -> int:
    lengths: list[bytes] = []
    for line in head.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if not colon or not name or name.split() != [name]:
            raise _broken(head)
        if name.lower() == b"content-length":
            lengths.append(value.strip())
    if len(lengths) != 1 or not lengths[0].isdigit():
        raise _broken(head)
    return int(lengths[0])


def _broken(head: bytes) -> ValueError:
    shown = head[:_SHOWN_BYTES].decode("utf-8", "backslashreplace")
    return ValueError(f"not the head of an LSP message (Content-Length: N): {shown!r}")
