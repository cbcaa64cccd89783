"""Server-sent events: chunks of bytes to events (WHATWG HTML, server-sent events).

Lines end in LF, CRLF or CR; a blank line completes an event; lines that start with a colon are
comments. Opens nothing, reads no clock, knows no JSON.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.protocol.framing import DEFAULT_LIMIT_BYTES, Oversized

LONGEST_FIELD_BYTES = len(b"data: ")
"""What a line of the longest data takes on top of it."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event. ``data`` is what its data lines say, joined by LF; empty in a priming event."""

    name: str
    data: bytes | Oversized


class EventFraming:
    """Cuts a byte stream into events; any split of the same bytes gives the same events.

    ``comments`` counts the lines that say nothing.
    """

    def __init__(self, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self.comments = 0
        self._begun: list[bytes] = []
        self._begun_bytes = 0
        self._after_cr = False
        self._name = "message"
        self._data: list[bytes] = []
        self._size_bytes = 0

    def feed(self, chunk: bytes) -> list[Event]:
        """Take the next bytes; return the events that they complete."""
        if not chunk:
            return []
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        events = []
        for line in chunk.splitlines(keepends=True):
            text = line.rstrip(b"\r\n")
            if len(text) == len(line):
                self._hold(text)  # the line goes on in the next chunk
            elif self._begun_bytes:
                self._hold(text)
                self._field(b"".join(self._begun), self._begun_bytes)
                self._begun, self._begun_bytes = [], 0
            elif text:
                self._field(text, len(text))
            elif (event := self._dispatch()) is not None:
                events.append(event)
        return events

    def _hold(self, part: bytes) -> None:
        """Keep a part of a line; what is over the limit is only counted."""
        room = self.limit_bytes + LONGEST_FIELD_BYTES - self._begun_bytes
        if part and room > 0:
            self._begun.append(part[:room])
        self._begun_bytes += len(part)

    def _field(self, line: bytes, size_bytes: int) -> None:
        """Take a line of which maybe only the beginning was kept."""
        name, colon, value = line.partition(b":")
        space = value.startswith(b" ")
        value = value[space:]
        if name == b"data":
            self._size_bytes += size_bytes - len(name) - len(colon) - space + 1
            if self._size_bytes - 1 <= self.limit_bytes:
                self._data.append(value)
        elif not name:
            self.comments += 1
        elif name == b"event":
            self._name = value.decode("utf-8", "replace") or "message"

    def _dispatch(self) -> Event | None:
        name, data, size_bytes = self._name, self._data, self._size_bytes
        self._name, self._data, self._size_bytes = "message", [], 0
        if not size_bytes:
            return None
        if size_bytes - 1 > self.limit_bytes:
            return Event(name, Oversized(size_bytes - 1))
        return Event(name, b"\n".join(data))
