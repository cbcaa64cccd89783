"""An MCP session over legacy HTTP+SSE: the steps of any handshake, and what its sockets tell."""

from __future__ import annotations

from bench.clients.base import Context
from bench.clients.mcp import McpPeer
from bench.protocol.http_sse import SseBinding
from bench.transports.base import Ending, Transport
from bench.transports.served import Served


class SseMcpPeer(McpPeer):
    """One MCP server over HTTP+SSE."""

    def __init__(
        self, context: Context, served: Served, binding: SseBinding, transport: Transport
    ) -> None:
        super().__init__(context, transport, binding=binding)
        self._served = served

    def close(self) -> Ending:
        """End the session and the server."""
        ending = super().close()
        self.facts.update(self._served.facts, connections=self._served.connections)
        return ending
