"""fastmcp's client as a client under test, over stdio or HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.shared.exceptions import MCPError

from bench.clients.base import Context
from bench.clients.library import Library, LibraryPeer
from bench.clients.sdk import mode_of
from bench.exchange import Outcome
from bench.transports.served import Served


class FastmcpLibrary(Library):
    """``fastmcp.Client``, with the process of its own gone when the client is closed."""

    def __init__(self, transport: Callable[[], Any], revision: str) -> None:
        self._transport = transport
        self._revision = revision

    def client(self) -> Any:
        """See :class:`~bench.clients.library.Library`."""
        return Client(self._transport(), mode=mode_of(self._revision))

    async def list_tools(self, client: Any) -> int:
        """See :class:`~bench.clients.library.Library`; this library follows the pages itself."""
        return len(await client.list_tools())

    async def call(self, client: Any, tool: str, arguments: dict[str, Any]) -> object:
        """See :class:`~bench.clients.library.Library`."""
        result: object = await client.call_tool(tool, arguments, raise_on_error=False)
        return result

    def judge(self, result: object) -> Outcome:
        """See :class:`~bench.clients.library.Library`."""
        return Outcome.TOOL_ERROR if getattr(result, "is_error", False) else Outcome.OK

    def refused(self, error: Exception) -> bool:
        """See :class:`~bench.clients.library.Library`."""
        return isinstance(error, MCPError)


def stdio_peer(context: Context, env: Mapping[str, str]) -> LibraryPeer:
    """Return fastmcp's client over stdio."""
    spec = context.spec

    def transport() -> StdioTransport:
        command, *arguments = spec.argv
        return StdioTransport(command, arguments, env=dict(env), cwd=spec.cwd, keep_alive=False)

    return LibraryPeer(context, FastmcpLibrary(transport, spec.revision), None)


def http_peer(context: Context, served: Served, url: str) -> LibraryPeer:
    """Return fastmcp's client over streamable HTTP."""
    library = FastmcpLibrary(lambda: StreamableHttpTransport(url), context.spec.revision)
    return LibraryPeer(context, library, served)
