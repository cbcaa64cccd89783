"""What every transport does: open, send, receive, close. Whole messages, each with its stamp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bench.phases import Timeline
from bench.protocol.framing import Oversized

Arrival = tuple[bytes | Oversized, int]
"""A message and the time at which its last byte was in our hands."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a peer was brought to its end.

    ``escalation`` is the last means that was needed: ``stdin``, ``term`` or ``kill``.
    ``exit_code`` is negative for a signal, None where unknown. ``late`` holds what still arrived.
    """

    start_ns: int
    end_ns: int
    escalation: str
    exit_code: int | None
    late: tuple[Arrival, ...] = ()


class Transport(Protocol):
    """The byte mover under a client. All waits are limited by the session's watch."""

    def open(self) -> Timeline:
        """Start or reach the peer; return the phases up to there."""

    def send(self, data: bytes) -> None:
        """Hand all of ``data`` to the kernel, reading meanwhile what the peer writes."""

    def receive(self) -> Arrival:
        """Return the next message; a stdio message may keep its line end.

        Raises :class:`~bench.errors.PeerClosed` at the end of the stream.
        """

    def close(self) -> Ending:
        """End the peer by the gentlest means that works; nothing of it survives."""
