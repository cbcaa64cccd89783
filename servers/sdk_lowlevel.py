"""The same tools on the low-level ``Server`` of the official Python SDK.

The question: how much of what the SDK adds is its convenience, ``MCPServer`` with its tool manager,
argument models and conversion of results? Here two handlers answer ``tools/list`` and
``tools/call`` themselves, and the arguments are checked by :func:`servers.tools.validate`, as the
server on the standard library does it. The handlers are coroutines and run the tools' blocking
functions on the event loop, as the tools of :mod:`servers.sdk` do.

stdio, or streamable HTTP on ``/mcp`` with ``--port`` or ``--socket``: then on the ASGI server of
:mod:`servers.sdk_http`, with its flags. ``get_tool_input_schema`` is given, for without it the SDK
lists all tools before every call of the stateless era over HTTP.

Where the marks are: RECEIVED and REPLY on stdio as in :mod:`servers.sdk`, over HTTP as in
:mod:`servers.sdk_http`; HANDLER_START and HANDLER_END around the tool's function, inside the
handler of ``tools/call``, so the check of the arguments belongs to *dispatch*.
"""

from __future__ import annotations

import sys
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from servers import VERSION
from servers.errors import BadArguments, ToolError
from servers.marked import stdio_streams, tool_body
from servers.tools import TOOLS, validate

_MODULE = "servers.sdk_lowlevel"

_LISTED = ListToolsResult(
    tools=[
        Tool(name=tool.name, description=tool.description, input_schema=tool.input_schema)
        for tool in TOOLS.values()
    ]
)
_BODIES = {name: tool_body(tool.function, sync=False) for name, tool in TOOLS.items()}


async def _list_tools(
    context: ServerRequestContext[Any], params: PaginatedRequestParams | None
) -> ListToolsResult:
    return _LISTED


async def _call_tool(
    context: ServerRequestContext[Any], params: CallToolRequestParams
) -> CallToolResult:
    name, arguments = params.name, params.arguments or {}
    if name not in TOOLS:
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}")
    try:
        validate(arguments, TOOLS[name].input_schema)
    except BadArguments as error:
        raise MCPError(INVALID_PARAMS, f"Invalid arguments for {name}: {error}") from error
    failed = False
    try:
        text = await _BODIES[name](**arguments)
    except ToolError as error:
        text, failed = str(error), True
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=failed)


def _input_schema(name: str) -> dict[str, Any] | None:
    tool = TOOLS.get(name)
    return None if tool is None else tool.input_schema


def build() -> Server[Any]:
    """Return the server with every tool of the table."""
    return Server(
        "mcp-latency-sdk-lowlevel",
        version=VERSION,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        get_tool_input_schema=_input_schema,
    )


async def _serve_stdio() -> None:
    server = build()
    async with stdio_streams() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _serve_as_told() -> None:
    from servers import http_server  # here, for stdio needs neither the flags nor a web server

    options = http_server.Options()
    parser = http_server.parser(_MODULE, "The tools on the SDK's low-level server.")
    if not http_server.parse(parser, options):
        anyio.run(_serve_stdio)
        return
    app = build().streamable_http_app(
        streamable_http_path="/mcp",
        json_response=options.json,
        stateless_http=options.stateless,
        transport_security=http_server.SECURITY,
    )
    http_server.serve(app, options, _MODULE)


def main() -> None:
    """Serve stdin and stdout until stdin ends, or HTTP until SIGTERM."""
    if sys.argv[1:]:
        _serve_as_told()
    else:
        anyio.run(_serve_stdio)


if __name__ == "__main__":
    main()
