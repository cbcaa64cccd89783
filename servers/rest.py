"""The tools as plain JSON over HTTP: ``POST /rest/NAME`` with the arguments as the body.

No protocol on top of HTTP: what a call here costs less than a call of the same tool through MCP
on the same server is the protocol's. 200 answers ``{"text": …}``; everything else
``{"error": "one sentence"}``: 404 for an unknown tool, 400 for arguments that do not fit its
schema, 422 where the tool could not do its work.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from servers.errors import BadArguments, ToolError
from servers.marked import tool_body
from servers.tools import TOOLS, validate


def route(sync: bool) -> Route:
    """Return the one route; with ``sync`` tools run in a worker thread, as they do in the SDK."""
    bodies = {name: tool_body(tool.function, sync) for name, tool in TOOLS.items()}

    async def call(request: Request) -> JSONResponse:
        name = request.path_params["name"]
        body = await request.body()
        if name not in TOOLS:
            return _failure(404, f"Unknown tool: {name}")
        try:
            arguments = _arguments(body, TOOLS[name].input_schema)
        except BadArguments as error:
            return _failure(400, f"Invalid arguments for {name}: {error}")
        try:
            if sync:
                text = await anyio.to_thread.run_sync(partial(bodies[name], **arguments))
            else:
                text = await bodies[name](**arguments)
        except ToolError as error:
            return _failure(422, str(error))
        return JSONResponse({"text": text})

    return Route("/rest/{name}", call, methods=["POST"])


def _arguments(body: bytes, schema: dict[str, Any]) -> dict[str, Any]:
    try:
        arguments: dict[str, Any] = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadArguments("the body is not JSON") from error
    validate(arguments, schema)
    return arguments


def _failure(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"error": sentence}, status)
