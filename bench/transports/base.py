"""What every transport does: open, send, receive, close. Whole messages, each with its stamp."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from bench.errors import SessionError
from bench.phases import Timeline
from bench.protocol.framing import Oversized, Refused

Arrived = bytes | Oversized | Refused
Arrival = tuple[Arrived, int]
"""A message and the time at which its last byte was in our hands."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a peer was brought to its end.

    ``escalation`` is the last means that was needed: ``none`` (nothing of ours to end),
    ``stdin``, ``term`` or ``kill``; ``expected`` is the one that a well-behaved server needs.
    ``exit_code`` is negative for a signal, None where unknown. ``late`` holds what still arrived.
    """

    start_ns: int
    end_ns: int
    escalation: str = "none"
    expected: str = "none"
    exit_code: int | None = None
    late: tuple[Arrival, ...] = field(default=())


class Transport(Protocol):
    """The byte mover under a client. All waits are limited by the session's watch.

    One that confirms a request apart from its answer also has ``accepted_ns()``, asked for after
    the clock of a call has stopped: when the last request was confirmed, 0 where it was not.
    """

    def open(self, step: Callable[[str], None]) -> Timeline:
        """Start or reach the peer, naming each step as it begins; return the phases so far."""

    def settle(self) -> None:
        """Get ready for the next exchange, outside the clock: drain, reconnect."""

    def send(self, data: bytes) -> None:
        """Hand all of ``data`` to the kernel, reading meanwhile what the peer writes."""

    def receive(self) -> Arrival:
        """Return the next message; a stdio message may keep its line end.

        Raises :class:`~bench.errors.PeerClosed` at the end of the stream.
        """

    def tell(self, data: bytes, *, aside: bool = False) -> None:
        """Send what has no answer, until the peer (or the kernel for it) has taken it.

        ``aside``: in the middle of a call that is still being answered.
        """

    def size_bytes(self, message: Arrived) -> int:
        """How many bytes the message that was received last took on the wire."""

    def group(self) -> int:
        """Return the process group of the server, 0 where it is not ours."""

    def close(self) -> Ending:
        """End the peer by the gentlest means that works; nothing of it survives."""

    def destroy(self) -> None:
        """End the peer on the way out of a failed or interrupted session."""

    def why_closed(self, said: str, phase: str, done: int) -> SessionError:
        """Say what :class:`~bench.errors.PeerClosed` in ``phase`` after ``done`` calls means.

        ``said`` is what it came with.
        """

    def why_silent(self, phase: str, limit_s: float) -> str:
        """Say what a wait over its limit looks like from outside."""
