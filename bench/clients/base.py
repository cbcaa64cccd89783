"""What a session does with its target, whatever it speaks and whoever calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench.clock import Watch
from bench.errors import PeerClosed, SessionError, TimedOut
from bench.exchange import Exchange, Kind
from bench.notices import Notices, plain
from bench.phases import Phase, Timeline
from bench.probes.first_read import FirstRead
from bench.progress import Progress
from bench.spec import SessionSpec
from bench.transports.base import Ending, Transport


@dataclass(frozen=True)
class Context:
    """What every peer gets: its orders, where it reports to, and a folder that lives as long."""

    spec: SessionSpec
    watch: Watch
    notices: Notices
    progress: Progress
    folder: Path = Path()

    def step(self, name: str) -> None:
        """Say that a step of setup begins; its time limit starts."""
        self.progress.step(name)
        self.watch.begin()


class Peer(Protocol):
    """One target, from its start to its end."""

    facts: dict[str, int | str]

    def open(self) -> Timeline:
        """Start and set up; return the phases of setup."""

    def exchange(self, kind: Kind) -> Exchange:
        """Make one call or probe."""

    def pause(self, seconds: float) -> None:
        """Let time go by between two exchanges; a client that works on its own goes on."""

    def group(self) -> int:
        """Return the process group of the server, 0 where it is not ours."""

    def close(self) -> Ending:
        """End the session, and the server where it is ours."""

    def destroy(self) -> None:
        """End what is left of it, on any path; nothing survives."""

    def explain(self, error: Exception, phase: str, done: int) -> SessionError:
        """Turn what ended the session in ``phase`` after ``done`` calls into one sentence."""


class Pausing:
    """A peer that does nothing by itself between two exchanges."""

    def pause(self, seconds: float) -> None:
        """See :class:`Peer`."""
        time.sleep(seconds)


class TransportPeer(Pausing):
    """A peer that moves bytes over a transport of ours: its life and its failures."""

    def __init__(self, context: Context, transport: Transport) -> None:
        self.facts: dict[str, int | str] = {}
        self.context = context
        self.transport = transport

    def end_boot(self, first_read: FirstRead | None, timeline: Timeline, inside: str) -> None:
        """End ``boot`` where the first read was seen; otherwise it is ``inside`` another phase."""
        if first_read is None:
            self.context.notices.add("boot_not_seen", phase=inside)
            return
        timeline.end(Phase.BOOT, first_read.at_ns)
        self.facts["boot_uncertainty_ns"] = first_read.uncertainty_ns

    def group(self) -> int:
        """See :class:`Peer`."""
        return self.transport.group()

    def close(self) -> Ending:
        """See :class:`Peer`."""
        return self.transport.close()

    def destroy(self) -> None:
        """See :class:`Peer`."""
        self.transport.destroy()

    def explain(self, error: Exception, phase: str, done: int) -> SessionError:
        """See :class:`Peer`."""
        return explained(
            error,
            phase,
            closed=lambda said: self.transport.why_closed(said, phase, done),
            silent=lambda: self.transport.why_silent(phase, self.context.spec.timeout_s),
        )


def explained(
    error: Exception,
    phase: str,
    *,
    closed: Callable[[str], SessionError],
    silent: Callable[[], str],
) -> SessionError:
    """Return the one sentence for what ended a session."""
    match error:
        case SessionError():
            return error
        case PeerClosed():
            return closed(str(error))
        case TimedOut():
            return SessionError(phase, "timeout", silent())
        case _:
            return SessionError(phase, "protocol_error", plain(str(error)))
