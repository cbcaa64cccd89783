"""The ``rest`` arm: the same handler as a plain JSON POST, no protocol above HTTP.

A tool is ``POST PATH/NAME`` with its arguments as the body; the answer is a JSON object.
"""

from __future__ import annotations

import json

from bench.clients.base import Context, TransportPeer
from bench.clock import IDLE, now_ns
from bench.errors import TimedOut
from bench.exchange import Exchange, Kind, Outcome
from bench.phases import Timeline
from bench.protocol.http import HttpBinding
from bench.transports.base import Arrived, Ending, Transport
from bench.transports.http import HttpTransport

UNPROCESSABLE = 422


class RestPeer(TransportPeer):
    """One tool behind plain HTTP."""

    def __init__(
        self, context: Context, http: HttpTransport, binding: HttpBinding, transport: Transport
    ) -> None:
        super().__init__(context, transport)
        self._http = http
        spec = context.spec
        path = f"{binding.url.path.rstrip('/')}/{spec.tool}"
        body = json.dumps(spec.arguments, separators=(",", ":"), ensure_ascii=False).encode()
        self._frame = binding.post(body, path)

    def open(self) -> Timeline:
        """Start or reach the server; there is nothing else to set up."""
        return self.transport.open(self.context.step)

    def exchange(self, kind: Kind) -> Exchange:
        """Return one POST with its answer."""
        watch, transport = self.context.watch, self.transport
        watch.begin()
        transport.settle()
        watch.started_ns = encode_ns = now_ns()
        frame = self._frame
        sent_ns = now_ns()
        try:
            transport.send(frame)
            answer, received_ns = transport.receive()
        except TimedOut:
            self._http.drop()
            ended_ns = now_ns()
            return Exchange(
                kind, encode_ns, sent_ns, len(frame), ended_ns, ended_ns, outcome=Outcome.TIMEOUT
            )
        outcome = self._decode(answer)
        decoded_ns = now_ns()
        watch.started_ns = IDLE
        size_bytes = transport.size_bytes(answer)
        return Exchange(
            kind, encode_ns, sent_ns, len(frame), received_ns, decoded_ns, size_bytes, outcome
        )

    def close(self) -> Ending:
        """End the server."""
        ending = super().close()
        self.facts.update(self._http.served.facts, connections=self._http.served.connections)
        return ending

    def _decode(self, answer: Arrived) -> Outcome:
        if not isinstance(answer, bytes):
            refused = getattr(answer, "status", 0) == UNPROCESSABLE
            code = getattr(answer, "code", "refused")
            self.context.notices.add(code, text=getattr(answer, "text", "too large"))
            return Outcome.TOOL_ERROR if refused else Outcome.TRANSPORT_ERROR
        try:
            value = json.loads(answer)
        except ValueError:
            return Outcome.TRANSPORT_ERROR
        return Outcome.OK if isinstance(value, dict) and "text" in value else Outcome.TOOL_ERROR
