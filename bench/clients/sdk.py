"""The official Python SDK's client as a client under test, over stdio, HTTP, SSE or in process."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from bench.clients.base import Context
from bench.clients.library import Library, LibraryPeer
from bench.exchange import Outcome
from bench.protocol.revisions import AUTO, Era, era
from bench.spec import SessionSpec
from bench.transports.served import Served


class SdkLibrary(Library):
    """``mcp.Client``. ``target`` is made when the client is opened."""

    def __init__(self, target: Callable[[], Any], revision: str) -> None:
        self._target = target
        self._revision = revision

    def client(self) -> Any:
        """See :class:`~bench.clients.library.Library`."""
        return Client(self._target(), mode=mode_of(self._revision), cache=None)

    async def list_tools(self, client: Any) -> int:
        """See :class:`~bench.clients.library.Library`."""
        tools, cursor = 0, None
        while True:
            page = await client.list_tools(cursor=cursor)
            tools += len(page.tools)
            cursor = page.next_cursor
            if cursor is None:
                return tools

    async def call(self, client: Any, tool: str, arguments: dict[str, Any]) -> object:
        """See :class:`~bench.clients.library.Library`."""
        result: object = await client.call_tool(tool, arguments)
        return result

    def judge(self, result: object) -> Outcome:
        """See :class:`~bench.clients.library.Library`."""
        return Outcome.TOOL_ERROR if getattr(result, "is_error", False) else Outcome.OK

    def refused(self, error: Exception) -> bool:
        """See :class:`~bench.clients.library.Library`."""
        return isinstance(error, MCPError)


def mode_of(revision: str) -> Any:
    """Return what the SDK's client calls the way in which a revision comes about."""
    if revision == AUTO:
        return "auto"
    return revision if era(revision) is Era.STATELESS else "legacy"


def stdio_peer(context: Context, env: Mapping[str, str]) -> LibraryPeer:
    """Return the SDK's client over stdio."""
    spec = context.spec
    return LibraryPeer(context, SdkLibrary(lambda: _parameters(spec, env), spec.revision), None)


def http_peer(context: Context, served: Served, url: str) -> LibraryPeer:
    """Return the SDK's client over streamable HTTP."""
    return LibraryPeer(context, SdkLibrary(lambda: url, context.spec.revision), served)


def sse_peer(context: Context, served: Served, url: str) -> LibraryPeer:
    """Return the SDK's client over legacy HTTP+SSE."""
    from mcp.client.sse import sse_client

    return LibraryPeer(context, SdkLibrary(lambda: sse_client(url), context.spec.revision), served)


def memory_peer(context: Context, env: Mapping[str, str]) -> LibraryPeer:
    """Return the SDK's client joined to its server in one process.

    Handshake revisions go through message streams, the stateless one is dispatched directly.
    """
    # The handlers find their database as they would in a server of their own.
    os.environ.update(env)
    from servers.sdk import build

    server = build()
    return LibraryPeer(context, SdkLibrary(lambda: server, context.spec.revision), None)


def _parameters(spec: SessionSpec, env: Mapping[str, str]) -> StdioServerParameters:
    return StdioServerParameters(
        command=spec.argv[0], args=list(spec.argv[1:]), env=dict(env), cwd=spec.cwd
    )
