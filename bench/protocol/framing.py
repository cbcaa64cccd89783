"""Framing: chunks of bytes to whole messages. Opens nothing, reads no clock, knows no JSON.

MCP over stdio: one message per line, ended by byte 0x0A and holding none (specification,
basic/transports, stdio). Lines are cut on that byte alone: U+2028 and its kin are data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

LINE_END = b"\n"
DEFAULT_LIMIT_BYTES = 64 * 1024 * 1024
"""A message above this is counted and dropped; the 16 MiB answers seen in the field pass."""


@dataclass(frozen=True, slots=True)
class Oversized:
    """A message that was longer than the limit: its bytes were counted, not kept."""

    size_bytes: int


@dataclass(frozen=True, slots=True)
class Refused:
    """In place of an answer: the transport itself refused or lost the request.

    ``status`` is the HTTP status, 0 where there was none; ``text`` a sentence without an end;
    ``code`` what the finding is called.
    """

    status: int
    text: str
    code: str = "refused"


def size_on_wire(message: bytes | Oversized | Refused) -> int:
    """Return how many bytes a line took with its line end, which it may have lost by now."""
    if isinstance(message, Refused):
        return 0
    if isinstance(message, Oversized):
        return message.size_bytes + 1
    return len(message) + (not message.endswith(LINE_END))


class Framing(Protocol):
    """Cuts a byte stream into whole messages, whatever the chunks that it comes in."""

    limit_bytes: int

    @property
    def pending_bytes(self) -> int:
        """How many bytes of an unfinished message have arrived."""

    @property
    def pending(self) -> bytes:
        """The unfinished message so far, as far as it was kept."""

    def feed(self, chunk: bytes) -> list[bytes | Oversized]:
        """Take the next bytes; return the messages they complete."""

    def size_on_wire(self, message: bytes | Oversized | Refused) -> int:
        """Return how many bytes the message that was completed last took."""


class LineFraming:
    """Cuts a byte stream into lines.

    Feed any split of the same bytes and the same messages come out. A trailing CR is stripped;
    the text of an unfinished line stays in ``pending``.
    """

    def __init__(self, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self._parts: list[bytes] = []
        self._held_bytes = 0
        self._dropped_bytes = 0

    @property
    def pending_bytes(self) -> int:
        """How many bytes of an unfinished message have arrived."""
        return self._held_bytes + self._dropped_bytes

    @property
    def pending(self) -> bytes:
        """The unfinished message so far, as far as it was kept."""
        return b"".join(self._parts)

    def feed(self, chunk: bytes) -> list[bytes | Oversized]:
        """Take the next bytes; return the messages they complete, without their line ends."""
        *ends, tail = chunk.split(LINE_END)
        messages: list[bytes | Oversized] = []
        for end in ends:
            self._hold(end)
            messages.append(self._take())
        if tail:
            self._hold(tail)
        return messages

    def size_on_wire(self, message: bytes | Oversized | Refused) -> int:
        """Return the size of a line with its end."""
        return size_on_wire(message)

    def _hold(self, part: bytes) -> None:
        if self._dropped_bytes or self._held_bytes + len(part) > self.limit_bytes:
            self._dropped_bytes += self._held_bytes + len(part)
            self._parts.clear()
            self._held_bytes = 0
        else:
            self._parts.append(part)
            self._held_bytes += len(part)

    def _take(self) -> bytes | Oversized:
        if self._dropped_bytes:
            message: bytes | Oversized = Oversized(self._dropped_bytes)
        else:
            line = b"".join(self._parts)
            message = line[:-1] if line.endswith(b"\r") else line
        self._parts.clear()
        self._held_bytes = self._dropped_bytes = 0
        return message
