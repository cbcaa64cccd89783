"""The client of the ``pipe`` rung: one line out, the same line back, no protocol."""

from __future__ import annotations

from bench.clock import IDLE, Watch, now_ns
from bench.exchange import Exchange, Kind, Outcome
from bench.notices import Notices
from bench.phases import Phase, Timeline
from bench.probes.first_read import await_first_read
from bench.progress import Progress
from bench.protocol.framing import size_on_wire
from bench.spec import SessionSpec
from bench.transports.stdio import StdioTransport


class EchoPeer:
    """A server that sends each line back. Lines have no id, so a time-out ends the session."""

    def __init__(
        self,
        spec: SessionSpec,
        transport: StdioTransport,
        watch: Watch,
        notices: Notices,
        progress: Progress,
    ) -> None:
        self.facts: dict[str, int | str] = {}
        self._line = str(spec.arguments.get("payload", "x")).encode() + b"\n"
        self._transport = transport
        self._watch = watch
        self._notices = notices
        self._progress = progress

    def open(self) -> Timeline:
        """Spawn the server and wait for its first read; there is nothing else to set up."""
        self._progress.step(Phase.SPAWN)
        timeline = self._transport.open()
        self._progress.step(Phase.BOOT)
        self._watch.begin()
        self._transport.send(self._line)
        first_read = await_first_read(self._transport)
        if first_read is not None:
            timeline.end(Phase.BOOT, first_read.at_ns)
            self.facts["boot_uncertainty_ns"] = first_read.uncertainty_ns
        else:
            self._notices.add("boot_not_seen", phase="first_call")
        self._transport.receive()
        self._watch.started_ns = IDLE
        return timeline

    def exchange(self, kind: Kind) -> Exchange:
        """Return one round trip."""
        watch, transport = self._watch, self._transport
        watch.started_ns = encode_ns = now_ns()
        frame = self._line
        sent_ns = now_ns()
        transport.send(frame)
        line, received_ns = transport.receive()
        decoded_ns = now_ns()
        watch.started_ns = IDLE
        done = Exchange(kind, encode_ns, sent_ns, len(frame), received_ns, decoded_ns)
        if isinstance(line, bytes):
            done.response_bytes = size_on_wire(line)
        if not isinstance(line, bytes) or line.rstrip(b"\r\n") != frame.rstrip(b"\n"):
            self._notices.add("echo_mismatch")
            done.outcome = Outcome.TRANSPORT_ERROR
        return done
