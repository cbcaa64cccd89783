"""The same tools on fastmcp 4, the other framework, which stands on the official SDK.

The question: what does the framework that most servers are written with add to the SDK beneath it?
``FastMCP`` with async tools, as its documentation shows them; they run the same blocking functions
on the event loop, so no worker thread is in the way. No banner, and with it no look for updates.

As in :mod:`servers.sdk`, structured output is off, the published schemas are those of
:data:`servers.tools.TOOLS`, fastmcp checks each call by types made from these schemas, and an
unknown tool or bad arguments answer ``-32602``: fastmcp finds out and raises at its own depth, only
its exception is translated on the way up. A tool's own failure is raised as fastmcp's.

stdio, or streamable HTTP on ``/mcp`` with ``--port`` or ``--socket``, with the flags and the ASGI
server of :mod:`servers.sdk_http`. fastmcp leaves the check of Host and Origin off by itself.

Where the marks are: RECEIVED and REPLY on stdio as in :mod:`servers.sdk`, over HTTP as in
:mod:`servers.sdk_http`; HANDLER_START and HANDLER_END around the tool's function, inside its
coroutine.
"""

from __future__ import annotations

import inspect
import logging
import sys
from functools import wraps
from typing import Annotated, Any

try:
    from fastmcp import FastMCP
except ModuleNotFoundError as missing:
    if missing.name != "fastmcp":
        raise
    sys.exit("servers.fastmcp_server: fastmcp is not installed, try: pip install '.[fastmcp]'")

from fastmcp.exceptions import NotFoundError, ValidationError
from fastmcp.exceptions import ToolError as FastMcpToolError
from fastmcp.server.mixins import transport
from fastmcp.tools import FunctionTool, ToolResult
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from pydantic import Field
from pydantic import ValidationError as PydanticValidationError

from bench import marks
from servers import VERSION, http_server
from servers.errors import ToolError
from servers.marked import stdio_streams, tool_body
from servers.pydantic_arguments import arguments_of, sentence
from servers.tools import TOOLS, Tool

_MODULE = "servers.fastmcp_server"


class TicketServer(FastMCP[Any]):
    """``FastMCP`` with the two error channels as the specification divides them."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any] | None = None, **options: Any
    ) -> ToolResult:
        """Call a tool; translate what fastmcp raises when it has gone all its way."""
        try:
            return await super().call_tool(name, arguments, **options)
        except NotFoundError as error:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}") from error
        except ValidationError as error:
            cause = error.__cause__
            if not isinstance(cause, PydanticValidationError):
                raise
            raise MCPError(INVALID_PARAMS, sentence(name, cause)) from error


def _fastmcp_tool(tool: Tool) -> FunctionTool:
    body = tool_body(tool.function, sync=False)

    @wraps(tool.function)
    async def coroutine(**arguments: Any) -> str:
        try:
            text: str = await body(**arguments)
        except ToolError as error:
            # Of another class fastmcp would log a crash, and put words before the sentence.
            raise FastMcpToolError(str(error), log_level=logging.DEBUG) from error
        return text

    _declare(coroutine, tool)
    made = FunctionTool.from_function(
        coroutine, name=tool.name, description=tool.description, output_schema=None
    )
    made.parameters = tool.input_schema
    return made


def _declare(function: Any, tool: Tool) -> None:
    """Give a function the signature that fastmcp is to check the arguments by."""
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[argument.kind, Field(**argument.bounds)],
            default=inspect.Parameter.empty if argument.default is ... else argument.default,
        )
        for name, argument in arguments_of(tool).items()
    ]
    function.__signature__ = inspect.Signature(parameters, return_annotation=str)
    function.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": str}


def build() -> TicketServer:
    """Return the server with every tool of the table."""
    tools = [_fastmcp_tool(tool) for tool in TOOLS.values()]
    # As strict as the schemas are: fastmcp alone would turn "5" into 5.
    return TicketServer(
        "mcp-latency-fastmcp", version=VERSION, tools=tools, strict_input_validation=True
    )


def main() -> None:
    """Serve stdin and stdout until stdin ends, or HTTP until SIGTERM."""
    # It tells of its start and of every call that does not fit, which other servers do not.
    logging.getLogger("fastmcp").setLevel(logging.ERROR)
    options = http_server.Options()
    parser = http_server.parser(_MODULE, "The tools on fastmcp.")
    if http_server.parse(parser, options):
        app = build().http_app(
            path="/mcp", json_response=options.json, stateless_http=options.stateless
        )
        http_server.serve(app, options, _MODULE)
        return
    if marks.active:
        # fastmcp has no way to pass streams on; this name is where it takes them from.
        transport.stdio_server = stdio_streams  # type: ignore[attr-defined, assignment]
    build().run("stdio", show_banner=False)


if __name__ == "__main__":
    main()
