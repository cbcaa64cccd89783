"""The ``grpc`` arm: the same handler behind a unary call of gRPC.

``/tickets.Tools/Call`` takes ``{"name": …, "arguments": …}`` and answers with the bare text; no
code is generated. The request is prepared, as in every arm. HTTP/2 is the library's, so what it
does before it asks for the bytes is in ``encode``, and what it does with an answer once it is
read is in ``decode``; sizes are those of the messages, without the frames around them.

The time limit of a call is gRPC's own deadline: a blocking call looks at signals too seldom.
"""

from __future__ import annotations

import json
from typing import Any

import grpc

from bench.clients.base import Context, Pausing, explained
from bench.clock import IDLE, now_ns
from bench.errors import PeerClosed, SessionError
from bench.exchange import Exchange, Kind, Outcome
from bench.phases import Phase, Timeline
from bench.transports.base import Ending
from bench.transports.process import EXIT_NOTICE_S
from bench.transports.served import Served
from bench.transports.sockets import Endpoint

METHOD = "/tickets.Tools/Call"
_CODE = grpc.StatusCode
_OUTCOMES = {
    _CODE.FAILED_PRECONDITION: Outcome.TOOL_ERROR,
    _CODE.DEADLINE_EXCEEDED: Outcome.TIMEOUT,
    _CODE.UNAVAILABLE: Outcome.TRANSPORT_ERROR,
    _CODE.CANCELLED: Outcome.TRANSPORT_ERROR,
    _CODE.RESOURCE_EXHAUSTED: Outcome.TRANSPORT_ERROR,  # an answer above our limit
}
"""What a status stands for; any other one is an error that the server answered with."""


class GrpcPeer(Pausing):
    """One tool behind a gRPC channel."""

    def __init__(self, context: Context, served: Served) -> None:
        self.facts: dict[str, int | str] = {}
        self.context = context
        self._served = served
        self._channel: Any = None
        self._call: Any = None
        spec = context.spec
        call = {"name": spec.tool, "arguments": spec.arguments}
        self._request = json.dumps(call, separators=(",", ":"), ensure_ascii=False).encode()
        payload = spec.arguments.get("payload")
        self._echo = payload if spec.tool == "echo" and isinstance(payload, str) else None
        self._sent_ns = self._received_ns = self._response_bytes = 0

    def open(self) -> Timeline:
        """Start the server, then wait until the channel is ready."""
        served = self._served
        timeline = served.start(self.context.step)
        self.context.step(Phase.CONNECT)
        limit_bytes = self.context.spec.limit_bytes
        self._channel = channel = grpc.insecure_channel(
            _target(served.endpoint), (*_OPTIONS, ("grpc.max_receive_message_length", limit_bytes))
        )
        grpc.channel_ready_future(channel).result()
        timeline.end(Phase.CONNECT, now_ns())
        self.context.watch.started_ns = IDLE
        self._call = channel.unary_unary(METHOD, self._serialise, self._deserialise)
        return timeline

    def exchange(self, kind: Kind) -> Exchange:
        """Return one unary call."""
        call, request, limit_s = self._call, self._request, self.context.spec.timeout_s
        self._sent_ns = self._received_ns = self._response_bytes = 0
        encode_ns = now_ns()
        try:
            text = call(request, timeout=limit_s)
            decoded_ns = now_ns()
        except grpc.RpcError as error:
            decoded_ns = now_ns()
            # A refusal has no message: it is whole when the call returns.
            self._received_ns = decoded_ns
            outcome = self._outcome(error)
        else:
            outcome = self._judge(text)
        return Exchange(
            kind,
            encode_ns,
            self._sent_ns,
            len(request),
            self._received_ns,
            decoded_ns,
            self._response_bytes,
            outcome,
        )

    def group(self) -> int:
        """Return the process group of the server."""
        return self._served.group()

    def close(self) -> Ending:
        """Close the channel and end the server."""
        start_ns = now_ns()
        self._close_channel()
        ending = self._served.end(start_ns)
        self.facts.update(self._served.facts, grpc_version=grpc.__version__)
        return ending

    def destroy(self) -> None:
        """End what is left."""
        self._close_channel()
        self._served.destroy()

    def explain(self, error: Exception, phase: str, done: int) -> SessionError:
        """Name what ended the session."""
        limit = f"within {self.context.spec.timeout_s:g} s (--timeout)"
        silent: dict[str, str] = {
            Phase.BOOT: f"the server did not accept a connection {limit}",
            Phase.CONNECT: f"the server accepts connections, but speaks no gRPC {limit}",
        }
        return explained(
            error,
            phase,
            closed=lambda said: self._served.why_closed(said, phase, done),
            silent=lambda: silent.get(phase, f"no answer {limit}"),
        )

    def _serialise(self, request: bytes) -> bytes:
        self._sent_ns = now_ns()
        return request

    def _deserialise(self, data: bytes) -> str:
        self._received_ns = now_ns()
        self._response_bytes = len(data)
        return data.decode()

    def _judge(self, text: str) -> Outcome:
        if self._echo is None or text == self._echo:
            return Outcome.OK
        self.context.notices.add("echo_mismatch")
        return Outcome.TRANSPORT_ERROR

    def _outcome(self, error: Any) -> Outcome:
        code, text = error.code(), error.details()
        process = self._served.process if code is _CODE.UNAVAILABLE else None
        if process is not None and process.wait_exit(EXIT_NOTICE_S) is not None:
            raise PeerClosed(text) from None
        outcome = _OUTCOMES.get(code, Outcome.RPC_ERROR)
        if outcome is not Outcome.TIMEOUT:
            self.context.notices.add("refused", text=f"{code.name}: {text}")
        return outcome

    def _close_channel(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None


_OPTIONS = (
    ("grpc.enable_http_proxy", 0),  # no proxy variable of the environment is looked at
    ("grpc.enable_retries", 0),  # nothing is sent twice
    ("grpc.service_config_disable_resolution", 1),
)


def _target(endpoint: Endpoint) -> str:
    if endpoint.unix_path is not None:
        return f"unix:{endpoint.unix_path}"
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{host}:{endpoint.port}"
