"""The client of the ``pipe`` rung: one line out, the same line back, no protocol."""

from __future__ import annotations

from collections.abc import Callable

from bench.clients.base import Context, TransportPeer
from bench.clock import IDLE, now_ns
from bench.exchange import Exchange, Kind, Outcome
from bench.phases import Phase, Timeline
from bench.probes.first_read import FirstRead
from bench.transports.base import Transport


class EchoPeer(TransportPeer):
    """A server that sends each line back. Lines have no id, so a time-out ends the session."""

    def __init__(
        self, context: Context, transport: Transport, first_read: Callable[[], FirstRead | None]
    ) -> None:
        super().__init__(context, transport)
        self._line = str(context.spec.arguments.get("payload", "x")).encode() + b"\n"
        self._first_read = first_read

    def open(self) -> Timeline:
        """Spawn the server and wait for its first read; there is nothing else to set up."""
        timeline = self.transport.open(self.context.step)
        self.context.step(Phase.BOOT)
        self.transport.send(self._line)
        first_read = self._first_read()
        self.end_boot(first_read, timeline, "first_call")
        self.transport.receive()
        self.context.watch.started_ns = IDLE
        return timeline

    def exchange(self, kind: Kind) -> Exchange:
        """Return one round trip."""
        watch, transport = self.context.watch, self.transport
        watch.started_ns = encode_ns = now_ns()
        frame = self._line
        sent_ns = now_ns()
        transport.send(frame)
        line, received_ns = transport.receive()
        decoded_ns = now_ns()
        watch.started_ns = IDLE
        done = Exchange(kind, encode_ns, sent_ns, len(frame), received_ns, decoded_ns)
        if isinstance(line, bytes):
            done.response_bytes = transport.size_bytes(line)
        if not isinstance(line, bytes) or line.rstrip(b"\r\n") != frame.rstrip(b"\n"):
            self.context.notices.add("echo_mismatch")
            done.outcome = Outcome.TRANSPORT_ERROR
        return done
