"""The ``lsp`` arm: the same handler as a request of a language server, over stdio.

LSP is JSON-RPC with the same handshake as MCP's first era, so the client is the raw one with
another framing. ``bench/NAME`` takes the arguments of a tool. There is no tool list. Closing is
closing stdin, as in the other arms, without ``shutdown`` and ``exit``.
"""

from __future__ import annotations

from collections.abc import Callable

from bench import __version__
from bench.clients.base import Context, TransportPeer
from bench.clients.raw import RawClient
from bench.clock import now_ns
from bench.errors import TimedOut
from bench.exchange import Exchange, Kind, Outcome
from bench.notices import plain
from bench.phases import Phase, Timeline
from bench.probes.first_read import FirstRead
from bench.protocol.jsonrpc import ErrorResponse, Message, Response, Template, notification
from bench.protocol.lsp import REQUEST_FAILED, HeadBinding
from bench.protocol.mcp import Connection
from bench.protocol.revisions import DEFAULT_REVISION
from bench.transports.base import Ending, Transport

INITIALIZE = {
    "processId": None,
    "clientInfo": {"name": "mcp-latency", "version": __version__},
    "rootUri": None,
    "capabilities": {},
}


class LspPeer(TransportPeer):
    """One language server. A time-out ends the session."""

    def __init__(
        self, context: Context, transport: Transport, first_read: Callable[[], FirstRead | None]
    ) -> None:
        super().__init__(context, transport)
        self._first_read = first_read
        self._binding = HeadBinding()
        # Of MCP's connection the client uses what JSON-RPC has: ids, and "method not found".
        self._connection = Connection(DEFAULT_REVISION)
        self._client = RawClient(
            self._connection, transport, context.watch, context.notices, self._binding
        )
        spec = context.spec
        self._call = self._binding.request(Template(f"bench/{spec.tool}", spec.arguments))
        payload = spec.arguments.get("payload")
        self._echo = payload if spec.tool == "echo" and isinstance(payload, str) else None

    def open(self) -> Timeline:
        """Spawn the server and shake hands."""
        step, client = self.context.step, self._client
        timeline = self.transport.open(step)

        def watch_boot() -> None:
            self._end_boot(timeline)

        step(Phase.BOOT)
        request = self._binding.request(Template("initialize", INITIALIZE))
        done, answer = client.exchange(request, Kind.WARMUP, watch_boot)
        self._accept(answer)
        timeline.end(Phase.INITIALIZE, done.decoded_ns)
        step(Phase.INITIALIZED)
        client.notify(notification("initialized", {}))
        timeline.end(Phase.INITIALIZED, now_ns())
        return timeline

    def exchange(self, kind: Kind) -> Exchange:
        """Return one request with its answer."""
        done, answer = self._client.exchange(self._call, kind)
        if done.outcome is Outcome.TIMEOUT:
            raise TimedOut
        if isinstance(answer, ErrorResponse):
            text = f"{answer.code} {answer.message}"
            self.context.notices.add("refused", text=text)
            if answer.code == REQUEST_FAILED:
                done.outcome = Outcome.TOOL_ERROR
        elif done.outcome is Outcome.OK and not self._carries_echo(answer):
            self.context.notices.add("echo_mismatch")
            done.outcome = Outcome.TRANSPORT_ERROR
        return done

    def close(self) -> Ending:
        """End the session; what still arrives is counted, never credited."""
        ending = super().close()
        self.facts.update(self._client.account(ending.late))
        return ending

    def _end_boot(self, timeline: Timeline) -> None:
        first_read = self._first_read()
        self.context.progress.step(Phase.INITIALIZE)
        self.end_boot(first_read, timeline, Phase.INITIALIZE.value)

    def _accept(self, answer: Message | None) -> None:
        if answer is None:
            raise TimedOut
        if not isinstance(answer, Response) or not isinstance(answer.result, dict):
            raise ValueError(f"initialize was not answered with a result: {plain(str(answer))}")
        self._connection.agreed = self._connection.offered
        info = answer.result.get("serverInfo")
        if isinstance(info, dict):
            words = (info.get("name"), info.get("version"))
            self.facts["server_info"] = plain(" ".join(str(word) for word in words if word))

    def _carries_echo(self, answer: Message | None) -> bool:
        if self._echo is None or not isinstance(answer, Response):
            return True
        return isinstance(answer.result, dict) and answer.result.get("text") == self._echo
