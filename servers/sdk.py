"""The same tools on the official Python SDK.

The question: what does the SDK add to the server on the standard library? ``MCPServer`` with async
tools, as its documentation shows them; ``--sync`` makes them plain functions, which the SDK runs in
a worker thread, so the difference between the two is the price of that hop. The async tools run
the same blocking functions on the event loop: with one call at a time nobody else waits for it.

Structured output is off, or the payload would travel twice. Three more things differ from a server
written with the SDK's decorators. The published schemas are those of :data:`servers.tools.TOOLS`,
so that every server lists the same tools. The argument models, through which the SDK checks each
call, are made from these schemas. And an unknown tool or bad arguments answer ``-32602``: the SDK
still finds out and raises at its own depth, only its exception is translated on the way up.

Where the marks are (only when asked for; otherwise the SDK's own ``stdio_server()`` is used):

- RECEIVED: ``readline`` of the wrapped stdin has the whole line, decoded to text. It is taken in
  the worker thread that read the line, so the hop back to the event loop belongs to *dispatch*.
- HANDLER_START, HANDLER_END: around the tool's function, inside the coroutine or, with ``--sync``,
  inside the worker thread; the hop to it belongs to *dispatch*, the hop back to *reply*.
- REPLY: the SDK calls ``write`` of the wrapped stdout with the serialised answer. It is taken
  before the hop to the worker thread, so the write and the flush with a hop each belong to
  *response*.
"""

from __future__ import annotations

import sys
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError as SdkToolError
from mcp.server.mcpserver.tools import Tool as SdkTool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, InputRequiredResult, TextContent
from pydantic import ConfigDict, Field, ValidationError, create_model

from servers import VERSION
from servers.errors import ToolError
from servers.marked import stdio_streams, tool_body
from servers.pydantic_arguments import arguments_of, sentence
from servers.tools import TOOLS, Tool


class TicketServer(MCPServer[Any]):
    """``MCPServer`` with the two error channels as the specification divides them."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; translate what the SDK raises when it has gone all its way."""
        try:
            return await super().call_tool(name, arguments, context)
        except SdkToolError as error:
            cause = error.__cause__
            if isinstance(cause, ToolError):
                # The SDK would hide the sentence and log a crash, for it knows only its own class.
                return CallToolResult(
                    content=[TextContent(type="text", text=str(cause))], is_error=True
                )
            if name not in TOOLS:
                raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}") from error
            if isinstance(cause, ValidationError):
                raise MCPError(INVALID_PARAMS, sentence(name, cause)) from error
            raise

    async def run_stdio_async(self) -> None:
        """Serve stdio, with marks around the streams where they are asked for."""
        # The base class has no way to pass streams on, hence its three lines again.
        server = self._lowlevel_server
        async with stdio_streams() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())


class _Arguments(ArgModelBase):
    # As strict as the schemas are: the SDK alone would turn "5" into 5 and drop what it does not
    # know.
    model_config = ConfigDict(strict=True, extra="forbid")


def _argument_model(tool: Tool) -> type[ArgModelBase]:
    """Make the SDK's model of a tool's arguments from its schema."""
    fields: dict[str, Any] = {
        name: (argument.kind, Field(argument.default, **argument.bounds))
        for name, argument in arguments_of(tool).items()
    }
    model: type[ArgModelBase] = create_model(f"{tool.name}Arguments", __base__=_Arguments, **fields)
    return model


def _sdk_tool(tool: Tool, sync: bool) -> SdkTool:
    made = SdkTool.from_function(
        tool_body(tool.function, sync),
        name=tool.name,
        description=tool.description,
        structured_output=False,
    )
    made.parameters = tool.input_schema
    made.fn_metadata.arg_model = _argument_model(tool)
    return made


def build(sync: bool = False) -> TicketServer:
    """Return the server with every tool of the table."""
    tools = [_sdk_tool(tool, sync) for tool in TOOLS.values()]
    return TicketServer("mcp-latency-sdk", version=VERSION, tools=tools, log_level="WARNING")


def main() -> None:
    """Serve stdin and stdout until stdin ends."""
    build(sync="--sync" in sys.argv[1:]).run("stdio")


if __name__ == "__main__":
    main()
