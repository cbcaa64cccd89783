"""Every finding that a user is told beside the numbers: code, sentence, how to collect it.

A finding never drops data. The sentence names the cause and, where there is one, the remedy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from string import Formatter
from typing import Final

CATALOGUE: Final[dict[str, str]] = {
    "stdout_pollution": (
        "the server prints text on stdout, which belongs to the protocol "
        "(line {line} of its output, {when}: {text})"
    ),
    "blank_line": "the server writes blank lines on stdout",
    "broken_answer": "an answer could not be read: {reason}",
    "glued_frame": "text stands before a message on one line, so that answer is lost: {text}",
    "id_type_changed": "id type changed: sent {sent}, got {got}",
    "null_id_error": "an error came with id null; credited to the only request in flight: {text}",
    "unexpected_answer": "an answer came that no request was waiting for (id {got})",
    "late_answer": (
        "an answer came {age_ms} ms after its request, when nobody waited any more; "
        "it was not credited to another call"
    ),
    "server_request": "the server asked the client for {method}; answered at once",
    "echo_mismatch": "an answer did not carry back what was sent",
    "message_too_large": "message too large ({size_bytes} bytes); the limit is {limit_bytes}",
    "cursor_repeated": "pagination does not advance: cursor repeated after {pages} pages",
    "page_limit": "pagination has no end: stopped after {pages} pages",
    "no_tools_capability": "the server lists tools but did not declare the tools capability",
    "tool_not_listed": "the tool {tool} is not among the {count} listed tools",
    "echoes_unknown_version": (
        "echoes unknown version: asked once for revision {asked}, which never was, "
        "the server agreed"
    ),
    "boot_not_seen": "the first read of stdin could not be seen; boot is inside {phase}",
    "marks_incomplete": "{count} of {of} calls have no complete set of marks",
    "closed_by_term": "the server did not leave when its stdin was closed; it needed TERM",
    "closed_by_kill": "the server left neither at the end of stdin nor on TERM; it was killed",
    "exit_code": "the server ended with {how}",
    "connection_not_reused": "the server closes the connection after its answer",
    "response_not_ended": (
        "the server did not end its response within {limit_s} s of its answer; "
        "another connection was opened"
    ),
    "not_a_message": "the server sent what is no message of the protocol: {text}",
    "connection_ended": "the server closed an idle connection; another one was opened",
    "not_accepted": (
        "a call was answered on the event stream, but its POST was not accepted (HTTP 202) "
        "within {limit_s:g} s after that"
    ),
    "session_expired": "the server no longer knew our session; it was opened again, outside calls",
    "result_type_missing": "the result of a call has no resultType, which its revision requires",
    "tool_error": "the tool answered isError: {text}",
    "rpc_error": "the call was answered with an error: {text}",
    "refused": "a request was refused or lost: {text}",
    "connection_reset": "a request was lost: {text}",
    "survivors": "{count} processes outlived the session outside the server's group; killed",
}

END: Final = "'"
CUT: Final = "'…"
"""How a quoted text ends: whole, or shortened."""

POLLUTION: Final = frozenset({"stdout_pollution", "blank_line", "glued_frame"})
"""What ``--strict`` turns into a failure."""
HARMLESS: Final = frozenset(
    {"result_type_missing", "boot_not_seen", "no_tools_capability", "blank_line"}
)
"""What is never the reason why a session failed."""


@dataclass(slots=True)
class Notice:
    """A finding of one session: ``facts`` of its first occurrence, and how often it occurred."""

    code: str
    facts: dict[str, str | int | float]
    count: int = 1

    @property
    def text(self) -> str:
        """The sentence for people."""
        sentence = Formatter().vformat(CATALOGUE[self.code], (), self.facts)
        if self.count == 1:
            return sentence
        return f"{sentence} ({self.count} times{', here the first' if self.facts else ''})"


class Notices:
    """The findings of one session, one entry per code."""

    def __init__(self) -> None:
        self._by_code: dict[str, Notice] = {}

    def add(self, code: str, **facts: str | int | float) -> None:
        """Record a finding; only its first occurrence keeps its facts."""
        known = self._by_code.get(code)
        if known is None:
            safe = {
                name: plain(fact) if isinstance(fact, str) else fact for name, fact in facts.items()
            }
            self._by_code[code] = Notice(code, safe)
        else:
            known.count += 1

    def __iter__(self) -> Iterator[Notice]:
        return iter(self._by_code.values())

    def __contains__(self, code: object) -> bool:
        return code in self._by_code


def plain(text: str) -> str:
    """Return a text of a server fit for one line of a terminal or file: odd characters escaped."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def printable(data: bytes, limit_bytes: int = 80) -> str:
    """Return the first bytes of something that arrived, escaped and quoted for a message."""
    data = data.rstrip(b"\r\n")  # a line that came alone still has its end
    text = plain(data[:limit_bytes].decode("utf-8", "backslashreplace"))
    return f"'{text}{END if len(data) <= limit_bytes else CUT}"
