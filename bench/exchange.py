"""One request with its answer: how it can end, and the row of integers it is kept in.

A row is :data:`WIDTH` int64: what it was, how it ended, sizes, then the nine stamps of a call in
causal order. A mark that was not taken is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Outcome(IntEnum):
    """How an exchange ended. Only ``OK`` enters latency statistics."""

    OK = 0
    TOOL_ERROR = 1
    RPC_ERROR = 2
    TRANSPORT_ERROR = 3
    TIMEOUT = 4
    INPUT_REQUIRED = 5

    @property
    def label(self) -> str:
        """The word used in files and tables."""
        return self.name.lower()


class Kind(IntEnum):
    """What an exchange after setup was for. The session's first call is its row 0."""

    WARMUP = 0
    CALL = 1
    PROTOCOL_PROBE = 2
    DISPATCH_PROBE = 3


COLUMNS = (
    "kind",
    "outcome",
    "request_bytes",
    "response_bytes",
    "other_messages",
    "other_bytes",
    "first_other_ns",
    "server_requests",
    "answering_ns",
    "accepted_ns",
    "start_ns",
    "encode_ns",
    "sent_ns",
    "received_mark_ns",
    "start_mark_ns",
    "end_mark_ns",
    "reply_mark_ns",
    "received_ns",
    "decoded_ns",
)
"""The integers of a row. ``other_*`` count the messages that arrived between a request and its
answer; ``server_requests`` are those of them that asked the client something, ``answering_ns`` is
how long it spent on that, a part of the call; ``accepted_ns`` is when the transport confirmed the
request apart from its answer (0 where it does not). The last nine are the stamps, each named after
what happened then; ``start_ns`` lies before ``encode_ns`` where something was opened anew for this
call."""

WIDTH = len(COLUMNS)
(
    KIND,
    OUTCOME,
    SERVER_REQUESTS,
    ANSWERING_NS,
    ACCEPTED_NS,
    START_NS,
    ENCODE_NS,
    SENT_NS,
    RECEIVED_NS,
    DECODED_NS,
) = map(
    COLUMNS.index,
    (
        "kind",
        "outcome",
        "server_requests",
        "answering_ns",
        "accepted_ns",
        "start_ns",
        "encode_ns",
        "sent_ns",
        "received_ns",
        "decoded_ns",
    ),
)
MARKS = slice(SENT_NS + 1, RECEIVED_NS)
NO_MARKS = (0, 0, 0, 0)


@dataclass(slots=True)
class Exchange:
    """One request with its answer, as the client saw it; a stamp of 0 was not taken."""

    kind: Kind
    encode_ns: int
    sent_ns: int
    request_bytes: int
    received_ns: int = 0
    decoded_ns: int = 0
    response_bytes: int = 0
    outcome: Outcome = Outcome.OK
    other_messages: int = 0
    other_bytes: int = 0
    first_other_ns: int = 0
    server_requests: int = 0
    answering_ns: int = 0
    accepted_ns: int = 0
    start_ns: int = 0

    def row(self) -> tuple[int, ...]:
        """Return the :data:`COLUMNS` of this exchange, without marks."""
        return (
            self.kind,
            self.outcome,
            self.request_bytes,
            self.response_bytes,
            self.other_messages,
            self.other_bytes,
            self.first_other_ns,
            self.server_requests,
            self.answering_ns,
            self.accepted_ns,
            self.start_ns or self.encode_ns,
            self.encode_ns,
            self.sent_ns,
            *NO_MARKS,
            self.received_ns,
            self.decoded_ns,
        )
