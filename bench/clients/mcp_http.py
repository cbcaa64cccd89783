"""An MCP session over streamable HTTP: what a connection and a session do between calls."""

from __future__ import annotations

import contextlib

from bench.clients.base import Context
from bench.clients.mcp import McpPeer
from bench.clock import now_ns
from bench.errors import PeerClosed, SessionError
from bench.exchange import Exchange, Kind, Outcome
from bench.phases import Timeline
from bench.protocol.http import HttpBinding
from bench.protocol.jsonrpc import Malformed, Message
from bench.transports.base import Ending, Transport
from bench.transports.http import HttpTransport

NOT_FOUND = 404


class HttpMcpPeer(McpPeer):
    """One MCP server over HTTP. ``spec.reopen`` says what each call opens anew, as a part of it."""

    def __init__(
        self, context: Context, http: HttpTransport, binding: HttpBinding, transport: Transport
    ) -> None:
        super().__init__(context, transport, binding=binding)
        self._http = http
        self._http_binding = binding
        self._renewed = False

    def open(self) -> Timeline:
        """Start or reach the server and set the session up, over one connection."""
        timeline = super().open()
        self._http.kept = self.context.spec.reopen != "connection"
        return timeline

    def make_call(self, kind: Kind) -> tuple[Exchange, Message | None]:
        """Make the exchange; a session that the server has forgotten is opened again, once."""
        match self.context.spec.reopen:
            case "connection":
                made = self.client.exchange(self.requests[kind], kind, reopen=self._http.reopen)
            case "session":
                # The old session is ended outside the clock: who opens one per call pays for
                # its opening in that call, and for its end when nobody waits any more.
                self._http.end_session()
                made = self.client.exchange(_Current(self, kind), kind, reopen=self.handshake_again)
            case _:
                made = self.client.exchange(self.requests[kind], kind)
        self._look_at_session(made[0])
        return made

    def close(self) -> Ending:
        """End the session and the server."""
        ending = super().close()
        self.facts.update(self._http.served.facts, connections=self._http.served.connections)
        return ending

    def _answered(self, done: Exchange, answer: Message | None) -> tuple[Exchange, Message]:
        if isinstance(answer, Malformed) and answer.kind == "refused" and not self._http.status:
            raise PeerClosed(answer.reason)  # no response at all: the server itself may be gone
        return super()._answered(done, answer)

    def _look_at_session(self, done: Exchange) -> None:
        refused = done.outcome in (Outcome.TRANSPORT_ERROR, Outcome.RPC_ERROR)
        if not refused or self._http.status != NOT_FOUND or self._http_binding.session is None:
            return
        if self._renewed:
            text = "the server forgot our session again after it was opened anew (HTTP 404)"
            raise SessionError("calls", "session_expired", text)
        self._renewed = True
        self.context.notices.add("session_expired")
        start_ns = now_ns()
        self.handshake_again()
        self.facts["reopened_setup_ns"] = now_ns() - start_ns

    def _after_timeout(self) -> None:
        # The response that is not awaited any more blocks its connection.
        self._http.drop()
        with contextlib.suppress(ValueError):  # a refusal to hear of it costs nothing
            super()._after_timeout()

    def _with_input(
        self, kind: Kind, first: Exchange, answer: Message | None
    ) -> tuple[Exchange, Message | None]:
        # All rounds are one call, so they share what that call has opened.
        kept, self._http.kept = self._http.kept, True
        try:
            return super()._with_input(kind, first, answer)
        finally:
            self._http.kept = kept


class _Current:
    """The request of a kind as it is bound when it is sent: its session is opened just before."""

    def __init__(self, peer: HttpMcpPeer, kind: Kind) -> None:
        self._peer = peer
        self._kind = kind

    def encode(self, id: int) -> bytes:  # noqa: A002
        """Return the bytes of the request under the session in force."""
        return self._peer.requests[self._kind].encode(id)
