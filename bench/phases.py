"""The phases of a session: their names, their order, and the law that they sum to the total.

Times are kept as stamps (boundaries in causal order); a phase is the difference of two
neighbours. So the phases of an exchange always sum exactly to its total, in integer nanoseconds.
A phase that does not exist is absent, never 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from bench.errors import ClockError


class Phase(StrEnum):
    """A named, contiguous part of setup, of a call, or of closing."""

    SPAWN = "spawn"
    BOOT = "boot"
    RESOLVE = "resolve"
    CONNECT = "connect"
    TLS = "tls"
    DISCOVER = "discover"
    INITIALIZE = "initialize"
    INITIALIZED = "initialized"
    TOOLS_LIST = "tools_list"

    REOPEN = "reopen"
    ENCODE = "encode"
    REQUEST = "request"
    DISPATCH = "dispatch"
    HANDLER = "handler"
    REPLY = "reply"
    RESPONSE = "response"
    DECODE = "decode"
    SERVER = "server"

    CLOSE = "close"


SETUP = (
    Phase.SPAWN,
    Phase.BOOT,
    Phase.RESOLVE,
    Phase.CONNECT,
    Phase.TLS,
    Phase.DISCOVER,
    Phase.INITIALIZE,
    Phase.INITIALIZED,
    Phase.TOOLS_LIST,
)
"""Setup in causal order; each target has the ones that exist for it."""

CALL = (
    Phase.ENCODE,
    Phase.REQUEST,
    Phase.DISPATCH,
    Phase.HANDLER,
    Phase.REPLY,
    Phase.RESPONSE,
    Phase.DECODE,
)
"""A call whose server writes marks."""

CALL_UNMARKED = (Phase.ENCODE, Phase.SERVER, Phase.DECODE)
"""A call seen from outside: the middle five are one phase."""

WHOLE = (Phase.REOPEN, *CALL_UNMARKED)
"""What sums to the total of any call: a client that opens something anew for each call begins with
``reopen``; a client library that does not tell its own work apart has ``server`` alone."""

IN_SERVER = CALL[1:-1]
"""The phases that :data:`Phase.SERVER` stands for when there are no marks."""

MEANING: dict[Phase, str] = {
    Phase.SPAWN: "the call that starts the server process, until it returns",
    Phase.BOOT: "until the server first reads its stdin, or accepts on its port",
    Phase.RESOLVE: "name lookup",
    Phase.CONNECT: "TCP or Unix socket connection",
    Phase.TLS: "TLS handshake",
    Phase.DISCOVER: "server/discover, or over HTTP+SSE the endpoint, learned",
    Phase.INITIALIZE: "initialize, from the server's first read until its answer is parsed",
    Phase.INITIALIZED: "notifications/initialized, until the kernel took it",
    Phase.TOOLS_LIST: "tools/list, all pages",
    Phase.REOPEN: "the connection or the session that this call opens anew",
    Phase.ENCODE: "the client builds the bytes",
    Phase.REQUEST: "write starts until the server has the whole message",
    Phase.DISPATCH: "the server parses, validates and routes",
    Phase.HANDLER: "the work of the tool",
    Phase.REPLY: "the server validates and serialises the result",
    Phase.RESPONSE: "the server's write starts until the client has the whole answer",
    Phase.DECODE: "the client parses the answer",
    Phase.SERVER: "write starts until the client has the whole answer",
    Phase.CLOSE: "stdin closed until the process is gone",
}


def durations(stamps: Sequence[int], phases: Sequence[Phase]) -> tuple[int, ...]:
    """Return the phases between ``len(phases) + 1`` stamps, in nanoseconds.

    Raises :class:`~bench.errors.ClockError` naming the phase whose end lies before its start.
    """
    if len(stamps) != len(phases) + 1:
        raise ValueError(f"{len(phases)} phases need {len(phases) + 1} stamps, got {len(stamps)}")
    parts = tuple(end - start for start, end in pairwise(stamps))
    for phase, part in zip(phases, parts, strict=True):
        if part < 0:
            raise ClockError(f"the stamps of phase {phase} run backwards by {-part} ns")
    return parts


@dataclass
class Timeline:
    """Stamps of phases that happen once: a start, then the end of each phase in turn."""

    start_ns: int
    ends: list[tuple[Phase, int]] = field(default_factory=list)

    def end(self, phase: Phase, at_ns: int) -> None:
        """Close ``phase`` at ``at_ns``; the next phase starts at the same stamp."""
        self.ends.append((phase, at_ns))

    @property
    def end_ns(self) -> int:
        """The end of the last phase, or the start if there is none yet."""
        return self.ends[-1][1] if self.ends else self.start_ns

    @property
    def total_ns(self) -> int:
        """From the start to the end of the last phase."""
        return self.end_ns - self.start_ns

    def phases(self) -> dict[Phase, int]:
        """Return each phase with its duration in nanoseconds, in order."""
        names = [phase for phase, _ in self.ends]
        stamps = [self.start_ns, *(ns for _, ns in self.ends)]
        return dict(zip(names, durations(stamps, names), strict=True))
